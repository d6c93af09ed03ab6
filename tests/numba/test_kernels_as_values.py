"""Kernels of Numba and CuPy as functions of values, with derivatives: `.jax`, within `wl.jit`, and under `wl.grad`."""

# pyright: basic
from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import windlass as wl
import windlass.cupy as cp
from windlass.numba import cuda

X = np.linspace(0.2, 1.6, 12).reshape(3, 4)
WEIGHTS = np.cos(np.arange(12.0)).reshape(3, 4)


@cuda.jit
def scaled_squares(x, scale, shift, y):
    i, j = cuda.grid(2)
    if i < x.shape[0] and j < x.shape[1]:
        y[i, j] = scale * x[i, j] * x[i, j] + shift[1] * j


@cuda.jit("void(float64[:, :], float32, float64[:, :])")
def with_signature(x, scale, y):
    i, j = cuda.grid(2)
    if i < x.shape[0] and j < x.shape[1]:
        y[i, j] += scale * x[i, j] ** 3


@cuda.jit(debug=True)
def raising(x):
    if x[0] < 0:
        raise ValueError("negative")


@pytest.fixture(autouse=True)
def double_precision() -> Any:
    with jax.enable_x64(True):
        yield


def test_kernels_of_numba_are_functions_of_values() -> None:
    kernel = scaled_squares.jax((1, 1), (3, 4))

    def loss(x: Any, scale: Any, shift: Any) -> Any:
        return (kernel(x, scale, (0.0, shift), np.zeros((3, 4))) * WEIGHTS).sum()

    expected = 3 * X * WEIGHTS, (X * X * WEIGHTS).sum(), (np.arange(4) * WEIGHTS).sum()
    for one, other in zip(jax.jit(jax.grad(loss, (0, 1, 2)))(X, 1.5, 2.0), expected, strict=True):
        np.testing.assert_allclose(one, other, 1e-12)


def test_launches_of_numba_are_part_of_compiled_functions() -> None:
    @wl.jit(whole=True)
    def loss(x: Any, scale: Any) -> Any:
        y = np.zeros_like(x)
        scaled_squares[(1, 1), (3, 4)](x, scale, (0.0, 2.0), y)
        with_signature[(1, 1), (3, 4)](x, scale, y)
        return (y * WEIGHTS).sum()

    by_x, by_scale = wl.grad(loss, (0, 1))(X, 0.5)
    np.testing.assert_allclose(by_x, (X + 1.5 * X * X) * WEIGHTS, 1e-12)
    np.testing.assert_allclose(by_scale, ((X * X + X**3) * WEIGHTS).sum(), 1e-6)
    y = np.zeros((3, 4))
    scaled_squares[(1, 1), (3, 4)](X, 0.5, (0.0, 2.0), y)
    with_signature[(1, 1), (3, 4)](X, 0.5, y)
    np.testing.assert_allclose(loss(X, 0.5), (y * WEIGHTS).sum(), 1e-12)


def test_raw_kernels_of_cupy_are_functions_of_values() -> None:
    cube = cp.RawKernel(
        'extern "C" __global__ void cube(const double *x, double *y) { int i = threadIdx.x; y[i] = pow(x[i], 3); }',
        "cube",
    )
    x = jnp.asarray(X.ravel())
    np.testing.assert_allclose(jax.grad(lambda x: cube.jax((1,), (12,))(x, x).sum())(x), 3 * x * x)

    def loss(x: Any) -> Any:
        y = np.zeros_like(x)
        cube((1,), (12,), (x, y))
        return y.sum()

    np.testing.assert_allclose(wl.grad(loss)(X.ravel()), 3 * X.ravel() ** 2)


def test_what_has_no_form_as_a_value_is_refused() -> None:
    with pytest.raises(wl.WindlassError, match=r"(?s)WL0409.*use scaled_squares\S*.jax\(grid, block\)"):
        scaled_squares[(1, 1), (3, 4)](jnp.asarray(X), 1.5, (0.0, 2.0), np.zeros((3, 4)))
    with pytest.raises(wl.WindlassError, match=r"WL0407.*raising raises exceptions"):
        raising.jax(1, 1)(jnp.ones(3))
