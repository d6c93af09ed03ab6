"""Change of element type, by value or by bits."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from windlass.ir.types import NUMPY_DTYPES, TensorType, Type, tensor_type
from windlass.ir.values import Value
from windlass.ops.axes import CHANGED, Axes, Axis, axes_of
from windlass.ops.base import ANY, BOOLEAN, COMPLEX, FLOAT, Array, OnNewAxis, TensorOp
from windlass.ops.loop_writer import LoopWriter, is_unsigned, signless
from windlass.ops.pointwise import Elementwise
from windlass.ops.ranges import INFINITY, Range, RangeOf, everything, integers, rounded
from windlass.ops.sampling import Draw
from windlass.ops.spelling import Int32


class Convert(Elementwise):
    """The nearest value of another element type.

    Floats to integers truncate, saturate, and NaN becomes 0; integers to integers wrap around; to boolean: unequal to
    zero; complex to real drops the imaginary part.
    """

    name = "stablehlo.convert"
    limbs: ClassVar[str] = "convert"
    linear_in: ClassVar[tuple[frozenset[str], ...]] = (frozenset({"operand"}),)
    operand: Value
    dtype: str  # pyright: ignore[reportIncompatibleMethodOverride]
    has_result_attributes: ClassVar[frozenset[str]] = frozenset({"dtype"})

    def infer(self) -> Type:
        if self.dtype not in NUMPY_DTYPES:
            self.fault("C1", f"unknown element type {self.dtype!r}")
        return tensor_type(self.operand.shape, self.dtype)

    def find_range(self, of: RangeOf) -> Range:
        source, target = self.operand.tensor, self.tensor
        operand = of(self.operand)
        if source.is_complex or target.is_complex:
            return everything(target)
        if target.is_boolean:
            return Range(
                int(not operand.has_zero), int(operand.nan or operand.low != 0 or operand.high != 0), whole=True
            )
        if not target.is_float:
            if not source.is_float:
                return integers(operand.low, operand.high, target)
            least, most = everything(target).low, everything(target).high
            low, high = (math.trunc(min(max(end, least), most)) for end in (operand.low, operand.high))
            return Range(min(low, 0), max(high, 0), whole=True) if operand.nan else Range(low, high, whole=True)
        wide = Range(exactly(operand.low), exactly(operand.high), operand.nan, operand.negative_zero, operand.whole)
        if source.is_float and bit_width(source.dtype) < bit_width(target.dtype) and bit_width(source.dtype) > 8:
            return wide
        return rounded(wide, target)

    def pullback(self, cotangents: tuple[Value, ...], position: int) -> Value:
        (cotangent,) = cotangents
        # Of complex numbers a real type keeps the real part.
        return Convert(cotangent, self.operand.dtype)

    def evaluate(self, operand: Array) -> Array:
        return convert_array(operand, self.dtype)

    @classmethod
    def sample(cls, draw: Draw, *operand_types: TensorType) -> dict[str, Any]:
        return {"dtype": draw.dtype(ANY)}

    def write_loop(self, writer: LoopWriter) -> None:
        source, target = self.operand.dtype, self.dtype
        operand, given, wanted = writer.use(self.operand), signless(source), signless(target)
        from_float, to_float = self.operand.tensor.is_float, self.tensor.is_float
        if given == wanted:
            writer.names[self] = operand
            return
        if target == "i1":
            zero = writer.temporary(f"arith.constant {'0.0' if from_float else '0'} : {given}")
            compare = "arith.cmpf une" if from_float else "arith.cmpi ne"
            writer.define(self, f"{compare}, {operand}, {zero} : {given}")
            return
        if from_float and to_float:
            name = "truncf" if bit_width(target) < bit_width(source) else "extf"
            if bit_width(target) == bit_width(source):
                operand, given, name = writer.temporary(f"arith.extf {operand} : {given} to f32"), "f32", "truncf"
        elif from_float:
            name = "fptoui" if is_unsigned(target) else "fptosi"
        elif to_float:
            name = "uitofp" if is_unsigned(source) else "sitofp"
        elif bit_width(target) < bit_width(source):
            name = "trunci"
        else:
            name = "extui" if is_unsigned(source) else "extsi"
        writer.define(self, f"arith.{name} {operand} : {given} to {wanted}")


def convert_array(array: Array, dtype: str) -> Array:
    """The array converted as `Convert` does.

    >>> convert_array(np.array([np.nan, 3e9, -1.5], np.float32), "i32").tolist()
    [0, 2147483647, -1]
    """
    target = NUMPY_DTYPES[dtype]
    if array.dtype == target:
        return array
    is_complex_source = array.dtype.kind == "c"
    with np.errstate(all="ignore"):
        if dtype == "i1":
            return np.asarray(array != 0)
        if is_complex_source and dtype not in COMPLEX:
            array = np.real(array)
        is_float_source = array.dtype.kind in "fV" and array.dtype.name not in ("int4", "uint4")
        if is_float_source and dtype not in FLOAT and dtype not in COMPLEX:
            return _saturate(array.astype(np.float64), dtype)
        if array.dtype.kind == "b":
            return array.astype(np.int8).astype(target)
        if dtype in ("i4", "ui4") and array.dtype.kind in "iu":
            return (array.astype(np.int64) & 15).astype(np.uint8).astype(np.int8).astype(target)
        if array.dtype == np.float64 and target.itemsize == 1:
            return array.astype(np.float32).astype(target)
        return array.astype(target)


def _saturate(array: Array, dtype: str) -> Array:
    bits = int("".join(filter(str.isdigit, dtype)))
    least, most = (0, 2**bits - 1) if dtype.startswith("u") else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    target = NUMPY_DTYPES[dtype]
    inside = np.where((array > least) & (array < float(most)), array, 0)
    result = inside.astype(np.int64 if least < 0 else np.uint64).astype(target)
    result = np.where(array <= least, np.array(least).astype(target), result)
    return np.where(array >= float(most), np.array(most, np.uint64).astype(target), result).astype(target)


def exactly(number: Any) -> float:
    """The number as a float, away from zero where it has no exact one: a bound that still holds."""
    wide = float(number)
    return wide if wide == number else math.nextafter(wide, math.copysign(math.inf, wide))


class BitcastConvert(TensorOp):
    """The same bits read as another element type; where the widths differ, the last axis is split or joined."""

    name = "stablehlo.bitcast_convert"
    operand: Value
    dtype: str  # pyright: ignore[reportIncompatibleMethodOverride]
    has_result_attributes: ClassVar[frozenset[str]] = frozenset({"dtype"})
    on_new_axis: ClassVar[OnNewAxis] = {}

    def infer(self) -> Type:
        type_ = self.operand.tensor
        source, target = bit_width(type_.dtype), bit_width(self.dtype)
        if type_.is_complex is not (self.dtype in COMPLEX):
            self.fault("C2", "complex bits stay complex")
        if type_.is_boolean is not (self.dtype in BOOLEAN):
            self.fault("C1", "booleans have no bits of another type")
        if source == target:
            return tensor_type(type_.shape, self.dtype)
        if source > target:
            return tensor_type((*type_.shape, source // target), self.dtype)
        ratio = target // source
        if not (type_.rank > 0 and type_.shape[-1] == ratio):
            self.fault("C1", f"the last axis must have {ratio} elements")
        return tensor_type(type_.shape[:-1], self.dtype)

    @property
    def no_derivative_because(self) -> str:
        return f"the bits of a float are read as {self.dtype} here, and computed with"

    def find_range(self, of: RangeOf) -> Range:
        source, target = self.operand.tensor, self.tensor
        operand = of(self.operand)
        width = bit_width(source.dtype)
        if width != bit_width(target.dtype) or width < 16 or not source.is_integer or operand.low < 0:
            return everything(target)
        if target.is_integer:
            return integers(operand.low, operand.high, target)
        infinity = np.array(np.inf, target.numpy_dtype).view(f"u{width // 8}")
        if operand.high > int(infinity):
            return everything(target)
        # The bits of floats without a sign count as the floats do.
        low, high = (
            float(np.array(bits, f"u{width // 8}").view(target.numpy_dtype)) for bits in (operand.low, operand.high)
        )
        return Range(low, high)

    def axes(self) -> Axes:
        given, made = self.operand.tensor.rank, self.tensor.rank
        letters: list[Axis | int] = [*range(min(given, made)), CHANGED]
        return axes_of(self, [letters[:given]], [letters[:made]])

    def evaluate(self, operand: Array) -> Array:
        target = NUMPY_DTYPES[self.dtype]
        if bit_width(self.operand.dtype) < 8 or bit_width(self.dtype) < 8:
            return self._evaluate_narrow(operand)
        shape = self.shape
        return np.frombuffer(np.ascontiguousarray(operand).tobytes(), target).reshape(shape)

    def _evaluate_narrow(self, operand: Array) -> Array:
        """Elements of four bits are stored in a byte each: pack or unpack them, low bits first."""
        source, target = bit_width(self.operand.dtype), bit_width(self.dtype)
        if source == target:
            if source == 1:
                return operand
            return operand.astype(np.int8).astype(np.uint8).astype(NUMPY_DTYPES[self.dtype])
        if source < target:
            bits = operand.astype(np.int8).view(np.uint8) & 15
            paired = bits.reshape(*operand.shape[:-1], target // 8, 2)
            packed = (paired[..., 0] | (paired[..., 1] << 4)).astype(np.uint8)
            return np.frombuffer(packed.tobytes(), NUMPY_DTYPES[self.dtype]).reshape(self.shape)
        packed = np.frombuffer(np.ascontiguousarray(operand).tobytes(), np.uint8)
        split = np.stack([packed & 15, packed >> 4], -1).reshape(self.shape)
        if self.dtype == "i4":
            return ((split.astype(np.int8) ^ 8) - 8).astype(NUMPY_DTYPES["i4"])
        return split.astype(NUMPY_DTYPES["ui4"])

    @classmethod
    def sample_operands(cls, draw: Draw) -> tuple[TensorType, ...]:
        return (tensor_type(draw.shape(), draw.dtype(ANY)),)

    @classmethod
    def sample(cls, draw: Draw, *operand_types: TensorType) -> dict[str, Any]:
        (type_,) = operand_types
        if type_.dtype == "i1" or type_.is_complex:
            return {"dtype": type_.dtype}
        real = [name for name in draw.common_dtypes if name != "i1" and "complex" not in name]
        width = bit_width(type_.dtype)
        fitting = [name for name in real if bit_width(name) <= width]
        if type_.rank:
            fitting += [name for name in real if bit_width(name) == width * type_.shape[-1]]
        return {"dtype": draw.choose(fitting)}

    def write_loop(self, writer: LoopWriter) -> None:
        source, target = signless(self.operand.dtype), signless(self.dtype)
        operand = writer.use(self.operand)
        if source == target:
            writer.names[self] = operand
        else:
            writer.define(self, f"arith.bitcast {operand} : {source} to {target}")


def bit_width(dtype: str) -> int:
    """The number of bits of an element.

    >>> bit_width("f8E4M3FN"), bit_width("i4"), bit_width("complex<f32>")
    (8, 4, 64)
    """
    if dtype == "i1":
        return 1
    if dtype in ("i4", "ui4"):
        return 4
    return NUMPY_DTYPES[dtype].itemsize * 8


def dtype_range(dtype: str) -> tuple[int, int]:
    """The least and the greatest value of an integer type.

    >>> dtype_range("ui8"), dtype_range("i16")
    ((0, 255), (-32768, 32767))
    """
    bits = bit_width(dtype)
    return (0, 2**bits - 1) if dtype.startswith("u") else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def byte_width(dtype: str) -> int:
    """The bytes that an element takes in memory.

    >>> byte_width("i1"), byte_width("f64")
    (1, 8)
    """
    return max(bit_width(dtype) // 8, 1)


class ReducePrecision(Elementwise):
    """The operand rounded to a float with so many bits of exponent and mantissa, kept in its own type."""

    name = "stablehlo.reduce_precision"
    operand: Value
    exponent_bits: Int32
    mantissa_bits: Int32
    dtypes: ClassVar[frozenset[str]] = FLOAT

    def infer(self) -> Type:
        type_ = self.operand.tensor
        if not type_.is_float:
            self.fault("I1", f"does not take {type_}")
        if self.exponent_bits < 1:
            self.fault("C2", "at least one bit of exponent is needed")
        if self.mantissa_bits < 0:
            self.fault("C3", "the number of bits of the mantissa is negative")
        return type_

    def find_range(self, of: RangeOf) -> Range:
        operand = of(self.operand)
        low = -INFINITY if operand.low < 0 else 0.0
        high = INFINITY if operand.high > 0 else 0.0
        if self.exponent_bits >= exponent_bits_of(self.dtype) and operand.is_finite:
            low, high = min(2 * operand.low, 0.0), max(2 * operand.high, 0.0)
        return rounded(Range(low, high, operand.nan, operand.may_be_negative), self.tensor)

    def partial(self, position: int) -> float:
        # Of what is rounded, as JAX has it: the steps have no derivative that is of use.
        return 1

    @classmethod
    def to_own_type(cls, operand: Value) -> ReducePrecision:
        """The operand rounded to what it has: the same number, in a form that XLA doesn't simplify.

        >>> from windlass.ir.values import tensor
        >>> ReducePrecision.to_own_type(tensor("f32", 3)).is_identity
        True
        """
        return cls(operand, exponent_bits_of(operand.dtype), _mantissa_bits_of(operand.dtype))

    @property
    def is_identity(self) -> bool:
        """Whether the operand's own type is no wider."""
        dtype = self.operand.dtype
        return self.exponent_bits >= exponent_bits_of(dtype) and self.mantissa_bits >= _mantissa_bits_of(dtype)

    def evaluate(self, operand: Array) -> Array:
        with np.errstate(all="ignore"):
            wide = operand.astype(np.float64)
            # Subnormal numbers of the narrow type become zero, as in XLA.
            fraction, exponent = np.frexp(wide)
            scale = 2.0 ** (self.mantissa_bits + 1)
            rounded = np.ldexp(np.rint(fraction * scale) / scale, exponent)
            bias = 2 ** (self.exponent_bits - 1) - 1
            own_exponents = exponent_bits_of(self.operand.dtype)
            if self.mantissa_bits >= _mantissa_bits_of(self.operand.dtype):
                rounded = wide
            if self.exponent_bits < own_exponents:
                largest = np.ldexp(2.0 - 2.0**-self.mantissa_bits, bias)
                smallest = np.ldexp(1.0, 1 - bias)
                rounded = np.where(np.abs(rounded) > largest, np.copysign(np.inf, wide), rounded)
                rounded = np.where(np.abs(rounded) < smallest, np.copysign(0.0, wide), rounded)
            rounded = np.where(np.isfinite(wide), rounded, wide)
            return rounded.astype(operand.dtype)

    @classmethod
    def sample(cls, draw: Draw, *operand_types: TensorType) -> dict[str, Any]:
        (type_,) = operand_types
        return {
            "exponent_bits": draw.integer(2, exponent_bits_of(type_.dtype)),
            "mantissa_bits": draw.integer(1, _mantissa_bits_of(type_.dtype)),
        }


def exponent_bits_of(dtype: str) -> int:
    """The bits of a float's exponent.

    >>> exponent_bits_of("bf16"), exponent_bits_of("f8E4M3FN")
    (8, 4)
    """
    return {"f16": 5, "bf16": 8, "f32": 8, "f64": 11}.get(dtype, int(dtype[3]) if dtype.startswith("f8") else 8)


def _mantissa_bits_of(dtype: str) -> int:
    return {"f16": 10, "bf16": 7, "f32": 23, "f64": 52}.get(dtype, int(dtype[5]) if dtype.startswith("f8") else 23)
