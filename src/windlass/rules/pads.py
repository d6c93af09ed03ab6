"""Pads: merged, dropped, and turned into slices where they only cut."""

from __future__ import annotations

from windlass.ir import Value
from windlass.ir.values import tensor
from windlass.ops import BroadcastInDim, Constant, Pad, Slice
from windlass.rewriting.pattern import hole
from windlass.rewriting.rule import rewrite

__all__ = ["Constant", "tensor"]

Sizes = tuple[int, ...]

x, fill = hole("x"), hole("fill")
low, high, interior = hole("low"), hole("high"), hole("interior")
inner_low, inner_high, inner_interior = hole("inner_low"), hole("inner_high"), hole("inner_interior")
shape, dimensions = hole("shape"), hole("dimensions")


@rewrite(Pad(x, fill, low, high, interior))
def pad_by_nothing(x: Value, low: Sizes, high: Sizes, interior: Sizes) -> Value | None:
    """pad(x, c, 0, 0) = x

    >>> pad_by_nothing(Pad(tensor("f32", 4), tensor("f32", name="c"), (0,), (0,), (0,)))
    x
    """
    spread = any(gap and size > 1 for gap, size in zip(interior, x.shape, strict=True))
    return None if any(low) or any(high) or spread else x


@rewrite(Pad(x, fill, low, high, interior))
def pad_that_only_cuts(x: Value, low: Sizes, high: Sizes, interior: Sizes) -> Value | None:
    """pad(x, c, -a, -b) = slice(x, a, n - b)

    >>> pad_that_only_cuts(Pad(tensor("f32", 4), tensor("f32", name="c"), (-1,), (0,), (0,)))
    Slice(x, start_indices=(1,), limit_indices=(4,), strides=(1,))
    """
    if any(interior) or not (any(low) or any(high)) or any(edge > 0 for edge in (*low, *high)):
        return None
    limit = tuple(size + edge for size, edge in zip(x.shape, high, strict=True))
    start = tuple(-edge for edge in low)
    if any(a > b for a, b in zip(start, limit, strict=True)):
        return None
    return Slice(x, start, limit, (1,) * len(low))


@rewrite(Pad(Pad(x, fill, inner_low, inner_high, inner_interior), fill, low, high, interior))
def pad_of_pad(
    x: Value,
    fill: Value,
    inner_low: Sizes,
    inner_high: Sizes,
    inner_interior: Sizes,
    low: Sizes,
    high: Sizes,
    interior: Sizes,
) -> Value | None:
    """pad(pad(x, c, a, b), c, d, e) = pad(x, c, a + d, b + e), if nothing is cut and nothing spread

    >>> c = tensor("f32", name="c")
    >>> pad_of_pad(Pad(Pad(tensor("f32", 4), c, (1,), (2,), (0,)), c, (3,), (0,), (0,)))
    Pad(x, c, edge_padding_low=(4,), edge_padding_high=(2,), interior_padding=(0,))
    """
    if any(interior) or any(edge < 0 for edge in (*inner_low, *inner_high, *low, *high)):
        return None
    return Pad(
        x,
        fill,
        tuple(a + d for a, d in zip(inner_low, low, strict=True)),
        tuple(b + e for b, e in zip(inner_high, high, strict=True)),
        inner_interior,
    )


@rewrite(Pad(BroadcastInDim(fill, shape, dimensions), fill, low, high, interior))
def pad_of_padding(op: Pad, fill: Value) -> Value:
    """pad(broadcast(c), c) = broadcast(c) of the larger shape

    >>> c = tensor("f32", name="c")
    >>> pad_of_padding(Pad(BroadcastInDim(c, (2,), ()), c, (1,), (1,), (0,)))
    BroadcastInDim(c, shape=(4,), broadcast_dimensions=())
    """
    return BroadcastInDim(fill, op.shape, ())


@rewrite(Pad(x, fill, low, high, interior))
def pad_of_empty(op: Pad, x: Value, fill: Value) -> Value | None:
    """pad(x, c) = broadcast(c), if x has no elements

    >>> pad_of_empty(Pad(tensor("f32", 0), tensor("f32", name="c"), (1,), (1,), (0,)))
    BroadcastInDim(c, shape=(2,), broadcast_dimensions=())
    """
    return BroadcastInDim(fill, op.shape, ()) if x.tensor.size == 0 else None
