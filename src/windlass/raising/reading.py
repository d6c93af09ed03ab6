"""Emission of loads: from a layout to slices, reverses, pads, selects and, where nothing else will do, gathers."""

from __future__ import annotations

from collections.abc import Sequence

from windlass.affine.dimensions import Box, Dimension
from windlass.affine.layout import Axis, Layout, Line, Point, Segments, Take, Window
from windlass.affine.pieces import Piece
from windlass.ir import Value
from windlass.ops.dynamic_slices import DynamicSlice
from windlass.ops.elementwise import Or, Select
from windlass.raising import emission
from windlass.raising.gathers import gather_axis
from windlass.raising.lanes import Lanes
from windlass.raising.materialize import dtype_of_places, scalar_start


def read(memory: Value, layout: Layout, box: Box) -> Lanes:
    """What lanes read that go through flat memory as the layout says."""
    value = shape_memory(memory, layout)
    value, axes = _read_windows(value, layout.axes, box)
    value = _cut(value, axes, box)
    value = _lay_lines(value, axes, box)
    shape: list[int] = []
    dims: list[Dimension] = []
    for place in reversed(range(len(axes))):
        axis = axes[place]
        own = axis.dims
        if isinstance(axis.way, Segments):
            value = _join_pieces(value, place, axis.way, box)
        elif isinstance(axis.way, Take):
            value, own = gather_axis(value, place, axis.way.index, box)
        dims = [*own, *dims]
        shape = [*box.shape(own), *shape]
    value = emission.reshape(value, shape)
    value = emission.reverse(value, [dims.index(each) for axis in axes for each in _downward(axis)])
    return laid_over(value, dims, box)


def laid_over(value: Value, dims: Sequence[Dimension], box: Box) -> Lanes:
    """Lanes from a tensor whose axes go along dimensions in any order."""
    order = sorted(range(len(dims)), key=lambda place: dims[place].key)
    return Lanes.over(emission.transpose(value, order), [dims[place] for place in order], box)


def shape_memory(memory: Value, layout: Layout) -> Value:
    """Flat memory in the shape of the layout's axes; cut where it is longer, zeros where it is shorter."""
    size = memory.shape[0]
    start, stop = layout.start, layout.start + layout.count
    value = emission.take_slice(memory, [max(start, 0)], [min(stop, size)])
    value = emission.pad(value, [max(-start, 0)], [max(stop - size, 0)])
    return emission.reshape(value, [axis.size for axis in layout.axes])


def starts_of_windows(value: Value, axes: Sequence[Axis], box: Box) -> tuple[Value, ...]:
    """Where the windows begin, as scalars for a dynamic slice; 0 along axes without one."""
    dtype = dtype_of_places(max(value.shape))
    return tuple(
        scalar_start(axis.way.start, box, axis.size, dtype)
        if isinstance(axis.way, Window)
        else emission.constant(0, dtype)
        for axis in axes
    )


def _read_windows(value: Value, axes: Sequence[Axis], box: Box) -> tuple[Value, list[Axis]]:
    """Dynamic slices first; then each window is the whole axis."""
    if not any(isinstance(axis.way, Window) for axis in axes):
        return value, list(axes)
    sizes = [axis.way.size if isinstance(axis.way, Window) else axis.size for axis in axes]
    if tuple(sizes) != value.shape:
        value = DynamicSlice(value, starts_of_windows(value, axes, box), tuple(sizes))
    inner = [Axis(axis.way.size, axis.way.inner) if isinstance(axis.way, Window) else axis for axis in axes]
    return value, inner


def _downward(axis: Axis) -> tuple[Dimension, ...]:
    return axis.way.reversed if isinstance(axis.way, Line) else ()


def lanes_inside(line: Line, size: int, box: Box) -> tuple[int, int]:
    """Which of a line's places lie inside of an axis, as a half-open range of their numbers."""
    part = Piece(0, box.count(line.dims), line.step, line.first).within(size)
    return part.lower, part.upper


def _cut(value: Value, axes: Sequence[Axis], box: Box) -> Value:
    """One slice for all axes: what any lane needs."""
    starts: list[int] = []
    limits: list[int] = []
    strides: list[int] = []
    for axis in axes:
        start, limit, stride = 0, axis.size, 1
        match axis.way:
            case Point():
                start, limit = axis.way.position, axis.way.position + 1
            case Line():
                first, last = lanes_inside(axis.way, axis.size, box)
                stride = axis.way.step
                start = axis.way.first + first * stride if last > first else 0
                limit = start + (last - first - 1) * stride + 1 if last > first else 0
            case Segments():
                start, limit = _hull(axis.way)
            case _:
                pass
        starts.append(start)
        limits.append(limit)
        strides.append(stride)
    return emission.take_slice(value, starts, limits, strides)


def _lay_lines(value: Value, axes: Sequence[Axis], box: Box) -> Value:
    """Zeros for the lanes of lines that lie outside."""
    low, high = [0] * len(axes), [0] * len(axes)
    for place, axis in enumerate(axes):
        if isinstance(axis.way, Line):
            first, last = lanes_inside(axis.way, axis.size, box)
            low[place] = first if last > first else 0
            high[place] = box.count(axis.way.dims) - value.shape[place] - low[place]
    return emission.pad(value, low, high)


def _hull(way: Segments) -> tuple[int, int]:
    return min(piece.least for piece in way.pieces), max(piece.most for piece in way.pieces) + 1


# -- pieces -----------------------------------------------------------------------------------------------------------


def _join_pieces(value: Value, axis: int, way: Segments, box: Box) -> Value:
    """The pieces side by side. The axis holds the hull of what they need.

    Each is padded to the whole and selected where it belongs: on CPU XLA runs that many times faster than a
    concatenation.
    """
    start, _ = _hull(way)
    lower, upper = box.bounds(way.dimension)
    main = max(way.pieces, key=lambda piece: (piece.stride != 0, piece.extent))
    result = _laid_piece(value, axis, main, start, lower, upper)
    for piece in way.pieces:
        if piece is not main:
            laid = _laid_piece(value, axis, piece, start, lower, upper)
            result = Select(_is_in_range(result, axis, piece.lower - lower, piece.upper - lower), laid, result)
    return result


def _laid_piece(value: Value, axis: int, piece: Piece, start: int, lower: int, upper: int) -> Value:
    """A piece at its lanes out of [lower, upper); anything at the others."""
    if piece.stride:
        return emission.pad_axis(
            _slice_of_piece(value, axis, piece, start), axis, piece.lower - lower, upper - piece.upper
        )
    edge = emission.slice_axis(value, axis, piece.first - start, piece.first - start + 1)
    shape = list(value.shape)
    shape[axis] = upper - lower
    return emission.broadcast(edge, shape, range(len(shape)))


def _slice_of_piece(value: Value, axis: int, piece: Piece, start: int) -> Value:
    """The piece's places, in the order of lanes."""
    part = emission.slice_axis(value, axis, piece.least - start, piece.most - start + 1, abs(piece.stride))
    return emission.reverse(part, [axis]) if piece.stride < 0 else part


def _is_in_range(value: Value, axis: int, lower: int, upper: int) -> Value:
    """Whether the place along an axis is in [lower, upper)."""
    size = value.shape[axis]
    places = emission.iota(value.shape, dtype_of_places(size), axis)
    if lower <= 0 and upper >= size:
        return emission.constant(True, "i1", value.shape)
    if lower <= 0:
        return emission.compare_with(places, "LT", upper)
    if upper >= size:
        return emission.compare_with(places, "GE", lower)
    if upper == lower + 1:
        return emission.compare_with(places, "EQ", lower)
    outside = Or(emission.compare_with(places, "LT", lower), emission.compare_with(places, "GE", upper))
    return emission.negate(outside)
