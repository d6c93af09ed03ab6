"""Programs whose results have the same bits on every mesh."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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


def norms_of_numpy(u: Any) -> Any:
    """Sums, means, dots and norms as NumPy has them, and a square that meets a sum."""
    return np.mean(u, 0), np.var(u, axis=1), np.linalg.norm(u, axis=0), np.vdot(u, u), np.dot(u[:, 0], u[:, 1])


def length_of_numpy(u: Any) -> Any:
    return np.sqrt((np.square(u[1:] - u[:-1]) * u[1:]).mean() + 1)


def steps_of_numpy(u: Any) -> Any:
    total = 0.0
    for _ in range(5):
        u[1:-1, 1:-1] = 0.25 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2])
        total += (u**2).sum()
    return u, total


PROGRAMS: tuple[Callable[..., Any], ...] = (sums,)
MORE_PROGRAMS = (heat_until_it_settles, softmax_and_products, gradient_of_a_norm)
fixed = wl.jit(deterministic=True)
OF_NUMPY: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "norms_of_numpy": (fixed(norms_of_numpy), norms_of_numpy),
    "gradient_of_numpy": (wl.grad(fixed(length_of_numpy)), wl.grad(length_of_numpy)),
}
"""Functions by `wl.jit`, and what they are near."""
MORE_OF_NUMPY = {"steps_of_numpy": (fixed(steps_of_numpy), steps_of_numpy)}


def run(function: Callable[..., Any]) -> list[bool]:
    """For each mesh whether the bits are those of one device."""
    return compare(wl.optimize(function, deterministic=True), jax.jit(function))


def compare(
    fixed: Callable[..., Any], plain: Callable[..., Any], meshes: Sequence[dict[str, Any]] = MESHES
) -> list[bool]:
    u = (np.random.default_rng(3).random((48, 32)) - 0.3).astype(np.float32)
    one = [np.asarray(each) for each in jax.tree.leaves(fixed(jnp.asarray(u)))]
    near = jax.tree.leaves(plain(u.copy()))
    assert all(np.allclose(a, b, rtol=1e-4, atol=1e-5) for a, b in zip(one, near, strict=True))
    found: list[bool] = []
    for sizes in meshes:
        given = wl.shard(u, wl.mesh(**sizes), *sizes)
        found.append(all(np.array_equal(a, b) for a, b in zip(one, jax.tree.leaves(fixed(given)), strict=True)))
    return found
