"""What messages between this machine's devices cost, measured once and kept in the cache.

As the other constants (`calibrating`) these are used only where the user asks for them. Programs of several processes
don't use them: each process has to divide a program as the others do.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import jax
import numpy as np

from windlass.communication.machines import Machine, machine_for
from windlass.diagnostics.cache import cache_directory
from windlass.stablehlo import calibrating

SMALL, LARGE = 8, 1 << 20
"""So many numbers of four bytes has a message."""
ROUNDS, SAMPLES = 20, 7
MOST_SECONDS = 120
FARTHEST = 20.0
"""How many times larger or smaller than the figures of `machines` a measured one may be: else the machine was busy."""

_found: dict[tuple[str, Path], Machine | None] = {}


def machine_at(platform: str, devices: int) -> Machine:
    """The figures for so many devices of a platform: as they come, or as measured here where the user asks for that."""
    local = 0
    with suppress(RuntimeError):
        local = jax.local_device_count(platform)
    machine = machine_for(platform, is_one_computer=devices <= local)
    if calibrating.is_calibrated() and jax.process_count() == 1:
        return measured_machine(platform) or machine
    return machine


def measured_machine(platform: str) -> Machine | None:
    """What was measured on this machine; None if that has not been done, or can't be read."""
    key = platform, _path(platform)
    if key not in _found:
        _found[key] = None
        with suppress(OSError, ValueError, TypeError, LookupError):
            _found[key] = machine_from(platform, json.loads(key[1].read_text()))
    return _found[key]


def machine_from(platform: str, numbers: dict[str, float]) -> Machine:
    """The platform's machine with these numbers, none too far from those that it comes with.

    >>> machine_from("cpu", {"latency": 1.0, "bandwidth": 1e9, "copies": 8e9})
    Machine(name='cpu', latency=0.0004, bandwidth=1000000000.0, copies=8000000000.0)
    """
    usual = machine_for(platform, is_one_computer=True)

    def near(number: float, default: float) -> float:
        return min(max(number, default / FARTHEST), default * FARTHEST)

    latency, bandwidth = near(numbers["latency"], usual.latency), near(numbers["bandwidth"], usual.bandwidth)
    return Machine(platform, latency, bandwidth, float(numbers["copies"]))


def calibrate(platform: str) -> Machine | None:
    """Measure anew, in a process of its own that has several devices, and keep it; None where that didn't work."""
    variables = dict(os.environ)
    if platform == "cpu":
        variables |= {"JAX_PLATFORMS": "cpu", "JAX_NUM_CPU_DEVICES": "2", "XLA_FLAGS": ""}
    path = _path(platform)
    _found.pop((platform, path), None)
    command = [sys.executable, "-c", f"from {__name__} import main; main({platform!r})"]
    with suppress(OSError, ValueError, subprocess.SubprocessError):
        done = subprocess.run(command, capture_output=True, text=True, env=variables, timeout=MOST_SECONDS, check=True)
        numbers = json.loads(done.stdout.splitlines()[-1])
        calibrating.write_numbers(path, numbers)
        _found[platform, path] = machine_from(platform, numbers)
        return _found[platform, path]
    return None


def _path(platform: str) -> Path:
    return cache_directory() / f"messages-{platform}-{calibrating.machine_key()}.json"


def main(platform: str) -> None:
    """Print what `measure` finds on the first two devices."""
    print(json.dumps(measure(jax.devices(platform)[:2])))


def measure(devices: list[Any]) -> dict[str, float]:
    """Seconds for a message, and bytes in a second of messages and of copies, between these devices."""
    mesh = jax.sharding.Mesh(np.array(devices), ("x",))
    spec = jax.sharding.PartitionSpec("x")
    ring = [(number, (number + 1) % len(devices)) for number in range(len(devices))]

    def repeated(step: Callable[[Any], Any], size: int) -> Callable[[], Any]:
        def run(x: Any) -> Any:
            return jax.lax.fori_loop(0, ROUNDS, lambda _, value: step(value), x)

        x = jax.device_put(np.ones(size * len(devices), np.float32), jax.sharding.NamedSharding(mesh, spec))
        compiled = jax.jit(jax.shard_map(run, mesh=mesh, in_specs=spec, out_specs=spec)).lower(x).compile()
        return lambda: jax.block_until_ready(compiled(x))

    def send(x: Any) -> Any:
        return jax.lax.ppermute(x, "x", ring)

    programs = {
        "small": repeated(send, SMALL),
        "large": repeated(send, LARGE),
        "copied": repeated(lambda x: x + 1, LARGE),
    }
    best = dict.fromkeys(programs, float("inf"))
    for _ in range(SAMPLES):
        for name, program in programs.items():
            begun = time.perf_counter()
            program()
            best[name] = min(best[name], (time.perf_counter() - begun) / ROUNDS)
    size = 4 * LARGE
    return {
        "latency": best["small"],
        "bandwidth": size / max(best["large"] - best["small"], 1e-9),
        "copies": size / best["copied"],
    }
