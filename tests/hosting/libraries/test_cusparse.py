"""cuSPARSE's routines against SciPy's sparse matrices and NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse
from scipy.linalg import solve_triangular

from tests.hosting.libraries.device import Array, Device, Pointer
from tests.hosting.libraries.test_products import random

NULL = Pointer(0)
I32, I64 = 2, 3
NUMBERS = {np.float32: 0, np.float64: 1, np.complex64: 4, np.complex128: 5}
KINDS: Any = [
    np.float32,
    np.complex128,
    *(pytest.param(each, marks=pytest.mark.slow) for each in (np.float64, np.complex64)),
]


def scattered(seed: int, kind: Any, rows: int, columns: int) -> Array:
    """A matrix with about a third of its elements."""
    values = random(seed, kind, rows, columns)
    return np.where(np.random.default_rng(seed + 100).random((rows, columns)) < 0.35, values, 0).astype(kind)


def put_sparse(device: Device, matrix: Array, form: str, base: int = 0, index: Any = np.int32) -> tuple[int, Any]:
    """A descriptor of the matrix in device memory, and where its values are."""
    kind = matrix.dtype.type
    whole: Any = sparse.coo_array(matrix)
    number = I32 if index is np.int32 else I64
    if form == "Coo":
        whole = whole.tocsr().tocoo()
        first, second = whole.row, whole.col
    else:
        whole = whole.tocsr() if form == "Csr" else whole.tocsc()
        first, second = whole.indptr, whole.indices
    pointers = [device.put(np.asarray(each) + base, index)[0] for each in (first, second)]
    values, memory = device.put(whole.data, kind)
    kinds = (number,) if form == "Coo" else (number, number)
    sizes = (*matrix.shape, len(whole.data))
    return device.create(f"cusparseCreate{form}", *sizes, *pointers, values, *kinds, base, NUMBERS[kind]), memory


def put_dense(device: Device, matrix: Array, order: int, padding: int = 1) -> tuple[int, Array]:
    """A descriptor of the matrix with padding, and an array that shows the matrix in device memory."""
    rows, columns = matrix.shape
    leading = (columns if order == 2 else rows) + padding
    whole = np.full((rows, leading) if order == 2 else (columns, leading), np.nan, matrix.dtype)
    if order == 2:
        whole[:, :columns] = matrix
    else:
        whole[:, :rows] = matrix.T
    pointer, memory = device.put(whole.ravel())
    shown = memory.reshape(whole.shape)
    shown = shown[:, :columns] if order == 2 else shown[:, :rows].T
    number = NUMBERS[matrix.dtype.type]
    return device.create("cusparseCreateDnMat", rows, columns, leading, pointer, number, order), shown


def put_vector(device: Device, values: Array) -> tuple[int, Array]:
    pointer, memory = device.put(values)
    return device.create("cusparseCreateDnVec", len(values), pointer, NUMBERS[values.dtype.type]), memory


def apply(operation: int, matrix: Array) -> Array:
    return [matrix, matrix.T, matrix.conj().T][operation]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("form", ["Csr", "Csc", "Coo"])
@pytest.mark.parametrize("operation", [0, 1, 2])
def test_sparse_matrix_times_vector_and_matrix(device: Device, kind: Any, form: str, operation: int) -> None:
    handle = device.create("cusparseCreate")
    matrix = scattered(1, kind, 7, 5)
    a, _ = put_sparse(device, matrix, form, base=operation % 2, index=np.int64 if operation == 2 else np.int32)
    rows, columns = (7, 5) if operation == 0 else (5, 7)
    number, tolerance = NUMBERS[kind], 1e-5 if kind in (np.float32, np.complex64) else 1e-12
    x, y = random(2, kind, columns), random(3, kind, rows)
    alpha, beta, zero = device.number(1.5, kind), device.number(-2, kind), device.number(0, kind)
    vx, vy = put_vector(device, x)[0], put_vector(device, y)
    size, found = device.place()
    assert device.call("cusparseSpMV_bufferSize", handle, operation, alpha, a, vx, beta, vy[0], number, 0, size) == 0
    assert found[0] > 0
    assert device.call("cusparseSpMV", handle, operation, alpha, a, vx, beta, vy[0], number, 0, NULL) == 0
    np.testing.assert_allclose(vy[1], 1.5 * apply(operation, matrix) @ x - 2 * y, rtol=tolerance, atol=tolerance)
    vy[1][:] = np.nan
    assert device.call("cusparseSpMV", handle, operation, alpha, a, vx, zero, vy[0], number, 0, NULL) == 0
    np.testing.assert_allclose(vy[1], 1.5 * apply(operation, matrix) @ x, rtol=tolerance, atol=tolerance)
    for order in (1, 2):
        b, c = random(4, kind, *((3, columns) if order == 2 else (columns, 3))), random(5, kind, rows, 3)
        mb, mc = put_dense(device, b, order)[0], put_dense(device, c, 3 - order)
        arguments = (handle, operation, order - 1, alpha, a, mb, beta, mc[0], number, 0, NULL)
        assert device.call("cusparseSpMM", *arguments) == 0
        expected = 1.5 * apply(operation, matrix) @ apply(order - 1, b) - 2 * c
        np.testing.assert_allclose(mc[1], expected, rtol=tolerance, atol=tolerance)


def test_batches_of_sparse_matrices(device: Device) -> None:
    handle = device.create("cusparseCreate")
    pattern = scattered(1, np.float64, 4, 4) != 0
    matrices = [np.where(pattern, random(seed, np.float64, 4, 4), 0) for seed in (2, 3)]
    whole: Any = sparse.csr_array(pattern)
    count = whole.nnz
    values, changed = device.put(np.concatenate([each[pattern] for each in matrices]))
    # Columns have a matrix's stride too; offsets are shared.
    pointers = [device.put(each, np.int32)[0] for each in (whole.indptr, np.tile(whole.indices, 2))]
    a = device.create("cusparseCreateCsr", 4, 4, count, *pointers, values, I32, I32, 0, 1)
    assert device.call("cusparseCsrSetStridedBatch", a, 2, 0, count) == 0
    b, c = random(4, np.float64, 2, 4, 3), device.put(np.zeros(24))
    mb = device.create("cusparseCreateDnMat", 4, 3, 3, device.put(b.ravel())[0], 1, 2)
    mc = device.create("cusparseCreateDnMat", 4, 3, 3, c[0], 1, 2)
    for matrix in (mb, mc):
        assert device.call("cusparseDnMatSetStridedBatch", matrix, 2, 12) == 0
    one, zero = device.number(1, np.float64), device.number(0, np.float64)
    assert device.call("cusparseSpMM", handle, 0, 0, one, a, mb, zero, mc, 1, 0, NULL) == 0
    np.testing.assert_allclose(c[1].reshape(2, 4, 3), np.stack(matrices) @ b, rtol=1e-12)
    # The product of dense matrices at the elements of sparse ones.
    assert device.call("cusparseSDDMM", handle, 0, 1, one, mc, mb, zero, a, 1, 0, NULL) == 0
    full = c[1].reshape(2, 4, 3) @ np.swapaxes(b, 1, 2)
    np.testing.assert_allclose(changed.reshape(2, -1), full[:, pattern], rtol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_sampled_product(device: Device, kind: Any) -> None:
    handle = device.create("cusparseCreate")
    c = scattered(1, kind, 6, 5)
    a, b = random(2, kind, 6, 4), random(3, kind, 5, 4)
    descriptor, values = put_sparse(device, c, "Csr")
    alpha, beta = device.number(2, kind), device.number(3, kind)
    ma, mb = put_dense(device, a, 2)[0], put_dense(device, b, 1)[0]
    assert device.call("cusparseSDDMM", handle, 0, 2, alpha, ma, mb, beta, descriptor, NUMBERS[kind], 0, NULL) == 0
    np.testing.assert_allclose(values, (2 * a @ b.conj().T + 3 * c)[c != 0], rtol=1e-4)


@pytest.mark.parametrize("kind", [np.float32, np.complex128])
@pytest.mark.parametrize("form", ["Csr", "Coo"])
def test_sparse_times_sparse(device: Device, kind: Any, form: str) -> None:
    handle, plan = device.create("cusparseCreate"), device.create("cusparseSpGEMM_createDescr")
    x, y = scattered(1, kind, 5, 6), scattered(2, kind, 6, 4)
    a, b = put_sparse(device, x, form)[0], put_sparse(device, y, form, base=1)[0]
    offsets, begins = device.put(np.zeros(6), np.int32)
    number = NUMBERS[kind]
    c = device.create("cusparseCreateCsr", 5, 4, 0, offsets, NULL, NULL, I32, I32, 0, number)
    alpha, beta = device.number(2, kind), device.number(0, kind)
    common = (handle, 0, 0, alpha, a, b, beta, c, number, 0, plan)
    size, _ = device.place()
    buffer = device.put(np.zeros(256), np.uint8)[0]
    for step in ("workEstimation", "compute"):
        assert device.call(f"cusparseSpGEMM_{step}", *common, size, NULL) == 0
        assert device.call(f"cusparseSpGEMM_{step}", *common, size, buffer) == 0
    sizes = [device.place(np.int64) for _ in range(3)]
    assert device.call("cusparseSpMatGetSize", c, *(place for place, _ in sizes)) == 0
    count = int(sizes[2][1][0])
    indices, values = device.put(np.zeros(count), np.int32), device.put(np.zeros(count), kind)
    assert device.call("cusparseCsrSetPointers", c, offsets, indices[0], values[0]) == 0
    assert device.call("cusparseSpGEMM_copy", *common) == 0
    found: Any = sparse.csr_array((values[1], indices[1], begins), (5, 4))
    np.testing.assert_allclose(found.todense(), 2 * x @ y, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("fill", [0, 1])
@pytest.mark.parametrize("operation", [0, 1, 2])
def test_triangular_systems(device: Device, kind: Any, fill: int, operation: int) -> None:
    handle = device.create("cusparseCreate")
    number, tolerance = NUMBERS[kind], 1e-4 if kind in (np.float32, np.complex64) else 1e-11
    matrix = scattered(1, kind, 6, 6) + 4 * np.eye(6, dtype=kind)
    for unit in (0, 1):
        a, _ = put_sparse(device, matrix, "Csr")
        for attribute, value in ((0, fill), (1, unit)):
            data = device.number(value, np.int32)
            assert device.call("cusparseSpMatSetAttribute", a, attribute, data, 4) == 0
        triangle = np.tril(matrix) if fill == 0 else np.triu(matrix)
        if unit:
            np.fill_diagonal(triangle, 1)
        x, b = random(2, kind, 6), random(3, kind, 6, 2)
        is_lower = (fill == 0) == (operation == 0)
        vx, vy = put_vector(device, x)[0], put_vector(device, np.zeros(6, kind))
        alpha, plan = device.number(2, kind), device.create("cusparseSpSV_createDescr")
        common = (handle, operation, alpha, a, vx, vy[0], number, 0, plan)
        assert device.call("cusparseSpSV_analysis", *common, NULL) == 0
        assert device.call("cusparseSpSV_solve", *common) == 0
        expected = solve_triangular(apply(operation, triangle), 2 * x, lower=is_lower)
        np.testing.assert_allclose(vy[1], expected, rtol=tolerance, atol=tolerance)
        mb, mc = put_dense(device, b, 2)[0], put_dense(device, b, 1)
        plan = device.create("cusparseSpSM_createDescr")
        common = (handle, operation, 0, alpha, a, mb, mc[0], number, 0, plan)
        assert device.call("cusparseSpSM_analysis", *common, NULL) == 0
        assert device.call("cusparseSpSM_solve", *common) == 0
        expected = solve_triangular(apply(operation, triangle), 2 * b, lower=is_lower)
        np.testing.assert_allclose(mc[1], expected, rtol=tolerance, atol=tolerance)


def test_incomplete_factors_keep_the_pattern(device: Device) -> None:
    handle = device.create("cusparseCreate")
    matrix = scattered(1, np.float64, 8, 8) + 5 * np.eye(8)
    whole: Any = sparse.csr_array(matrix)
    pointers = [device.put(each, np.int32)[0] for each in (whole.indptr, whole.indices)]
    values, found = device.put(whole.data)
    description, plan = device.create("cusparseCreateMatDescr"), device.create("cusparseCreateCsrilu02Info")
    common = (handle, 8, whole.nnz, description, values, *pointers, plan)
    assert device.call("cusparseDcsrilu02_analysis", *common, 1, NULL) == 0
    assert device.call("cusparseDcsrilu02", *common, 1, NULL) == 0
    pattern = matrix != 0
    factors = np.zeros((8, 8))
    factors[pattern] = found
    product = (np.tril(factors, -1) + np.eye(8)) @ np.triu(factors)
    np.testing.assert_allclose(product[pattern], matrix[pattern], rtol=1e-12, atol=1e-12)
    place, pivot = device.place(np.int32)
    assert device.call("cusparseXcsrilu02_zeroPivot", handle, plan, place) == 0 and pivot[0] == -1
    found[0] = 0  # (0, 0) comes first
    assert device.call("cusparseDcsrilu02", *common, 1, NULL) == 0
    assert device.call("cusparseXcsrilu02_zeroPivot", handle, plan, place) == 9 and pivot[0] == 0


@pytest.mark.parametrize("form", ["Csr", "Csc", "Coo"])
@pytest.mark.parametrize("order", [1, 2])
def test_between_sparse_and_dense(device: Device, form: str, order: int) -> None:
    handle = device.create("cusparseCreate")
    matrix = scattered(1, np.float32, 5, 6)
    a, _ = put_sparse(device, matrix, form, base=1)
    b, shown = put_dense(device, np.full((5, 6), np.nan, np.float32), order)
    assert device.call("cusparseSparseToDense", handle, a, b, 0, NULL) == 0
    np.testing.assert_array_equal(shown, matrix)
    count = np.count_nonzero(matrix)
    lines = {"Csr": 6, "Csc": 7, "Coo": count}[form]
    first, second = device.put(np.zeros(lines), np.int32), device.put(np.zeros(count), np.int32)
    values = device.put(np.zeros(count), np.float32)
    kinds = (I32,) if form == "Coo" else (I32, I32)
    target = device.create(f"cusparseCreate{form}", 5, 6, 0, first[0], NULL, NULL, *kinds, 0, 0)
    assert device.call(f"cusparse{form}SetPointers", target, first[0], second[0], values[0]) == 0
    assert device.call("cusparseDenseToSparse_analysis", handle, b, target, 0, NULL) == 0
    assert device.call("cusparseDenseToSparse_convert", handle, b, target, 0, NULL) == 0
    wanted: Any = sparse.coo_array(matrix).asformat(form.lower())
    made = {
        "Csr": lambda: sparse.csr_array((values[1], second[1], first[1]), (5, 6)),
        "Csc": lambda: sparse.csc_array((values[1], second[1], first[1]), (5, 6)),
        "Coo": lambda: sparse.coo_array((values[1], (first[1], second[1])), (5, 6)),
    }
    found: Any = made[form]()
    np.testing.assert_array_equal(found.todense(), wanted.todense())


def test_between_formats(device: Device) -> None:
    handle = device.create("cusparseCreate")
    matrix = scattered(1, np.float64, 5, 6)
    rows: Any = sparse.csr_array(matrix)
    columns: Any = sparse.csc_array(matrix)
    count = rows.nnz
    offsets, indices = (device.put(each, np.int32)[0] for each in (rows.indptr, rows.indices))
    values = device.put(rows.data)[0]
    target = [device.put(np.zeros(length), kind) for length, kind in ((count, float), (7, np.int32), (count, np.int32))]
    pointers = [pointer for pointer, _ in target]
    arguments = (handle, 5, 6, count, values, offsets, indices, *pointers, 1, 1, 0, 1, NULL)
    assert device.call("cusparseCsr2cscEx2", *arguments) == 0
    for (_, found), expected in zip(target, (columns.data, columns.indptr, columns.indices), strict=True):
        np.testing.assert_array_equal(found, expected)
    lines, found = device.put(np.zeros(count), np.int32)
    assert device.call("cusparseXcsr2coo", handle, offsets, count, 5, lines, 0) == 0
    np.testing.assert_array_equal(found, rows.tocoo().row)
    begins, found = device.put(np.zeros(6), np.int32)
    assert device.call("cusparseXcoo2csr", handle, lines, count, 5, begins, 0) == 0
    np.testing.assert_array_equal(found, rows.indptr)
    # Sorting within rows takes the permutation along.
    shuffled = np.concatenate([row[::-1] for row in np.split(rows.indices, rows.indptr[1:-1])])
    places, memory = device.put(shuffled, np.int32)
    permutation, order = device.put(np.zeros(count), np.int32)
    assert device.call("cusparseCreateIdentityPermutation", handle, count, permutation) == 0
    description = device.create("cusparseCreateMatDescr")
    arguments = (handle, 5, 6, count, description, offsets, places, permutation, NULL)
    assert device.call("cusparseXcsrsort", *arguments) == 0
    np.testing.assert_array_equal(memory, rows.indices)
    np.testing.assert_array_equal(shuffled[order], rows.indices)
    counts, found = device.put(np.zeros(6), np.int32)
    total, number = device.place(np.int32)
    dense = device.put(matrix)[0]
    for direction, axis in ((0, 1), (1, 0)):
        assert device.call("cusparseDnnz", handle, direction, 5, 6, description, dense, 5, counts, total) == 0
        wanted = np.count_nonzero(matrix, axis=axis)
        np.testing.assert_array_equal(found[: len(wanted)], wanted)
        assert number[0] == count


def test_sparse_vectors(device: Device) -> None:
    handle = device.create("cusparseCreate")
    x, y = random(1, np.float64, 3), random(2, np.float64, 6)
    places = np.array([4, 0, 3])
    indices = device.put(places + 1, np.int32)[0]
    values, memory = device.put(x)
    sparse_x = device.create("cusparseCreateSpVec", 6, 3, indices, values, I32, 1, 1)
    dense_y, found = put_vector(device, y)
    alpha, beta = device.number(2, np.float64), device.number(3, np.float64)
    assert device.call("cusparseAxpby", handle, alpha, sparse_x, beta, dense_y) == 0
    expected = 3 * y
    expected[places] += 2 * x
    np.testing.assert_allclose(found, expected, rtol=1e-14)
    result, number = device.place(np.float64)
    assert device.call("cusparseSpVV", handle, 0, sparse_x, dense_y, result, 1, NULL) == 0
    np.testing.assert_allclose(number[0], x @ expected[places], rtol=1e-13)
    assert device.call("cusparseGather", handle, dense_y, sparse_x) == 0
    np.testing.assert_array_equal(memory, found[places])
    found[:] = 0
    assert device.call("cusparseScatter", handle, sparse_x, dense_y) == 0
    np.testing.assert_array_equal(found[places], memory)
    assert np.count_nonzero(found) == 3


def test_places_outside_the_matrix_are_an_error(device: Device, capfd: pytest.CaptureFixture[str]) -> None:
    handle = device.create("cusparseCreate")
    offsets, indices = device.put([0, 1, 2], np.int32), device.put([0, 5], np.int32)
    values = device.put([1.0, 2.0])[0]
    a = device.create("cusparseCreateCsr", 2, 2, 2, offsets[0], indices[0], values, I32, I32, 0, 1)
    x, y = (put_vector(device, np.zeros(2))[0] for _ in range(2))
    one = device.number(1, np.float64)
    assert device.call("cusparseSpMV", handle, 0, one, a, x, one, y, 1, 0, NULL) == 6
    assert "'columns' are not all within 0 to 1" in capfd.readouterr().err
    indices[1][:], offsets[1][2] = 0, 1
    assert device.call("cusparseSpMV", handle, 0, one, a, x, one, y, 1, 0, NULL) == 3
    assert device.call("cusparseGetErrorString", 3, returns="s") == "invalid value"
