"""Complex numbers and their parts."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from windlass.ir.types import Type, tensor_type
from windlass.ops.base import COMPLEX, COMPLEX_OF_PART, FLOAT, PART_OF_COMPLEX, Array, Value
from windlass.ops.creation import Constant
from windlass.ops.pointwise import Binary, Elementwise, Unary


class Complex(Binary):
    """lhs + i·rhs."""

    name = "stablehlo.complex"
    linear_in: ClassVar[tuple[frozenset[str], ...]] = (frozenset({"lhs", "rhs"}),)
    dtypes: ClassVar[frozenset[str]] = frozenset(COMPLEX_OF_PART)

    def infer(self) -> Type:
        type_ = super().infer()
        assert type_ is self.lhs.tensor
        return tensor_type(self.lhs.shape, COMPLEX_OF_PART[self.lhs.dtype])

    def pullback(self, cotangents: tuple[Value, ...], position: int) -> Value:
        (cotangent,) = cotangents
        return Imag(Conj(cotangent)) if position else Real(cotangent)

    def evaluate(self, lhs: Array, rhs: Array) -> Array:
        result = np.empty(np.broadcast_shapes(lhs.shape, rhs.shape), self.tensor.numpy_dtype)
        result.real, result.imag = lhs, rhs
        return result


class Part(Elementwise):
    """Base of the parts of complex numbers."""

    operand: Value
    dtypes: ClassVar[frozenset[str]] = COMPLEX | FLOAT

    def infer(self) -> Type:
        type_ = self.operand.tensor
        if type_.dtype not in self.dtypes:
            self.fault("I1", f"does not take {type_}")
        return tensor_type(type_.shape, PART_OF_COMPLEX.get(type_.dtype, type_.dtype))


class Real(Part):
    """The real part; a real number itself."""

    name = "stablehlo.real"
    linear_in: ClassVar[tuple[frozenset[str], ...]] = (frozenset({"operand"}),)

    def pullback(self, cotangents: tuple[Value, ...], position: int) -> Value:
        (cotangent,) = cotangents
        return Complex(cotangent, _zero_like(cotangent)) if self.operand.tensor.is_complex else cotangent

    def evaluate(self, operand: Array) -> Array:
        return np.real(operand)


class Imag(Part):
    """The imaginary part; zero for a real number."""

    name = "stablehlo.imag"
    linear_in: ClassVar[tuple[frozenset[str], ...]] = (frozenset({"operand"}),)

    def pullback(self, cotangents: tuple[Value, ...], position: int) -> Value:
        (cotangent,) = cotangents
        zero = _zero_like(cotangent)
        return Conj(Complex(zero, cotangent)) if self.operand.tensor.is_complex else zero

    def evaluate(self, operand: Array) -> Array:
        return np.imag(operand) if operand.dtype.kind == "c" else np.zeros_like(operand)


class Conj(Unary):
    """The complex conjugate."""

    name = "chlo.conj"
    linear_in: ClassVar[tuple[frozenset[str], ...]] = (frozenset({"operand"}),)
    dtypes: ClassVar[frozenset[str]] = COMPLEX

    def pullback(self, cotangents: tuple[Value, ...], position: int) -> Value:
        (cotangent,) = cotangents
        return Conj(cotangent)

    def evaluate(self, operand: Array) -> Array:
        return np.asarray(np.conj(operand))


def _zero_like(value: Value) -> Value:
    return Constant.splat(0, value.type)
