"""Gradients beside jax.grad of the same by hand: of a kernel, and of loops whose length only we need not know.

python -m benchmarks.derivatives [--rounds 9] [--size 512] [--steps 200]
"""

from __future__ import annotations

import argparse
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from benchmarks.measuring import Result, compare, show
from rich.console import Console

import windlass as wl

HEAT = wl.cuda.compile("""
__global__ void heat(const float *now, float *next, float c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < 1 || j < 1 || i > n - 2 || j > n - 2) return;
    const float *at = now + j * n + i;
    next[j * n + i] = *at + c * *at * (at[-1] + at[1] + at[-n] + at[n] - 4 * *at);
}""")["heat"]


def heat_by_hand(now: Any, next: Any, c: Any) -> Any:
    u = now[1:-1, 1:-1]
    around = now[1:-1, :-2] + now[1:-1, 2:] + now[:-2, 1:-1] + now[2:, 1:-1]
    return next.at[1:-1, 1:-1].set(u + c * u * (around - 4 * u))


def step(size: int, rounds: int) -> Result:
    """The gradient of a sum of squares after one launch, by the field and the coefficient."""
    launch = HEAT.jax((size // 16, size // 16), (16, 16))
    ours = wl.grad(lambda u, c: (launch(u, u, c, size) ** 2).sum(), (0, 1))
    theirs = jax.jit(jax.grad(lambda u, c: (heat_by_hand(u, u, c) ** 2).sum(), (0, 1)))
    return _compared(f"a kernel, {size}²", ours, theirs, (_field(size), 0.1), rounds)


def march(size: int, steps: int, rounds: int) -> Result:
    """The gradient through so many launches: their number is an argument of ours, and compiled in for JAX."""
    launch = HEAT[(size // 16, size // 16), (16, 16)]

    @wl.jit
    def loss(u: Any, scratch: Any, c: Any, steps: Any) -> Any:
        for _ in range(steps):
            launch(u, scratch, c, size)
            u[:] = scratch
        return (u * u).sum()

    def by_hand(u: Any, scratch: Any, c: Any, steps: Any) -> Any:
        del steps

        def round_(state: Any, _: Any) -> Any:
            u = heat_by_hand(*state, c)
            return (u, u), None

        return (jax.lax.scan(round_, (u, scratch), None, length=count)[0][0] ** 2).sum()

    count = steps
    ours, theirs = wl.grad(loss), jax.jit(jax.grad(by_hand))
    arguments = (_field(size), jnp.zeros((size, size), jnp.float32), 0.1, steps)
    return _compared(f"{steps} launches, {size}²", ours, theirs, arguments, rounds)


def _field(size: int) -> Any:
    return jnp.asarray(np.random.default_rng(0).random((size, size), np.float32))


def _compared(name: str, ours: Any, theirs: Any, arguments: tuple[Any, ...], rounds: int) -> Result:
    for one, other in zip(jax.tree.leaves(ours(*arguments)), jax.tree.leaves(theirs(*arguments)), strict=True):
        np.testing.assert_allclose(one, other, 2e-3, 1e-3)

    def run(function: Any) -> Any:
        return jax.block_until_ready(function(*arguments))

    return compare(name, partial(run, ours), {"jax.grad": partial(run, theirs)}, rounds, goal=1.0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--size", type=int, default=512)
    parser.add_argument("--steps", type=int, default=200)
    options = parser.parse_args()
    results = [step(2 * options.size, options.rounds), march(options.size, options.steps, options.rounds)]
    show(results, Console())


if __name__ == "__main__":
    main()
