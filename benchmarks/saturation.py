"""Programs whose best form greedy rewriting does not find: `jax.jit`, `wl.optimize`, and that with `saturate=True`.

python -m benchmarks.saturation [--rounds 15] [--size 512]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from benchmarks.measuring import spell_time, time_interleaved
from rich.console import Console
from rich.table import Table

import windlass as wl


def multiplied_out(a: Any, b: Any, x: Any, y: Any) -> Any:
    return (a @ x + b @ y) + (a @ y + b @ x)


def shared_middle(a: Any, b: Any, x: Any, y: Any) -> Any:
    return (a @ b) @ x, b @ (x @ y)


def diagonal_gradient(a: Any, b: Any, x: Any, y: Any) -> Any:
    places = jnp.arange(a.shape[0])

    def scaled(v: Any, m: Any) -> Any:
        return jnp.sum(jnp.sin(jnp.zeros(m.shape).at[places, places].set(v) @ m))

    return jax.grad(scaled, (0, 1))(a[0], b)


def two_convolutions(a: Any, b: Any, x: Any, y: Any) -> Any:
    image = a[None, :28, :28, None] * b[0, :32]
    kernels = [each[:72, :32].reshape(3, 3, 32, 8) for each in (x, y)]
    axes = ("NHWC", "HWIO", "NHWC")
    return [jax.lax.conv_general_dilated(image, each, (1, 1), "SAME", dimension_numbers=axes) for each in kernels]


def largest_error(expected: Any, found: Any) -> float:
    pairs = zip(jax.tree.leaves(expected), jax.tree.leaves(found), strict=True)
    return max(float(jnp.abs(one - other).max() / jnp.abs(one).max()) for one, other in pairs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--size", type=int, default=512)
    options = parser.parse_args()
    draw = np.random.default_rng(0)
    shape = options.size, options.size
    arguments = [jnp.asarray(draw.standard_normal(shape) / options.size**0.5, np.float32) for _ in range(4)]
    table = Table("program", "jax.jit", "wl.optimize ×", "saturated ×", "optimizer's s", "largest error", box=None)
    programs: list[Callable[..., Any]] = [multiplied_out, shared_middle, diagonal_gradient, two_convolutions]
    for program in programs:
        ways = {
            "jax": jax.jit(program),
            "greedy": jax.jit(wl.optimize(program)),
            "saturated": jax.jit(wl.optimize(program, saturate=True)),
        }
        runs: dict[str, Callable[[], object]] = {}
        spent: dict[str, float] = {}
        for name, way in ways.items():
            begin = time.perf_counter()
            lowered = way.lower(*arguments)
            spent[name] = time.perf_counter() - begin
            runs[name] = partial(lambda call: jax.block_until_ready(call(*arguments)), lowered.compile())
        error = max(largest_error(runs["jax"](), runs[name]()) for name in ("greedy", "saturated"))
        times = time_interleaved(runs, options.rounds)
        table.add_row(
            program.__name__.replace("_", " "),
            spell_time(times["jax"]),
            *(f"{times['jax'] / times[name]:.2f}" for name in ("greedy", "saturated")),
            " / ".join(f"{spent[name]:.2f}" for name in ("greedy", "saturated")),
            f"{error:.0e}",
        )
    Console(width=140).print(table)


if __name__ == "__main__":
    main()
