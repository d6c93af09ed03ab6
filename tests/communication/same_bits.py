"""Programs whose results have the same bits on every mesh."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import windlass as wl
from tests.communication.programs import heat

MESHES: tuple[dict[str, Any], ...] = ({"x": 1}, {"x": 2}, {"x": 4}, {"x": 8}, {"x": 4, "y": 2}, {"x": 2, "y": 4})


def sums(u: Any) -> Any:
    """Of all, and along each axis; of a size that is no power of two."""
    return u.sum(), u.sum(0), u.sum(1), (u[3:-2] ** 2).sum(), jnp.sqrt((u[:, 1:] * u[:, :-1]).mean())


def heat_until_it_settles(u: Any) -> Any:
    def step(state: Any) -> Any:
        u, _, rounds = state
        new = heat(u)
        return new, ((new - u) ** 2).sum(), rounds + 1

    return jax.lax.while_loop(lambda state: (state[1] > 1e-2) & (state[2] < 20), step, (u, jnp.float32(1), 0))


def softmax_and_products(u: Any) -> Any:
    return jax.nn.softmax(u, 0), u.T @ u, jnp.prod(u, 1)


def gradient_of_a_norm(u: Any) -> Any:
    return jax.grad(lambda u: jnp.log((heat(u) ** 3).sum()))(u)


PROGRAMS: tuple[Callable[..., Any], ...] = (sums,)
MORE_PROGRAMS = (heat_until_it_settles, softmax_and_products, gradient_of_a_norm)


def run(function: Callable[..., Any]) -> list[bool]:
    """For each mesh whether the bits are those of one device."""
    u = (np.random.default_rng(3).random((48, 32)) - 0.3).astype(np.float32)
    fixed = wl.optimize(function, deterministic=True)
    one = [np.asarray(each) for each in jax.tree.leaves(fixed(u))]
    near = jax.tree.leaves(jax.jit(function)(u))
    assert all(np.allclose(a, b, rtol=1e-4, atol=1e-5) for a, b in zip(one, near, strict=True))
    found: list[bool] = []
    for sizes in MESHES:
        given = wl.shard(u, wl.mesh(**sizes), *sizes)
        found.append(all(np.array_equal(a, b) for a, b in zip(one, jax.tree.leaves(fixed(given)), strict=True)))
    return found
