"""Divided axes that were merged with others, or put together of pieces, apart again.

A kernel counts layers and rows in one number, `(k * rows + j) * pitch + i`, and so do the ops that it was raised to,
where that saves something on one device. What belongs to which device is only seen while each axis stands for itself.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import accumulate
from math import prod

from windlass.communication.places import owner_of
from windlass.communication.preparing import MOST_PIECES
from windlass.communication.propagation import Propagation
from windlass.facts.known_values import known_starts
from windlass.ir import Builder, Function, Op, Value
from windlass.ops import Concatenate, Constant, DynamicUpdateSlice, Reshape, Slice
from windlass.rules.concatenates import concatenate_of_concatenates

Sizes = tuple[int, ...]


def keep_axes_apart(function: Function, propagation: Propagation) -> bool:
    """Rewrite the function in place; whether anything changed."""
    unfolding = _Unfolding(propagation)
    for op in _that_move(function):
        assert op.block is not None
        with Builder(op.block, before=op, source=op.source):
            unfolding.visit(op)
    # What was written anew for nobody would be looked at again, and again.
    for op in reversed(_that_move(function)):
        if not any(result.uses for result in op.results):
            op.erase()
    return unfolding.count > 0


def _that_move(function: Function) -> list[Op]:
    return [op for op in function.walk() if isinstance(op, Concatenate | DynamicUpdateSlice | Reshape | Slice)]


@dataclass
class _Unfolding:
    propagation: Propagation
    apart: dict[Value, Value] = field(default_factory=dict[Value, Value])
    """Values in which two axes are one, and the same with both."""
    count: int = 0

    def visit(self, op: Op) -> None:
        """Write the op anew where that keeps axes apart."""
        found: Value | None = None
        match op:
            case Reshape():
                found = self._reshape(op)
            case Slice() if op.operand in self.apart:
                found = self._slice(op)
            case DynamicUpdateSlice() if op.operand in self.apart:
                self._update(op)
            case DynamicUpdateSlice():
                found = _updates_of_pieces(op, self._divided(op.results[0]))
            case Concatenate() if op.dimension in self._divided(op.results[0]):
                flat = concatenate_of_concatenates(op)
                found = flat if isinstance(flat, Value) else None
            case _:
                pass
        if found is not None:
            op.results[0].replace_all_uses_with(found)
            self.count += 1

    def _divided(self, value: Value) -> list[int]:
        return [axis for axis, each in enumerate(self.propagation.divisions(value) or ()) if each is not None]

    def _reshape(self, op: Reshape) -> Value | None:
        known = self.apart.get(op.operand)
        if known is not None and known.shape == op.shape:
            return known
        axis = merged_axis(op.shape, op.operand.shape)
        if axis is not None and not {axis, axis + 1}.isdisjoint(self._divided(op.operand)):
            self.apart[op.results[0]] = op.operand
            return None
        source = owner_of(op.operand)
        return _stacked(source, op.shape) if isinstance(source, Concatenate) and self._divided(op.results[0]) else None

    def _slice(self, op: Slice) -> Value | None:
        """slice(merge(x)) = merge(slice(x))."""
        whole = self.apart[op.operand]
        axis = merged_axis(op.operand.shape, whole.shape)
        box = None if axis is None else _box(op.start_indices[axis], op.shape[axis], whole.shape[axis + 1])
        if axis is None or box is None or op.strides[axis] != 1:
            return None
        starts, sizes = box
        limits = tuple(start + size for start, size in zip(starts, sizes, strict=True))
        bounds = ((op.start_indices, starts), (op.limit_indices, limits), (op.strides, (1, 1)))
        part = Slice(whole, *((*given[:axis], *own, *given[axis + 1 :]) for given, own in bounds))
        merged = Reshape(part, op.shape)
        self.apart[merged.results[0]] = part.results[0]
        return merged

    def _update(self, op: DynamicUpdateSlice) -> None:
        """update(merge(x), y) = merge(update(x, y)); what is read of it is read of that."""
        whole = self.apart[op.operand]
        axis = merged_axis(op.shape, whole.shape)
        starts = known_starts(op.start_indices, op.shape, op.update.shape)
        box = (
            None if axis is None or starts is None else _box(starts[axis], op.update.shape[axis], whole.shape[axis + 1])
        )
        if axis is None or starts is None or box is None:
            return
        own_starts, own_sizes = box
        given = op.update.shape
        update = self._reshaped(op.update, (*given[:axis], *own_sizes, *given[axis + 1 :]))
        found = _update(whole, update, (*starts[:axis], *own_starts, *starts[axis + 1 :]))
        self.apart[op.results[0]] = found

    def _reshaped(self, value: Value, shape: Sizes) -> Value:
        known = self.apart.get(value)
        return known if known is not None and known.shape == shape else Reshape(value, shape)


def merged_axis(merged: Sizes, shape: Sizes) -> int | None:
    """The axis that stands for two, this one and the next; None where the shapes differ otherwise.

    >>> merged_axis((5, 12, 7), (5, 3, 4, 7))
    1
    >>> merged_axis((5, 12, 7), (5, 12, 7))
    """
    if len(shape) != len(merged) + 1 or prod(shape) != prod(merged):
        return None
    axis = next((each for each, size in enumerate(merged) if shape[each] != size), len(merged) - 1)
    return axis if shape[axis + 2 :] == merged[axis + 1 :] else None


def _box(start: int, size: int, inner: int) -> tuple[tuple[int, int], tuple[int, int]] | None:
    """Where a stretch of a merged axis begins along both, and how much it takes of each, if it is a rectangle.

    >>> _box(13, 3, 6), _box(12, 18, 6), _box(4, 3, 6), _box(24, 0, 6)
    (((2, 1), (1, 3)), ((2, 0), (3, 6)), None, None)
    """
    if not size:
        return None
    first, rest = divmod(start, inner)
    if rest + size <= inner:
        return (first, rest), (1, size)
    return ((first, 0), (size // inner, inner)) if rest == 0 and size % inner == 0 else None


def _updates_of_pieces(op: DynamicUpdateSlice, divided: list[int]) -> Value | None:
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


def _stacked(op: Concatenate, shape: Sizes) -> Value | None:
    """reshape(concatenate(a, b), (2, n)) = concatenate(reshape(a, (1, n)), reshape(b, (1, n)))."""
    axis = merged_axis(op.shape, shape)
    if axis is None or axis != op.dimension or any(each.shape[axis] != shape[axis + 1] for each in op.inputs):
        return None
    pieces = tuple(Reshape(each, (*shape[:axis], 1, *shape[axis + 1 :])) for each in op.inputs)
    return Concatenate(pieces, axis)


def _update(value: Value, update: Value, starts: Sizes) -> Value:
    return DynamicUpdateSlice(value, update, tuple(Constant.of(start, "i32") for start in starts))
