"""Loops of tensor programs over elements, as functions of the loop level.

    while i < n: x = update(x, f(x[i-1], y[i]), i)     →     for i: x[i] = f(x[i-1], y[i])

A loop whose rounds read and write single elements works on memory. Each array that it carries is one memory, whose
versions follow one another: what reads a version is written before the update that ends it, and where that can't be the
loop is refused. Arithmetic is the same ops at rank 0, in the order of the program. Starts of slices are moved into the
array as the tensor level has it; `windlass.parallel.known_conditions` takes out what never moves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from windlass.ir import Argument, Block, BufferType, Builder, Function, Op, Region, TensorType, Value, tensor_type
from windlass.ir.captures import captures
from windlass.ir.values import Result
from windlass.loops import LAUNCH_DIMENSIONS, Condition, DoWhile, For, If, Parallel, Yield
from windlass.native.refusal import NotNative
from windlass.native.tensor_arrays import (
    MOST_ELEMENTS,
    ArrayWriter,
    as_number,
    buffers_of,
    element_in,
    is_function,
    is_number,
    is_splat,
)
from windlass.native.tensor_elements import (
    DTYPES,
    FIRST,
    Elements,
    Memory,
    Written,
    as_dtype,
    as_i64,
    load,
    minus,
    plus,
    store,
)
from windlass.ops.base import TensorOp
from windlass.ops.comparison import Compare
from windlass.ops.control import Branching, Case, While
from windlass.ops.control import If as TensorIf
from windlass.ops.counting import find_bound
from windlass.ops.creation import Constant
from windlass.ops.dynamic_slices import DynamicUpdateSlice
from windlass.ops.elementwise import Divide, Multiply, Select
from windlass.ops.extremes import Maximum
from windlass.ops.indexing import Scatter
from windlass.ops.movement import Reshape
from windlass.ops.reduction import Reduce
from windlass.ops.regions import Return

MOST_CALLS = 32
"""Of functions of the C library at a time: XLA has vector code for such."""


@dataclass(frozen=True)
class Entry:
    """What the function is given in one of its memories: a value from outside of the loop, whose last state is `result`
    of the loop, if it is one that changes; or room for an array, which holds anything."""

    type: TensorType
    value: Value | None = None
    result: int | None = None

    @property
    def is_written(self) -> bool:
        return self.value is None or self.result is not None


@dataclass
class LoopFunction:
    """A loop as a function of the loop level, which takes these memories in turn."""

    function: Function
    entries: list[Entry] = field(default_factory=list[Entry])


def write_loop(loop: While, name: str) -> LoopFunction:
    """The loop as a function of one thread.

    Raises NotNative for rounds that do what is no matter of elements, or more than `MOST_ELEMENTS` at a time.
    """
    entries = _entries(loop)
    for entry in entries:
        _require_known(entry.type)
    block = Block([BufferType.of("global") for _ in entries])
    body = Block([tensor_type((), "i32") for _ in LAUNCH_DIMENSIONS])
    writer = _LoopsWriter(block)
    with Builder(body, source=loop.source):
        for entry, buffer in zip(entries, block.arguments, strict=True):
            writer.enter(entry, buffer)
        results = writer.loop(loop)
        for entry, buffer in zip(entries, block.arguments, strict=False):
            if entry.result is not None and isinstance(found := results[entry.result], Value):
                store(found, buffer, Constant.of(0, "i64"))
        Yield(())
    with Builder(block, source=loop.source):
        ones = tuple(Constant.of(1, "i32") for _ in LAUNCH_DIMENSIONS)
        Parallel(ones, LAUNCH_DIMENSIONS, Region(body))
        Return(())
    return LoopFunction(Function(name, block), [*entries, *map(Entry, writer.rooms)])


def _entries(loop: While) -> list[Entry]:
    """All that comes from outside: what changes first, then what is read."""
    changing = [
        Entry(value.tensor, value, place)
        for place, value in enumerate(loop.operands)
        if _changes(loop, place) and (not is_number(value) or loop.results[place].uses)
    ]
    read = dict.fromkeys(
        value
        for place, value in enumerate(loop.operands)
        if not any(entry.result == place for entry in changing) and not (is_splat(value) and is_number(value))
    )
    for region in loop.regions:
        taken = [*captures(region), *(op for op in region.walk() if isinstance(op, Constant))]
        read.update(dict.fromkeys(value for value in taken if not is_splat(value)))
    return [*changing, *(Entry(value.tensor, value) for value in read)]


def _require_known(type_: TensorType) -> None:
    if type_.dtype not in DTYPES:
        raise NotNative(f"elements of type {type_}")
    if not type_.size:
        raise NotNative("an array without elements")


class _LoopsWriter(ArrayWriter):
    """Writes loops and branches of the tensor level where the active builder is."""

    def __init__(self, function: Block) -> None:
        super().__init__(function)
        self.initial: dict[int, Written] = {}
        """What stands for operands of the loop as a whole that change, by position."""

    def enter(self, entry: Entry, buffer: Value) -> None:
        """Read a number that the function is given, or note where an array is."""
        type_ = entry.type
        found = load(buffer, Constant.of(0, "i64"), type_.dtype) if type_.size == 1 else Memory(buffer, type_)
        if entry.result is not None:
            self.initial[entry.result] = found
        elif entry.value is not None:
            self.values[entry.value] = found

    # -- order --------------------------------------------------------------------------------------------------------

    def block(self, block: Block) -> list[Value]:
        """Write the ops of a block; gives what it returns."""
        for op in block:
            if op is not block.terminator:
                self._write(op)
        return list(block.terminator.operands)

    def _write(self, op: Op) -> None:
        """Write an op, after all that it needs, and after what reads a version of an array that it ends."""
        if op in self._done:
            return
        if op in self._begun:
            raise NotNative("an array is read as it was before an update, by what comes after it", op.source)
        self._begun.add(op)
        for value in op.operands:
            self._write_owner(value, op)
        for region in op.regions:
            for value in captures(region):
                self._write_owner(value, op)
                if isinstance(self.values.get(value), Elements):
                    self.memory(value)  # else it would be computed in each round
        for value in _overwritten(op):
            if not isinstance(self.values.get(value), Elements):  # these are computed anew
                self._end_version(value, op)
        self._translate(op)
        self._done.add(op)

    def _write_owner(self, value: Value, op: Op) -> None:
        owner = _owner_of(value)
        if owner is not None and owner.block is op.block:
            self._write(owner)

    def _end_version(self, value: Value, op: Op) -> None:
        """Write whatever else reads this version of an array, and compute what would be computed from it later."""
        assert op.block is not None
        for version in _names_of(value):
            for user in list(version.uses):
                reader = _ancestor_in(user, op.block)
                if reader is None or reader is op or isinstance(reader, Reshape):
                    continue
                if reader is op.block.terminator:
                    raise NotNative("an array is kept as it was before an update", op.source)
                self._write(reader)
        ended = self.values.get(value)
        if isinstance(ended, Memory):
            for other, found in list(self.values.items()):
                if isinstance(found, Elements) and ended.buffer in found.buffers and self._is_awaited(other):
                    self.memory(other)

    def _is_awaited(self, value: Value) -> bool:
        """Whether something is still to be written that uses the value."""
        home = _home(value)
        assert home is not None
        return any(_ancestor_in(user, home) not in self._done for user in value.uses)

    # -- ops ----------------------------------------------------------------------------------------------------------

    def _translate(self, op: Op) -> None:
        match op:
            case While():
                self.values.update(zip(op.results, self._inner_loop(op), strict=True))
            case TensorIf() | Case():
                self._branches(op)
            case Constant():
                if is_number(op):
                    self.values[op] = as_number(op)
            case DynamicUpdateSlice() if not is_number(op):
                self.update(op)
            case Scatter() if len(op.inputs) == 1 and not is_number(op.inputs[0]):
                self.scatter(op)
            case Reshape() if isinstance(found := self.values.get(op.operand), Memory) and not is_number(op):
                self.values[op] = Memory(found.buffer, op.tensor)
            case Reduce() if len(op.results) > 1 and all(map(is_number, op.results)):
                at = (FIRST,) * len(op.results[0].shape)
                self.values.update(zip(op.results, self.folded(op, at), strict=True))
            case TensorOp() if len(op.results) == 1:
                (result,) = op.results
                if not isinstance(result.type, TensorType) or result.dtype not in DTYPES:
                    raise NotNative(f"elements of type {result.type}", op.source)
                at = self.elements_of(op)
                if is_number(result):
                    self.values[result] = at((FIRST,) * len(result.shape))
                elif result.tensor.size > MOST_ELEMENTS:
                    raise NotNative(f"an array of {result.tensor.size} elements is computed in each round", op.source)
                elif is_function(op) and result.tensor.size > MOST_CALLS:
                    raise NotNative(f"{type(op).__name__} of {result.tensor.size} elements in each round", op.source)
                else:
                    read = [self.values.get(operand) for operand in op.operands]
                    self.values[result] = Elements(result.tensor, at, buffers_of(read))
            case _:
                raise NotNative(f"{type(op).__name__} has no native code", op.source)

    # -- branches -----------------------------------------------------------------------------------------------------

    def _branches(self, op: TensorIf | Case) -> None:
        if isinstance(op, TensorIf):
            results = self._choose(op, [(self.number(op.pred), op.true_branch)], op.false_branch)
        else:
            *others, last = op.branches
            index = self.number(op.index)
            tests = [(Compare(index, Constant.of(place, "i32"), "EQ"), each) for place, each in enumerate(others)]
            results = self._choose(op, tests, last)
        self.values.update(zip(op.results, results, strict=True))

    def _choose(self, op: Branching, tests: Sequence[tuple[Value, Region]], last: Region) -> list[Written]:
        """The branch of the first condition that holds, or the last one."""
        if not tests:
            return self._arm(last.block)
        (condition, region), *rest = tests
        arms: list[tuple[Block, list[Written]]] = []
        for branch in (region, None):
            block = Block()
            with Builder(block, source=op.source):
                found = self._choose(op, rest, last) if branch is None else self._arm(branch.block)
                Yield(tuple(each for each in found if isinstance(each, Value)))
            arms.append((block, found))
        (yes, found), (no, other) = arms
        chosen = iter(If(condition, Region(yes), Region(no)).results)
        results: list[Written] = []
        for one, two in zip(found, other, strict=True):
            if isinstance(one, Value):
                results.append(next(chosen))
            elif isinstance(one, Memory) and isinstance(two, Memory) and one.buffer is two.buffer:
                results.append(one)
            else:
                raise NotNative("branches that give different arrays", op.source)
        return results

    def _arm(self, block: Block) -> list[Written]:
        return list(map(self.written, self.block(block)))

    # -- loops --------------------------------------------------------------------------------------------------------

    def loop(self, op: While) -> list[Written]:
        """The outermost loop."""
        given = [self.initial.get(place) or self.written(value) for place, value in enumerate(op.operands)]
        return self._loop(op, given)

    def _inner_loop(self, op: While) -> list[Written]:
        given: list[Written] = []
        for place, value in enumerate(op.operands):
            if is_number(value):
                given.append(self.number(value))
            elif not _changes(op, place):
                given.append(self.memory(value))
            else:
                taken = [*op.operands, *(each for region in op.regions for each in captures(region))]
                names = _names_of(value)
                if not isinstance(value, Constant) and sum(each in names for each in taken) > 1:
                    raise NotNative("a loop changes an array that it also has as it was", op.source)
                given.append(self.own_memory(value))
        return self._loop(op, given)

    def _loop(self, op: While, given: Sequence[Written]) -> list[Written]:
        for region in op.regions:
            for inner in region.block:
                if any(_home(value) is not region.block for value in _overwritten(inner)):
                    raise NotNative("an array from outside of a loop is updated in each round anew", inner.source)
        bound = find_bound(op)
        counter = None if bound is None else bound.position
        changing = [
            place
            for place, each in enumerate(given)
            if isinstance(each, Value) and place != counter and _changes(op, place)
        ]
        first = [self._number_of(given[place]) for place in changing]
        if bound is None:
            found = self._uncounted(op, given, changing, first)
        else:
            found = self._counted(op, given, changing, first)
        results = list(given)
        for place, each in found.items():
            results[place] = each
        return results

    def _arguments(self, block: Block, given: Sequence[Written], changing: Mapping[int, Value]) -> None:
        for place, argument in enumerate(block.arguments):
            self.values[argument] = changing.get(place) or given[place]

    def _after_round(self, op: While, given: Sequence[Written], changing: Sequence[int]) -> tuple[Value, ...]:
        """Write a round; gives the numbers that change. Arrays are put where they were."""
        returned = self.block(op.body.block)
        moved: list[tuple[Memory, Value | Memory]] = []
        for before, value in zip(given, returned, strict=True):
            if isinstance(before, Memory):
                after = self.values.get(value)
                if not (isinstance(after, Memory) and after.buffer is before.buffer):
                    moved.append((before, value))
        targets = {memory.buffer for memory, _ in moved}
        for place, (memory, value) in enumerate(moved):
            if (
                not isinstance(value, Memory) and buffers_of([self.values.get(value)]) & targets
            ):  # one might be overwritten before it is read
                moved[place] = (memory, self.copied(value))
        for memory, source in moved:
            if isinstance(source, Memory):
                self.fill(memory, partial(element_in, source), memory.type.shape)
            else:
                self.fill(memory, partial(self.element, source), memory.type.shape)
        return tuple(self.number(returned[place]) for place in changing)

    def _counted(
        self, op: While, given: Sequence[Written], changing: Sequence[int], first: Sequence[Value]
    ) -> dict[int, Value]:
        bound = find_bound(op)
        assert bound is not None
        counter = self._number_of(given[bound.position])
        dtype = counter.dtype
        start = as_i64(counter)
        limit = as_i64(self._limit(op, given))
        trips = _trips(start, limit, bound.step, bound.is_limit_included)
        body = Block([tensor_type((), "i64"), *(each.type for each in first)])
        number, *carried = body.arguments
        with Builder(body, source=op.source):
            own = dict[int, Value](zip(changing, carried, strict=True))
            own[bound.position] = as_dtype(_counted_from(start, number, bound.step), dtype)
            self._arguments(op.body.block, given, own)
            Yield(self._after_round(op, given, changing))
        loop = For(trips, tuple(first), Region(body))
        found = dict[int, Value](zip(changing, loop.results, strict=True))
        if op.results[bound.position].uses:
            rounds = Maximum(trips, Constant.of(0, "i64"))
            found[bound.position] = as_dtype(_counted_from(start, rounds, bound.step), dtype)
        return found

    def _number_of(self, given: Written) -> Value:
        assert isinstance(given, Value)
        return given

    def _limit(self, op: While, given: Sequence[Written]) -> Value:
        """What the counter is compared with, which is the same in all rounds."""
        bound = find_bound(op)
        assert bound is not None
        for place, value in enumerate(op.operands):
            if value is bound.limit and not _changes(op, place):
                return self._number_of(given[place])
        return self.number(bound.limit)

    def _uncounted(
        self, op: While, given: Sequence[Written], changing: Sequence[int], first: Sequence[Value]
    ) -> dict[int, Value]:
        def test(numbers: Sequence[Value]) -> Value:
            for known in (self._done, self._begun):  # it is written twice
                known.difference_update(op.cond.walk())
            self._arguments(op.cond.block, given, dict(zip(changing, numbers, strict=True)))
            (found,) = self.block(op.cond.block)
            return self.number(found)

        goes = test(first)
        yes, no, body = Block(), Block(), Block([each.type for each in first])
        with Builder(body, source=op.source):
            self._arguments(op.body.block, given, dict(zip(changing, body.arguments, strict=True)))
            after = self._after_round(op, given, changing)
            Condition(test(after), after)
        with Builder(yes, source=op.source):
            Yield(DoWhile(tuple(first), Region(body)).results)
        with Builder(no, source=op.source):
            Yield(tuple(first))
        return dict(zip(changing, If(goes, Region(yes), Region(no)).results, strict=True))


def _counted_from(start: Value, rounds: Value, step: int) -> Value:
    """The counter after so many rounds."""
    return plus(start, rounds if step == 1 else Multiply(rounds, Constant.of(step, "i64")))


def _trips(start: Value, limit: Value, step: int, is_limit_included: bool) -> Value:
    """How many rounds there are: none where the number is not positive."""
    low, high = (start, limit) if step > 0 else (limit, start)
    length = minus(high, low)
    if not (isinstance(low, Constant) and int(low.number) == 0):
        # Were the one far below the other, their difference would wrap around.
        length = minus(Maximum(high, low), low)
        if is_limit_included:
            is_empty = Compare(high, low, "LT")
            return _rounds_of(_chosen(is_empty, length), abs(step))
    elif is_limit_included:
        length = plus(length, Constant.of(1, "i64"))
    return _rounds_of(length, abs(step))


def _chosen(is_empty: Value, length: Value) -> Value:
    return Select(is_empty, Constant.of(0, "i64"), plus(length, Constant.of(1, "i64")))


def _rounds_of(length: Value, step: int) -> Value:
    if step == 1:
        return length
    return Divide(plus(length, Constant.of(step - 1, "i64")), Constant.of(step, "i64"))


# -- values of the tensor level ---------------------------------------------------------------------------------------


def _changes(loop: While, place: int) -> bool:
    """Whether what is carried at a place may differ from round to round."""
    block = loop.body.block
    return block.terminator.operands[place] is not block.arguments[place]


def _owner_of(value: Value) -> Op | None:
    return value.owner if isinstance(value, Result) else value if isinstance(value, Op) else None


def _home(value: Value) -> Block | None:
    """The block that the value is of."""
    if isinstance(value, Argument):
        return value.block
    owner = _owner_of(value)
    return None if owner is None else owner.block


def _ancestor_in(op: Op, block: Block) -> Op | None:
    """The op of a block that an op is, or is within."""
    found: Op | None = op
    while found is not None and found.block is not block:
        found = found.parent_op
    return found


def _names_of(value: Value) -> list[Value]:
    """The same version of an array in all its shapes."""
    root = value
    while isinstance(root, Reshape):
        root = root.operand
    found = [root]
    for each in found:
        found += [user for user in each.uses if isinstance(user, Reshape)]
    return found


def _overwritten(op: Op) -> list[Value]:
    """The arrays of which the op ends the version that it takes: what is constant is copied instead."""
    found: list[Value] = []
    match op:
        case DynamicUpdateSlice() if not is_number(op):
            found.append(op.operand)
        case Scatter():
            found += op.inputs
        case While():
            found += (value for place, value in enumerate(op.operands) if _changes(op, place))
        case TensorIf() | Case():
            for region in op.regions:
                for inner in region.block:
                    found += (value for value in _overwritten(inner) if _home(value) is not region.block)
        case _:
            pass
    return [value for value in found if not is_number(value) and not isinstance(value, Constant)]


__all__ = ["Entry", "LoopFunction", "write_loop"]
