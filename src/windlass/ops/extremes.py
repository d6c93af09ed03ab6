"""The larger and the smaller of two numbers, and numbers kept between limits."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from windlass.ir.types import TensorType, Type, tensor_type
from windlass.ir.values import Value
from windlass.ops.base import ANY, BOOLEAN, COMPLEX, Array, BroadcastInDim
from windlass.ops.comparison import Compare
from windlass.ops.creation import Constant
from windlass.ops.elementwise import Add, Multiply, Select
from windlass.ops.loop_writer import LoopNames, LoopWriter, is_unsigned, signless
from windlass.ops.pointwise import Binary, Elementwise, widened
from windlass.ops.ranges import Range, RangeOf
from windlass.ops.sampling import Draw


class Maximum(Binary):
    """The larger of both; NaN if either is NaN; complex numbers compare by real part, then imaginary part."""

    name = "stablehlo.maximum"
    limbs: ClassVar[str] = "maximum"
    spreads_nan: ClassVar[bool] = True
    is_commutative: ClassVar[bool] = True
    loop_names: ClassVar[LoopNames] = LoopNames("arith.maximumf", "arith.maxsi", "arith.maxui")

    def find_range(self, of: RangeOf) -> Range:
        return of(self.lhs).larger(of(self.rhs))

    def tangents(self, given: tuple[Value | None, ...]) -> tuple[Value | None, ...]:
        return (tangent_of_extreme(self, given),)

    def evaluate(self, lhs: Array, rhs: Array) -> Array:
        return widened(larger, lhs, rhs)


class Minimum(Binary):
    """The smaller of both; NaN if either is NaN; complex numbers compare by real part, then imaginary part."""

    name = "stablehlo.minimum"
    limbs: ClassVar[str] = "minimum"
    spreads_nan: ClassVar[bool] = True
    is_commutative: ClassVar[bool] = True
    loop_names: ClassVar[LoopNames] = LoopNames("arith.minimumf", "arith.minsi", "arith.minui")

    def find_range(self, of: RangeOf) -> Range:
        return of(self.lhs).smaller(of(self.rhs))

    def tangents(self, given: tuple[Value | None, ...]) -> tuple[Value | None, ...]:
        return (tangent_of_extreme(self, given),)

    def evaluate(self, lhs: Array, rhs: Array) -> Array:
        return widened(smaller, lhs, rhs)


class Clamp(Elementwise):
    """minimum(maximum(operand, min), max); the limits have its shape or are single numbers."""

    name = "stablehlo.clamp"
    limbs: ClassVar[str] = "clamp"
    effort: ClassVar[int] = 2
    min: Value
    operand: Value
    max: Value
    dtypes: ClassVar[frozenset[str]] = ANY - COMPLEX - BOOLEAN

    def infer(self) -> Type:
        least, operand, most = (value.tensor for value in self._operands)
        if least.shape not in ((), operand.shape):
            self.fault("C1", f"the lower limit is {least}, the operand {operand}")
        if most.shape not in ((), operand.shape):
            self.fault("C2", f"the upper limit is {most}, the operand {operand}")
        same = least.dtype == operand.dtype == most.dtype
        if not same:
            self.fault("C3", f"element types differ: {least.dtype}, {operand.dtype}, {most.dtype}")
        return operand

    def find_range(self, of: RangeOf) -> Range:
        return of(self.operand).larger(of(self.min)).smaller(of(self.max))

    def tangents(self, given: tuple[Value | None, ...]) -> tuple[Value | None, ...]:
        """Those of the minimum and the maximum that it stands for."""
        least, operand, most = (spread(value, self.tensor) for value in self.operands)
        of_least, of_operand, of_most = (each and spread(each, self.tensor) for each in given)
        raised = Maximum(least, operand)
        of_raised = tangent_of_extreme(raised, (of_least, of_operand))
        return (tangent_of_extreme(Minimum(raised, most), (of_raised, of_most)),)

    def evaluate(self, min: Array, operand: Array, max: Array) -> Array:
        def clamped(low: Array, x: Array, high: Array) -> Array:
            return smaller(larger(x, low), high)

        return widened(clamped, min, operand, max)

    @classmethod
    def sample_operands(cls, draw: Draw) -> tuple[TensorType, ...]:
        type_ = tensor_type(draw.shape(), draw.dtype(cls.dtypes))
        limits = [tensor_type(draw.choose(((), type_.shape)), type_.dtype) for _ in range(2)]
        return (limits[0], type_, limits[1])

    def write_loop(self, writer: LoopWriter) -> None:
        if self.tensor.is_float:
            writer.call(self, self.name, self.operands)
            return
        type_, sign = signless(self.dtype), "u" if is_unsigned(self.dtype) else "s"
        low = writer.temporary(f"arith.max{sign}i {writer.use(self.operand)}, {writer.use(self.min)} : {type_}")
        writer.define(self, f"arith.min{sign}i {low}, {writer.use(self.max)} : {type_}")


def larger(lhs: Array, rhs: Array) -> Array:
    """The larger of both as IEEE 754 `maximum` says: +0 is larger than -0 (NumPy leaves open which one it gives).

    >>> larger(np.float32(-0.0), np.float32(0.0))
    np.float32(0.0)
    """
    found = np.maximum(lhs, rhs)
    return np.where((lhs == 0) & (rhs == 0), lhs + rhs, found)[()] if found.dtype.kind == "f" else found


def smaller(lhs: Array, rhs: Array) -> Array:
    """The smaller of both as IEEE 754 `minimum` says: -0 is smaller than +0.

    >>> smaller(np.float32(0.0), np.float32(-0.0))
    np.float32(-0.0)
    """
    found = np.minimum(lhs, rhs)
    return np.where((lhs == 0) & (rhs == 0), -(-lhs - rhs), found)[()] if found.dtype.kind == "f" else found


def tangent_of_extreme(op: Maximum | Minimum, given: tuple[Value | None, ...]) -> Value | None:
    """What the operand that is the extreme changes by, half of each where both are equal.

    Chosen rather than multiplied: what the other one changes by may be infinite.
    """
    own, other = (Compare(operand, op, "EQ") for operand in op.operands)
    total: Value | None = None
    for is_extreme, is_other, tangent in zip((own, other), (other, own), given, strict=True):
        if tangent is not None:
            shared = Select(is_other, Multiply(tangent, Constant.splat(0.5, tangent.type)), tangent)
            part = Select(is_extreme, shared, Constant.splat(0, tangent.type))
            total = part if total is None else Add(total, part)
    return total


def spread(value: Value, type_: TensorType) -> Value:
    """A limit at all places."""
    return value if value.tensor.rank == type_.rank else BroadcastInDim(value, type_.shape, ())
