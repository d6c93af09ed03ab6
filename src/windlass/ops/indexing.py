"""Reading and writing at computed places."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from windlass.ir.captures import captures
from windlass.ir.core import Op, Region
from windlass.ir.types import TensorType, Type, tensor_type
from windlass.ir.values import Value
from windlass.ops.axes import CHANGED, Axes, Axis, axes_of
from windlass.ops.base import INTEGER, Array, TensorOp, all_batched
from windlass.ops.combiners import combiner_of, sample_reducer
from windlass.ops.control import regions_are_pure
from windlass.ops.evaluation import Scope, run_pointwise
from windlass.ops.ranges import Range, RangeOf
from windlass.ops.regions import check_reducer
from windlass.ops.sampling import Draw, Unsuitable


class Gather(TensorOp):
    """A slice of `slice_sizes` for each index vector in start_indices, moved so that it lies inside the operand.

    `index_vector_dim` is the axis of start_indices that holds the components (its rank: they are single numbers);
    component i counts along axis start_index_map[i] of the operand. The slice's axes, without the collapsed and
    batching ones, become the result's axes `offset_dims`; the other axes of the result are those of start_indices.
    """

    name = "stablehlo.gather"
    picks_elements: ClassVar[bool] = True
    operand: Value
    start_indices: Value
    offset_dims: tuple[int, ...]
    collapsed_slice_dims: tuple[int, ...]
    operand_batching_dims: tuple[int, ...]
    start_indices_batching_dims: tuple[int, ...]
    start_index_map: tuple[int, ...]
    index_vector_dim: int
    slice_sizes: tuple[int, ...]
    indices_are_sorted: bool = False
    attribute_groups: ClassVar[dict[str, tuple[str, tuple[str, ...]]]] = {
        "dimension_numbers": (
            "#stablehlo.gather",
            (
                "offset_dims",
                "collapsed_slice_dims",
                "operand_batching_dims",
                "start_indices_batching_dims",
                "start_index_map",
                "index_vector_dim",
            ),
        )
    }

    def infer(self) -> Type:
        operand, indices = self.operand.tensor, self.start_indices.tensor
        if indices.dtype not in INTEGER:
            self.fault("I2", f"the indices are {indices}")
        components = index_components(self, indices, self.index_vector_dim, "C2")
        if len(self.start_index_map) != components:
            self.fault("C3", f"{components} components for {self.start_index_map}")
        taken = (*self.collapsed_slice_dims, *self.operand_batching_dims)
        if operand.rank != len(self.offset_dims) + len(taken):
            self.fault("C1", f"rank {operand.rank} does not split")
        if len(set(taken)) != len(taken):
            self.fault("C6", f"{taken} repeats a dimension")
        if len(set(self.start_index_map)) != components:
            self.fault("C10", f"{self.start_index_map} repeats a dimension")
        if len(self.slice_sizes) != operand.rank:
            self.fault("C20", f"{len(self.slice_sizes)} slice sizes")
        for axis, (size, whole) in enumerate(zip(self.slice_sizes, operand.shape, strict=True)):
            if not 0 <= size <= whole:
                self.fault("C21", f"a slice of {size} along axis {axis} of size {whole}")
            if not (size <= 1 or axis not in taken):
                self.fault("C8", f"axis {axis} is dropped but has {size} elements")
        batch = [size for axis, size in enumerate(indices.shape) if axis != self.index_vector_dim]
        offset = [size for axis, size in enumerate(self.slice_sizes) if axis not in taken]
        rank = len(batch) + len(offset)
        places = set(self.offset_dims)
        sorted_inside = list(self.offset_dims) == sorted(places) and all(0 <= place < rank for place in places)
        if not sorted_inside:
            self.fault("C4", f"offset_dims {self.offset_dims} of a result of rank {rank}")
        shape = tuple(offset.pop(0) if axis in places else batch.pop(0) for axis in range(rank))
        return tensor_type(shape, operand.dtype)

    def find_range(self, of: RangeOf) -> Range:
        return of(self.operand)

    def axes(self) -> Axes:
        indices = self.start_indices.tensor
        places: list[Axis | int] = [CHANGED if axis == self.index_vector_dim else axis for axis in range(indices.rank)]
        operand: list[Axis | int] = [CHANGED] * self.operand.tensor.rank
        for axis, other in zip(self.operand_batching_dims, self.start_indices_batching_dims, strict=True):
            operand[axis] = other
        taken = (*self.collapsed_slice_dims, *self.operand_batching_dims)
        windows: list[Axis | int] = []
        for axis, (size, whole) in enumerate(zip(self.slice_sizes, self.operand.shape, strict=True)):
            if axis not in taken:
                windows.append(indices.rank + axis if size == whole else CHANGED)
                operand[axis] = windows[-1]
        others = iter([letter for axis, letter in enumerate(places) if axis != self.index_vector_dim])
        inside = iter(windows)
        result = [next(inside if axis in self.offset_dims else others) for axis in range(self.tensor.rank)]
        return axes_of(self, [operand, places], [result])

    def evaluate(self, operand: Array, start_indices: Array) -> Array:
        vectors = np.moveaxis(with_components(start_indices, self.index_vector_dim), self.index_vector_dim, -1)
        taken = (*self.collapsed_slice_dims, *self.operand_batching_dims)
        batch_axes = index_axis_positions(self.start_indices_batching_dims, self.index_vector_dim)
        batch_shape = vectors.shape[:-1]
        offset_shape = tuple(size for axis, size in enumerate(self.slice_sizes) if axis not in taken)
        rows = np.empty((*batch_shape, *offset_shape), operand.dtype)
        for place in np.ndindex(*batch_shape):
            start = [0] * operand.ndim
            for axis, component in zip(self.start_index_map, vectors[place], strict=True):
                start[axis] = min(max(int(component), 0), operand.shape[axis] - self.slice_sizes[axis])
            for axis, batch_axis in zip(self.operand_batching_dims, batch_axes, strict=True):
                start[axis] = place[batch_axis]
            window = operand[tuple(slice(at, at + size) for at, size in zip(start, self.slice_sizes, strict=True))]
            rows[place] = window.reshape(offset_shape)
        offset_axes = range(len(batch_shape), rows.ndim)
        return np.moveaxis(rows, list(offset_axes), list(self.offset_dims))

    def batch(self, operands: tuple[Value, ...], is_batched: tuple[bool, ...], size: int) -> tuple[Value, ...] | None:
        many_operands, many_indices = is_batched
        if many_operands and not many_indices:
            # The new axis lies in each slice, as a whole.
            return (
                self.with_fields(
                    operands,
                    offset_dims=(0, *_later(self.offset_dims)),
                    collapsed_slice_dims=_later(self.collapsed_slice_dims),
                    operand_batching_dims=_later(self.operand_batching_dims),
                    start_index_map=_later(self.start_index_map),
                    slice_sizes=(size, *self.slice_sizes),
                ),
            )
        shared: dict[str, Any] = {
            "offset_dims": _later(self.offset_dims),
            "start_indices_batching_dims": _later(self.start_indices_batching_dims),
            "index_vector_dim": self.index_vector_dim + 1,
            "indices_are_sorted": False,
        }
        if many_operands:
            shared |= {
                "collapsed_slice_dims": _later(self.collapsed_slice_dims),
                "operand_batching_dims": (0, *_later(self.operand_batching_dims)),
                "start_indices_batching_dims": (0, *_later(self.start_indices_batching_dims)),
                "start_index_map": _later(self.start_index_map),
                "slice_sizes": (1, *self.slice_sizes),
            }
        return (self.with_fields(operands, **shared),)

    @classmethod
    def sample_operands(cls, draw: Draw) -> tuple[TensorType, ...]:
        operand = tensor_type(draw.shape(least_rank=1, least_size=1), draw.dtype(("f32", "i32", "i1", "bf16")))
        components = draw.integer(0, operand.rank)
        batch = draw.shape(most_rank=2)
        return (operand, tensor_type((*batch, components), draw.dtype(("i32", "i64", "ui32", "i8"))))

    @classmethod
    def sample(cls, draw: Draw, *operand_types: TensorType) -> dict[str, Any]:
        operand, indices = operand_types
        sizes = tuple(draw.integer(0, size) for size in operand.shape)
        collapsed = tuple(axis for axis, size in enumerate(sizes) if size == 1 and draw.boolean())
        rank = indices.rank - 1 + operand.rank - len(collapsed)
        return {
            "offset_dims": draw.subset(rank, operand.rank - len(collapsed)),
            "collapsed_slice_dims": collapsed,
            "operand_batching_dims": (),
            "start_indices_batching_dims": (),
            "start_index_map": draw.permutation(operand.rank)[: indices.shape[-1]],
            "index_vector_dim": indices.rank - 1,
            "slice_sizes": sizes,
        }

    def sample_array(self, draw: Draw, position: int) -> Array:
        return draw.array(self._operands[position].tensor)


def _later(axes: tuple[int, ...]) -> tuple[int, ...]:
    """The axes behind a new first one."""
    return tuple(axis + 1 for axis in axes)


def index_components(op: TensorOp, indices: TensorType, index_vector_dim: int, constraint: str) -> int:
    """How many components each index vector has."""
    inside = 0 <= index_vector_dim <= indices.rank
    if not inside:
        op.fault(constraint, f"index_vector_dim {index_vector_dim} of indices of rank {indices.rank}")
    return indices.shape[index_vector_dim] if index_vector_dim < indices.rank else 1


def with_components(indices: Array, index_vector_dim: int) -> Array:
    """The indices with an axis for the components, also where they are single numbers."""
    return indices[..., np.newaxis] if index_vector_dim == indices.ndim else indices


def index_axis_positions(axes: tuple[int, ...], index_vector_dim: int) -> tuple[int, ...]:
    """Where axes of the indices stand once the axis of components is taken out."""
    return tuple(axis - (axis > index_vector_dim) for axis in axes)


class Scatter(TensorOp):
    """The inputs with each window of updates combined into them, by `update_computation`, at its index vector.

    A window that does not lie inside the input as a whole is left out. Where places repeat, the order is not defined.
    """

    name = "stablehlo.scatter"
    inputs: tuple[Value, ...]
    scatter_indices: Value
    updates: tuple[Value, ...]
    update_window_dims: tuple[int, ...]
    inserted_window_dims: tuple[int, ...]
    input_batching_dims: tuple[int, ...]
    scatter_indices_batching_dims: tuple[int, ...]
    scatter_dims_to_operand_dims: tuple[int, ...]
    index_vector_dim: int
    update_computation: Region
    indices_are_sorted: bool = False
    unique_indices: bool = False
    needs_scope: ClassVar[bool] = True
    attribute_groups: ClassVar[dict[str, tuple[str, tuple[str, ...]]]] = {
        "scatter_dimension_numbers": (
            "#stablehlo.scatter",
            (
                "update_window_dims",
                "inserted_window_dims",
                "input_batching_dims",
                "scatter_indices_batching_dims",
                "scatter_dims_to_operand_dims",
                "index_vector_dim",
            ),
        )
    }

    def infer(self) -> tuple[Type, ...]:
        inputs, updates = self.inputs, self.updates
        indices = self.scatter_indices.tensor
        first, update = inputs[0].tensor, updates[0].tensor
        if len(inputs) != len(updates):
            self.fault("C5", f"{len(inputs)} inputs, {len(updates)} updates")
        if indices.dtype not in INTEGER:
            self.fault("I2", f"the indices are {indices}")
        for value, other in zip(inputs, updates, strict=True):
            if value.shape != first.shape:
                self.fault("C1", f"the inputs differ in shape: {first} and {value.type}")
            if other.shape != update.shape:
                self.fault("C3", f"the updates differ in shape: {update} and {other.type}")
            if value.dtype != other.dtype:
                self.fault("C6", f"{value.type} is updated with {other.type}")
        taken = (*self.inserted_window_dims, *self.input_batching_dims)
        window = self.update_window_dims
        if first.rank != len(window) + len(taken):
            self.fault("C2", f"rank {first.rank} does not split")
        if len(set(taken)) != len(taken):
            self.fault("C10", f"{taken} repeats a dimension")
        inside = list(window) == sorted(set(window)) and all(0 <= axis < update.rank for axis in window)
        if not inside:
            self.fault("C7", f"update_window_dims {window} of an update of rank {update.rank}")
        components = index_components(self, indices, self.index_vector_dim, "C22")
        mapped = self.scatter_dims_to_operand_dims
        if len(mapped) != components:
            self.fault("C19", f"{components} components for {mapped}")
        distinct = len(set(mapped)) == components and all(0 <= axis < first.rank for axis in mapped)
        if not distinct:
            self.fault("C20", f"scatter_dims_to_operand_dims {mapped}")
        batch = [size for axis, size in enumerate(indices.shape) if axis != self.index_vector_dim]
        found = [size for axis, size in enumerate(update.shape) if axis not in window]
        if batch != found:
            self.fault("C4", f"the update {update} does not fit the indices {indices}")
        whole = [size for axis, size in enumerate(first.shape) if axis not in taken]
        fits = all(update.shape[axis] <= size for axis, size in zip(window, whole, strict=True))
        if not fits:
            self.fault("C4", f"the window of {update} is larger than {first}")
        dtypes = check_reducer(self, self.update_computation, [value.dtype for value in inputs], "C23")
        return tuple(tensor_type(first.shape, dtype) for dtype in dtypes)

    @property
    def combiner(self) -> type[Op] | None:
        """The class of the binary op that the computation applies, if it is one op."""
        return combiner_of(self.update_computation)

    @property
    def is_overwrite(self) -> bool:
        """Whether each update just replaces what was there."""
        block = self.update_computation.block
        return block.first is block.last and block.terminator.operands == tuple(block.arguments[len(self.inputs) :])

    @property
    def is_pure(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Whether nothing in the computation has an effect."""
        return regions_are_pure(self)

    def axes(self) -> Axes:
        count, updates = len(self.inputs), self.updates[0].tensor
        indices: list[Axis | int] = [CHANGED] * self.scatter_indices.tensor.rank
        given: list[Axis | int] = [CHANGED] * self.inputs[0].tensor.rank
        changes: list[Axis | int] = [CHANGED] * updates.rank
        places = [axis for axis in range(updates.rank) if axis not in self.update_window_dims]
        own = index_axis_positions(self.scatter_indices_batching_dims, self.index_vector_dim)
        batching = zip(self.input_batching_dims, self.scatter_indices_batching_dims, own, strict=True)
        for axis, index_axis, position in batching:
            given[axis] = indices[index_axis] = changes[places[position]] = axis
        taken = (*self.inserted_window_dims, *self.input_batching_dims)
        kept = [axis for axis in range(len(given)) if axis not in taken]
        for axis, update_axis in zip(kept, self.update_window_dims, strict=True):
            if updates.shape[update_axis] == self.inputs[0].shape[axis]:
                given[axis] = changes[update_axis] = axis
        return axes_of(self, [*[given] * count, indices, *[changes] * count], [given] * count)

    def evaluate(self, *arrays: Array, scope: Scope | None = None) -> tuple[Array, ...]:
        count = len(self.inputs)
        results = [array.copy() for array in arrays[:count]]
        indices, updates = arrays[count], arrays[count + 1 :]
        vectors = np.moveaxis(with_components(indices, self.index_vector_dim), self.index_vector_dim, -1)
        batch_axes = index_axis_positions(self.scatter_indices_batching_dims, self.index_vector_dim)
        taken = (*self.inserted_window_dims, *self.input_batching_dims)
        shape = results[0].shape
        update_shape = updates[0].shape
        kept = [axis for axis in range(len(shape)) if axis not in taken]
        sizes = [1] * len(shape)
        for axis, update_axis in zip(kept, self.update_window_dims, strict=True):
            sizes[axis] = update_shape[update_axis]
        scatter_axes = [axis for axis in range(len(update_shape)) if axis not in self.update_window_dims]
        for place in np.ndindex(*vectors.shape[:-1]):
            start = [0] * len(shape)
            for axis, component in zip(self.scatter_dims_to_operand_dims, vectors[place], strict=True):
                start[axis] = int(component)
            for axis, batch_axis in zip(self.input_batching_dims, batch_axes, strict=True):
                start[axis] = place[batch_axis]
            bounds = list(zip(start, sizes, shape, strict=True))
            if not all(at >= 0 and at + size <= whole for at, size, whole in bounds):
                continue
            window = tuple(slice(at, at + size) for at, size, _ in bounds)
            chosen: list[Any] = [slice(None)] * len(update_shape)
            for axis, index in zip(scatter_axes, place, strict=True):
                chosen[axis] = index
            old = [result[window] for result in results]
            new = [update[tuple(chosen)].reshape(sizes) for update in updates]
            for result, value in zip(
                results, run_pointwise(self.update_computation, scope or Scope(), *old, *new), strict=True
            ):
                result[window] = value
        return tuple(results)

    def batch(self, operands: tuple[Value, ...], is_batched: tuple[bool, ...], size: int) -> tuple[Value, ...] | None:
        count = len(self.inputs)
        if captures(self.update_computation):
            return None
        arrays = (*operands[:count], *operands[count + 1 :])
        arrays = all_batched(arrays, (*is_batched[:count], *is_batched[count + 1 :]), size)
        inputs, updates, indices = arrays[:count], arrays[count:], operands[count]
        fields: dict[str, Any] = {
            "inserted_window_dims": _later(self.inserted_window_dims),
            "input_batching_dims": _later(self.input_batching_dims),
            "scatter_dims_to_operand_dims": _later(self.scatter_dims_to_operand_dims),
            "update_window_dims": _later(self.update_window_dims),
        }
        if is_batched[count]:
            fields |= {
                "input_batching_dims": (0, *fields["input_batching_dims"]),
                "scatter_indices_batching_dims": (0, *_later(self.scatter_indices_batching_dims)),
                "index_vector_dim": self.index_vector_dim + 1,
                "indices_are_sorted": False,
            }
        else:
            # The new axis lies in each window, as a whole.
            fields["update_window_dims"] = (0, *fields["update_window_dims"])
        fields["update_computation"] = self.update_computation.clone({})
        return self.with_fields((*inputs, indices, *updates), **fields).results

    def flops(self) -> int:
        """One computation for each element of the updates, and the test of whether it lies inside."""
        return sum(1 for _ in self.update_computation.walk()) * self.updates[0].tensor.size

    @classmethod
    def sample_operands(cls, draw: Draw) -> tuple[TensorType, ...]:
        operand = tensor_type(draw.shape(least_rank=1, least_size=1), draw.dtype(("f32", "i32", "bf16", "ui8")))
        batch = draw.shape(most_rank=2)
        # With no component at all XLA applies one update only.
        components = draw.integer(1, operand.rank)
        kept = draw.subset(operand.rank)
        window = [draw.integer(0, operand.shape[axis]) for axis in kept]
        return (
            operand,
            tensor_type((*batch, components), draw.dtype(("i32", "i64", "ui32"))),
            tensor_type((*batch, *window), operand.dtype),
        )

    @classmethod
    def sample(cls, draw: Draw, *operand_types: TensorType) -> dict[str, Any]:

        operand, indices, update = operand_types
        batch_rank = indices.rank - 1
        window = tuple(range(batch_rank, update.rank))
        kept = draw.subset(operand.rank, len(window))
        if any(update.shape[place] > operand.shape[axis] for place, axis in zip(window, kept, strict=True)):
            raise Unsuitable
        return {
            "update_window_dims": window,
            "inserted_window_dims": tuple(axis for axis in range(operand.rank) if axis not in kept),
            "input_batching_dims": (),
            "scatter_indices_batching_dims": (),
            "scatter_dims_to_operand_dims": draw.permutation(operand.rank)[: indices.shape[-1]],
            "index_vector_dim": batch_rank,
            "update_computation": sample_reducer(draw, [operand.dtype]),
        }

    def sample_array(self, draw: Draw, position: int) -> Array:
        type_ = self._operands[position].tensor
        return draw.array(type_, -1, 4) if position == 1 else draw.tame_array(type_)
