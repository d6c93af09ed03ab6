"""Dynamic slices and updates whose start is known become plain; StableHLO's clamping of starts is kept exactly."""

from __future__ import annotations

import numpy as np

from windlass.facts.known_values import known_starts
from windlass.facts.ranges import range_of
from windlass.ir import Value
from windlass.ir.types import NUMPY_DTYPES
from windlass.ir.values import tensor
from windlass.ops import (
    Add,
    And,
    BroadcastInDim,
    Clamp,
    Constant,
    DynamicSlice,
    DynamicUpdateSlice,
    Elementwise,
    Exponential,
    Gather,
    Maximum,
    Minimum,
    Reshape,
    Slice,
    Transpose,
)
from windlass.ops.sampling import Draw
from windlass.rewriting.pattern import any_op, hole
from windlass.rewriting.rule import rewrite
from windlass.rewriting.sharing import is_alone
from windlass.rules.axes import Sizes, group_axes, invert, pick

__all__ = ["tensor"]

x, update = hole("x"), hole("update")
starts, sizes = hole("starts"), hole("sizes")


FARTHEST = 16
"""How many updates back a rule looks: chains of hundreds must not take time in proportion to their square."""


def is_inside(start: Value, latest: int) -> bool:
    """Whether a start index lies in 0 … latest, so that clamping leaves it alone."""
    return range_of(start).lies_within(0, latest)


@rewrite(DynamicSlice(x, starts, sizes))
def dynamic_slice_at_known_start(x: Value, starts: tuple[Value, ...], sizes: Sizes) -> Value | None:
    """dynamic_slice(x, constant i, s) = slice(x, j, j + s) with j = clamp(0, i, shape(x) - s)

    >>> dynamic_slice_at_known_start(DynamicSlice(tensor("f32", 9), (Constant.of(8, "i32"),), (3,)))
    Slice(x, start_indices=(6,), limit_indices=(9,), strides=(1,))
    """
    begin = known_starts(starts, x.shape, sizes)
    if begin is None:
        return None
    return Slice(x, begin, tuple(a + size for a, size in zip(begin, sizes, strict=True)), (1,) * len(sizes))


begin, end, strides = hole("begin"), hole("end"), hole("strides")
shape, dimensions, permutation = hole("shape"), hole("dimensions"), hole("permutation")
inner_starts, inner_sizes = hole("inner_starts"), hole("inner_sizes")
inner = hole("inner", lambda value: isinstance(value, Elementwise) and is_alone(value))


def some_starts(count: int) -> tuple[Value, ...]:
    """Start indices of which nothing is known."""
    return tuple(tensor("i32", name=f"i{axis}") for axis in range(count))


def small_number(name: str, most: int) -> Value:
    """An index that is known to lie in 0 … most, where most + 1 is a power of 2."""
    return And(tensor("i32", name=name), Constant.of(most, "i32"))


def sample_dynamic_slice_of_elementwise(draw: Draw) -> DynamicSlice:
    """A part of what an elementwise op gives."""
    x = tensor("f32", 4, 3)
    made = Add(x, tensor("f32", 4, 3, name="y")) if draw.boolean() else Exponential(x)
    return DynamicSlice(made, some_starts(2), (draw.integer(1, 4), draw.integer(1, 3)))


@rewrite(DynamicSlice(inner, starts, sizes), sample=sample_dynamic_slice_of_elementwise)
def dynamic_slice_of_elementwise(
    op: DynamicSlice, inner: Elementwise, starts: tuple[Value, ...], sizes: Sizes
) -> Value | None:
    """dynamic_slice(f(x, y), i) = f(dynamic_slice(x, i), dynamic_slice(y, i)), if nothing else uses f(x, y)

    >>> made = DynamicSlice(Exponential(tensor("f32", 9)), (tensor("i32", name="i"),), (2,))
    >>> dynamic_slice_of_elementwise(made)
    Exponential(DynamicSlice(x, (i,), slice_sizes=(2,)))
    """
    if op.tensor.size >= inner.tensor.size:
        return None
    operands: list[Value] = []
    for operand in inner.operands:
        if isinstance(operand, Constant) and operand.is_splat and operand.shape:
            operands.append(Constant.of(operand.number, operand.dtype, sizes))
        else:
            operands.append(DynamicSlice(operand, starts, sizes) if operand.shape else operand)
    return inner.with_operands(tuple(operands))


@rewrite(DynamicSlice(BroadcastInDim(x, shape, dimensions), starts, sizes))
def dynamic_slice_of_broadcast(
    x: Value, shape: Sizes, dimensions: Sizes, starts: tuple[Value, ...], sizes: Sizes
) -> Value | None:
    """dynamic_slice(broadcast(x), i, s) = broadcast(dynamic_slice(x, i, s)), along just those axes that x has

    >>> rows = BroadcastInDim(tensor("f32", 3), (8, 3), (1,))
    >>> dynamic_slice_of_broadcast(DynamicSlice(rows, (tensor("i32", name="i"), Constant.of(0, "i32")), (2, 3)))
    BroadcastInDim(x, shape=(2, 3), broadcast_dimensions=(1,))
    """
    own = tuple(1 if x.shape[axis] == 1 else sizes[place] for axis, place in enumerate(dimensions))
    if 0 in sizes or len(x.shape) >= len(shape):
        return None
    if own == x.shape:
        return BroadcastInDim(x, sizes, dimensions)
    return BroadcastInDim(DynamicSlice(x, pick_values(starts, dimensions), own), sizes, dimensions)


def pick_values(values: tuple[Value, ...], axes: Sizes) -> tuple[Value, ...]:
    """The values at these axes."""
    return tuple(values[axis] for axis in axes)


@rewrite(DynamicSlice(Transpose(x, permutation), starts, sizes), single_use=True)
def dynamic_slice_of_transpose(
    op: DynamicSlice, x: Value, permutation: Sizes, starts: tuple[Value, ...], sizes: Sizes
) -> Value | None:
    """dynamic_slice(transpose(x, p), i, s) = transpose(dynamic_slice(x, p⁻¹(i), p⁻¹(s)), p)

    >>> i, zero = tensor("i32", name="i"), Constant.of(0, "i32")
    >>> dynamic_slice_of_transpose(DynamicSlice(Transpose(tensor("f32", 2, 3), (1, 0)), (i, zero), (1, 2)))
    Transpose(DynamicSlice(x, (Constant(0), i), slice_sizes=(2, 1)), permutation=(1, 0))
    """
    if op.tensor.size >= x.tensor.size:
        return None
    place = invert(permutation)
    return Transpose(DynamicSlice(x, pick_values(starts, place), pick(sizes, place)), permutation)


def sample_dynamic_slice_of_reshape(draw: Draw) -> DynamicSlice:
    """A part of an array that got or lost axes of size 1."""
    reshaped = Reshape(tensor("f32", 4, 3), draw.choose(((4, 1, 3), (1, 4, 3), (4, 3, 1), (2, 2, 3))))
    whole = draw.boolean()
    wanted = tuple(size if whole and size == 3 else draw.integer(1, size) for size in reshaped.shape)
    return DynamicSlice(reshaped, some_starts(len(wanted)), wanted)


@rewrite(DynamicSlice(Reshape(x, shape), starts, sizes), sample=sample_dynamic_slice_of_reshape)
def dynamic_slice_of_reshape(
    op: DynamicSlice, x: Value, shape: Sizes, starts: tuple[Value, ...], sizes: Sizes
) -> Value | None:
    """dynamic_slice(reshape(x), i, s) = reshape(dynamic_slice(x, i, s)), where axes that are cut are axes of x

    >>> i, zero = tensor("i32", name="i"), Constant.of(0, "i32")
    >>> dynamic_slice_of_reshape(DynamicSlice(Reshape(tensor("f32", 4), (4, 1)), (i, zero), (2, 1)))
    Reshape(DynamicSlice(x, (i,), slice_sizes=(2,)), shape=(2, 1))
    """
    groups = group_axes(x.shape, shape)
    if groups is None or 0 in sizes or len(x.shape) > len(shape):
        return None
    own: list[tuple[Value | None, int]] = [(None, size) for size in x.shape]
    for group in groups:
        if group.is_single:
            own[group.old[0]] = starts[group.new[0]], sizes[group.new[0]]
        elif any(sizes[axis] != shape[axis] for axis in group.new):
            return None
    # Along an axis that is taken as a whole any start will do: it is moved to 0.
    first = tuple(starts[0] if start is None else start for start, _ in own)
    return Reshape(DynamicSlice(x, first, tuple(size for _, size in own)), sizes)


def sample_dynamic_slice_of_slice(draw: Draw) -> DynamicSlice:
    """A part of the first rows."""
    rows = Slice(tensor("f32", 9, 3), (0, 0), (draw.integer(5, 9), 3), (1, 1))
    return DynamicSlice(rows, (small_number("i", draw.choose((1, 3))), Constant.of(0, "i32")), (draw.integer(1, 3), 3))


@rewrite(DynamicSlice(Slice(x, begin, end, strides), starts, sizes), sample=sample_dynamic_slice_of_slice)
def dynamic_slice_of_slice(
    x: Value, begin: Sizes, end: Sizes, strides: Sizes, starts: tuple[Value, ...], sizes: Sizes
) -> Value | None:
    """dynamic_slice(slice(x, 0, b), i, s) = dynamic_slice(x, i, s), if i needs no clamping where x is cut

    >>> rows = Slice(tensor("f32", 9), (0,), (6,), (1,))
    >>> dynamic_slice_of_slice(DynamicSlice(rows, (small_number("i", 3),), (2,))).operand
    x
    """
    if any(step != 1 for step in strides) or any(begin):
        return None
    for axis, start in enumerate(starts):
        if end[axis] != x.shape[axis] and not is_inside(start, end[axis] - sizes[axis]):
            return None
    return DynamicSlice(x, starts, sizes)


def sample_dynamic_slice_twice(draw: Draw) -> DynamicSlice:
    """A part of a part, cut along the same axis or another."""
    rows, columns = draw.integer(1, 4), draw.choose((3, 3, 2))
    zero = Constant.of(0, "i32")
    inner = (draw.choose((zero, small_number("i", 3))), small_number("j", 1))
    part = DynamicSlice(tensor("f32", 9, 3), inner, (draw.choose((rows, 9)), columns))
    return DynamicSlice(part, (draw.choose((zero, small_number("k", 1))), zero), (rows, columns))


@rewrite(DynamicSlice(DynamicSlice(x, inner_starts, inner_sizes), starts, sizes), sample=sample_dynamic_slice_twice)
def dynamic_slice_of_dynamic_slice(
    x: Value, inner_starts: tuple[Value, ...], inner_sizes: Sizes, starts: tuple[Value, ...], sizes: Sizes
) -> Value | None:
    """dynamic_slice(dynamic_slice(x, i), j) = dynamic_slice(x, i or j), where along each axis just one of both cuts

    >>> i, j, zero = tensor("i32", name="i"), tensor("i32", name="j"), Constant.of(0, "i32")
    >>> rows = DynamicSlice(tensor("f32", 9, 9), (i, zero), (2, 9))
    >>> dynamic_slice_of_dynamic_slice(DynamicSlice(rows, (zero, j), (2, 3)))
    DynamicSlice(x, (i, j), slice_sizes=(2, 3))
    """
    if inner_starts[0].type is not starts[0].type:
        return None
    chosen: list[Value] = []
    for axis, (first, second) in enumerate(zip(inner_starts, starts, strict=True)):
        if sizes[axis] == inner_sizes[axis]:
            chosen.append(first)
        elif inner_sizes[axis] == x.shape[axis]:
            chosen.append(second)
        else:
            return None
    return DynamicSlice(x, tuple(chosen), sizes)


@rewrite(DynamicSlice(DynamicUpdateSlice(x, update, starts), starts, sizes))
def dynamic_slice_of_same_update(update: Value, sizes: Sizes) -> Value | None:
    """dynamic_slice(dynamic_update_slice(x, u, i), i, shape(u)) = u

    >>> x, u, i = tensor("f32", 9), tensor("f32", 3, name="u"), (tensor("i32", name="i"),)
    >>> dynamic_slice_of_same_update(DynamicSlice(DynamicUpdateSlice(x, u, i), i, (3,)))
    u
    """
    return update if update.shape == sizes else None


def without_clamping(start: Value, latest: int) -> Value:
    """What an index was before it was clamped, where being moved to 0 … latest does the same."""
    if isinstance(start, Clamp):
        low, high = start.min, start.max
        if isinstance(low, Constant) and isinstance(high, Constant) and low.number <= 0 and high.number >= latest:
            return start.operand
    if isinstance(start, Maximum):
        for bound, value in (start.operands, start.operands[::-1]):
            if isinstance(bound, Constant) and bound.number <= 0:
                return value
    if isinstance(start, Minimum):
        for bound, value in (start.operands, start.operands[::-1]):
            if isinstance(bound, Constant) and bound.number >= latest:
                return value
    return start


def sample_clamped_index(draw: Draw) -> tuple[Value, int]:
    """An index that is clamped, and how far it may go."""
    i, latest = tensor("i32", name="i"), draw.integer(1, 5)
    zero, last = Constant.of(draw.integer(-1, 0), "i32"), Constant.of(latest + draw.integer(-1, 1), "i32")
    return draw.choose((Clamp(zero, i, last), Maximum(i, zero), Minimum(last, i))), latest


def sample_slice_at_clamped_start(draw: Draw) -> DynamicSlice:
    start, latest = sample_clamped_index(draw)
    return DynamicSlice(tensor("f32", latest + 2), (start,), (2,))


@rewrite(DynamicSlice(x, starts, sizes), sample=sample_slice_at_clamped_start)
def dynamic_slice_at_clamped_start(x: Value, starts: tuple[Value, ...], sizes: Sizes) -> Value | None:
    """dynamic_slice(x, clamp(0, i, n - s), s) = dynamic_slice(x, i, s), which clamps i itself

    >>> start = Maximum(tensor("i32", name="i"), Constant.of(0, "i32"))
    >>> dynamic_slice_at_clamped_start(DynamicSlice(tensor("f32", 9), (start,), (3,)))
    DynamicSlice(x, (i,), slice_sizes=(3,))
    """
    free = tuple(
        without_clamping(start, extent - size) for start, extent, size in zip(starts, x.shape, sizes, strict=True)
    )
    return DynamicSlice(x, free, sizes) if any(a is not b for a, b in zip(free, starts, strict=True)) else None


def sample_slice_along_whole_axis(draw: Draw) -> DynamicSlice:
    """A part that is the whole along an axis whose start is computed."""
    i, j = tensor("i32", name="i"), tensor("i32", name="j")
    return DynamicSlice(tensor("f32", 4, 3), (i, Add(j, Constant.of(draw.integer(0, 2), "i32"))), (2, 3))


@rewrite(DynamicSlice(x, starts, sizes), sample=sample_slice_along_whole_axis)
def dynamic_slice_along_whole_axis(x: Value, starts: tuple[Value, ...], sizes: Sizes) -> Value | None:
    """dynamic_slice(x, i, n) = dynamic_slice(x, 0, n) along an axis of size n, so that i need not be computed

    >>> i, j = tensor("i32", name="i"), tensor("i32", name="j")
    >>> dynamic_slice_along_whole_axis(DynamicSlice(tensor("f32", 9, 4), (i, Add(j, j)), (1, 4)))
    DynamicSlice(x, (i, Constant(0)), slice_sizes=(1, 4))
    """
    found = tuple(
        Constant.of(0, start.dtype) if computes_start(start) and extent == size else start
        for start, extent, size in zip(starts, x.shape, sizes, strict=True)
    )
    return DynamicSlice(x, found, sizes) if any(a is not b for a, b in zip(found, starts, strict=True)) else None


def computes_start(start: Value) -> bool:
    """Whether a start is arithmetic's result."""
    return isinstance(start, Elementwise)


def clamped(start: Value, latest: int) -> Value:
    """A start as it is after clamping to 0 … latest."""
    if latest == 0:
        return Constant.of(0, start.dtype)
    if is_inside(start, latest):
        return start
    return Clamp(Constant.of(0, start.dtype), start, Constant.of(latest, start.dtype))


def can_hold(dtype: str, number: int) -> bool:
    """Whether an index type has a number."""
    return number <= int(np.iinfo(NUMPY_DTYPES[dtype]).max)


def sample_slice_within_dynamic_slice(draw: Draw) -> Slice:
    """Rows out of the middle of a part at a place of which nothing is known."""
    part = DynamicSlice(tensor("f32", 9), some_starts(1), (draw.integer(3, 9),))
    return Slice(part, **Slice.sample(draw, part.tensor))


@rewrite(
    Slice(DynamicSlice(x, starts, sizes), begin, end, strides),
    by_cost=True,
    single_use=True,
    sample=sample_slice_within_dynamic_slice,
)
def slice_within_dynamic_slice(
    op: Slice, x: Value, starts: tuple[Value, ...], sizes: Sizes, begin: Sizes, end: Sizes, strides: Sizes
) -> Value | None:
    """slice(dynamic_slice(x, i, s), a, b) = dynamic_slice(x, clamp(0, i, n - s) + a, b - a)

    >>> part = DynamicSlice(tensor("f32", 9), (tensor("i32", name="i"),), (5,))
    >>> slice_within_dynamic_slice(Slice(part, (0,), (2,), (1,)))
    DynamicSlice(x, (Clamp(Constant(0), i, Constant(4)),), slice_sizes=(2,))
    """
    if any(step != 1 for step in strides) or op.shape == sizes or not can_hold(starts[0].dtype, max(x.shape)):
        return None
    first: list[Value] = []
    for axis, start in enumerate(starts):
        if op.shape[axis] == sizes[axis]:
            first.append(start)
            continue
        inside = clamped(start, x.shape[axis] - sizes[axis])
        first.append(Add(inside, Constant.of(begin[axis], start.dtype)) if begin[axis] else inside)
    return DynamicSlice(x, tuple(first), op.shape)


def sample_dynamic_slice_within(draw: Draw) -> DynamicSlice:
    """A part of a part along one axis, at places of which nothing is known."""
    part = DynamicSlice(tensor("f32", 9), some_starts(1), (draw.integer(3, 8),))
    return DynamicSlice(part, (tensor("i32", name="j"),), (draw.integer(1, 3),))


@rewrite(
    DynamicSlice(DynamicSlice(x, inner_starts, inner_sizes), starts, sizes),
    by_cost=True,
    single_use=True,
    sample=sample_dynamic_slice_within,
)
def dynamic_slice_within_dynamic_slice(
    x: Value, inner_starts: tuple[Value, ...], inner_sizes: Sizes, starts: tuple[Value, ...], sizes: Sizes
) -> Value | None:
    """dynamic_slice(dynamic_slice(x, i, s), j, t) = dynamic_slice(x, clamp(0, i, n - s) + clamp(0, j, s - t), t)

    >>> part = DynamicSlice(tensor("f32", 9), (small_number("i", 3),), (5,))
    >>> dynamic_slice_within_dynamic_slice(DynamicSlice(part, (small_number("j", 1),), (2,))).start_indices
    (Add(And(i, Constant(3)), And(j, Constant(1))),)
    """
    if inner_starts[0].type is not starts[0].type or not can_hold(starts[0].dtype, max(x.shape)):
        return None
    first: list[Value] = []
    for axis, (outer, inner) in enumerate(zip(starts, inner_starts, strict=True)):
        if sizes[axis] == inner_sizes[axis]:
            first.append(inner)
        elif inner_sizes[axis] == x.shape[axis]:
            first.append(outer)
        else:
            latest = x.shape[axis] - inner_sizes[axis], inner_sizes[axis] - sizes[axis]
            first.append(Add(clamped(inner, latest[0]), clamped(outer, latest[1])))
    return DynamicSlice(x, tuple(first), sizes)


def sample_dynamic_slice_of_rows(draw: Draw) -> DynamicSlice:
    """Some of the rows that were gathered."""
    rows = Gather(tensor("f32", 5, 3), tensor("i32", 4, 1, name="k"), (1,), (0,), (), (), (0,), 1, (1, 3))
    return DynamicSlice(rows, some_starts(2), (draw.integer(1, 3), 3))


@rewrite(DynamicSlice(any_op(Gather, bind="rows"), starts, sizes), sample=sample_dynamic_slice_of_rows)
def dynamic_slice_of_gather(rows: Gather, starts: tuple[Value, ...], sizes: Sizes) -> Value | None:
    """dynamic_slice(x[k], i, s) = x[dynamic_slice(k, i, s)], if nothing else uses x[k]

    >>> k, zero = tensor("i32", 4, 1, name="k"), Constant.of(0, "i32")
    >>> rows = Gather(tensor("f32", 5, 3), k, (1,), (0,), (), (), (0,), 1, (1, 3))
    >>> dynamic_slice_of_gather(DynamicSlice(rows, (tensor("i32", name="i"), zero), (1, 3))).start_indices
    DynamicSlice(k, (i, Constant(0)), slice_sizes=(1, 1))
    """
    if not is_alone(rows) or rows.operand_batching_dims or 0 in sizes:
        return None
    indices = rows.start_indices
    if any(sizes[place] != rows.shape[place] for place in rows.offset_dims) or indices.tensor.size >= rows.tensor.size:
        return None
    if len(indices.shape) > len(rows.shape):
        return None
    batch = iter([place for place in range(len(sizes)) if place not in rows.offset_dims])
    first: list[Value] = []
    wanted: list[int] = []
    for axis, size in enumerate(indices.shape):
        place = None if axis == rows.index_vector_dim else next(batch)
        # Along the axis of the components, which is taken as a whole, any start will do: it is moved to 0.
        first.append(starts[-1] if place is None else starts[place])
        wanted.append(size if place is None else sizes[place])
    return rows.with_operands((rows.operand, DynamicSlice(indices, tuple(first), tuple(wanted))))
