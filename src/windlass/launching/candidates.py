"""The forms that a launch can take, what each costs by estimate, and what it took where that was measured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING

from windlass.facts.cost import Device, estimate_cost
from windlass.ir import Block, Op, TensorType
from windlass.launching.emulated_time import EMULATED, EMULATED_THREAD
from windlass.ops.indexing import Gather, Scatter
from windlass.reports.candidate import Candidate

if TYPE_CHECKING:
    from windlass.native.work import Work
    from windlass.pipeline import RaisedLaunch
    from windlass.runtime.launch_shape import LaunchShape

RAISED, NATIVE = "raised", "native"
RAISED_CALL, NATIVE_CALL = 1.1e-4, 1.5e-5
"""Seconds that a launch on NumPy arrays takes beyond its work."""
GATHERED, SCATTERED = 2e-9, 1.2e-8
"""Seconds that XLA's CPU takes for an element that is gathered, and for one that is scattered, beyond the bytes."""
EMULATED_OPERATION = 2e-9
"""Seconds that the emulator takes for an operation of a thread."""


def raised_candidate(compiled: RaisedLaunch, device: Device) -> Candidate:
    """A launch as a tensor program, on NumPy arrays: what it writes goes to new memory, and is copied into them."""
    function = compiled.optimized
    cost = estimate_cost(function.results, function.arguments, device)
    written = sum(result.tensor.bytes for result in function.results)
    seconds = RAISED_CALL + cost.seconds + 4 * written / device.bandwidth + _irregular_seconds(function.body)
    return Candidate(RAISED, seconds)


def native_candidate(work: Work, device: Device, lanes: int, threads: int) -> Candidate:
    """A launch as native code of so many lanes, on so many threads."""
    return Candidate(NATIVE, NATIVE_CALL + work.seconds_on(device, lanes, threads), is_guessed=work.is_guessed)


def emulated_candidate(shape: LaunchShape, work: Work | None) -> Candidate:
    """A launch in the emulator."""
    least = prod(shape.grid) * prod(shape.block) * EMULATED_THREAD
    return Candidate(EMULATED, least + (0.0 if work is None else work.operations * EMULATED_OPERATION))


def with_measured(candidates: tuple[Candidate, ...], measured: Mapping[str, float]) -> tuple[Candidate, ...]:
    """The candidates, with the seconds that those took that were tried."""
    return tuple(replace(each, measured=measured.get(each.form)) for each in candidates)


def _irregular_seconds(block: Block, times: float = 1.0) -> float:
    """What elements take that are gathered and scattered one by one."""
    total = 0.0
    for op in block:
        total += times * _irregular(op)
        again = op.repetitions() or 1.0
        for region in op.regions:
            for inner in region.blocks:
                total += _irregular_seconds(inner, times * again)
    return total


def _irregular(op: Op) -> float:
    if isinstance(op, Gather) and isinstance(op.type, TensorType):
        return GATHERED * op.type.size
    if isinstance(op, Scatter):
        return SCATTERED * op.updates[0].tensor.size
    return 0.0
