"""Reading and writing at computed places."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from windlass.ir.captures import captures
from windlass.ir.core import Op, Region
from windlass.ir.types import TensorType, Type, tensor_type
from windlass.ir.values import Value
from windlass.ops.axes import CHANGED, Axes, Axis, axes_of
from windlass.ops.base import INTEGER, SMALL_FLOATS, Array, BroadcastInDim, NoDerivative, TensorOp, all_batched
from windlass.ops.combiners import (
    EXTREMES,
    combiner_of,
    combiner_region,
    combiners_of,
    sample_reducer,
    scattering_region,
)
from windlass.ops.comparison import Compare
from windlass.ops.control import regions_are_pure
from windlass.ops.conversion import Convert
from windlass.ops.creation import Constant, Iota
from windlass.ops.elementwise import Add, Divide, Multiply, Select
from windlass.ops.evaluation import Scope, run_pointwise
from windlass.ops.index_vectors import index_axis_positions, index_components, moved_inside, with_components
from windlass.ops.movement import Reshape
from windlass.ops.ranges import Range, RangeOf
from windlass.ops.reduction import reduce_and
from windlass.ops.regions import check_reducer
from windlass.ops.sampling import Draw, Unsuitable


class Gather(TensorOp):
    """A slice of `slice_sizes` for each index vector in start_indices, moved so that it lies inside the operand.

    `index_vector_dim` is the axis of start_indices that holds the components (its rank: they are single numbers);
    component i counts along axis start_index_map[i] of the operand. The slice's axes, without the collapsed and
    batching ones, become the result's axes `offset_dims`; the other axes of the result are those of start_indices.
    """

    name = "stablehlo.gather"
    limbs: ClassVar[str] = "each"
    linear_in: ClassVar[tuple[frozenset[str], ...]] = (frozenset({"operand"}),)
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

    def adds_elements(self) -> bool:
        return True

    def pullback(self, cotangents: tuple[Value, ...], position: int) -> Value:
        """Each slice added where it was taken from: a scatter leaves out what a gather moves inside."""
        (cotangent,) = cotangents
        zeros = Constant.splat(0, self.operand.type)
        if not cotangent.tensor.size:
            return zeros
        limits = [self.operand.shape[axis] - self.slice_sizes[axis] for axis in self.start_index_map]
        return Scatter(
            (zeros,),
            moved_inside(self.start_indices, self.index_vector_dim, limits),
            (cotangent,),
            self.offset_dims,
            self.collapsed_slice_dims,
            self.operand_batching_dims,
            self.start_indices_batching_dims,
            self.start_index_map,
            self.index_vector_dim,
            combiner_region(Add, cotangent.dtype),
            self.indices_are_sorted and len(limits) == 1,
        ).results[0]

    @classmethod
    def sample_operands(cls, draw: Draw) -> tuple[TensorType, ...]:
        operand = tensor_type(draw.shape(least_rank=1, least_size=1), draw.dtype(("f32", "i32", "i1", "bf16", "f64")))
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


class Scatter(TensorOp):
    """The inputs with each window of updates combined into them, by `update_computation`, at its index vector.

    A window that does not lie inside the input as a whole is left out. Where places repeat, the order is not defined.
    """

    name = "stablehlo.scatter"
    limbs: ClassVar[str] = "combine"
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

    def linear_positions(self) -> tuple[frozenset[int], ...]:
        count = len(self.inputs)
        found: list[frozenset[int]] = []
        for place, combiner in enumerate(combiners_of(self.update_computation)):
            if combiner is Add or (self._replaces(place) and self._is_settled):
                found.append(frozenset({place, count + 1 + place}))
            elif combiner is Multiply:
                found.append(frozenset({place}))
        return tuple(found)

    def _replaces(self, place: int) -> bool:
        """Whether each update of that input just replaces what was there."""
        block = self.update_computation.block
        return block.terminator.operands[place] is block.arguments[len(self.inputs) + place]

    def replaces_all(self) -> bool:
        """Whether the updates of each input just replace what was there."""
        return all(map(self._replaces, range(len(self.inputs))))

    @property
    def _is_settled(self) -> bool:
        """Whether no place is written twice."""
        return self.unique_indices or math.prod(self._places_shape) <= 1

    @property
    def _places_shape(self) -> tuple[int, ...]:
        """How many windows there are along each axis of the updates that isn't one of a window."""
        shape = self.updates[0].shape
        return tuple(size for axis, size in enumerate(shape) if axis not in self.update_window_dims)

    def scattered(self, operand: Value, update: Value, combiner: Any = None) -> Value:
        """The updates of one operand at the same places; by a binary op, or in the place of what was there."""
        region = scattering_region(combiner, operand.dtype)
        fields = {"inputs": (operand,), "updates": (update,), "update_computation": region}
        return Scatter.from_fields(self.field_values() | fields).results[0]

    def gathered(self, operand: Value) -> Value:
        """The windows that the updates go to, of another operand of the inputs' shape, each moved inside."""
        taken = (*self.inserted_window_dims, *self.input_batching_dims)
        sizes = iter([self.updates[0].shape[axis] for axis in self.update_window_dims])
        return Gather(
            operand,
            self.scatter_indices,
            self.update_window_dims,
            self.inserted_window_dims,
            self.input_batching_dims,
            self.scatter_indices_batching_dims,
            self.scatter_dims_to_operand_dims,
            self.index_vector_dim,
            tuple(1 if axis in taken else next(sizes) for axis in range(operand.tensor.rank)),
            self.indices_are_sorted,
        )

    def unreplaced(self, position: int) -> Value | None:
        if position >= len(self.inputs) or not self._replaces(position):
            return None
        shape, updates = self.inputs[position].shape, self.updates[position].shape
        return self.scattered(Constant.of(True, "i1", shape), Constant.of(False, "i1", updates))

    def adds_elements(self) -> bool:
        return all(combiner is not Multiply for combiner in combiners_of(self.update_computation))

    def pullback(self, cotangents: tuple[Value, ...], position: int) -> Value:
        count = len(self.inputs)
        place = position % (count + 1)
        cotangent, update = cotangents[place], self.updates[place]
        combiner = combiners_of(self.update_computation)[place]
        if position > count:
            return self._pull_back_update(cotangent)
        if combiner is Add:
            return cotangent
        if combiner is Multiply:
            return self.scattered(cotangent, update, Multiply)
        return self.scattered(cotangent, Constant.splat(0, update.type))

    def _pull_back_update(self, cotangent: Value) -> Value:
        """What stands where the updates went; zero for windows that were left out."""
        update, shape = self.updates[0].tensor, cotangent.shape
        zeros = Constant.of(0, cotangent.dtype, update.shape)
        taken = (*self.inserted_window_dims, *self.input_batching_dims)
        sizes = dict.fromkeys(range(len(shape)), 1)
        kept = [axis for axis in range(len(shape)) if axis not in taken]
        sizes |= {axis: update.shape[own] for axis, own in zip(kept, self.update_window_dims, strict=True)}
        if not update.size or any(size > whole for size, whole in zip(sizes.values(), shape, strict=True)):
            return zeros
        limits = [shape[axis] - sizes[axis] for axis in self.scatter_dims_to_operand_dims]
        moved = moved_inside(self.scatter_indices, self.index_vector_dim, limits)
        found = self.gathered(cotangent)
        if moved is self.scatter_indices:
            return found
        is_inside: Value = Compare(self.scatter_indices, moved, "EQ")
        if self.index_vector_dim < is_inside.tensor.rank:
            is_inside = reduce_and(is_inside, (self.index_vector_dim,))
        axes = tuple(axis for axis in range(update.rank) if axis not in self.update_window_dims)
        return Select(BroadcastInDim(is_inside, update.shape, axes), found, zeros)

    def tangents(self, given: tuple[Value | None, ...]) -> tuple[Value | None, ...]:
        count = len(self.inputs)
        combiners = combiners_of(self.update_computation)
        found: list[Value | None] = []
        for place, (operand, update) in enumerate(zip(given[:count], given[count + 1 :], strict=True)):
            type_, combiner = self.results[place].tensor, combiners[place]
            is_known = combiner in (Add, Multiply, *EXTREMES) or self._replaces(place)
            if not is_known and (type_.is_float or type_.is_complex):
                raise NoDerivative(self)
            if not type_.size or (operand is None and update is None) or not is_known:
                found.append(None)
            elif combiner is Multiply:
                found.append(self._tangent_of_products(place, operand, update))
            elif combiner is Add and update is None:
                found.append(operand)
            else:
                old = operand or Constant.splat(0, type_)
                new = update or Constant.splat(0, self.updates[place].type)
                if combiner is Add:
                    found.append(self.scattered(old, new, Add))
                elif combiner is not None:
                    found.append(self._tangent_of_equals(place, old, new))
                elif self._is_settled:
                    found.append(self.scattered(old, new))
                else:
                    found.append(self._tangent_of_last(old, new))
        return tuple(found)

    @property
    def no_derivative_because(self) -> str:
        return "values that meet at one place are combined in a way that has no derivative"

    def _tangent_of_products(self, place: int, operand: Value | None, update: Value | None) -> Value:
        if update is None:
            assert operand is not None
            return self.scattered(operand, self.updates[place], Multiply)
        if not self._is_settled:
            raise NoDerivative(self)
        zeros = Constant.splat(0, self.inputs[place].type)
        found = Multiply(self.inputs[place], self.scattered(zeros, update, Add))
        return found if operand is None else Add(self.scattered(operand, self.updates[place], Multiply), found)

    def _tangent_of_equals(self, place: int, operand: Value, update: Value) -> Value:
        """The mean tangent of what is equal to the result: what was there, and updates."""
        result = self.results[place]
        is_old = Compare(self.inputs[place], result, "EQ")
        is_new = Compare(self.updates[place], self.gathered(result), "EQ")
        wide = "f32" if operand.dtype in SMALL_FLOATS else operand.dtype

        def chosen(old: Value, new: Value) -> Value:
            none, nothing = Constant.splat(0, old.type), Constant.splat(0, new.type)
            return self.scattered(Select(is_old, old, none), Select(is_new, new, nothing), Add)

        ones = (Constant.of(1, wide, value.shape) for value in (operand, update))
        count = chosen(*ones)
        total = chosen(operand, update)
        return Divide(total, count if wide == total.dtype else Convert(count, total.dtype))

    def _tangent_of_last(self, operand: Value, update: Value) -> Value:
        """By numbers that are written as the updates are: who finds its own number again is the one that stayed."""
        axes = tuple(axis for axis in range(update.tensor.rank) if axis not in self.update_window_dims)
        counted = Iota((math.prod(self._places_shape),), "i32", 0)
        numbers = Reshape(Add(counted, Constant.of(1, "i32", counted.shape)), self._places_shape)
        spread = BroadcastInDim(numbers, update.shape, axes)
        written = self.scattered(Constant.of(0, "i32", operand.shape), spread)
        is_last = Compare(spread, self.gathered(written), "EQ")
        is_old = Compare(written, Constant.splat(0, written.type), "EQ")
        old = Select(is_old, operand, Constant.splat(0, operand.type))
        return self.scattered(old, Select(is_last, update, Constant.splat(0, update.type)), Add)

    @classmethod
    def sample_operands(cls, draw: Draw) -> tuple[TensorType, ...]:
        operand = tensor_type(draw.shape(least_rank=1, least_size=1), draw.dtype(("f32", "i32", "bf16", "ui8", "f64")))
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
