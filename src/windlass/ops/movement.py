"""Ops that move elements and compute nothing: slices, pads, transposes, reshapes, broadcasts."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from windlass.ir.types import TensorType, Type, tensor_type
from windlass.ir.values import Value
from windlass.ops.axes import CHANGED, Axes, axes_in_place, axes_of, axes_of_reshape
from windlass.ops.base import ANY, Array, OnNewAxis, TensorOp, beginning_with, first_and_later, later, repeated, sized
from windlass.ops.creation import Constant
from windlass.ops.elementwise import Select
from windlass.ops.ranges import Range, RangeOf, joined
from windlass.ops.sampling import Draw, Unsuitable


class Slice(TensorOp):
    """Elements start, start + stride, ... below limit along each axis."""

    name = "stablehlo.slice"
    limbs: ClassVar[str] = "each"
    linear_in: ClassVar[tuple[frozenset[str], ...]] = (frozenset({"operand"}),)
    picks_elements: ClassVar[bool] = True
    disorder: ClassVar[int] = 4
    operand: Value
    start_indices: tuple[int, ...]
    limit_indices: tuple[int, ...]
    strides: tuple[int, ...]
    on_new_axis: ClassVar[OnNewAxis] = {
        "start_indices": beginning_with(0),
        "limit_indices": sized,
        "strides": beginning_with(1),
    }

    def infer(self) -> Type:
        type_ = self.operand.tensor
        starts, limits, strides = self.start_indices, self.limit_indices, self.strides
        same_rank = len(starts) == len(limits) == len(strides) == type_.rank
        if not same_rank:
            self.fault("C2", f"{len(starts)} starts for an operand of rank {type_.rank}")
        shape: list[int] = []
        for axis, (start, limit, stride, size) in enumerate(zip(starts, limits, strides, type_.shape, strict=True)):
            inside = 0 <= start <= limit <= size
            if not inside:
                self.fault("C3", f"axis {axis} of size {size} is sliced from {start} to {limit}")
            if stride <= 0:
                self.fault("C4", f"the stride of axis {axis} is {stride}")
            shape.append(-(-(limit - start) // stride))
        return tensor_type(tuple(shape), type_.dtype)

    def find_range(self, of: RangeOf) -> Range:
        return of(self.operand)

    def axes(self) -> Axes:
        bounds = zip(self.start_indices, self.limit_indices, self.strides, self.operand.shape, strict=True)
        return axes_in_place(self, [axis for axis, bound in enumerate(bounds) if bound != (0, bound[-1], 1, bound[-1])])

    def evaluate(self, operand: Array) -> Array:
        bounds = zip(self.start_indices, self.limit_indices, self.strides, strict=True)
        return operand[tuple(slice(start, limit, stride) for start, limit, stride in bounds)]

    def adds_elements(self) -> bool:
        return True

    def pullback(self, cotangents: tuple[Value, ...], position: int) -> Value:
        (cotangent,) = cotangents
        interiors = tuple(stride - 1 for stride in self.strides)
        ends = zip(self.start_indices, dilated_shape(cotangent.shape, interiors), self.operand.shape, strict=True)
        highs = tuple(size - start - taken for start, taken, size in ends)
        return Pad(cotangent, Constant.of(0, cotangent.dtype), self.start_indices, highs, interiors)

    @classmethod
    def sample_operands(cls, draw: Draw) -> tuple[TensorType, ...]:
        return (tensor_type(draw.shape(), draw.dtype(ANY)),)

    @classmethod
    def sample(cls, draw: Draw, *operand_types: TensorType) -> dict[str, Any]:
        starts: list[int] = []
        limits: list[int] = []
        for size in operand_types[0].shape:
            least = min(size, 1) if draw.integer(0, 9) else 0
            starts.append(draw.integer(0, size - least))
            limits.append(draw.integer(starts[-1] + least, size))
        return {
            "start_indices": tuple(starts),
            "limit_indices": tuple(limits),
            "strides": tuple(draw.choose((1, 1, 2, 3)) for _ in starts),
        }


class Pad(TensorOp):
    """padding_value around the operand and between its elements; negative edge padding removes elements."""

    name = "stablehlo.pad"
    limbs: ClassVar[str] = "each"
    linear_in: ClassVar[tuple[frozenset[str], ...]] = (frozenset({"operand", "padding_value"}),)
    disorder: ClassVar[int] = 6
    operand: Value
    padding_value: Value
    edge_padding_low: tuple[int, ...]
    edge_padding_high: tuple[int, ...]
    interior_padding: tuple[int, ...]
    on_new_axis: ClassVar[OnNewAxis] = {
        "edge_padding_low": beginning_with(0),
        "edge_padding_high": beginning_with(0),
        "interior_padding": beginning_with(0),
    }
    shared_operands: ClassVar[frozenset[str]] = frozenset({"padding_value"})

    def infer(self) -> Type:
        type_ = self.operand.tensor
        padding = self.padding_value.tensor
        same = padding.shape == () and padding.dtype == type_.dtype
        if not same:
            self.fault("C1", f"the operand is {type_}, the padding value {padding}")
        lows, highs, interiors = self.edge_padding_low, self.edge_padding_high, self.interior_padding
        same_rank = len(lows) == len(highs) == len(interiors) == type_.rank
        if not same_rank:
            self.fault("C2", f"{len(lows)} paddings for an operand of rank {type_.rank}")
        shape: list[int] = []
        for axis, (size, low, high, interior) in enumerate(zip(type_.shape, lows, highs, interiors, strict=True)):
            if interior < 0:
                self.fault("C3", f"the interior padding of axis {axis} is {interior}")
            padded = low + size + max(size - 1, 0) * interior + high
            if padded < 0:
                self.fault("C4", f"axis {axis} gets {padded} elements")
            shape.append(padded)
        return tensor_type(tuple(shape), type_.dtype)

    def find_range(self, of: RangeOf) -> Range:
        return of(self.operand).join(of(self.padding_value))

    def axes(self) -> Axes:
        paddings = zip(self.edge_padding_low, self.edge_padding_high, self.interior_padding, strict=True)
        return axes_in_place(self, [axis for axis, padding in enumerate(paddings) if any(padding)])

    def evaluate(self, operand: Array, padding_value: Array) -> Array:
        return pad_array(operand, padding_value, self.edge_padding_low, self.edge_padding_high, self.interior_padding)

    def adds_elements(self) -> bool:
        return True

    def pullback(self, cotangents: tuple[Value, ...], position: int) -> Value:
        (cotangent,) = cotangents
        lows, highs, interiors = self.edge_padding_low, self.edge_padding_high, self.interior_padding
        if position == 1:
            kept = Constant.of(False, "i1", self.operand.shape)
            is_padding = Pad(kept, Constant.of(True, "i1"), lows, highs, interiors)
            return Select(is_padding, cotangent, Constant.splat(0, cotangent.type))
        zero = Constant.of(0, cotangent.dtype)
        if not any(interiors):
            opposite = tuple(-low for low in lows), tuple(-high for high in highs)
            return cotangent if not any((*lows, *highs)) else padded(cotangent, zero, *opposite)
        starts: list[int] = []
        limits: list[int] = []
        missing: list[tuple[int, int]] = []
        for size, whole, low, interior in zip(self.operand.shape, cotangent.shape, lows, interiors, strict=True):
            step = interior + 1
            first = min(-(min(low, 0) // step), size)
            count = max(min(-((low - whole) // step), size) - first, 0)
            starts.append(low + first * step if count else 0)
            limits.append(starts[-1] + (count - 1) * step + 1 if count else 0)
            missing.append((first, size - first - count))
        taken = Slice(cotangent, tuple(starts), tuple(limits), tuple(interior + 1 for interior in interiors))
        if not any(map(any, missing)):
            return taken
        return padded(taken, zero, tuple(low for low, _ in missing), tuple(high for _, high in missing))

    @classmethod
    def sample_operands(cls, draw: Draw) -> tuple[TensorType, ...]:
        type_ = tensor_type(draw.shape(), draw.dtype(ANY))
        return (type_, tensor_type((), type_.dtype))

    @classmethod
    def sample(cls, draw: Draw, *operand_types: TensorType) -> dict[str, Any]:
        lows: list[int] = []
        highs: list[int] = []
        interiors: list[int] = []
        for size in operand_types[0].shape:
            interior = draw.choose((0, 0, 1, 2))
            dilated = size + max(size - 1, 0) * interior
            low = draw.integer(-min(dilated, 2), 2)
            interiors.append(interior)
            lows.append(low)
            highs.append(draw.integer(max(-2, -(dilated + low)), 2))
        return {
            "edge_padding_low": tuple(lows),
            "edge_padding_high": tuple(highs),
            "interior_padding": tuple(interiors),
        }


def padded(operand: Value, number: Value, lows: tuple[int, ...], highs: tuple[int, ...]) -> Value:
    """The operand with a number at its edges, or without what is there."""
    if all(low <= 0 and high <= 0 for low, high in zip(lows, highs, strict=True)):
        limits = tuple(size + high for size, high in zip(operand.shape, highs, strict=True))
        return Slice(operand, tuple(-low for low in lows), limits, (1,) * len(lows))
    return Pad(operand, number, lows, highs, (0,) * len(lows))


def slice_along(operand: Value, axis: int, start: int, limit: int, stride: int = 1) -> Value:
    """The elements from start to limit along one axis."""
    shape = operand.shape
    if (start, limit, stride) == (0, shape[axis], 1):
        return operand
    starts, strides = [0] * len(shape), [1] * len(shape)
    starts[axis], strides[axis] = start, stride
    return Slice(operand, tuple(starts), (*shape[:axis], limit, *shape[axis + 1 :]), tuple(strides))


def dilated_shape(shape: tuple[int, ...], interiors: tuple[int, ...]) -> tuple[int, ...]:
    """The shape with so much padding between elements.

    >>> dilated_shape((3, 0), (1, 1))
    (5, 0)
    """
    return tuple(size + max(size - 1, 0) * interior for size, interior in zip(shape, interiors, strict=True))


def pad_array(
    operand: Array, padding_value: Any, lows: tuple[int, ...], highs: tuple[int, ...], interiors: tuple[int, ...]
) -> Array:
    """NumPy's form of `Pad`; the padding value is a scalar or a rank-0 array."""
    dilated = dilated_shape(operand.shape, interiors)
    widest = [
        size + max(low, 0) + max(high, 0) for size, low, high in zip(dilated, lows, highs, strict=True)
    ]  # pad first, then cut away what negative padding removes
    result = np.full(widest, padding_value, operand.dtype)
    inner = zip(lows, dilated, interiors, strict=True)
    result[tuple(slice(max(low, 0), max(low, 0) + size, step + 1) for low, size, step in inner)] = operand
    cut = zip(lows, highs, widest, strict=True)
    return result[tuple(slice(max(-low, 0), size - max(-high, 0)) for low, high, size in cut)]


class Concatenate(TensorOp):
    """The inputs one after another along `dimension`."""

    name = "stablehlo.concatenate"
    limbs: ClassVar[str] = "each"
    linear_in: ClassVar[tuple[frozenset[str], ...]] = (frozenset({"inputs"}),)
    disorder: ClassVar[int] = 8
    inputs: tuple[Value, ...]
    dimension: int
    on_new_axis: ClassVar[OnNewAxis] = {"dimension": later}

    def infer(self) -> Type:
        types = [value.tensor for value in self._operands]
        if not types:
            self.fault("C3", "there are no inputs")
        first, dimension = types[0], self.dimension
        if not 0 <= dimension < first.rank:
            self.fault("C4", f"dimension {dimension} of an operand of rank {first.rank}")
        outside = first.shape[:dimension], first.shape[dimension + 1 :]
        total = 0
        for type_ in types:
            if type_.dtype != first.dtype:
                self.fault("C1", f"element types differ: {first} and {type_}")
            same = type_.rank == first.rank and (type_.shape[:dimension], type_.shape[dimension + 1 :]) == outside
            if not same:
                self.fault("C2", f"shapes differ outside dimension {dimension}: {first} and {type_}")
            total += type_.shape[dimension]
        return tensor_type((*outside[0], total, *outside[1]), first.dtype)

    def find_range(self, of: RangeOf) -> Range:
        return joined(of(each) for each in self.inputs)

    def axes(self) -> Axes:
        return axes_in_place(self, {self.dimension})

    def evaluate(self, *arrays: Array) -> Array:
        return np.concatenate(arrays, self.dimension)

    def adds_elements(self) -> bool:
        return True

    def pullback(self, cotangents: tuple[Value, ...], position: int) -> Value:
        start = sum(value.shape[self.dimension] for value in self.inputs[:position])
        return slice_along(cotangents[0], self.dimension, start, start + self.inputs[position].shape[self.dimension])

    @classmethod
    def sample_operands(cls, draw: Draw) -> tuple[TensorType, ...]:
        shape, dtype = draw.shape(least_rank=1), draw.dtype(ANY)
        axis = draw.integer(0, len(shape) - 1)
        sizes = [draw.integer(0, 3) for _ in range(draw.integer(1, 3))]
        return tuple(tensor_type((*shape[:axis], size, *shape[axis + 1 :]), dtype) for size in sizes)

    @classmethod
    def sample(cls, draw: Draw, *operand_types: TensorType) -> dict[str, Any]:
        first = operand_types[0]
        fitting = [
            axis
            for axis in range(first.rank)
            if all(
                type_.shape[:axis] == first.shape[:axis] and type_.shape[axis + 1 :] == first.shape[axis + 1 :]
                for type_ in operand_types
            )
        ]
        if not fitting:
            raise Unsuitable
        return {"dimension": draw.choose(fitting)}


class Reshape(TensorOp):
    """The same elements in row-major order in another shape."""

    name = "stablehlo.reshape"
    limbs: ClassVar[str] = "each"
    linear_in: ClassVar[tuple[frozenset[str], ...]] = (frozenset({"operand"}),)
    is_free: ClassVar[bool] = True
    disorder: ClassVar[int] = -3
    operand: Value
    shape: tuple[int, ...]  # pyright: ignore[reportIncompatibleMethodOverride]
    has_result_attributes: ClassVar[frozenset[str]] = frozenset({"shape"})
    on_new_axis: ClassVar[OnNewAxis] = {"shape": sized}

    def infer(self) -> Type:
        type_ = self.operand.tensor
        if math.prod(self.shape) != type_.size:
            self.fault("C2", f"{type_} does not fit the shape {self.shape}")
        return tensor_type(self.shape, type_.dtype)

    def find_range(self, of: RangeOf) -> Range:
        return of(self.operand)

    def axes(self) -> Axes:
        return axes_of_reshape(self)

    def evaluate(self, operand: Array) -> Array:
        return operand.reshape(self.shape)

    def adds_elements(self) -> bool:
        return True

    def pullback(self, cotangents: tuple[Value, ...], position: int) -> Value:
        return Reshape(cotangents[0], self.operand.shape)

    @classmethod
    def sample_operands(cls, draw: Draw) -> tuple[TensorType, ...]:
        return (tensor_type(draw.shape(), draw.dtype(ANY)),)

    @classmethod
    def sample(cls, draw: Draw, *operand_types: TensorType) -> dict[str, Any]:
        remaining = operand_types[0].size
        if remaining == 0:
            return {"shape": draw.choose(((0,), (2, 0), (0, 3, 1)))}
        shape: list[int] = []
        while remaining > 1:
            factor = draw.choose([factor for factor in range(2, remaining + 1) if remaining % factor == 0])
            shape.append(factor)
            remaining //= factor
        for _ in range(draw.integer(0, 2)):
            shape.insert(draw.integer(0, len(shape)), 1)
        return {"shape": tuple(shape)}


class Transpose(TensorOp):
    """Axis i of the result is axis permutation[i] of the operand."""

    name = "stablehlo.transpose"
    limbs: ClassVar[str] = "each"
    linear_in: ClassVar[tuple[frozenset[str], ...]] = (frozenset({"operand"}),)
    follows_letters: ClassVar[bool] = True
    disorder: ClassVar[int] = -1
    operand: Value
    permutation: tuple[int, ...]
    on_new_axis: ClassVar[OnNewAxis] = {"permutation": first_and_later}

    def infer(self) -> Type:
        type_ = self.operand.tensor
        permutation = self.permutation
        is_permutation = sorted(permutation) == list(range(type_.rank))
        if not is_permutation:
            self.fault("C2", f"{permutation} does not permute {type_.rank} axes")
        return tensor_type(tuple([type_.shape[axis] for axis in permutation]), type_.dtype)

    def find_range(self, of: RangeOf) -> Range:
        return of(self.operand)

    def axes(self) -> Axes:
        return axes_of(self, [range(len(self.permutation))], [self.permutation])

    def evaluate(self, operand: Array) -> Array:
        return operand.transpose(self.permutation)

    @classmethod
    def sample_operands(cls, draw: Draw) -> tuple[TensorType, ...]:
        return (tensor_type(draw.shape(), draw.dtype(ANY)),)

    @classmethod
    def sample(cls, draw: Draw, *operand_types: TensorType) -> dict[str, Any]:
        return {"permutation": draw.permutation(operand_types[0].rank)}


class Reverse(TensorOp):
    """The elements in opposite order along the given dimensions."""

    name = "stablehlo.reverse"
    limbs: ClassVar[str] = "each"
    linear_in: ClassVar[tuple[frozenset[str], ...]] = (frozenset({"operand"}),)
    disorder: ClassVar[int] = -2
    operand: Value
    dimensions: tuple[int, ...]
    on_new_axis: ClassVar[OnNewAxis] = {"dimensions": later}

    def infer(self) -> Type:
        type_ = self.operand.tensor
        unique = len(set(self.dimensions)) == len(self.dimensions)
        if not unique:
            self.fault("C2", f"{self.dimensions} repeats a dimension")
        inside = all(0 <= dimension < type_.rank for dimension in self.dimensions)
        if not inside:
            self.fault("C3", f"{self.dimensions} of an operand of rank {type_.rank}")
        return type_

    def find_range(self, of: RangeOf) -> Range:
        return of(self.operand)

    def axes(self) -> Axes:
        return axes_in_place(self, self.dimensions)

    def evaluate(self, operand: Array) -> Array:
        return np.flip(operand, self.dimensions)

    def adds_elements(self) -> bool:
        return True

    def pullback(self, cotangents: tuple[Value, ...], position: int) -> Value:
        return Reverse(cotangents[0], self.dimensions)

    @classmethod
    def sample_operands(cls, draw: Draw) -> tuple[TensorType, ...]:
        return (tensor_type(draw.shape(), draw.dtype(ANY)),)

    @classmethod
    def sample(cls, draw: Draw, *operand_types: TensorType) -> dict[str, Any]:
        return {"dimensions": draw.subset(operand_types[0].rank)}


class GetDimensionSize(TensorOp):
    """The size of one axis as a 32-bit integer."""

    name = "stablehlo.get_dimension_size"
    limbs: ClassVar[str] = "each"
    operand: Value
    dimension: int

    def infer(self) -> Type:
        rank = self.operand.tensor.rank
        if not 0 <= self.dimension < rank:
            self.fault("C1", f"dimension {self.dimension} of an operand of rank {rank}")
        return tensor_type((), "i32")

    def axes(self) -> Axes:
        return axes_of(self, [[CHANGED] * self.operand.tensor.rank], [[]])

    def evaluate(self, operand: Array) -> Array:
        return np.array(operand.shape[self.dimension], np.int32)

    def batch(self, operands: tuple[Value, ...], is_batched: tuple[bool, ...], size: int) -> tuple[Value, ...] | None:
        return (repeated(GetDimensionSize(operands[0], self.dimension + 1), size),)

    @classmethod
    def sample_operands(cls, draw: Draw) -> tuple[TensorType, ...]:
        return (tensor_type(draw.shape(least_rank=1), draw.dtype(ANY)),)

    @classmethod
    def sample(cls, draw: Draw, *operand_types: TensorType) -> dict[str, Any]:
        return {"dimension": draw.integer(0, operand_types[0].rank - 1)}
