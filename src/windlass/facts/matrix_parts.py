"""Matrices as sums of parts that are cheap to multiply with: bands, products of two vectors, and whatever is left.

`find_parts` looks at how a matrix (rank 2) is made: sums, differences and multiples of diagonals and masks that compare
indices (jnp.eye, diag with an offset), of vectors repeated along rows and columns, of numbers, and constant matrices
that are zero but for a few diagonals.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np

from windlass.facts.structure import Relation, find_diagonal, find_relation, is_zero
from windlass.ir import Op, Value
from windlass.ops import (
    Add,
    BroadcastInDim,
    Constant,
    Convert,
    Divide,
    Multiply,
    Negate,
    Pad,
    Reshape,
    Select,
    Slice,
    Subtract,
)

DEEPEST = 8
"""How many ops up a sum is followed."""

MOST_BANDS = 5
"""How many diagonals a constant matrix may have to count as a sum of bands."""

FEWEST_ROWS = 16
"""Constant matrices with fewer rows or columns are multiplied as they are."""

Scalar = tuple[type[Multiply] | type[Divide], Value]
"""What something is multiplied with or divided by: of rank 0."""


@dataclass(frozen=True)
class Band:
    """Zero but where column - row = `offset`. `make` gives what stands there, for each row; None for ones.

    For rows in which the band lies outside of the matrix it gives anything finite.
    """

    offset: int
    make: Callable[[], Value] | None
    scalars: tuple[Scalar, ...] = ()
    is_negative: bool = False


@dataclass(frozen=True)
class Outer:
    """The product of a column, as long as the matrix is high, and a row; None for ones."""

    column: Value | None
    row: Value | None
    scalars: tuple[Scalar, ...] = ()
    is_negative: bool = False


@dataclass(frozen=True)
class Rest:
    """A matrix of which nothing is known."""

    value: Value
    scalars: tuple[Scalar, ...] = ()
    is_negative: bool = False


Part = Band | Outer | Rest


def find_parts(matrix: Value, most: int = 8) -> list[Part] | None:
    """The parts of which a matrix is the sum; None if there are too many.

    >>> from windlass.ir.values import tensor
    >>> matrix, column = tensor("f32", 4, 4, name="a"), tensor("f32", 4, name="u")
    >>> parts = find_parts(Subtract(matrix, BroadcastInDim(column, (4, 4), (0,))))
    >>> [type(part).__name__ for part in parts], parts[1].column, parts[1].is_negative
    (['Rest', 'Outer'], u, True)
    """
    found = list(islice(_split(matrix, 0), most + 1))
    return found if len(found) <= most else None


def _split(value: Value, depth: int) -> Iterator[Part]:
    own = None if depth > DEEPEST else _single(value)
    if own is not None:
        yield from own
        return
    if depth <= DEEPEST:
        match value:
            case Add() | Subtract():
                yield from _split(value.lhs, depth + 1)
                for part in _split(value.rhs, depth + 1):
                    yield negated(part) if isinstance(value, Subtract) else part
                return
            case Negate():
                yield from map(negated, _split(value.operand, depth + 1))
                return
            case Multiply() | Divide():
                for inner, factor in _scaled(value):
                    for part in _split(inner, depth + 1):
                        yield replace(part, scalars=(*part.scalars, factor))
                    return
            case _:
                pass
    yield Rest(value)


def negated(part: Part) -> Part:
    """The part with the other sign."""
    return replace(part, is_negative=not part.is_negative)


def _scaled(value: Multiply | Divide) -> Iterator[tuple[Value, Scalar]]:
    """The ways to see a value as a multiple: of what, and the factor."""
    if isinstance(value, Divide):
        scalar = None if value.tensor.is_integer else scalar_of(value.rhs)
        if scalar is not None:
            yield value.lhs, (Divide, scalar)
        return
    for factor, inner in (value.operands, value.operands[::-1]):
        scalar = scalar_of(factor)
        if scalar is not None:
            yield inner, (Multiply, scalar)


def scalar_of(value: Value) -> Value | None:
    """The number that a tensor repeats."""
    if isinstance(value, Constant) and value.is_splat:
        return Constant.of(value.number, value.dtype)
    if isinstance(value, BroadcastInDim) and value.operand.tensor.size == 1:
        return value.operand if value.operand.tensor.rank == 0 else Reshape(value.operand, ())
    return None


def _single(value: Value) -> list[Part] | None:
    """The value as one part, or a constant as several bands."""
    if not isinstance(value, Op) or len(value.shape) != 2 or min(value.shape) < 2:
        return None
    found = find_diagonal(value)
    if found is not None:
        return [Band(0, None if found.is_identity else found.make)]
    match value:
        case Constant():
            return _constant(value)
        case Convert():
            relation = find_relation(value.operand)
            if relation is not None and not relation.negated and _is_diagonal_within(relation, value.shape):
                return [Band(relation.least, None)]
            return None
        case Select():
            relation = find_relation(value.pred)
            if relation is None or not _is_diagonal_within(relation, value.shape):
                return None
            chosen, rest = (value.on_false, value.on_true) if relation.negated else (value.on_true, value.on_false)
            if not is_zero(rest):
                return None
            return [Band(relation.least, lambda: take_band(chosen, relation.least))]
        case Multiply() | BroadcastInDim():
            return _outer(value)
        case _:
            return None


def _is_diagonal_within(relation: Relation, shape: tuple[int, ...]) -> bool:
    """Whether a condition on places holds along one diagonal, and part of that lies inside of the matrix."""
    return relation.least == relation.most and -shape[0] < relation.least < shape[1]


def _constant(matrix: Constant) -> list[Part] | None:
    if matrix.is_splat:
        return [Outer(None, None, ((Multiply, Constant.of(matrix.number, matrix.dtype)),))]
    rows, columns = matrix.shape
    if min(rows, columns) < FEWEST_ROWS or not matrix.tensor.is_float:
        return None
    array = matrix.array
    places = np.nonzero(array)
    if len(places[0]) > MOST_BANDS * rows:
        return None
    offsets = np.unique(places[1] - places[0])
    if len(offsets) > MOST_BANDS:
        return None
    parts: list[Part] = []
    for offset in map(int, offsets):
        band = np.zeros(rows, array.dtype)
        inside = np.diagonal(array, offset)
        first = max(0, -offset)
        band[first : first + len(inside)] = inside
        if (inside == inside[0]).all():
            band[:] = inside[0]
        made = Constant.of(band, matrix.dtype)
        parts.append(Band(offset, lambda made=made: made))
    return parts


def _outer(value: Value) -> list[Part] | None:
    """A product of vectors that repeat along rows, of ones that repeat along columns, and of numbers."""
    factors, pending = list[Value](), [value]
    while pending:
        each = pending.pop()
        if isinstance(each, Multiply) and scalar_of(each) is None:
            pending += each.operands[::-1]
        else:
            factors.append(each)
        if len(factors) > DEEPEST:
            return None
    vectors: list[list[Value]] = [[], []]
    scalars: list[Scalar] = []
    for factor in factors:
        scalar = scalar_of(factor)
        if scalar is not None:
            scalars.append((Multiply, scalar))
            continue
        if not isinstance(factor, BroadcastInDim):
            return None
        inner = factor.operand
        long = [axis for axis, size in zip(factor.broadcast_dimensions, inner.shape, strict=True) if size != 1]
        if len(long) != 1:
            return None
        vectors[long[0]].append(inner if inner.tensor.rank == 1 else Reshape(inner, (factor.shape[long[0]],)))
    found: list[Value | None] = []
    for group in vectors:
        product: Value | None = None
        for vector in group:
            product = vector if product is None else Multiply(product, vector)
        found.append(product)
    return [Outer(found[0], found[1], tuple(scalars))]


def take_band(matrix: Value, offset: int) -> Value:
    """What stands in each row `offset` columns right of the diagonal; anything finite where that is outside.

    >>> from windlass.ir.values import tensor
    >>> take_band(tensor("f32", 4, 4), 1).type
    tensor<4xf32>
    """
    rows, columns = matrix.shape
    if isinstance(matrix, Constant) and matrix.is_splat:
        return Constant.of(matrix.number, matrix.dtype, (rows,))
    zero = Constant.of(0, matrix.dtype)
    if isinstance(matrix, BroadcastInDim):
        inner = matrix.operand
        long = [axis for axis, size in zip(matrix.broadcast_dimensions, inner.shape, strict=True) if size != 1]
        if not long:
            return BroadcastInDim(inner if inner.tensor.rank == 0 else Reshape(inner, ()), (rows,), ())
        if len(long) == 1:
            vector = inner if inner.tensor.rank == 1 else Reshape(inner, (matrix.shape[long[0]],))
            return vector if long[0] == 0 else shift(vector, 0, offset, rows)
    first = max(0, -offset)
    count = min(rows - first, columns - max(0, offset))
    start = first * columns + max(0, offset)
    flat = Reshape(matrix, (rows * columns,))
    inside = Slice(flat, (start,), (start + (count - 1) * (columns + 1) + 1,), (columns + 1,))
    return inside if count == rows else Pad(inside, zero, (first,), (rows - first - count,), (0,))


def shift(value: Value, axis: int, offset: int, size: int) -> Value:
    """The elements from `offset` on along an axis, `size` of them; zeros where there are none.

    >>> from windlass.ir.values import tensor
    >>> shift(tensor("f32", 4), 0, 1, 4)
    Pad(x, Constant(0.0), edge_padding_low=(-1,), edge_padding_high=(1,), interior_padding=(0,))
    """
    length = value.shape[axis]
    if offset == 0 and size == length:
        return value
    none = [0] * value.tensor.rank
    low, high = list(none), list(none)
    low[axis], high[axis] = -offset, size - length + offset
    return Pad(value, Constant.of(0, value.dtype), tuple(low), tuple(high), tuple(none))
