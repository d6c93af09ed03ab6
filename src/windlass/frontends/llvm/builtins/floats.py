"""Signs, rounding to integers, the parts of a float, and classes of floats."""

from __future__ import annotations

from windlass.frontends.llvm.emitter import Emitter, number_of
from windlass.frontends.llvm.registry import builtin
from windlass.ir import Value
from windlass.ops.conversion import Convert
from windlass.ops.elementwise import Abs, Add, And, IsFinite, Multiply, Or, Remainder
from windlass.ops.float_format import bits_of, clamp_integer, format_of
from windlass.ops.float_functions import CopySign, Fma, Ilogb, Ldexp, Logb, NearestRemainder
from windlass.ops.functions import Sqrt
from windlass.ops.rounding import Ceil, Floor, RoundNearestAfz, RoundNearestEven
from windlass.ops.special_functions import NextAfter

# -- signs ------------------------------------------------------------------------------------------------------------


@builtin("llvm.fabs", "fabs", "fabsf")
def magnitude(emit: Emitter, value: Value) -> Value:
    return Abs(value)


@builtin("llvm.copysign", "copysign", "copysignf")
def copy_sign(emit: Emitter, value: Value, sign: Value) -> Value:
    return CopySign(value, sign)


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


# -- products, remainders ----------------------------------------------------------------------------------------------


@builtin("llvm.fma", "fma", "fmaf", "llvm.nvvm.fma.rn.f", "llvm.nvvm.fma.rn.d")
def fused_multiply_add(emit: Emitter, left: Value, right: Value, addend: Value) -> Value:
    return Fma(left, right, addend)


@builtin("llvm.fmuladd")
def multiply_add(emit: Emitter, left: Value, right: Value, addend: Value) -> Value:
    """LLVM leaves it open whether this is fused; it is not."""
    return Add(Multiply(left, right), addend)


@builtin("fmod", "fmodf")
def float_remainder(emit: Emitter, left: Value, right: Value) -> Value:
    """The exact remainder of the quotient cut towards zero."""
    return Remainder(left, right)


@builtin("remainder", "remainderf")
def nearest_remainder(emit: Emitter, left: Value, right: Value) -> Value:
    return NearestRemainder(left, right)


@builtin("nextafter", "nextafterf")
def next_after(emit: Emitter, value: Value, towards: Value) -> Value:
    return NextAfter(value, towards)


# -- parts ------------------------------------------------------------------------------------------------------------


@builtin("llvm.ldexp", "ldexp", "ldexpf", "scalbn", "scalbnf")
def scale(emit: Emitter, value: Value, exponent: Value) -> Value:
    return Ldexp(value, emit.extend_signed(exponent, "i32"))


@builtin("scalbln", "scalblnf")
def scale_by_long(emit: Emitter, value: Value, exponent: Value) -> Value:
    return scale(emit, value, Convert(clamp_integer(emit, exponent, -100000, 100000), "i32"))


@builtin("logb", "logbf")
def exponent_as_float(emit: Emitter, value: Value) -> Value:
    return Logb(value)


@builtin("ilogb", "ilogbf")
def exponent_as_integer(emit: Emitter, value: Value) -> Value:
    return Ilogb(value)


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
