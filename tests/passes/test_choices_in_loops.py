"""Loops as solvers write them: twins are carried once, small arrays selected, and what is done once stays there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import windlass as wl

State = tuple[jax.Array, ...]
X = np.linspace(-1, 1, 7, dtype=np.float32)


def accept(p: jax.Array, new: Callable[[], State], old: State) -> State:
    return jax.lax.cond(p, new, lambda: old)


def three_ways(i: jax.Array, new: Callable[[], State], old: State) -> State:
    return jax.lax.switch(i % 3, [new, lambda: old, lambda: old])


def twins(x: jax.Array, choose: Callable[..., State] = accept) -> State:
    """Two values that are always the same, where only a proof by induction through the branches shows it."""

    def body(i: Any, carried: State) -> State:
        a, b, best = carried
        y = jnp.cos(a) * best + jnp.sin(b)
        by = i if choose is three_ways else y[0] > jnp.sum(best)
        return choose(by, lambda: (y, y, jnp.exp(-jnp.max(jnp.abs(y - a)))), (a, b, best * 0.5))

    return jax.lax.fori_loop(0, 9, body, (x, x, jnp.float32(1)))


def almost_twins(x: jax.Array) -> State:
    """They are the same until the last branch is taken."""

    def body(i: Any, carried: State) -> State:
        a, b = carried
        return accept(i < 7, lambda: (jnp.cos(a), jnp.cos(b)), (a, b + 1))

    return jax.lax.fori_loop(0, 9, body, (x, x))


def almost_twins_first(x: jax.Array) -> State:
    """As before, with the branches in the other order."""

    def body(i: Any, carried: State) -> State:
        a, b = carried
        return accept(i > 6, lambda: (a, b + 1), (jnp.cos(a), jnp.cos(b)))

    return jax.lax.fori_loop(0, 9, body, (x, x))


def swapped(x: jax.Array) -> State:
    """One branch gives the twins in another order, with a third that is none."""

    def body(i: Any, carried: State) -> State:
        a, b, c = carried
        return accept(i < 3, lambda: (jnp.cos(c), jnp.cos(c), a), (b, a, c))

    return jax.lax.fori_loop(0, 9, body, (x, x, x * 2))


def test_twins_chosen_by_branches_are_carried_once() -> None:
    for choose in (accept, three_ways):
        function = lambda x, choose=choose: twins(x, choose)  # noqa: E731
        text = wl.optimize(function).lower(X).text("optimized")
        (loop,) = [line for line in text.splitlines() if "stablehlo.while" in line]
        assert loop.count("tensor<7xf32>") == 1, loop
        found, expected = wl.optimize(function)(X), jax.jit(function)(X)
        np.testing.assert_allclose(found[0], expected[0], rtol=1e-5)
        np.testing.assert_array_equal(found[0], found[1])


@pytest.mark.parametrize("function", [almost_twins, almost_twins_first, swapped])
def test_values_that_only_begin_alike_are_not_twins(function: Callable[[jax.Array], State]) -> None:
    found, expected = wl.optimize(function)(X), jax.jit(function)(X)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)
    assert not np.array_equal(found[0], found[-1])


def test_results_of_branches_from_outside_are_selected() -> None:
    def step(p: jax.Array, x: jax.Array, y: jax.Array) -> tuple[jax.Array, jax.Array]:
        z = jnp.sin(y)
        return jax.lax.cond(p, lambda: (z, jnp.sort(x)), lambda: (x, y))

    text = wl.optimize(step).lower(np.True_, X, X).text("optimized")
    assert "stablehlo.select %arg0" in text
    assert "(tensor<i1>) -> tensor<7xf32>" in text  # what is left of the branches gives the sorted one
    large = np.zeros(5000, np.float32)
    assert "stablehlo.select %arg0" not in wl.optimize(step).lower(np.True_, large, large).text("optimized")
    for p in (np.True_, np.False_):
        found, expected = wl.optimize(step)(p, X[::-1], X), jax.jit(step)(p, X[::-1], X)
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-6)


def test_values_that_are_not_chosen_may_be_nan() -> None:
    def step(p: jax.Array, x: jax.Array) -> tuple[jax.Array, jax.Array]:
        return jax.lax.cond(p, lambda: (x / 0 * 0, jnp.sort(x)), lambda: (x, -x))

    found, expected = wl.optimize(step)(np.False_, X), jax.jit(step)(np.False_, X)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)


def test_what_is_the_same_in_each_round_stays_before_the_loop() -> None:
    """Reversed once it takes less time than half of it reversed in each round."""

    def windows(x: jax.Array) -> jax.Array:
        def body(i: Any, total: jax.Array) -> jax.Array:
            return total * 0.5 + jnp.sin(jax.lax.dynamic_slice(jnp.concatenate([x, x])[::-1], (i,), (700,)))

        return jax.lax.fori_loop(0, 600, body, jnp.zeros(700))

    x = np.linspace(-1, 1, 700, dtype=np.float32)
    before, _, inside = wl.optimize(windows).lower(x).text("optimized").partition("stablehlo.while")
    assert "stablehlo.reverse" in before
    assert "stablehlo.reverse" not in inside
    np.testing.assert_allclose(wl.optimize(windows)(x), jax.jit(windows)(x), rtol=1e-5, atol=1e-6)
