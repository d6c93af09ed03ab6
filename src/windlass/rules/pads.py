"""Pads: merged, dropped, and turned into slices where they only cut."""

from __future__ import annotations

from windlass.ir import Value
from windlass.ir.values import tensor
from windlass.ops import Add, BroadcastInDim, Concatenate, Constant, Convert, Pad, Reshape, Slice
from windlass.ops.sampling import Draw
from windlass.rewriting.pattern import any_op, every, hole
from windlass.rewriting.rule import rewrite
from windlass.rules.axes import Sizes, group_axes, replace

__all__ = ["Constant", "tensor"]

x, fill = hole("x"), hole("fill")
low, high, interior = hole("low"), hole("high"), hole("interior")
inner_low, inner_high, inner_interior = hole("inner_low"), hole("inner_high"), hole("inner_interior")
shape = hole("shape")


@rewrite(Pad(x, fill, low, high, interior))
def pad_by_nothing(x: Value, low: Sizes, high: Sizes, interior: Sizes) -> Value | None:
    """pad(x, c, 0, 0) = x

    >>> pad_by_nothing(Pad(tensor("f32", 4), tensor("f32", name="c"), (0,), (0,), (0,)))
    x
    """
    spread = any(gap and size > 1 for gap, size in zip(interior, x.shape, strict=True))
    return None if any(low) or any(high) or spread else x


@rewrite(Pad(x, fill, low, high, interior))
def pad_of_nothing(op: Pad, x: Value, fill: Value) -> Value | None:
    """pad(x, c) = broadcast(c), if x has no elements

    >>> pad_of_nothing(Pad(tensor("f32", 0, 4), tensor("f32", name="c"), (2, 0), (0, 0), (0, 0)))
    BroadcastInDim(c, shape=(2, 4), broadcast_dimensions=())
    """
    return None if x.tensor.size else BroadcastInDim(fill, op.shape, ())


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
    """pad(pad(x, c, a, b), c, d, e) = pad(x, c, a + d, b + e), if the outer one adds nothing where the inner one cuts

    >>> c = tensor("f32", name="c")
    >>> pad_of_pad(Pad(Pad(tensor("f32", 4), c, (1,), (2,), (0,)), c, (3,), (0,), (0,)))
    Pad(x, c, edge_padding_low=(4,), edge_padding_high=(2,), interior_padding=(0,))
    """
    if any(interior) or any(size == 0 for size in x.shape):
        return None
    cut = zip((*inner_low, *inner_high), (*low, *high), strict=True)
    if any(inner < 0 < outer for inner, outer in cut):
        return None
    return Pad(
        x,
        fill,
        tuple(a + d for a, d in zip(inner_low, low, strict=True)),
        tuple(b + e for b, e in zip(inner_high, high, strict=True)),
        inner_interior,
    )


@rewrite(Pad(Pad(x, fill, inner_low, inner_high, inner_interior), fill, low, high, interior))
def pad_between_padded_elements(
    x: Value,
    fill: Value,
    inner_low: Sizes,
    inner_high: Sizes,
    inner_interior: Sizes,
    low: Sizes,
    high: Sizes,
    interior: Sizes,
) -> Value | None:
    """pad(pad(x, c, a, b, i), c, d, e, j) = pad(x, c, a(j + 1) + d, b(j + 1) + e, (i + 1)(j + 1) - 1), for a, b ≥ 0

    >>> c = tensor("f32", name="c")
    >>> pad_between_padded_elements(Pad(Pad(tensor("f32", 4), c, (1,), (2,), (0,)), c, (0,), (0,), (1,)))
    Pad(x, c, edge_padding_low=(2,), edge_padding_high=(4,), interior_padding=(1,))
    """
    axes = range(len(low))
    if not any(interior) or any(edge < 0 for edge in (*inner_low, *inner_high, *low, *high)) or 0 in x.shape:
        return None
    gaps = [gap + 1 for gap in interior]
    return Pad(
        x,
        fill,
        tuple(inner_low[axis] * gaps[axis] + low[axis] for axis in axes),
        tuple(inner_high[axis] * gaps[axis] + high[axis] for axis in axes),
        tuple((inner_interior[axis] + 1) * gaps[axis] - 1 for axis in axes),
    )


def sample_pad_of_reshape(draw: Draw) -> Pad:
    """A reshape padded along axes that it leaves alone."""
    reshaped = Reshape(tensor("f32", 4, 6), draw.choose(((4, 1, 6), (4, 2, 3), (2, 2, 6))))
    low, high = ([0, 0, 0] for _ in range(2))
    axis = draw.choose((0, 2))
    low[axis], high[axis] = draw.integer(0, 2), draw.integer(1, 2)
    return Pad(reshaped, tensor("f32", name="c"), tuple(low), tuple(high), (0, 0, 0))


@rewrite(Pad(Reshape(x, shape), fill, low, high, interior), sample=sample_pad_of_reshape)
def pad_of_reshape(
    op: Pad, x: Value, fill: Value, shape: Sizes, low: Sizes, high: Sizes, interior: Sizes
) -> Value | None:
    """pad(reshape(x), c) = reshape(pad(x, c)), where the padded axes are axes of x too

    >>> pad_of_reshape(Pad(Reshape(tensor("f32", 4), (1, 4)), tensor("f32", name="c"), (0, 1), (0, 0), (0, 0)))
    Reshape(Pad(x, c, edge_padding_low=(1,), edge_padding_high=(0,), interior_padding=(0,)), shape=(1, 5))
    """
    groups = group_axes(x.shape, shape)
    if groups is None:
        return None
    edges = [(0, 0, 0)] * len(x.shape)
    for group in groups:
        own = [(low[axis], high[axis], interior[axis]) for axis in group.new]
        if group.is_single:
            edges[group.old[0]] = own[0]
        elif any(any(edge) for edge in own):
            return None
    return Reshape(Pad(x, fill, *(tuple(edge[part] for edge in edges) for part in range(3))), op.shape)


def is_zero(value: Value) -> bool:
    """Whether it is the constant 0, of either sign."""
    return isinstance(value, Constant) and value.is_splat and bool(value.number == 0)


zero, other_zero = hole("zero", is_zero), hole("other_zero", is_zero)
y, other_low, other_high = hole("y"), hole("other_low"), hole("other_high")


def _sample_pads_apart(draw: Draw) -> Add:
    sizes = draw.integer(1, 3), draw.integer(0, 2), draw.integer(1, 3)
    zero = Constant.of(0, draw.choose(("f32", "i32")))
    first = Pad(tensor(zero.dtype, sizes[0], 2), zero, (1, 0), (sizes[1] + sizes[2], 0), (0, 0))
    second = Pad(tensor(zero.dtype, sizes[2], 2, name="y"), zero, (1 + sizes[0] + sizes[1], 0), (0, 0), (0, 0))
    return Add(*draw.choose(((first, second), (second, first))))


@rewrite(
    Add(Pad(x, zero, low, high, interior), Pad(y, other_zero, other_low, other_high, interior)),
    single_use=True,
    reassociates=True,
    sample=_sample_pads_apart,
)
def sum_of_pads_apart(op: Add, x: Value, y: Value, zero: Constant, other_zero: Constant) -> Value | None:
    """pad(x, 0, after) + pad(y, 0, before) = pad(concatenate(x, 0, y), 0), where they lie apart along one axis

    -0.0 in x becomes 0.0 in the sum, and stays as it is here.

    >>> zero = Constant.of(0, "f32")
    >>> first = Pad(tensor("f32", 4), zero, (0,), (3,), (0,))
    >>> second = Pad(tensor("f32", 2, name="y"), zero, (5,), (0,), (0,))
    >>> [part.shape for part in sum_of_pads_apart(Add(first, second)).inputs]
    [(4,), (1,), (2,)]
    """
    pads = [each for each in op.operands if isinstance(each, Pad)]
    return join_pads(pads) if len(pads) == 2 else None


def join_pads(pads: list[Pad]) -> Value | None:
    """Two arrays that are padded with zeros, as one that is: if they lie apart along one axis, with zeros between."""
    op, interior = pads[0], pads[0].interior_padding
    edges = [(each.edge_padding_low, each.edge_padding_high) for each in pads]
    if any((*interior, *pads[1].interior_padding)) or 0 in op.shape:
        return None
    if any(edge < 0 for pair in edges for side in pair for edge in side):
        return None
    different = [
        axis
        for axis in range(op.tensor.rank)
        if (edges[0][0][axis], edges[0][1][axis]) != (edges[1][0][axis], edges[1][1][axis])
    ]
    if len(different) != 1:
        return None
    (axis,) = different
    first, second = sorted(pads, key=lambda each: each.edge_padding_low[axis])
    begin = first.edge_padding_low[axis] + first.operand.shape[axis]
    gap = second.edge_padding_low[axis] - begin
    if gap < 0:
        return None
    shape = replace(first.operand.shape, axis, gap)
    between = (Constant.of(0, op.dtype, shape),) if gap else ()
    joined = Concatenate((first.operand, *between, second.operand), axis)
    ends = replace(first.edge_padding_high, axis, second.edge_padding_high[axis])
    if joined.shape == op.shape:
        return joined
    return Pad(joined, Constant.of(0, op.dtype), first.edge_padding_low, ends, interior)


def sample_sum_of_pads(draw: Draw) -> Add:
    """A sum of two arrays that are padded to lie next to each other, mostly; at times they have gaps or lose rows."""
    x, y = tensor("f32", 2, 3), tensor("f32", draw.integer(1, 3), 3, name="y")
    rows = y.shape[0]
    zero, other = (Constant.of(draw.choose((0.0, 0.0, -0.0)), "f32") for _ in range(2))
    below, gap, lost = draw.integer(0, 1), draw.choose((0, 0, 0, 1)), draw.choose((0, 0, 0, 1))
    before, after, beside = draw.choose((0, 0, 2)), draw.choose((0, 0, 3)), draw.choose((0, 0, 1))
    first = Pad(x, zero, (before, beside), (rows + (rows - 1) * gap + below - lost + after, 0), (gap, 0))
    second = Pad(y, other, (before + 2 + gap + below, beside), (after - lost, 0), (gap, 0))
    return Add(first, second) if draw.boolean() else Add(second, first)


@rewrite(
    Add(Pad(x, zero, low, high, interior), Pad(y, other_zero, other_low, other_high, interior)),
    single_use=True,
    sample=sample_sum_of_pads,
)
def sum_of_disjoint_pads(
    op: Add,
    x: Value,
    y: Value,
    zero: Constant,
    other_zero: Constant,
    low: Sizes,
    high: Sizes,
    interior: Sizes,
    other_low: Sizes,
    other_high: Sizes,
) -> Value | None:
    """pad(x, 0, after) + pad(y, 0, before) = pad(concatenate(x, y) + 0, 0), if they lie next to each other

    x + 0 differs from x where x is -0.0; each gets the zero that is around the other.

    >>> zero = Constant.of(0, "i32")
    >>> first = Pad(tensor("i32", 4), zero, (0,), (2,), (0,))
    >>> second = Pad(tensor("i32", 2, name="y"), zero, (4,), (0,), (0,))
    >>> sum_of_disjoint_pads(Add(first, second)).lhs.inputs
    (x, y)
    """
    if any(interior) or any(edge < 0 for edge in (*low, *high, *other_low, *other_high)):
        return None
    edges = zip(zip(low, high, strict=True), zip(other_low, other_high, strict=True), strict=True)
    apart = [axis for axis, (own, other) in enumerate(edges) if own != other]
    if len(apart) != 1:
        return None
    (axis,) = apart
    pieces = sorted(((low, high, x, other_zero), (other_low, other_high, y, zero)), key=lambda piece: piece[0][axis])
    (begin, _, first, beside), (at, end, second, other_beside) = pieces
    if begin[axis] + first.shape[axis] != at[axis]:
        return None
    joined = Concatenate((first, second), axis)
    if str(zero.number) == str(other_zero.number):
        total: Value = Add(joined, Constant.of(zero.number, op.dtype, joined.shape))
    else:
        parts = ((first, beside), (second, other_beside))
        raised = tuple(Add(part, Constant.of(fill.number, part.dtype, part.shape)) for part, fill in parts)
        total = Concatenate(raised, axis)
    if joined.shape == op.shape:
        return total
    high = tuple(end[axis] if each == axis else edge for each, edge in enumerate(high))
    return Pad(total, Constant.of(zero.number + other_zero.number, op.dtype), begin, high, interior)


dtype = hole("dtype")


@rewrite(Convert(Pad(x, fill, low, high, interior), dtype), single_use=True)
def convert_of_pad(
    op: Convert, x: Value, fill: Value, low: Sizes, high: Sizes, interior: Sizes, dtype: str
) -> Value | None:
    """convert(pad(x, c)) = pad(convert(x), convert(c)), if that converts fewer elements

    >>> padded = Pad(tensor("i32", 4), Constant.of(0, "i32"), (1,), (2,), (0,))
    >>> convert_of_pad(Convert(padded, "f32")).operand
    Convert(x, dtype='f32')
    """
    if x.tensor.size + 1 >= op.tensor.size:
        return None
    return Pad(Convert(x, dtype), Convert(fill, dtype), low, high, interior)


def sample_joined_pads(draw: Draw) -> Concatenate:
    """Arrays that are padded alike, joined along an axis that is padded or not."""
    c, edges = tensor("f32", name="c"), (draw.integer(0, 2), 0)
    parts = [Pad(tensor("f32", 3, 2, name=name), c, edges, (draw.integer(0, 1), 0), (0, 0)) for name in "xy"]
    if parts[0].shape != parts[1].shape:
        parts[1] = Pad(parts[1].operand, c, parts[0].edge_padding_low, parts[0].edge_padding_high, (0, 0))
    return Concatenate(tuple(parts), draw.choose((1, 1, 0)))


@rewrite(
    any_op(Concatenate, inputs=every(Pad(x, fill, low, high, interior)), dimension=hole("dimension")),
    single_use=True,
    sample=sample_joined_pads,
)
def concatenate_of_pads(
    x: tuple[Value, ...], fill: tuple[Value, ...], low: Sizes, high: Sizes, interior: Sizes, dimension: int
) -> Value | None:
    """concatenate(pad(x, c), pad(y, c)) = pad(concatenate(x, y), c), padded alike along other axes

    >>> c = tensor("f32", name="c")
    >>> parts = tuple(Pad(tensor("f32", 2, 3, name=name), c, (1, 0), (0, 0), (0, 0)) for name in "xy")
    >>> concatenate_of_pads(Concatenate(parts, 1)).operand
    Concatenate((x, y), dimension=1)
    """
    if any(each is not fill[0] for each in fill) or low[dimension] or high[dimension] or interior[dimension]:
        return None
    return Pad(Concatenate(x, dimension), fill[0], low, high, interior)
