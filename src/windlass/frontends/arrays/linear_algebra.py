"""numpy.linalg where jax.numpy.linalg means something else by it.

NumPy reads one triangle of a symmetric matrix, where JAX takes the mean of both; computes in double precision whatever
it is given; cuts small singular values off elsewhere; gives residuals only of matrices of full rank, and real
eigenvalues where all are real; and raises LinAlgError where JAX gives NaN. A check of the program tells of such
cases, and Python runs the function then.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, cast

import jax.numpy as jnp
import numpy as np
from jax import lax

from windlass.diagnostics import Diagnostic, LaunchError
from windlass.frontends.arrays.tracing import LeftToPython, current_tracing, position_now

NAMED = (np.linalg.eigh, np.linalg.eig, np.linalg.qr, np.linalg.slogdet, np.linalg.svd)
EIGH, EIG, QR, SLOGDET, SVD = (cast("Any", type(function(np.eye(1)))) for function in NAMED)
"""The named tuples that NumPy gives."""


# -- what a program has to look at ------------------------------------------------------------------------------------


def _refuse(fails: Any, message: str) -> None:
    """Let Python run the function, which raises the error, where some of these are true."""
    error = np.linalg.LinAlgError(message)
    position, _ = position_now()
    if position is not None:
        error.add_note(f" --> {position}")
    _leave_to_python(fails, error)


def _refuse_as_one_program(differs: Any, headline: str, help: str) -> None:
    """Let Python run the function where NumPy gives something of another shape or type than the program."""
    position, length = position_now()
    _leave_to_python(differs, LaunchError(Diagnostic("WL0904", headline, position, length, help=help)))


def _leave_to_python(holds: Any, error: Exception) -> None:
    tracing = current_tracing()
    if tracing is not None:
        tracing.require_never(jnp.any(holds), LeftToPython(error))


# -- matrices ---------------------------------------------------------------------------------------------------------


def _doubled(*arrays: Any) -> tuple[list[Any], np.dtype]:
    """Arrays in double precision, in which NumPy computes, and the dtype of what it gives.

    Raises TypeError for floats that NumPy has no linear algebra of.
    """
    given = [jnp.asarray(each) for each in arrays]
    dtypes = [np.dtype(each.dtype) if each.dtype.kind in "fcV" else np.dtype(np.float64) for each in given]
    for dtype in dtypes:
        if dtype.kind not in "fc" or dtype.itemsize < 4:
            raise TypeError(f"array type {dtype.name} is unsupported in linalg")
    found = np.result_type(*dtypes)
    wide = np.dtype(np.complex128 if found.kind == "c" else np.float64)
    return [each.astype(wide) for each in given], found


def _real(dtype: np.dtype) -> np.dtype:
    return np.finfo(dtype).dtype


def _from_triangle(matrix: Any, is_upper: bool) -> Any:
    """The Hermitian matrix whose one triangle this matrix has."""
    if matrix.ndim < 2 or matrix.shape[-1] != matrix.shape[-2]:
        raise np.linalg.LinAlgError("Last 2 dimensions of the array must be square")
    half = jnp.triu(matrix) if is_upper else jnp.tril(matrix)
    rest = jnp.triu(matrix, 1) if is_upper else jnp.tril(matrix, -1)
    return half + jnp.swapaxes(rest, -1, -2).conj()


def _is_singular(matrix: Any) -> Any:
    """Whether elimination meets a pivot of zero."""
    lu, _, _ = lax.linalg.lu(lax.stop_gradient(matrix))
    return jnp.diagonal(lu, axis1=-2, axis2=-1) == 0


# -- systems of equations ---------------------------------------------------------------------------------------------


def inv(a: Any) -> Any:
    (matrix,), dtype = _doubled(a)
    found = jnp.linalg.inv(matrix)
    _refuse(_is_singular(matrix), "Singular matrix")
    return found.astype(dtype)


def solve(a: Any, b: Any) -> Any:
    (matrix, right), dtype = _doubled(a, b)
    found = jnp.linalg.solve(matrix, right)
    _refuse(_is_singular(matrix), "Singular matrix")
    return found.astype(dtype)


def tensorinv(a: Any, ind: int = 2) -> Any:
    if ind <= 0:
        raise ValueError("Invalid ind argument.")
    shape = jnp.shape(a)
    return inv(jnp.reshape(a, (math.prod(shape[ind:]), -1))).reshape(*shape[ind:], *shape[:ind])


def tensorsolve(a: Any, b: Any, axes: Sequence[int] | None = None) -> Any:
    tensor, right = jnp.asarray(a), jnp.asarray(b)
    if axes is not None:
        tensor = jnp.moveaxis(tensor, tuple(axes), tuple(range(tensor.ndim - len(axes), tensor.ndim)))
    shape = tensor.shape[right.ndim - tensor.ndim :]
    size = math.prod(shape)
    return solve(tensor.reshape(size, size), right.ravel()).reshape(shape)


def matrix_power(a: Any, n: int) -> Any:
    if n >= 0:
        return _power(jnp.asarray(a), n)
    return _power(inv(a), -n)


def _power(matrix: Any, n: int) -> Any:
    """By squarings; matrices of integers stay such."""
    if matrix.ndim < 2 or matrix.shape[-1] != matrix.shape[-2]:
        raise np.linalg.LinAlgError("Last 2 dimensions of the array must be square")
    found = jnp.broadcast_to(jnp.eye(matrix.shape[-1], dtype=matrix.dtype), matrix.shape) if n == 0 else None
    square = matrix
    while n:
        if n % 2:
            found = square if found is None else jnp.matmul(found, square)
        n //= 2
        square = jnp.matmul(square, square) if n else square
    return found


def lstsq(a: Any, b: Any, rcond: Any = None) -> tuple[Any, Any, Any, Any]:
    (matrix, right), dtype = _doubled(a, b)
    x, residuals, rank, values = _lstsq(matrix, right, rcond)
    real = _real(dtype)
    return x.astype(dtype), residuals.astype(real), rank.astype(np.int32), values.astype(real)


def _lstsq(matrix: Any, right: Any, rcond: Any) -> tuple[Any, Any, Any, Any]:
    x, residuals, rank, values = jnp.linalg.lstsq(matrix, right, rcond)
    rows, columns = matrix.shape
    _refuse(jnp.isnan(values), "SVD did not converge in Linear Least Squares")
    if rows <= columns:
        return x, jnp.zeros(0), rank, values
    _refuse_as_one_program(
        rank < columns,
        "numpy.linalg.lstsq gives no residuals for a matrix of less than full rank",
        "compute them where they are needed, from `a @ x - b`",
    )
    return x, residuals, rank, values


def polyfit(x: Any, y: Any, deg: Any, rcond: Any = None, full: bool = False, w: Any = None, cov: Any = False) -> Any:
    """Least squares on powers of x, each scaled to length 1."""
    (places, values), _ = _doubled(x, y)
    eps = np.finfo(_doubled(x)[1]).eps
    order = int(deg) + 1
    if np.ndim(deg) or order < 1 or places.ndim != 1 or values.ndim not in (1, 2) or places.shape != values.shape[:1]:
        raise TypeError("polyfit expects vectors of one length, more than none, and a degree that is no array")
    left = jnp.vander(places, order)
    if w is not None:
        weights = jnp.asarray(w)
        left = left * weights[:, None]
        values = values * (weights if values.ndim == 1 else weights[:, None])
    scale = jnp.sqrt(jnp.sum(left * left, 0))
    left = left / scale
    bound = places.size * eps if rcond is None else rcond
    if not (full or cov):
        found, _, _, singular = jnp.linalg.lstsq(left, values, bound)
        _refuse(jnp.isnan(singular), "SVD did not converge in Linear Least Squares")
        return _unscaled(found, scale)
    found, residuals, rank, singular = _lstsq(left, values, bound)
    found = _unscaled(found, scale)
    if full:
        return found, residuals, rank.astype(np.int32), singular, jnp.asarray(bound)
    base = inv(left.T @ left) / jnp.outer(scale, scale)
    if cov != "unscaled":
        if places.size <= order:
            raise ValueError("the number of data points must exceed order to scale the covariance matrix")
        factor = residuals / (places.size - order)
        base = base * factor if values.ndim == 1 else base[:, :, None] * factor
    elif values.ndim > 1:
        base = base[:, :, None] * jnp.ones(1)
    return found, base


def _unscaled(found: Any, scale: Any) -> Any:
    return (found.T / scale).T


# -- determinants and factors -----------------------------------------------------------------------------------------


def det(a: Any) -> Any:
    (matrix,), dtype = _doubled(a)
    found = jnp.linalg.det(matrix)
    if matrix.shape[-1] <= 3:  # JAX has formulas for these, which give NaN where elimination meets infinities
        lu, pivots, _ = lax.linalg.lu(lax.stop_gradient(matrix))
        swaps = jnp.sum(pivots != jnp.arange(pivots.shape[-1]), -1)
        product = jnp.prod(jnp.diagonal(lu, axis1=-2, axis2=-1), -1) * (1 - 2 * (swaps % 2))
        found = jnp.where(jnp.all(jnp.isfinite(matrix), (-2, -1)), found, product)
    return found.astype(dtype)


def slogdet(a: Any) -> Any:
    (matrix,), dtype = _doubled(a)
    sign, logarithm = jnp.linalg.slogdet(matrix)
    return SLOGDET(sign.astype(dtype), logarithm.astype(_real(dtype)))


def cholesky(a: Any, /, *, upper: bool = False) -> Any:
    (matrix,), dtype = _doubled(a)
    found = jnp.linalg.cholesky(_from_triangle(matrix, upper))
    _refuse(jnp.isnan(found), "Matrix is not positive definite")
    return (jnp.swapaxes(found, -1, -2).conj() if upper else found).astype(dtype)


def qr(a: Any, mode: str = "reduced") -> Any:
    (matrix,), dtype = _doubled(a)
    found: Any = jnp.linalg.qr(matrix, mode)
    if mode == "r":
        return found.astype(dtype)
    first, second = (each.astype(dtype) for each in found)
    return (first, second) if mode == "raw" else QR(first, second)


# -- eigenvalues and singular values ----------------------------------------------------------------------------------


def eigh(a: Any, UPLO: str = "L") -> Any:  # noqa: N803 (NumPy's name)
    values, vectors, dtype = _eigh(a, UPLO)
    return EIGH(values.astype(_real(dtype)), vectors.astype(dtype))


def eigvalsh(a: Any, UPLO: str = "L") -> Any:  # noqa: N803 (NumPy's name)
    values, _, dtype = _eigh(a, UPLO)
    return values.astype(_real(dtype))


def _eigh(a: Any, triangle: str) -> tuple[Any, Any, np.dtype]:
    if triangle.upper() not in ("L", "U"):
        raise ValueError("UPLO argument must be 'L' or 'U'")
    (matrix,), dtype = _doubled(a)
    values, vectors = jnp.linalg.eigh(_from_triangle(matrix, triangle.upper() == "U"), symmetrize_input=False)
    _refuse(jnp.isnan(values), "Eigenvalues did not converge")
    return values, vectors, dtype


def eig(a: Any) -> Any:
    (matrix,), dtype = _doubled(a)
    values, vectors = jnp.linalg.eig(matrix)
    dtype = _of_eigenvalues("eig", matrix, values, dtype)
    return EIG(values.astype(dtype), vectors.astype(dtype))


def eigvals(a: Any) -> Any:
    (matrix,), dtype = _doubled(a)
    values = jnp.linalg.eigvals(matrix)
    return values.astype(_of_eigenvalues("eigvals", matrix, values, dtype))


def _of_eigenvalues(name: str, matrix: Any, values: Any, dtype: np.dtype) -> np.dtype:
    """The dtype of eigenvalues."""
    _refuse(~jnp.isfinite(matrix), "Array must not contain infs or NaNs")
    if dtype.kind == "c":
        return dtype
    _refuse_as_one_program(
        jnp.all(values.imag == 0),
        f"numpy.linalg.{name} gives real numbers for this matrix, whose eigenvalues all are real",
        f"numpy.linalg.{name}(a.astype(complex)) gives complex numbers for all matrices",
    )
    return np.result_type(dtype, np.complex64)


def svd(a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False) -> Any:
    (matrix,), dtype = _doubled(a)
    if hermitian:
        matrix = _from_triangle(matrix, False)
    if not compute_uv:
        return _singular_values(matrix, hermitian).astype(_real(dtype))
    left, values, right = jnp.linalg.svd(matrix, full_matrices, hermitian=hermitian)
    _refuse(jnp.isnan(values), "SVD did not converge")
    return SVD(left.astype(dtype), values.astype(_real(dtype)), right.astype(dtype))


def svdvals(x: Any, /) -> Any:
    return svd(x, compute_uv=False)


def _singular_values(matrix: Any, hermitian: bool = False) -> Any:
    values = jnp.linalg.svd(matrix, compute_uv=False, hermitian=hermitian)
    _refuse(jnp.isnan(values), "SVD did not converge")
    return values


def pinv(a: Any, rcond: Any = None, hermitian: bool = False, *, rtol: Any = ...) -> Any:
    (matrix,), dtype = _doubled(a)
    rows, columns = matrix.shape[-2:]
    if rcond is not None and rtol is not ...:
        raise ValueError("`rtol` and `rcond` can't be both set.")
    if rcond is None:
        rcond = 1e-15 if rtol is ... else max(rows, columns) * np.finfo(dtype).eps if rtol is None else rtol
    if hermitian:
        matrix = _from_triangle(matrix, False)
    found = jnp.linalg.pinv(matrix, rcond, hermitian)
    if matrix.size:
        _refuse(~jnp.isfinite(matrix), "SVD did not converge")
    return found.astype(dtype)


def matrix_rank(A: Any, tol: Any = None, hermitian: bool = False, *, rtol: Any = None) -> Any:  # noqa: N803 (NumPy's name)
    if rtol is not None and tol is not None:
        raise ValueError("`tol` and `rtol` can't be both set.")
    if jnp.ndim(A) < 2:
        return jnp.any(jnp.asarray(A) != 0).astype(np.int64)
    values = svd(A, compute_uv=False, hermitian=hermitian)
    if tol is None:
        part = max(jnp.shape(A)[-2:]) * np.finfo(values.dtype).eps if rtol is None else jnp.asarray(rtol)[..., None]
        tol = values.max(-1, keepdims=True, initial=0) * part
    else:
        tol = jnp.asarray(tol)[..., None]
    return jnp.sum(values > tol, -1, dtype=np.int64)


def cond(x: Any, p: Any = None) -> Any:
    (matrix,), dtype = _doubled(x)
    if matrix.size == 0:
        raise np.linalg.LinAlgError("cond is not defined on empty arrays")
    if p is None or p in (2, -2):
        values = _singular_values(matrix)
        first, last = values[..., 0], values[..., -1]
        ratio = last / first if p == -2 else first / last
    else:
        inverse = jnp.where(jnp.any(_is_singular(matrix), -1)[..., None, None], np.nan, jnp.linalg.inv(matrix))
        ratio = jnp.linalg.norm(matrix, p, (-2, -1)) * jnp.linalg.norm(inverse, p, (-2, -1))
    had_nan = jnp.any(jnp.isnan(matrix), (-2, -1))
    return jnp.where(jnp.isnan(ratio) & ~had_nan, np.inf, ratio).astype(_real(dtype))


def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    array = jnp.asarray(x)
    if array.dtype.kind in "biu":
        array = array.astype(np.float64)
    axes = tuple(range(array.ndim)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    if len(axes) != 2 or ord not in (2, -2, "nuc"):
        return jnp.linalg.norm(array, ord, axis, keepdims)
    values = svd(jnp.moveaxis(array, axes, (-2, -1)), compute_uv=False)
    found = values.max(-1, initial=0) if ord == 2 else values.min(-1) if ord == -2 else values.sum(-1)
    return jnp.expand_dims(found, tuple(each % array.ndim for each in axes)) if keepdims else found


def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Any:
    return norm(x, ord, (-2, -1), keepdims)


FUNCTIONS: dict[Callable[..., Any], Callable[..., Any]] = {
    np.linalg.inv: inv, np.linalg.solve: solve, np.linalg.tensorinv: tensorinv, np.linalg.tensorsolve: tensorsolve,
    np.linalg.matrix_power: matrix_power, np.linalg.lstsq: lstsq, np.linalg.det: det, np.linalg.slogdet: slogdet,
    np.linalg.cholesky: cholesky, np.linalg.qr: qr, np.linalg.eigh: eigh, np.linalg.eigvalsh: eigvalsh,
    np.linalg.eig: eig, np.linalg.eigvals: eigvals, np.linalg.svd: svd, np.linalg.svdvals: svdvals,
    np.linalg.pinv: pinv, np.linalg.matrix_rank: matrix_rank, np.linalg.cond: cond, np.linalg.norm: norm,
    np.linalg.matrix_norm: matrix_norm, np.polyfit: polyfit,
}  # fmt: skip
