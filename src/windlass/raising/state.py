"""What the raiser knows at one moment (items of values, active lanes, memories, where ops go), and going back in time.

Going back is what makes strategies cheap to try: `checkpoint`, try, and on an `Obstacle` `restore`.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from windlass.affine.access import Access
from windlass.affine.dimensions import Box, Dimension
from windlass.affine.domain import Domain
from windlass.affine.index import ZERO, Data, Index, RuntimeScalar
from windlass.affine.predicate import TRUE, Predicate
from windlass.diagnostics import Position
from windlass.diagnostics.deadline import is_late
from windlass.facts.integers import symbolic_result
from windlass.ir import Block, Builder, Op, Value
from windlass.loops.launch_specification import LaunchSpecification
from windlass.ops.conversion import Convert
from windlass.raising import emission
from windlass.raising.carried_places import PlaceCell
from windlass.raising.codes import LOOP, TOO_IRREGULAR
from windlass.raising.fold_recipes import BlockFolds
from windlass.raising.frames import VectorFrame, Visit
from windlass.raising.history import LASTING, restore_fields, saved_fields
from windlass.raising.items import Accumulation, Item, Memory, MemoryState, Slot, UndefinedItem
from windlass.raising.lanes import Lanes, lanes_of
from windlass.raising.materialize import materialize, materialize_condition
from windlass.raising.memo import Memo
from windlass.raising.obstacle import Obstacle, OutOfTime
from windlass.raising.report import RaisingReport

if TYPE_CHECKING:
    from windlass.loops import Load

MOST_OPS = 8_000
"""Kernels that need more tensor ops than this are better run as loops."""
MOST_EFFORT = 60_000
"""So many are placed at most while forms of loops are tried, those that are given up included."""


class CountingBuilder(Builder):
    """Counts what it places, and gives up past a budget."""

    __slots__ = ("counter", "effort")

    def __init__(self, block: Block, counter: list[int]) -> None:
        super().__init__(block)
        self.counter = counter
        self.effort = 0

    def place(self, op: Op) -> None:
        super().place(op)
        self.counter[0] += 1
        self.effort += 1
        if is_late():
            raise OutOfTime(op.source)
        if self.counter[0] > MOST_OPS or self.effort > MOST_EFFORT:
            raise Obstacle(
                f"it needs more than {MOST_OPS} tensor operations",
                op.source,
                TOO_IRREGULAR,
            )


@dataclass(frozen=True)
class Checkpoint:
    """A moment to go back to."""

    fields: dict[str, Any]
    report: dict[str, Any]
    frames: list[dict[str, Any]]
    memories: list[MemoryState]
    block: Block
    last: Op | None
    count: int


@dataclass
class RaisingState:
    """All that changes while a kernel is interpreted.

    `retried` holds integers that had to be computed lane by lane, with the box in which they were: over a smaller box
    they may be symbolic after all.
    """

    run_op: Callable[[RaisingState, Op], None]
    """Interprets one op: blocks within ops come back to it."""
    specification: LaunchSpecification
    builder: CountingBuilder
    domain: Domain
    block_number: Index = ZERO
    """The number of each lane's block, counted along x first."""
    thread_number: Index = ZERO
    """The number of each lane's thread in its block, counted along x first."""
    thread_ids: tuple[Index, ...] = (ZERO, ZERO, ZERO)
    """What `threadIdx` is, x first."""
    environment: dict[Value, Item] = field(default_factory=dict["Value", "Item"])
    retried: dict[Value, Box] = field(default_factory=dict["Value", "Box"])
    memo: Memo = field(default_factory=Memo)
    memories: list[Memory] = field(default_factory=list["Memory"])
    """Those of the launch, then the word of assumptions, then local and shared ones."""
    frames: list[VectorFrame] = field(default_factory=list["VectorFrame"])
    report: RaisingReport = field(default_factory=RaisingReport)
    hopeless: dict[tuple[Op, str, int], Obstacle] = field(
        default_factory=dict["tuple[Op, str, int]", Obstacle], metadata=LASTING
    )
    """Forms of loops that did not work, by loop, form and number of loops being vectorized around it, and why."""
    has_tiles: bool = False
    """Whether there are local arrays whose elements are lanes."""
    quotients: dict[Dimension, frozenset[int]] = field(default_factory=dict["Dimension", "frozenset[int]"])
    """By which numbers addresses divide dimensions of threads."""
    places: dict[PlaceCell, Slot] = field(default_factory=dict["PlaceCell", "Slot"])
    """Words of memory that loops being vectorized accumulate in."""
    thread_dimensions: tuple[Dimension, ...] = ()
    block_dimensions: frozenset[Dimension] = frozenset()
    """Those of the thread dimensions along which blocks differ but not threads of one block."""
    loaded_from: dict[Load, tuple[Access[Memory], ...]] = field(
        default_factory=dict["Load", "tuple[Access[Memory], ...]"]
    )
    """Where loads last read from."""
    shared_stores: list[Access[Memory]] = field(default_factory=list["Access[Memory]"])
    """Stores of several threads to one place."""
    barriers: int = 0
    """How many barriers there were so far."""
    meetings: list[Domain] = field(default_factory=list[Domain])
    """The lanes that came to each barrier of the source so far."""
    visits: list[Visit] = field(default_factory=list["Visit"])
    """Where accesses went so far."""
    loop_depth: int = 0
    while_depth: int = 0
    block_depths: dict[Block, int] = field(default_factory=dict[Block, int], metadata=LASTING)
    """How many loops each block of a loop's body stands in. Blocks that were given up do no harm; frames share it."""
    serial_depth: int = 0
    """The `while_depth` of a block's or thread's own ops, where these run one after another."""
    folds: BlockFolds = field(default_factory=BlockFolds)
    """What threads of a block fold together."""
    reduction_mask: Predicate = TRUE
    """The mask of the loop that is being reduced: what holds for all its lanes need not be asked of terms."""

    @property
    def box(self) -> Box:
        return self.domain.box

    @property
    def assumptions(self) -> Memory:
        """The word that says which assumption did not hold (see assumptions.py)."""
        return self.memories[len(self.specification.memories)]

    @property
    def position(self) -> Position | None:
        """Where the op that is being raised stands."""
        return self.builder.source

    def check_depth(self, accumulation: Accumulation) -> None:
        """Raise Obstacle unless the innermost loop is the one that carries the accumulation."""
        if accumulation.root.while_depth != self.while_depth:
            raise self.obstacle("a sum over an outer loop is made within a loop that can't be vectorized")
        counters = {counter for counter, _ in accumulation.elements}
        depth = accumulation.root.loop_depth
        if depth > len(self.frames) or any(frame.dimension not in counters for frame in self.frames[depth:]):
            raise self.obstacle("a sum over an outer loop is made within an inner one in a way that is no reduction")

    def obstacle(self, reason: str, code: str = LOOP, help: str | None = None, value: Value | None = None) -> Obstacle:
        """An obstacle at the op that is being raised; `value` is what stands in the way, where it is one value."""
        return Obstacle(reason, self.position, code, help, value)

    # -- domains --------------------------------------------------------------------------------------------------

    @contextmanager
    def within(self, domain: Domain) -> Generator[None]:
        """Interpret for the lanes of another domain."""
        outer, self.domain = self.domain, domain
        try:
            yield
        finally:
            self.domain = outer

    # -- going back -----------------------------------------------------------------------------------------------

    def checkpoint(self) -> Checkpoint:
        block = self.builder.block
        return Checkpoint(
            saved_fields(self),
            saved_fields(self.report),
            [saved_fields(frame) for frame in self.frames],
            [memory.state for memory in self.memories],
            block,
            block.last,
            self.builder.counter[0],
        )

    def restore(self, moment: Checkpoint) -> None:
        """Make everything as it was at the checkpoint; ops placed since then are erased."""
        restore_fields(self, moment.fields)
        restore_fields(self.report, moment.report)
        for frame, fields in zip(self.frames, moment.frames, strict=True):
            restore_fields(frame, fields)
        for memory, state in zip(self.memories, moment.memories, strict=True):
            memory.state = state
        self.builder.block = moment.block
        self.builder.counter[0] = moment.count
        erase_after(moment.block, moment.last)

    @contextmanager
    def inside(self, block: Block) -> Generator[None]:
        """Place ops in another block, which sees what is computed around it; what it computes is not seen outside."""
        outer, memo, environment, retried = self.builder.block, self.memo, self.environment, self.retried
        self.builder.block = block
        self.while_depth += 1
        self.block_depths[block] = self.while_depth
        self.memo, self.environment, self.retried = memo.copy(), dict(environment), dict(retried)
        try:
            yield
        finally:
            self.builder.block = outer
            self.while_depth -= 1
            self.memo, self.environment, self.retried = memo, environment, retried

    # -- values ---------------------------------------------------------------------------------------------------

    def lookup(self, value: Value) -> Item:
        """The item that a value stands for.

        An integer that had to be computed lane by lane is tried again over a smaller box, where it may be symbolic.
        """
        item = self.environment[value]
        tried = self.retried.get(value)
        if tried is None or tried == self.box or not isinstance(value, Op):
            return item
        operands = [self.lookup(operand) for operand in value.operands]
        if not all(isinstance(operand, Index) for operand in operands):
            return item
        symbolic = symbolic_result(value, [operand for operand in operands if isinstance(operand, Index)], self.box)
        return item if symbolic is None else symbolic

    def lanes(self, item: Item, dtype: str) -> Lanes:
        """The item as lanes that cover the current box.

        Raises Obstacle for what is no number: pointers, and values that a reduction has yet to give.
        """
        box = self.box
        match item:
            case Lanes():
                return self.covering(item)
            case Index():
                direct = self._direct_lanes(item, dtype)
                if direct is not None:
                    return direct
                key = ("lanes", item, dtype, box)
                if key not in self.memo.results:
                    self.memo.results[key] = materialize(item, box, dtype)
                return self.memo.results[key]
            case Predicate():
                return self.condition_lanes(item)
            case UndefinedItem():
                return Lanes(emission.constant(0, dtype))
            case _:
                raise self.obstacle("a value that depends on earlier iterations is used in a way that is no reduction")

    def _direct_lanes(self, index: Index, dtype: str) -> Lanes | None:
        """What was loaded or computed, where the index is no more than that."""
        if index.constant or len(index.terms) != 1:
            return None
        ((atom, factor),) = index.terms.items()
        if factor != 1 or not isinstance(atom, Data | RuntimeScalar):
            return None
        lanes = self.covering(lanes_of(atom)) if isinstance(atom, Data) else Lanes(atom.value)
        return lanes if lanes.dtype == dtype else Lanes(Convert(lanes.value, dtype), lanes.dims, lanes.lower)

    def covering(self, lanes: Lanes) -> Lanes:
        """The lanes for the current box: cut or padded."""
        box = self.box
        if lanes.region.contains(box):
            return lanes.at(box)
        return lanes.cover(box)

    def condition_lanes(self, condition: Predicate) -> Lanes:
        """A condition as lanes of i1 for the current box."""
        key = ("condition", condition, self.box)
        if key not in self.memo.results:
            self.memo.results[key] = materialize_condition(condition, self.box)
        return self.memo.results[key]


def erase_after(block: Block, last: Op | None) -> None:
    """Erase the ops of a block that come after `last`: all of them if it is None."""
    while block.last is not None and block.last is not last:
        op = block.last
        for user in [user for result in op.results for user in result.uses]:
            # Users can only be ops of blocks that were given up: nothing that is kept refers to what is erased.
            user.drop_operands()
        op.erase()
