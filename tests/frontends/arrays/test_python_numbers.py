"""Numbers of Python's own among arrays of few bits: what Python computes of them is promoted weakly, what NumPy does is
not. And powers by numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import windlass as wl

NARROW = np.ones(2, np.float32)

BY_PYTHON: list[Callable[[Any], Any]] = [
    lambda n: -n, lambda n: abs(n) + 1, lambda n: n**2 / 3, lambda n: n // 2 + n % 2, lambda n: divmod(n, 2)[1],
    lambda n: max(n, 1), lambda n: min([n, n]), lambda n: round(n, 1), lambda n: sum([n, n]), math.sqrt,
    float, lambda n: n.imag + n.real, np.real, lambda n: np.array(n).item(),
    lambda n: pow(n, 2) * True,
]  # fmt: skip
BY_NUMPY: list[Callable[[Any], Any]] = [
    np.sqrt, np.negative, np.abs, np.float64, np.asarray, np.array, np.copy, np.atleast_1d, np.ravel, np.squeeze,
    np.floor, np.sign, np.round, np.conj, np.isfinite, lambda n: np.add(n, 1), lambda n: np.maximum(n, 1),
    lambda n: np.full(2, n), lambda n: np.full_like(n, 2.5), lambda n: np.repeat(n, 2), lambda n: np.tile(n, 2),
    lambda n: np.broadcast_to(n, 2), lambda n: np.reshape(n, 1), lambda n: np.expand_dims(n, 0),
    lambda n: np.modf(n)[0], lambda n: np.meshgrid(n, n)[0][0], lambda n: np.add.outer(n, n),
    lambda n: np.asarray(n) + 1, lambda n: np.asarray(n)[()], lambda n: np.array(n).astype(float), np.float32,
    lambda n: np.power(n, 2),
]  # fmt: skip


@pytest.mark.parametrize("functions", [BY_PYTHON, BY_NUMPY])
@pytest.mark.parametrize("number", [1.5, 2])
def test_numbers_are_promoted_as_python_and_numpy_do(functions: list[Callable[[Any], Any]], number: float) -> None:
    def together(n: Any, x: Any) -> Any:
        return tuple(x * function(n) for function in functions)

    for place, (found, wanted) in enumerate(
        zip(wl.jit(whole=True)(together)(number, NARROW), together(number, NARROW), strict=True)
    ):
        assert found.dtype == wanted.dtype, place
        np.testing.assert_allclose(found, wanted, rtol=1e-6, err_msg=str(place))


def test_parts_of_complex_numbers_of_python_are_numbers_of_python() -> None:
    def parts(c: Any, x: Any) -> Any:
        return x * c.real, x * c.imag, x * c.conjugate(), x * np.conj(c), x * abs(c)

    for found, wanted in zip(wl.jit(whole=True)(parts)(1 + 2j, NARROW), parts(1 + 2j, NARROW), strict=True):
        assert found.dtype == wanted.dtype
        np.testing.assert_allclose(found, wanted, rtol=1e-6)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_arrays_to_the_power_of_a_half_are_square_roots(dtype: Any) -> None:
    x = np.array([0.0, -0.0, 4.0, -1.0, np.inf, -np.inf, np.nan], dtype)

    def powers(x: Any, half: Any) -> Any:
        return (
            x**0.5, np.power(x, 0.5), x**half, np.float_power(x, 0.5), np.power(x, np.full(7, 0.5)), x[5] ** 0.5,
            x[1] ** half,
        )  # fmt: skip

    with np.errstate(all="ignore"):
        wanted = powers(x, 0.5)
    for found, each in zip(wl.jit(whole=True)(powers)(x, 0.5), wanted, strict=True):
        np.testing.assert_array_equal(found, each)
        is_number = ~np.isnan(each)
        np.testing.assert_array_equal(np.signbit(found)[is_number], np.signbit(each)[is_number])


@pytest.mark.parametrize("power", [0, 1, 2, 3, 7, -1, -3, 2.0, 0.5])
def test_powers_of_complex_arrays_by_numbers(power: float) -> None:
    draw = np.random.default_rng(3)
    z = np.append(draw.normal(size=9) + 1j * draw.normal(size=9), [complex(np.inf, 1), complex(-np.inf, np.inf)])
    with np.errstate(all="ignore"):
        wanted = z**power
    for found in (wl.jit(whole=True)(lambda z: z**power)(z), wl.jit(whole=True)(lambda z, n: z**n)(z[:9], power)):
        np.testing.assert_allclose(found[:9], wanted[:9], rtol=1e-13)
        if power in (1, 2, 3, 2.0, 0.5):
            np.testing.assert_array_equal(found[9:], wanted[9 : len(found)])


def test_whole_powers_by_numbers_need_no_loop() -> None:
    text = wl.jit(lambda i, z: (i**5, z**6)).lower(np.arange(3), np.ones(3, complex)).text("tensor")
    assert "while" not in text
