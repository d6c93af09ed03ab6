"""Derivatives are rounded as XLA likes, but for what decides which branch is taken and which place is read."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import windlass as wl

MODULE = wl.cuda.compile("""
__global__ void look_up(const float *x, const float *table, float *y, int n) {
    int i = threadIdx.x;
    if (i < n) y[i] = table[(int)(x[i] / 0.9f)] * x[i];
}
__global__ void polynomial(const float *x, float *y, int n) {
    int i = threadIdx.x;
    if (i < n) y[i] = x[i] * x[i] * x[i] + 3.0f * x[i];
}
""")


def test_a_table_gets_its_cotangents_at_the_places_that_were_read():
    x = np.arange(64, dtype=np.float32) * np.float32(0.9)  # at edges of cells: x / 0.9 and x * (1 / 0.9) are in others
    assert ((x / np.float32(0.9)).astype(int) != (x * np.float32(1 / 0.9)).astype(int)).any()
    table = np.arange(80, dtype=np.float32)
    look_up = MODULE["look_up"].jax(1, 64)

    def loss(table: Any) -> Any:
        return look_up(x, table, jnp.zeros_like(x), 64).sum()

    expected = np.zeros_like(table)
    np.add.at(expected, (x / np.float32(0.9)).astype(int), x)
    np.testing.assert_allclose(jax.jit(jax.grad(loss))(table), expected, 1e-6)


def test_sums_and_products_that_decide_nothing_are_left_to_xla():
    launch = MODULE["polynomial"].jax(1, 64)

    def loss(x: Any) -> Any:
        return launch(x, jnp.zeros_like(x), 64).sum()

    x = np.linspace(-1, 1, 64, dtype=np.float32)
    guard = "stablehlo.replica_id"  # the zeros that keep XLA from contracting are made of it
    assert guard in jax.jit(loss).lower(x).as_text()
    gradient = jax.jit(jax.grad(loss))
    assert guard not in gradient.lower(x).as_text()
    np.testing.assert_allclose(gradient(x), 3 * x * x + 3, 1e-6)


def test_products_with_one_matrix_are_not_joined_with_those_of_their_tangents():
    @wl.jit
    def network(a: Any, b: Any, c: Any, x: Any, y: Any) -> Any:
        return ((np.tanh(np.tanh(x @ a) @ b) @ c - y) ** 2).mean()

    def by_hand(a: Any, b: Any, c: Any, x: Any, y: Any) -> Any:
        return ((jnp.tanh(jnp.tanh(x @ a) @ b) @ c - y) ** 2).mean()

    draw = np.random.default_rng(0)
    shapes = ((256, 512), (512, 512), (512, 10), (1024, 256), (1024, 10))
    given = [draw.normal(0, 0.1, shape).astype(np.float32) for shape in shapes]
    found = wl.grad(network, (0, 1, 2))(*given)
    for ours, theirs in zip(found, jax.grad(by_hand, (0, 1, 2))(*given), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-6)
