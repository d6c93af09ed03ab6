"""cuRAND's generators for arrays.

XORWOW, MRG32k3a and Philox 4x32-10 are the algorithms of the device's interface (`curand_kernel.h`), started from the
same seeds. XORWOW and MRG32k3a run in 4096 lanes, each a subsequence of its own: number i of the whole is number
i / 4096 of lane i mod 4096, as cuRAND documents it. MT19937 and Sobol's sequence are NumPy's and SciPy's; their order,
that of Philox, and how numbers become normal ones, are ours: reproducible, but not cuRAND's.
"""

from __future__ import annotations

import ctypes
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol

import jax.numpy as jnp
import numpy as np
from jax import lax

from windlass.diagnostics.deferral import deferred
from windlass.hosting.libraries.memory import Array
from windlass.hosting.libraries.routines import Address, Failure, Library, LibraryError, Result
from windlass.hosting.libraries.session import Call, Stateful
from windlass.hosting.libraries.tensor_programs import tensor_program

if TYPE_CHECKING:
    from scipy import stats
    from scipy.stats import qmc
else:
    stats = deferred("scipy.stats")
    qmc = deferred("scipy.stats.qmc")

curand = Library(
    "cuRAND",
    {
        Failure.uninitialized: 101,
        Failure.invalid: 104,
        Failure.illegal_access: 201,
        Failure.unsupported: 103,
        Failure.failed: 999,
    },
)
LENGTH_NOT_MULTIPLE = 105
WORD = np.dtype(np.uint32)
LANES = 4096
LANE_BITS = 12
VERSION = (10, 3, 7)
MASK = 0xFFFFFFFF
MRG_MODULI = (4294967087, 4294944443)
MRG_STEPS = (
    ((0, 1, 0), (0, 0, 1), (MRG_MODULI[0] - 810728, 1403580, 0)),
    ((0, 1, 0), (0, 0, 1), (MRG_MODULI[1] - 1370589, 0, 527612)),
)
LARGEST_EXACT_MEAN = 1e15


# -- generators -------------------------------------------------------------------------------------------------------


class RandomSource(Protocol):
    """A source of random words."""

    def words(self, begin: int, count: int) -> Array:
        """Words from a position on."""
        ...


def xorwow_step(v: Any) -> Any:
    """One step of the five words of XORWOW; the last of them is new."""
    mixed = v[0] ^ (v[0] >> 2)
    return [*v[1:], (v[4] ^ (v[4] << 4)) ^ (mixed ^ (mixed << 1))]


@tensor_program("rows")
def xorwow_rows(v: Any, d: Any, rows: int) -> Any:
    """The next numbers of all lanes, a row for each step; and the state behind them."""

    def step(state: Any, _: Any) -> Any:
        v, d = state
        v = jnp.stack(xorwow_step(list(v)))
        d = d + jnp.uint32(362437)
        return (v, d), v[4] + d

    (v, d), numbers = lax.scan(step, (v, d), None, length=rows)
    return numbers, v, d


@tensor_program("rows")
def mrg_rows(s1: Any, s2: Any, rows: int) -> Any:
    """The next numbers of all lanes, from 1 to the first modulus; and the state behind them."""
    m1, m2 = (jnp.uint64(each) for each in MRG_MODULI)

    def step(state: Any, _: Any) -> Any:
        s1, s2 = state
        p1 = (jnp.uint64(1403580) * s1[1] + (m1 - jnp.uint64(810728)) * s1[0] % m1) % m1
        p2 = (jnp.uint64(527612) * s2[2] + (m2 - jnp.uint64(1370589)) * s2[0] % m2) % m2
        found = jnp.where(p1 > p2, p1 - p2, p1 + m1 - p2)
        return (jnp.stack([s1[1], s1[2], p1]), jnp.stack([s2[1], s2[2], p2])), found

    (s1, s2), numbers = lax.scan(step, (s1, s2), None, length=rows)
    return numbers, s1, s2


@tensor_program("count")
def philox_blocks(first: Any, key: Any, count: int) -> Any:
    """Blocks of four words, for one counter after another."""
    counters = first + jnp.arange(count, dtype=jnp.uint64)
    c = [counters.astype(jnp.uint32), (counters >> 32).astype(jnp.uint32), *[jnp.zeros(count, jnp.uint32)] * 2]
    k = [key.astype(jnp.uint32), (key >> 32).astype(jnp.uint32)]
    for _ in range(10):
        products = [
            jnp.uint64(factor) * word.astype(jnp.uint64) for factor, word in ((0xD2511F53, c[0]), (0xCD9E8D57, c[2]))
        ]
        high, low = (
            [(each >> 32).astype(jnp.uint32) for each in products],
            [each.astype(jnp.uint32) for each in products],
        )
        c = [high[1] ^ c[1] ^ k[0], low[1], high[0] ^ c[3] ^ k[1], low[0]]
        k = [k[0] + jnp.uint32(0x9E3779B9), k[1] + jnp.uint32(0xBB67AE85)]
    return jnp.stack(c, axis=-1)


@cache
def xorwow_powers(count: int) -> tuple[int, ...]:
    """x to the power of 2^k modulo the characteristic polynomial of XORWOW's step, its coefficients as bits."""
    modulus = 0x100000F0E0F3C0035000621210861003000060001
    found = [2]
    for _ in range(count - 1):
        square, bits, factor = 0, found[-1], found[-1]
        while bits:
            if bits & 1:
                square ^= factor
            bits >>= 1
            factor <<= 1
            if factor >> 160:
                factor ^= modulus
        found.append(square)
    return tuple(found)


def xorwow_jump(v: Array, polynomial: int) -> Array:
    """The words of all lanes, as many steps on as the polynomial says."""
    total = np.zeros_like(v)
    for place in range(160):
        if polynomial >> place & 1:
            total ^= v
        v = np.stack(xorwow_step(list(v)))
    return total


class Xorwow:
    """XORWOW in 4096 lanes that are 2^67 numbers apart."""

    def __init__(self, seed: int) -> None:
        t0 = 1099087573 * ((seed & MASK) ^ 0xAAD26B49) & MASK
        t1 = 2591861531 * ((seed >> 32) ^ 0xF7DCEFDD) & MASK
        words = (123456789 + t0, 362436069 ^ t0, 521288629 + t1, 88675123 ^ t1, 5783321 + t0)
        v = np.repeat(np.array([each & MASK for each in words], WORD)[:, None], LANES, axis=1)
        lanes = np.arange(LANES)
        for bit in range(LANE_BITS):
            chosen = (lanes >> bit & 1).astype(bool)
            v[:, chosen] = xorwow_jump(v[:, chosen], xorwow_powers(68 + bit)[67 + bit])
        self.begin = v, np.full(LANES, (6615241 + t1 + t0) & MASK, WORD)
        self.row, self.state = 0, self.begin

    def words(self, begin: int, count: int) -> Array:
        """Words from a position on."""
        first, last = begin // LANES, (begin + count - 1) // LANES
        v, d = self.state
        if first != self.row:
            v, d = self.begin
            for bit in range(first.bit_length()):
                if first >> bit & 1:
                    v = xorwow_jump(v, xorwow_powers(bit + 1)[bit])
            d = d + np.uint32(362437 * first & MASK)
        parts: list[Array] = []
        if last > first:
            numbers, v, d = xorwow_rows(v, d, rows=last - first)
            parts.append(numbers.reshape(-1))
        # The last row may be used in part: the next call begins there.
        self.row, self.state = last, (v, d)
        parts.append(xorwow_rows(v, d, rows=1)[0].reshape(-1))
        return np.concatenate(parts)[begin - first * LANES :][:count]


def power_of(matrix: Any, exponent: int, modulus: int) -> Any:
    """A matrix of integers to a power, modulo a number."""
    result, factor = np.eye(3, dtype=object), np.array(matrix, object)
    while exponent:
        if exponent & 1:
            result = result @ factor % modulus
        factor = factor @ factor % modulus
        exponent >>= 1
    return result


class Mrg32k3a:
    """MRG32k3a in 4096 lanes that are 2^76 numbers apart."""

    def __init__(self, seed: int) -> None:
        x1, x2 = ((seed & MASK) ^ 0x55555555, (seed >> 32) ^ 0xAAAAAAAA) if seed else (1, 1)
        starts = ((x1, x2, x1), (x2, x1, x2))
        self.begin: list[Any] = []
        for matrix, modulus, factors in zip(MRG_STEPS, MRG_MODULI, starts, strict=True):
            first: Any = np.array([12345 * each % modulus for each in factors], object)
            jump = power_of(matrix, 1 << 76, modulus)
            lanes: Any = first[:, None]
            for _ in range(LANE_BITS):
                # Twice as many lanes, the second half as far on as there are lanes.
                lanes = np.concatenate([lanes, jump @ lanes % modulus], axis=1)
                jump = jump @ jump % modulus
            self.begin.append(lanes)
        self.row, self.state = 0, self._numbers(self.begin)

    @staticmethod
    def _numbers(lanes: list[Any]) -> tuple[Array, Array]:
        return lanes[0].astype(np.uint64), lanes[1].astype(np.uint64)

    def numbers(self, begin: int, count: int) -> Array:
        """Numbers from 1 to the first modulus, from a position on."""
        first, last = begin // LANES, (begin + count - 1) // LANES
        s1, s2 = self.state
        if first != self.row:
            pairs = zip(MRG_STEPS, self.begin, MRG_MODULI, strict=True)
            s1, s2 = self._numbers([power_of(step, first, modulus) @ lanes % modulus for step, lanes, modulus in pairs])
        parts: list[Array] = []
        if last > first:
            found, s1, s2 = mrg_rows(s1, s2, rows=last - first)
            parts.append(found.reshape(-1))
        self.row, self.state = last, (s1, s2)
        parts.append(mrg_rows(s1, s2, rows=1)[0].reshape(-1))
        return np.concatenate(parts)[begin - first * LANES :][:count]

    def words(self, begin: int, count: int) -> Array:
        """Words from a position on."""
        return (self.numbers(begin, count).astype(np.float64) * 1.000000048662).astype(WORD)


class Philox:
    """Philox 4x32-10: block after block."""

    def __init__(self, seed: int) -> None:
        self.key = np.uint64(seed)

    def words(self, begin: int, count: int) -> Array:
        """Words from a position on."""
        first, last = begin // 4, (begin + count - 1) // 4
        blocks = philox_blocks(np.uint64(first), self.key, count=last - first + 1)
        return blocks.reshape(-1)[begin - 4 * first :][:count]


class Twister:
    """MT19937, seeded by one word."""

    def __init__(self, seed: int) -> None:
        self.seed = seed & MASK
        self.position = 0
        self.generator = np.random.RandomState(self.seed)

    def words(self, begin: int, count: int) -> Array:
        """Words from a position on."""
        if begin != self.position:
            self.generator = np.random.RandomState(self.seed)
            self.generator.bytes(4 * begin)
        self.position = begin + count
        return np.frombuffer(self.generator.bytes(4 * count), WORD)


class Sobol:
    """Sobol's sequence: all points' first coordinates, then the second ones, and so on."""

    def __init__(self, dimensions: int) -> None:
        self.dimensions = dimensions

    def words(self, begin: int, count: int) -> Array:
        """Coordinates of points, from a point on."""
        if count % self.dimensions:
            message = f"{count} numbers are no multiple of {self.dimensions} dimensions"
            raise LibraryError(Failure.invalid, message, LENGTH_NOT_MULTIPLE)
        engine = qmc.Sobol(self.dimensions, scramble=False, bits=32)
        if begin:
            engine.fast_forward(begin)
        points = np.asarray(engine.random(count // self.dimensions))
        return (points.T.reshape(-1) * 2.0**32).astype(WORD)


KINDS = {100: Xorwow, 101: Xorwow, 121: Mrg32k3a, 142: Twister, 161: Philox, 200: Sobol, 201: Sobol}
"""By curandRngType_t."""


class Generator(Stateful):
    """What curandCreateGenerator makes."""

    def __init__(self, kind: int, is_on_host: bool) -> None:
        self.kind = kind
        self.is_on_host = is_on_host
        self.seed = 0
        self.offset = 0
        self.dimensions = 1
        self._source: RandomSource | None = None

    @property
    def is_pseudorandom(self) -> bool:
        """Whether numbers look random, rather than even."""
        return KINDS[self.kind] is not Sobol

    @property
    def source(self) -> Any:
        """The source of words, made when it is first asked for."""
        if self._source is None:
            self._source = KINDS[self.kind](self.seed if self.is_pseudorandom else self.dimensions)
        return self._source

    def forget(self) -> None:
        """Begin anew, after an option was set."""
        self._source = None

    def take(self, count: int) -> Array:
        """The next words."""
        found = self.source.words(self.offset, count)
        self.offset += count if self.is_pseudorandom else count // self.dimensions
        return found


# -- numbers from words -----------------------------------------------------------------------------------------------


@tensor_program()
def uniform(words: Any) -> Any:
    """Floats above zero, and at most one."""
    return words.astype(jnp.float32) * jnp.float32(2.3283064e-10) + jnp.float32(2.3283064e-10) / 2


@tensor_program()
def uniform_double(low: Any, high: Any) -> Any:
    """Doubles above zero, and at most one, from two words each."""
    joined = low.astype(jnp.uint64) ^ (high.astype(jnp.uint64) << 21)
    return joined.astype(jnp.float64) * 2.0**-53 + 2.0**-54


@tensor_program()
def normal_pairs(first: Any, second: Any) -> Any:
    """Pairs of normal numbers from pairs of uniform ones (Box and Muller)."""
    radius = jnp.sqrt(-2 * jnp.log(first))
    angle = second * (2 * np.pi)
    return jnp.stack([jnp.sin(angle) * radius, jnp.cos(angle) * radius], axis=-1).reshape(-1)


# -- routines ---------------------------------------------------------------------------------------------------------


@curand.routine("curandCreateGenerator")
@curand.routine("curandCreateGeneratorHost")
def create(call: Call, place: Result, kind: int) -> None:
    if kind not in KINDS:
        raise call.refuse(f"generators of type {kind} are not there: XORWOW, MRG32K3A, MT19937, PHILOX4_32_10, SOBOL32")
    call.give(place, Generator(kind, call.routine.name.endswith("Host")))


@curand.routine("curandDestroyGenerator")
def destroy(call: Call, generator: Generator) -> None:
    call.session.drop(generator)


@curand.routine("curandGetVersion")
def get_version(call: Call, place: Result) -> None:
    call.put(place, VERSION[0] * 1000 + VERSION[1] * 100 + VERSION[2], np.dtype(np.int32))


@curand.routine("curandGetProperty")
def get_property(call: Call, kind: int, place: Result) -> None:
    call.require(0 <= kind < len(VERSION), f"{kind} is no property")
    call.put(place, VERSION[kind], np.dtype(np.int32))


@curand.routine("curandSetStream")
def set_stream(call: Call, generator: Generator, stream: int) -> None:
    generator.stream = stream


@curand.routine("curandSetPseudoRandomGeneratorSeed")
def set_seed(call: Call, generator: Generator, seed: int) -> None:
    if not generator.is_pseudorandom:
        raise call.refuse("quasirandom numbers have no seed")
    generator.seed, generator.offset = seed & (2**64 - 1), 0
    generator.forget()


@curand.routine("curandSetGeneratorOffset")
def set_offset(call: Call, generator: Generator, offset: int) -> None:
    generator.offset = offset & (2**64 - 1)


@curand.routine("curandSetGeneratorOrdering")
def set_ordering(call: Call, generator: Generator, order: int) -> None:
    call.require(100 <= order <= 104 or order == 201, f"{order} is no order")
    call.require((order == 201) != generator.is_pseudorandom, f"{order} is no order of such a generator")


@curand.routine("curandSetQuasiRandomGeneratorDimensions")
def set_dimensions(call: Call, generator: Generator, count: int) -> None:
    if generator.is_pseudorandom:
        raise call.refuse("pseudorandom numbers have no dimensions")
    call.require(1 <= count <= 20000, f"{count} dimensions")
    generator.dimensions = count
    generator.forget()


@curand.routine("curandGenerateSeeds")
def generate_seeds(call: Call, generator: Generator) -> None:
    call.require(generator.source is not None, "the generator can't be started")


def put_numbers(call: Call, generator: Generator, address: Address, numbers: Array) -> None:
    """Write numbers to the device, or to the host for a generator of the host."""
    if generator.is_on_host and call.session.memory.allocation(address) is None:
        call.require(address != 0, "'outputPtr' is a null pointer")
        ctypes.memmove(address, np.ascontiguousarray(numbers).ctypes.data, numbers.nbytes)
        return
    call.vector("outputPtr", address, len(numbers), dtype=numbers.dtype)[...] = numbers


def check_room(call: Call, generator: Generator, address: Address, n: int, dtype: Any) -> None:
    """Raises LibraryError before numbers are drawn that there is no room for."""
    call.require(n >= 0, f"'num' is {n}")
    if n and not generator.is_on_host:
        call.vector("outputPtr", address, n, dtype=np.dtype(dtype))


@curand.routine("curandGenerate")
def generate(call: Call, generator: Generator, output: Address, n: int) -> None:
    check_room(call, generator, output, n, WORD)
    if n:
        put_numbers(call, generator, output, generator.take(n).astype(WORD))


def draw(generator: Generator, n: int, dtype: Any) -> Array:
    """Uniform numbers."""
    if dtype == np.float32:
        if isinstance(generator.source, Mrg32k3a):
            found = generator.source.numbers(generator.offset, n)
            generator.offset += n
            return np.asarray(found.astype(np.float64) * 2.328306549295728e-10, np.float32)
        return uniform(generator.take(n))
    if not generator.is_pseudorandom:
        return generator.take(n) * 2.0**-32 + 2.0**-33
    words = generator.take(2 * n)
    return uniform_double(words[:n], words[n:])


@curand.routine("curandGenerateUniform")
@curand.routine("curandGenerateUniformDouble")
def generate_uniform(call: Call, generator: Generator, output: Address, n: int) -> None:
    dtype = np.float64 if call.routine.name.endswith("Double") else np.float32
    check_room(call, generator, output, n, dtype)
    if n:
        put_numbers(call, generator, output, draw(generator, n, dtype))


@curand.routine("curandGenerateNormal")
@curand.routine("curandGenerateNormalDouble")
@curand.routine("curandGenerateLogNormal")
@curand.routine("curandGenerateLogNormalDouble")
def generate_normal(call: Call, generator: Generator, output: Address, n: int, mean: float, deviation: float) -> None:
    dtype: Any = np.float64 if call.routine.name.endswith("Double") else np.float32
    check_room(call, generator, output, n, dtype)
    if n == 0:
        return
    if generator.is_pseudorandom:
        if n % 2:
            raise LibraryError(Failure.invalid, f"{n} numbers can't be made in pairs", LENGTH_NOT_MULTIPLE)
        numbers = draw(generator, n, dtype)
        normal = normal_pairs(numbers[0::2], numbers[1::2])
    else:
        normal = np.asarray(stats.norm.ppf(np.clip(draw(generator, n, np.float64), 0, 1 - 2.0**-53)))
    found = normal.astype(dtype) * dtype(deviation) + dtype(mean)
    put_numbers(call, generator, output, np.exp(found) if "Log" in call.routine.name else found)


@curand.routine("curandGeneratePoisson")
def generate_poisson(call: Call, generator: Generator, output: Address, n: int, mean: float) -> None:
    check_room(call, generator, output, n, WORD)
    call.require(0 < mean < LARGEST_EXACT_MEAN, f"'lambda' is {mean}")
    if n:
        numbers = np.clip(draw(generator, n, np.float64), 0, 1 - 2.0**-53)
        put_numbers(call, generator, output, np.asarray(stats.poisson.ppf(numbers, mean)).astype(WORD))
