"""What is known of the elements of a tensor: between which numbers they lie, and which special values they may have.

A `Range` holds for every element. Its arithmetic is that of tensor elements: integers that would leave their type may
be anything; bounds of floats are moved outwards by more than rounding, fused products or another order of the same sum
may move results, small numbers may be flushed to zero (as XLA's CPU compiler does), and what leaves the float's range
is infinite.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import ml_dtypes
import numpy as np

from windlass.ir.types import NUMPY_DTYPES, TensorType, Type
from windlass.ir.values import Value

INFINITY = math.inf

RangeOf = Callable[[Value], "Range"]
"""Gives what is known of a value."""


@dataclass(frozen=True, slots=True)
class Range:
    """Every element that is not NaN lies between `low` and `high`, both included; infinities are elements like others.

    The bounds are Python integers for integers and booleans (0 and 1), else floats.
    """

    low: Any
    high: Any
    nan: bool = False
    """An element may be NaN."""
    negative_zero: bool = False
    """An element may be -0.0."""
    whole: bool = False
    """Every finite element is a whole number."""

    @property
    def is_finite(self) -> bool:
        """No element is NaN or infinite."""
        return not self.nan and self.low > -INFINITY and self.high < INFINITY

    @property
    def has_infinity(self) -> bool:
        return self.low == -INFINITY or self.high == INFINITY

    @property
    def has_zero(self) -> bool:
        """An element may be 0, of either sign."""
        return self.low <= 0 <= self.high

    @property
    def may_be_negative(self) -> bool:
        """An element may have its sign bit set (NaN aside)."""
        return self.low < 0 or self.negative_zero

    @property
    def may_be_positive(self) -> bool:
        """An element may have its sign bit clear (NaN aside)."""
        return self.high >= 0

    @property
    def magnitude(self) -> Any:
        """The largest absolute value."""
        return max(abs(self.low), abs(self.high))

    def lies_within(self, low: Any, high: Any) -> bool:
        """Every element is a number between these two, both included."""
        return not self.nan and low <= self.low and self.high <= high

    def join(self, *others: Range) -> Range:
        """What holds for elements of either."""
        ranges = (self, *others)
        return Range(
            min(each.low for each in ranges),
            max(each.high for each in ranges),
            any(each.nan for each in ranges),
            any(each.negative_zero for each in ranges),
            all(each.whole for each in ranges),
        )

    def meet(self, low: Any, high: Any) -> Range:
        """Only the elements between these two, which are not NaN."""
        least, most = max(self.low, low), min(self.high, high)
        return self if least > most else replace(self, low=least, high=most, nan=False)

    # -- arithmetic of elements of a type -------------------------------------------------------------------------

    def negated(self, type_: TensorType) -> Range:
        if type_.is_float:
            return Range(-self.high, -self.low, self.nan, self.may_be_positive and self.has_zero, self.whole)
        return _integers(-self.high, -self.low, type_)

    def absolute(self, type_: TensorType) -> Range:
        least = 0 if self.has_zero else min(abs(self.low), abs(self.high))
        if type_.is_float:
            return Range(float(least), float(self.magnitude), self.nan, False, self.whole)
        return _integers(least, self.magnitude, type_)

    def plus(self, other: Range, type_: TensorType) -> Range:
        if not type_.is_float:
            return _integers(self.low + other.low, self.high + other.high, type_)
        opposite = (self.high == INFINITY and other.low == -INFINITY) or (
            self.low == -INFINITY and other.high == INFINITY
        )
        low = -INFINITY if -INFINITY in (self.low, other.low) else self.low + other.low
        high = INFINITY if INFINITY in (self.high, other.high) else self.high + other.high
        whole = self.whole and other.whole
        negative_zero = (self.negative_zero and other.negative_zero) or (low < 0 <= high and not whole)
        return rounded(Range(low, high, self.nan or other.nan or opposite, negative_zero, whole), type_)

    def minus(self, other: Range, type_: TensorType) -> Range:
        if not type_.is_float:
            return _integers(self.low - other.high, self.high - other.low, type_)
        return self.plus(other.negated(type_), type_)

    def times(self, other: Range, type_: TensorType) -> Range:
        corners = [_product(left, right) for left in (self.low, self.high) for right in (other.low, other.high)]
        low, high = min(corners), max(corners)
        if not type_.is_float:
            return _integers(low, high, type_)
        undefined = (self.has_zero and other.has_infinity) or (self.has_infinity and other.has_zero)
        signs_differ = (self.may_be_negative and other.may_be_positive) or (
            self.may_be_positive and other.may_be_negative
        )
        found = Range(low, high, self.nan or other.nan or undefined, False, self.whole and other.whole)
        found = rounded(found, type_)
        return replace(found, negative_zero=signs_differ and found.has_zero)

    def squared(self, type_: TensorType) -> Range:
        """Times itself."""
        if not type_.is_float:
            least = 0 if self.has_zero else min(self.low**2, self.high**2)
            return _integers(least, self.magnitude**2, type_)
        size = self.absolute(type_)
        return replace(size.times(size, type_), nan=self.nan, negative_zero=False)

    def over(self, other: Range, type_: TensorType) -> Range:
        """Divided by the other; integers truncate, and give all bits set where the other is 0."""
        if not type_.is_float:
            if other.has_zero:
                return everything(type_)
            corners = [_truncated(left, right) for left in (self.low, self.high) for right in (other.low, other.high)]
            return _integers(min(corners), max(corners), type_)
        undefined = (self.has_zero and other.has_zero) or (self.has_infinity and other.has_infinity)
        nan = self.nan or other.nan or undefined
        positive = (not self.may_be_negative and not other.may_be_negative) or (
            not self.may_be_positive and not other.may_be_positive
        )
        if other.has_zero:
            return Range(0.0 if positive else -INFINITY, INFINITY, nan, not positive, False)
        corners = [_quotient(left, right) for left in (self.low, self.high) for right in (other.low, other.high)]
        found = rounded(Range(min(corners), max(corners), nan, False, False), type_)
        return replace(found, negative_zero=not positive and found.has_zero)

    def larger(self, other: Range) -> Range:
        """The maximum of both; NaN if either is NaN."""
        nan, negative_zero = self.nan or other.nan, self.negative_zero or other.negative_zero
        low, high = max(self.low, other.low), max(self.high, other.high)
        return Range(low, high, nan, negative_zero and low <= 0 <= high, self.whole and other.whole)

    def smaller(self, other: Range) -> Range:
        """The minimum of both; NaN if either is NaN."""
        nan, negative_zero = self.nan or other.nan, self.negative_zero or other.negative_zero
        low, high = min(self.low, other.low), min(self.high, other.high)
        return Range(low, high, nan, negative_zero and low <= 0 <= high, self.whole and other.whole)

    def summed(self, count: int, type_: TensorType) -> Range:
        """The sum of so many elements (at least one), in any order."""
        if not type_.is_float:
            return _integers(count * self.low, count * self.high, type_)
        slack = 1 + 2 * count * _limits(type_.dtype)[0]
        low, high = self.low * count * slack, self.high * count * slack
        low, high = min(low, self.low * count), max(high, self.high * count)
        if self.low > 0:
            low = self.low
        if self.high < 0:
            high = self.high
        negative_zero = self.negative_zero or (low < 0 and not self.whole)
        found = rounded(Range(low, high, self.nan, negative_zero, self.whole), type_)
        return replace(found, nan=self.nan or (found.low == -INFINITY and found.high == INFINITY))

    def mapped(self, function: Callable[[Any], Any], type_: TensorType) -> Range:
        """A function that never falls, computed to a few units in the last place; its value at a bound may be limit."""
        with np.errstate(all="ignore"):
            low, high = (float(function(np.float64(bound))) for bound in (self.low, self.high))
        if math.isnan(low) or math.isnan(high):
            # The function is not defined at a bound.
            return Range(-INFINITY if math.isnan(low) else low, INFINITY, True, True)
        return loosened(Range(low, high, self.nan), type_)


NOTHING_KNOWN = Range(-INFINITY, INFINITY, True, True)


@lru_cache(maxsize=64)
def _everything(dtype: str) -> Range:
    if dtype == "i1":
        return Range(0, 1, whole=True)
    limits = integer_limits(dtype)
    return NOTHING_KNOWN if limits is None else Range(*limits, whole=True)


def everything(type_: Type) -> Range:
    """What holds for every tensor of the type.

    >>> from windlass.ir import tensor_type
    >>> everything(tensor_type((), "i8")).low
    -128
    """
    return _everything(type_.dtype) if isinstance(type_, TensorType) else NOTHING_KNOWN


@lru_cache(maxsize=64)
def integer_limits(dtype: str) -> tuple[int, int] | None:
    """The least and the largest number of an integer type; None for other types.

    >>> integer_limits("ui4")
    (0, 15)
    """
    digits = dtype.lstrip("ui")
    if dtype[0] not in "ui" or not digits.isdigit() or dtype == "i1":
        return None
    bits = int(digits)
    return (0, 2**bits - 1) if dtype.startswith("u") else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def range_of_array(array: Any) -> Range:
    """The range of the elements that there are.

    >>> range_of_array(np.array([1.5, -0.0], np.float32))
    Range(low=-0.0, high=1.5, nan=False, negative_zero=True, whole=False)
    """
    array = np.asarray(array)
    if array.dtype.kind == "c":
        return NOTHING_KNOWN
    if not array.size:
        return Range(0, 0, whole=True) if array.dtype.kind in "iub" else between(0, 0, whole=True)
    if array.dtype.kind in "iub" or array.dtype.name in ("int4", "uint4"):
        wide = array if array.dtype.kind in "iu" else array.astype(np.int64)
        return Range(int(wide.min()), int(wide.max()), whole=True)
    wide = array.astype(np.float64)
    missing = np.isnan(wide)
    numbers = wide[~missing]
    if not numbers.size:
        return NOTHING_KNOWN
    finite = numbers[np.isfinite(numbers)]
    zeros = numbers[numbers == 0]
    return Range(
        float(numbers.min()),
        float(numbers.max()),
        bool(missing.any()),
        bool(np.signbit(zeros).any()),
        bool((finite == np.floor(finite)).all()),
    )


@lru_cache(maxsize=64)
def _limits(dtype: str) -> tuple[float, float, float]:
    """Unit in the last place of 1, smallest normal number and largest number of a float type."""
    info: Any = ml_dtypes.finfo(NUMPY_DTYPES[dtype])
    return float(info.eps), float(info.smallest_normal), float(info.max)


def largest_float(dtype: str) -> float:
    """The largest finite number of a float type."""
    return _limits(dtype)[2]


def rounded(found: Range, type_: TensorType, units: int = 2) -> Range:
    """The range after rounding to the type: bounds move outwards by so many units in the last place.

    Whole numbers that the type holds exactly don't move, and neither does zero.
    """
    unit, smallest, largest = _limits(type_.dtype)
    low, high = float(found.low), float(found.high)
    negative_zero = found.negative_zero
    exact = found.whole and max(abs(low), abs(high)) <= 1 / unit
    if not exact:
        low -= abs(low) * units * unit if math.isfinite(low) else 0.0
        high += abs(high) * units * unit if math.isfinite(high) else 0.0
        if 0 < low < smallest:
            low = 0.0
        elif -smallest < low < 0:
            low = -smallest
        if -smallest < high < 0:
            high, negative_zero = 0.0, True
        elif 0 < high < smallest:
            high = smallest
    # What overflows is infinite; a type without infinities has NaN for them.
    overflows = low < -largest or high > largest
    low = -INFINITY if low < -largest else min(low, largest)
    high = INFINITY if high > largest else max(high, -largest)
    nan = found.nan or (overflows and type_.dtype.startswith("f8"))
    return Range(low, high, nan, negative_zero, found.whole)


def loosened(found: Range, type_: TensorType) -> Range:
    """The range of a function's results that are right to a few units in the last place only."""
    return rounded(found, type_, units=16)


def between(low: Any, high: Any, *, nan: bool = False, negative_zero: bool = False, whole: bool = False) -> Range:
    """The range with these bounds, as floats are written most easily."""
    return Range(float(low), float(high), nan, negative_zero, whole)


def _integers(low: int, high: int, type_: TensorType) -> Range:
    """Integers between the two, which wrap around if the type does not hold all of them."""
    full = everything(type_)
    return Range(low, high, whole=True) if full.low <= low and high <= full.high else full


integers = _integers


def _product(left: Any, right: Any) -> Any:
    return 0 if left == 0 or right == 0 else left * right


def _quotient(left: float, right: float) -> float:
    if math.isinf(left) and math.isinf(right):
        return 0.0 if (left > 0) == (right > 0) else -0.0
    return left / right


def _truncated(left: int, right: int) -> int:
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


def joined(ranges: Iterable[Range]) -> Range:
    """What holds for elements of any of the ranges (at least one)."""
    first, *rest = ranges
    return first.join(*rest)
