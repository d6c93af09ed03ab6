"""Tensors from nothing: constants and counting."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from windlass.ir.types import MLIR_DTYPES, NUMPY_DTYPES, TensorType, Type, tensor_type
from windlass.ir.values import TypeFault
from windlass.ops.axes import CHANGED, Axes, axes_in_place, axes_of
from windlass.ops.base import ANY, BOOLEAN, Array, TensorOp
from windlass.ops.loop_writer import LoopWriter, signless
from windlass.ops.ranges import Range, RangeOf, between, everything, integers, range_of_array, rounded
from windlass.ops.sampling import Draw


class ConstantValue:
    """An array that never changes and can be a key; one number for all elements (a splat) is held once.

    Two are equal if type and bits are: NaN equals itself, and the zeros of both signs differ.

    >>> type_ = tensor_type((1000, 1000), "f32")
    >>> ConstantValue.splat(1, type_) == ConstantValue.splat(1, type_)
    True
    """

    __slots__ = ("_hash", "data", "is_splat", "type")
    data: Array
    """The elements, read-only: all of them, or a rank-0 array if this is a splat."""
    type: TensorType
    is_splat: bool

    def __init__(self, data: Array, type: TensorType) -> None:
        self.type = type
        self.is_splat = data.ndim == 0
        if not self.is_splat and data.shape != type.shape:
            raise TypeFault(f"the data has shape {data.shape}, the type is {type}")
        if data.flags.writeable or data.dtype != type.numpy_dtype or not data.flags.c_contiguous:
            data = np.array(data, type.numpy_dtype, order="C")
            data.flags.writeable = False
        self.data = data
        self._hash: int | None = None

    @classmethod
    def splat(cls, number: Any, type: TensorType) -> ConstantValue:
        """`number` in every element."""
        return cls(np.array(number, type.numpy_dtype), type)

    @property
    def array(self) -> Array:
        """All elements in their shape (a view without storage for a splat)."""
        return np.broadcast_to(self.data, self.type.shape) if self.is_splat else self.data

    @property
    def number(self) -> Any:
        """The one element of a splat, as a NumPy scalar.

        Raises ValueError if the elements may differ.
        """
        if not self.is_splat:
            raise ValueError("the elements of this constant are not all the same")
        return self.data[()]

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, ConstantValue) or self.type is not other.type or self.is_splat != other.is_splat:
            return False
        return self.data.tobytes() == other.data.tobytes()

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash((self.type, self.is_splat, self.data.tobytes()))
        return self._hash

    def __repr__(self) -> str:
        if self.is_splat:
            return repr(self.data.tolist())
        return repr(self.data.tolist()) if self.data.size <= 16 else f"<{self.type}>"


class Constant(TensorOp):
    """The same array always. `Constant.of(np.arange(3))`, `Constant.of(0, "f32", (2, 3))`, `Constant.like(0, x)`."""

    name = "stablehlo.constant"
    limbs: ClassVar[str] = "constant"
    is_free: ClassVar[bool] = True
    value: ConstantValue

    @classmethod
    def of(cls, value: Any, dtype: str | None = None, shape: tuple[int, ...] | None = None) -> Constant:
        """From a number or an array; a number fills `shape`, and equal elements are stored once.

        Raises TypeFault where NumPy's element type has no name in MLIR.

        >>> Constant.of(1.5, "f32", (2, 2))
        Constant(1.5)
        """
        array = np.asarray(value)
        name = dtype or MLIR_DTYPES.get(array.dtype)
        if name is None:
            raise TypeFault(f"{array.dtype} is no element type of tensors")
        target = NUMPY_DTYPES[name]
        if array.ndim == 0:
            return cls(ConstantValue(array.astype(target), tensor_type(shape or (), name)))
        if shape is not None and shape != array.shape:
            array = np.broadcast_to(array, shape)
        type_ = tensor_type(array.shape, name)
        array = np.ascontiguousarray(array.astype(target))
        if array.size and array.tobytes() == array.reshape(-1)[:1].tobytes() * array.size:
            return cls(ConstantValue(array.reshape(-1)[0].reshape(()), type_))
        return cls(ConstantValue(array, type_))

    @classmethod
    def splat(cls, number: Any, type: Type) -> Constant:
        """`number` in every element of a tensor of the type."""
        if not isinstance(type, TensorType):
            raise TypeFault(f"a constant of type {type}")
        return cls(ConstantValue.splat(number, type))

    @property
    def array(self) -> Array:
        """All elements in their shape."""
        return self.value.array

    @property
    def is_splat(self) -> bool:
        """Whether all elements are known to be the same; `number` is then that one."""
        return self.value.is_splat

    @property
    def number(self) -> Any:
        """The element of a splat.

        Raises ValueError if the elements may differ.
        """
        return self.value.number

    def infer(self) -> Type:
        return self.value.type

    def find_range(self, of: RangeOf) -> Range:
        return range_of_array(self.value.data)

    def axes(self) -> Axes:
        rank = self.tensor.rank
        return axes_of(self, [], [range(rank) if self.is_splat else [CHANGED] * rank])

    def evaluate(self) -> Array:
        return self.value.array

    def __repr__(self) -> str:
        return f"Constant({self.value!r})"

    def mlir_attributes(self) -> dict[str, str]:
        """The value as hexadecimal text."""
        value = self.value
        if value.type.is_boolean:
            words = ["true" if item else "false" for item in value.data.reshape(-1).tolist()]
            body = words[0] if value.is_splat else _nested(words, value.type.shape)
        elif value.type.dtype in ("i4", "ui4"):
            words = [str(int(item)) for item in value.data.reshape(-1)]
            body = words[0] if value.is_splat else _nested(words, value.type.shape)
        else:
            body = f'"0x{value.data.tobytes().hex().upper()}"'
        if value.type.size == 0 and not value.is_splat:
            body = ""
        return {"value": f"dense<{body}> : {value.type}"}

    @classmethod
    def fields_from_mlir(cls, texts: Mapping[str, str], result_types: tuple[Type, ...]) -> dict[str, Any]:
        raise NotImplementedError("constants are read from their elements, not from text")

    @classmethod
    def sample_operands(cls, draw: Draw) -> tuple[TensorType, ...]:
        return ()

    @classmethod
    def sample(cls, draw: Draw, *operand_types: TensorType) -> dict[str, Any]:
        type_ = tensor_type(draw.shape(), draw.dtype(ANY))
        array = draw.array(type_)
        if draw.boolean() and array.size:
            array = array.reshape(-1)[0].reshape(())
        return {"value": ConstantValue(array, type_)}

    def write_loop(self, writer: LoopWriter) -> None:
        dtype, number = signless(self.dtype), self.number
        if dtype == "i1":
            literal = "true" if number else "false"
        elif self.tensor.is_integer:
            literal = f"{int(number)} : {dtype}"
        else:
            spelled = repr(float(number))
            if not math.isfinite(number) or "." not in spelled:
                spelled = "0x" + self.array.tobytes()[::-1].hex().upper()
            literal = f"{spelled} : {dtype}"
        writer.define(self, f"arith.constant {literal}")


def _nested(words: list[str], shape: tuple[int, ...]) -> str:
    if not shape:
        return words[0]
    step = len(words) // shape[0] if shape[0] else 0
    return f"[{', '.join(_nested(words[index * step : (index + 1) * step], shape[1:]) for index in range(shape[0]))}]"


class Iota(TensorOp):
    """Each element is its own index along `iota_dimension`."""

    name = "stablehlo.iota"
    limbs: ClassVar[str] = "iota"
    is_free: ClassVar[bool] = True
    shape: tuple[int, ...]  # pyright: ignore[reportIncompatibleMethodOverride]
    dtype: str  # pyright: ignore[reportIncompatibleMethodOverride]
    iota_dimension: int
    has_result_attributes: ClassVar[frozenset[str]] = frozenset({"shape", "dtype"})

    def infer(self) -> Type:
        if self.dtype not in ANY - BOOLEAN:
            self.fault("I2", f"can't count in {self.dtype!r}")
        inside = 0 <= self.iota_dimension < len(self.shape)
        if not inside:
            self.fault("C1", f"dimension {self.iota_dimension} of a shape of rank {len(self.shape)}")
        return tensor_type(self.shape, self.dtype)

    def find_range(self, of: RangeOf) -> Range:
        last = max(self.shape[self.iota_dimension] - 1, 0)
        if self.tensor.is_complex:
            return everything(self.tensor)
        if self.tensor.is_float:
            return rounded(between(0, last, whole=True), self.tensor)
        return integers(0, last, self.tensor)

    def axes(self) -> Axes:
        return axes_in_place(self, {self.iota_dimension})

    def evaluate(self) -> Array:
        count = self.shape[self.iota_dimension]
        line = np.arange(count).astype(NUMPY_DTYPES[self.dtype])
        fitted = line.reshape([count if axis == self.iota_dimension else 1 for axis in range(len(self.shape))])
        return np.broadcast_to(fitted, self.shape)

    @classmethod
    def sample_operands(cls, draw: Draw) -> tuple[TensorType, ...]:
        return ()

    @classmethod
    def sample(cls, draw: Draw, *operand_types: TensorType) -> dict[str, Any]:
        shape = draw.shape(least_rank=1)
        return {
            "shape": shape,
            "dtype": draw.dtype(ANY - BOOLEAN),
            "iota_dimension": draw.integer(0, len(shape) - 1),
        }
