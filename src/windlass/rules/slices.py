"""Slices: merged, and moved toward what they read, so that nothing is computed that no one looks at."""

from __future__ import annotations

from windlass.ir import Value
from windlass.ir.values import tensor
from windlass.ops import (
    Add,
    BroadcastInDim,
    Concatenate,
    Constant,
    DynamicUpdateSlice,
    Elementwise,
    Exponential,
    Pad,
    Reshape,
    Reverse,
    Slice,
    Transpose,
)
from windlass.ops.sampling import Draw
from windlass.rewriting.pattern import hole
from windlass.rewriting.rule import rewrite
from windlass.rules.dynamic_slices import FARTHEST, known_starts

__all__ = ["Constant"]

Sizes = tuple[int, ...]

x, y, fill = hole("x"), hole("y"), hole("fill")
start, limit, stride = hole("start"), hole("limit"), hole("stride")
inner_start, inner_limit, inner_stride = hole("inner_start"), hole("inner_limit"), hole("inner_stride")
low, high, interior = hole("low"), hole("high"), hole("interior")
shape, dimensions, permutation = hole("shape"), hole("dimensions"), hole("permutation")


@rewrite(Slice(x, start, limit, stride))
def slice_of_everything(x: Value, start: Sizes, limit: Sizes, stride: Sizes) -> Value | None:
    """slice(x, 0, shape, 1) = x

    >>> slice_of_everything(Slice(tensor("f32", 4), (0,), (4,), (1,)))
    x
    """
    whole = all(first == 0 for first in start) and limit == x.shape and all(step == 1 for step in stride)
    return x if whole else None


@rewrite(Slice(Slice(x, inner_start, inner_limit, inner_stride), start, limit, stride))
def slice_of_slice(
    x: Value, inner_start: Sizes, inner_stride: Sizes, start: Sizes, limit: Sizes, stride: Sizes
) -> Value:
    """slice(slice(x, a, b, s), c, d, t) = slice(x, a + s·c, a + s·(d - 1) + 1, s·t)

    >>> slice_of_slice(Slice(Slice(tensor("f32", 9), (1,), (8,), (1,)), (2,), (6,), (2,)))
    Slice(x, start_indices=(3,), limit_indices=(6,), strides=(2,))
    """
    axes = range(len(start))
    # Behind the last element, where only an empty slice may begin, a step can lead out of x.
    first = tuple(min(inner_start[axis] + inner_stride[axis] * start[axis], x.shape[axis]) for axis in axes)
    counts = [-(-(limit[axis] - start[axis]) // stride[axis]) for axis in axes]
    step = tuple(inner_stride[axis] * stride[axis] for axis in axes)
    last = tuple(first[axis] + step[axis] * (counts[axis] - 1) + 1 if counts[axis] else first[axis] for axis in axes)
    return Slice(x, first, last, step)


@rewrite(Slice(Pad(x, fill, low, high, interior), start, limit, stride))
def slice_of_pad(
    x: Value, fill: Value, low: Sizes, high: Sizes, interior: Sizes, start: Sizes, limit: Sizes, stride: Sizes
) -> Value | None:
    """slice(pad(x, c, l, h), a, b) = slice(x, a - l, b - l) where it misses the padding; c where it sees nothing else

    >>> slice_of_pad(Slice(Pad(tensor("f32", 4), tensor("f32", name="c"), (2,), (2,), (0,)), (3,), (5,), (1,)))
    Slice(x, start_indices=(1,), limit_indices=(3,), strides=(1,))
    """
    if any(interior):
        return None
    inside = all(a >= edge and b <= edge + size for a, b, edge, size in zip(start, limit, low, x.shape, strict=True))
    if inside:
        return Slice(
            x,
            tuple(a - edge for a, edge in zip(start, low, strict=True)),
            tuple(b - edge for b, edge in zip(limit, low, strict=True)),
            stride,
        )
    outside = any(b <= edge or a >= edge + size for a, b, edge, size in zip(start, limit, low, x.shape, strict=True))
    if outside:
        counts = tuple(-(-(b - a) // s) for a, b, s in zip(start, limit, stride, strict=True))
        return BroadcastInDim(fill, counts, ())
    return None


@rewrite(Slice(BroadcastInDim(x, shape, dimensions), start, limit, stride))
def slice_of_broadcast(
    x: Value, shape: Sizes, dimensions: Sizes, start: Sizes, limit: Sizes, stride: Sizes
) -> Value | None:
    """slice(broadcast(x), a, b) = broadcast(slice(x, a, b)), slicing just those axes that x has

    >>> slice_of_broadcast(Slice(BroadcastInDim(tensor("f32", 3), (3, 8), (0,)), (0, 2), (3, 4), (1, 1)))
    BroadcastInDim(x, shape=(3, 2), broadcast_dimensions=(0,))
    """
    counts = tuple(-(-(b - a) // s) for a, b, s in zip(start, limit, stride, strict=True))
    bounds = [
        (start[axis], limit[axis], stride[axis]) if size == shape[axis] and size != 1 else (0, size, 1)
        for size, axis in zip(x.shape, dimensions, strict=True)
    ]
    if 0 in counts:
        return None
    whole = all(bound == (0, size, 1) for bound, size in zip(bounds, x.shape, strict=True))
    sliced = x if whole else Slice(x, *(tuple(bound[part] for bound in bounds) for part in range(3)))
    return BroadcastInDim(sliced, counts, dimensions)


@rewrite(Slice(Transpose(x, permutation), start, limit, stride), single_use=True)
def slice_of_transpose(x: Value, permutation: Sizes, start: Sizes, limit: Sizes, stride: Sizes) -> Value:
    """slice(transpose(x, p), a, b) = transpose(slice(x, p⁻¹·a, p⁻¹·b), p)

    >>> slice_of_transpose(Slice(Transpose(tensor("f32", 2, 3), (1, 0)), (1, 0), (3, 2), (1, 1)))
    Transpose(Slice(x, start_indices=(0, 1), limit_indices=(2, 3), strides=(1, 1)), permutation=(1, 0))
    """
    place = [permutation.index(axis) for axis in range(len(permutation))]

    def reorder(sizes: Sizes) -> Sizes:
        return tuple(sizes[axis] for axis in place)

    return Transpose(Slice(x, reorder(start), reorder(limit), reorder(stride)), permutation)


@rewrite(Slice(Reverse(x, dimensions), start, limit, stride), single_use=True)
def slice_of_reverse(x: Value, dimensions: Sizes, start: Sizes, limit: Sizes, stride: Sizes) -> Value | None:
    """slice(reverse(x), a, b) = reverse(slice(x, n - b, n - a)) for stride 1

    >>> slice_of_reverse(Slice(Reverse(tensor("f32", 5), (0,)), (1,), (3,), (1,)))
    Reverse(Slice(x, start_indices=(2,), limit_indices=(4,), strides=(1,)), dimensions=(0,))
    """
    if any(stride[axis] != 1 for axis in dimensions):
        return None
    first, last = list(start), list(limit)
    for axis in dimensions:
        first[axis], last[axis] = x.shape[axis] - limit[axis], x.shape[axis] - start[axis]
    return Reverse(Slice(x, tuple(first), tuple(last), stride), dimensions)


@rewrite(Slice(Concatenate(x, dimensions), start, limit, stride))
def slice_of_concatenate(
    x: tuple[Value, ...], dimensions: int, start: Sizes, limit: Sizes, stride: Sizes
) -> Value | None:
    """slice(concatenate(x, y), a, b) = slice(x, a, b) where it lies in one part; else of the parts that it meets

    >>> both = Concatenate((tensor("f32", 4), tensor("f32", 4, name="y")), 0)
    >>> slice_of_concatenate(Slice(both, (5,), (8,), (1,)))
    Slice(y, start_indices=(1,), limit_indices=(4,), strides=(1,))
    """
    axis = dimensions
    offset, met = 0, list[Value]()
    first_offset = 0
    for part in x:
        size = part.shape[axis]
        if offset < limit[axis] and offset + size > start[axis]:
            if not met:
                first_offset = offset
            met.append(part)
        offset += size
    if not met or len(met) == len(x):
        return None

    def shift(bounds: Sizes) -> Sizes:
        return tuple(bound - (first_offset if each == axis else 0) for each, bound in enumerate(bounds))

    joined = met[0] if len(met) == 1 else Concatenate(tuple(met), axis)
    return Slice(joined, shift(start), shift(limit), stride)


update_indices = hole("update_indices")


@rewrite(Slice(DynamicUpdateSlice(x, y, update_indices), start, limit, stride))
def slice_of_update(
    x: Value, y: Value, update_indices: tuple[Value, ...], start: Sizes, limit: Sizes, stride: Sizes
) -> Value | None:
    """slice(dynamic_update_slice(x, u, i), a, b) = slice(u, a - i, b - i), where it lies within u

    The start i is clamped first, as dynamic_update_slice does: 0 ≤ i ≤ shape(x) - shape(u). Later updates that the
    slice misses are looked through, for an earlier one that it lies within. No older version of the array is read
    itself: that would keep it alive beside the newest one, which XLA updates in place
    (docs/decisions/0006-in-place-updates.md).

    >>> at = Constant.of(2, "i32")
    >>> updated = DynamicUpdateSlice(tensor("f32", 9), tensor("f32", 3, name="u"), (at,))
    >>> slice_of_update(Slice(updated, (3,), (5,), (1,)))
    Slice(u, start_indices=(1,), limit_indices=(3,), strides=(1,))
    """
    axes = range(len(start))
    for _ in range(FARTHEST):
        begin = known_starts(update_indices, x.shape, y.shape)
        if begin is None:
            return None
        if all(begin[axis] <= start[axis] and limit[axis] <= begin[axis] + y.shape[axis] for axis in axes):
            return Slice(
                y,
                tuple(start[axis] - begin[axis] for axis in axes),
                tuple(limit[axis] - begin[axis] for axis in axes),
                stride,
            )
        misses = any(limit[axis] <= begin[axis] or begin[axis] + y.shape[axis] <= start[axis] for axis in axes)
        if not misses or not isinstance(x, DynamicUpdateSlice):
            return None
        x, y, update_indices = x.operand, x.update, x.start_indices
    return None


inner = hole("inner", lambda value: isinstance(value, Elementwise) and len(value.uses) == 1)


def sample_slice_of_elementwise(draw: Draw) -> Slice:
    """A slice of an elementwise op that nothing else uses, as a rule sees it inside a program."""
    x = tensor("f32", *draw.shape(1, 3, 1))
    made = Add(x, tensor("f32", *x.shape, name="y")) if draw.boolean() else Exponential(x)
    return Slice(made, **Slice.sample(draw, made.tensor))


@rewrite(Slice(inner, start, limit, stride), sample=sample_slice_of_elementwise)
def slice_of_elementwise(inner: Elementwise, start: Sizes, limit: Sizes, stride: Sizes) -> Value | None:
    """slice(f(x, y), a, b) = f(slice(x, a, b), slice(y, a, b)), if nothing else uses f(x, y)

    >>> slice_of_elementwise(Slice(Exponential(tensor("f32", 9)), (0,), (2,), (1,)))
    Exponential(Slice(x, start_indices=(0,), limit_indices=(2,), strides=(1,)))
    """
    smaller = any(a > 0 or b < size for a, b, size in zip(start, limit, inner.shape, strict=True))
    if not smaller or any(operand.shape != inner.shape for operand in inner.operands):
        return None
    return inner.with_operands(tuple(Slice(operand, start, limit, stride) for operand in inner.operands))


@rewrite(Slice(Reshape(x, shape), start, limit, stride), single_use=True)
def slice_of_reshape(x: Value, shape: Sizes, start: Sizes, limit: Sizes, stride: Sizes) -> Value | None:
    """slice(reshape(x), a, b) = reshape(slice(x, a, b)), where the reshape only adds or drops axes of size 1

    >>> slice_of_reshape(Slice(Reshape(tensor("f32", 4, 5), (4, 1, 5)), (1, 0, 0), (3, 1, 5), (1, 1, 1)))
    Reshape(Slice(x, start_indices=(1, 0), limit_indices=(3, 5), strides=(1, 1)), shape=(2, 1, 5))
    """
    if [size for size in shape if size != 1] != [size for size in x.shape if size != 1]:
        return None
    counts = tuple(-(-(b - a) // s) for a, b, s in zip(start, limit, stride, strict=True))
    if any(count == 0 for count, size in zip(counts, shape, strict=True) if size == 1):
        return None
    bounds = iter(
        [bound for bound, size in zip(zip(start, limit, stride, strict=True), shape, strict=True) if size != 1]
    )
    own = [(0, 1, 1) if size == 1 else next(bounds) for size in x.shape]
    return Reshape(Slice(x, *(tuple(bound[part] for bound in own) for part in range(3))), counts)
