"""A large matrix in the caller's memory times a vector, block by block of its rows.

XLA wants a product's operand in memory of its own that begins at a multiple of 64 bytes, and copies what does not. A
block of rows stays in the processor's cache as it is copied, so that the product is as fast as without a copy: 4,000 ×
5,000 numbers of float64 times a vector take 16 ms by blocks or at once, and 72 by way of a copy as a whole.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass

from windlass.ir import Op, Value
from windlass.ir.values import tensor
from windlass.ops import (
    Add,
    BroadcastInDim,
    Compare,
    Constant,
    DotGeneral,
    DynamicSlice,
    DynamicUpdateSlice,
    Multiply,
    Negate,
    Reshape,
    While,
    make_region,
)
from windlass.ops.contraction import matmul
from windlass.ops.pointwise import Elementwise

__all__ = ["Negate", "matmul", "tensor"]

BLOCK_BYTES = 1 << 21
MOST_COLUMNS = 8
"""Columns of the other operand: with more of them, the product takes longer than a copy of the matrix."""


def matrix_by_blocks(op: Op, large: Container[Value]) -> Value | None:
    """The operand that is a matrix of several blocks, where the op multiplies it by a vector or a few of them.

    It is one of these values, or is computed from them element by element.

    >>> a, x = tensor("f64", 4000, 500, name="a"), tensor("f64", 500, 1)
    >>> matrix_by_blocks(matmul(Negate(a), x), {a})
    Negate(a)
    >>> matrix_by_blocks(matmul(Negate(a), x), ())
    """
    if not isinstance(op, DotGeneral) or len(op.lhs_contracting_dimensions) != 1 or op.lhs_batching_dimensions:
        return None
    for matrix, other, (summed,) in (
        (op.lhs, op.rhs, op.lhs_contracting_dimensions),
        (op.rhs, op.lhs, op.rhs_contracting_dimensions),
    ):
        type_ = matrix.tensor
        if (
            type_.rank == 2
            and type_.dtype in ("f32", "f64")
            and other.tensor.dtype == type_.dtype
            and other.tensor.size <= MOST_COLUMNS * type_.shape[summed]
            and type_.shape[0] > _rows_of_a_block(matrix)
            and _large_parts(matrix, large)
        ):
            return matrix
    return None


def _large_parts(value: Value, large: Container[Value], depth: int = 8) -> set[Value] | None:
    """Which of the large values the value is computed from, block by block; None where it can't be."""
    if value in large:
        return {value}
    if not isinstance(value, Op) or len(value.uses) > 1 or depth == 0:
        return None
    if _is_same_for_rows(value):
        return set()
    if not isinstance(value, Elementwise) or any(each.shape != value.shape for each in value.operands):
        return None
    found: set[Value] = set()
    for operand in value.operands:
        parts = _large_parts(operand, large, depth - 1)
        if parts is None:
            return None
        found |= parts
    return found


def _is_same_for_rows(value: Op) -> bool:
    return (isinstance(value, Constant) and value.is_splat) or (
        isinstance(value, BroadcastInDim) and value.broadcast_dimensions in ((), (1,))
    )


@dataclass(frozen=True)
class Memory:
    """Where a matrix lies: it is what begins at an element of `flat`."""

    flat: Value
    offset: int


class ProductByBlocks:
    """A product of a matrix that is computed from what lies in these memories, and a vector.

    `mapping` gives the values that stand for those that the product is made of, but for the memories' own.
    """

    def __init__(
        self, op: DotGeneral, matrix: Value, memories: Mapping[Value, Memory], mapping: Mapping[Value, Value]
    ) -> None:
        self.op = op
        self.matrix = matrix
        self.memories = memories
        self.mapping = mapping
        self.is_lhs = op.lhs is matrix
        other = op.rhs if self.is_lhs else op.lhs
        self.other = mapping.get(other, other)
        (self.along,) = op.rhs_contracting_dimensions if self.is_lhs else op.lhs_contracting_dimensions
        (summed,) = op.lhs_contracting_dimensions if self.is_lhs else op.rhs_contracting_dimensions
        self.keeps_rows = summed == 1
        self.place = 0 if self.is_lhs else self.other.tensor.rank - 1

    def multiply(self) -> Value:
        """The product, as a loop over blocks and the rows that are left."""
        rows, count, zero = self.matrix.shape[0], _rows_of_a_block(self.matrix), Constant.of(0, "i64")

        def body(at: Value, total: Value) -> tuple[Value, ...]:
            return Add(at, Constant.of(count, "i64")), self._joined(total, at, count)

        whole = rows - rows % count
        start = Constant.of(0, self.op.tensor.dtype, self.op.shape)
        types = [zero.type, start.type]
        cond = make_region(types, lambda at, total: Compare(at, Constant.of(whole, "i64"), "LT"))
        total: Value = While(cond, make_region(types, body), (zero, start)).results[1]
        return self._joined(total, Constant.of(whole, "i64"), rows - whole) if whole < rows else total

    def _joined(self, total: Value, at: Value, count: int) -> Value:
        """What is known of the result, and what so many rows from `at` on add to it."""
        block, part = self._rows_of(self.matrix, at, count), self.other
        if not self.keeps_rows:
            sizes = tuple(count if axis == self.along else size for axis, size in enumerate(part.shape))
            part = DynamicSlice(part, _starts(part, self.along, at), sizes)
        found = self.op.with_operands((block, part) if self.is_lhs else (part, block))
        return (
            DynamicUpdateSlice(total, found, _starts(found, self.place, at)) if self.keeps_rows else Add(total, found)
        )

    def _rows_of(self, value: Value, at: Value, count: int) -> Value:
        shape = (count, value.shape[1])
        memory = self.memories.get(value)
        if memory is not None:
            start = Add(Multiply(at, Constant.of(shape[1], "i64")), Constant.of(memory.offset, "i64"))
            return Reshape(DynamicSlice(memory.flat, (start,), (count * shape[1],)), shape)
        assert isinstance(value, Op)
        if isinstance(value, Constant):
            return Constant.of(value.value.number, value.tensor.dtype, shape)
        if isinstance(value, BroadcastInDim):
            operand = self.mapping.get(value.operand, value.operand)
            return BroadcastInDim(operand, shape, value.broadcast_dimensions)
        return value.with_operands(tuple(self._rows_of(each, at, count) for each in value.operands))


def _rows_of_a_block(matrix: Value) -> int:
    return max(1, BLOCK_BYTES * matrix.shape[0] // max(1, matrix.tensor.bytes))


def _starts(value: Value, axis: int, at: Value) -> tuple[Value, ...]:
    return tuple(at if each == axis else Constant.of(0, "i64") for each in range(value.tensor.rank))
