"""Loops over whole arrays in `wl.jit`, time steps of stencils, beside the same by `jax.jit` and as loops by Numba.

Times are of a processor, the least of several calls. Windlass and JAX make new arrays, Numba works in place. JAX
contracts products and sums; Windlass gives Numba's bits.

python -m benchmarks.array_loops [--rounds 5] [--steps 20]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from rich.console import Console
from rich.table import Table

import numba
import windlass as wl

prange = numba.prange


def heat(steps: int, u: Any) -> Any:
    for _ in range(steps):
        around = u[1:-1, :-2] + u[1:-1, 2:] + u[:-2, 1:-1] + u[2:, 1:-1]
        u[1:-1, 1:-1] = u[1:-1, 1:-1] + np.float32(0.2) * (around - np.float32(4) * u[1:-1, 1:-1])
    return u


def heat_by_jax(steps: int, u: Any) -> Any:
    def step(_: Any, u: Any) -> Any:
        around = u[1:-1, :-2] + u[1:-1, 2:] + u[:-2, 1:-1] + u[2:, 1:-1]
        return u.at[1:-1, 1:-1].add(np.float32(0.2) * (around - 4 * u[1:-1, 1:-1]))

    return lax.fori_loop(0, steps, step, u)


@numba.njit(parallel=True)
def heat_by_numba(steps: int, u: Any) -> Any:
    v = u.copy()
    for _ in range(steps):
        for y in prange(1, u.shape[0] - 1):
            for x in range(1, u.shape[1] - 1):
                around = u[y, x - 1] + u[y, x + 1] + u[y - 1, x] + u[y + 1, x]
                v[y, x] = u[y, x] + np.float32(0.2) * (around - np.float32(4) * u[y, x])
        u, v = v, u
    return u


def jacobi(steps: int, a: Any, b: Any) -> Any:
    for _ in range(steps):
        b[1:-1, 1:-1] = 0.2 * (a[1:-1, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:] + a[2:, 1:-1] + a[:-2, 1:-1])
        a[1:-1, 1:-1] = 0.2 * (b[1:-1, 1:-1] + b[1:-1, :-2] + b[1:-1, 2:] + b[2:, 1:-1] + b[:-2, 1:-1])
    return a, b


def jacobi_by_jax(steps: int, a: Any, b: Any) -> Any:
    def half(a: Any, b: Any) -> Any:
        return b.at[1:-1, 1:-1].set(0.2 * (a[1:-1, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:] + a[2:, 1:-1] + a[:-2, 1:-1]))

    def step(_: Any, state: Any) -> Any:
        a, b = state
        b = half(a, b)
        return half(b, a), b

    return lax.fori_loop(0, steps, step, (a, b))


@numba.njit(parallel=True)
def jacobi_by_numba(steps: int, a: Any, b: Any) -> Any:
    for _ in range(steps):
        for y in prange(1, a.shape[0] - 1):
            for x in range(1, a.shape[1] - 1):
                b[y, x] = 0.2 * (a[y, x] + a[y, x - 1] + a[y, x + 1] + a[y + 1, x] + a[y - 1, x])
        for y in prange(1, a.shape[0] - 1):
            for x in range(1, a.shape[1] - 1):
                a[y, x] = 0.2 * (b[y, x] + b[y, x - 1] + b[y, x + 1] + b[y + 1, x] + b[y - 1, x])
    return a, b


def waves(steps: int, ex: Any, ey: Any, hz: Any) -> Any:
    for t in range(steps):
        ey[0, :] = t
        ey[1:, :] -= 0.5 * (hz[1:, :] - hz[:-1, :])
        ex[:, 1:] -= 0.5 * (hz[:, 1:] - hz[:, :-1])
        hz[:-1, :-1] -= 0.7 * (ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1])
    return ex, ey, hz


def waves_by_jax(steps: int, ex: Any, ey: Any, hz: Any) -> Any:
    def step(t: Any, state: Any) -> Any:
        ex, ey, hz = state
        ey = ey.at[0].set(t).at[1:].add(-0.5 * (hz[1:] - hz[:-1]))
        ex = ex.at[:, 1:].add(-0.5 * (hz[:, 1:] - hz[:, :-1]))
        hz = hz.at[:-1, :-1].add(-0.7 * (ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1]))
        return ex, ey, hz

    return lax.fori_loop(0, steps, step, (ex, ey, hz))


@numba.njit(parallel=True)
def waves_by_numba(steps: int, ex: Any, ey: Any, hz: Any) -> Any:
    rows, columns = hz.shape
    for t in range(steps):
        ey[0, :] = t
        for y in prange(1, rows):
            for x in range(columns):
                ey[y, x] -= 0.5 * (hz[y, x] - hz[y - 1, x])
        for y in prange(rows):
            for x in range(1, columns):
                ex[y, x] -= 0.5 * (hz[y, x] - hz[y, x - 1])
        for y in prange(rows - 1):
            for x in range(columns - 1):
                hz[y, x] -= 0.7 * (ex[y, x + 1] - ex[y, x] + ey[y + 1, x] - ey[y, x])
    return ex, ey, hz


Way = Callable[..., Any]
CASES: dict[str, tuple[tuple[Way, Way, Way], int, tuple[int, ...], str]] = {
    "heat 2048², f32": ((heat, heat_by_jax, heat_by_numba), 1, (2048, 2048), "f4"),
    "heat 256², f32": ((heat, heat_by_jax, heat_by_numba), 1, (256, 256), "f4"),
    "Jacobi 1000², f64": ((jacobi, jacobi_by_jax, jacobi_by_numba), 2, (1000, 1000), "f8"),
    "waves (FDTD) 500 × 600, f64": ((waves, waves_by_jax, waves_by_numba), 3, (500, 600), "f8"),
}


def least(run: Callable[[], Any], rounds: int) -> float:
    times: list[float] = []
    for _ in range(rounds + 1):
        begin = time.process_time()
        run()
        times.append(time.process_time() - begin)
    return min(times[1:])


def measure(ways: tuple[Way, Way, Way], given: list[Any], steps: int, rounds: int) -> tuple[float, float, float]:
    """Seconds of Windlass, of JAX and of Numba, whose results are compared with the first."""
    ours, by_jax, by_numba = ways
    compiled, jitted = wl.jit(ours), jax.jit(by_jax)
    with jax.enable_x64(True):
        arrays, count = [jnp.asarray(each) for each in given], jnp.asarray(steps)
        wanted = by_numba(steps, *(each.copy() for each in given))
        for one, other in zip(jax.tree.leaves(compiled(count, *arrays)), jax.tree.leaves(wanted), strict=True):
            np.testing.assert_array_equal(one, other)
        return (
            least(lambda: jax.block_until_ready(compiled(count, *arrays)), rounds),
            least(lambda: jax.block_until_ready(jitted(count, *arrays)), rounds),
            least(lambda: by_numba(steps, *given), rounds),
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=20)
    options = parser.parse_args()
    table = Table("ms of a processor", "windlass", "jax.jit", "numba", "of jax", "of numba", box=None)
    draw = np.random.default_rng(0)
    for name, (ways, count, shape, dtype) in CASES.items():
        given = [draw.random(shape).astype(dtype) for _ in range(count)]
        mine, jaxs, numbas = measure(ways, given, options.steps, options.rounds)
        told = [f"{each * 1e3:.3g}" for each in (mine, jaxs, numbas)]
        table.add_row(name, *told, f"{mine / jaxs:.2f}", f"{mine / numbas:.2f}")
    Console().print(table)


if __name__ == "__main__":
    main()
