"""Mathematical functions, each element by itself."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import ClassVar

import numpy as np

from windlass.ops.base import COMPLEX, FLOAT, Array
from windlass.ops.loop_writer import LoopNames
from windlass.ops.pointwise import Binary, Unary, widened
from windlass.ops.ranges import INFINITY, NOTHING_KNOWN, Range, RangeOf, between, loosened


class FloatUnary(Unary):
    """A function of floats and complex numbers."""

    dtypes: ClassVar[frozenset[str]] = FLOAT | COMPLEX
    spreads_nan: ClassVar[bool] = True


class Sqrt(FloatUnary):
    """The square root; NaN for negative numbers."""

    name = "stablehlo.sqrt"
    effort: ClassVar[int] = 4
    loop_names: ClassVar[LoopNames] = LoopNames("math.sqrt")

    def find_range(self, of: RangeOf) -> Range:
        if self.tensor.is_complex:
            return NOTHING_KNOWN
        operand = of(self.operand)
        found = operand.meet(0.0, INFINITY).mapped(np.sqrt, self.tensor)
        nan = operand.nan or operand.low < 0
        return replace(found, low=max(found.low, 0.0), nan=nan, negative_zero=operand.negative_zero)

    def evaluate(self, operand: Array) -> Array:
        return widened(np.sqrt, operand)


class Rsqrt(FloatUnary):
    """1 / sqrt(operand)."""

    name = "stablehlo.rsqrt"
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

    def evaluate(self, operand: Array) -> Array:
        return widened(_reciprocal_root, operand)


class Cbrt(FloatUnary):
    """The real cube root, with the sign of the operand."""

    name = "stablehlo.cbrt"
    effort: ClassVar[int] = 16
    dtypes: ClassVar[frozenset[str]] = FLOAT
    loop_names: ClassVar[LoopNames] = LoopNames("math.cbrt")

    def evaluate(self, operand: Array) -> Array:
        return widened(np.cbrt, operand)


class Exponential(FloatUnary):
    """e to the power of the operand."""

    name = "stablehlo.exponential"
    effort: ClassVar[int] = 8
    loop_names: ClassVar[LoopNames] = LoopNames("math.exp")

    def find_range(self, of: RangeOf) -> Range:
        if self.tensor.is_complex:
            return NOTHING_KNOWN
        return of(self.operand).mapped(np.exp, self.tensor)

    def evaluate(self, operand: Array) -> Array:
        return widened(np.exp, operand)


class ExponentialMinusOne(FloatUnary):
    """exp(operand) - 1, exact near zero."""

    name = "stablehlo.exponential_minus_one"
    effort: ClassVar[int] = 8
    loop_names: ClassVar[LoopNames] = LoopNames("math.expm1")

    def find_range(self, of: RangeOf) -> Range:
        if self.tensor.is_complex:
            return NOTHING_KNOWN
        operand = of(self.operand)
        return replace(operand.mapped(np.expm1, self.tensor), negative_zero=operand.may_be_negative)

    def evaluate(self, operand: Array) -> Array:
        return widened(np.expm1, operand)


class Log(FloatUnary):
    """The natural logarithm."""

    name = "stablehlo.log"
    effort: ClassVar[int] = 8
    loop_names: ClassVar[LoopNames] = LoopNames("math.log")

    def find_range(self, of: RangeOf) -> Range:
        if self.tensor.is_complex:
            return NOTHING_KNOWN
        operand = of(self.operand)
        found = operand.meet(0.0, INFINITY).mapped(np.log, self.tensor)
        return replace(found, nan=operand.nan or operand.low < 0)

    def evaluate(self, operand: Array) -> Array:
        return widened(np.log, operand)


class LogPlusOne(FloatUnary):
    """log(1 + operand), exact near zero."""

    name = "stablehlo.log_plus_one"
    effort: ClassVar[int] = 8
    loop_names: ClassVar[LoopNames] = LoopNames("math.log1p")

    def find_range(self, of: RangeOf) -> Range:
        if self.tensor.is_complex:
            return NOTHING_KNOWN
        operand = of(self.operand)
        found = operand.meet(-1.0, INFINITY).mapped(np.log1p, self.tensor)
        return replace(found, nan=operand.nan or operand.low < -1, negative_zero=operand.may_be_negative)

    def evaluate(self, operand: Array) -> Array:
        return widened(np.log1p, operand)


class Logistic(FloatUnary):
    """1 / (1 + exp(-operand))."""

    name = "stablehlo.logistic"
    effort: ClassVar[int] = 11

    def find_range(self, of: RangeOf) -> Range:
        if self.tensor.is_complex:
            return NOTHING_KNOWN
        found = of(self.operand).mapped(_logistic, self.tensor)
        return replace(found, low=max(found.low, 0.0))

    def evaluate(self, operand: Array) -> Array:
        return widened(_logistic, operand)


class Sine(FloatUnary):
    """The sine, in radians."""

    name = "stablehlo.sine"
    effort: ClassVar[int] = 10
    loop_names: ClassVar[LoopNames] = LoopNames("math.sin")

    def find_range(self, of: RangeOf) -> Range:
        if self.tensor.is_complex:
            return NOTHING_KNOWN
        operand = of(self.operand)
        return loosened(between(-1, 1, nan=operand.nan or operand.has_infinity, negative_zero=True), self.tensor)

    def evaluate(self, operand: Array) -> Array:
        return widened(np.sin, operand)


class Cosine(FloatUnary):
    """The cosine, in radians."""

    name = "stablehlo.cosine"
    effort: ClassVar[int] = 10
    loop_names: ClassVar[LoopNames] = LoopNames("math.cos")

    def find_range(self, of: RangeOf) -> Range:
        if self.tensor.is_complex:
            return NOTHING_KNOWN
        operand = of(self.operand)
        return loosened(between(-1, 1, nan=operand.nan or operand.has_infinity, negative_zero=True), self.tensor)

    def evaluate(self, operand: Array) -> Array:
        return widened(np.cos, operand)


class Tan(FloatUnary):
    """The tangent, in radians."""

    name = "stablehlo.tan"
    effort: ClassVar[int] = 12
    loop_names: ClassVar[LoopNames] = LoopNames("math.tan")

    def evaluate(self, operand: Array) -> Array:
        return widened(np.tan, operand)


class Tanh(FloatUnary):
    """The hyperbolic tangent."""

    name = "stablehlo.tanh"
    effort: ClassVar[int] = 12
    loop_names: ClassVar[LoopNames] = LoopNames("math.tanh")

    def find_range(self, of: RangeOf) -> Range:
        if self.tensor.is_complex:
            return NOTHING_KNOWN
        operand = of(self.operand)
        return replace(operand.mapped(np.tanh, self.tensor), negative_zero=operand.may_be_negative)

    def evaluate(self, operand: Array) -> Array:
        return widened(np.tanh, operand)


class Atan2(Binary):
    """The angle of the point (rhs, lhs), from -π to π."""

    name = "stablehlo.atan2"
    effort: ClassVar[int] = 16
    dtypes: ClassVar[frozenset[str]] = FLOAT
    loop_names: ClassVar[LoopNames] = LoopNames("math.atan2")

    def find_range(self, of: RangeOf) -> Range:
        return loosened(between(-4, 4, nan=of(self.lhs).nan or of(self.rhs).nan, negative_zero=True), self.tensor)

    def evaluate(self, lhs: Array, rhs: Array) -> Array:
        return widened(np.arctan2, lhs, rhs)


def _reciprocal_root(x: Array) -> Array:
    return np.ones_like(x) / np.sqrt(x)


def _logistic(x: Array) -> Array:
    return np.ones_like(x) / (1 + np.exp(-x))
