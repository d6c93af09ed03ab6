"""Arithmetic on numbers of several limbs, made of operations on one limb each, where the active builder is.

Two limbs have the algorithms whose errors Joldes, Muller and Popescu have proved (Tight and rigorous error bounds for
basic building blocks of double-word arithmetic, 2017), with u half a unit in the last place of one limb: a sum is
within 3u², a product within 5u², a quotient within 9.8u², a root within 3.125u² of the exact one. Three limbs and more
are error-free sums and products of limbs, distilled to as many limbs as there are: the errors are some units of the
last bit of all limbs together.

Infinities and NaN: an error-free sum has NaN for what an infinity lost. So where the limbs after the first are not
smaller than the first, the operation on first limbs alone is the result (`settle`), and with it the sign of a zero.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from windlass.ir import Value
from windlass.ops import (
    Abs,
    Add,
    And,
    BroadcastInDim,
    Ceil,
    Compare,
    Constant,
    Divide,
    Floor,
    IsFinite,
    Maximum,
    Minimum,
    Multiply,
    Negate,
    Not,
    Or,
    Reshape,
    RoundNearestAfz,
    RoundNearestEven,
    Select,
    Sqrt,
    Subtract,
)
from windlass.precision.limbs import Limbs, Number
from windlass.precision.transforms import ordered_sum_with_error, product_with_error, sum_with_error


class Arithmetic:
    """Arithmetic on numbers of at most `limbs.count` limbs; what it gives has as many.

    What is not `is_guarded` is for numbers that are known to be finite, within functions that look after others.
    """

    def __init__(self, limbs: Limbs, is_guarded: bool = True) -> None:
        self.limbs = limbs
        self.count = limbs.count
        self.is_guarded = is_guarded

    def with_count(self, count: int) -> Arithmetic:
        """The same of so many limbs, one at least, unguarded."""
        return _unguarded(self.limbs.dtype, max(count, 1))

    @property
    def unguarded(self) -> Arithmetic:
        """The same for numbers that are known to be finite."""
        return self.with_count(self.count)

    # -- numbers --------------------------------------------------------------------------------------------------

    def constant(self, number: Fraction | float, shape: tuple[int, ...]) -> Number:
        """The number in every element of a shape, as nearly as so many limbs say it."""
        return tuple(Constant.of(limb, self.limbs.dtype, shape) for limb in limbs_of(number, self.limbs))

    def padded(self, x: Number, count: int | None = None) -> Number:
        """The number with all its limbs there."""
        missing = (count or self.count) - len(x)
        return (*x, *(Constant.splat(0, x[0].type) for _ in range(missing))) if missing > 0 else x

    def select(self, condition: Value, x: Number, y: Number) -> Number:
        """x where the condition holds, y elsewhere."""
        count = max(len(x), len(y))
        pairs = zip(self.padded(x, count), self.padded(y, count), strict=True)
        return tuple(Select(condition, *pair) for pair in pairs)

    def settle(self, plain: Value, found: Number) -> Number:
        """What was found, or the result of the first limbs alone where nothing finite was found, or a zero."""
        if not self.is_guarded or len(found) == 1:
            return found
        zero = Constant.splat(0, plain.type)
        high, *lows = found
        if high is plain:
            is_whole: Value = IsFinite(lows[0])
        else:
            is_whole = Compare(Abs(lows[0]), Abs(high), "LT")
            high = Select(is_whole, high, plain)
        return (high, *(Select(is_whole, low, zero) for low in lows))

    def distilled(self, terms: Sequence[Value]) -> Number:
        """The sum of terms, which are about in falling order of size."""
        if len(terms) == 1 or self.count == 1:
            return (functools.reduce(lambda total, term: Add(term, total), reversed(terms)),)
        passes = min(self.count + 1, len(terms) - 1)
        for _ in range(passes):
            total, rest = terms[-1], list[Value]()
            for term in reversed(terms[:-1]):
                total, error = sum_with_error(term, total)
                rest.append(error)
            terms = [total, *reversed(rest)]
        return tuple(terms[: self.count])

    # -- the four operations, and roots ---------------------------------------------------------------------------

    def add(self, x: Number, y: Number) -> Number:
        """x + y"""
        x, y = (x, y) if len(x) >= len(y) else (y, x)
        plain: Value
        if self.count == 1:
            return (Add(x[0], y[0]),)
        if self.count > 2:
            found = self.distilled(merged(x, y))
            return self.settle(Add(x[0], y[0]), found) if self.is_guarded else found
        high, low = sum_with_error(x[0], y[0])
        plain = high
        if len(y) == 2:
            middle, lowest = sum_with_error(x[1], y[1])
            high, low = ordered_sum_with_error(high, Add(low, middle))
            high, low = ordered_sum_with_error(high, Add(low, lowest))
        elif len(x) == 2:
            high, low = ordered_sum_with_error(high, Add(x[1], low))
        return self.settle(plain, (high, low))

    def subtract(self, x: Number, y: Number) -> Number:
        """x - y"""
        return self.add(x, self.negate(y))

    def multiply(self, x: Number, y: Number) -> Number:
        """x · y"""
        x, y = (x, y) if len(x) >= len(y) else (y, x)
        if self.count == 1:
            return (Multiply(x[0], y[0]),)
        for number, other in ((y, x), (x, y)):
            if is_power_of_two(number):
                return self._scaled(other[: self.count], number[0])
        if self.count > 2:
            return self._multiply_many(x, y)
        high, low = product_with_error(x[0], y[0])
        plain = high
        if len(y) == 2:
            cross = Add(Multiply(x[0], y[1]), Multiply(x[1], y[0]))
            high, low = ordered_sum_with_error(high, Add(low, cross))
        elif len(x) == 2:
            high, rest = ordered_sum_with_error(high, Multiply(x[1], y[0]))
            high, low = ordered_sum_with_error(high, Add(rest, low))
        return self.settle(plain, (high, low))

    def _multiply_many(self, x: Number, y: Number) -> Number:
        """Products of limbs by their order of size, each with what it lost in the next order."""
        orders: list[list[Value]] = [[] for _ in range(self.count + 1)]
        for i, left in enumerate(x[: self.count]):
            for j, right in enumerate(y[: self.count]):
                if i + j < self.count:
                    product, error = product_with_error(left, right)
                    orders[i + j].append(product)
                    orders[i + j + 1].append(error)
                elif i + j == self.count:
                    orders[i + j].append(Multiply(left, right))
        plain = orders[0][0]
        return self.settle(plain, self.distilled([term for order in orders for term in order]))

    def _scaled(self, x: Number, factor: Value) -> Number:
        """Each limb times a power of two."""
        found = tuple(Multiply(limb, factor) for limb in x)
        if not self.is_guarded or len(found) == 1:
            return found
        zero, is_finite = Constant.splat(0, found[0].type), IsFinite(found[0])
        return (found[0], *(Select(is_finite, low, zero) for low in found[1:]))

    def divide(self, x: Number, y: Number) -> Number:
        """x / y"""
        high = Divide(x[0], y[0])
        if self.count == 1:
            return (high,)
        if is_power_of_two(y):
            return self._scaled(x, Divide(Constant.splat(1, high.type), y[0]))
        if self.count > 2:
            return self._divide_long(x, y)
        product, error = product_with_error(high, y[0])
        if len(y) == 2:
            product, rest = ordered_sum_with_error(product, Multiply(y[1], high))
            error = Add(rest, error)
            product, error = ordered_sum_with_error(product, error)
            rest = Subtract(x[1], error) if len(x) == 2 else Negate(error)
            remainder = Add(Subtract(x[0], product), rest)
        else:
            remainder = Subtract(Subtract(x[0], product), error)
            if len(x) == 2:
                remainder = Add(remainder, x[1])
        return self.settle(high, ordered_sum_with_error(high, Divide(remainder, y[0])))

    def _divide_long(self, x: Number, y: Number) -> Number:
        """One limb of the quotient after the other."""
        exact = self.unguarded
        quotient = [Divide(x[0], y[0])]
        rest = x
        for _ in range(self.count):
            rest = exact.subtract(rest, exact.multiply(y, (quotient[-1],)))
            quotient.append(Divide(rest[0], y[0]))
        return self.settle(quotient[0], self.distilled(quotient))

    def sqrt(self, x: Number) -> Number:
        """The square root."""
        high = Sqrt(x[0])
        if self.count == 1:
            return (high,)
        square, error = product_with_error(high, high)
        if self.count == 2:
            rest = Subtract(Subtract(x[0], square), error)
            if len(x) == 2:
                rest = Add(rest, x[1])
            return self.settle(high, ordered_sum_with_error(high, Divide(rest, Add(high, high))))
        # Each step of Heron's method gives the bits of one limb more.
        exact, found, double = self.unguarded, (high,), Add(high, high)
        for _ in range(self.count):
            rest = exact.subtract(x, exact.multiply(found, found))
            found = exact.add(found, (Divide(rest[0], double),))
        return self.settle(high, found)

    # -- signs and order ------------------------------------------------------------------------------------------

    def negate(self, x: Number) -> Number:
        """-x"""
        return tuple(Negate(limb) for limb in x)

    def abs(self, x: Number) -> Number:
        """|x|"""
        is_negative = Compare(x[0], Constant.splat(0, x[0].type), "LT")
        return (Abs(x[0]), *(Select(is_negative, Negate(low), low) for low in x[1:]))

    def compare(self, x: Number, y: Number, direction: str, kind: str | None = None) -> Value:
        """How they compare: by the first limbs that differ."""
        count = max(len(x), len(y))
        heads: Value = Compare(x[0], y[0], direction, kind)
        if count == 1:
            return heads
        if count == 2:
            x, y = self.padded(x, 2), self.padded(y, 2)
            same = And(Compare(x[0], y[0], "EQ", kind), Compare(x[1], y[1], direction))
            strict = STRICT.get(direction, direction)
            return same if direction == "EQ" else Or(Compare(x[0], y[0], strict, kind), same)
        # The same number may be written with other limbs, if there are more than two. Their difference tells.
        difference = self.with_count(count).subtract(x, y)[0]
        zero = Constant.splat(0, difference.type)
        is_known: Value = IsFinite(difference)
        if kind is not None:
            is_known = And(is_known, Or(Compare(x[0], zero, "NE"), Compare(y[0], zero, "NE")))
        return Select(is_known, Compare(difference, zero, direction), heads)

    def maximum(self, x: Number, y: Number) -> Number:
        """The larger of both; NaN if either is."""
        return self._extreme(Maximum(x[0], y[0]), x, y, "GE")

    def minimum(self, x: Number, y: Number) -> Number:
        """The smaller of both; NaN if either is."""
        return self._extreme(Minimum(x[0], y[0]), x, y, "LE")

    def _extreme(self, high: Value, x: Number, y: Number, direction: str) -> Number:
        if len(x) == len(y) == 1:
            return (high,)
        _, *lows = self.select(self.compare(x, y, direction), x, y)
        if max(len(x), len(y)) > 2:
            # Of the same number in two forms the one whose first limb is taken.
            _, *lows = self.select(Or(Compare(y[0], high, "NE"), self.compare(x, y, direction)), x, y)
        # Beside NaN there is nothing.
        is_number = Compare(high, high, "EQ")
        return (high, *(Select(is_number, low, Constant.splat(0, low.type)) for low in lows))

    def clamp(self, least: Number, x: Number, most: Number) -> Number:
        """x, but no less than `least` and no more than `most`, which may be one number for all elements."""
        shape = x[0].shape
        raised = self.maximum(x, tuple(spread_over(limb, shape) for limb in least))
        return self.minimum(raised, tuple(spread_over(limb, shape) for limb in most))

    # -- whole numbers --------------------------------------------------------------------------------------------

    def floor(self, x: Number) -> Number:
        """The next integer below."""
        return self._rounded(x, Floor)

    def ceil(self, x: Number) -> Number:
        """The next integer above."""
        return self._rounded(x, Ceil)

    def _rounded(self, x: Number, rounding: type[Floor | Ceil]) -> Number:
        """Limbs from the first on, as long as those before are whole."""
        high, *lows = list(self.unguarded.distilled(x) if len(x) > 2 else x)
        found: list[Value] = [rounding(high)]
        is_whole: Value = Compare(found[0], high, "EQ")
        for low in lows:
            whole = rounding(low)
            found.append(Select(is_whole, whole, Constant.splat(0, low.type)))
            is_whole = And(is_whole, Compare(whole, low, "EQ"))
        if len(found) == 1:
            return tuple(found)
        plain = found[0]
        if len(found) == 2:
            return self.settle(plain, ordered_sum_with_error(found[0], found[1]))
        return self.settle(plain, self.unguarded.distilled(found))

    def truncated(self, x: Number) -> Number:
        """The next integer toward zero."""
        is_negative = Compare(x[0], Constant.splat(0, x[0].type), "LT")
        return self.select(is_negative, self.ceil(x), self.floor(x))

    def round_nearest_even(self, x: Number) -> Number:
        """The nearest integer, halves to the even one."""
        return self._nearest(x, is_even=True)

    def round_nearest_away(self, x: Number) -> Number:
        """The nearest integer, halves away from zero."""
        return self._nearest(x, is_even=False)

    def _nearest(self, x: Number, is_even: bool) -> Number:
        if len(x) == 1:
            return (RoundNearestEven(x[0]) if is_even else RoundNearestAfz(x[0]),)
        # What is half or more above the integer below.
        exact, shape = self.unguarded, x[0].shape
        below = exact.floor(x)
        rest = exact.subtract(x, below)
        half, one = self.constant(0.5, shape), self.constant(1, shape)
        is_up = exact.compare(rest, half, "GT")
        if is_even:
            twice = exact.floor(exact.multiply(below, half))
            is_odd = exact.compare(exact.add(twice, twice), below, "NE")
            is_tie_up: Value = is_odd
        else:
            is_tie_up = Compare(x[0], Constant.splat(0, x[0].type), "GT")
        is_up = Or(is_up, And(exact.compare(rest, half, "EQ"), is_tie_up))
        found = exact.add(below, exact.select(is_up, one, self.constant(0, shape)))
        # Infinities and NaN stay, and a zero has the sign of what is rounded to it.
        zero = Constant.splat(0, x[0].type)
        is_plain = Or(Not(IsFinite(x[0])), Compare(found[0], zero, "EQ"))
        return self.select(is_plain, (Select(IsFinite(x[0]), Multiply(x[0], zero), x[0]),), found)


STRICT = {"LE": "LT", "GE": "GT"}


@functools.lru_cache(maxsize=64)
def _unguarded(dtype: str, count: int) -> Arithmetic:
    return Arithmetic(Limbs(dtype, count), is_guarded=False)


def limbs_of(number: Fraction | float, limbs: Limbs) -> tuple[float, ...]:
    """The limbs of a number: each is what the others leave, rounded. Those that are zero at the end are left out.

    >>> limbs_of(Fraction(1, 3), Limbs("f32", 2)), limbs_of(4.0, Limbs("f32", 2))
    ((0.3333333432674408, -9.934107758624577e-09), (4.0,))
    """
    dtype = np.dtype({"f32": np.float32, "f64": np.float64}[limbs.dtype])
    if isinstance(number, float) and (not np.isfinite(number) or not number):
        return (number,)
    rest = Fraction(number)
    found: list[float] = []
    for _ in range(limbs.count):
        with np.errstate(over="ignore"):
            limb = float(rounded_fraction(rest, dtype))
        found.append(limb)
        if not np.isfinite(limb):
            break
        rest -= Fraction(limb)
        if not rest:
            break
    return tuple(found)


def rounded_fraction(number: Fraction, dtype: np.dtype[np.floating]) -> np.floating:
    """The nearest float, of normal numbers: Python rounds to f64, whose last bits are then made to say which side."""
    nearest = float(number)  # correctly rounded
    narrow = dtype.type(nearest)
    if dtype == np.float64 or not np.isfinite(narrow):
        return narrow
    # Rounded twice, it is wrong only where f64 is halfway between two of the type.
    above, below = (np.nextafter(narrow, dtype.type(side * np.inf)) for side in (1, -1))
    near = [each for each in (narrow, above, below) if np.isfinite(each)]
    return min(near, key=lambda each: abs(Fraction(float(each)) - number))


def merged(x: Sequence[Value], y: Sequence[Value]) -> list[Value]:
    """The limbs of both, in turns."""
    together: list[Value] = []
    for place in range(max(len(x), len(y))):
        together += [number[place] for number in (x, y) if place < len(number)]
    return together


def splat_number(value: Value) -> float | None:
    """The number in every element, if it is a constant."""
    while isinstance(value, BroadcastInDim | Reshape):
        value = value.operand
    if isinstance(value, Constant) and value.is_splat and value.tensor.is_float:
        return float(value.number)
    return None


def is_power_of_two(x: Number) -> bool:
    """Whether it is a constant that is a power of two, or the negative of one, and has an inverse."""
    number = splat_number(x[0]) if len(x) == 1 else None
    return number is not None and 2.0**-100 <= abs(number) <= 2.0**100 and abs(np.frexp(number)[0]) == 0.5


def spread_over(value: Value, shape: tuple[int, ...]) -> Value:
    """A number at all places of a shape, if it is not there yet."""
    return value if value.shape == shape else BroadcastInDim(value, shape, ())
