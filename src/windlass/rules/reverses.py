"""Reversals: merged, dropped where they change nothing, and done on fewer elements."""

from __future__ import annotations

from windlass.ir import Value
from windlass.ir.values import tensor
from windlass.ops import BroadcastInDim, Constant, Pad, Reshape, Reverse
from windlass.rewriting.pattern import hole
from windlass.rewriting.rule import rewrite
from windlass.rules.axes import Sizes, group_axes

__all__ = ["Constant", "tensor"]

x, dimensions, inner_dimensions = hole("x"), hole("dimensions"), hole("inner_dimensions")
shape, fill = hole("shape"), hole("fill")
low, high, interior = hole("low"), hole("high"), hole("interior")


@rewrite(Reverse(x, dimensions))
def reverse_of_unit_axes(x: Value, dimensions: Sizes) -> Value | None:
    """reverse(x, d) = x, if no axis in d is longer than 1

    >>> reverse_of_unit_axes(Reverse(tensor("f32", 1), (0,)))
    x
    """
    return None if any(x.shape[axis] > 1 for axis in dimensions) else x


@rewrite(Reverse(Reverse(x, inner_dimensions), dimensions))
def reverse_of_reverse(x: Value, inner_dimensions: Sizes, dimensions: Sizes) -> Value:
    """reverse(reverse(x, d), e) = reverse(x, the axes in just one of d and e)

    >>> reverse_of_reverse(Reverse(Reverse(tensor("f32", 2, 3), (0, 1)), (1,)))
    Reverse(x, dimensions=(0,))
    """
    once = tuple(sorted(set(inner_dimensions) ^ set(dimensions)))
    return Reverse(x, once) if once else x


@rewrite(Reverse(BroadcastInDim(x, shape, inner_dimensions), dimensions))
def reverse_of_broadcast(
    op: Reverse, x: Value, shape: Sizes, inner_dimensions: Sizes, dimensions: Sizes
) -> Value | None:
    """reverse(broadcast(x)) = broadcast(reverse(x)), reversed along just those axes that x has

    >>> reverse_of_broadcast(Reverse(BroadcastInDim(tensor("f32", 3), (2, 3), (1,)), (0,)))
    BroadcastInDim(x, shape=(2, 3), broadcast_dimensions=(1,))
    """
    own = tuple(axis for axis, place in enumerate(inner_dimensions) if place in dimensions and x.shape[axis] > 1)
    if own and x.tensor.size >= op.tensor.size:
        return None
    return BroadcastInDim(Reverse(x, own) if own else x, shape, inner_dimensions)


@rewrite(Reverse(Pad(x, fill, low, high, interior), dimensions), single_use=True)
def reverse_of_pad(
    op: Reverse, x: Value, fill: Value, low: Sizes, high: Sizes, interior: Sizes, dimensions: Sizes
) -> Value | None:
    """reverse(pad(x, c, l, h)) = pad(reverse(x), c, h, l), which moves fewer elements

    >>> padded = Pad(tensor("f32", 3), Constant.of(0, "f32"), (1,), (0,), (0,))
    >>> reverse_of_pad(Reverse(padded, (0,))).edge_padding_high
    (1,)
    """
    if x.tensor.size >= op.tensor.size:
        return None
    first = tuple(high[axis] if axis in dimensions else low[axis] for axis in range(len(low)))
    last = tuple(low[axis] if axis in dimensions else high[axis] for axis in range(len(low)))
    return Pad(Reverse(x, dimensions), fill, first, last, interior)


@rewrite(Reverse(Reshape(x, shape), dimensions), single_use=True)
def reverse_of_reshape(x: Value, shape: Sizes, dimensions: Sizes) -> Value | None:
    """reverse(reshape(x)) = reshape(reverse(x)), where the reversed axes are those of x too

    >>> reverse_of_reshape(Reverse(Reshape(tensor("f32", 4, 6), (4, 2, 3)), (0,)))
    Reshape(Reverse(x, dimensions=(0,)), shape=(4, 2, 3))
    """
    groups = group_axes(x.shape, shape)
    if groups is None:
        return None
    own: list[int] = []
    for group in groups:
        reversed_axes = [axis for axis in group.new if axis in dimensions and shape[axis] > 1]
        if not reversed_axes:
            continue
        if reversed_axes != [axis for axis in group.new if shape[axis] > 1]:
            return None
        own += group.old
    return Reshape(Reverse(x, tuple(own)), shape)
