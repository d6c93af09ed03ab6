"""Dynamic slices of padded, reversed and joined arrays: only what is asked for is moved."""

from __future__ import annotations

from windlass.facts.ranges import range_of
from windlass.ir import Value
from windlass.ir.values import tensor
from windlass.ops import Add, Concatenate, Constant, DynamicSlice, Pad, Reverse, Subtract
from windlass.ops.sampling import Draw
from windlass.rewriting.pattern import hole
from windlass.rewriting.rule import rewrite
from windlass.rules.axes import Sizes, replace
from windlass.rules.dynamic_slices import can_hold, clamped, small_number, some_starts

__all__ = ["Add", "tensor"]

x, fill, inputs = hole("x"), hole("fill"), hole("inputs")
low, high, interior = hole("low"), hole("high"), hole("interior")
starts, sizes, dimension, dimensions = hole("starts"), hole("sizes"), hole("dimension"), hole("dimensions")


def moved_start(start: Value, by: int) -> Value:
    """An index that is less by a number, where it doesn't fall below 0."""
    if by == 0:
        return start
    if isinstance(start, Constant):
        return Constant.of(int(start.number) - by, start.dtype)
    return Subtract(start, Constant.of(by, start.dtype))


def sample_part_of_padded(draw: Draw) -> DynamicSlice:
    """A part of a padded array, beside the padding or not."""
    padded = Pad(tensor("f32", 6, 2), Constant.of(0, "f32"), (draw.integer(0, 2), 0), (draw.integer(0, 2), 1), (0, 0))
    i = draw.choose((small_number("i", 1), Add(small_number("i", 3), Constant.of(draw.integer(1, 2), "i32"))))
    return DynamicSlice(padded, (i, Constant.of(0, "i32")), (draw.integer(1, 4), draw.integer(1, 3)))


@rewrite(
    DynamicSlice(Pad(x, fill, low, high, interior), starts, sizes),
    single_use=True,
    by_cost=True,
    sample=sample_part_of_padded,
)
def dynamic_slice_within_padded(
    x: Value, low: Sizes, interior: Sizes, starts: tuple[Value, ...], sizes: Sizes
) -> Value | None:
    """dynamic_slice(pad(x, c, low), i, s) = dynamic_slice(x, i - low, s), where all of it lies within x

    >>> padded = Pad(tensor("f32", 9), Constant.of(0, "f32"), (1,), (2,), (0,))
    >>> start = Add(small_number("i", 3), Constant.of(1, "i32"))
    >>> dynamic_slice_within_padded(DynamicSlice(padded, (start,), (2,))).operand
    x
    """
    if any(interior):
        return None
    first: list[Value] = []
    for start, edge, extent, size in zip(starts, low, x.shape, sizes, strict=True):
        if edge < 0 or not range_of(start).lies_within(edge, edge + extent - size):
            return None
        first.append(moved_start(start, edge))
    return DynamicSlice(x, tuple(first), sizes)


def sample_part_of_joined(draw: Draw) -> DynamicSlice:
    """A part of arrays that are joined along an axis that is cut, or another."""
    axis = draw.integer(0, 1)
    joined = Concatenate((tensor("f32", 6, 6), tensor("f32", 6, 6, name="y")), axis)
    if draw.boolean():
        whole = tuple(size if place == axis else draw.integer(1, 3) for place, size in enumerate(joined.shape))
        return DynamicSlice(joined, some_starts(2), whole)
    i = draw.choose((small_number("i", 3), Add(small_number("i", 3), Constant.of(draw.integer(3, 6), "i32"))))
    j = tensor("i32", name="j")
    return DynamicSlice(joined, (i, j) if axis == 0 else (j, i), (draw.integer(1, 3), draw.integer(1, 3)))


@rewrite(DynamicSlice(Concatenate(inputs, dimension), starts, sizes), single_use=True, sample=sample_part_of_joined)
def dynamic_slice_of_concatenate_aside(
    op: DynamicSlice, inputs: tuple[Value, ...], dimension: int, starts: tuple[Value, ...], sizes: Sizes
) -> Value | None:
    """dynamic_slice(concatenate(x, y), i, s) = concatenate(dynamic_slice(x, i), dynamic_slice(y, i)), cut elsewhere

    >>> joined = Concatenate((tensor("f32", 9, 2), tensor("f32", 9, 3, name="y")), 1)
    >>> cut = DynamicSlice(joined, (tensor("i32", name="i"), Constant.of(0, "i32")), (1, 5))
    >>> [part.shape for part in dynamic_slice_of_concatenate_aside(cut).inputs]
    [(1, 2), (1, 3)]
    """
    if sizes[dimension] != op.operand.shape[dimension] or not 0 < 2 * op.tensor.size <= op.operand.tensor.size:
        return None
    parts = [DynamicSlice(part, starts, replace(sizes, dimension, part.shape[dimension])) for part in inputs]
    return Concatenate(tuple(parts), dimension)


@rewrite(
    DynamicSlice(Concatenate(inputs, dimension), starts, sizes),
    single_use=True,
    by_cost=True,
    sample=sample_part_of_joined,
)
def dynamic_slice_of_part_of_concatenate(
    inputs: tuple[Value, ...], dimension: int, starts: tuple[Value, ...], sizes: Sizes
) -> Value | None:
    """dynamic_slice(concatenate(x, y), n + i, s) = dynamic_slice(y, i, s), where it lies within y

    >>> joined = Concatenate((tensor("f32", 4), tensor("f32", 9, name="y")), 0)
    >>> start = Add(small_number("i", 3), Constant.of(4, "i32"))
    >>> dynamic_slice_of_part_of_concatenate(DynamicSlice(joined, (start,), (2,))).operand
    y
    """
    known = range_of(starts[dimension])
    first = 0
    for part in inputs:
        extent = part.shape[dimension]
        if known.lies_within(first, first + extent - sizes[dimension]):
            moved = moved_start(starts[dimension], first)
            return DynamicSlice(part, (*starts[:dimension], moved, *starts[dimension + 1 :]), sizes)
        first += extent
    return None


def sample_part_of_reversed(draw: Draw) -> DynamicSlice:
    """A small part of a reversed array."""
    x = tensor("f32", 40, 30)
    at = draw.choose((some_starts(2), (small_number("i", 3), Constant.of(draw.integer(0, 3), "i32"))))
    return DynamicSlice(Reverse(x, draw.choose(((0,), (1,), (0, 1)))), at, (draw.integer(1, 3), draw.integer(1, 30)))


@rewrite(
    DynamicSlice(Reverse(x, dimensions), starts, sizes), single_use=True, by_cost=True, sample=sample_part_of_reversed
)
def dynamic_slice_of_reverse(
    op: DynamicSlice, x: Value, dimensions: Sizes, starts: tuple[Value, ...], sizes: Sizes
) -> Value | None:
    """dynamic_slice(reverse(x), i, s) = reverse(dynamic_slice(x, n - s - clamp(0, i, n - s), s))

    >>> cut = DynamicSlice(Reverse(tensor("f32", 9), (0,)), (small_number("i", 3),), (2,))
    >>> dynamic_slice_of_reverse(cut)
    Reverse(DynamicSlice(x, (Subtract(Constant(7), And(i, Constant(3))),), slice_sizes=(2,)), dimensions=(0,))
    """
    if op.tensor.size >= x.tensor.size or not can_hold(starts[0].dtype, max(x.shape)):
        return None
    first = list(starts)
    for axis in dimensions:
        latest = x.shape[axis] - sizes[axis]
        if latest:
            first[axis] = Subtract(Constant.of(latest, starts[axis].dtype), clamped(starts[axis], latest))
    kept = tuple(axis for axis in dimensions if sizes[axis] != 1)
    part = DynamicSlice(x, tuple(first), sizes)
    return Reverse(part, kept) if kept else part
