"""Gradients of kernels have the form that one would write by hand: no copies between orders of axes, no loops."""

from __future__ import annotations

import re
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import windlass as wl

MODULE = wl.cuda.compile(r"""
__global__ void normalized(const float *x, float *y, int n) {
    __shared__ float part[32];
    int t = threadIdx.x;
    float sum = 0;
    for (int i = t; i < n; i += 32) sum += x[blockIdx.x * n + i] * x[blockIdx.x * n + i];
    part[t] = sum; __syncthreads();
    for (int s = 16; s > 0; s >>= 1) { if (t < s) part[t] += part[t + s]; __syncthreads(); }
    sum = part[0];
    for (int i = t; i < n; i += 32) y[blockIdx.x * n + i] = x[blockIdx.x * n + i] / sum;
}
__global__ void softmax(const float *x, float *y, int n) {
    __shared__ float part[32];
    const float *row = x + blockIdx.x * n;
    int t = threadIdx.x;
    float most = -INFINITY;
    for (int i = t; i < n; i += 32) most = fmaxf(most, row[i]);
    part[t] = most; __syncthreads();
    for (int s = 16; s > 0; s >>= 1) { if (t < s) part[t] = fmaxf(part[t], part[t + s]); __syncthreads(); }
    most = part[0]; __syncthreads();
    float sum = 0;
    for (int i = t; i < n; i += 32) sum += expf(row[i] - most);
    part[t] = sum; __syncthreads();
    for (int s = 16; s > 0; s >>= 1) { if (t < s) part[t] += part[t + s]; __syncthreads(); }
    for (int i = t; i < n; i += 32) y[blockIdx.x * n + i] = expf(row[i] - most) / part[0];
}
__global__ void ell(const int *column, const float *value, const float *x, float *y, int n, int width) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float sum = 0;
    for (int k = 0; k < width; k++) sum += value[k * n + i] * x[column[k * n + i]];
    y[i] = sum;
}
__global__ void scan(const float *x, float *y) {
    __shared__ float part[2][64];
    int t = threadIdx.x, at = 0;
    part[0][t] = x[blockIdx.x * 64 + t]; __syncthreads();
    for (int s = 1; s < 64; s *= 2) {
        part[1 - at][t] = t >= s ? part[at][t] + part[at][t - s] : part[at][t];
        at = 1 - at; __syncthreads();
    }
    y[blockIdx.x * 64 + t] = part[at][t];
}
""")


def ops_of(function: Any, *arguments: Any) -> set[str]:
    return set(re.findall(r"stablehlo\.(\w+)", jax.jit(function).lower(*arguments).as_text()))


@pytest.mark.parametrize("rounds", [2, 3, 7])
def test_rows_that_a_block_strides_over_are_taken_whole(rounds: int):
    size = 32 * rounds
    launch = MODULE["normalized"].jax(4, 32)
    x, w = (jnp.asarray(np.random.default_rng(seed).random((4, size)), jnp.float32) for seed in (0, 1))

    def ours(x: Any) -> Any:
        return (w * launch(x, jnp.zeros_like(x), size)).sum()

    def by_hand(x: Any) -> Any:
        return (w * x / (x * x).sum(1, keepdims=True)).sum()

    np.testing.assert_allclose(jax.grad(ours)(x), jax.grad(by_hand)(x), 1e-4, 1e-6)
    for function in (ours, jax.grad(ours)):
        assert not {"transpose", "slice", "concatenate", "while"} & ops_of(function, x)


def test_what_is_gathered_column_by_column_is_not_transposed():
    size, width = 48, 5
    launch = MODULE["ell"].jax(2, 32)
    numbers = np.random.default_rng(0)
    columns = jnp.asarray(numbers.integers(0, size, (width, size)), jnp.int32)
    values, x = (jnp.asarray(numbers.random(shape), jnp.float32) for shape in ((width, size), size))

    def ours(values: Any, x: Any) -> Any:
        return (launch(columns, values, x, jnp.zeros_like(x), size, width) ** 2).sum()

    def by_hand(values: Any, x: Any) -> Any:
        return ((values * x[columns]).sum(0) ** 2).sum()

    gradients = jax.grad(ours, (0, 1))
    for one, another in zip(gradients(values, x), jax.grad(by_hand, (0, 1))(values, x), strict=True):
        np.testing.assert_allclose(one, another, 1e-4)
    assert "transpose" not in ops_of(gradients, values, x)


@pytest.mark.parametrize("blocks", [3, 600])
def test_the_gradient_of_a_running_sum_is_one_from_the_other_end(blocks: int):
    launch = MODULE["scan"].jax(blocks, 64)
    x, w = (jnp.asarray(np.random.default_rng(seed).random((blocks, 64)), jnp.float32) for seed in (0, 1))

    def ours(x: Any) -> Any:
        return (w * launch(x, jnp.zeros_like(x))).sum()

    np.testing.assert_allclose(ours(x), (w * jnp.cumsum(x, 1)).sum(), 1e-5)
    np.testing.assert_allclose(jax.grad(ours)(x), jnp.cumsum(w[:, ::-1], 1)[:, ::-1], 1e-5)
    assert not {"while", "concatenate", "gather", "scatter"} & ops_of(jax.grad(ours), x)


def test_a_softmax_folds_each_row_once_and_keeps_what_fmax_does_with_nan():
    size = 96
    launch = MODULE["softmax"].jax(40, 32)
    x, w = (np.random.default_rng(seed).normal(size=(40, size)).astype(np.float32) for seed in (0, 1))

    def ours(x: Any) -> Any:
        return (w * launch(x, jnp.zeros_like(x), size)).sum()

    by_hand = jax.grad(lambda x: (w * jax.nn.softmax(x)).sum())
    np.testing.assert_allclose(jax.grad(ours)(x), by_hand(x), 1e-4, 1e-6)
    assert jax.jit(jax.grad(ours)).lower(x).as_text().count("stablehlo.reduce(") == 3
    x[1, 5], x[2], x[3] = np.nan, np.nan, -np.inf
    with np.errstate(all="ignore"):
        e = np.exp(x - np.fmax.reduce(x, 1, keepdims=True, initial=-np.inf))
        wanted = e / e.sum(1, keepdims=True)
    np.testing.assert_allclose(launch(x, jnp.zeros_like(x), size), wanted, 1e-5)
