"""cuSPARSE's handles, and its descriptors of vectors and matrices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np

from windlass.frontends.arrays import Array as Traced
from windlass.hosting.libraries.cublas.level3 import dtype_of
from windlass.hosting.libraries.memory import Array
from windlass.hosting.libraries.routines import Address, Failure, Group, Library, LibraryError, Option, Result
from windlass.hosting.libraries.session import Call, Stateful
from windlass.hosting.libraries.tensor_programs import tensor_program, where_known

STATUS_TEXTS = {
    0: ("CUSPARSE_STATUS_SUCCESS", "success"),
    1: ("CUSPARSE_STATUS_NOT_INITIALIZED", "initialization error"),
    2: ("CUSPARSE_STATUS_ALLOC_FAILED", "out of memory"),
    3: ("CUSPARSE_STATUS_INVALID_VALUE", "invalid value"),
    4: ("CUSPARSE_STATUS_ARCH_MISMATCH", "architecture mismatch"),
    5: ("CUSPARSE_STATUS_MAPPING_ERROR", "access to memory failed"),
    6: ("CUSPARSE_STATUS_EXECUTION_FAILED", "kernel launch failure"),
    7: ("CUSPARSE_STATUS_INTERNAL_ERROR", "internal error"),
    8: ("CUSPARSE_STATUS_MATRIX_TYPE_NOT_SUPPORTED", "matrix type not supported"),
    9: ("CUSPARSE_STATUS_ZERO_PIVOT", "zero pivot"),
    10: ("CUSPARSE_STATUS_NOT_SUPPORTED", "operation not supported"),
    11: ("CUSPARSE_STATUS_INSUFFICIENT_RESOURCES", "insufficient resources"),
}
cusparse = Library(
    "cuSPARSE",
    {
        Failure.uninitialized: 1,
        Failure.invalid: 3,
        Failure.illegal_access: 6,
        Failure.unsupported: 10,
        Failure.failed: 7,
    },
)
INT = np.dtype(np.int32)
SIZE = np.dtype(np.uint64)
VERSION = (12, 5, 1)
BUFFER_SIZE = 256
"""Nothing needs a buffer; programs allocate what they are told, and some take null for a question."""


class SparseOperation(Option):
    """What is done to a matrix before it is used."""

    NON_TRANSPOSE = 0
    TRANSPOSE = 1
    CONJUGATE_TRANSPOSE = 2


class Order(Option):
    """Whether a dense matrix lies by columns or by rows."""

    COLUMN = 1
    ROW = 2


class SparseHandle(Stateful):
    """What cusparseCreate makes."""

    def __init__(self) -> None:
        self.pointer_mode = 0


class SparseDescription(Stateful):
    """What cusparseCreateMatDescr makes."""

    def __init__(self) -> None:
        self.attributes = {"Type": 0, "IndexBase": 0, "FillMode": 0, "DiagType": 0}


@dataclass
class DenseVector(Stateful):
    """A dense vector."""

    size: int
    values: Address
    dtype: np.dtype[Any]

    def view(self, call: Call, name: str) -> Array:
        """Its elements in device memory."""
        return call.vector(name, self.values, self.size, dtype=self.dtype)


@dataclass
class SparseVector(Stateful):
    """A sparse vector: places and values."""

    size: int
    count: int
    indices: Address
    values: Address
    index_dtype: np.dtype[Any]
    base: int
    dtype: np.dtype[Any]

    def places(self, call: Call) -> Array:
        """The places of its elements, counted from zero."""
        found = call.integers("indices", self.indices, self.count, self.index_dtype) - self.base
        return checked(found, self.size, "indices")

    def view(self, call: Call, name: str) -> Array:
        """The values of its elements."""
        return call.vector(name, self.values, self.count, dtype=self.dtype)


@dataclass
class DenseMatrix(Stateful):
    """A dense matrix, or a batch of them."""

    rows: int
    columns: int
    leading: int
    values: Address
    dtype: np.dtype[Any]
    order: Order
    count: int = 1
    stride: int = 0

    def view(self, call: Call, name: str) -> Array:
        """The matrices in device memory: batch, rows, columns."""
        is_by_rows = self.order == Order.ROW
        call.require(
            self.leading >= (self.columns if is_by_rows else self.rows),
            f"the leading dimension of '{name}' is {self.leading}, and its matrix {self.rows} x {self.columns}",
        )
        steps = (self.leading, 1) if is_by_rows else (1, self.leading)
        return call.view(name, self.values, (self.count, self.rows, self.columns), (self.stride, *steps), self.dtype)


@dataclass
class SparseMatrix(Stateful):
    """A sparse matrix, or a batch of them, in one of three formats.

    `offsets` are where rows (columns) begin in the formats "csr" and "csc"; in "coo" they are the rows of elements.
    """

    format: str
    rows: int
    columns: int
    count: int
    offsets: Address
    indices: Address
    values: Address
    offset_dtype: np.dtype[Any]
    index_dtype: np.dtype[Any]
    base: int
    dtype: np.dtype[Any]
    fill: int = 0
    diagonal: int = 0
    batch: int = 1
    offset_stride: int = 0
    value_stride: int = 0

    @property
    def lines(self) -> int:
        """How many rows (or columns) offsets are kept of."""
        return self.columns if self.format == "csc" else self.rows

    def offsets_view(self, call: Call, place: int = 0) -> Array:
        """The offsets, or rows of elements, in device memory."""
        length = self.count if self.format == "coo" else self.lines + 1
        address = self.offsets + place * self.offset_stride * self.offset_dtype.itemsize
        return call.vector("offsets" if self.format != "coo" else "rows", address, length, dtype=self.offset_dtype)

    def indices_view(self, call: Call, place: int = 0) -> Array:
        """The columns (in "csc": rows) of elements in device memory."""
        address = self.indices + place * self.value_stride * self.index_dtype.itemsize
        return call.vector("indices", address, self.count, dtype=self.index_dtype)

    def values_view(self, call: Call, place: int = 0) -> Array:
        """The values of elements in device memory."""
        address = self.values + place * self.value_stride * self.dtype.itemsize
        return call.vector("values", address, self.count, dtype=self.dtype)

    def places(self, call: Call, place: int = 0) -> tuple[Array, Array]:
        """Row and column of each element, counted from zero."""
        first = where_known(self.offsets_view(call, place)).astype(np.int64) - self.base
        second = where_known(self.indices_view(call, place)).astype(np.int64) - self.base
        if self.format != "coo":
            first = lines_of(first, self.count)
        if self.format == "csc":
            first, second = second, first
        return checked(first, self.rows, "rows"), checked(second, self.columns, "columns")


@tensor_program("count")
def line_of_each(offsets: Any, count: int) -> Any:
    """The line of each element."""
    return jnp.searchsorted(offsets, jnp.arange(count, dtype=offsets.dtype), side="right") - 1


def lines_of(offsets: Array, count: int) -> Array:
    """The line of each element, from where lines begin.

    Raises LibraryError where the offsets don't ascend from zero to the number of elements.
    """
    if isinstance(offsets, Traced):
        # That they ascend can't be seen while the program is compiled.
        return line_of_each(offsets, count=count)
    lengths = np.diff(offsets)
    if offsets[0] != 0 or offsets[-1] != count or (lengths < 0).any():
        raise LibraryError(Failure.invalid, f"the offsets do not ascend from the base to {count} elements")
    return np.repeat(np.arange(len(lengths)), lengths)


@dataclass(frozen=True)
class SquareRows(Group):
    """A square matrix in CSR, as routines take it that know no descriptor of it."""

    m: int
    count: int
    description: SparseDescription
    values: Address
    offsets: Address
    columns: Address

    @property
    def base(self) -> int:
        """The number of the first row and column."""
        return self.description.attributes["IndexBase"]

    def places(self, call: Call) -> tuple[Array, Array]:
        """Rows and columns of the elements, counted from zero."""
        begins = call.integers("csrRowPtr", self.offsets, self.m + 1, INT) - self.base
        columns = call.integers("csrColInd", self.columns, self.count, INT) - self.base
        return lines_of(begins, self.count), columns

    def elements(self, call: Call) -> Array:
        """The elements in device memory."""
        return call.vector("csrVal", self.values, self.count)


def checked(places: Array, limit: int, name: str) -> Array:
    """The places, all of which lie within a limit.

    Raises LibraryError otherwise.
    """
    if isinstance(places, Traced):
        return places
    if len(places) and not (places.min() >= 0 and places.max() < limit):
        raise LibraryError(Failure.illegal_access, f"'{name}' are not all within 0 to {limit - 1}")
    return places


def index_dtype(call: Call, number: int) -> np.dtype[Any]:
    """The dtype of a cusparseIndexType_t."""
    kinds = {1: np.uint16, 2: np.int32, 3: np.int64}
    call.require(number in kinds, f"{number} is no index type")
    return np.dtype(kinds[number])


# -- handles and descriptions -----------------------------------------------------------------------------------------


@cusparse.routine("cusparseCreate")
def create(call: Call, place: Result) -> None:
    call.give(place, SparseHandle())


@cusparse.routine("cusparseDestroy")
def destroy(call: Call, handle: SparseHandle) -> None:
    call.session.drop(handle)


@cusparse.routine("cusparseSetStream")
def set_stream(call: Call, handle: SparseHandle, stream: int) -> None:
    handle.stream = stream


@cusparse.routine("cusparseGetStream")
def get_stream(call: Call, handle: SparseHandle, place: Result) -> None:
    call.put(place, handle.stream, SIZE)


@cusparse.routine("cusparseSetPointerMode")
def set_pointer_mode(call: Call, handle: SparseHandle, mode: int) -> None:
    handle.pointer_mode = mode


@cusparse.routine("cusparseGetPointerMode")
def get_pointer_mode(call: Call, handle: SparseHandle, place: Result) -> None:
    call.put(place, handle.pointer_mode, INT)


@cusparse.routine("cusparseGetVersion")
def get_version(call: Call, handle: SparseHandle, place: Result) -> None:
    call.put(place, VERSION[0] * 1000 + VERSION[1] * 100 + VERSION[2], INT)


@cusparse.routine("cusparseGetErrorName")
def get_error_name(call: Call, status: int) -> str:
    return STATUS_TEXTS.get(status, ("unrecognized error code", ""))[0]


@cusparse.routine("cusparseGetErrorString")
def get_error_string(call: Call, status: int) -> str:
    return STATUS_TEXTS.get(status, ("", "unrecognized error code"))[1]


@cusparse.routine("cusparseCreateMatDescr")
def create_description(call: Call, place: Result) -> None:
    call.give(place, SparseDescription())


@cusparse.routine("cusparseDestroyMatDescr")
def destroy_description(call: Call, description: SparseDescription) -> None:
    call.session.drop(description)


@cusparse.routine("cusparseSetMatType")
@cusparse.routine("cusparseSetMatIndexBase")
@cusparse.routine("cusparseSetMatFillMode")
@cusparse.routine("cusparseSetMatDiagType")
def set_description(call: Call, description: SparseDescription, value: int) -> None:
    description.attributes[call.routine.name.removeprefix("cusparseSetMat")] = value


@cusparse.routine("cusparseGetMatType")
@cusparse.routine("cusparseGetMatIndexBase")
@cusparse.routine("cusparseGetMatFillMode")
@cusparse.routine("cusparseGetMatDiagType")
def get_description(call: Call, description: SparseDescription) -> int:
    return description.attributes[call.routine.name.removeprefix("cusparseGetMat")]


# -- vectors ----------------------------------------------------------------------------------------------------------


@cusparse.routine("cusparseCreateDnVec")
@cusparse.routine("cusparseCreateConstDnVec")
def create_dense_vector(call: Call, place: Result, size: int, values: Address, kind: int) -> None:
    call.require(size >= 0, f"'size' is {size}")
    call.give(place, DenseVector(size, values, dtype_of(call, kind)))


@cusparse.routine("cusparseDestroyDnVec")
def destroy_dense_vector(call: Call, vector: DenseVector) -> None:
    call.session.drop(vector)


@cusparse.routine("cusparseDnVecSetValues")
def set_dense_vector(call: Call, vector: DenseVector, values: int) -> None:
    vector.values = Address(values)


@cusparse.routine("cusparseDnVecGetValues")
def get_dense_vector(call: Call, vector: DenseVector, place: Result) -> None:
    call.put(place, vector.values, SIZE)


@cusparse.routine("cusparseCreateSpVec")
@cusparse.routine("cusparseCreateConstSpVec")
def create_sparse_vector(
    call: Call,
    place: Result,
    size: int,
    count: int,
    indices: Address,
    values: Address,
    kind: int,
    base: int,
    dtype: int,
) -> None:
    call.require(0 <= count <= size, f"{count} elements in a vector of {size}")
    vector = SparseVector(size, count, indices, values, index_dtype(call, kind), base, dtype_of(call, dtype))
    call.give(place, vector)


@cusparse.routine("cusparseDestroySpVec")
def destroy_sparse_vector(call: Call, vector: SparseVector) -> None:
    call.session.drop(vector)


@cusparse.routine("cusparseSpVecSetValues")
def set_sparse_vector(call: Call, vector: SparseVector, values: int) -> None:
    vector.values = Address(values)


# -- matrices ---------------------------------------------------------------------------------------------------------


@cusparse.routine("cusparseCreateCsr")
@cusparse.routine("cusparseCreateConstCsr")
@cusparse.routine("cusparseCreateCsc")
@cusparse.routine("cusparseCreateConstCsc")
def create_compressed(
    call: Call,
    place: Result,
    rows: int,
    columns: int,
    count: int,
    offsets: Address,
    indices: Address,
    values: Address,
    offset_kind: int,
    index_kind: int,
    base: int,
    kind: int,
) -> None:
    call.require(min(rows, columns, count) >= 0, "a size is negative")
    kinds = index_dtype(call, offset_kind), index_dtype(call, index_kind)
    name = call.routine.name[-3:].lower()
    call.give(
        place,
        SparseMatrix(name, rows, columns, count, offsets, indices, values, *kinds, base, dtype_of(call, kind)),
    )


@cusparse.routine("cusparseCreateCoo")
@cusparse.routine("cusparseCreateConstCoo")
def create_coordinates(
    call: Call,
    place: Result,
    rows: int,
    columns: int,
    count: int,
    row_places: Address,
    column_places: Address,
    values: Address,
    index_kind: int,
    base: int,
    kind: int,
) -> None:
    call.require(min(rows, columns, count) >= 0, "a size is negative")
    index = index_dtype(call, index_kind)
    dtype = dtype_of(call, kind)
    matrix = SparseMatrix("coo", rows, columns, count, row_places, column_places, values, index, index, base, dtype)
    call.give(place, matrix)


@cusparse.routine("cusparseDestroySpMat")
def destroy_sparse_matrix(call: Call, matrix: SparseMatrix) -> None:
    call.session.drop(matrix)


@cusparse.routine("cusparseSpMatGetSize")
def get_sparse_size(call: Call, matrix: SparseMatrix, rows: Result, columns: Result, count: Result) -> None:
    for place, value in ((rows, matrix.rows), (columns, matrix.columns), (count, matrix.count)):
        call.put(place, value, np.dtype(np.int64))


@cusparse.routine("cusparseSpMatSetAttribute")
def set_sparse_attribute(call: Call, matrix: SparseMatrix, attribute: int, value: Address, size: int) -> None:
    call.require(attribute in (0, 1), f"{attribute} is no attribute")
    number = int(call.host_array("data", value, 1, np.int32)[0])
    if attribute == 0:
        matrix.fill = number
    else:
        matrix.diagonal = number


@cusparse.routine("cusparseSpMatSetValues")
def set_sparse_values(call: Call, matrix: SparseMatrix, values: int) -> None:
    matrix.values = Address(values)


@cusparse.routine("cusparseSpMatGetValues")
def get_sparse_values(call: Call, matrix: SparseMatrix, place: Result) -> None:
    call.put(place, matrix.values, SIZE)


@cusparse.routine("cusparseCsrSetPointers")
@cusparse.routine("cusparseCscSetPointers")
@cusparse.routine("cusparseCooSetPointers")
def set_pointers(call: Call, matrix: SparseMatrix, offsets: int, indices: int, values: int) -> None:
    matrix.offsets, matrix.indices, matrix.values = Address(offsets), Address(indices), Address(values)


@cusparse.routine("cusparseCsrSetStridedBatch")
def set_compressed_batch(call: Call, matrix: SparseMatrix, count: int, offset_stride: int, value_stride: int) -> None:
    matrix.batch, matrix.offset_stride, matrix.value_stride = count, offset_stride, value_stride


@cusparse.routine("cusparseCooSetStridedBatch")
def set_coordinates_batch(call: Call, matrix: SparseMatrix, count: int, stride: int) -> None:
    matrix.batch, matrix.offset_stride, matrix.value_stride = count, stride, stride


@cusparse.routine("cusparseCreateDnMat")
@cusparse.routine("cusparseCreateConstDnMat")
def create_dense_matrix(
    call: Call, place: Result, rows: int, columns: int, leading: int, values: Address, kind: int, order: Order
) -> None:
    call.require(min(rows, columns) >= 0, "a size is negative")
    call.give(place, DenseMatrix(rows, columns, leading, values, dtype_of(call, kind), order))


@cusparse.routine("cusparseDestroyDnMat")
def destroy_dense_matrix(call: Call, matrix: DenseMatrix) -> None:
    call.session.drop(matrix)


@cusparse.routine("cusparseDnMatSetValues")
def set_dense_values(call: Call, matrix: DenseMatrix, values: int) -> None:
    matrix.values = Address(values)


@cusparse.routine("cusparseDnMatSetStridedBatch")
def set_dense_batch(call: Call, matrix: DenseMatrix, count: int, stride: int) -> None:
    matrix.count, matrix.stride = count, stride
