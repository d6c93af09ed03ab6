"""What a launch has to do as loops over its threads, and how long native code takes for that by estimate."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from windlass.facts.cost import Device
from windlass.ir import Block, Function, Op, Value
from windlass.loops import Access, Atomic, AtomicUpdate, CompareExchange, DoWhile, For, If, Parallel
from windlass.native.launch_facts import LaunchFacts
from windlass.native.plan import Plan
from windlass.native.refusal import NeedsOneLane
from windlass.native.strides import Stride, find_strides
from windlass.ops.composite import Composite
from windlass.ops.control import While
from windlass.ops.creation import Constant
from windlass.ops.elementwise import Divide, Remainder
from windlass.ops.functions import Atan2, Cbrt, FloatUnary, Power, Rsqrt, Sqrt

DIVIDING, FUNCTION = 4, 16
"""Operations that a division or a root is worth, and a function of floats."""
MEETING = 40
"""Operations that an atomic operation is worth."""
LANES = 8
"""The lanes for which the rate of a device's arithmetic is said."""
ONE_LANE = 0.3
"""The share of that rate that code without lanes reaches."""
WIDEST_ACCESS = 8
"""Bytes."""
MOST_COUNTED = 1 << 31
"""Rounds: a loop that may go on for longer has an end that is not known."""


@dataclass(frozen=True)
class Work:
    """Totals over all threads; `is_guessed` where loops whose end is not known count as `While.USUAL_ROUNDS` rounds."""

    operations: float
    bytes: int
    is_guessed: bool

    def seconds_on(self, device: Device, lanes: int, threads: int) -> float:
        """How long code of so many lanes takes on so many of the device's two threads, without what a call takes."""
        share = min(threads, 2) / 2 * max(min(lanes, LANES) / LANES, ONE_LANE)
        moving = self.bytes / (device.cache_bandwidth if self.bytes <= device.cache else device.bandwidth)
        return max(moving, self.operations / (device.arithmetic * share))


def work_of_launch(function: Function, facts: LaunchFacts) -> Work:
    """What the one launch of a function does whose numbers are known (`windlass.parallel.specialization.specialize`).

    Each array that is touched counts once: that is what has to come from memory.

    Raises NotNative where it is no single launch.
    """
    plan = Plan(function, facts, is_known_independent=True)
    launch = plan.launch
    counter = _Counter(plan)
    each = counter.block(launch.body.block)
    touched = {op.buffer for op in launch.body.walk() if isinstance(op, Access)}
    sizes: Mapping[Value, int] = {
        argument: 0 if memory is None else memory.size
        for argument, memory in zip(function.arguments, facts.memories, strict=True)
    }
    threads = math.prod(facts.extents)
    accessed = counter.accesses * threads * WIDEST_ACCESS
    total = min(sum(sizes.get(buffer, 0) for buffer in touched), round(accessed))
    return Work(each * threads, total, counter.is_guessed)


class _Counter:
    """Counts the operations of one thread, branches as if all were taken; what is computed once for all lanes hardly
    counts."""

    def __init__(self, plan: Plan) -> None:
        self.indices = plan.indices
        try:
            self.strides = find_strides(plan.launch.body.block, (plan.lane_id,), plan.ranges)
        except NeedsOneLane:
            self.strides: dict[Value, Stride] = {}
        self.is_guessed = False
        self.accesses = 0.0
        self._times = 1.0

    def block(self, block: Block) -> float:
        return sum(self.op(op) for op in block)

    def op(self, op: Op) -> float:
        if isinstance(op, Constant):
            return 0.0
        if isinstance(op, For | DoWhile):
            rounds = self.rounds(op)
            self._times *= rounds
            inner = self.block(op.body.block)
            self._times /= rounds or 1.0
            return rounds * (inner + 1)
        if isinstance(op, If | Parallel):
            return sum(self.block(region.block) for region in op.regions)
        if isinstance(op, Access):
            self.accesses += self._times
        if isinstance(op, Atomic | AtomicUpdate | CompareExchange):
            return MEETING
        if op.is_pure and all(self.strides.get(result) is not None for result in op.results):
            return 1 / LANES
        if isinstance(op, Divide | Remainder | Sqrt | Rsqrt):
            return DIVIDING
        return FUNCTION if isinstance(op, FloatUnary | Cbrt | Power | Atan2 | Composite) else 1.0

    def rounds(self, op: For | DoWhile) -> float:
        if isinstance(op, For):
            low, high = self.indices.range_of(op.trip_count, op.block)
            if high < MOST_COUNTED:
                return max((max(low, 0) + high) / 2, 0.0)
        self.is_guessed = True
        return While.USUAL_ROUNDS
