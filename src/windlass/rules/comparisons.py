"""Comparisons: decided by what is known of both sides, made of simpler values, merged."""

from __future__ import annotations

from windlass.facts.ranges import has_nan, is_finite, range_of
from windlass.ir import Value
from windlass.ir.values import tensor
from windlass.ops import (
    Add,
    And,
    Compare,
    Constant,
    Convert,
    IsFinite,
    Maximum,
    Minimum,
    Negate,
    Not,
    Or,
    Select,
    Sign,
    Subtract,
)
from windlass.ops.comparison import MIRRORED, OPPOSITE
from windlass.ops.ranges import everything
from windlass.ops.sampling import Draw
from windlass.rewriting.duals import Dual
from windlass.rewriting.pattern import hole
from windlass.rewriting.rule import rewrite
from windlass.rules.conversions import holds_exactly
from windlass.rules.duals import LOGIC, ORDER
from windlass.rules.known_operands import bounded, condition, free, number, random_type
from windlass.rules.splats import compute, fits, like, splat, splat_hole

__all__ = ["Maximum", "tensor"]

x, y, p, direction = hole("x"), hole("y"), hole("p"), hole("direction")
c, d, e = splat("c"), splat("d"), splat("e")

DIRECTIONS = tuple(MIRRORED)


def sample_decided(draw: Draw) -> Compare:
    type_ = random_type(draw)
    return Compare(bounded(draw, type_, 0, 5), number(draw, type_, -2, 8), draw.choose(DIRECTIONS))


@rewrite(Compare(x, y, direction), sample=sample_decided)
def compare_decided_by_ranges(op: Compare) -> Value | None:
    """compare(x, y) = true or false, if what is proven of x and y leaves no choice

    >>> from windlass.ops import Abs
    >>> compare_decided_by_ranges(Compare(Abs(tensor("f32")), Constant.of(0, "f32"), "LT"))
    Constant(False)
    """
    known = range_of(op)
    return Constant.of(bool(known.low), "i1", op.shape) if known.low == known.high else None


@rewrite(Compare(x, x, direction))
def compare_with_itself(op: Compare, x: Value, direction: str) -> Value | None:
    """compare(x, x) = true or false, for integers and what is proven not to be NaN (and x < x is false always)

    >>> n = tensor("i32")
    >>> compare_with_itself(Compare(n, n, "LE"))
    Constant(True)
    """
    if x.tensor.is_complex or op.compare_type == "TOTALORDER":
        return None
    equal = direction in ("EQ", "LE", "GE")
    if direction not in ("LT", "GT") and not (x.tensor.is_integer or x.tensor.is_boolean) and has_nan(x):
        return None
    return Constant.of(equal, "i1", op.shape)


@rewrite(Compare(c, x, direction))
def compare_with_constant_on_left(op: Compare, c: Constant, x: Value, direction: str) -> Value | None:
    """(c < x) = (x > c): constants stand on the right

    >>> compare_with_constant_on_left(Compare(Constant.of(2, "f32"), tensor("f32"), "LT"))
    Compare(x, Constant(2.0), direction='GT')
    """
    return None if isinstance(x, Constant) else Compare(x, c, MIRRORED[direction], op.compare_type)


def sample_finite(draw: Draw) -> IsFinite:
    return IsFinite(bounded(draw, random_type(draw, ("f32", "bf16")), -3, 3))


@rewrite(IsFinite(x), sample=sample_finite)
def is_finite_of_finite(op: IsFinite, x: Value) -> Value | None:
    """is_finite(x) = true, if that is proven

    >>> is_finite_of_finite(IsFinite(Convert(tensor("i8"), "f32")))
    Constant(True)
    """
    return Constant.of(True, "i1", op.shape) if is_finite(x) else None


@rewrite(Not(Compare(x, y, direction)))
def not_of_compare(op: Not, x: Value, y: Value, direction: str) -> Value | None:
    """not(x < y) = x ≥ y, for integers and what is proven not to be NaN; not(x = y) = (x ≠ y) always

    >>> not_of_compare(Not(Compare(tensor("f32"), tensor("f32", name="y"), "EQ")))
    Compare(x, y, direction='NE')
    """
    inner = op.operand
    assert isinstance(inner, Compare)
    ordered = not x.tensor.is_float or inner.compare_type == "TOTALORDER" or not (has_nan(x) or has_nan(y))
    if not (ordered or direction in ("EQ", "NE")):
        return None
    return Compare(x, y, OPPOSITE[direction], inner.compare_type)


def sample_compare_of_boolean(draw: Draw) -> Compare:
    type_ = random_type(draw, ("i1",))
    return Compare(free(type_, "p"), Constant.of(draw.boolean(), "i1", type_.shape), draw.choose(DIRECTIONS))


@rewrite(Compare(p, c, direction), sample=sample_compare_of_boolean)
def compare_of_boolean(op: Compare, p: Value, c: Constant, direction: str) -> Value | None:
    """(p ≠ false) = p, (p = false) = not p, and so on

    >>> compare_of_boolean(Compare(tensor("i1", name="p"), Constant.of(False), "NE"))
    p
    """
    if not p.tensor.is_boolean:
        return None
    number = bool(c.number)
    return choose_by_boolean(p, _holds(False, number, direction), _holds(True, number, direction))


def choose_by_boolean(p: Value, if_false: bool, if_true: bool) -> Value:
    """A function of one boolean, from its two values."""
    if if_false == if_true:
        return Constant.of(if_true, "i1", p.shape)
    return p if if_true else Not(p)


def _holds(left: object, right: object, direction: str) -> bool:
    """Whether one number compares so to another."""
    first, second = Constant.of(left), Constant.of(right)
    return bool(Compare(first, second, direction).evaluate(first.array, second.array))


def sample_compare_of_choice(draw: Draw) -> Compare:
    type_ = random_type(draw)
    choice = Select(condition(type_), number(draw, type_), number(draw, type_))
    return Compare(choice, number(draw, type_), draw.choose(DIRECTIONS))


@rewrite(Compare(Select(p, c, d), e, direction), sample=sample_compare_of_choice)
def compare_of_choice(op: Compare, p: Value, c: Constant, d: Constant, e: Constant) -> Value | None:
    """compare(select(p, c, d), e) = p, not p, true or false, as c and d compare to e

    >>> choice = Select(tensor("i1", name="p"), Constant.of(3, "f32"), Constant.of(2, "f32"))
    >>> compare_of_choice(Compare(choice, Constant.of(2.5, "f32"), "GT"))
    p
    """
    if p.shape != op.shape:
        return None
    outcomes = [
        bool(compute(Compare, *pair, direction=op.direction, compare_type=op.compare_type).number)
        for pair in ((d, e), (c, e))
    ]
    return choose_by_boolean(p, *outcomes)


def sample_compare_of_converted(draw: Draw) -> Compare:
    type_ = random_type(draw)
    return Compare(Convert(condition(type_), type_.dtype), number(draw, type_, -1, 2), draw.choose(DIRECTIONS))


@rewrite(Compare(Convert(p, hole("dtype")), c, direction), sample=sample_compare_of_converted)
def compare_of_converted_boolean(op: Compare, p: Value, c: Constant) -> Value | None:
    """compare(convert(p), c) = p, not p, true or false, as 0 and 1 compare to c

    >>> compare_of_converted_boolean(Compare(Convert(tensor("i1", name="p"), "f32"), Constant.of(0, "f32"), "NE"))
    p
    """
    if not p.tensor.is_boolean:
        return None
    outcomes = [
        bool(compute(Compare, *pair, direction=op.direction, compare_type=op.compare_type).number)
        for pair in ((like(0, c), c), (like(1, c), c))
    ]
    return choose_by_boolean(p, *outcomes)


@rewrite(Compare(Negate(x), Negate(y), direction))
def compare_of_negates(op: Compare, x: Value, y: Value, direction: str) -> Value | None:
    """(-x < -y) = (x > y) for floats, and for integers if neither is the least one

    >>> compare_of_negates(Compare(Negate(tensor("f32")), Negate(tensor("f32", name="y")), "LT"))
    Compare(x, y, direction='GT')
    """
    if op.compare_type == "TOTALORDER":
        return None
    if x.tensor.is_integer and direction not in ("EQ", "NE") and not (_can_be_negated(x) and _can_be_negated(y)):
        return None
    return Compare(x, y, MIRRORED[direction])


def _can_be_negated(value: Value) -> bool:
    return not value.tensor.is_unsigned and range_of(value).low > everything(value.type).low


@rewrite(Compare(Negate(x), c, direction))
def compare_of_negate_with_constant(op: Compare, x: Value, c: Constant, direction: str) -> Value | None:
    """(-x < c) = (x > -c) for floats

    >>> compare_of_negate_with_constant(Compare(Negate(tensor("f32")), Constant.of(2, "f32"), "LT"))
    Compare(x, Constant(-2.0), direction='GT')
    """
    if not x.tensor.is_float or op.compare_type == "TOTALORDER":
        return None
    return Compare(x, compute(Negate, c), MIRRORED[direction])


def sample_compare_of_sum(draw: Draw) -> Compare:
    type_ = random_type(draw, ("i32", "ui32", "i8"))
    x = bounded(draw, type_, 2, 9) if draw.boolean() else free(type_)
    made = draw.choose((Add, Subtract))(x, number(draw, type_, 0, 2))
    return Compare(made, number(draw, type_, 0, 9), draw.choose(DIRECTIONS))


@rewrite(Compare(x, e, direction), sample=sample_compare_of_sum)
def compare_of_sum_with_integer(op: Compare, x: Value, e: Constant, direction: str) -> Value | None:
    """(x + c < d) = (x < d - c) for integers, if x + c is proven not to wrap around; x + c = d always

    >>> n = Convert(tensor("ui8"), "i32")
    >>> compare_of_sum_with_integer(Compare(Add(n, Constant.of(1, "i32")), Constant.of(5, "i32"), "LT"))
    Compare(Convert(x, dtype='i32'), Constant(4), direction='LT')
    """
    if not x.tensor.is_integer or not isinstance(x, Add | Subtract) or isinstance(x, Constant):
        return None
    inner, moved = x.operands
    if isinstance(inner, Constant) and isinstance(x, Add):
        inner, moved = moved, inner
    if not (isinstance(moved, Constant) and moved.is_splat):
        return None
    offset = int(moved.number) if isinstance(x, Add) else -int(moved.number)
    known, full, bound = range_of(inner), everything(x.type), int(e.number) - offset
    wraps = known.low + offset < full.low or known.high + offset > full.high
    if wraps and direction in ("EQ", "NE"):
        bound = (bound - full.low) % (full.high - full.low + 1) + full.low
    elif wraps or not fits(bound, x.dtype):
        return None
    return Compare(inner, like(bound, e), direction)


def sample_compare_of_difference(draw: Draw) -> Compare:
    type_ = random_type(draw, ("i32", "ui32", "i8"))
    x = bounded(draw, type_, 0, 9) if draw.integer(0, 3) else free(type_)
    made = Subtract(number(draw, type_, 5, 12), x) if draw.boolean() else Negate(x)
    return Compare(made, number(draw, type_, -3, 9), draw.choose(DIRECTIONS))


@rewrite(Compare(x, e, direction), sample=sample_compare_of_difference)
def compare_of_difference_from_integer(op: Compare, x: Value, e: Constant, direction: str) -> Value | None:
    """(c - x < d) = (x > c - d) for integers, if c - x is proven not to wrap around; c - x = d always; and so for -x

    >>> n = Convert(tensor("ui8"), "i32")
    >>> compare_of_difference_from_integer(Compare(Subtract(Constant.of(9, "i32"), n), Constant.of(5, "i32"), "LT"))
    Compare(Convert(x, dtype='i32'), Constant(4), direction='GT')
    """
    if not x.tensor.is_integer:
        return None
    if isinstance(x, Negate):
        inner, start = x.operand, 0
    elif isinstance(x, Subtract) and isinstance(x.lhs, Constant) and x.lhs.is_splat:
        inner, start = x.rhs, int(x.lhs.number)
    else:
        return None
    if isinstance(inner, Constant):
        return None
    known, full, bound = range_of(inner), everything(x.type), start - int(e.number)
    wraps = start - known.high < full.low or start - known.low > full.high
    if wraps and direction in ("EQ", "NE"):
        bound = (bound - full.low) % (full.high - full.low + 1) + full.low
    elif wraps or not fits(bound, x.dtype):
        return None
    return Compare(inner, like(bound, e), MIRRORED[direction])


def sample_compare_of_widened(draw: Draw) -> Compare:
    narrow = random_type(draw, ("i8", "ui8", "i16"))
    wide = draw.choose(("i32", "i64", "f32"))
    return Compare(Convert(free(narrow), wide), Constant.of(draw.integer(-3, 9), wide, narrow.shape), "LT")


@rewrite(Compare(Convert(x, hole("dtype")), e, direction), sample=sample_compare_of_widened)
def compare_of_widened_with_constant(op: Compare, x: Value, e: Constant, direction: str) -> Value | None:
    """(convert(x) < c) = (x < convert(c)), if the conversion is exact and x's type holds c

    >>> compare_of_widened_with_constant(Compare(Convert(tensor("i8"), "i32"), Constant.of(3, "i32"), "LT"))
    Compare(x, Constant(3), direction='LT')
    """
    if not x.tensor.is_integer or op.compare_type == "TOTALORDER" or not holds_exactly(e.dtype, x.dtype):
        return None
    number = e.number
    # Neither NaN nor infinities are below this.
    if not abs(float(number)) < 2.0**62 or number != int(number) or not fits(int(number), x.dtype):
        return None
    return Compare(x, like(int(number), x), direction)


def sample_compare_of_converts(draw: Draw) -> Compare:
    narrow, wide = random_type(draw, ("i8", "ui8", "i1")), draw.choose(("i32", "i64", "f32"))
    left, right = (Convert(free(narrow, name), wide) for name in "xy")
    return Compare(left, right, draw.choose(DIRECTIONS))


@rewrite(Compare(Convert(x, hole("dtype")), Convert(y, hole("dtype")), direction), sample=sample_compare_of_converts)
def compare_of_converts(op: Compare, x: Value, y: Value, direction: str) -> Value | None:
    """compare(convert(x), convert(y)) = compare(x, y), if x and y have one type and the conversion is exact

    >>> compare_of_converts(Compare(Convert(tensor("i8"), "i32"), Convert(tensor("i8", name="y"), "i32"), "LT"))
    Compare(x, y, direction='LT')
    """
    exact = x.type is y.type and holds_exactly(op.lhs.dtype, x.dtype)
    return Compare(x, y, direction) if exact and op.compare_type is None and not x.tensor.is_float else None


one, zero = splat_hole("one", 1), splat_hole("zero", 0)


@rewrite(Compare(Sign(x), one, "NE"))
def sign_that_is_not_one(x: Value) -> Value | None:
    """(sign(x) ≠ 1) = (x ≤ 0) for integers

    >>> sign_that_is_not_one(Compare(Sign(Convert(tensor("ui8"), "i32")), Constant.of(1, "i32"), "NE"))
    Compare(Convert(x, dtype='i32'), Constant(0), direction='LE')
    """
    return Compare(x, like(0, x), "LE") if x.tensor.is_integer else None


# -- two comparisons --------------------------------------------------------------------------------------------------

LESS, EQUAL, GREATER, UNORDERED = 1, 2, 4, 8
CASES = {
    "LT": LESS,
    "LE": LESS | EQUAL,
    "EQ": EQUAL,
    "GE": GREATER | EQUAL,
    "GT": GREATER,
    "NE": LESS | GREATER | UNORDERED,
}
"""In which cases each comparison holds."""


def _merge(first: Compare, second: Compare, combine: str) -> Value | None:
    """One comparison that does for two of the same values."""
    if first.compare_type == "TOTALORDER" or second.compare_type == "TOTALORDER" or first.lhs.tensor.is_complex:
        return None
    direction = second.direction
    if _is_same(first.lhs, second.rhs) and _is_same(first.rhs, second.lhs):
        direction = MIRRORED[direction]
    elif not (_is_same(first.lhs, second.lhs) and _is_same(first.rhs, second.rhs)):
        return None
    left, right = CASES[first.direction], CASES[direction]
    wanted = left & right if combine == "and" else left | right
    possible = LESS | EQUAL | GREATER
    if first.lhs.tensor.is_float and (has_nan(first.lhs) or has_nan(first.rhs)):
        possible |= UNORDERED
    if wanted & possible == 0 or wanted & possible == possible:
        return Constant.of(bool(wanted & possible), "i1", first.shape)
    for name, cases in CASES.items():
        if cases & possible == wanted & possible:
            return first if name == first.direction else Compare(first.lhs, first.rhs, name)
    return None


def _is_same(left: Value, right: Value) -> bool:
    if left is right:
        return True
    return isinstance(left, Constant) and isinstance(right, Constant) and left.value == right.value


def _two_compares(draw: Draw) -> And:
    type_ = random_type(draw)
    x, y = free(type_), draw.choose((free(type_, "y"), number(draw, type_)))
    first = Compare(x, y, draw.choose(DIRECTIONS))
    sides = draw.choose(((x, y), (y, x)))
    return And(first, Compare(*sides, draw.choose(DIRECTIONS)))


COMPARES = LOGIC.saying(("x ≤ y and x ≠ y = x < y", "x < y or x = y = x ≤ y"), ("LE", "LT"), ("NE", "EQ"))


@rewrite(And(Compare(x, y, direction), p), sample=_two_compares, dual=COMPARES)
def and_of_compares(op: And | Or) -> Value | None:
    """x ≤ y and x ≠ y = x < y, likewise for all pairs of comparisons of the same values

    >>> x, y = tensor("f32"), tensor("f32", name="y")
    >>> and_of_compares(And(Compare(x, y, "LE"), Compare(x, y, "NE")))
    Compare(x, y, direction='LT')
    """
    first, second = op.operands
    kind = "and" if isinstance(op, And) else "or"
    return _merge(first, second, kind) if isinstance(first, Compare) and isinstance(second, Compare) else None


# -- with an extreme --------------------------------------------------------------------------------------------------


def _sample_extreme(draw: Draw) -> Compare:
    type_ = random_type(draw)
    x, y = free(type_), draw.choose((free(type_, "y"), number(draw, type_)))
    made = Maximum(*draw.choose(((x, y), (y, x))))
    return Compare(*draw.choose(((made, x), (x, made), (y, made))), draw.choose(DIRECTIONS))


def _split_extreme(op: Compare, extreme: type[Maximum] | type[Minimum]) -> tuple[Value, Value, str] | None:
    """(x, y, direction) where the comparison is one of an extreme of x and y with x."""
    if op.compare_type == "TOTALORDER" or op.lhs.tensor.is_complex:
        return None
    for made, x, direction in ((op.lhs, op.rhs, op.direction), (op.rhs, op.lhs, MIRRORED[op.direction])):
        if isinstance(made, extreme):
            for own, other in (made.operands, made.operands[::-1]):
                if _is_same(own, x):
                    return own, other, direction
    return None


@rewrite(Compare(x, y, direction), sample=_sample_extreme, dual=ORDER)
def compare_of_maximum_with_operand(op: Compare, dual: Dual) -> Value | None:
    """(max(x, y) = x) = (x ≥ y), and (max(x, y) > x) = (y > x)

    >>> x, y = tensor("f32"), tensor("f32", name="y")
    >>> compare_of_maximum_with_operand(Compare(Maximum(x, y), x, "EQ"))
    Compare(x, y, direction='GE')
    """
    found = _split_extreme(op, dual(Maximum))
    if found is None:
        return None
    x, y, direction = found
    if direction == "EQ":
        return Compare(x, y, dual("GE"))
    # With NaN as x, the maximum is no more than x; with NaN as y, it is not either.
    return Compare(y, x, direction) if direction == dual("GT") else None
