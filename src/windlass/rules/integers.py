"""Integers: sums and differences that cancel, division and remainder made bits, quotients that are known."""

from __future__ import annotations

from windlass.facts.ranges import range_of
from windlass.ir import Value
from windlass.ir.values import tensor
from windlass.ops import (
    Add,
    And,
    Clamp,
    Compare,
    Constant,
    Convert,
    Divide,
    Multiply,
    Remainder,
    ShiftRightLogical,
    Subtract,
)
from windlass.ops.ranges import everything
from windlass.ops.sampling import Draw
from windlass.rewriting.pattern import hole
from windlass.rewriting.rule import rewrite
from windlass.rules.known_operands import INTEGERS, bounded, free, non_negative, random_type
from windlass.rules.splats import compute, exponent_of, is_number, is_usual, like, splat, splat_hole

__all__ = ["Clamp", "Convert", "tensor"]

x, y, r = hole("x"), hole("y"), hole("r")
c, d, zero = splat("c"), splat("d"), splat_hole("zero", 0)


def is_zero(value: object) -> bool:
    """Whether the value is 0 everywhere."""
    return is_number(value, 0)


@rewrite(Add(Add(x, c), d))
def add_integers(x: Value, c: Constant, d: Constant) -> Value | None:
    """(x + c) + d = x + (c + d) for integers

    >>> add_integers(Add(Add(tensor("i32"), Constant.of(2, "i32")), Constant.of(3, "i32")))
    Add(x, Constant(5))
    """
    return Add(x, compute(Add, c, d)) if x.tensor.is_integer else None


@rewrite(Subtract(Add(x, c), d))
def subtract_integer_from_sum(x: Value, c: Constant, d: Constant) -> Value | None:
    """(x + c) - d = x + (c - d) for integers

    >>> subtract_integer_from_sum(Subtract(Add(tensor("i32"), Constant.of(2, "i32")), Constant.of(3, "i32")))
    Add(x, Constant(-1))
    """
    return Add(x, compute(Subtract, c, d)) if x.tensor.is_integer else None


@rewrite(Add(Subtract(x, c), d))
def add_integer_to_difference(x: Value, c: Constant, d: Constant) -> Value | None:
    """(x - c) + d = x + (d - c) for integers

    >>> add_integer_to_difference(Add(Subtract(tensor("i32"), Constant.of(2, "i32")), Constant.of(3, "i32")))
    Add(x, Constant(1))
    """
    return Add(x, compute(Subtract, d, c)) if x.tensor.is_integer else None


@rewrite(Add(Subtract(c, x), d))
def add_to_difference_from_integer(x: Value, c: Constant, d: Constant) -> Value | None:
    """(c - x) + d = (c + d) - x for integers

    >>> add_to_difference_from_integer(Add(Subtract(Constant.of(2, "i32"), tensor("i32")), Constant.of(3, "i32")))
    Subtract(Constant(5), x)
    """
    return Subtract(compute(Add, c, d), x) if x.tensor.is_integer else None


@rewrite(Subtract(c, Subtract(d, x)))
def subtract_of_difference_from_integer(x: Value, c: Constant, d: Constant) -> Value | None:
    """c - (d - x) = x + (c - d) for integers

    >>> subtract_of_difference_from_integer(
    ...     Subtract(Constant.of(5, "i32"), Subtract(Constant.of(3, "i32"), tensor("i32"))))
    Add(x, Constant(2))
    """
    return Add(x, compute(Subtract, c, d)) if x.tensor.is_integer else None


@rewrite(Add(Add(x, c), d), reassociates=True, single_use=True)
def add_constants_of_one_sign(x: Value, c: Constant, d: Constant) -> Value | None:
    """(x + c) + d = x + (c + d) for floats, if c and d have one sign (others may cancel on purpose)

    >>> add_constants_of_one_sign(Add(Add(tensor("f32"), Constant.of(2, "f32")), Constant.of(3, "f32")))
    Add(x, Constant(5.0))
    """
    if not (x.tensor.is_float and is_usual(c) and is_usual(d)) or (c.number < 0) != (d.number < 0):
        return None
    return Add(x, compute(Add, c, d))


@rewrite(Subtract(Add(x, y), x))
def subtract_of_sum(x: Value, y: Value) -> Value | None:
    """(x + y) - x = y for integers

    >>> x, y = tensor("i32"), tensor("i32", name="y")
    >>> subtract_of_sum(Subtract(Add(x, y), x))
    y
    """
    return y if x.tensor.is_integer else None


@rewrite(Subtract(x, Subtract(x, y)))
def subtract_of_difference(x: Value, y: Value) -> Value | None:
    """x - (x - y) = y for integers

    >>> x, y = tensor("i32"), tensor("i32", name="y")
    >>> subtract_of_difference(Subtract(x, Subtract(x, y)))
    y
    """
    return y if x.tensor.is_integer else None


@rewrite(Add(Subtract(x, y), y))
def add_of_difference(x: Value, y: Value) -> Value | None:
    """(x - y) + y = x for integers

    >>> x, y = tensor("i32"), tensor("i32", name="y")
    >>> add_of_difference(Add(Subtract(x, y), y))
    x
    """
    return x if x.tensor.is_integer else None


@rewrite(Add(Multiply(Divide(x, y), y), Remainder(x, y)))
def quotient_and_remainder(x: Value, y: Value) -> Value | None:
    """(x / y) · y + x mod y = x for integers

    >>> x, y = tensor("i32"), tensor("i32", name="y")
    >>> quotient_and_remainder(Add(Multiply(Divide(x, y), y), Remainder(x, y)))
    x
    """
    return x if x.tensor.is_integer else None


# -- division by constants --------------------------------------------------------------------------------------------


def sample_division(draw: Draw) -> Divide:
    type_ = random_type(draw, INTEGERS)
    return Divide(non_negative(draw, type_), Constant.of(2 ** draw.integer(1, 5), type_.dtype, type_.shape))


@rewrite(Divide(x, c), sample=sample_division)
def divide_by_power_of_two_as_shift(x: Value, c: Constant) -> Value | None:
    """x / 2ᵏ = x >> k, if x is proven not to be negative

    >>> divide_by_power_of_two_as_shift(Divide(tensor("ui32"), Constant.of(8, "ui32")))
    ShiftRightLogical(x, Constant(3))
    """
    bits = exponent_of(c)
    if not bits or range_of(x).low < 0 or not x.tensor.size:
        return None
    return ShiftRightLogical(x, like(bits, c))


def sample_remainder(draw: Draw) -> Remainder:
    type_ = random_type(draw, INTEGERS)
    return Remainder(non_negative(draw, type_), Constant.of(2 ** draw.integer(0, 5), type_.dtype, type_.shape))


@rewrite(Remainder(x, c), sample=sample_remainder)
def remainder_by_power_of_two_as_mask(x: Value, c: Constant) -> Value | None:
    """x mod 2ᵏ = x and 2ᵏ-1, if x is proven not to be negative

    >>> remainder_by_power_of_two_as_mask(Remainder(tensor("ui32"), Constant.of(8, "ui32")))
    And(x, Constant(7))
    """
    bits = exponent_of(c)
    if bits is None or range_of(x).low < 0 or not x.tensor.size:
        return None
    return And(x, like(2**bits - 1, c))


def sample_small_remainder(draw: Draw) -> Remainder:
    type_ = random_type(draw, ("i32", "ui32", "f32", "bf16"))
    return Remainder(bounded(draw, type_, 0, 6), Constant.of(draw.integer(5, 9), type_.dtype, type_.shape))


@rewrite(Remainder(x, y), sample=sample_small_remainder)
def remainder_of_smaller(x: Value, y: Value) -> Value | None:
    """x mod y = x, if |x| is proven to be less than |y|

    >>> remainder_of_smaller(Remainder(Remainder(tensor("i32"), Constant.of(5, "i32")), Constant.of(9, "i32")))
    Remainder(x, Constant(5))
    """
    left, right = range_of(x), range_of(y)
    if left.nan or right.nan or right.has_zero or right.has_infinity:
        return None
    return x if left.magnitude < min(abs(right.low), abs(right.high)) else None


def sample_quotient_of_multiple(draw: Draw) -> Divide:
    type_ = random_type(draw, ("i32", "ui32", "i64"))
    factor = Constant.of(draw.integer(1, 9), type_.dtype, type_.shape)
    return Divide(Multiply(bounded(draw, type_, 0, 40), factor), factor)


@rewrite(Divide(Multiply(x, c), d), sample=sample_quotient_of_multiple)
def divide_of_multiple(x: Value, c: Constant, d: Constant) -> Value | None:
    """(x · c) / c = x for integers, if the product is proven not to wrap around

    >>> n = Clamp(Constant.of(0, "i32"), tensor("i32"), Constant.of(9, "i32"))
    >>> divide_of_multiple(Divide(Multiply(n, Constant.of(5, "i32")), Constant.of(5, "i32")))
    Clamp(Constant(0), x, Constant(9))
    """
    if not x.tensor.is_integer or c.number == 0 or c.number != d.number:
        return None
    known, full, factor = range_of(x), everything(x.type), int(c.number)
    ends = (known.low * factor, known.high * factor)
    return x if full.low <= min(ends) and max(ends) <= full.high else None


def sample_shifted_multiple(draw: Draw) -> Multiply:
    type_ = random_type(draw, ("i32", "ui32", "i64", "ui8"))
    bits = draw.integer(1, 5)
    shifted = ShiftRightLogical(free(type_), Constant.of(bits, type_.dtype, type_.shape))
    return Multiply(shifted, Constant.of(2**bits, type_.dtype, type_.shape))


@rewrite(Multiply(ShiftRightLogical(x, c), d), sample=sample_shifted_multiple)
def multiply_of_shifted(x: Value, c: Constant, d: Constant) -> Value | None:
    """(x >> k) · 2ᵏ = x without its lowest k bits

    >>> multiply_of_shifted(Multiply(ShiftRightLogical(tensor("i32"), Constant.of(3, "i32")), Constant.of(8, "i32")))
    And(x, Constant(-8))
    """
    bits = exponent_of(d)
    if bits is None or bits != int(c.number):
        return None
    mask = -(2**bits) if not x.tensor.is_unsigned else everything(x.type).high + 1 - 2**bits
    return And(x, like(mask, c))


def sample_correction(draw: Draw) -> And:
    type_ = random_type(draw, ("i32", "i64", "i8"))
    x = bounded(draw, type_, draw.choose((0, 0, -3)), 100)
    divisor = Constant.of(draw.integer(1, 9), type_.dtype, type_.shape)
    rest = draw.choose((Remainder, And))(x, divisor)
    return And(Compare(x, like(0, x), "LE"), Compare(rest, like(0, x), "NE"))


@rewrite(And(Compare(x, zero, "LE"), Compare(r, hole("none", is_zero), "NE")), sample=sample_correction)
def floor_division_that_truncates(op: And, x: Value, r: Value) -> Value | None:
    """x ≤ 0 and x mod y ≠ 0 = false, if x is proven not to be negative (where it is 0, nothing remains)

    So jnp tests whether x // y has to be corrected.

    >>> n, zero = Convert(tensor("ui8"), "i32"), Constant.of(0, "i32")
    >>> rest = Compare(Remainder(n, Constant.of(5, "i32")), zero, "NE")
    >>> floor_division_that_truncates(And(Compare(n, zero, "LE"), rest))
    Constant(False)
    """
    if not x.tensor.is_integer or not is_remainder_of(r, x):
        return None
    return Constant.of(False, "i1", op.shape) if range_of(x).low >= 0 else None


def is_remainder_of(value: Value, x: Value) -> bool:
    """Whether a value is x mod something, or some bits of x: 0 where x is."""
    return (isinstance(value, Remainder) and value.lhs is x) or (isinstance(value, And) and x in value.operands)
