"""Ops of a loop's body done for all rounds at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Self

import numpy as np

from windlass.facts.rounds import Table, clamp_starts
from windlass.facts.terms import op_of
from windlass.ir import Block, Builder, Op, Region, Value
from windlass.ir.captures import captures
from windlass.ir.core import Terminator
from windlass.ir.values import Argument
from windlass.ops import (
    Add,
    BroadcastInDim,
    Case,
    Compare,
    Concatenate,
    Constant,
    DynamicSlice,
    Gather,
    Iota,
    Multiply,
    Reshape,
    Return,
    Reverse,
    Select,
    Slice,
    Transpose,
    While,
)
from windlass.ops.base import TensorOp, repeated
from windlass.ops.control import If

LARGEST_LISTED = 4096
"""Numbers that are written out as a constant; more of them are counted where they are regular."""


class CannotBatch(Exception):
    """A value can't be had for all rounds at once; `op` is what gives it, None for what is carried."""

    def __init__(self, op: Op | None) -> None:
        super().__init__(type(op).__name__)
        self.op = op


LARGEST_VALUE = 1 << 28
"""Bytes that a value of all rounds may have: loops are written to save memory too."""


class Batcher:
    """Gives values of a block for all of `size` rounds at once, in ops placed where the active builder is.

    `many` holds values with a new first axis for the rounds, `same` those that are equal in all rounds, both by the
    value in the block; `tables` those that are known numbers. What is in neither is computed from its operands.
    """

    def __init__(self, block: Block, size: int, tables: Mapping[Value, Table]) -> None:
        self.block = block
        self.size = size
        self.tables = tables
        self.many: dict[Value, Value] = {}
        self.same: dict[Value, Value] = {}
        self.delayed: dict[Value, tuple[Value, Value]] = {}
        """What is carried from one round into the next: its initial value, and the value in the block that follows."""
        self.repeats: dict[Value, Value] = {}
        """Values that are equal in all rounds, repeated for those who need them with an axis for the rounds."""

    def is_inside(self, value: Value) -> bool:
        """Whether the value is made in the block."""
        op = op_of(value)
        return op is not None and op.block is self.block

    def batched(self, value: Value) -> Value:
        """The value with the rounds as first axis."""
        found, is_many = self.find(value)
        if is_many:
            return found
        if value not in self.repeats:
            self.repeats[value] = repeated(found, self.size)
        return self.repeats[value]

    def find(self, value: Value) -> tuple[Value, bool]:
        """The value outside, and whether it has an axis for the rounds.

        Raises CannotBatch.
        """
        if value in self.many:
            return self.many[value], True
        if value in self.same:
            return self.same[value], False
        if value in self.tables:
            self.many[value] = listed(self.tables[value], value)
            return self.many[value], True
        if value in self.delayed:
            self.many[value] = self._previous(*self.delayed[value])
            return self.many[value], True
        if isinstance(value, Argument) and value.block is self.block:
            raise CannotBatch(None)
        op = op_of(value)
        if op is None or op.block is not self.block:
            return value, False
        self.run(op)
        return (self.many[value], True) if value in self.many else (self.same[value], False)

    def may_run(self, op: Op) -> bool:
        """Whether the op may be done for all rounds at once, or once for all."""
        return op.is_pure

    def run(self, op: Op) -> None:
        """Enter the results of an op of the block."""
        if not self.may_run(op) or not isinstance(op, TensorOp):
            raise CannotBatch(op)
        if op.regions:
            inner = [each for region in op.regions for each in captures(region)]
        else:
            inner = []
        if isinstance(op, DynamicSlice) and any(start in self.tables for start in op.start_indices):
            self.many[op] = self.slices(op)
            return
        found = [self.find(operand) for operand in op.operands]
        if any(is_many for _, is_many in found) or (inner and any(self.find(value)[1] for value in inner)):
            if isinstance(op, While):
                results = self.loop(op)
            elif isinstance(op, If | Case):
                results = self.choice(op)
            else:
                values, flags = tuple(value for value, _ in found), tuple(is_many for _, is_many in found)
                results = self.batch(self.each(op, inner), values, flags)
            if results is None:
                raise CannotBatch(op)
            if any(result.tensor.bytes > LARGEST_VALUE for result in results):
                raise CannotBatch(op)
            self.many.update(zip(op.results, results, strict=True))
            return
        mapping: dict[Value, Value] = dict(zip(op.operands, (value for value, _ in found), strict=True))
        mapping.update((value, self.find(value)[0]) for value in inner)
        op.clone(mapping)
        self.same.update((result, mapping[result]) for result in op.results)

    def within(self, block: Block) -> Self:
        """One like this for a block within an op."""
        return type(self)(block, self.size, {})

    def begin(self) -> None:
        """Called once what the block takes is entered: a value is computed when it is asked for, with what it needs."""

    def batch(self, op: TensorOp, values: tuple[Value, ...], flags: tuple[bool, ...]) -> tuple[Value, ...] | None:
        """The op for all rounds; None where it has no such form, or one that is not worth it."""
        return op.batch(values, flags, self.size)

    def each(self, op: TensorOp, inner: Sequence[Value]) -> TensorOp:
        """The op, its regions with what they take from the block as it is outside.

        Raises CannotBatch where one of those differs from round to round.
        """
        if any(self.find(value)[1] for value in inner):
            raise CannotBatch(op)
        mapping = {value: self.find(value)[0] for value in inner}
        if all(value is found for value, found in mapping.items()):
            return op
        with Builder(Block()):
            return op.clone(mapping)

    def _previous(self, initial: Value, following: Value) -> Value:
        """What each round takes from the one before."""
        first = Reshape(initial, (1, *initial.shape))
        later = self.batched(following)
        return Concatenate((first, _slice_axis(later, 0, 0, self.size - 1, 1)), 0) if self.size > 1 else first

    # -- ops that need more than their operands -----------------------------------------------------------------------

    def slices(self, op: DynamicSlice) -> Value:
        """The slices at known places in each round, as slices of the whole."""
        operand, is_many = self.find(op.operand)
        if is_many:
            raise CannotBatch(op)
        shape, sizes = op.operand.shape, op.slice_sizes
        known = [
            self._clamped(start, extent - size, op)
            for start, extent, size in zip(op.start_indices, shape, sizes, strict=True)
        ]
        moving = [axis for axis, starts in enumerate(known) if starts is not None and (starts != starts[0]).any()]
        if len(moving) > 1:
            return self._gathered(op, operand, known)
        fixed: list[Value | int] = []
        for axis, starts in enumerate(known):
            if axis in moving:
                fixed.append(0)
            elif starts is not None:
                fixed.append(int(starts[0]))
            else:
                fixed.append(self.find(op.start_indices[axis])[0])
        within = [shape[axis] if axis in moving else size for axis, size in enumerate(sizes)]
        whole = _slice_at(operand, fixed, within, op)
        if not moving:
            return repeated(whole, self.size)
        (axis,) = moving
        starts = known[axis]
        assert starts is not None
        picked = pick_blocks(whole, axis, starts, sizes[axis])
        return self._gathered(op, operand, known) if picked is None else picked

    def _clamped(self, start: Value, most: int, op: DynamicSlice) -> Table | None:
        """Where slices start in each round, or None where that is a number that is not known."""
        if most == 0:
            return np.zeros(self.size, np.int64)
        if start in self.tables:
            return clamp_starts(self.tables[start], most)
        if isinstance(start, Constant):
            return np.full(self.size, min(max(int(start.number), 0), most))
        if self.find(start)[1]:
            raise CannotBatch(op)
        return None

    def _gathered(self, op: DynamicSlice, operand: Value, known: list[Table | None]) -> Value:
        if any(starts is None for starts in known):
            raise CannotBatch(op)
        rank = len(op.slice_sizes)
        places = np.stack([starts for starts in known if starts is not None], axis=1).astype(np.int32)
        axes = tuple(range(rank))
        return Gather(
            operand, Constant.of(places), tuple(axis + 1 for axis in axes), (), (), (), axes, 1, op.slice_sizes
        )

    def loop(self, op: While) -> tuple[Value, ...] | None:
        """A loop in the body whose number of rounds is the same in each round outside."""
        body, cond = op.body.block, op.cond.block
        flags = [self.find(operand)[1] for operand in op.operands]
        taken = {value: self.find(value) for region in op.regions for value in captures(region)}
        while True:
            inner = self.within(body)
            many = dict(zip(body.arguments, flags, strict=True)) | {
                value: is_many for value, (_, is_many) in taken.items()
            }
            following = _follow(body, many)
            grown = [flag or following[value] for flag, value in zip(flags, body.terminator.operands, strict=True)]
            if grown == flags:
                break
            flags = grown
        in_test = dict(zip(cond.arguments, flags, strict=True)) | {
            value: is_many for value, (_, is_many) in taken.items()
        }
        if any(_follow(cond, in_test)[value] for value in cond.terminator.operands):
            return None
        operands = tuple(
            self.batched(operand) if flag else self.find(operand)[0]
            for operand, flag in zip(op.operands, flags, strict=True)
        )
        regions: list[Region] = []
        for block in (cond, body):
            new = Block([operand.type for operand in operands])
            inner = self.within(block)
            for value, (outside, is_many) in taken.items():
                (inner.many if is_many else inner.same)[value] = outside
            for old, made, flag in zip(block.arguments, new.arguments, flags, strict=True):
                (inner.many if flag else inner.same)[old] = made
            with Builder(new):
                inner.begin()
                wanted = flags if block is body else [False]
                Return(
                    tuple(
                        inner.batched(value) if flag else inner.find(value)[0]
                        for value, flag in zip(block.terminator.operands, wanted, strict=True)
                    )
                )
            regions.append(Region(new))
        results = While(regions[0], regions[1], operands).results
        return tuple(
            result if flag else repeated(result, self.size) for result, flag in zip(results, flags, strict=True)
        )

    def choice(self, op: If | Case) -> tuple[Value, ...] | None:
        """All branches are run where rounds choose differently, as far as the block that they stand in knows them."""
        chosen, is_many = self.find(op.operands[0])
        if not is_many:
            return self.same_choice(op)
        sides: list[list[Value]] = []
        for inner in self.branches(op):
            inner.begin()
            sides.append([inner.batched(value) for value in inner.block.terminator.operands])
        if isinstance(op, If):
            on_true, on_false = sides
            return tuple(choose_by_round(chosen, *pair) for pair in zip(on_true, on_false, strict=True))
        results = sides[-1]
        for number in reversed(range(len(sides) - 1)):
            is_taken = Compare(chosen, Constant.of(number, "i32", (self.size,)), "EQ")
            results = [choose_by_round(is_taken, *pair) for pair in zip(sides[number], results, strict=True)]
        return tuple(results)

    def branches(self, op: If | Case) -> list[Self]:
        """A batcher for each branch, which knows what the branch takes from outside."""
        found: list[Self] = []
        for region in op.regions:
            inner = self.within(region.block)
            for value in captures(region):
                outside, flag = self.find(value)
                (inner.many if flag else inner.same)[value] = outside
            found.append(inner)
        return found

    def same_choice(self, op: If | Case) -> tuple[Value, ...] | None:
        """A choice that is the same in each round; None where that is not worth it."""
        return None


def choose_by_round(test: Value, on_true: Value, on_false: Value) -> Value:
    """Round by round."""
    return Select(BroadcastInDim(test, on_true.shape, (0,)) if on_true.tensor.rank > 1 else test, on_true, on_false)


def _follow(block: Block, many: dict[Value, bool]) -> dict[Value, bool]:
    """Which values of a block get an axis for the rounds, if these do that it takes."""
    found = dict(many)
    for op in block:
        if isinstance(op, Terminator):
            for value in op.operands:
                found.setdefault(value, False)
            continue
        sources = [*op.operands, *(value for region in op.regions for value in captures(region))]
        is_many = any(found.get(value, False) for value in sources)
        found.update((result, is_many) for result in op.results)
    return found


def pick_blocks(whole: Value, axis: int, starts: Table, size: int) -> Value | None:
    """Blocks of the size along an axis at regular starts, one after another along a new first axis.

    None where the starts are not regular, blocks overlap much, or hold nothing.

    >>> from windlass.ir.values import tensor
    >>> pick_blocks(tensor("f32", 8, 3), 0, np.array([0, 2, 4]), 2).type
    tensor<3x2x3xf32>
    """
    steps = np.diff(starts)
    count, step = len(starts), int(steps[0]) if len(steps) else size
    if (steps != step).any() or step == 0 or size == 0:
        return None
    if step < 0:
        forward = pick_blocks(whole, axis, starts[::-1], size)
        return None if forward is None else Reverse(forward, (0,))
    first, shape = int(starts[0]), whole.shape
    if step == size:
        run = _slice_axis(whole, axis, first, first + count * size, 1)
        split = Reshape(run, (*shape[:axis], count, size, *shape[axis + 1 :]))
    elif size <= 16:
        # The first elements of all blocks, then the second ones, ...
        parts = [
            Reshape(
                _slice_axis(whole, axis, first + at, first + at + (count - 1) * step + 1, step),
                (*shape[:axis], count, 1, *shape[axis + 1 :]),
            )
            for at in range(size)
        ]
        split = Concatenate(tuple(parts), axis + 1) if size > 1 else parts[0]
    else:
        return None
    if axis == 0:
        return split
    return Transpose(split, (axis, *(each for each in range(len(shape) + 1) if each != axis)))


def listed(table: Table, value: Value) -> Value:
    """The rows of a table as a tensor."""
    steps = np.diff(table.astype(np.int64)) if table.ndim == 1 else np.zeros(0)
    if table.size > LARGEST_LISTED and len(steps) and (steps == steps[0]).all():
        count = Iota(table.shape, value.dtype, 0)
        step, start = (Constant.of(int(number), value.dtype, table.shape) for number in (steps[0], table[0]))
        return Add(Multiply(count, step), start)
    return Constant.of(table, value.dtype)


def _slice_axis(x: Value, axis: int, start: int, limit: int, step: int) -> Value:
    starts = [0] * len(x.shape)
    limits, steps = list(x.shape), [1] * len(x.shape)
    starts[axis], limits[axis], steps[axis] = start, limit, step
    return Slice(x, tuple(starts), tuple(limits), tuple(steps))


def _slice_at(x: Value, starts: list[Value | int], sizes: list[int], op: DynamicSlice) -> Value:
    """The slice at numbers that are known or not."""
    if tuple(sizes) == x.shape:
        return x
    if all(isinstance(start, int) for start in starts):
        begin = tuple(start for start in starts if isinstance(start, int))
        return Slice(x, begin, tuple(a + b for a, b in zip(begin, sizes, strict=True)), (1,) * len(sizes))
    dtype = op.start_indices[0].dtype
    values = tuple(Constant.of(start, dtype) if isinstance(start, int) else start for start in starts)
    return DynamicSlice(x, values, tuple(sizes))
