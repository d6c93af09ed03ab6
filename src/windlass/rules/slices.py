"""Slices: merged, and moved toward what they read, so that nothing is computed that no one looks at."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from itertools import accumulate

from windlass.facts.known_values import known_starts
from windlass.ir import Op, TensorType, Value
from windlass.ir.values import tensor
from windlass.ops import (
    Add,
    BroadcastInDim,
    Concatenate,
    Constant,
    DynamicUpdateSlice,
    Elementwise,
    Exponential,
    Iota,
    Maximum,
    Pad,
    ReduceWindow,
    Reshape,
    Reverse,
    Slice,
    Transpose,
)
from windlass.ops.combiners import combiner_region
from windlass.ops.sampling import Draw
from windlass.rewriting.pattern import any_op, hole
from windlass.rewriting.rule import rewrite
from windlass.rewriting.sharing import is_alone, users_of
from windlass.rules.axes import group_axes, pick, replace
from windlass.rules.dynamic_slices import FARTHEST

__all__ = ["Constant"]

Sizes = tuple[int, ...]

x, y, fill = hole("x"), hole("y"), hole("fill")
start, limit, stride = hole("start"), hole("limit"), hole("stride")
inner_start, inner_limit, inner_stride = hole("inner_start"), hole("inner_limit"), hole("inner_stride")
low, high, interior = hole("low"), hole("high"), hole("interior")
shape, dimensions, permutation = hole("shape"), hole("dimensions"), hole("permutation")


MOST_SLICES = 16
"""Users of one value that are looked at."""


def sliced_size(value: Value) -> int | None:
    """How many elements of a value its users look at, if all of them are slices (some elements may count twice)."""
    users = users_of(value)
    if len(users) > MOST_SLICES or not all(isinstance(user, Slice) for user in users):
        return None
    return sum(user.type.size for user in users if isinstance(user.type, TensorType))


def is_only_sliced(value: Value) -> bool:
    """Whether a value's users are slices of it that have, together, no more elements than it."""
    total = sliced_size(value)
    return total is not None and total <= value.tensor.size


MOVEMENTS = Slice, Pad, Concatenate, Transpose, Reshape, Reverse, BroadcastInDim
DEEPEST = 6
"""How many movements are looked through."""


def is_computed(value: Value, depth: int = DEEPEST) -> bool:
    """Whether reading a value means computing it, in loops where XLA computes neighbouring ops together."""
    if isinstance(value, MOVEMENTS):
        return depth == 0 or any(is_computed(operand, depth - 1) for operand in value.operands if operand.shape)
    return isinstance(value, Elementwise)


def stays(whole: Value, goes: Callable[[Op], bool]) -> bool:
    """Whether an array that is put together of parts stays, since some of its users will not go to one part instead.

    Then its computed parts are better read from it, where they are written out, than computed anew.
    """
    users = users_of(whole)
    return len(users) > 1 and (len(users) > MOST_SLICES or not all(map(goes, users)))


@rewrite(Slice(x, start, limit, stride))
def slice_of_everything(op: Slice, x: Value) -> Value | None:
    """slice(x, 0, shape, 1) = x

    The step along an axis of one element does not matter.

    >>> slice_of_everything(Slice(tensor("f32", 4, 1), (0, 0), (4, 1), (1, 3)))
    x
    """
    return x if op.shape == x.shape else None


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
    op: Slice,
    x: Value,
    fill: Value,
    low: Sizes,
    high: Sizes,
    interior: Sizes,
    start: Sizes,
    limit: Sizes,
    stride: Sizes,
) -> Value | None:
    """slice(pad(x, c, l, h), a, b) = slice(x, a - l, b - l) where it misses the padding; c where it sees nothing else

    Not of an x that would have to be computed anew for it, where others need the padded array in any case.

    >>> slice_of_pad(Slice(Pad(tensor("f32", 4), tensor("f32", name="c"), (2,), (2,), (0,)), (3,), (5,), (1,)))
    Slice(x, start_indices=(1,), limit_indices=(3,), strides=(1,))
    """
    if any(interior):
        return None

    def sees_no_padding(each: Op) -> bool:
        if not isinstance(each, Slice):
            return False
        edges = zip(each.start_indices, each.limit_indices, low, x.shape, strict=True)
        return all(a >= edge and b <= edge + size for a, b, edge, size in edges)

    if sees_no_padding(op):
        if stays(op.operand, sees_no_padding) and is_computed(x):
            return None
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


@rewrite(Slice(Transpose(x, permutation), start, limit, stride))
def slice_of_transpose(
    op: Slice, x: Value, permutation: Sizes, start: Sizes, limit: Sizes, stride: Sizes
) -> Value | None:
    """slice(transpose(x, p), a, b) = transpose(slice(x, p⁻¹·a, p⁻¹·b), p)

    >>> slice_of_transpose(Slice(Transpose(tensor("f32", 2, 3), (1, 0)), (1, 0), (3, 2), (1, 1)))
    Transpose(Slice(x, start_indices=(0, 1), limit_indices=(2, 3), strides=(1, 1)), permutation=(1, 0))
    """
    if not is_only_sliced(op.operand):
        return None
    place = [permutation.index(axis) for axis in range(len(permutation))]

    def reorder(sizes: Sizes) -> Sizes:
        return tuple(sizes[axis] for axis in place)

    return Transpose(Slice(x, reorder(start), reorder(limit), reorder(stride)), permutation)


@rewrite(Slice(Reverse(x, dimensions), start, limit, stride))
def slice_of_reverse(op: Slice, x: Value, dimensions: Sizes, start: Sizes, limit: Sizes, stride: Sizes) -> Value | None:
    """slice(reverse(x), a, a + s·(m - 1) + 1, s) = reverse(slice(x, n - a - s·(m - 1) - 1, n - a, s)), m its size

    >>> slice_of_reverse(Slice(Reverse(tensor("f32", 6), (0,)), (1,), (5,), (2,)))
    Reverse(Slice(x, start_indices=(2,), limit_indices=(5,), strides=(2,)), dimensions=(0,))
    """
    if not is_only_sliced(op.operand):
        return None
    first, last = list(start), list(limit)
    for axis in dimensions:
        last[axis] = x.shape[axis] - start[axis]
        first[axis] = last[axis] - stride[axis] * (op.shape[axis] - 1) - 1 if op.shape[axis] else last[axis]
    return Reverse(Slice(x, tuple(first), tuple(last), stride), dimensions)


@rewrite(Slice(Concatenate(x, dimensions), start, limit, stride))
def slice_of_concatenate(
    op: Slice, x: tuple[Value, ...], dimensions: int, start: Sizes, limit: Sizes, stride: Sizes
) -> Value | None:
    """slice(concatenate(x, y), a, b) = slice(x, a, b) where it lies in one part; else of the parts that it meets

    Not of parts that would have to be computed anew for it, where others need the concatenation in any case.

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
    ends = list(accumulate(part.shape[axis] for part in x))

    def meets_one_part(each: Op) -> bool:
        if not isinstance(each, Slice):
            return False
        return bisect_right(ends, each.start_indices[axis]) == bisect_left(ends, each.limit_indices[axis])

    if stays(op.operand, meets_one_part) and any(is_computed(part) for part in met):
        return None

    def shift(bounds: Sizes) -> Sizes:
        return tuple(bound - (first_offset if each == axis else 0) for each, bound in enumerate(bounds))

    joined = met[0] if len(met) == 1 else Concatenate(tuple(met), axis)
    return Slice(joined, shift(start), shift(limit), stride)


update_indices = hole("update_indices")


@rewrite(Slice(DynamicUpdateSlice(x, y, update_indices), start, limit, stride))
def slice_of_update(
    op: Slice, x: Value, y: Value, update_indices: tuple[Value, ...], start: Sizes, limit: Sizes, stride: Sizes
) -> Value | None:
    """slice(dynamic_update_slice(x, u, i), a, b) = slice(u, a - i, b - i), where it lies within u

    The start i is clamped first, as dynamic_update_slice does: 0 ≤ i ≤ shape(x) - shape(u). Later updates that the
    slice misses are looked through, for an earlier one that it lies within. No older version of the array is read
    itself: that would keep it alive beside the newest one, which XLA updates in place
    (docs/decisions/0006-in-place-updates.md). Nor is a u read that had to be computed anew for it, where the updated
    array is written out in any case.

    >>> at = Constant.of(2, "i32")
    >>> updated = DynamicUpdateSlice(tensor("f32", 9), tensor("f32", 3, name="u"), (at,))
    >>> slice_of_update(Slice(updated, (3,), (5,), (1,)))
    Slice(u, start_indices=(1,), limit_indices=(3,), strides=(1,))
    """
    axes = range(len(start))

    def is_within_update(user: Op) -> bool:
        if isinstance(user, DynamicUpdateSlice):
            is_hidden = user.start_indices == update_indices and user.update.type is y.type
            return is_hidden and user.operand is op.operand and user.update is not op.operand
        return (
            isinstance(user, Slice)
            and begin is not None
            and all(begin[axis] <= user.start_indices[axis] for axis in axes)
            and all(user.limit_indices[axis] <= begin[axis] + y.shape[axis] for axis in axes)
        )

    for _ in range(FARTHEST):
        begin = known_starts(update_indices, x.shape, y.shape)
        if begin is None:
            return None
        if all(begin[axis] <= start[axis] and limit[axis] <= begin[axis] + y.shape[axis] for axis in axes):
            if isinstance(y, Elementwise) and stays(op.operand, is_within_update):
                return None
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


def is_worth_slicing(value: Value) -> bool:
    """Whether computing the slices of an elementwise op's operands instead of those of its result is less work."""
    if not isinstance(value, Elementwise):
        return False
    if is_alone(value):
        return True
    total, full = sliced_size(value), sum(1 for operand in value.operands if operand.shape)
    return total is not None and (total < value.tensor.size or (total == value.tensor.size and full == 1))


inner = hole("inner", is_worth_slicing)


def sample_slice_of_elementwise(draw: Draw) -> Slice:
    """A slice of an elementwise op that nothing else uses, as a rule sees it inside a program."""
    x = tensor("f32", *draw.shape(1, 3, 1))
    made = Add(x, tensor("f32", *x.shape, name="y")) if draw.boolean() else Exponential(x)
    return Slice(made, **Slice.sample(draw, made.tensor))


@rewrite(Slice(inner, start, limit, stride), sample=sample_slice_of_elementwise)
def slice_of_elementwise(inner: Elementwise, start: Sizes, limit: Sizes, stride: Sizes) -> Value | None:
    """slice(f(x, y), a, b) = f(slice(x, a, b), slice(y, a, b)), if only such slices use f(x, y), and few of it

    An operand that is one number for all elements (of a select or clamp) stays as it is.

    >>> slice_of_elementwise(Slice(Exponential(tensor("f32", 9)), (0,), (2,), (1,)))
    Exponential(Slice(x, start_indices=(0,), limit_indices=(2,), strides=(1,)))
    """
    smaller = any(a > 0 or b < size for a, b, size in zip(start, limit, inner.shape, strict=True))
    if not smaller or any(operand.shape not in (inner.shape, ()) for operand in inner.operands):
        return None
    return inner.with_operands(
        tuple(Slice(operand, start, limit, stride) if operand.shape else operand for operand in inner.operands)
    )


def sample_slice_of_reshape(draw: Draw) -> Slice:
    """A slice of a reshape that splits or joins axes."""
    x = tensor("f32", *draw.choose(((4, 6), (2, 3, 4), (24,), (4, 1, 6))))
    reshaped = Reshape(x, draw.choose(((4, 1, 6), (6, 4), (24,), (4, 2, 3), (2, 12), (4, 6, 1))))
    fields = Slice.sample(draw, reshaped.tensor)
    if draw.boolean():
        whole = reshaped.shape[1:]
        row = draw.integer(0, reshaped.shape[0] - 1)
        fields["start_indices"], fields["limit_indices"] = (row, *(0 for _ in whole)), (row + 1, *whole)
        fields["strides"] = (1,) * len(reshaped.shape)
    return Slice(reshaped, **fields)


@rewrite(Slice(Reshape(x, shape), start, limit, stride), sample=sample_slice_of_reshape)
def slice_of_reshape(x: Value, shape: Sizes, start: Sizes, limit: Sizes, stride: Sizes) -> Value | None:
    """slice(reshape(x), a, b) = reshape(slice(x, a, b)), where what is sliced is a block of x too

    >>> slice_of_reshape(Slice(Reshape(tensor("f32", 4, 5), (4, 1, 5)), (1, 0, 0), (3, 1, 5), (1, 1, 1)))
    Reshape(Slice(x, start_indices=(1, 0), limit_indices=(3, 5), strides=(1, 1)), shape=(2, 1, 5))
    >>> slice_of_reshape(Slice(Reshape(tensor("f32", 6, 5), (2, 3, 5)), (1, 0, 0), (2, 3, 5), (1, 1, 1)))
    Reshape(Slice(x, start_indices=(3, 0), limit_indices=(6, 5), strides=(1, 1)), shape=(1, 3, 5))
    """
    counts = tuple(-(-(b - a) // s) for a, b, s in zip(start, limit, stride, strict=True))
    groups = group_axes(x.shape, shape)
    if groups is None or 0 in counts:
        return None
    bounds: list[tuple[int, int, int]] = [(0, 1, 1)] * len(x.shape)
    for group in groups:
        if group.is_single:
            axis = group.new[0]
            bounds[group.old[0]] = (start[axis], limit[axis], stride[axis])
        elif group.old and group.new:
            run = _flat_run([(start[axis], counts[axis], stride[axis], shape[axis]) for axis in group.new])
            block = None if run is None else _block_of_run(*run, pick(x.shape, group.old))
            if block is None:
                return None
            for axis, bound in zip(group.old, block, strict=True):
                bounds[axis] = bound
    return Reshape(Slice(x, *(tuple(bound[part] for bound in bounds) for part in range(3))), counts)


def _flat_run(axes: list[tuple[int, int, int, int]]) -> tuple[int, int] | None:
    """Where a slice of neighbouring axes (start, count, stride and size of each) begins, and how many elements it has.

    None if those are not one run of elements.
    """
    begin, length, is_whole = 0, 1, True
    inner = 1
    for start, count, stride, size in reversed(axes):
        if count > 1 and (stride != 1 or not is_whole):
            return None
        is_whole = is_whole and count == size
        begin += start * inner
        length *= count
        inner *= size
    return begin, length


def _block_of_run(begin: int, length: int, sizes: Sizes) -> list[tuple[int, int, int]] | None:
    """The bounds along axes of these sizes that hold just a run of elements; None if no block does."""
    inner = math.prod(sizes)
    for axis, size in enumerate(sizes):
        inner //= size
        if begin % inner or length % inner:
            continue
        outer, first = divmod(begin // inner, size)
        if first + length // inner > size:
            continue
        bounds = [(first, first + length // inner, 1)]
        for each in reversed(sizes[:axis]):
            outer, index = divmod(outer, each)
            bounds.insert(0, (index, index + 1, 1))
        return [*bounds, *((0, each, 1) for each in sizes[axis + 1 :])]
    return None


dtype, iota_dimension = hole("dtype"), hole("iota_dimension")


@rewrite(Slice(Iota(shape, dtype, iota_dimension), start, limit, stride))
def slice_of_iota(
    op: Slice, shape: Sizes, dtype: str, iota_dimension: int, start: Sizes, limit: Sizes, stride: Sizes
) -> Value | None:
    """slice(iota, a, b) = iota of the smaller shape, if it begins at 0 with stride 1 along the axis that counts

    >>> slice_of_iota(Slice(Iota((9, 4), "i32", 0), (0, 1), (5, 3), (1, 1)))
    Iota(shape=(5, 2), dtype='i32', iota_dimension=0)
    """
    axis = iota_dimension
    if start[axis] or (stride[axis] != 1 and op.shape[axis] > 1):
        return None
    return Iota(op.shape, dtype, axis)


def sample_slice_of_concatenate(draw: Draw) -> Slice:
    """A slice of a concatenation that cuts all sides at random."""
    rows, columns = draw.integer(1, 4), draw.integer(1, 4)
    both = Concatenate((tensor("f32", rows, columns), tensor("f32", 3, columns, name="y")), 0)
    return Slice(both, **Slice.sample(draw, both.tensor))


@rewrite(Slice(Concatenate(x, dimensions), start, limit, stride), sample=sample_slice_of_concatenate)
def slice_of_parts_of_concatenate(
    op: Slice, x: tuple[Value, ...], dimensions: int, start: Sizes, limit: Sizes, stride: Sizes
) -> Value | None:
    """slice(concatenate(x, y), a, b) = concatenate(slice(x, a, n), slice(y, 0, b - n)), where it meets both

    Only if nothing but slices use the concatenation, and together no more than all of it.

    >>> both = Concatenate((tensor("f32", 4), tensor("f32", 4, name="y")), 0)
    >>> slice_of_parts_of_concatenate(Slice(both, (2,), (8,), (1,)))
    Concatenate((Slice(x, start_indices=(2,), limit_indices=(4,), strides=(1,)), y), dimension=0)
    """
    axis = dimensions
    if stride[axis] != 1 or not op.tensor.size or not is_only_sliced(op.operand):
        return None
    offset, parts = 0, list[Value]()
    for part in x:
        size = part.shape[axis]
        first, last = max(start[axis] - offset, 0), min(limit[axis] - offset, size)
        if first < last:
            bounds = replace(start, axis, first), replace(limit, axis, last)
            cut = Slice(part, *bounds, stride)
            parts.append(part if cut.type is part.type else cut)
        offset += size
    whole = all(part in x for part in parts)
    return None if whole or len(parts) < 2 else Concatenate(tuple(parts), axis)


def sample_slice_of_pad(draw: Draw) -> Slice:
    """A slice that sees some of the padding and some of the operand."""
    x = tensor("f32", *draw.shape(1, 2, 2))
    low, high = (tuple(draw.integer(-1, 3) for _ in x.shape) for _ in range(2))
    padded = Pad(x, tensor("f32", name="c"), low, high, tuple(draw.choose((0, 0, 1)) for _ in x.shape))
    fields = Slice.sample(draw, padded.tensor)
    if draw.boolean():
        fields["strides"] = tuple(gap + 1 for gap in padded.interior_padding)
    return Slice(padded, **fields)


@rewrite(Slice(Pad(x, fill, low, high, interior), start, limit, stride), sample=sample_slice_of_pad)
def slice_across_edge_of_pad(
    op: Slice,
    x: Value,
    fill: Value,
    low: Sizes,
    high: Sizes,
    interior: Sizes,
    start: Sizes,
    limit: Sizes,
    stride: Sizes,
) -> Value | None:
    """slice(pad(x, c, l, h), a, b) = pad(slice(x), c, less), where it cuts the padding

    >>> padded = Pad(tensor("f32", 8), tensor("f32", name="c"), (2,), (2,), (0,))
    >>> slice_across_edge_of_pad(Slice(padded, (1,), (5,), (1,))).operand
    Slice(x, start_indices=(0,), limit_indices=(3,), strides=(1,))
    """
    axes = range(len(start))
    if not is_only_sliced(op.operand) or any(interior) or any(step != 1 for step in stride):
        return None
    first = tuple(max(start[axis] - low[axis], 0) for axis in axes)
    last = tuple(min(limit[axis] - low[axis], x.shape[axis]) for axis in axes)
    if any(first[axis] >= last[axis] for axis in axes):
        return None
    new_low = tuple(max(low[axis] - start[axis], 0) for axis in axes)
    new_high = tuple(max(limit[axis] - low[axis] - x.shape[axis], 0) for axis in axes)
    inner = x if not any(first) and last == x.shape else Slice(x, first, last, stride)
    if all(a == 0 for a in start) and limit == op_shape(x, low, high):
        return None
    return Pad(inner, fill, new_low, new_high, interior)


def op_shape(x: Value, low: Sizes, high: Sizes) -> Sizes:
    """The shape of x with these edges."""
    return tuple(size + a + b for size, a, b in zip(x.shape, low, high, strict=True))


@rewrite(Slice(Pad(x, fill, low, high, interior), start, limit, stride), sample=sample_slice_of_pad)
def slice_of_spread_elements(
    x: Value, fill: Value, low: Sizes, high: Sizes, interior: Sizes, start: Sizes, limit: Sizes, stride: Sizes
) -> Value | None:
    """slice(pad(x, c, interior k), a, b, stride k + 1) = slice(x) where it meets elements of x only, or c where none

    >>> spread = Pad(tensor("f32", 4), tensor("f32", name="c"), (1,), (0,), (1,))
    >>> slice_of_spread_elements(Slice(spread, (1,), (8,), (2,)))
    Slice(x, start_indices=(0,), limit_indices=(4,), strides=(1,))
    """
    counts = tuple(-(-(b - a) // s) for a, b, s in zip(start, limit, stride, strict=True))
    if 0 in counts or not any(interior):
        return None
    first: list[int] = []
    steps: list[int] = []
    misses = False
    inside = True
    for axis, size in enumerate(x.shape):
        gap = interior[axis] + 1
        begin, step = start[axis] - low[axis], stride[axis]
        end = begin + step * (counts[axis] - 1)
        misses = misses or end < 0 or begin > (size - 1) * gap or size == 0
        misses = misses or (begin % gap != 0 and step % gap == 0)
        inside = inside and begin >= 0 and end <= (size - 1) * gap
        inside = inside and begin % gap == 0 and (step % gap == 0 or counts[axis] == 1)
        first.append(begin // gap)
        steps.append(max(step // gap, 1))
    if misses:
        return BroadcastInDim(fill, counts, ())
    if not inside:
        return None
    last = tuple(a + (count - 1) * s + 1 for a, count, s in zip(first, counts, steps, strict=True))
    return Slice(x, tuple(first), last, tuple(steps))


def sample_slice_of_windows(draw: Draw) -> Slice:
    """A slice of sums over windows, some of them padded or spread."""
    x = tensor("f32", *draw.shape(1, 2, 2))
    rank = len(x.shape)
    window, strides, dilation = (tuple(draw.integer(1, 2) for _ in range(rank)) for _ in range(3))
    padding = tuple((draw.integer(0, 3), draw.integer(0, 3)) for _ in range(rank))
    made = ReduceWindow(
        (x,), (Constant.of(0, "f32"),), window, strides, (1,) * rank, dilation, padding, combiner_region(Maximum, "f32")
    )
    (result,) = made.results
    return Slice(result, **Slice.sample(draw, result.tensor))


@rewrite(
    Slice(any_op(ReduceWindow, bind="windows"), start, limit, stride), single_use=True, sample=sample_slice_of_windows
)
def slice_of_windows(windows: ReduceWindow, start: Sizes, limit: Sizes, stride: Sizes) -> Value | None:
    """slice(reduce_window(x), a, b) = reduce_window(slice(x)): of those windows only that are looked at

    >>> fields = {"window_dimensions": (2,), "window_strides": (2,), "base_dilations": (1,), "window_dilations": (1,)}
    >>> pooled = ReduceWindow((tensor("f32", 20),), (Constant.of(0, "f32"),), **fields, padding=((0, 0),),
    ...                       body=combiner_region(Maximum, "f32"))
    >>> slice_of_windows(Slice(pooled.results[0], (1,), (3,), (1,))).owner.inputs
    (Slice(x, start_indices=(2,), limit_indices=(6,), strides=(1,)),)
    """
    counts = tuple(-(-(b - a) // s) for a, b, s in zip(start, limit, stride, strict=True))
    if 0 in counts or any(step != 1 for step in windows.base_dilations) or counts == windows.results[0].shape:
        return None
    (given,) = windows.inputs
    first: list[int] = []
    last: list[int] = []
    padding: list[tuple[int, int]] = []
    for axis, size in enumerate(given.shape):
        step = windows.window_strides[axis]
        begin = start[axis] * step - windows.padding[axis][0]
        width = windows.window_dilations[axis] * (windows.window_dimensions[axis] - 1) + 1
        end = begin + (counts[axis] - 1) * stride[axis] * step + width
        inside = max(begin, 0) < min(end, size)
        if not inside:
            return None
        if windows.window_dimensions[axis] > max(2 * (min(end, size) - max(begin, 0)), 2):
            # A running sum: XLA knows it by its windows, which are as wide as what it goes over.
            return None
        first.append(max(begin, 0))
        last.append(min(end, size))
        padding.append((max(-begin, 0), max(end - size, 0)))
    strides = tuple(a * b for a, b in zip(windows.window_strides, stride, strict=True))
    made = ReduceWindow(
        (Slice(given, tuple(first), tuple(last), (1,) * len(first)),),
        windows.init_values,
        windows.window_dimensions,
        strides,
        windows.base_dilations,
        windows.window_dilations,
        tuple(padding),
        windows.body.clone({}),
    )
    return made.results[0]
