"""Factorizations and solvers."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import scipy  # its parts are loaded when they are first used: that takes longer than all of this package

from windlass.ir.types import TensorType, Type, tensor_type
from windlass.ir.values import Value
from windlass.ops.axes import CHANGED, Axes, axes_in_place, axes_of
from windlass.ops.base import COMPLEX, Array, OnNewAxis, TensorOp
from windlass.ops.comparison import Compare
from windlass.ops.complex import Conj
from windlass.ops.contraction import DotGeneral
from windlass.ops.creation import Constant, Iota
from windlass.ops.elementwise import Add, Multiply, Negate, Select, Subtract
from windlass.ops.movement import Transpose
from windlass.ops.sampling import Draw
from windlass.ops.spelling import Transposition

MATRIX_DTYPES = frozenset({"f32", "f64"}) | COMPLEX


class Cholesky(TensorOp):
    """The triangular factor of symmetric positive definite matrices: a = l·lᴴ (lower) or uᴴ·u; zeros elsewhere.

    A matrix that is not positive definite gives NaN.
    """

    name = "stablehlo.cholesky"
    is_contraction: ClassVar[bool] = True
    a: Value
    lower: bool = False
    on_new_axis: ClassVar[OnNewAxis] = {}

    def infer(self) -> Type:
        type_ = self.a.tensor
        square = type_.rank >= 2 and type_.shape[-1] == type_.shape[-2]
        if not square:
            self.fault("C3", f"{type_} holds no square matrices")
        return type_

    def axes(self) -> Axes:
        rank = self.a.tensor.rank
        return axes_in_place(self, {rank - 2, rank - 1})

    def evaluate(self, a: Array) -> Array:
        result = np.empty_like(a)
        for place in np.ndindex(*a.shape[:-2]):
            matrix = a[place]
            # Only the given triangle is read.
            half = np.tril(matrix, -1) if self.lower else np.triu(matrix, 1).conj().T
            full = half + half.conj().T + np.diag(np.real(np.diag(matrix))).astype(matrix.dtype)
            try:
                factor = np.linalg.cholesky(full) if matrix.size else matrix
            except np.linalg.LinAlgError:
                factor = np.tril(np.full_like(matrix, np.nan))
            result[place] = factor if self.lower else factor.conj().T
        return result

    def tangents(self, given: tuple[Value | None, ...]) -> tuple[Value | None, ...]:
        """As in Murray, Differentiation of the Cholesky decomposition (2016): l times half of l⁻¹·s·l⁻ᴴ."""
        (tangent,) = given
        assert tangent is not None
        is_below, is_diagonal = compared_places(self.tensor, "GE" if self.lower else "LE"), compared_places(self.tensor)
        one, half = (Constant.splat(number, self.type) for number in (1, 0.5))
        halving, zeros = Select(is_diagonal, half, one), Constant.splat(0, self.type)
        if self.tensor.is_complex:
            # Of the diagonal the real part is read.
            given_half = Multiply(Select(is_below, tangent, zeros), halving)
            whole = Add(given_half, Conj(transposed(given_half)))
        else:
            whole = Select(is_below, tangent, transposed(tangent))
        sides = ("ADJOINT", "NO_TRANSPOSE") if self.lower else ("NO_TRANSPOSE", "ADJOINT")
        from_right = TriangularSolve(self, whole, False, self.lower, False, sides[0])
        solved = TriangularSolve(self, from_right, True, self.lower, False, sides[1])
        kept = Multiply(Select(is_below, solved, zeros), halving)
        return (multiply_matrices(self, kept) if self.lower else multiply_matrices(kept, self),)

    def flops(self) -> int:
        size = self.tensor.shape[-1]
        return self.tensor.size * size // 3

    @classmethod
    def sample_operands(cls, draw: Draw) -> tuple[TensorType, ...]:
        size = draw.integer(1, 4)
        return (tensor_type((*draw.shape(most_rank=1), size, size), draw.dtype(MATRIX_DTYPES)),)

    @classmethod
    def sample(cls, draw: Draw, *operand_types: TensorType) -> dict[str, Any]:
        return {"lower": draw.boolean()}

    def sample_array(self, draw: Draw, position: int) -> Array:
        factor = draw.tame_array(self.a.tensor)
        product = factor @ np.swapaxes(factor, -1, -2).conj()
        return (product + 2 * np.eye(factor.shape[-1])).astype(factor.dtype)


class TriangularSolve(TensorOp):
    """x in op(a)·x = b (left_side) or x·op(a) = b, where a is triangular and op as transpose_a says."""

    name = "stablehlo.triangular_solve"
    is_contraction: ClassVar[bool] = True
    a: Value
    b: Value
    left_side: bool
    lower: bool
    unit_diagonal: bool
    transpose_a: Transposition
    on_new_axis: ClassVar[OnNewAxis] = {}
    linear_in: ClassVar[tuple[frozenset[str], ...]] = (frozenset({"b"}),)

    def infer(self) -> Type:
        a, b = self.a.tensor, self.b.tensor
        if a.dtype != b.dtype:
            self.fault("C1", f"element types differ: {a} and {b}")
        if not (a.rank == b.rank and a.rank >= 2):
            self.fault("C2", f"ranks differ: {a} and {b}")
        side = b.shape[-2] if self.left_side else b.shape[-1]
        fits = a.shape[:-2] == b.shape[:-2] and a.shape[-1] == a.shape[-2] == side
        if not fits:
            self.fault("C3", f"{a} does not fit {b}")
        return b

    def axes(self) -> Axes:
        rank = self.a.tensor.rank
        solved, other = (rank - 2, rank - 1) if self.left_side else (rank - 1, rank - 2)
        shared = range(rank - 2)
        sides = [CHANGED if axis == solved else axis for axis in sorted((solved, other))]
        return axes_of(self, [(*shared, CHANGED, CHANGED), (*shared, *sides)], [(*shared, *sides)])

    def evaluate(self, a: Array, b: Array) -> Array:
        result = np.empty_like(b)
        code = {"NO_TRANSPOSE": 0, "TRANSPOSE": 1, "ADJOINT": 2}[self.transpose_a]
        for place in np.ndindex(*b.shape[:-2]):
            matrix, right = a[place], b[place]
            if right.size == 0:
                continue
            if self.left_side:
                solution = self._solve(matrix, right, code)
            else:
                # x·op(a) = b is op(a)ᵀ·xᵀ = bᵀ; the adjoint's transpose is the conjugate.
                plain = matrix.conj() if code == 2 else matrix
                solution = self._solve(plain, right.T, 1 - min(code, 1)).T
            result[place] = solution
        return result

    def _solve(self, matrix: Array, right: Array, code: int) -> Array:
        if not self.unit_diagonal and (np.diag(matrix) == 0).any():
            matrix = matrix.copy()
            tiny = np.finfo(matrix.dtype).tiny
            np.fill_diagonal(matrix, np.where(np.diag(matrix) == 0, tiny, np.diag(matrix)))
            found = scipy.linalg.solve_triangular(matrix, right, code, self.lower, check_finite=False)
            return np.asarray(found) * np.nan
        return np.asarray(
            scipy.linalg.solve_triangular(matrix, right, code, self.lower, self.unit_diagonal, check_finite=False)
        )

    def tangents(self, given: tuple[Value | None, ...]) -> tuple[Value | None, ...]:
        """op(a)·x = b stays true."""
        matrix, right = given
        if matrix is not None:
            direction = ("GT" if self.lower else "LT") if self.unit_diagonal else ("GE" if self.lower else "LE")
            is_read = compared_places(matrix.tensor, direction)
            part: Value = Select(is_read, matrix, Constant.splat(0, matrix.type))
            if self.transpose_a == "ADJOINT" and matrix.tensor.is_complex:
                part = Conj(part)
            turned = self.transpose_a != "NO_TRANSPOSE"
            if self.left_side:
                moved = multiply_matrices(part, self, turned, False)
            else:
                moved = multiply_matrices(self, part, False, turned)
            right = Negate(moved) if right is None else Subtract(right, moved)
        return (None if right is None else self.with_operands((self.a, right)),)

    def pullback(self, cotangents: tuple[Value, ...], position: int) -> Value:
        turned = "TRANSPOSE" if self.transpose_a == "NO_TRANSPOSE" else "NO_TRANSPOSE"
        matrix = Conj(self.a) if self.transpose_a == "ADJOINT" and self.tensor.is_complex else self.a
        return self.with_fields((matrix, cotangents[0]), transpose_a=turned)

    def flops(self) -> int:
        return self.b.tensor.size * self.a.shape[-1]

    @classmethod
    def sample_operands(cls, draw: Draw) -> tuple[TensorType, ...]:
        size, dtype, batch = draw.integer(1, 4), draw.dtype(MATRIX_DTYPES), draw.shape(most_rank=1)
        sides = draw.choose(((size, draw.integer(1, 3)), (draw.integer(1, 3), size)))
        return (tensor_type((*batch, size, size), dtype), tensor_type((*batch, *sides), dtype))

    @classmethod
    def sample(cls, draw: Draw, *operand_types: TensorType) -> dict[str, Any]:
        a, b = operand_types
        fitting = [side for side, size in ((True, b.shape[-2]), (False, b.shape[-1])) if size == a.shape[-1]]
        return {
            "left_side": draw.choose(fitting),
            "lower": draw.boolean(),
            "unit_diagonal": draw.boolean(),
            "transpose_a": draw.choose(("NO_TRANSPOSE", "TRANSPOSE", "ADJOINT")),
        }

    def sample_array(self, draw: Draw, position: int) -> Array:
        array = draw.tame_array(self._operands[position].tensor, -1, 1)
        return (array + 3 * np.eye(array.shape[-1])).astype(array.dtype) if position == 0 else array


def compared_places(type_: TensorType, direction: str = "EQ") -> Value:
    """Where the number of the row compares so to that of the column, in each matrix."""
    rows, columns = (Iota(type_.shape, "i32", type_.rank - back) for back in (2, 1))
    return Compare(rows, columns, direction)


def transposed(matrices: Value) -> Value:
    """Each matrix with rows and columns exchanged."""
    rank = matrices.tensor.rank
    return Transpose(matrices, (*range(rank - 2), rank - 1, rank - 2))


def multiply_matrices(lhs: Value, rhs: Value, lhs_turned: bool = False, rhs_turned: bool = False) -> Value:
    """The product of each two matrices, of which one may be taken transposed, as precisely as there is.

    >>> from windlass.ir.values import tensor
    >>> multiply_matrices(tensor("f32", 7, 3, 2), tensor("f32", 7, 3, 5), True).type
    tensor<7x2x5xf32>
    """
    rank = lhs.tensor.rank
    batch = tuple(range(rank - 2))
    summed = (rank - 2 if lhs_turned else rank - 1,), (rank - 1 if rhs_turned else rank - 2,)
    return DotGeneral(lhs, rhs, batch, batch, *summed, ("HIGHEST", "HIGHEST"))
