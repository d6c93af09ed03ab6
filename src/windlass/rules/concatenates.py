"""Concatenations: flattened, and undone where the parts came from one whole."""

from __future__ import annotations

from windlass.ir import Value
from windlass.ir.values import tensor
from windlass.ops import BroadcastInDim, Concatenate, Slice
from windlass.ops.sampling import Draw
from windlass.rewriting.pattern import hole
from windlass.rewriting.rule import rewrite

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


@rewrite(Concatenate(inputs, dimension), sample=sample_related_parts)
def concatenate_of_equal_broadcasts(op: Concatenate, inputs: tuple[Value, ...]) -> Value | None:
    """concatenate(broadcast(c), broadcast(c)) = broadcast(c) of the larger shape

    >>> c = tensor("f32", name="c")
    >>> concatenate_of_equal_broadcasts(Concatenate((BroadcastInDim(c, (2,), ()), BroadcastInDim(c, (3,), ())), 0))
    BroadcastInDim(c, shape=(5,), broadcast_dimensions=())
    """
    first = inputs[0]
    if len(inputs) < 2 or not isinstance(first, BroadcastInDim) or first.operand.shape:
        return None
    if all(isinstance(part, BroadcastInDim) and part.operand is first.operand for part in inputs):
        return BroadcastInDim(first.operand, op.shape, ())
    return None
