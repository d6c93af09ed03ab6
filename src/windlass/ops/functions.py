"""Mathematical functions, each element by itself."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from windlass.ops.base import (
    COMPLEX,
    FLOAT,
    Array,
    Binary,
    Unary,
    widened,
)
from windlass.ops.loop_writer import LoopNames


class FloatUnary(Unary):
    """A function of floats and complex numbers."""

    dtypes: ClassVar[frozenset[str]] = FLOAT | COMPLEX


class Sqrt(FloatUnary):
    """The square root; NaN for negative numbers."""

    name = "stablehlo.sqrt"
    loop_names: ClassVar[LoopNames] = LoopNames("math.sqrt")

    def evaluate(self, operand: Array) -> Array:
        return widened(np.sqrt, operand)


class Rsqrt(FloatUnary):
    """1 / sqrt(operand)."""

    name = "stablehlo.rsqrt"
    loop_names: ClassVar[LoopNames] = LoopNames("math.rsqrt")

    def evaluate(self, operand: Array) -> Array:
        return widened(_reciprocal_root, operand)


class Cbrt(FloatUnary):
    """The real cube root, with the sign of the operand."""

    name = "stablehlo.cbrt"
    dtypes: ClassVar[frozenset[str]] = FLOAT
    loop_names: ClassVar[LoopNames] = LoopNames("math.cbrt")

    def evaluate(self, operand: Array) -> Array:
        return widened(np.cbrt, operand)


class Exponential(FloatUnary):
    """e to the power of the operand."""

    name = "stablehlo.exponential"
    loop_names: ClassVar[LoopNames] = LoopNames("math.exp")

    def evaluate(self, operand: Array) -> Array:
        return widened(np.exp, operand)


class ExponentialMinusOne(FloatUnary):
    """exp(operand) - 1, exact near zero."""

    name = "stablehlo.exponential_minus_one"
    loop_names: ClassVar[LoopNames] = LoopNames("math.expm1")

    def evaluate(self, operand: Array) -> Array:
        return widened(np.expm1, operand)


class Log(FloatUnary):
    """The natural logarithm."""

    name = "stablehlo.log"
    loop_names: ClassVar[LoopNames] = LoopNames("math.log")

    def evaluate(self, operand: Array) -> Array:
        return widened(np.log, operand)


class LogPlusOne(FloatUnary):
    """log(1 + operand), exact near zero."""

    name = "stablehlo.log_plus_one"
    loop_names: ClassVar[LoopNames] = LoopNames("math.log1p")

    def evaluate(self, operand: Array) -> Array:
        return widened(np.log1p, operand)


class Logistic(FloatUnary):
    """1 / (1 + exp(-operand))."""

    name = "stablehlo.logistic"

    def evaluate(self, operand: Array) -> Array:
        return widened(_logistic, operand)


class Sine(FloatUnary):
    """The sine, in radians."""

    name = "stablehlo.sine"
    loop_names: ClassVar[LoopNames] = LoopNames("math.sin")

    def evaluate(self, operand: Array) -> Array:
        return widened(np.sin, operand)


class Cosine(FloatUnary):
    """The cosine, in radians."""

    name = "stablehlo.cosine"
    loop_names: ClassVar[LoopNames] = LoopNames("math.cos")

    def evaluate(self, operand: Array) -> Array:
        return widened(np.cos, operand)


class Tan(FloatUnary):
    """The tangent, in radians."""

    name = "stablehlo.tan"
    loop_names: ClassVar[LoopNames] = LoopNames("math.tan")

    def evaluate(self, operand: Array) -> Array:
        return widened(np.tan, operand)


class Tanh(FloatUnary):
    """The hyperbolic tangent."""

    name = "stablehlo.tanh"
    loop_names: ClassVar[LoopNames] = LoopNames("math.tanh")

    def evaluate(self, operand: Array) -> Array:
        return widened(np.tanh, operand)


class Atan2(Binary):
    """The angle of the point (rhs, lhs), from -π to π."""

    name = "stablehlo.atan2"
    dtypes: ClassVar[frozenset[str]] = FLOAT
    loop_names: ClassVar[LoopNames] = LoopNames("math.atan2")

    def evaluate(self, lhs: Array, rhs: Array) -> Array:
        return widened(np.arctan2, lhs, rhs)


def _reciprocal_root(x: Array) -> Array:
    return np.ones_like(x) / np.sqrt(x)


def _logistic(x: Array) -> Array:
    return np.ones_like(x) / (1 + np.exp(-x))
