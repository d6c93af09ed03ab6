"""Derivatives of library calls in host functions, against differences of the functions as `windlass run` runs them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import windlass as wl
from windlass.frontends.arrays import Array
from windlass.hosting.program import Program

N = 4
STEP = 1e-6


@pytest.fixture(scope="module")
def program() -> Program:
    return wl.cuda.program(Path(__file__).with_name("derivatives.cu"))


def draw(*shape: int, seed: int = 0, is_complex: bool = False) -> Any:
    generator = np.random.default_rng([seed, *shape])
    real = generator.normal(size=shape)
    return real + 1j * generator.normal(size=shape) if is_complex else real


def positive(n: int) -> Any:
    a = draw(n, n)
    return a @ a.T + n * np.eye(n)


OFFSETS, COLUMNS = np.array([0, 2, 3, 3, 6], np.int32), np.array([0, 2, 1, 3, 0, 1], np.int32)
ROWS = np.array([0, 0, 1, 3, 3, 3], np.int32)
SPARSE = draw(N), draw(N, 3), draw(6), draw(N, seed=1), draw(3, N)

CASES: dict[str, tuple[str, tuple[Any, ...]]] = {
    **{
        f"gemm {ta}{tb}": (
            "gemm",
            (draw(3 * 6), draw(5 * 8), draw(5 * 8, seed=1), np.array([0.7, -0.4]), 3, 2, 4, ta, tb, 1),
        )
        for ta in (0, 1)
        for tb in (0, 1)
    },
    **{
        f"complex gemm {ta}{tb}": (
            "complex_gemm",
            (*(draw(N, N, seed=seed, is_complex=True) for seed in range(3)), N, ta, tb),
        )
        for ta, tb in ((0, 1), (2, 0), (1, 2))
    },
    "batched gemm": ("batched", (draw(3, 2, 2), draw(3, 2, 2, seed=1), draw(3, 2, 2, seed=2), 2, 3)),
    "vectors": ("vectors", (draw(N), draw(2 * N), draw(5, seed=1), N)),
    "level 2": ("level2", (draw(N), draw(N, N), draw(N, seed=1), draw(N * (N + 1) // 2), N)),
    "level 3 lower": ("level3", (draw(N, N), positive(N), draw(N, N, seed=1), N, 1)),
    "level 3 upper": ("level3", (draw(N, N), positive(N), draw(N, N, seed=1), N, 0)),
    "fft": ("fourier", (draw(3, 5, is_complex=True), 5, 3, -1)),
    "inverse fft": ("fourier", (draw(3, 5, is_complex=True), 5, 3, 1)),
    "real fft in place": ("fourier_there_and_back", (draw(3, 6), np.zeros((3, 5)), 3, 5)),
    "real fft by columns": ("fourier_strided", (draw(5, 3), np.zeros((3, 5), complex), 5, 3)),
    "cholesky lower": ("cholesky", (positive(N), draw(2, N), N, 1)),
    "cholesky upper": ("cholesky", (positive(N), draw(2, N), N, 0)),
    "lu": ("lu", (draw(N, N), draw(2, N), N, 0)),
    "lu transposed": ("lu", (draw(N, N), draw(2, N), N, 1)),
    "qr": ("qr", (draw(3, 5), draw(2, 5), np.zeros(3), 5, 3)),
    "eigenvalues": ("eigen", (positive(N), np.zeros(N), N, 1)),
    "singular values": ("singular", (draw(3, 5), np.zeros(3), np.zeros((3, 5)), np.zeros((3, 3)), 5, 3)),
    "random numbers and Thrust": ("random_product", (draw(N), np.zeros(N), N)),
    "csr": ("sparse", (*SPARSE, OFFSETS, COLUMNS, N, 6, 0, 0)),
    "coo transposed": ("sparse", (*SPARSE, ROWS, COLUMNS, N, 6, 1, 1)),
}


def is_float(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind in "fc"


@pytest.mark.one_in(3)
@pytest.mark.parametrize("case", CASES)
def test_a_library_call_has_the_derivative_that_differences_have(case: str, program: Program) -> None:
    name, arguments = CASES[case]
    function = program[name]
    floats = [place for place, each in enumerate(arguments) if is_float(each)]
    weights = {place: draw(*arguments[place].shape, seed=9) for place in floats}

    def with_floats(values: Any) -> list[Any]:
        given = [each.copy() if isinstance(each, np.ndarray) else each for each in arguments]
        for place, value in zip(floats, values, strict=True):
            given[place] = value
        return given

    def weighted(arrays: list[Any], real: Any) -> Any:
        return sum((weights[place] * real(arrays[place])).sum() for place in floats)

    def native(values: Any) -> Any:
        given = with_floats([each.copy() for each in values])
        function(*given)
        return weighted(given, lambda each: each.real + 2 * each.imag)

    def traced(values: Any) -> Any:
        given = [Array(each) if isinstance(each, jax.Array) else each for each in with_floats(values)]
        function(*given)
        return weighted(
            [each.value if isinstance(each, Array) else each for each in given],
            lambda each: each.real + 2 * each.imag if jnp.iscomplexobj(each) else each,
        )

    values = [arguments[place] for place in floats]
    with jax.enable_x64(True):
        found, gradient = jax.jit(jax.value_and_grad(traced))([jnp.asarray(each) for each in values])
    np.testing.assert_allclose(found, native(values), rtol=1e-10)
    direction = [draw(*each.shape, seed=3, is_complex=each.dtype.kind == "c") for each in values]
    ends = (native([each + sign * STEP * way for each, way in zip(values, direction, strict=True)]) for sign in (1, -1))
    difference = (next(ends) - next(ends)) / (2 * STEP)
    slope = sum((np.asarray(each) * way).sum().real for each, way in zip(gradient, direction, strict=True))
    np.testing.assert_allclose(slope, difference, rtol=1e-6, atol=1e-8)
