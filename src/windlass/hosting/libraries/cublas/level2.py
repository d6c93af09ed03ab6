"""cuBLAS's routines on a matrix and vectors (BLAS level 2): full, banded and packed matrices."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from windlass.hosting.libraries.cublas.level3 import apply, contract, mirror, require_sizes, triangular
from windlass.hosting.libraries.cublas.state import DiagonalType, Fill, Handle, Operation, cublas
from windlass.hosting.libraries.cublas.structured import put_triangle, with_real_diagonal
from windlass.hosting.libraries.memory import Array
from windlass.hosting.libraries.routines import Address, Columns, Elements, Factor
from windlass.hosting.libraries.session import Call, real_dtype
from windlass.hosting.libraries.tensor_programs import is_zero, tensor_program


@dataclass(frozen=True)
class MatrixForm:
    """How a matrix is stored, and what is known of it."""

    rows: int
    columns: int
    storage: str = "full"
    """"full"; "band": diagonals in rows; "packed": the columns of a triangle, one after another."""
    below: int = 0
    above: int = 0
    fill: Fill = Fill.FULL
    kind: str = "general"
    """"general", "symmetric", "hermitian" or "triangular"."""
    diagonal: DiagonalType = DiagonalType.NON_UNIT


def packed_places(n: int, fill: Fill) -> tuple[Array, Array]:
    """Row and column of each element of a packed triangle."""
    columns, rows = np.tril_indices(n) if fill == Fill.UPPER else np.triu_indices(n)
    return rows, columns


def dense(stored: Any, form: MatrixForm) -> Any:
    """The whole matrix."""
    if form.storage == "packed":
        rows, columns = packed_places(form.rows, form.fill)
        stored = jnp.zeros((form.rows, form.rows), stored.dtype).at[rows, columns].set(stored)
    elif form.storage == "band":
        i, j = np.indices((form.rows, form.columns))
        place = form.above + i - j
        in_band = (place >= 0) & (place <= form.below + form.above)
        stored = jnp.where(in_band, stored[np.clip(place, 0, form.below + form.above), j], 0)
    if form.kind == "triangular":
        return triangular(stored, form.fill, form.diagonal)
    return stored if form.kind == "general" else mirror(stored, form.fill, form.kind == "hermitian")


@tensor_program("n", "fill")
def unpack(stored: Any, n: int, fill: Fill) -> Any:
    """A packed triangle in a whole matrix, with zeros elsewhere."""
    rows, columns = packed_places(n, fill)
    return jnp.zeros((n, n), stored.dtype).at[rows, columns].set(stored)


@tensor_program("form", "operation")
def multiply_vector(alpha: Any, a: Any, x: Any, beta: Any, y: Any, form: MatrixForm, operation: Operation) -> Any:
    """alpha op(A) x + beta y, without y where there is none."""
    result = alpha * contract(apply(operation, dense(a, form)), x)
    return result if y is None else result + beta * y


@tensor_program("form", "operation")
def solve_vector(a: Any, x: Any, form: MatrixForm, operation: Operation) -> Any:
    """The solution of op(A) z = x for a triangular A."""
    return lax.linalg.triangular_solve(
        dense(a, form),
        x[:, None],
        left_side=True,
        lower=form.fill == Fill.LOWER,
        transpose_a=operation != Operation.N,
        conjugate_a=operation == Operation.C,
        unit_diagonal=form.diagonal == DiagonalType.UNIT,
    )[:, 0]


@tensor_program("is_conjugate")
def add_outer(alpha: Any, x: Any, y: Any, a: Any, is_conjugate: bool) -> Any:
    """A + alpha x y^T, or with conj(y)."""
    return a + alpha * jnp.outer(x, jnp.conj(y) if is_conjugate else y)


@tensor_program("is_conjugate")
def add_outer_twice(alpha: Any, x: Any, y: Any, a: Any, is_conjugate: bool) -> Any:
    """A + alpha x y^T + alpha y x^T, or with conjugates."""
    if is_conjugate:
        return a + alpha * jnp.outer(x, jnp.conj(y)) + jnp.conj(alpha) * jnp.outer(y, jnp.conj(x))
    return a + alpha * (jnp.outer(x, y) + jnp.outer(y, x))


def view_matrix(call: Call, place: Columns, form: MatrixForm) -> Array:
    """The matrix as it is stored."""
    if form.storage == "packed":
        return call.vector("AP", place.address, form.rows * (form.rows + 1) // 2)
    rows = form.below + form.above + 1 if form.storage == "band" else form.rows
    return call.matrix("A", place, rows, form.columns)


def put_vector_product(
    call: Call,
    form: MatrixForm,
    operation: Operation,
    alpha: Factor,
    a: Columns,
    x: Elements,
    beta: Factor,
    y: Elements,
) -> None:
    """y = alpha op(A) x + beta y."""
    require_sizes(call, m=form.rows, n=form.columns)
    call.require(x.step != 0 and y.step != 0, "a step between elements is zero")
    is_plain = operation == Operation.N
    length, inner = (form.rows, form.columns) if is_plain else (form.columns, form.rows)
    if length == 0 or inner == 0:
        # As in BLAS, where a matrix without elements leaves y alone.
        return
    factors = call.scalar(alpha), call.scalar(beta)
    target = call.vector("y", y.address, length, y.step)
    if is_zero(factors[0]):
        target[...] = 0 if is_zero(factors[1]) else factors[1] * target
        return
    target[...] = multiply_vector(
        factors[0],
        view_matrix(call, a, form),
        call.vector("x", x.address, inner, x.step),
        factors[1],
        None if is_zero(factors[1]) else target,
        form=form,
        operation=operation,
    )


@cublas.routine("cublas{}gemv", "SDCZ", legacy=True)
def gemv(
    call: Call,
    handle: Handle,
    trans: Operation,
    m: int,
    n: int,
    alpha: Factor,
    a: Columns,
    x: Elements,
    beta: Factor,
    y: Elements,
) -> None:
    put_vector_product(call, MatrixForm(m, n), trans, alpha, a, x, beta, y)


@cublas.routine("cublas{}gbmv", "SDCZ", legacy=True)
def gbmv(
    call: Call,
    handle: Handle,
    trans: Operation,
    m: int,
    n: int,
    kl: int,
    ku: int,
    alpha: Factor,
    a: Columns,
    x: Elements,
    beta: Factor,
    y: Elements,
) -> None:
    require_sizes(call, kl=kl, ku=ku)
    form = MatrixForm(m, n, "band", kl, ku)
    put_vector_product(call, form, trans, alpha, a, x, beta, y)


def symmetric(call: Call, n: int, fill: Fill, storage: str = "full", width: int = 0) -> MatrixForm:
    """The form of a symmetric matrix, or of a Hermitian one where the routine's name says so."""
    kind = "hermitian" if "h" in call.routine.name[len("cublasX") :][:1] else "symmetric"
    return band(MatrixForm(n, n, storage, fill=fill, kind=kind), width)


def band(form: MatrixForm, width: int) -> MatrixForm:
    """The form with diagonals on the side that is stored."""
    return replace(form, below=width) if form.fill == Fill.LOWER else replace(form, above=width)


@cublas.routine("cublas{}symv", "SDCZ", legacy=True)
@cublas.routine("cublas{}hemv", "CZ", legacy=True)
def symv(
    call: Call, handle: Handle, uplo: Fill, n: int, alpha: Factor, a: Columns, x: Elements, beta: Factor, y: Elements
) -> None:
    form = symmetric(call, n, uplo)
    put_vector_product(call, form, Operation.N, alpha, a, x, beta, y)


@cublas.routine("cublas{}sbmv", "SD", legacy=True)
@cublas.routine("cublas{}hbmv", "CZ", legacy=True)
def sbmv(
    call: Call,
    handle: Handle,
    uplo: Fill,
    n: int,
    k: int,
    alpha: Factor,
    a: Columns,
    x: Elements,
    beta: Factor,
    y: Elements,
) -> None:
    require_sizes(call, k=k)
    form = symmetric(call, n, uplo, "band", k)
    put_vector_product(call, form, Operation.N, alpha, a, x, beta, y)


@cublas.routine("cublas{}spmv", "SD", legacy=True)
@cublas.routine("cublas{}hpmv", "CZ", legacy=True)
def spmv(
    call: Call, handle: Handle, uplo: Fill, n: int, alpha: Factor, a: Address, x: Elements, beta: Factor, y: Elements
) -> None:
    form = symmetric(call, n, uplo, "packed")
    put_vector_product(call, form, Operation.N, alpha, Columns(a, 1), x, beta, y)


def put_triangular(call: Call, form: MatrixForm, operation: Operation, a: Columns, x: Elements) -> None:
    """x = op(A) x, or the solution of op(A) z = x, as the routine's name says, for a triangular A."""
    require_sizes(call, n=form.rows, k=form.below + form.above)
    call.require(x.step != 0, "a step between elements is zero")
    if form.rows == 0:
        return
    matrix, vector = view_matrix(call, a, form), call.vector("x", x.address, form.rows, x.step)
    if "sv" in call.routine.name:
        vector[...] = solve_vector(matrix, vector, form=form, operation=operation)
    else:
        one = call.dtype.type(1)
        vector[...] = multiply_vector(one, matrix, vector, one, None, form=form, operation=operation)


@cublas.routine("cublas{}trmv", "SDCZ", legacy=True)
@cublas.routine("cublas{}trsv", "SDCZ", legacy=True)
def trmv(
    call: Call, handle: Handle, uplo: Fill, trans: Operation, diag: DiagonalType, n: int, a: Columns, x: Elements
) -> None:
    put_triangular(call, MatrixForm(n, n, fill=uplo, kind="triangular", diagonal=diag), trans, a, x)


@cublas.routine("cublas{}tbmv", "SDCZ", legacy=True)
@cublas.routine("cublas{}tbsv", "SDCZ", legacy=True)
def tbmv(
    call: Call,
    handle: Handle,
    uplo: Fill,
    trans: Operation,
    diag: DiagonalType,
    n: int,
    k: int,
    a: Columns,
    x: Elements,
) -> None:
    form = band(MatrixForm(n, n, "band", fill=uplo, kind="triangular", diagonal=diag), k)
    put_triangular(call, form, trans, a, x)


@cublas.routine("cublas{}tpmv", "SDCZ", legacy=True)
@cublas.routine("cublas{}tpsv", "SDCZ", legacy=True)
def tpmv(
    call: Call, handle: Handle, uplo: Fill, trans: Operation, diag: DiagonalType, n: int, a: Address, x: Elements
) -> None:
    form = MatrixForm(n, n, "packed", fill=uplo, kind="triangular", diagonal=diag)
    put_triangular(call, form, trans, Columns(a, 1), x)


@cublas.routine("cublas{}ger", "SD", legacy=True)
@cublas.routine("cublas{}geru", "CZ", legacy=True)
@cublas.routine("cublas{}gerc", "CZ", legacy=True)
def ger(call: Call, handle: Handle, m: int, n: int, alpha: Factor, x: Elements, y: Elements, a: Columns) -> None:
    require_sizes(call, m=m, n=n)
    factor = call.scalar(alpha)
    matrix = call.matrix("A", a, m, n)
    if matrix.size and not is_zero(factor):
        vectors = call.vector("x", x.address, m, x.step), call.vector("y", y.address, n, y.step)
        matrix[...] = add_outer(factor, *vectors, matrix, is_conjugate=call.routine.name.endswith("c"))


def put_update(
    call: Call, n: int, uplo: Fill, factor: Any, vectors: tuple[Array, Array], a: Columns, is_packed: bool = False
) -> None:
    """Add the outer product of x with itself, or the two of x and y, to a triangle."""
    is_conjugate = "her" in call.routine.name or "hpr" in call.routine.name
    if n == 0 or is_zero(factor):
        return
    form = MatrixForm(n, n, "packed" if is_packed else "full")
    stored = view_matrix(call, a, form)
    rows, columns = packed_places(n, uplo)
    whole = unpack(stored, n=n, fill=uplo) if is_packed else stored
    is_twice = "2" in call.routine.name
    result = (add_outer_twice if is_twice else add_outer)(factor, *vectors, whole, is_conjugate=is_conjugate)
    if not is_packed:
        put_triangle(stored, result, uplo, is_conjugate)
        return
    if is_conjugate:
        result = with_real_diagonal(result)
    stored[...] = result[rows, columns]


@cublas.routine("cublas{}syr", "SDCZ", legacy=True)
@cublas.routine("cublas{}her", "C", legacy=True)
@cublas.routine("cublas{}her", "Z")
def syr(call: Call, handle: Handle, uplo: Fill, n: int, alpha: Factor, x: Elements, a: Columns) -> None:
    require_sizes(call, n=n)
    kind = real_dtype(call.dtype) if call.routine.name.endswith("her") else call.dtype
    vector = call.vector("x", x.address, n, x.step)
    call.matrix("A", a, n, n)
    put_update(call, n, uplo, call.scalar(alpha, kind), (vector, vector), a)


@cublas.routine("cublas{}spr", "SD", legacy=True)
@cublas.routine("cublas{}hpr", "C", legacy=True)
@cublas.routine("cublas{}hpr", "Z")
def spr(call: Call, handle: Handle, uplo: Fill, n: int, alpha: Factor, x: Elements, a: Address) -> None:
    require_sizes(call, n=n)
    vector = call.vector("x", x.address, n, x.step)
    put_update(
        call, n, uplo, call.scalar(alpha, real_dtype(call.dtype)), (vector, vector), Columns(a, 1), is_packed=True
    )


@cublas.routine("cublas{}syr2", "SDCZ", legacy=True)
@cublas.routine("cublas{}her2", "CZ", legacy=True)
def syr2(call: Call, handle: Handle, uplo: Fill, n: int, alpha: Factor, x: Elements, y: Elements, a: Columns) -> None:
    require_sizes(call, n=n)
    vectors = call.vector("x", x.address, n, x.step), call.vector("y", y.address, n, y.step)
    put_update(call, n, uplo, call.scalar(alpha), vectors, a)


@cublas.routine("cublas{}spr2", "SD", legacy=True)
@cublas.routine("cublas{}hpr2", "CZ", legacy=True)
def spr2(call: Call, handle: Handle, uplo: Fill, n: int, alpha: Factor, x: Elements, y: Elements, a: Address) -> None:
    require_sizes(call, n=n)
    vectors = call.vector("x", x.address, n, x.step), call.vector("y", y.address, n, y.step)
    put_update(call, n, uplo, call.scalar(alpha), vectors, Columns(a, 1), is_packed=True)
