"""What Python's own functions of numbers give where a number is known only as the program runs.

`int`, `float`, `round`, `max`, `min` and `math`, in double precision. What Python raises, the program does.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, cast

import jax
import jax.numpy as jnp
import jax.scipy.special
import numpy as np

from windlass.diagnostics import ArrayOverflowError, ArrayValueError
from windlass.frontends.arrays.array import Array, as_python_number, is_python_number, strongly_typed, wrapped
from windlass.frontends.arrays.states import is_number, is_traced, plain
from windlass.frontends.arrays.tracing import Check, current_tracing, position_now
from windlass.frontends.arrays.unknown_lengths import UnknownLength


def _of_values(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *numbers: Array(function(*map(plain, numbers)))


def _is_close(a: Any, b: Any, *, rel_tol: Any = 1e-9, abs_tol: Any = 0.0) -> Any:
    largest = np.maximum(np.abs(a), np.abs(b))
    is_near = np.abs(a - b) <= np.maximum(rel_tol * largest, abs_tol)
    return (a == b) | (is_near & np.isfinite(largest))


def _logarithm(x: Any, base: Any = None) -> Any:
    return np.log(x) if base is None else np.log(x) / np.log(base)


FUNCTIONS: dict[Any, Callable[..., Any]] = {
    math.acos: np.arccos, math.acosh: np.arccosh, math.asin: np.arcsin, math.asinh: np.arcsinh, math.atan: np.arctan,
    math.atan2: np.arctan2, math.atanh: np.arctanh, math.cbrt: np.cbrt, math.copysign: np.copysign, math.cos: np.cos,
    math.cosh: np.cosh, math.degrees: np.degrees, math.erf: _of_values(jax.scipy.special.erf),
    math.erfc: _of_values(jax.scipy.special.erfc), math.exp: np.exp, math.exp2: np.exp2, math.expm1: np.expm1,
    math.fabs: np.fabs, math.fmod: np.fmod, math.gamma: _of_values(jax.scipy.special.gamma), math.hypot: np.hypot,
    math.lgamma: _of_values(jax.scipy.special.gammaln), math.log: _logarithm, math.log10: np.log10,
    math.log1p: np.log1p, math.log2: np.log2, math.nextafter: np.nextafter, math.pow: np.power,
    math.radians: np.radians, math.sin: np.sin, math.sinh: np.sinh, math.sqrt: np.sqrt, math.tan: np.tan,
    math.tanh: np.tanh,
}  # fmt: skip
"""Floats in, a float out."""
TO_INTEGERS: dict[Any, Callable[..., Any]] = {math.ceil: np.ceil, math.floor: np.floor, math.trunc: np.trunc}
QUESTIONS: dict[Any, Callable[..., Any]] = {
    math.isclose: _is_close, math.isfinite: np.isfinite, math.isinf: np.isinf, math.isnan: np.isnan,
}  # fmt: skip
OF_INTEGERS: dict[Any, Callable[..., Any]] = {math.gcd: np.gcd, math.lcm: np.lcm}
POLES: dict[Any, Callable[..., Any]] = {
    math.atanh: lambda x: True, math.log: lambda x, base=None: True, math.log10: lambda x: True,
    math.log1p: lambda x: True, math.log2: lambda x: True, math.gamma: lambda x: x <= 0,
    math.lgamma: lambda x: x <= 0, math.pow: lambda x, y: x == 0,
}  # fmt: skip
"""Where an infinite result of finite numbers is outside of what the function is defined for."""
OVERFLOWING: tuple[Any, ...] = (
    math.cosh, math.exp, math.exp2, math.expm1, math.gamma, math.lgamma, math.pow, math.sinh,
)  # fmt: skip
"""Of which Python does not give an infinite result of finite numbers."""


def class_of(value: Any) -> type:
    """The class that a value has in Python: NumPy's, or Python's own for its numbers."""
    if isinstance(value, UnknownLength) or not value.is_scalar:
        return np.ndarray
    number = value.value
    weak: dict[str, Any] = {"i": int, "f": float, "c": complex} if getattr(number, "weak_type", False) else {}
    return weak.get(value.dtype.kind, value.dtype.type)


def asked_of_class(function: Any, arguments: Sequence[Any]) -> Any:
    """What `isinstance(x, kinds)` and `type(x)` give; NotImplemented for any other call."""
    if not arguments or not isinstance(arguments[0], Array | UnknownLength):
        return NotImplemented
    if function is type and len(arguments) == 1:
        return class_of(arguments[0])
    if function is isinstance and len(arguments) == 2:
        value, kinds = arguments
        return isinstance(value, kinds) or issubclass(class_of(value), kinds)
    return NotImplemented


def number_of(function: Any, arguments: Sequence[Any], named: Mapping[str, Any]) -> Any:
    """What one of these functions gives where an argument is traced; NotImplemented for any other call."""
    if function is max or function is min:
        return NotImplemented if named else _extreme(function, arguments)
    if not any(map(is_traced, (*arguments, *named.values()))):
        return NotImplemented
    if isinstance(function, type):
        return converted(function, arguments, named)
    if function is round and arguments and is_number(arguments[0]):
        return _rounded(*arguments, **named)
    return _of_math(function, arguments, named)


def _extreme(function: Any, arguments: Sequence[Any]) -> Any:
    """What Python's `max` and `min` give of numbers, some of them traced: the first, unless a later one is past it."""
    values = arguments[0] if len(arguments) == 1 and isinstance(arguments[0], list | tuple) else arguments
    known = [each for each in cast("Sequence[Any]", values) if is_number(each) and np.ndim(each) == 0]
    if len(known) < max(2, len(values)) or not any(map(is_traced, known)):
        return NotImplemented
    found = known[0]
    for each in known[1:]:
        found = np.where(each > found if function is max else each < found, each, found)[()]
    return as_python_number(found.value) if all(map(is_python_number, known)) else found


def _rounded(number: Any, ndigits: Any = None) -> Any:
    """What Python's `round` gives of a traced number."""
    if ndigits is not None:
        found = np.round(number, ndigits)
        return as_python_number(found.value) if is_python_number(number) else found
    whole = np.rint(number) if np.result_type(number).kind == "f" else number
    return converted(int, (whole,), {})


def converted(kind: type, arguments: Sequence[Any], named: Mapping[str, Any]) -> Any:
    """`int(x)`, `float(x)`, `complex(x, y)`, `numpy.float32(x)` and their kin of traced numbers."""
    if kind is complex and (len(arguments) == 2 or named):
        return _complex(*arguments, **named)
    if len(arguments) != 1 or named or not is_traced(arguments[0]):
        return NotImplemented
    value = arguments[0] if isinstance(arguments[0], Array) else Array(arguments[0])
    if issubclass(kind, np.generic) and kind is not np.bool_:
        return wrapped(strongly_typed(value.astype(kind).value))
    if kind not in (int, float, complex) or value.size != 1 or (value.ndim and kind is not complex):
        return NotImplemented
    traced = value.value
    if value.dtype.kind == "c" and kind is not complex:
        return NotImplemented
    if kind is int and value.dtype.kind == "f":
        tracing = current_tracing()
        if tracing is not None:
            position, length = position_now()
            text = "cannot convert float NaN to integer"
            tracing.require_never(jnp.isnan(traced), Check(text, position, None, "WL0916", length, ArrayValueError))
            fits = jnp.abs(traced.astype(jnp.float64)) < 2.0**63
            text = "a float that is converted to an integer is infinite, or has no place in 64 bits"
            tracing.require_never(~fits, Check(text, position, None, "WL0916", length, ArrayOverflowError))
        return as_python_number(traced.astype(jnp.int64))
    if kind is float and value.dtype.kind in "iub":
        return as_python_number(traced.astype(jnp.float64))
    if kind is int and value.dtype.kind == "b":
        return as_python_number(traced.astype(jnp.int64))
    return as_python_number(traced)


def _complex(real: Any = 0, imag: Any = 0) -> Any:
    """`complex(x, y)`: `x + 1j * y`, with the signs of zeros as they are."""
    given = (real, imag)
    if not all(is_number(each) and np.ndim(each) == 0 for each in given):
        return NotImplemented
    if any(np.result_type(each).kind == "c" for each in given):
        return real + imag * 1j
    parts = [jnp.asarray(plain(each)).astype(jnp.float64) for each in given]
    return as_python_number(jax.lax.complex(*parts))


# -- math -------------------------------------------------------------------------------------------------------------


def _of_math(function: Any, arguments: Sequence[Any], named: Mapping[str, Any]) -> Any:
    tables = (FUNCTIONS, TO_INTEGERS, QUESTIONS, OF_INTEGERS)
    table = next((each for each in tables if any(function is key for key in each)), None)
    numbers = [*arguments, *named.values()]
    if table is None or not all(is_number(each) and np.ndim(each) == 0 for each in numbers):
        return NotImplemented
    kinds = "".join(np.result_type(each).kind for each in numbers)
    if "c" in kinds or (table is OF_INTEGERS and ("f" in kinds or len(arguments) != 2)):
        return NotImplemented
    if table is OF_INTEGERS:
        return as_python_number(plain(table[function](*arguments)))
    if table is TO_INTEGERS and "f" not in kinds:
        return converted(int, arguments, {})
    given = [Array(jnp.asarray(plain(each)).astype(jnp.float64)) for each in arguments]
    found = table[function](*given, **named)
    if table is TO_INTEGERS:
        return converted(int, (found,), {})
    if table is QUESTIONS:
        return found
    _expect_result(function, plain(found), [plain(each) for each in given])
    return as_python_number(plain(found))


def _expect_result(function: Any, value: Any, given: Sequence[Any]) -> None:
    """Let the program fail where Python raises: at NaN that comes of no NaN, at poles, and where floats overflow."""
    tracing = current_tracing()
    if tracing is None:
        return
    position, length = position_now()
    fails = jnp.isnan(value) & ~_any(map(jnp.isnan, given))
    is_infinite = jnp.isinf(value) & ~_any(~jnp.isfinite(each) for each in given)
    if (is_pole := POLES.get(function)) is not None:
        fails |= is_infinite & is_pole(*given)
    domain = Check("math domain error", position, None, "WL0916", length, ArrayValueError)
    tracing.require_never(fails, domain)
    if function in OVERFLOWING:
        limits = Check("math range error", position, None, "WL0916", length, ArrayOverflowError)
        tracing.require_never(is_infinite & ~fails, limits)


def _any(flags: Iterable[Any]) -> Any:
    found: Any = jnp.asarray(False)
    for flag in flags:
        found |= flag
    return found
