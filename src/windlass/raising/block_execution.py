"""Runs a kernel for one block before it is raised, to find out what threads fold together.

Which thread reads which cell of shared memory, or which other thread in a shuffle, mostly depends on nothing but the
thread's number. So all threads of one block are run at once, with known numbers as NumPy arrays and with what is
loaded from elsewhere as leaves; values that are combined become sets of leaves (see partial_folds.py). Where such a
value goes on to something else, it is a `Candidate`: perhaps one running sum, or one reduction, of the leaves.

What differs between blocks or depends on data is followed without knowing it. Where that decides whether threads
store, or where, cells hold new leaves from then on: whatever the raiser says that they hold at that point.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from windlass import loops
from windlass.ir import Block, BufferType, Op, TensorType, Terminator, Value
from windlass.ir.types import NUMPY_DTYPES
from windlass.loops.launch_specification import LaunchSpecification
from windlass.ops.combiners import read_step
from windlass.ops.comparison import Compare
from windlass.ops.conversion import BitcastConvert, byte_width
from windlass.ops.creation import Constant
from windlass.ops.elementwise import Select
from windlass.raising.block_values import (
    ELSEWHERE,
    FRESH,
    NEVER,
    STALE,
    Abstract,
    Candidate,
    CellLeaves,
    Cells,
    GaveUp,
    Leaves,
    OpaqueValue,
    ThreadLeaves,
)
from windlass.raising.items import is_integer
from windlass.raising.partial_folds import UNKNOWN, Array, Partials
from windlass.raising.thread_arrays import evaluated, is_counted, shuffled

MOST_ROUNDS = 64
"""Loops of more rounds are not followed round by round."""
MOST_STEPS = 6000
"""Ops that are run at most."""
MOST_LEAVES = 1 << 16
DYNAMIC = "dynamic"
"""Stands for all arrays of dynamic shared memory, which are one."""


class BlockExecution:
    """One run of a kernel for one block; `candidates` and `leaves` are what it finds."""

    def __init__(self, body: Block, arguments: Sequence[Value], specification: LaunchSpecification) -> None:
        x, y, z = specification.block
        self.specification = specification
        self.count = x * y * z
        self.active = np.ones(self.count, bool)
        self.values: dict[Value, Abstract] = {}
        self.memories: dict[Any, Cells] = {}
        self.leaves: list[Leaves] = []
        self.leaves_of: dict[Any, Leaves] = {}
        self.leaf_count = 0
        self.homes: dict[int, int] = {}
        """Leaves of threads that were stored to a cell, and the leaf that is what the cell held then."""
        self.candidates: list[Candidate] = []
        self.points: list[Op] = []
        self.repeats = 0
        self.context = 0
        self.context_count = 0
        self.serial = 0
        self.steps = 0
        self.defined: dict[Op, tuple[Array, int]] = {}
        """The threads that ran each op, of those that ran once, and the point after it."""
        self.in_rounds: dict[tuple[Value, Op], list[tuple[Partials, Array]]] = {}
        """What ops take for something else in each round of a loop."""
        numbers = np.arange(self.count, dtype=np.int32)
        ids = (numbers % x, numbers // x % y, numbers // (x * y))
        for argument, number in zip(body.arguments[3:], ids, strict=True):
            self.values[argument] = number
        for argument, size in zip(body.arguments[:3], specification.grid, strict=True):
            known = np.zeros(self.count, np.int32)
            self.values[argument] = known if size == 1 else OpaqueValue(argument, True, True)
        for argument in arguments:
            is_number = isinstance(argument.type, TensorType)
            self.values[argument] = OpaqueValue(argument, True, True) if is_number else ELSEWHERE

    # -- running ------------------------------------------------------------------------------------------------------

    def run_block(self, block: Block) -> Op:
        """Run the ops of a block; gives its terminator."""
        last = block.terminator
        for op in block:
            if op is last:
                break
            self.steps += 1
            if self.steps > MOST_STEPS:
                raise GaveUp
            if not self.repeats:
                self.points.append(op)
            self.serial += 1
            self.run(op)
            if not self.repeats:
                self.defined[op] = self.active, self.point
        return last

    @property
    def point(self) -> int:
        """The number of the last op that runs but once."""
        return len(self.points) - 1

    def run(self, op: Op) -> None:
        """Run one op."""
        match op:
            case Constant():
                self.values[op] = np.full(self.count, op.number, op.array.dtype)
            case loops.Subscript() if not op.indices:
                self.values[op] = np.full(self.count, op.start, np.int64)
            case loops.Allocate():
                self.values[op] = self.allocate(op) if op.space == "shared" else ELSEWHERE
            case loops.DeviceVariableBuffer() | loops.NullBuffer():
                self.values[op] = ELSEWHERE
            case loops.ViewBuffer():
                self.values[op] = self.values[op.buffer]
            case loops.SelectBuffer():
                chosen = self.values[op.condition]
                chosen = chosen[self.active] if isinstance(chosen, np.ndarray) else None
                self.values[op] = self.one_of(chosen, op.on_true, op.on_false)
            case loops.Load():
                self.load(op)
            case loops.Store():
                self.store(op)
            case loops.If():
                self.branch(op)
            case loops.For() | loops.DoWhile():
                self.loop(op)
            case loops.Collective():
                self.exchange(op)
            case loops.Barrier() | loops.Assert() | loops.Print():
                pass
            case loops.Undefined() if isinstance(op.type, TensorType):
                self.values[op] = np.zeros(self.count, NUMPY_DTYPES[op.dtype])
            case _:
                self.compute(op)

    def allocate(self, op: loops.Allocate) -> Cells:
        """A shared memory."""
        key = DYNAMIC if op.size < 0 else op
        size = self.specification.shared_bytes if op.size < 0 else op.size
        return self.memories.setdefault(key, Cells(op, size))

    def one_of(self, chosen: Array | None, on_true: Value, on_false: Value) -> Abstract:
        """One of two pointers, where it is known which, or where it makes no difference."""
        one, other = self.values.get(on_true), self.values.get(on_false)
        if one is other:
            return one
        if chosen is not None and len(chosen) and bool((chosen == chosen[0]).all()):
            return one if chosen[0] else other
        self.lose([on_true, on_false])
        return None

    def lose(self, values: Sequence[Value]) -> None:
        """Follow memories no further that pointers go into; all shared ones, if it is not known which those are."""
        for value in values:
            if isinstance(value.type, BufferType):
                found = self.values.get(value)
                for cells in [found] if isinstance(found, Cells) else self.memories.values() if found is None else ():
                    self.note_store(cells, np.arange(len(cells.stamps)))
                    cells.is_lost = True

    # -- values -------------------------------------------------------------------------------------------------------

    def opaque(self, value: Value, operands: Sequence[Value] = ()) -> OpaqueValue:
        """A value of which nothing is known; uniform if its operands are."""
        is_uniform = bool(operands) and all(self.is_uniform(operand) for operand in operands)
        return OpaqueValue(value, not self.repeats, is_uniform)

    def is_uniform(self, value: Value) -> bool:
        found = self.values.get(value)
        if isinstance(found, OpaqueValue):
            return found.is_uniform
        return isinstance(found, np.ndarray) and bool((found == found[0]).all())

    def take_elsewhere(self, op: Op, operands: Sequence[Value]) -> None:
        """Note that an op does something else with folds."""
        if self.repeats > 1 or (isinstance(op, Compare) and op.lhs is op.rhs):
            # The latter is a test for NaN, a part of `fmax`.
            return
        for value in dict.fromkeys(operands):
            found = self.values.get(value)
            if not isinstance(found, Partials):
                continue
            if self.repeats:
                self.in_rounds.setdefault((value, op), []).append((found, self.active))
            elif found.has_folds(self.active):
                self.candidates.append(Candidate(value, op, found, self.active, self.point))

    def compute(self, op: Op) -> None:
        """An op on numbers."""
        operands = op.operands
        found = [self.values.get(operand) for operand in operands]
        is_number = op.is_pure and len(op.results) == 1 and isinstance(op.results[0].type, TensorType)
        if is_number and all(isinstance(each, np.ndarray) for each in found):
            self.values[op] = evaluated(op, found)
            return
        result: Abstract = None
        is_leaf = (
            isinstance(op, BitcastConvert) and isinstance(found[0], OpaqueValue) and found[0].value in self.leaves_of
        )
        if is_leaf or any(isinstance(each, Partials) for each in found):
            result = self.fold(op)
        if not isinstance(result, Partials) or not result.is_known(self.active):
            self.take_elsewhere(op, operands)
            for each in op.results:
                self.values[each] = self.opaque(each, operands)
            cells = found[0] if isinstance(op, loops.Atomic | loops.AtomicUpdate | loops.CompareExchange) else None
            if isinstance(cells, Cells):
                cells.is_stale = True
                self.make_leaves(cells, np.arange(len(cells.stamps)))
            elif not op.is_pure:
                self.lose(operands)
            return
        self.values[op] = result

    def fold(self, op: Op) -> Partials | None:
        """What an op of which some operands are folds combines; None where it does something else."""
        match op:
            case BitcastConvert() if is_integer(op.dtype) and is_integer(op.operand.dtype):
                found = self.partials(op.operand)
                width = byte_width(op.dtype)
                if not isinstance(found, Partials) or byte_width(op.operand.dtype) != width:
                    return None
                return found.viewed(NUMPY_DTYPES[op.dtype])
            case Select() if read_step(op) is None:
                condition = self.values.get(op.pred)
                if not isinstance(condition, np.ndarray):
                    return None
                return self.merge(condition, op.on_true, op.on_false)
            case _:
                step = read_step(op)
                if step is None:
                    return None
                kind, left, right = step
                one, other = self.partials(left), self.partials(right)
                numbers_by = None if kind.prefers_numbers else op
                return None if one is None or other is None else one.combined(other, kind, numbers_by)

    def merge(self, condition: Array, on_true: Value, on_false: Value) -> Partials | None:
        one, other = self.partials(on_true), self.partials(on_false)
        return None if one is None or other is None else one.where(condition, other)

    def partials(self, value: Value) -> Partials | None:
        """What each thread holds, as leaves if need be; None where the raiser could not tell what that is."""
        found = self.values.get(value)
        if isinstance(found, Partials):
            return found
        if isinstance(found, np.ndarray):
            return Partials.of_numbers(found)
        if not isinstance(found, OpaqueValue) or not found.is_fixed or not isinstance(found.value.type, TensorType):
            return None
        leaves = self.leaves_of.get(found.value)
        if leaves is None:
            leaves = ThreadLeaves(self.new_leaves(self.count), found.value)
            self.leaves.append(leaves)
            self.leaves_of[found.value] = leaves
        partials = Partials.of_leaves(leaves.first + np.arange(self.count), NUMPY_DTYPES[found.value.dtype])
        partials.status[~self.active] = UNKNOWN
        return partials

    def new_leaves(self, count: int) -> int:
        """The first of so many new leaves."""
        self.leaf_count += count
        if self.leaf_count > MOST_LEAVES:
            raise GaveUp
        return self.leaf_count - count

    # -- memory -------------------------------------------------------------------------------------------------------

    def load(self, op: loops.Load) -> None:
        """Read from a cell."""
        cells, offset = self.values[op.buffer], self.values[op.offset]
        self.values[op] = self.opaque(op)
        if not isinstance(cells, Cells) or not isinstance(offset, np.ndarray) or not cells.prepare(op.dtype_read):
            return
        found = Partials.unknown(self.count, NUMPY_DTYPES[op.dtype_read])
        places, width = offset // byte_width(op.dtype_read), byte_width(op.dtype_read)
        inside = self.active & (offset % width == 0) & (places >= 0) & (places < len(cells.stamps))
        found.put(np.flatnonzero(inside), cells.content.take(places[inside]))
        if found.is_known(self.active):
            self.values[op] = found

    def store(self, op: loops.Store) -> None:
        """Write to a cell, or to another memory."""
        cells, offset = self.values[op.buffer], self.values[op.offset]
        dtype = op.value.dtype
        if not isinstance(cells, Cells) or not cells.prepare(dtype):
            self.take_elsewhere(op, [op.value])
            self.lose([op.buffer])
            return
        width = byte_width(dtype)
        if not isinstance(offset, np.ndarray) or (offset % width)[self.active].any():
            self.take_elsewhere(op, [op.value])
            self.make_leaves(cells, np.arange(len(cells.stamps)))
            return
        places = offset // width
        inside = self.active & (places >= 0) & (places < len(cells.stamps))
        threads = np.flatnonzero(inside)
        places = places[inside]
        found = self.values.get(op.value)
        new = found if isinstance(found, Partials) else None
        if isinstance(found, np.ndarray):
            new = Partials.of_numbers(found)
        # What a cell held before may be left where it is not known which threads store. Nobody may ask for that where
        # nothing was stored before.
        contexts = cells.contexts[places]
        is_ours = np.full(len(places), self.context == 0) | (contexts == FRESH) | (contexts == self.context)
        cells.contexts[places[is_ours]] = self.context
        unique, counts = np.unique(places, return_counts=True)
        certain = is_ours & ~np.isin(places, unique[counts > 1])
        if new is None:
            new = self.partials(op.value) if not self.repeats else None
            self.make_leaves(cells, places)
            if new is not None:
                # What the threads have is what their cells hold: the leaves are known by either name.
                cells_of = cells.content.take(places[certain])
                cells.content.put(places[certain], new.take(threads[certain]))
                self.note_homes(new.sets[threads[certain]], cells_of.sets)
            return
        certain &= new.status[threads] != UNKNOWN
        self.note_store(cells, places)
        cells.content.put(places[certain], new.take(threads[certain]))
        if not certain.all():
            self.take_elsewhere(op, [op.value])
        self.make_leaves(cells, places[~certain])

    def note_homes(self, of_threads: Array, of_cells: Array) -> None:
        """Let leaves of threads be known as leaves of cells, too."""
        for one, other in zip(of_threads, of_cells, strict=True):
            self.homes.setdefault(int(one).bit_length() - 1, int(other).bit_length() - 1)

    def note_store(self, cells: Cells, places: Array) -> None:
        """Let what the places held be gone."""
        for leaves in self.leaves:
            if isinstance(leaves, CellLeaves) and leaves.cells is cells:
                dying = places[(leaves.births[places] != NEVER) & (leaves.deaths[places] == NEVER)]
                leaves.deaths[dying] = self.point
        cells.stamps[places] = self.serial

    def make_leaves(self, cells: Cells, places: Array) -> None:
        """Let cells be leaves: what the raiser says that they hold after this op."""
        if not len(places) or cells.is_lost:
            return
        self.note_store(cells, places)
        places = np.unique(places)
        cells.generations[places] += 1
        for generation in np.unique(cells.generations[places]):
            chosen = places[cells.generations[places] == generation]
            key = (cells.allocation, int(generation))
            leaves = self.leaves_of.get(key)
            if not isinstance(leaves, CellLeaves):
                count = len(cells.stamps)
                leaves = CellLeaves(self.new_leaves(count), cells, np.full(count, NEVER), np.full(count, NEVER))
                self.leaves.append(leaves)
                self.leaves_of[key] = leaves
            leaves.births[chosen] = self.point
            cells.content.put(chosen, Partials.of_leaves(leaves.first + chosen, cells.content.numbers.dtype))

    # -- control ------------------------------------------------------------------------------------------------------

    @contextmanager
    def among(self, active: Array) -> Generator[None]:
        """Run for some threads."""
        outer, self.active = self.active, active
        try:
            yield
        finally:
            self.active = outer

    @contextmanager
    def uncertain(self, op: Op, is_uniform: bool) -> Generator[None]:
        """Run a part of an op that not all threads (or no thread) may run.

        What it stored is known to the raiser alone afterwards.
        """
        outer, serial = self.context, self.serial
        if not is_uniform:
            self.context_count += 1
            self.context = self.context_count
        yield
        self.context = outer
        if not self.repeats:
            self.points.append(op)
        for cells in self.memories.values():
            self.make_leaves(cells, np.flatnonzero(cells.stamps > serial))

    def branch(self, op: loops.If) -> None:
        """Run both sides, each for the threads that take it."""
        condition = self.values.get(op.condition)
        blocks = (op.then.block, op.otherwise.block)
        if isinstance(condition, np.ndarray):
            for block, taken in zip(blocks, (self.active & condition, self.active & ~condition), strict=True):
                if taken.any():
                    with self.among(taken):
                        self.run_block(block)
            for result, one, other in zip(op.results, *(block.terminator.operands for block in blocks), strict=True):
                self.values[result] = self.chosen(result, condition, one, other)
            return
        self.take_elsewhere(op, [op.condition])
        for block in blocks:
            # Each side is uncertain by itself: the threads of one see nothing of the other's.
            with self.uncertain(op, self.is_uniform(op.condition)):
                last = self.run_block(block)
                self.take_elsewhere(last, last.operands)
        for result, *yielded in zip(op.results, *(block.terminator.operands for block in blocks), strict=True):
            if isinstance(result.type, BufferType):
                self.values[result] = self.one_of(None, *yielded)
            else:
                self.values[result] = self.opaque(result, [op.condition, *yielded])

    def chosen(self, result: Value, condition: Array, on_true: Value, on_false: Value) -> Abstract:
        """What a branch gives whose condition is known."""
        if not (self.active & condition).any():
            return self.values.get(on_false)
        if not (self.active & ~condition).any():
            return self.values.get(on_true)
        if isinstance(result.type, BufferType):
            return self.one_of(None, on_true, on_false)
        one, other = self.values.get(on_true), self.values.get(on_false)
        if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
            return np.where(condition, one, other)
        if isinstance(one, Partials) or isinstance(other, Partials):
            merged = self.merge(condition, on_true, on_false)
            if merged is not None and merged.is_known(self.active):
                return merged
        return self.opaque(result)

    def loop(self, op: loops.For | loops.DoWhile) -> None:
        """Run a loop round by round where threads exchange values in it and do nothing else, or once for all rounds."""
        exchanges, loads_elsewhere = False, False
        for inner in op.body.block.walk():
            if isinstance(inner, loops.Load | loops.Store):
                is_shared = self.is_shared(inner.buffer)
                exchanges |= is_shared
                loads_elsewhere |= isinstance(inner, loops.Load) and not is_shared
            exchanges |= isinstance(inner, loops.Collective)
        if exchanges and not loads_elsewhere and self.is_counted(op):
            self.repeats += 1
            self.run_rounds(op)
            self.repeats -= 1
            if not self.repeats:
                self.note_rounds(op)
            for result in op.results:
                if isinstance(self.values.get(result), OpaqueValue):
                    self.values[result] = self.opaque(result)
            return
        self.run_for_all(op)

    def note_rounds(self, op: loops.For | loops.DoWhile) -> None:
        """Let what is taken elsewhere in all rounds of a loop be candidates."""
        rounds, self.in_rounds = self.in_rounds, {}
        trips = self.values.get(op.trip_count) if isinstance(op, loops.For) else None
        if not isinstance(trips, np.ndarray):
            return
        for (value, user), found in rounds.items():
            partials, active = Partials.joined([each for each, _ in found]), np.concatenate([each for _, each in found])
            is_whole = len(found) == trips[self.active].max(initial=0)
            if is_whole and not isinstance(user, Terminator) and partials.has_folds(active):
                counter = op.body.block.arguments[0]
                self.candidates.append(Candidate(value, user, partials, active, self.point - 1, counter))

    def is_shared(self, buffer: Value) -> bool:
        is_typed = isinstance(buffer.type, BufferType) and buffer.type.space == "shared"
        return is_typed or isinstance(self.values.get(buffer), Cells)

    def is_counted(self, op: loops.For | loops.DoWhile) -> bool:
        """Whether it is known how often a loop runs in each thread."""
        if isinstance(op, loops.DoWhile):
            return is_counted(op, self.is_number)
        trips = self.values.get(op.trip_count)
        return isinstance(trips, np.ndarray) and bool(trips[self.active].max(initial=0) <= MOST_ROUNDS)

    def is_number(self, value: Value) -> bool:
        return isinstance(self.values.get(value), np.ndarray)

    def run_rounds(self, op: loops.For | loops.DoWhile) -> None:
        """Run a loop round by round."""
        whole = self.active
        block = op.body.block
        is_for = isinstance(op, loops.For)
        carried = block.arguments[1:] if is_for else block.arguments
        values = {result: self.values.get(initial) for result, initial in zip(op.results, op.initial, strict=True)}
        trips = self.values.get(op.trip_count) if isinstance(op, loops.For) else None
        running = self.active.copy()
        for number in range(MOST_ROUNDS + 1):
            if isinstance(trips, np.ndarray):
                running = running & (trips > number)
            if not running.any():
                break
            if number == MOST_ROUNDS:
                raise GaveUp
            with self.among(running):
                given = [values[result] for result in op.results]
                if is_for:
                    self.values[block.arguments[0]] = np.full(self.count, number, np.int64)
                for argument, found in zip(carried, given, strict=True):
                    self.values[argument] = found
                last = self.run_block(block)
                following = last.operands if is_for else last.operands[1:]
                is_whole = bool((running == whole).all())
                for result, before, value in zip(op.results, given, following, strict=True):
                    after = self.values.get(value)
                    values[result] = after if is_whole else self.kept(result, running, after, before)
                if not is_for:
                    goes_on = self.values.get(last.operands[0])
                    if not isinstance(goes_on, np.ndarray):
                        raise GaveUp
                    running = running & goes_on
        self.values.update(values)

    def kept(self, result: Value, running: Array, after: Abstract, before: Abstract) -> Abstract:
        """What a round leaves in the threads that ran it, and what there was before in the others."""
        if isinstance(after, np.ndarray) and isinstance(before, np.ndarray):
            return np.where(running, after, before)
        if isinstance(after, Partials) and isinstance(before, Partials):
            return after.where(running, before)
        return self.opaque(result)

    def run_for_all(self, op: loops.For | loops.DoWhile) -> None:
        """Run the body once, for whichever round that is."""
        block = op.body.block
        is_for = isinstance(op, loops.For)
        self.take_elsewhere(op, op.operands)
        for cells in self.stored_in(block):
            cells.content.forget(np.arange(len(cells.stamps)))
            cells.contexts[cells.contexts == FRESH] = STALE
            cells.is_stale = True
        carried = block.arguments[1:] if is_for else block.arguments
        is_uniform = isinstance(op, loops.For) and self.is_uniform(op.trip_count)
        for argument, initial in zip(carried, op.initial, strict=True):
            is_buffer = isinstance(argument.type, BufferType)
            self.values[argument] = None if is_buffer else OpaqueValue(argument, not self.repeats, False)
            if is_buffer:
                self.lose([initial])
        if is_for:
            self.values[block.arguments[0]] = OpaqueValue(block.arguments[0], not self.repeats, is_uniform)
        with self.uncertain(op, is_uniform):
            last = self.run_block(block)
            self.take_elsewhere(last, last.operands)
        for result in op.results:
            self.values[result] = None if isinstance(result.type, BufferType) else self.opaque(result)

    def stored_in(self, block: Block) -> list[Cells]:
        """The shared memories that a block may store to."""
        found: list[Cells] = []
        for inner in block.walk():
            if isinstance(inner, loops.Load):
                continue
            for operand in inner.operands:
                cells = self.values.get(operand)
                if isinstance(cells, Cells):
                    found.append(cells)
                elif isinstance(operand.type, BufferType) and cells is not ELSEWHERE:
                    return list(self.memories.values())
        return found

    # -- exchanges ----------------------------------------------------------------------------------------------------

    def exchange(self, op: loops.Collective) -> None:
        """A shuffle; of other collectives nothing is known."""
        results = self.shuffle(op)
        if results is None:
            self.take_elsewhere(op, op.operands)
        for result, found in zip(op.results, results or [None] * len(op.results), strict=False):
            self.values[result] = self.opaque(result) if found is None else found

    def shuffle(self, op: loops.Collective) -> tuple[Abstract, Array] | None:
        """What each thread gets from another, and whether there is such a one."""
        match op.kind.split("."):
            case ["shfl", "sync", kind, _]:
                pass
            case _:
                return None
        distance, control = (self.values.get(each) for each in op.inputs[2:4])
        own = self.partials(op.inputs[1])
        if own is None or not isinstance(distance, np.ndarray) or not isinstance(control, np.ndarray):
            return None
        source, is_there, exists = shuffled(kind, distance, control, self.count)
        found = own.take(source)
        found.status[~(exists & self.active[source])] = UNKNOWN
        return found, is_there
