"""Complex numbers: made of their parts, and taken apart again."""

from __future__ import annotations

import numpy as np

from windlass.ir import Value, tensor_type
from windlass.ir.values import tensor
from windlass.ops import Abs, Add, Compare, Complex, Conj, Constant, Convert, Imag, Multiply, Negate, Real, Subtract
from windlass.ops.base import COMPLEX_OF_PART, PART_OF_COMPLEX
from windlass.ops.pointwise import Binary
from windlass.ops.sampling import Draw
from windlass.rewriting.pattern import any_op, hole
from windlass.rewriting.rule import rewrite
from windlass.rewriting.sharing import users_of
from windlass.rules.duals import PARTS
from windlass.rules.known_operands import free, random_type
from windlass.rules.splats import compute

__all__ = ["tensor"]

x, y, z, dtype = hole("x"), hole("y"), hole("z"), hole("dtype")


@rewrite(Real(Complex(x, y)))
def real_of_complex(x: Value) -> Value:
    """real(x + i·y) = x

    >>> real_of_complex(Real(Complex(tensor("f32"), tensor("f32", name="y"))))
    x
    """
    return x


@rewrite(Imag(Complex(x, y)))
def imag_of_complex(y: Value) -> Value:
    """imag(x + i·y) = y

    >>> imag_of_complex(Imag(Complex(tensor("f32"), tensor("f32", name="y"))))
    y
    """
    return y


@rewrite(Real(z))
def real_of_real(z: Value) -> Value | None:
    """real(x) = x, for real x

    >>> real_of_real(Real(tensor("f32")))
    x
    """
    return None if z.tensor.is_complex else z


@rewrite(Imag(z))
def imag_of_real(z: Value) -> Value | None:
    """imag(x) = 0, for real x

    >>> imag_of_real(Imag(tensor("f32")))
    Constant(0.0)
    """
    return None if z.tensor.is_complex else Constant.of(0, z.dtype, z.shape)


@rewrite(Complex(Real(z), Imag(z)))
def complex_of_own_parts(z: Value) -> Value | None:
    """real(z) + i·imag(z) = z

    >>> z = tensor("complex<f32>", name="z")
    >>> complex_of_own_parts(Complex(Real(z), Imag(z)))
    z
    """
    return z if z.tensor.is_complex else None


def sample_part_of_converted(draw: Draw) -> Convert:
    return Convert(free(random_type(draw, ("f32", "i32", "f64"))), draw.choose(("complex<f32>", "complex<f64>")))


@rewrite(Real(Convert(x, dtype)), sample=lambda draw: Real(sample_part_of_converted(draw)))
def real_of_converted(x: Value, dtype: str) -> Value | None:
    """real(convert(x)) = convert(x) to the type of the parts, for real x

    >>> real_of_converted(Real(Convert(tensor("i32"), "complex<f32>")))
    Convert(x, dtype='f32')
    """
    return None if x.tensor.is_complex or dtype not in PART_OF_COMPLEX else Convert(x, PART_OF_COMPLEX[dtype])


@rewrite(Imag(Convert(x, dtype)), sample=lambda draw: Imag(sample_part_of_converted(draw)))
def imag_of_converted(op: Imag, x: Value, dtype: str) -> Value | None:
    """imag(convert(x)) = 0, for real x

    >>> imag_of_converted(Imag(Convert(tensor("i32"), "complex<f32>")))
    Constant(0.0)
    """
    if x.tensor.is_complex or dtype not in PART_OF_COMPLEX:
        return None
    return Constant.of(0, op.dtype, op.shape)


@rewrite(Abs(Convert(x, dtype)), sample=lambda draw: Abs(sample_part_of_converted(draw)))
def abs_of_converted(op: Abs, x: Value, dtype: str) -> Value | None:
    """|convert(x)| = |x| for real x of the type of the parts

    >>> abs_of_converted(Abs(Convert(tensor("f32"), "complex<f32>")))
    Abs(x)
    """
    return Abs(x) if dtype in PART_OF_COMPLEX and x.dtype == op.dtype else None


@rewrite(Conj(Conj(z)))
def conj_of_conj(z: Value) -> Value:
    """conj(conj(z)) = z

    >>> conj_of_conj(Conj(Conj(tensor("complex<f32>", name="z"))))
    z
    """
    return z


@rewrite(Conj(Convert(x, dtype)), assumes="no -0.0")
def conj_of_converted(op: Conj, x: Value) -> Value | None:
    """conj(convert(x)) = convert(x) for real x, but for the sign of the imaginary zero

    >>> conj_of_converted(Conj(Convert(tensor("f32"), "complex<f32>")))
    Convert(x, dtype='complex<f32>')
    """
    return None if x.tensor.is_complex else op.operand


def sample_part_of_sum(draw: Draw) -> Real:
    type_ = random_type(draw, ("f32", "f64"))
    whole = COMPLEX_OF_PART[type_.dtype]
    made = Complex(free(type_), free(type_, "y"))
    kinds = (
        lambda: Constant.of(draw.integer(-2, 2) + 1j, whole, type_.shape),
        lambda: Constant.of(draw.tame_array(tensor_type(type_.shape, whole))),
        lambda: Convert(free(type_, "w"), whole),
        lambda: Complex(free(type_, "v"), free(type_, "w")),
    )
    other = draw.choose(kinds)()
    left, right = (made, other) if draw.boolean() else (other, made)
    return Real(draw.choose((Add, Subtract))(left, right))


def _known_part(value: Value, part: type[Real] | type[Imag]) -> Value | None:
    if isinstance(value, Complex):
        return value.lhs if part is Real else value.rhs
    if isinstance(value, Constant):
        dtype = PART_OF_COMPLEX[value.dtype]
        if value.is_splat:
            return Constant.of(value.number.real if part is Real else value.number.imag, dtype, value.shape)
        return Constant.of(np.real(value.array) if part is Real else np.imag(value.array), dtype)
    if isinstance(value, Convert) and not value.operand.tensor.is_complex:
        dtype = PART_OF_COMPLEX[value.dtype]
        if part is Imag:
            return Constant.of(0, dtype, value.shape)
        return value.operand if value.operand.dtype == dtype else Convert(value.operand, dtype)
    if isinstance(value, Conj):
        known = _known_part(value.operand, part)
        if part is Real or known is None:
            return known
        return compute(Negate, known) if isinstance(known, Constant) and known.is_splat else Negate(known)
    return None


@rewrite(
    any_op(Real, operand=any_op(Binary, only=(Add, Subtract), bind="total")),
    sample=sample_part_of_sum,
    dual=PARTS,
)
def real_of_sum(op: Real | Imag, total: Add | Subtract) -> Value | None:
    """real(z + w) = real(z) + real(w), if these are made of parts; and so for z - w

    >>> z = Complex(tensor("f32"), tensor("f32", name="y"))
    >>> real_of_sum(Real(Add(z, Constant.of(2 + 2j, "complex<f32>")))).rhs
    Constant(2.0)
    """
    if not total.tensor.is_complex:
        return None
    left, right = (_known_part(value, type(op)) for value in total.operands)
    return None if left is None or right is None else type(total)(left, right)


def sample_product_of_reals(draw: Draw) -> Real:
    type_ = random_type(draw, ("f32", "f64"))
    whole = COMPLEX_OF_PART[type_.dtype]
    z = Convert(free(type_), whole)
    if draw.boolean():
        return Real(Multiply(z, Conj(z)))
    factors = (z, Complex(free(type_, "y"), Constant.of(0, type_.dtype, type_.shape)))
    return Real(Multiply(*draw.choose((factors, factors[::-1]))))


@rewrite(Real(any_op(Multiply)), sample=sample_product_of_reals)
def real_of_product_of_reals(op: Real) -> Value | None:
    """real(z · w) = real(z) · real(w), if z and w are made of real numbers; and so for z · conj(z)

    >>> z = Convert(tensor("f32"), "complex<f32>")
    >>> real_of_product_of_reals(Real(Multiply(z, Conj(z))))
    Multiply(x, x)
    """
    product = op.operand
    assert isinstance(product, Multiply)
    z, w = product.operands
    if not z.tensor.is_complex:
        return None
    parts = [(_known_part(value, Real), _known_part(value, Imag)) for value in (z, w)]
    (left, above), (right, below) = parts
    if left is None or right is None or above is None or below is None:
        return None
    if not all(isinstance(each, Constant) and each.is_splat and each.number == 0 for each in (above, below)):
        return None
    assert isinstance(above, Constant) and isinstance(below, Constant)
    # The real part is left · right - above · below: where that adds a zero, a negative zero would become positive.
    adds_zero = bool(np.signbit(above.number) != np.signbit(below.number))
    return None if adds_zero and left is not right else Multiply(left, right)


LEAST_BOUND, LARGEST_BOUND = 1e-15, 1e15
"""Bounds whose squares are well within what f32 has."""


def sample_bounded_modulus(draw: Draw) -> Compare:
    shape = draw.shape(0, 2, 1)
    z = tensor(draw.choose(("complex<f32>", "complex<f64>")), *shape, name="z")
    modulus = Abs(z)
    bound = Constant.of(draw.choose((0.5, 1, 2, 4)), modulus.dtype, shape)
    direction = draw.choose(("LT", "LE"))
    if draw.boolean():
        return Compare(modulus, bound, direction)
    return Compare(bound, modulus, {"LT": "GT", "LE": "GE"}[direction])


@rewrite(any_op(Compare, takes=(Abs,)), sample=sample_bounded_modulus, reassociates=True)
def modulus_below_bound(op: Compare) -> Value | None:
    """|z| < c = real(z)² + imag(z)² < c², for a positive number c; and so for ≤

    >>> inside = modulus_below_bound(Compare(Abs(tensor("complex<f32>", name="z")), Constant.of(2, "f32"), "LT"))
    >>> inside.lhs, inside.rhs
    (Add(Multiply(Real(z), Real(z)), Multiply(Imag(z), Imag(z))), Constant(4.0))
    """
    modulus, bound, direction = op.lhs, op.rhs, op.direction
    if isinstance(bound, Abs):
        modulus, bound, direction = bound, modulus, {"GT": "LT", "GE": "LE"}.get(direction, "")
    # The modulus of infinity and NaN is infinity: it is above all bounds, which the sum of squares is not.
    if direction not in ("LT", "LE") or op.compare_type == "TOTALORDER":
        return None
    if not isinstance(modulus, Abs) or not modulus.operand.tensor.is_complex or not isinstance(bound, Constant):
        return None
    if not bound.is_splat or modulus.dtype not in ("f32", "f64") or not LEAST_BOUND < bound.number < LARGEST_BOUND:
        return None
    if any(user is not op for user in users_of(modulus)):
        return None
    real, imaginary = Real(modulus.operand), Imag(modulus.operand)
    square = Constant.of(bound.number * bound.number, bound.dtype, bound.shape)
    return Compare(Add(Multiply(real, real), Multiply(imaginary, imaginary)), square, direction, op.compare_type)
