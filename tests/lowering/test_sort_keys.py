"""Sorts by integer keys, run by XLA: zeros of both signs and ties keep the order they come in, NaN comes last."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import windlass as wl

RANDOM = np.random.default_rng(0)


def draw(kind: str) -> Any:
    x = RANDOM.standard_normal((3, 400)).astype(np.float32)
    x[:, 100:150] = x[:, 200:250]
    if "zeros" in kind:
        x[:, ::5] = 0.0
    if "both" in kind:
        x[:, ::3] = -0.0
    if "nan" in kind:
        x[0, ::11] = np.nan
        x[1, ::11] = -np.nan
        # XLA:CPU takes numbers smaller than the normal ones for zeros, which as integers are put in order.
        x[2, 5:9] = np.inf, -np.inf, np.finfo(np.float32).tiny, -np.finfo(np.float32).tiny
    return x


def sorted_by_integers(text: str) -> bool:
    return "xi64>" in text or "bitcast_convert" in text


@pytest.mark.one_in(3)
@pytest.mark.parametrize("kind", ["plain", "zeros", "both zeros", "nan", "both zeros and nan"])
@pytest.mark.parametrize("axis", [0, 1])
def test_sorted_floats_are_the_same_bits(kind: str, axis: int) -> None:
    x = draw(kind)

    def order(x: Any) -> Any:
        return jnp.sort(jnp.concatenate([x, x]), axis=axis)

    text = jax.jit(order).lower(x).as_text()
    assert axis == 0 or sorted_by_integers(wl.stablehlo.optimize(text, device="cpu"))
    expected, found = (np.asarray(run(order)(x)) for run in (jax.jit, wl.optimize))
    np.testing.assert_array_equal(np.isnan(found), np.isnan(expected))
    plain = ~np.isnan(expected)
    np.testing.assert_array_equal(found[plain].view(np.int32), expected[plain].view(np.int32))


@pytest.mark.parametrize("kind", ["plain", "both zeros", "both zeros and nan"])
def test_places_of_floats_in_order_are_the_same(kind: str) -> None:
    x = draw(kind)
    assert sorted_by_integers(wl.stablehlo.optimize(jax.jit(jnp.argsort).lower(x).as_text(), device="cpu"))
    np.testing.assert_array_equal(wl.optimize(jnp.argsort)(x), jax.jit(jnp.argsort)(x))


def test_places_of_integers_in_order_are_the_same() -> None:
    x = RANDOM.integers(-(2**31), 2**31, 500).astype(np.int32)
    x[::3] = np.iinfo(np.int32).min
    x[1::3] = -1
    np.testing.assert_array_equal(wl.optimize(jnp.argsort)(x), jax.jit(jnp.argsort)(x))


def test_sorts_on_other_devices_stay_sorts_of_floats() -> None:
    text = jax.jit(jnp.sort).lower(draw("plain")).as_text()
    assert not sorted_by_integers(wl.stablehlo.optimize(text, device="gpu"))
