"""Integer intrinsics: extremes, counting and moving bits, saturating arithmetic."""

from __future__ import annotations

from windlass.frontends.llvm.emitter import Emitter
from windlass.frontends.llvm.registry import builtin
from windlass.ir import Value
from windlass.ops.conversion import bit_width
from windlass.ops.elementwise import (
    Abs,
    And,
    CountLeadingZeros,
    Not,
    Or,
    Popcnt,
    ShiftLeft,
    ShiftRightArithmetic,
    ShiftRightLogical,
    Subtract,
    Xor,
)
from windlass.ops.extremes import Maximum, Minimum


@builtin("llvm.abs")
def absolute(emit: Emitter, value: Value, _: Value) -> Value:
    """The least integer stays itself, -1 of one bit being that."""
    return value if value.dtype == "i1" else Abs(value)


@builtin("llvm.smin")
def signed_minimum(emit: Emitter, left: Value, right: Value) -> Value:
    # The booleans of LLVM are 0 and -1 when read as signed.
    return Or(left, right) if left.dtype == "i1" else Minimum(left, right)


@builtin("llvm.smax")
def signed_maximum(emit: Emitter, left: Value, right: Value) -> Value:
    return And(left, right) if left.dtype == "i1" else Maximum(left, right)


@builtin("llvm.umin")
def unsigned_minimum(emit: Emitter, left: Value, right: Value) -> Value:
    if left.dtype == "i1":
        return And(left, right)
    return emit.as_signless(Minimum(emit.as_unsigned(left), emit.as_unsigned(right)))


@builtin("llvm.umax")
def unsigned_maximum(emit: Emitter, left: Value, right: Value) -> Value:
    if left.dtype == "i1":
        return Or(left, right)
    return emit.as_signless(Maximum(emit.as_unsigned(left), emit.as_unsigned(right)))


# -- bits -------------------------------------------------------------------------------------------------------------


@builtin("llvm.ctpop")
def population(emit: Emitter, value: Value) -> Value:
    return value if value.dtype == "i1" else Popcnt(value)


@builtin("llvm.ctlz")
def leading_zeros(emit: Emitter, value: Value, _: Value | None = None) -> Value:
    return CountLeadingZeros(value)


@builtin("llvm.cttz")
def trailing_zeros(emit: Emitter, value: Value, _: Value | None = None) -> Value:
    """The ones below the lowest one bit, counted; for 0 all bits."""
    below = And(Not(value), emit.subtract(value, emit.constant(1, value.dtype)))
    return Popcnt(below)


@builtin("llvm.bswap")
def swap_bytes(emit: Emitter, value: Value) -> Value:
    """Neighbouring bytes change places, then pairs of bytes, and so on."""
    return swap_groups(emit, value, 8)


@builtin("llvm.bitreverse")
def reverse_bits(emit: Emitter, value: Value) -> Value:
    return swap_groups(emit, value, 1)


def swap_groups(emit: Emitter, value: Value, size: int) -> Value:
    """The value with its groups of `size` bits in reverse order."""
    width = bit_width(value.dtype)
    while size < width:
        group = (1 << size) - 1
        mask = sum(group << place for place in range(0, width, 2 * size))
        amount, kept = emit.constant(size, value.dtype), emit.constant(mask, value.dtype)
        low = ShiftLeft(And(value, kept), amount)
        high = And(ShiftRightLogical(value, amount), kept)
        value = Or(low, high)
        size *= 2
    return value


@builtin("llvm.fshl")
def funnel_left(emit: Emitter, high: Value, low: Value, amount: Value) -> Value:
    """The upper half of high:low shifted left by the amount modulo the width."""
    return funnel(emit, high, low, amount, is_left=True)


@builtin("llvm.fshr")
def funnel_right(emit: Emitter, high: Value, low: Value, amount: Value) -> Value:
    """The lower half of high:low shifted right by the amount modulo the width."""
    return funnel(emit, high, low, amount, is_left=False)


def funnel(emit: Emitter, high: Value, low: Value, amount: Value, is_left: bool) -> Value:
    width = bit_width(high.dtype)
    whole = emit.constant(width, high.dtype)
    moved = emit.apply(And, amount, emit.constant(width - 1, high.dtype))
    rest = emit.apply(Subtract, whole, moved)
    # A shift by the whole width gives 0 in the vocabulary, as is right for an amount of 0.
    if is_left:
        return Or(ShiftLeft(high, moved), ShiftRightLogical(low, rest))
    return Or(ShiftLeft(high, rest), ShiftRightLogical(low, moved))


# -- saturation -------------------------------------------------------------------------------------------------------


@builtin("llvm.uadd.sat")
def saturating_unsigned_sum(emit: Emitter, left: Value, right: Value) -> Value:
    total = emit.add(left, right)
    overflows = emit.compare(emit.as_unsigned(total), emit.as_unsigned(left), "LT")
    return emit.select(overflows, emit.constant(-1, left.dtype), total)


@builtin("llvm.usub.sat")
def saturating_unsigned_difference(emit: Emitter, left: Value, right: Value) -> Value:
    enough = emit.compare(emit.as_unsigned(left), emit.as_unsigned(right), "GE")
    return emit.select(enough, emit.subtract(left, right), emit.constant(0, left.dtype))


@builtin("llvm.sadd.sat")
def saturating_signed_sum(emit: Emitter, left: Value, right: Value) -> Value:
    total = emit.add(left, right)
    return emit.select(sum_overflows(emit, left, right, total), signed_limit(emit, left), total)


@builtin("llvm.ssub.sat")
def saturating_signed_difference(emit: Emitter, left: Value, right: Value) -> Value:
    difference = emit.subtract(left, right)
    return emit.select(difference_overflows(emit, left, right, difference), signed_limit(emit, left), difference)


@builtin("llvm.ushl.sat")
def saturating_unsigned_shift(emit: Emitter, value: Value, amount: Value) -> Value:
    moved = ShiftLeft(value, amount)
    kept = emit.compare(ShiftRightLogical(moved, amount), value, "EQ")
    return emit.select(kept, moved, emit.constant(-1, value.dtype))


@builtin("llvm.sshl.sat")
def saturating_signed_shift(emit: Emitter, value: Value, amount: Value) -> Value:
    moved = ShiftLeft(value, amount)
    kept = emit.compare(ShiftRightArithmetic(moved, amount), value, "EQ")
    return emit.select(kept, moved, signed_limit(emit, value))


def signed_limit(emit: Emitter, value: Value) -> Value:
    """The largest integer for a positive value, the least for a negative one."""
    width = bit_width(value.dtype)
    sign = ShiftRightArithmetic(value, emit.constant(width - 1, value.dtype))
    return Xor(sign, emit.constant((1 << (width - 1)) - 1, value.dtype))


def sum_overflows(emit: Emitter, left: Value, right: Value, total: Value) -> Value:
    """Whether a signed sum left the range: its sign differs from those of both operands."""
    changed = And(Xor(left, total), Xor(right, total))
    return emit.compare(changed, emit.constant(0, left.dtype), "LT")


def difference_overflows(emit: Emitter, left: Value, right: Value, difference: Value) -> Value:
    changed = And(Xor(left, right), Xor(left, difference))
    return emit.compare(changed, emit.constant(0, left.dtype), "LT")


def high_product(emit: Emitter, left: Value, right: Value) -> Value:
    """The upper half of the product of two unsigned 64-bit numbers, by 32-bit digits."""
    mask, half = emit.constant(0xFFFFFFFF, "i64"), emit.constant(32, "i64")

    def low(value: Value) -> Value:
        return emit.apply(And, value, mask)

    def high(value: Value) -> Value:
        return emit.apply(ShiftRightLogical, value, half)

    lowest = emit.multiply(low(left), low(right))
    first = emit.multiply(low(left), high(right))
    second = emit.multiply(high(left), low(right))
    carry = emit.add(emit.add(high(lowest), low(first)), low(second))
    upper = emit.multiply(high(left), high(right))
    return emit.add(emit.add(upper, high(first)), emit.add(high(second), high(carry)))


def signed_high_product(emit: Emitter, left: Value, right: Value) -> Value:
    """The upper half of the product of two signed 64-bit numbers."""
    zero = emit.constant(0, "i64")
    upper = high_product(emit, left, right)
    upper = emit.subtract(upper, emit.select(emit.compare(left, zero, "LT"), right, zero))
    return emit.subtract(upper, emit.select(emit.compare(right, zero, "LT"), left, zero))
