"""Which values the threads of a block, or of a warp, have in common.

    n / 2, a loaded bound, the counter of a loop to n    the same in all threads of the launch
    blockIdx.x * 8                                       the same in all threads of a block
    threadIdx.x / 32 where a block has one row           the same in all threads of a warp, as the affine facts tell

Only what can be computed before the threads run is said to be common: what is pure, and what is read of memory that the
kernel never writes. What stands behind a condition by which threads part counts if it is pure.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator

from windlass.affine.dimensions import Dimension
from windlass.affine.domain import Domain
from windlass.affine.index import Index, dimensions_of, range_of
from windlass.facts.indices import IndexReader
from windlass.ir import Argument, Block, Op, TensorType, Value
from windlass.loops import (
    Access,
    Allocate,
    Collective,
    Condition,
    DeviceVariableBuffer,
    DoWhile,
    For,
    If,
    Load,
    NullBuffer,
    SelectBuffer,
    ViewBuffer,
    Yield,
)
from windlass.ops.base import INTEGER
from windlass.ops.comparison import Compare


class AnywhereReader(IndexReader):
    """Reads integers as they are in all threads, whatever conditions these have passed."""

    def domain_at(self, block: Block | None) -> Domain:
        """All points of the launch, or none outside of it."""
        found = super().domain_at(block)
        return self._outermost if found.dimensions else found


_ORDERINGS = {"LT": 0, "GE": 0, "LE": 1, "GT": 1}
"""Comparisons of a number with zero by an order, as those of that number less one of these with what is below zero."""


class CommonValues:
    """What is common to the threads that differ in some `own` ids, in one launch.

    `varied` are dimensions of `indices` in which those threads differ; `is_given` says of a collective whether all
    of them are given the same, and `is_split` of a branch or loop whether it is run around the threads, not by them.
    """

    def __init__(
        self,
        body: Block,
        own: Collection[Value],
        written: Collection[Value],
        indices: AnywhereReader,
        varied: frozenset[Dimension],
        is_given: Callable[[Collective], bool],
        is_split: Callable[[Op], bool],
    ) -> None:
        self._differs: set[Value] = set(own)
        self._written = frozenset(written)
        self._indices = indices
        self._varied = varied
        self._is_given = is_given
        self._is_split = is_split
        self.by_facts: set[Value] = set()
        """Those that are common by what is known of their operands, which are not."""
        before = -1
        while before != len(self._differs):
            before = len(self._differs)
            self._visit(body, is_parted=False)

    def has(self, value: Value) -> bool:
        """Whether the value is common."""
        return value not in self._differs

    # -- one pass -----------------------------------------------------------------------------------------------------

    def _visit(self, block: Block, *, is_parted: bool) -> None:
        for op in block:
            match op:
                case If():
                    self._choose(op, is_parted)
                case For() | DoWhile():
                    self._repeat(op, is_parted)
                case Yield() | Condition():
                    pass
                case _:
                    for region in op.regions:
                        self._visit(region.block, is_parted=True)
                    if not self._is_common(op, is_parted):
                        self._differs.update(op.results)

    def _choose(self, op: If, is_parted: bool) -> None:
        parts = not self.has(op.condition)
        for region in op.regions:
            self._visit(region.block, is_parted=is_parted or parts)
        if not self._is_split(op) and not self.is_whole(op):
            self._differs.update(op.results)
            return
        for place, result in enumerate(op.results):
            given = [region.block.terminator.operands[place] for region in op.regions]
            if (parts and given[0] is not given[1]) or not all(map(self.has, given)):
                self._differs.add(result)

    def _repeat(self, op: For | DoWhile, is_parted: bool) -> None:
        body = op.body.block
        end = body.terminator
        decides = op.trip_count if isinstance(op, For) else end.operands[0]
        parts = not self.has(decides)
        self._visit(body, is_parted=is_parted or parts)
        arguments = body.arguments[isinstance(op, For) :]
        values = end.operands[isinstance(op, DoWhile) :]
        for argument, initial, value in zip(arguments, op.initial, values, strict=True):
            if not (self.has(initial) and self.has(value)):
                self._differs.add(argument)
        is_common = not parts and (self._is_split(op) or self.is_whole(op))
        for argument, value, result in zip(arguments, values, op.results, strict=True):
            if not (is_common and self.has(argument) and self.has(value)):
                self._differs.add(result)

    def is_whole(self, op: Op) -> bool:
        """Whether all that an op does can be done once for all threads."""
        if isinstance(op, Yield | Condition):
            return all(map(self.has, op.operands))
        if isinstance(op, If | For | DoWhile):
            return all(map(self.has, op.operands)) and all(
                self.is_whole(inner) for region in op.regions for inner in region.block
            )
        return (op.is_pure or isinstance(op, Load)) and all(map(self.has, op.results))

    def _is_common(self, op: Op, is_parted: bool) -> bool:
        match op:
            case Collective():
                return self._is_given(op)
            case Allocate():
                return op.space == "shared"
            case Load():
                return not is_parted and not op.is_volatile and self._is_constant(op)
            case _ if not op.is_pure:
                return False
            case _ if all(map(self.has, op.operands)):
                return True
            case _:
                found = self._is_known(op)
                if found:
                    self.by_facts.add(op)
                return found

    def _is_constant(self, op: Load) -> bool:
        """Whether all of them read one place, which the kernel never writes."""
        return self.has(op.offset) and all(
            memory is not None and memory not in self._written for memory in memories_behind(op.buffer)
        )

    def _is_known(self, op: Op) -> bool:
        """Whether the affine facts tell that an integer, or a comparison of integers, is common."""
        if not isinstance(op.type, TensorType) or not self._varied:
            return False
        if op.dtype in INTEGER:
            return not self._depends(self._indices.index_of(op))
        if isinstance(op, Compare) and op.operands[0].dtype in INTEGER:
            return self._is_common_comparison(op)
        return False

    def _depends(self, index: Index) -> bool:
        return index.has_data or any(not self._varied.isdisjoint(dimensions_of(atom)) for atom in index.terms)

    def _is_common_comparison(self, op: Compare) -> bool:
        """Whether two numbers that differ by a multiple of m, but for a few, compare alike: 32·w + lane < 64."""
        box = self._indices.domain_at(op.block).box
        indices = [self._indices.index_of(operand) for operand in op.operands]
        for operand, index in zip(op.operands, indices, strict=True):
            low, high = index.value_range(box)
            width = operand.tensor.numpy_dtype.itemsize * 8
            if low < 0 or high >= 1 << (width - 1):  # signed and unsigned comparisons differ there
                return False
        difference = indices[0] - indices[1]
        if difference.has_data or op.direction not in _ORDERINGS:
            return False
        low = high = difference.constant - _ORDERINGS[op.direction]
        step = 0
        for atom, factor in difference.terms.items():
            if self._varied.isdisjoint(dimensions_of(atom)):
                step = math.gcd(step, factor)
                continue
            ends = [factor * end for end in range_of(atom, box)]
            low, high = low + min(ends), high + max(ends)
        if step == 0:
            return high < 0 or low >= 0
        return low // step == high // step


def memories_behind(buffer: Value) -> Iterator[Value | None]:
    """The memories that a buffer may be in: arguments, variables, arrays; None where that is not known."""
    match buffer:
        case ViewBuffer():
            yield from memories_behind(buffer.buffer)
        case SelectBuffer():
            yield from memories_behind(buffer.on_true)
            yield from memories_behind(buffer.on_false)
        case NullBuffer():
            return
        case Allocate() | DeviceVariableBuffer():
            yield buffer
        case Argument(block=Block(parent=None)):
            yield buffer
        case _:
            yield None


def written_memories(body: Block) -> frozenset[Value] | None:
    """The memories that are written within a block; None where that may be any."""
    found: set[Value] = set()
    for op in body.walk():
        if isinstance(op, Access) and not isinstance(op, Load):
            for memory in memories_behind(op.buffer):
                if memory is None:
                    return None
                found.add(memory)
    return frozenset(found)
