"""Ops that move elements and compute nothing: slices, pads, transposes, reshapes, broadcasts."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from windlass.ir.types import TensorType, Type, tensor_type
from windlass.ir.values import Value
from windlass.ops.base import ANY, INTEGER, Array, TensorOp, all_batched, repeated
from windlass.ops.ranges import Range, RangeOf, joined
from windlass.ops.sampling import Draw, Unsuitable


class Slice(TensorOp):
    """Elements start, start + stride, ... below limit along each axis."""

    name = "stablehlo.slice"
    picks_elements: ClassVar[bool] = True
    disorder: ClassVar[int] = 4
    operand: Value
    start_indices: tuple[int, ...]
    limit_indices: tuple[int, ...]
    strides: tuple[int, ...]

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

    def evaluate(self, operand: Array) -> Array:
        bounds = zip(self.start_indices, self.limit_indices, self.strides, strict=True)
        return operand[tuple(slice(start, limit, stride) for start, limit, stride in bounds)]

    def batch(self, operands: tuple[Value, ...], is_batched: tuple[bool, ...], size: int) -> tuple[Value, ...] | None:
        (x,) = operands
        return (Slice(x, (0, *self.start_indices), (size, *self.limit_indices), (1, *self.strides)),)

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
    disorder: ClassVar[int] = 6
    operand: Value
    padding_value: Value
    edge_padding_low: tuple[int, ...]
    edge_padding_high: tuple[int, ...]
    interior_padding: tuple[int, ...]

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

    def evaluate(self, operand: Array, padding_value: Array) -> Array:
        return pad_array(operand, padding_value, self.edge_padding_low, self.edge_padding_high, self.interior_padding)

    def batch(self, operands: tuple[Value, ...], is_batched: tuple[bool, ...], size: int) -> tuple[Value, ...] | None:
        x, padding_value = operands
        low, high, interior = self.edge_padding_low, self.edge_padding_high, self.interior_padding
        if is_batched[1]:
            return None
        return (Pad(x, padding_value, (0, *low), (0, *high), (0, *interior)),)

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


def pad_array(
    operand: Array, padding_value: Any, lows: tuple[int, ...], highs: tuple[int, ...], interiors: tuple[int, ...]
) -> Array:
    """NumPy's form of `Pad`; the padding value is a scalar or a rank-0 array."""
    dilated = [size + max(size - 1, 0) * interior for size, interior in zip(operand.shape, interiors, strict=True)]
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
    disorder: ClassVar[int] = 8
    inputs: tuple[Value, ...]
    dimension: int

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

    def evaluate(self, *arrays: Array) -> Array:
        return np.concatenate(arrays, self.dimension)

    def batch(self, operands: tuple[Value, ...], is_batched: tuple[bool, ...], size: int) -> tuple[Value, ...] | None:
        return (Concatenate(all_batched(operands, is_batched, size), self.dimension + 1),)

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
    is_free: ClassVar[bool] = True
    disorder: ClassVar[int] = -3
    operand: Value
    shape: tuple[int, ...]  # pyright: ignore[reportIncompatibleMethodOverride]
    has_result_attributes: ClassVar[frozenset[str]] = frozenset({"shape"})

    def infer(self) -> Type:
        type_ = self.operand.tensor
        if math.prod(self.shape) != type_.size:
            self.fault("C2", f"{type_} does not fit the shape {self.shape}")
        return tensor_type(self.shape, type_.dtype)

    def find_range(self, of: RangeOf) -> Range:
        return of(self.operand)

    def evaluate(self, operand: Array) -> Array:
        return operand.reshape(self.shape)

    def batch(self, operands: tuple[Value, ...], is_batched: tuple[bool, ...], size: int) -> tuple[Value, ...] | None:
        return (Reshape(operands[0], (size, *self.shape)),)

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
    disorder: ClassVar[int] = -1
    operand: Value
    permutation: tuple[int, ...]

    def infer(self) -> Type:
        type_ = self.operand.tensor
        permutation = self.permutation
        is_permutation = sorted(permutation) == list(range(type_.rank))
        if not is_permutation:
            self.fault("C2", f"{permutation} does not permute {type_.rank} axes")
        return tensor_type(tuple([type_.shape[axis] for axis in permutation]), type_.dtype)

    def find_range(self, of: RangeOf) -> Range:
        return of(self.operand)

    def evaluate(self, operand: Array) -> Array:
        return operand.transpose(self.permutation)

    def batch(self, operands: tuple[Value, ...], is_batched: tuple[bool, ...], size: int) -> tuple[Value, ...] | None:
        return (Transpose(operands[0], (0, *(axis + 1 for axis in self.permutation))),)

    @classmethod
    def sample_operands(cls, draw: Draw) -> tuple[TensorType, ...]:
        return (tensor_type(draw.shape(), draw.dtype(ANY)),)

    @classmethod
    def sample(cls, draw: Draw, *operand_types: TensorType) -> dict[str, Any]:
        return {"permutation": draw.permutation(operand_types[0].rank)}


class BroadcastInDim(TensorOp):
    """Axis i of the operand becomes axis broadcast_dimensions[i] of the result; the rest repeats."""

    name = "stablehlo.broadcast_in_dim"
    disorder: ClassVar[int] = 1
    is_free: ClassVar[bool] = True
    operand: Value
    shape: tuple[int, ...]  # pyright: ignore[reportIncompatibleMethodOverride]
    broadcast_dimensions: tuple[int, ...]
    has_result_attributes: ClassVar[frozenset[str]] = frozenset({"shape"})

    def infer(self) -> Type:
        type_ = self._operands[0].tensor
        shape, dimensions = self.shape, self.broadcast_dimensions
        rank = len(shape)
        if len(dimensions) != len(type_.shape):
            self.fault("C2", f"{len(dimensions)} dimensions for rank {type_.rank}")
        if len(dimensions) > 1 and len(set(dimensions)) != len(dimensions):
            self.fault("C4", f"{dimensions} repeats a dimension")
        for size, dimension in zip(type_.shape, dimensions, strict=True):
            if not 0 <= dimension < rank:
                self.fault("C3", f"dimension {dimension} of rank {rank}")
            if size != 1 and size != shape[dimension]:
                self.fault("C5", f"size {size} does not broadcast to {shape[dimension]}")
        return tensor_type(shape, type_.dtype)

    def find_range(self, of: RangeOf) -> Range:
        return of(self.operand)

    def evaluate(self, operand: Array) -> Array:
        order = sorted(range(operand.ndim), key=lambda axis: self.broadcast_dimensions[axis])
        fitted = [1] * len(self.shape)
        for axis in order:
            fitted[self.broadcast_dimensions[axis]] = operand.shape[axis]
        return np.broadcast_to(operand.transpose(order).reshape(fitted), self.shape)

    def batch(self, operands: tuple[Value, ...], is_batched: tuple[bool, ...], size: int) -> tuple[Value, ...] | None:
        dimensions = (0, *(axis + 1 for axis in self.broadcast_dimensions))
        return (BroadcastInDim(operands[0], (size, *self.shape), dimensions),)

    @classmethod
    def sample_operands(cls, draw: Draw) -> tuple[TensorType, ...]:
        return (tensor_type(draw.shape(most_rank=2), draw.dtype(ANY)),)

    @classmethod
    def sample(cls, draw: Draw, *operand_types: TensorType) -> dict[str, Any]:
        (type_,) = operand_types
        rank = draw.integer(type_.rank, type_.rank + 2)
        dimensions = draw.permutation(rank)[: type_.rank]
        shape = [draw.integer(0, 3) for _ in range(rank)]
        for size, dimension in zip(type_.shape, dimensions, strict=True):
            if size != 1 or draw.boolean():
                shape[dimension] = size
        return {"shape": tuple(shape), "broadcast_dimensions": dimensions}


class Reverse(TensorOp):
    """The elements in opposite order along the given dimensions."""

    name = "stablehlo.reverse"
    disorder: ClassVar[int] = -2
    operand: Value
    dimensions: tuple[int, ...]

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

    def evaluate(self, operand: Array) -> Array:
        return np.flip(operand, self.dimensions)

    def batch(self, operands: tuple[Value, ...], is_batched: tuple[bool, ...], size: int) -> tuple[Value, ...] | None:
        return (Reverse(operands[0], tuple(axis + 1 for axis in self.dimensions)),)

    @classmethod
    def sample_operands(cls, draw: Draw) -> tuple[TensorType, ...]:
        return (tensor_type(draw.shape(), draw.dtype(ANY)),)

    @classmethod
    def sample(cls, draw: Draw, *operand_types: TensorType) -> dict[str, Any]:
        return {"dimensions": draw.subset(operand_types[0].rank)}


class DynamicSlice(TensorOp):
    """A slice of fixed sizes at computed starts, which are moved so that the slice lies inside the operand."""

    name = "stablehlo.dynamic_slice"
    picks_elements: ClassVar[bool] = True
    disorder: ClassVar[int] = 6
    operand: Value
    start_indices: tuple[Value, ...]
    slice_sizes: tuple[int, ...]

    def infer(self) -> Type:
        type_ = self.operand.tensor
        check_starts(self, type_, self.start_indices)
        if len(self.slice_sizes) != type_.rank:
            self.fault("C2", f"{len(self.slice_sizes)} sizes, rank {type_.rank}")
        for size, whole in zip(self.slice_sizes, type_.shape, strict=True):
            if not 0 <= size <= whole:
                self.fault("C4", f"{size} elements of {whole}")
        return tensor_type(self.slice_sizes, type_.dtype)

    def find_range(self, of: RangeOf) -> Range:
        return of(self.operand)

    def evaluate(self, operand: Array, *start_indices: Array) -> Array:
        starts = clamp_starts(start_indices, operand.shape, self.slice_sizes)
        return operand[tuple(slice(start, start + size) for start, size in zip(starts, self.slice_sizes, strict=True))]

    def batch(self, operands: tuple[Value, ...], is_batched: tuple[bool, ...], size: int) -> tuple[Value, ...] | None:
        from windlass.ops.creation import Constant
        from windlass.ops.indexing import Gather

        x, *starts = operands
        if not any(is_batched[1:]):
            first = Constant.of(0, starts[0].dtype if starts else "i32")
            return (DynamicSlice(x, (first, *starts), (size, *self.slice_sizes)),)
        # A gather moves windows inside as a dynamic slice does.
        shape, sizes = self.operand.shape, self.slice_sizes
        axes = tuple(axis for axis in range(len(sizes)) if sizes[axis] != shape[axis]) or (0,)
        columns = [
            Reshape(starts[axis], (size, 1)) if is_batched[axis + 1] else BroadcastInDim(starts[axis], (size, 1), ())
            for axis in axes
        ]
        places = columns[0] if len(axes) == 1 else Concatenate(tuple(columns), 1)
        windows = tuple(range(1, len(sizes) + 1))
        if not is_batched[0]:
            return (Gather(x, places, windows, (), (), (), axes, 1, sizes),)
        axes = tuple(axis + 1 for axis in axes)
        return (Gather(x, places, windows, (), (0,), (0,), axes, 1, (1, *sizes)),)

    @classmethod
    def sample_operands(cls, draw: Draw) -> tuple[TensorType, ...]:
        # MLIR's parser does not read back what its printer writes for rank 0.
        shape = draw.shape(least_rank=1)
        index = tensor_type((), draw.dtype(INTEGER))
        return (tensor_type(shape, draw.dtype(ANY)), *(index for _ in shape))

    @classmethod
    def sample(cls, draw: Draw, *operand_types: TensorType) -> dict[str, Any]:
        return {"slice_sizes": tuple(draw.integer(0, size) for size in operand_types[0].shape)}


class DynamicUpdateSlice(TensorOp):
    """The operand with `update` written at computed starts, which are moved so that it lies inside."""

    name = "stablehlo.dynamic_update_slice"
    operand: Value
    update: Value
    start_indices: tuple[Value, ...]

    def infer(self) -> Type:
        type_, update = self.operand.tensor, self.update.tensor
        if update.dtype != type_.dtype:
            self.fault("C2", f"element types differ: {type_} and {update}")
        if update.rank != type_.rank:
            self.fault("C3", f"ranks differ: {type_} and {update}")
        check_starts(self, type_, self.start_indices)
        fits = all(size <= whole for size, whole in zip(update.shape, type_.shape, strict=True))
        if not fits:
            self.fault("C6", f"the update {update} is larger than {type_}")
        return type_

    def find_range(self, of: RangeOf) -> Range:
        return of(self.operand).join(of(self.update))

    def evaluate(self, operand: Array, update: Array, *start_indices: Array) -> Array:
        starts = clamp_starts(start_indices, operand.shape, update.shape)
        result = np.array(operand)
        place = zip(starts, update.shape, strict=True)
        result[tuple(slice(start, start + size) for start, size in place)] = update
        return result

    def batch(self, operands: tuple[Value, ...], is_batched: tuple[bool, ...], size: int) -> tuple[Value, ...] | None:
        _, _, *starts = operands
        if any(is_batched[2:]):
            return None
        from windlass.ops.creation import Constant

        x, update = all_batched(operands[:2], is_batched[:2], size)
        first = Constant.of(0, starts[0].dtype if starts else "i32")
        return (DynamicUpdateSlice(x, update, (first, *starts)),)

    @classmethod
    def sample_operands(cls, draw: Draw) -> tuple[TensorType, ...]:
        shape, dtype = draw.shape(), draw.dtype(ANY)
        index = tensor_type((), draw.dtype(INTEGER))
        update = tuple(draw.integer(0, size) for size in shape)
        return (tensor_type(shape, dtype), tensor_type(update, dtype), *(index for _ in shape))


def check_starts(op: TensorOp, type_: TensorType, starts: tuple[Value, ...]) -> None:
    """One integer scalar per axis, all of one type, as the dynamic slices take them."""
    if len(starts) != type_.rank:
        op.fault("C3", f"{len(starts)} starts for an operand of rank {type_.rank}")
    for start in starts:
        index = start.tensor
        if not (index.rank == 0 and index.dtype in INTEGER):
            op.fault("I2", f"the start is {index}")
        if index is not starts[0].type:
            op.fault("C5", "the starts differ in type")


def clamp_starts(starts: tuple[Array, ...], shape: tuple[int, ...], sizes: tuple[int, ...]) -> list[int]:
    """The starts moved so that a block of `sizes` lies inside `shape`."""
    places = zip(starts, shape, sizes, strict=True)
    return [min(max(int(start), 0), whole - size) for start, whole, size in places]


class GetDimensionSize(TensorOp):
    """The size of one axis as a 32-bit integer."""

    name = "stablehlo.get_dimension_size"
    operand: Value
    dimension: int

    def infer(self) -> Type:
        rank = self.operand.tensor.rank
        if not 0 <= self.dimension < rank:
            self.fault("C1", f"dimension {self.dimension} of an operand of rank {rank}")
        return tensor_type((), "i32")

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
