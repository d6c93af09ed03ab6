"""What ops share that work on each element by itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from windlass.ir.types import TensorType, Type, tensor_type
from windlass.ir.values import Value
from windlass.ops.axes import Axes, axes_in_place
from windlass.ops.base import ANY, Array, BroadcastInDim, TensorOp, repeated
from windlass.ops.sampling import Draw


def widened(function: Callable[..., Any], *arrays: Array) -> Array:
    """`function` of the arrays; small floats are computed in f32 and rounded to their own type."""
    with np.errstate(all="ignore"):
        dtype = arrays[0].dtype
        if dtype.itemsize <= 2 and dtype.kind in "fV":
            return np.asarray(function(*(array.astype(np.float32) for array in arrays))).astype(dtype)
        result = np.asarray(function(*arrays))
        return result if result.dtype == dtype else result.astype(dtype)


class Elementwise(TensorOp):
    """Base of ops that work on each element by itself. `dtypes` are the element types that are accepted."""

    is_elementwise: ClassVar[bool] = True
    dtypes: ClassVar[frozenset[str]] = ANY
    effort: ClassVar[int] = 1
    """About how many additions take as long as doing this once."""
    spreads_nan: ClassVar[bool] = False
    """An element of the result is NaN where one of any operand is."""

    def flops(self) -> int:
        """So many for each element as one takes additions."""
        return self.effort * sum(result.type.size for result in self.results if isinstance(result.type, TensorType))

    @classmethod
    def sample_operands(cls, draw: Draw) -> tuple[TensorType, ...]:
        type_ = tensor_type(draw.shape(), draw.dtype(cls.dtypes))
        return (type_,) * sum(field.kind == "operand" for field in cls.fields)

    def axes(self) -> Axes:
        return axes_in_place(self)

    def batch(self, operands: tuple[Value, ...], is_batched: tuple[bool, ...], size: int) -> tuple[Value, ...] | None:

        shape = (size, *self.tensor.shape)
        full: list[Value] = []
        for value, own, batched in zip(operands, self._operands, is_batched, strict=True):
            # Limits and conditions may be single numbers for all elements.
            is_single = not own.tensor.shape and len(shape) > 1
            if batched and is_single:
                full.append(BroadcastInDim(value, shape, (0,)))
            else:
                full.append(value if batched or is_single else repeated(value, size))
        return (self.with_operands(tuple(full)),)


class Unary(Elementwise):
    """One operand; the result has its type."""

    operand: Value

    def infer(self) -> Type:
        type_ = self._operands[0].type
        if not isinstance(type_, TensorType) or type_.dtype not in self.dtypes:
            self.fault("I1", f"does not take {type_}")
        return type_


class Binary(Elementwise):
    """Two operands of one type, which the result has too."""

    lhs: Value
    rhs: Value

    def infer(self) -> Type:
        lhs, rhs = self._operands
        type_ = lhs.type
        if rhs.type is not type_:
            self.fault("C1", f"operand types differ: {type_} and {rhs.type}")
        if not isinstance(type_, TensorType) or type_.dtype not in self.dtypes:
            self.fault("I1", f"does not take {type_}")
        return type_


class ElementwiseTest(Elementwise):
    """One operand; the result is a boolean of its shape."""

    operand: Value

    def infer(self) -> Type:
        type_ = self._operands[0].type
        if not isinstance(type_, TensorType) or type_.dtype not in self.dtypes:
            self.fault("I1", f"does not take {type_}")
        return tensor_type(type_.shape, "i1")
