"""Where the elements of an array come from: at which places of other values they are read.

A place of a value is told by an axis of the array that is computed, and a distance: `x[1:-1]` is read one place on.
From this follows which values are read at several places, whether an array may be updated while it is read, and where
the inside of an array ends, in which nothing need be chosen.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

from windlass.ir import Op, TensorType, Value
from windlass.native.tensor_arrays import is_function
from windlass.native.work import DIVIDING, FUNCTION
from windlass.ops.base import BroadcastInDim
from windlass.ops.creation import Constant
from windlass.ops.dynamic_slices import DynamicSlice, DynamicUpdateSlice
from windlass.ops.elementwise import Divide, Remainder
from windlass.ops.functions import Rsqrt, Sqrt
from windlass.ops.movement import Concatenate, Pad, Reshape, Reverse, Slice, Transpose
from windlass.ops.reduction import Reduce

MOST_READS = 4000
LONG_ROW = 64
"""Elements that are worth a thread's beginning and end."""
LONG_RUN = 1024
"""Elements that a thread computes where rows are shorter: a loop over so many of them is not unrolled as a whole."""
Box: TypeAlias = tuple[tuple[int, int], ...]
"""From where to where along each axis."""


@dataclass(frozen=True)
class Along:
    """A place along an axis of what is computed, `offset` further on; further by a value `start`, if there is one."""

    axis: int
    offset: int = 0
    start: Value | None = None

    def moved(self, by: int) -> Along:
        return Along(self.axis, self.offset + by, self.start)


Axes: TypeAlias = tuple[Along | None, ...]
"""For each axis of a value, where it is read; None where that is told otherwise."""


@dataclass(frozen=True)
class Read:
    value: Value
    axes: Axes


class TooManyReads(Exception):
    """A value is computed from so many that they should not be written into one loop."""


def reads_of(value: Value, kept: Collection[Value], axes: Axes | None = None) -> Iterator[Read]:
    """All that an element of the value is computed from, itself first; what is kept in memory is not looked into.

    Raises TooManyReads.
    """
    first = Read(value, tuple(map(Along, range(len(_shape(value))))) if axes is None else axes)
    pending, seen = [first], {first}
    while pending:
        read = pending.pop()
        yield read
        if (read.value in kept and read is not first) or isinstance(read.value, Constant):
            continue
        for each in _operands_of(read):
            if each not in seen:
                seen.add(each)
                pending.append(each)
        if len(seen) > MOST_READS:
            raise TooManyReads


def _shape(value: Value) -> tuple[int, ...]:
    return value.type.shape if isinstance(value.type, TensorType) else ()


def _operands_of(read: Read) -> Iterator[Read]:
    op, axes = read.value, read.axes
    if not isinstance(op, Op):
        return
    arrays: dict[Value, Axes] = {}
    match op:
        case Slice():
            moved = zip(axes, op.start_indices, op.strides, strict=True)
            places = (each.moved(start) if each and step == 1 else None for each, start, step in moved)
            yield Read(op.operand, tuple(places))
            return
        case Pad() if not any(op.interior_padding):
            moved = zip(axes, op.edge_padding_low, strict=True)
            yield Read(op.operand, tuple(each.moved(-low) if each else None for each, low in moved))
            yield _unplaced(op.padding_value)
            return
        case Concatenate():
            start = 0
            for part in op.inputs:
                yield Read(part, _moved(axes, op.dimension, -start))
                start += part.shape[op.dimension]
            return
        case BroadcastInDim():
            pairs = zip(op.operand.shape, op.broadcast_dimensions, strict=True)
            yield Read(op.operand, tuple(None if extent == 1 else axes[axis] for extent, axis in pairs))
            return
        case Transpose():
            yield Read(op.operand, tuple(axes[op.permutation.index(axis)] for axis in range(len(axes))))
            return
        case Reverse():
            yield Read(op.operand, tuple(None if axis in op.dimensions else each for axis, each in enumerate(axes)))
            return
        case Reshape() if only_drops_axes(op):
            kept = iter([each for each, extent in zip(axes, op.shape, strict=True) if extent > 1])
            yield Read(op.operand, tuple(next(kept) if extent > 1 else None for extent in op.operand.shape))
            return
        case DynamicSlice():
            starts = _starts(op.operand.shape, op.start_indices, op.slice_sizes)
            arrays[op.operand] = tuple(_further(each, start) for each, start in zip(axes, starts, strict=True))
        case DynamicUpdateSlice():
            starts = _starts(op.shape, op.start_indices, op.update.shape)
            arrays[op.operand] = axes
            arrays[op.update] = tuple(
                each.moved(-start) if each and isinstance(start, int) else None
                for each, start in zip(axes, starts, strict=True)
            )
        case _ if op.is_elementwise and not op.regions:
            for operand in op.operands:
                yield Read(operand, axes) if len(_shape(operand)) == len(axes) else _unplaced(operand)
            return
        case _:
            pass
    for value in op.operands:
        yield Read(value, arrays[value]) if value in arrays else _unplaced(value)
    for region in op.regions:
        for inner in region.walk():
            yield from map(_unplaced, inner.operands)


def _unplaced(value: Value) -> Read:
    return Read(value, (None,) * len(_shape(value)))


def _moved(axes: Axes, dimension: int, by: int) -> Axes:
    return tuple(each.moved(by) if each and axis == dimension else each for axis, each in enumerate(axes))


def _further(each: Along | None, start: int | Value) -> Along | None:
    if each is None:
        return None
    if isinstance(start, int):
        return each.moved(start)
    return Along(each.axis, each.offset, start) if each.start is None else None


def _starts(shape: Sequence[int], starts: Sequence[Value], sizes: Sequence[int]) -> list[int | Value]:
    """Where a slice begins: a number where that is known."""
    found: list[int | Value] = []
    for start, extent, size in zip(starts, shape, sizes, strict=True):
        last = extent - size
        if last == 0:
            found.append(0)
        elif isinstance(start, Constant):
            found.append(min(max(int(start.number), 0), last))
        else:
            found.append(start)
    return found


def only_drops_axes(op: Reshape) -> bool:
    """Whether only axes of one element come or go."""
    return [each for each in op.operand.shape if each > 1] == [each for each in op.shape if each > 1]


def reads_what_it_replaces(op: DynamicUpdateSlice, names: Collection[Value], kept: Collection[Value]) -> bool:
    """Whether all that an update is computed from of the array, by any of its names, are the elements that it replaces,
    each for itself."""
    starts = _starts(op.shape, op.start_indices, op.update.shape)
    here = tuple(
        Along(axis, start) if isinstance(start, int) else Along(axis, 0, start) for axis, start in enumerate(starts)
    )
    for value in op.start_indices:
        if any(read.value in names for read in reads_of(value, kept)):
            return False
    return all(read.value not in names or read.axes == here for read in reads_of(op.update, kept))


def find_boxes(value: Value, kept: Collection[Value]) -> list[tuple[Box, ...]]:
    """The parts of an array to compute one after the other: alone if they are large, else some together.

    Each has what is read at its places from one part of what was put together.
    """
    shape = _shape(value)
    cuts = [{0, extent} for extent in shape]
    for read in reads_of(value, kept):
        if read.value in kept and read.value is not value:
            continue
        for axis, ends in _ends(read.value):
            along = read.axes[axis]
            if along is not None and along.start is None:
                inside = (end - along.offset for end in ends)
                cuts[along.axis].update(cut for cut in inside if 0 < cut < shape[along.axis])
    widest: list[tuple[int, int]] = []
    for places in cuts:
        ordered = sorted(places)
        widest.append(max(pairwise(ordered), key=lambda pair: pair[1] - pair[0]))
    whole = tuple((0, extent) for extent in shape)
    inside, *rest = _in_runs(tuple(widest))
    large: list[Box] = []
    for box in _around(tuple(widest), whole):
        if 8 * volume(box) > volume(whole):
            begun, *end = _in_runs(box)
            large.append(begun)
            rest += end
        else:
            rest.append(box)
    return [(inside,), *((box,) for box in large), *([tuple(rest)] if rest else [])]


def _in_runs(box: Box) -> list[Box]:
    """The box as one that is so many runs of its first axis, and what is left, which is less than a run."""
    (first, last), *others = box or ((0, 0),)
    _, run = rows_of(box)
    middle = last - ((last - first) % run if run else 0)
    return [box] if middle == last else [((first, middle), *others), ((middle, last), *others)]


def _ends(op: Value) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Where along its axes an op begins to read something else."""
    match op:
        case Pad() if not any(op.interior_padding):
            for axis, (low, extent) in enumerate(zip(op.edge_padding_low, op.operand.shape, strict=True)):
                yield axis, (low, low + extent)
        case Concatenate():
            ends = [0]
            for part in op.inputs:
                ends.append(ends[-1] + part.shape[op.dimension])
            yield op.dimension, tuple(ends)
        case DynamicUpdateSlice():
            starts = _starts(op.shape, op.start_indices, op.update.shape)
            for axis, (start, extent) in enumerate(zip(starts, op.update.shape, strict=True)):
                if isinstance(start, int):
                    yield axis, (start, start + extent)
        case _:
            pass


def _around(inside: Box, whole: Box) -> Iterator[Box]:
    """What of a box is not in another one within it."""
    for axis, ((low, high), (begin, end)) in enumerate(zip(inside, whole, strict=True)):
        for first, last in ((begin, low), (high, end)):
            if first < last:
                yield (*inside[:axis], (first, last), *whole[axis + 1 :])


def volume(box: Box) -> int:
    size = 1
    for first, last in box:
        size *= last - first
    return size


def rows_of(box: Box) -> tuple[int, int]:
    """How many of a box's axes count the threads that compute it; or, where these are none and the box is large, how
    long a run of its first axis is for each thread.
    """
    kept = len(box)
    while kept and volume(box[kept:]) < LONG_ROW:
        kept -= 1
    if kept or volume(box) < 2 * LONG_RUN:
        return kept, 0
    return 0, LONG_RUN // volume(box[1:])


def operations_of(op: Op) -> int:
    """What an element of its result is worth."""
    if isinstance(op, Divide | Remainder | Sqrt | Rsqrt):
        return DIVIDING
    if isinstance(op, Reduce):
        return op.inputs[0].tensor.size // op.tensor.size
    return FUNCTION if is_function(op) else int(op.is_elementwise)


def effort_of(value: Value, kept: Collection[Value]) -> int:
    """Operations for an element of a value, which reads what is kept."""
    try:
        reads = [read.value for read in reads_of(value, kept)]
    except TooManyReads:
        return 1 << 30
    return 1 + sum(operations_of(each) for each in reads if isinstance(each, Op) and each not in kept)
