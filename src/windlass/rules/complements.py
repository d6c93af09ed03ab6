"""Integers and their complements, and what divides, shifts and counts of bits are where much is known."""

from __future__ import annotations

from windlass.facts.ranges import range_of
from windlass.ir import Value
from windlass.ir.values import tensor
from windlass.ops import Add, Constant, Convert, Multiply, Negate, Not, Or, Remainder, ShiftLeft, Subtract
from windlass.ops.elementwise import Popcnt, Shift, Xor
from windlass.ops.pointwise import Binary
from windlass.ops.ranges import everything
from windlass.ops.sampling import Draw
from windlass.rewriting.pattern import any_op, hole
from windlass.rewriting.rule import rewrite
from windlass.rules.known_operands import bounded, free, random_type
from windlass.rules.splats import compute, exponent_of, fits, like, splat, splat_hole

__all__ = ["Convert", "tensor"]

x, y = hole("x"), hole("y")
c, d, one = splat("c"), splat("d"), splat_hole("one", 1)

INTEGERS = ("i32", "ui32", "i8", "i64")


def has_all_bits(constant: Constant) -> bool:
    """Whether all bits of an integer are set."""
    if not constant.tensor.is_integer:
        return False
    return int(constant.number) == (everything(constant.type).high if constant.tensor.is_unsigned else -1)


def _sample_with_all_bits(draw: Draw, op_class: type[Binary]) -> Binary:
    type_ = random_type(draw, INTEGERS)
    bits = everything(type_).high if type_.is_unsigned else -1
    return op_class(free(type_), Constant.of(bits, type_.dtype, type_.shape))


@rewrite(Or(x, c), sample=lambda draw: _sample_with_all_bits(draw, Or))
def or_with_all_bits(c: Constant) -> Value | None:
    """x or -1 = -1 for integers

    >>> or_with_all_bits(Or(tensor("i32"), Constant.of(-1, "i32")))
    Constant(-1)
    """
    return c if has_all_bits(c) else None


@rewrite(Xor(x, c), sample=lambda draw: _sample_with_all_bits(draw, Xor))
def xor_with_all_bits(x: Value, c: Constant) -> Value | None:
    """x xor -1 = not x for integers

    >>> xor_with_all_bits(Xor(tensor("i32"), Constant.of(-1, "i32")))
    Not(x)
    """
    return Not(x) if has_all_bits(c) else None


def _all_bits(value: Value) -> Constant:
    if value.tensor.is_boolean:
        return like(True, value)
    return like(everything(value.type).high if value.tensor.is_unsigned else -1, value)


@rewrite(Or(x, Not(x)))
def or_of_complements(x: Value) -> Value:
    """x or not x = true, and all bits for integers

    >>> n = tensor("i32")
    >>> or_of_complements(Or(n, Not(n)))
    Constant(-1)
    """
    return _all_bits(x)


@rewrite(Xor(x, Not(x)))
def xor_of_complements(x: Value) -> Value:
    """x xor not x = true, and all bits for integers

    >>> n = tensor("i32")
    >>> xor_of_complements(Xor(n, Not(n)))
    Constant(-1)
    """
    return _all_bits(x)


@rewrite(Xor(Not(x), Not(y)))
def xor_of_nots(x: Value, y: Value) -> Value:
    """not x xor not y = x xor y

    >>> xor_of_nots(Xor(Not(tensor("i32")), Not(tensor("i32", name="y"))))
    Xor(x, y)
    """
    return Xor(x, y)


@rewrite(Not(Xor(Not(x), y)))
def not_of_xor_with_not(x: Value, y: Value) -> Value:
    """not (not x xor y) = x xor y

    >>> not_of_xor_with_not(Not(Xor(Not(tensor("i32")), tensor("i32", name="y"))))
    Xor(x, y)
    """
    return Xor(x, y)


@rewrite(Add(Not(x), one))
def one_more_than_complement(x: Value) -> Value | None:
    """not x + 1 = -x for integers

    >>> one_more_than_complement(Add(Not(tensor("i32")), Constant.of(1, "i32")))
    Negate(x)
    """
    return Negate(x) if x.tensor.is_integer else None


@rewrite(Negate(Not(x)))
def negate_of_complement(x: Value) -> Value | None:
    """-(not x) = x + 1 for integers

    >>> negate_of_complement(Negate(Not(tensor("i32"))))
    Add(x, Constant(1))
    """
    return Add(x, like(1, x)) if x.tensor.is_integer else None


@rewrite(Not(Negate(x)))
def complement_of_negate(x: Value) -> Value | None:
    """not (-x) = x - 1 for integers

    >>> complement_of_negate(Not(Negate(tensor("i32"))))
    Subtract(x, Constant(1))
    """
    return Subtract(x, like(1, x)) if x.tensor.is_integer else None


def _sample_from_all_bits(draw: Draw) -> Binary:
    op = _sample_with_all_bits(draw, Or)
    return Subtract(op.rhs, op.lhs)


@rewrite(Subtract(c, x), sample=_sample_from_all_bits)
def difference_from_all_bits(x: Value, c: Constant) -> Value | None:
    """-1 - x = not x for integers

    >>> difference_from_all_bits(Subtract(Constant.of(-1, "i32"), tensor("i32")))
    Not(x)
    """
    return Not(x) if has_all_bits(c) and not isinstance(x, Constant) else None


def _sample_shifted_zero(draw: Draw) -> ShiftLeft:
    type_ = random_type(draw, INTEGERS)
    return ShiftLeft(Constant.of(0, type_.dtype, type_.shape), free(type_))


@rewrite(any_op(Shift, lhs=splat_hole("zero", 0)), sample=_sample_shifted_zero)
def shift_of_nothing(zero: Constant) -> Value:
    """0 << x = 0, and so to the right

    >>> shift_of_nothing(ShiftLeft(Constant.of(0, "i32"), tensor("i32")))
    Constant(0)
    """
    return zero


def _sample_shifted_multiple(draw: Draw) -> ShiftLeft:
    type_ = random_type(draw, INTEGERS)
    factor, places = (Constant.of(draw.integer(1, 5), type_.dtype, type_.shape) for _ in range(2))
    return ShiftLeft(Multiply(free(type_), factor), places)


@rewrite(ShiftLeft(Multiply(x, c), d), sample=_sample_shifted_multiple)
def shift_of_multiple(x: Value, c: Constant, d: Constant) -> Value | None:
    """(x · c) << k = x · (c · 2ᵏ) for integers

    >>> shift_of_multiple(ShiftLeft(Multiply(tensor("i32"), Constant.of(3, "i32")), Constant.of(2, "i32")))
    Multiply(x, Constant(12))
    """
    return Multiply(x, compute(ShiftLeft, c, d))


@rewrite(Popcnt(x), sample=lambda draw: Popcnt(bounded(draw, random_type(draw, INTEGERS), 0, 1)))
def popcnt_of_bit(x: Value) -> Value | None:
    """popcnt(x) = x, if x is proven to be 0 or 1

    >>> popcnt_of_bit(Popcnt(Convert(tensor("i1", name="p"), "i32")))
    Convert(p, dtype='i32')
    """
    known = range_of(x)
    return x if known.low >= 0 and known.high <= 1 else None


def _sample_remainder(draw: Draw) -> Remainder:
    type_ = random_type(draw, INTEGERS)
    divisor = 1 if type_.is_unsigned or draw.boolean() else -1
    return Remainder(free(type_), Constant.of(divisor, type_.dtype, type_.shape))


@rewrite(Remainder(x, c), sample=_sample_remainder)
def remainder_by_one(op: Remainder, x: Value, c: Constant) -> Value | None:
    """x mod 1 = 0, and x mod -1 = 0, for integers

    >>> remainder_by_one(Remainder(tensor("i32"), Constant.of(1, "i32")))
    Constant(0)
    """
    return like(0, op) if x.tensor.is_integer and int(c.number) in (1, -1) else None


def _sample_remainder_of_multiple(draw: Draw) -> Remainder:
    type_ = random_type(draw, ("i32", "ui32", "i8"))
    divisor = draw.choose((2, 3, 4))
    factor = divisor * draw.choose((1, 2))
    inner = bounded(draw, type_, 0, 9) if draw.boolean() else free(type_)
    product = Multiply(inner, Constant.of(factor, type_.dtype, type_.shape))
    return Remainder(product, Constant.of(divisor, type_.dtype, type_.shape))


@rewrite(Remainder(Multiply(x, c), d), sample=_sample_remainder_of_multiple)
def remainder_of_multiple(op: Remainder, x: Value, c: Constant, d: Constant) -> Value | None:
    """(x · c) mod d = 0, if d divides c, and is a power of two or the product is proven not to wrap around

    >>> remainder_of_multiple(Remainder(Multiply(tensor("i32"), Constant.of(12, "i32")), Constant.of(4, "i32")))
    Constant(0)
    """
    if not x.tensor.is_integer or d.number == 0 or int(c.number) % int(d.number):
        return None
    if exponent_of(d) is None:
        known = range_of(x)
        if not all(fits(int(end) * int(c.number), x.dtype) for end in (known.low, known.high)):
            return None
    return like(0, op)


@rewrite(Remainder(Remainder(x, y), y))
def remainder_of_remainder(op: Remainder, x: Value, y: Value) -> Value | None:
    """(x mod y) mod y = x mod y

    >>> x, y = tensor("i32"), tensor("i32", name="y")
    >>> remainder_of_remainder(Remainder(Remainder(x, y), y))
    Remainder(x, y)
    """
    return Remainder(x, y) if x.tensor.is_integer else None


def _sample_added_multiple(draw: Draw) -> Binary:
    type_ = random_type(draw, INTEGERS)
    x = free(type_)
    multiple = Multiply(x, Constant.of(draw.integer(1, 5), type_.dtype, type_.shape))
    return draw.choose((Add(x, multiple), Add(multiple, x), Subtract(multiple, x)))


@rewrite(Add(Multiply(x, c), x), sample=_sample_added_multiple)
def one_more_multiple(x: Value, c: Constant) -> Value | None:
    """x · c + x = x · (c + 1) for integers

    >>> n = tensor("i32", name="n")
    >>> one_more_multiple(Add(Multiply(n, Constant.of(2, "i32")), n))
    Multiply(n, Constant(3))
    """
    return Multiply(x, compute(Add, c, like(1, c))) if x.tensor.is_integer else None


@rewrite(Subtract(Multiply(x, c), x), sample=_sample_added_multiple)
def one_multiple_less(x: Value, c: Constant) -> Value | None:
    """x · c - x = x · (c - 1) for integers

    >>> n = tensor("i32", name="n")
    >>> one_multiple_less(Subtract(Multiply(n, Constant.of(3, "i32")), n))
    Multiply(n, Constant(2))
    """
    return Multiply(x, compute(Subtract, c, like(1, c))) if x.tensor.is_integer else None
