"""Reshapes: merged, dropped, and taken over by what makes their operand."""

from __future__ import annotations

import math

from windlass.ir import Value
from windlass.ir.values import tensor
from windlass.ops import BroadcastInDim, Concatenate, Iota, Reshape, Slice, Transpose
from windlass.ops.sampling import Draw
from windlass.rewriting.pattern import any_op, hole
from windlass.rewriting.rule import rewrite
from windlass.rules.axes import Sizes, group_axes, places_after_reshape

x, shape, inner_shape = hole("x"), hole("shape"), hole("inner_shape")
permutation, dimensions = hole("permutation"), hole("dimensions")
start, limit, strides = hole("start"), hole("limit"), hole("strides")


@rewrite(Reshape(x, shape))
def reshape_to_same_shape(x: Value, shape: Sizes) -> Value | None:
    """reshape(x, shape(x)) = x

    >>> reshape_to_same_shape(Reshape(tensor("f32", 2, 3), (2, 3)))
    x
    """
    return x if x.shape == shape else None


@rewrite(Reshape(Reshape(x, inner_shape), shape))
def reshape_of_reshape(x: Value, shape: Sizes) -> Value:
    """reshape(reshape(x, s), t) = reshape(x, t)

    >>> reshape_of_reshape(Reshape(Reshape(tensor("f32", 2, 3), (6,)), (3, 2)))
    Reshape(x, shape=(3, 2))
    """
    return Reshape(x, shape)


def sample_reshape_of_broadcast(draw: Draw) -> Reshape:
    """A reshape of a broadcast that keeps its new axes apart from its own, mostly."""
    x = tensor("f32", *draw.choose(((3,), (3, 2), (1, 2), (2, 3))))
    larger = (draw.integer(1, 3), 2, *(max(size, 2) for size in x.shape), draw.integer(1, 2))
    wide = BroadcastInDim(x, larger, tuple(range(2, 2 + len(x.shape))))
    merged = (larger[0] * larger[1], *larger[2:-1], larger[-1])
    rows = (*larger[:2], wide.tensor.size // larger[0] // larger[1])
    return Reshape(wide, draw.choose((merged, rows, (1, *larger), (*merged[:-1], 1, merged[-1]))))


@rewrite(Reshape(BroadcastInDim(x, inner_shape, dimensions), shape), sample=sample_reshape_of_broadcast)
def reshape_of_broadcast(x: Value, inner_shape: Sizes, dimensions: Sizes, shape: Sizes) -> Value | None:
    """reshape(broadcast(x)) = broadcast(x), where the axes that repeat and those of x stay apart

    >>> reshape_of_broadcast(Reshape(BroadcastInDim(tensor("f32", 3), (2, 4, 3), (2,)), (8, 1, 3)))
    BroadcastInDim(x, shape=(8, 1, 3), broadcast_dimensions=(2,))
    """
    places = places_after_reshape(x.shape, inner_shape, dimensions, shape)
    return None if places is None else BroadcastInDim(x, shape, places)


@rewrite(Transpose(x, permutation))
def transpose_that_moves_unit_axes(x: Value, permutation: Sizes) -> Value | None:
    """transpose(x, p) = reshape(x), if p keeps the order of the axes longer than 1

    >>> transpose_that_moves_unit_axes(Transpose(tensor("f32", 1, 3), (1, 0)))
    Reshape(x, shape=(3, 1))
    """
    long = [axis for axis in permutation if x.shape[axis] != 1]
    if long != sorted(long) or permutation == tuple(range(len(permutation))):
        return None
    return Reshape(x, tuple(x.shape[axis] for axis in permutation))


@rewrite(BroadcastInDim(x, shape, dimensions))
def broadcast_that_adds_unit_axes(x: Value, shape: Sizes, dimensions: Sizes) -> Value | None:
    """broadcast(x) = reshape(x), if nothing is repeated and the axes keep their order

    >>> broadcast_that_adds_unit_axes(BroadcastInDim(tensor("f32", 3), (1, 3), (1,)))
    Reshape(x, shape=(1, 3))
    """
    if x.shape == shape and dimensions == tuple(range(len(shape))):
        return None
    others = (size for axis, size in enumerate(shape) if axis not in dimensions)
    repeats = any(shape[axis] != size for axis, size in zip(dimensions, x.shape, strict=True))
    if repeats or any(size != 1 for size in others):
        return None
    long = [axis for axis, size in zip(dimensions, x.shape, strict=True) if size != 1]
    return Reshape(x, shape) if long == sorted(long) else None


dtype, dimension = hole("dtype"), hole("dimension")


@rewrite(Reshape(Iota(inner_shape, dtype, dimension), shape))
def reshape_of_iota(inner_shape: Sizes, dtype: str, dimension: int, shape: Sizes) -> Value | None:
    """reshape(iota) = iota, where the axis that counts stays an axis

    >>> reshape_of_iota(Reshape(Iota((4,), "i32", 0), (1, 4)))
    Iota(shape=(1, 4), dtype='i32', iota_dimension=1)
    """
    groups = group_axes(inner_shape, shape)
    for group in groups or ():
        if dimension in group.old:
            return Iota(shape, dtype, group.new[0]) if group.is_single else None
    return None


start, limit, strides = hole("start"), hole("limit"), hole("strides")


def sample_flat_slice(draw: Draw) -> Slice:
    """A slice of a matrix read as one row after the other."""
    rows, columns = draw.integer(2, 4), draw.integer(2, 5)
    flat = Reshape(tensor("f32", rows, columns), (rows * columns,))
    stride = draw.choose((1, columns))
    begin = draw.choose((0, columns, draw.integer(0, rows * columns - 1)))
    end = min(begin + draw.choose((columns, 2, 2 * columns, stride * rows)), rows * columns)
    return Slice(flat, (begin,), (end,), (stride,))


@rewrite(Slice(Reshape(x, shape), start, limit, strides), sample=sample_flat_slice)
def slice_of_flattened(x: Value, start: Sizes, limit: Sizes, strides: Sizes) -> Value | None:
    """slice(reshape(x, flat), a, b, s) = reshape(slice(x)), for whole rows, part of a row, or (s = row) one column

    >>> column = Slice(Reshape(tensor("f32", 4, 5), (20,)), (3,), (20,), (5,))
    >>> slice_of_flattened(column)
    Reshape(Slice(x, start_indices=(0, 3), limit_indices=(4, 4), strides=(1, 1)), shape=(4,))
    """
    if len(x.shape) != 2 or len(start) != 1 or limit[0] <= start[0]:
        return None
    columns = x.shape[1]
    count = -(-(limit[0] - start[0]) // strides[0])
    row, column = divmod(start[0], columns)
    if strides[0] == columns and columns > 1:
        return Reshape(Slice(x, (row, column), (row + count, column + 1), (1, 1)), (count,))
    if strides[0] != 1:
        return None
    if column + count <= columns:
        return Reshape(Slice(x, (row, column), (row + 1, column + count), (1, 1)), (count,))
    if column == 0 and count % columns == 0:
        return Reshape(Slice(x, (row, 0), (row + count // columns, columns), (1, 1)), (count,))
    return None


def sample_reshape_of_slice_of_reshape(draw: Draw) -> Reshape:
    """An array some of whose axes are joined before a slice along one, and the others after it."""
    joined = Reshape(tensor("f32", 2, 3, 2, 2), (6, 2, 2))
    first = draw.integer(0, 2)
    cut = Slice(joined, (first, 0, 0), (first + draw.integer(1, 3), 2, 2), (1, 1, 1))
    return Reshape(cut, (cut.shape[0], 4))


@rewrite(
    Reshape(Slice(Reshape(x, inner_shape), start, limit, strides), shape),
    single_use=True,
    sample=sample_reshape_of_slice_of_reshape,
)
def reshape_of_slice_of_reshape(
    op: Reshape, x: Value, inner_shape: Sizes, start: Sizes, limit: Sizes, strides: Sizes, shape: Sizes
) -> Value | None:
    """reshape(slice(reshape(x), a, b)) = slice(reshape(x), a, b), where the slice keeps all of the axes joined after it

    >>> joined = Reshape(tensor("f32", 2, 3, 2, 2), (6, 2, 2))
    >>> cut = Reshape(Slice(joined, (1, 0, 0), (5, 2, 2), (1, 1, 1)), (4, 4))
    >>> reshape_of_slice_of_reshape(cut)
    Slice(Reshape(x, shape=(6, 4)), start_indices=(1, 0), limit_indices=(5, 4), strides=(1, 1))
    """
    groups = group_axes(op.operand.tensor.shape, shape)
    if groups is None:
        return None
    sizes: list[int] = []
    bounds: list[tuple[int, int, int]] = []
    for group in groups:
        if len(group.new) != 1:
            return None
        if len(group.old) == 1:
            (axis,) = group.old
            sizes.append(inner_shape[axis])
            bounds.append((start[axis], limit[axis], strides[axis]))
            continue
        if any((start[axis], limit[axis], strides[axis]) != (0, inner_shape[axis], 1) for axis in group.old):
            return None
        size = math.prod(inner_shape[axis] for axis in group.old)
        sizes.append(size)
        bounds.append((0, size, 1))
    return Slice(Reshape(x, tuple(sizes)), *(tuple(bound[part] for bound in bounds) for part in range(3)))


# -- stacks -----------------------------------------------------------------------------------------------------------


def _sample_joined_stack(draw: Draw) -> Reshape:
    axis = draw.integer(0, 2)
    parts = tuple(
        Reshape(tensor("f32", 2, 3, name=name), (*(2, 3)[:axis], 1, *(2, 3)[axis:]))
        for name in "abc"[: draw.integer(2, 3)]
    )
    count = len(parts)
    return Reshape(Concatenate(parts, axis), draw.choose(((2 * count, 3), (2, 3 * count))))


@rewrite(Reshape(any_op(Concatenate), shape), single_use=True, sample=_sample_joined_stack)
def reshape_of_stack(op: Reshape, shape: Sizes) -> Value | None:
    """reshape(stack(x, y)) = concatenate(x, y), if that joins the axis of the stack with the one after it

    >>> x, y = tensor("f32", 4, 3), tensor("f32", 4, 3, name="y")
    >>> reshape_of_stack(Reshape(Concatenate((Reshape(x, (1, 4, 3)), Reshape(y, (1, 4, 3))), 0), (8, 3)))
    Concatenate((x, y), dimension=0)
    """
    stack = op.operand
    assert isinstance(stack, Concatenate)
    axis, parts = stack.dimension, [part for part in stack.inputs if isinstance(part, Reshape)]
    if len(parts) < len(stack.inputs) or axis >= len(shape) or len(shape) != stack.tensor.rank - 1:
        return None
    whole = (*stack.shape[:axis], *stack.shape[axis + 1 :])
    joined = tuple(size * len(parts) if each == axis else size for each, size in enumerate(whole))
    if shape != joined or any(part.operand.shape != whole for part in parts):
        return None
    return Concatenate(tuple(part.operand for part in parts), axis)
