"""Conversions of element type: merged where nothing is lost in between."""

from __future__ import annotations

from windlass.facts.ranges import range_of
from windlass.ir import Value
from windlass.ir.values import tensor
from windlass.ops import (
    BitcastConvert,
    Ceil,
    Constant,
    Convert,
    Floor,
    Iota,
    RoundNearestAfz,
    RoundNearestEven,
    Select,
)
from windlass.ops.conversion import bit_width
from windlass.ops.pointwise import Unary
from windlass.ops.ranges import everything
from windlass.ops.sampling import Draw
from windlass.rewriting.pattern import any_op, hole
from windlass.rewriting.rule import rewrite
from windlass.rules.known_operands import bounded, condition, free, non_negative, number, random_type, whole
from windlass.rules.splats import compute, is_number, splat

__all__ = ["holds_exactly", "tensor"]

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


# -- by what is known of the elements ---------------------------------------------------------------------------------


def sample_round_trip(draw: Draw) -> Convert:
    type_ = random_type(draw, ("i32", "i64", "f32"))
    x = bounded(draw, type_, 0, 100)
    if type_.is_float:
        x = RoundNearestEven(Convert(bounded(draw, random_type(draw, ("i32",)), 0, 90), "f32"))
    return Convert(Convert(x, draw.choose(("i8", "ui8", "i16", "f16", "bf16"))), draw.choose((type_.dtype, "f32")))


@rewrite(Convert(Convert(x, inner_dtype), dtype), sample=sample_round_trip)
def convert_of_convert_within_range(x: Value, inner_dtype: str, dtype: str) -> Value | None:
    """convert(convert(x, a), b) = convert(x, b), if a is proven to hold every element of x exactly

    Floats that an integer type can't hold end at its limits, integers wrap around: there b has to hold them too.

    >>> from windlass.ops import Clamp
    >>> small = Clamp(Constant.of(0, "i32"), tensor("i32"), Constant.of(9, "i32"))
    >>> convert_of_convert_within_range(Convert(Convert(small, "i8"), "f32"))
    Convert(Clamp(Constant(0), x, Constant(9)), dtype='f32')
    """
    if x.tensor.is_complex or x.tensor.is_boolean or dtype == "i1":
        return None
    kinds = [_integer_bits(each)[0] is not None for each in (x.dtype, inner_dtype, dtype)]
    if kinds[2] and kinds[0] != kinds[1] and not all_fit(x, dtype):
        return None
    return Convert(x, dtype) if all_fit(x, inner_dtype) else None


def all_fit(x: Value, dtype: str) -> bool:
    """Whether every element of x is proven to be a number of another type, to the last bit."""
    known = range_of(x)
    if known.nan or known.negative_zero or not known.whole:
        return False
    if dtype in EXACT_INTEGER_BITS:
        return known.magnitude <= 2 ** EXACT_INTEGER_BITS[dtype] and (dtype != "f16" or known.magnitude <= 2048)
    limits = everything(Convert(Constant.of(0, "i32"), dtype).type)
    bits, _ = _integer_bits(dtype)
    return bits is not None and dtype != "i1" and limits.low <= known.low and known.high <= limits.high


def sample_narrowing(draw: Draw) -> Convert:
    x = free(random_type(draw, ("i64", "i32", "ui32")))
    return Convert(Convert(x, draw.choose(("i32", "i16", "ui32"))), draw.choose(("i8", "ui8", "i16")))


@rewrite(Convert(Convert(x, inner_dtype), dtype), sample=sample_narrowing)
def convert_of_narrowing(x: Value, inner_dtype: str, dtype: str) -> Value | None:
    """convert(convert(x, a), b) = convert(x, b) for integers, if b is no wider than a: only low bits count

    >>> convert_of_narrowing(Convert(Convert(tensor("i64"), "ui32"), "i32"))
    Convert(x, dtype='i32')
    """
    integers = [_integer_bits(each) for each in (x.dtype, inner_dtype, dtype)]
    if any(bits is None for bits, _ in integers) or "i1" in (x.dtype, inner_dtype, dtype):
        return None
    return Convert(x, dtype) if bit_width(dtype) <= bit_width(inner_dtype) else None


def sample_float_narrowing(draw: Draw) -> Convert:
    return Convert(Convert(free(random_type(draw, ("f64",))), "f32"), draw.choose(("bf16", "f16")))


@rewrite(Convert(Convert(x, inner_dtype), dtype), reassociates=True, sample=sample_float_narrowing)
def convert_of_float_narrowing(x: Value, inner_dtype: str, dtype: str) -> Value | None:
    """convert(convert(x, a), b) = convert(x, b), if a holds all floats of b, and x has a dtype that holds those of a

    >>> convert_of_float_narrowing(Convert(Convert(tensor("f64"), "f32"), "bf16"))
    Convert(x, dtype='bf16')
    """
    narrows = inner_dtype in FLOAT_WITHIN.get(dtype, ()) and x.dtype in FLOAT_WITHIN.get(inner_dtype, ())
    return Convert(x, dtype) if narrows else None


def sample_convert_of_choice(draw: Draw) -> Convert:
    type_ = random_type(draw)
    choice = Select(condition(type_), number(draw, type_), number(draw, type_))
    return Convert(choice, draw.choose(("f32", "i32", "bf16")))


p, c, d = hole("p"), splat("c"), splat("d")


@rewrite(Convert(Select(p, c, d), dtype), sample=sample_convert_of_choice, single_use=True)
def convert_of_choice(p: Value, c: Constant, d: Constant, dtype: str) -> Value:
    """convert(select(p, c, d)) = select(p, convert(c), convert(d)) for constants

    >>> choice = Select(tensor("i1", name="p"), Constant.of(2, "i32"), Constant.of(3, "i32"))
    >>> convert_of_choice(Convert(choice, "f32"))
    Select(p, Constant(2.0), Constant(3.0))
    """
    return Select(p, compute(Convert, c, dtype=dtype), compute(Convert, d, dtype=dtype))


def sample_unit_choice(draw: Draw) -> Select:
    type_ = random_type(draw)
    return Select(condition(type_), *(Constant.of(each, type_.dtype, type_.shape) for each in (1, 0)))


@rewrite(Select(p, c, d), sample=sample_unit_choice)
def choice_of_one_or_zero(op: Select, p: Value, c: Constant, d: Constant) -> Value | None:
    """select(p, 1, 0) = convert(p)

    >>> choice_of_one_or_zero(Select(tensor("i1", name="p"), Constant.of(1, "f32"), Constant.of(0, "f32")))
    Convert(p, dtype='f32')
    """
    if op.tensor.is_boolean or op.tensor.is_complex or p.shape != op.shape:
        return None
    return Convert(p, op.dtype) if is_number(c, 1) and is_number(d, 0) else None


ROUNDINGS = (Floor, Ceil, RoundNearestEven, RoundNearestAfz)


def sample_rounding_of_whole(draw: Draw) -> Unary:
    return draw.choose(ROUNDINGS)(whole(draw, random_type(draw, ("f32", "f64", "bf16"))))


@rewrite(any_op(Unary, only=ROUNDINGS), sample=sample_rounding_of_whole)
def rounding_of_whole(op: Unary) -> Value | None:
    """floor(x) = ceil(x) = round(x) = x, if x is proven to be whole

    >>> rounding_of_whole(Floor(Convert(tensor("i32"), "f32")))
    Convert(x, dtype='f32')
    """
    return op.operand if range_of(op.operand).whole else None


def sample_truncation(draw: Draw) -> Convert:
    return Convert(Floor(non_negative(draw, random_type(draw, ("f32", "f64")))), draw.choose(("i32", "ui8", "i64")))


@rewrite(Convert(Floor(x), dtype), sample=sample_truncation)
def truncation_of_floor(op: Convert, x: Value, dtype: str) -> Value | None:
    """convert(floor(x)) = convert(x) to integers, which truncates, if x is proven not to be negative

    >>> truncation_of_floor(Convert(Floor(Convert(tensor("ui8"), "f32")), "i32"))
    Convert(Convert(x, dtype='f32'), dtype='i32')
    """
    return Convert(x, dtype) if op.tensor.is_integer and range_of(x).low >= 0 else None
