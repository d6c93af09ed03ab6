"""Ops that read their neighbours in a way of their own, written as slices and what puts them together.

Along axes that are divided: reads of known places (clamped, periodic, mirrored), short reversals and repetitions,
windows, and slices that cut other axes as well. What is left then moves along one axis at a time, as the region of
local code wants it.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from windlass.communication.propagation import Propagation
from windlass.facts.known_values import known_integers
from windlass.ir import Builder, Function, Value
from windlass.ops import (
    BroadcastInDim,
    Concatenate,
    DynamicUpdateSlice,
    Gather,
    Pad,
    ReduceWindow,
    Reverse,
    Scatter,
    Slice,
)
from windlass.ops.combiners import is_identity
from windlass.ops.movement import slice_along
from windlass.rules.concatenates import concatenate_without_empty_parts
from windlass.rules.dynamic_updates import update_of_nothing
from windlass.rules.pads import pad_of_nothing
from windlass.rules.scatters import update_of_known_block

OF_EMPTY_PARTS = (concatenate_without_empty_parts, pad_of_nothing, update_of_nothing)
MOST_PIECES = 12
"""So many slices, or updates, an op may become."""


def write_scatters_as_updates(function: Function) -> None:
    """Write what is scattered to a block of known places as an update of it, whatever that costs on one device."""
    for op in [op for op in function.walk() if isinstance(op, Scatter)]:
        assert op.block is not None
        with Builder(op.block, before=op, source=op.source):
            found = update_of_known_block(op, any_size=True)
        if found is not None:
            op.results[0].replace_all_uses_with(found)
            op.erase()


def drop_empty_parts(function: Function) -> None:
    """Drop what has no elements, as the second part of an array that is rolled by 0: no device has a part of it."""
    for op in [op for op in function.walk() if isinstance(op, Concatenate | DynamicUpdateSlice | Pad)]:
        assert op.block is not None
        with Builder(op.block, before=op, source=op.source):
            found = next((found for rule in OF_EMPTY_PARTS if isinstance(found := rule(op), Value)), None)
        if found is not None:
            op.replace_all_uses_with(found)
            op.erase()


def drop_idle_broadcasts(function: Function) -> None:
    """Take scalars for what they are, though JAX broadcasts them to scalars: what folds begin with is then seen."""
    for op in [op for op in function.walk() if isinstance(op, BroadcastInDim) and not op.shape]:
        op.replace_all_uses_with(op.operand)
        op.erase()


def write_as_slices(function: Function, propagation: Propagation) -> bool:
    """Rewrite the function in place; whether anything changed."""
    return _Writer(propagation).write(function)


class _Writer:
    def __init__(self, propagation: Propagation) -> None:
        self.propagation = propagation
        self.cuts: dict[object, Value] = {}
        """Slices along axes that are not divided, by what they cut: each is made once."""

    def write(self, function: Function) -> bool:
        count = 0
        for op in list(function.walk()):
            if not isinstance(op, BroadcastInDim | Gather | ReduceWindow | Reverse | Slice) or op.block is None:
                continue
            with Builder(op.block, before=op, source=op.source):
                found = self._written(op)
            if found is not None:
                op.results[0].replace_all_uses_with(found)
                op.erase()
                count += 1
        return count > 0

    def _written(self, op: BroadcastInDim | Gather | ReduceWindow | Reverse | Slice) -> Value | None:
        divided = self._divided(op.operands[0])
        if not divided:
            return None
        match op:
            case BroadcastInDim():
                return _few_times(op, divided)
            case Gather():
                return _slices_of_known_places(op, divided)
            case ReduceWindow():
                return _fold_of_slices(op, divided)
            case Reverse():
                return _slices_in_reverse(op, divided)
            case Slice():
                return self._cut_apart(op, divided)

    def _divided(self, value: Value) -> list[int]:
        """The axes of a value that are divided."""
        found = self.propagation.divisions(value)
        return [axis for axis, division in enumerate(found or ()) if division is not None]

    def _cut_apart(self, op: Slice, divided: list[int]) -> Value | None:
        """First what is cut along axes that are not divided, then the rest."""
        bounds = list(zip(op.start_indices, op.limit_indices, op.strides, strict=True))
        whole = [(0, size, 1) for size in op.operand.shape]
        first = [whole[axis] if axis in divided else bound for axis, bound in enumerate(bounds)]
        then = [bound if axis in divided else (0, op.shape[axis], 1) for axis, bound in enumerate(bounds)]
        if first == whole:
            return None
        key = (op.operand, op.block, tuple(first))
        known = self.cuts.get(key)
        if first == bounds:
            if known is None:
                self.cuts[key] = op
            return known
        if known is None:
            known = self.cuts[key] = _slice(op.operand, first)
        return _slice(known, then)


def _slice(value: Value, bounds: list[tuple[int, int, int]]) -> Value:
    starts, limits, strides = zip(*bounds, strict=True)
    return Slice(value, starts, limits, strides)


def _few_times(op: BroadcastInDim, divided: list[int]) -> Value | None:
    """What is repeated a few times along a divided axis, as the ghost cells of an open border are, put together."""
    found = op.operand
    for axis in divided:
        place = op.broadcast_dimensions[axis]
        if found.shape[axis] < op.shape[place] <= MOST_PIECES:
            found = Concatenate((found,) * op.shape[place], axis)
    return None if found is op.operand else BroadcastInDim(found, op.shape, op.broadcast_dimensions)


def _slices_in_reverse(op: Reverse, divided: list[int]) -> Value | None:
    """The elements one after another, the last one first."""
    found = op.operand
    axes = [axis for axis in op.dimensions if axis in divided]
    if not axes or any(found.shape[axis] > MOST_PIECES for axis in axes):
        return None
    for axis in axes:
        pieces = tuple(slice_along(found, axis, place, place + 1) for place in reversed(range(found.shape[axis])))
        found = Concatenate(pieces, axis)
    rest = tuple(axis for axis in op.dimensions if axis not in axes)
    return Reverse(found, rest) if rest else found


def _fold_of_slices(op: ReduceWindow, divided: list[int]) -> Value | None:
    """The shifted array combined with itself, one axis after another."""
    combiner: Any = op.combiner
    axes = [axis for axis in divided if op.window_dimensions[axis] > 1 or any(op.padding[axis])]
    if len(op.inputs) != 1 or not axes or combiner is None or not is_identity(op.init_values[0], combiner):
        return None
    if any(op.window_strides[axis] != 1 or op.base_dilations[axis] != 1 for axis in divided):
        return None
    if any(op.window_dimensions[axis] > MOST_PIECES for axis in axes):
        return None
    (found,) = op.inputs
    for axis in axes:
        low, high = op.padding[axis]
        if low or high:
            lows, highs = ([width if each == axis else 0 for each in range(len(op.padding))] for width in (low, high))
            found = Pad(found, op.init_values[0], tuple(lows), tuple(highs), (0,) * len(lows))
        size = op.results[0].shape[axis]
        steps = [k * op.window_dilations[axis] for k in range(op.window_dimensions[axis])]
        pieces = [slice_along(found, axis, step, step + size) for step in steps]
        found = pieces[0]
        for piece in pieces[1:]:
            found = combiner(found, piece)
    ways = zip(op.window_dimensions, op.window_strides, op.base_dilations, op.padding, strict=True)
    if any(way != (1, 1, 1, (0, 0)) for axis, way in enumerate(ways) if axis not in axes):
        windows, dilations = (
            tuple(1 if axis in axes else size for axis, size in enumerate(sizes))
            for sizes in (op.window_dimensions, op.window_dilations)
        )
        padding = tuple((0, 0) if axis in axes else pair for axis, pair in enumerate(op.padding))
        body = op.body.clone({})
        (found,) = ReduceWindow(
            (found,), op.init_values, windows, op.window_strides, op.base_dilations, dilations, padding, body
        ).results
    return found


def _slices_of_known_places(op: Gather, divided: list[int]) -> Value | None:
    """A read of known places along one axis, of all else along the others, as slices one after another."""
    operand = op.operand
    if len(op.start_index_map) != 1 or op.operand_batching_dims:
        return None
    (axis,) = op.start_index_map
    whole = tuple(1 if each == axis else size for each, size in enumerate(operand.shape))
    rest = tuple(each for each in range(len(operand.shape)) if each != axis)
    is_along_axis = op.collapsed_slice_dims == (axis,) and op.offset_dims == rest and op.slice_sizes == whole
    places = known_integers(op.start_indices) if is_along_axis and axis in divided else None
    if places is None or places.size != op.shape[axis] or not places.size:
        return None
    runs = _runs(np.clip(places.ravel(), 0, operand.shape[axis] - 1))
    if len(runs) > MOST_PIECES:
        return None
    pieces = tuple(slice_along(operand, axis, first, limit) for first, limit in runs)
    return pieces[0] if len(pieces) == 1 else Concatenate(pieces, axis)


def _runs(places: NDArray[np.int64]) -> list[tuple[int, int]]:
    """Where each run of neighbouring places begins and ends.

    >>> _runs(np.array([0, 0, 1, 2, 0]))
    [(0, 1), (0, 3), (0, 1)]
    """
    ends = [0, *(np.flatnonzero(np.diff(places) != 1) + 1).tolist(), len(places)]
    return [(int(places[first]), int(places[limit - 1]) + 1) for first, limit in pairwise(ends)]
