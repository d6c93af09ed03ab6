"""Transposes: merged, and dropped where they keep the order."""

from __future__ import annotations

from windlass.ir import Value
from windlass.ir.values import tensor
from windlass.ops import BroadcastInDim, Constant, Iota, Pad, Reshape, Reverse, Transpose
from windlass.ops.sampling import Draw
from windlass.rewriting.pattern import hole
from windlass.rewriting.rule import rewrite
from windlass.rules.axes import Sizes, group_axes, invert, match_axes, pick

__all__ = ["Constant", "tensor"]

x, p, q = hole("x"), hole("p"), hole("q")
shape, out, dimensions = hole("shape"), hole("out"), hole("dimensions")
dtype, fill = hole("dtype"), hole("fill")
low, high, interior = hole("low"), hole("high"), hole("interior")


@rewrite(Transpose(x, p))
def transpose_in_order(x: Value, p: Sizes) -> Value | None:
    """transpose(x, identity) = x

    >>> transpose_in_order(Transpose(tensor("f32", 2, 3), (0, 1)))
    x
    """
    return x if p == tuple(range(len(p))) else None


@rewrite(Transpose(Transpose(x, p), q))
def transpose_of_transpose(x: Value, p: Sizes, q: Sizes) -> Value:
    """transpose(transpose(x, p), q) = transpose(x, p∘q)

    >>> x = tensor("f32", 2, 3, 4)
    >>> transpose_of_transpose(Transpose(Transpose(x, (2, 0, 1)), (1, 0, 2)))
    Transpose(x, permutation=(0, 2, 1))
    """
    return Transpose(x, tuple(p[axis] for axis in q))


@rewrite(Transpose(BroadcastInDim(x, shape, dimensions), p))
def transpose_of_broadcast(op: Transpose, x: Value, dimensions: Sizes, p: Sizes) -> Value:
    """transpose(broadcast(x, d), p) = broadcast(x, p⁻¹∘d)

    >>> transpose_of_broadcast(Transpose(BroadcastInDim(tensor("f32", 3), (2, 3), (1,)), (1, 0)))
    BroadcastInDim(x, shape=(3, 2), broadcast_dimensions=(0,))
    """
    return BroadcastInDim(x, op.shape, tuple(p.index(axis) for axis in dimensions))


@rewrite(Transpose(Iota(shape, dtype, dimensions), p))
def transpose_of_iota(op: Transpose, dtype: str, dimensions: int, p: Sizes) -> Value:
    """transpose(iota, p) = iota of the transposed shape

    >>> transpose_of_iota(Transpose(Iota((2, 3), "i32", 1), (1, 0)))
    Iota(shape=(3, 2), dtype='i32', iota_dimension=0)
    """
    return Iota(op.shape, dtype, p.index(dimensions))


@rewrite(Transpose(Reverse(x, dimensions), p), single_use=True)
def transpose_of_reverse(x: Value, dimensions: Sizes, p: Sizes) -> Value | None:
    """transpose(reverse(x, d), p) = reverse(transpose(x, p), p⁻¹(d))

    >>> transpose_of_reverse(Transpose(Reverse(tensor("f32", 2, 3), (0,)), (1, 0)))
    Reverse(Transpose(x, permutation=(1, 0)), dimensions=(1,))
    """
    return Reverse(Transpose(x, p), tuple(p.index(axis) for axis in dimensions))


@rewrite(Transpose(Pad(x, fill, low, high, interior), p), single_use=True)
def transpose_of_pad(
    op: Transpose, x: Value, fill: Value, low: Sizes, high: Sizes, interior: Sizes, p: Sizes
) -> Value | None:
    """transpose(pad(x, c), p) = pad(transpose(x, p), c), which moves fewer elements

    >>> padded = Pad(tensor("f32", 2, 3), Constant.of(0, "f32"), (1, 0), (0, 0), (0, 0))
    >>> transpose_of_pad(Transpose(padded, (1, 0))).operand
    Transpose(x, permutation=(1, 0))
    """
    if x.tensor.size >= op.tensor.size:
        return None
    return Pad(Transpose(x, p), fill, pick(low, p), pick(high, p), pick(interior, p))


def sample_transpose_of_reshape(draw: Draw) -> Transpose:
    """A transpose of an array that got axes of size 1, or whose axes were split and stay together."""
    x = tensor("f32", 4, 3, 2)
    reshaped = Reshape(x, draw.choose(((4, 1, 3, 2), (2, 2, 3, 2), (4, 3, 1, 1, 2), (12, 2))))
    return Transpose(reshaped, draw.permutation(len(reshaped.shape)))


@rewrite(Transpose(Reshape(x, shape), p), single_use=True, sample=sample_transpose_of_reshape)
def transpose_of_reshape(op: Transpose, x: Value, shape: Sizes, p: Sizes) -> Value | None:
    """transpose(reshape(x), p) = reshape(transpose(x, q)), if p keeps together the axes that each axis of x became

    >>> transpose_of_reshape(Transpose(Reshape(tensor("f32", 4, 6), (4, 2, 3)), (1, 2, 0)))
    Reshape(Transpose(x, permutation=(1, 0)), shape=(2, 3, 4))
    """
    groups = group_axes(x.shape, shape)
    if groups is None:
        return None
    place = invert(p)
    order: list[tuple[int, Sizes]] = []
    for group in groups:
        # Axes of size 1 may stand anywhere: they don't keep a group together, nor apart.
        places = [place[axis] for axis in group.new if shape[axis] != 1]
        between = [p[index] for index in range(min(places, default=0), max(places, default=-1) + 1)]
        strangers = [axis for axis in between if axis not in group.new and shape[axis] != 1]
        if places != sorted(places) or strangers:
            return None
        order.append((min(places, default=-1), group.old))
    inner = tuple(axis for _, axes in sorted(order, key=lambda item: item[0]) for axis in axes)
    if inner == tuple(range(len(inner))):
        return Reshape(x, op.shape)
    return Reshape(Transpose(x, inner), op.shape)


LARGEST_SHUFFLED = 1 << 12
"""Elements: the last axis of larger arrays is moved faster by a transpose of its own. (XLA:CPU, 64×48×100 floats with
the last axis first: 52 µs by a transpose, 83 µs by a broadcast; with the last axis left where it is there is no
difference.)"""


def sample_reshaped_transpose(draw: Draw) -> Reshape:
    """A transpose that gets axes of size 1."""
    x = tensor("f32", *(draw.choose((1, 2, 3)) for _ in range(3)))
    moved = Transpose(x, draw.permutation(3))
    shape = [size for size in moved.shape if size != 1]
    for _ in range(3):
        shape.insert(draw.integer(0, len(shape)), 1)
    return Reshape(moved, tuple(shape))


@rewrite(Reshape(Transpose(x, p), shape), single_use=True, last=True, sample=sample_reshaped_transpose)
def unit_axes_of_transpose(op: Reshape, x: Value, shape: Sizes, p: Sizes) -> Value | None:
    """reshape(transpose(x)) = broadcast(x), if the reshape only adds axes of size 1: one op in place of two

    >>> unit_axes_of_transpose(Reshape(Transpose(tensor("f32", 3, 4), (1, 0)), (4, 1, 3)))
    BroadcastInDim(x, shape=(4, 1, 3), broadcast_dimensions=(2, 0))
    """
    moved = pick(x.shape, p)
    places = match_axes(moved, shape)
    if places is None:
        return None
    free = [axis for axis in range(len(shape)) if axis not in places.values()]
    units = [axis for axis, size in enumerate(moved) if size == 1]
    if len(units) > len(free):
        return None
    places.update(zip(units, free, strict=False))
    dimensions = tuple(places[axis] for axis in invert(p))
    long = [place for place, size in zip(dimensions, x.shape, strict=True) if size != 1]
    if not long or (x.tensor.size > LARGEST_SHUFFLED and long[-1] != max(long)):
        return None
    return BroadcastInDim(x, shape, dimensions)


def sample_reshape_of_transpose(draw: Draw) -> Reshape:
    """Axes that were split, permuted, and of which some are joined again."""
    split_axes = Reshape(tensor("f32", 4, 6), (2, 2, 3, 2))
    permutation = draw.choose(((0, 1, 3, 2), (3, 0, 1, 2), (2, 3, 0, 1), (2, 3, 1, 0)))
    moved = Transpose(split_axes, permutation)
    wanted = {(0, 1, 3, 2): (4, 2, 3), (3, 0, 1, 2): (2, 4, 3), (2, 3, 0, 1): (6, 4), (2, 3, 1, 0): (6, 2, 2)}
    return Reshape(moved, wanted[permutation])


@rewrite(Reshape(Transpose(Reshape(x, shape), p), out), single_use=True, sample=sample_reshape_of_transpose)
def reshape_of_transpose_of_reshape(x: Value, shape: Sizes, p: Sizes, out: Sizes) -> Value | None:
    """reshape(transpose(reshape(x), p)) = transpose(reshape(x), q), if axes are joined that are neighbours in x

    >>> split_axes = Transpose(Reshape(tensor("f32", 4, 6), (2, 2, 6)), (2, 0, 1))
    >>> reshape_of_transpose_of_reshape(Reshape(split_axes, (6, 4)))
    Transpose(Reshape(x, shape=(4, 6)), permutation=(1, 0))
    """
    groups = group_axes(pick(shape, p), out)
    if groups is None:
        return None
    # For each axis of the result: the axes that it was, as they stand before the transpose.
    owners: list[tuple[Sizes, int]] = []
    for group in groups:
        own = pick(p, group.old)
        if len(group.new) != 1 or own != tuple(range(own[0], own[0] + len(own)) if own else ()):
            return None
        owners.append((own, out[group.new[0]]))
    if len({own[0] if own else -1 for own, _ in owners}) < len(owners):
        return None
    order = sorted(range(len(owners)), key=lambda axis: owners[axis][0] or (-1,))
    inner = Reshape(x, tuple(owners[axis][1] for axis in order))
    return Transpose(inner, invert(order))
