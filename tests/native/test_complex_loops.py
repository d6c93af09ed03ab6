"""Loops of complex numbers as native code, on pairs of floats, and what stays with XLA."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest

import windlass as wl
from tests.native.test_element_loops import expect_native, looked_at
from windlass.lowering.native_loops import ElementLoop

assert looked_at, "it is a fixture"
pytestmark = pytest.mark.skipif(jax.default_backend() != "cpu", reason="native code is a CPU's")


def recur(x: Any, y: Any, out: Any, sizes: Any, alike: Any) -> None:
    s = x[0] * 0
    for i in range(x.size):
        a, b = x[i], y[i]
        s = s * 0.5 + a
        out[0, i] = s / b if abs(s) > b.real else -s.conjugate()
        out[1, i] = s * b
        sizes[i] = abs(s) + b.imag
        if s == b:
            alike[i] += 1
        if s != a:
            alike[i] += 2


def numbers(dtype: Any, count: int) -> Any:
    draw = np.random.default_rng(count)
    return (draw.standard_normal(count) + 1j * draw.standard_normal(count)).astype(dtype)


@pytest.mark.parametrize("dtype", [np.complex128, np.complex64])
def test_elements_are_computed_as_by_numpy(dtype: Any, looked_at: list[ElementLoop]):
    x, y = numbers(dtype, 40), numbers(dtype, 41)[:40]
    y[3], y[5], x[7] = 0, complex(3e30, 2e30), complex(0, -0.0)
    found, wanted = (
        (x.copy(), y, np.zeros((2, 40), dtype), np.zeros(40, x.real.dtype), np.zeros(40, np.int64)) for _ in range(2)
    )
    wl.jit(whole=True)(recur)(*found)
    with np.errstate(all="ignore"):
        recur(*wanted)
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-14 if dtype is np.complex128 else 2e-6)
    expect_native(looked_at)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (1 + 1j, 0j),
        (np.inf + 0j, 1 + 1j),
        (1 + 1j, np.inf + 0j),
        (1e300 + 1e300j, 1e300 + 1e300j),
        (np.nan + 0j, 2 + 0j),
    ],
)
def test_infinite_and_huge_numbers_are_divided_as_by_numpy(left: Any, right: Any, looked_at: list[ElementLoop]):
    def quotients(x: Any, y: Any) -> None:
        for i in range(1, x.size):
            x[i] = x[i - 1] if i % 3 == 2 else x[i] / y[i]

    x, y = np.full(20, left), np.full(20, right)
    wanted = x.copy()
    with np.errstate(all="ignore"):
        quotients(wanted, y)
    wl.jit(whole=True)(quotients)(x, y)
    np.testing.assert_array_equal(x, wanted)
    expect_native(looked_at)


def test_loops_over_arrays_of_complex_numbers_are_native(looked_at: list[ElementLoop]):
    @wl.jit(whole=True)
    def steps(z: Any, c: Any, counts: Any, rounds: Any) -> Any:
        for _ in range(rounds):
            inside = z.real * z.real + z.imag * z.imag < 4.0
            z = np.where(inside, z * z + c, z)
            counts += inside
        return z

    c, counts = numbers(np.complex128, 600).reshape(20, 30), np.zeros((20, 30), np.int64)
    found = steps(np.zeros_like(c), c, counts, 12)
    z, wanted = np.zeros_like(c), np.zeros((20, 30), np.int64)
    for _ in range(12):
        inside = z.real * z.real + z.imag * z.imag < 4.0
        z = np.where(inside, z * z + c, z)
        wanted += inside
    np.testing.assert_allclose(found, z, rtol=1e-12)
    assert np.array_equal(counts, wanted)
    expect_native(looked_at)


def test_sums_and_scattered_numbers_are_pairs(looked_at: list[ElementLoop]):
    @wl.jit(whole=True)
    def spread(x: Any, places: Any, rows: Any) -> None:
        for i in range(1, rows.shape[0]):
            x[places[i]] += rows[i].sum() * rows[i - 1, 0]
            rows[i, 0] = x[places[i]] - 1
            np.add.at(x, places[i : i + 1], rows[i, 1:2])

    x, places, rows = numbers(np.complex128, 7), np.arange(20) * 3 % 7, numbers(np.complex128, 80).reshape(20, 4)
    wanted, other = x.copy(), rows.copy()
    for i in range(1, 20):
        wanted[places[i]] += other[i].sum() * other[i - 1, 0]
        other[i, 0] = wanted[places[i]] - 1
        wanted[places[i]] += other[i, 1]
    spread(x, places, rows)
    np.testing.assert_allclose(x, wanted, rtol=1e-12)
    np.testing.assert_allclose(rows, other, rtol=1e-12)
    expect_native(looked_at)


def test_functions_without_a_form_on_pairs_are_xla_s(looked_at: list[ElementLoop]):
    @wl.jit(whole=True)
    def turned(x: Any, total: Any) -> Any:
        for i in range(1, x.size):
            x[i] = x[i] + np.exp(x[i - 1] * 0.1) * 0.1
            for k in range(20):
                total[0] = total[0] * 0.5 + x[i] * total[0] * (k * 0.01)
        return total

    x, total = 0.1 * numbers(np.complex128, 40), numbers(np.complex128, 1)
    wanted, sums = x.copy(), total.copy()
    for i in range(1, 40):
        wanted[i] = wanted[i] + np.exp(wanted[i - 1] * 0.1) * 0.1
        for k in range(20):
            sums[0] = sums[0] * 0.5 + wanted[i] * sums[0] * (k * 0.01)
    np.testing.assert_allclose(turned(x, total), sums, rtol=1e-9)
    np.testing.assert_allclose(x, wanted, rtol=1e-12)
    assert [each.reason for each in looked_at] == ["Exponential of complex numbers has no native code", ""]


def test_what_is_refused_for_another_reason_is_as_it_was(looked_at: list[ElementLoop]):
    @wl.jit(whole=True)
    def ordered(x: Any, y: Any) -> Any:
        s = 0j
        for i in range(1, x.size):
            y[:] = np.sort(y * y[0])
            s = s * y[0] + x[i]
            x[i] = s * x[i - 1]
        return s, y

    x, y = numbers(np.complex128, 40), np.random.default_rng(0).random(9)
    wanted, others, s = x.copy(), y.copy(), 0j
    for i in range(1, 40):
        others[:] = np.sort(others * others[0])
        s = s * others[0] + wanted[i]
        wanted[i] = s * wanted[i - 1]
    found, ys = ordered(x, y)
    np.testing.assert_allclose(found, s)
    np.testing.assert_allclose(x, wanted, rtol=1e-12)
    np.testing.assert_allclose(ys, others)
    assert looked_at and all(each.reason for each in looked_at)
