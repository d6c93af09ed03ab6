"""Products of sparse and dense vectors and matrices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from windlass.hosting.libraries.cublas.level1 import wide
from windlass.hosting.libraries.cublas.level3 import dtype_of, round_to
from windlass.hosting.libraries.cusparse.descriptors import (
    BUFFER_SIZE,
    SIZE,
    DenseMatrix,
    DenseVector,
    SparseHandle,
    SparseMatrix,
    SparseOperation,
    SparseVector,
    cusparse,
)
from windlass.hosting.libraries.memory import Array
from windlass.hosting.libraries.routines import Address, Factor, Result
from windlass.hosting.libraries.session import Call, Stateful
from windlass.hosting.libraries.tensor_programs import is_zero, tensor_program

# -- as tensor programs -----------------------------------------------------------------------------------------------


@tensor_program("count", "compute")
def multiply_dense(
    alpha: Any, rows: Any, columns: Any, values: Any, dense: Any, beta: Any, c: Any, count: int, compute: Any
) -> Any:
    """alpha A B + beta C, where A is its elements, and B has a row (or a number) for each of A's columns."""
    taken = dense.astype(compute)[columns]
    products = values.astype(compute).reshape(-1, *[1] * (taken.ndim - 1)) * taken
    result = alpha * jax.ops.segment_sum(products, rows, count)
    return result if c is None else result + beta * c.astype(compute)


@tensor_program("compute")
def sample_product(alpha: Any, a: Any, b: Any, rows: Any, columns: Any, beta: Any, values: Any, compute: Any) -> Any:
    """alpha A B + beta C at the elements of C."""
    products = a.astype(compute)[rows] * b.astype(compute).T[columns]
    result = alpha * jnp.sum(products, axis=-1)
    return result if values is None else result + beta * values.astype(compute)


@tensor_program("count")
def sum_products(alpha: Any, first: Any, second: Any, places: Any, count: int) -> Any:
    """alpha times the sum of those products that go to the same element."""
    return alpha * jax.ops.segment_sum(first * second, places, count)


@tensor_program("size", "compute")
def add_sparse(alpha: Any, x: Any, places: Any, beta: Any, y: Any, size: int, compute: Any) -> Any:
    """alpha x at these places + beta y."""
    added = alpha.astype(compute) * x.astype(compute)
    start = jnp.zeros(size, compute) if y is None else beta.astype(compute) * y.astype(compute)
    return start.at[places].add(added)


@tensor_program("is_conjugate")
def sparse_dot(x: Any, y: Any, is_conjugate: bool) -> Any:
    """The sum of x y, or conj(x) y."""
    return jnp.dot(jnp.conj(x) if is_conjugate else x, y, precision=lax.Precision.HIGHEST)


# -- routines ---------------------------------------------------------------------------------------------------------


def elements(
    call: Call, matrix: SparseMatrix, operation: SparseOperation, place: int = 0
) -> tuple[Array, Array, Array]:
    """Rows, columns and values of op(A)."""
    rows, columns = matrix.places(call, place)
    values = matrix.values_view(call, place)
    if operation == SparseOperation.NON_TRANSPOSE:
        return rows, columns, values
    return columns, rows, np.conj(values) if operation == SparseOperation.CONJUGATE_TRANSPOSE else values


def extents(matrix: SparseMatrix | DenseMatrix, operation: SparseOperation) -> tuple[int, int]:
    """Rows and columns of op(A)."""
    if operation == SparseOperation.NON_TRANSPOSE:
        return matrix.rows, matrix.columns
    return matrix.columns, matrix.rows


def turn(dense: Array, operation: SparseOperation) -> Array:
    """op(B) for a dense matrix."""
    if operation == SparseOperation.NON_TRANSPOSE:
        return dense
    return np.conj(dense.T) if operation == SparseOperation.CONJUGATE_TRANSPOSE else dense.T


def put_product(
    call: Call, target: Array, parts: tuple[Array, Array, Array], dense: Array, alpha: Factor, beta: Factor, kind: int
) -> None:
    """target = alpha A dense + beta target."""
    compute = dtype_of(call, kind)
    factors = call.scalar(alpha, compute), call.scalar(beta, compute)
    compute = wide(compute)
    factors = factors[0].astype(compute), factors[1].astype(compute)
    result = multiply_dense(
        factors[0],
        *parts,
        dense,
        factors[1],
        None if is_zero(factors[1]) else target,
        count=target.shape[0],
        compute=compute,
    )
    target[...] = round_to(result, target.dtype)


@cusparse.routine("cusparseSpMV_bufferSize")
def spmv_buffer(
    call: Call,
    handle: SparseHandle,
    operation: SparseOperation,
    alpha: Address,
    a: SparseMatrix,
    x: DenseVector,
    beta: Address,
    y: DenseVector,
    kind: int,
    algorithm: int,
    size: Result,
) -> None:
    call.put(size, BUFFER_SIZE, SIZE)


@cusparse.routine("cusparseSpMV")
@cusparse.routine("cusparseSpMV_preprocess")
def spmv(
    call: Call,
    handle: SparseHandle,
    operation: SparseOperation,
    alpha: Factor,
    a: SparseMatrix,
    x: DenseVector,
    beta: Factor,
    y: DenseVector,
    kind: int,
    algorithm: int,
    buffer: Address,
) -> None:
    rows, columns = extents(a, operation)
    call.require((x.size, y.size) == (columns, rows), f"op(A) is {rows} x {columns}, x has {x.size}, y {y.size}")
    if call.routine.name.endswith("preprocess"):
        return
    put_product(call, y.view(call, "y"), elements(call, a, operation), x.view(call, "x"), alpha, beta, kind)


@cusparse.routine("cusparseSpMM_bufferSize")
def spmm_buffer(
    call: Call,
    handle: SparseHandle,
    operation_a: SparseOperation,
    operation_b: SparseOperation,
    alpha: Address,
    a: SparseMatrix,
    b: DenseMatrix,
    beta: Address,
    c: DenseMatrix,
    kind: int,
    algorithm: int,
    size: Result,
) -> None:
    call.put(size, BUFFER_SIZE, SIZE)


@cusparse.routine("cusparseSpMM")
@cusparse.routine("cusparseSpMM_preprocess")
def spmm(
    call: Call,
    handle: SparseHandle,
    operation_a: SparseOperation,
    operation_b: SparseOperation,
    alpha: Factor,
    a: SparseMatrix,
    b: DenseMatrix,
    beta: Factor,
    c: DenseMatrix,
    kind: int,
    algorithm: int,
    buffer: Address,
) -> None:
    rows, inner = extents(a, operation_a)
    inner_b, columns = extents(b, operation_b)
    is_fitting = inner == inner_b and (c.rows, c.columns) == (rows, columns)
    call.require(is_fitting, f"{rows} x {inner} times {inner_b} x {columns} gives no {c.rows} x {c.columns}")
    if call.routine.name.endswith("preprocess"):
        return
    count = c.count
    call.require({a.batch, b.count} <= {1, count}, "the numbers of matrices in batches differ")
    sources, targets = b.view(call, "B"), c.view(call, "C")
    for place in range(count):
        parts = elements(call, a, operation_a, place if a.batch > 1 else 0)
        dense = turn(sources[place if b.count > 1 else 0], operation_b)
        put_product(call, targets[place], parts, dense, alpha, beta, kind)


@cusparse.routine("cusparseSDDMM_bufferSize")
def sddmm_buffer(
    call: Call,
    handle: SparseHandle,
    operation_a: SparseOperation,
    operation_b: SparseOperation,
    alpha: Address,
    a: DenseMatrix,
    b: DenseMatrix,
    beta: Address,
    c: SparseMatrix,
    kind: int,
    algorithm: int,
    size: Result,
) -> None:
    call.put(size, BUFFER_SIZE, SIZE)


@cusparse.routine("cusparseSDDMM")
@cusparse.routine("cusparseSDDMM_preprocess")
def sddmm(
    call: Call,
    handle: SparseHandle,
    operation_a: SparseOperation,
    operation_b: SparseOperation,
    alpha: Factor,
    a: DenseMatrix,
    b: DenseMatrix,
    beta: Factor,
    c: SparseMatrix,
    kind: int,
    algorithm: int,
    buffer: Address,
) -> None:
    rows, inner = extents(a, operation_a)
    inner_b, columns = extents(b, operation_b)
    is_fitting = inner == inner_b and (c.rows, c.columns) == (rows, columns)
    call.require(is_fitting, f"{rows} x {inner} times {inner_b} x {columns} gives no {c.rows} x {c.columns}")
    if call.routine.name.endswith("preprocess"):
        return
    compute = dtype_of(call, kind)
    first, second = call.scalar(alpha, compute), call.scalar(beta, compute)
    compute = wide(compute)
    has_addend = not is_zero(second)
    call.require({a.count, b.count} <= {1, c.batch}, "the numbers of matrices in batches differ")
    all_a, all_b = a.view(call, "A"), b.view(call, "B")
    for place in range(c.batch):
        values = c.values_view(call, place)
        result = sample_product(
            first.astype(compute),
            turn(all_a[place if a.count > 1 else 0], operation_a),
            turn(all_b[place if b.count > 1 else 0], operation_b),
            *c.places(call, place),
            second.astype(compute),
            values if has_addend else None,
            compute=compute,
        )
        values[...] = round_to(result, values.dtype)


@dataclass
class ProductPlan(Stateful):
    """What cusparseSpGEMM_createDescr makes: between the steps, the product's elements."""

    rows: Array | None = None
    columns: Array | None = None
    values: Array | None = None


@cusparse.routine("cusparseSpGEMM_createDescr")
def create_product_plan(call: Call, place: Result) -> None:
    call.give(place, ProductPlan())


@cusparse.routine("cusparseSpGEMM_destroyDescr")
def destroy_product_plan(call: Call, plan: ProductPlan) -> None:
    call.session.drop(plan)


@cusparse.routine("cusparseSpGEMM_workEstimation")
@cusparse.routine("cusparseSpGEMM_compute")
def spgemm(
    call: Call,
    handle: SparseHandle,
    operation_a: SparseOperation,
    operation_b: SparseOperation,
    alpha: Factor,
    a: SparseMatrix,
    b: SparseMatrix,
    beta: Factor,
    c: SparseMatrix,
    kind: int,
    algorithm: int,
    plan: ProductPlan,
    size: Result,
    buffer: Address,
) -> None:
    rows, inner = extents(a, operation_a)
    inner_b, columns = extents(b, operation_b)
    call.require(inner == inner_b, f"{rows} x {inner} cannot be multiplied by {inner_b} x {columns}")
    if size:
        call.put(size, BUFFER_SIZE, SIZE)
    if not buffer or call.routine.name.endswith("workEstimation"):
        return
    compute = dtype_of(call, kind)
    factor = call.scalar(alpha, compute)
    compute = wide(compute)
    first_rows, first_columns, first = elements(call, a, operation_a)
    second_rows, second_columns, second = by_rows(*elements(call, b, operation_b))
    begins = np.searchsorted(second_rows, np.arange(inner + 1))
    # Each element of A meets the row of B that its column names.
    lengths = np.diff(begins)[first_columns]
    which = np.repeat(np.arange(len(first)), lengths)
    within = np.arange(len(which)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    partners = begins[first_columns][which] + within
    keys, places = np.unique(first_rows[which] * max(columns, 1) + second_columns[partners], return_inverse=True)
    products = first[which].astype(compute), second[partners].astype(compute)
    plan.values = sum_products(factor.astype(compute), *products, places, count=len(keys))
    plan.rows, plan.columns = keys // max(columns, 1), keys % max(columns, 1)
    c.count = len(keys)


def by_rows(rows: Array, columns: Array, values: Array) -> tuple[Array, Array, Array]:
    """Elements in the order of rows, and of columns in a row."""
    order = np.lexsort((columns, rows))
    return rows[order], columns[order], values[order]


@cusparse.routine("cusparseSpGEMM_copy")
def spgemm_copy(
    call: Call,
    handle: SparseHandle,
    operation_a: SparseOperation,
    operation_b: SparseOperation,
    alpha: Address,
    a: SparseMatrix,
    b: SparseMatrix,
    beta: Factor,
    c: SparseMatrix,
    kind: int,
    algorithm: int,
    plan: ProductPlan,
) -> None:
    call.require(plan.rows is not None, "cusparseSpGEMM_compute was not called before")
    if c.format != "csr":
        raise call.refuse("products are written in the format CSR only")
    assert plan.rows is not None and plan.columns is not None and plan.values is not None
    values = c.values_view(call)
    factor = call.scalar(beta, dtype_of(call, kind))
    added: Any = 0 if is_zero(factor) else factor * values
    c.offsets_view(call)[...] = np.searchsorted(plan.rows, np.arange(c.rows + 1)) + c.base
    c.indices_view(call)[...] = plan.columns + c.base
    values[...] = round_to(plan.values + added, values.dtype)


# -- sparse vectors ---------------------------------------------------------------------------------------------------


@cusparse.routine("cusparseAxpby")
def axpby(call: Call, handle: SparseHandle, alpha: Factor, x: SparseVector, beta: Factor, y: DenseVector) -> None:
    call.require(x.size == y.size, f"x has {x.size} elements, and y {y.size}")
    factors = call.scalar(alpha, x.dtype), call.scalar(beta, x.dtype)
    target, places = y.view(call, "y"), x.places(call)
    addend = None if is_zero(factors[1]) else target
    result = add_sparse(factors[0], x.view(call, "x"), places, factors[1], addend, size=y.size, compute=wide(x.dtype))
    target[...] = round_to(result, target.dtype)


@cusparse.routine("cusparseGather")
def gather(call: Call, handle: SparseHandle, y: DenseVector, x: SparseVector) -> None:
    x.view(call, "x")[...] = y.view(call, "y")[x.places(call)]


@cusparse.routine("cusparseScatter")
def scatter(call: Call, handle: SparseHandle, x: SparseVector, y: DenseVector) -> None:
    y.view(call, "y")[x.places(call)] = x.view(call, "x")


@cusparse.routine("cusparse{}gthr", "SDCZ")
def gather_plainly(
    call: Call, handle: SparseHandle, count: int, y: Address, x: Address, indices: Address, base: int
) -> None:
    places = call.integers("xInd", indices, count, np.dtype(np.int32)) - base
    length = int(places.max()) + 1 if count else 0
    call.require(not count or places.min() >= 0, "an index is below the base")
    call.vector("xVal", x, count)[...] = call.vector("y", y, length)[places]


@cusparse.routine("cusparseSpVV_bufferSize")
def spvv_buffer(
    call: Call,
    handle: SparseHandle,
    operation: SparseOperation,
    x: SparseVector,
    y: DenseVector,
    result: Address,
    kind: int,
    size: Result,
) -> None:
    call.put(size, BUFFER_SIZE, SIZE)


@cusparse.routine("cusparseSpVV")
def spvv(
    call: Call,
    handle: SparseHandle,
    operation: SparseOperation,
    x: SparseVector,
    y: DenseVector,
    result: Result,
    kind: int,
    buffer: Address,
) -> None:
    compute = dtype_of(call, kind)
    values = x.view(call, "x"), y.view(call, "y")[x.places(call)]
    is_conjugate = operation == SparseOperation.CONJUGATE_TRANSPOSE
    wider = wide(compute)
    call.put(result, sparse_dot(*(each.astype(wider) for each in values), is_conjugate=is_conjugate), compute)
