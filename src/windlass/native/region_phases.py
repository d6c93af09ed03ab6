"""One phase of a region of tensor ops: an array, or some numbers, computed as a launch whose threads are rows.

A thread writes a row of the array, or a run of neighbouring rows where these are short. Values that are in no memory
are computed where their elements are asked for. Where borders are put around arrays, or parts of them replaced, the
inside is a launch of its own, in which nothing is chosen, and what is around it another one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from windlass.facts.cost import CPU
from windlass.facts.indices import IndexReader
from windlass.facts.threads import thread_ids
from windlass.ir import Block, BufferType, Builder, Function, Op, Region, TensorType, Value, tensor_type
from windlass.ir.captures import captures
from windlass.loops import LAUNCH_DIMENSIONS, For, Parallel, Yield
from windlass.loops.launch_specification import LaunchSpecification, MemorySpecification, PointerArgument
from windlass.native.block_plan import compile_kernel
from windlass.native.launch_facts import LaunchFacts, MemoryFacts
from windlass.native.machine import has_vector_function
from windlass.native.plan import NativeCode
from windlass.native.refusal import NotNative
from windlass.native.region_places import Box, effort_of, rows_of, volume
from windlass.native.tensor_arrays import ArrayWriter, element_in, is_function, is_number, is_splat
from windlass.native.tensor_elements import (
    DTYPES,
    FIRST,
    Elements,
    Memory,
    Place,
    Places,
    Written,
    add_places,
    as_i64,
    byte_of,
    minus,
    plus,
    store,
    stored_dtype,
)
from windlass.native.tensor_loops import MOST_CALLS
from windlass.ops.base import TensorOp
from windlass.ops.comparison import Compare
from windlass.ops.conversion import byte_width
from windlass.ops.creation import Constant
from windlass.ops.dynamic_slices import DynamicUpdateSlice
from windlass.ops.elementwise import And, Divide, Multiply, Remainder, Select
from windlass.ops.extremes import Maximum, Minimum
from windlass.ops.regions import Return
from windlass.parallel.known_conditions import fold_known_conditions

RATE = CPU.arithmetic / 2
"""Operations a second, of one thread."""
ONE = (1, 1, 1, 1, 1, 1)
"""Of one thread."""


@dataclass(frozen=True)
class Phase:
    """What one launch computes: values, each for a memory. `memories` has where what it reads is by then."""

    values: tuple[Value, ...]
    targets: tuple[int, ...]
    memories: Mapping[Value, int]
    in_place: bool = False
    """Whether the one value is an update that is written into the memory of the array, which is the target."""
    boxes: tuple[Box, ...] = ()
    """The parts of what is written that this launch does: each by many threads if it is alone."""

    def seconds(self) -> float:
        """How long one thread takes, by estimate: it is done before then if arrays are in the cache."""
        if all(map(is_number, self.values)):
            return 0.0
        (value,) = self.values
        if self.in_place:
            assert isinstance(value, DynamicUpdateSlice)
            value = value.update
        elements = sum(map(volume, self.boxes))
        return elements * effort_of(value, self.memories) / RATE


def compile_phase(phase: Phase, types: Sequence[TensorType], name: str, *, is_exact: bool) -> NativeCode:
    """Native code of a phase that is given memories of these types. If it `is_exact`, it uses no functions of libmvec.

    Raises NotNative where there is none, or where it might leave its memories.
    """
    block = Block([BufferType.of("global") for _ in types])
    body = Block([tensor_type((), "i32") for _ in LAUNCH_DIMENSIONS])
    memories = {value: Memory(block.arguments[slot], value.tensor) for value, slot in phase.memories.items()}
    writer = PhaseWriter(block, memories, is_exact=is_exact)
    source = phase.values[0].source if isinstance(phase.values[0], Op) else None
    targets = [Memory(block.arguments[slot], types[slot]) for slot in phase.targets]
    with Builder(body, source=source):
        rows = writer.phase(phase, targets, body.arguments)
        Yield(())
    with Builder(block, source=source):
        extents = [Constant.of(extent, "i32") for extent in rows]
        Parallel(tuple(extents), LAUNCH_DIMENSIONS, Region(body))
        Return(())
    if writer.rooms:
        raise NotNative("an array is computed in each row", source)
    function = Function(name, block)
    sizes = tuple(MemorySpecification(_bytes(type_), stored_dtype(type_.dtype).removeprefix("u")) for type_ in types)
    grid, blocks = (rows[0], rows[1], rows[2]), (rows[3], rows[4], rows[5])
    specification = LaunchSpecification(grid, blocks, 0, tuple(map(PointerArgument, range(len(types)))), sizes)
    launch = next(op for op in function.body if isinstance(op, Parallel))
    fold_known_conditions(launch.body.block, IndexReader.of_launch(launch, thread_ids(function, launch, specification)))
    known = tuple(MemoryFacts(_bytes(type_), byte_width(stored_dtype(type_.dtype))) for type_ in types)
    facts = LaunchFacts(rows, known, is_exact=is_exact, names=tuple(f"array {place}" for place in range(len(types))))
    code = compile_kernel(function, facts, is_independent=True)
    if code.sites:
        raise NotNative("an access is not known to stay within its array", source)
    return code


def _bytes(type_: TensorType) -> int:
    return type_.size * byte_width(stored_dtype(type_.dtype))


class PhaseWriter(ArrayWriter):
    """Writes what a thread does. `memories` are those of values that are in one by then."""

    def __init__(self, function: Block, memories: Mapping[Value, Memory], *, is_exact: bool) -> None:
        super().__init__(function)
        self._memories = memories
        self._is_exact = is_exact
        self._calls_vectors = False
        """Whether functions of libmvec are called, for which neighbours have to be in the lanes of vectors."""

    def block(self, block: Block) -> list[Value]:
        for op in block:
            if op is not block.terminator:
                self.values[op] = self._value_of(op)
        return list(block.terminator.operands)

    def require(self, value: Value) -> None:
        """Have something stand for the value: what is in no memory is computed, arrays where they are asked for."""
        pending = [value]
        while pending:
            each = pending[-1]
            if each in self.values or is_splat(each):
                pending.pop()
            elif each in self._memories:
                memory = self._memories[each]
                self.values[each] = element_in(memory, (FIRST,) * len(each.tensor.shape)) if is_number(each) else memory
                pending.pop()
            elif isinstance(each, Op):
                taken = [*each.operands, *(found for region in each.regions for found in captures(region))]
                missing = [found for found in taken if found not in self.values and not is_splat(found)]
                if missing:
                    pending += missing
                else:
                    self.values[each] = self._value_of(each)
                    pending.pop()
            else:
                raise NotNative("a value that is nowhere")

    def _value_of(self, op: Op) -> Written:
        if not isinstance(op, TensorOp) or len(op.results) != 1 or op.dtype not in DTYPES:
            raise NotNative(f"{type(op).__name__} of {op.type} has no native code", op.source)
        if isinstance(op, DynamicUpdateSlice) and not is_number(op):
            return Elements(op.tensor, self._updated(op), frozenset())
        if is_function(op) and op.tensor.size > MOST_CALLS:
            if not has_vector_function(op, is_exact=self._is_exact):
                raise NotNative(f"{type(op).__name__} of {op.tensor.size} elements in each round", op.source)
            self._calls_vectors = True
        at = self.elements_of(op)
        return at((FIRST,) * len(op.shape)) if is_number(op) else Elements(op.tensor, at, frozenset())

    def _updated(self, op: DynamicUpdateSlice) -> Callable[[Places], Value]:
        """An element of an array of which a part is replaced."""
        starts = self._starts(op.operand.tensor, op.start_indices, op.update.shape)

        def at(places: Places) -> Value:
            inner: list[Place] = []
            inside: Value | None = None
            for place, start, extent, size in zip(places, starts, op.shape, op.update.shape, strict=True):
                if size == extent:
                    inner.append(place)
                    continue
                number = minus(place.value(), start.value())
                kept = Minimum(Maximum(number, Constant.of(0, "i64")), Constant.of(size - 1, "i64"))
                holds = Compare(number, kept, "EQ")
                inside = holds if inside is None else And(inside, holds)
                inner.append(Place(kept, 0))
            new = self.element(op.update, tuple(inner))
            return new if inside is None else Select(inside, new, self.element(op.operand, places))

        return at

    # -- rows ---------------------------------------------------------------------------------------------------------

    def phase(self, phase: Phase, targets: Sequence[Memory], ids: Sequence[Value]) -> tuple[int, ...]:
        """Write what a thread does; gives how many threads there are along each dimension of the launch."""
        if all(map(is_number, phase.values)):
            for value in phase.values:
                self.require(value)
            numbers = [self.number(value) for value in phase.values]
            for number, target in zip(numbers, targets, strict=True):
                store(number, target.buffer, Constant.of(0, "i64"))
            return ONE
        (value,), (target,) = phase.values, targets
        starts: Places = (FIRST,) * len(value.tensor.shape)
        if phase.in_place:
            assert isinstance(value, DynamicUpdateSlice)
            for each in (value.update, *value.start_indices):
                self.require(each)
            starts = self._starts(value.operand.tensor, value.start_indices, value.update.shape)
            value = value.update
        else:
            self.require(value)
        target = Memory(target.buffer, phase.values[0].tensor)

        def write(places: Places) -> None:
            there = tuple(map(add_places, starts, places))
            store(self.element(value, places), target.buffer, byte_of(target.type, there))

        box, *more = phase.boxes
        if self._calls_vectors and not more:
            *others, (first, last) = box
            places, (_, *rows) = _rows(tuple(others), ids)
            write((*places, Place(as_i64(ids[0]), first)))
            return (last - first, *rows)
        kept, run = rows_of(box)
        if more or (run and (box[0][1] - box[0][0]) % run):
            for each in phase.boxes:
                self._over(each, (), write)
            return ONE
        if not run:
            places, rows = _rows(box[:kept], ids)
            self._over(box[kept:], places, write)
            return rows
        (first, last), *rest = box
        begin = Multiply(as_i64(ids[1]), Constant.of(run, "i64"))
        body = Block([tensor_type((), "i64")])
        with Builder(body):
            self._over(tuple(rest), (Place(plus(begin, body.arguments[0]), first),), write)
            Yield(())
        For(Constant.of(run, "i64"), (), Region(body))
        return (1, (last - first) // run, 1, 1, 1, 1)

    def _over(self, box: Box, places: Places, write: Callable[[Places], None]) -> None:
        """Loops over the axes of a box that are left, the last one innermost."""
        if not box:
            self._known.append({})
            write(places)
            self._known.pop()
            return
        (first, last), *rest = box
        if last - first == 1:
            self._over(tuple(rest), (*places, Place(None, first)), write)
            return
        body = Block([tensor_type((), "i64")])
        with Builder(body):
            self._over(tuple(rest), (*places, Place(body.arguments[0], first)), write)
            Yield(())
        For(Constant.of(last - first, "i64"), (), Region(body))


def _rows(box: Box, ids: Sequence[Value]) -> tuple[Places, tuple[int, ...]]:
    """The places of a thread along these axes, and how many threads there are: the last axis is y, all others are z."""
    if not box:
        return (), ONE
    *others, own = box
    places = [Place(as_i64(ids[1]), own[0])]
    number = as_i64(ids[2])
    for axis, (first, last) in reversed(list(enumerate(others))):
        extent = Constant.of(last - first, "i64")
        places.insert(0, Place(Remainder(number, extent) if axis else number, first))
        if axis:
            number = Divide(number, extent)
    return tuple(places), (1, own[1] - own[0], math.prod(last - first for first, last in others), 1, 1, 1)
