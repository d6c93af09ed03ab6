"""Broadcasts: merged, and moved past elementwise ops, so that these work on the smaller array."""

from __future__ import annotations

import math

from windlass.ir import Value
from windlass.ir.values import tensor
from windlass.ops import (
    Add,
    BroadcastInDim,
    Constant,
    Divide,
    Elementwise,
    Exponential,
    Iota,
    Multiply,
    Reshape,
    Transpose,
)
from windlass.ops.sampling import Draw
from windlass.rewriting.pattern import any_op, hole
from windlass.rewriting.rule import rewrite
from windlass.rules.axes import Sizes, match_axes, pick
from windlass.rules.duals import SUMS_AND_PRODUCTS

x, shape, dimensions = hole("x"), hole("shape"), hole("dimensions")
inner_shape, inner_dimensions = hole("inner_shape"), hole("inner_dimensions")


@rewrite(BroadcastInDim(x, shape, dimensions))
def broadcast_to_same_shape(x: Value, shape: Sizes, dimensions: Sizes) -> Value | None:
    """broadcast(x, shape(x)) = x

    >>> broadcast_to_same_shape(BroadcastInDim(tensor("f32", 3), (3,), (0,)))
    x
    """
    return x if x.shape == shape and dimensions == tuple(range(len(shape))) else None


@rewrite(BroadcastInDim(BroadcastInDim(x, inner_shape, inner_dimensions), shape, dimensions))
def broadcast_of_broadcast(x: Value, inner_dimensions: Sizes, shape: Sizes, dimensions: Sizes) -> Value:
    """broadcast(broadcast(x, d), e) = broadcast(x, e∘d)

    >>> inner = BroadcastInDim(tensor("f32", 3), (2, 3), (1,))
    >>> broadcast_of_broadcast(BroadcastInDim(inner, (2, 3, 4), (0, 1)))
    BroadcastInDim(x, shape=(2, 3, 4), broadcast_dimensions=(1,))
    """
    return BroadcastInDim(x, shape, tuple(dimensions[axis] for axis in inner_dimensions))


def sample_elementwise(draw: Draw) -> Elementwise:
    """An elementwise op on broadcasts that may or may not be alike."""
    sizes = draw.shape(1, 2, 1)
    larger = (draw.integer(1, 4), *sizes)
    axes = tuple(range(1, len(larger)))
    x, y = (BroadcastInDim(tensor("f32", *sizes, name=name), larger, axes) for name in "xy")
    other = draw.choose((x, y, Constant.of(draw.integer(-2, 2), "f32", larger), tensor("f32", *larger, name="z")))
    return draw.choose((Add, Divide))(x, other) if draw.boolean() else Exponential(x)


@rewrite(any_op(Elementwise, takes=(BroadcastInDim,)), sample=sample_elementwise)
def elementwise_of_broadcasts(op: Elementwise) -> Value | None:
    """f(broadcast(x), broadcast(y)) = broadcast(f(x, y)), if x and y have one shape and go to the same axes

    Constants join in, since a constant of one value has any shape.

    >>> c = BroadcastInDim(tensor("f32", 3), (2, 3), (1,))
    >>> elementwise_of_broadcasts(Exponential(c))
    BroadcastInDim(Exponential(x), shape=(2, 3), broadcast_dimensions=(1,))
    """
    broadcasts = [operand for operand in op.operands if isinstance(operand, BroadcastInDim)]
    if not broadcasts or broadcasts[0].operand.tensor.size >= op.tensor.size:
        return None
    first = broadcasts[0]
    if first.shape != op.shape:
        return None
    small: list[Value] = []
    for operand in op.operands:
        if not operand.shape:
            small.append(operand)
        elif isinstance(operand, Constant) and operand.is_splat and operand.shape == op.shape:
            small.append(Constant.of(operand.number, operand.dtype, first.operand.shape))
        elif (
            not isinstance(operand, BroadcastInDim)
            or operand.shape != op.shape
            or operand.operand.shape != first.operand.shape
            or operand.broadcast_dimensions != first.broadcast_dimensions
        ):
            return None
        else:
            small.append(operand.operand)
    return BroadcastInDim(op.with_operands(tuple(small)), op.shape, first.broadcast_dimensions)


def sample_elementwise_of_rows(draw: Draw) -> Elementwise:
    """An elementwise op on broadcasts of different axes, that leave one axis over."""
    shape = (4, 3, 2)
    row = BroadcastInDim(tensor("f32", 3, name="x"), shape, (1,))
    column = BroadcastInDim(tensor("f32", 1, 2, name="y"), shape, (1, 2))
    return Add(row, draw.choose((column, BroadcastInDim(tensor("f32", 2, name="z"), shape, (2,)), number_of(shape))))


def number_of(shape: Sizes) -> Value:
    """One number for all elements."""
    return BroadcastInDim(tensor("f32", name="c"), shape, ())


@rewrite(any_op(Elementwise, takes=(BroadcastInDim,)), sample=sample_elementwise_of_rows)
def elementwise_of_unlike_broadcasts(op: Elementwise) -> Value | None:
    """f(broadcast(x), broadcast(y)) = broadcast(f(broadcast(x), broadcast(y))), where an axis is left that neither has

    >>> rows = BroadcastInDim(tensor("f32", 3), (9, 3, 2), (1,)), BroadcastInDim(tensor("f32", 2), (9, 3, 2), (2,))
    >>> elementwise_of_unlike_broadcasts(Add(*rows)).operand.shape
    (3, 2)
    """
    shape = op.shape
    axes: set[int] = set()
    for operand in op.operands:
        if isinstance(operand, BroadcastInDim):
            given = operand.operand.shape
            axes.update(place for place, size in zip(operand.broadcast_dimensions, given, strict=True) if size != 1)
        elif operand.shape and not (isinstance(operand, Constant) and operand.is_splat):
            return None
    kept = sorted(axes)
    sizes = pick(shape, kept)
    if not axes or math.prod(sizes) >= op.tensor.size:
        return None
    small: list[Value] = []
    for operand in op.operands:
        if not operand.shape:
            small.append(operand)
        elif isinstance(operand, Constant):
            small.append(Constant.of(operand.number, operand.dtype, sizes))
        elif isinstance(operand, BroadcastInDim):
            x = operand.operand
            long = [axis for axis, size in enumerate(x.shape) if size != 1]
            if len(long) < len(x.shape):
                x = Reshape(x, pick(x.shape, long))
            small.append(BroadcastInDim(x, sizes, tuple(kept.index(operand.broadcast_dimensions[a]) for a in long)))
    return BroadcastInDim(op.with_operands(tuple(small)), shape, tuple(kept))


@rewrite(BroadcastInDim(Reshape(x, inner_shape), shape, dimensions))
def broadcast_of_reshape(x: Value, inner_shape: Sizes, shape: Sizes, dimensions: Sizes) -> Value | None:
    """broadcast(reshape(x)) = broadcast(x), where the reshape only adds or drops axes of size 1

    >>> broadcast_of_reshape(BroadcastInDim(Reshape(tensor("f32", 3), (1, 3)), (4, 3), (0, 1)))
    BroadcastInDim(x, shape=(4, 3), broadcast_dimensions=(1,))
    """
    place = match_axes(x.shape, inner_shape)
    if place is None:
        return None
    places = {axis: dimensions[new] for axis, new in place.items()}
    free = [axis for axis in range(len(shape)) if axis not in places.values()]
    units = [axis for axis, size in enumerate(x.shape) if size == 1]
    if len(units) > len(free):
        return None
    places.update(zip(units, free, strict=False))
    return BroadcastInDim(x, shape, tuple(places[axis] for axis in range(len(x.shape))))


permutation = hole("permutation")


@rewrite(BroadcastInDim(Transpose(x, permutation), shape, dimensions))
def broadcast_of_transpose(x: Value, permutation: Sizes, shape: Sizes, dimensions: Sizes) -> Value:
    """broadcast(transpose(x, p), d) = broadcast(x, d∘p⁻¹)

    >>> broadcast_of_transpose(BroadcastInDim(Transpose(tensor("f32", 2, 3), (1, 0)), (3, 2, 4), (0, 1)))
    BroadcastInDim(x, shape=(3, 2, 4), broadcast_dimensions=(1, 0))
    """
    return BroadcastInDim(x, shape, tuple(dimensions[permutation.index(axis)] for axis in range(len(permutation))))


dtype, iota_dimension = hole("dtype"), hole("iota_dimension")


@rewrite(BroadcastInDim(Iota(inner_shape, dtype, iota_dimension), shape, dimensions))
def broadcast_of_iota(
    inner_shape: Sizes, dtype: str, iota_dimension: int, shape: Sizes, dimensions: Sizes
) -> Value | None:
    """broadcast(iota) = iota of the larger shape

    >>> broadcast_of_iota(BroadcastInDim(Iota((3,), "i32", 0), (3, 4), (0,)))
    Iota(shape=(3, 4), dtype='i32', iota_dimension=0)
    """
    axis = dimensions[iota_dimension]
    return Iota(shape, dtype, axis) if inner_shape[iota_dimension] == shape[axis] else None


y, z = hole("y"), hole("z")


def sample_twice_broadcast(draw: Draw) -> Add:
    """A matrix combined with two rows, one after the other."""
    shape = (draw.integer(2, 4), 3)
    y, z = (BroadcastInDim(tensor("f32", 3, name=name), shape, (1,)) for name in "yz")
    return Add(Add(tensor("f32", *shape), y), z)


@rewrite(
    Add(Add(x, BroadcastInDim(y, shape, dimensions)), BroadcastInDim(z, shape, dimensions)),
    single_use=True,
    reassociates=True,
    sample=sample_twice_broadcast,
    dual=SUMS_AND_PRODUCTS,
)
def sum_with_two_broadcasts(
    op: Add | Multiply, x: Value, y: Value, z: Value, shape: Sizes, dimensions: Sizes
) -> Value | None:
    """(x + broadcast(y)) + broadcast(z) = x + broadcast(y + z)

    >>> rows = [BroadcastInDim(tensor("f32", 3, name=name), (2, 3), (1,)) for name in "yz"]
    >>> sum_with_two_broadcasts(Add(Add(tensor("f32", 2, 3), rows[0]), rows[1])).rhs
    BroadcastInDim(Add(y, z), shape=(2, 3), broadcast_dimensions=(1,))
    """
    if y.type is not z.type or y.tensor.size >= op.tensor.size:
        return None
    return type(op)(x, BroadcastInDim(type(op)(y, z), shape, dimensions))
