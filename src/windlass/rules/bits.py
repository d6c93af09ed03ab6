"""Bits of integers: masks and shifts that merge, cancel or change nothing."""

from __future__ import annotations

from windlass.facts.ranges import range_of
from windlass.ir import Value
from windlass.ir.values import tensor
from windlass.ops import Add, And, Constant, Or, ShiftLeft, ShiftRightArithmetic, ShiftRightLogical, Subtract, Xor
from windlass.ops.elementwise import bits_below, width_of
from windlass.ops.ranges import everything
from windlass.ops.sampling import Draw
from windlass.rewriting.duals import Dual
from windlass.rewriting.pattern import hole
from windlass.rewriting.rule import rewrite
from windlass.rules.duals import SHIFTS
from windlass.rules.known_operands import bounded, free, non_negative, random_type
from windlass.rules.splats import compute, like, splat

__all__ = ["tensor"]

x, c, d = hole("x"), splat("c"), splat("d")
INTEGERS = ("i32", "ui32", "ui8", "i64")


def sample_masked(draw: Draw) -> And:
    type_ = random_type(draw, INTEGERS)
    x = non_negative(draw, type_) if draw.boolean() else bounded(draw, type_, draw.integer(-3, 0), 9)
    return And(x, Constant.of(2 ** draw.integer(1, 7) - 1, type_.dtype, type_.shape))


@rewrite(And(x, c), sample=sample_masked)
def and_that_keeps_all(x: Value, c: Constant) -> Value | None:
    """x and c = x, if c has all bits that x is proven to have at most; and 0 if x has none of them

    >>> from windlass.ops import Convert
    >>> and_that_keeps_all(And(Convert(tensor("ui8"), "i32"), Constant.of(255, "i32")))
    Convert(x, dtype='i32')
    """
    if not x.tensor.is_integer:
        return None
    known, mask = range_of(x), int(c.number)
    if mask == 0:
        return c
    if mask == everything(x.type).high + (0 if x.tensor.is_unsigned else everything(x.type).low):
        return x
    possible = bits_below(known.high) if known.low >= 0 else None
    return x if possible is not None and possible & mask == possible else None


@rewrite(Or(x, c))
def or_without_bits(x: Value, c: Constant) -> Value | None:
    """x or 0 = x for integers

    >>> or_without_bits(Or(tensor("i32"), Constant.of(0, "i32")))
    x
    """
    return x if x.tensor.is_integer and c.number == 0 else None


@rewrite(Xor(x, c))
def xor_without_bits(x: Value, c: Constant) -> Value | None:
    """x xor 0 = x, and x xor false = x

    >>> xor_without_bits(Xor(tensor("i32"), Constant.of(0, "i32")))
    x
    """
    return x if c.number == 0 else None


@rewrite(And(And(x, c), d))
def and_of_masks(x: Value, c: Constant, d: Constant) -> Value:
    """(x and c) and d = x and (c and d)

    >>> and_of_masks(And(And(tensor("i32"), Constant.of(12, "i32")), Constant.of(10, "i32")))
    And(x, Constant(8))
    """
    return And(x, compute(And, c, d))


@rewrite(Or(Or(x, c), d))
def or_of_bits(x: Value, c: Constant, d: Constant) -> Value:
    """(x or c) or d = x or (c or d)

    >>> or_of_bits(Or(Or(tensor("i32"), Constant.of(4, "i32")), Constant.of(1, "i32")))
    Or(x, Constant(5))
    """
    return Or(x, compute(Or, c, d))


@rewrite(Xor(Xor(x, c), d))
def xor_of_bits(x: Value, c: Constant, d: Constant) -> Value:
    """(x xor c) xor d = x xor (c xor d)

    >>> xor_of_bits(Xor(Xor(tensor("i32"), Constant.of(5, "i32")), Constant.of(1, "i32")))
    Xor(x, Constant(4))
    """
    return Xor(x, compute(Xor, c, d))


# -- shifts -----------------------------------------------------------------------------------------------------------


@rewrite(ShiftLeft(x, c), dual=SHIFTS)
def shift_left_by_nothing(x: Value, c: Constant) -> Value | None:
    """x << 0 = x

    >>> shift_left_by_nothing(ShiftLeft(tensor("i32"), Constant.of(0, "i32")))
    x
    """
    return x if c.number == 0 else None


def sample_shifted_out(draw: Draw) -> ShiftRightLogical:
    type_ = random_type(draw, ("i32", "ui32", "i64"))
    return ShiftRightLogical(non_negative(draw, type_), Constant.of(draw.integer(6, 70), type_.dtype, type_.shape))


@rewrite(ShiftRightLogical(x, c), sample=sample_shifted_out)
def shift_right_of_small(op: ShiftRightLogical, x: Value, c: Constant) -> Value | None:
    """x >> k = 0, if x is proven to have its lowest k bits only

    >>> from windlass.ops import Iota
    >>> shift_right_of_small(ShiftRightLogical(Iota((9,), "ui64", 0), Constant.of(32, "ui64", (9,))))
    Constant(0)
    """
    known, bits = range_of(x), int(c.number)
    gone = bits < 0 or bits >= width_of(x) or (known.low >= 0 and known.high >> bits == 0)
    return Constant.of(0, op.dtype, op.shape) if gone else None


def _add_amounts(x: Value, c: Constant, d: Constant) -> Constant | None:
    """The sum of two amounts to shift by, if both are less than the width."""
    first, second, width = int(c.number), int(d.number), width_of(x)
    if not (0 <= first < width and 0 <= second < width):
        return None
    return like(min(first + second, width), c)


def sample_shifts(draw: Draw) -> ShiftLeft:
    type_ = random_type(draw, INTEGERS)
    amounts = [Constant.of(draw.integer(0, 9), type_.dtype, type_.shape) for _ in range(2)]
    return ShiftLeft(ShiftLeft(free(type_), amounts[0]), amounts[1])


@rewrite(ShiftLeft(ShiftLeft(x, c), d), sample=sample_shifts, dual=SHIFTS)
def shift_left_twice(x: Value, c: Constant, d: Constant, dual: Dual) -> Value | None:
    """(x << k) << m = x << (k + m)

    >>> shift_left_twice(ShiftLeft(ShiftLeft(tensor("i32"), Constant.of(2, "i32")), Constant.of(3, "i32")))
    ShiftLeft(x, Constant(5))
    """
    amount = _add_amounts(x, c, d)
    return None if amount is None else dual(ShiftLeft)(x, amount)


def sample_cleared(draw: Draw) -> ShiftLeft:
    type_ = random_type(draw, INTEGERS)
    amount = Constant.of(draw.integer(1, 7), type_.dtype, type_.shape)
    return ShiftLeft(draw.choose((ShiftRightLogical, ShiftRightArithmetic))(free(type_), amount), amount)


@rewrite(ShiftLeft(ShiftRightLogical(x, c), d), sample=sample_cleared)
def shift_right_and_back(x: Value, c: Constant, d: Constant) -> Value | None:
    """(x >> k) << k = x without its lowest k bits

    >>> shift_right_and_back(ShiftLeft(ShiftRightLogical(tensor("ui8"), Constant.of(4, "ui8")), Constant.of(4, "ui8")))
    And(x, Constant(240))
    """
    bits = int(c.number)
    if not 0 < bits < width_of(x) or bits != int(d.number):
        return None
    return And(x, like(everything(x.type).high + 1 - 2**bits if x.tensor.is_unsigned else -(2**bits), c))


y = hole("y")


@rewrite(Add(And(x, y), Or(x, y)))
def sum_of_shared_and_all_bits(x: Value, y: Value) -> Value | None:
    """(x and y) + (x or y) = x + y, for integers

    >>> x, y = tensor("i32"), tensor("i32", name="y")
    >>> sum_of_shared_and_all_bits(Add(And(x, y), Or(x, y)))
    Add(x, y)
    """
    return Add(x, y) if x.tensor.is_integer else None


@rewrite(Add(And(x, y), Xor(x, y)))
def sum_of_shared_and_other_bits(x: Value, y: Value) -> Value | None:
    """(x and y) + (x xor y) = x or y, for integers

    >>> x, y = tensor("i32"), tensor("i32", name="y")
    >>> sum_of_shared_and_other_bits(Add(And(x, y), Xor(x, y)))
    Or(x, y)
    """
    return Or(x, y) if x.tensor.is_integer else None


@rewrite(Subtract(Or(x, y), And(x, y)))
def all_bits_without_shared(x: Value, y: Value) -> Value | None:
    """(x or y) - (x and y) = x xor y, for integers

    >>> x, y = tensor("i32"), tensor("i32", name="y")
    >>> all_bits_without_shared(Subtract(Or(x, y), And(x, y)))
    Xor(x, y)
    """
    return Xor(x, y) if x.tensor.is_integer else None


@rewrite(Subtract(Or(x, y), Xor(x, y)))
def all_bits_without_other(x: Value, y: Value) -> Value | None:
    """(x or y) - (x xor y) = x and y, for integers

    >>> x, y = tensor("i32"), tensor("i32", name="y")
    >>> all_bits_without_other(Subtract(Or(x, y), Xor(x, y)))
    And(x, y)
    """
    return And(x, y) if x.tensor.is_integer else None


@rewrite(Or(And(x, y), Xor(x, y)))
def either_shared_or_other_bits(x: Value, y: Value) -> Value:
    """(x and y) or (x xor y) = x or y

    >>> x, y = tensor("i32"), tensor("i32", name="y")
    >>> either_shared_or_other_bits(Or(And(x, y), Xor(x, y)))
    Or(x, y)
    """
    return Or(x, y)


@rewrite(Xor(Or(x, y), And(x, y)))
def all_bits_but_shared(x: Value, y: Value) -> Value:
    """(x or y) xor (x and y) = x xor y

    >>> x, y = tensor("i32"), tensor("i32", name="y")
    >>> all_bits_but_shared(Xor(Or(x, y), And(x, y)))
    Xor(x, y)
    """
    return Xor(x, y)
