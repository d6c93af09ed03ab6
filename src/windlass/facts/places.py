"""Where the elements of a value come from: movement is followed back by affine maps of places.

A `Place` names one element of a tensor for each point r of a box of indices: the one at row-major offset
start + Σ steps[k]·r[k]. Slices, reshapes, transposes and the like take places to places of their operand, so long as
the points stay on one line of each axis. `view` goes the other way: it makes the tensor of such elements.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from windlass.facts.known_values import known_starts
from windlass.ir import Value
from windlass.ops import (
    BroadcastInDim,
    Concatenate,
    Constant,
    DynamicUpdateSlice,
    Iota,
    Pad,
    Reshape,
    Reverse,
    Select,
    Slice,
    Transpose,
)
from windlass.ops.pointwise import Elementwise

Sizes = tuple[int, ...]

MOST_LOOKS = 64
"""Ops that are looked at to find out whether a condition holds."""

MOVEMENTS = (BroadcastInDim, Concatenate, DynamicUpdateSlice, Pad, Reshape, Reverse, Select, Slice, Transpose)
"""Ops that `origin` looks through."""


@dataclass(frozen=True)
class Place:
    """The elements at row-major offsets start + Σ steps[k]·r[k]."""

    start: int
    steps: Sizes

    def scale(self, factor: int) -> Place:
        return Place(self.start * factor, tuple(step * factor for step in self.steps))

    def shift(self, distance: int) -> Place:
        return Place(self.start + distance, self.steps)

    def bounds(self, box: Sizes) -> tuple[int, int]:
        """The least and the greatest offset at any point of the box."""
        reach = [step * (size - 1) for step, size in zip(self.steps, box, strict=True)]
        return self.start + sum(min(each, 0) for each in reach), self.start + sum(max(each, 0) for each in reach)


def points_of(shape: Sizes) -> Place:
    """Each element of a tensor, its index being the point.

    >>> points_of((2, 3))
    Place(start=0, steps=(3, 1))
    """
    return Place(0, tuple(math.prod(shape[axis + 1 :]) if shape[axis] > 1 else 0 for axis in range(len(shape))))


def split(place: Place, shape: Sizes, box: Sizes) -> list[Place] | None:
    """The index along each axis of a tensor; None where some axis is not gone through along one line.

    >>> split(Place(6, (64, 1)), (4, 64), (4, 8))
    [Place(start=0, steps=(1, 0)), Place(start=6, steps=(0, 1))]
    """
    found: list[Place] = []
    for axis in range(len(shape)):
        stride = math.prod(shape[axis + 1 :])
        outer = tuple(step if step % stride == 0 else 0 for step in place.steps)
        inner = Place(place.start, tuple(a - b for a, b in zip(place.steps, outer, strict=True)))
        least, most = inner.bounds(box)
        row = least // stride
        if most // stride != row:
            return None
        found.append(Place(row, tuple(step // stride for step in outer)))
        place = inner.shift(-row * stride)
    return found


def join(axes: list[Place], shape: Sizes, rank: int) -> Place:
    """The offset of the element at these indices; `rank` is that of the box."""
    start, steps = 0, [0] * rank
    for axis, place in enumerate(axes):
        stride = math.prod(shape[axis + 1 :])
        start += place.start * stride
        steps = [a + b * stride for a, b in zip(steps, place.steps, strict=True)]
    return Place(start, tuple(steps))


def step_back(value: Value, place: Place, box: Sizes) -> tuple[Value, Place] | None:
    """Where an op that moves elements takes these from: a value that it moves, and the place there; None if unknown."""
    if isinstance(value, Reshape):
        return value.operand, place
    axes = split(place, value.tensor.shape, box)
    if axes is None:
        return None
    source: Value
    match value:
        case Slice(operand=source):
            moves = zip(axes, value.start_indices, value.strides, strict=True)
            axes = [axis.scale(stride).shift(start) for axis, start, stride in moves]
        case Reverse(operand=source):
            axes = [
                axis.scale(-1).shift(size - 1) if number in value.dimensions else axis
                for number, (axis, size) in enumerate(zip(axes, source.tensor.shape, strict=True))
            ]
        case Transpose(operand=source):
            axes = [axes[value.permutation.index(axis)] for axis in range(len(axes))]
        case BroadcastInDim(operand=source):
            places = zip(value.broadcast_dimensions, source.tensor.shape, strict=True)
            axes = [axes[axis] if size > 1 else Place(0, (0,) * len(box)) for axis, size in places]
        case Concatenate():
            return _step_into_part(value, axes, box)
        case Pad(operand=source) if not any(value.interior_padding):
            lows = value.edge_padding_low
            axes = [axis.shift(-low) for axis, low in zip(axes, lows, strict=True)]
            found = _inside(axes, source.tensor.shape, box)
            if found is None:
                return None
            if not found:
                return value.padding_value, Place(0, (0,) * len(box))
        case DynamicUpdateSlice():
            shape, size = value.tensor.shape, value.update.tensor.shape
            starts = known_starts(value.start_indices, shape, size)
            if starts is None:
                return None
            moved = [axis.shift(-start) for axis, start in zip(axes, starts, strict=True)]
            found = _inside(moved, size, box)
            if found is None:
                return None
            source, axes = (value.update, moved) if found else (value.operand, axes)
        case Select():
            if value.pred.tensor.rank == 0:
                return None
            choice = _number(value.pred, place, box, [MOST_LOOKS])
            return None if choice is None else (value.on_true if choice else value.on_false, place)
        case _:
            return None
    return source, join(axes, source.tensor.shape, len(box))


def _step_into_part(value: Concatenate, axes: list[Place], box: Sizes) -> tuple[Value, Place] | None:
    begin = 0
    for part in value.operands:
        size = part.tensor.shape[value.dimension]
        least, most = axes[value.dimension].bounds(box)
        if begin <= least and most < begin + size:
            moved = [axis.shift(-begin) if number == value.dimension else axis for number, axis in enumerate(axes)]
            return part, join(moved, part.tensor.shape, len(box))
        begin += size
    return None


def _inside(axes: list[Place], shape: Sizes, box: Sizes) -> bool | None:
    """Whether all points are inside of a shape; None if some are and some are not."""
    is_inside = True
    for axis, size in zip(axes, shape, strict=True):
        least, most = axis.bounds(box)
        if most < 0 or least >= size:
            return False
        is_inside &= least >= 0 and most < size
    return True if is_inside else None


def _number(value: Value, place: Place, box: Sizes, budget: list[int]) -> Any:
    """The one number that a value has at all points, if it is known; else None, also beyond a budget of looks."""
    budget[0] -= 1
    if budget[0] < 0 or value.tensor.is_float:
        return None
    if isinstance(value, Constant):
        if value.is_splat:
            return value.number
        return value.value.array.reshape(-1)[place.start] if not any(place.steps) else None
    if isinstance(value, Iota):
        axes = split(place, value.tensor.shape, box)
        if axes is None or any(axes[value.iota_dimension].steps):
            return None
        return np.asarray(axes[value.iota_dimension].start).astype(value.tensor.numpy_dtype)
    if isinstance(value, Elementwise):
        numbers: list[Any] = []
        for operand in value.operands:
            number = _number(operand, place, box, budget)
            if number is None:
                return None
            numbers.append(number)
        dtypes = [operand.tensor.numpy_dtype for operand in value.operands]
        arrays = [np.asarray(each, dtype) for each, dtype in zip(numbers, dtypes, strict=True)]
        return value.evaluate(*arrays)
    if isinstance(value, MOVEMENTS):
        back = step_back(value, place, box)
        return None if back is None else _number(*back, box, budget)
    return None


# -- the other way ----------------------------------------------------------------------------------------------------


def view(value: Value, place: Place, box: Sizes) -> Value | None:
    """The tensor over a box whose elements are those at the places; None where slices and reshapes don't give it.

    >>> from windlass.ir.values import tensor
    >>> view(tensor("f32", 12), Place(1, (4, 2)), (3, 2)).shape
    (3, 2)
    """
    shape = value.tensor.shape
    axes = split(place, shape, box)
    if axes is None:
        return None
    fine: list[int] = []
    cuts: list[tuple[int, int, int]] = []
    owners: list[int] = []
    for axis, size in zip(axes, shape, strict=True):
        terms = sorted(((step, k) for k, step in enumerate(axis.steps) if step), reverse=True)
        if any(step < 0 or k in owners for step, k in terms):
            return None
        if len(terms) < 2:
            step, k = terms[0] if terms else (1, -1)
            fine.append(size)
            cuts.append((axis.start, axis.start + (box[k] - 1) * step + 1 if terms else axis.start + 1, step))
            owners.append(k)
            continue
        parts = _digits([step for step, _ in terms], axis.start, size)
        if parts is None:
            return None
        for (radix, digit), k in zip(parts, [k for _, k in terms] + [-1], strict=True):
            extent = box[k] if k >= 0 else 1
            if digit + extent > radix:
                return None
            fine.append(radix)
            cuts.append((digit, digit + extent, 1))
            owners.append(k)
    kept = [k for k in owners if k >= 0]
    if any(size > 1 and k not in kept for k, size in enumerate(box)):
        return None
    made: Value = value if tuple(fine) == shape else Reshape(value, tuple(fine))
    if any((start, limit, stride) != (0, size, 1) for (start, limit, stride), size in zip(cuts, fine, strict=True)):
        starts, limits, strides = zip(*cuts, strict=True)
        made = Slice(made, starts, limits, strides)
    sizes = tuple(box[k] for k in kept)
    if made.tensor.shape != sizes:
        made = Reshape(made, sizes)
    order = tuple(sorted(range(len(kept)), key=lambda number: kept[number]))
    if order != tuple(range(len(kept))):
        made = Transpose(made, order)
    return made if made.tensor.shape == box else Reshape(made, box)


def _digits(steps: list[int], start: int, size: int) -> list[tuple[int, int]] | None:
    """An axis cut into axes, one for each step and one for what is within the last: their sizes, and start's index."""
    sizes = [size, *steps]
    found: list[tuple[int, int]] = []
    for whole, part in zip(sizes, [*steps, 1], strict=True):
        if whole % part:
            return None
        found.append((whole // part, start // part))
        start %= part
    return found
