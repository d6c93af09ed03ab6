"""Mathematical functions, each element by itself."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import ClassVar

import numpy as np

from windlass.ir.values import Value
from windlass.ops.base import ANY, BOOLEAN, COMPLEX, FLOAT, Array
from windlass.ops.comparison import Compare
from windlass.ops.creation import Constant
from windlass.ops.elementwise import Add, Divide, Multiply, Negate, Select, Subtract, is_integer_array
from windlass.ops.loop_writer import LoopNames
from windlass.ops.pointwise import Binary, Unary, widened
from windlass.ops.ranges import INFINITY, NOTHING_KNOWN, Range, RangeOf, between, everything, loosened
from windlass.ops.sampling import Draw


class FloatUnary(Unary):
    """A function of floats and complex numbers."""

    dtypes: ClassVar[frozenset[str]] = FLOAT | COMPLEX
    spreads_nan: ClassVar[bool] = True


class Sqrt(FloatUnary):
    """The square root; NaN for negative numbers."""

    name = "stablehlo.sqrt"
    limbs: ClassVar[str] = "sqrt"
    effort: ClassVar[int] = 4
    loop_names: ClassVar[LoopNames] = LoopNames("math.sqrt")

    def find_range(self, of: RangeOf) -> Range:
        if self.tensor.is_complex:
            return NOTHING_KNOWN
        operand = of(self.operand)
        found = operand.meet(0.0, INFINITY).mapped(np.sqrt, self.tensor)
        nan = operand.nan or operand.low < 0
        return replace(found, low=max(found.low, 0.0), nan=nan, negative_zero=operand.negative_zero)

    def partial(self, position: int) -> Value:
        return Divide(Constant.splat(0.5, self.type), self)

    def evaluate(self, operand: Array) -> Array:
        return widened(np.sqrt, operand)


class Rsqrt(FloatUnary):
    """1 / sqrt(operand)."""

    name = "stablehlo.rsqrt"
    limbs: ClassVar[str] = "rsqrt"
    effort: ClassVar[int] = 4
    loop_names: ClassVar[LoopNames] = LoopNames("math.rsqrt")

    def find_range(self, of: RangeOf) -> Range:
        if self.tensor.is_complex:
            return NOTHING_KNOWN
        operand = of(self.operand)
        if operand.low <= 0 or operand.negative_zero:
            signed = operand.may_be_negative
            return between(
                -INFINITY if signed else 0, INFINITY, nan=operand.nan or operand.low < 0, negative_zero=signed
            )
        low, high = 1 / math.sqrt(operand.high), 1 / math.sqrt(operand.low)
        return loosened(Range(low, high, operand.nan), self.tensor)

    def partial(self, position: int) -> Value:
        return Multiply(Constant.splat(-0.5, self.type), Divide(self, self.operand))

    def evaluate(self, operand: Array) -> Array:
        return widened(_reciprocal_root, operand)


class Cbrt(FloatUnary):
    """The real cube root, with the sign of the operand."""

    name = "stablehlo.cbrt"
    limbs: ClassVar[str] = "cbrt"
    effort: ClassVar[int] = 16
    dtypes: ClassVar[frozenset[str]] = FLOAT
    loop_names: ClassVar[LoopNames] = LoopNames("math.cbrt")

    def partial(self, position: int) -> Value:
        return Divide(Constant.splat(1 / 3, self.type), Multiply(self, self))

    def evaluate(self, operand: Array) -> Array:
        return widened(np.cbrt, operand)


class Exponential(FloatUnary):
    """e to the power of the operand."""

    name = "stablehlo.exponential"
    limbs: ClassVar[str] = "exponential"
    effort: ClassVar[int] = 8
    loop_names: ClassVar[LoopNames] = LoopNames("math.exp")

    def find_range(self, of: RangeOf) -> Range:
        if self.tensor.is_complex:
            return NOTHING_KNOWN
        return of(self.operand).mapped(np.exp, self.tensor)

    def partial(self, position: int) -> Value:
        return self

    def evaluate(self, operand: Array) -> Array:
        return widened(np.exp, operand)


class ExponentialMinusOne(FloatUnary):
    """exp(operand) - 1, exact near zero."""

    name = "stablehlo.exponential_minus_one"
    limbs: ClassVar[str] = "exponential_minus_one"
    effort: ClassVar[int] = 8
    loop_names: ClassVar[LoopNames] = LoopNames("math.expm1")

    def find_range(self, of: RangeOf) -> Range:
        if self.tensor.is_complex:
            return NOTHING_KNOWN
        operand = of(self.operand)
        return replace(operand.mapped(np.expm1, self.tensor), negative_zero=operand.may_be_negative)

    def partial(self, position: int) -> Value:
        return Add(self, Constant.splat(1, self.type))

    def evaluate(self, operand: Array) -> Array:
        return widened(np.expm1, operand)


class Log(FloatUnary):
    """The natural logarithm."""

    name = "stablehlo.log"
    limbs: ClassVar[str] = "log"
    effort: ClassVar[int] = 8
    loop_names: ClassVar[LoopNames] = LoopNames("math.log")

    def find_range(self, of: RangeOf) -> Range:
        if self.tensor.is_complex:
            return NOTHING_KNOWN
        operand = of(self.operand)
        found = operand.meet(0.0, INFINITY).mapped(np.log, self.tensor)
        return replace(found, nan=operand.nan or operand.low < 0)

    def partial(self, position: int) -> Value:
        return Divide(Constant.splat(1, self.type), self.operand)

    def evaluate(self, operand: Array) -> Array:
        return widened(np.log, operand)


class LogPlusOne(FloatUnary):
    """log(1 + operand), exact near zero."""

    name = "stablehlo.log_plus_one"
    limbs: ClassVar[str] = "log_plus_one"
    effort: ClassVar[int] = 8
    loop_names: ClassVar[LoopNames] = LoopNames("math.log1p")

    def find_range(self, of: RangeOf) -> Range:
        if self.tensor.is_complex:
            return NOTHING_KNOWN
        operand = of(self.operand)
        found = operand.meet(-1.0, INFINITY).mapped(np.log1p, self.tensor)
        return replace(found, nan=operand.nan or operand.low < -1, negative_zero=operand.may_be_negative)

    def partial(self, position: int) -> Value:
        one = Constant.splat(1, self.type)
        return Divide(one, Add(self.operand, one))

    def evaluate(self, operand: Array) -> Array:
        return widened(np.log1p, operand)


class Logistic(FloatUnary):
    """1 / (1 + exp(-operand))."""

    name = "stablehlo.logistic"
    limbs: ClassVar[str] = "logistic"
    effort: ClassVar[int] = 11

    def find_range(self, of: RangeOf) -> Range:
        if self.tensor.is_complex:
            return NOTHING_KNOWN
        found = of(self.operand).mapped(_logistic, self.tensor)
        return replace(found, low=max(found.low, 0.0))

    def partial(self, position: int) -> Value:
        return Multiply(self, Subtract(Constant.splat(1, self.type), self))

    def evaluate(self, operand: Array) -> Array:
        return widened(_logistic, operand)


class Sine(FloatUnary):
    """The sine, in radians."""

    name = "stablehlo.sine"
    limbs: ClassVar[str] = "sine"
    effort: ClassVar[int] = 10
    loop_names: ClassVar[LoopNames] = LoopNames("math.sin")

    def find_range(self, of: RangeOf) -> Range:
        if self.tensor.is_complex:
            return NOTHING_KNOWN
        operand = of(self.operand)
        return loosened(between(-1, 1, nan=operand.nan or operand.has_infinity, negative_zero=True), self.tensor)

    def partial(self, position: int) -> Value:
        return Cosine(self.operand)

    def evaluate(self, operand: Array) -> Array:
        return widened(np.sin, operand)


class Cosine(FloatUnary):
    """The cosine, in radians."""

    name = "stablehlo.cosine"
    limbs: ClassVar[str] = "cosine"
    effort: ClassVar[int] = 10
    loop_names: ClassVar[LoopNames] = LoopNames("math.cos")

    def find_range(self, of: RangeOf) -> Range:
        if self.tensor.is_complex:
            return NOTHING_KNOWN
        operand = of(self.operand)
        return loosened(between(-1, 1, nan=operand.nan or operand.has_infinity, negative_zero=True), self.tensor)

    def partial(self, position: int) -> Value:
        return Negate(Sine(self.operand))

    def evaluate(self, operand: Array) -> Array:
        return widened(np.cos, operand)


class Tan(FloatUnary):
    """The tangent, in radians."""

    name = "stablehlo.tan"
    limbs: ClassVar[str] = "tan"
    effort: ClassVar[int] = 12
    loop_names: ClassVar[LoopNames] = LoopNames("math.tan")

    def partial(self, position: int) -> Value:
        return Add(Constant.splat(1, self.type), Multiply(self, self))

    def evaluate(self, operand: Array) -> Array:
        return widened(np.tan, operand)


class Tanh(FloatUnary):
    """The hyperbolic tangent."""

    name = "stablehlo.tanh"
    limbs: ClassVar[str] = "tanh"
    effort: ClassVar[int] = 12
    loop_names: ClassVar[LoopNames] = LoopNames("math.tanh")

    def find_range(self, of: RangeOf) -> Range:
        if self.tensor.is_complex:
            return NOTHING_KNOWN
        operand = of(self.operand)
        return replace(operand.mapped(np.tanh, self.tensor), negative_zero=operand.may_be_negative)

    def partial(self, position: int) -> Value:
        one = Constant.splat(1, self.type)
        return Multiply(Add(one, self), Subtract(one, self))

    def evaluate(self, operand: Array) -> Array:
        return widened(np.tanh, operand)


class Atan2(Binary):
    """The angle of the point (rhs, lhs), from -π to π."""

    name = "stablehlo.atan2"
    limbs: ClassVar[str] = "atan2"
    effort: ClassVar[int] = 16
    dtypes: ClassVar[frozenset[str]] = FLOAT
    loop_names: ClassVar[LoopNames] = LoopNames("math.atan2")

    def find_range(self, of: RangeOf) -> Range:
        return loosened(between(-4, 4, nan=of(self.lhs).nan or of(self.rhs).nan, negative_zero=True), self.tensor)

    def partial(self, position: int) -> Value:
        square = Add(Multiply(self.lhs, self.lhs), Multiply(self.rhs, self.rhs))
        return Negate(Divide(self.lhs, square)) if position else Divide(self.rhs, square)

    def evaluate(self, lhs: Array, rhs: Array) -> Array:
        return widened(np.arctan2, lhs, rhs)


def _reciprocal_root(x: Array) -> Array:
    return np.ones_like(x) / np.sqrt(x)


def _logistic(x: Array) -> Array:
    return np.ones_like(x) / (1 + np.exp(-x))


class Power(Binary):
    """lhs to the power of rhs; a negative integer exponent gives 1/lhs**-rhs truncated (0, 1 or -1)."""

    name = "stablehlo.power"
    limbs: ClassVar[str] = "power"
    effort: ClassVar[int] = 24
    dtypes: ClassVar[frozenset[str]] = ANY - BOOLEAN
    loop_names: ClassVar[LoopNames] = LoopNames("math.powf")

    def find_range(self, of: RangeOf) -> Range:
        base, exponent = of(self.lhs), of(self.rhs)
        if not self.tensor.is_float:
            return everything(self.tensor)
        # A power of what has no sign has none; one of NaN may be 1.
        if base.may_be_negative:
            even = exponent.low == exponent.high and exponent.low in (2.0, 4.0, 6.0, 8.0)
            return between(0, INFINITY, nan=base.nan) if even else NOTHING_KNOWN
        return between(0, INFINITY, nan=base.nan or exponent.nan)

    def partial(self, position: int) -> Value:
        if position:
            return Multiply(Log(_without_zeros(self.lhs)), self)
        zero = Constant.splat(0, self.type)
        lower = Power(self.lhs, Subtract(self.rhs, Constant.splat(1, self.type)))
        # Where the exponent is zero the result is 1, whatever the base is.
        return Select(Compare(self.rhs, zero, "EQ"), zero, Multiply(self.rhs, lower))

    def evaluate(self, lhs: Array, rhs: Array) -> Array:
        if not is_integer_array(lhs):
            result = widened(np.power, lhs, rhs)
            if self.tensor.is_complex:
                return result
            # NumPy takes the square root for one exponent that all have, which differs at -0 and -inf.
            is_root = (rhs == 0.5) & ((lhs == 0) | (lhs == -np.inf))
            return np.where(is_root, np.abs(lhs), result)
        result, base, exponent = np.ones_like(lhs), lhs.copy(), rhs.copy()
        if lhs.dtype.kind != "u":
            exponent = np.where(rhs < 0, 0, rhs).astype(rhs.dtype)
        with np.errstate(all="ignore"):
            while (exponent > 0).any():
                result = np.where(exponent & 1, result * base, result).astype(lhs.dtype)
                base = (base * base).astype(lhs.dtype)
                exponent = exponent >> 1
        if lhs.dtype.kind == "u":
            return result
        sign = np.where(rhs & 1, lhs, np.ones_like(lhs))
        negative = np.where(np.abs(lhs) == 1, sign, np.zeros_like(lhs))
        return np.where(rhs < 0, negative, result).astype(lhs.dtype)

    def sample_array(self, draw: Draw, position: int) -> Array:
        """XLA's CPU compiler takes integer exponents modulo 64, so only those below can be compared with it."""
        is_exponent_of_integer = position == 1 and self.lhs.tensor.is_integer
        return (
            draw.tame_array(self.rhs.tensor, -8, 40) if is_exponent_of_integer else super().sample_array(draw, position)
        )


def _without_zeros(value: Value) -> Value:
    """The value with ones in the place of zeros."""
    zero, one = (Constant.splat(number, value.type) for number in (0, 1))
    return Select(Compare(value, zero, "EQ"), one, value)
