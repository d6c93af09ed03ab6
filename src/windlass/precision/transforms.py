"""Error-free transforms: sums and products of two floats as a rounded result and what rounding lost, both floats.

All of them hold only as long as each operation rounds as it is written: programs made of them are exact programs
(`windlass.lowering.exact_arithmetic`). Knuth's and Dekker's sums, and Dekker's product; its halves are cut off by bits
here, so that nothing overflows on the way (Dekker multiplies by 2^12 + 1).
"""

from __future__ import annotations

from windlass.ir import Value
from windlass.ops import Add, And, BitcastConvert, Constant, Multiply, Subtract
from windlass.precision.limbs import FORMATS

Pair = tuple[Value, Value]


def sum_with_error(a: Value, b: Value) -> Pair:
    """a + b, and exactly what it lost: six operations, for any two floats whose sum doesn't overflow."""
    total = Add(a, b)
    part = Subtract(total, a)
    return total, Add(Subtract(a, Subtract(total, part)), Subtract(b, part))


def ordered_sum_with_error(a: Value, b: Value) -> Pair:
    """As `sum_with_error` in three operations, where |a| ≥ |b| or a is 0."""
    total = Add(a, b)
    return total, Subtract(b, Subtract(total, a))


def halves(a: Value) -> Pair:
    """Two floats of half the bits whose sum is a: a product of two such halves is exact."""
    format = FORMATS[a.dtype]
    dropped = format.digits // 2 if format.digits % 2 == 0 else format.digits // 2 + 1
    word = BitcastConvert(a, format.word)
    if format.digits % 2:
        # The lower half has a bit less with its sign than without: round to the nearest.
        word = Add(word, Constant.of(1 << (dropped - 1), format.word, a.shape))
    mask = (1 << int(format.word[2:])) - (1 << dropped)
    high = BitcastConvert(And(word, Constant.of(mask, format.word, a.shape)), a.dtype)
    return high, Subtract(a, high)


def product_with_error(a: Value, b: Value) -> Pair:
    """a · b, and what it lost: exactly, as long as neither overflows nor falls below the normal numbers."""
    product = Multiply(a, b)
    a_high, a_low = halves(a)
    b_high, b_low = (a_high, a_low) if a is b else halves(b)
    error = Subtract(Multiply(a_high, b_high), product)
    error = Add(Add(error, Multiply(a_high, b_low)), Multiply(a_low, b_high))
    return product, Add(error, Multiply(a_low, b_low))
