"""Exponentials, logarithms, powers."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from windlass.frontends.llvm.builtins.floats import scale, split_exponent
from windlass.frontends.llvm.emitter import Emitter, number_of
from windlass.frontends.llvm.registry import builtin
from windlass.ir import Value
from windlass.ops.comparison import Compare
from windlass.ops.conversion import Convert
from windlass.ops.elementwise import Abs, Add, Divide, IsFinite, Multiply, Power, Subtract
from windlass.ops.extremes import Clamp, Maximum, Minimum
from windlass.ops.functions import Cbrt, Exponential, ExponentialMinusOne, Log, LogPlusOne, Sqrt
from windlass.ops.rounding import RoundNearestEven


@builtin("llvm.exp", "exp", "expf")
def exponential(emit: Emitter, value: Value) -> Value:
    return Exponential(value)


@builtin("expm1", "expm1f")
def exponential_minus_one(emit: Emitter, value: Value) -> Value:
    return ExponentialMinusOne(value)


def through_f32(value: Value) -> tuple[Value, str]:
    """Half floats are computed in f32: the value to work with, and the dtype to return to."""
    return (Convert(value, "f32"), value.dtype) if value.dtype in ("f16", "bf16") else (value, value.dtype)


def back(value: Value, dtype: str) -> Value:
    return value if value.dtype == dtype else Convert(value, dtype)


@builtin("llvm.exp2", "exp2", "exp2f", "llvm.nvvm.ex2.approx.f", "llvm.nvvm.ex2.approx.ftz.f")
def exponential_of_two(emit: Emitter, value: Value) -> Value:
    """2**x: the whole part of x scales exactly, the rest goes through exp; exact for whole x."""
    value, dtype = through_f32(value)
    limited = Clamp(emit.constant(-3000, value.dtype), value, emit.constant(3000, value.dtype))
    whole = RoundNearestEven(limited)
    rest = Multiply(Subtract(limited, whole), emit.constant(math.log(2), value.dtype))
    return back(scale(emit, Exponential(rest), Convert(whole, "i32")), dtype)


@builtin("llvm.exp10", "exp10", "exp10f")
def exponential_of_ten(emit: Emitter, value: Value) -> Value:
    """10**x = 2**n * exp(r): n is the nearest integer to x*log2(10), and r is found with log10(2) in two parts."""
    value, dtype = through_f32(value)
    limited = Clamp(emit.constant(-1000, value.dtype), value, emit.constant(1000, value.dtype))
    whole = RoundNearestEven(Multiply(limited, emit.constant(math.log2(10), value.dtype)))
    high, low = two_parts(LOG10_OF_2, value.dtype)
    rest = Subtract(limited, Multiply(whole, emit.constant(high, value.dtype)))
    rest = Subtract(rest, Multiply(whole, emit.constant(low, value.dtype)))
    found = Exponential(Multiply(rest, emit.constant(math.log(10), value.dtype)))
    return back(scale(emit, found, Convert(whole, "i32")), dtype)


LOG10_OF_2 = Fraction("0.30102999566398119521373889472449302676818988146210854131")


def two_parts(number: Fraction, dtype: str) -> tuple[float, float]:
    """A number as a short part, whose product with an integer of twelve bits is exact, and the rest."""
    digits = 12 if dtype == "f32" else 40
    short = Fraction(round(number * 2**digits), 2**digits)
    return float(short), float(number - short)


@builtin("llvm.log", "log", "logf")
def logarithm(emit: Emitter, value: Value) -> Value:
    return Log(value)


@builtin("log1p", "log1pf")
def logarithm_plus_one(emit: Emitter, value: Value) -> Value:
    return LogPlusOne(value)


@builtin("llvm.log2", "log2", "log2f", "llvm.nvvm.lg2.approx.f")
def logarithm_of_two(emit: Emitter, value: Value) -> Value:
    """Exact for powers of two."""
    return logarithm_with_base(emit, value, 1.0, 0.0, 1 / math.log(2))


@builtin("llvm.log10", "log10", "log10f")
def logarithm_of_ten(emit: Emitter, value: Value) -> Value:
    high, low = two_parts(LOG10_OF_2, value.dtype)
    return logarithm_with_base(emit, value, high, low, 1 / math.log(10))


def logarithm_with_base(emit: Emitter, value: Value, high: float, low: float, factor: float) -> Value:
    """exponent * (high + low) + log(fraction) * factor, the fraction being near 1."""
    value, dtype = through_f32(value)
    fraction, exponent = split_exponent(emit, value)
    large = Compare(fraction, emit.constant(math.sqrt(2), value.dtype), "GT")
    fraction = emit.select(large, Multiply(fraction, emit.constant(0.5, value.dtype)), fraction)
    exponent = emit.select(large, emit.add(exponent, emit.constant(1, "i32")), exponent)
    number = Convert(exponent, value.dtype)
    small = Multiply(Log(fraction), emit.constant(factor, value.dtype))
    if low:
        small = Add(Multiply(number, emit.constant(low, value.dtype)), small)
    found = Add(Multiply(number, emit.constant(high, value.dtype)) if high != 1 else number, small)
    ordinary = IsFinite(value)
    positive = Compare(value, emit.constant(0, value.dtype), "GT")
    # Zero, negative numbers, infinity and NaN: as the natural logarithm has it.
    return back(emit.select(ordinary, emit.select(positive, found, Log(value)), Log(value)), dtype)


# -- powers -----------------------------------------------------------------------------------------------------------


@builtin("llvm.pow", "pow", "powf")
def power(emit: Emitter, base: Value, exponent: Value) -> Value:
    known = number_of(exponent)
    if known == 2:
        return Multiply(base, base)
    return Power(base, exponent)


@builtin("llvm.powi")
def integer_power(emit: Emitter, base: Value, exponent: Value) -> Value:
    """By multiplication where the exponent is a small constant."""
    known = number_of(exponent)
    if known is not None and -16 <= known <= 16:
        count = abs(int(known))
        result: Value = emit.constant(1, base.dtype)
        is_first = True
        factor = base
        while count:
            if count & 1:
                result = factor if is_first else Multiply(result, factor)
                is_first = False
            count >>= 1
            if count:
                factor = Multiply(factor, factor)
        return result if known >= 0 else Divide(emit.constant(1, base.dtype), result)
    return Power(base, Convert(exponent, base.dtype))


@builtin("cbrt", "cbrtf")
def cube_root(emit: Emitter, value: Value) -> Value:
    return Cbrt(value)


@builtin("hypot", "hypotf")
def hypotenuse(emit: Emitter, left: Value, right: Value) -> Value:
    """sqrt(x*x + y*y) without overflow on the way; an infinite side gives infinity, even beside NaN."""
    if left.dtype != "f64":
        wide = [Convert(value, "f64") for value in (left, right)]
        squares = Add(Multiply(wide[0], wide[0]), Multiply(wide[1], wide[1]))
        found: Value = Convert(Sqrt(squares), left.dtype)
    else:
        larger, smaller = Maximum(Abs(left), Abs(right)), Minimum(Abs(left), Abs(right))
        zero, one = emit.constant(0.0, "f64"), emit.constant(1.0, "f64")
        is_zero = Compare(larger, zero, "EQ")
        ratio = Divide(smaller, emit.select(is_zero, one, larger))
        found = Multiply(larger, Sqrt(Add(one, Multiply(ratio, ratio))))
    infinity = emit.constant(np.inf, left.dtype)
    for value in (left, right):
        found = emit.select(Compare(Abs(value), infinity, "EQ"), infinity, found)
    return found
