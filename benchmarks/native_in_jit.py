"""Native code called by XLA inside `jax.jit`, beside the same launches on NumPy arrays, the emulator called back, and
Numba's `prange` called back.

Each is a loop of launches, `jax.lax.fori_loop` but for the one on NumPy arrays: what a call costs beside its work.

python -m benchmarks.native_in_jit [--rounds 7] [--threads 2]
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from benchmarks.measuring import Result, Run, compare, show
from benchmarks.native import SOURCE, peers
from rich.console import Console

import windlass as wl


@dataclass(frozen=True)
class Case:
    """A launch whose argument at `written` changes, done several times."""

    name: str
    kernel: str
    grid: Any
    block: Any
    arguments: Sequence[Any]
    written: int
    times: int


def cases() -> list[Case]:
    draw, f4 = np.random.default_rng(0), np.float32
    found: list[Case] = []
    for n, times in ((64, 200), (1024, 10)):
        u = draw.random((n, n), dtype=f4)
        grid = (n // 64, n // 4)
        found.append(Case(f"heat {n}²", "heat", grid, (64, 4), (u, u.copy(), n, f4(0.1)), 1, times))
    out = np.zeros((512, 512), np.int32)
    found.append(Case("mandelbrot 512², 100 rounds", "mandelbrot", (8, 128), (64, 4), (out, 512, 100), 0, 5))
    return found


def measure(case: Case, rounds: int) -> Result:
    """A loop in `jax.jit` against the others."""
    kernel = wl.cuda.compile(SOURCE)[case.kernel]
    launch = wl.native(kernel)[case.grid, case.block]
    inside = wl.native(kernel).jax(case.grid, case.block)
    arrays = [copied(each) for each in case.arguments]
    before = arrays[case.written].copy()

    def on_arrays() -> None:
        for _ in range(case.times):
            launch(*arrays)

    def looped(step: Callable[..., Any]) -> Run:
        def body(_: Any, changing: Any) -> Any:
            given = [*case.arguments]
            given[case.written] = changing
            return step(*given)

        function = jax.jit(lambda changing: jax.lax.fori_loop(0, case.times, body, changing))
        start = jnp.asarray(before)
        return lambda: jax.block_until_ready(function(start))

    def called_back(run: Callable[..., None]) -> Run:
        def step(*given: Any) -> Any:
            changing = given[case.written]

            def call(value: Any) -> Any:
                own = [*case.arguments]
                own[case.written] = np.array(value)
                run(*own)
                return own[case.written]

            return jax.pure_callback(call, jax.ShapeDtypeStruct(changing.shape, changing.dtype), changing)

        return looped(step)

    ours = looped(inside)
    on_arrays()
    np.testing.assert_array_equal(np.asarray(ours()), arrays[case.written])
    runs: dict[str, Run] = {"on NumPy arrays": on_arrays}
    peer = peers().get(case.kernel)
    if peer is not None:
        runs["Numba, called back"] = called_back(peer)
    runs["emulator, called back"] = called_back(wl.emulate(kernel)[case.grid, case.block])
    for run in list(runs.values())[1:]:
        run()
    return compare(f"{case.name}, {case.times} times", ours, runs, rounds, None)


def copied(each: Any) -> Any:
    return each.copy() if isinstance(each, np.ndarray) else each


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    for name in ("WINDLASS_NUM_THREADS", "NUMBA_NUM_THREADS"):
        os.environ[name] = str(options.threads)
    show([measure(case, options.rounds) for case in cases()], Console(width=160))


if __name__ == "__main__":
    main()
