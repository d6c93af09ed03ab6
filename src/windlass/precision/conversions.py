"""Between limbs and the other element types: wide floats at the boundary of a program, integers, booleans, floats."""

from __future__ import annotations

from windlass.ir import Value
from windlass.ops import (
    Abs,
    Add,
    And,
    Compare,
    Constant,
    Convert,
    IsFinite,
    Multiply,
    Or,
    ReducePrecision,
    Select,
    ShiftRightArithmetic,
    ShiftRightLogical,
    Subtract,
    bit_width,
)
from windlass.precision.arithmetic import Arithmetic
from windlass.precision.limbs import Number
from windlass.precision.transforms import ordered_sum_with_error

EXPONENT_BITS = {"f32": 8, "f64": 11}


def split_wide(a: Arithmetic, value: Value) -> Number:
    """A wide float as limbs: each is what those before leave of it, rounded.

    What is too large for one limb becomes an infinity. The rounding is said by an op that XLA keeps: two conversions
    it may take for none.
    """
    dtype, form = a.limbs.dtype, a.limbs.format
    if value.dtype == dtype:
        return (value,)
    found: list[Value] = []
    rest = value
    needed = min(a.count, -(-53 // form.digits))
    for _ in range(needed):
        rounded = ReducePrecision(rest, EXPONENT_BITS[dtype], form.digits - 1)
        found.append(Convert(rounded, dtype))
        rest = Subtract(rest, rounded)
    high, *lows = found
    is_finite = IsFinite(high)
    lows = [Select(is_finite, low, Constant.splat(0, low.type)) for low in lows]
    # Rounded twice, the second may be half a unit of the first: which is then one too far from the even one.
    total, rest = ordered_sum_with_error(high, lows[0])
    is_moved = And(Compare(total, high, "NE"), IsFinite(total))
    return (Select(is_moved, total, high), Select(is_moved, rest, lows[0]), *lows[1:])


def join_wide(a: Arithmetic, x: Number, dtype: str) -> Value:
    """The wide float that is nearest to the sum of limbs."""
    if x[0].dtype == dtype:
        return _sum_of(x)
    total: Value = _sum_of(tuple(Convert(limb, dtype) for limb in x))
    return total


def _sum_of(x: Number) -> Value:
    """The limbs' sum, from the last on; a zero with the sign of the first limb, and infinities as they are."""
    total = x[-1]
    for limb in reversed(x[:-1]):
        total = Add(limb, total)
    if len(x) == 1:
        return total
    is_zero = Compare(x[0], Constant.splat(0, x[0].type), "EQ")
    return Select(is_zero, x[0], total)


def from_integer(a: Arithmetic, value: Value) -> Number:
    """An integer or boolean as limbs: sixteen bits at a time are exact, and so are their sums as long as they fit."""
    dtype, digits = a.limbs.dtype, a.limbs.format.digits
    if value.dtype == "i1" or bit_width(value.dtype) <= digits:
        return (Convert(value, dtype),)
    type_, width = value.type, bit_width(value.dtype)
    shift = ShiftRightLogical if value.dtype.startswith("u") else ShiftRightArithmetic
    total: Number = ()
    mask = Constant.splat((1 << 16) - 1, type_)
    for place in reversed(range(0, width, 16)):
        part = shift(value, Constant.splat(place, type_)) if place else value
        if place + 16 < width:
            part = And(part, mask)
        scaled = Multiply(Convert(part, dtype), Constant.of(2.0**place, dtype, value.shape))
        total = a.add(total, (scaled,)) if total else (scaled,)
    return total


def to_integer(a: Arithmetic, x: Number, dtype: str) -> Value:
    """The integer toward zero; the nearest one where it is too large, and 0 for NaN."""
    whole = a.truncated(x)
    if len(whole) == 1:
        return Convert(whole[0], dtype)
    # In the widest type: the first limb may be too large by itself where the sum is not.
    wide = "ui64" if dtype == "ui64" else "i64"
    limit = 2.0 ** (63 if wide == "ui64" else 62)
    half = Multiply(whole[0], Constant.splat(0.5, whole[0].type))
    is_large = Compare(Abs(whole[0]), Constant.splat(limit, half.type), "GE")
    first = Convert(Select(is_large, half, whole[0]), wide)
    if wide == "ui64":
        # Later limbs may be negative: added as what wraps around.
        lows = [Convert(Convert(low, "i64"), wide) for low in whole[1:]]
    else:
        lows = [Convert(low, wide) for low in whole[1:]]
    total: Value = lows[0]
    for low in lows[1:]:
        total = Add(total, low)
    total = Add(first, Add(Select(is_large, first, Constant.splat(0, first.type)), total))
    # Beyond the type's limits the sum has wrapped around.
    least, most = (0.0, 2.0**64) if wide == "ui64" else (-(2.0**63), 2.0**63)
    shape = half.shape
    is_above = a.compare(whole, a.constant(most, shape), "GE")
    is_below = a.compare(whole, a.constant(least, shape), "LT")
    is_outside = Or(Or(is_above, is_below), Compare(whole[0], whole[0], "NE"))
    total = Select(is_outside, Convert(whole[0], wide), total)
    if dtype == wide:
        return total
    bits = bit_width(dtype)
    low, high = (0, 2**bits - 1) if dtype.startswith("u") else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    total = Select(Compare(total, Constant.splat(low, total.type), "LT"), Constant.splat(low, total.type), total)
    total = Select(Compare(total, Constant.splat(high, total.type), "GT"), Constant.splat(high, total.type), total)
    return Convert(total, dtype)


def to_boolean(x: Number) -> Value:
    """Whether it is unequal to zero."""
    return Convert(x[0], "i1")


def to_number(a: Arithmetic, value: Value) -> Number:
    """An integer, a boolean or a float as limbs."""
    dtype = a.limbs.dtype
    if not value.tensor.is_float:
        return from_integer(a, value)
    if bit_width(value.dtype) > bit_width(dtype):
        return split_wide(a, value)
    return (value if value.dtype == dtype else Convert(value, dtype),)
