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
    if _is_integer(x):
        return _integer_power(x, y)
    if x.ndim and y.size == 1:
        if not isinstance(y, Tracer):
            if np.asarray(y).item() == 0.5:
                return jnp.broadcast_to(_square_root(x), jnp.broadcast_shapes(x.shape, y.shape))
        elif not _is_complex(x):
            return _as_square_root(x, y, jnp.power(x, y))
    return float_power(x, y)


def float_power(x: Any, y: Any) -> Any:
    """`numpy.float_power`: the power whatever the exponent is."""
    return _complex_power(x, y) if _is_complex(x) else jnp.power(x, y)


def _as_square_root(x: Any, y: Any, power: Any) -> Any:
    """Powers of arrays by one number, which are square roots in NumPy where that is a half: of -0 and of -inf these are
    others."""
    root = jnp.where(x == -jnp.inf, jnp.asarray(jnp.nan, x.dtype), jnp.asarray(1, x.dtype))
    root = jnp.where((x == 0) & jnp.signbit(x), jnp.asarray(-1, x.dtype), root)
    return power * jnp.where(y == 0.5, root, jnp.asarray(1, x.dtype))


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


# -- complex numbers --------------------------------------------------------------------------------------------------


def _is_complex(x: Any) -> bool:
    return np.dtype(x.dtype).kind == "c"


def divide(x: Any, y: Any) -> Any:
    """`numpy.divide`: complex numbers by Smith's algorithm, as NumPy does."""
    if not _is_complex(x):
        return jnp.true_divide(x, y)
    is_wide = jnp.abs(y.real) >= jnp.abs(y.imag)
    longer, shorter = jnp.where(is_wide, y.real, y.imag), jnp.where(is_wide, y.imag, y.real)
    is_zero = (y.real == 0) & (y.imag == 0)
    ratio = shorter / longer
    scale = 1 / (longer + shorter * ratio)
    real = jnp.where(is_wide, x.real + x.imag * ratio, x.real * ratio + x.imag) * scale
    imaginary = jnp.where(is_wide, x.imag - x.real * ratio, x.imag * ratio - x.real) * scale
    size = jnp.abs(y.real)
    return jax.lax.complex(
        jnp.where(is_zero, x.real / size, real), jnp.where(is_zero, x.imag / size, imaginary)
    )  # fmt: skip


def reciprocal(x: Any) -> Any:
    """`numpy.reciprocal`."""
    if _is_integer(x):
        return _unless_by_zero(jax.lax.div, jnp.ones_like(x), x)
    if not _is_complex(x):
        return 1 / x
    is_wide = jnp.abs(x.imag) <= jnp.abs(x.real)
    ratio = jnp.where(is_wide, x.imag / x.real, x.real / x.imag)
    whole = jnp.where(is_wide, x.real + x.imag * ratio, x.real * ratio + x.imag)
    one = jnp.ones((), x.real.dtype)
    return jax.lax.complex(jnp.where(is_wide, one, ratio) / whole, -jnp.where(is_wide, ratio, one) / whole)


def absolute(x: Any) -> Any:
    """`numpy.absolute`: infinite for complex numbers of which a part is, whatever the other is."""
    found = jnp.abs(x)
    if not _is_complex(x):
        return found
    return jnp.where(jnp.isinf(x.real) | jnp.isinf(x.imag), jnp.asarray(jnp.inf, found.dtype), found)


def sign(x: Any) -> Any:
    """`numpy.sign`: a zero without a sign for zeros."""
    if _is_integer(x):
        return jnp.sign(x)
    if not _is_complex(x):
        return jnp.where(x == 0, jnp.zeros((), x.dtype), jnp.sign(x))
    size = absolute(x)
    is_plain = jnp.isfinite(size) & (size != 0)
    safe = jnp.where(is_plain, size, jnp.ones((), size.dtype))
    zero, not_a_number = jnp.zeros((), size.dtype), jnp.asarray(jnp.nan, size.dtype)
    is_real, is_imaginary = jnp.isinf(x.real) & jnp.isfinite(x.imag), jnp.isinf(x.imag) & jnp.isfinite(x.real)
    real = jnp.where(
        is_plain,
        x.real / safe,
        jnp.where(is_real, jnp.sign(x.real), jnp.where(is_imaginary | (size == 0), zero, not_a_number)),
    )
    imaginary = jnp.where(
        is_plain,
        x.imag / safe,
        jnp.where(is_imaginary, jnp.sign(x.imag), jnp.where(is_real | (size == 0), zero, not_a_number)),
    )
    return jax.lax.complex(real, imaginary)


def _complex_power(x: Any, y: Any) -> Any:
    """Powers of zero by cases, small whole powers by products, as NumPy does; the rest by logarithms."""
    one, zero = jnp.ones((), x.dtype), jnp.zeros((), x.dtype)
    not_a_number = jnp.asarray(complex(jnp.nan, jnp.nan), x.dtype)
    if not isinstance(y, Tracer) and y.shape == () and y.imag == 0 and abs(y.real) < 100 and y.real == int(y.real):
        count = int(y.real)
        if count == 0:
            return jnp.ones_like(x)
        product = _product_of_equal(x, abs(count))
        found = product if count > 0 else divide(one, product)
        return jnp.where(x == 0, zero if count > 0 else not_a_number, found)
    x, y = jnp.broadcast_arrays(x, y)
    is_whole = (y.imag == 0) & (y.real == jnp.trunc(y.real)) & (jnp.abs(y.real) < 100)
    count = jnp.where(is_whole, jnp.abs(y.real), 0).astype(jnp.int32)

    def multiply(state: tuple[Any, Any, Any]) -> tuple[Any, Any, Any]:
        found, square, left = state
        return jnp.where(left & 1 != 0, found * square, found), square * square, left >> 1

    start = (jnp.ones_like(x), x, count)
    by_products, _, _ = jax.lax.while_loop(lambda state: jnp.any(state[2] != 0), multiply, start)
    for few in (1, 2, 3):  # without a product by one, which makes NaN of infinity
        by_products = jnp.where(count == few, _product_of_equal(x, few), by_products)
    by_products = jnp.where(y.real < 0, divide(one, by_products), by_products)
    found = jnp.where(is_whole, by_products, jnp.power(x, y))
    found = jnp.where(x == 0, jnp.where(y.real > 0, zero, not_a_number), found)
    return jnp.where(y == 0, one, found)


def _product_of_equal(x: Any, count: int) -> Any:
    """`x` so many times, multiplied in NumPy's order."""
    if count <= 3:
        return (x, x * x, x * (x * x))[count - 1]
    found, square = jnp.ones_like(x), x
    while True:
        found = found * square if count & 1 else found
        count >>= 1
        if not count:
            return found
        square = square * square


def _on_its_side(function: Callable[..., Any], real: int, imaginary: int) -> Callable[..., Any]:
    """An inverse function whose parts have the signs of its argument's (times 1 or -1), also on the branch cuts, where
    the sign of a zero decides; a part whose factor is 0 stays as it is."""

    def signed(x: Any) -> Any:
        found = function(x)
        if not _is_complex(x):
            return found
        parts = [
            jnp.copysign(part, of * sign) if sign else part
            for part, of, sign in ((found.real, x.real, real), (found.imag, x.imag, imaginary))
        ]
        return jax.lax.complex(*parts)

    return signed


_square_root = _on_its_side(jnp.sqrt, 0, 1)


def _chosen(is_before: Callable[..., Any], passes_nan: bool) -> Callable[..., Any]:
    """`maximum` and its kin: the first unless the second is past it, which also holds for complex numbers and zeros."""

    def choose(x: Any, y: Any) -> Any:
        x_is_first = is_before(x, y) | jnp.isnan(x if passes_nan else y)
        return jnp.where(x_is_first, x, y)

    return choose


def _extreme(of_floats: Callable[..., Any], is_before: Callable[..., Any], passes_nan: bool) -> Callable[..., Any]:
    choose = _chosen(is_before, passes_nan)

    def extreme(x: Any, y: Any) -> Any:
        return choose(x, y) if _is_complex(x) or x.dtype == np.float16 else of_floats(x, y)

    return extreme


# -- parts of floats --------------------------------------------------------------------------------------------------


def modf(x: Any) -> tuple[Any, Any]:
    """`numpy.modf`: fraction and whole part, both with the number's sign."""
    whole = jnp.trunc(x)
    fraction = jnp.where(jnp.isinf(x), jnp.zeros((), x.dtype), x - whole)
    return jnp.copysign(fraction, x), whole


def nextafter(x: Any, y: Any) -> Any:
    """`numpy.nextafter`: where both are equal the second, but for halves the first."""
    found = jnp.nextafter(x, y)
    return jnp.where(x == y, x, found) if x.dtype == np.float16 else found


def spacing(x: Any) -> Any:
    """`numpy.spacing`: that of a zero is positive, that of an infinity NaN."""
    found = jnp.where(jnp.isinf(x), jnp.asarray(jnp.nan, x.dtype), jnp.spacing(x))
    return jnp.where(x == 0, jnp.abs(found), found)


def exp2(x: Any) -> Any:
    """`numpy.exp2`: exact for whole numbers."""
    if x.dtype == np.float16:
        return exp2(x.astype(jnp.float32)).astype(x.dtype)
    if _is_complex(x):
        return jnp.exp2(x)
    limit = 2100 if x.dtype.itemsize == 8 else 300
    whole = jnp.where(jnp.isnan(x), 0, jnp.clip(jnp.rint(x), -limit, limit))
    rest = jnp.where(jnp.isinf(x), jnp.zeros((), x.dtype), x - whole)
    return jnp.ldexp(jnp.exp(jnp.clip(rest, -1, 1) * np.log(2).astype(x.dtype)), whole.astype(jnp.int32))


def logaddexp2(x: Any, y: Any) -> Any:
    """`numpy.logaddexp2`."""
    if x.dtype == np.float16:
        return logaddexp2(x.astype(jnp.float32), y.astype(jnp.float32)).astype(x.dtype)
    greater, difference = jnp.maximum(x, y), jnp.where(x == y, jnp.zeros((), x.dtype), -jnp.abs(x - y))
    return greater + jnp.log1p(exp2(difference)) * np.asarray(1 / np.log(2), x.dtype)


# -- divisors ---------------------------------------------------------------------------------------------------------


def _magnitude(x: Any) -> Any:
    """The absolute value as an unsigned integer, which also has that of the least one."""
    unsigned = np.dtype(f"u{x.dtype.itemsize}")
    return jnp.where(x < 0, -x, x).astype(unsigned)


def _gcd_of_magnitudes(x: Any, y: Any) -> Any:
    def step(state: tuple[Any, Any]) -> tuple[Any, Any]:
        a, b = state
        is_done = b == 0
        return jnp.where(is_done, a, b), jnp.where(is_done, b, a % jnp.where(is_done, jnp.ones((), b.dtype), b))

    return jax.lax.while_loop(lambda state: jnp.any(state[1] != 0), step, (x, y))[0]


def gcd(x: Any, y: Any) -> Any:
    """`numpy.gcd`."""
    first, second = map(_magnitude, jnp.broadcast_arrays(x, y))
    return _gcd_of_magnitudes(first, second).astype(x.dtype)


def lcm(x: Any, y: Any) -> Any:
    """`numpy.lcm`: 0 where one is 0."""
    first, second = map(_magnitude, jnp.broadcast_arrays(x, y))
    divisor = _gcd_of_magnitudes(first, second)
    return (_unless_by_zero(jax.lax.div, first, divisor) * second).astype(x.dtype)


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


LESS_EQUAL = _comparison(jnp.less_equal, jnp.greater_equal, True)
GREATER_EQUAL = _comparison(jnp.greater_equal, jnp.less_equal, False)
VALUES: dict[str, Callable[..., Any]] = {
    "floor_divide": floor_divide,
    "remainder": remainder,
    "divmod": divmod_of,
    "fmod": fmod,
    "power": power,
    "float_power": float_power,
    "divide": divide,
    "reciprocal": reciprocal,
    "absolute": absolute,
    "sign": sign,
    "maximum": _extreme(jnp.maximum, GREATER_EQUAL, True),
    "minimum": _extreme(jnp.minimum, LESS_EQUAL, True),
    "fmax": _extreme(jnp.fmax, GREATER_EQUAL, False),
    "fmin": _extreme(jnp.fmin, LESS_EQUAL, False),
    "modf": modf,
    "nextafter": nextafter,
    "spacing": spacing,
    "exp2": exp2,
    "logaddexp2": logaddexp2,
    "arcsin": _on_its_side(jnp.arcsin, 1, 1),
    "arcsinh": _on_its_side(jnp.arcsinh, 1, 1),
    "arctan": _on_its_side(jnp.arctan, 1, 1),
    "arctanh": _on_its_side(jnp.arctanh, 1, 1),
    "arccos": _on_its_side(jnp.arccos, 0, -1),
    "arccosh": _on_its_side(jnp.arccosh, 0, 1),
    "sqrt": _square_root,
    "gcd": gcd,
    "lcm": lcm,
    "less": _comparison(jnp.less, jnp.greater, True),
    "less_equal": LESS_EQUAL,
    "greater": _comparison(jnp.greater, jnp.less, False),
    "greater_equal": GREATER_EQUAL,
    "equal": _comparison(jnp.equal, jnp.equal, False),
    "not_equal": _comparison(jnp.not_equal, jnp.not_equal, True),
}
"""What NumPy's ufuncs give, by name, where it is not what the function of jax.numpy gives."""
COMPARISONS = frozenset({"less", "less_equal", "greater", "greater_equal", "equal", "not_equal"})
