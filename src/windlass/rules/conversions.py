"""Conversions of element type: merged where nothing is lost in between."""

from __future__ import annotations

from windlass.ir import Value
from windlass.ir.values import tensor
from windlass.ops import BitcastConvert, Convert, Iota
from windlass.rewriting.pattern import hole
from windlass.rewriting.rule import rewrite

__all__ = ["tensor"]

x, dtype, inner_dtype = hole("x"), hole("dtype"), hole("inner_dtype")


@rewrite(Convert(x, dtype))
def convert_to_same_dtype(x: Value, dtype: str) -> Value | None:
    """convert(x, dtype(x)) = x

    >>> convert_to_same_dtype(Convert(tensor("f32", 3), "f32"))
    x
    """
    return x if x.dtype == dtype else None


@rewrite(Convert(Convert(x, inner_dtype), dtype))
def convert_of_exact_convert(op: Convert, x: Value, inner_dtype: str, dtype: str) -> Value | None:
    """convert(convert(x, a), b) = convert(x, b), if every value of x's dtype has an exact one in a

    Not from integer over float to integer, unless b holds it too: floats saturate where integers wrap around.

    >>> convert_of_exact_convert(Convert(Convert(tensor("i16", 3), "i64"), "i32"))
    Convert(x, dtype='i32')
    >>> convert_of_exact_convert(Convert(Convert(tensor("f64", 3), "f32"), "f64"))
    """
    saturates = op.operand.tensor.is_float and op.tensor.is_integer and x.tensor.is_integer
    exact = holds_exactly(inner_dtype, x.dtype) and (not saturates or holds_exactly(dtype, x.dtype))
    return Convert(x, dtype) if exact else None


EXACT_INTEGER_BITS = {"f64": 53, "f32": 24, "f16": 11, "bf16": 8}
FLOAT_WITHIN = {"f16": ("f32", "f64"), "bf16": ("f32", "f64"), "f32": ("f64",)}


def holds_exactly(wide: str, narrow: str) -> bool:
    """Whether each number of dtype `narrow` is also one of dtype `wide`.

    >>> holds_exactly("f32", "i16"), holds_exactly("f32", "i32"), holds_exactly("i64", "ui32")
    (True, False, True)
    """
    if wide == narrow:
        return True
    if narrow in FLOAT_WITHIN:
        return wide in FLOAT_WITHIN[narrow]
    narrow_bits, narrow_signed = _integer_bits(narrow)
    if narrow_bits is None:
        return False
    if wide in EXACT_INTEGER_BITS:
        return narrow_bits - narrow_signed <= EXACT_INTEGER_BITS[wide]
    wide_bits, wide_signed = _integer_bits(wide)
    if wide_bits is None or wide == "i1":
        return False
    if narrow_signed:
        return bool(wide_signed) and wide_bits >= narrow_bits
    return wide_bits - wide_signed >= narrow_bits


def _integer_bits(dtype: str) -> tuple[int | None, int]:
    """Number of bits and of sign bits of an integer dtype."""
    if dtype == "i1":
        return 1, 0
    digits = dtype.lstrip("ui")
    if dtype[0] not in "ui" or not digits.isdigit():
        return None, 0
    return int(digits), 0 if dtype.startswith("u") else 1


@rewrite(BitcastConvert(x, dtype))
def bitcast_to_same_dtype(x: Value, dtype: str) -> Value | None:
    """bitcast_convert(x, dtype(x)) = x

    >>> bitcast_to_same_dtype(BitcastConvert(tensor("f32", 3), "f32"))
    x
    """
    return x if x.dtype == dtype else None


@rewrite(BitcastConvert(BitcastConvert(x, inner_dtype), dtype))
def bitcast_of_bitcast(op: BitcastConvert, x: Value, dtype: str) -> Value | None:
    """bitcast_convert(bitcast_convert(x, a), b) = bitcast_convert(x, b)

    >>> bitcast_of_bitcast(BitcastConvert(BitcastConvert(tensor("f32", 3), "i32"), "ui32"))
    BitcastConvert(x, dtype='ui32')
    """
    inner = op.operand
    # Only where no axis is split and joined again otherwise: widths as (32, 32, 32) or (64, 32, 64).
    if len(inner.shape) < len(x.shape):
        return None
    direct = BitcastConvert(x, dtype)
    return direct if direct.type is op.type else None


shape, iota_dimension = hole("shape"), hole("iota_dimension")


@rewrite(Convert(Iota(shape, inner_dtype, iota_dimension), dtype))
def convert_of_iota(shape: tuple[int, ...], inner_dtype: str, iota_dimension: int, dtype: str) -> Value | None:
    """convert(iota) = iota of the other integer dtype, if both hold 0 … n-1

    >>> convert_of_iota(Convert(Iota((3,), "i64", 0), "i32"))
    Iota(shape=(3,), dtype='i32', iota_dimension=0)
    """
    for name in (inner_dtype, dtype):
        bits, sign = _integer_bits(name)
        if bits is None or name == "i1" or shape[iota_dimension] > 2 ** (bits - sign):
            return None
    return Iota(shape, dtype, iota_dimension)
