"""Slices at computed places, and updates of them."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from windlass.ir.types import TensorType, Type, tensor_type
from windlass.ir.values import Value
from windlass.ops.axes import Axes, axes_in_place
from windlass.ops.base import ANY, INTEGER, Array, BroadcastInDim, TensorOp, all_batched, repeated
from windlass.ops.comparison import Compare
from windlass.ops.conversion import Convert
from windlass.ops.creation import Constant, Iota
from windlass.ops.elementwise import Add, Or
from windlass.ops.extremes import Clamp
from windlass.ops.indexing import Gather, Scatter
from windlass.ops.movement import Concatenate, Reshape
from windlass.ops.ranges import Range, RangeOf
from windlass.ops.regions import make_region
from windlass.ops.sampling import Draw


class DynamicSlice(TensorOp):
    """A slice of fixed sizes at computed starts, which are moved so that the slice lies inside the operand."""

    name = "stablehlo.dynamic_slice"
    limbs: ClassVar[str] = "each"
    linear_in: ClassVar[tuple[frozenset[str], ...]] = (frozenset({"operand"}),)
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

    def axes(self) -> Axes:
        sizes = zip(self.slice_sizes, self.operand.shape, strict=True)
        return axes_in_place(self, [axis for axis, (size, whole) in enumerate(sizes) if size != whole])

    def evaluate(self, operand: Array, *start_indices: Array) -> Array:
        starts = clamp_starts(start_indices, operand.shape, self.slice_sizes)
        return operand[tuple(slice(start, start + size) for start, size in zip(starts, self.slice_sizes, strict=True))]

    def batch(self, operands: tuple[Value, ...], is_batched: tuple[bool, ...], size: int) -> tuple[Value, ...] | None:

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

    def adds_elements(self) -> bool:
        return True

    def pullback(self, cotangents: tuple[Value, ...], position: int) -> Value:
        return DynamicUpdateSlice(Constant.splat(0, self.operand.type), cotangents[0], self.start_indices)

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
    limbs: ClassVar[str] = "each"
    linear_in: ClassVar[tuple[frozenset[str], ...]] = (frozenset({"operand", "update"}),)
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

    def axes(self) -> Axes:
        sizes = zip(self.update.shape, self.operand.shape, strict=True)
        return axes_in_place(self, [axis for axis, (size, whole) in enumerate(sizes) if size != whole])

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
        x, update = all_batched(operands[:2], is_batched[:2], size)
        first = Constant.of(0, starts[0].dtype if starts else "i32")
        return (DynamicUpdateSlice(x, update, (first, *starts)),)

    def batch_at_own_places(
        self, operands: tuple[Value, ...], is_batched: tuple[bool, ...], size: int
    ) -> tuple[Value, ...] | None:
        """As `batch`, also where the starts differ: a scatter of whole updates.

        It leaves out what a dynamic update moves inside, so the starts are moved before.
        """
        starts, flags = operands[2:], is_batched[2:]
        if not any(flags):
            return self.batch(operands, is_batched, size)
        x, update = all_batched(operands[:2], is_batched[:2], size)
        dtype = starts[0].dtype
        if dtype in ("i4", "ui4"):
            return None
        largest = int(np.iinfo(starts[0].tensor.numpy_dtype).max)
        columns: list[Value] = []
        for start, flag, whole, own in zip(starts, flags, x.shape[1:], update.shape[1:], strict=True):
            column = start if flag else repeated(start, size)
            least, most = (Constant.of(number, dtype, (size,)) for number in (0, min(whole - own, largest)))
            columns.append(Reshape(Clamp(least, column, most), (size, 1)))
        axes = tuple(range(1, len(x.shape)))
        body = make_region([tensor_type((), x.dtype)] * 2, lambda _, new: new)
        places = Concatenate(tuple(columns), 1) if len(columns) > 1 else columns[0]
        return Scatter((x,), places, (update,), axes, (), (0,), (0,), axes, 1, body, unique_indices=True).results

    def elements_written(self) -> int:
        """The update alone: it is written in place."""
        return self.update.tensor.size

    def adds_elements(self) -> bool:
        return True

    def unreplaced(self, position: int) -> Value | None:
        if position != 0:
            return None
        found: Value = Constant.of(False, "i1", self.shape)
        for axis, (start, size, whole) in enumerate(
            zip(self.start_indices, self.update.shape, self.shape, strict=True)
        ):
            if size == whole:
                continue
            largest = int(np.iinfo(start.tensor.numpy_dtype).max) if start.dtype not in ("i4", "ui4") else 7
            least, most = (Constant.of(number, start.dtype) for number in (0, min(whole - size, largest)))
            dtype = "i32" if whole < 1 << 31 else "i64"
            first = Convert(Clamp(least, start, most), dtype)
            end = Add(first, Constant.of(size, dtype))
            index = Iota(self.shape, dtype, axis)
            before = Compare(index, BroadcastInDim(first, self.shape, ()), "LT")
            after = Compare(index, BroadcastInDim(end, self.shape, ()), "GE")
            found = Or(found, Or(before, after))
        return found

    def pullback(self, cotangents: tuple[Value, ...], position: int) -> Value:
        (cotangent,) = cotangents
        if position == 1:
            return DynamicSlice(cotangent, self.start_indices, self.update.shape)
        return DynamicUpdateSlice(cotangent, Constant.splat(0, self.update.type), self.start_indices)

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
