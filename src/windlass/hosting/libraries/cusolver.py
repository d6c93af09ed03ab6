"""cuSOLVER's dense part: factorizations, linear systems, eigenvalues and singular values.

LAPACK does them (SciPy's): pivots, and what `info` says, are LAPACK's own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np
from scipy import sparse
from scipy.sparse import linalg

from windlass.hosting.libraries.cublas.factorizations import factor_without_pivots, lapack_routine, singular_places
from windlass.hosting.libraries.cublas.level1 import INT
from windlass.hosting.libraries.cublas.level3 import require_sizes
from windlass.hosting.libraries.cublas.state import Fill, Operation, Side
from windlass.hosting.libraries.cublas.structured import put_triangle
from windlass.hosting.libraries.cusparse.descriptors import SquareRows, checked
from windlass.hosting.libraries.memory import Array
from windlass.hosting.libraries.routines import Address, Columns, Failure, Library, Result
from windlass.hosting.libraries.session import Call, Stateful
from windlass.hosting.libraries.tensor_programs import tensor_program

cusolver = Library(
    "cuSOLVER",
    {
        Failure.uninitialized: 1,
        Failure.invalid: 3,
        Failure.illegal_access: 6,
        Failure.unsupported: 9,
        Failure.failed: 7,
    },
)
WORK_SIZE = 64
"""Elements that programs are told to allocate: nothing needs them."""
VERSION = (11, 6, 1)


class SolverHandle(Stateful):
    """What cusolverDnCreate and cusolverSpCreate make."""


@dataclass
class JacobiInfo(Stateful):
    """Wishes for Jacobi's method: a tolerance and a number of sweeps. What is done here is more precise."""

    is_sorted: bool = True


@cusolver.routine("cusolverDnCreate")
@cusolver.routine("cusolverSpCreate")
def create(call: Call, place: Result) -> None:
    call.give(place, SolverHandle())


@cusolver.routine("cusolverDnDestroy")
@cusolver.routine("cusolverSpDestroy")
def destroy(call: Call, handle: SolverHandle) -> None:
    call.session.drop(handle)


@cusolver.routine("cusolverDnSetStream")
@cusolver.routine("cusolverSpSetStream")
def set_stream(call: Call, handle: SolverHandle, stream: int) -> None:
    handle.stream = stream


@cusolver.routine("cusolverDnGetStream")
def get_stream(call: Call, handle: SolverHandle, place: Result) -> None:
    call.put(place, handle.stream, np.dtype(np.uint64))


@cusolver.routine("cusolverGetVersion")
def get_version(call: Call, place: Result) -> None:
    call.put(place, VERSION[0] * 1000 + VERSION[1] * 100 + VERSION[2], INT)


def put_info(call: Call, place: Address, value: int) -> None:
    """Write what LAPACK says to device memory."""
    call.vector("devInfo", place, 1, dtype=INT)[0] = value


# -- Cholesky ---------------------------------------------------------------------------------------------------------


@cusolver.routine("cusolverDn{}potrf_bufferSize", "SDCZ")
@cusolver.routine("cusolverDn{}potri_bufferSize", "SDCZ")
def potrf_buffer(call: Call, handle: SolverHandle, uplo: Fill, n: int, a: Columns, size: Result) -> None:
    require_sizes(call, n=n)
    call.put(size, WORK_SIZE, INT)


def put_cholesky(call: Call, view: Array, uplo: Fill) -> int:
    """Factor a matrix in place, in its triangle; gives LAPACK's info."""
    if not view.size:
        return 0
    factor, info = lapack_routine(call.dtype, "potrf")(view, lower=uplo == Fill.LOWER, clean=False)
    put_triangle(view, factor, uplo)
    return int(info)


@cusolver.routine("cusolverDn{}potrf", "SDCZ")
def potrf(
    call: Call, handle: SolverHandle, uplo: Fill, n: int, a: Columns, work: Address, size: int, info: Address
) -> None:
    require_sizes(call, n=n)
    put_info(call, info, put_cholesky(call, call.matrix("A", a, n, n), uplo))


@cusolver.routine("cusolverDn{}potri", "SDCZ")
def potri(
    call: Call, handle: SolverHandle, uplo: Fill, n: int, a: Columns, work: Address, size: int, info: Address
) -> None:
    require_sizes(call, n=n)
    view = call.matrix("A", a, n, n)
    inverse, found = lapack_routine(call.dtype, "potri")(view, lower=uplo == Fill.LOWER) if n else (view, 0)
    if not found:
        put_triangle(view, inverse, uplo)
    put_info(call, info, found)


@cusolver.routine("cusolverDn{}potrs", "SDCZ")
def potrs(
    call: Call, handle: SolverHandle, uplo: Fill, n: int, nrhs: int, a: Columns, b: Columns, info: Address
) -> None:
    require_sizes(call, n=n, nrhs=nrhs)
    factor, target = call.matrix("A", a, n, n), call.matrix("B", b, n, nrhs)
    if target.size:
        target[...], _ = lapack_routine(call.dtype, "potrs")(factor, target, lower=uplo == Fill.LOWER)
    put_info(call, info, 0)


@cusolver.routine("cusolverDn{}potrfBatched", "SDCZ")
def potrf_batched(call: Call, handle: SolverHandle, uplo: Fill, n: int, a: Columns, infos: Address, count: int) -> None:
    require_sizes(call, n=n, batchSize=count)
    marks = call.vector("infoArray", infos, count, dtype=INT)
    for place, view in enumerate(call.pointed_matrices("A", a, count, n, n)):
        marks[place] = put_cholesky(call, view, uplo)


@cusolver.routine("cusolverDn{}potrsBatched", "SDCZ")
def potrs_batched(
    call: Call, handle: SolverHandle, uplo: Fill, n: int, nrhs: int, a: Columns, b: Columns, info: Address, count: int
) -> None:
    require_sizes(call, n=n, nrhs=nrhs, batchSize=count)
    factors = call.pointed_matrices("A", a, count, n, n)
    targets = call.pointed_matrices("B", b, count, n, nrhs)
    for factor, target in zip(factors, targets, strict=True):
        if target.size:
            target[...], _ = lapack_routine(call.dtype, "potrs")(factor, target, lower=uplo == Fill.LOWER)
    put_info(call, info, 0)


# -- LU ---------------------------------------------------------------------------------------------------------------


@cusolver.routine("cusolverDn{}getrf_bufferSize", "SDCZ")
@cusolver.routine("cusolverDn{}geqrf_bufferSize", "SDCZ")
def getrf_buffer(call: Call, handle: SolverHandle, m: int, n: int, a: Columns, size: Result) -> None:
    require_sizes(call, m=m, n=n)
    call.put(size, WORK_SIZE, INT)


@cusolver.routine("cusolverDn{}getrf", "SDCZ")
def getrf(
    call: Call, handle: SolverHandle, m: int, n: int, a: Columns, work: Address, pivots: Address, info: Address
) -> None:
    require_sizes(call, m=m, n=n)
    view = call.matrix("A", a, m, n)
    if not view.size:
        put_info(call, info, 0)
        return
    if not pivots:
        if m != n:
            raise call.refuse("without pivots only square matrices are factored")
        view[...] = factor_without_pivots(view)
        put_info(call, info, int(singular_places(view)))
        return
    places = call.vector("devIpiv", pivots, min(m, n), dtype=INT)
    factors, found, status = lapack_routine(call.dtype, "getrf")(view)
    view[...] = factors
    places[...] = found + 1
    put_info(call, info, status)


@cusolver.routine("cusolverDn{}getrs", "SDCZ")
def getrs(
    call: Call,
    handle: SolverHandle,
    trans: Operation,
    n: int,
    nrhs: int,
    a: Columns,
    pivots: Address,
    b: Columns,
    info: Address,
) -> None:
    require_sizes(call, n=n, nrhs=nrhs)
    factors, target = call.matrix("A", a, n, n), call.matrix("B", b, n, nrhs)
    places = call.integers("devIpiv", pivots, n, INT) - 1 if pivots else np.arange(n)
    if isinstance(places, np.ndarray):
        is_inside = n == 0 or bool(places.min() >= 0 and places.max() < n)
        call.require(is_inside, "a pivot is outside the matrix")
    if target.size:
        target[...], _ = lapack_routine(call.dtype, "getrs")(factors, places, target, trans=int(trans))
    put_info(call, info, 0)


# -- QR ---------------------------------------------------------------------------------------------------------------


@cusolver.routine("cusolverDn{}geqrf", "SDCZ")
def geqrf(
    call: Call, handle: SolverHandle, m: int, n: int, a: Columns, tau: Address, work: Address, size: int, info: Address
) -> None:
    require_sizes(call, m=m, n=n)
    view, scales = call.matrix("A", a, m, n), call.vector("TAU", tau, min(m, n))
    if view.size:
        factors, found, _, _ = lapack_routine(call.dtype, "geqrf")(view)
        view[...] = factors
        scales[...] = found
    put_info(call, info, 0)


@cusolver.routine("cusolverDn{}ormqr_bufferSize", "SD")
@cusolver.routine("cusolverDn{}unmqr_bufferSize", "CZ")
def ormqr_buffer(
    call: Call,
    handle: SolverHandle,
    side: Side,
    trans: Operation,
    m: int,
    n: int,
    k: int,
    a: Columns,
    tau: Address,
    c: Columns,
    size: Result,
) -> None:
    require_sizes(call, m=m, n=n, k=k)
    call.put(size, WORK_SIZE, INT)


@cusolver.routine("cusolverDn{}ormqr", "SD")
@cusolver.routine("cusolverDn{}unmqr", "CZ")
def ormqr(
    call: Call,
    handle: SolverHandle,
    side: Side,
    trans: Operation,
    m: int,
    n: int,
    k: int,
    a: Columns,
    tau: Address,
    c: Columns,
    work: Address,
    size: int,
    info: Address,
) -> None:
    require_sizes(call, m=m, n=n, k=k)
    is_complex = call.dtype.kind == "c"
    call.require(not (is_complex and trans == Operation.T), "the operation must be N or C")
    factors = call.matrix("A", a, m if side == Side.LEFT else n, k)
    target = call.matrix("C", c, m, n)
    scales = call.vector("tau", tau, k)
    letter = "N" if trans == Operation.N else "C" if is_complex else "T"
    if target.size:
        name = "unmqr" if is_complex else "ormqr"
        length = max(1, m, n) * WORK_SIZE
        result, _, _ = lapack_routine(call.dtype, name)(side.letter, letter, factors, scales, target, length)
        target[...] = result
    put_info(call, info, 0)


@cusolver.routine("cusolverDn{}orgqr_bufferSize", "SD")
@cusolver.routine("cusolverDn{}ungqr_bufferSize", "CZ")
def orgqr_buffer(
    call: Call, handle: SolverHandle, m: int, n: int, k: int, a: Columns, tau: Address, size: Result
) -> None:
    require_sizes(call, m=m, n=n, k=k)
    call.put(size, WORK_SIZE, INT)


@cusolver.routine("cusolverDn{}orgqr", "SD")
@cusolver.routine("cusolverDn{}ungqr", "CZ")
def orgqr(
    call: Call,
    handle: SolverHandle,
    m: int,
    n: int,
    k: int,
    a: Columns,
    tau: Address,
    work: Address,
    size: int,
    info: Address,
) -> None:
    require_sizes(call, m=m, n=n, k=k)
    call.require(m >= n >= k, f"{m} rows, {n} columns and {k} reflections don't fit")
    view, scales = call.matrix("A", a, m, n), call.vector("tau", tau, k)
    if view.size:
        name = "ungqr" if call.dtype.kind == "c" else "orgqr"
        result, _, _ = lapack_routine(call.dtype, name)(view, scales)
        view[...] = result
    put_info(call, info, 0)


# -- singular values --------------------------------------------------------------------------------------------------


@cusolver.routine("cusolverDn{}gesvd_bufferSize", "SDCZ")
def gesvd_buffer(call: Call, handle: SolverHandle, m: int, n: int, size: Result) -> None:
    require_sizes(call, m=m, n=n)
    call.put(size, WORK_SIZE, INT)


@cusolver.routine("cusolverDn{}gesvd", "SDCZ")
def gesvd(
    call: Call,
    handle: SolverHandle,
    jobu: int,
    jobvt: int,
    m: int,
    n: int,
    a: Columns,
    s: Address,
    u: Columns,
    vt: Columns,
    work: Address,
    size: int,
    rwork: Address,
    info: Address,
) -> None:
    require_sizes(call, m=m, n=n)
    jobs = chr(jobu & 255), chr(jobvt & 255)
    call.require(set(jobs) <= set("ASON") and jobs != ("O", "O"), f"the jobs are {jobs}")
    call.require(m >= n, f"the matrix has {m} rows and {n} columns; there may be no more columns than rows")
    view = call.matrix("A", a, m, n)
    if not view.size:
        put_info(call, info, 0)
        return
    left, values, right, status = lapack_routine(call.dtype, "gesvd")(view, compute_uv=1, full_matrices="A" in jobs)
    call.vector("S", s, n, dtype=call.real_dtype)[...] = values
    if jobs[0] in "AS":
        columns = m if jobs[0] == "A" else n
        call.matrix("U", u, m, columns)[...] = left[:, :columns]
    if jobs[1] in "AS":
        call.matrix("VT", vt, n, n)[...] = right
    if jobs[0] == "O":
        view[...] = left[:, :n]
    if jobs[1] == "O":
        view[:n] = right
    put_info(call, info, status)


@cusolver.routine("cusolverDnCreateGesvdjInfo")
@cusolver.routine("cusolverDnCreateSyevjInfo")
def create_jacobi(call: Call, place: Result) -> None:
    call.give(place, JacobiInfo())


@cusolver.routine("cusolverDnDestroyGesvdjInfo")
@cusolver.routine("cusolverDnDestroySyevjInfo")
def destroy_jacobi(call: Call, info: JacobiInfo) -> None:
    call.session.drop(info)


@cusolver.routine("cusolverDnXgesvdjSetTolerance")
@cusolver.routine("cusolverDnXsyevjSetTolerance")
def set_tolerance(call: Call, info: JacobiInfo, tolerance: float) -> None:
    call.require(tolerance >= 0, f"the tolerance is {tolerance}")


@cusolver.routine("cusolverDnXgesvdjSetMaxSweeps")
@cusolver.routine("cusolverDnXsyevjSetMaxSweeps")
def set_sweeps(call: Call, info: JacobiInfo, count: int) -> None:
    require_sizes(call, max_sweeps=count)


@cusolver.routine("cusolverDnXgesvdjSetSortEig")
@cusolver.routine("cusolverDnXsyevjSetSortEig")
def set_sorting(call: Call, info: JacobiInfo, is_sorted: int) -> None:
    info.is_sorted = bool(is_sorted)


@cusolver.routine("cusolverDnXgesvdjGetSweeps")
@cusolver.routine("cusolverDnXsyevjGetSweeps")
def get_sweeps(call: Call, handle: SolverHandle, info: JacobiInfo, place: Result) -> None:
    call.put(place, 1, INT)


@cusolver.routine("cusolverDn{}gesvdj_bufferSize", "SDCZ")
def gesvdj_buffer(
    call: Call,
    handle: SolverHandle,
    mode: int,
    is_economic: int,
    m: int,
    n: int,
    a: Columns,
    s: Address,
    u: Columns,
    v: Columns,
    size: Result,
    parameters: JacobiInfo,
) -> None:
    require_sizes(call, m=m, n=n)
    call.put(size, WORK_SIZE, INT)


@cusolver.routine("cusolverDn{}gesvdj", "SDCZ")
def gesvdj(
    call: Call,
    handle: SolverHandle,
    mode: int,
    is_economic: int,
    m: int,
    n: int,
    a: Columns,
    s: Address,
    u: Columns,
    v: Columns,
    work: Address,
    size: int,
    info: Address,
    parameters: JacobiInfo,
) -> None:
    require_sizes(call, m=m, n=n)
    view = call.matrix("A", a, m, n)
    least = min(m, n)
    if not view.size:
        put_info(call, info, 0)
        return
    left, values, right, status = lapack_routine(call.dtype, "gesvd")(view, compute_uv=1, full_matrices=not is_economic)
    call.vector("S", s, least, dtype=call.real_dtype)[...] = values
    if mode:
        columns = (least, least) if is_economic else (m, n)
        call.matrix("U", u, m, columns[0])[...] = left[:, : columns[0]]
        call.matrix("V", v, n, columns[1])[...] = right[: columns[1]].T.conj()
    put_info(call, info, status)


# -- eigenvalues ------------------------------------------------------------------------------------------------------


@cusolver.routine("cusolverDn{}syevd_bufferSize", "SD")
@cusolver.routine("cusolverDn{}heevd_bufferSize", "CZ")
def syevd_buffer(
    call: Call, handle: SolverHandle, mode: int, uplo: Fill, n: int, a: Columns, w: Address, size: Result
) -> None:
    require_sizes(call, n=n)
    call.put(size, WORK_SIZE, INT)


@cusolver.routine("cusolverDn{}syevj_bufferSize", "SD")
@cusolver.routine("cusolverDn{}heevj_bufferSize", "CZ")
def syevj_buffer(
    call: Call,
    handle: SolverHandle,
    mode: int,
    uplo: Fill,
    n: int,
    a: Columns,
    w: Address,
    size: Result,
    parameters: JacobiInfo,
) -> None:
    require_sizes(call, n=n)
    call.put(size, WORK_SIZE, INT)


@cusolver.routine("cusolverDn{}syevd", "SD")
@cusolver.routine("cusolverDn{}heevd", "CZ")
def syevd(
    call: Call,
    handle: SolverHandle,
    mode: int,
    uplo: Fill,
    n: int,
    a: Columns,
    w: Address,
    work: Address,
    size: int,
    info: Address,
) -> None:
    require_sizes(call, n=n)
    view, target = call.matrix("A", a, n, n), call.vector("W", w, n, dtype=call.real_dtype)
    if n == 0:
        put_info(call, info, 0)
        return
    name = "heevd" if call.dtype.kind == "c" else "syevd"
    values, vectors, status = lapack_routine(call.dtype, name)(view, compute_v=mode, lower=uplo == Fill.LOWER)
    target[...] = values
    if mode:
        view[...] = vectors
    put_info(call, info, status)


@cusolver.routine("cusolverDn{}syevj", "SD")
@cusolver.routine("cusolverDn{}heevj", "CZ")
def syevj(
    call: Call,
    handle: SolverHandle,
    mode: int,
    uplo: Fill,
    n: int,
    a: Columns,
    w: Address,
    work: Address,
    size: int,
    info: Address,
    parameters: JacobiInfo,
) -> None:
    syevd(call, handle, mode, uplo, n, a, w, work, size, info)


# -- sparse systems ---------------------------------------------------------------------------------------------------


@tensor_program()
def solve_densely(rows: Any, columns: Any, values: Any, b: Any) -> Any:
    """The solution of a sparse system as that of a dense one, which has derivatives."""
    dense = jnp.zeros((len(b), len(b)), values.dtype).at[rows, columns].add(values)
    return jnp.linalg.solve(dense, b)


@cusolver.routine("cusolverSp{}csrlsvqr", "SDCZ")
@cusolver.routine("cusolverSp{}csrlsvchol", "SDCZ")
def solve_sparse(
    call: Call,
    handle: SolverHandle,
    a: SquareRows,
    b: Address,
    tolerance: float,
    order: int,
    x: Address,
    singular: Result,
) -> None:
    m, (rows, places) = a.m, a.places(call)
    places = checked(places, m, "csrColInd")
    if call.session.memory.is_traced:
        call.vector("x", x, m)[...] = solve_densely(rows, places, a.elements(call), call.vector("b", b, m))
        call.put(singular, -1, INT)
        return
    kind = np.dtype(np.complex128 if call.dtype.kind == "c" else np.float64)
    numbers = a.elements(call).astype(kind)
    matrix: Any = sparse.coo_array((numbers, (rows, places)), (m, m)).tocsc()
    factor: Any = linalg.splu
    try:
        solution = factor(matrix).solve(call.vector("b", b, m).astype(kind))
    except RuntimeError:
        # What SuperLU says of a matrix that is exactly singular; which row, it does not say.
        call.put(singular, 0, INT)
        return
    call.vector("x", x, m)[...] = solution
    call.put(singular, -1, INT)
