"""cuBLAS's products with symmetric, Hermitian and triangular matrices, solutions with triangular ones, and sums.

The tensor programs are those of `level3.py`, for matrices as they are stored.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from windlass.hosting.libraries.cublas.level3 import (
    add,
    extents,
    multiply_by_own,
    multiply_symmetric,
    multiply_triangular,
    require_sizes,
    solve,
)
from windlass.hosting.libraries.cublas.state import DiagonalType, Fill, Handle, Operation, Side, cublas
from windlass.hosting.libraries.memory import Array
from windlass.hosting.libraries.routines import Address, Columns, Factor
from windlass.hosting.libraries.session import Call, read_letter, real_dtype
from windlass.hosting.libraries.tensor_programs import is_zero, tensor_program


def put_triangle(target: Array, result: Array, fill: Fill, has_real_diagonal: bool = False) -> None:
    """Write the elements of one triangle."""
    part = np.tri(len(target), dtype=bool)
    if fill == Fill.UPPER:
        part = part.T
    target[...] = np.where(part, with_real_diagonal(result) if has_real_diagonal else result, target)


def with_real_diagonal(matrix: Any) -> Any:
    """The matrix without the imaginary parts of its diagonal."""
    return np.where(np.eye(len(matrix), dtype=bool), matrix.real, matrix)


@cublas.routine("cublas{}symm", "SDCZ", legacy=True)
@cublas.routine("cublas{}hemm", "CZ", legacy=True)
def symm(
    call: Call,
    handle: Handle,
    side: Side,
    uplo: Fill,
    m: int,
    n: int,
    alpha: Factor,
    a: Columns,
    b: Columns,
    beta: Factor,
    c: Columns,
) -> None:
    require_sizes(call, m=m, n=n)
    order = m if side == Side.LEFT else n
    factors = call.scalar(alpha), call.scalar(beta)
    views = call.matrix("A", a, order, order), call.matrix("B", b, m, n), call.matrix("C", c, m, n)
    if not views[2].size:
        return
    if is_zero(factors[0]):
        views[2][...] = 0 if is_zero(factors[1]) else factors[1] * views[2]
        return
    views[2][...] = multiply_symmetric(
        factors[0],
        views[0],
        views[1],
        factors[1],
        None if is_zero(factors[1]) else views[2],
        fill=uplo,
        is_hermitian="hemm" in call.routine.name,
        is_left=side == Side.LEFT,
    )


def put_own_product(
    call: Call,
    uplo: Fill,
    trans: Operation,
    n: int,
    k: int,
    alpha: Any,
    a: Columns,
    b: Columns | None,
    beta: Any,
    c: Columns,
    is_twice: bool,
) -> None:
    """The products of a matrix with its transposed or adjoint, and their kin, into one triangle of C."""
    require_sizes(call, n=n, k=k)
    is_hermitian = "her" in call.routine.name
    if is_hermitian:
        call.require(trans != Operation.T, "the operation must be N or C")
    view_a = call.matrix("A", a, *extents(trans, n, k))
    view_b = None if b is None else call.matrix("B", b, *extents(trans, n, k))
    view_c = call.matrix("C", c, n, n)
    if n == 0:
        return
    if is_zero(alpha) or k == 0:
        result = np.zeros_like(view_c) if is_zero(beta) else beta * view_c
    else:
        result = multiply_by_own(
            alpha,
            view_a,
            view_b,
            beta,
            None if is_zero(beta) else view_c,
            is_transposed=trans != Operation.N,
            is_hermitian=is_hermitian,
            has_other=b is not None,
            is_twice=is_twice,
        )
    put_triangle(view_c, result.astype(view_c.dtype), uplo, is_hermitian)


@cublas.routine("cublas{}syrk", "SDCZ", legacy=True)
@cublas.routine("cublas{}herk", "C", legacy=True)
@cublas.routine("cublas{}herk", "Z")
def syrk(
    call: Call,
    handle: Handle,
    uplo: Fill,
    trans: Operation,
    n: int,
    k: int,
    alpha: Factor,
    a: Columns,
    beta: Factor,
    c: Columns,
) -> None:
    # The factors of herk are real.
    kind = real_dtype(call.dtype) if "herk" in call.routine.name else call.dtype
    factors = call.scalar(alpha, kind), call.scalar(beta, kind)
    put_own_product(call, uplo, trans, n, k, factors[0], a, None, factors[1], c, False)


@cublas.routine("cublas{}syr2k", "SDCZ", legacy=True)
@cublas.routine("cublas{}her2k", "C", legacy=True)
@cublas.routine("cublas{}her2k", "Z")
@cublas.routine("cublas{}syrkx", "SDCZ")
@cublas.routine("cublas{}herkx", "CZ")
def syr2k(
    call: Call,
    handle: Handle,
    uplo: Fill,
    trans: Operation,
    n: int,
    k: int,
    alpha: Factor,
    a: Columns,
    b: Columns,
    beta: Factor,
    c: Columns,
) -> None:
    is_hermitian = "her" in call.routine.name
    factors = call.scalar(alpha), call.scalar(beta, real_dtype(call.dtype) if is_hermitian else call.dtype)
    is_twice = call.routine.name.endswith("2k")
    put_own_product(call, uplo, trans, n, k, factors[0], a, b, factors[1], c, is_twice)


@cublas.routine("cublas{}trmm", "SDCZ")
def trmm(
    call: Call,
    handle: Handle,
    side: Side,
    uplo: Fill,
    trans: Operation,
    diag: DiagonalType,
    m: int,
    n: int,
    alpha: Factor,
    a: Columns,
    b: Columns,
    c: Columns,
) -> None:
    require_sizes(call, m=m, n=n)
    order = m if side == Side.LEFT else n
    factor = call.scalar(alpha)
    view_c = call.matrix("C", c, m, n)
    if is_zero(factor):
        view_c[...] = 0
        return
    views = call.matrix("A", a, order, order), call.matrix("B", b, m, n)
    if view_c.size:
        view_c[...] = multiply_triangular(
            factor, *views, fill=uplo, operation=trans, diagonal=diag, is_left=side == Side.LEFT
        )


@cublas.routine("cublasLegacy{}trmm", "SDCZ")
def trmm_in_place(
    call: Call, side: int, uplo: int, trans: int, diag: int, m: int, n: int, alpha: Factor, a: Columns, b: Columns
) -> None:
    call.session.legacy_handle = handle = call.session.legacy_handle or Handle()
    assert isinstance(handle, Handle)
    letters = [chr(word & 255) for word in (side, uplo, trans, diag)]
    sides, fills = read_letter(Side, letters[0]), read_letter(Fill, letters[1])
    operations, diagonals = read_letter(Operation, letters[2]), read_letter(DiagonalType, letters[3])
    trmm(call, handle, sides, fills, operations, diagonals, m, n, alpha, a, b, b)


def put_solution(b: Array, a: Array, alpha: Any, side: Side, uplo: Fill, trans: Operation, diag: DiagonalType) -> None:
    """B = the solution of op(A) X = alpha B or X op(A) = alpha B."""
    if not b.size:
        return
    if is_zero(alpha):
        b[...] = 0
        return
    b[...] = solve(alpha, a, b, fill=uplo, operation=trans, diagonal=diag, is_left=side == Side.LEFT)


@cublas.routine("cublas{}trsm", "SDCZ", legacy=True)
def trsm(
    call: Call,
    handle: Handle,
    side: Side,
    uplo: Fill,
    trans: Operation,
    diag: DiagonalType,
    m: int,
    n: int,
    alpha: Factor,
    a: Columns,
    b: Columns,
) -> None:
    require_sizes(call, m=m, n=n)
    order = m if side == Side.LEFT else n
    put_solution(
        call.matrix("B", b, m, n),
        call.matrix("A", a, order, order),
        call.scalar(alpha),
        side,
        uplo,
        trans,
        diag,
    )


@cublas.routine("cublas{}trsmBatched", "SDCZ")
def trsm_batched(
    call: Call,
    handle: Handle,
    side: Side,
    uplo: Fill,
    trans: Operation,
    diag: DiagonalType,
    m: int,
    n: int,
    alpha: Factor,
    a: Columns,
    b: Columns,
    count: int,
) -> None:
    require_sizes(call, m=m, n=n, batchCount=count)
    order = m if side == Side.LEFT else n
    all_a = call.pointed_matrices("A", a, count, order, order)
    all_b = call.pointed_matrices("B", b, count, m, n)
    result = all_b.stacked()
    put_solution(result, all_a.stacked(), call.scalar(alpha), side, uplo, trans, diag)
    all_b.put(result)


@cublas.routine("cublas{}geam", "SDCZ")
def geam(
    call: Call,
    handle: Handle,
    transa: Operation,
    transb: Operation,
    m: int,
    n: int,
    alpha: Factor,
    a: Columns,
    beta: Factor,
    b: Columns,
    c: Columns,
) -> None:
    require_sizes(call, m=m, n=n)
    factors = call.scalar(alpha), call.scalar(beta)
    view_c = call.matrix("C", c, m, n)
    view_a = call.matrix("A", a, *extents(transa, m, n)) if not is_zero(factors[0]) else None
    view_b = call.matrix("B", b, *extents(transb, m, n)) if not is_zero(factors[1]) else None
    if not view_c.size:
        return
    if view_a is None and view_b is None:
        view_c[...] = 0
        return
    view_c[...] = add(factors[0], view_a, factors[1], view_b, operation_a=transa, operation_b=transb)


@cublas.routine("cublas{}dgmm", "SDCZ")
def dgmm(
    call: Call, handle: Handle, side: Side, m: int, n: int, a: Columns, x: Address, step_x: int, c: Columns
) -> None:
    require_sizes(call, m=m, n=n)
    is_left = side == Side.LEFT
    view_c = call.matrix("C", c, m, n)
    vector = call.vector("x", x, m if is_left else n, step_x)
    if view_c.size:
        view_c[...] = scale_lines(call.matrix("A", a, m, n), vector, is_left=is_left)


@tensor_program("is_left")
def scale_lines(a: Any, x: Any, is_left: bool) -> Any:
    """diag(x) A or A diag(x)."""
    return a * (x[:, None] if is_left else x[None, :])
