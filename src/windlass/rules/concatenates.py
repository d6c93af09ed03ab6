"""Concatenations: flattened, and undone where the parts came from one whole."""

from __future__ import annotations

from itertools import pairwise

from windlass.ir import Value
from windlass.ir.values import tensor
from windlass.ops import (
    BroadcastInDim,
    Concatenate,
    Constant,
    Elementwise,
    Exponential,
    Multiply,
    Pad,
    Reshape,
    Reverse,
    Slice,
    Transpose,
)
from windlass.ops.sampling import Draw
from windlass.rewriting.pattern import hole
from windlass.rewriting.rule import rewrite
from windlass.rules.axes import group_axes, replace

inputs, dimension = hole("inputs"), hole("dimension")


@rewrite(Concatenate(inputs, dimension))
def concatenate_of_one(inputs: tuple[Value, ...]) -> Value | None:
    """concatenate(x) = x

    >>> concatenate_of_one(Concatenate((tensor("f32", 4),), 0))
    x
    """
    return inputs[0] if len(inputs) == 1 else None


@rewrite(Concatenate(inputs, dimension))
def concatenate_without_empty_parts(inputs: tuple[Value, ...], dimension: int) -> Value | None:
    """concatenate(x, empty, y) = concatenate(x, y)

    >>> concatenate_without_empty_parts(Concatenate((tensor("f32", 4), tensor("f32", 0, name="e")), 0))
    Concatenate((x,), dimension=0)
    """
    kept = tuple(part for part in inputs if part.shape[dimension] != 0)
    return Concatenate(kept, dimension) if 0 < len(kept) < len(inputs) else None


def sample_related_parts(draw: Draw) -> Concatenate:
    """A concatenation of parts that have to do with each other: slices of one array, concatenations, broadcasts."""
    x, c = tensor("f32", 6, 2), tensor("f32", name="c")
    parts: list[Value] = []
    first = draw.integer(0, 2)
    for _ in range(draw.integer(2, 4)):
        last = draw.integer(first, 6)
        kind = draw.integer(0, 3)
        if kind == 0:
            parts.append(Concatenate((x, tensor("f32", 1, 2, name="y")), 0))
        elif kind == 1:
            parts.append(BroadcastInDim(c, (draw.integer(1, 3), 2), ()))
        else:
            parts.append(Slice(x, (first, 0), (last, 2), (1, 1)))
            first = last
    same_kind = draw.boolean()
    return Concatenate(tuple(part for part in parts if not same_kind or type(part) is type(parts[0])), 0)


@rewrite(Concatenate(inputs, dimension), sample=sample_related_parts)
def concatenate_of_concatenates(inputs: tuple[Value, ...], dimension: int) -> Value | None:
    """concatenate(concatenate(x, y), z) = concatenate(x, y, z), if nothing else uses the inner one

    >>> inner = Concatenate((tensor("f32", 1), tensor("f32", 2, name="y")), 0)
    >>> concatenate_of_concatenates(Concatenate((inner, tensor("f32", 3, name="z")), 0))
    Concatenate((x, y, z), dimension=0)
    """
    parts: list[Value] = []
    for part in inputs:
        if isinstance(part, Concatenate) and part.dimension == dimension and len(part.uses) == 1:
            parts += part.inputs
        else:
            parts.append(part)
    return Concatenate(tuple(parts), dimension) if len(parts) > len(inputs) else None


@rewrite(Concatenate(inputs, dimension), sample=sample_related_parts)
def concatenate_of_adjacent_slices(inputs: tuple[Value, ...], dimension: int) -> Value | None:
    """concatenate(slice(x, a, b), slice(x, b, c)) = slice(x, a, c)

    >>> x = tensor("f32", 9)
    >>> parts = Slice(x, (1,), (3,), (1,)), Slice(x, (3,), (7,), (1,))
    >>> concatenate_of_adjacent_slices(Concatenate(parts, 0))
    Concatenate((Slice(x, start_indices=(1,), limit_indices=(7,), strides=(1,)),), dimension=0)
    """
    parts: list[Value] = []
    for part in inputs:
        joined = _join(parts[-1], part, dimension) if parts else None
        if joined is None:
            parts.append(part)
        else:
            parts[-1] = joined
    return Concatenate(tuple(parts), dimension) if len(parts) < len(inputs) else None


def _join(first: Value, second: Value, dimension: int) -> Value | None:
    """Both slices as one, if they are neighbours in one array."""
    if not (isinstance(first, Slice) and isinstance(second, Slice)) or first.operand is not second.operand:
        return None
    if any(step != 1 for step in (*first.strides, *second.strides)):
        return None
    if first.limit_indices[dimension] != second.start_indices[dimension]:
        return None
    for axis in range(len(first.strides)):
        same = first.start_indices[axis] == second.start_indices[axis]
        same = same and first.limit_indices[axis] == second.limit_indices[axis]
        if axis != dimension and not same:
            return None
    limit = list(first.limit_indices)
    limit[dimension] = second.limit_indices[dimension]
    return Slice(first.operand, first.start_indices, tuple(limit), first.strides)


def sample_broadcast_parts(draw: Draw) -> Concatenate:
    """A concatenation of broadcasts, along an axis of theirs or a new one."""
    x, y = tensor("f32", 3), tensor("f32", 3, name="y")
    if draw.boolean():
        return Concatenate((BroadcastInDim(x, (2, 3), (1,)), BroadcastInDim(y, (2, 3), (1,))), 1)
    return Concatenate(tuple(BroadcastInDim(x, (draw.integer(1, 2), 3), (1,)) for _ in range(2)), 0)


@rewrite(Concatenate(inputs, dimension), sample=sample_broadcast_parts)
def concatenate_of_equal_broadcasts(op: Concatenate, inputs: tuple[Value, ...], dimension: int) -> Value | None:
    """concatenate(broadcast(x), broadcast(x)) = broadcast(x) of the larger shape, along an axis that x lacks

    >>> c = tensor("f32", name="c")
    >>> concatenate_of_equal_broadcasts(Concatenate((BroadcastInDim(c, (2,), ()), BroadcastInDim(c, (3,), ())), 0))
    BroadcastInDim(c, shape=(5,), broadcast_dimensions=())
    """
    first = inputs[0]
    if len(inputs) < 2 or not isinstance(first, BroadcastInDim):
        return None
    axes = first.broadcast_dimensions
    if dimension in axes and first.operand.shape[axes.index(dimension)] != 1:
        return None
    for part in inputs:
        if not isinstance(part, BroadcastInDim) or part.operand is not first.operand:
            return None
        if part.broadcast_dimensions != axes:
            return None
    return BroadcastInDim(first.operand, op.shape, axes)


@rewrite(Concatenate(inputs, dimension), sample=sample_broadcast_parts)
def concatenate_of_broadcasts(op: Concatenate, inputs: tuple[Value, ...], dimension: int) -> Value | None:
    """concatenate(broadcast(x), broadcast(y)) = broadcast(concatenate(x, y)), along an axis that they have

    >>> parts = tuple(BroadcastInDim(tensor("f32", 3, name=name), (2, 3), (1,)) for name in "xy")
    >>> concatenate_of_broadcasts(Concatenate(parts, 1))
    BroadcastInDim(Concatenate((x, y), dimension=0), shape=(2, 6), broadcast_dimensions=(1,))
    """
    first = inputs[0]
    if len(inputs) < 2 or not isinstance(first, BroadcastInDim) or dimension not in first.broadcast_dimensions:
        return None
    axes = first.broadcast_dimensions
    own = axes.index(dimension)
    small: list[Value] = []
    for part in inputs:
        if not isinstance(part, BroadcastInDim) or part.broadcast_dimensions != axes:
            return None
        if part.operand.shape[own] != part.shape[dimension]:
            return None
        if replace(part.operand.shape, own, 0) != replace(first.operand.shape, own, 0):
            return None
        small.append(part.operand)
    if sum(value.tensor.size for value in small) >= op.tensor.size:
        return None
    return BroadcastInDim(Concatenate(tuple(small), own), op.shape, axes)


def sample_moved_parts(draw: Draw) -> Concatenate:
    """A concatenation of transposes or reshapes."""
    parts: list[Value] = []
    kind = draw.boolean()
    shape = draw.choose(((4, 1, 6), (4, 2, 3), (2, 2, 6)))
    for name in "xy":
        x = tensor("f32", 4, 6, name=name)
        parts.append(Transpose(x, (1, 0)) if kind else Reshape(x, shape))
    return Concatenate(tuple(parts), draw.integer(0, len(parts[0].shape) - 1))


@rewrite(Concatenate(inputs, dimension), sample=sample_moved_parts)
def concatenate_of_transposes(inputs: tuple[Value, ...], dimension: int) -> Value | None:
    """concatenate(transpose(x, p), transpose(y, p)) = transpose(concatenate(x, y), p)

    >>> parts = tuple(Transpose(tensor("f32", 2, 3, name=name), (1, 0)) for name in "xy")
    >>> concatenate_of_transposes(Concatenate(parts, 0))
    Transpose(Concatenate((x, y), dimension=1), permutation=(1, 0))
    """
    first = inputs[0]
    if len(inputs) < 2 or not isinstance(first, Transpose):
        return None
    p = first.permutation
    before: list[Value] = []
    for part in inputs:
        if not isinstance(part, Transpose) or part.permutation != p or len(part.uses) != 1:
            return None
        before.append(part.operand)
    return Transpose(Concatenate(tuple(before), p[dimension]), p)


def _sample_reversed_parts(draw: Draw) -> Concatenate:
    """A concatenation of what is reversed along the same axes."""
    dimensions, along = draw.choose(((0,), (1,), (0, 1))), draw.integer(0, 1)
    shape = [2, 2]
    parts: list[Value] = []
    for name in "xyz":
        shape[along] = draw.integer(1, 3)
        parts.append(Reverse(tensor("f32", *shape, name=name), dimensions))
    return Concatenate(tuple(parts), along)


@rewrite(Concatenate(inputs, dimension), sample=_sample_reversed_parts)
def concatenate_of_reverses(inputs: tuple[Value, ...], dimension: int) -> Value | None:
    """concatenate(reverse(x), reverse(y)) = reverse(concatenate(y, x)), and of (x, y) along other axes

    >>> parts = tuple(Reverse(tensor("f32", 2, 3, name=name), (0,)) for name in "xy")
    >>> concatenate_of_reverses(Concatenate(parts, 0))
    Reverse(Concatenate((y, x), dimension=0), dimensions=(0,))
    """
    before: list[Value] = []
    first = inputs[0]
    for part in inputs:
        if not isinstance(part, Reverse) or not isinstance(first, Reverse) or len(part.uses) != 1:
            return None
        if len(inputs) < 2 or part.dimensions != first.dimensions:
            return None
        before.append(part.operand)
    assert isinstance(first, Reverse)
    order = before[::-1] if dimension in first.dimensions else before
    return Reverse(Concatenate(tuple(order), dimension), first.dimensions)


@rewrite(Concatenate(inputs, dimension), sample=sample_moved_parts)
def concatenate_of_reshapes(op: Concatenate, inputs: tuple[Value, ...], dimension: int) -> Value | None:
    """concatenate(reshape(x), reshape(y)) = reshape(concatenate(x, y)), where the axis is the first of one of x's

    >>> parts = tuple(Reshape(tensor("f32", 4, 6, name=name), (4, 2, 3)) for name in "xy")
    >>> concatenate_of_reshapes(Concatenate(parts, 0))
    Reshape(Concatenate((x, y), dimension=0), shape=(8, 2, 3))
    """
    first = inputs[0]
    if len(inputs) < 2 or not isinstance(first, Reshape):
        return None
    own: int | None = None
    before: list[Value] = []
    for part in inputs:
        if not isinstance(part, Reshape):
            return None
        axis = _joinable_axis(part, dimension)
        if axis is None or own not in (None, axis):
            return None
        if replace(part.operand.shape, axis, 0) != replace(first.operand.shape, axis, 0):
            return None
        own = axis
        before.append(part.operand)
    assert own is not None
    return Reshape(Concatenate(tuple(before), own), op.shape)


def _joinable_axis(part: Reshape, dimension: int) -> int | None:
    """The axis of the reshape's operand along which joining it joins the result along `dimension`."""
    for group in group_axes(part.operand.shape, part.shape) or ():
        if dimension in group.new:
            return group.old[0] if len(group.old) == 1 and group.new[0] == dimension else None
    return None


def sample_constant_parts(draw: Draw) -> Concatenate:
    """A concatenation with constants between other parts and at the ends."""
    parts: list[Value] = [tensor("f32", 2)]
    for _ in range(draw.integer(1, 4)):
        parts.insert(draw.integer(0, len(parts)), Constant.of(draw.integer(0, 1), "f32", (draw.integer(1, 3),)))
    return Concatenate(tuple(parts), 0)


def _is_same_number(first: Constant, second: Constant) -> bool:
    """Whether both hold one number everywhere, the same bits."""
    return first.is_splat and second.is_splat and first.value.data.tobytes() == second.value.data.tobytes()


@rewrite(Concatenate(inputs, dimension), sample=sample_constant_parts)
def concatenate_of_neighbouring_constants(inputs: tuple[Value, ...], dimension: int) -> Value | None:
    """concatenate(x, constant c, constant c) = concatenate(x, constant c)

    >>> zeros = Constant.of(0, "f32", (2,))
    >>> concatenate_of_neighbouring_constants(Concatenate((tensor("f32", 3), zeros, zeros), 0)).inputs[1].shape
    (4,)
    """
    parts: list[Value] = []
    for part in inputs:
        last = parts[-1] if parts else None
        if isinstance(part, Constant) and isinstance(last, Constant) and _is_same_number(part, last):
            size = part.shape[dimension] + last.shape[dimension]
            parts[-1] = Constant.of(part.number, part.dtype, replace(part.shape, dimension, size))
        else:
            parts.append(part)
    return Concatenate(tuple(parts), dimension) if len(parts) < len(inputs) else None


@rewrite(Concatenate(inputs, dimension), sample=sample_constant_parts)
def concatenate_between_constants(inputs: tuple[Value, ...], dimension: int) -> Value | None:
    """concatenate(constant c, x, constant c) = pad(x, c)

    >>> zeros = Constant.of(0, "f32", (2,))
    >>> concatenate_between_constants(Concatenate((zeros, tensor("f32", 3), zeros), 0)).edge_padding_high
    (2,)
    """
    if len(inputs) != 3:
        return None
    first, x, last = inputs
    if not (isinstance(first, Constant) and isinstance(last, Constant) and _is_same_number(first, last)):
        return None
    nothing = (0,) * len(x.shape)
    low, high = (replace(nothing, dimension, end.shape[dimension]) for end in (first, last))
    return Pad(x, Constant.of(first.number, first.dtype), low, high, nothing)


def sample_spaced_slices(draw: Draw) -> Concatenate:
    """Rows of one array in regular order, up or down."""
    x = tensor("f32", 9, 2)
    step = draw.choose((2, 3, -1, -2))
    first = draw.integer(0, 2) if step > 0 else draw.integer(6, 8)
    rows = [first + step * index for index in range(draw.integer(2, 3))]
    return Concatenate(tuple(Slice(x, (row, 0), (row + 1, 2), (1, 1)) for row in rows), 0)


@rewrite(Concatenate(inputs, dimension), sample=sample_spaced_slices)
def concatenate_of_spaced_slices(inputs: tuple[Value, ...], dimension: int) -> Value | None:
    """concatenate(x[a], x[a + s], x[a + 2s]) = slice(x) with stride s, reversed if s < 0

    >>> x = tensor("f32", 9)
    >>> concatenate_of_spaced_slices(Concatenate(tuple(Slice(x, (at,), (at + 1,), (1,)) for at in (6, 4, 2)), 0))
    Reverse(Slice(x, start_indices=(2,), limit_indices=(7,), strides=(2,)), dimensions=(0,))
    """
    first = inputs[0]
    if len(inputs) < 2 or not isinstance(first, Slice):
        return None
    places: list[int] = []
    for part in inputs:
        if not isinstance(part, Slice) or part.operand is not first.operand or part.strides != first.strides:
            return None
        if part.shape[dimension] != 1:
            return None
        for ours, theirs in ((part.start_indices, first.start_indices), (part.limit_indices, first.limit_indices)):
            if replace(ours, dimension, 0) != replace(theirs, dimension, 0):
                return None
        places.append(part.start_indices[dimension])
    step = places[1] - places[0]
    if step == 0 or any(after - before != step for before, after in pairwise(places)):
        return None
    rows = Slice(
        first.operand,
        replace(first.start_indices, dimension, min(places)),
        replace(first.limit_indices, dimension, max(places) + 1),
        replace(first.strides, dimension, abs(step)),
    )
    return rows if step > 0 else Reverse(rows, (dimension,))


def sample_equal_computations(draw: Draw) -> Concatenate:
    """One computation on neighbouring slices of an array."""
    x, y = tensor("f32", 6, 2), tensor("f32", 6, 2, name="y")
    cut = draw.integer(1, 5)
    halves = [((0, 0), (cut, 2), (1, 1)), ((cut, 0), (6, 2), (1, 1))]
    if draw.boolean():
        return Concatenate(tuple(Exponential(Slice(x, *half)) for half in halves), 0)
    return Concatenate(tuple(Multiply(Slice(x, *half), Slice(y, *half)) for half in halves), 0)


@rewrite(Concatenate(inputs, dimension), sample=sample_equal_computations)
def concatenate_of_equal_computations(inputs: tuple[Value, ...], dimension: int) -> Value | None:
    """concatenate(f(slice(x, a, b)), f(slice(x, b, c))) = f(slice(x, a, c)), for each operand of f

    >>> x = tensor("f32", 9)
    >>> parts = Exponential(Slice(x, (1,), (3,), (1,))), Exponential(Slice(x, (3,), (7,), (1,)))
    >>> concatenate_of_equal_computations(Concatenate(parts, 0))
    Exponential(Slice(x, start_indices=(1,), limit_indices=(7,), strides=(1,)))
    """
    first = inputs[0]
    if len(inputs) < 2 or not isinstance(first, Elementwise):
        return None
    parts: list[Elementwise] = []
    for part in inputs:
        if not isinstance(part, Elementwise) or type(part) is not type(first) or len(part.uses) != 1:
            return None
        if any(getattr(part, name) != getattr(first, name) for name in part.attribute_names):
            return None
        parts.append(part)
    joined: list[Value] = []
    for position in range(len(first.operands)):
        own = [part.operands[position] for part in parts]
        whole = _join_operands(own, inputs, dimension)
        if whole is None:
            return None
        joined.append(whole)
    return first.with_operands(tuple(joined))


def _join_operands(parts: list[Value], results: tuple[Value, ...], dimension: int) -> Value | None:
    """The parts as one, without concatenating: numbers that are the same everywhere, or neighbouring slices."""
    first = parts[0]
    if not first.shape:
        return first if all(part is first for part in parts) else None
    size = sum(result.shape[dimension] for result in results)
    if isinstance(first, Constant) and first.is_splat:
        if not all(isinstance(part, Constant) and _is_same_number(part, first) for part in parts):
            return None
        return Constant.of(first.number, first.dtype, replace(first.shape, dimension, size))
    for part in parts[1:]:
        joined = _join(first, part, dimension)
        if joined is None:
            return None
        first = joined
    return first


def _sample_stack(draw: Draw) -> Concatenate:
    """Slices of one array, one after the other, stacked along another axis."""
    axis, along = draw.integer(0, 2), draw.integer(0, 2)
    x = tensor("f32", 2, 3, 4)
    parts: list[Value] = []
    for place in range(x.shape[axis]):
        part = Slice(x, replace((0, 0, 0), axis, place), replace(x.shape, axis, place + 1), (1, 1, 1))
        rest = [size for other, size in enumerate(x.shape) if other != axis]
        parts.append(Reshape(part, (*rest[:along], 1, *rest[along:])))
    return Concatenate(tuple(parts), along)


@rewrite(Concatenate((hole("rows"),), hole("along")), sample=_sample_stack)
def stack_of_all_slices(op: Concatenate, rows: tuple[Value, ...], along: int) -> Value | None:
    """stack(x[:, 0], x[:, 1], … x[:, n - 1]) = transpose(x), with the axis that was cut where they are stacked

    >>> x = tensor("f32", 3, 2)
    >>> columns = [Slice(x, (0, place), (3, place + 1), (1, 1)) for place in range(2)]
    >>> stack_of_all_slices(Concatenate(tuple(Reshape(each, (1, 3)) for each in columns), 0))
    Transpose(x, permutation=(1, 0))
    """
    first = rows[0]
    if len(rows) < 2 or not isinstance(first, Reshape) or not isinstance(first.operand, Slice):
        return None
    x = first.operand.operand
    cut = [axis for axis, size in enumerate(first.operand.shape) if size != x.shape[axis]]
    if len(cut) != 1 or x.shape[cut[0]] != len(rows) or len(rows) != op.shape[along]:
        return None
    (axis,) = cut
    rest = [other for other in range(x.tensor.rank) if other != axis]
    if tuple(x.shape[other] for other in rest) != (*op.shape[:along], *op.shape[along + 1 :]):
        return None
    for place, row in enumerate(rows):
        if not isinstance(row, Reshape) or not isinstance(row.operand, Slice) or row.operand.operand is not x:
            return None
        part = row.operand
        if part.start_indices != replace((0,) * x.tensor.rank, axis, place) or part.shape[axis] != 1:
            return None
        if part.tensor.size * len(rows) != x.tensor.size:
            return None
    return Transpose(x, (*rest[:along], axis, *rest[along:]))
