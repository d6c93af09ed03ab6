"""Comparisons of two sides that have something in common: a term, a factor, a sign, a modulus."""

from __future__ import annotations

import math
from collections.abc import Callable

from windlass.facts.ranges import has_nan, is_finite, range_of
from windlass.ir import Op, Value
from windlass.ir.values import tensor
from windlass.ops import (
    Abs,
    Add,
    And,
    Compare,
    Constant,
    Convert,
    Divide,
    Maximum,
    Minimum,
    Multiply,
    Not,
    Or,
    Sqrt,
    Subtract,
)
from windlass.ops.comparison import MIRRORED
from windlass.ops.elementwise import Popcnt, Xor
from windlass.ops.ranges import everything
from windlass.ops.sampling import Draw
from windlass.rewriting.pattern import any_op, hole
from windlass.rewriting.rule import rewrite
from windlass.rewriting.sharing import is_alone
from windlass.rules.comparisons import DIRECTIONS
from windlass.rules.duals import LOGIC
from windlass.rules.known_operands import bounded, free, number, random_type
from windlass.rules.splats import fits, like, splat

__all__ = ["tensor"]

x, y, z, p, q, direction = hole("x"), hole("y"), hole("z"), hole("p"), hole("q"), hole("direction")
c, d = splat("c"), splat("d")

INTEGERS = ("i32", "ui32", "i8", "i64")
EQUALITIES = ("EQ", "NE")


def _is_modular(value: Value) -> bool:
    """Whether sums wrap around, so that adding something on both sides loses nothing."""
    return value.tensor.is_integer


def _sample_pair(draw: Draw, combine: Callable[[Value, Value], Op]) -> Compare:
    type_ = random_type(draw, INTEGERS)
    x, y, z = (free(type_, name) for name in "xyz")
    return Compare(combine(x, z), combine(y, z), draw.choose(EQUALITIES))


@rewrite(Compare(Add(x, z), Add(y, z), direction), sample=lambda draw: _sample_pair(draw, Add))
def compare_of_sums_with_common_term(x: Value, y: Value, direction: str) -> Value | None:
    """(x + z = y + z) = (x = y), and so for ≠, for integers

    >>> x, y, z = (tensor("i32", name=name) for name in "xyz")
    >>> compare_of_sums_with_common_term(Compare(Add(x, z), Add(y, z), "EQ"))
    Compare(x, y, direction='EQ')
    """
    return Compare(x, y, direction) if _is_modular(x) and direction in EQUALITIES else None


@rewrite(Compare(Subtract(x, z), Subtract(y, z), direction), sample=lambda draw: _sample_pair(draw, Subtract))
def compare_of_differences_from_common_term(x: Value, y: Value, direction: str) -> Value | None:
    """(x - z = y - z) = (x = y), and so for ≠, for integers

    >>> x, y, z = (tensor("i32", name=name) for name in "xyz")
    >>> compare_of_differences_from_common_term(Compare(Subtract(x, z), Subtract(y, z), "NE"))
    Compare(x, y, direction='NE')
    """
    return Compare(x, y, direction) if _is_modular(x) and direction in EQUALITIES else None


@rewrite(
    Compare(Subtract(z, x), Subtract(z, y), direction),
    sample=lambda draw: _sample_pair(draw, lambda x, z: Subtract(z, x)),
)
def compare_of_differences_of_common_term(x: Value, y: Value, direction: str) -> Value | None:
    """(z - x = z - y) = (x = y), and so for ≠, for integers

    >>> x, y, z = (tensor("i32", name=name) for name in "xyz")
    >>> compare_of_differences_of_common_term(Compare(Subtract(z, x), Subtract(z, y), "EQ"))
    Compare(x, y, direction='EQ')
    """
    return Compare(x, y, direction) if _is_modular(x) and direction in EQUALITIES else None


@rewrite(Compare(Xor(x, z), Xor(y, z), direction), sample=lambda draw: _sample_pair(draw, Xor))
def compare_of_xors_with_common_bits(x: Value, y: Value, direction: str) -> Value | None:
    """(x xor z = y xor z) = (x = y), and so for ≠

    >>> x, y, z = (tensor("i32", name=name) for name in "xyz")
    >>> compare_of_xors_with_common_bits(Compare(Xor(x, z), Xor(y, z), "EQ"))
    Compare(x, y, direction='EQ')
    """
    return Compare(x, y, direction) if direction in EQUALITIES else None


def _sample_shifted_pair(draw: Draw) -> Compare:
    type_ = random_type(draw, ("i32", "ui32", "i8"))
    offset = number(draw, type_, 0, 2)
    x, y = (bounded(draw, type_, 2, 9, name) for name in "xy")
    return Compare(Add(x, offset), Add(y, offset), draw.choose(DIRECTIONS))


@rewrite(Compare(Add(x, c), Add(y, d), direction), sample=_sample_shifted_pair)
def compare_of_shifted_integers(x: Value, y: Value, c: Constant, d: Constant, direction: str) -> Value | None:
    """(x + c < y + c) = (x < y) for integers, if neither sum is proven to wrap around

    >>> n, m = (Convert(tensor("ui8", name=name), "i32") for name in "nm")
    >>> one = Constant.of(1, "i32")
    >>> compare_of_shifted_integers(Compare(Add(n, one), Add(m, one), "LT"))
    Compare(Convert(n, dtype='i32'), Convert(m, dtype='i32'), direction='LT')
    """
    if not x.tensor.is_integer or c.number != d.number:
        return None
    full, offset = everything(x.type), int(c.number)
    for value in (x, y):
        known = range_of(value)
        if known.low + offset < full.low or known.high + offset > full.high:
            return None
    return Compare(x, y, direction)


@rewrite(Compare(Not(x), Not(y), direction))
def compare_of_nots(x: Value, y: Value, direction: str) -> Value:
    """(not x < not y) = (x > y), for booleans and bits

    >>> compare_of_nots(Compare(Not(tensor("i32")), Not(tensor("i32", name="y")), "LT"))
    Compare(x, y, direction='GT')
    """
    return Compare(x, y, MIRRORED[direction])


def _sample_against_zero(draw: Draw, combine: type[Subtract] | type[Xor]) -> Compare:
    type_ = random_type(draw, (*INTEGERS, "f32") if combine is Subtract else INTEGERS)
    left = bounded(draw, type_, -4, 4) if draw.boolean() else free(type_)
    made = combine(left, free(type_, "y"))
    return Compare(made, Constant.of(0, type_.dtype, type_.shape), draw.choose(DIRECTIONS))


@rewrite(
    Compare(Subtract(x, y), c, direction),
    sample=lambda draw: _sample_against_zero(draw, Subtract),
)
def compare_of_integer_difference_with_zero(x: Value, y: Value, c: Constant, direction: str) -> Value | None:
    """(x - y = 0) = (x = y), and so for ≠, for integers

    >>> x, y = tensor("i32"), tensor("i32", name="y")
    >>> compare_of_integer_difference_with_zero(Compare(Subtract(x, y), Constant.of(0, "i32"), "EQ"))
    Compare(x, y, direction='EQ')
    """
    if not _is_modular(x) or direction not in EQUALITIES or c.number != 0 or isinstance(x, Constant):
        return None
    return Compare(x, y, direction)


@rewrite(
    Compare(Subtract(x, y), c, direction),
    sample=lambda draw: _sample_against_zero(draw, Subtract),
    reassociates=True,
)
def compare_of_difference_with_zero(x: Value, y: Value, c: Constant, direction: str) -> Value | None:
    """(x - y < 0) = (x < y) for floats, and so for > , and for the others if x or y is proven to be finite

    >>> x, y = tensor("f32"), tensor("f32", name="y")
    >>> compare_of_difference_with_zero(Compare(Subtract(x, y), Constant.of(0, "f32"), "LT"))
    Compare(x, y, direction='LT')
    """
    if not x.tensor.is_float or c.number != 0:
        return None
    # The difference of equal infinities is NaN, which is neither less nor greater.
    if direction not in ("LT", "GT") and not (is_finite(x) or is_finite(y)):
        return None
    return Compare(x, y, direction)


@rewrite(Compare(Xor(x, y), c, direction), sample=lambda draw: _sample_against_zero(draw, Xor))
def compare_of_xor_with_zero(x: Value, y: Value, c: Constant, direction: str) -> Value | None:
    """(x xor y = 0) = (x = y), and so for ≠

    >>> x, y = tensor("i32"), tensor("i32", name="y")
    >>> compare_of_xor_with_zero(Compare(Xor(x, y), Constant.of(0, "i32"), "NE"))
    Compare(x, y, direction='NE')
    """
    return Compare(x, y, direction) if direction in EQUALITIES and c.number == 0 else None


def _sample_modulus(draw: Draw) -> Compare:
    type_ = random_type(draw, ("f32", "bf16", "i32", "i8"))
    inner = bounded(draw, type_, -3, 3) if draw.boolean() else free(type_)
    return Compare(Abs(inner), Constant.of(0, type_.dtype, type_.shape), draw.choose(("EQ", "NE", "GT", "LE")))


@rewrite(Compare(Abs(x), c, direction), sample=_sample_modulus)
def compare_of_modulus_with_zero(x: Value, c: Constant, direction: str) -> Value | None:
    """(|x| = 0) = (x = 0); and (|x| > 0) = (x ≠ 0) for what is neither NaN nor the least integer

    >>> compare_of_modulus_with_zero(Compare(Abs(tensor("f32")), Constant.of(0, "f32"), "EQ"))
    Compare(x, Constant(0.0), direction='EQ')
    """
    if c.number != 0 or x.tensor.is_complex:
        return None
    least = x.tensor.is_integer and range_of(x).low == everything(x.type).low
    if direction in EQUALITIES:
        return Compare(x, c, direction)
    if direction == "LE" and not least:
        return Compare(x, c, "EQ")
    if direction == "GT" and not least and not has_nan(x):
        return Compare(x, c, "NE")
    return None


@rewrite(Compare(Popcnt(x), c, direction))
def compare_of_popcnt_with_zero(x: Value, c: Constant, direction: str) -> Value | None:
    """(popcnt(x) = 0) = (x = 0), and so for ≠

    >>> compare_of_popcnt_with_zero(Compare(Popcnt(tensor("i32")), Constant.of(0, "i32"), "EQ"))
    Compare(x, Constant(0), direction='EQ')
    """
    return Compare(x, c, direction) if c.number == 0 and direction in EQUALITIES else None


def _sample_multiple(draw: Draw) -> Compare:
    type_ = random_type(draw, ("i32", "i8"))
    factor = draw.choose((-3, -2, 2, 3))
    made = Multiply(bounded(draw, type_, -5, 9), like(factor, free(type_)))
    return Compare(made, number(draw, type_, -9, 9), draw.choose(DIRECTIONS))


@rewrite(Compare(Multiply(x, c), d, direction), sample=_sample_multiple)
def compare_of_multiple_with_integer(x: Value, c: Constant, d: Constant, direction: str) -> Value | None:
    """(x · c < d) = (x < ⌈d / c⌉) for integers and c > 0, if the product is proven not to wrap around; and so on

    >>> n = Convert(tensor("i8", name="n"), "i32")
    >>> compare_of_multiple_with_integer(Compare(Multiply(n, Constant.of(4, "i32")), Constant.of(9, "i32"), "LT"))
    Compare(Convert(n, dtype='i32'), Constant(3), direction='LT')
    """
    if not x.tensor.is_integer or isinstance(x, Constant) or abs(int(c.number)) < 2:
        return None
    factor, bound = int(c.number), int(d.number)
    known, full = range_of(x), everything(x.type)
    ends = (known.low * factor, known.high * factor)
    if min(ends) < full.low or max(ends) > full.high:
        return None
    if direction in EQUALITIES and bound % factor:
        return Constant.of(direction == "NE", "i1", x.shape)
    if factor < 0:
        factor, bound, direction = -factor, -bound, MIRRORED[direction]
    limit = -(-bound // factor) if direction in ("LT", "GE") else bound // factor
    return Compare(x, like(limit, x), direction) if fits(limit, x.dtype) else None


def _sample_scaled(draw: Draw) -> Compare:
    type_ = random_type(draw, ("f32", "f64", "bf16"))
    factor = draw.choose((-3, -1.5, 1.5, 2, 1024))
    made = Multiply(free(type_), like(factor, free(type_)))
    return Compare(made, Constant.of(0, type_.dtype, type_.shape), draw.choose(DIRECTIONS))


@rewrite(Compare(Multiply(x, c), d, direction), sample=_sample_scaled)
def compare_of_scaled_with_zero(x: Value, c: Constant, d: Constant, direction: str) -> Value | None:
    """(x · c < 0) = (x < 0) for floats and c ≥ 1, (x > 0) for c ≤ -1: smaller factors may make zeros of numbers

    >>> scaled = Multiply(tensor("f32"), Constant.of(-2, "f32"))
    >>> compare_of_scaled_with_zero(Compare(scaled, Constant.of(0, "f32"), "LT"))
    Compare(x, Constant(0.0), direction='GT')
    """
    if not x.tensor.is_float or d.number != 0:
        return None
    factor = float(c.number)
    if not (math.isfinite(factor) and abs(factor) >= 1):
        return None
    return Compare(x, d, direction if factor > 0 else MIRRORED[direction])


def _sample_divided(draw: Draw) -> Compare:
    type_ = random_type(draw, ("f32", "f64", "bf16"))
    divisor = draw.choose((-0.75, -0.5, 0.25, 1))
    made = Divide(free(type_), like(divisor, free(type_)))
    return Compare(made, Constant.of(0, type_.dtype, type_.shape), draw.choose(DIRECTIONS))


@rewrite(Compare(Divide(x, c), d, direction), sample=_sample_divided)
def compare_of_quotient_with_zero(x: Value, c: Constant, d: Constant, direction: str) -> Value | None:
    """(x / c < 0) = (x < 0) for floats and 0 < c ≤ 1, (x > 0) for -1 ≤ c < 0: larger ones may make zeros of numbers

    >>> quotient = Divide(tensor("f32"), Constant.of(0.3, "f32"))
    >>> compare_of_quotient_with_zero(Compare(quotient, Constant.of(0, "f32"), "LE"))
    Compare(x, Constant(0.0), direction='LE')
    """
    if not x.tensor.is_float or d.number != 0:
        return None
    divisor = float(c.number)
    if not 0 < abs(divisor) <= 1:
        return None
    return Compare(x, d, direction if divisor > 0 else MIRRORED[direction])


def _sample_root(draw: Draw) -> Compare:
    type_ = random_type(draw, ("f32", "f64"))
    inner = bounded(draw, type_, 0, 5) if draw.boolean() else free(type_)
    return Compare(Sqrt(inner), Constant.of(0, type_.dtype, type_.shape), draw.choose(("GT", "EQ", "LE", "NE")))


@rewrite(Compare(Sqrt(x), c, direction), sample=_sample_root)
def compare_of_root_with_zero(x: Value, c: Constant, direction: str) -> Value | None:
    """(sqrt(x) > 0) = (x > 0), and so for = and ≤ if x is proven not to be negative

    >>> compare_of_root_with_zero(Compare(Sqrt(tensor("f32")), Constant.of(0, "f32"), "GT"))
    Compare(x, Constant(0.0), direction='GT')
    """
    if not x.tensor.is_float or c.number != 0:
        return None
    # The root of a negative number is NaN, of which only ≠ holds.
    if direction in ("GT", "EQ") or (direction in ("LE", "NE", "GE") and range_of(x).low >= 0):
        return Compare(x, c, direction)
    return None


# -- converted integers -----------------------------------------------------------------------------------------------

EXACT_TO = {"f16": 2**11, "bf16": 2**8, "f32": 2**24, "f64": 2**53}
"""All integers up to these are floats of the type, and rounding keeps the order of larger ones."""


def _sample_converted(draw: Draw) -> Compare:
    type_ = random_type(draw, ("i32", "i64", "i8", "ui32"))
    dtype = draw.choose(("f32", "f64", "bf16"))
    bound = draw.choose((0, 2.5, -1.5, 3, -7, 100))
    made = Convert(free(type_), dtype)
    return Compare(made, Constant.of(bound, dtype, type_.shape), draw.choose(DIRECTIONS))


@rewrite(Compare(Convert(x, hole("dtype")), c, direction), sample=_sample_converted)
def compare_of_converted_integer(x: Value, c: Constant, direction: str) -> Value | None:
    """(convert(n) < c) = (n < ⌈c⌉) for integers n and small floats c, though large integers are rounded; and so on

    >>> compare_of_converted_integer(Compare(Convert(tensor("i32", name="n"), "f32"), Constant.of(2.5, "f32"), "LT"))
    Compare(n, Constant(3), direction='LT')
    """
    if not x.tensor.is_integer or c.dtype not in EXACT_TO:
        return None
    bound = float(c.number)
    if not abs(bound) < EXACT_TO[c.dtype] - 1:
        return None
    if direction in EQUALITIES and bound != int(bound):
        return Constant.of(direction == "NE", "i1", x.shape)
    limit = math.ceil(bound) if direction in ("LT", "GE") else math.floor(bound)
    return Compare(x, like(limit, x), direction) if fits(limit, x.dtype) else None


# -- several bounds of one value --------------------------------------------------------------------------------------


COMPARE = any_op(Compare)


def _sample_bounds(draw: Draw) -> And:
    type_ = random_type(draw, ("f32", "i32", "ui8", "bf16"))
    x, y, z = (free(type_, name) for name in "xyz")
    direction = draw.choose(("LT", "LE", "GT", "GE"))
    first, second = Compare(x, y, direction), Compare(x, z, direction)
    if draw.boolean():
        second = Compare(z, x, MIRRORED[direction])
    return And(first, second)


def _merge_bounds(op: Op, is_and: bool) -> Compare | None:
    first, second = op.operands
    if not isinstance(first, Compare) or not isinstance(second, Compare):
        return None
    if not is_alone(first) or not is_alone(second) or "TOTALORDER" in (first.compare_type, second.compare_type):
        return None
    if first.lhs.tensor.is_complex or first.lhs.tensor.is_boolean or first.lhs.type is not second.lhs.type:
        return None
    for x, y, towards in _both_ways(first):
        for other, z, same in _both_ways(second):
            if other is x and same == towards and towards not in EQUALITIES and y is not z:
                if isinstance(y, Constant) and isinstance(z, Constant) and not (y.is_splat and z.is_splat):
                    return None
                return Compare(x, _tighter(y, z, towards, is_and), towards)
    return None


def _both_ways(op: Compare) -> tuple[tuple[Value, Value, str], ...]:
    return (op.lhs, op.rhs, op.direction), (op.rhs, op.lhs, MIRRORED[op.direction])


def _tighter(y: Value, z: Value, direction: str, is_and: bool) -> Minimum | Maximum:
    lesser = (direction in ("LT", "LE")) == is_and
    return Minimum(y, z) if lesser else Maximum(y, z)


@rewrite(And(COMPARE, COMPARE), sample=_sample_bounds, dual=LOGIC.saying(("min", "max"), ("Minimum", "Maximum")))
def and_of_bounds(op: And | Or) -> Value | None:
    """x < y and x < z = x < min(y, z); likewise for ≤, >, ≥ (disjunctions: of y, z proven not to be NaN)

    >>> x, y, z = (tensor("i32", name=name) for name in "xyz")
    >>> and_of_bounds(And(Compare(x, y, "LT"), Compare(x, z, "LT")))
    Compare(x, Minimum(y, z), direction='LT')
    """
    found = _merge_bounds(op, isinstance(op, And))
    if found is None or isinstance(op, And):
        return found
    assert isinstance(found.rhs, Maximum | Minimum)
    return None if any(has_nan(each) for each in found.rhs.operands) else found


# -- two bounds that are numbers --------------------------------------------------------------------------------------


def _sample_numbers(draw: Draw) -> And:
    type_ = random_type(draw, ("f32", "i32", "ui8", "bf16"))
    x = free(type_)
    return And(*(Compare(x, number(draw, type_, 0, 3), draw.choose(DIRECTIONS)) for _ in range(2)))


def _merge_numbers(op: Op, is_and: bool) -> Value | None:
    """One comparison with a number that does for two, or none: decided case by case along the line of numbers."""
    first, second = op.operands
    if not isinstance(first, Compare) or not isinstance(second, Compare) or first.lhs is not second.lhs:
        return None
    c, d = first.rhs, second.rhs
    if not isinstance(c, Constant) or not isinstance(d, Constant) or not (c.is_splat and d.is_splat):
        return None
    x = first.lhs
    if x.tensor.is_complex or x.tensor.is_boolean or "TOTALORDER" in (first.compare_type, second.compare_type):
        return None
    a, b = sorted((float(c.number), float(d.number))) if x.tensor.is_float else sorted((int(c.number), int(d.number)))
    if math.isnan(a) or math.isnan(b):
        return None
    points = _represent(x, a, b)
    holds = [_decide(first, point) for point in points], [_decide(second, point) for point in points]
    wanted = [(left and right) if is_and else (left or right) for left, right in zip(*holds, strict=True)]
    for known, found in zip((first, second), holds, strict=True):
        if wanted == found:
            return known
    if all(wanted) or not any(wanted):
        return Constant.of(all(wanted), "i1", first.shape)
    for bound in (c, d):
        for name in DIRECTIONS:
            if wanted == [_compare(point, float(bound.number), name) for point in points]:
                return Compare(x, bound, name)
    return None


def _represent(x: Value, a: float, b: float) -> list[float]:
    """A number of each kind: below, at, between and above the two; and NaN if x may be that."""
    full = everything(x.type)
    points: list[float] = [a, b]
    if full.low < a:
        points.append(-math.inf)
    if full.high > b:
        points.append(math.inf)
    if b - a > (0 if x.tensor.is_float else 1):
        points.append((a + b) / 2)
    if x.tensor.is_float and has_nan(x):
        points.append(math.nan)
    return points


def _decide(op: Compare, point: float) -> bool:
    assert isinstance(op.rhs, Constant)
    return _compare(point, float(op.rhs.number), op.direction)


def _compare(left: float, right: float, direction: str) -> bool:
    return {
        "LT": left < right,
        "LE": left <= right,
        "EQ": left == right,
        "NE": left != right,
        "GE": left >= right,
        "GT": left > right,
    }[direction]


@rewrite(And(COMPARE, COMPARE), sample=_sample_numbers, dual=LOGIC.saying(("3", "5")))
def and_of_bounds_by_numbers(op: And | Or) -> Value | None:
    """x < 5 and x < 3 = x < 3, x < 3 and x ≥ 5 = false, likewise for all pairs of comparisons with numbers

    >>> n = tensor("i32", name="n")
    >>> bounds = [Compare(n, Constant.of(number, "i32"), "LT") for number in (5, 3)]
    >>> and_of_bounds_by_numbers(And(*bounds))
    Compare(n, Constant(3), direction='LT')
    """
    return _merge_numbers(op, isinstance(op, And))
