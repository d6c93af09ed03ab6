"""The C library's functions of floats that StableHLO has no name for; each is defined by others (`Composite`).

Half floats are computed in f32, or in f64 where that is exact, and rounded once.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import ClassVar

from windlass.ir import TensorType, Type, Value, tensor_type
from windlass.ops.base import Array
from windlass.ops.comparison import Compare
from windlass.ops.composite import Composite, Expander
from windlass.ops.conversion import BitcastConvert, Convert
from windlass.ops.creation import Constant
from windlass.ops.elementwise import Abs, Add, And, Divide, IsFinite, Multiply, Negate, Or, Remainder, Subtract
from windlass.ops.extremes import Clamp, Maximum, Minimum
from windlass.ops.float_format import bits_of, format_of, scale_by_power, split_exponent
from windlass.ops.functions import Exponential, Log, Sqrt
from windlass.ops.fused_sums import add_to_odd, fuse_double
from windlass.ops.loop_writer import LoopNames
from windlass.ops.rounding import RoundNearestEven
from windlass.ops.sampling import Draw


class FloatFunction(Composite):
    """A function of one float."""

    operand: Value


class FloatFunctionOfTwo(Composite):
    """A function of two floats of one type."""

    lhs: Value
    rhs: Value


class Fma(Composite):
    """lhs * rhs + addend, rounded once (IEEE 754, fusedMultiplyAdd).

    Narrow types through f64, where the product is exact and the sum is rounded to odd; f64 by error-free
    transformations, but for products below 2**-969, whose error can't be held, and factors above 2**996.
    """

    name = "windlass.fma"
    limbs: ClassVar[str] = "fma"
    effort: ClassVar[int] = 2
    loop_names: ClassVar[LoopNames] = LoopNames("math.fma")
    lhs: Value
    rhs: Value
    addend: Value

    def partial(self, position: int) -> Value | float:
        return (self.rhs, self.lhs, 1)[position]

    def expand(self, emit: Expander, *operands: Value) -> Value:
        left, right, addend = operands
        if left.dtype == "f64":
            return fuse_double(emit, left, right, addend)
        product = Multiply(Convert(left, "f64"), Convert(right, "f64"))
        return Convert(add_to_odd(emit, product, Convert(addend, "f64")), left.dtype)


class CopySign(FloatFunctionOfTwo):
    """The magnitude of lhs with the sign of rhs, NaNs included."""

    name = "windlass.copysign"
    limbs: ClassVar[str] = "copy_sign"
    effort: ClassVar[int] = 1
    loop_names: ClassVar[LoopNames] = LoopNames("math.copysign")

    def partial(self, position: int) -> Value | None:
        if position:
            return None
        one = Constant.splat(1, self.type)
        return Multiply(CopySign(one, self.lhs), CopySign(one, self.rhs))

    def expand(self, emit: Expander, *operands: Value) -> Value:
        value, sign = operands
        form = format_of(value.dtype)
        kept = And(bits_of(value), emit.constant(form.sign - 1, form.word))
        taken = And(bits_of(sign), emit.constant(-form.sign, form.word))
        return BitcastConvert(Or(kept, taken), value.dtype)


class Ldexp(Composite):
    """operand * 2**exponent, rounded once; the exponent is an i32."""

    name = "windlass.ldexp"
    operand: Value
    exponent: Value

    def infer(self) -> Type:
        value, exponent = (operand.type for operand in self._operands)
        if (
            not isinstance(value, TensorType)
            or value.dtype not in self.dtypes
            or exponent is not tensor_type(value.shape, "i32")
        ):
            self.fault("", f"does not take {value} and {exponent}")
        return value

    @classmethod
    def sample_operands(cls, draw: Draw) -> tuple[TensorType, ...]:
        type_ = tensor_type(draw.shape(), draw.dtype(cls.dtypes))
        return (type_, tensor_type(type_.shape, "i32"))

    def sample_array(self, draw: Draw, position: int) -> Array:
        array = super().sample_array(draw, position)
        # Most exponents should leave some of the number.
        return array if position == 0 or draw.integer(0, 3) == 0 else (array % 300 - 150).astype(array.dtype)

    def partial(self, position: int) -> Value:
        return Ldexp(Constant.splat(1, self.type), self.exponent)

    def expand(self, emit: Expander, *operands: Value) -> Value:
        value, exponent = operands
        return scale_by_power(emit, value, exponent)


class Exp2(FloatFunction):
    """2**operand; exact for whole numbers. The whole part scales exactly, the rest goes through exp."""

    name = "windlass.exp2"
    limbs: ClassVar[str] = "exponential_base_2"
    loop_names: ClassVar[LoopNames] = LoopNames("math.exp2")

    def partial(self, position: int) -> Value:
        return Multiply(self, Constant.splat(math.log(2), self.type))

    def expand(self, emit: Expander, *operands: Value) -> Value:
        (operand,) = operands
        value = _through_f32(operand)
        limited = Clamp(emit.constant(-3000, value.dtype), value, emit.constant(3000, value.dtype))
        whole = RoundNearestEven(limited)
        rest = Multiply(Subtract(limited, whole), emit.constant(math.log(2), value.dtype))
        return _back(scale_by_power(emit, Exponential(rest), Convert(whole, "i32")), operand.dtype)


LOG10_OF_2 = Fraction("0.30102999566398119521373889472449302676818988146210854131")


class Exp10(FloatFunction):
    """10**x = 2**n * exp(r): n is the nearest integer to x*log2(10), and r is found with log10(2) in two parts."""

    name = "windlass.exp10"
    limbs: ClassVar[str] = "exponential_base_10"

    def partial(self, position: int) -> Value:
        return Multiply(self, Constant.splat(math.log(10), self.type))

    def expand(self, emit: Expander, *operands: Value) -> Value:
        (operand,) = operands
        value = _through_f32(operand)
        limited = Clamp(emit.constant(-1000, value.dtype), value, emit.constant(1000, value.dtype))
        whole = RoundNearestEven(Multiply(limited, emit.constant(math.log2(10), value.dtype)))
        high, low = two_parts(LOG10_OF_2, value.dtype)
        rest = Subtract(limited, Multiply(whole, emit.constant(high, value.dtype)))
        rest = Subtract(rest, Multiply(whole, emit.constant(low, value.dtype)))
        found = Exponential(Multiply(rest, emit.constant(math.log(10), value.dtype)))
        return _back(scale_by_power(emit, found, Convert(whole, "i32")), operand.dtype)


class Log2(FloatFunction):
    """The logarithm with base 2; exact for powers of two."""

    name = "windlass.log2"
    limbs: ClassVar[str] = "log_base_2"
    loop_names: ClassVar[LoopNames] = LoopNames("math.log2")

    def partial(self, position: int) -> Value:
        return Divide(Constant.splat(1 / math.log(2), self.type), self.operand)

    def expand(self, emit: Expander, *operands: Value) -> Value:
        return _logarithm(emit, operands[0], 1.0, 0.0, 1 / math.log(2))


class Log10(FloatFunction):
    """The logarithm with base 10."""

    name = "windlass.log10"
    limbs: ClassVar[str] = "log_base_10"
    loop_names: ClassVar[LoopNames] = LoopNames("math.log10")

    def partial(self, position: int) -> Value:
        return Divide(Constant.splat(1 / math.log(10), self.type), self.operand)

    def expand(self, emit: Expander, *operands: Value) -> Value:
        high, low = two_parts(LOG10_OF_2, operands[0].dtype)
        return _logarithm(emit, operands[0], high, low, 1 / math.log(10))


class Hypot(FloatFunctionOfTwo):
    """sqrt(lhs*lhs + rhs*rhs) without overflow on the way; an infinite side gives infinity, even beside NaN."""

    name = "windlass.hypot"
    limbs: ClassVar[str] = "hypot"

    def partial(self, position: int) -> Value:
        return Divide(self.operands[position], self)

    def expand(self, emit: Expander, *operands: Value) -> Value:
        left, right = operands
        if left.dtype != "f64":
            wide = [Convert(value, "f64") for value in (left, right)]
            squares = Add(Multiply(wide[0], wide[0]), Multiply(wide[1], wide[1]))
            found: Value = Convert(Sqrt(squares), left.dtype)
        else:
            larger, smaller = Maximum(Abs(left), Abs(right)), Minimum(Abs(left), Abs(right))
            zero, one = emit.constant(0.0, "f64"), emit.constant(1.0, "f64")
            is_zero = Compare(larger, zero, "EQ")
            ratio = Divide(smaller, emit.select(is_zero, one, larger))
            found = Multiply(larger, Sqrt(Add(one, Multiply(ratio, ratio))))
        infinity = emit.constant(math.inf, left.dtype)
        for value in (left, right):
            found = emit.select(Compare(Abs(value), infinity, "EQ"), infinity, found)
        return found


class NearestRemainder(FloatFunctionOfTwo):
    """What is left of lhs after the nearest multiple of rhs (the even one of two): IEEE 754's remainder.

    The remainder by twice the divisor is exact, and so are the one or two subtractions that follow.
    """

    name = "windlass.nearest_remainder"

    def partial(self, position: int) -> Value | float:
        return Divide(Subtract(self, self.lhs), self.rhs) if position else 1

    def expand(self, emit: Expander, *operands: Value) -> Value:
        left, right = operands
        dtype = left.dtype
        divisor = Abs(right)
        doubled = Multiply(divisor, emit.constant(2, dtype))
        huge = emit.negation(IsFinite(doubled))
        magnitude_left = Abs(left)
        rest = emit.select(huge, magnitude_left, Remainder(magnitude_left, doubled))
        rest = emit.select(emit.compare(rest, rest, "EQ"), rest, Remainder(magnitude_left, divisor))
        # rest > divisor / 2 without losing a bit: rest - divisor/2 compared as rest > divisor - rest.
        is_above_half = emit.compare(rest, Subtract(divisor, rest), "GT")
        once = Subtract(rest, divisor)
        first = emit.select(is_above_half, once, rest)
        again = emit.compare(once, Subtract(divisor, once), "GE")
        result = emit.select(And(is_above_half, again), Subtract(once, divisor), first)
        result = emit.select(emit.negation(IsFinite(right)), magnitude_left, result)
        nothing = Or(emit.compare(right, right, "NE"), emit.negation(IsFinite(left)))
        result = emit.select(nothing, emit.add(Multiply(left, right), Subtract(left, left)), result)
        negative = emit.compare(bits_of(left), emit.constant(0, format_of(dtype).word), "LT")
        return emit.select(negative, Negate(result), result)


class Logb(FloatFunction):
    """The exponent of the number as a float: -inf for 0, inf for infinities."""

    name = "windlass.logb"

    def partial(self, position: int) -> None:
        return None

    def expand(self, emit: Expander, *operands: Value) -> Value:
        (value,) = operands
        _, exponent = split_exponent(emit, value)
        found = emit.select(IsFinite(value), Convert(exponent, value.dtype), Abs(value))
        is_zero = emit.compare(value, emit.constant(0, value.dtype), "EQ")
        return emit.select(is_zero, emit.constant(-math.inf, value.dtype), found)


class _ExponentOf(FloatFunction):
    def infer(self) -> Type:
        type_ = super().infer()
        assert isinstance(type_, TensorType)
        return tensor_type(type_.shape, "i32")


class Ilogb(_ExponentOf):
    """The exponent of the number, as CUDA has it: the least integer for 0 and NaN, the largest for infinities."""

    name = "windlass.ilogb"

    def expand(self, emit: Expander, *operands: Value) -> Value:
        (value,) = operands
        _, exponent = split_exponent(emit, value)
        least, most = emit.constant(-(2**31), "i32"), emit.constant(2**31 - 1, "i32")
        is_nan = emit.compare(value, value, "NE")
        found = emit.select(IsFinite(value), exponent, emit.select(is_nan, least, most))
        return emit.select(emit.compare(value, emit.constant(0, value.dtype), "EQ"), least, found)


class FrexpFraction(FloatFunction):
    """The number as a fraction from 1/2 up to 1, less its power of two; 0, infinities and NaN are themselves."""

    name = "windlass.frexp_fraction"

    def partial(self, position: int) -> Value:
        return Divide(self, self.operand)

    def expand(self, emit: Expander, *operands: Value) -> Value:
        (value,) = operands
        fraction, _ = split_exponent(emit, value)
        return emit.select(_is_ordinary(emit, value), Multiply(fraction, emit.constant(0.5, value.dtype)), value)


class FrexpExponent(_ExponentOf):
    """The power of two that `FrexpFraction` leaves out; 0 for 0, infinities and NaN."""

    name = "windlass.frexp_exponent"

    def expand(self, emit: Expander, *operands: Value) -> Value:
        (value,) = operands
        _, exponent = split_exponent(emit, value)
        following = emit.add(exponent, emit.constant(1, "i32"))
        return emit.select(_is_ordinary(emit, value), following, emit.constant(0, "i32"))


def two_parts(number: Fraction, dtype: str) -> tuple[float, float]:
    """A number as a short part, whose product with an integer of twelve bits is exact, and the rest."""
    digits = 40 if dtype == "f64" else 12
    short = Fraction(round(number * 2**digits), 2**digits)
    return float(short), float(number - short)


def _through_f32(value: Value) -> Value:
    return Convert(value, "f32") if value.dtype in ("f16", "bf16") else value


def _back(value: Value, dtype: str) -> Value:
    return value if value.dtype == dtype else Convert(value, dtype)


def _is_ordinary(emit: Expander, value: Value) -> Value:
    return And(IsFinite(value), Compare(value, emit.constant(0, value.dtype), "NE"))


def _logarithm(emit: Expander, operand: Value, high: float, low: float, factor: float) -> Value:
    """exponent * (high + low) + log(fraction) * factor, the fraction being near 1."""
    value = _through_f32(operand)
    fraction, exponent = split_exponent(emit, value)
    large = Compare(fraction, emit.constant(math.sqrt(2), value.dtype), "GT")
    fraction = emit.select(large, Multiply(fraction, emit.constant(0.5, value.dtype)), fraction)
    exponent = emit.select(large, emit.add(exponent, emit.constant(1, "i32")), exponent)
    number = Convert(exponent, value.dtype)
    small = Multiply(Log(fraction), emit.constant(factor, value.dtype))
    if low:
        small = Add(Multiply(number, emit.constant(low, value.dtype)), small)
    found = Add(Multiply(number, emit.constant(high, value.dtype)) if high != 1 else number, small)
    positive = Compare(value, emit.constant(0, value.dtype), "GT")
    # Zero, negative numbers, infinity and NaN: as the natural logarithm has it.
    return _back(emit.select(And(IsFinite(value), positive), found, Log(value)), operand.dtype)
