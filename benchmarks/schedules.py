"""Schedules beside the default: programs by trials, and loops as native code in blocks and exchanged.

python -m benchmarks.schedules [--rounds 9] [--trials 4]
"""

from __future__ import annotations

import argparse
from functools import partial

import jax
import numpy as np
from benchmarks.measuring import Result, compare, show
from benchmarks.tensor.images import sobel_by_convolution
from rich.console import Console

import windlass as wl
from windlass.schedules import interchange, seq, tile

LOOPS = wl.cuda.compile("""
__global__ void turn(float *to, const float *from, int n) {
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            to[i * n + j] = from[j * n + i];
}
__global__ void product(float *c, const float *a, const float *b, int n) {
    for (int j = 0; j < n; j++)
        for (int k = 0; k < n; k++)
            for (int i = 0; i < n; i++)
                c[i * n + j] += a[i * n + k] * b[k * n + j];
}""")


def native(name: str, what: str, schedule: object, size: int, arrays: int, rounds: int) -> Result:
    """One thread's loops as they are written and as the schedule says."""
    kernel, draw = LOOPS[name], np.random.default_rng(0)
    arguments = (*draw.random((arrays, size, size), np.float32), size)
    ours, plain = (wl.native(kernel, schedule=each)[1, 1] for each in (str(schedule), None))
    return compare(what, partial(ours, *arguments), {"as written": partial(plain, *arguments)}, rounds, goal=1.0)


def by_trials(count: int, rounds: int) -> Result:
    """A program that the default makes slower than another schedule does."""
    image = np.random.default_rng(0).standard_normal((1024, 1024), np.float32)
    tried, default = wl.optimize(sobel_by_convolution, trials=count), wl.optimize(sobel_by_convolution)
    print(tried.trials(image))
    theirs = {
        "the default": lambda: jax.block_until_ready(default(image)),
        "jax.jit": partial(lambda function: jax.block_until_ready(function(image)), jax.jit(sobel_by_convolution)),
    }
    return compare("Sobel by convolution", lambda: jax.block_until_ready(tried(image)), theirs, rounds, goal=1.0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--trials", type=int, default=4)
    options = parser.parse_args()
    order = seq(interchange(8, 9), interchange(8, 10), interchange(9, 10))
    results = [
        by_trials(options.trials, options.rounds),
        native("turn", "transpose 2048² in blocks of 32", tile(3, 4, sizes=(32, 32)), 2048, 2, options.rounds),
        native("product", "product 384² with its loops exchanged", order, 384, 3, options.rounds),
    ]
    show(results, Console())


if __name__ == "__main__":
    main()
