"""Mathematical functions of numbers of several limbs.

Each is brought near zero by identities that lose nothing, and is a polynomial there, or what a step of Newton's or
Halley's method makes of the function of one limb. Polynomials are evaluated with no more limbs than each term needs
(`polynomial`): most terms are so small that one limb is enough. Infinities, NaN, zeros and results that overflow are
those of the function on the first limb.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction

from windlass.ir import Value
from windlass.ops import (
    Abs,
    Acosh,
    Add,
    And,
    Asinh,
    Atan2,
    Atanh,
    BitcastConvert,
    Cbrt,
    Compare,
    Constant,
    Convert,
    Cosh,
    Cosine,
    Divide,
    Exponential,
    ExponentialMinusOne,
    IsFinite,
    Log,
    LogPlusOne,
    Maximum,
    Multiply,
    Negate,
    Not,
    Or,
    Power,
    RoundNearestEven,
    Select,
    ShiftLeft,
    ShiftRightLogical,
    Sine,
    Sinh,
    Subtract,
    Tan,
    Tanh,
)
from windlass.precision import numbers
from windlass.precision.arithmetic import Arithmetic
from windlass.precision.limbs import Number

GUARD = 6
"""Bits beyond those of a result that its terms have."""


def polynomial(a: Arithmetic, x: Number, coefficients: Sequence[Fraction], radius: float) -> Number:
    """c0 + c1 x + c2 x² + ..., for |x| no more than `radius`: with as many limbs as each term counts for."""
    shape, digits = x[0].shape, a.limbs.format.digits
    total: Number = ()
    for power in reversed(range(len(coefficients))):
        coefficient = coefficients[power]
        small = -math.log2(abs(coefficient / coefficients[0])) - power * math.log2(radius)
        needed = max(math.ceil((a.count * digits + GUARD - small) / digits), 1)
        b = a.with_count(min(needed, a.count))
        constant = b.constant(coefficient, shape)
        total = constant if not total else b.add(b.multiply(x[: b.count], total), constant)
    return total


def terms_needed(series: Callable[[int], Sequence[Fraction]], a: Arithmetic, radius: float) -> Sequence[Fraction]:
    """So many terms of a series that what is left out doesn't count, for |x| no more than `radius`."""
    bits, count = a.count * a.limbs.format.digits + GUARD, 1
    while True:
        last = series(count + 1)[-1]
        if -math.log2(abs(last)) - count * math.log2(radius) > bits:
            return series(count)
        count += 1


class Functions:
    """Functions of numbers of as many limbs as an arithmetic has, and guarded as it is."""

    def __init__(self, arithmetic: Arithmetic) -> None:
        self.outer = arithmetic
        self.exact = arithmetic.unguarded
        self.format = arithmetic.limbs.format
        self.digits = arithmetic.count * self.format.digits

    def _number(self, number: Fraction | float, like: Number) -> Number:
        return self.exact.constant(number, like[0].shape)

    def _filled(self, number: float, like: Value) -> Value:
        return Constant.splat(number, like.type)

    # -- powers of two --------------------------------------------------------------------------------------------

    def _exponent_type(self) -> str:
        return self.format.word[1:]

    def _power_of_two(self, exponent: Value) -> Value:
        """2 to the power of integers, which are exponents of normal numbers."""
        name = self._exponent_type()
        bias = Constant.of(self.format.most_exponent, name, exponent.shape)
        shift = Constant.of(self.format.digits - 1, name, exponent.shape)
        return BitcastConvert(ShiftLeft(Add(exponent, bias), shift), self.exact.limbs.dtype)

    def scaled(self, x: Number, exponent: Value) -> Number:
        """x · 2^exponent, in two steps: what is in between is no smaller than the result."""
        half = RoundNearestEven(Multiply(exponent, self._filled(0.5, exponent)))
        factors = [
            self._power_of_two(Convert(each, self._exponent_type())) for each in (half, Subtract(exponent, half))
        ]
        for factor in factors:
            x = tuple(Multiply(limb, factor) for limb in x)
        return x

    def exponent_of(self, x: Value) -> Value:
        """The power of two below or at |x|, as a float: of normal numbers."""
        shift = Constant.of(self.format.digits - 1, self.format.word, x.shape)
        biased = ShiftRightLogical(BitcastConvert(Abs(x), self.format.word), shift)
        return Subtract(Convert(biased, x.dtype), self._filled(self.format.most_exponent, x))

    def _minus_multiple(self, x: Number, whole: Value, number: Fraction, bits: int) -> Number:
        """x - whole · number, for an integer of so many bits: its product with each part of the number is exact."""
        part_digits = self.format.digits - bits
        wanted = self.digits + bits + GUARD + self.format.digits // 2
        parts = numbers.parts_of(number, [part_digits] * math.ceil(wanted / part_digits))
        b = self.exact.with_count(max(self.exact.count, len(x)))
        for part in parts:
            x = b.subtract(x, (Multiply(whole, self._filled(float(part), whole)),))
        return x

    # -- exponentials ---------------------------------------------------------------------------------------------

    RADIUS = 0.36
    """A little more than log(2) / 2."""

    def _small_expm1(self, x: Number) -> Number:
        """exp(x) - 1 for |x| ≤ RADIUS."""
        series = terms_needed(numbers.exponential_series, self.exact, self.RADIUS)
        return self.exact.multiply(x, polynomial(self.exact, x, series, self.RADIUS))

    def _reduced(self, x: Number) -> tuple[Value, Number]:
        """k and r with x = k · log 2 + r."""
        whole = RoundNearestEven(Multiply(x[0], self._filled(1 / math.log(2), x[0])))
        bits = self.format.most_exponent.bit_length() + 2
        return whole, self._minus_multiple(x, whole, numbers.log_of_two(), bits)[: self.exact.count]

    def _limited(self, x: Number, low: float, high: float) -> Number:
        """x, or the limit that it is beyond. NaN stays."""
        for limit, direction in ((low, "LT"), (high, "GT")):
            bound = self._filled(limit, x[0])
            x = self.exact.select(Compare(x[0], bound, direction), (bound,), x)
        return x

    def _limits(self) -> tuple[float, float]:
        """Beyond these exp gives 0 and infinity."""
        form = self.format
        return (form.least_exponent - form.digits - 2) * math.log(2), (form.most_exponent + 4) * math.log(2)

    def _exp(self, x: Number, power: int = 0) -> Number:
        """exp(x) · 2^power"""
        whole, rest = self._reduced(self._limited(x, *self._limits()))
        found = self.exact.add(self._small_expm1(rest), self._number(1, rest))
        return self.scaled(found, Add(whole, self._filled(power, whole)) if power else whole)

    def exp(self, x: Number) -> Number:
        """e to the power of x."""
        return self.outer.settle(Exponential(x[0]), self._exp(x))

    def _expm1(self, x: Number, power: int = 0) -> Number:
        """(exp(x) - 1) · 2^power"""
        # So far below 0 that nothing but -1 is left.
        whole, rest = self._reduced(self._limited(x, -(self.digits + 2) * math.log(2), self._limits()[1]))
        one = self._number(1, rest)
        inverse = self._power_of_two(Convert(Negate(whole), self._exponent_type()))
        beyond = self.exact.subtract(one, (inverse,))
        found = self.exact.add(self._small_expm1(rest), beyond)
        return self.scaled(found, Add(whole, self._filled(power, whole)) if power else whole)

    def expm1(self, x: Number) -> Number:
        """exp(x) - 1"""
        return self.outer.settle(ExponentialMinusOne(x[0]), self._expm1(x))

    def tanh(self, x: Number) -> Number:
        """The hyperbolic tangent."""
        limit = (self.digits + 4) * math.log(2) / 2
        limited = self._limited(x, -limit, limit)
        moved = self._expm1(tuple(Add(limb, limb) for limb in limited))
        found = self.exact.divide(moved, self.exact.add(moved, self._number(2, x)))
        return self.outer.settle(Tanh(x[0]), found)

    def logistic(self, x: Number) -> Number:
        """1 / (1 + exp(-x))"""
        one = self._number(1, x)
        # Before exp(-x) overflows, the result is exp(x).
        least = 0.8 * self._limits()[0]
        limited = self._limited(x, least, -self._limits()[0])
        grown = self._exp(self.exact.negate(limited))
        found = self.exact.divide(one, self.exact.add(one, grown))
        far = Compare(x[0], self._filled(least, x[0]), "LT")
        return self.outer.settle(Exponential(x[0]), self.exact.select(far, self._exp(x), found))

    def sinh(self, x: Number) -> Number:
        """The hyperbolic sine: h + h / (2h + 1) with h = (exp |x| - 1) / 2, which does not overflow before it."""
        exact, size = self.exact, self.outer.abs(x)
        half = self._expm1(size, -1)
        far = Compare(size[0], self._filled(self.digits, size[0]), "GT")
        near = exact.select(far, self._number(1, x), half)
        rest = exact.divide(near, exact.add(tuple(Add(limb, limb) for limb in near), self._number(1, x)))
        found = exact.add(half, exact.select(far, self._number(0, x), rest))
        is_negative = Compare(x[0], self._filled(0, x[0]), "LT")
        found = exact.select(is_negative, exact.negate(found), found)
        return self.outer.settle(Sinh(x[0]), found)

    def cosh(self, x: Number) -> Number:
        """The hyperbolic cosine: h + 1 / (4h) with h = exp |x| / 2."""
        half = self._exp(self.outer.abs(x), -1)
        found = self.exact.add(half, self.exact.divide(self._number(0.25, x), half))
        return self.outer.settle(Cosh(x[0]), found)

    # -- logarithms -----------------------------------------------------------------------------------------------

    def _split(self, x: Number) -> tuple[Value, Number]:
        """e and m with x = 2^e · m, m about from 0.7 to 1.4: of positive finite numbers."""
        form = self.format
        is_small = Compare(x[0], self._filled(2.0 ** (form.least_exponent + self.digits), x[0]), "LT")
        shift = 2 * form.digits
        factor = Select(is_small, self._filled(2.0**shift, x[0]), self._filled(1, x[0]))
        x = tuple(Multiply(limb, factor) for limb in x)
        exponent = self.exponent_of(x[0])
        lower = self.scaled(x, Negate(exponent))
        is_large = Compare(lower[0], self._filled(math.sqrt(2), x[0]), "GT")
        half = Select(is_large, self._filled(0.5, x[0]), self._filled(1, x[0]))
        exponent = Add(exponent, Select(is_large, self._filled(1, x[0]), self._filled(0, x[0])))
        exponent = Subtract(exponent, Select(is_small, self._filled(shift, x[0]), self._filled(0, x[0])))
        return exponent, tuple(Multiply(limb, half) for limb in lower)

    def _log_of(self, number: Number, less_one: Number, first: Value) -> Number:
        """log m, by m, m - 1 and the logarithm of one limb: log m = y + log(1 + d), d = (m - 1) + m · (exp(-y) - 1)."""
        exact = self.exact
        change = exact.add(less_one, exact.multiply(number, self._small_expm1((Negate(first),))))
        radius = 2.0 ** (4 - self.format.digits)
        series = terms_needed(numbers.logarithm_series, exact, radius)
        return exact.add(exact.multiply(change, polynomial(exact, change, series, radius)), (first,))

    def _log(self, x: Number) -> Number:
        exponent, rest = self._split(x)
        found = self._log_of(rest, self.exact.subtract(rest, self._number(1, x)), Log(rest[0]))
        bits = self.format.most_exponent.bit_length() + 2
        return self._minus_multiple(found, Negate(exponent), numbers.log_of_two(), bits)[: self.exact.count]

    def log(self, x: Number) -> Number:
        """The natural logarithm."""
        return self._where_positive(x, self._log(x), Log(x[0]))

    def _where_positive(self, x: Number, found: Number, plain: Value) -> Number:
        is_ordinary = And(IsFinite(x[0]), Compare(x[0], self._filled(0, x[0]), "GT"))
        return self.outer.settle(plain, self.exact.select(is_ordinary, found, (plain,)))

    def log1p(self, x: Number) -> Number:
        """log(1 + x)"""
        one = self._number(1, x)
        is_near = Compare(Abs(x[0]), self._filled(0.25, x[0]), "LT")
        whole = self.exact.add(one, x)
        exponent, rest = self._split(whole)
        rest = self.exact.select(is_near, whole, rest)
        less_one = self.exact.select(is_near, x, self.exact.subtract(rest, one))
        first = Select(is_near, LogPlusOne(x[0]), Log(rest[0]))
        found = self._log_of(rest, less_one, first)
        exponent = Select(is_near, self._filled(0, x[0]), exponent)
        bits = self.format.most_exponent.bit_length() + 2
        found = self._minus_multiple(found, Negate(exponent), numbers.log_of_two(), bits)[: self.exact.count]
        return self._where_positive(whole, found, LogPlusOne(x[0]))

    def asinh(self, x: Number) -> Number:
        """sign x · log1p(|x| + x² / (1 + sqrt(1 + x²))); log |2x| where x² would overflow."""
        exact, one = self.exact, self._number(1, x)
        size = self.outer.abs(x)
        limit = 2.0 ** (self.format.digits + self.digits // 2)
        far = Compare(size[0], self._filled(limit, x[0]), "GT")
        near = exact.select(far, one, size)
        square = exact.multiply(near, near)
        root = exact.sqrt(exact.add(square, one))
        argument = exact.add(near, exact.divide(square, exact.add(root, one)))
        doubled = self._log(exact.select(far, size, one))
        doubled = exact.add(doubled, self._number(numbers.log_of_two(), x))
        found = exact.select(far, doubled, Functions(exact).log1p(argument))
        is_negative = Compare(x[0], self._filled(0, x[0]), "LT")
        found = exact.select(is_negative, exact.negate(found), found)
        return self.outer.settle(Asinh(x[0]), exact.select(IsFinite(x[0]), found, (x[0],)))

    def acosh(self, x: Number) -> Number:
        """log1p(t + sqrt(t² + 2t)) with t = x - 1; log 2x where t² would overflow."""
        exact, one = self.exact, self._number(1, x)
        limit = 2.0 ** (self.format.digits + self.digits // 2)
        far = Compare(x[0], self._filled(limit, x[0]), "GT")
        less = exact.subtract(exact.select(far, one, x), one)
        square = exact.multiply(less, exact.add(less, self._number(2, x)))
        root = self.outer.sqrt(square)
        doubled = exact.add(self._log(exact.select(far, x, one)), self._number(numbers.log_of_two(), x))
        found = exact.select(far, doubled, Functions(exact).log1p(exact.add(less, root)))
        is_ordinary = And(IsFinite(x[0]), Not(exact.compare(x, one, "LT")))
        below = exact.compare(x, one, "LT")
        plain = Select(below, self._filled(math.nan, x[0]), Acosh(x[0]))
        is_one = exact.compare(x, one, "EQ")
        found = exact.select(is_one, self._number(0, x), found)
        return self._without_rests(exact.select(is_ordinary, found, (plain,)))

    def _without_rests(self, x: Number) -> Number:
        """Beside infinities and NaN there is nothing."""
        is_finite = IsFinite(x[0])
        return (x[0], *(Select(is_finite, low, self._filled(0, low)) for low in x[1:]))

    def atanh(self, x: Number) -> Number:
        """log1p(2x / (1 - x)) / 2, of |x|."""
        exact, one = self.exact, self._number(1, x)
        size = self.outer.abs(x)
        inside = exact.compare(size, one, "LT")
        near = exact.select(inside, size, self._number(0.5, x))
        argument = exact.divide(tuple(Add(limb, limb) for limb in near), exact.subtract(one, near))
        found = tuple(Multiply(limb, self._filled(0.5, limb)) for limb in Functions(exact).log1p(argument))
        is_negative = Compare(x[0], self._filled(0, x[0]), "LT")
        found = exact.select(is_negative, exact.negate(found), found)
        found = self.outer.settle(Atanh(x[0]), exact.select(inside, found, (Atanh(x[0]),)))
        is_beyond = exact.compare(size, one, "GT")
        return self._without_rests(exact.select(is_beyond, (self._filled(math.nan, x[0]),), found))

    # -- powers ---------------------------------------------------------------------------------------------------

    def rsqrt(self, x: Number) -> Number:
        """1 / sqrt(x)"""
        return self.outer.divide(self._number(1, x), self.outer.sqrt(x))

    def cbrt(self, x: Number) -> Number:
        """The real cube root: s - (s³ - x) / (3 s²), twice as many bits each time."""
        exact, found = self.exact, (Cbrt(x[0]),)
        steps = max(math.ceil(math.log2(exact.count)), 1) + 1
        for _ in range(steps):
            square = exact.multiply(found, found)
            change = exact.subtract(exact.multiply(square, found), x)
            found = exact.subtract(found, exact.divide(change, exact.multiply(square, self._number(3, x))))
        return self.outer.settle(Cbrt(x[0]), found)

    def integer_power(self, x: Number, exponent: int) -> Number:
        """x multiplied with itself."""
        found, square, left = None, x, abs(exponent)
        while left:
            if left & 1:
                found = square if found is None else self.outer.multiply(found, square)
            left >>= 1
            if left:
                square = self.outer.multiply(square, square)
        one = self._number(1, x)
        return one if found is None else found if exponent > 0 else self.outer.divide(one, found)

    def power(self, x: Number, y: Number) -> Number:
        """|x| to the power of y as exp(y · log |x|), with a limb more, and its sign."""
        exact = self.exact
        more = Functions(exact.with_count(exact.count + 1))
        size = self.outer.abs(x)
        zero = self._filled(0, x[0])
        is_ordinary = And(And(IsFinite(x[0]), IsFinite(y[0])), Compare(x[0], zero, "NE"))
        exponent = more.exact.multiply(y, more._log(exact.select(is_ordinary, size, self._number(1, x))))
        whole = self.outer.floor(y)
        half = exact.floor(exact.multiply(y, self._number(0.5, y)))
        is_whole = exact.compare(whole, y, "EQ")
        # The first limb of an exponent may be whole where the exponent is not, and that of a base 1 where it is not.
        side = exact.subtract(size, self._number(1, x))[0]
        doubled = Select(Compare(side, zero, "GT"), Add(x[0], x[0]), Multiply(x[0], self._filled(0.5, x[0])))
        is_near = And(Compare(Abs(x[0]), self._filled(1, x[0]), "EQ"), Compare(side, zero, "NE"))
        plain: Value = Power(Select(is_near, doubled, x[0]), y[0])
        plain = Select(is_whole, plain, Abs(plain))
        found = self.outer.settle(Abs(plain), self._exp(exponent))
        is_odd = And(is_whole, exact.compare(exact.add(half, half), y, "NE"))
        is_negative = Compare(x[0], zero, "LT")
        found = exact.select(And(is_negative, is_odd), exact.negate(found), found)
        is_defined = And(is_ordinary, Or(is_whole, Not(is_negative)))
        is_nan = And(is_ordinary, Not(is_defined))
        found = exact.select(is_defined, found, (Select(is_nan, self._filled(math.nan, plain), plain),))
        return self._without_rests(found)

    def exp2(self, x: Number) -> Number:
        """2 to the power of x."""
        whole = RoundNearestEven(x[0])
        low, high = (limit / math.log(2) for limit in self._limits())
        limited = self._limited(x, low, high)
        whole = RoundNearestEven(limited[0])
        rest = self.exact.subtract(limited, (whole,))
        rest = self.exact.multiply(rest, self._number(numbers.log_of_two(), x))
        found = self.scaled(self.exact.add(self._small_expm1(rest), self._number(1, x)), whole)
        plain = Exponential(Multiply(x[0], self._filled(math.log(2), x[0])))
        return self.outer.settle(plain, found)

    def exp10(self, x: Number) -> Number:
        """10 to the power of x."""
        more = self.exact.with_count(self.exact.count + 1)
        low, high = (limit / math.log(10) for limit in self._limits())
        limited = self._limited(x, low, high)
        argument = more.multiply(limited, more.constant(numbers.log_of_ten(), x[0].shape))
        plain = Exponential(Multiply(x[0], self._filled(math.log(10), x[0])))
        return self.outer.settle(plain, self._exp(argument))

    def log2(self, x: Number) -> Number:
        """The logarithm with base 2; exact for powers of two."""
        exponent, rest = self._split(x)
        found = self._log_of(rest, self.exact.subtract(rest, self._number(1, x)), Log(rest[0]))
        found = self.exact.multiply(found, self._number(1 / numbers.log_of_two(), x))
        return self._where_positive(x, self.exact.add(found, (exponent,)), Log(x[0]))

    def log10(self, x: Number) -> Number:
        """The logarithm with base 10."""
        found = self.exact.multiply(self._log(x), self._number(1 / numbers.log_of_ten(), x))
        return self._where_positive(x, found, Log(x[0]))

    def hypot(self, x: Number, y: Number) -> Number:
        """sqrt(x² + y²), by their ratio."""
        exact, left, right = self.exact, self.outer.abs(x), self.outer.abs(y)
        larger, smaller = exact.maximum(left, right), exact.minimum(left, right)
        is_zero = Compare(larger[0], self._filled(0, x[0]), "EQ")
        one = self._number(1, x)
        ratio = exact.divide(smaller, exact.select(is_zero, one, larger))
        found = exact.multiply(larger, exact.sqrt(exact.add(one, exact.multiply(ratio, ratio))))
        infinity = self._filled(math.inf, x[0])
        is_infinite = Or(Compare(left[0], infinity, "EQ"), Compare(right[0], infinity, "EQ"))
        plain = Select(is_infinite, infinity, Add(left[0], right[0]))
        return self.outer.settle(plain, found)

    def remainder(self, x: Number, y: Number) -> Number:
        """x less a whole multiple of y, with the sign of x; NaN where the quotient has too many bits.

        Each round takes off as many bits of the quotient as a limb has. The product of a limb and y has a limb more
        than y, and is exact.
        """
        exact = self.exact.with_count(self.exact.count + 1)
        zero, size, divisor = self._filled(0, x[0]), self.outer.abs(x), self.outer.abs(y)
        rest = size
        for _ in range(self.exact.count + 1):
            quotient = RoundNearestEven(Divide(rest[0], divisor[0]))
            rest = exact.subtract(rest, exact.multiply(divisor, (quotient,)))
        for limit, direction, step in ((zero, "LT", exact.add), (divisor, "GE", exact.subtract)):
            bound = limit if isinstance(limit, tuple) else (limit,)
            rest = exact.select(exact.compare(rest, bound, direction), step(rest, divisor), rest)
        found = exact.distilled(rest)[: self.exact.count]
        is_inside = And(exact.compare(rest, (zero,), "GE"), exact.compare(rest, divisor, "LE"))
        is_far = And(Compare(divisor[0], self._filled(math.inf, x[0]), "EQ"), IsFinite(x[0]))
        found = exact.select(is_inside, found, (self._filled(math.nan, x[0]),))
        found = exact.select(is_far, size, found)
        is_negative = Compare(x[0], zero, "LT")
        found = exact.select(is_negative, exact.negate(found), found)
        is_zero = Compare(found[0], zero, "EQ")
        return self._without_rests(exact.select(is_zero, (Multiply(x[0], zero),), found))

    def copy_sign(self, x: Number, sign: Number) -> Number:
        """|x| with the sign of another number, also of zero."""
        differs = Compare(self._sign_bit(x[0]), self._sign_bit(sign[0]), "NE")
        return self.exact.select(differs, self.exact.negate(x), x)

    # -- circular functions ---------------------------------------------------------------------------------------

    def _quarter(self, x: Number) -> tuple[Value, Number]:
        """q and r with x = k · π/2 + r and q = k mod 4, |r| no more than π/4: for k of as many bits as a limb has."""
        exact, format = self.exact, self.format
        parts = numbers.parts_of(numbers.half_pi(), [format.digits] * (exact.count + 2))
        inverse = self._filled(float(1 / numbers.half_pi()), x[0])
        limit = self._filled(2.0**format.digits, x[0])
        whole = RoundNearestEven(Multiply(x[0], inverse))
        whole = Select(Compare(Abs(whole), limit, "LT"), whole, self._filled(math.nan, x[0]))
        for part in parts:
            x = exact.subtract(x, self.exact.with_count(2).multiply((whole,), (self._filled(float(part), whole),)))
        # The quotient was rounded: there may be another quarter.
        again = RoundNearestEven(Multiply(x[0], inverse))
        for part in parts:
            x = exact.subtract(x, (Multiply(again, self._filled(float(part), again)),))
        number = Add(Convert(whole, self._exponent_type()), Convert(again, self._exponent_type()))
        return And(number, Constant.of(3, self._exponent_type(), number.shape)), x

    def _sine_and_cosine(self, x: Number) -> tuple[Number, Number]:
        """Of |x| no more than a little above π/4."""
        exact, radius = self.exact, 0.65
        square = exact.multiply(x, x)
        sine = polynomial(exact, square, terms_needed(numbers.sine_series, exact, radius), radius)
        cosine = polynomial(exact, square, terms_needed(numbers.cosine_series, exact, radius), radius)
        return exact.multiply(x, sine), cosine

    def _turned(self, x: Number) -> tuple[Number, Number]:
        """Sine and cosine of any number."""
        exact = self.exact
        quarter, rest = self._quarter(x)
        sine, cosine = self._sine_and_cosine(rest)

        def has(bit: int, number: Value) -> Value:
            name = self._exponent_type()
            masked = And(number, Constant.of(bit, name, number.shape))
            return Compare(masked, Constant.of(0, name, number.shape), "NE")

        is_odd = has(1, quarter)
        following = Add(quarter, Constant.of(1, self._exponent_type(), quarter.shape))
        found: list[Number] = []
        for is_negative, straight, crossed in ((has(2, quarter), sine, cosine), (has(2, following), cosine, sine)):
            picked = exact.select(is_odd, crossed, straight)
            found.append(exact.select(is_negative, exact.negate(picked), picked))
        return found[0], found[1]

    def sin(self, x: Number) -> Number:
        """The sine, in radians."""
        return self._circular(x, self._turned(x)[0], Sine(x[0]))

    def cos(self, x: Number) -> Number:
        """The cosine, in radians."""
        return self._circular(x, self._turned(x)[1], Cosine(x[0]))

    def tan(self, x: Number) -> Number:
        """The tangent, in radians."""
        return self._circular(x, self.exact.divide(*self._turned(x)), Tan(x[0]))

    def _circular(self, x: Number, found: Number, plain: Value) -> Number:
        """What was found; zeros with their signs; NaN for infinities, and for what is too large to be reduced."""
        is_zero = Compare(x[0], self._filled(0, x[0]), "EQ")
        return self._without_rests(self.exact.select(is_zero, (plain,), found))

    def atan2(self, y: Number, x: Number) -> Number:
        """The angle of the point (x, y): that of one limb, and the arctangent of what is left of it."""
        exact = self.exact
        infinity, zero = (self._filled(each, x[0]) for each in (math.inf, 0))
        is_nan = Or(Compare(x[0], x[0], "NE"), Compare(y[0], y[0], "NE"))
        # Of infinities the signs alone count, and of (0, 0).
        is_far = Or(Compare(Abs(x[0]), infinity, "EQ"), Compare(Abs(y[0]), infinity, "EQ"))
        y_sign, x_sign = (self._sign_bit(each[0]) for each in (y, x))
        far = [
            Select(Compare(Abs(each[0]), infinity, "EQ"), sign, Multiply(sign, zero))
            for each, sign in ((x, x_sign), (y, y_sign))
        ]
        x, y = exact.select(is_far, (far[0],), x), exact.select(is_far, (far[1],), y)
        is_origin = And(Compare(x[0], zero, "EQ"), Compare(y[0], zero, "EQ"))
        x = exact.select(is_origin, (x_sign,), x)
        largest = Maximum(Abs(x[0]), Abs(y[0]))
        exponent = Negate(self.exponent_of(largest))
        x_near, y_near = self.scaled(x, exponent), self.scaled(y, exponent)
        first = Atan2(y_near[0], x_near[0])
        sine, cosine = self._turned((first,))
        across = exact.subtract(exact.multiply(y_near, cosine), exact.multiply(x_near, sine))
        along = exact.add(exact.multiply(x_near, cosine), exact.multiply(y_near, sine))
        ratio = exact.divide(across, along)
        radius = 2.0 ** (4 - self.format.digits)
        series = terms_needed(numbers.arctangent_series, exact, radius * radius)
        square = exact.multiply(ratio, ratio)
        change = exact.multiply(ratio, polynomial(exact, square, series, radius * radius))
        found = exact.add((first,), change)
        found = self.outer.settle(Atan2(y[0], x[0]), found)
        return self._without_rests(exact.select(is_nan, (self._filled(math.nan, x[0]),), found))

    def _sign_bit(self, x: Value) -> Value:
        """1 with the sign of x, also of zeros."""
        word = BitcastConvert(x, self._exponent_type())
        is_negative = Compare(word, Constant.of(0, self._exponent_type(), x.shape), "LT")
        return Select(is_negative, self._filled(-1, x), self._filled(1, x))

    def atan(self, x: Number) -> Number:
        """The inverse of the tangent."""
        return self.atan2(x, self._number(1, x))

    def asin(self, x: Number) -> Number:
        """The inverse of the sine."""
        return self.atan2(x, self._other_side(x))

    def acos(self, x: Number) -> Number:
        """The inverse of the cosine."""
        return self.atan2(self._other_side(x), x)

    def _other_side(self, x: Number) -> Number:
        """sqrt((1 - x)(1 + x))"""
        one = self._number(1, x)
        return self.outer.sqrt(self.exact.multiply(self.exact.subtract(one, x), self.exact.add(one, x)))
