"""Integer ops on symbolic indices.

Machine integers wrap around, indices don't: an op stays symbolic where the ranges of its operands over the box prove
that its result is in the range of its dtype. Everything else is left to tensor arithmetic, which wraps as it should.
"""

from __future__ import annotations

from windlass.affine.dimensions import Box
from windlass.affine.index import Data, FloorDivide, Index, Modulo, Range, RuntimeScalar
from windlass.affine.predicate import Predicate
from windlass.ir import Op, Value
from windlass.loops import Subscript
from windlass.ops.comparison import Compare
from windlass.ops.conversion import BitcastConvert, Convert, bit_width, dtype_range
from windlass.ops.elementwise import (
    Abs,
    Add,
    And,
    Divide,
    Multiply,
    Negate,
    Not,
    Or,
    Remainder,
    ShiftLeft,
    ShiftRightArithmetic,
    ShiftRightLogical,
    Subtract,
    Xor,
)
from windlass.ops.extremes import Maximum, Minimum

MOST_SYMBOLIC = 2**61
"""Greater numbers are not materialized symbolically: their intermediate results might not fit 64 bits."""
LINEAR = (Add, Subtract, Multiply, Negate, Not, ShiftLeft, Convert, BitcastConvert, Subscript)
"""What may wrap around on the way and still come out right."""


def symbolic_result(op: Op, operands: list[Index], box: Box) -> Index | None:
    """What an integer op gives, as an index that holds over the box; None where that can't be told."""
    if not isinstance(op, LINEAR) and any(exceeds_symbolic(operand, box) for operand in operands):
        return None
    raw = _exact(op, operands, box)
    if raw is None or _divides_data(raw, operands):
        return None
    fitted = fit(raw, op.dtype, box)
    if fitted is None and isinstance(op, Convert | BitcastConvert) and raw.is_static:
        return wrap(raw, op.dtype, box)
    return fitted


def _divides_data(result: Index, operands: list[Index]) -> bool:
    """Whether a quotient of numbers known at run time only came in: such are better had by the op itself."""
    known = {atom for operand in operands for atom in operand.terms}
    return any(
        isinstance(atom, FloorDivide | Modulo) and atom not in known and not atom.operand.is_static
        for atom in result.terms
    )


def fit(index: Index, dtype: str, box: Box) -> Index | None:
    """The index brought into the range of the dtype by adding one multiple of its period, where one does for all."""
    least, most = dtype_range(dtype)
    lower, upper = index.value_range(box)
    if least <= lower and upper <= most:
        return index
    period = most - least + 1
    shift = (lower - least) // period
    return index - shift * period if (upper - least) // period == shift else None


def wrap(index: Index, dtype: str, box: Box) -> Index | None:
    """The index modulo the period of the dtype."""
    least, most = dtype_range(dtype)
    lower, upper = index.value_range(box)
    if max(-lower, upper, most) > MOST_SYMBOLIC:
        return None
    return (index - least).modulo(most - least + 1, box) + least


def _exact(op: Op, operands: list[Index], box: Box) -> Index | None:
    """The result over the whole integers, before wrapping around."""
    match op, operands:
        case Add(), [a, b]:
            return a + b
        case Subtract(), [a, b]:
            return a - b
        case Multiply(), [a, b]:
            return a.multiply(b)
        case Negate(), [a]:
            return -a
        case Not(), [a]:
            return -a - 1
        case Minimum(), [a, b]:
            return a.minimum(b, box)
        case Maximum(), [a, b]:
            return a.maximum(b, box)
        case Abs(), [a]:
            return a.maximum(-a, box)
        case Convert() | BitcastConvert(), [a]:
            return a
        case Subscript(), _:
            terms = (index.scale(stride) for index, stride in zip(operands, op.strides, strict=True))
            return sum(terms, Index()) + op.start
        case Divide(), [a, b]:
            quotient_and_rest = _truncating_division(a, b, box)
            return quotient_and_rest[0] if quotient_and_rest else None
        case Remainder(), [a, b]:
            quotient_and_rest = _truncating_division(a, b, box)
            return quotient_and_rest[1] if quotient_and_rest else None
        case ShiftLeft() | ShiftRightArithmetic() | ShiftRightLogical(), [a, b]:
            return _shift(op, a, b, box)
        case And() | Or() | Xor(), [a, b]:
            return _bitwise(op, a, b, box) if b.constant_value is not None else _bitwise(op, b, a, box)
        case _:
            return None


def _truncating_division(dividend: Index, divisor: Index, box: Box) -> tuple[Index, Index] | None:
    """Quotient rounded toward zero, and remainder with the dividend's sign, by a constant."""
    number = divisor.constant_value
    if not number:
        return None
    lower, upper = dividend.value_range(box)
    size = abs(number)
    if lower >= 0:
        quotient, rest = dividend.floor_divide(size, box), dividend.modulo(size, box)
    elif upper <= 0:
        quotient, rest = -(-dividend).floor_divide(size, box), -(-dividend).modulo(size, box)
    elif upper < size and lower > -size:
        quotient, rest = Index(0), dividend
    else:
        return None
    return (quotient if number > 0 else -quotient), rest


def _shift(op: Op, operand: Index, amount: Index, box: Box) -> Index | None:
    distance = amount.constant_value
    if distance is None or not 0 <= distance < bit_width(op.dtype):
        return None
    if isinstance(op, ShiftLeft):
        return operand.scale(2**distance)
    if isinstance(op, ShiftRightLogical) and operand.value_range(box)[0] < 0:
        return None
    if isinstance(op, ShiftRightArithmetic) and op.dtype.startswith("u"):
        return None
    return operand.floor_divide(2**distance, box)


def _bitwise(op: Op, operand: Index, other: Index, box: Box) -> Index | None:
    mask = other.constant_value
    if mask is None:
        return _disjoint_bits(operand, other, box) if isinstance(op, Or | Xor) else None
    if isinstance(op, And):
        if mask == 0:
            return Index(0)
        if mask & (mask + 1) == 0:
            return operand.modulo(mask + 1, box) if mask >= 0 else operand
        if -mask & (-mask - 1) == 0 and mask < 0:
            return operand - operand.modulo(-mask, box)
        lowest = mask & -mask
        if (mask // lowest) & (mask // lowest + 1) == 0:
            return operand.floor_divide(lowest, box).modulo(mask // lowest + 1, box).scale(lowest)
        return None
    if mask == 0:
        return operand
    if isinstance(op, Xor):
        least, most = dtype_range(op.dtype)
        if mask in (-1, most if least == 0 else -1):
            return Index(most + least) - operand
        if mask > 0 and mask & (mask - 1) == 0:
            bit = operand.floor_divide(mask, box).modulo(2, box)
            return operand + mask - bit.scale(2 * mask)
    return _disjoint_bits(operand, other, box)


def _disjoint_bits(one: Index, other: Index, box: Box) -> Index | None:
    """Where no bit is set in both, `or` and `xor` are sums."""
    for high, low in ((one, other), (other, one)):
        lower, upper = low.value_range(box)
        if lower >= 0 and high.value_range(box)[0] >= 0:
            unit = 1 << upper.bit_length()
            if high.modulo(unit, box) == Index(0):
                return high + low
    return None


def numeric_bounds(op: Op, operands: list[Index], box: Box) -> Range:
    """Bounds of an integer result that is computed lane by lane: what the operands' ranges tell, else the dtype's."""
    least, most = dtype_range(op.dtype)
    ranges = [operand.value_range(box) for operand in operands]
    found: Range | None = None
    match op, ranges:
        case Multiply(), [(a, b), (c, d)]:
            products = (a * c, a * d, b * c, b * d)
            found = min(products), max(products)
        case And(), [(a, b), (c, d)] if a >= 0 or c >= 0:
            found = 0, min(upper for lower, upper in ranges if lower >= 0)
        case Or() | Xor(), [(a, b), (c, d)] if a >= 0 and c >= 0:
            found = 0, 2 ** max(b, d).bit_length() - 1
        case Remainder(), [(a, b), (c, d)]:
            size = max(abs(c), abs(d)) - 1
            if c > 0 or d < 0:
                found = (0 if a >= 0 else max(a, -size)), (0 if b <= 0 else min(b, size))
        case Divide(), [(a, b), (c, d)] if c > 0:
            found = (0 if a >= 0 else a), (0 if b <= 0 else b)
        case ShiftRightLogical(), [(a, b), _] if a >= 0:
            found = 0, b
        case ShiftRightArithmetic(), [(a, b), _]:
            found = min(a, 0), max(b, 0)
        case ((Convert() | BitcastConvert() | Add() | Subtract()), _):
            exact = _exact(op, operands, box)
            found = exact.value_range(box) if exact is not None else None
        case Minimum() | Maximum(), [(a, b), (c, d)]:
            found = (min(a, c), min(b, d)) if isinstance(op, Minimum) else (max(a, c), max(b, d))
        case _:
            pass
    if found is not None and least <= found[0] and found[1] <= most:
        return found
    return least, most


def compare_symbolically(op: Compare, signed_operand: tuple[Index, Index] | None, operands: list[Index]) -> Predicate:
    """A comparison of integers.

    `signed_operand` are the signed numbers whose bits are compared as unsigned ones, where the operands are bit casts:
    `(unsigned)a < (unsigned)b` is asked of a and b themselves.
    """
    direction = op.direction
    if signed_operand is None or direction in ("EQ", "NE"):
        left, right = signed_operand or operands
        return Predicate.compare(direction, left, right)
    left, right = signed_operand
    zero = Index(0)
    left_negative = Predicate.compare("LT", left, zero)
    right_negative = Predicate.compare("LT", right, zero)
    same_sign = (left_negative & right_negative) | (~left_negative & ~right_negative)
    # Numbers with the top bit set are the greater ones.
    crossed = (~left_negative & right_negative) if direction in ("LT", "LE") else (left_negative & ~right_negative)
    return crossed | (same_sign & Predicate.compare(direction, left, right))


def is_bare(index: Index) -> bool:
    """Whether an index is just one number that is loaded or computed, or a constant."""
    if not index.terms:
        return True
    ((atom, factor), *others) = index.terms.items()
    return not others and factor == 1 and index.constant == 0 and isinstance(atom, Data | RuntimeScalar)


def exceeds_symbolic(index: Index, box: Box) -> bool:
    """Whether sums with the index might not fit 64 bits."""
    lower, upper = index.value_range(box)
    return max(-lower, upper) > MOST_SYMBOLIC


def looks_unsigned(value: Value) -> bool:
    """Whether a value is the bits of a signed integer read as an unsigned one."""
    return isinstance(value, BitcastConvert) and value.dtype.startswith("u") and value.operand.dtype.startswith("i")
