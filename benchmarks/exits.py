"""Functions that leave early in `wl.jit`, beside hand-written `jax.lax.while_loop`, Numba where installed, and Python.

python -m benchmarks.exits [--rounds 5]

Ratios of one run: below 1 ours is faster.
"""

from __future__ import annotations

import argparse
import importlib.util
from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from benchmarks.measuring import Result, compare, show
from jax import lax
from rich.console import Console

import windlass as wl


def first_above(a: Any, limit: Any) -> Any:
    """An early return from a loop."""
    for i in range(a.shape[0]):
        if a[i] > limit:
            return i
    return -1


def first_above_in_jax(a: Any, limit: Any) -> Any:
    count = a.shape[0]
    found = lax.while_loop(lambda i: (i < count) & ~(a[jnp.minimum(i, count - 1)] > limit), lambda i: i + 1, 0)
    return jnp.where(found < count, found, -1)


def escaped(re: Any, im: Any, most: Any) -> Any:
    """`while True` with two ways out."""
    x, y, n = re * 0.0, im * 0.0, 0
    while True:
        if n >= most:
            break
        x, y = x * x - y * y + re, 2.0 * x * y + im
        if x * x + y * y > 4.0:
            break
        n += 1
    return n


def escaped_in_jax(re: Any, im: Any, most: Any) -> Any:
    def step(state: Any) -> Any:
        x, y, n, _ = state
        x, y = x * x - y * y + re, 2.0 * x * y + im
        left = x * x + y * y > 4.0
        return x, y, jnp.where(left, n, n + 1), left

    start = (re * 0.0, im * 0.0, jnp.asarray(0, jnp.int64), jnp.asarray(False))
    return lax.while_loop(lambda state: (state[2] < most) & ~state[3], step, start)[2]


def relaxed(u: Any, tolerance: Any, most: Any) -> Any:
    """Whole arrays, until they change little; a `break`, and the `else` of the loop."""
    for i in range(most):
        new = 0.5 * (u + 0.5 * (np.roll(u, 1) + np.roll(u, -1)))
        change = np.abs(new - u).max()
        u = new
        if change < tolerance:
            rounds = i
            break
    else:
        rounds = -1
    return u, rounds


def relaxed_in_jax(u: Any, tolerance: Any, most: Any) -> Any:
    def step(state: Any) -> Any:
        u, i, _ = state
        new = 0.5 * (u + 0.5 * (jnp.roll(u, 1) + jnp.roll(u, -1)))
        return new, i + 1, jnp.abs(new - u).max() < tolerance

    start = (u, jnp.asarray(0, jnp.int64), jnp.asarray(False))
    u, i, left = lax.while_loop(lambda state: (state[1] < most) & ~state[2], step, start)
    return u, jnp.where(left, i - 1, -1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    draw = np.random.default_rng(0)
    values = draw.random(1_000_000)
    values[900_000] = 2.0
    cases: list[tuple[Callable[..., Any], Callable[..., Any], tuple[Any, ...]]] = [
        (first_above, first_above_in_jax, (values, 1.5)),
        (escaped, escaped_in_jax, (np.float64(-0.1), np.float64(0.1), np.int64(200_000))),
        (relaxed, relaxed_in_jax, (draw.random(4096), 1e-5, np.int64(3000))),
    ]
    results: list[Result] = []
    with jax.enable_x64(True):
        for function, by_hand, arguments in cases:
            ours, theirs = wl.jit(function), jax.jit(by_hand)
            expected = function(*arguments)
            for found in (ours(*arguments), theirs(*arguments)):
                for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
                    np.testing.assert_allclose(one, other, rtol=1e-9)
            others = {"lax.while_loop": lambda run=theirs, given=arguments: jax.tree.map(np.asarray, run(*given))}
            if importlib.util.find_spec("numba") is not None:
                import numba

                others["numba"] = partial(numba.njit(function), *arguments)
            others["python"] = partial(function, *arguments)
            goals = {"lax.while_loop": 1.1}
            for name, run in others.items():
                compared = {name: run}
                mine = partial(ours, *arguments)
                row = compare(f"{function.__name__}, {name}", mine, compared, options.rounds, goal=goals.get(name))
                results.append(row)
    show(results, Console())


if __name__ == "__main__":
    main()
