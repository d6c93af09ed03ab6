"""The cost model's constants for this machine's CPU, measured once and kept in the cache.

The constants that come with Windlass (`windlass.facts.cost.CPU`) are the same everywhere, so that a program is
optimized in the same way on every machine and every day. Those measured here are used where the user asks for them: see
`is_calibrated`.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from windlass.diagnostics.cache import cache_directory
from windlass.diagnostics.environment import read_choice
from windlass.diagnostics.machine import describe_machine
from windlass.facts.cost import CPU, Device

VARIABLE = "WINDLASS_CALIBRATION"
"""`on` in the environment: costs on the CPU are those measured on this machine."""

FARTHEST = 8.0
"""How many times larger or smaller than in `CPU` a constant may be found: beyond that the machine was busy."""

MEASURED = (
    "launch",
    "launch_in_loop",
    "launch_in_short_round",
    "arithmetic",
    "bandwidth",
    "cache_bandwidth",
    "f32",
    "f64",
)
"""What is measured; the last two are rates of matrix products."""

_found: dict[Path, Device] = {}


def is_calibrated() -> bool:
    """Whether the user asks for this machine's constants, by WINDLASS_CALIBRATION=on in the environment."""
    return read_choice(VARIABLE)


def cpu_device() -> Device:
    """The CPU whose costs count: as it comes with Windlass, or as measured here where the user asks for that."""
    return calibrated_cpu() if is_calibrated() else CPU


def calibrated_cpu(anew: bool = False) -> Device:
    """This machine's CPU; measured, which takes about a second, if it hasn't been yet or is to be `anew`."""
    path = cache_directory() / f"cpu-{machine_key()}.json"
    if not anew:
        known = _found.get(path) or _read(path)
        if known is not None:
            _found[path] = known
            return known
    numbers = measure()
    write_numbers(path, numbers)
    _found[path] = device_from(numbers)
    return _found[path]


def device_from(numbers: dict[str, float]) -> Device:
    """CPU with these numbers in place of its own, none too far from it.

    >>> device_from({"launch": 1.0, "bandwidth": 2e10}).bandwidth
    20000000000.0
    >>> device_from({"launch": 1.0}).launch == FARTHEST * CPU.launch
    True
    """
    defaults = constants_of(CPU)
    near = {
        name: min(max(numbers.get(name, default), default / FARTHEST), default * FARTHEST)
        for name, default in defaults.items()
    }
    contraction = CPU.contraction | {name: near.pop(name) for name in ("f32", "f64")}
    return replace(CPU, contraction=contraction, **near)


def constants_of(device: Device) -> dict[str, float]:
    """The constants that are measured, by name."""
    rates = {name: device.contraction_rate(name) for name in ("f32", "f64")}
    return {name: rates[name] if name in rates else getattr(device, name) for name in MEASURED}


def machine_key() -> str:
    """A text for the names of files: another one for another machine and jaxlib."""
    key = "\0".join((describe_machine(), version("jaxlib"), *MEASURED))
    return hashlib.sha256(key.encode()).hexdigest()[:16]


def _read(path: Path) -> Device | None:
    with suppress(OSError, ValueError, TypeError, AttributeError):
        numbers = json.loads(path.read_text())
        return device_from({name: float(number) for name, number in numbers.items()})
    return None


def write_numbers(path: Path, numbers: dict[str, float]) -> None:
    """Keep what was measured in a file, which is there as a whole or not at all."""
    with suppress(OSError):
        handle, unfinished = tempfile.mkstemp(prefix=f"{path.stem}-", suffix=".unfinished", dir=path.parent)
        with os.fdopen(handle, "w") as file:
            json.dump(numbers, file, indent=1)
        Path(unfinished).replace(path)


# -- measuring --------------------------------------------------------------------------------------------------------

SAMPLE_SECONDS = 0.01
"""How long each program is called again and again at a time..."""
SAMPLES = 3
"""... and how many times; the shortest call of all counts."""
POLYNOMIAL = 8
"""Operations for each element where arithmetic is measured."""


def measure() -> dict[str, float]:
    """Each constant, measured by small programs that XLA runs on the CPU."""
    import jax.numpy as jnp
    from jax import lax

    def kernels(count: int) -> Callable[[Any], Any]:
        """So many sums and as many scalings, each a kernel."""

        def run(x: Any) -> Any:
            for _ in range(count):
                x = x * jnp.sum(x)
            return x

        return run

    def rounds(count: int, body: Callable[[Any], Any]) -> Callable[[Any], Any]:
        return lambda x: lax.fori_loop(0, count, lambda _, x: body(x), x)

    def scaled(x: Any) -> Any:
        return x * 0.999 + 0.001

    def polynomial(x: Any) -> Any:
        total = x
        for _ in range(POLYNOMIAL // 2):
            total = total * x + 0.5
        return total

    large, small, size = 1 << 24, 1 << 15, 256
    seconds = _shortest_calls(
        {
            "few": _compiled(kernels(2), 128),
            "many": _compiled(kernels(10), 128),
            # Rounds that move more than a short one does: two kernels and the counter.
            "rounds": _compiled(rounds(2000, kernels(1)), 160),
            "short rounds": _compiled(rounds(20000, scaled), 1),
            "large": _compiled(rounds(2, scaled), large),
            "small": _compiled(rounds(200, scaled), small),
            "polynomial": _compiled(rounds(50, polynomial), small),
            "product": _compiled(rounds(4, lambda x: x @ x * (1 / size)), size, size),
        }
    )
    product = 2 * size**3 * 4 / seconds["product"]
    return {
        "launch": max(seconds["many"] - seconds["few"], 0.0) / 16,
        "launch_in_loop": seconds["rounds"] / 2000 / 3,
        "launch_in_short_round": seconds["short rounds"] / 20000 / 3,
        "bandwidth": 2 * 4 * large * 2 / seconds["large"],
        "cache_bandwidth": 2 * 4 * small * 200 / seconds["small"],
        "arithmetic": POLYNOMIAL * small * 50 / seconds["polynomial"],
        "f32": product,
        "f64": product / 2,
    }


def _compiled(function: Callable[[Any], Any], *shape: int) -> Callable[[], Any]:
    """A run of the function on an array of ones of this shape."""
    import jax
    import numpy as np

    device: Any = jax.devices("cpu")[0]
    with jax.default_device(device):
        x = jax.device_put(np.ones(shape, np.float32), device)
        compiled: Any = jax.jit(function).lower(x).compile()
    return lambda: jax.block_until_ready(compiled(x))


def _shortest_calls(programs: dict[str, Callable[[], Any]]) -> dict[str, float]:
    """Samples of all programs in turn, so that a busy moment doesn't hit one alone."""
    shortest = dict.fromkeys(programs, float("inf"))
    for _ in range(SAMPLES):
        for name, run in programs.items():
            began = time.perf_counter()
            while (start := time.perf_counter()) - began < SAMPLE_SECONDS:
                run()
                shortest[name] = min(shortest[name], time.perf_counter() - start)
    return shortest
