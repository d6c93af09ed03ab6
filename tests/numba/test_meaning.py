# pyright: basic
"""What Python says in kernels means what it means outside: numbers, indices, names, records, tuples."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tests.numba.running import both_ways
from windlass.numba import boolean, complex64, cuda, uint8

pytestmark = pytest.mark.one_in(2)

RNG = np.random.default_rng(7)


@cuda.jit
def floor_arithmetic(a, b, out):
    i = cuda.grid(1)
    if i < a.size:
        out[i, 0] = a[i] // b[i]
        out[i, 1] = a[i] % b[i]
        out[i, 2] = a[i] / b[i]
        out[i, 3] = a[i] ** 2
        out[i, 4] = -(a[i] ** 3)
        out[i, 5] = abs(a[i])
        out[i, 6] = min(a[i], b[i], 2)
        out[i, 7] = round(a[i] / b[i])
        out[i, 8] = a[i] >> 1
        out[i, 9] = ~a[i] & 0xFF


def test_integers_divide_as_pythons_do():
    pairs = [(a, b) for a in range(-7, 8) for b in (-5, -3, -1, 1, 2, 4)]
    a, b = (np.array(each, np.int32) for each in zip(*pairs, strict=True))
    *_, out = both_ways(floor_arithmetic, 3, 32, a, b, np.zeros((90, 10)))
    for (x, y), row in zip(pairs, out, strict=True):
        expected = (x // y, x % y, x / y, x**2, -(x**3), abs(x), min(x, y, 2), round(x / y), x >> 1, ~x & 0xFF)
        np.testing.assert_array_equal(row, expected)


@cuda.jit
def float_division(a, b, out):
    i = cuda.grid(1)
    if i < a.size:
        out[i, 0] = a[i] // b[i]
        out[i, 1] = a[i] % b[i]
        out[i, 2] = math.floor(a[i])
        out[i, 3] = math.ceil(b[i])


def test_floats_divide_as_pythons_do():
    pairs = [(a, b) for a in (-7.5, -3.0, -0.25, 0.0, 0.25, 3.0, 8.75) for b in (-2.5, -1.0, 0.5, 1.0, 3.0)]
    a, b = (np.array(each) for each in zip(*pairs, strict=True))
    *_, out = both_ways(float_division, 2, 32, a, b, np.zeros((35, 4)))
    for (x, y), row in zip(pairs, out, strict=True):
        np.testing.assert_array_equal(row, (x // y, x % y, math.floor(x), math.ceil(y)))


@cuda.jit
def wrap_around(x, out):
    i = cuda.grid(1)
    if i < x.size:
        out[i] = x[i - 1] + x[-1 - i] + x[-1]


def test_negative_indices_count_from_the_end():
    x = RNG.random(20)
    _, out = both_ways(wrap_around, 1, 32, x, np.zeros(20))
    np.testing.assert_array_equal(out, np.roll(x, 1) + x[::-1] + x[-1])


@cuda.jit
def rows_as_views(a, out):
    i = cuda.grid(1)
    if i < a.shape[0]:
        row = a[i]
        half = row[1:-1]
        total = 0.0
        for value in half:
            total += value
        out[i] = total + row[::2][1] + half.size


def test_views():
    a = RNG.random((5, 8))
    _, out = both_ways(rows_as_views, 1, 8, a, np.zeros(5))
    np.testing.assert_allclose(out, a[:, 1:-1].sum(1) + a[:, 2] + 6)


INNER, CORNER, BACKWARDS = slice(-3, 3), (slice(np.int64(1), None), -1), slice(None, None, -1)
STUCK, BROKEN = slice(0, 3, 0), slice(1.5, 2)


@cuda.jit
def slices_from_outside(x, a, out):
    part, column = x[INNER], a[CORNER]
    out[0] = part.size + 10 * part[0]
    out[1] = column.size + 10 * column[0]
    out[2] = x[BACKWARDS][1]
    a[INNER, BACKWARDS][0, 0] = -1


def test_slices_from_outside():
    x, a = np.arange(5.0), np.arange(12.0).reshape(4, 3)
    expected = a.copy()
    expected[INNER, BACKWARDS][0, 0] = -1
    _, a, out = both_ways(slices_from_outside, 1, 1, x, a, np.zeros(3))
    assert out.tolist() == [21, 3 + 50, 3]
    np.testing.assert_array_equal(a, expected)

    @cuda.jit
    def by_zero(x):
        x[0] = x[STUCK].size

    @cuda.jit
    def by_float(x):
        x[0] = x[BROKEN].size

    with pytest.raises(Exception, match="the step of a slice can't be zero"):
        by_zero[1, 1](x)
    with pytest.raises(Exception, match="an integer is needed here, this is float64"):
        by_float[1, 1](x)


RECORD = np.dtype([("mass", np.float32), ("charge", np.int32), ("position", np.float64, (3,))], align=True)


@cuda.jit
def move(particles, by):
    i = cuda.grid(1)
    if i < particles.size:
        particle = particles[i]
        particle.mass *= 2
        particles[i]["charge"] = i
        for axis in range(3):
            particle.position[axis] += by * particle.mass


def test_records():
    particles = np.zeros(10, RECORD)
    particles["mass"] = np.arange(10)
    expected = particles.copy()
    expected["mass"] *= 2
    expected["charge"] = np.arange(10)
    expected["position"] += 0.5 * expected["mass"][:, None].astype(np.float64)
    move[1, 32](particles, 0.5)
    np.testing.assert_array_equal(particles, expected)


TABLE = np.array([1.0, 2.0, 4.0, 8.0])


@cuda.jit
def with_table(x, out):
    table = cuda.const.array_like(TABLE)
    i = cuda.grid(1)
    if i < x.size:
        out[i] = x[i] * table[i % 4]


def test_constant_arrays():
    x = RNG.random(10)
    _, out = both_ways(with_table, 1, 32, x, np.zeros(10))
    np.testing.assert_array_equal(out, x * TABLE[np.arange(10) % 4])


@cuda.jit
def polynomial(x, coefficients, out):
    i = cuda.grid(1)
    if i < x.size:
        total = 0
        for c in coefficients:
            total = total * x[i] + c
        out[i] = total


def test_tuples_and_variables_that_change_type():
    x = RNG.random(10)
    *_, out = both_ways(polynomial, 1, 32, x, (1.0, -2.0, 3.0), np.zeros(10))
    np.testing.assert_allclose(out, np.polyval([1, -2, 3], x))


@cuda.jit
def flags(values, mask, out):
    i = cuda.grid(1)
    if i < values.size:
        is_small = values[i] < 5
        out[i] = (is_small and not mask[i]) or values[i] == 7


def test_booleans():
    values, mask = np.arange(12), np.arange(12) % 2 == 0
    *_, out = both_ways(flags, 1, 32, values, mask, np.zeros(12, np.bool_))
    np.testing.assert_array_equal(out, ((values < 5) & ~mask) | (values == 7))


@cuda.jit
def complex_power(z, out):
    i = cuda.grid(1)
    if i < z.size:
        out[i] = z[i] * z[i].conjugate() + abs(z[i]) * 1j - z[i] / (1 + 2j)


def test_complex_numbers():
    z = (RNG.random(9) + 1j * RNG.random(9)).astype(np.complex128)
    _, out = both_ways(complex_power, 1, 32, z, np.zeros(9, np.complex128))
    np.testing.assert_allclose(out, z * z.conj() + abs(z) * 1j - z / (1 + 2j))


@cuda.jit
def strided(a, out):
    i, j = cuda.grid(2)
    if i < a.shape[0] and j < a.shape[1]:
        out[i, j] = a[i, j] + a.shape[1]


@pytest.mark.one_in(2)
@pytest.mark.parametrize("order", ["C", "F", "A"])
def test_memory_orders(order: str):
    base = RNG.random((12, 10))
    a = {"C": base, "F": np.asfortranarray(base), "A": base[::2, 1::3]}[order]
    *_, out = both_ways(strided, (1, 1), (16, 16), a, np.zeros(a.shape))
    np.testing.assert_array_equal(out, a + a.shape[1])


@cuda.jit
def math_functions(x, out):
    i = cuda.grid(1)
    if i < x.size:
        out[i, 0] = math.sin(x[i]) + math.cos(x[i]) * math.exp(-x[i])
        out[i, 1] = math.log(x[i]) ** 2 + math.atan2(x[i], 2.0)
        out[i, 2] = np.sqrt(x[i]) + np.float32(2) + math.pi
        out[i, 3] = math.pow(x[i], 1.5) + math.hypot(x[i], 1.0) + math.erf(x[i])
        out[i, 4] = math.tanh(x[i]) if not math.isnan(x[i]) else 0.0
        out[i, 5] = np.minimum(x[i], 0.5) + cuda.fma(x[i], 2.0, 1.0) + cuda.selp(x[i] > 0.5, 1.0, 2.0)


def test_functions_of_math_and_numpy():
    x = RNG.random(10) + 0.1
    _, out = both_ways(math_functions, 1, 32, x, np.zeros((10, 6)))
    erf = np.array([math.erf(each) for each in x])
    columns = [
        np.sin(x) + np.cos(x) * np.exp(-x),
        np.log(x) ** 2 + np.arctan2(x, 2.0),
        np.sqrt(x) + 2 + math.pi,
        x**1.5 + np.hypot(x, 1.0) + erf,
        np.tanh(x),
        np.minimum(x, 0.5) + 2 * x + 1 + np.where(x > 0.5, 1.0, 2.0),
    ]
    np.testing.assert_allclose(out, np.stack(columns, 1), rtol=1e-12)


@cuda.jit("void(float32[:], int32)")
def scale_by(x, factor):
    i = cuda.grid(1)
    if i < x.size:
        x[i] *= factor


def test_signatures_convert_numbers():
    x = np.arange(5, dtype=np.float32)
    both_ways(scale_by, 1, 32, x, 3)
    np.testing.assert_array_equal(x, 3 * np.arange(5))


@cuda.jit
def swap_buffers(a, b, steps):
    i = cuda.grid(1)
    source, target = a, b
    for _ in range(steps):
        target[i] = source[(i + 1) % a.size] * 2
        source, target = target, source
        cuda.syncthreads()


def test_arrays_change_names_in_loops():
    a = np.arange(8.0)
    first, second = a.copy(), np.zeros(8)
    swap_buffers[1, 8](first, second, 3)
    np.testing.assert_array_equal(first, np.roll(a, -2) * 4)
    np.testing.assert_array_equal(second, np.roll(a, -3) * 8)


@cuda.jit
def carried(x, out):
    i = cuda.grid(1)
    if i < x.shape[0]:
        best = 0
        for k in range(x.shape[1]):
            if k == 0:
                previous = x[i, k]
            if x[i, k] - previous > best:  # noqa: PLR1730
                best = x[i, k] - previous
            previous = x[i, k]
        out[i] = best


def test_names_that_are_assigned_in_an_earlier_round():
    x = RNG.random((6, 9))
    _, out = both_ways(carried, 1, 8, x, np.zeros(6))
    np.testing.assert_allclose(out, np.maximum(np.diff(x, axis=1).max(1), 0))


@cuda.jit(device=True)
def min_max(a, b):
    if a < b:
        return a, b
    return b, a


@cuda.jit
def odd_even_sort(x):
    i = cuda.threadIdx.x
    for step in range(x.size):
        j = 2 * i + step % 2
        if j + 1 < x.size:
            x[j], x[j + 1] = min_max(x[j], x[j + 1])
        cuda.syncthreads()


def test_device_functions_that_return_tuples():
    x = RNG.integers(0, 99, 20)
    (got,) = both_ways(odd_even_sort, 1, 10, x.copy())
    np.testing.assert_array_equal(got, np.sort(x))


@cuda.jit
def unsigned(x, out):
    i = cuda.grid(1)
    if i < x.size:
        state = x[i]
        state ^= state << np.uint32(13)
        state = np.uint32(state)
        state ^= state >> np.uint32(17)
        out[i] = state


def test_unsigned_integers_of_32_bits():
    x = RNG.integers(0, 2**32, 20, dtype=np.uint32)
    _, out = both_ways(unsigned, 1, 32, x, np.zeros(20, np.uint32))
    state = x ^ (x << np.uint32(13))
    np.testing.assert_array_equal(out, state ^ (state >> np.uint32(17)))


@cuda.jit
def generator(seeds, out):
    i = cuda.grid(1)
    if i < seeds.size:
        state = seeds[i]
        for _ in range(5):
            state = state * 6364136223846793005 + 1442695040888963407
        out[i] = state


def test_integers_of_64_bits_wrap_around():
    seeds = np.arange(10)
    _, out = both_ways(generator, 1, 32, seeds, np.zeros(10, np.int64))
    expected = seeds.copy()
    with np.errstate(all="ignore"):
        for _ in range(5):
            expected = expected * np.int64(6364136223846793005) + np.int64(1442695040888963407)
    np.testing.assert_array_equal(out, expected)


@cuda.jit
def all_types(out):
    flag = cuda.shared.array(1, boolean)
    small = cuda.local.array(1, uint8)
    pair = cuda.local.array((1, 2), complex64)
    flag[0] = True
    small[0] = 255
    small[0] += 1
    pair[0, 1] = 1 + 2j
    out[0] = small[0] + pair[0, 1].imag + flag[0]


def test_arrays_of_many_types():
    (out,) = both_ways(all_types, 1, 1, np.zeros(1))
    assert out[0] == 3
