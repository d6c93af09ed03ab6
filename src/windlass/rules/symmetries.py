"""Functions that are odd or even, signs and moduli, and floors that are ceilings the other way up."""

from __future__ import annotations

from windlass.ir import Value
from windlass.ir.values import tensor
from windlass.ops import (
    Abs,
    BitcastConvert,
    Ceil,
    Constant,
    Cosine,
    Divide,
    Floor,
    IsFinite,
    Multiply,
    Negate,
    Sign,
    Sine,
    Tan,
    Tanh,
)
from windlass.ops.elementwise import And, Xor, width_of
from windlass.ops.functions import Cbrt
from windlass.ops.pointwise import Unary
from windlass.ops.sampling import Draw
from windlass.rewriting.duals import Dual, Exchange
from windlass.rewriting.pattern import any_op, hole
from windlass.rewriting.rule import rewrite
from windlass.rules.known_operands import free, random_type
from windlass.rules.splats import splat

__all__ = ["tensor"]

x, y, dtype, result = hole("x"), hole("y"), hole("dtype"), hole("result")
c = splat("c")

ODD = (Sine, Tan, Tanh, Cbrt)


@rewrite(Multiply(Sign(x), Abs(x)))
def sign_times_modulus(x: Value) -> Value | None:
    """sign(x) · |x| = x, but for complex numbers

    >>> x = tensor("f32")
    >>> sign_times_modulus(Multiply(Sign(x), Abs(x)))
    x
    """
    return None if x.tensor.is_complex else x


@rewrite(Sign(Sign(x)))
def sign_of_sign(op: Sign) -> Value | None:
    """sign(sign(x)) = sign(x), but for complex numbers

    >>> sign_of_sign(Sign(Sign(tensor("f32"))))
    Sign(x)
    """
    return None if op.tensor.is_complex else op.operand


@rewrite(Multiply(Sign(x), x))
def sign_times_operand(x: Value) -> Value | None:
    """sign(x) · x = |x|, but for complex numbers

    >>> x = tensor("f32")
    >>> sign_times_operand(Multiply(Sign(x), x))
    Abs(x)
    """
    return None if x.tensor.is_complex or x.tensor.is_unsigned else Abs(x)


def _sample_odd(draw: Draw) -> Negate:
    return Negate(draw.choose(ODD)(Negate(free(random_type(draw, ("f32", "f64", "bf16"))))))


@rewrite(Negate(any_op(Unary, only=ODD, operand=Negate(x), bind="function")), sample=_sample_odd, single_use=True)
def negate_of_odd_function(x: Value, function: Unary) -> Value | None:
    """-f(-x) = f(x), for f among sin, tan, tanh and cbrt

    >>> negate_of_odd_function(Negate(Sine(Negate(tensor("f32")))))
    Sine(x)
    """
    return None if x.tensor.is_complex else type(function)(x)


@rewrite(Cosine(Abs(x)))
def cosine_of_modulus(op: Cosine, x: Value) -> Value | None:
    """cos(|x|) = cos(x), for real x

    >>> cosine_of_modulus(Cosine(Abs(tensor("f32"))))
    Cosine(x)
    """
    return None if x.tensor.is_complex else Cosine(x)


@rewrite(Negate(Floor(Negate(x))), single_use=True, dual=Exchange((Floor, Ceil), words=(("floor", "ceiling"),)))
def ceiling_by_floor(x: Value, dual: Dual) -> Value:
    """-floor(-x) = ceiling(x)

    >>> ceiling_by_floor(Negate(Floor(Negate(tensor("f32")))))
    Ceil(x)
    """
    return dual(Ceil)(x)


@rewrite(Negate(Multiply(Negate(x), y)), single_use=True)
def negate_of_product_with_negate(x: Value, y: Value) -> Value | None:
    """-(-x · y) = x · y, but for complex numbers

    >>> negate_of_product_with_negate(Negate(Multiply(Negate(tensor("f32")), tensor("f32", name="y"))))
    Multiply(x, y)
    """
    return None if x.tensor.is_complex else Multiply(x, y)


@rewrite(Negate(Divide(Negate(x), y)), single_use=True)
def negate_of_quotient_of_negate(x: Value, y: Value) -> Value | None:
    """-(-x / y) = x / y for floats

    >>> negate_of_quotient_of_negate(Negate(Divide(Negate(tensor("f32")), tensor("f32", name="y"))))
    Divide(x, y)
    """
    return Divide(x, y) if x.tensor.is_float else None


@rewrite(Negate(Divide(x, Negate(y))), single_use=True)
def negate_of_quotient_by_negate(x: Value, y: Value) -> Value | None:
    """-(x / -y) = x / y for floats

    >>> negate_of_quotient_by_negate(Negate(Divide(tensor("f32"), Negate(tensor("f32", name="y")))))
    Divide(x, y)
    """
    return Divide(x, y) if x.tensor.is_float else None


@rewrite(
    IsFinite(any_op(Unary, only=(Negate, Abs), operand=x)),
    sample=lambda draw: IsFinite(draw.choose((Negate, Abs))(free(random_type(draw, ("f32", "bf16"))))),
)
def is_finite_without_sign(x: Value) -> Value | None:
    """is_finite(-x) = is_finite(x), and so for |x|

    >>> is_finite_without_sign(IsFinite(Negate(tensor("f32"))))
    IsFinite(x)
    """
    return IsFinite(x) if x.tensor.is_float else None


def _sample_bits(draw: Draw, made_by: type[And] | type[Xor]) -> BitcastConvert:
    narrow, wide = ("f32", "i32"), ("f64", "i64")
    dtype, integer = draw.choose((narrow, wide))
    type_ = random_type(draw, (dtype,))
    bits = 32 if integer == "i32" else 64
    mask = 2 ** (bits - 1) - 1 if made_by is And else -(2 ** (bits - 1))
    inner = BitcastConvert(free(type_), integer)
    return BitcastConvert(made_by(inner, Constant.of(mask, integer, type_.shape)), dtype)


@rewrite(BitcastConvert(And(BitcastConvert(x, dtype), c), result), sample=lambda draw: _sample_bits(draw, And))
def modulus_by_bits(op: BitcastConvert, x: Value, c: Constant) -> Value | None:
    """bitcast_convert(bitcast_convert(x) and all bits but the sign) = |x|

    >>> bits = BitcastConvert(tensor("f32"), "i32")
    >>> modulus_by_bits(BitcastConvert(And(bits, Constant.of(2**31 - 1, "i32")), "f32"))
    Abs(x)
    """
    bits = _sign_bit(op, x, c)
    return Abs(x) if bits is not None and int(c.number) % 2 ** (bits + 1) == 2**bits - 1 else None


@rewrite(BitcastConvert(Xor(BitcastConvert(x, dtype), c), result), sample=lambda draw: _sample_bits(draw, Xor))
def negate_by_bits(op: BitcastConvert, x: Value, c: Constant) -> Value | None:
    """bitcast_convert(bitcast_convert(x) xor the sign bit) = -x

    >>> bits = BitcastConvert(tensor("f32"), "i32")
    >>> negate_by_bits(BitcastConvert(Xor(bits, Constant.of(-(2**31), "i32")), "f32"))
    Negate(x)
    """
    bits = _sign_bit(op, x, c)
    return Negate(x) if bits is not None and int(c.number) % 2 ** (bits + 1) == 2**bits else None


def _sign_bit(op: BitcastConvert, x: Value, c: Constant) -> int | None:
    """The number of the bit that is the sign of x, where its bits are those of an integer."""
    if op.type is not x.type or x.dtype not in ("f16", "bf16", "f32", "f64") or not c.tensor.is_integer:
        return None
    width = width_of(c)
    return width - 1 if width == {"f32": 32, "f64": 64}.get(x.dtype, 16) else None
