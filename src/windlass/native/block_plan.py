"""Native code of one launch whose threads meet, or share memory: parts of the work are some of the blocks."""

from __future__ import annotations

import math
from collections.abc import Mapping

from windlass.affine.dimensions import Dimension
from windlass.affine.index import Index
from windlass.facts.indices import IndexReader
from windlass.facts.threads import ids_apart
from windlass.ir import Function, Value
from windlass.loops import DeviceVariableBuffer, DoWhile, For, Parallel
from windlass.loops.threads import WARP
from windlass.native.arithmetic import Arithmetic
from windlass.native.blocks import BlockShape, BlockWriter
from windlass.native.independence import is_independent, waits
from windlass.native.lanes import Lanes
from windlass.native.launch_facts import LaunchFacts
from windlass.native.lockstep import Lockstep, PieceReader
from windlass.native.machine import compile_text, vector_functions
from windlass.native.memory import MemoryWriter, Site
from windlass.native.piece_bounds import PieceBounds, find_bounds
from windlass.native.plan import (
    STRIPS_UNTIL_POLL,
    SUPPORT,
    WEIGHTS,
    WIDEST,
    NativeCode,
    Plan,
    gathers_in_parting_loops,
    launch_of,
    share,
)
from windlass.native.ranges import LaunchRanges
from windlass.native.refusal import NeedsOneLane, NotNative
from windlass.native.simplification import simplify
from windlass.native.strides import Stride, find_strides
from windlass.native.text import Text
from windlass.ops.creation import Constant
from windlass.parallel.fission import CannotSplit, needs_fission, split_at_meetings
from windlass.parallel.unrolling import unroll_meetings

MOST_OPS_OF_SHORT_LOOP = 24


def compile_kernel(function: Function, facts: LaunchFacts, *, is_independent: bool = False) -> NativeCode:
    """Native code for one launch of a function of the loop level, whose numbers are known (`specialize`).

    The function holds one `Parallel` over a launch. `is_independent` says that its threads may run in any order, if
    others have found that out; else it is proved here, or the threads run in order.

    Raises NotNative where there is no code for something in it.
    """
    launch = launch_of(function)
    plan = Plan
    if needs_fission(launch):
        plan = BlockPlan
        unroll_meetings(launch.body.block)
    return plan(function, facts, is_known_independent=is_independent).compile()


def are_threads_independent(function: Function, facts: LaunchFacts) -> bool:
    """Whether it is proved that the threads of a launch may run in any order, but for how sums are rounded; its blocks
    where threads meet.

    Raises NotNative where the function is no single launch.
    """
    plan = BlockPlan if needs_fission(launch_of(function)) else Plan
    return plan(function, facts, is_known_independent=True).proves_independence(floats_may_be_rounded=True)


class BlockPlan(Plan):
    """Blocks whose threads meet or share memory: parts of the work are some of the blocks, one after another."""

    _are_threads_independent = False

    def __init__(self, function: Function, facts: LaunchFacts, *, is_known_independent: bool) -> None:
        super().__init__(function, facts, is_known_independent=is_known_independent)
        self._one_lane: set[Parallel] = set()
        """Pieces that have turned out to need one lane."""
        self._widest = 1

    def compile(self) -> NativeCode:
        """Native code that runs the threads of a block piece by piece."""
        self.split_into_pieces()
        while True:
            self._widest = 1
            sites: list[Site] = []
            declared: set[str] = set()
            try:
                function = self._block_function(sites, declared)
                break
            except NeedsOneLane as reason:
                (piece,) = reason.args
                self._one_lane.add(piece)
        text = "\n".join(
            (
                *sorted(each for each in declared if "@windlass." not in each),
                SUPPORT,
                function,
                self._entry_of_blocks(),
                WEIGHTS,
            )
        )
        machine = compile_text(text)
        blocks = math.prod(self.grid) if math.prod(self.block) else 0
        most_parts = min(blocks, 1) if self.is_ordered else blocks
        return NativeCode(machine, machine.address("part"), most_parts, tuple(sites), self._widest, self.is_ordered)

    def split_into_pieces(self) -> None:
        """Put a grid of pieces in the place of the launch.

        Raises NotNative where there is none.
        """
        self.refuse_waiting()
        try:
            self.split = split_at_meetings(self.launch, self.grid, self.block)
        except CannotSplit as reason:
            raise NotNative(reason.reason, reason.position) from None
        self.launch = self.split.grid
        extents = zip(self.split.ids, self.facts.extents, strict=True)
        known = {value: extent for values, extent in extents for value in values}
        self.ranges = LaunchRanges(known | dict.fromkeys(self.split.warps, -(-math.prod(self.block) // WARP)))
        self.indices = IndexReader(self._known_indices(), self.ids.dimensions)
        for piece in list(self.launch.body.walk()):
            if isinstance(piece, Parallel) and piece.kind in ("block", "lane"):
                simplify(piece.body.block, self._reader(piece)[0])

    def proves_independence(self, *, floats_may_be_rounded: bool = False) -> bool:
        """Whether blocks come to places of their own: so do all threads, or those of any two blocks."""
        self._are_threads_independent = super().proves_independence(floats_may_be_rounded=floats_may_be_rounded)
        if self._are_threads_independent:
            return True
        apart = ids_apart(self.grid, self.block)
        blocks = [each for each in apart.dimensions if any(each in item.terms for item in apart.items[:3])]
        indices = IndexReader.of_launch(self.launch, apart)
        return is_independent(
            self.launch, indices, blocks, self.overlapping(), floats_may_be_rounded=floats_may_be_rounded
        )

    def refuse_waiting(self) -> None:
        for op in self.launch.body.walk():
            if isinstance(op, DoWhile) and waits(op):
                raise NotNative("its threads may wait for one another", op.source)

    def _known_indices(self) -> dict[Value, Index]:
        known = {value: item for values, item in zip(self.split.ids, self.ids.items, strict=True) for value in values}
        x, y, z = self.ids.items[3:]
        number = x + (y + z.scale(self.block[1])).scale(self.block[0])
        return known | dict.fromkeys(self.split.warps, number.floor_divide(WARP))

    def _block_function(self, sites: list[Site], declared: set[str]) -> str:
        """`@blocks(context, from, to, arguments)`."""
        text = Text(1)
        zero = Constant.of(0, "i32")
        ids = self.launch.body.block.arguments
        lanes = Lanes(text, (*ids, zero, zero, zero), {})
        memory = MemoryWriter(lanes, self.indices, is_ordered=self.is_ordered)
        memory.sites = sites
        arithmetic = Arithmetic(text, self.facts.vector_functions(vector_functions()))
        shape = BlockShape(self.block, self.facts.shared_bytes, self.width_of, self.bounds_of)
        writer = BlockWriter(memory, arithmetic, self.ranges, shape)
        self.enter(self.function, lanes, memory)
        with text.counted("block", "%from", "%to", 1) as number:
            gx, gy, _ = self.grid
            x, rest = (text.put(f"{how} i64 {number}, {gx}") for how in ("urem", "udiv"))
            y, z = (text.put(f"{how} i64 {rest}, {gy}") for how in ("urem", "udiv"))
            for each, name in zip(ids, (x, y, z), strict=True):
                lanes.names[each] = text.put(f"trunc i64 {name} to i32")
            self.write_before(self.function, writer)
            writer.write(self.launch.body.block)
            writer.poll_after(number, STRIPS_UNTIL_POLL // max(math.prod(self.block), 1))
        declared |= text.declared
        parameters = "".join(f", {type_} {name}" for type_, name in self.parameters())
        return "\n".join(
            (
                f"define internal void @blocks(ptr %context, i64 %from, i64 %to{parameters}) {{",
                "entry:",
                *memory.frame.allocations,
                *text.lines,
                "  br label %done",
                "done:",
                *memory.frame.endings,
                "  ret void",
                "}",
            )
        )

    def width_of(self, piece: Parallel) -> tuple[int, dict[Value, Stride]]:
        """How many threads of a piece run in the lanes of a vector."""
        low, high = self.bounds_of(piece, {}).ranges[0]
        width = WIDEST if not _has_short_loop(piece) else 4 * WIDEST
        while width > 1 and piece not in self._one_lane:
            if self.block[0] % width == 0 and width <= high - low and self._may_go_in_step(piece, width):
                body = piece.body.block
                try:
                    strides = find_strides(body, body.arguments[:1], self.ranges)
                except NeedsOneLane:
                    break
                if gathers_in_parting_loops(body, strides):
                    break
                self._widest = max(self._widest, width)
                return width, strides
            width //= 2
        return 1, {}

    def _reader(self, piece: Parallel) -> tuple[PieceReader, dict[str, Dimension]]:
        """A reader of a piece, and its dimensions by their names."""
        apart = ids_apart(self.grid, self.block)
        known = {value: item for values, item in zip(self.split.ids, apart.items, strict=True) for value in values}
        reader = PieceReader(piece, known, apart.dimensions, self.ranges)
        return reader, {each.name: each for each in apart.dimensions}

    def bounds_of(self, piece: Parallel, names: Mapping[Value, str]) -> PieceBounds:
        """Which threads have something to do in a piece before which the values with these names are known."""
        reader, dimensions = self._reader(piece)
        return find_bounds(piece, reader, [dimensions.get(f"thread.{axis}") for axis in "xyz"], names)

    def _may_go_in_step(self, piece: Parallel, width: int) -> bool:
        reader, dimensions = self._reader(piece)
        variables = (op for op in self.function.walk() if isinstance(op, DeviceVariableBuffer))
        memories = frozenset((*self.function.arguments, *variables))
        known_apart = memories if self._are_threads_independent else frozenset[Value]()
        return Lockstep(piece, reader, dimensions["thread.x"], known_apart).may_go(width, self.overlapping())

    def _entry_of_blocks(self) -> str:
        """`@part(context, part, parts)`: some of the blocks."""
        given = "".join(f", {type_.removesuffix(' noalias')} {name}" for type_, name in self.parameters())
        return "\n".join(
            (
                "define void @part(ptr %context, i64 %part, i64 %parts) {",
                "entry:",
                "  %following = add i64 %part, 1",
                *share("b", math.prod(self.grid)),
                *self.read_arguments(),
                f"  call void @blocks(ptr %context, i64 %b.from, i64 %b.to{given})",
                "  ret void",
                "}",
            )
        )


def _has_short_loop(piece: Parallel) -> bool:
    """Whether threads go round loops of few ops: more lanes hide how long these take, and read whole cache lines."""
    return any(
        isinstance(op, For | DoWhile) and sum(1 for _ in op.body.walk()) <= MOST_OPS_OF_SHORT_LOOP
        for op in piece.body.walk()
    )
