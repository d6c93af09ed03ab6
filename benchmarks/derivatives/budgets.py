"""What the gradient of many steps in place takes, of memory and time, without a budget and with some.

    python -m benchmarks.derivatives.budgets [--steps 10000] [--size 256]

Each is run in a process of its own: `peak` is how much that process grows by the gradient (arguments, results and the
compiler's own memory among it), `buffers` is what XLA allots for the program beside arguments and results.
"""

from __future__ import annotations

import argparse
import hashlib
import resource
import subprocess
import sys
import time
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import windlass as wl
from windlass.autodiff.planning import asked_for
from windlass.autodiff.requests import plan_for

OPTIONS: dict[str, dict[str, Any]] = {
    "none": {},
    "memory=64MiB": {"memory": "64MiB"},
    "memory=16MiB": {"memory": "16MiB"},
    "memory=8MiB": {"memory": "8MiB"},
    "wl.Periodic(100)": {"checkpoint": wl.Periodic(100)},
    "wl.Binomial(20)": {"checkpoint": wl.Binomial(20)},
}


def measure(name: str, steps: int, size: int) -> None:
    """Print a line for one of the options."""
    options = OPTIONS[name]

    @wl.jit
    def loss(u: Any) -> Any:
        for _ in range(steps):
            around = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
            u[1:-1, 1:-1] += 0.1 * u[1:-1, 1:-1] * (around - 4 * u[1:-1, 1:-1])
        return (u * u).sum()

    u = jnp.asarray(np.random.default_rng(0).random((size, size), np.float32))
    with asked_for(plan_for("wl.grad", options.get("checkpoint"), options.get("memory"))):
        compiled = jax.jit(jax.grad(loss)).lower(u).compile()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.perf_counter()
    gradient = jax.block_until_ready(compiled(u))
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    analysis: Any = compiled.memory_analysis()
    buffers = analysis.temp_size_in_bytes / 2**20
    digest = hashlib.sha256(np.asarray(gradient).tobytes()).hexdigest()[:8]
    print(f"{name:18} buffers {buffers:8.1f} MiB  peak {peak / 1024:8.1f} MiB  {seconds:6.2f} s  bits {digest}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=10_000)
    parser.add_argument("--size", type=int, default=256)
    parser.add_argument("--one", choices=[*OPTIONS])
    options = parser.parse_args()
    if options.one is not None:
        measure(options.one, options.steps, options.size)
        return
    for name in OPTIONS:
        call = [sys.executable, "-m", "benchmarks.derivatives.budgets", "--one", name]
        subprocess.run([*call, "--steps", str(options.steps), "--size", str(options.size)], check=True)


if __name__ == "__main__":
    main()
