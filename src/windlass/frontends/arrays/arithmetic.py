"""NumPy's arithmetic where jax.numpy's gives other values: division by zero, signs of zeros, comparisons of 64 bits.

Each function takes JAX values of the types that NumPy's own loop would have, and gives what that loop gives.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from windlass.diagnostics import ArrayValueError
from windlass.frontends.arrays.tracing import Check, current_tracing, position_now

# -- division ---------------------------------------------------------------------------------------------------------


def floor_divide(x: Any, y: Any) -> Any:
    """`numpy.floor_divide`: 0 by integer zeros, IEEE's quotient by float zeros."""
    if not _is_integer(x):
        return _float_divmod(x, y)[0]
    return _unless_by_zero(jnp.floor_divide, x, y)


def remainder(x: Any, y: Any) -> Any:
    """`numpy.remainder`: with the divisor's sign, zeros too; 0 by integer zeros."""
    if not _is_integer(x):
        return _float_divmod(x, y)[1]
    return _unless_by_zero(jnp.remainder, x, y)


def divmod_of(x: Any, y: Any) -> tuple[Any, Any]:
    """`numpy.divmod`."""
    return (floor_divide(x, y), remainder(x, y)) if _is_integer(x) else _float_divmod(x, y)


def fmod(x: Any, y: Any) -> Any:
    """`numpy.fmod`: with the dividend's sign; 0 by integer zeros."""
    return _unless_by_zero(jax.lax.rem, *jnp.broadcast_arrays(x, y)) if _is_integer(x) else jnp.fmod(x, y)


def _is_integer(x: Any) -> bool:
    return np.dtype(x.dtype).kind in "iu"


def _unless_by_zero(divide: Callable[..., Any], x: Any, y: Any) -> Any:
    """The quotient or remainder of integers, 0 where the divisor is."""
    if not isinstance(y, Tracer) and bool(np.all(np.asarray(y) != 0)):
        return divide(x, y)
    is_zero = y == 0
    return jnp.where(is_zero, jnp.zeros((), x.dtype), divide(x, jnp.where(is_zero, jnp.ones((), y.dtype), y)))


def _float_divmod(x: Any, y: Any) -> tuple[Any, Any]:
    """NumPy's algorithm: the exact remainder of the division that truncates, moved to the divisor's side."""
    kind = x.dtype
    if kind.itemsize < 4:
        quotient, rest = _float_divmod(x.astype(jnp.float32), y.astype(jnp.float32))
        return quotient.astype(kind), rest.astype(kind)
    x, y = jnp.broadcast_arrays(x, y)
    zero = jnp.zeros((), kind)
    rest = jax.lax.rem(x, y)
    exact = (x - rest) / y
    is_other_side = (rest != 0) & ((y < 0) != (rest < 0))
    exact = jnp.where(is_other_side, exact - 1, exact)
    floor = jnp.floor(exact)
    floor = jnp.where(exact - floor > 0.5, floor + 1, floor)
    quotient = x / y
    floor = jnp.where(exact == 0, jnp.copysign(zero, quotient), floor)
    moved = jnp.where(rest == 0, jnp.copysign(zero, y), jnp.where(is_other_side, rest + y, rest))
    is_by_zero = y == 0
    return jnp.where(is_by_zero, quotient, floor), jnp.where(is_by_zero, rest, moved)


# -- powers -----------------------------------------------------------------------------------------------------------


def power(x: Any, y: Any) -> Any:
    """`numpy.power`.

    Raises ValueError for integers to negative integer powers; where the power is traced, the program does.
    """
    if _is_integer(x) and np.dtype(y.dtype).kind == "i":
        text = "Integers to negative integer powers are not allowed."
        if not isinstance(y, Tracer):
            if bool(np.any(np.asarray(y) < 0)):
                raise ValueError(text)
        elif (tracing := current_tracing()) is not None and y.size:
            position, length = position_now()
            fails = jnp.any(y < 0) & (x.size > 0)
            tracing.require_never(fails, Check(text, position, code="WL0916", length=length, kind=ArrayValueError))
    return _integer_power(x, y) if _is_integer(x) else jnp.power(x, y)


def _integer_power(x: Any, y: Any) -> Any:
    """By squaring, as often as the greatest power has bits (jax.numpy looks at six)."""
    if not isinstance(y, Tracer) and y.shape == ():
        return jax.lax.integer_pow(x, int(y))
    x, y = jnp.broadcast_arrays(x, y)
    y = jnp.maximum(y, jnp.zeros((), y.dtype))

    def multiply(state: tuple[Any, Any, Any]) -> tuple[Any, Any, Any]:
        found, square, left = state
        return jnp.where(left & 1 != 0, found * square, found), square * square, left >> 1

    return jax.lax.while_loop(lambda state: jnp.any(state[2] != 0), multiply, (jnp.ones_like(x), x, y))[0]


# -- comparisons ------------------------------------------------------------------------------------------------------


def _comparison(compare: Callable[..., Any], mirrored: Callable[..., Any], if_negative: bool) -> Callable[..., Any]:
    """A comparison that is exact between signed and unsigned integers; `if_negative` says what a negative one gives."""

    def of_signed(signed: Any, unsigned: Any, compare: Callable[..., Any], if_negative: bool) -> Any:
        found = compare(signed.astype(unsigned.dtype), unsigned)
        return (signed < 0) | found if if_negative else (signed >= 0) & found

    def exact(x: Any, y: Any) -> Any:
        kinds = np.dtype(x.dtype).kind + np.dtype(y.dtype).kind
        if kinds == "cc":
            return _in_order(compare, x, y)
        if kinds == "iu":
            return of_signed(x, y, compare, if_negative)
        if kinds == "ui":
            return of_signed(y, x, mirrored, if_negative if compare is mirrored else not if_negative)
        return compare(x, y)

    return exact


def _in_order(compare: Callable[..., Any], x: Any, y: Any) -> Any:
    """Complex numbers by their real parts, then by their imaginary ones; none is before one that has a NaN."""
    if compare in (jnp.equal, jnp.not_equal):
        return compare(x, y)
    strict = {jnp.less_equal: jnp.less, jnp.greater_equal: jnp.greater}.get(compare, compare)
    is_apart = strict(x.real, y.real) & ~jnp.isnan(x.imag) & ~jnp.isnan(y.imag)
    return is_apart | ((x.real == y.real) & compare(x.imag, y.imag))


VALUES: dict[str, Callable[..., Any]] = {
    "floor_divide": floor_divide,
    "remainder": remainder,
    "divmod": divmod_of,
    "fmod": fmod,
    "power": power,
    "less": _comparison(jnp.less, jnp.greater, True),
    "less_equal": _comparison(jnp.less_equal, jnp.greater_equal, True),
    "greater": _comparison(jnp.greater, jnp.less, False),
    "greater_equal": _comparison(jnp.greater_equal, jnp.less_equal, False),
    "equal": _comparison(jnp.equal, jnp.equal, False),
    "not_equal": _comparison(jnp.not_equal, jnp.not_equal, True),
}
"""What NumPy's ufuncs give, by name, where it is not what the function of jax.numpy gives."""
COMPARISONS = frozenset({"less", "less_equal", "greater", "greater_equal", "equal", "not_equal"})
