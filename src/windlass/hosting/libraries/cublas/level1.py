"""cuBLAS's routines on vectors (BLAS level 1)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from windlass.diagnostics.deferral import deferred
from windlass.hosting.libraries.cublas.level3 import compute_dtype, dtype_of, require_sizes
from windlass.hosting.libraries.cublas.state import Handle, cublas
from windlass.hosting.libraries.routines import Address, Factor, Result
from windlass.hosting.libraries.session import Call, real_dtype
from windlass.hosting.libraries.tensor_programs import is_zero, tensor_program

if TYPE_CHECKING:
    from scipy.linalg import blas
else:
    blas = deferred("scipy.linalg.blas")

INT = np.dtype(np.int32)
LONG = np.dtype(np.int64)


# -- as tensor programs -----------------------------------------------------------------------------------------------


def moduli(x: Any) -> Any:
    """|x|, and |Re x| + |Im x| for complex numbers, which is what BLAS goes by."""
    return jnp.abs(jnp.real(x)) + jnp.abs(jnp.imag(x)) if jnp.iscomplexobj(x) else jnp.abs(x)


@tensor_program("is_largest")
def extreme_place(x: Any, is_largest: bool) -> Any:
    """Where the first element of largest (or smallest) modulus is, counted from zero."""
    return jnp.argmax(moduli(x)) if is_largest else jnp.argmin(moduli(x))


@tensor_program()
def sum_moduli(x: Any) -> Any:
    """The sum of moduli."""
    return jnp.sum(moduli(x))


@tensor_program("compute")
def norm(x: Any, compute: Any) -> Any:
    """The Euclidean norm, scaled so that no square overflows or vanishes."""
    parts = jnp.abs(x.astype(compute))
    largest = jnp.max(parts)
    is_plain = (largest > 0) & jnp.isfinite(largest)
    # The norm does not depend on it.
    scale = lax.stop_gradient(jnp.where(is_plain, largest, 1))
    return jnp.sqrt(jnp.sum(jnp.square(parts / scale))) * scale


@tensor_program("is_conjugate", "compute")
def inner_product(x: Any, y: Any, is_conjugate: bool, compute: Any) -> Any:
    """The sum of x y, or of conj(x) y."""
    x, y = x.astype(compute), y.astype(compute)
    return jnp.dot(jnp.conj(x) if is_conjugate else x, y, precision=lax.Precision.HIGHEST)


@tensor_program("compute")
def add_scaled(alpha: Any, x: Any, y: Any, compute: Any) -> Any:
    """alpha x + y."""
    return alpha.astype(compute) * x.astype(compute) + y.astype(compute)


@tensor_program("compute")
def scale(alpha: Any, x: Any, compute: Any) -> Any:
    """alpha x."""
    return alpha.astype(compute) * x.astype(compute)


@tensor_program()
def rotate(x: Any, y: Any, c: Any, s: Any) -> Any:
    """A rotation of all pairs (x, y)."""
    return c * x + s * y, c * y - jnp.conj(s) * x


@tensor_program()
def transform(x: Any, y: Any, h: Any) -> Any:
    """A matrix of two by two applied to all pairs (x, y)."""
    return h[0, 0] * x + h[0, 1] * y, h[1, 0] * x + h[1, 1] * y


# -- routines ---------------------------------------------------------------------------------------------------------


@cublas.routine("cublasI{}amax", "sdcz", legacy=True)
@cublas.routine("cublasI{}amin", "sdcz", legacy=True)
def amax(call: Call, handle: Handle, n: int, x: Address, step_x: int, result: Result) -> None:
    is_long = call.name.endswith("_64")
    place = 0
    if n > 0 and step_x > 0:
        place = 1 + extreme_place(call.vector("x", x, n, step_x), is_largest="amax" in call.routine.name)
    call.put(result, place, LONG if is_long else INT)


@cublas.routine("cublas{}asum", "S D Sc Dz", legacy=True)
def asum(call: Call, handle: Handle, n: int, x: Address, step_x: int, result: Result) -> None:
    view = call.vector("x", x, n, step_x) if n > 0 and step_x > 0 else None
    call.put(result, 0 if view is None else sum_moduli(view), call.real_dtype)


@cublas.routine("cublas{}nrm2", "S D Sc Dz", legacy=True)
def nrm2(call: Call, handle: Handle, n: int, x: Address, step_x: int, result: Result) -> None:
    put_norm(call, n, x, call.dtype, step_x, result, call.real_dtype)


def put_norm(
    call: Call, n: int, x: Address, kind: np.dtype[Any], step_x: int, result: Result, result_kind: np.dtype[Any]
) -> None:
    """The norm of a vector of one dtype, as a number of another."""
    view = call.vector("x", x, n, step_x, kind) if n > 0 and step_x > 0 else None
    call.put(result, 0 if view is None else norm(view, compute=wide(kind)), result_kind)


def wide(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype to compute in: narrow floats are summed as float32."""
    return np.dtype(np.float32) if dtype.itemsize < np.dtype(np.float32).itemsize else compute_dtype(dtype)


@cublas.routine("cublas{}dot", "SD", legacy=True)
@cublas.routine("cublas{}dotu", "CZ", legacy=True)
@cublas.routine("cublas{}dotc", "CZ", legacy=True)
def dot(call: Call, handle: Handle, n: int, x: Address, step_x: int, y: Address, step_y: int, result: Result) -> None:
    value: Any = 0
    if n > 0:
        views = call.vector("x", x, n, step_x), call.vector("y", y, n, step_y)
        value = inner_product(*views, is_conjugate=call.routine.name.endswith("dotc"), compute=call.dtype)
    call.put(result, value)


@cublas.routine("cublas{}axpy", "SDCZ", legacy=True)
def axpy(call: Call, handle: Handle, n: int, alpha: Factor, x: Address, step_x: int, y: Address, step_y: int) -> None:
    put_sum(call, n, call.scalar(alpha), x, call.dtype, step_x, y, call.dtype, step_y, call.dtype)


def put_sum(
    call: Call,
    n: int,
    factor: Any,
    x: Address,
    kind_x: np.dtype[Any],
    step_x: int,
    y: Address,
    kind_y: np.dtype[Any],
    step_y: int,
    compute: np.dtype[Any],
) -> None:
    """y += factor x."""
    if n <= 0 or is_zero(factor):
        return
    views = call.vector("x", x, n, step_x, kind_x), call.vector("y", y, n, step_y, kind_y)
    views[1][...] = add_scaled(factor, *views, compute=compute).astype(kind_y)


@cublas.routine("cublas{}copy", "SDCZ", legacy=True)
def copy(call: Call, handle: Handle, n: int, x: Address, step_x: int, y: Address, step_y: int) -> None:
    if n > 0:
        call.vector("y", y, n, step_y)[...] = call.vector("x", x, n, step_x)


@cublas.routine("cublas{}swap", "SDCZ", legacy=True)
def swap(call: Call, handle: Handle, n: int, x: Address, step_x: int, y: Address, step_y: int) -> None:
    if n > 0:
        views = call.vector("x", x, n, step_x), call.vector("y", y, n, step_y)
        kept = views[0].copy()
        views[0][...] = views[1]
        views[1][...] = kept


@cublas.routine("cublas{}scal", "S D C Z Cs Zd", legacy=True)
def scal(call: Call, handle: Handle, n: int, alpha: Factor, x: Address, step_x: int) -> None:
    kinds = {"cublasCsscal": np.dtype(np.complex64), "cublasZdscal": np.dtype(np.complex128)}
    kind = kinds.get(call.routine.name, call.dtype)
    if n > 0 and step_x > 0:
        put_scaled(call.vector("x", x, n, step_x, kind), call.scalar(alpha), kind)


def put_scaled(view: Any, factor: Any, compute: np.dtype[Any]) -> None:
    """x = factor x, with the factor's real dtype where it is real."""
    kind = compute if factor.dtype.kind == "c" or compute.kind != "c" else real_dtype(compute)
    if kind == compute:
        view[...] = scale(factor, view, compute=compute).astype(view.dtype)
        return
    # A real factor scales the parts by themselves: with a complex one infinities would turn into NaN.
    view.real[...] = scale(factor, view.real, compute=kind)
    view.imag[...] = scale(factor, view.imag, compute=kind)


@cublas.routine("cublas{}rot", "S D Cs", legacy=True)
@cublas.routine("cublas{}rot", "C Z Zd")
def rot(
    call: Call, handle: Handle, n: int, x: Address, step_x: int, y: Address, step_y: int, c: Factor, s: Factor
) -> None:
    words = {"cublasCsrot": np.dtype(np.complex64), "cublasZdrot": np.dtype(np.complex128)}
    kind = words.get(call.routine.name, call.dtype)
    sine = call.scalar(s, real_dtype(kind) if call.routine.name in words else kind)
    if n > 0:
        views = call.vector("x", x, n, step_x, kind), call.vector("y", y, n, step_y, kind)
        views[0][...], views[1][...] = rotate(*views, call.scalar(c, real_dtype(kind)), sine)


@cublas.routine("cublas{}rotg", "SDCZ")
def rotg(call: Call, handle: Handle, a: Result, b: Result, c: Result, s: Result) -> None:
    first, second = read(call, a), read(call, b)
    rotation: Any = getattr(blas, call.dtype.char.replace("f", "s").replace("F", "c").replace("D", "z") + "rotg")
    cosine, sine = rotation(first, second)
    call.put(a, cosine * first + sine * second)
    if call.dtype.kind != "c":
        # By this number the rotation can be made again.
        call.put(b, sine if abs(first) > abs(second) else 1 / cosine if cosine != 0 else 1)
    call.put(c, cosine.real, call.real_dtype)
    call.put(s, sine)


def read(call: Call, place: int) -> Any:
    """A number on the host or the device."""
    return np.frombuffer(call.session.memory.read_number(place)[: call.dtype.itemsize], call.dtype)[0]


@cublas.routine("cublas{}rotm", "SD")
def rotm(
    call: Call, handle: Handle, n: int, x: Address, step_x: int, y: Address, step_y: int, parameters: Result
) -> None:
    size = call.dtype.itemsize
    flag, h11, h21, h12, h22 = (read(call, parameters + place * size) for place in range(5))
    if n <= 0 or flag == -2:
        return
    one = call.dtype.type(1)
    matrices = {-1: ((h11, h12), (h21, h22)), 0: ((one, h12), (h21, one)), 1: ((h11, one), (-one, h22))}
    call.require(flag in matrices, f"the first of the parameters is {flag}")
    views = call.vector("x", x, n, step_x), call.vector("y", y, n, step_y)
    views[0][...], views[1][...] = transform(*views, np.array(matrices[int(flag)], call.dtype))


@cublas.routine("cublas{}rotmg", "SD")
def rotmg(call: Call, handle: Handle, d1: Result, d2: Result, x1: Result, y1: Result, parameters: Result) -> None:
    modified: Any = getattr(blas, "srotmg" if call.dtype == np.float32 else "drotmg")
    first, second, x, y = (read(call, place) for place in (d1, d2, x1, y1))
    found = np.asarray(modified(first, second, x, y))
    size = call.dtype.itemsize
    # What the flag makes superfluous is left as it was.
    flag = found[0]
    wanted = {-2: (0,), -1: (0, 1, 2, 3, 4), 0: (0, 2, 3), 1: (0, 1, 4)}[int(flag)]
    for place in wanted:
        call.put(Result(parameters + place * size), found[place])
    if flag == -2:
        return
    h11, h21, h12, h22 = found[1:]
    if flag == 0:
        h11 = h22 = 1
    elif flag == 1:
        h12, h21 = 1, -1
    # H^T diag(d1', d2') H = diag(d1, d2), and H takes (x, y) to (x', 0).
    determinant = h11 * h22 - h12 * h21
    call.put(x1, h11 * x + h12 * y)
    if determinant == 0:
        # Weights that are below zero have no rotation: everything becomes zero.
        call.put(d1, 0)
        call.put(d2, 0)
        return
    call.put(d1, (first * h22**2 + second * h21**2) / determinant**2)
    call.put(d2, (first * h12**2 + second * h11**2) / determinant**2)


@cublas.routine("cublasNrm2Ex")
def norm_mixed(
    call: Call,
    handle: Handle,
    n: int,
    x: Address,
    type_x: int,
    step_x: int,
    result: Result,
    type_result: int,
    execution: int,
) -> None:
    put_norm(call, n, x, dtype_of(call, type_x), step_x, result, dtype_of(call, type_result))


@cublas.routine("cublasDotEx")
@cublas.routine("cublasDotcEx")
def dot_mixed(
    call: Call,
    handle: Handle,
    n: int,
    x: Address,
    type_x: int,
    step_x: int,
    y: Address,
    type_y: int,
    step_y: int,
    result: Result,
    type_result: int,
    execution: int,
) -> None:
    compute = wide(dtype_of(call, execution))
    value: Any = 0
    if n > 0:
        views = (
            call.vector("x", x, n, step_x, dtype_of(call, type_x)),
            call.vector("y", y, n, step_y, dtype_of(call, type_y)),
        )
        value = inner_product(*views, is_conjugate=call.routine.name == "cublasDotcEx", compute=compute)
    call.put(result, value, dtype_of(call, type_result))


@cublas.routine("cublasAxpyEx")
def axpy_mixed(
    call: Call,
    handle: Handle,
    n: int,
    alpha: Factor,
    type_alpha: int,
    x: Address,
    type_x: int,
    step_x: int,
    y: Address,
    type_y: int,
    step_y: int,
    execution: int,
) -> None:
    kinds = [dtype_of(call, each) for each in (type_alpha, type_x, type_y, execution)]
    put_sum(call, n, call.scalar(alpha, kinds[0]), x, kinds[1], step_x, y, kinds[2], step_y, wide(kinds[3]))


@cublas.routine("cublasScalEx")
def scale_mixed(
    call: Call, handle: Handle, n: int, alpha: Factor, type_alpha: int, x: Address, type_x: int, step_x: int,
    execution: int,
) -> None:  # fmt: skip
    require_sizes(call, n=n)
    if n > 0 and step_x > 0:
        kind = dtype_of(call, type_x)
        put_scaled(call.vector("x", x, n, step_x, kind), call.scalar(alpha, dtype_of(call, type_alpha)), wide(kind))
