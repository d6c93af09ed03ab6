"""Between formats, and between sparse and dense."""

from __future__ import annotations

from typing import Any

import numpy as np

from windlass.hosting.libraries.cublas.level3 import dtype_of
from windlass.hosting.libraries.cusparse.descriptors import (
    BUFFER_SIZE,
    INT,
    SIZE,
    DenseMatrix,
    SparseDescription,
    SparseHandle,
    SparseMatrix,
    checked,
    cusparse,
    lines_of,
)
from windlass.hosting.libraries.cusparse.products import by_rows
from windlass.hosting.libraries.memory import Array
from windlass.hosting.libraries.routines import Address, Columns, Result
from windlass.hosting.libraries.session import Call

# -- sparse and dense -------------------------------------------------------------------------------------------------


@cusparse.routine("cusparseSparseToDense_bufferSize")
def to_dense_buffer(
    call: Call, handle: SparseHandle, a: SparseMatrix, b: DenseMatrix, algorithm: int, size: Result
) -> None:
    call.put(size, BUFFER_SIZE, SIZE)


@cusparse.routine("cusparseSparseToDense")
def to_dense(
    call: Call, handle: SparseHandle, a: SparseMatrix, b: DenseMatrix, algorithm: int, buffer: Address
) -> None:
    call.require((a.rows, a.columns) == (b.rows, b.columns), "the matrices differ in shape")
    target = b.view(call, "B")[0]
    target[...] = 0
    target[a.places(call)] = a.values_view(call)


def dense_elements(call: Call, b: DenseMatrix, format: str) -> tuple[Array, Array, Array]:
    """Rows, columns and values of what is not zero, in the order of a format."""
    matrix = b.view(call, "A")[0]
    if format == "csc":
        columns, rows = np.nonzero(matrix.T)
    else:
        rows, columns = np.nonzero(matrix)
    return rows, columns, matrix[rows, columns]


@cusparse.routine("cusparseDenseToSparse_bufferSize")
def to_sparse_buffer(
    call: Call, handle: SparseHandle, a: DenseMatrix, b: SparseMatrix, algorithm: int, size: Result
) -> None:
    call.put(size, BUFFER_SIZE, SIZE)


@cusparse.routine("cusparseDenseToSparse_analysis")
def to_sparse_analysis(
    call: Call, handle: SparseHandle, a: DenseMatrix, b: SparseMatrix, algorithm: int, buffer: Address
) -> None:
    call.require((a.rows, a.columns) == (b.rows, b.columns), "the matrices differ in shape")
    rows, columns, _ = dense_elements(call, a, b.format)
    b.count = len(rows)
    if b.format != "coo":
        lines = columns if b.format == "csc" else rows
        b.offsets_view(call)[...] = np.searchsorted(lines, np.arange(b.lines + 1)) + b.base


@cusparse.routine("cusparseDenseToSparse_convert")
def to_sparse(
    call: Call, handle: SparseHandle, a: DenseMatrix, b: SparseMatrix, algorithm: int, buffer: Address
) -> None:
    rows, columns, values = dense_elements(call, a, b.format)
    call.require(b.count == len(rows), "cusparseDenseToSparse_analysis was not called before")
    lines, indices = (columns, rows) if b.format == "csc" else (rows, columns)
    if b.format == "coo":
        b.offsets_view(call)[...] = rows + b.base
    else:
        b.offsets_view(call)[...] = np.searchsorted(lines, np.arange(b.lines + 1)) + b.base
    b.indices_view(call)[...] = indices + b.base
    b.values_view(call)[...] = values


@cusparse.routine("cusparse{}nnz", "SDCZ")
def count_nonzero(
    call: Call,
    handle: SparseHandle,
    direction: int,
    m: int,
    n: int,
    description: SparseDescription,
    a: Columns,
    counts: Address,
    total: Result,
) -> None:
    matrix = call.matrix("A", a, m, n)
    found = np.count_nonzero(matrix, axis=0 if direction == 1 else 1)
    call.vector("nnzPerRowColumn", counts, len(found), dtype=INT)[...] = found
    call.put(total, found.sum(), INT)


# -- formats ----------------------------------------------------------------------------------------------------------


@cusparse.routine("cusparseXcsr2coo")
def csr_to_coo(
    call: Call, handle: SparseHandle, offsets: Address, count: int, m: int, rows: Address, base: int
) -> None:
    begins = call.integers("csrRowPtr", offsets, m + 1, INT) - base
    call.vector("cooRowInd", rows, count, dtype=INT)[...] = lines_of(begins, count) + base


@cusparse.routine("cusparseXcoo2csr")
def coo_to_csr(
    call: Call, handle: SparseHandle, rows: Address, count: int, m: int, offsets: Address, base: int
) -> None:
    lines = call.integers("cooRowInd", rows, count, INT) - base
    call.require(bool((np.diff(lines) >= 0).all()), "the rows do not ascend")
    checked(lines, m, "cooRowInd")
    call.vector("csrRowPtr", offsets, m + 1, dtype=INT)[...] = np.searchsorted(lines, np.arange(m + 1)) + base


@cusparse.routine("cusparseCsr2cscEx2_bufferSize")
def csr_to_csc_buffer(
    call: Call,
    handle: SparseHandle,
    m: int,
    n: int,
    count: int,
    values: Address,
    offsets: Address,
    columns: Address,
    target_values: Address,
    target_offsets: Address,
    target_rows: Address,
    kind: int,
    action: int,
    base: int,
    algorithm: int,
    size: Result,
) -> None:
    call.put(size, BUFFER_SIZE, SIZE)


@cusparse.routine("cusparseCsr2cscEx2")
def csr_to_csc(
    call: Call,
    handle: SparseHandle,
    m: int,
    n: int,
    count: int,
    values: Address,
    offsets: Address,
    columns: Address,
    target_values: Address,
    target_offsets: Address,
    target_rows: Address,
    kind: int,
    action: int,
    base: int,
    algorithm: int,
    buffer: Address,
) -> None:
    begins = call.integers("csrRowPtr", offsets, m + 1, INT) - base
    rows = lines_of(begins, count)
    places = checked(call.integers("csrColInd", columns, count, INT) - base, n, "csrColInd")
    order = np.argsort(places, kind="stable")
    call.vector("cscRowInd", target_rows, count, dtype=INT)[...] = rows[order] + base
    found = np.searchsorted(places[order], np.arange(n + 1)) + base
    call.vector("cscColPtr", target_offsets, n + 1, dtype=INT)[...] = found
    if action == 1:
        dtype = dtype_of(call, kind)
        source = call.vector("csrVal", values, count, dtype=dtype)
        call.vector("cscVal", target_values, count, dtype=dtype)[...] = source[order]


@cusparse.routine("cusparseCreateIdentityPermutation")
def create_identity(call: Call, handle: SparseHandle, n: int, places: Address) -> None:
    call.vector("p", places, n, dtype=INT)[...] = np.arange(n)


@cusparse.routine("cusparseXcsrsort_bufferSizeExt")
@cusparse.routine("cusparseXcoosort_bufferSizeExt")
def sort_buffer(
    call: Call, handle: SparseHandle, m: int, n: int, count: int, first: Address, second: Address, size: Result
) -> None:
    call.put(size, BUFFER_SIZE, SIZE)


@cusparse.routine("cusparseXcsrsort")
def sort_csr(
    call: Call,
    handle: SparseHandle,
    m: int,
    n: int,
    count: int,
    description: SparseDescription,
    offsets: Address,
    columns: Address,
    permutation: Address,
    buffer: Address,
) -> None:
    base = description.attributes["IndexBase"]
    begins = call.integers("csrRowPtr", offsets, m + 1, INT) - base
    places = call.vector("csrColInd", columns, count, dtype=INT)
    sort(call, lines_of(begins, count), places, None, permutation)


@cusparse.routine("cusparseXcoosortByRow")
@cusparse.routine("cusparseXcoosortByColumn")
def sort_coo(
    call: Call,
    handle: SparseHandle,
    m: int,
    n: int,
    count: int,
    rows: Address,
    columns: Address,
    permutation: Address,
    buffer: Address,
) -> None:
    views = [call.vector(name, each, count, dtype=INT) for name, each in (("cooRows", rows), ("cooCols", columns))]
    if call.routine.name.endswith("Column"):
        views.reverse()
    sort(call, views[0], views[1], views[0], permutation)


def sort(call: Call, lines: Array, places: Array, target: Any, permutation: Address) -> None:
    """Sort elements by line and place, and the permutation with them."""
    numbers = np.arange(len(places))
    given = call.vector("P", permutation, len(places), dtype=INT) if permutation else None
    sorted_lines, sorted_places, order = by_rows(lines, places, numbers)
    places[...] = sorted_places
    if target is not None:
        target[...] = sorted_lines
    if given is not None:
        given[...] = given[order]
