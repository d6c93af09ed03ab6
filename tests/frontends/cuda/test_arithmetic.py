"""The headers' own arithmetic: directed rounding, conversions, integer intrinsics, against exact results."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from tests.frontends.cuda.native import load_kernel
from windlass.frontends.cuda import compile_device
from windlass.ir.signature import DeviceCode

BINARY = ("add", "sub", "mul", "div")
MODES = ("rz", "ru", "rd")


def _kernels() -> str:
    text: list[str] = []

    def kernel(name: str, result: str, operands: list[str], call: str) -> None:
        parameters = "".join(f", const {kind} *{letter}" for kind, letter in zip(operands, "abc", strict=False))
        arguments = ", ".join(f"{letter}[i]" for _, letter in zip(operands, "abc", strict=False))
        text.append(
            f"__global__ void {name}(int n, {result} *out{parameters}) "
            f"{{ for (int i = 0; i < n; ++i) out[i] = {call}({arguments}); }}"
        )

    for letter, kind in (("f", "float"), ("d", "double")):
        for mode in MODES:
            for operation in BINARY:
                call = f"__{letter}{operation}_{mode}"
                kernel(call.strip("_"), kind, [kind, kind], call)
            kernel(f"{letter}sqrt_{mode}", kind, [kind], f"__{letter}sqrt_{mode}")
            fused = "__fmaf" if letter == "f" else "__fma"
            kernel(f"{letter}fma_{mode}", kind, [kind] * 3, f"{fused}_{mode}")
    for mode in (*MODES, "rn"):
        kernel(f"narrow_{mode}", "float", ["double"], f"__double2float_{mode}")
        kernel(f"int2float_{mode}", "float", ["int"], f"__int2float_{mode}")
        kernel(f"ll2float_{mode}", "float", ["long long"], f"__ll2float_{mode}")
        kernel(f"ull2double_{mode}", "double", ["unsigned long long"], f"__ull2double_{mode}")
        kernel(f"float2int_{mode}", "int", ["float"], f"__float2int_{mode}")
        kernel(f"float2uint_{mode}", "unsigned", ["float"], f"__float2uint_{mode}")
        kernel(f"double2ll_{mode}", "long long", ["double"], f"__double2ll_{mode}")
    for call in ("clz", "ffs", "popc", "brev"):
        kernel(call, "unsigned", ["unsigned"], f"__{call}")
    for call in ("clzll", "ffsll", "popcll", "brevll"):
        kernel(call, "unsigned long long", ["unsigned long long"], f"__{call}")
    for call in ("umulhi", "umul24", "uhadd", "urhadd", "vadd4", "vabsdiffu4", "vmaxs2", "vcmpgtu4"):
        kernel(call, "unsigned", ["unsigned", "unsigned"], f"__{call}")
    for call in ("mulhi", "mul24", "hadd"):
        kernel(call, "int", ["int", "int"], f"__{call}")
    kernel("umul64hi", "unsigned long long", ["unsigned long long"] * 2, "__umul64hi")
    kernel("mul64hi", "long long", ["long long"] * 2, "__mul64hi")
    for call in ("byte_perm", "funnelshift_l", "funnelshift_r", "funnelshift_lc", "usad"):
        kernel(call, "unsigned", ["unsigned"] * 3, f"__{call}")
    kernel("dp4a", "int", ["int"] * 3, "__dp4a")
    for call in ("sinpi", "cospi", "rsqrt", "rcbrt", "normcdf"):
        kernel(call, "double", ["double"], call)
    for call in ("__saturatef", "sinpif", "norm"):
        kernel(call.strip("_"), "float", ["float"], call if call != "norm" else "rsqrtf")
    kernel("norm3d", "double", ["double"] * 3, "norm3d")
    kernel("norm3df", "float", ["float"] * 3, "norm3df")
    kernel("fminimum", "float", ["float", "float"], "min")
    kernel("mixed", "unsigned", ["int", "unsigned"], "max")
    return "\n".join(text)


@pytest.fixture(scope="module")
def code() -> DeviceCode:
    return compile_device(_kernels())


def run(code: DeviceCode, name: str, result: str, *operands: np.ndarray) -> np.ndarray:
    out = np.zeros(len(operands[0]), np.dtype(result))
    load_kernel(code, name)(len(out), out, *operands)
    return out


def floats(dtype: str, count: int, seed: int) -> np.ndarray:
    """Numbers of all sizes, with special values, zeros, subnormal numbers and near misses among them."""
    generator = np.random.default_rng(seed)
    kind = np.dtype(dtype)
    bits = generator.integers(0, 2 ** (8 * kind.itemsize), count, dtype=f"u{kind.itemsize}")
    wild = bits.view(kind).copy()
    wild[~np.isfinite(wild)] = 1.5
    tame = generator.normal(size=count).astype(kind)
    info = np.finfo(kind)
    special = np.array(
        [
            0.0,
            -0.0,
            1.0,
            -1.0,
            info.max,
            -info.max,
            info.tiny,
            info.smallest_subnormal,
            -info.smallest_subnormal,
            1 / 3,
        ],
        kind,
    )
    mixed = np.concatenate(
        [wild[: count // 3], tame[: count // 3], generator.choice(special, count - 2 * (count // 3))]
    )
    return generator.permutation(mixed)


def rounded(exact: Fraction, mode: str, kind: np.dtype, zero: float) -> float:
    """The number of this kind that an exact value rounds to; `zero` is the result for an exact zero."""
    if exact == 0:
        return zero
    info = np.finfo(kind)
    largest = Fraction(float(info.max))
    if abs(exact) > largest:
        outward = mode == ("ru" if exact > 0 else "rd")
        size = math.inf if outward else float(info.max)
        return math.copysign(size, float(exact > 0) - 0.5)
    magnitude = abs(exact)
    exponent = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
    exponent = max(exponent - int(Fraction(2) ** exponent > magnitude), int(info.minexp))
    unit = Fraction(2) ** (exponent - info.nmant)
    steps = magnitude / unit
    up = mode == ("ru" if exact > 0 else "rd")
    count = math.ceil(steps) if up else math.floor(steps)
    result = count * unit
    if result > largest:
        return math.copysign(math.inf, float(exact > 0) - 0.5)
    return math.copysign(float(result), float(exact > 0) - 0.5)


def assert_same(found: np.ndarray, expected: list[float], describe: Callable[[int], object]) -> None:
    wanted = np.array(expected, found.dtype)
    equal = (found == wanted) & (np.signbit(found) == np.signbit(wanted))
    wrong = np.flatnonzero(~equal)
    assert not len(wrong), [(describe(int(i)), found[i], wanted[i]) for i in wrong[:5]]


@pytest.mark.one_in(2)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("letter", ["f", "d"])
@pytest.mark.parametrize("operation", BINARY)
def test_operations_round_in_their_direction(code: DeviceCode, letter: str, operation: str, mode: str) -> None:
    dtype = "f4" if letter == "f" else "f8"
    a, b = floats(dtype, 900, 1), floats(dtype, 900, 2)
    if operation in {"add", "sub"}:
        # Sums of numbers of similar size, whose errors are neither zero nor lost.
        b[::2] = (a[::2] * np.float64(1e-5)).astype(dtype)
    if operation == "div":
        b[b == 0] = 3
    expected: list[float] = []
    for x, y in zip(a.tolist(), b.tolist(), strict=True):
        left, right = Fraction(x), Fraction(y)
        if operation in {"add", "sub"}:
            right, signed = (right, y) if operation == "add" else (-right, -y)
            zero = x + signed if x == 0 and signed == 0 and math.copysign(1, x) == math.copysign(1, signed) else 0.0
            if mode == "rd" and not (x == 0 and signed == 0 and math.copysign(1, x) + math.copysign(1, signed) == 2):
                zero = -0.0
            expected.append(rounded(left + right, mode, np.dtype(dtype), zero))
        else:
            exact = left * right if operation == "mul" else left / right
            sign = math.copysign(1, x) * math.copysign(1, y)
            expected.append(rounded(exact, mode, np.dtype(dtype), math.copysign(0.0, sign)))
    found = run(code, f"{letter}{operation}_{mode}", dtype, a, b)
    assert_same(found, expected, lambda i: (a[i], b[i]))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("letter", ["f", "d"])
def test_roots_round_in_their_direction(code: DeviceCode, letter: str, mode: str) -> None:
    dtype = "f4" if letter == "f" else "f8"
    a = np.abs(floats(dtype, 600, 3))
    found = run(code, f"{letter}sqrt_{mode}", dtype, a)
    for x, root in zip(a.tolist(), found.tolist(), strict=True):
        square = Fraction(root) ** 2
        other = Fraction(
            float(np.nextafter(np.dtype(dtype).type(root), np.dtype(dtype).type(math.inf if mode != "ru" else 0)))
        )
        if mode == "ru":
            assert square >= Fraction(x), x
            assert x == 0 or other**2 < Fraction(x), x
        else:
            assert square <= Fraction(x) < other**2 or (x == 0 and root == 0), x


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("letter", ["f", "d"])
def test_fused_operations_round_once_in_their_direction(code: DeviceCode, letter: str, mode: str) -> None:
    dtype = "f4" if letter == "f" else "f8"
    generator = np.random.default_rng(4)
    # Of moderate size: for doubles the error is exact where the product stays in range.
    a, b, c = (generator.normal(size=900) * 2.0 ** generator.integers(-30, 30, 900) for _ in range(3))
    a, b, c = a.astype(dtype), b.astype(dtype), c.astype(dtype)
    c[::3] = -(a[::3] * b[::3])
    expected = [
        rounded(Fraction(x) * Fraction(y) + Fraction(z), mode, np.dtype(dtype), -0.0 if mode == "rd" else 0.0)
        for x, y, z in zip(a.tolist(), b.tolist(), c.tolist(), strict=True)
    ]
    assert_same(run(code, f"{letter}fma_{mode}", dtype, a, b, c), expected, lambda i: (a[i], b[i], c[i]))


@pytest.mark.parametrize("mode", MODES)
def test_narrowing_rounds_in_its_direction(code: DeviceCode, mode: str) -> None:
    x = np.concatenate([floats("f8", 300, 5), floats("f4", 600, 6).astype("f8") * (1 + 2.0**-30)])
    expected = [rounded(Fraction(v), mode, np.dtype("f4"), v) for v in x.tolist()]
    assert_same(run(code, f"narrow_{mode}", "f4", x), expected, lambda i: x[i])
    whole = np.random.default_rng(7).integers(-(2**63), 2**63 - 1, 500)
    expected = [rounded(Fraction(v), mode, np.dtype("f4"), 0.0) for v in whole.tolist()]
    assert_same(run(code, f"ll2float_{mode}", "f4", whole), expected, lambda i: whole[i])
    small = whole.astype("i4")
    expected = [rounded(Fraction(v), mode, np.dtype("f4"), 0.0) for v in small.tolist()]
    assert_same(run(code, f"int2float_{mode}", "f4", small), expected, lambda i: small[i])
    unsigned = whole.view("u8")
    expected = [rounded(Fraction(v), mode, np.dtype("f8"), 0.0) for v in unsigned.tolist()]
    assert_same(run(code, f"ull2double_{mode}", "f8", unsigned), expected, lambda i: unsigned[i])


@pytest.mark.parametrize(
    ("mode", "to_whole"), [("rn", round), ("rz", math.trunc), ("ru", math.ceil), ("rd", math.floor)]
)
def test_numbers_to_integers_saturate(code: DeviceCode, mode: str, to_whole: Callable[[float], int]) -> None:
    x = np.array(
        [0.5, 1.5, 2.5, -0.5, -1.5, 3.99, -3.99, 2e9, 3e9, 5e9, -3e9, 2147483520.0, np.inf, -np.inf, np.nan], "f4"
    )

    def whole(value: float, low: int, high: int, for_nan: int) -> int:
        if math.isnan(value):
            return for_nan
        if math.isinf(value):
            return high if value > 0 else low
        return min(max(to_whole(value), low), high)

    signed = [whole(v, -(2**31), 2**31 - 1, 0) for v in x.tolist()]
    assert run(code, f"float2int_{mode}", "i4", x).tolist() == signed
    assert run(code, f"float2uint_{mode}", "u4", x).tolist() == [whole(v, 0, 2**32 - 1, 0) for v in x.tolist()]
    wide = np.array([0.5, 1e18 + 0.0, -1e18, 1e19, -1e19, 4503599627370497.5, np.nan])
    expected = [whole(v, -(2**63), 2**63 - 1, -(2**63)) for v in wide.tolist()]
    assert run(code, f"double2ll_{mode}", "i8", wide).tolist() == expected


def test_bits_are_counted_and_moved(code: DeviceCode) -> None:
    for bits, dtype, suffix in ((32, "u4", ""), (64, "u8", "ll")):
        x = (
            np.random.default_rng(8).integers(0, 2**63, 200, dtype="u8").astype(dtype)
            >> np.arange(200).astype(dtype) % bits
        )
        x = np.concatenate([x, np.array([0, 1, 2 ** (bits - 1), 2**bits - 1], dtype)])
        numbers = x.tolist()
        assert run(code, f"clz{suffix}", dtype, x).tolist() == [bits - n.bit_length() for n in numbers]
        assert run(code, f"popc{suffix}", dtype, x).tolist() == [n.bit_count() for n in numbers]
        assert run(code, f"ffs{suffix}", dtype, x).tolist() == [(n & -n).bit_length() for n in numbers]
        assert run(code, f"brev{suffix}", dtype, x).tolist() == [int(f"{n:0{bits}b}"[::-1], 2) for n in numbers]


def test_high_halves_of_products(code: DeviceCode) -> None:
    generator = np.random.default_rng(9)
    for name, dtype, shift in (
        ("umulhi", "u4", 32),
        ("mulhi", "i4", 32),
        ("umul64hi", "u8", 64),
        ("mul64hi", "i8", 64),
    ):
        raw = generator.integers(0, 2**64, (2, 300), dtype="u8")
        a, b = raw.astype(f"u{dtype[1]}").view(dtype)
        a[:3], b[:3] = np.iinfo(dtype).max, np.iinfo(dtype).min
        expected = [(x * y) >> shift for x, y in zip(a.tolist(), b.tolist(), strict=True)]
        assert run(code, name, dtype, a, b).tolist() == expected, name


def test_packed_and_narrow_integers(code: DeviceCode) -> None:
    generator = np.random.default_rng(10)
    a, b, c = generator.integers(0, 2**32, (3, 300), dtype="u4")
    pairs = list(zip(a.tolist(), b.tolist(), c.tolist(), strict=True))

    def lanes(x: int, y: int, bits: int, signed: bool, combine: Callable[[int, int], int]) -> int:
        result = 0
        for place in range(0, 32, bits):
            u, v = x >> place & (2**bits - 1), y >> place & (2**bits - 1)
            if signed:
                u, v = u - (u >> bits - 1 << bits), v - (v >> bits - 1 << bits)
            result |= (combine(u, v) & (2**bits - 1)) << place
        return result

    def check(name: str, expected: list[int], *operands: np.ndarray) -> None:
        assert run(code, name, "u4", *operands).tolist() == expected, name

    check("vadd4", [lanes(x, y, 8, False, lambda u, v: u + v) for x, y, _ in pairs], a, b)
    check("vabsdiffu4", [lanes(x, y, 8, False, lambda u, v: abs(u - v)) for x, y, _ in pairs], a, b)
    check("vmaxs2", [lanes(x, y, 16, True, max) for x, y, _ in pairs], a, b)
    check("vcmpgtu4", [lanes(x, y, 8, False, lambda u, v: 255 * (u > v)) for x, y, _ in pairs], a, b)
    check("umul24", [(x % 2**24) * (y % 2**24) % 2**32 for x, y, _ in pairs], a, b)
    check("uhadd", [(x + y) >> 1 for x, y, _ in pairs], a, b)
    check("urhadd", [(x + y + 1) >> 1 for x, y, _ in pairs], a, b)
    check("usad", [(abs(x - y) + z) % 2**32 for x, y, z in pairs], a, b, c)
    permuted = [sum(((y << 32 | x) >> 8 * (z >> 4 * i & 7) & 255) << 8 * i for i in range(4)) for x, y, z in pairs]
    check("byte_perm", permuted, a, b, c)
    check("funnelshift_l", [((y << 32 | x) << z % 32) >> 32 & 0xFFFFFFFF for x, y, z in pairs], a, b, c)
    check("funnelshift_r", [(y << 32 | x) >> z % 32 & 0xFFFFFFFF for x, y, z in pairs], a, b, c)
    check("funnelshift_lc", [((y << 32 | x) << min(z, 32)) >> 32 & 0xFFFFFFFF for x, y, z in pairs], a, b, c)
    signed = [array.view("i4") for array in (a, b, c)]
    dot = (signed[0].view("i1").reshape(-1, 4).astype("i4") * signed[1].view("i1").reshape(-1, 4)).sum(1) + signed[2]
    assert run(code, "dp4a", "i4", *signed).tolist() == dot.astype("i4").tolist()
    halves = [(x + y) >> 1 for x, y in zip(signed[0].tolist(), signed[1].tolist(), strict=True)]
    assert run(code, "hadd", "i4", *signed[:2]).tolist() == halves


def test_special_functions_and_their_edges(code: DeviceCode) -> None:
    x = np.array([0.0, 0.25, 0.5, 1.0, 1.5, -0.5, 1e10 + 0.5, 2.0**60, -3.25])
    np.testing.assert_allclose(
        run(code, "sinpi", "f8", x), [0, np.sqrt(0.5), 1, 0, -1, -1, 1, 0, np.sqrt(0.5)], rtol=1e-15, atol=0
    )
    np.testing.assert_allclose(
        run(code, "cospi", "f8", x), [1, np.sqrt(0.5), 0, -1, 0, 0, 0, 1, -np.sqrt(0.5)], rtol=1e-15, atol=0
    )
    np.testing.assert_allclose(run(code, "rsqrt", "f8", x[1:4]), 1 / np.sqrt(x[1:4]))
    np.testing.assert_allclose(run(code, "rcbrt", "f8", x[1:4]), 1 / np.cbrt(x[1:4]))
    expected = [0.5 * math.erfc(-v / math.sqrt(2)) for v in x.tolist()]
    np.testing.assert_allclose(run(code, "normcdf", "f8", x), expected, rtol=1e-14)
    big = np.array([1e200, 3e-200, 0.0, np.inf])
    other = np.array([1e200, 4e-200, 0.0, np.nan])
    np.testing.assert_allclose(run(code, "norm3d", "f8", big, other, np.zeros(4)), [1e200 * 2**0.5, 5e-200, 0, np.inf])
    single = np.array([3e30, 1.0], "f4")
    np.testing.assert_allclose(
        run(code, "norm3df", "f4", single, single, single), single * np.float32(3**0.5), rtol=1e-6
    )
    values = np.array([-1.0, 0.25, 2.0, np.nan], "f4")
    assert run(code, "saturatef", "f4", values).tolist() == [0.0, 0.25, 1.0, 0.0]


def test_minimum_and_maximum_follow_cuda(code: DeviceCode) -> None:
    a, b = np.array([1.0, np.nan, 2.0], "f4"), np.array([np.nan, 5.0, 1.0], "f4")
    assert run(code, "fminimum", "f4", a, b).tolist() == [1.0, 5.0, 1.0]
    assert run(code, "mixed", "u4", np.array([-1, 3], "i4"), np.array([5, 2], "u4")).tolist() == [2**32 - 1, 3]
