"""Divided axes that were merged with others, dropped, or put together of pieces, apart again.

A kernel counts layers and rows in one number, `(k * rows + j) * pitch + i`, and so do the ops that it was raised to,
where that saves something on one device. What belongs to which device is only seen while each axis stands for itself:
so ops on merged axes are written for the array as it was before it was merged, and those on what is split afterwards
for the parts that it is split into.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from math import prod

from windlass.communication.merged_axes import Sizes, axes_like, boxes_of, groups_of
from windlass.communication.places import owner_of
from windlass.communication.preparing import MOST_PIECES
from windlass.communication.propagation import Divisions, Propagation
from windlass.facts.known_values import known_starts
from windlass.ir import Builder, Function, Op, Value
from windlass.ops import (
    BroadcastInDim,
    Concatenate,
    Constant,
    DynamicUpdateSlice,
    Pad,
    Reshape,
    Reverse,
    Slice,
    TensorOp,
    Transpose,
)
from windlass.ops.pointwise import Elementwise
from windlass.rules.concatenates import concatenate_of_concatenates

MOST_SPLIT = 64
"""So many ops are written anew above a reshape, at most."""


def keep_axes_apart(function: Function, propagation: Propagation) -> bool:
    """Rewrite the function in place; whether anything changed."""
    unfolding = _Unfolding(propagation)
    before = list(function.walk())
    for op in before:
        if op.block is not None and isinstance(op, TensorOp):
            with Builder(op.block, before=op, source=op.source):
                unfolding.visit(op)
        else:
            unfolding.leave(op)
    # What was written anew for nobody would be looked at again, and again.
    for op in reversed(list(function.walk())):
        if op.is_pure and op.results and not any(result.uses for result in op.results) and not op.regions:
            op.erase()
    return unfolding.count > 0


@dataclass
class _Unfolding:
    propagation: Propagation
    finer: dict[Value, Value] = field(default_factory=dict[Value, Value])
    """For values in which divided axes are merged with others, or dropped, the same with all of them."""
    known: dict[Value, Divisions] = field(default_factory=dict[Value, Divisions])
    """How what was written here is divided."""
    merged: dict[Value, Value] = field(default_factory=dict[Value, Value])
    """For values that ops want as they were, what stands for them now."""
    count: int = 0

    def visit(self, op: TensorOp) -> None:
        """Write the op anew where that keeps axes apart."""
        found: Value | None = None
        match op:
            case Reshape():
                found = self._reshape(op)
            case DynamicUpdateSlice() if op.operand not in self.finer:
                found = _updates_of_pieces(op, self._divided(op.results[0]))
            case Concatenate() if op.dimension in self._divided(op.results[0]):
                flat = concatenate_of_concatenates(op)
                found = flat if isinstance(flat, Value) else None
            case _:
                pass
        if found is not None:
            op.results[0].replace_all_uses_with(found)
            self.count += 1
        elif any(value in self.finer for value in op.operands):
            if isinstance(op, Reshape):
                return  # a merged value of a merged one
            # What is empty has no axes to tell apart.
            written = None if any(0 in result.shape for result in op.results) else self._written(op)
            if written is None:
                self.leave(op)
                return
            self.count += 1
            if (merged := self._merged(written, op.results[0].shape)) is not None:
                op.results[0].replace_all_uses_with(merged)
            else:
                self.finer[op.results[0]] = written
        elif isinstance(op, Constant | BroadcastInDim) and (whole := self._stacked(op)) is not None:
            self.finer[op] = whole

    def leave(self, op: Op) -> None:
        """Let an op have its operands merged."""
        for value in op.operands:
            whole = self.finer.get(value)
            if whole is not None and not _is_merged(value, whole):
                if value not in self.merged:
                    owner = owner_of(value)
                    assert owner is not None and owner.block is not None
                    with Builder(owner.block, before=owner.next, source=owner.source):
                        self.merged[value] = Reshape(whole, value.shape)
                op.replace_operand(value, self.merged[value])

    def _divisions(self, value: Value) -> Divisions:
        return self.known.get(value) or self.propagation.divisions(value) or ()

    def _divided(self, value: Value) -> list[int]:
        return [axis for axis, each in enumerate(self._divisions(value)) if each is not None]

    def _like(self, value: Value, whole: Value) -> Value:
        """What was written, divided as what it was made of."""
        if value.tensor.rank == whole.tensor.rank:
            self.known.setdefault(value, self._divisions(whole))
        return value

    # -- forward: from a merged value to what is made of it ---------------------------------------------------------

    def _reshape(self, op: Reshape) -> Value | None:
        """What stands for a reshape; None where it stays, or its result is known in a finer shape."""
        whole = self.finer.get(op.operand, op.operand)
        if whole.shape == op.shape:
            return whole
        if 0 in op.shape:
            return None
        merged = self._merged(whole, op.shape)
        if merged is None and groups_of(op.shape, whole.shape):
            self.finer[op.results[0]] = whole
            return None
        if whole is not op.operand:
            return merged or Reshape(whole, op.shape)
        if merged is not None:
            merged.erase()
        kept, made = op.axes().operands[0], op.axes().results[0]
        if all(axis in made for axis in kept if axis) and all(axis in kept for axis in made if axis):
            return None
        parts = _Splitting(self).split(op.operand, op.shape)
        return None if isinstance(parts, Reshape) and parts.operand is op.operand else parts

    def _merged(self, whole: Value, shape: Sizes) -> Reshape | None:
        """The value in this shape, where that keeps the axes that are divided."""
        found = Reshape(whole, shape)
        axes = found.axes()
        single = {letters for letters in axes.results[0] if letters is not None and len(letters) == 1}
        if all(axes.operands[0][axis] in single for axis in self._divided(whole)):
            return found
        found.erase()
        return None

    def _stacked(self, op: Constant | BroadcastInDim) -> Value | None:
        """A value of one number whose divided axis is as long as several of that kind: taken for these as layers."""
        if not (op.is_splat if isinstance(op, Constant) else not op.operand.shape):
            return None
        divisions = self._divisions(op)
        sizes = zip(op.shape, divisions, strict=False)
        axis = next((axis for axis, (size, each) in enumerate(sizes) if each and size > each.extent), None)
        division = None if axis is None else divisions[axis]
        if axis is None or division is None or op.shape[axis] % division.extent:
            return None
        layers = op.shape[axis] // division.extent
        found = self._in_shape(op, (*op.shape[:axis], layers, division.extent, *op.shape[axis + 1 :]))
        self.known[found] = (*divisions[:axis], None, division, *divisions[axis + 1 :])
        return found

    def _written(self, op: TensorOp) -> Value | None:
        """The op on finer operands."""
        first = next(value for value in op.operands if value in self.finer)
        whole = self.finer[first]
        match op:
            case Slice():
                return self._slice(op, whole)
            case DynamicUpdateSlice():
                return self._update(op)
            case Elementwise() if len(op.results) == 1:
                shape = whole.shape
                operands = tuple(self._in_shape(value, shape) for value in op.operands)
                return self._like(op.with_fields(operands).results[0], whole)
            case Reverse():
                groups = groups_of(op.shape, whole.shape)
                axes = () if groups is None else tuple(axis for each in op.dimensions for axis in groups[each])
                return None if groups is None else self._like(Reverse(whole, axes), whole)
            case Transpose():
                groups = groups_of(first.shape, whole.shape)
                if groups is None:
                    return None
                found = Transpose(whole, tuple(axis for each in op.permutation for axis in groups[each]))
                divisions = self._divisions(whole)
                if divisions:
                    self.known[found] = tuple(divisions[axis] for axis in found.permutation)
                return found
            case Concatenate():
                return self._concatenate(op, first)
            case Pad():
                return self._pad(op, whole)
            case _:
                return None

    def _in_shape(self, value: Value, shape: Sizes) -> Value:
        """The value in a finer shape; single numbers stay."""
        if not value.shape and shape:
            return value
        known = self.finer.get(value, value)
        if known.shape == shape:
            return known
        if isinstance(value, Constant) and value.is_splat:
            return Constant.of(value.number, value.dtype, shape)
        if isinstance(value, BroadcastInDim) and not value.operand.shape:
            return BroadcastInDim(value.operand, shape, ())
        return _within(known, shape)

    def _slice(self, op: Slice, whole: Value) -> Value | None:
        """slice(merge(x)) = merge(slice(x))."""
        groups = groups_of(op.operand.shape, whole.shape)
        if groups is None or any(
            stride != 1 and len(group) != 1 for stride, group in zip(op.strides, groups, strict=True)
        ):
            return None
        strides = [1] * len(whole.shape)
        starts, sizes = list(strides), list(strides)
        for axis, group in enumerate(groups):
            if op.strides[axis] != 1:
                strides[group[0]] = op.strides[axis]
        spans = tuple(limit - start for start, limit in zip(op.start_indices, op.limit_indices, strict=True))
        box = boxes_of(op.start_indices, spans, op.operand.shape, whole.shape)
        if box is None:
            return None
        starts, sizes = box
        limits = tuple(start + size for start, size in zip(starts, sizes, strict=True))
        return self._like(Slice(whole, starts, limits, tuple(strides)), whole)

    def _update(self, op: DynamicUpdateSlice) -> Value | None:
        """update(merge(x), y) = merge(update(x, y)); what is read of it is read of that."""
        whole = self.finer.get(op.operand)
        starts = known_starts(op.start_indices, op.shape, op.update.shape)
        if whole is None or starts is None:
            return None
        box = boxes_of(starts, op.update.shape, op.shape, whole.shape)
        if box is None:
            return None
        return self._like(_update(whole, self._in_shape(op.update, box[1]), box[0]), whole)

    def _concatenate(self, op: Concatenate, first: Value) -> Value | None:
        whole = self.finer[first]
        total = op.shape[op.dimension] // first.shape[op.dimension]
        candidates = axes_like(op.dimension, first.shape, whole.shape)
        divisions = self._divisions(whole)

        def shapes(axis: int) -> list[Sizes] | None:
            inner = prod(whole.shape[axis + 1 :])
            own = prod(op.shape[op.dimension + 1 :])
            sizes = [value.shape[op.dimension] * own for value in op.inputs]
            if any(size % inner for size in sizes):
                return None
            return [(*whole.shape[:axis], size // inner, *whole.shape[axis + 1 :]) for size in sizes]

        def is_within(axis: int) -> bool:
            division = divisions[axis] if divisions else None
            return division is not None and whole.shape[axis] * total <= division.extent

        for axis in sorted(candidates, key=lambda axis: not is_within(axis)):
            found = shapes(axis)
            division = divisions[axis] if divisions else None
            if found is not None and (division is None or is_within(axis)):
                pieces = tuple(self._in_shape(value, shape) for value, shape in zip(op.inputs, found, strict=True))
                return self._like(Concatenate(pieces, axis), whole)
        return None

    def _pad(self, op: Pad, whole: Value) -> Value | None:
        shape = op.operand.shape
        fields = [[0] * len(whole.shape) for _ in range(3)]
        divided = self._divided(whole)
        for axis, widths in enumerate(zip(op.edge_padding_low, op.edge_padding_high, op.interior_padding, strict=True)):
            if not any(widths):
                continue
            own = [each for each in axes_like(axis, shape, whole.shape) if whole.shape[each] == shape[axis]]
            if not own or op.operand not in self.finer:
                return None
            place = next((each for each in own if each in divided), own[0])
            for row, width in zip(fields, widths, strict=True):
                row[place] = width
        return self._like(Pad(whole, op.padding_value, *map(tuple, fields)), whole)


class _Splitting:
    """Writes what a reshape splits, as far as it is put together of parts, in the shape that it is split to."""

    def __init__(self, unfolding: _Unfolding) -> None:
        self.unfolding = unfolding
        self.left = MOST_SPLIT
        self.known: dict[tuple[Value, Sizes], Value] = {}

    def split(self, value: Value, shape: Sizes) -> Value:
        """reshape(value, shape)"""
        value = self.unfolding.finer.get(value, value)
        if value.shape == shape:
            return value
        key = (value, shape)
        if key not in self.known:
            self.left -= 1
            self.known[key] = (self._split(value, shape) if self.left > 0 else None) or Reshape(value, shape)
        return self.known[key]

    def _split(self, value: Value, shape: Sizes) -> Value | None:
        match value:
            case Constant() if value.is_splat:
                return Constant.of(value.number, value.dtype, shape)
            case Reshape():
                return self.split(value.operand, shape)
            case BroadcastInDim() if not value.operand.shape:
                return BroadcastInDim(value.operand, shape, ())
            case Concatenate():
                return self._concatenate(value, shape)
            case DynamicUpdateSlice():
                starts = known_starts(value.start_indices, value.shape, value.update.shape)
                box = None if starts is None else boxes_of(starts, value.update.shape, value.shape, shape)
                if box is None:
                    return None
                return _update(self.split(value.operand, shape), self.split(value.update, box[1]), box[0])
            case Elementwise():
                operands = tuple(self.split(each, shape) if each.shape else each for each in value.operands)
                return value.with_fields(operands).results[0]
            case _:
                return None

    def _concatenate(self, op: Concatenate, shape: Sizes) -> Value | None:
        """reshape(concatenate(a, b), (2, n)) = concatenate(reshape(a, (1, n)), reshape(b, (1, n)))."""
        own = prod(op.shape[op.dimension + 1 :])
        for axis in axes_like(op.dimension, op.shape, shape):
            inner = prod(shape[axis + 1 :])
            sizes = [value.shape[op.dimension] * own for value in op.inputs]
            if shape[axis] * inner == sum(sizes) and not any(size % inner for size in sizes):
                pieces = tuple(
                    self.split(value, (*shape[:axis], size // inner, *shape[axis + 1 :]))
                    for value, size in zip(op.inputs, sizes, strict=True)
                )
                return Concatenate(pieces, axis)
        return None


def _within(value: Value, shape: Sizes) -> Value:
    """The value in a shape with more axes of size 1: which of its own are which is kept, as a reshape can't tell."""
    own = list(value.shape)
    places: list[int] = []
    for axis in reversed(range(len(shape))):
        if own and own[-1] == shape[axis]:
            places.append(axis)
            own.pop()
        elif shape[axis] != 1:
            return Reshape(value, shape)
    return Reshape(value, shape) if own else BroadcastInDim(value, shape, tuple(reversed(places)))


def _is_merged(value: Value, whole: Value) -> bool:
    """Whether the value is that reshape already."""
    return isinstance(value, Reshape) and value.operand is whole


def _updates_of_pieces(op: DynamicUpdateSlice, divided: Sequence[int]) -> Value | None:
    """update(x, concatenate(a, b), i) = update(update(x, a, i), b, i + size(a))."""
    pieces = owner_of(op.update)
    starts = known_starts(op.start_indices, op.shape, op.update.shape)
    if not isinstance(pieces, Concatenate) or pieces.dimension not in divided or starts is None:
        return None
    if len(pieces.inputs) > MOST_PIECES:
        return None
    found = op.operand
    axis = pieces.dimension
    offsets = accumulate((each.shape[axis] for each in pieces.inputs[:-1]), initial=0)
    for piece, offset in zip(pieces.inputs, offsets, strict=True):
        places = tuple(start + (offset if each == axis else 0) for each, start in enumerate(starts))
        found = _update(found, piece, places)
    return found


def _update(value: Value, update: Value, starts: Sizes) -> Value:
    return DynamicUpdateSlice(value, update, tuple(Constant.of(start, "i32") for start in starts))
