"""Broadcasts: merged, and moved past elementwise ops, so that these work on the smaller array."""

from __future__ import annotations

from windlass.ir import Value
from windlass.ir.values import tensor
from windlass.ops import Add, BroadcastInDim, Constant, Divide, Elementwise, Exponential
from windlass.ops.sampling import Draw
from windlass.rewriting.pattern import any_op, hole
from windlass.rewriting.rule import rewrite

Sizes = tuple[int, ...]

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


@rewrite(any_op(Elementwise), sample=sample_elementwise)
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
    small: list[Value] = []
    for operand in op.operands:
        if isinstance(operand, Constant) and operand.is_splat and operand.shape == op.shape:
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
