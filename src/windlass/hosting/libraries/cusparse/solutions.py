"""Sparse triangular systems, and incomplete factors for them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax
from scipy import sparse
from scipy.sparse import linalg

from windlass.hosting.libraries.cublas.level3 import dtype_of, round_to
from windlass.hosting.libraries.cusparse.descriptors import (
    BUFFER_SIZE,
    INT,
    SIZE,
    DenseMatrix,
    DenseVector,
    SparseHandle,
    SparseMatrix,
    SparseOperation,
    SquareRows,
    cusparse,
)
from windlass.hosting.libraries.cusparse.products import elements, extents, turn
from windlass.hosting.libraries.memory import Array
from windlass.hosting.libraries.routines import Address, Factor, Result
from windlass.hosting.libraries.session import Call, Stateful
from windlass.hosting.libraries.tensor_programs import tensor_program

ZERO_PIVOT = 9
UPPER, UNIT = 1, 1


class SolutionPlan(Stateful):
    """What the analysis of a system is kept in: nothing is needed. `matrix` is what was analyzed."""


@dataclass
class FactorPlan(Stateful):
    """What cusparseCreateCsrilu02Info makes: the first row with a zero pivot, or -1."""

    pivot: int = -1


@cusparse.routine("cusparseSpSV_createDescr")
@cusparse.routine("cusparseSpSM_createDescr")
def create_plan(call: Call, place: Result) -> None:
    call.give(place, SolutionPlan())


@cusparse.routine("cusparseSpSV_destroyDescr")
@cusparse.routine("cusparseSpSM_destroyDescr")
def destroy_plan(call: Call, plan: SolutionPlan) -> None:
    call.session.drop(plan)


@tensor_program("is_upper", "is_unit", "operation")
def solve_densely(
    rows: Any, columns: Any, values: Any, right: Any, is_upper: bool, is_unit: bool, operation: SparseOperation
) -> Any:
    """The same as the solution of a dense system, which has derivatives."""
    m = right.shape[0]
    dense = jnp.zeros((m, m), values.dtype).at[rows, columns].add(values)
    lacks_pivot = jnp.eye(m, dtype=bool) & (dense == 0)
    found = lax.linalg.triangular_solve(
        jnp.where(lacks_pivot, jnp.nan, dense),
        right.reshape(m, -1),
        left_side=True,
        lower=not is_upper,
        transpose_a=operation != SparseOperation.NON_TRANSPOSE,
        conjugate_a=operation == SparseOperation.CONJUGATE_TRANSPOSE,
        unit_diagonal=is_unit,
    )
    return found.reshape(right.shape)


def solve(call: Call, a: SparseMatrix, operation: SparseOperation, right: Array) -> Array:
    """The solution of op(A) X = B, where one triangle of A is looked at.

    Where an element of the diagonal is zero or missing, the solution is NaN there, and wherever that is used.
    """
    rows, columns, values = elements(call, a, SparseOperation.NON_TRANSPOSE)
    is_upper = a.fill == UPPER
    if call.session.memory.is_traced:
        return solve_densely(
            rows, columns, values, right, is_upper=is_upper, is_unit=a.diagonal == UNIT, operation=operation
        )
    is_inside = (columns >= rows) if is_upper else (columns <= rows)
    if a.diagonal == UNIT:
        is_inside &= rows != columns
    rows, columns, values = rows[is_inside], columns[is_inside], values[is_inside]
    if a.diagonal != UNIT:
        lacks_pivot = np.ones(a.rows, bool)
        lacks_pivot[rows[(rows == columns) & (values != 0)]] = False
        missing = np.flatnonzero(lacks_pivot)
        is_other = (rows != columns) | ~lacks_pivot[rows]
        rows, columns = np.append(rows[is_other], missing), np.append(columns[is_other], missing)
        values = np.append(values[is_other], np.ones(len(missing), values.dtype))
        right = right.copy()
        right[missing] = np.nan
    if operation != SparseOperation.NON_TRANSPOSE:
        rows, columns, is_upper = columns, rows, not is_upper
        values = np.conj(values) if operation == SparseOperation.CONJUGATE_TRANSPOSE else values
    kind = np.dtype(np.complex128 if values.dtype.kind == "c" else np.float64)
    matrix: Any = sparse.coo_array((values.astype(kind), (rows, columns)), (a.rows, a.rows)).tocsr()
    if a.diagonal == UNIT:
        identity: Any = sparse.eye_array(a.rows, format="csr")
        matrix = matrix + identity
    solver: Any = linalg.spsolve_triangular
    return np.asarray(solver(matrix, right.astype(kind), lower=not is_upper))


@cusparse.routine("cusparseSpSV_bufferSize")
def spsv_buffer(
    call: Call,
    handle: SparseHandle,
    operation: SparseOperation,
    alpha: Address,
    a: SparseMatrix,
    x: DenseVector,
    y: DenseVector,
    kind: int,
    algorithm: int,
    plan: SolutionPlan,
    size: Result,
) -> None:
    call.put(size, BUFFER_SIZE, SIZE)


@cusparse.routine("cusparseSpSV_analysis")
def spsv_analysis(
    call: Call,
    handle: SparseHandle,
    operation: SparseOperation,
    alpha: Address,
    a: SparseMatrix,
    x: DenseVector,
    y: DenseVector,
    kind: int,
    algorithm: int,
    plan: SolutionPlan,
    buffer: Address,
) -> None:
    call.require(a.rows == a.columns, f"the matrix is {a.rows} x {a.columns}")


@cusparse.routine("cusparseSpSV_solve")
def spsv(
    call: Call,
    handle: SparseHandle,
    operation: SparseOperation,
    alpha: Factor,
    a: SparseMatrix,
    x: DenseVector,
    y: DenseVector,
    kind: int,
    algorithm: int,
    plan: SolutionPlan,
) -> None:
    sizes = {a.rows, a.columns, x.size, y.size}
    call.require(len(sizes) == 1, f"the matrix is {a.rows} x {a.columns}, x has {x.size} elements, y {y.size}")
    target = y.view(call, "y")
    factor = call.scalar(alpha, dtype_of(call, kind))
    right = factor * x.view(call, "x")
    target[...] = round_to(solve(call, a, operation, right), target.dtype)


@cusparse.routine("cusparseSpSM_bufferSize")
def spsm_buffer(
    call: Call,
    handle: SparseHandle,
    operation_a: SparseOperation,
    operation_b: SparseOperation,
    alpha: Address,
    a: SparseMatrix,
    b: DenseMatrix,
    c: DenseMatrix,
    kind: int,
    algorithm: int,
    plan: SolutionPlan,
    size: Result,
) -> None:
    call.put(size, BUFFER_SIZE, SIZE)


@cusparse.routine("cusparseSpSM_analysis")
def spsm_analysis(
    call: Call,
    handle: SparseHandle,
    operation_a: SparseOperation,
    operation_b: SparseOperation,
    alpha: Address,
    a: SparseMatrix,
    b: DenseMatrix,
    c: DenseMatrix,
    kind: int,
    algorithm: int,
    plan: SolutionPlan,
    buffer: Address,
) -> None:
    call.require(a.rows == a.columns, f"the matrix is {a.rows} x {a.columns}")


@cusparse.routine("cusparseSpSM_solve")
def spsm(
    call: Call,
    handle: SparseHandle,
    operation_a: SparseOperation,
    operation_b: SparseOperation,
    alpha: Factor,
    a: SparseMatrix,
    b: DenseMatrix,
    c: DenseMatrix,
    kind: int,
    algorithm: int,
    plan: SolutionPlan,
) -> None:
    rows, columns = extents(b, operation_b)
    is_fitting = a.rows == a.columns == rows == c.rows and columns == c.columns
    call.require(is_fitting, f"A is {a.rows} x {a.columns}, op(B) {rows} x {columns}, C {c.rows} x {c.columns}")
    factor = call.scalar(alpha, dtype_of(call, kind))
    target = c.view(call, "C")[0]
    right = factor * turn(b.view(call, "B")[0], operation_b)
    target[...] = round_to(solve(call, a, operation_a, right), target.dtype)


# -- incomplete LU ----------------------------------------------------------------------------------------------------


@cusparse.routine("cusparseCreateCsrilu02Info")
def create_factor_plan(call: Call, place: Result) -> None:
    call.give(place, FactorPlan())


@cusparse.routine("cusparseDestroyCsrilu02Info")
def destroy_factor_plan(call: Call, plan: FactorPlan) -> None:
    call.session.drop(plan)


@cusparse.routine("cusparse{}csrilu02_bufferSize", "SDCZ")
def ilu_buffer(call: Call, handle: SparseHandle, a: SquareRows, plan: FactorPlan, size: Result) -> None:
    call.put(size, BUFFER_SIZE, INT)


@cusparse.routine("cusparse{}csrilu02_analysis", "SDCZ")
def ilu_analysis(
    call: Call, handle: SparseHandle, a: SquareRows, plan: FactorPlan, policy: int, buffer: Address
) -> None:
    m, base = a.m, a.base
    rows, places = a.places(call)
    has_diagonal = np.zeros(m, bool)
    has_diagonal[rows[rows == places]] = True
    plan.pivot = -1 if has_diagonal.all() else int(np.argmin(has_diagonal)) + base


@cusparse.routine("cusparse{}csrilu02", "SDCZ")
def ilu(call: Call, handle: SparseHandle, a: SquareRows, plan: FactorPlan, policy: int, buffer: Address) -> None:
    m, base = a.m, a.base
    rows, places = a.places(call)
    view = a.elements(call)
    begins = np.searchsorted(rows, np.arange(m + 1))
    plan.pivot = -1
    numbers: list[Any] = view.tolist()
    lines = [{int(places[place]): place for place in range(begins[row], begins[row + 1])} for row in range(m)]
    for row in range(m):
        line = lines[row]
        for column in sorted(each for each in line if each < row):
            pivot_place = lines[column].get(column)
            pivot = 0 if pivot_place is None else numbers[pivot_place]
            if pivot == 0:
                plan.pivot = column + base if plan.pivot < 0 else plan.pivot
                continue
            factor = numbers[line[column]] / pivot
            numbers[line[column]] = factor
            for other, place in lines[column].items():
                if other > column and other in line:
                    numbers[line[other]] -= factor * numbers[place]
        pivot_place = line.get(row)
        if (pivot_place is None or numbers[pivot_place] == 0) and plan.pivot < 0:
            plan.pivot = row + base
    view[...] = np.array(numbers, view.dtype)


@cusparse.routine("cusparseXcsrilu02_zeroPivot")
def ilu_pivot(call: Call, handle: SparseHandle, plan: FactorPlan, place: Result) -> int:
    call.put(place, plan.pivot, INT)
    return ZERO_PIVOT if plan.pivot >= 0 else 0
