"""Sums over one mask become one reduction, with the same numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import windlass as wl
from windlass.facts.cost import CPU, GPU

X = np.random.default_rng(0).standard_normal((40, 60)).astype(np.float32)


def count_reductions(function: Callable[..., Any], *arguments: Any, **choices: Any) -> int:
    text = jax.jit(function).lower(*arguments).as_text()
    return wl.stablehlo.optimize(text, **choices).count("stablehlo.reduce(")


def masked_mean(x: Any) -> Any:
    return jnp.where(x > 0, x, 0).sum(1) / (x > 0).sum(1)


def mean_where(x: Any) -> Any:
    return jnp.mean(x, where=x > 0)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("function", [masked_mean, mean_where])
def test_sum_and_count_over_one_mask_are_one_reduction(function: Callable[..., Any]) -> None:
    assert count_reductions(function, X, device=CPU.name) == 1
    np.testing.assert_allclose(wl.optimize(function)(X), jax.jit(function)(X), rtol=1e-5)


def test_devices_that_do_not_gain_keep_them_apart() -> None:
    assert count_reductions(masked_mean, X, device=GPU.name) == 2


def test_the_order_of_sums_is_kept_where_asked() -> None:
    assert count_reductions(masked_mean, X, device=CPU.name, exact=True) == 2


def test_a_sum_that_needs_the_count_stays_behind_it() -> None:
    def spread(x: Any) -> Any:
        count = (x > 0).sum()
        return jnp.where(x > 0, x - count, 0).sum() + count

    assert count_reductions(spread, X, device=CPU.name) == 2
    np.testing.assert_allclose(wl.optimize(spread)(X), jax.jit(spread)(X), rtol=1e-5)


def test_rings_of_an_image_are_summed_in_pairs() -> None:
    def rings(data: Any, radius: Any) -> Any:
        masks = [(low <= radius) & (radius < low + 0.5) for low in (0.0, 0.5, 1.0)]
        return jnp.stack([jnp.where(mask, data, 0).sum() / mask.sum() for mask in masks])

    assert count_reductions(rings, X, abs(X), device=CPU.name) <= 3
    np.testing.assert_allclose(wl.optimize(rings)(X, abs(X)), jax.jit(rings)(X, abs(X)), rtol=1e-4)
