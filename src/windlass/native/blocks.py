"""Blocks whose threads meet: what is common to a block is written once, and each piece as a loop over its threads.

A piece (see `windlass.parallel.fission`) runs its threads in the order of the emulator: x first, or warp by warp. Where
no two of them come to one place, of which one writes, neighbours run in the lanes of a vector.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from windlass.ir import Value
from windlass.loops import WARPS, Allocate, Parallel
from windlass.loops.threads import WARP
from windlass.native.arithmetic import Arithmetic
from windlass.native.control import BodyWriter
from windlass.native.lanes import Lanes
from windlass.native.memory import MemoryWriter, Place
from windlass.native.piece_bounds import PieceBounds
from windlass.native.ranges import LaunchRanges
from windlass.native.refusal import NeedsOneLane, NotNative
from windlass.native.strides import Stride
from windlass.parallel.kept_values import KEPT

Size3 = tuple[int, int, int]
WidthOf = Callable[[Parallel], "tuple[int, dict[Value, Stride]]"]
"""How many lanes a piece has, and the strides of its values then."""
BoundsOf = Callable[[Parallel, Mapping[Value, str]], PieceBounds]
"""Which threads have something to do in a piece before which so much is known."""


@dataclass(frozen=True)
class BlockShape:
    """The threads of a block, how much shared memory the launch gives it, and how its pieces are run."""

    size: Size3
    shared_bytes: int
    width_of: WidthOf
    bounds_of: BoundsOf


class BlockWriter(BodyWriter):
    """Writes what a block does: common values and control by itself, pieces as loops over its threads."""

    def __init__(self, memory: MemoryWriter, arithmetic: Arithmetic, ranges: LaunchRanges, shape: BlockShape) -> None:
        super().__init__(memory.lanes, memory, arithmetic, ranges)
        self._shape = shape
        self._block = shape.size
        self._dynamic: Place | None = None
        self._writers[Parallel] = self._parallel
        self._writers[Allocate] = self._allocate

    def _allocate(self, op: Allocate) -> None:
        if op.size >= 0:
            self.memory.allocate_for_block(op, op.size, is_zero=op.variable != KEPT)
        elif self._dynamic is not None:  # all such arrays are one
            self.memory.places[op] = self._dynamic
        else:
            self.memory.allocate_for_block(op, self._shape.shared_bytes, is_zero=True)
            self._dynamic = self.memory.places[op]

    # -- pieces -------------------------------------------------------------------------------------------------------

    def _parallel(self, op: Parallel) -> None:
        if op.dimensions == WARPS:
            count = -(-self._block[0] * self._block[1] * self._block[2] // WARP)
            with self.text.counted("warp", "0", str(count), 1) as warp:
                self.lanes.names[op.body.block.arguments[0]] = self.text.put(f"trunc i64 {warp} to i32")
                self._warp = warp
                self.write(op.body.block)
        elif op.kind in ("block", "lane"):
            width, strides = self._shape.width_of(op)
            self.text.width = width
            try:
                self._piece(op, strides)
            except NeedsOneLane:
                raise NeedsOneLane(op) from None
            self.text.width = 1
        else:
            raise NotNative("it runs loops in any order", op.source)

    def _piece(self, op: Parallel, strides: dict[Value, Stride]) -> None:
        arguments = op.body.block.arguments
        lanes = Lanes(self.text, (*self.lanes.ids[:3], *arguments), strides)
        lanes.names = dict(self.lanes.names)
        writer = BodyWriter(lanes, self.memory.for_lanes(lanes), self.arithmetic, self._ranges)
        if op.kind == "lane":
            self._lanes(arguments, lanes, lambda: writer.write(op.body.block))
        else:
            bounds = self._shape.bounds_of(op, self.lanes.names)
            self._threads(arguments, lanes, bounds, 2, lambda: writer.write(op.body.block))

    def _threads(
        self, ids: Sequence[Value], lanes: Lanes, bounds: PieceBounds, axis: int, write: Callable[[], None]
    ) -> None:
        """Loops over the threads, x the innermost."""
        if axis < 0:
            write()
            return
        if self._block[axis] == 1:
            lanes.names[ids[axis]] = "0"
            self._threads(ids, lanes, bounds, axis - 1, write)
            return
        text = self.text
        first, last = map(str, bounds.ranges[axis]) if axis else bounds.of_x(text, self.lanes)
        step = 1 if axis else text.width
        if step > 1 and first != "0":  # strips begin where they would
            first = text.put(f"and i64 {first}, {-step}")
        with text.counted("thread", first, last, step) as number:
            lanes.names[ids[axis]] = text.put(f"trunc i64 {number} to i32")
            self._threads(ids, lanes, bounds, axis - 1, write)

    def _lanes(self, ids: Sequence[Value], lanes: Lanes, write: Callable[[], None]) -> None:
        """A loop over the threads of a warp."""
        text, block = self.text, self._block
        threads = block[0] * block[1] * block[2]
        start = text.put(f"mul i64 {self._warp}, {WARP}")
        end = text.put(f"add i64 {start}, {WARP}")
        if threads % WARP:
            end = text.call("i64", "llvm.umin.i64", f"i64 {end}", f"i64 {threads}")
        with text.counted("lane", start, end, text.width) as number:
            rest = number
            for axis in (0, 1):
                if block[axis + 1 :] == (1,) * (2 - axis):
                    lanes.names[ids[axis]] = text.put(f"trunc i64 {rest} to i32")
                    for other in range(axis + 1, 3):
                        lanes.names[ids[other]] = "0"
                    break
                own = text.put(f"urem i64 {rest}, {block[axis]}")
                lanes.names[ids[axis]] = text.put(f"trunc i64 {own} to i32")
                rest = text.put(f"udiv i64 {rest}, {block[axis]}")
            else:
                lanes.names[ids[2]] = text.put(f"trunc i64 {rest} to i32")
            write()
