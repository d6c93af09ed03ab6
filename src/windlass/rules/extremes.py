"""Maximum, minimum and clamp: decided, merged, and made of comparisons with choices."""

from __future__ import annotations

import math

from windlass.facts.ranges import range_of
from windlass.ir import Value
from windlass.ir.values import tensor
from windlass.ops import Clamp, Compare, Constant, Convert, Maximum, Minimum, Select
from windlass.ops.ranges import Range
from windlass.ops.sampling import Draw
from windlass.rewriting.duals import Dual
from windlass.rewriting.pattern import hole
from windlass.rewriting.rule import rewrite
from windlass.rules.duals import ORDER
from windlass.rules.known_operands import bounded, free, non_negative, number, random_type, zero_or_number
from windlass.rules.splats import compute, splat

__all__ = ["Convert", "tensor"]

x, y, p, direction = hole("x"), hole("y"), hole("p"), hole("direction")
c, d, low, high = splat("c"), splat("d"), splat("low"), splat("high")

DTYPES = ("f32", "f64", "bf16", "i32", "ui32", "i8")


def is_never_less(left: Range, right: Range) -> bool:
    """Whether the maximum of an element of each is always the left one, to the last bit."""
    if right.nan or left.low < right.high:
        return False
    # Of zeros with different signs, either may be taken for the larger.
    zeros = left.low == 0 == right.high
    return not zeros or not (left.negative_zero or right.negative_zero)


def is_never_more(left: Range, right: Range) -> bool:
    """Whether the minimum of an element of each is always the left one, to the last bit."""
    if right.nan or left.high > right.low:
        return False
    zeros = left.high == 0 == right.low
    return not zeros or not (left.negative_zero or right.negative_zero)


def sample_maximum(draw: Draw) -> Maximum:
    type_ = random_type(draw, DTYPES)
    return Maximum(
        *draw.choose(
            (
                (non_negative(draw, type_), zero_or_number(draw, type_, -2, 1)),
                (bounded(draw, type_, 0, 5), number(draw, type_, 4, 9)),
            )
        )
    )


BOUNDED = ORDER.saying(("lesser", "greater"), ("less", "more"), ("(0,", "(255,"))


@rewrite(Maximum(x, y), sample=sample_maximum, dual=BOUNDED)
def maximum_with_lesser(op: Maximum | Minimum, x: Value, y: Value) -> Value | None:
    """max(x, y) = x, if x is proven to be nowhere less than y

    >>> maximum_with_lesser(Maximum(Convert(tensor("ui8"), "f32"), Constant.of(0, "f32")))
    Convert(x, dtype='f32')
    """
    if x.tensor.is_complex:
        return None
    left, right = range_of(x), range_of(y)
    decides = is_never_less if isinstance(op, Maximum) else is_never_more
    return x if decides(left, right) else y if decides(right, left) else None


@rewrite(Maximum(Maximum(x, c), d), dual=ORDER.saying(("Constant(2.0)", "Constant(1.0)")))
def maximum_of_maximum(x: Value, c: Constant, d: Constant, dual: Dual) -> Value | None:
    """max(max(x, c), d) = max(x, max(c, d))

    >>> maximum_of_maximum(Maximum(Maximum(tensor("f32"), Constant.of(1, "f32")), Constant.of(2, "f32")))
    Maximum(x, Constant(2.0))
    """
    if x.tensor.is_complex or (c.number == 0 and d.number == 0):
        return None
    return dual(Maximum)(x, compute(dual(Maximum), c, d))


@rewrite(Minimum(Maximum(x, low), high), single_use=True)
def minimum_of_maximum(x: Value, low: Constant, high: Constant) -> Value | None:
    """min(max(x, low), high) = clamp(low, x, high)

    >>> minimum_of_maximum(Minimum(Maximum(tensor("f32"), Constant.of(0, "f32")), Constant.of(1, "f32")))
    Clamp(Constant(0.0), x, Constant(1.0))
    """
    if x.tensor.is_complex or x.tensor.is_boolean:
        return None
    return Clamp(Constant.of(low.number, low.dtype), x, Constant.of(high.number, high.dtype))


# -- clamp ------------------------------------------------------------------------------------------------------------


def sample_clamp(draw: Draw) -> Clamp:
    type_ = random_type(draw, DTYPES)
    limits = [Constant.of(draw.choose(choices), type_.dtype) for choices in ((0, 0, 2), (6, 9))]
    return Clamp(limits[0], bounded(draw, type_, draw.choose((0, 3)), 7), limits[1])


@rewrite(Clamp(low, x, high), sample=sample_clamp)
def clamp_of_bounded(x: Value, low: Constant, high: Constant) -> Value | None:
    """clamp(low, x, high) = x, max(x, low) or min(x, high), as one limit or both are proven to hold anyway

    >>> clamp_of_bounded(Clamp(Constant.of(0, "i32"), Convert(tensor("i8"), "i32"), Constant.of(300, "i32")))
    Maximum(Convert(x, dtype='i32'), Constant(0))
    """
    if not x.tensor.size:
        return None
    known, least, most = range_of(x), range_of(low), range_of(high)
    below, above = is_never_less(known, least), is_never_more(known, most)
    if below and above:
        return x
    if above and low.number <= high.number:
        return Maximum(x, Constant.of(low.number, x.dtype, x.shape))
    return Minimum(x, Constant.of(high.number, x.dtype, x.shape)) if below else None


def _are_plain(*limits: Constant) -> bool:
    """Whether no limit is NaN, or a zero that has a sign."""
    return not any(limit.number != limit.number or (limit.number == 0 and limit.tensor.is_float) for limit in limits)


@rewrite(Maximum(Clamp(low, x, high), c))
def maximum_of_clamp(x: Value, low: Constant, high: Constant, c: Constant) -> Value | None:
    """max(clamp(low, x, high), c) = clamp(max(low, c), x, high), if c is no more than high

    >>> limits = [Constant.of(number, "i32") for number in (1, 9)]
    >>> maximum_of_clamp(Maximum(Clamp(limits[0], tensor("i32"), limits[1]), Constant.of(3, "i32")))
    Clamp(Constant(3), x, Constant(9))
    """
    if not _are_plain(low, high, c) or not max(low.number, c.number) <= high.number:
        return None
    return Clamp(Constant.of(max(low.number, c.number), x.dtype), x, Constant.of(high.number, x.dtype))


@rewrite(Minimum(Clamp(low, x, high), c))
def minimum_of_clamp(x: Value, low: Constant, high: Constant, c: Constant) -> Value | None:
    """min(clamp(low, x, high), c) = clamp(low, x, min(high, c)), if c is no less than low

    >>> limits = [Constant.of(number, "i32") for number in (1, 9)]
    >>> minimum_of_clamp(Minimum(Clamp(limits[0], tensor("i32"), limits[1]), Constant.of(3, "i32")))
    Clamp(Constant(1), x, Constant(3))
    """
    if not _are_plain(low, high, c) or not low.number <= min(high.number, c.number):
        return None
    return Clamp(Constant.of(low.number, x.dtype), x, Constant.of(min(high.number, c.number), x.dtype))


# -- choices ----------------------------------------------------------------------------------------------------------


def sample_choice(draw: Draw) -> Select:
    type_ = random_type(draw, ("i32", "ui32", "f32"))
    x = draw.choose((bounded(draw, type_, draw.integer(-1, 1), 9), non_negative(draw, type_), free(type_)))
    y = draw.choose((zero_or_number(draw, type_, 1, 9), bounded(draw, type_, 2, 5, "y"), free(type_, "y")))
    sides = draw.choose(((x, y), (y, x)))
    return Select(Compare(x, y, draw.choose(("LT", "LE", "GT", "GE"))), *sides)


@rewrite(Select(Compare(x, y, direction), p, hole("q")), sample=sample_choice)
def choice_of_the_larger(op: Select, x: Value, y: Value, direction: str) -> Value | None:
    """select(x > y, x, y) = max(x, y), and so for min, for integers and where NaN and the zeros' signs come out alike

    A comparison with NaN is false, so that only what is taken where it holds must not be NaN.

    >>> x, y = tensor("i32"), tensor("i32", name="y")
    >>> choice_of_the_larger(Select(Compare(x, y, "GT"), x, y))
    Maximum(x, y)
    >>> x, zero = tensor("f32"), Constant.of(0.0, "f32")
    >>> choice_of_the_larger(Select(Compare(x, zero, "LE"), zero, x))
    Maximum(x, Constant(0.0))
    """
    if x.tensor.is_complex or direction not in ("LT", "LE", "GT", "GE") or op.pred.shape != op.shape:
        return None
    taken = (op.on_true, op.on_false)
    straight = is_same(taken[0], x) and is_same(taken[1], y)
    if not straight and not (is_same(taken[0], y) and is_same(taken[1], x)):
        return None
    largest = straight == (direction in ("GT", "GE"))
    if x.tensor.is_float:
        if range_of(op.on_true).nan:
            return None
        # Of two zeros a comparison takes one or the other, whatever their signs.
        chosen, other = taken if direction in ("LE", "GE") else taken[::-1]
        plus, minus = (other, chosen) if largest else (chosen, other)
        if may_be_zero(plus) and may_be_minus_zero(minus):
            return None
    return Maximum(x, y) if largest else Minimum(x, y)


def may_be_zero(value: Value) -> bool:
    """Whether an element may be 0.0, without a sign."""
    if isinstance(value, Constant) and value.is_splat and value.number == 0:
        return math.copysign(1.0, float(value.number)) > 0
    return range_of(value).has_zero


def may_be_minus_zero(value: Value) -> bool:
    """Whether an element may be -0.0."""
    known = range_of(value)
    return known.has_zero and known.negative_zero


def is_same(left: Value, right: Value) -> bool:
    """Whether two values are one, or equal constants."""
    if left is right:
        return True
    return isinstance(left, Constant) and isinstance(right, Constant) and left.value == right.value
