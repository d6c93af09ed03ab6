"""Arrays of as many elements as a mask picks: one program of `wl.jit` beside NumPy.

python -m benchmarks.masks [--sizes 1000 1000000] [--rounds 5]

CPU time, and how many times as fast as NumPy it is: above 1 it is faster. Without `whole`, `wl.jit` leaves functions
that are slower so to Python.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import windlass as wl


def picks(x: Any) -> Any:
    return x[x > 0.5]


def computes(x: Any) -> Any:
    return np.sqrt(x[x > 0.5]) * 2


def sums(x: Any) -> Any:
    return x[x > 0.5].sum()


def places(x: Any) -> Any:
    return np.nonzero(x > 0.5)[0]


def gathers(x: Any) -> Any:
    i = np.flatnonzero(x > 0.9)
    return x[i] * i


def writes(x: Any) -> Any:
    y = np.zeros_like(x)
    y[x > 0.5] = np.cumsum(x[x > 0.5])
    return y


def puts_together(x: Any) -> Any:
    return np.concatenate([x[x > 0.5], x[x <= 0.5]])


def sorts(x: Any) -> Any:
    return np.sort(x[x > 0.5])


def shrinks(x: Any) -> Any:
    rounds = 0
    for _ in range(200):
        x = x[np.abs(x) < 2] * 1.01
        rounds += x.size
    return rounds


def seconds(run: Callable[[], Any], rounds: int, calls: int) -> float:
    """The least CPU time of a call."""
    found: list[float] = []
    for _ in range(rounds):
        started = time.process_time()
        for _ in range(calls):
            run()
        found.append((time.process_time() - started) / calls)
    return min(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="*", default=[1000, 1_000_000])
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    for size in options.sizes:
        x = np.random.default_rng(0).random(size)
        for function in (picks, computes, sums, places, gathers, writes, puts_together, sorts, shrinks):
            compiled = wl.jit(whole=True)(function)
            np.testing.assert_allclose(compiled(x), function(x))
            calls = max(1, 100_000 // size)
            python = seconds(partial(function, x), options.rounds, calls)
            ours = seconds(partial(compiled, x), options.rounds, calls)
            print(f"{size:9,} {function.__name__:14} NumPy {1e6 * python:9.1f} µs, one program {1e6 * ours:9.1f} µs: "
                  f"{python / ours:5.2f}", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
