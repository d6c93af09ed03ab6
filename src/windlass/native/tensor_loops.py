"""Loops of tensor programs over elements, as functions of the loop level.

    while i < n: x = update(x, f(x[i-1], y[i]), i)     →     for i: x[i] = f(x[i-1], y[i])

A loop whose rounds read and write single elements works on memory. Each array that it carries is one memory, whose
versions follow one another: what reads a version is written before the update that ends it, and where that can't be the
loop is refused. Arithmetic is the same ops at rank 0, in the order of the program. Starts of slices are moved into the
array as the tensor level has it; `windlass.parallel.known_conditions` takes out what never moves.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from windlass.diagnostics import Position
from windlass.ir import Argument, Block, BufferType, Builder, Function, Op, Region, TensorType, Value, tensor_type
from windlass.ir.captures import captures
from windlass.ir.values import Result
from windlass.loops import (
    LAUNCH_DIMENSIONS,
    Condition,
    DoWhile,
    For,
    If,
    Load,
    Parallel,
    Store,
    Subscript,
    Yield,
)
from windlass.native.refusal import NotNative
from windlass.ops.base import BroadcastInDim, TensorOp
from windlass.ops.comparison import Compare
from windlass.ops.control import Branching, Case, While
from windlass.ops.control import If as TensorIf
from windlass.ops.conversion import Convert, bit_width, byte_width
from windlass.ops.counting import find_bound
from windlass.ops.creation import Constant, Iota
from windlass.ops.dynamic_slices import DynamicSlice, DynamicUpdateSlice
from windlass.ops.elementwise import Add, Divide, Multiply, Select, Subtract
from windlass.ops.extremes import Clamp, Maximum, Minimum
from windlass.ops.movement import Reshape, Reverse, Slice, Transpose
from windlass.ops.regions import Return

DTYPES = frozenset({"f32", "f64", "i1", *(f"{sign}i{width}" for sign in ("", "u") for width in (8, 16, 32, 64))})
"""Elements that native code loads, stores and computes with as XLA does."""
KEPT_IN_PLACE = (Reshape, BroadcastInDim, Transpose, Reverse, Slice, DynamicSlice)
"""What one element stays in."""


@dataclass(frozen=True)
class Memory:
    """A version of an array, in the memory that all its versions have in turn."""

    buffer: Value
    type: TensorType


Written: TypeAlias = Value | Memory
"""What stands for a value of the tensor level: a number, or an array in memory."""


@dataclass(frozen=True)
class Entry:
    """What the function is given in one of its memories: a value from outside of the loop, whose last state is `result`
    of the loop, if it is one that changes."""

    value: Value
    result: int | None = None


@dataclass
class LoopFunction:
    """A loop as a function of the loop level, which takes these memories in turn."""

    function: Function
    entries: list[Entry] = field(default_factory=list[Entry])


def write_loop(loop: While, name: str) -> LoopFunction:
    """The loop as a function of one thread.

    Raises NotNative where rounds do anything but read and write elements.
    """
    entries = _entries(loop)
    for entry in entries:
        _require_known(entry.value)
    block = Block([BufferType.of("global") for _ in entries])
    body = Block([tensor_type((), "i32") for _ in LAUNCH_DIMENSIONS])
    writer = _Writer()
    with Builder(body, source=loop.source):
        for entry, buffer in zip(entries, block.arguments, strict=True):
            writer.enter(loop, entry, buffer)
        results = writer.loop(loop)
        for entry, buffer in zip(entries, block.arguments, strict=True):
            if entry.result is not None and not isinstance(found := results[entry.result], Memory):
                _store(found, buffer, Constant.of(0, "i64"))
        Yield(())
    with Builder(block, source=loop.source):
        ones = tuple(Constant.of(1, "i32") for _ in LAUNCH_DIMENSIONS)
        Parallel(ones, LAUNCH_DIMENSIONS, Region(body))
        Return(())
    return LoopFunction(Function(name, block), entries)


def _entries(loop: While) -> list[Entry]:
    """All that comes from outside: what changes first, then what is read."""
    changing = [
        Entry(value, place)
        for place, value in enumerate(loop.operands)
        if _changes(loop, place) and (not _is_number(value) or loop.results[place].uses)
    ]
    read = dict.fromkeys(
        value
        for place, value in enumerate(loop.operands)
        if not any(entry.result == place for entry in changing) and not _is_known_number(value)
    )
    for region in loop.regions:
        read.update(dict.fromkeys(value for value in captures(region) if not _is_known_number(value)))
        read.update(dict.fromkeys(op for op in region.walk() if isinstance(op, Constant) and not _is_number(op)))
    return [*changing, *(Entry(value) for value in read)]


def _require_known(value: Value) -> None:
    type_ = value.type
    if not isinstance(type_, TensorType) or type_.dtype not in DTYPES:
        raise NotNative(f"elements of type {type_}")
    if not type_.size:
        raise NotNative("an array without elements")


class _Writer:
    """Writes ops of the tensor level where the active builder is. `values` are what stands for those written."""

    def __init__(self) -> None:
        self.values: dict[Value, Written] = {}
        self.initial: dict[int, Written] = {}
        """What stands for operands of the loop as a whole that change, by position."""
        self._done: set[Op] = set()
        self._begun: set[Op] = set()

    def enter(self, loop: While, entry: Entry, buffer: Value) -> None:
        """Read a number that the function is given, or note where an array is."""
        type_ = entry.value.tensor
        found = _load(buffer, Constant.of(0, "i64"), type_.dtype) if type_.size == 1 else Memory(buffer, type_)
        if entry.result is None:
            self.values[entry.value] = found
        else:
            self.initial[entry.result] = found

    # -- values -------------------------------------------------------------------------------------------------------

    def number(self, value: Value) -> Value:
        """What stands for a value of one element."""
        if isinstance(value, Constant):
            return _constant(value)
        found = self.values[value]
        if isinstance(found, Memory):
            raise NotNative("an array as a whole is computed with", _source_of(value))
        return found

    def memory(self, value: Value, user: Op) -> Memory:
        found = self.values.get(value)
        if not isinstance(found, Memory):
            raise NotNative("an array that is computed in each round", user.source)
        return found

    # -- order --------------------------------------------------------------------------------------------------------

    def block(self, block: Block) -> list[Written]:
        """Write the ops of a block; gives what it returns."""
        for op in block:
            if op is not block.terminator:
                self._write(op)
        return [self._returned(value) for value in block.terminator.operands]

    def _returned(self, value: Value) -> Written:
        found = self.values.get(value)
        return found if isinstance(found, Memory) else self.number(value)

    def _write(self, op: Op) -> None:
        """Write an op, after all that it needs, and after what reads a version of an array that it ends."""
        if op in self._done:
            return
        if op in self._begun:
            raise NotNative("an array is read as it was before an update, by what comes after it", op.source)
        self._begun.add(op)
        taken = [*op.operands, *(value for region in op.regions for value in captures(region))]
        for value in taken:
            owner = _owner_of(value)
            if owner is not None and owner.block is op.block:
                self._write(owner)
        for value in _overwritten(op):
            self._end_version(value, op)
        self._translate(op)
        self._done.add(op)

    def _end_version(self, value: Value, op: Op) -> None:
        """Write whatever else reads this version of an array."""
        assert op.block is not None
        for version in _names_of(value):
            for user in list(version.uses):
                reader = _ancestor_in(user, op.block)
                if reader is None or reader is op or isinstance(reader, Reshape):
                    continue
                if reader is op.block.terminator:
                    raise NotNative("an array is kept as it was before an update", op.source)
                self._write(reader)

    # -- ops ----------------------------------------------------------------------------------------------------------

    def _translate(self, op: Op) -> None:
        match op:
            case While():
                self.values.update(zip(op.results, self._inner_loop(op), strict=True))
            case TensorIf() | Case():
                self._branches(op)
            case Constant():
                if _is_number(op):
                    self.values[op] = _constant(op)
            case DynamicUpdateSlice() if not _is_number(op):
                self._update(op)
            case DynamicSlice() if not _is_number(op.operand):
                self._element(op, self._starts(op.operand.tensor, op.start_indices, op.slice_sizes))
            case Slice() if not _is_number(op.operand):
                self._element(op, [Constant.of(start, "i64") for start in op.start_indices])
            case Reshape() if not _is_number(op):
                self.values[op] = Memory(self.memory(op.operand, op).buffer, op.tensor)
            case TensorOp() if len(op.results) == 1 and _is_number(op):
                self.values[op] = self._computed(op)
            case _:
                raise NotNative(f"{type(op).__name__} of more than one element", op.source)

    def _computed(self, op: TensorOp) -> Value:
        if not all(_is_number(operand) for operand in op.operands):
            raise NotNative(f"{type(op).__name__} of arrays as a whole", op.source)
        if op.dtype not in DTYPES:
            raise NotNative(f"elements of type {op.dtype}", op.source)
        given = [self.number(operand) for operand in op.operands]
        match op:
            case Iota():
                return Constant.of(0, op.dtype)
            case DynamicUpdateSlice():
                return given[1]
            case Clamp():
                low, operand, high = given
                return Minimum(Maximum(operand, low), high)
            case _ if isinstance(op, KEPT_IN_PLACE):
                return given[0]
            case _ if op.is_elementwise and not op.regions:
                copy = op.clone(dict(zip(op.operands, given, strict=True)))
                copy.extra = None
                return copy
            case _:
                raise NotNative(f"{type(op).__name__} has no native code", op.source)

    def _starts(self, array: TensorType, starts: Sequence[Value], sizes: Sequence[int]) -> list[Value]:
        """Where a slice begins, moved so that it lies in the array."""
        found: list[Value] = []
        for start, extent, size in zip(starts, array.shape, sizes, strict=True):
            number, last = self.number(start), extent - size
            if last == 0:
                found.append(Constant.of(0, "i64"))
                continue
            most = min(last, (1 << (bit_width(number.dtype) - (not number.dtype.startswith("u")))) - 1)
            inside = Minimum(Maximum(number, Constant.of(0, number.dtype)), Constant.of(most, number.dtype))
            found.append(_as_i64(inside))
        return found

    def _element(self, op: DynamicSlice | Slice, starts: Sequence[Value]) -> None:
        memory = self.memory(op.operand, op)
        if not _is_number(op):
            raise NotNative("a slice of more than one element", op.source)
        self.values[op] = _load(memory.buffer, _place(memory.type, starts), op.dtype)

    def _update(self, op: DynamicUpdateSlice) -> None:
        memory = self.memory(op.operand, op)
        if not _is_number(op.update):
            raise NotNative("an update of more than one element", op.source)
        starts = self._starts(memory.type, op.start_indices, op.update.shape)
        _store(self.number(op.update), memory.buffer, _place(memory.type, starts))
        self.values[op] = memory

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
            return self.block(last.block)
        (condition, region), *rest = tests
        arms: list[tuple[Block, list[Written]]] = []
        for branch in (region, None):
            block = Block()
            with Builder(block, source=op.source):
                found = self._choose(op, rest, last) if branch is None else self.block(branch.block)
                Yield(tuple(each for each in found if not isinstance(each, Memory)))
            arms.append((block, found))
        (yes, found), (no, other) = arms
        chosen = iter(If(condition, Region(yes), Region(no)).results)
        results: list[Written] = []
        for one, two in zip(found, other, strict=True):
            if not isinstance(one, Memory):
                results.append(next(chosen))
            elif isinstance(two, Memory) and one.buffer is two.buffer:
                results.append(one)
            else:
                raise NotNative("branches that give different arrays", op.source)
        return results

    # -- loops --------------------------------------------------------------------------------------------------------

    def loop(self, op: While) -> list[Written]:
        """The outermost loop."""
        given = [self.initial.get(place) or self._returned(value) for place, value in enumerate(op.operands)]
        return self._loop(op, given)

    def _inner_loop(self, op: While) -> list[Written]:
        for place, value in enumerate(op.operands):
            if not _is_number(value) and _changes(op, place):
                taken = [*op.operands, *(each for region in op.regions for each in captures(region))]
                names = _names_of(value)
                if sum(each in names for each in taken) > 1:
                    raise NotNative("a loop changes an array that it also has as it was", op.source)
        return self._loop(op, [self._returned(value) for value in op.operands])

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
            if not isinstance(each, Memory) and place != counter and _changes(op, place)
        ]
        first = [each for place in changing if not isinstance(each := given[place], Memory)]
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
        """Write a round; gives the numbers that change. Arrays have to be where they were."""
        returned = self.block(op.body.block)
        for before, after in zip(given, returned, strict=True):
            if isinstance(before, Memory) and not (isinstance(after, Memory) and after.buffer is before.buffer):
                raise NotNative("arrays change places from round to round", op.source)
        return tuple(each for place in changing if not isinstance(each := returned[place], Memory))

    def _counted(
        self, op: While, given: Sequence[Written], changing: Sequence[int], first: Sequence[Value]
    ) -> dict[int, Value]:
        bound = find_bound(op)
        assert bound is not None
        counter = given[bound.position]
        assert not isinstance(counter, Memory)
        dtype = counter.dtype
        start = _as_i64(counter)
        limit = _as_i64(self._limit(op, given))
        trips = _trips(start, limit, bound.step, bound.is_limit_included)
        body = Block([tensor_type((), "i64"), *(each.type for each in first)])
        number, *carried = body.arguments
        with Builder(body, source=op.source):
            own = dict[int, Value](zip(changing, carried, strict=True))
            own[bound.position] = _as_dtype(_counted_from(start, number, bound.step), dtype)
            self._arguments(op.body.block, given, own)
            Yield(self._after_round(op, given, changing))
        loop = For(trips, tuple(first), Region(body))
        found = dict[int, Value](zip(changing, loop.results, strict=True))
        if op.results[bound.position].uses:
            rounds = Maximum(trips, Constant.of(0, "i64"))
            found[bound.position] = _as_dtype(_counted_from(start, rounds, bound.step), dtype)
        return found

    def _limit(self, op: While, given: Sequence[Written]) -> Value:
        """What the counter is compared with, which is the same in all rounds."""
        bound = find_bound(op)
        assert bound is not None
        for place, value in enumerate(op.operands):
            if value is bound.limit and not _changes(op, place) and not isinstance(found := given[place], Memory):
                return found
        return self.number(bound.limit)

    def _uncounted(
        self, op: While, given: Sequence[Written], changing: Sequence[int], first: Sequence[Value]
    ) -> dict[int, Value]:
        def test(numbers: Sequence[Value]) -> Value:
            for known in (self._done, self._begun):  # it is written twice
                known.difference_update(op.cond.walk())
            self._arguments(op.cond.block, given, dict(zip(changing, numbers, strict=True)))
            (found,) = self.block(op.cond.block)
            assert not isinstance(found, Memory)
            return found

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


def _constant(value: Constant) -> Value:
    return Constant.of(value.value.data.reshape(()), value.dtype)


# -- numbers ----------------------------------------------------------------------------------------------------------


def _as_dtype(value: Value, dtype: str) -> Value:
    return value if value.dtype == dtype else Convert(value, dtype)


def _as_i64(value: Value) -> Value:
    if isinstance(value, Constant):
        return Constant.of(int(value.number), "i64")
    return _as_dtype(value, "i64")


def _plus(left: Value, right: Value) -> Value:
    pair = (left, right)
    numbers = [int(each.number) for each in pair if isinstance(each, Constant)]
    if len(numbers) == 2:
        return Constant.of(sum(numbers), "i64")
    if 0 in numbers:
        return right if isinstance(left, Constant) else left
    return Add(left, right)


def _minus(left: Value, right: Value) -> Value:
    if isinstance(right, Constant):
        return _plus(left, Constant.of(-int(right.number), "i64"))
    return Subtract(left, right)


def _counted_from(start: Value, rounds: Value, step: int) -> Value:
    """The counter after so many rounds."""
    return _plus(start, rounds if step == 1 else Multiply(rounds, Constant.of(step, "i64")))


def _trips(start: Value, limit: Value, step: int, is_limit_included: bool) -> Value:
    """How many rounds there are: none where the number is not positive."""
    low, high = (start, limit) if step > 0 else (limit, start)
    length = _minus(high, low)
    if not (isinstance(low, Constant) and int(low.number) == 0):
        # Were the one far below the other, their difference would wrap around.
        length = _minus(Maximum(high, low), low)
        if is_limit_included:
            is_empty = Compare(high, low, "LT")
            return _rounds_of(_chosen(is_empty, length), abs(step))
    elif is_limit_included:
        length = _plus(length, Constant.of(1, "i64"))
    return _rounds_of(length, abs(step))


def _chosen(is_empty: Value, length: Value) -> Value:
    return Select(is_empty, Constant.of(0, "i64"), _plus(length, Constant.of(1, "i64")))


def _rounds_of(length: Value, step: int) -> Value:
    if step == 1:
        return length
    return Divide(_plus(length, Constant.of(step - 1, "i64")), Constant.of(step, "i64"))


# -- memory -----------------------------------------------------------------------------------------------------------


def _place(array: TensorType, starts: Sequence[Value]) -> Value:
    """The byte where an element is."""
    strides: list[int] = []
    stride = byte_width(stored_dtype(array.dtype))
    for extent in reversed(array.shape):
        strides.insert(0, stride)
        stride *= extent
    known = [(start, each) for start, each in zip(starts, strides, strict=True) if not isinstance(start, Constant)]
    fixed = sum(
        int(start.number) * each for start, each in zip(starts, strides, strict=True) if isinstance(start, Constant)
    )
    if not known:
        return Constant.of(fixed, "i64")
    return Subscript(tuple(start for start, _ in known), tuple(each for _, each in known), fixed)


def stored_dtype(dtype: str) -> str:
    """As what an element is in memory: a truth value is a byte."""
    return "ui8" if dtype == "i1" else dtype


def _load(buffer: Value, place: Value, dtype: str) -> Value:
    found = Load(buffer, place, stored_dtype(dtype))
    return Compare(found, Constant.of(0, "ui8"), "NE") if dtype == "i1" else found


def _store(value: Value, buffer: Value, place: Value) -> None:
    Store(_as_dtype(value, stored_dtype(value.dtype)), buffer, place)


# -- values of the tensor level ---------------------------------------------------------------------------------------


def _is_number(value: Value) -> bool:
    return isinstance(value.type, TensorType) and value.type.size == 1


def _is_known_number(value: Value) -> bool:
    return isinstance(value, Constant) and _is_number(value)


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


def _source_of(value: Value) -> Position | None:
    owner = _owner_of(value)
    return None if owner is None else owner.source


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


def _overwritten(op: Op) -> Iterator[Value]:
    """The arrays of which the op ends the version that it takes."""
    match op:
        case DynamicUpdateSlice() if not _is_number(op):
            yield op.operand
        case While():
            yield from (
                value for place, value in enumerate(op.operands) if not _is_number(value) and _changes(op, place)
            )
        case TensorIf() | Case():
            for region in op.regions:
                for inner in region.block:
                    yield from (value for value in _overwritten(inner) if _home(value) is not region.block)
        case _:
            return


__all__ = ["DTYPES", "Entry", "LoopFunction", "stored_dtype", "write_loop"]
