"""Forms of float arithmetic that a compiler may be tempted to simplify, in one table, and values that show it.

Each form is a function of three arrays. Where all of its operations are rounded once, what is expected is the bits that
`evaluate` gives ("bits"); with functions that are not, the same NaN, infinities and zeros with their signs ("class").
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import jax.numpy as jnp
import ml_dtypes
import numpy as np
from jax import lax
from numpy.typing import NDArray

Array = NDArray[Any]


class Form(NamedTuple):
    """A function of three arrays, and how its results are compared."""

    function: Callable[[Any, Any, Any], Any]
    is_rounded: bool


def filled(x: Any, number: float) -> Any:
    return jnp.full_like(x, number)


def converted(x: Any, dtype: Any) -> Any:
    return lax.convert_element_type(x, dtype)


def as_number(condition: Any, like: Any) -> Any:
    return converted(condition, like.dtype)


def chosen(condition: Any, x: Any, y: Any, like: Any) -> Any:
    return jnp.where(condition, filled(like, x), filled(like, y))


def wider(x: Any) -> Any:
    return jnp.float64 if x.dtype == jnp.float32 else jnp.float32


def summed(x: Any) -> Any:
    return lax.reduce(x, np.zeros((), x.dtype)[()], lax.add, (1,))


def product(x: Any, y: Any, *, batch: bool = False) -> Any:
    dimensions = (((1,), (1,)), ((0,), (0,))) if batch else (((1,), (0,)), ((), ()))
    return lax.dot_general(x, y, dimensions).ravel()


def rounded_to(dtype: Any) -> Callable[[Any, Any, Any], Any]:
    return lambda x, y, z: converted(converted(x, dtype), x.dtype)


ROUNDED: dict[str, Callable[[Any, Any, Any], Any]] = {
    # -- square roots
    "sqrt(x)": lambda x, y, z: lax.sqrt(x),
    "sqrt(x * x)": lambda x, y, z: lax.sqrt(x * x),
    "sqrt(square(x))": lambda x, y, z: lax.sqrt(lax.integer_pow(x, 2)),
    "sqrt(x**4)": lambda x, y, z: lax.sqrt(lax.integer_pow(x, 4)),
    "sqrt(abs(x * x))": lambda x, y, z: lax.sqrt(abs(x * x)),
    "sqrt of a sum of one square": lambda x, y, z: lax.sqrt(summed((x * x)[:, None])),
    "sqrt(x * x + 0)": lambda x, y, z: lax.sqrt(x * x + filled(x, 0)),
    "sqrt(x * x + y * y)": lambda x, y, z: lax.sqrt(x * x + y * y),
    "1 / sqrt(x * x)": lambda x, y, z: filled(x, 1) / lax.sqrt(x * x),
    "sqrt(x) * sqrt(x)": lambda x, y, z: lax.sqrt(x) * lax.sqrt(x),
    "square(sqrt(abs(x)))": lambda x, y, z: lax.integer_pow(lax.sqrt(abs(x)), 2),
    "sqrt(x) / sqrt(y)": lambda x, y, z: lax.sqrt(x) / lax.sqrt(y),
    "sqrt(x * y)": lambda x, y, z: lax.sqrt(x * y),
    "sqrt(x / y)": lambda x, y, z: lax.sqrt(x / y),
    "sqrt(1 / x)": lambda x, y, z: lax.sqrt(filled(x, 1) / x),
    "1 / sqrt(x)": lambda x, y, z: filled(x, 1) / lax.sqrt(x),
    "x / sqrt(x)": lambda x, y, z: x / lax.sqrt(x),
    # -- constants that do nothing, or seem to
    "x * 1": lambda x, y, z: x * filled(x, 1),
    "x * -1": lambda x, y, z: x * filled(x, -1),
    "x + 0": lambda x, y, z: x + filled(x, 0),
    "x + -0": lambda x, y, z: x + filled(x, -0.0),
    "x - 0": lambda x, y, z: x - filled(x, 0),
    "x - -0": lambda x, y, z: x - filled(x, -0.0),
    "0 - x": lambda x, y, z: filled(x, 0) - x,
    "-0 - x": lambda x, y, z: filled(x, -0.0) - x,
    "x * 0": lambda x, y, z: x * filled(x, 0),
    "0 / x": lambda x, y, z: filled(x, 0) / x,
    "x / 0": lambda x, y, z: x / filled(x, 0),
    "x / -1": lambda x, y, z: x / filled(x, -1),
    "x * inf": lambda x, y, z: x * filled(x, np.inf),
    "x / inf": lambda x, y, z: x / filled(x, np.inf),
    "x + inf": lambda x, y, z: x + filled(x, np.inf),
    "x % 1": lambda x, y, z: lax.rem(x, filled(x, 1)),
    "x / 3": lambda x, y, z: x / filled(x, 3),
    "x / a power of 2": lambda x, y, z: x / filled(x, 8),
    "x / a subnormal": lambda x, y, z: x / filled(x, float(ml_dtypes.finfo(x.dtype).smallest_subnormal)),
    "x / the largest power of 2": lambda x, y, z: x / filled(x, 2.0 ** (ml_dtypes.finfo(x.dtype).maxexp - 1)),
    "x * 2 / 2": lambda x, y, z: x * filled(x, 2) / filled(x, 2),
    "x / 2 * 2": lambda x, y, z: x / filled(x, 2) * filled(x, 2),
    "x * 3 / 3": lambda x, y, z: x * filled(x, 3) / filled(x, 3),
    "x * .5 * .5": lambda x, y, z: x * filled(x, 0.5) * filled(x, 0.5),
    "x + 1 - 1": lambda x, y, z: x + filled(x, 1) - filled(x, 1),
    "1 - (1 - x)": lambda x, y, z: filled(x, 1) - (filled(x, 1) - x),
    "1 / (1 / x)": lambda x, y, z: filled(x, 1) / (filled(x, 1) / x),
    # -- an operation and its opposite
    "x - x": lambda x, y, z: x - x,
    "x / x": lambda x, y, z: x / x,
    "x % x": lambda x, y, z: lax.rem(x, x),
    "x * x / x": lambda x, y, z: x * x / x,
    "x * y / y": lambda x, y, z: x * y / y,
    "x / y * y": lambda x, y, z: x / y * y,
    "(x + y) - y": lambda x, y, z: (x + y) - y,
    "x - (x - y)": lambda x, y, z: x - (x - y),
    "x + x - x": lambda x, y, z: x + x - x,
    "x * y - x * y": lambda x, y, z: x * y - x * y,
    # -- sums, products and quotients of one another
    "x + x + x": lambda x, y, z: x + x + x,
    "x * y * z": lambda x, y, z: x * y * z,
    "x * y + z": lambda x, y, z: x * y + z,
    "z - x * y": lambda x, y, z: z - x * y,
    "x * z + y * z": lambda x, y, z: x * z + y * z,
    "x * z - y * z": lambda x, y, z: x * z - y * z,
    "x / z + y / z": lambda x, y, z: x / z + y / z,
    "x * 2 + y * 2": lambda x, y, z: x * filled(x, 2) + y * filled(x, 2),
    "x * .5 + y * .5": lambda x, y, z: x * filled(x, 0.5) + y * filled(x, 0.5),
    "x * x - y * y": lambda x, y, z: x * x - y * y,
    "x / y / z": lambda x, y, z: x / y / z,
    "x / (y / z)": lambda x, y, z: x / (y / z),
    "(x / y) / (z / x)": lambda x, y, z: (x / y) / (z / x),
    "x * (1 / y)": lambda x, y, z: x * (filled(x, 1) / y),
    "reciprocal powers": lambda x, y, z: lax.integer_pow(x, -2),
    # -- signs
    "abs(x) * abs(x)": lambda x, y, z: abs(x) * abs(x),
    "abs(x) / abs(y)": lambda x, y, z: abs(x) / abs(y),
    "abs(x * x)": lambda x, y, z: abs(x * x),
    "abs(sqrt(x))": lambda x, y, z: abs(lax.sqrt(x)),
    "-x * -y": lambda x, y, z: (-x) * (-y),
    "-(x - y)": lambda x, y, z: -(x - y),
    "-(x + y)": lambda x, y, z: -(x + y),
    "x + -y": lambda x, y, z: x + (-y),
    "-x - y": lambda x, y, z: (-x) - y,
    "sign(x) * abs(x)": lambda x, y, z: lax.sign(x) * abs(x),
    "max(x, x)": lambda x, y, z: lax.max(x, x),
    "max(x, y)": lambda x, y, z: lax.max(x, y),
    "min(x, -0)": lambda x, y, z: lax.min(x, filled(x, -0.0)),
    "max(x, -inf)": lambda x, y, z: lax.max(x, filled(x, -np.inf)),
    "max(-x, -y)": lambda x, y, z: lax.max(-x, -y),
    "min(max(x, 0), 1)": lambda x, y, z: lax.min(lax.max(x, filled(x, 0)), filled(x, 1)),
    "max(min(x, 1), 2)": lambda x, y, z: lax.max(lax.min(x, filled(x, 1)), filled(x, 2)),
    "clamp(y, x, z)": lambda x, y, z: lax.clamp(y, x, z),
    # -- conditions
    "condition * z": lambda x, y, z: as_number(x > y, z) * z,
    "where(condition, 1, 0) * z": lambda x, y, z: chosen(x > y, 1, 0, z) * z,
    "where(condition, 0, 1) * z": lambda x, y, z: chosen(x > y, 0, 1, z) * z,
    "(1 - condition) * z": lambda x, y, z: (filled(x, 1) - as_number(x > y, z)) * z,
    "condition as an integer * z": lambda x, y, z: converted(converted(x > y, jnp.int32), z.dtype) * z,
    "two conditions * z": lambda x, y, z: as_number(x > y, z) * as_number(y > z, z) * z,
    "either by conditions": lambda x, y, z: as_number(x > z, x) * x + as_number(x <= z, x) * y,
    "one condition * z": lambda x, y, z: jnp.broadcast_to(as_number(x[0] > y[1], z), z.shape) * z,
    "z / condition": lambda x, y, z: z / as_number(x > y, z),
    "condition / z": lambda x, y, z: as_number(x > y, z) / z,
    "triangle * x": lambda x, y, z: (jnp.tril(jnp.ones((5, 5), x.dtype)) * x[:25].reshape(5, 5)).ravel(),
    "where(x > 0, x, 0)": lambda x, y, z: jnp.where(x > 0, x, filled(x, 0)),
    "where(x < y, x, y)": lambda x, y, z: jnp.where(x < y, x, y),
    "where(x == y, x, y)": lambda x, y, z: jnp.where(x == y, x, y),
    "where(x == 0, 0, x)": lambda x, y, z: jnp.where(x == 0, filled(x, 0), x),
    "where(x > 0, x, -x)": lambda x, y, z: jnp.where(x > 0, x, -x),
    "where(condition, z + 0, z)": lambda x, y, z: jnp.where(x > y, z + filled(z, 0), z),
    "where(condition, x * z, y * z)": lambda x, y, z: jnp.where(x > y, x * z, y * z),
    # -- comparisons
    "not x != x": lambda x, y, z: ~lax.ne(x, x),
    "x - y > 0": lambda x, y, z: x - y > 0,
    "x * x >= 0": lambda x, y, z: x * x >= 0,
    "0 <= x * x": lambda x, y, z: filled(x, 0) <= x * x,
    "not x * x < 0": lambda x, y, z: ~(x * x < 0),
    "abs(x) >= 0": lambda x, y, z: abs(x) >= 0,
    "sqrt(x) >= 0": lambda x, y, z: lax.sqrt(x) >= 0,
    "exp(x) >= 0": lambda x, y, z: lax.exp(x) >= 0,
    "max(x, 0) >= 0": lambda x, y, z: lax.max(x, filled(x, 0)) >= 0,
    "min(abs(x), exp(x)) >= 0": lambda x, y, z: lax.min(abs(x), lax.exp(x)) >= 0,
    "pow(abs(x), y) >= 0": lambda x, y, z: lax.pow(abs(x), y) >= 0,
    "where(x > 0, exp(x), abs(x)) >= 0": lambda x, y, z: jnp.where(x > 0, lax.exp(x), abs(x)) >= 0,
    "where(x > 0, x, 1) >= 0": lambda x, y, z: jnp.where(x > 0, x, filled(x, 1)) >= 0,
    "not x < y": lambda x, y, z: ~(x < y),
    "sign of x + 0": lambda x, y, z: filled(x, 1) / (x + filled(x, 0)) > 0,
    "is_finite(x * y)": lambda x, y, z: lax.is_finite(x * y),
    # -- folds and products of few numbers
    "sum of one": lambda x, y, z: summed(x[:, None]),
    "greatest of one": lambda x, y, z: jnp.max(x[:, None], axis=1),
    "mean of two": lambda x, y, z: summed(jnp.stack([x, y], 1)) / filled(x, 2),
    "greatest of repeated": lambda x, y, z: jnp.max(jnp.broadcast_to(x[:, None], (len(x), 3)), axis=1),
    "product over one axis of one": lambda x, y, z: product(x[:, None], y[20:27][None, :]),
    "masks times a row": lambda x, y, z: product(as_number(x > y, x)[:, None], y[20:29][None, :]),
    "masks times numbers": lambda x, y, z: product(as_number(x > y, x)[:, None], z[:, None], batch=True),
    "mask times a matrix": lambda x, y, z: product(as_number(y[:9].reshape(3, 3) > 0, x), x[:21].reshape(3, 7)),
    "mask times a vector": lambda x, y, z: product(as_number(y[:21].reshape(7, 3) > 0, x), x[:3, None]),
    "unit matrix times a matrix": lambda x, y, z: product(jnp.eye(3, dtype=x.dtype), x[:21].reshape(3, 7)),
    "zeros times a matrix": lambda x, y, z: product(jnp.zeros((3, 3), x.dtype), x[:21].reshape(3, 7)),
    "diagonal times a matrix": lambda x, y, z: product(jnp.diag(y[:3]), x[:21].reshape(3, 7)),
    # -- conversions
    **{f"to {dtype} and back": rounded_to(dtype) for dtype in (
        "bfloat16", "float16", "float32", "float64", "int32", "int8", "uint8", "int64", "bool",
        "float8_e4m3fn", "float8_e5m2")},
    "product in a wider type": lambda x, y, z: converted(converted(x, wider(x)) * converted(y, wider(x)), x.dtype),
    "sum in a wider type": lambda x, y, z: converted(converted(x, wider(x)) + converted(y, wider(x)), x.dtype),
    "root in a wider type": lambda x, y, z: converted(lax.sqrt(converted(x, wider(x))), x.dtype),
    "product in bfloat16": lambda x, y, z: converted(
        converted(x, jnp.bfloat16) * converted(y, jnp.bfloat16), jnp.float32
    ),
    "sum in bfloat16": lambda x, y, z: converted(
        converted(x, jnp.bfloat16) + converted(y, jnp.bfloat16), jnp.float32
    ),
    "product in float8": lambda x, y, z: converted(
        converted(x, jnp.float8_e5m2) * converted(y, jnp.float8_e5m2), jnp.float16
    ),
    "product, then wider": lambda x, y, z: converted(x * y, wider(x)),
    "sum, then wider": lambda x, y, z: converted(x + y, wider(x)),
    "quotient, then wider": lambda x, y, z: converted(x / y, wider(x)),
    "root, then wider": lambda x, y, z: converted(lax.sqrt(x), wider(x)),
    "product and sum, then wider": lambda x, y, z: converted(x * y + z, wider(x)),
    "moved product, then wider": lambda x, y, z: converted((x * y)[::-1].reshape(-1, 2).T, wider(x)).ravel(),
    "choice of sums, then wider": lambda x, y, z: converted(jnp.where(x > y, x + y, z + y), wider(x)),
    "floor(x * y)": lambda x, y, z: lax.floor(x * y),
    "x - floor(x)": lambda x, y, z: x - lax.floor(x),
    "floor(x + .5)": lambda x, y, z: lax.floor(x + filled(x, 0.5)),
    "round(x)": lambda x, y, z: lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN),
    "round away from 0": lambda x, y, z: lax.round(x, lax.RoundingMethod.AWAY_FROM_ZERO),
}  # fmt: skip

FUNCTIONS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "rsqrt(x)": lambda x, y, z: lax.rsqrt(x),
    "rsqrt(x * x)": lambda x, y, z: lax.rsqrt(x * x),
    "rsqrt(1 / x)": lambda x, y, z: lax.rsqrt(filled(x, 1) / x),
    "1 / rsqrt(x)": lambda x, y, z: filled(x, 1) / lax.rsqrt(x),
    "rsqrt(x) * x": lambda x, y, z: lax.rsqrt(x) * x,
    "rsqrt(x) * rsqrt(x)": lambda x, y, z: lax.rsqrt(abs(x)) * lax.rsqrt(abs(x)),
    "sqrt(pow(x, 2))": lambda x, y, z: lax.sqrt(lax.pow(x, filled(x, 2))),
    "pow(x * x, .5)": lambda x, y, z: lax.pow(x * x, filled(x, 0.5)),
    "pow(x * x, -.5)": lambda x, y, z: lax.pow(x * x, filled(x, -0.5)),
    "pow(pow(x, 2), .5)": lambda x, y, z: lax.pow(lax.pow(x, filled(x, 2)), filled(x, 0.5)),
    "pow(sqrt(x), 2)": lambda x, y, z: lax.pow(lax.sqrt(x), filled(x, 2)),
    "pow(pow(abs(x), y), z)": lambda x, y, z: lax.pow(lax.pow(abs(x), y), z),
    "pow(exp(x), y)": lambda x, y, z: lax.pow(lax.exp(x), y),
    "x / pow(y, z)": lambda x, y, z: x / lax.pow(y, z),
    "pow(x, y) * pow(x, z)": lambda x, y, z: lax.pow(x, y) * lax.pow(x, z),
    **{f"pow(x, {number:g})": lambda x, y, z, number=number: lax.pow(x, filled(x, number))
       for number in (0, 1, 2, 3, -1, 0.5, -0.5, 1.5, 0.25)},
    "cbrt(x * x * x)": lambda x, y, z: lax.cbrt(x * x * x),
    "sqrt(exp(x))": lambda x, y, z: lax.sqrt(lax.exp(x)),
    "log(exp(x))": lambda x, y, z: lax.log(lax.exp(x)),
    "exp(log(x))": lambda x, y, z: lax.exp(lax.log(abs(x) + filled(x, 2.0**-12))),
    "exp(x) * exp(y)": lambda x, y, z: lax.exp(x) * lax.exp(y),
    "exp(x) / exp(y)": lambda x, y, z: lax.exp(x) / lax.exp(y),
    "x / exp(y)": lambda x, y, z: x / lax.exp(y),
    "log1p(expm1(x))": lambda x, y, z: lax.log1p(lax.expm1(x)),
    "log(x * y)": lambda x, y, z: lax.log(x * y),
    "log(1 / x)": lambda x, y, z: lax.log(filled(x, 1) / x),
    "log(rsqrt(x) * 3)": lambda x, y, z: lax.log(lax.rsqrt(x) * filled(x, 3)),
    "log(pow(abs(x), y))": lambda x, y, z: lax.log(lax.pow(abs(x), y)),
    "1 / (1 + exp(-x))": lambda x, y, z: filled(x, 1) / (filled(x, 1) + lax.exp(-x)),
    "atan2(x, y)": lambda x, y, z: lax.atan2(x, y),
    **{f"{function.__name__}(x)": lambda x, y, z, function=function: function(x)
       for function in (lax.log, lax.log1p, lax.exp, lax.expm1, lax.exp2, lax.sin, lax.cos, lax.tan, lax.tanh, lax.sinh,
                        lax.cosh, lax.atan, lax.cbrt, lax.erf, lax.logistic)},
}  # fmt: skip

FORMS: Mapping[str, Form] = {
    **{name: Form(function, True) for name, function in ROUNDED.items()},
    **{name: Form(function, False) for name, function in FUNCTIONS.items()},
}


def special_values(dtype: Any, with_subnormals: bool) -> Array:
    """NaN, infinities, zeros, ends of the ranges, ties, numbers whose square overflows or underflows, and others.

    Without subnormals, neither are squares; those that underflow are 0.
    """
    limits = ml_dtypes.finfo(dtype)
    large, small = 2.0 ** (limits.maxexp // 2 + 1), 2.0 ** (limits.minexp // 2 - 1)
    largest, least = float(limits.max), float(limits.smallest_subnormal)
    if with_subnormals:
        numbers = [float(limits.smallest_normal), 3 * least, -least, 1.3 * small, -small]
    else:
        numbers = [small * 2.0**-limits.nmant]
    numbers += [
        *(0.0, -0.0, np.nan, np.inf, -np.inf, largest, -largest / 1.9, large, -1.3 * large, 1.0, -1.0, 2.0, 0.5),
        *(1 + float(limits.eps), 2.5, -2.5, 3.0, 1 / 3, 1.01, 88.9, -104.5, 5.4, 255.2),
    ]  # fmt: skip
    with np.errstate(all="ignore"):
        return np.array(numbers).astype(dtype)


def arguments_of(dtype: Any, *, with_subnormals: bool = True) -> tuple[Array, Array, Array]:
    """All pairs of special values, and a third one beside each."""
    values = special_values(dtype, with_subnormals)
    count = len(values)
    third = np.random.default_rng(1).permutation(np.resize(values, count * count))
    return np.repeat(values, count), np.tile(values, count), third


def differ(found: Array, expected: Array, is_rounded: bool) -> Array:
    """Where results are not the same: in their bits, or in what kind of value they are. NaN is NaN."""
    assert found.dtype == expected.dtype and found.shape == expected.shape
    if found.dtype.kind in "iub":
        return found != expected
    are_nan = np.isnan(found), np.isnan(expected)
    if is_rounded:
        bits = [each.view(f"u{each.dtype.itemsize}") for each in (found, expected)]
        return np.where(are_nan[0] | are_nan[1], are_nan[0] != are_nan[1], bits[0] != bits[1])
    kinds = [
        np.stack([np.isnan(each), np.isinf(each), each == 0, np.signbit(each) & ~np.isnan(each)])
        for each in (found, expected)
    ]
    return np.any(kinds[0] != kinds[1], axis=0)
