"""Sums and products in f64 that are rounded once, by error-free transformations."""

from __future__ import annotations

from windlass.ir import Value
from windlass.ops.comparison import Compare
from windlass.ops.composite import Expander
from windlass.ops.conversion import BitcastConvert
from windlass.ops.elementwise import Add, And, IsFinite, Multiply, Subtract
from windlass.ops.float_format import bits_of, format_of


def exact_sum(left: Value, right: Value) -> tuple[Value, Value]:
    """The rounded sum and its error (Knuth's TwoSum)."""
    total = Add(left, right)
    right_part = Subtract(total, left)
    error = Add(Subtract(left, Subtract(total, right_part)), Subtract(right, right_part))
    return total, error


def add_to_odd(emit: Expander, left: Value, right: Value) -> Value:
    """left + right in double, where an inexact sum gets an odd last bit: rounding it again then rounds right.

    Boldo and Melquiond, Emulation of FMA and correctly rounded sums: proved algorithms using rounding to odd (2008).
    """
    total, error = exact_sum(left, right)
    word = format_of("f64").word
    zero, one = emit.constant(0.0, "f64"), emit.constant(1, word)
    bits = bits_of(total)
    is_even = emit.compare(And(bits, one), emit.constant(0, word), "EQ")
    # The error of an infinite sum is NaN: it compares as no error.
    is_inexact = And(is_even, emit.compare(Compare(error, zero, "GT"), Compare(error, zero, "LT"), "NE"))
    away = emit.compare(Compare(error, zero, "GT"), Compare(total, zero, "GT"), "EQ")
    moved = emit.select(away, Add(bits, one), Subtract(bits, one))
    return BitcastConvert(emit.select(is_inexact, moved, bits), "f64")


def exact_product(emit: Expander, left: Value, right: Value) -> tuple[Value, Value]:
    """The rounded product and its error (Dekker, with Veltkamp's splitting)."""
    splitter = emit.constant(2.0**27 + 1, "f64")

    def halves(value: Value) -> tuple[Value, Value]:
        scaled = Multiply(splitter, value)
        high = Subtract(scaled, Subtract(scaled, value))
        return high, Subtract(value, high)

    product = Multiply(left, right)
    left_high, left_low = halves(left)
    right_high, right_low = halves(right)
    error = Subtract(Multiply(left_high, right_high), product)
    error = Add(error, Multiply(left_high, right_low))
    error = Add(error, Multiply(left_low, right_high))
    return product, Add(error, Multiply(left_low, right_low))


def fuse_double(emit: Expander, left: Value, right: Value, addend: Value) -> Value:
    """Rounded once unless the product is below 2**-969, where its error can't be held, or a factor above 2**996."""
    product, product_error = exact_product(emit, left, right)
    low, low_error = exact_sum(addend, product_error)
    high, high_error = exact_sum(product, low)
    result = Add(high, add_to_odd(emit, low_error, high_error))
    plain = Add(Multiply(left, right), addend)
    # A sum that is exactly zero keeps the sign that plain addition gives it.
    usable = And(IsFinite(result), Compare(result, emit.constant(0.0, "f64"), "NE"))
    return emit.select(usable, result, emit.select(IsFinite(result), zero_or_plain(emit, result, plain), plain))


def zero_or_plain(emit: Expander, result: Value, plain: Value) -> Value:
    """The fused result 0: its sign is the plain sum's where that is 0 too."""
    return emit.select(Compare(plain, emit.constant(0.0, "f64"), "EQ"), plain, result)
