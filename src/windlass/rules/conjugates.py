"""Conjugates: made of parts, moved outwards, and dropped where they make no difference."""

from __future__ import annotations

from windlass.ir import Value
from windlass.ir.values import tensor
from windlass.ops import (
    Abs,
    Add,
    Complex,
    Conj,
    Constant,
    Convert,
    DotGeneral,
    Imag,
    Multiply,
    Negate,
    Real,
    Reshape,
    Reverse,
    Slice,
    Subtract,
    Transpose,
)
from windlass.ops.base import COMPLEX_OF_PART
from windlass.ops.pointwise import Binary
from windlass.ops.sampling import Draw
from windlass.rewriting.pattern import any_op, hole
from windlass.rewriting.rule import rewrite
from windlass.rewriting.sharing import is_alone
from windlass.rules.contractions import dot
from windlass.rules.known_operands import free, random_type
from windlass.rules.splats import compute, is_number, splat

__all__ = ["tensor"]

x, y, z, w = (hole(name) for name in "xyzw")


@rewrite(Complex(Real(z), Negate(Imag(z))), single_use=True)
def conjugate_of_parts(z: Value) -> Value | None:
    """real(z) - i·imag(z) = conj(z)

    >>> z = tensor("complex<f32>", name="z")
    >>> conjugate_of_parts(Complex(Real(z), Negate(Imag(z))))
    Conj(z)
    """
    return Conj(z) if z.tensor.is_complex else None


@rewrite(Real(Conj(z)))
def real_of_conjugate(z: Value) -> Value:
    """real(conj(z)) = real(z)

    >>> real_of_conjugate(Real(Conj(tensor("complex<f32>", name="z"))))
    Real(z)
    """
    return Real(z)


@rewrite(Negate(Imag(Conj(z))))
def negated_imag_of_conjugate(z: Value) -> Value:
    """-imag(conj(z)) = imag(z)

    >>> negated_imag_of_conjugate(Negate(Imag(Conj(tensor("complex<f32>", name="z")))))
    Imag(z)
    """
    return Imag(z)


@rewrite(Conj(Complex(x, Negate(y))))
def conjugate_of_complex(x: Value, y: Value) -> Value:
    """conj(x + i·(-y)) = x + i·y

    >>> conjugate_of_complex(Conj(Complex(tensor("f32"), Negate(tensor("f32", name="y")))))
    Complex(x, y)
    """
    return Complex(x, y)


@rewrite(Conj(Complex(x, splat("c"))))
def conjugate_with_known_part(x: Value, c: Constant) -> Value:
    """conj(x + i·c) = x + i·(-c), for a number c

    >>> conjugate_with_known_part(Conj(Complex(tensor("f32"), Constant.of(2, "f32"))))
    Complex(x, Constant(-2.0))
    """
    return Complex(x, compute(Negate, c))


@rewrite(Abs(Conj(z)))
def modulus_of_conjugate(z: Value) -> Value:
    """|conj(z)| = |z|

    >>> modulus_of_conjugate(Abs(Conj(tensor("complex<f32>", name="z"))))
    Abs(z)
    """
    return Abs(z)


def _sample_of_conjugates(draw: Draw) -> Binary:
    type_ = random_type(draw, ("complex<f32>", "complex<f64>"))
    return draw.choose((Add, Subtract))(Conj(free(type_, "z")), Conj(free(type_, "w")))


@rewrite(
    any_op(Binary, only=(Add, Subtract), lhs=Conj(z), rhs=Conj(w)),
    single_use=True,
    sample=_sample_of_conjugates,
    reassociates=True,
)
def arithmetic_of_conjugates(op: Add | Subtract, z: Value, w: Value) -> Value | None:
    """conj(z) + conj(w) = conj(z + w), and so for z - w, if nothing else uses the conjugates

    >>> z, w = tensor("complex<f32>", name="z"), tensor("complex<f32>", name="w")
    >>> arithmetic_of_conjugates(Add(Conj(z), Conj(w)))
    Conj(Add(z, w))
    """
    return None if op.lhs is op.rhs else Conj(type(op)(z, w))


@rewrite(Multiply(Conj(z), Conj(w)), single_use=True, reassociates=True)
def product_of_conjugates(z: Value, w: Value) -> Value | None:
    """conj(z) · conj(w) = conj(z · w)

    >>> z, w = tensor("complex<f32>", name="z"), tensor("complex<f32>", name="w")
    >>> product_of_conjugates(Multiply(Conj(z), Conj(w)))
    Conj(Multiply(z, w))
    """
    return None if z is w else Conj(Multiply(z, w))


def _sample_dot(draw: Draw) -> DotGeneral:
    z, w = tensor("complex<f32>", 3, 4, name="z"), tensor("complex<f32>", 4, 5, name="w")
    return DotGeneral(Conj(z), Conj(w), (), (), (1,), (0,))


@rewrite(dot(Conj(z), Conj(w)), sample=_sample_dot, reassociates=True, single_use=True)
def dot_of_conjugates(op: DotGeneral, z: Value, w: Value) -> Value | None:
    """dot(conj(z), conj(w)) = conj(dot(z, w)), if the result has fewer elements than the operands

    >>> z, w = tensor("complex<f32>", 3, 4, name="z"), tensor("complex<f32>", 4, 5, name="w")
    >>> dot_of_conjugates(DotGeneral(Conj(z), Conj(w), (), (), (1,), (0,))).operand.lhs
    z
    """
    return Conj(op.with_operands((z, w))) if op.tensor.size < z.tensor.size + w.tensor.size else None


# -- complex numbers made of parts ------------------------------------------------------------------------------------


def _sample_real_modulus(draw: Draw) -> Abs:
    type_ = random_type(draw, ("f32", "f64"))
    return Abs(Complex(free(type_), Constant.of(draw.choose((0.0, -0.0)), type_.dtype, type_.shape)))


@rewrite(Abs(Complex(x, y)), sample=_sample_real_modulus)
def modulus_of_real(x: Value, y: Value) -> Value | None:
    """|x + i·0| = |x|

    >>> modulus_of_real(Abs(Complex(tensor("f32"), Constant.of(0, "f32"))))
    Abs(x)
    """
    return Abs(x) if is_number(y, 0.0) or is_number(y, -0.0) else None


def _sample_sum_of_converted(draw: Draw) -> Binary:
    type_ = random_type(draw, ("f32", "f64"))
    whole = COMPLEX_OF_PART[type_.dtype]
    return draw.choose((Add, Subtract))(Convert(free(type_), whole), Convert(free(type_, "y"), whole))


@rewrite(
    any_op(Binary, only=(Add, Subtract), lhs=any_op(Convert, operand=x), rhs=any_op(Convert, operand=y)),
    single_use=True,
    sample=_sample_sum_of_converted,
)
def sum_of_converted_reals(op: Add | Subtract, x: Value, y: Value) -> Value | None:
    """convert(x) + convert(y) = convert(x + y), for reals that become complex; and so for x - y

    >>> x, y = tensor("f32"), tensor("f32", name="y")
    >>> sum_of_converted_reals(Add(Convert(x, "complex<f32>"), Convert(y, "complex<f32>")))
    Convert(Add(x, y), dtype='complex<f32>')
    """
    is_alike = COMPLEX_OF_PART.get(x.tensor.dtype) == op.dtype and x.type is y.type
    return Convert(type(op)(x, y), op.dtype) if is_alike else None


def _sample_moved_parts(draw: Draw) -> Complex:
    z = tensor("complex<f32>", 4, 6, name="z")
    kind = draw.choose(
        (
            lambda part: Slice(part, (1, 0), (3, 6), (1, 2)),
            lambda part: Transpose(part, (1, 0)),
            lambda part: Reshape(part, (24,)),
            lambda part: Reverse(part, (0,)),
        )
    )
    return Complex(kind(Real(z)), kind(Imag(z)))


@rewrite(Complex(x, y), sample=_sample_moved_parts)
def complex_of_moved_parts(x: Value, y: Value) -> Value | None:
    """move(real(z)) + i·move(imag(z)) = move(z), for slices, transposes, reshapes and reverses

    >>> z = tensor("complex<f32>", 2, 3, name="z")
    >>> complex_of_moved_parts(Complex(Transpose(Real(z), (1, 0)), Transpose(Imag(z), (1, 0))))
    Transpose(z, permutation=(1, 0))
    """
    if not isinstance(x, Slice | Transpose | Reshape | Reverse) or not isinstance(y, type(x)):
        return None
    real, imaginary = x.operand, y.operand
    if not isinstance(real, Real) or not isinstance(imaginary, Imag) or real.operand is not imaginary.operand:
        return None
    names = [field.name for field in x.fields if field.kind == "attribute"]
    if not real.operand.tensor.is_complex or any(getattr(x, name) != getattr(y, name) for name in names):
        return None
    if not is_alone(x) or not is_alone(y):
        return None
    return x.with_operands((real.operand,))
