"""cuBLAS's products of matrices (BLAS level 3, batches, extensions), as contractions.

A matrix by columns is, to a tensor program, its transpose by rows. All programs here are written for matrices as they
are stored: C^T = op(B)^T op(A)^T.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import ml_dtypes
import numpy as np
from jax import lax

from windlass.hosting.libraries.cublas.state import DiagonalType, Fill, Handle, Operation, cublas
from windlass.hosting.libraries.memory import Array
from windlass.hosting.libraries.routines import Address, Columns, Factor, Group
from windlass.hosting.libraries.session import Call
from windlass.hosting.libraries.tensor_programs import is_zero, tensor_program

CUDA_DTYPES = {
    0: np.dtype(np.float32),
    1: np.dtype(np.float64),
    2: np.dtype(np.float16),
    3: np.dtype(np.int8),
    4: np.dtype(np.complex64),
    5: np.dtype(np.complex128),
    8: np.dtype(np.uint8),
    10: np.dtype(np.int32),
    12: np.dtype(np.uint32),
    14: np.dtype(ml_dtypes.bfloat16),
    24: np.dtype(np.int64),
    28: np.dtype(ml_dtypes.float8_e4m3fn),
    29: np.dtype(ml_dtypes.float8_e5m2),
}
"""cudaDataType_t, as far as there is a dtype."""
COMPUTE_TYPES = {
    64: (np.float32, np.float16),
    65: (np.float32, np.float16),
    68: (np.float32, np.float32),
    69: (np.float32, np.float32),
    74: (np.float32, np.float32),
    75: (np.float32, np.float32),
    77: (np.float32, np.float32),
    70: (np.float64, np.float64),
    71: (np.float64, np.float64),
    72: (np.int32, np.int32),
    73: (np.int32, np.int32),
}
"""cublasComputeType_t: what is computed in, which is at least as precise as asked for, and the dtype of factors."""

COMPUTE_32F = 68


# -- as tensor programs -----------------------------------------------------------------------------------------------


def transposed(stored: Any, operation: Operation) -> Any:
    """op(A)^T for a matrix that is given as it is stored, A^T."""
    if operation == Operation.N:
        return stored
    swapped = jnp.swapaxes(stored, -1, -2)
    return jnp.conj(swapped) if operation == Operation.C else swapped


def contract(left: Any, right: Any) -> Any:
    """The product of matrices, or of batches of them, with no less than the precision of its operands."""
    return jnp.matmul(left, right, precision=lax.Precision.HIGHEST)


@tensor_program("operation_a", "operation_b", "compute")
def multiply(
    alpha: Any, a: Any, b: Any, beta: Any, c: Any, operation_a: Operation, operation_b: Operation, compute: Any
) -> Any:
    """alpha op(A) op(B) + beta C as stored; without a product where `a` is None, without C where `c` is None."""
    result: Any = 0
    if a is not None:
        product = contract(
            transposed(b.astype(compute), operation_b),
            transposed(a.astype(compute), operation_a),
        )
        result = alpha.astype(compute) * product
    return result if c is None else result + beta.astype(compute) * c.astype(compute)


@tensor_program("fill", "is_hermitian", "is_left")
def multiply_symmetric(
    alpha: Any, a: Any, b: Any, beta: Any, c: Any, fill: Fill, is_hermitian: bool, is_left: bool
) -> Any:
    """alpha A B + beta C or alpha B A + beta C; of A one triangle is read."""
    whole = mirror(a, fill, is_hermitian)
    result = alpha * (contract(whole, b) if is_left else contract(b, whole))
    return result if c is None else result + beta * c


def mirror(a: Any, fill: Fill, is_hermitian: bool) -> Any:
    """The whole matrix, of which one triangle is given."""
    part = jnp.tril(a, -1) if fill == Fill.LOWER else jnp.triu(a, 1)
    diagonal = jnp.diagonal(a, axis1=-2, axis2=-1)
    if is_hermitian:
        diagonal = jnp.real(diagonal).astype(a.dtype)
    other = jnp.swapaxes(part, -1, -2)
    return (
        part + (jnp.conj(other) if is_hermitian else other) + diagonal[..., None] * jnp.eye(a.shape[-1], dtype=a.dtype)
    )


@tensor_program("is_transposed", "is_hermitian", "has_other", "is_twice")
def multiply_by_own(
    alpha: Any,
    a: Any,
    b: Any,
    beta: Any,
    c: Any,
    is_transposed: bool,
    is_hermitian: bool,
    has_other: bool,
    is_twice: bool,
) -> Any:
    """alpha A B^T + beta C (plus alpha B A^T where `is_twice`), or of the transposed; for Hermitian with conjugates."""

    def adjoint(x: Any) -> Any:
        return jnp.conj(x.T) if is_hermitian else x.T

    other = b if has_other else a
    if is_transposed:
        result = alpha * contract(adjoint(a), other)
        if is_twice:
            result += (jnp.conj(alpha) if is_hermitian else alpha) * contract(adjoint(other), a)
    else:
        result = alpha * contract(a, adjoint(other))
        if is_twice:
            result += (jnp.conj(alpha) if is_hermitian else alpha) * contract(other, adjoint(a))
    return result if c is None else result + beta * c


@tensor_program("fill", "operation", "diagonal", "is_left")
def multiply_triangular(
    alpha: Any, a: Any, b: Any, fill: Fill, operation: Operation, diagonal: DiagonalType, is_left: bool
) -> Any:
    """alpha op(A) B or alpha B op(A) for a triangular A."""
    triangle = apply(operation, triangular(a, fill, diagonal))
    return alpha * (contract(triangle, b) if is_left else contract(b, triangle))


@tensor_program("fill", "operation", "diagonal", "is_left")
def solve(alpha: Any, a: Any, b: Any, fill: Fill, operation: Operation, diagonal: DiagonalType, is_left: bool) -> Any:
    """X for op(A) X = alpha B or X op(A) = alpha B, with a triangular A; for batches too."""
    return lax.linalg.triangular_solve(
        a,
        alpha * b,
        left_side=is_left,
        lower=fill == Fill.LOWER,
        transpose_a=operation != Operation.N,
        conjugate_a=operation == Operation.C,
        unit_diagonal=diagonal == DiagonalType.UNIT,
    )


@tensor_program("operation_a", "operation_b")
def add(alpha: Any, a: Any, beta: Any, b: Any, operation_a: Operation, operation_b: Operation) -> Any:
    """alpha op(A) + beta op(B), where each may be missing."""
    parts = [
        factor * apply(operation, x)
        for factor, x, operation in ((alpha, a, operation_a), (beta, b, operation_b))
        if x is not None
    ]
    return sum(parts[1:], parts[0])


def swap(x: Any) -> Any:
    """The transposed matrix, or matrices."""
    return jnp.swapaxes(x, -1, -2)


def apply(operation: Operation, x: Any) -> Any:
    """op(A)."""
    if operation == Operation.N:
        return x
    return jnp.conj(swap(x)) if operation == Operation.C else swap(x)


def triangular(a: Any, fill: Fill, diagonal: DiagonalType) -> Any:
    """The triangle of a matrix, with zeros elsewhere."""
    part = jnp.tril(a) if fill == Fill.LOWER else jnp.triu(a)
    if diagonal == DiagonalType.UNIT:
        eye = jnp.eye(a.shape[-1], dtype=a.dtype)
        part = jnp.where(eye != 0, eye, part)
    return part


# -- gemm -------------------------------------------------------------------------------------------------------------


def extents(operation: Operation, rows: int, columns: int) -> tuple[int, int]:
    """Rows and columns of the stored matrix of which op gives so many."""
    return (rows, columns) if operation == Operation.N else (columns, rows)


def put_product(
    c: Array, a: Array, b: Array, alpha: Any, beta: Any, operation_a: Operation, operation_b: Operation, compute: Any
) -> None:
    """C = alpha op(A) op(B) + beta C, as BLAS has it: a factor of zero means that its matrices are not looked at."""
    if c.size == 0:
        return
    inner = a.shape[-1] if operation_a == Operation.N else a.shape[-2]
    has_product, has_addend = not is_zero(alpha) and inner > 0, not is_zero(beta)
    if not has_product and not has_addend:
        c[...] = 0
        return
    stored = [np.swapaxes(each, -1, -2) for each in (a, b, c)]
    result = multiply(
        alpha,
        stored[0] if has_product else None,
        stored[1] if has_product else None,
        beta,
        stored[2] if has_addend else None,
        operation_a=operation_a,
        operation_b=operation_b,
        compute=compute,
    )
    stored[2][...] = round_to(result, c.dtype)


def round_to(result: Array, dtype: np.dtype[Any]) -> Array:
    """The result in the dtype of the matrix: integers saturate, floats round to nearest."""
    if result.dtype == dtype:
        return result
    if dtype.kind == "i" and result.dtype.kind == "f":
        limits = np.iinfo(dtype)
        return np.clip(np.rint(result), limits.min, limits.max).astype(dtype)
    if dtype.kind == "i" and result.dtype.kind == "i":
        limits = np.iinfo(dtype)
        return np.clip(result, limits.min, limits.max).astype(dtype)
    with np.errstate(over="ignore"):
        return result.astype(dtype)


def compute_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """What a product of such matrices is computed in."""
    return np.dtype(np.float32) if dtype == np.float16 else dtype


def require_sizes(call: Call, **sizes: int) -> None:
    """Raises LibraryError where a size is negative."""
    for name, size in sizes.items():
        call.require(size >= 0, f"'{name}' is {size}")


@dataclass(frozen=True)
class ProductShape(Group):
    """What is multiplied: op(A), with m rows, by op(B), with n columns; the sums have k terms."""

    transa: Operation
    transb: Operation
    m: int
    n: int
    k: int

    @property
    def a(self) -> tuple[int, int]:
        """Rows and columns of A."""
        return extents(self.transa, self.m, self.k)

    @property
    def b(self) -> tuple[int, int]:
        """Rows and columns of B."""
        return extents(self.transb, self.k, self.n)

    @property
    def c(self) -> tuple[int, int]:
        """Rows and columns of C."""
        return self.m, self.n

    def check(self, call: Call, count: int = 1) -> None:
        """Raises LibraryError where a size is negative."""
        require_sizes(call, m=self.m, n=self.n, k=self.k, batchCount=count)


@dataclass(frozen=True)
class SpacedColumns(Columns):
    """Matrices by columns: also how many elements they are apart."""

    stride: int


@dataclass(frozen=True)
class TypedColumns(Group):
    """A matrix by columns, with the cudaDataType_t of its elements."""

    address: Address
    kind: int
    leading: int

    @property
    def columns(self) -> Columns:
        """The same without the type."""
        return Columns(self.address, self.leading)


@dataclass(frozen=True)
class SpacedTypedColumns(TypedColumns):
    """Matrices by columns, with the type of their elements, and how many they are apart."""

    stride: int


@cublas.routine("cublas{}gemm", "SDCZH", legacy=True)
@cublas.routine("cublas{}gemm3m", "CZ")
def gemm(
    call: Call, handle: Handle, shape: ProductShape, alpha: Factor, a: Columns, b: Columns, beta: Factor, c: Columns
) -> None:
    shape.check(call)
    put_product(
        call.matrix("C", c, *shape.c),
        call.matrix("A", a, *shape.a),
        call.matrix("B", b, *shape.b),
        call.scalar(alpha),
        call.scalar(beta),
        shape.transa,
        shape.transb,
        compute_dtype(call.dtype),
    )


@cublas.routine("cublas{}gemmStridedBatched", "SDCZH")
def gemm_strided(
    call: Call,
    handle: Handle,
    shape: ProductShape,
    alpha: Factor,
    a: SpacedColumns,
    b: SpacedColumns,
    beta: Factor,
    c: SpacedColumns,
    count: int,
) -> None:
    shape.check(call, count)
    put_product(
        call.matrices("C", c, count, c.stride, *shape.c),
        call.matrices("A", a, count, a.stride, *shape.a),
        call.matrices("B", b, count, b.stride, *shape.b),
        call.scalar(alpha),
        call.scalar(beta),
        shape.transa,
        shape.transb,
        compute_dtype(call.dtype),
    )


def put_products(
    call: Call,
    shape: ProductShape,
    factors: tuple[Any, Any],
    places: Sequence[Columns],
    count: int,
    dtypes: Sequence[np.dtype[Any]],
    compute: Any,
) -> None:
    """Products of matrices A, B and C whose addresses lie in device memory."""
    shape.check(call, count)
    all_a, all_b, all_c = (
        call.pointed_matrices(name, place, count, *sizes, dtype)
        for name, place, sizes, dtype in zip("ABC", places, (shape.a, shape.b, shape.c), dtypes, strict=True)
    )
    result = all_c.stacked()
    put_product(result, all_a.stacked(), all_b.stacked(), *factors, shape.transa, shape.transb, compute)
    all_c.put(result)


@cublas.routine("cublas{}gemmBatched", "SDCZH")
def gemm_batched(
    call: Call,
    handle: Handle,
    shape: ProductShape,
    alpha: Factor,
    a: Columns,
    b: Columns,
    beta: Factor,
    c: Columns,
    count: int,
) -> None:
    factors = call.scalar(alpha), call.scalar(beta)
    put_products(call, shape, factors, (a, b, c), count, [call.dtype] * 3, compute_dtype(call.dtype))


def dtype_of(call: Call, number: int) -> np.dtype[Any]:
    """The dtype that a cudaDataType_t names.

    Raises LibraryError where NumPy has none for it.
    """
    if number not in CUDA_DTYPES:
        raise call.refuse(f"elements of cudaDataType {number} are not supported")
    return CUDA_DTYPES[number]


def precision(call: Call, kind: int, dtype: np.dtype[Any]) -> tuple[np.dtype[Any], np.dtype[Any]]:
    """What is computed in, and the dtype of factors, for a cublasComputeType_t and matrices of a dtype."""
    if kind not in COMPUTE_TYPES:
        raise call.refuse(f"{kind} is no cublasComputeType_t that is supported")
    compute, factor = (np.dtype(each) for each in COMPUTE_TYPES[kind])
    if dtype.kind == "c":
        complex_dtype = np.dtype(np.complex128 if compute == np.float64 else np.complex64)
        return complex_dtype, complex_dtype
    return compute, factor


def put_mixed_product(
    call: Call,
    shape: ProductShape,
    alpha: Factor,
    beta: Factor,
    places: Sequence[TypedColumns],
    compute_type: int,
    strides: Sequence[int] = (0, 0, 0),
    count: int = 1,
) -> None:
    """Products of matrices A, B and C, each with elements of a type of its own."""
    shape.check(call, count)
    dtypes = [dtype_of(call, each.kind) for each in places]
    compute, factor = precision(call, compute_type, dtypes[0])
    a, b, c = (
        call.matrices(name, place.columns, count, stride, *sizes, dtype)
        for name, place, stride, sizes, dtype in zip(
            "ABC", places, strides, (shape.a, shape.b, shape.c), dtypes, strict=True
        )
    )
    put_product(c, a, b, call.scalar(alpha, factor), call.scalar(beta, factor), shape.transa, shape.transb, compute)


@cublas.routine("cublasGemmEx")
def gemm_mixed(
    call: Call,
    handle: Handle,
    shape: ProductShape,
    alpha: Factor,
    a: TypedColumns,
    b: TypedColumns,
    beta: Factor,
    c: TypedColumns,
    compute_type: int,
    algorithm: int,
) -> None:
    put_mixed_product(call, shape, alpha, beta, (a, b, c), compute_type)


@cublas.routine("cublas{}gemmEx", "SC")
def gemm_single_mixed(
    call: Call,
    handle: Handle,
    shape: ProductShape,
    alpha: Factor,
    a: TypedColumns,
    b: TypedColumns,
    beta: Factor,
    c: TypedColumns,
) -> None:
    put_mixed_product(call, shape, alpha, beta, (a, b, c), COMPUTE_32F)


@cublas.routine("cublasGemmStridedBatchedEx")
def gemm_strided_mixed(
    call: Call,
    handle: Handle,
    shape: ProductShape,
    alpha: Factor,
    a: SpacedTypedColumns,
    b: SpacedTypedColumns,
    beta: Factor,
    c: SpacedTypedColumns,
    count: int,
    compute_type: int,
    algorithm: int,
) -> None:
    strides = a.stride, b.stride, c.stride
    put_mixed_product(call, shape, alpha, beta, (a, b, c), compute_type, strides, count)


@cublas.routine("cublasGemmBatchedEx")
def gemm_batched_mixed(
    call: Call,
    handle: Handle,
    shape: ProductShape,
    alpha: Factor,
    a: TypedColumns,
    b: TypedColumns,
    beta: Factor,
    c: TypedColumns,
    count: int,
    compute_type: int,
    algorithm: int,
) -> None:
    places = a, b, c
    dtypes = [dtype_of(call, each.kind) for each in places]
    compute, factor = precision(call, compute_type, dtypes[0])
    factors = call.scalar(alpha, factor), call.scalar(beta, factor)
    put_products(call, shape, factors, [each.columns for each in places], count, dtypes, compute)
