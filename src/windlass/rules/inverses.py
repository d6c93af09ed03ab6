"""Functions that undo each other, and exponentials and logarithms one away from those with a name.

Results differ in the last digits, or are more exact, so that these rules are left out where results have to be exact.
"""

from __future__ import annotations

from windlass.facts.ranges import range_of
from windlass.ir import Value
from windlass.ir.values import tensor
from windlass.ops import (
    Add,
    Clamp,
    Constant,
    Convert,
    Exponential,
    ExponentialMinusOne,
    Log,
    LogPlusOne,
    Multiply,
    Negate,
    Power,
    Rsqrt,
    Sqrt,
    Subtract,
)
from windlass.ops.sampling import Draw
from windlass.rewriting.pattern import hole
from windlass.rewriting.rule import rewrite
from windlass.rules.functions import is_real
from windlass.rules.known_operands import bounded, free, random_type
from windlass.rules.splats import compute, is_usual, like, splat, splat_hole

__all__ = ["Clamp", "Convert", "tensor"]

x, y = hole("x"), hole("y")
c, one, minus_one = splat("c"), splat_hole("one", 1), splat_hole("minus_one", -1)

SMALL = 80
"""Exponentials of what is no more than this are finite in f32."""


def _sample_small(draw: Draw, least: int = -5) -> Value:
    return bounded(draw, random_type(draw, ("f32", "f64")), least, 5)


@rewrite(LogPlusOne(ExponentialMinusOne(x)), reassociates=True)
def log_of_exponential_beside_one(x: Value) -> Value | None:
    """log1p(expm1(x)) = x, without overflow, if x is proven to be small

    >>> x = Clamp(Constant.of(-1, "f32"), Convert(tensor("i32"), "f32"), Constant.of(9, "f32"))
    >>> log_of_exponential_beside_one(LogPlusOne(ExponentialMinusOne(x))) is x
    True
    """
    return x if is_real(x) and range_of(x).lies_within(-8, SMALL) else None


@rewrite(ExponentialMinusOne(LogPlusOne(x)), reassociates=True)
def exponential_of_log_beside_one(x: Value) -> Value | None:
    """expm1(log1p(x)) = x, if x is proven to be no less than -1

    >>> x = Convert(tensor("ui8"), "f32")
    >>> exponential_of_log_beside_one(ExponentialMinusOne(LogPlusOne(x)))
    Convert(x, dtype='f32')
    """
    return x if is_real(x) and range_of(x).low >= -1 else None


@rewrite(Exponential(Log(x)), reassociates=True)
def exponential_of_log(x: Value) -> Value | None:
    """exp(log(x)) = x, if x is proven to be no less than 0

    >>> exponential_of_log(Exponential(Log(Convert(tensor("ui8"), "f32"))))
    Convert(x, dtype='f32')
    """
    return x if is_real(x) and not range_of(x).may_be_negative else None


def _sample_times_rsqrt(draw: Draw) -> Multiply:
    x = _sample_small(draw, 1)
    return Multiply(x, Rsqrt(x))


@rewrite(Multiply(x, Rsqrt(x)), reassociates=True, sample=_sample_times_rsqrt)
def operand_times_rsqrt(x: Value) -> Value | None:
    """x · rsqrt(x) = sqrt(x), if x is proven to be positive

    >>> x = Clamp(Constant.of(1, "f32"), Convert(tensor("i32"), "f32"), Constant.of(9, "f32"))
    >>> operand_times_rsqrt(Multiply(x, Rsqrt(x))).operand is x
    True
    """
    return Sqrt(x) if is_real(x) and range_of(x).low > 1e-30 else None


@rewrite(Add(Exponential(x), minus_one), reassociates=True, single_use=True)
def exponential_and_minus_one(x: Value) -> Value | None:
    """exp(x) + -1 = expm1(x), more exactly

    >>> exponential_and_minus_one(Add(Exponential(tensor("f32")), Constant.of(-1, "f32")))
    ExponentialMinusOne(x)
    """
    return ExponentialMinusOne(x) if is_real(x) else None


@rewrite(Subtract(one, Exponential(x)), reassociates=True, single_use=True)
def one_minus_exponential(x: Value) -> Value | None:
    """1 - exp(x) = -expm1(x), more exactly

    >>> one_minus_exponential(Subtract(Constant.of(1, "f32"), Exponential(tensor("f32"))))
    Negate(ExponentialMinusOne(x))
    """
    return Negate(ExponentialMinusOne(x)) if is_real(x) else None


@rewrite(Subtract(ExponentialMinusOne(x), minus_one), reassociates=True, single_use=True)
def exponential_minus_one_without_it(x: Value) -> Value | None:
    """expm1(x) - -1 = exp(x)

    >>> exponential_minus_one_without_it(Subtract(ExponentialMinusOne(tensor("f32")), Constant.of(-1, "f32")))
    Exponential(x)
    """
    return Exponential(x) if is_real(x) else None


@rewrite(Log(Subtract(x, minus_one)), reassociates=True)
def log_without_minus_one(x: Value) -> Value | None:
    """log(x - -1) = log1p(x), more exactly

    >>> log_without_minus_one(Log(Subtract(tensor("f32"), Constant.of(-1, "f32"))))
    LogPlusOne(x)
    """
    return LogPlusOne(x) if is_real(x) else None


@rewrite(Log(Subtract(one, x)), reassociates=True, single_use=True)
def log_of_one_less(x: Value) -> Value | None:
    """log(1 - x) = log1p(-x), more exactly

    >>> log_of_one_less(Log(Subtract(Constant.of(1, "f32"), tensor("f32"))))
    LogPlusOne(Negate(x))
    """
    return LogPlusOne(Negate(x)) if is_real(x) else None


def _sample_log_of_scaled(draw: Draw) -> Log:
    type_ = random_type(draw, ("f32", "f64"))
    scale = like(draw.choose((0.5, 2, 3)), free(type_))
    return Log(Multiply(Exponential(bounded(draw, type_, -5, 5)), scale))


@rewrite(Log(Multiply(Exponential(x), c)), reassociates=True, single_use=True, sample=_sample_log_of_scaled)
def log_of_scaled_exponential(x: Value, c: Constant) -> Value | None:
    """log(c · exp(x)) = x + log(c), without overflow, for a positive number c

    >>> log_of_scaled_exponential(Log(Multiply(Exponential(tensor("f32")), Constant.of(1, "f32"))))
    Add(x, Constant(0.0))
    """
    if not is_real(x) or not is_usual(c) or float(c.number) <= 0:
        return None
    return Add(x, compute(Log, c))


def _sample_power_of_one(draw: Draw) -> Power:
    x = free(random_type(draw, ("f32", "f64")))
    return Power(like(1, x), x)


@rewrite(Power(one, x), sample=_sample_power_of_one)
def power_with_base_one(op: Power, one: Constant) -> Value | None:
    """1 to the power of x = 1, for NaN too

    >>> power_with_base_one(Power(Constant.of(1, "f32"), tensor("f32")))
    Constant(1.0)
    """
    return one if op.tensor.is_float else None
