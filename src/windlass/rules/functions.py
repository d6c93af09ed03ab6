"""Roots, powers, exponentials and logarithms: composed ones made one, with results as exact or more so.

Unless a rule says otherwise, results differ in the last digits, so that these rules are left out where results have to
be exact.
"""

from __future__ import annotations

import math

from windlass.facts.ranges import range_of
from windlass.ir import Value
from windlass.ir.values import tensor
from windlass.ops import (
    Abs,
    Add,
    Clamp,
    Constant,
    Convert,
    Divide,
    Exponential,
    ExponentialMinusOne,
    Log,
    Logistic,
    LogPlusOne,
    Multiply,
    Negate,
    Power,
    Rsqrt,
    Sqrt,
    Square,
    Subtract,
    Tanh,
)
from windlass.ops.sampling import Draw
from windlass.rewriting.pattern import hole
from windlass.rewriting.rule import rewrite
from windlass.rewriting.sharing import is_alone
from windlass.rules.known_operands import bounded, non_negative, random_type
from windlass.rules.splats import is_number, is_splat, like, splat, splat_hole

__all__ = ["Clamp", "Convert", "tensor"]

x, y, z = hole("x"), hole("y"), hole("z")
c, one = splat("c"), splat_hole("one", 1)
zero = hole("zero", lambda value: is_splat(value) and not value.number)


def is_real(value: Value) -> bool:
    """Whether it is a float of a type with infinities, and not an empty tensor."""
    return value.tensor.is_float and not value.dtype.startswith("f8") and value.tensor.size > 0


# -- roots ------------------------------------------------------------------------------------------------------------


@rewrite(Sqrt(Multiply(x, x)), reassociates=True)
def sqrt_of_product_with_itself(x: Value) -> Value | None:
    """sqrt(x · x) = |x|, without overflow

    >>> x = tensor("f32")
    >>> sqrt_of_product_with_itself(Sqrt(Multiply(x, x)))
    Abs(x)
    """
    return Abs(x) if is_real(x) else None


@rewrite(Sqrt(Square(x)), reassociates=True)
def sqrt_of_square(x: Value) -> Value | None:
    """sqrt(square(x)) = |x|, without overflow

    >>> sqrt_of_square(Sqrt(Square(tensor("f32"))))
    Abs(x)
    """
    return Abs(x) if is_real(x) else None


@rewrite(Divide(x, Sqrt(y)), reassociates=True, single_use=True)
def divide_by_sqrt(x: Value, y: Value) -> Value | None:
    """x / sqrt(y) = x · rsqrt(y)

    >>> divide_by_sqrt(Divide(tensor("f32"), Sqrt(tensor("f32", name="y"))))
    Multiply(x, Rsqrt(y))
    """
    return Multiply(x, Rsqrt(y)) if is_real(x) else None


def sample_rsqrt_over(draw: Draw) -> Divide:
    y = bounded(draw, random_type(draw, ("f32", "f64")), 1, 9, "y")
    return Divide(Rsqrt(y), y)


@rewrite(Divide(Rsqrt(y), y), reassociates=True, sample=sample_rsqrt_over)
def rsqrt_over_operand(op: Divide, y: Value) -> Value | None:
    """rsqrt(y) / y = rsqrt(y)³, if y is proven to have no sign and not to be tiny

    >>> y = Clamp(Constant.of(1, "f32"), Convert(tensor("i32", name="y"), "f32"), Constant.of(9, "f32"))
    >>> rsqrt_over_operand(Divide(Rsqrt(y), y)).lhs
    Rsqrt(Clamp(Constant(1.0), Convert(y, dtype='f32'), Constant(9.0)))
    """
    if not is_real(y) or not range_of(y).low > 1e-12:
        return None
    root = op.lhs
    return Multiply(root, Multiply(root, root))


def sample_square_of_sqrt(draw: Draw) -> Multiply:
    root = Sqrt(non_negative(draw, random_type(draw, ("f32", "f64"))))
    return Multiply(root, root)


@rewrite(Multiply(Sqrt(x), Sqrt(x)), reassociates=True, sample=sample_square_of_sqrt)
def square_of_sqrt(x: Value) -> Value | None:
    """sqrt(x) · sqrt(x) = x, if x is proven to be neither negative nor -0.0

    >>> root = Sqrt(Convert(tensor("ui8"), "f32"))
    >>> square_of_sqrt(Multiply(root, root))
    Convert(x, dtype='f32')
    """
    return x if is_real(x) and not range_of(x).may_be_negative else None


# -- powers -----------------------------------------------------------------------------------------------------------


def sample_power(draw: Draw, exponents: tuple[float, ...]) -> Power:
    type_ = random_type(draw, ("f32", "f64"))
    base = non_negative(draw, type_) if draw.boolean() else bounded(draw, type_, -3, 9)
    return Power(base, Constant.of(draw.choose(exponents), type_.dtype, type_.shape))


@rewrite(Power(x, one))
def power_of_one(x: Value) -> Value | None:
    """x to the power of 1 = x, to the last bit

    >>> power_of_one(Power(tensor("f32"), Constant.of(1, "f32")))
    x
    """
    return None if x.tensor.is_complex else x


@rewrite(Power(x, zero))
def power_of_zero(op: Power, x: Value) -> Value | None:
    """x to the power of 0 = 1, for NaN too

    >>> power_of_zero(Power(tensor("f32"), Constant.of(0, "f32")))
    Constant(1.0)
    """
    return None if x.tensor.is_complex else Constant.of(1, op.dtype, op.shape)


@rewrite(Power(x, c), reassociates=True, sample=lambda draw: sample_power(draw, (2, 3, 4)))
def power_of_small_integer(x: Value, c: Constant) -> Value | None:
    """x to the power of 2 = x · x, and so for 3 and 4, as products

    >>> x = tensor("f32")
    >>> power_of_small_integer(Power(x, Constant.of(2, "f32")))
    Multiply(x, x)
    """
    if not is_real(x) or c.number not in (2, 3, 4):
        return None
    square = Multiply(x, x)
    return square if c.number == 2 else Multiply(square, x if c.number == 3 else square)


@rewrite(Power(x, c), reassociates=True, sample=lambda draw: sample_power(draw, (-1, -2)))
def power_of_negative_integer(x: Value, c: Constant) -> Value | None:
    """x to the power of -1 = 1 / x, and to that of -2 = 1 / (x · x)

    >>> power_of_negative_integer(Power(tensor("f32"), Constant.of(-1, "f32")))
    Divide(Constant(1.0), x)
    """
    if not is_real(x) or c.number not in (-1, -2):
        return None
    return Divide(like(1, c), x if c.number == -1 else Multiply(x, x))


@rewrite(Power(x, c), reassociates=True, sample=lambda draw: sample_power(draw, (0.5, -0.5, 1.5)))
def power_of_half(x: Value, c: Constant) -> Value | None:
    """x to the power of 1/2 = sqrt(x), of -1/2 rsqrt(x), of 3/2 x · sqrt(x), if x is neither -inf nor -0.0

    >>> power_of_half(Power(Abs(tensor("f32")), Constant.of(0.5, "f32")))
    Sqrt(Abs(x))
    """
    known = range_of(x)
    if not is_real(x) or known.low == -math.inf or known.negative_zero:
        return None
    if c.number == 0.5:
        return Sqrt(x)
    if c.number == -0.5:
        return Rsqrt(x)
    return Multiply(x, Sqrt(x)) if c.number == 1.5 else None


# -- exponentials and logarithms --------------------------------------------------------------------------------------


@rewrite(Log(Exponential(x)), reassociates=True)
def log_of_exponential(x: Value) -> Value | None:
    """log(exp(x)) = x, without overflow

    >>> log_of_exponential(Log(Exponential(tensor("f32"))))
    x
    """
    return x if is_real(x) else None


@rewrite(Log(Divide(Exponential(x), y)), reassociates=True)
def log_of_share(op: Log, x: Value, y: Value) -> Value | None:
    """log(exp(x) / y) = x - log(y), if y is proven not to be negative: the logarithm of a softmax

    It is finite where exp(x) underflows.

    >>> log_of_share(Log(Divide(Exponential(tensor("f32")), Abs(tensor("f32", name="y")))))
    Subtract(x, Log(Abs(y)))
    """
    # The exponential may have other users (it has, in a softmax), but the quotient must go.
    return Subtract(x, Log(y)) if is_real(x) and is_alone(op.operand) and range_of(y).low >= 0 else None


@rewrite(Log(Add(x, one)), reassociates=True)
def log_of_one_more(x: Value) -> Value | None:
    """log(x + 1) = log1p(x), more exactly

    >>> log_of_one_more(Log(Add(tensor("f32"), Constant.of(1, "f32"))))
    LogPlusOne(x)
    """
    return LogPlusOne(x) if is_real(x) else None


@rewrite(Subtract(Exponential(x), one), reassociates=True, single_use=True)
def exponential_minus_one(x: Value) -> Value | None:
    """exp(x) - 1 = expm1(x), more exactly

    >>> exponential_minus_one(Subtract(Exponential(tensor("f32")), Constant.of(1, "f32")))
    ExponentialMinusOne(x)
    """
    return ExponentialMinusOne(x) if is_real(x) else None


@rewrite(Add(ExponentialMinusOne(x), one), reassociates=True, single_use=True)
def one_more_than_exponential_minus_one(x: Value) -> Value | None:
    """expm1(x) + 1 = exp(x)

    >>> one_more_than_exponential_minus_one(Add(ExponentialMinusOne(tensor("f32")), Constant.of(1, "f32")))
    Exponential(x)
    """
    return Exponential(x) if is_real(x) else None


@rewrite(Multiply(Exponential(x), Exponential(y)), reassociates=True, single_use=True)
def product_of_exponentials(x: Value, y: Value) -> Value | None:
    """exp(x) · exp(y) = exp(x + y)

    >>> product_of_exponentials(Multiply(Exponential(tensor("f32")), Exponential(tensor("f32", name="y"))))
    Exponential(Add(x, y))
    """
    return Exponential(Add(x, y)) if is_real(x) else None


@rewrite(Divide(z, Exponential(x)), reassociates=True, single_use=True)
def divide_by_exponential(x: Value, z: Value) -> Value | None:
    """z / exp(x) = z · exp(-x)

    >>> divide_by_exponential(Divide(tensor("f32", name="z"), Exponential(tensor("f32"))))
    Multiply(z, Exponential(Negate(x)))
    """
    return Multiply(z, Exponential(Negate(x))) if is_real(x) else None


# -- logistic and tanh ------------------------------------------------------------------------------------------------


@rewrite(Divide(z, Add(Exponential(Negate(x)), one)), reassociates=True, single_use=True)
def quotient_that_is_logistic(x: Value, z: Value) -> Value | None:
    """z / (1 + exp(-x)) = z · logistic(x)

    >>> e = Exponential(Negate(tensor("f32")))
    >>> quotient_that_is_logistic(Divide(tensor("f32", name="z"), Add(Constant.of(1, "f32"), e)))
    Multiply(z, Logistic(x))
    """
    if not is_real(x):
        return None
    return Logistic(x) if is_number(z, 1) else Multiply(z, Logistic(x))


@rewrite(Divide(one, Add(Exponential(x), one)), reassociates=True, single_use=True)
def reciprocal_that_is_logistic(x: Value) -> Value | None:
    """1 / (1 + exp(x)) = logistic(-x)

    >>> one = Constant.of(1, "f32")
    >>> reciprocal_that_is_logistic(Divide(one, Add(Exponential(tensor("f32")), one)))
    Logistic(Negate(x))
    """
    return Logistic(Negate(x)) if is_real(x) else None


@rewrite(
    Divide(
        Subtract(Exponential(x), Exponential(Negate(x))),
        Add(Exponential(x), Exponential(Negate(x))),
    ),
    reassociates=True,
)
def quotient_that_is_tanh(x: Value) -> Value | None:
    """(exp(x) - exp(-x)) / (exp(x) + exp(-x)) = tanh(x), without overflow

    >>> x = tensor("f32")
    >>> up, down = Exponential(x), Exponential(Negate(x))
    >>> quotient_that_is_tanh(Divide(Subtract(up, down), Add(up, down)))
    Tanh(x)
    """
    return Tanh(x) if is_real(x) else None
