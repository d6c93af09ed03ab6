"""Arrays of a tensor program as loops over elements: what an element is computed of, and where arrays are written.

An op that gives an array of more than one element is written where its elements are asked for, within the loops over
what is written to memory. Ops that give one element are written at once.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence

from windlass.ir import Block, BufferType, Builder, Op, Region, TensorType, Value, tensor_type
from windlass.loops import For, If, Yield
from windlass.native.arithmetic import calls_library
from windlass.native.refusal import NotNative
from windlass.native.tensor_elements import (
    FIRST,
    Elements,
    Memory,
    Place,
    Places,
    Written,
    add_places,
    as_dtype,
    as_i64,
    byte_of,
    in_one_part,
    in_padding,
    load,
    moved_inside,
    store,
)
from windlass.ops.base import BroadcastInDim, TensorOp
from windlass.ops.comparison import Compare
from windlass.ops.creation import Constant, Iota
from windlass.ops.dynamic_slices import DynamicSlice, DynamicUpdateSlice
from windlass.ops.elementwise import And, Multiply, Select, Sign
from windlass.ops.extremes import Clamp, Maximum, Minimum
from windlass.ops.functions import Power
from windlass.ops.indexing import Gather, Scatter
from windlass.ops.movement import Concatenate, Pad, Reshape, Reverse, Slice, Transpose
from windlass.ops.reduction import Reduce

MOST_ELEMENTS = 1 << 12
"""Larger arrays are computed by XLA, on several threads."""


class ArrayWriter(ABC):
    """Writes arrays where the active builder is. `values` are what stands for those written.

    `function` is the body of the function, whose last arguments have room for arrays that are computed on the way.
    """

    def __init__(self, function: Block) -> None:
        self.values: dict[Value, Written] = {}
        self.rooms: list[TensorType] = []
        """The arrays for which the function has room, in its last arguments."""
        self._function = function
        self._done: set[Op] = set()
        self._begun: set[Op] = set()
        self._known: list[dict[tuple[Value, Places], Value]] = []
        """Elements that were computed in the loops around, from the outermost to the innermost."""

    @abstractmethod
    def block(self, block: Block) -> list[Value]:
        """Write the ops of a block; gives what it returns."""

    def number(self, value: Value) -> Value:
        """What stands for a value of one element."""
        if isinstance(value, Constant):
            return as_number(value)
        found = self.values[value]
        assert isinstance(found, Value), value
        return found

    def element(self, value: Value, places: Places) -> Value:
        """What an array has at a place."""
        if is_splat(value):
            assert isinstance(value, Constant)
            return as_number(value)
        found = self.values[value]
        if isinstance(found, Value):
            return found
        for known in self._known:
            if (value, places) in known:
                return known[value, places]
        if isinstance(found, Memory):
            element = element_in(found, places)
        else:
            element = found.at(places)
        if self._known:
            self._known[-1][value, places] = element
        return element

    def memory(self, value: Value) -> Memory:
        """Where an array is, which is put there if it is nowhere yet."""
        found = self.values.get(value)
        if not isinstance(found, Memory):
            found = self.values[value] = self.copied(value)
        return found

    def own_memory(self, value: Value) -> Memory:
        """Where an array is that is going to change: a place of its own."""
        found = self.values.get(value)
        return found if isinstance(found, Memory) and not isinstance(value, Constant) else self.copied(value)

    def copied(self, value: Value) -> Memory:
        room = self.room_for(value.tensor)
        self.fill(room, lambda places: self.element(value, places), value.tensor.shape)
        return room

    def room_for(self, type_: TensorType) -> Memory:
        if type_.size > MOST_ELEMENTS:
            raise NotNative(f"an array of {type_.size} elements is computed in each round")
        self.rooms.append(type_)
        return Memory(self._function.add_argument(BufferType.of("global")), type_)

    def fill(
        self, target: Memory, at: Callable[[Places], Value], shape: Sequence[int], starts: Places | None = None
    ) -> None:
        """Write an array of that shape to a memory, from these places on."""
        starts = starts or (FIRST,) * len(shape)

        def write(places: Places) -> None:
            found = at(places)
            store(found, target.buffer, byte_of(target.type, tuple(map(add_places, starts, places))))

        self._at_each(shape, (), write)

    def _at_each(self, extents: Sequence[int], places: Places, write: Callable[[Places], None]) -> None:
        """Loops over all places of a box, the last axis innermost."""
        if not extents:
            self._known.append({})
            write(places)
            self._known.pop()
        elif extents[0] == 1:
            self._at_each(extents[1:], (*places, FIRST), write)
        else:
            body = Block([tensor_type((), "i64")])
            with Builder(body):
                self._at_each(extents[1:], (*places, Place(body.arguments[0], 0)), write)
                Yield(())
            For(Constant.of(extents[0], "i64"), (), Region(body))

    def written(self, value: Value) -> Written:
        """What stands for a value."""
        if not isinstance(value, Constant) or value in self.values:
            return self.values[value]
        if is_number(value):
            return as_number(value)
        return Elements(value.tensor, lambda places: self.element(value, places), frozenset())

    # -- ops ----------------------------------------------------------------------------------------------------------

    def elements_of(self, op: TensorOp) -> Callable[[Places], Value]:
        """How an element of the op's result is computed."""
        element = self.element
        match op:
            case Iota():
                return lambda places: as_dtype(places[op.iota_dimension].value(), op.dtype)
            case Clamp():
                return lambda at: self._clamped(*(element(each, at if each.shape else ()) for each in op.operands))
            case BroadcastInDim():
                return lambda places: element(op.operand, _before_broadcast(op, places))
            case Reshape():
                return lambda places: element(op.operand, _before_reshape(op, places))
            case Transpose():
                return lambda places: element(op.operand, _before_transpose(op, places))
            case Reverse():
                return lambda places: element(op.operand, _before_reverse(op, places))
            case Slice():
                return lambda places: element(
                    op.operand,
                    tuple(
                        place.times(stride).moved(start)
                        for place, stride, start in zip(places, op.strides, op.start_indices, strict=True)
                    ),
                )
            case DynamicSlice():
                starts = self._starts(op.operand.tensor, op.start_indices, op.slice_sizes)
                return lambda places: element(op.operand, tuple(map(add_places, starts, places)))
            case DynamicUpdateSlice():  # of a single element
                return lambda places: element(op.update, places)
            case Pad() if not any(op.interior_padding) and min((*op.operand.shape, 1)) > 0:
                padding = self.number(op.padding_value)
                return lambda places: in_padding(op, places, element, padding)
            case Concatenate():
                return lambda places: in_one_part(op, places, element)
            case Gather() if not op.operand_batching_dims:
                return lambda places: self._gathered(op, places)
            case Reduce():
                return lambda places: self.folded(op, places)[0]
            case Power() if is_square(op):
                return lambda places: self._squared(element(op.operands[0], places))
            case Sign() if not op.tensor.is_complex:
                return lambda places: self._sign_of(element(op.operand, places))
            case _ if op.is_elementwise and not op.regions:
                return lambda at: self._applied(op, [element(each, at if each.shape else ()) for each in op.operands])
            case _:
                raise NotNative(f"{type(op).__name__} has no native code", op.source)

    def _applied(self, op: Op, given: Sequence[Value]) -> Value:
        """The op at rank 0."""
        copy = op.clone(dict(zip(op.operands, given, strict=True)))
        copy.extra = None
        return copy

    def _squared(self, number: Value) -> Value:
        return Multiply(number, number)

    def _sign_of(self, number: Value) -> Value:
        """-1 or 1; zeros of both signs and NaN are what they are."""
        zero = Constant.of(0, number.dtype)
        above, below = (Compare(number, zero, direction) for direction in ("GT", "LT"))
        lower = Select(below, Constant.of(-1, number.dtype), number)
        return Select(above, Constant.of(1, number.dtype), lower)

    def _clamped(self, low: Value, operand: Value, high: Value) -> Value:
        return Minimum(Maximum(operand, low), high)

    def folded(self, op: Reduce, places: Places) -> list[Value]:
        """Folds in the order of the elements."""
        shape = op.inputs[0].shape
        extents = [shape[axis] for axis in op.dimensions]

        def fold(inner: Places, before: Sequence[Value]) -> list[Value]:
            """All rounds over the axes from `len(inner)` on."""
            if len(inner) == len(extents):
                given, rest = dict(zip(op.dimensions, inner, strict=True)), iter(places)
                at = tuple(given[axis] if axis in given else next(rest) for axis in range(len(shape)))
                return self._combined(op.body.block, [*before, *(self.element(array, at) for array in op.inputs)])
            body = Block([tensor_type((), "i64"), *(each.type for each in before)])
            number, *carried = body.arguments
            with Builder(body, source=op.source):
                self._known.append({})
                Yield(tuple(fold((*inner, Place(number, 0)), carried)))
                self._known.pop()
            return list(For(Constant.of(extents[len(inner)], "i64"), tuple(before), Region(body)).results)

        return fold((), [self.number(initial) for initial in op.init_values])

    def _combined(self, block: Block, given: Sequence[Value]) -> list[Value]:
        for known in (self._done, self._begun):  # it is written again and again
            known.difference_update(block)
        self.values.update(zip(block.arguments, given, strict=True))
        return [self.number(result) for result in self.block(block)]

    def _starts(self, array: TensorType, starts: Sequence[Value], sizes: Sequence[int]) -> Places:
        """Where a slice begins, moved so that it lies in the array."""
        found: list[Place] = []
        for start, extent, size in zip(starts, array.shape, sizes, strict=True):
            found.append(moved_inside(self.number(start), extent - size))
        return tuple(found)

    def update(self, op: DynamicUpdateSlice) -> None:
        """Write where the array is. What is computed from what is there is computed first."""
        memory = self.own_memory(op.operand)
        starts = self._starts(memory.type, op.start_indices, op.update.shape)
        if memory.buffer in buffers_of([self.values.get(op.update)]):
            self.values[op.update] = self.copied(op.update)
        self.fill(memory, lambda places: self.element(op.update, places), op.update.shape, starts)
        self.values[op] = memory

    def _index(self, op: Gather | Scatter, rows: Places) -> dict[int, Value]:
        """The components of an index vector, by the axis that they count along."""
        if isinstance(op, Gather):
            indices, axes = op.start_indices, op.start_index_map
        else:
            indices, axes = op.scatter_indices, op.scatter_dims_to_operand_dims
        found: dict[int, Value] = {}
        for component, axis in enumerate(axes):
            at = list(rows)
            if op.index_vector_dim < len(indices.shape):
                at.insert(op.index_vector_dim, Place(None, component))
            found[axis] = self.element(indices, tuple(at))
        return found

    def _gathered(self, op: Gather, places: Places) -> Value:
        rows = tuple(place for axis, place in enumerate(places) if axis not in op.offset_dims)
        window = iter([places[axis] for axis in op.offset_dims])
        index = self._index(op, rows)
        at: list[Place] = []
        for axis, (extent, size) in enumerate(zip(op.operand.shape, op.slice_sizes, strict=True)):
            start = moved_inside(index[axis], extent - size) if axis in index else FIRST
            at.append(start if axis in op.collapsed_slice_dims else add_places(start, next(window)))
        return self.element(op.operand, tuple(at))

    def scatter(self, op: Scatter) -> None:
        """One window, if it lies in the array."""
        (array,), (update,) = op.inputs, op.updates
        shape = update.shape
        if op.input_batching_dims or any(shape[axis] > 1 for axis in _rows_of(op)):
            raise NotNative("a scatter to more than one place", op.source)
        memory = self.own_memory(array)
        rows = len(op.scatter_indices.shape) - (op.index_vector_dim < len(op.scatter_indices.shape))
        index = self._index(op, (FIRST,) * rows)
        if memory.buffer in buffers_of([self.values.get(update)]):
            self.values[update] = self.copied(update)
        windows = iter(op.update_window_dims)
        axes = [None if axis in op.inserted_window_dims else next(windows) for axis in range(len(array.shape))]
        inside: Value = Constant.of(True, "i1")
        starts = [FIRST] * len(array.shape)
        for axis, number in index.items():
            window = axes[axis]
            starts[axis] = moved_inside(number, array.shape[axis] - (1 if window is None else shape[window]))
            inside = And(inside, Compare(starts[axis].value(), as_i64(number), "EQ"))

        def combine(places: Places) -> None:
            inner = [FIRST if axis is None else places[axis] for axis in axes]
            byte = byte_of(memory.type, tuple(map(add_places, starts, inner)))
            before = load(memory.buffer, byte, memory.type.dtype)
            (after,) = self._combined(op.update_computation.block, [before, self.element(update, places)])
            store(after, memory.buffer, byte)

        yes, no = Block(), Block()
        with Builder(yes, source=op.source):
            self._at_each(shape, (), combine)
            Yield(())
        with Builder(no):
            Yield(())
        If(inside, Region(yes), Region(no))
        (result,) = op.results
        self.values[result] = memory


def _rows_of(op: Scatter) -> list[int]:
    """The axes of the updates that count windows."""
    return [axis for axis in range(len(op.updates[0].shape)) if axis not in op.update_window_dims]


def element_in(memory: Memory, places: Places) -> Value:
    return load(memory.buffer, byte_of(memory.type, places), memory.type.dtype)


def buffers_of(values: Iterable[Written | None]) -> frozenset[Value]:
    """The memories that are read where these are computed with."""
    found: set[Value] = set()
    for value in values:
        if isinstance(value, Memory):
            found.add(value.buffer)
        elif isinstance(value, Elements):
            found |= value.buffers
    return frozenset(found)


def _before_broadcast(op: BroadcastInDim, places: Places) -> Places:
    pairs = zip(op.operand.shape, op.broadcast_dimensions, strict=True)
    return tuple(FIRST if extent == 1 else places[axis] for extent, axis in pairs)


def _before_transpose(op: Transpose, places: Places) -> Places:
    return tuple(places[op.permutation.index(axis)] for axis in range(len(places)))


def _before_reverse(op: Reverse, places: Places) -> Places:
    return tuple(
        place.from_end(op.shape[axis]) if axis in op.dimensions else place for axis, place in enumerate(places)
    )


def _before_reshape(op: Reshape, places: Places) -> Places:
    """The places of the operand, where only axes of one element come or go."""
    kept = [place for place, extent in zip(places, op.shape, strict=True) if extent > 1]
    if [extent for extent in op.operand.shape if extent > 1] != [extent for extent in op.shape if extent > 1]:
        raise NotNative("an array that is computed in each round takes another shape", op.source)
    rest = iter(kept)
    return tuple(next(rest) if extent > 1 else FIRST for extent in op.operand.shape)


def as_number(value: Constant) -> Value:
    return Constant.of(value.value.data.reshape(()), value.dtype)


def is_number(value: Value) -> bool:
    return isinstance(value.type, TensorType) and value.type.size == 1


def is_square(op: Op) -> bool:
    """Whether it is `x ** 2`, which NumPy multiplies."""
    exponent = op.operands[1] if isinstance(op, Power) else None
    return isinstance(exponent, Constant) and is_splat(exponent) and exponent.value.data.flat[0] == 2


def is_function(op: Op) -> bool:
    """Whether it is a function of the C library."""
    return calls_library(op) and not is_square(op)


def is_splat(value: Value) -> bool:
    """Whether the value is one known number, or an array of one."""
    return isinstance(value, Constant) and value.value.data.size == 1
