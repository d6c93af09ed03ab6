"""Running sums, with their own element or without it, are folded in parts where doubling would take many passes."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import windlass as wl

ROWS, LENGTH = 1024, 256


@pytest.mark.parametrize("padding", [(LENGTH - 1, 0), (LENGTH, 0), (0, LENGTH - 1), (0, LENGTH + 2)])
def test_running_sums_of_many_rows_are_folded_in_parts(padding: tuple[int, int]) -> None:
    def run(x: jax.Array) -> jax.Array:
        return jax.lax.reduce_window(x, 0.0, jax.lax.add, (1, LENGTH), (1, 1), ((0, 0), padding))

    x = jnp.asarray(np.random.default_rng(0).integers(0, 9, (ROWS, LENGTH)), jnp.float32)
    optimized = wl.optimize(run)
    np.testing.assert_array_equal(optimized(x), run(x))
    assert optimized.explain(x).ops_after["reduce_window"] >= 2
