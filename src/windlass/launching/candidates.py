"""The forms that a launch can take, what each costs by estimate, and what it took where that was measured."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from windlass.facts.cost import Device, estimate_cost
from windlass.ir import Block, Op, TensorType
from windlass.launching.emulated_time import EMULATED, EMULATED_THREAD
from windlass.ops.control import While
from windlass.ops.creation import Constant
from windlass.ops.indexing import Gather, Scatter
from windlass.ops.movement import Transpose
from windlass.ops.reduction import Reduce
from windlass.ops.windows import ReduceWindow
from windlass.reports.candidate import Candidate

if TYPE_CHECKING:
    from windlass.native.work import Work
    from windlass.pipeline import RaisedLaunch
    from windlass.runtime.launch_shape import LaunchShape

RAISED, NATIVE = "raised", "native"
RAISED_CALL, NATIVE_CALL = 6e-5, 1.5e-5
"""Seconds that a launch on NumPy arrays takes beyond its work."""
NATIVE_CALL_WITHIN = 3e-6
"""Seconds that XLA takes to call native code."""
ONE_BY_ONE = 0.25
"""The share of the CPU's arithmetic that kernels of XLA reach which fold or join what they compute (`Device`)."""
OP = 2.5e-7
"""Seconds that an op of a program takes beyond its work: large programs are no single loop."""
ROUND = 1e-6
"""Seconds that a round of a loop in a tensor program takes beyond its ops."""
GATHERED, SCATTERED, COUNTED = 2e-9, 1.2e-8, 2e-9
"""Seconds that XLA's CPU takes beyond the bytes for an element that is gathered, for one that is scattered, and for
one number that scatters by one index into few places..."""
FEW_PLACES = 1 << 16
"""... bytes: which are in the cache."""
TRANSPOSED = 3e-9
"""Seconds for an element whose neighbours go elsewhere, beyond the bytes."""
FOLDED = 6e-10
"""Seconds for an element that is folded with its neighbours in a row, each of which waits for the one before."""
WINDOWED = 1.2e-9
"""Seconds for an element of a window of running sums."""
EMULATED_OPERATION = 2e-9
"""Seconds that the emulator takes for an operation of a thread."""


def raised_candidate(compiled: RaisedLaunch, device: Device) -> Candidate:
    """A launch as a tensor program, on NumPy arrays: what it writes goes to new memory, and is copied into them."""
    written = sum(result.tensor.bytes for result in compiled.optimized.results)
    copying = 4 * written / (device.cache_bandwidth if written <= device.cache else device.bandwidth)
    return Candidate(RAISED, RAISED_CALL + _seconds_of_program(compiled, device) + copying)


def raised_candidate_within(compiled: RaisedLaunch, device: Device) -> Candidate:
    """A launch as a part of a program of XLA's."""
    return Candidate(RAISED, _seconds_of_program(compiled, device))


def _seconds_of_program(compiled: RaisedLaunch, device: Device) -> float:
    function = compiled.optimized
    cost = estimate_cost(function.results, function.arguments, replace(device, one_by_one=ONE_BY_ONE))
    return cost.seconds + _irregular_seconds(function.body)


def native_candidate(work: Work, device: Device, lanes: int, threads: int) -> Candidate:
    """A launch as native code of so many lanes, on so many threads."""
    return Candidate(NATIVE, NATIVE_CALL + work.seconds_on(device, lanes, threads), is_guessed=work.is_guessed)


def native_candidate_within(work: Work, compiled: RaisedLaunch, device: Device, lanes: int, threads: int) -> Candidate:
    """A launch as native code that a program of XLA's calls, which may have to copy what is written before."""
    written = sum(result.tensor.bytes for result in compiled.optimized.results)
    copying = 2 * written / (device.cache_bandwidth if written <= device.cache else device.bandwidth)
    seconds = NATIVE_CALL_WITHIN + work.seconds_on(device, lanes, threads) + copying
    return Candidate(NATIVE, seconds, is_guessed=work.is_guessed)


def emulated_candidate(shape: LaunchShape, work: Work | None) -> Candidate:
    """A launch in the emulator."""
    least = math.prod(shape.grid) * math.prod(shape.block) * EMULATED_THREAD
    return Candidate(EMULATED, least + (0.0 if work is None else work.operations * EMULATED_OPERATION))


def with_measured(candidates: tuple[Candidate, ...], measured: Mapping[str, float]) -> tuple[Candidate, ...]:
    """The candidates, with the seconds that those took that were tried."""
    return tuple(replace(each, measured=measured.get(each.form)) for each in candidates)


def _irregular_seconds(block: Block, times: float = 1.0) -> float:
    """What rounds of loops take, and elements that XLA takes one by one."""
    total = 0.0
    for op in block:
        total += times * _irregular(op)
        if times == 1.0 and not op.is_free and not isinstance(op, Constant):
            total += OP
        again = op.repetitions() or 1.0
        if isinstance(op, While):
            total += times * again * ROUND
        for region in op.regions:
            for inner in region.blocks:
                total += _irregular_seconds(inner, times * again)
    return total


def _irregular(op: Op) -> float:
    if isinstance(op, Gather) and isinstance(op.type, TensorType):
        return GATHERED * op.type.size
    if isinstance(op, Scatter):
        is_count = len(op.inputs) == 1 and op.inputs[0].tensor.bytes <= FEW_PLACES and not op.update_window_dims
        return (COUNTED if is_count else SCATTERED) * op.updates[0].tensor.size
    if isinstance(op, Transpose) and op.permutation[-1:] != (op.tensor.rank - 1,):
        return TRANSPOSED * op.tensor.size
    if isinstance(op, Reduce) and op.inputs[0].tensor.rank - 1 in op.dimensions:
        return FOLDED * op.inputs[0].tensor.size
    if isinstance(op, ReduceWindow) and op.is_running:
        return WINDOWED * op.inputs[0].tensor.size * min(math.prod(op.window_dimensions), op.RUNNING_EFFORT)
    return 0.0
