"""Floats as integers in the same order, so that devices find the greatest of them with NaN among them.

What XLA's runtimes take for the maximum of several devices' floats is a number where one of them has NaN. Integers have
no such value. A float's bits, read as a signed integer, are in order above zero and in reverse below.
"""

from __future__ import annotations

from windlass.ir import Value
from windlass.ops import BitcastConvert, Compare, Constant, Not, Select, Xor
from windlass.ops.conversion import bit_width


def to_ordered(value: Value, is_greatest: bool) -> Value:
    """Signed integers of the floats' width in the order of the floats, those for NaN beyond all others.

    Where the least is looked for, so that `is_greatest` is false, they are in reverse: the greatest is looked for.
    """
    integer = f"i{bit_width(value.dtype)}"
    found = _turn(BitcastConvert(value, integer))
    found = found if is_greatest else Not(found)
    nan = Constant.of((1 << (bit_width(integer) - 1)) - 1, integer, value.shape)
    return Select(Compare(value, value, "NE"), nan, found)


def from_ordered(value: Value, dtype: str, is_greatest: bool) -> Value:
    """The floats that `to_ordered` made these integers of; what stands for NaN is a NaN."""
    return BitcastConvert(_turn(value if is_greatest else Not(value)), dtype)


def _turn(bits: Value) -> Value:
    """Flip all bits but the sign's where that is set: its own inverse."""
    width = bit_width(bits.dtype)
    rest = Constant.of((1 << (width - 1)) - 1, bits.dtype, bits.shape)
    is_negative = Compare(bits, Constant.of(0, bits.dtype, bits.shape), "LT")
    return Xor(bits, Select(is_negative, rest, Constant.of(0, bits.dtype, bits.shape)))
