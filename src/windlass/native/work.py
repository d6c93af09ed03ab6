"""What a launch has to do as loops over its threads, and how long native code takes for that by estimate."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from windlass.facts.cost import Device
from windlass.facts.indices import IndexReader
from windlass.ir import Block, Function, Op, Value
from windlass.loops import (
    WARPS,
    Access,
    Allocate,
    Atomic,
    AtomicUpdate,
    CompareExchange,
    DoWhile,
    For,
    If,
    Load,
    Parallel,
    Store,
)
from windlass.loops.threads import WARP
from windlass.native.block_plan import BlockPlan
from windlass.native.launch_facts import LaunchFacts
from windlass.native.plan import Plan, launch_of
from windlass.native.refusal import NeedsOneLane
from windlass.native.strides import Stride, find_strides
from windlass.ops.composite import Composite
from windlass.ops.control import While
from windlass.ops.creation import Constant
from windlass.ops.elementwise import Divide, Remainder
from windlass.ops.functions import Atan2, Cbrt, FloatUnary, Power, Rsqrt, Sqrt
from windlass.parallel.fission import needs_fission
from windlass.parallel.unrolling import unroll_meetings

DIVIDING, FUNCTION = 4, 16
"""Operations that a division or a root is worth, and a function of floats."""
ATOMIC, ALONE = 120, 24
"""Operations that an atomic operation is worth, and one on memory to which no other thread of the machine comes: that
of a block, or a copy that a part of the work has for itself."""
APART = 4
"""Those that lanes are worth which come each to a place of its own."""
BRANCH = 0.5
"""The share of threads that take an arm of a branch that memory decides."""
WAITING = 16
"""Operations that a round is worth of a loop of one lane that folds floats: each round waits for the one before."""
PIECE = 16
"""Operations that it is worth to begin a piece of a block."""
LANES, MOST_LANES = 8, 16
"""The lanes for which the rate of arithmetic is said, and the most that count: more of them hide what ops wait for."""
ONE_LANE = 0.4
"""The share of that rate that code without lanes reaches."""
FASTER = 2.0
"""Native code does so many times the operations for which a device's rate is said: these are XLA's."""
FAR = 4e-9
"""Seconds that a thread waits for an element by itself of a memory that is not in the cache."""
NEAR = 16
"""Bytes: threads next to each other that come to places no farther apart come to lines of the cache together."""
WIDEST_ACCESS = 8
"""Bytes."""
MOST_SEEN = 64
"""Ops that a number is made of are looked at for one that reads memory."""
MOST_COUNTED = 1 << 31
"""Rounds: a loop that may go on for longer has an end that is not known."""


@dataclass(frozen=True)
class Work:
    """Totals over all threads; `is_guessed` where loops whose end is not known count as `While.USUAL_ROUNDS` rounds."""

    operations_by_lanes: Mapping[int, float]
    """By how many lanes they have; at 0 those that have as many as the code has."""
    bytes: int
    far: float
    """How many elements are read or written each by itself, in memories of more than the cache."""
    is_guessed: bool
    is_ordered: bool = False
    """Whether it is known that one block runs after another."""

    @property
    def operations(self) -> float:
        """All of them."""
        return sum(self.operations_by_lanes.values())

    def seconds_on(self, device: Device, lanes: int, threads: int) -> float:
        """How long code of so many lanes takes on so many of the device's two threads, without what a call takes."""
        share = min(1 if self.is_ordered else threads, 2) / 2
        moving = self.bytes / (device.cache_bandwidth if self.bytes <= device.cache else device.bandwidth)
        working = sum(
            operations / (FASTER * device.arithmetic * share * _speed(own or lanes))
            for own, operations in self.operations_by_lanes.items()
        )
        return max(moving, working) + self.far * FAR / (2 * share)


def _speed(lanes: int) -> float:
    return max(min(lanes, MOST_LANES) / LANES, ONE_LANE)


def work_of_launch(function: Function, facts: LaunchFacts, cache: int) -> Work:
    """What the one launch of a function does whose numbers are known (`windlass.parallel.specialization.specialize`),
    which is taken apart if its threads meet.

    Each array that is touched counts once: that is what has to come from memory. Memories of more bytes than the
    `cache` are not in it.

    Raises NotNative where it is no single launch, or has no such loops.
    """
    launch = launch_of(function)
    counter: _Counter
    if needs_fission(launch):
        unroll_meetings(launch.body.block)
        counter = _BlockCounter(BlockPlan(function, facts, is_known_independent=False), cache)
    else:
        counter = _Counter(Plan(function, facts, is_known_independent=True), cache)
    return counter.count()


class _Counter:
    """Counts the operations of a launch whose threads do not meet; what is done once for all lanes hardly counts."""

    def __init__(self, plan: Plan, cache: int) -> None:
        self.plan = plan
        self.indices: IndexReader = plan.indices
        self.strides: Mapping[Value, Stride] = {}
        self.width = LANES
        """How many lanes there are where something is computed once for all."""
        self.is_guessed = False
        self.is_ordered = False
        self.operations: defaultdict[int, float] = defaultdict(float)
        self.far = 0.0
        self.accesses = 0.0
        self.touched: set[Value] = set()
        self.sizes: dict[Value, int] = {
            argument: 0 if memory is None else memory.size
            for argument, memory in zip(plan.function.arguments, plan.facts.memories, strict=True)
        }
        self._large = {argument for argument, size in self.sizes.items() if size > cache}
        self._rounds = 1.0
        """How often a thread comes to where the count is."""
        self._runs = 1.0
        """How many threads come there."""

    def count(self) -> Work:
        plan = self.plan
        try:
            self.strides = find_strides(plan.launch.body.block, (plan.lane_id,), plan.ranges)
        except NeedsOneLane:
            self.strides = {}
        self._runs = float(math.prod(plan.facts.extents))
        self.operations[0] += self.block(plan.launch.body.block) * self._runs
        return self.total()

    def total(self) -> Work:
        total = min(sum(self.sizes.get(buffer, 0) for buffer in self.touched), round(self.accesses * WIDEST_ACCESS))
        return Work(dict(self.operations), total, self.far, self.is_guessed, self.is_ordered)

    def block(self, block: Block) -> float:
        """The operations of one thread."""
        return sum(self.op(op) for op in block)

    def op(self, op: Op) -> float:
        if isinstance(op, Constant):
            return 0.0
        if isinstance(op, For | DoWhile):
            rounds = self.rounds(op)
            self._rounds *= rounds
            inner = self.block(op.body.block)
            self._rounds /= rounds or 1.0
            return rounds * (inner + 1 / self.width)
        if isinstance(op, If):
            return self.branches(op)
        if isinstance(op, Access):
            self.note_access(op)
        if isinstance(op, Atomic | AtomicUpdate | CompareExchange):
            return ALONE if isinstance(op.buffer, Allocate) or self.plan.has_copy(op.buffer) else ATOMIC
        if (op.is_pure or isinstance(op, Load)) and all(self.strides.get(each) is not None for each in op.results):
            return 1 / self.width
        if isinstance(op, Load | Store) and self.width > 1 and not self.is_contiguous(op):
            return APART
        if isinstance(op, Divide | Remainder | Sqrt | Rsqrt):
            return DIVIDING
        return FUNCTION if isinstance(op, FloatUnary | Cbrt | Power | Atan2 | Composite) else 1.0

    def branches(self, op: If) -> float:
        """Guards, which numbers of threads decide, are passed by nearly all of them."""
        share = BRANCH if depends_on_memory(op.condition) else 1.0
        return share * sum(self.block(region.block) for region in op.regions)

    def note_access(self, op: Access) -> None:
        times = self._rounds * self._runs
        self.accesses += times
        self.touched.add(op.buffer)
        if op.buffer in self._large and self._rounds == 1:  # in a loop the next round mostly comes to the same line
            stride = self.strides.get(op.offset)
            if abs(stride) > NEAR if stride is not None else depends_on_memory(op.offset):
                self.far += times

    def is_contiguous(self, op: Access) -> bool:
        """Whether lanes come to one place, or to places that follow one another."""
        stride = self.strides.get(op.offset)
        return stride is not None and abs(stride) <= NEAR

    def rounds(self, op: For | DoWhile) -> float:
        if isinstance(op, For):
            low, high = self.indices.range_of(op.trip_count, op.block)
            if high < MOST_COUNTED:
                return max((max(low, 0) + high) / 2, 0.0)
        self.is_guessed = True
        return While.USUAL_ROUNDS


class _BlockCounter(_Counter):
    """Counts the operations of blocks whose threads meet: each piece of them with the lanes and the threads it has."""

    def __init__(self, plan: BlockPlan, cache: int) -> None:
        super().__init__(plan, cache)
        self._plan = plan
        plan.split_into_pieces()
        self.indices = plan.indices
        self._blocks = float(math.prod(plan.grid))

    def count(self) -> Work:
        self.is_ordered = self._plan.is_ordered
        self.level(self._plan.launch.body.block, self._blocks)
        return self.total()

    def level(self, block: Block, times: float) -> None:
        """What stands around the pieces, which comes to its turn so many times."""
        for op in block:
            if isinstance(op, Parallel) and op.dimensions == WARPS:
                self.level(op.body.block, times * -(-math.prod(self._plan.block) // WARP))
            elif isinstance(op, Parallel):
                self.piece(op, times)
            elif isinstance(op, For | DoWhile) and holds_pieces(op):
                self.level(op.body.block, times * self.rounds(op))
            elif isinstance(op, If) and holds_pieces(op):
                for region in op.regions:
                    self.level(region.block, times * (BRANCH if depends_on_memory(op.condition) else 1.0))
            elif not isinstance(op, Allocate):
                self.strides, self.width, self._runs = {}, 1, times
                if isinstance(op, For) and not any(each.tensor.is_float for each in op.results):
                    self.operations[LANES] += times * self.op(op)  # over what threads have left: LLVM vectorizes it
                else:
                    waits = WAITING * self.rounds(op) if isinstance(op, For) else 0.0
                    self.operations[1] += times * (self.op(op) + waits)

    def piece(self, op: Parallel, times: float) -> None:
        self.width, self.strides = self._plan.width_of(op)
        if op.kind == "lane":
            threads = min(WARP, math.prod(self._plan.block))
        else:
            ranges = self._plan.bounds_of(op, {}).ranges
            threads = math.prod(max(high - low, 0) for low, high in ranges)
        self._runs = times * threads
        self.operations[self.width] += self._runs * self.block(op.body.block)
        self.operations[1] += times * PIECE


def holds_pieces(op: Op) -> bool:
    """Whether the threads of a block run pieces within it."""
    return any(isinstance(inner, Parallel) for region in op.regions for inner in region.walk())


def depends_on_memory(value: Value) -> bool:
    """Whether a number is made of something that is read, as far as that can be seen without its loops."""
    seen: set[Value] = set()
    frontier = [value]
    while frontier and len(seen) < MOST_SEEN:
        each = frontier.pop()
        if isinstance(each, Load):
            return True
        if isinstance(each, Op) and each not in seen:
            seen.add(each)
            frontier += each.operands
    return False
