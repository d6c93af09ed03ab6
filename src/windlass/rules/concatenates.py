"""Concatenations: flattened, and undone where the parts came from one whole."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

from windlass.ir import Op, Value
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
from windlass.rewriting.pattern import any_op, every, hole
from windlass.rewriting.rule import rewrite
from windlass.rewriting.sharing import is_alone
from windlass.rules.axes import Sizes, group_axes, replace

inputs, dimension = hole("inputs"), hole("dimension")
x, p, axes, strides = hole("x"), hole("p"), hole("axes"), hole("strides")


def with_part(kind: type[Op]) -> Any:
    """A pattern for concatenates of which a part is of a class."""
    return any_op(Concatenate, takes=(kind,), inputs=inputs, dimension=dimension)


def joined(part: Op) -> Any:
    """A pattern for concatenates of parts that are all like one."""
    return any_op(Concatenate, inputs=every(part), dimension=dimension)


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


@rewrite(with_part(Concatenate), sample=sample_related_parts)
def concatenate_of_concatenates(inputs: tuple[Value, ...], dimension: int) -> Value | None:
    """concatenate(concatenate(x, y), z) = concatenate(x, y, z), if nothing else uses the inner one

    >>> inner = Concatenate((tensor("f32", 1), tensor("f32", 2, name="y")), 0)
    >>> concatenate_of_concatenates(Concatenate((inner, tensor("f32", 3, name="z")), 0))
    Concatenate((x, y, z), dimension=0)
    """
    parts: list[Value] = []
    for part in inputs:
        if isinstance(part, Concatenate) and part.dimension == dimension and is_alone(part):
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
    if draw.integer(0, 2) == 0:
        one = BroadcastInDim(tensor("f32", 1, name="z"), (2, 1), (draw.integer(0, 1),))
        return Concatenate(
            draw.choose(((one, BroadcastInDim(x, (2, 3), (1,))), (BroadcastInDim(x, (2, 3), (1,)), one))), 1
        )
    if draw.boolean():
        return Concatenate((BroadcastInDim(x, (2, 3), (1,)), BroadcastInDim(y, (2, 3), (1,))), 1)
    return Concatenate(tuple(BroadcastInDim(x, (draw.integer(1, 2), 3), (1,)) for _ in range(2)), 0)


@rewrite(joined(any_op(BroadcastInDim, operand=x, broadcast_dimensions=axes)), sample=sample_broadcast_parts)
def concatenate_of_equal_broadcasts(op: Concatenate, x: tuple[Value, ...], axes: Sizes, dimension: int) -> Value | None:
    """concatenate(broadcast(x), broadcast(x)) = broadcast(x) of the larger shape, along an axis that x lacks

    >>> c = tensor("f32", name="c")
    >>> concatenate_of_equal_broadcasts(Concatenate((BroadcastInDim(c, (2,), ()), BroadcastInDim(c, (3,), ())), 0))
    BroadcastInDim(c, shape=(5,), broadcast_dimensions=())
    """
    if dimension in axes and x[0].shape[axes.index(dimension)] != 1:
        return None
    return BroadcastInDim(x[0], op.shape, axes) if all(each is x[0] for each in x) else None


@rewrite(joined(any_op(BroadcastInDim, bind="parts")), sample=sample_broadcast_parts)
def concatenate_of_broadcasts(op: Concatenate, parts: tuple[BroadcastInDim, ...], dimension: int) -> Value | None:
    """concatenate(broadcast(x), broadcast(y)) = broadcast(concatenate(x, y)), along an axis that they have

    >>> parts = tuple(BroadcastInDim(tensor("f32", 3, name=name), (2, 3), (1,)) for name in "xy")
    >>> concatenate_of_broadcasts(Concatenate(parts, 1))
    BroadcastInDim(Concatenate((x, y), dimension=0), shape=(2, 6), broadcast_dimensions=(1,))
    """
    largest = max(parts, key=lambda part: part.shape[dimension])
    if dimension not in largest.broadcast_dimensions:
        return None
    axes = largest.broadcast_dimensions
    own = axes.index(dimension)
    small: list[Value] = []
    for part in parts:
        operand, places = part.operand, part.broadcast_dimensions
        if operand.tensor.size == 1 and operand.tensor.rank == len(axes):
            places = axes  # One number goes everywhere, whatever its axes are.
        if places != axes or operand.shape[own] != part.shape[dimension]:
            return None
        if replace(operand.shape, own, 0) != replace(largest.operand.shape, own, 0):
            return None
        small.append(operand)
    if sum(value.tensor.size for value in small) >= op.tensor.size:
        return None
    return BroadcastInDim(Concatenate(tuple(small), own), op.shape, axes)


def sample_moved_parts(draw: Draw) -> Concatenate:
    """A concatenation of transposes or reshapes."""
    parts: list[Value] = []
    kind = draw.boolean()
    shape = draw.choose(((4, 1, 6), (4, 2, 3), (2, 2, 6)))
    if draw.boolean():
        unlike = (Reshape(tensor("f32", rows, 6, name=f"x{rows}"), (1, rows, 1, 6)) for rows in (1, draw.integer(1, 4)))
        return Concatenate(tuple(unlike), 1)
    for name in "xy":
        x = tensor("f32", 4, 6, name=name)
        parts.append(Transpose(x, (1, 0)) if kind else Reshape(x, shape))
    return Concatenate(tuple(parts), draw.integer(0, len(parts[0].shape) - 1))


@rewrite(joined(Transpose(x, p)), single_use=True, sample=sample_moved_parts)
def concatenate_of_transposes(x: tuple[Value, ...], p: Sizes, dimension: int) -> Value | None:
    """concatenate(transpose(x, p), transpose(y, p)) = transpose(concatenate(x, y), p)

    >>> parts = tuple(Transpose(tensor("f32", 2, 3, name=name), (1, 0)) for name in "xy")
    >>> concatenate_of_transposes(Concatenate(parts, 0))
    Transpose(Concatenate((x, y), dimension=1), permutation=(1, 0))
    """
    return Transpose(Concatenate(x, p[dimension]), p)


def _sample_reversed_parts(draw: Draw) -> Concatenate:
    """A concatenation of what is reversed along the same axes."""
    dimensions, along = draw.choose(((0,), (1,), (0, 1))), draw.integer(0, 1)
    shape = [2, 2]
    parts: list[Value] = []
    for name in "xyz":
        shape[along] = draw.integer(1, 3)
        parts.append(Reverse(tensor("f32", *shape, name=name), dimensions))
    return Concatenate(tuple(parts), along)


@rewrite(joined(Reverse(x, axes)), single_use=True, sample=_sample_reversed_parts)
def concatenate_of_reverses(x: tuple[Value, ...], axes: Sizes, dimension: int) -> Value | None:
    """concatenate(reverse(x), reverse(y)) = reverse(concatenate(y, x)), and of (x, y) along other axes

    >>> parts = tuple(Reverse(tensor("f32", 2, 3, name=name), (0,)) for name in "xy")
    >>> concatenate_of_reverses(Concatenate(parts, 0))
    Reverse(Concatenate((y, x), dimension=0), dimensions=(0,))
    """
    return Reverse(Concatenate(x[::-1] if dimension in axes else x, dimension), axes)


@rewrite(joined(any_op(Reshape, bind="parts", operand=x)), sample=sample_moved_parts)
def concatenate_of_reshapes(
    op: Concatenate, parts: tuple[Reshape, ...], x: tuple[Value, ...], dimension: int
) -> Value | None:
    """concatenate(reshape(x), reshape(y)) = reshape(concatenate(x, y)), where both join the same pieces

    >>> parts = tuple(Reshape(tensor("f32", 4, 6, name=name), (4, 2, 3)) for name in "xy")
    >>> concatenate_of_reshapes(Concatenate(parts, 0))
    Reshape(Concatenate((x, y), dimension=0), shape=(8, 2, 3))
    """
    rank = x[0].tensor.rank
    if 0 in op.shape or _stacked(parts, dimension) is not None or any(each.tensor.rank != rank for each in x):
        return None
    is_stack = all(part.shape[dimension] == 1 for part in parts)
    # Both join what lies beside each other in memory, if as many rows lie before the one axis as before the other.
    outer = math.prod(op.shape[:dimension])
    for axis in range(rank):
        # Stacks along a new axis stay: XLA:CPU is slower at joining rows within a larger one.
        if is_stack and axis != _joinable_axis(parts[0], dimension):
            continue
        if all(
            math.prod(each.shape[:axis]) == outer and replace(each.shape, axis, 0) == replace(x[0].shape, axis, 0)
            for each in x
        ):
            return Reshape(Concatenate(x, axis), op.shape)
    return None


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


@rewrite(with_part(Constant), sample=sample_constant_parts)
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


@rewrite(with_part(Constant), sample=sample_constant_parts)
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


@rewrite(joined(any_op(Slice, bind="parts", strides=strides)), sample=sample_spaced_slices)
def concatenate_of_spaced_slices(parts: tuple[Slice, ...], strides: Sizes, dimension: int) -> Value | None:
    """concatenate(x[a], x[a + s], x[a + 2s]) = slice(x) with stride s, reversed if s < 0

    >>> x = tensor("f32", 9)
    >>> concatenate_of_spaced_slices(Concatenate(tuple(Slice(x, (at,), (at + 1,), (1,)) for at in (6, 4, 2)), 0))
    Reverse(Slice(x, start_indices=(2,), limit_indices=(7,), strides=(2,)), dimensions=(0,))
    """
    first = parts[0]
    places: list[int] = []
    for part in parts:
        if part.operand is not first.operand or part.shape[dimension] != 1:
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
        replace(strides, dimension, abs(step)),
    )
    return rows if step > 0 else Reverse(rows, (dimension,))


def sample_equal_computations(draw: Draw) -> Concatenate:
    """One computation on neighbouring slices of an array."""
    x, y = tensor("f32", 6, 2), tensor("f32", 6, 2, name="y")
    cut = draw.integer(1, 5)
    halves = [((0, 0), (cut, 2), (1, 1)), ((cut, 0), (6, 2), (1, 1))]
    if draw.integer(0, 2) == 0:
        column = tensor("f32", 6, name="z")
        rows = [Slice(column, (start[0],), (stop[0],), (1,)) for start, stop, _ in halves]
        wide = [BroadcastInDim(each, (each.shape[0], 2), (0,)) for each in rows]
        return Concatenate(tuple(Multiply(Slice(x, *half), each) for half, each in zip(halves, wide, strict=True)), 0)
    if draw.boolean():
        return Concatenate(tuple(Exponential(Slice(x, *half)) for half in halves), 0)
    return Concatenate(tuple(Multiply(Slice(x, *half), Slice(y, *half)) for half in halves), 0)


@rewrite(joined(any_op(Elementwise, bind="parts")), single_use=True, sample=sample_equal_computations)
def concatenate_of_equal_computations(parts: tuple[Elementwise, ...], dimension: int) -> Value | None:
    """concatenate(f(slice(x, a, b)), f(slice(x, b, c))) = f(slice(x, a, c)), for each operand of f

    >>> x = tensor("f32", 9)
    >>> parts = Exponential(Slice(x, (1,), (3,), (1,))), Exponential(Slice(x, (3,), (7,), (1,)))
    >>> concatenate_of_equal_computations(Concatenate(parts, 0))
    Exponential(Slice(x, start_indices=(1,), limit_indices=(7,), strides=(1,)))
    """
    first = parts[0]
    for part in parts:
        if type(part) is not type(first):
            return None
        if any(getattr(part, name) != getattr(first, name) for name in part.attribute_names):
            return None
    joined: list[Value] = []
    for position in range(len(first.operands)):
        own = [part.operands[position] for part in parts]
        whole = _join_operands(own, parts, dimension)
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
    if isinstance(first, BroadcastInDim):
        return _join_repeated(parts, results, dimension)
    for part in parts[1:]:
        joined = _join(first, part, dimension)
        if joined is None:
            return None
        first = joined
    return first


def _join_repeated(parts: list[Value], results: tuple[Value, ...], dimension: int) -> Value | None:
    """Broadcasts of what is the same, or of neighbouring slices, as one."""
    largest = max(parts, key=lambda part: part.shape[dimension])
    if not isinstance(largest, BroadcastInDim):
        return None
    axes = largest.broadcast_dimensions
    shape = replace(largest.shape, dimension, sum(result.shape[dimension] for result in results))
    small: list[Value] = []
    for part in parts:
        if not isinstance(part, BroadcastInDim):
            return None
        one = part.operand.tensor.size == 1 and part.operand.tensor.rank == len(axes)
        if part.broadcast_dimensions != axes and not one:
            return None
        small.append(part.operand)
    if dimension not in axes:
        return BroadcastInDim(small[0], shape, axes) if all(each is small[0] for each in small) else None
    own = axes.index(dimension)
    if any(each.shape[own] != part.shape[dimension] for each, part in zip(small, parts, strict=True)):
        return None
    whole = small[0]
    for each in small[1:]:
        joined = _join(whole, each, own)
        if joined is None:
            return None
        whole = joined
    return BroadcastInDim(whole, shape, axes)


def _sample_stack(draw: Draw) -> Concatenate:
    """Slices of one array, one after the other, stacked along another axis, some of them or all."""
    axis, along, step = draw.integer(0, 2), draw.integer(0, 2), draw.integer(1, 2)
    x = tensor("f32", *replace((2, 3, 4), axis, 5))
    first, count = draw.integer(0, 1), draw.choose((2, 5)) if step == 1 else 2
    parts: list[Value] = []
    for place in range(min(first, 5 - count), 5, step)[:count]:
        part = Slice(x, replace((0, 1, 1), axis, place), replace(x.shape, axis, place + 1), (1, 1, 1))
        rest = [size for other, size in enumerate(part.shape) if other != axis]
        parts.append(Reshape(part, (*rest[:along], 1, *rest[along:])))
    return Concatenate(tuple(parts), along)


rows, along = hole("rows"), hole("along")


@rewrite(Concatenate(rows, along), sample=_sample_stack)
def stack_of_slices(rows: tuple[Value, ...], along: int) -> Value | None:
    """stack(x[:, a], … x[:, b - 1]) = transpose(x[:, a:b]), with the axis that was cut where they are stacked

    >>> x = tensor("f32", 3, 2)
    >>> columns = [Slice(x, (0, place), (3, place + 1), (1, 1)) for place in range(2)]
    >>> stack_of_slices(Concatenate(tuple(Reshape(each, (1, 3)) for each in columns), 0))
    Transpose(x, permutation=(1, 0))
    """
    found = _stacked(rows, along) if len(rows) > 1 else None
    return found[1] if found is not None and found[0] == len(rows) else None


def _stacked(rows: tuple[Value, ...], along: int) -> tuple[int, Value] | None:
    """How many of the first rows are slices at regular places of one array, and these as one; None for one."""
    first = rows[0]
    if not isinstance(first, Reshape) or not isinstance(first.operand, Slice) or first.shape[along] != 1:
        return None
    part = first.operand
    x = part.operand
    if any(step != 1 for step in part.strides):
        return None
    rest = (*first.shape[:along], *first.shape[along + 1 :])
    places: list[tuple[int, ...]] = []
    for row in rows:
        if not isinstance(row, Reshape) or not isinstance(row.operand, Slice) or row.operand.operand is not x:
            break
        if row.type is not first.type or row.operand.type is not part.type or row.operand.strides != part.strides:
            break
        places.append(row.operand.start_indices)
        moved = [axis for axis, (a, b) in enumerate(zip(places[0], places[-1], strict=True)) if a != b]
        expected = len(places) - 1
        if expected and (len(moved) != 1 or places[-1] != _extrapolated(places[0], places[1], expected)):
            places.pop()
            break
    if len(places) < 2:
        return None
    axis = next(axis for axis, (a, b) in enumerate(zip(places[0], places[1], strict=True)) if a != b)
    step = places[1][axis] - places[0][axis]
    if step < 0 or part.shape[axis] != 1 or (*part.shape[:axis], *part.shape[axis + 1 :]) != rest:
        return None
    limit = replace(part.limit_indices, axis, places[-1][axis] + 1)
    whole = Slice(x, part.start_indices, limit, replace(part.strides, axis, step))
    others = [other for other in range(x.tensor.rank) if other != axis]
    return len(places), Transpose(x if whole.shape == x.shape else whole, (*others[:along], axis, *others[along:]))


def _extrapolated(first: tuple[int, ...], second: tuple[int, ...], count: int) -> tuple[int, ...]:
    return tuple(a + count * (b - a) for a, b in zip(first, second, strict=True))


def _sample_stacks_beside(draw: Draw) -> Concatenate:
    """Stacks of slices of one array, beside another array."""
    x, along = tensor("f32", 6, 3, 4), draw.integer(0, 2)
    parts: list[Value] = []
    for place in range(draw.integer(3, 6)):
        parts.append(Reshape(Slice(x, (place, 0, 0), (place + 1, 3, 4), (1, 1, 1)), _row(along)))
    parts.insert(draw.integer(0, len(parts)), tensor("f32", *replace(_row(along), along, 2), name="y"))
    return Concatenate(tuple(parts), along)


def _row(along: int) -> tuple[int, ...]:
    return ((1, 3, 4), (3, 1, 4), (3, 4, 1))[along]


@rewrite(Concatenate(rows, along), by_cost=True, sample=_sample_stacks_beside)
def stack_of_slices_beside_others(rows: tuple[Value, ...], along: int) -> Value | None:
    """concatenate(x[:, a], … x[:, b - 1], y) = concatenate(transpose(x[:, a:b]), y), slices being stacked

    >>> x, y = tensor("f32", 3, 2), tensor("f32", 1, 3, name="y")
    >>> columns = [Slice(x, (0, place), (3, place + 1), (1, 1)) for place in range(2)]
    >>> stack_of_slices_beside_others(Concatenate((*(Reshape(each, (1, 3)) for each in columns), y), 0))
    Concatenate((Transpose(x, permutation=(1, 0)), y), dimension=0)
    """
    parts: list[Value] = []
    place = 0
    while place < len(rows):
        found = _stacked(rows[place:], along)
        count, part = (1, rows[place]) if found is None else found
        parts.append(part)
        place += count
    return Concatenate(tuple(parts), along) if 1 < len(parts) < len(rows) else None
