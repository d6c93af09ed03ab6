"""Gathers: at places that are known they become slices; of cheap things they take what those were made of."""

from __future__ import annotations

import math

import numpy as np

from windlass.facts.known_values import Integers, Progression, costs_work, find_progression, known_integers
from windlass.ir import Value
from windlass.ir.values import tensor
from windlass.ops import (
    Add,
    BroadcastInDim,
    Constant,
    Elementwise,
    Exponential,
    Gather,
    Iota,
    Multiply,
    Reshape,
    Reverse,
    Slice,
    Transpose,
)
from windlass.ops.sampling import Draw
from windlass.rewriting.pattern import any_op
from windlass.rewriting.rule import rewrite
from windlass.rewriting.sharing import is_alone
from windlass.rules.axes import Sizes, pick

__all__ = ["Constant"]


def take_rows(x: Value, indices: Value) -> Gather:
    """Rows of x at indices of shape (n, 1), as `x[indices]` is lowered."""
    rest = x.shape[1:]
    return Gather(x, indices, tuple(range(1, len(rest) + 1)), (0,), (), (), (0,), 1, (1, *rest))


def sample_regular_gather(draw: Draw) -> Gather:
    """A gather at places that are known, in regular order mostly."""
    x = tensor("f32", 6, 5)
    count = draw.integer(1, 4)
    first, step = draw.integer(-2, 6), draw.choose((0, 1, 1, 2, -1))
    if draw.boolean():
        counted = Multiply(Iota((count, 1), "i32", 0), Constant.of(step, "i32", (count, 1)))
        return take_rows(x, Add(counted, Constant.of(first, "i32", (count, 1))))
    indices = Constant.of(np.array([[first + step * index, 1] for index in range(count)], np.int32))
    sizes = draw.choose(((1, 1), (1, 3), (2, 1)))
    collapsed = tuple(axis for axis, size in enumerate(sizes) if size == 1 and draw.boolean())
    rank = 1 + 2 - len(collapsed)
    offsets = draw.subset(rank, 2 - len(collapsed))
    return Gather(x, indices, offsets, collapsed, (), (), (0, 1), 1, sizes)


@rewrite(any_op(Gather), sample=sample_regular_gather)
def gather_at_regular_places(op: Gather) -> Value | None:
    """gather(x, a + s·iota) = slice(x) with stride s, its axes put in place

    Starts are clamped first, as gather does: 0 ≤ start ≤ shape(x) - slice size.

    >>> gather_at_regular_places(take_rows(tensor("f32", 9), Constant.of(np.array([[2], [4], [6]], np.int32))))
    Slice(x, start_indices=(2,), limit_indices=(7,), strides=(2,))
    """
    indices = known_integers(op.start_indices)
    if indices is None:
        return None
    places = _places_along_axes(op, indices)
    if places is None:
        return None
    batch = _batch_shape(op)
    start: list[int] = []
    limit: list[int] = []
    stride: list[int] = []
    backwards: list[int] = []
    for axis, place in enumerate(places):
        count = 1 if place.axis is None else batch[place.axis]
        low, high = sorted((place.base, place.last(count)))
        start.append(low)
        limit.append(high + (op.slice_sizes[axis] if place.axis is None else 1))
        stride.append(max(abs(place.step), 1))
        if place.step < 0:
            backwards.append(axis)
    x = op.operand
    whole = not any(start) and tuple(limit) == x.shape and max(stride, default=1) == 1
    targets = _targets(op, places)
    long = [axis for axis in range(len(places)) if axis in targets]
    order = sorted(range(len(long)), key=lambda index: targets[long[index]])
    moves = (not whole) + bool(backwards) + (order != sorted(order))
    if moves > 1 and not costs_work(op.start_indices):
        return None
    taken: Value = x if whole else Slice(x, tuple(start), tuple(limit), tuple(stride))
    if backwards:
        taken = Reverse(taken, tuple(backwards))
    if order != sorted(order):
        short = [axis for axis in range(len(places)) if axis not in targets]
        taken = Transpose(taken, (*(long[index] for index in order), *short))
    if taken.tensor.size == op.tensor.size:
        return taken if taken.shape == op.shape else Reshape(taken, op.shape)
    places_in_result = tuple(sorted(targets.values()))
    if len(long) < len(places):
        taken = Reshape(taken, pick(op.shape, places_in_result))
    return BroadcastInDim(taken, op.shape, places_in_result)


def _batch_shape(op: Gather) -> Sizes:
    """Sizes of the axes of the indices without that of the components."""
    return tuple(size for axis, size in enumerate(op.start_indices.shape) if axis != op.index_vector_dim)


def _places_along_axes(op: Gather, indices: Integers) -> list[Progression] | None:
    """Where the slices begin along each axis of the operand; None where that is not regular.

    Each axis of the indices then moves the slices along one axis of the operand at most, one element at a time.
    """
    if op.index_vector_dim == indices.ndim:
        indices = indices[..., np.newaxis]
    vectors = np.moveaxis(indices, op.index_vector_dim, -1)
    places = [Progression(0, None, 0)] * len(op.operand.shape)
    for component, axis in enumerate(op.start_index_map):
        latest = op.operand.shape[axis] - op.slice_sizes[axis]
        found = find_progression(np.clip(vectors[..., component], 0, latest))
        if found is None:
            return None
        places[axis] = found
    for axis, batch_axis in zip(op.operand_batching_dims, op.start_indices_batching_dims, strict=True):
        own = batch_axis - (batch_axis > op.index_vector_dim)
        if op.operand.shape[axis] != 1:
            places[axis] = Progression(0, own, 1)
    used = [place.axis for place in places if place.axis is not None]
    moving = [axis for axis, place in enumerate(places) if place.axis is not None]
    if len(set(used)) < len(used) or any(op.slice_sizes[axis] != 1 for axis in moving) or op.tensor.size == 0:
        return None
    return places


def _targets(op: Gather, places: list[Progression]) -> dict[int, int]:
    """Which axis of the result each axis of the operand becomes, without those that are dropped."""
    taken = (*op.collapsed_slice_dims, *op.operand_batching_dims)
    kept = [axis for axis in range(len(places)) if axis not in taken]
    offsets = dict(zip(kept, op.offset_dims, strict=True))
    batch = [axis for axis in range(len(op.shape)) if axis not in op.offset_dims]
    targets: dict[int, int] = {}
    for axis, place in enumerate(places):
        if place.axis is not None:
            targets[axis] = batch[place.axis]
        elif axis in offsets and op.slice_sizes[axis] != 1:
            targets[axis] = offsets[axis]
    return targets


def sample_gather_of_few(draw: Draw) -> Gather:
    """A gather of some rows of what an elementwise op gives."""
    x = tensor("f32", 5, 3)
    made = Add(x, tensor("f32", 5, 3, name="y")) if draw.boolean() else Exponential(x)
    return take_rows(made, tensor("i32", draw.integer(1, 5), 1, name="i"))


@rewrite(any_op(Gather, operand=any_op(Elementwise, bind="inner")), sample=sample_gather_of_few)
def gather_of_elementwise(op: Gather, inner: Elementwise) -> Value | None:
    """gather(f(x, y), i) = f(gather(x, i), gather(y, i)), if that is fewer elements and nothing else uses f(x, y)

    >>> gather_of_elementwise(take_rows(Exponential(tensor("f32", 9)), tensor("i32", 2, 1, name="i"))).operand.shape
    (2,)
    """
    if not is_alone(inner) or op.tensor.size >= inner.tensor.size:
        return None
    operands: list[Value] = []
    for operand in inner.operands:
        if isinstance(operand, Constant) and operand.is_splat and operand.shape:
            operands.append(Constant.of(operand.number, operand.dtype, op.shape))
        elif operand.shape:
            operands.append(op.with_operands((operand, op.start_indices)))
        else:
            operands.append(operand)
    return inner.with_operands(tuple(operands))


def sample_gather_of_broadcast(draw: Draw) -> Gather:
    """A gather of rows that are all the same."""
    rows = draw.integer(2, 4)
    x = BroadcastInDim(tensor("f32", *draw.choose(((3,), (1, 3), ()))), (rows, 3), draw.choose(((1,), (0, 1), ())))
    return take_rows(x, tensor("i32", draw.integer(1, 5), 1, name="i"))


@rewrite(any_op(Gather), sample=sample_gather_of_broadcast)
def gather_of_broadcast(op: Gather) -> Value | None:
    """gather(broadcast(x), i) = broadcast(x), if x is the same along the axes that i counts

    >>> same = BroadcastInDim(tensor("f32", 3), (9, 3), (1,))
    >>> gather_of_broadcast(take_rows(same, tensor("i32", 2, 1, name="i")))
    BroadcastInDim(x, shape=(2, 3), broadcast_dimensions=(1,))
    """
    wide = op.operand
    if isinstance(wide, Constant) and wide.is_splat:
        return Constant.of(wide.number, wide.dtype, op.shape)
    if not isinstance(wide, BroadcastInDim):
        return None
    taken = (*op.collapsed_slice_dims, *op.operand_batching_dims)
    kept = [axis for axis in range(len(wide.shape)) if axis not in taken]
    offsets = dict(zip(kept, op.offset_dims, strict=True))
    x = wide.operand
    places: dict[int, int] = {}
    for axis, place in enumerate(wide.broadcast_dimensions):
        if x.shape[axis] == 1:
            continue
        if place not in offsets or op.slice_sizes[place] != wide.shape[place]:
            return None
        places[axis] = offsets[place]
    long = sorted(places)
    small = x if len(long) == len(x.shape) else Reshape(x, pick(x.shape, long))
    return BroadcastInDim(small, op.shape, tuple(places[axis] for axis in long))


def sample_gather_of_gather(draw: Draw) -> Gather:
    """Some rows of some rows."""
    inner = take_rows(tensor("f32", 5, 3), tensor("i32", draw.integer(2, 5), 1, name="i"))
    return take_rows(inner, tensor("i32", draw.integer(1, 3), 1, name="j"))


@rewrite(any_op(Gather, operand=any_op(Gather, bind="inner")), sample=sample_gather_of_gather)
def gather_of_gather(op: Gather, inner: Gather) -> Value | None:
    """x[i][j] = x[i[j]] for rows, if nothing else uses x[i]

    >>> x, i, j = tensor("f32", 9, 2), tensor("i32", 5, 1, name="i"), tensor("i32", 2, 1, name="j")
    >>> gather_of_gather(take_rows(take_rows(x, i), j)).start_indices.shape
    (2, 1)
    """
    if not is_alone(inner):
        return None
    axis, inner_axis = _taken_axis(op), _taken_axis(inner)
    if axis is None or axis != inner_axis or op.index_vector_dim != 1 or inner.index_vector_dim != 1:
        return None
    count = inner.shape[axis]
    if inner.tensor.size <= op.start_indices.shape[0] or 0 in op.shape:
        return None
    indices = Reshape(inner.start_indices, (count,))
    chosen = Gather(indices, op.start_indices, (), (0,), (), (), (0,), 1, (1,))
    return inner.with_operands((inner.operand, Reshape(chosen, (op.shape[axis], 1))))


def _taken_axis(op: Gather) -> int | None:
    """The axis along which whole hyperplanes are taken, in its place; None for other gathers."""
    if len(op.start_index_map) != 1 or op.operand_batching_dims or len(op.start_indices.shape) != 2:
        return None
    (axis,) = op.start_index_map
    others = tuple(each for each in range(len(op.operand.shape)) if each != axis)
    sizes = tuple(1 if each == axis else size for each, size in enumerate(op.operand.shape))
    is_plain = op.collapsed_slice_dims == (axis,) and op.offset_dims == others and op.slice_sizes == sizes
    return axis if is_plain else None


def sample_sliced_gather(draw: Draw) -> Slice:
    """A slice of taken rows."""
    rows = take_rows(tensor("f32", 5, 4), tensor("i32", draw.integer(2, 5), 1, name="i"))
    return Slice(rows, **Slice.sample(draw, rows.tensor))


@rewrite(any_op(Slice, operand=any_op(Gather, bind="inner")), sample=sample_sliced_gather)
def slice_of_gather(op: Slice, inner: Gather) -> Value | None:
    """slice(gather(x, i), a, b) = gather(slice(x), slice(i)), if nothing else uses the gather

    Along axes of the slices that are taken as a whole x is sliced; along those of the indices, the indices.

    >>> rows = take_rows(tensor("f32", 9, 4), tensor("i32", 5, 1, name="i"))
    >>> slice_of_gather(Slice(rows, (0, 0), (2, 4), (1, 1))).start_indices
    Slice(i, start_indices=(0, 0), limit_indices=(2, 1), strides=(1, 1))
    """
    if not is_alone(inner) or inner.operand_batching_dims or 0 in op.shape:
        return None
    if op.shape == inner.shape or inner.start_indices.tensor.size >= inner.tensor.size + 1:
        return None
    x, indices = inner.operand, inner.start_indices
    kept = [axis for axis in range(len(x.shape)) if axis not in inner.collapsed_slice_dims]
    batch = [axis for axis in range(len(inner.shape)) if axis not in inner.offset_dims]
    whole = [(0, size, 1) for size in inner.shape]
    cuts = list(zip(op.start_indices, op.limit_indices, op.strides, strict=True))
    own = [(0, size, 1) for size in x.shape]
    sizes = list(inner.slice_sizes)
    for axis, place in zip(kept, inner.offset_dims, strict=True):
        if cuts[place] != whole[place]:
            if inner.slice_sizes[axis] != x.shape[axis]:
                return None
            own[axis] = cuts[place]
            sizes[axis] = op.shape[place]
    index_cuts = [(0, size, 1) for size in indices.shape]
    index_axes = [axis for axis in range(len(indices.shape)) if axis != inner.index_vector_dim]
    for axis, place in zip(index_axes, batch, strict=True):
        index_cuts[axis] = cuts[place]
    if [cuts[place] for place in batch] != [whole[place] for place in batch]:
        indices = Slice(indices, *(tuple(cut[part] for cut in index_cuts) for part in range(3)))
    if any(cuts[place] != whole[place] for place in inner.offset_dims):
        if math.prod(b - a for a, b, _ in own) >= x.tensor.size or x.tensor.size > inner.tensor.size:
            return None
        x = Slice(x, *(tuple(cut[part] for cut in own) for part in range(3)))
    return Gather(
        x,
        indices,
        inner.offset_dims,
        inner.collapsed_slice_dims,
        (),
        (),
        inner.start_index_map,
        inner.index_vector_dim,
        tuple(sizes),
        inner.indices_are_sorted,
    )
