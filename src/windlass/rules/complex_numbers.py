"""Complex numbers: made of their parts, and taken apart again."""

from __future__ import annotations

from windlass.ir import Value
from windlass.ir.values import tensor
from windlass.ops import Abs, Complex, Constant, Convert, Imag, Real
from windlass.ops.base import PART_OF_COMPLEX
from windlass.ops.sampling import Draw
from windlass.rewriting.pattern import hole
from windlass.rewriting.rule import rewrite
from windlass.rules.known_operands import free, random_type

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
