"""Native code called by XLA inside `jax.jit`, beside the same launches on NumPy arrays, the emulator called back, and
Numba's `prange` called back.

Each is a loop of launches, `jax.lax.fori_loop` but for the one on NumPy arrays: what a call costs beside its work.

python -m benchmarks.native_in_jit [--rounds 7] [--threads 2]
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from benchmarks.measuring import Result, Run, compare, show
from benchmarks.native.cases import SOURCE, Case, one
from benchmarks.native.numba_loops import numba_loops
from rich.console import Console

import windlass as wl


@dataclass(frozen=True)
class Loop:
    """The launch of a case, done several times; its argument at `written` changes."""

    case: Case
    written: int
    times: int


def loops() -> list[Loop]:
    draw, f4 = np.random.default_rng(0), np.float32
    found: list[Loop] = []
    for n, times in ((64, 200), (1024, 10)):
        u = draw.random((n, n), dtype=f4)
        found.append(Loop(one(f"heat {n}²", "heat", (n // 64, n // 4), (64, 4), u, u.copy(), n, f4(0.1)), 1, times))
    out = np.zeros((512, 512), np.int32)
    found.append(Loop(one("mandelbrot 512², 100 rounds", "mandelbrot", (8, 128), (64, 4), out, 512, 100), 0, 5))
    return found


def measure(loop: Loop, rounds: int) -> Result:
    """A loop in `jax.jit` against the others."""
    case, written, times = loop.case, loop.written, loop.times
    (one_launch,) = case.launches
    grid, block = one_launch.grid, one_launch.block
    kernel = wl.cuda.compile(SOURCE)[one_launch.kernel]
    launch = wl.native(kernel)[grid, block]
    inside = wl.native(kernel).jax(grid, block)
    arrays = case.copies()
    before = arrays[written].copy()

    def on_arrays() -> None:
        for _ in range(times):
            launch(*arrays)

    def looped(step: Callable[..., Any]) -> Run:
        def body(_: Any, changing: Any) -> Any:
            given = [*case.arguments]
            given[written] = changing
            return step(*given)

        function = jax.jit(lambda changing: jax.lax.fori_loop(0, times, body, changing))
        start = jnp.asarray(before)
        return lambda: jax.block_until_ready(function(start))

    def called_back(run: Callable[..., None]) -> Run:
        def step(*given: Any) -> Any:
            changing = given[written]

            def call(value: Any) -> Any:
                own = [*case.arguments]
                own[written] = np.array(value)
                run(*own)
                return own[written]

            return jax.pure_callback(call, jax.ShapeDtypeStruct(changing.shape, changing.dtype), changing)

        return looped(step)

    ours = looped(inside)
    on_arrays()
    np.testing.assert_array_equal(np.asarray(ours()), arrays[written])
    runs: dict[str, Run] = {"on NumPy arrays": on_arrays}
    peer = numba_loops().get(one_launch.kernel)
    if peer is not None:
        runs["Numba, called back"] = called_back(peer)
    runs["emulator, called back"] = called_back(wl.emulate(kernel)[grid, block])
    for run in list(runs.values())[1:]:
        run()
    return compare(f"{case.name}, {times} times", ours, runs, rounds, None)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    for name in ("WINDLASS_NUM_THREADS", "NUMBA_NUM_THREADS"):
        os.environ[name] = str(options.threads)
    show([measure(loop, options.rounds) for loop in loops()], Console(width=160))


if __name__ == "__main__":
    main()
