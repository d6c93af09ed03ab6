"""Arithmetic, logic, bits and choices, each element by itself."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from windlass.ir.types import TensorType, Type, tensor_type
from windlass.ir.values import Value
from windlass.ops.base import ANY, BOOLEAN, COMPLEX, FLOAT, INTEGER, SIGNED, Array
from windlass.ops.comparison import Compare
from windlass.ops.complex import Complex, Conj, Real
from windlass.ops.creation import Constant
from windlass.ops.loop_writer import LoopNames, LoopWriter, signless
from windlass.ops.pointwise import Binary, Elementwise, ElementwiseTest, Unary, widened
from windlass.ops.ranges import INFINITY, Range, RangeOf, between, everything
from windlass.ops.rounding import Floor
from windlass.ops.sampling import Draw

# -- arithmetic -------------------------------------------------------------------------------------------------------


class Add(Binary):
    """lhs + rhs; integers wrap around; for booleans: or."""

    name = "stablehlo.add"
    limbs: ClassVar[str] = "add"
    spreads_nan: ClassVar[bool] = True
    is_commutative: ClassVar[bool] = True
    loop_names: ClassVar[LoopNames] = LoopNames.of("arith.addf", "arith.addi")

    def find_range(self, of: RangeOf) -> Range:
        if self.tensor.is_boolean:
            return of(self.lhs).larger(of(self.rhs))
        return of(self.lhs).plus(of(self.rhs), self.tensor)

    def partial(self, position: int) -> float:
        return 1

    def evaluate(self, lhs: Array, rhs: Array) -> Array:
        return widened(np.add, lhs, rhs)


class Subtract(Binary):
    """lhs - rhs; integers wrap around."""

    name = "stablehlo.subtract"
    limbs: ClassVar[str] = "subtract"
    spreads_nan: ClassVar[bool] = True
    dtypes: ClassVar[frozenset[str]] = ANY - BOOLEAN
    loop_names: ClassVar[LoopNames] = LoopNames.of("arith.subf", "arith.subi")

    def find_range(self, of: RangeOf) -> Range:
        return of(self.lhs).minus(of(self.rhs), self.tensor)

    def partial(self, position: int) -> float:
        return -1 if position else 1

    def evaluate(self, lhs: Array, rhs: Array) -> Array:
        return widened(np.subtract, lhs, rhs)


class Multiply(Binary):
    """lhs * rhs; integers wrap around; for booleans: and."""

    name = "stablehlo.multiply"
    limbs: ClassVar[str] = "multiply"
    spreads_nan: ClassVar[bool] = True
    is_commutative: ClassVar[bool] = True
    loop_names: ClassVar[LoopNames] = LoopNames.of("arith.mulf", "arith.muli")

    def find_range(self, of: RangeOf) -> Range:
        if self.tensor.is_boolean:
            return of(self.lhs).smaller(of(self.rhs))
        if self.lhs is self.rhs:
            return of(self.lhs).squared(self.tensor)
        return of(self.lhs).times(of(self.rhs), self.tensor)

    def partial(self, position: int) -> Value:
        return self.operands[1 - position]

    def evaluate(self, lhs: Array, rhs: Array) -> Array:
        if lhs.dtype == np.complex64:
            # NumPy fuses one of the products in a complex one, so that x · y would not be y · x to the last bit.
            with np.errstate(all="ignore"):
                return (lhs.astype(np.complex128) * rhs).astype(np.complex64)
        return widened(np.multiply, lhs, rhs)


class Divide(Binary):
    """lhs / rhs; integers truncate toward zero, and dividing by zero gives all bits set."""

    name = "stablehlo.divide"
    limbs: ClassVar[str] = "divide"
    spreads_nan: ClassVar[bool] = True
    effort: ClassVar[int] = 4
    dtypes: ClassVar[frozenset[str]] = ANY - BOOLEAN
    loop_names: ClassVar[LoopNames] = LoopNames("arith.divf", "arith.divsi", "arith.divui")

    def find_range(self, of: RangeOf) -> Range:
        return of(self.lhs).over(of(self.rhs), self.tensor)

    def partial(self, position: int) -> Value:
        if position:
            return Negate(Divide(self, self.rhs))
        return Divide(Constant.splat(1, self.type), self.rhs)

    def evaluate(self, lhs: Array, rhs: Array) -> Array:
        if not is_integer_array(lhs):
            return widened(np.divide, lhs, rhs)
        divisor = np.where(rhs == 0, np.ones_like(rhs), rhs)
        with np.errstate(all="ignore"):
            quotient = np.floor_divide(lhs, divisor)
            inexact_negative = (quotient * divisor != lhs) & ((lhs < 0) != (divisor < 0))
            quotient = quotient + inexact_negative.astype(lhs.dtype)
            # The quotient of the least integer by -1 wraps around to itself.
            if lhs.dtype.kind != "u":
                quotient = np.where(rhs == -1, np.negative(lhs), quotient)
            all_bits = np.invert(np.zeros_like(lhs))
        return np.where(rhs == 0, all_bits, quotient).astype(lhs.dtype)


class Remainder(Binary):
    """What lhs leaves when divided by rhs, with the sign of lhs; by zero: lhs for integers, NaN for floats."""

    name = "stablehlo.remainder"
    limbs: ClassVar[str] = "remainder"
    spreads_nan: ClassVar[bool] = True
    effort: ClassVar[int] = 8
    dtypes: ClassVar[frozenset[str]] = ANY - BOOLEAN - COMPLEX
    loop_names: ClassVar[LoopNames] = LoopNames("arith.remf", "arith.remsi", "arith.remui")

    def find_range(self, of: RangeOf) -> Range:
        left, right = of(self.lhs), of(self.rhs)
        most = right.magnitude if self.tensor.is_float else max(right.magnitude - 1, 0)
        if self.tensor.is_integer and right.has_zero:
            most = max(most, left.magnitude)
        most = min(most, left.magnitude)
        low, high = (-most if left.low < 0 else 0), (most if left.high > 0 else 0)
        if self.tensor.is_integer:
            return Range(low, high, whole=True)
        nan = left.nan or right.nan or left.has_infinity or right.has_zero
        return between(low, high, nan=nan, negative_zero=left.may_be_negative, whole=left.whole and right.whole)

    def partial(self, position: int) -> Value | float:
        if position:
            ratio = Divide(self.lhs, self.rhs)
            return Negate(Multiply(Sign(ratio), Floor(Abs(ratio))))
        return 1

    def evaluate(self, lhs: Array, rhs: Array) -> Array:
        if not is_integer_array(lhs):
            return widened(np.fmod, lhs, rhs)
        divisor = np.where(rhs == 0, np.ones_like(rhs), rhs)
        with np.errstate(all="ignore"):
            remainder = np.fmod(lhs, divisor)
            if lhs.dtype.kind != "u":
                remainder = np.where(rhs == -1, np.zeros_like(lhs), remainder)
        return np.where(rhs == 0, lhs, remainder).astype(lhs.dtype)


class Negate(Unary):
    """-operand; integers wrap around."""

    name = "stablehlo.negate"
    limbs: ClassVar[str] = "negate"
    spreads_nan: ClassVar[bool] = True
    dtypes: ClassVar[frozenset[str]] = ANY - BOOLEAN

    def find_range(self, of: RangeOf) -> Range:
        return of(self.operand).negated(self.tensor)

    def partial(self, position: int) -> float:
        return -1

    def evaluate(self, operand: Array) -> Array:
        return widened(np.negative, operand)

    def write_loop(self, writer: LoopWriter) -> None:
        type_ = signless(self.dtype)
        if self.tensor.is_float:
            writer.define(self, f"arith.negf {writer.use(self.operand)} : {type_}")
        else:
            zero = writer.temporary(f"arith.constant 0 : {type_}")
            writer.define(self, f"arith.subi {zero}, {writer.use(self.operand)} : {type_}")


class Abs(Elementwise):
    """The absolute value; the least integer stays itself; a complex number gives its real modulus."""

    name = "stablehlo.abs"
    limbs: ClassVar[str] = "abs"
    spreads_nan: ClassVar[bool] = True
    loop_names: ClassVar[LoopNames] = LoopNames("math.absf", "math.absi")
    operand: Value
    dtypes: ClassVar[frozenset[str]] = SIGNED | FLOAT | COMPLEX

    def infer(self) -> Type:
        type_ = self.operand.tensor
        if type_.dtype not in self.dtypes:
            self.fault("I1", f"does not take {type_}")
        if type_.is_complex:
            return tensor_type(type_.shape, type_.dtype[8:-1])
        return type_

    def flops(self) -> int:
        """The modulus of a complex number takes a root, and care that no square overflows."""
        return super().flops() * (self.MODULUS_EFFORT if self.operand.tensor.is_complex else 1)

    MODULUS_EFFORT: ClassVar[int] = 16

    def find_range(self, of: RangeOf) -> Range:
        if self.operand.tensor.is_complex:
            return between(0, INFINITY, nan=True)
        return of(self.operand).absolute(self.tensor)

    def tangents(self, given: tuple[Value | None, ...]) -> tuple[Value | None, ...]:
        (tangent,) = given
        assert tangent is not None
        if self.operand.tensor.is_complex:
            return (Real(Multiply(Conj(Sign(self.operand)), tangent)),)
        is_rising = Compare(self.operand, Constant.splat(0, self.operand.type), "GE")
        return (Select(is_rising, tangent, Negate(tangent)),)

    def evaluate(self, operand: Array) -> Array:
        if operand.dtype.kind == "c":
            with np.errstate(all="ignore"):
                return np.asarray(np.abs(operand))
        return widened(np.abs, operand)


class Sign(Unary):
    """-1, 0 or 1; zeros keep their sign, NaN stays NaN; a complex number is divided by its modulus."""

    name = "stablehlo.sign"
    limbs: ClassVar[str] = "first"
    spreads_nan: ClassVar[bool] = True
    dtypes: ClassVar[frozenset[str]] = SIGNED | FLOAT | COMPLEX

    def find_range(self, of: RangeOf) -> Range:
        operand = of(self.operand)
        low, high = (-1 if operand.low < 0 else 0 if operand.low <= 0 else 1), (1 if operand.high > 0 else 0)
        high = high if operand.high >= 0 else -1
        if self.tensor.is_integer:
            return Range(low, high, whole=True)
        return between(low, high, nan=operand.nan, negative_zero=operand.negative_zero, whole=True)

    def tangents(self, given: tuple[Value | None, ...]) -> tuple[Value | None, ...]:
        (tangent,) = given
        if tangent is None or not self.tensor.is_complex:
            return (None,)
        # What lies along the number changes its size alone.
        along = Real(Multiply(Conj(self), tangent))
        across = Subtract(tangent, Multiply(self, Complex(along, Constant.splat(0, along.type))))
        size = Abs(self.operand)
        return (Divide(across, Complex(size, Constant.splat(0, size.type))),)

    def evaluate(self, operand: Array) -> Array:
        if operand.dtype.kind == "c":
            return widened(np.sign, operand)
        if is_integer_array(operand):
            return np.sign(operand)
        return widened(_sign_of_float, operand)


class IsFinite(ElementwiseTest):
    """Neither NaN nor infinite."""

    name = "stablehlo.is_finite"
    limbs: ClassVar[str] = "first"
    dtypes: ClassVar[frozenset[str]] = FLOAT

    def find_range(self, of: RangeOf) -> Range:
        operand = of(self.operand)
        return Range(int(operand.is_finite), int(operand.low < INFINITY and operand.high > -INFINITY), whole=True)

    def evaluate(self, operand: Array) -> Array:
        return np.asarray(np.isfinite(operand))

    def write_loop(self, writer: LoopWriter) -> None:
        writer.define(self, f"math.isfinite {writer.use(self.operand)} : {self.operand.dtype}")


# -- logic and bits ---------------------------------------------------------------------------------------------------


class BitwiseBinary(Binary):
    """Works on the bits of integers, or on booleans."""

    dtypes: ClassVar[frozenset[str]] = INTEGER | BOOLEAN


class And(BitwiseBinary):
    """Both bits."""

    name = "stablehlo.and"
    is_commutative: ClassVar[bool] = True
    loop_names: ClassVar[LoopNames] = LoopNames.of(None, "arith.andi")

    def find_range(self, of: RangeOf) -> Range:
        left, right = of(self.lhs), of(self.rhs)
        if left.low >= 0 or right.low >= 0:
            return Range(0, min(each.high for each in (left, right) if each.low >= 0), whole=True)
        return everything(self.tensor)

    def evaluate(self, lhs: Array, rhs: Array) -> Array:
        return np.asarray(np.bitwise_and(lhs, rhs))


class Or(BitwiseBinary):
    """Either bit."""

    name = "stablehlo.or"
    is_commutative: ClassVar[bool] = True
    loop_names: ClassVar[LoopNames] = LoopNames.of(None, "arith.ori")

    def find_range(self, of: RangeOf) -> Range:
        left, right = of(self.lhs), of(self.rhs)
        if left.low < 0 or right.low < 0:
            return everything(self.tensor)
        high = min(left.high + right.high, bits_below(max(left.high, right.high)))
        return Range(max(left.low, right.low), high, whole=True)

    def evaluate(self, lhs: Array, rhs: Array) -> Array:
        return np.asarray(np.bitwise_or(lhs, rhs))


class Xor(BitwiseBinary):
    """One bit but not both."""

    name = "stablehlo.xor"
    is_commutative: ClassVar[bool] = True
    loop_names: ClassVar[LoopNames] = LoopNames.of(None, "arith.xori")

    def find_range(self, of: RangeOf) -> Range:
        left, right = of(self.lhs), of(self.rhs)
        if left.low < 0 or right.low < 0:
            return everything(self.tensor)
        return Range(0, min(left.high + right.high, bits_below(max(left.high, right.high))), whole=True)

    def evaluate(self, lhs: Array, rhs: Array) -> Array:
        return np.asarray(np.bitwise_xor(lhs, rhs))


class Not(Unary):
    """Each bit flipped; for booleans: not."""

    name = "stablehlo.not"
    dtypes: ClassVar[frozenset[str]] = INTEGER | BOOLEAN

    def find_range(self, of: RangeOf) -> Range:
        operand, full = of(self.operand), everything(self.tensor)
        return Range(full.low + full.high - operand.high, full.low + full.high - operand.low, whole=True)

    def evaluate(self, operand: Array) -> Array:
        return np.asarray(np.invert(operand))

    def write_loop(self, writer: LoopWriter) -> None:
        type_ = signless(self.dtype)
        ones = writer.temporary(f"arith.constant {'true' if type_ == 'i1' else f'-1 : {type_}'}")
        writer.define(self, f"arith.xori {writer.use(self.operand)}, {ones} : {type_}")


class Shift(Binary):
    """Base of the shifts, whose right operand counts as unsigned."""

    dtypes: ClassVar[frozenset[str]] = INTEGER

    def split_amount(self, lhs: Array, rhs: Array) -> tuple[Array, Array, Any]:
        """The amount where it is less than the width (else 0), whether it is more, and the unsigned type."""
        unsigned = np.dtype(f"u{lhs.dtype.itemsize}")
        bits = width_of(self.lhs)
        excessive = np.asarray(rhs.astype(unsigned) >= bits)
        return np.where(excessive, 0, rhs.astype(unsigned)).astype(unsigned), excessive, unsigned


class ShiftLeft(Shift):
    """lhs shifted left by rhs bits; 0 where rhs is the width or more."""

    name = "stablehlo.shift_left"
    loop_names: ClassVar[LoopNames] = LoopNames.of(None, "arith.shli")

    def find_range(self, of: RangeOf) -> Range:
        left, right = of(self.lhs), of(self.rhs)
        if right.low < 0 or right.high >= width_of(self):
            return everything(self.tensor)
        return left.times(Range(2**right.low, 2**right.high, whole=True), self.tensor)

    def evaluate(self, lhs: Array, rhs: Array) -> Array:
        amount, excessive, unsigned = self.split_amount(lhs, rhs)
        return np.where(excessive, 0, np.left_shift(lhs.astype(unsigned), amount)).astype(lhs.dtype)


class ShiftRightLogical(Shift):
    """lhs shifted right by rhs bits, zeros coming in; 0 where rhs is the width or more."""

    name = "stablehlo.shift_right_logical"
    loop_names: ClassVar[LoopNames] = LoopNames.of(None, "arith.shrui")

    def find_range(self, of: RangeOf) -> Range:
        left, right = of(self.lhs), of(self.rhs)
        least = right.low if right.low >= 0 else 0
        if left.low >= 0:
            return Range(0, left.high >> min(least, 64), whole=True)
        return Range(0, 2 ** max(width_of(self) - least, 0) - 1, whole=True) if least else everything(self.tensor)

    def evaluate(self, lhs: Array, rhs: Array) -> Array:
        amount, excessive, unsigned = self.split_amount(lhs, rhs)
        return np.where(excessive, 0, np.right_shift(lhs.astype(unsigned), amount)).astype(lhs.dtype)


class ShiftRightArithmetic(Shift):
    """lhs shifted right by rhs bits, copies of the top bit coming in, for unsigned types also."""

    name = "stablehlo.shift_right_arithmetic"
    loop_names: ClassVar[LoopNames] = LoopNames.of(None, "arith.shrsi")

    def find_range(self, of: RangeOf) -> Range:
        left, right = of(self.lhs), of(self.rhs)
        if self.tensor.is_unsigned:
            return everything(self.tensor)
        least = min(right.low, 64) if right.low >= 0 else 0
        return Range(
            min(left.low >> least, 0) if left.low >= 0 else left.low >> least,
            left.high >> least if left.high >= 0 else -1,
            whole=True,
        )

    def evaluate(self, lhs: Array, rhs: Array) -> Array:
        amount, excessive, _ = self.split_amount(lhs, rhs)
        signed = lhs.astype(np.dtype(f"i{lhs.dtype.itemsize}"))
        filled = np.where(signed < 0, -1, 0)
        return np.where(excessive, filled, np.right_shift(signed, amount.astype(signed.dtype))).astype(lhs.dtype)


class CountLeadingZeros(Unary):
    """The number of zero bits before the first one bit; the width for 0."""

    name = "stablehlo.count_leading_zeros"
    dtypes: ClassVar[frozenset[str]] = INTEGER
    loop_names: ClassVar[LoopNames] = LoopNames.of(None, "math.ctlz")

    def find_range(self, of: RangeOf) -> Range:
        return Range(0, width_of(self), whole=True)

    def evaluate(self, operand: Array) -> Array:
        bits = operand.astype(np.dtype(f"u{operand.dtype.itemsize}"))
        result = np.full(operand.shape, width_of(self.operand), np.int64)
        for _ in range(width_of(self.operand)):
            result -= bits != 0
            bits = bits >> np.ones_like(bits)
        return result.astype(operand.dtype)


class Popcnt(Unary):
    """The number of one bits."""

    name = "stablehlo.popcnt"
    dtypes: ClassVar[frozenset[str]] = INTEGER
    loop_names: ClassVar[LoopNames] = LoopNames.of(None, "math.ctpop")

    def find_range(self, of: RangeOf) -> Range:
        return Range(0, width_of(self), whole=True) if width_of(self) > 4 else everything(self.tensor)

    def evaluate(self, operand: Array) -> Array:
        bits = operand.astype(np.dtype(f"u{operand.dtype.itemsize}"))
        if width_of(self.operand) < 8:
            bits = bits & np.uint8(2 ** width_of(self.operand) - 1)
        return np.asarray(np.bitwise_count(bits)).astype(operand.dtype)


# -- three operands ---------------------------------------------------------------------------------------------------


class Select(Elementwise):
    """on_true where pred holds, on_false elsewhere; pred has their shape or is a single boolean."""

    name = "stablehlo.select"
    limbs: ClassVar[str] = "each"
    linear_in: ClassVar[tuple[frozenset[str], ...]] = (frozenset({"on_true", "on_false"}),)
    pred: Value
    on_true: Value
    on_false: Value

    def infer(self) -> Type:
        pred, on_true, on_false = self._operands
        type_ = on_true.type
        if on_false.type is not type_:
            self.fault("C2", f"the sides differ in type: {type_} and {on_false.type}")
        condition = pred.tensor
        if condition.dtype != "i1" or condition.shape not in ((), on_true.shape):
            self.fault("C1", f"the condition is {condition}, the sides are {type_}")
        return type_

    def find_range(self, of: RangeOf) -> Range:
        return of(self.on_true).join(of(self.on_false))

    def evaluate(self, pred: Array, on_true: Array, on_false: Array) -> Array:
        return np.where(pred, on_true, on_false)

    @classmethod
    def sample_operands(cls, draw: Draw) -> tuple[TensorType, ...]:
        type_ = tensor_type(draw.shape(), draw.dtype(ANY))
        return (tensor_type(draw.choose(((), type_.shape)), "i1"), type_, type_)

    def write_loop(self, writer: LoopWriter) -> None:
        writer.define(self, f"arith.select {writer.listed(self.operands)} : {signless(self.dtype)}")


def is_integer_array(array: Array) -> bool:
    """Whether the elements are integers (the small ones of ml_dtypes among them)."""
    return array.dtype.kind in "iu" or array.dtype.name in ("int4", "uint4")


def width_of(value: Value) -> int:
    """The number of bits of an integer element.

    >>> from windlass.ir.values import tensor
    >>> width_of(tensor("ui16"))
    16
    """
    return int("".join(filter(str.isdigit, value.dtype)))


def bits_below(number: int) -> int:
    """The number with all bits set from the highest one of `number` down.

    >>> bits_below(9)
    15
    """
    return (1 << number.bit_length()) - 1


def _sign_of_float(x: Array) -> Array:
    return np.where((x == 0) | np.isnan(x), x, np.copysign(np.ones_like(x), x))
