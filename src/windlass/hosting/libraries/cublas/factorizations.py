"""cuBLAS's factorizations of batches of small matrices, and what is solved with them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from windlass.diagnostics.deferral import deferred
from windlass.frontends.arrays import Array as Traced
from windlass.hosting.libraries.cublas.lapack_forms import traced_form
from windlass.hosting.libraries.cublas.level1 import INT
from windlass.hosting.libraries.cublas.level3 import require_sizes
from windlass.hosting.libraries.cublas.state import Handle, Operation, cublas
from windlass.hosting.libraries.memory import Array, Matrices
from windlass.hosting.libraries.routines import Address, Columns, Result
from windlass.hosting.libraries.session import Call
from windlass.hosting.libraries.tensor_programs import tensor_program

if TYPE_CHECKING:
    from scipy.linalg import lapack
else:
    lapack = deferred("scipy.linalg.lapack")


@tensor_program()
def factor(a: Any) -> Any:
    """P A = L U by rows' exchanges: both factors in one matrix, and pivots counted from one."""
    factors, pivots, _ = lax.linalg.lu(a)
    return factors, pivots + 1


@tensor_program()
def factor_without_pivots(a: Any) -> Any:
    """A = L U, both factors in one matrix."""

    def eliminate(k: Any, a: Any) -> Any:
        below = jnp.arange(a.shape[-1]) > k
        pivot = lax.dynamic_index_in_dim(lax.dynamic_index_in_dim(a, k, -1, False), k, -1, False)
        column = lax.dynamic_index_in_dim(a, k, -1, False)
        multipliers = jnp.where(below, column / pivot[..., None], column)
        row = lax.dynamic_index_in_dim(a, k, -2, False)
        rest = below[:, None] & below[None, :]
        updated = jnp.where(rest, a - multipliers[..., :, None] * row[..., None, :], a)
        return jnp.where((jnp.arange(a.shape[-1]) == k)[None, :], multipliers[..., None], updated)

    return lax.fori_loop(0, a.shape[-1], eliminate, a)


@tensor_program("operation")
def solve_factored(factors: Any, pivots: Any, b: Any, operation: Operation) -> Any:
    """The solution of op(A) X = B, given L U and pivots counted from one (None where rows were not exchanged)."""
    order = None if pivots is None else lax.linalg.lu_pivots_to_permutation(pivots - 1, factors.shape[-1])
    if operation == Operation.N:
        if order is not None:
            b = jnp.take_along_axis(b, order[..., None], -2)
        half = triangle_solve(factors, b, True, operation)
        return triangle_solve(factors, half, False, operation)
    half = triangle_solve(factors, b, False, operation)
    result = triangle_solve(factors, half, True, operation)
    return result if order is None else jnp.take_along_axis(result, jnp.argsort(order)[..., None], -2)


def triangle_solve(factors: Any, b: Any, is_lower: bool, operation: Operation) -> Any:
    """The solution of op(L) X = B with ones on the diagonal, or of op(U) X = B."""
    return lax.linalg.triangular_solve(
        factors,
        b,
        left_side=True,
        lower=is_lower,
        transpose_a=operation != Operation.N,
        conjugate_a=operation == Operation.C,
        unit_diagonal=is_lower,
    )


def singular_places(factors: Array) -> Array:
    """For each matrix the first row, counted from one, where the diagonal of U is zero; 0 where none is."""
    is_zero = np.diagonal(factors, axis1=-2, axis2=-1) == 0
    return np.where(is_zero.any(axis=-1), is_zero.argmax(axis=-1) + 1, 0)


@cublas.routine("cublas{}getrfBatched", "SDCZ")
def getrf_batched(call: Call, handle: Handle, n: int, a: Columns, pivots: Address, info: Address, count: int) -> None:
    require_sizes(call, n=n, batchSize=count)
    matrices = call.pointed_matrices("A", a, count, n, n)
    infos = call.vector("info", info, count, dtype=INT)
    places = call.view("pivots", pivots, (count, n), (n, 1), INT) if pivots else None
    if not matrices or n == 0:
        infos[...] = 0
        return
    stacked = matrices.stacked()
    if places is None:
        factors = factor_without_pivots(stacked)
    else:
        factors, places[...] = factor(stacked)
    matrices.put(factors)
    infos[...] = singular_places(factors)


@cublas.routine("cublas{}getrsBatched", "SDCZ")
def getrs_batched(
    call: Call,
    handle: Handle,
    trans: Operation,
    n: int,
    nrhs: int,
    a: Columns,
    pivots: Address,
    b: Columns,
    info: Result,
    count: int,
) -> None:
    require_sizes(call, n=n, nrhs=nrhs, batchSize=count)
    factors = call.pointed_matrices("A", a, count, n, n)
    targets = call.pointed_matrices("B", b, count, n, nrhs)
    call.put(info, 0, INT)
    if not factors or n == 0 or nrhs == 0:
        return
    places = call.view("pivots", pivots, (count, n), (n, 1), INT) if pivots else None
    solutions = solve_factored(factors.stacked(), places, targets.stacked(), operation=trans)
    targets.put(solutions)


@cublas.routine("cublas{}getriBatched", "SDCZ")
def getri_batched(
    call: Call, handle: Handle, n: int, a: Columns, pivots: Address, c: Columns, info: Address, count: int
) -> None:
    require_sizes(call, n=n, batchSize=count)
    factors = call.pointed_matrices("A", a, count, n, n)
    targets = call.pointed_matrices("C", c, count, n, n)
    infos = call.vector("info", info, count, dtype=INT)
    infos[...] = singular_places(factors.stacked()) if n else 0
    if not factors or n == 0:
        return
    places = call.view("pivots", pivots, (count, n), (n, 1), INT) if pivots else None
    eyes = np.broadcast_to(np.eye(n, dtype=call.dtype), (count, n, n))
    put_regular(targets, solve_factored(factors.stacked(), places, eyes, operation=Operation.N), infos)


@cublas.routine("cublas{}matinvBatched", "SDCZ")
def matinv_batched(call: Call, handle: Handle, n: int, a: Columns, c: Columns, info: Address, count: int) -> None:
    require_sizes(call, n=n, batchSize=count)
    matrices = call.pointed_matrices("A", a, count, n, n)
    targets = call.pointed_matrices("C", c, count, n, n)
    infos = call.vector("info", info, count, dtype=INT)
    if not matrices or n == 0:
        infos[...] = 0
        return
    factors, places = factor(matrices.stacked())
    infos[...] = singular_places(factors)
    eyes = np.broadcast_to(np.eye(n, dtype=call.dtype), (count, n, n))
    put_regular(targets, solve_factored(factors, places, eyes, operation=Operation.N), infos)


def put_regular(targets: Matrices, results: Array, infos: Array) -> None:
    """Write the results of matrices that are not singular."""
    for target, each, info in zip(targets, results, infos, strict=True):
        target[...] = np.where(info == 0, each, target)


def lapack_routine(dtype: np.dtype[Any], name: str) -> Any:
    """LAPACK's routine for a dtype; on matrices that are traced it is made of operations (`lapack_forms.py`)."""

    def run(first: Any, *rest: Any, **options: Any) -> Any:
        # The routines that multiply with reflections have letters before their matrices.
        if any(isinstance(each, Traced) for each in (first, *rest)):
            return traced_form(name)(first, *rest, **options)
        return getattr(lapack, {"f": "s", "d": "d", "F": "c", "D": "z"}[dtype.char] + name)(first, *rest, **options)

    return run


@cublas.routine("cublas{}geqrfBatched", "SDCZ")
def geqrf_batched(
    call: Call, handle: Handle, m: int, n: int, a: Columns, tau: Address, info: Result, count: int
) -> None:
    require_sizes(call, m=m, n=n, batchSize=count)
    matrices = call.pointed_matrices("A", a, count, m, n)
    scales = call.pointed_matrices("TauArray", Columns(tau, max(1, min(m, n))), count, min(m, n), 1)
    call.put(info, 0, INT)
    if min(m, n) == 0:
        return
    for matrix, scale in zip(matrices, scales, strict=True):
        factors, found, _, _ = lapack_routine(call.dtype, "geqrf")(matrix)
        matrix[...] = factors
        scale[:, 0] = found


@cublas.routine("cublas{}gelsBatched", "SDCZ")
def gels_batched(
    call: Call,
    handle: Handle,
    trans: Operation,
    m: int,
    n: int,
    nrhs: int,
    a: Columns,
    c: Columns,
    info: Result,
    infos: Address,
    count: int,
) -> None:
    require_sizes(call, m=m, n=n, nrhs=nrhs, batchSize=count)
    if trans != Operation.N or m < n:
        raise call.refuse("only least squares of overdetermined systems, with the matrix as it is, can be solved")
    matrices = call.pointed_matrices("A", a, count, m, n)
    targets = call.pointed_matrices("C", c, count, m, nrhs)
    marks = call.vector("devInfoArray", infos, count, dtype=INT) if infos else None
    call.put(info, 0, INT)
    if n == 0 or nrhs == 0:
        return
    for place, (matrix, target) in enumerate(zip(matrices, targets, strict=True)):
        factors, solution, status = lapack_routine(call.dtype, "gels")(matrix, target)
        matrix[...] = factors
        target[...] = solution
        if marks is not None:
            marks[place] = status
