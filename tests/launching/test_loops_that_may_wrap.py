"""Loops by a step of unsigned type: a count needs a proof that the counter does not wrap around."""

from __future__ import annotations

from itertools import pairwise

import jax
import numpy as np
import pytest

import windlass as wl

MODULE = wl.cuda.compile("""
    __global__ void scale(float *x, const float *y, int n) {
        for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) x[i] += 2 * y[i];
    }
    __global__ void scale_by_length(float *x, const float *y, const int *n) {
        for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < *n; i += blockDim.x * gridDim.x) x[i] += 2 * y[i];
    }
    __global__ void sum_rows(const int *start, const int *column, const float *value, const float *x, float *partial) {
        int row = blockIdx.x;
        float s = 0;
        for (int j = start[row] + threadIdx.x; j < start[row + 1]; j += blockDim.x) s += value[j] * x[column[j]];
        partial[row * blockDim.x + threadIdx.x] = s;
    }""")

X = np.arange(1000, dtype=np.float32)
Y = np.ones(1000, np.float32)
SCALED = X + 2 * (X < 700)


@pytest.fixture(autouse=True)
def _only_raised(monkeypatch: pytest.MonkeyPatch) -> None:  # pyright: ignore[reportUnusedFunction]
    monkeypatch.setenv("WINDLASS_FALLBACK", "error")


def test_known_bound_gives_slices() -> None:
    text = MODULE["scale"].lower((2,), (64,), X.copy(), Y, 700).text("optimized")
    assert "gather" not in text and "while" not in text


def test_bound_in_memory_is_raised() -> None:
    x = X.copy()
    MODULE["scale_by_length"][2, 64](x, Y, np.array([700], np.int32))
    np.testing.assert_array_equal(x, SCALED)


def test_traced_bound_is_raised() -> None:
    kernel = MODULE["scale"].jax(2, 64)
    found = jax.jit(kernel)(X, Y, 700)
    np.testing.assert_array_equal(found, SCALED)


def test_row_between_two_loaded_bounds_is_raised() -> None:
    random = np.random.default_rng(0)
    start = np.concatenate([[0], np.cumsum(random.integers(0, 90, 40))]).astype(np.int32)
    column = random.integers(0, 100, start[-1]).astype(np.int32)
    value, x = random.random(start[-1], np.float32), random.random(100, np.float32)
    partial = np.zeros((40, 32), np.float32)
    MODULE["sum_rows"][40, 32](start, column, value, x, partial)
    expected = [np.dot(value[a:b], x[column[a:b]]) for a, b in pairwise(start)]
    np.testing.assert_allclose(partial.sum(axis=1), expected, rtol=1e-5)


def test_count_of_a_loop_that_is_not_reached_does_not_matter() -> None:
    """The number of iterations, an unsigned difference, is some four billion where the guard does not hold."""
    module = wl.cuda.compile("""
        __global__ void decay(const int *bounds, const float *x, float *y) {
            unsigned count = bounds[1] - bounds[0];
            if (bounds[0] < bounds[1]) {
                float s = 0;
                for (unsigned k = 0; k != count; ++k) {
                    s = s * 0.5f + x[k & 15];
                    y[k & 7] = s;
                }
                y[threadIdx.x] += s;
            }
        }""")
    y = np.zeros(8, np.float32)
    module["decay"][1, 1](np.array([60, 30], np.int32), X, y)
    assert not y.any()
