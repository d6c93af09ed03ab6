"""f64 as pairs of f32 beside f64 and f32 themselves: errors against NumPy's f64, and times, on this machine.

python -m benchmarks.precision [--size 512] [--rounds 9] [--precision f32x2]

On CPUs pairs are slower than f64: the times are for devices without f64, and to see what XLA makes of the programs.
"""

from __future__ import annotations

import argparse
from functools import partial
from typing import Any

import numpy as np
from benchmarks.measuring import time_interleaved
from rich.console import Console
from rich.table import Table

import windlass as wl


def heat(u: Any, steps: Any) -> Any:
    u = u.copy()
    for _ in range(steps):
        u[1:-1, 1:-1] += 0.1 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4.0 * u[1:-1, 1:-1])
    return u


def softmax(x: Any) -> Any:
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def conjugate_gradients(a: Any, b: Any, steps: Any) -> Any:
    x = np.zeros_like(b)
    r = b - a @ x
    p = r.copy()
    old = r @ r
    for _ in range(steps):
        ap = a @ p
        size = old / (p @ ap)
        x = x + size * p
        r = r - size * ap
        new = r @ r
        p = r + (new / old) * p
        old = new
    return x


def product(a: Any, b: Any) -> Any:
    return a @ b


def polynomial(x: Any) -> Any:
    return ((0.1 * x + 0.3) * x - 0.7) * x + 1.1


def total(x: Any) -> Any:
    return x.sum()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=512)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--precision", default="f32x2")
    options = parser.parse_args()
    draw, n = np.random.default_rng(0), options.size
    square = draw.standard_normal((n, n))
    definite = square @ square.T + n * np.eye(n)
    cases: list[tuple[Any, tuple[Any, ...]]] = [
        (polynomial, (square,)),
        (total, (square,)),
        (softmax, (square,)),
        (heat, (square, 50)),
        (conjugate_gradients, (definite, square[0], 30)),
        (product, (square, definite)),
    ]
    kinds = ("f32", "f64", options.precision)
    measured = [kind for kind in kinds if kind != "f64"]
    table = Table("program", *(f"error {kind}" for kind in measured), *(f"time {kind}" for kind in kinds))
    for function, arguments in cases:
        expected = function(*arguments)
        narrow = tuple(each.astype(np.float32) if isinstance(each, np.ndarray) else each for each in arguments)
        runs = {
            "f32": partial(wl.jit(function), *narrow),
            "f64": partial(wl.jit(function), *arguments),
            options.precision: partial(wl.jit(precision=options.precision)(function), *arguments),
        }
        errors = [np.abs(runs[kind]() - expected).max() / np.abs(expected).max() for kind in measured]
        times = time_interleaved(runs, options.rounds)
        row = [f"{error:.1e}" for error in errors] + [f"{1e3 * times[kind]:.3g} ms" for kind in kinds]
        table.add_row(function.__name__.replace("_", " "), *row)
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
