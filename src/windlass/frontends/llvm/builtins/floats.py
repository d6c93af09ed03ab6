"""Signs, rounding to integers, the parts of a float, and classes of floats."""

from __future__ import annotations

from dataclasses import dataclass

from windlass.frontends.llvm.emitter import Emitter, number_of
from windlass.frontends.llvm.registry import builtin
from windlass.ir import Value
from windlass.ops.conversion import BitcastConvert, Convert
from windlass.ops.elementwise import Abs, And, IsFinite, Multiply, Or, Remainder, ShiftLeft, ShiftRightLogical, Subtract
from windlass.ops.functions import Sqrt
from windlass.ops.rounding import Ceil, Floor, RoundNearestAfz, RoundNearestEven
from windlass.ops.special_functions import NextAfter


@dataclass(frozen=True, slots=True)
class Format:
    """How a float type lies in its bits."""

    word: str
    bits: int
    mantissa: int
    bias: int

    @property
    def exponent_mask(self) -> int:
        return (1 << (self.bits - 1 - self.mantissa)) - 1

    @property
    def infinity(self) -> int:
        return self.exponent_mask << self.mantissa

    @property
    def sign(self) -> int:
        return 1 << (self.bits - 1)


def format_of(dtype: str) -> Format:
    """The format of f16, bf16, f32 or f64."""
    bits, mantissa, bias = {"f16": (16, 10, 15), "bf16": (16, 7, 127), "f32": (32, 23, 127), "f64": (64, 52, 1023)}[
        dtype
    ]
    return Format(f"i{bits}", bits, mantissa, bias)


def bits_of(value: Value) -> Value:
    return BitcastConvert(value, format_of(value.dtype).word)


# -- signs ------------------------------------------------------------------------------------------------------------


@builtin("llvm.fabs", "fabs", "fabsf")
def magnitude(emit: Emitter, value: Value) -> Value:
    return Abs(value)


@builtin("llvm.copysign", "copysign", "copysignf")
def copy_sign(emit: Emitter, value: Value, sign: Value) -> Value:
    form = format_of(value.dtype)
    kept = And(bits_of(value), emit.constant(form.sign - 1, form.word))
    taken = And(bits_of(sign), emit.constant(form.sign, form.word))
    return BitcastConvert(Or(kept, taken), value.dtype)


@builtin("llvm.sqrt", "sqrt", "sqrtf")
def square_root(emit: Emitter, value: Value) -> Value:
    return Sqrt(value)


@builtin("llvm.canonicalize")
def canonical(emit: Emitter, value: Value) -> Value:
    return value


# -- rounding ---------------------------------------------------------------------------------------------------------


@builtin("llvm.floor", "floor", "floorf")
def floor(emit: Emitter, value: Value) -> Value:
    return Floor(value)


@builtin("llvm.ceil", "ceil", "ceilf")
def ceil(emit: Emitter, value: Value) -> Value:
    return Ceil(value)


@builtin("llvm.trunc", "trunc", "truncf")
def truncate(emit: Emitter, value: Value) -> Value:
    negative = emit.compare(value, emit.constant(0, value.dtype), "LT")
    return emit.select(negative, Ceil(value), Floor(value))


@builtin("llvm.rint", "llvm.nearbyint", "llvm.roundeven", "rint", "rintf", "nearbyint", "nearbyintf")
def round_to_even(emit: Emitter, value: Value) -> Value:
    return RoundNearestEven(value)


@builtin("llvm.round", "round", "roundf")
def round_away(emit: Emitter, value: Value) -> Value:
    return RoundNearestAfz(value)


@builtin("llvm.lrint.i64", "llvm.llrint.i64", "lrint", "lrintf", "llrint", "llrintf")
def round_to_long(emit: Emitter, value: Value) -> Value:
    return Convert(RoundNearestEven(value), "i64")


@builtin("llvm.lrint.i32")
def round_to_int(emit: Emitter, value: Value) -> Value:
    return Convert(RoundNearestEven(value), "i32")


@builtin("llvm.lround.i64", "llvm.llround.i64", "lround", "lroundf", "llround", "llroundf")
def round_away_to_long(emit: Emitter, value: Value) -> Value:
    return Convert(RoundNearestAfz(value), "i64")


@builtin("llvm.lround.i32")
def round_away_to_int(emit: Emitter, value: Value) -> Value:
    return Convert(RoundNearestAfz(value), "i32")


# -- remainders -------------------------------------------------------------------------------------------------------


@builtin("fmod", "fmodf")
def float_remainder(emit: Emitter, left: Value, right: Value) -> Value:
    """The exact remainder of the quotient cut towards zero."""
    return Remainder(left, right)


@builtin("remainder", "remainderf")
def nearest_remainder(emit: Emitter, left: Value, right: Value) -> Value:
    """What is left of `left` after the nearest multiple of `right` (the even one of two), as IEEE 754 has it.

    The remainder by twice the divisor is exact, and so are the one or two subtractions that follow.
    """
    dtype = left.dtype
    divisor = Abs(right)
    doubled = Multiply(divisor, emit.constant(2, dtype))
    huge = emit.negation(IsFinite(doubled))
    magnitude_left = Abs(left)
    rest = emit.select(huge, magnitude_left, Remainder(magnitude_left, doubled))
    rest = emit.select(emit.compare(rest, rest, "EQ"), rest, Remainder(magnitude_left, divisor))

    def above_half(value: Value, direction: str) -> Value:
        # value > divisor / 2 without losing a bit: value - divisor/2 compared as value > divisor - value.
        return emit.compare(value, Subtract(divisor, value), direction)

    once = Subtract(rest, divisor)
    first = emit.select(above_half(rest, "GT"), once, rest)
    again = emit.compare(once, Subtract(divisor, once), "GE")
    passed = And(above_half(rest, "GT"), again)
    result = emit.select(passed, Subtract(once, divisor), first)
    result = emit.select(emit.negation(IsFinite(right)), magnitude_left, result)
    nothing = Or(emit.compare(right, right, "NE"), emit.negation(IsFinite(left)))
    result = emit.select(nothing, emit.add(Multiply(left, right), Subtract(left, left)), result)
    negative = emit.compare(bits_of(left), emit.constant(0, format_of(dtype).word), "LT")
    from windlass.ops.elementwise import Negate

    return emit.select(negative, Negate(result), result)


@builtin("nextafter", "nextafterf")
def next_after(emit: Emitter, value: Value, towards: Value) -> Value:
    return NextAfter(value, towards)


# -- parts ------------------------------------------------------------------------------------------------------------


def power_of_two(emit: Emitter, exponent: Value, dtype: str) -> Value:
    """2 to an integer exponent (i32) within the range of normal numbers."""
    form = format_of(dtype)
    biased = emit.add(emit.extend_signed(exponent, form.word), emit.constant(form.bias, form.word))
    return BitcastConvert(ShiftLeft(biased, emit.constant(form.mantissa, form.word)), dtype)


def clamp_integer(emit: Emitter, value: Value, least: int, most: int) -> Value:
    from windlass.ops.extremes import Clamp

    return Clamp(emit.constant(least, value.dtype), value, emit.constant(most, value.dtype))


@builtin("llvm.ldexp", "ldexp", "ldexpf", "scalbn", "scalbnf")
def scale(emit: Emitter, value: Value, exponent: Value) -> Value:
    """value * 2**exponent, rounded once: three factors of which only the last can make the result inexact."""
    form = format_of(value.dtype)
    largest, digits = form.bias, form.mantissa + 1
    downward = form.bias - 1 - digits
    exponent = emit.extend_signed(exponent, "i32")
    zero = emit.constant(0, "i32")
    for _ in range(2):
        # Upwards in steps of the largest power; downwards in steps that keep all digits for the last factor.
        step = clamp_integer(emit, exponent, -downward, largest)
        is_far = emit.compare(step, exponent, "NE")
        taken = emit.select(is_far, step, zero)
        value = Multiply(value, power_of_two(emit, taken, value.dtype))
        exponent = emit.subtract(exponent, taken)
    last = clamp_integer(emit, exponent, 1 - form.bias, largest)
    return Multiply(value, power_of_two(emit, last, value.dtype))


@builtin("scalbln", "scalblnf")
def scale_by_long(emit: Emitter, value: Value, exponent: Value) -> Value:
    return scale(emit, value, Convert(clamp_integer(emit, exponent, -100000, 100000), "i32"))


def split_exponent(emit: Emitter, value: Value) -> tuple[Value, Value]:
    """A positive finite number as fraction (from 1 up to 2) times 2 to an integer exponent (i32)."""
    form = format_of(value.dtype)
    smallest_normal = emit.constant(1 << form.mantissa, form.word)
    is_small = emit.compare(bits_of(Abs(value)), smallest_normal, "LT")
    lifted = Multiply(value, emit.constant(2.0 ** (form.mantissa + 1), value.dtype))
    bits = bits_of(emit.select(is_small, lifted, value))
    field = And(
        ShiftRightLogical(bits, emit.constant(form.mantissa, form.word)), emit.constant(form.exponent_mask, form.word)
    )
    exponent = Subtract(Convert(field, "i32"), emit.constant(form.bias, "i32"))
    exponent = emit.select(is_small, emit.subtract(exponent, emit.constant(form.mantissa + 1, "i32")), exponent)
    kept = And(bits, emit.constant(form.sign | ((1 << form.mantissa) - 1), form.word))
    fraction = BitcastConvert(Or(kept, emit.constant(form.bias << form.mantissa, form.word)), value.dtype)
    return fraction, exponent


@builtin("logb", "logbf")
def exponent_as_float(emit: Emitter, value: Value) -> Value:
    """The exponent of the number: -inf for 0, inf for infinities."""
    _, exponent = split_exponent(emit, value)
    dtype = value.dtype
    size = Abs(value)
    found = Convert(exponent, dtype)
    found = emit.select(IsFinite(value), found, size)
    zero = emit.constant(0, dtype)
    return emit.select(emit.compare(value, zero, "EQ"), emit.constant(float("-inf"), dtype), found)


@builtin("ilogb", "ilogbf")
def exponent_as_integer(emit: Emitter, value: Value) -> Value:
    """As CUDA has it: the least integer for 0 and NaN, the largest for infinities."""
    _, exponent = split_exponent(emit, value)
    least, most = emit.constant(-(2**31), "i32"), emit.constant(2**31 - 1, "i32")
    is_nan = emit.compare(value, value, "NE")
    found = emit.select(IsFinite(value), exponent, emit.select(is_nan, least, most))
    return emit.select(emit.compare(value, emit.constant(0, value.dtype), "EQ"), least, found)


# -- classes ----------------------------------------------------------------------------------------------------------


@builtin("llvm.is.fpclass")
def belongs_to_class(emit: Emitter, value: Value, mask: Value) -> Value:
    """Whether the number is in one of the classes of the mask (a constant): NaNs, infinities, normal numbers, ..."""
    wanted = number_of(mask)
    assert wanted is not None
    classes = int(wanted)
    if classes == 0x003:
        return emit.compare(value, value, "NE")
    if classes == 0x3FC:
        return emit.compare(value, value, "EQ")
    if classes == 0x1F8:
        return IsFinite(value)
    if classes == 0x204:
        return emit.compare(Abs(value), emit.constant(float("inf"), value.dtype), "EQ")
    form = format_of(value.dtype)
    bits = bits_of(value)
    size = And(bits, emit.constant(form.sign - 1, form.word))
    is_negative = emit.compare(bits, emit.constant(0, form.word), "LT")
    quiet = form.infinity | (1 << (form.mantissa - 1))
    # By magnitude: zero, subnormal, normal, infinite, signaling, quiet; each from one bound up to the next.
    bounds = [0, 1, 1 << form.mantissa, form.infinity, form.infinity + 1, quiet, form.sign]
    members = [(6, 5), (7, 4), (8, 3), (9, 2), (0, 0), (1, 1)]
    found: Value = emit.false
    for (positive, negative), low, high in zip(members, bounds, bounds[1:], strict=False):
        has_positive, has_negative = classes >> positive & 1, classes >> negative & 1
        if not has_positive and not has_negative:
            continue
        above = emit.compare(size, emit.constant(low, form.word), "GE") if low else emit.true
        below = emit.compare(size, emit.constant(high, form.word), "LT") if high != form.sign else emit.true
        inside = above if number_of(below) == 1 else below if number_of(above) == 1 else And(above, below)
        if not has_positive:
            inside = And(inside, is_negative)
        elif not has_negative:
            inside = And(inside, emit.negation(is_negative))
        found = inside if number_of(found) == 0 else Or(found, inside)
    return found
