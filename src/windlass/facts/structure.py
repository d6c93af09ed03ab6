"""What is known of where a matrix is zero, or equal to its transpose; and of comparisons between indices.

These facts are found by looking at how a value is made, when a rule asks, and kept with the op until the program
changes. Rules ask `find_relation`, `find_diagonal` and `is_symmetric`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from windlass.ir import Op, Result, TensorType, Value
from windlass.ops import (
    Add,
    BroadcastInDim,
    Compare,
    Concatenate,
    Constant,
    Convert,
    DotGeneral,
    Elementwise,
    Iota,
    Multiply,
    Negate,
    Not,
    Reshape,
    Scatter,
    Select,
    Slice,
    Subtract,
    Transpose,
)
from windlass.ops.comparison import MIRRORED

DEEPEST = 12
"""How many ops up a value is looked at."""

Fact = TypeVar("Fact")


def remember(op: Op, kind: str, find: Callable[[], Fact], is_lasting: bool = False) -> Fact:
    """The fact of this kind about the op: found once, and again after ops were given other operands.

    What `is_lasting` stays true of the op and its operands. That nothing was found never lasts; nor do facts that hold
    ops, which may have been erased.
    """
    facts: dict[str, Any] = op.__dict__.setdefault("structure", {})
    operands = op.operands
    known = facts.get(kind)
    # A copy of an op begins with its facts; they count for the op and the operands that they were found for only.
    if known is not None and known[0] is op and known[1] == operands and (known[3] == Op.changes or known[4]):
        return known[2]
    found = find()
    facts = op.__dict__["structure"] = dict(op.__dict__.get("structure", ()))
    facts[kind] = (op, operands, found, Op.changes, is_lasting and bool(found))
    return found


# -- indices ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class AxisIndex:
    """Each element is its index along `axis` plus `offset`; without an axis it is just `offset`."""

    axis: int | None
    offset: int


def find_index(value: Value, depth: int = 0) -> AxisIndex | None:
    """How the elements of an integer tensor follow from their place, if they are counted along one axis.

    >>> find_index(Add(Iota((3, 4), "i32", 1), Constant.of(2, "i32", (3, 4))))
    AxisIndex(axis=1, offset=2)
    """
    if not isinstance(value, Op) or depth > DEEPEST or not isinstance(value.type, TensorType):
        return None
    type_ = value.tensor
    if not type_.is_integer:
        return None
    found = _index(value, depth)
    if found is None:
        return None
    size = 1 if found.axis is None else type_.shape[found.axis]
    limits = np.iinfo(type_.numpy_dtype)
    return found if limits.min <= found.offset and found.offset + size - 1 <= limits.max else None


def _index(value: Op, depth: int) -> AxisIndex | None:
    match value:
        case Constant():
            return AxisIndex(None, int(value.number)) if value.is_splat else None
        case Iota():
            return AxisIndex(value.iota_dimension, 0)
        case Convert():
            return find_index(value.operand, depth + 1)
        case Add() | Subtract():
            left, right = find_index(value.lhs, depth + 1), find_index(value.rhs, depth + 1)
            if left is None or right is None:
                return None
            if isinstance(value, Subtract):
                return AxisIndex(left.axis, left.offset - right.offset) if right.axis is None else None
            if left.axis is not None and right.axis is not None:
                return None
            return AxisIndex(left.axis if right.axis is None else right.axis, left.offset + right.offset)
        case BroadcastInDim():
            inner = find_index(value.operand, depth + 1)
            if inner is None or inner.axis is None:
                return inner
            if value.operand.shape[inner.axis] == 1:
                return AxisIndex(None, inner.offset)
            return AxisIndex(value.broadcast_dimensions[inner.axis], inner.offset)
        case Transpose():
            inner = find_index(value.operand, depth + 1)
            if inner is None or inner.axis is None:
                return inner
            return AxisIndex(value.permutation.index(inner.axis), inner.offset)
        case Reshape():
            inner = find_index(value.operand, depth + 1)
            if inner is None or inner.axis is None:
                return inner
            old = [axis for axis, size in enumerate(value.operand.shape) if size != 1]
            new = [axis for axis, size in enumerate(value.shape) if size != 1]
            if [value.operand.shape[axis] for axis in old] != [value.shape[axis] for axis in new]:
                return None
            return (
                AxisIndex(new[old.index(inner.axis)], inner.offset)
                if inner.axis in old
                else AxisIndex(None, inner.offset)
            )
        case _:
            return None


INFINITE = 1 << 62


@dataclass(frozen=True)
class Relation:
    """True where least ≤ index along `second` - index along `first` ≤ most, first < second; or not, if `negated`."""

    first: int
    second: int
    least: int
    most: int
    negated: bool = False

    @property
    def is_diagonal(self) -> bool:
        """True on the main diagonal only."""
        return self.least == self.most == 0 and not self.negated

    def implies(self, other: Relation) -> bool:
        """Whether the other is true wherever this is."""
        if (self.first, self.second) != (other.first, other.second):
            return False
        if not self.negated and not other.negated:
            return other.least <= self.least and self.most <= other.most
        if not self.negated:
            return self.most < other.least or other.most < self.least
        return other.negated and self.least <= other.least and other.most <= self.most

    def excludes(self, other: Relation) -> bool:
        """Whether the other is false wherever this is true."""
        return self.implies(other.opposite)

    @property
    def opposite(self) -> Relation:
        """True where this is false."""
        if self.least == -INFINITE and not self.negated:
            return Relation(self.first, self.second, self.most + 1, INFINITE)
        if self.most == INFINITE and not self.negated:
            return Relation(self.first, self.second, -INFINITE, self.least - 1)
        return Relation(self.first, self.second, self.least, self.most, not self.negated)


def find_relation(value: Value) -> Relation | None:
    """Which relation between two indices a tensor of booleans tells, if it does.

    >>> rows, columns = Iota((4, 4), "i32", 0), Iota((4, 4), "i32", 1)
    >>> find_relation(Compare(rows, columns, "EQ"))
    Relation(first=0, second=1, least=0, most=0, negated=False)
    """
    if isinstance(value, Not):
        inner = find_relation(value.operand)
        return None if inner is None else inner.opposite
    if isinstance(value, Transpose):
        inner = find_relation(value.operand)
        if inner is None:
            return None
        first, second = (value.permutation.index(axis) for axis in (inner.first, inner.second))
        if first < second:
            return Relation(first, second, inner.least, inner.most, inner.negated)
        return Relation(second, first, -inner.most, -inner.least, inner.negated)
    if not isinstance(value, Compare):
        return None
    return remember(value, "relation", lambda: _relation(value), is_lasting=True)


def _relation(value: Compare) -> Relation | None:
    left, right = find_index(value.lhs), find_index(value.rhs)
    if left is None or right is None or left.axis is None or right.axis is None or left.axis == right.axis:
        return None
    direction = value.direction
    if left.axis > right.axis:
        left, right, direction = right, left, MIRRORED[direction]
    assert left.axis is not None and right.axis is not None
    # left.axis + left.offset <direction> right.axis + right.offset; d is right.axis - left.axis.
    difference = left.offset - right.offset
    least, most, negated = {
        "EQ": (difference, difference, False),
        "NE": (difference, difference, True),
        "LT": (difference + 1, INFINITE, False),
        "LE": (difference, INFINITE, False),
        "GT": (-INFINITE, difference - 1, False),
        "GE": (-INFINITE, difference, False),
    }[direction]
    return Relation(left.axis, right.axis, least, most, negated)


# -- diagonal matrices ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Diagonal:
    """A square matrix that is zero off its diagonal. `make` makes ops that compute the diagonal, `size` long."""

    size: int
    make: Callable[[], Value]
    is_identity: bool = False


def is_zero(value: Value) -> bool:
    """Whether a value is zero everywhere, seen at once."""
    while isinstance(value, BroadcastInDim | Reshape):
        value = value.operand
    return isinstance(value, Constant) and value.is_splat and bool(value.number == 0)


def find_diagonal(value: Value, depth: int = 0) -> Diagonal | None:
    """What is on the diagonal of a square matrix (rank 2) that is known to be zero elsewhere.

    >>> mask = Compare(Iota((4, 4), "i32", 0), Iota((4, 4), "i32", 1), "EQ")
    >>> find_diagonal(Convert(mask, "f32")).is_identity
    True
    """
    op = value.owner if isinstance(value, Result) else value
    if not isinstance(op, Op) or depth > DEEPEST or not isinstance(value.type, TensorType):
        return None
    shape = value.shape
    if len(shape) != 2 or shape[0] != shape[1] or shape[0] < 2:
        return None
    return remember(op, "diagonal", lambda: _diagonal(op, shape[0], depth))


def _diagonal(op: Op, size: int, depth: int) -> Diagonal | None:
    match op:
        case Convert():
            relation = find_relation(op.operand)
            if relation is not None and relation.is_diagonal:
                dtype = op.dtype
                return Diagonal(size, lambda: Constant.of(1, dtype, (size,)), True)
            inner = find_diagonal(op.operand, depth + 1)
            dtype = op.dtype
            return inner and Diagonal(size, lambda: Convert(inner.make(), dtype), inner.is_identity)
        case Select():
            relation = find_relation(op.pred)
            if relation is None:
                return None
            chosen, rest = (op.on_false, op.on_true) if relation.negated else (op.on_true, op.on_false)
            is_diagonal = relation.least == relation.most == 0
            if not is_diagonal or not is_zero(rest):
                return None
            known_one = isinstance(chosen, Constant) and chosen.is_splat and bool(chosen.number == 1)
            return Diagonal(size, lambda: take_diagonal(chosen), known_one)
        case Multiply():
            for own, other in (op.operands, op.operands[::-1]):
                inner = find_diagonal(own, depth + 1)
                if inner is not None:
                    if inner.is_identity:
                        return Diagonal(size, lambda other=other: take_diagonal(other))
                    return Diagonal(size, lambda inner=inner, other=other: Multiply(inner.make(), take_diagonal(other)))
            return None
        case Negate():
            inner = find_diagonal(op.operand, depth + 1)
            return inner and Diagonal(size, lambda: Negate(inner.make()))
        case Transpose():
            return find_diagonal(op.operand, depth + 1)
        case Add() | Subtract():
            left, right = (find_diagonal(operand, depth + 1) for operand in op.operands)
            if left is None or right is None:
                return None
            kind = type(op)
            return Diagonal(size, lambda: kind(left.make(), right.make()))
        case Scatter():
            return _scattered_diagonal(op, size)
        case _:
            return None


def _scattered_diagonal(op: Scatter, size: int) -> Diagonal | None:
    if len(op.inputs) != 1 or not is_zero(op.inputs[0]) or not (op.is_overwrite or op.combiner is Add):
        return None
    if op.update_window_dims or op.inserted_window_dims != (0, 1) or op.input_batching_dims:
        return None
    if op.updates[0].shape != (size,) or not counts_diagonal(op.scatter_indices, op.index_vector_dim, size):
        return None
    update = op.updates[0]
    return Diagonal(size, lambda: update)


def counts_diagonal(indices: Value, index_vector_dim: int, size: int) -> bool:
    """Whether index vectors are (0, 0), (1, 1), ... up to a size.

    >>> counts_diagonal(Iota((5, 2), "i32", 0), 1, 5)
    True
    """
    if indices.shape != (size, 2) or index_vector_dim != 1:
        return False
    if isinstance(indices, Concatenate) and indices.dimension == 1:
        return all(find_index(part) == AxisIndex(0, 0) for part in indices.inputs)
    return find_index(indices) == AxisIndex(0, 0)


def take_diagonal(matrix: Value) -> Value:
    """Ops that take the diagonal of a square matrix; of broadcasts they take what is repeated.

    >>> from windlass.ir.values import tensor
    >>> take_diagonal(BroadcastInDim(tensor("f32", 3), (3, 3), (1,)))
    x
    """
    size = matrix.shape[0]
    if isinstance(matrix, Constant) and matrix.is_splat:
        return Constant.of(matrix.number, matrix.dtype, (size,))
    if isinstance(matrix, BroadcastInDim):
        inner = matrix.operand
        long = [axis for axis, length in enumerate(inner.shape) if length != 1]
        if len(long) == 1:
            return inner if inner.tensor.rank == 1 else Reshape(inner, (size,))
        if not long:
            return BroadcastInDim(Reshape(inner, ()) if inner.tensor.rank else inner, (size,), ())
    return Slice(Reshape(matrix, (size * size,)), (0,), (size * size,), (size + 1,))


# -- symmetric matrices -----------------------------------------------------------------------------------------------


def is_symmetric(value: Value, depth: int = 0) -> bool:
    """Whether a square matrix (rank 2) is known to equal its transpose, bit for bit.

    >>> from windlass.ir.values import tensor
    >>> x = tensor("f32", 3, 3)
    >>> is_symmetric(Add(x, Transpose(x, (1, 0)))), is_symmetric(x)
    (True, False)
    """
    if not isinstance(value, Op) or depth > DEEPEST or not isinstance(value.type, TensorType):
        return False
    shape = value.shape
    if len(shape) != 2 or shape[0] != shape[1]:
        return False
    return remember(value, "symmetric", lambda: _symmetric(value, depth), is_lasting=True)


def _symmetric(op: Op, depth: int) -> bool:
    match op:
        case Constant():
            return op.is_splat or (op.tensor.size <= 4096 and np.array_equal(op.array, op.array.T))
        case BroadcastInDim():
            return all(size == 1 for size in op.operand.shape)
        case Transpose():
            return is_symmetric(op.operand, depth + 1)
        case Compare() if op.direction in ("EQ", "NE"):
            relation = find_relation(op)
            return relation is not None and relation.least == relation.most == 0
        case DotGeneral():
            same = op.lhs is op.rhs and op.lhs.tensor.rank == 2 and not op.lhs_batching_dimensions
            return same and op.lhs_contracting_dimensions == op.rhs_contracting_dimensions
        case Elementwise():
            if all(is_symmetric(operand, depth + 1) for operand in op.operands):
                return True
            # x + xᵀ: swapping the operands of a commutative op gives the transpose.
            if not op.is_commutative or len(op.operands) != 2:
                return False
            left, right = op.operands
            return is_transpose_of(left, right) or is_transpose_of(right, left)
        case _:
            return False


def is_transpose_of(value: Value, other: Value) -> bool:
    """Whether a value is made by transposing the other, or both are the same vector broadcast along different axes."""
    if isinstance(value, Transpose):
        return value.operand is other and value.permutation == (1, 0)
    if isinstance(value, BroadcastInDim) and isinstance(other, BroadcastInDim) and value.operand is other.operand:
        return sorted((value.broadcast_dimensions, other.broadcast_dimensions)) == [(0,), (1,)]
    return False
