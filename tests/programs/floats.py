"""What the kernels of floats.cu do, in NumPy. Arithmetic must give the same bits; the mathematics library need not."""

from __future__ import annotations

import math
from collections.abc import Callable

import ml_dtypes
import numpy as np

from .program import LINE, SLACK, Array, program


def _put(out: Array, *columns: Array) -> None:
    """Writes the columns next to each other, one row for each element."""
    count = columns[0].size
    out[: len(columns) * count] = np.stack([column.astype(out.dtype) for column in columns], 1).ravel()


@program(
    LINE,
    lambda draw, n: (draw.special_floats(n + SLACK), draw.special_floats(n + SLACK), draw.floats(8 * n + SLACK), n),
)
def special_values(a: Array, b: Array, out: Array, n: int) -> None:
    a, b = a[:n], b[:n]
    low = np.where(a == b, np.where(np.signbit(a), a, b), np.fmin(a, b))
    high = np.where(a == b, np.where(np.signbit(a), b, a), np.fmax(a, b))
    _put(out, a + b, a * b, a / b, low, high, np.copysign(a, b), np.abs(a), -a)


@program(
    LINE,
    lambda draw, n: (
        draw.special_floats(n + SLACK),
        draw.special_floats(n + SLACK),
        draw.integers(n + SLACK, low=-9, high=-5),
        n,
    ),
)
def classify(a: Array, b: Array, out: Array, n: int) -> None:
    a, b = a[:n], b[:n]
    facts = (np.isnan(a), np.isinf(a), np.signbit(a), a < b, ~(a >= b), a == b, a != b, np.isfinite(a))
    out[:n] = sum(fact.astype(np.int32) << bit for bit, fact in enumerate(facts))


@program(LINE, lambda draw, n: (draw.special_floats(n + SLACK), draw.floats(5 * n + SLACK), n))
def round_all_ways(x: Array, out: Array, n: int) -> None:
    x = x[:n]
    away = np.copysign(np.floor(np.abs(x) + np.float32(0.5)), x)
    _put(out, np.floor(x), np.ceil(x), np.trunc(x), np.rint(x), away)


@program(
    LINE,
    lambda draw, n: (
        np.round(draw.floats(n + SLACK, low=-50, high=50) * 4) / 4,
        draw.integers(4 * n + SLACK, low=99, high=200),
        n,
    ),
)
def round_to_integers(x: Array, out: Array, n: int) -> None:
    x = x[:n]
    _put(out, np.rint(x), np.trunc(x), np.floor(x), np.ceil(x))


@program(
    LINE,
    lambda draw, n: (
        draw.special_floats(n + SLACK, np.float64) * 1000,
        draw.special_floats(n + SLACK, np.float64),
        draw.doubles(n + SLACK),
        n,
    ),
)
def remainders(a: Array, b: Array, out: Array, n: int) -> None:
    out[:n] = np.fmod(a[:n], b[:n])


@program(
    LINE,
    lambda draw, n: (
        draw.special_floats(n + SLACK),
        draw.special_floats(n + SLACK, np.float64),
        draw.floats(n + SLACK),
        draw.doubles(n + SLACK),
        draw.floats(n + SLACK),
        n,
    ),
)
def roots(x: Array, y: Array, root: Array, wide_root: Array, hypotenuse: Array, n: int) -> None:
    root[:n] = np.sqrt(x[:n])
    wide_root[:n] = np.sqrt(y[:n])
    hypotenuse[:n] = np.sqrt(x[:n] * x[:n] + np.float32(1))


@program(
    LINE,
    lambda draw, n: (
        draw.doubles(n + SLACK),
        draw.doubles(n + SLACK),
        draw.doubles(n + SLACK),
        draw.floats(n + SLACK),
        n,
    ),
)
def double_arithmetic(a: Array, b: Array, out: Array, rounded: Array, n: int) -> None:
    a, b = a[:n], b[:n]
    total = a + 1e-12 * b
    out[:n] = (total - a) * 1e12 + a / b
    rounded[:n] = total


@program(LINE, lambda draw, n: (draw.doubles(n + SLACK), draw.doubles(n + SLACK), n))
def through_single(a: Array, out: Array, n: int) -> None:
    out[:n] = a[:n].astype(np.float32).astype(np.float64) - a[:n]


@program(LINE, lambda draw, n: (draw.floats(n + SLACK), draw.floats(n + SLACK), draw.floats(n + SLACK), n))
def mixed_widths(a: Array, b: Array, out: Array, n: int) -> None:
    out[:n] = a[:n].astype(np.float64) * 0.1 + b[:n].astype(np.float64) / 3.0


@program(LINE, lambda draw, n: (*(draw.floats(n + SLACK) for _ in range(5)), n))
def no_contraction(a: Array, b: Array, c: Array, separate: Array, fused: Array, n: int) -> None:
    separate[:n] = a[:n] * b[:n] + c[:n]
    # The product of two floats is exact in double; the sum is rounded twice, which differs from once only where the
    # wide sum falls on a tie: long double has the digits to avoid it.
    wide = a[:n].astype(np.longdouble) * b[:n].astype(np.longdouble) + c[:n].astype(np.longdouble)
    fused[:n] = wide.astype(np.float32)


@program(LINE, lambda draw, n: (*(draw.floats(n + SLACK, low=-20, high=20) for _ in range(3)), n))
def no_reassociation(a: Array, b: Array, out: Array, n: int) -> None:
    f = np.float32
    out[:n] = ((a[:n] + f(1e8)) - f(1e8)) + (b[:n] * f(3)) / f(3)


@program(LINE, lambda draw, n: (draw.floats(n + SLACK), draw.floats(n + SLACK), n))
def subnormals(a: Array, out: Array, n: int) -> None:
    out[:n] = a[:n] * np.float32(1e-30) * np.float32(1e-10)


def _each(function: Callable[[float], float], values: Array) -> Array:
    return np.array([function(float(value)) for value in values], np.float64)


@program(LINE, lambda draw, n: (draw.floats(n + SLACK), draw.floats(8 * n + SLACK), n), 1e-6)
def exponentials(x: Array, out: Array, n: int) -> None:
    x = x[:n].astype(np.float64)
    size = np.abs(x)
    _put(
        out,
        np.exp(x),
        np.log(size + 0.1),
        np.exp2(x),
        np.log10(size + 0.1),
        size**1.7,
        np.expm1(x),
        np.log1p(size),
        1 / np.sqrt(size + 0.1),
    )


@program(LINE, lambda draw, n: (draw.doubles(n + SLACK, low=-1.5, high=1.5), draw.doubles(8 * n + SLACK), n), 1e-13)
def circular(x: Array, out: Array, n: int) -> None:
    x = x[:n]
    _put(
        out,
        np.sin(x),
        np.cos(x),
        np.tan(x),
        np.arctan(x),
        np.arctan2(x, 0.7),
        np.arcsin(0.5 * x),
        np.arccos(0.5 * x),
        np.hypot(x, 2.0),
    )


@program(LINE, lambda draw, n: (draw.floats(n + SLACK), draw.floats(6 * n + SLACK), n), 1e-6)
def hyperbolic(x: Array, out: Array, n: int) -> None:
    x = x[:n].astype(np.float64)
    _put(out, np.sinh(x), np.cosh(x), np.tanh(x), _each(math.erf, x), _each(math.erfc, x), np.cbrt(x))


@program(LINE, lambda draw, n: (draw.floats(n + SLACK), draw.floats(5 * n + SLACK), n), 2e-6)
def fast_math(x: Array, out: Array, n: int) -> None:
    x = x[:n].astype(np.float64)
    _put(out, np.exp(x), np.sin(x), x / 3, np.clip(x, 0, 1), (np.abs(x) + 0.1) ** 2.5)


@program(LINE, lambda draw, n: (draw.floats(n + SLACK), draw.floats(n + SLACK), draw.floats(n + SLACK), n), 1e-6)
def sine_and_cosine(x: Array, s: Array, c: Array, n: int) -> None:
    s[:n], c[:n] = np.sin(x[:n]), np.cos(x[:n])


@program(
    LINE,
    lambda draw, n: (
        draw.floats(n + SLACK),
        draw.any_bits(n + SLACK),
        draw.floats(n + SLACK),
        draw.any_bits(n + SLACK, dtype=np.uint64),
        n,
    ),
)
def bits_of_floats(x: Array, bits: Array, flipped: Array, wide: Array, n: int) -> None:
    bits[:n] = x[:n].view(np.int32)
    flipped[:n] = -x[:n]
    wide[:n] = x[:n].astype(np.float64).view(np.uint64)


@program(
    LINE,
    lambda draw, n: (
        draw.floats(n + SLACK).astype(np.float16),
        draw.floats(n + SLACK).astype(np.float16),
        draw.floats(n + SLACK).astype(np.float16),
        draw.floats(n + SLACK),
        n,
    ),
)
def halves(a: Array, b: Array, total: Array, wide: Array, n: int) -> None:
    total[:n] = a[:n] + b[:n]
    wide[:n] = a[:n].astype(np.float32) * b[:n].astype(np.float32)


@program(
    LINE,
    lambda draw, n: (draw.floats(n + SLACK, low=-80, high=80), draw.floats(n + SLACK).astype(np.float16), n),
)
def to_half(x: Array, out: Array, n: int) -> None:
    out[:n] = (x[:n] * np.float32(1000)).astype(np.float16)


@program(
    LINE,
    lambda draw, n: (
        draw.floats(n + SLACK).astype(ml_dtypes.bfloat16),
        draw.floats(n + SLACK),
        draw.floats(n + SLACK).astype(ml_dtypes.bfloat16),
        draw.floats(n + SLACK),
        n,
    ),
)
def brain_floats(a: Array, x: Array, out: Array, wide: Array, n: int) -> None:
    value = a[:n].astype(np.float32)
    wide[:n] = value * x[:n]
    out[:n] = (value + x[:n]).astype(ml_dtypes.bfloat16)


@program(LINE, lambda draw, n: (draw.floats(n + SLACK), draw.floats(n + SLACK), n))
def through_brain_float(x: Array, out: Array, n: int) -> None:
    out[:n] = x[:n].astype(ml_dtypes.bfloat16).astype(np.float32)
