"""LAPACK's routines made of operations that have derivatives: for matrices that are traced.

Each takes and gives what SciPy's function of that name does. `info` is 0: that a factorization fails can't be seen
while a program is compiled, and its results are NaN where it does. Where a matrix is given by a triangle, derivatives
are those with respect to that triangle: an element that is not read has none.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from windlass.hosting.libraries.cublas.level3 import mirror
from windlass.hosting.libraries.cublas.state import Fill
from windlass.hosting.libraries.tensor_programs import tensor_program

FINE = 0
"""The `info` of a routine that has not failed."""


def traced_form(name: str) -> Callable[..., Any]:
    """The form of a routine, by its name without the letter of a dtype."""
    return _FORMS[name]


def whole(a: Any, lower: Any) -> Any:
    """The Hermitian matrix of which one triangle is given."""
    return mirror(a, Fill.LOWER if lower else Fill.UPPER, True)


def adjoint(a: Any) -> Any:
    """The conjugate of the transposed matrix."""
    return jnp.conj(jnp.swapaxes(a, -1, -2))


# -- triangles --------------------------------------------------------------------------------------------------------


@tensor_program("lower")
def _cholesky(a: Any, lower: bool) -> Any:
    factor = lax.linalg.cholesky(whole(a, lower), symmetrize_input=False)
    return factor if lower else adjoint(factor)


def potrf(a: Any, lower: Any = 0, clean: bool = True) -> Any:
    """A = L L^H or U^H U."""
    return _cholesky(a, lower=bool(lower)), FINE


@tensor_program("lower")
def _solve_positive(factor: Any, b: Any, lower: bool) -> Any:
    half = lax.linalg.triangular_solve(
        factor, b, left_side=True, lower=lower, transpose_a=not lower, conjugate_a=not lower
    )
    return lax.linalg.triangular_solve(
        factor, half, left_side=True, lower=lower, transpose_a=bool(lower), conjugate_a=bool(lower)
    )


def potrs(factor: Any, b: Any, lower: Any = 0) -> Any:
    """The solution of A X = B, given A's factor by Cholesky."""
    return _solve_positive(factor, b, lower=bool(lower)), FINE


def potri(factor: Any, lower: Any = 0) -> Any:
    """The inverse of A, given its factor by Cholesky."""
    return _solve_positive(factor, np.eye(len(factor), dtype=factor.dtype), lower=bool(lower)), FINE


@tensor_program()
def _factor(a: Any) -> Any:
    factors, pivots, _ = lax.linalg.lu(a)
    return factors, pivots


def getrf(a: Any) -> Any:
    """P A = L U, with pivots counted from zero."""
    return *_factor(a), FINE


@tensor_program("trans")
def _solve_factored(factors: Any, pivots: Any, b: Any, trans: int) -> Any:
    order = lax.linalg.lu_pivots_to_permutation(jnp.asarray(pivots, jnp.int32), factors.shape[-1])

    def triangle(b: Any, is_lower: bool) -> Any:
        return lax.linalg.triangular_solve(
            factors,
            b,
            left_side=True,
            lower=is_lower,
            transpose_a=trans != 0,
            conjugate_a=trans == 2,
            unit_diagonal=is_lower,
        )

    if trans == 0:
        return triangle(triangle(b[order], True), False)
    return triangle(triangle(b, False), True)[jnp.argsort(order)]


def getrs(factors: Any, pivots: Any, b: Any, trans: int = 0) -> Any:
    """The solution of op(A) X = B, given A's factors L U and pivots counted from zero."""
    return _solve_factored(factors, pivots, b, trans=trans), FINE


# -- reflections ------------------------------------------------------------------------------------------------------


def reflections(a: Any) -> Any:
    """LAPACK's geqr2: R, below it the reflections' vectors (whose first element is one), and their factors."""
    m, n = a.shape

    def eliminate(k: Any, carried: Any) -> Any:
        a, scales = carried
        below = jnp.arange(m) > k
        column = lax.dynamic_index_in_dim(a, k, 1, False)
        head = lax.dynamic_index_in_dim(column, k, 0, False)
        rest = jnp.where(below, column, 0)
        square = jnp.sum(jnp.real(rest * jnp.conj(rest)))
        is_done = (square == 0) & (jnp.imag(head) == 0)
        # The square root of zero has no derivative, and is not needed.
        length = jnp.sqrt(jnp.where(is_done, 1, square + jnp.real(head * jnp.conj(head))))
        beta = jnp.where(jnp.real(head) >= 0, -length, length)
        scale = jnp.where(is_done, 0, (beta - head) / beta)
        divisor = jnp.where(is_done, 1, head - beta)
        vector = jnp.where(below, column / divisor, jnp.where(jnp.arange(m) == k, 1, 0))
        vector = jnp.where(is_done & below, 0, vector)
        later = jnp.arange(n) > k
        product = jnp.where(later, jnp.conj(vector) @ a, 0)
        a = a - jnp.conj(scale) * vector[:, None] * product[None, :]
        stored = jnp.where(below, vector, jnp.where(jnp.arange(m) == k, jnp.where(is_done, head, beta), column))
        a = jnp.where((jnp.arange(n) == k)[None, :], stored[:, None], a)
        return a, jnp.where(jnp.arange(len(scales)) == k, scale, scales)

    return lax.fori_loop(0, min(m, n), eliminate, (a, jnp.zeros(min(m, n), a.dtype)))


_reflect = tensor_program()(reflections)


def geqrf(a: Any) -> Any:
    """A = Q R, Q as reflections."""
    factors, scales = _reflect(a)
    return factors, scales, None, FINE


def reflected(factors: Any, scales: Any, c: Any, is_adjoint: bool) -> Any:
    """Q C or Q^H C for the product Q of reflections."""
    rows, count = jnp.arange(factors.shape[0]), scales.shape[0]

    def reflect(step: Any, c: Any) -> Any:
        k = step if is_adjoint else count - 1 - step
        column = lax.dynamic_index_in_dim(factors, k, 1, False)
        vector = jnp.where(rows > k, column, jnp.where(rows == k, 1, 0))
        scale = lax.dynamic_index_in_dim(scales, k, 0, False)
        scale = jnp.conj(scale) if is_adjoint else scale
        return c - scale * vector[:, None] * (jnp.conj(vector) @ c)[None, :]

    return lax.fori_loop(0, count, reflect, c)


@tensor_program("is_left", "is_adjoint")
def _multiply_reflected(factors: Any, scales: Any, c: Any, is_left: bool, is_adjoint: bool) -> Any:
    if is_left:
        return reflected(factors, scales, c, is_adjoint)
    return adjoint(reflected(factors, scales, adjoint(c), not is_adjoint))


def ormqr(side: str, trans: str, factors: Any, scales: Any, c: Any, length: int) -> Any:
    """op(Q) C or C op(Q) for the product Q of reflections."""
    return _multiply_reflected(factors, scales, c, is_left=side == "L", is_adjoint=trans != "N"), None, FINE


@tensor_program()
def _expand(factors: Any, scales: Any) -> Any:
    return reflected(factors, scales, jnp.eye(*factors.shape, dtype=factors.dtype), False)


def orgqr(factors: Any, scales: Any) -> Any:
    """The columns of Q."""
    return _expand(factors, scales), None, FINE


@tensor_program()
def _least_squares(a: Any, b: Any) -> Any:
    n = a.shape[1]
    factors, scales = reflections(a)
    turned = reflected(factors, scales, b, True)
    solution = lax.linalg.triangular_solve(factors[:n], turned[:n], left_side=True, lower=False)
    return factors, jnp.concatenate([solution, turned[n:]])


def gels(a: Any, b: Any) -> Any:
    """The X for which |A X - B| is least; below it what is left of B."""
    return *_least_squares(a, b), FINE


# -- values and vectors -----------------------------------------------------------------------------------------------


@tensor_program("lower")
def _eigen(a: Any, lower: bool) -> Any:
    return jnp.linalg.eigh(whole(a, lower), symmetrize_input=False)


def syevd(a: Any, compute_v: int = 1, lower: Any = 0) -> Any:
    """Eigenvalues, ascending, and eigenvectors of a Hermitian matrix."""
    values, vectors = _eigen(a, lower=bool(lower))
    return values, vectors, FINE


@tensor_program("full_matrices")
def _singular(a: Any, full_matrices: bool) -> Any:
    return jnp.linalg.svd(a, full_matrices=full_matrices)


def gesvd(a: Any, compute_uv: int = 1, full_matrices: Any = 1) -> Any:
    """A = U S V^H."""
    return *_singular(a, full_matrices=bool(full_matrices)), FINE


_FORMS: dict[str, Callable[..., Any]] = {
    "potrf": potrf,
    "potrs": potrs,
    "potri": potri,
    "getrf": getrf,
    "getrs": getrs,
    "geqrf": geqrf,
    "ormqr": ormqr,
    "unmqr": ormqr,
    "orgqr": orgqr,
    "ungqr": orgqr,
    "gels": gels,
    "syevd": syevd,
    "heevd": syevd,
    "gesvd": gesvd,
}
