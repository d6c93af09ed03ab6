"""Stores that only go on evenly, as a loop: what copies of one statement for neighbouring elements were before.

    float4 v = *(float4 *)&c[j];
    v.x = alpha * sums[j + 0] + beta * v.x;                 for (int i = 0; i < 4; i++)
    v.y = alpha * sums[j + 1] + beta * v.y;        is           c[j + i] = alpha * sums[j + i] + beta * c[j + i];
    ...
    *(float4 *)&c[j] = v;

Nothing may come between the loads and the stores, and no store may write what a later copy loads.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from windlass.ir import Block, Builder, Op, Region, TensorType, Value, tensor_type
from windlass.loops import Allocate, CheckAlignment, For, Load, Store, Subscript, ViewBuffer, Yield
from windlass.ops.conversion import Convert, byte_width
from windlass.ops.creation import Constant
from windlass.ops.elementwise import Add, Multiply, Or

MOST_COPIES = 16
ROWS = (4, 2)
"""Copies may be in rows of so many, as the words of several `float4` are."""
DEEPEST = 24
"""Values that are computed in more steps than this are not looked into."""


def reroll(block: Block) -> None:
    """Make loops of stores in a block and in those within it."""
    for op in tuple(block):
        for region in op.regions:
            reroll(region.block)
    _set_alignments_apart(block)
    run: list[Store] = []
    for op in tuple(block):
        if isinstance(op, Store) and not op.is_volatile:
            run.append(op)
        elif not (op.is_pure or isinstance(op, Load)):
            _reroll_run(run)
            run = []
    _reroll_run(run)


def _set_alignments_apart(block: Block) -> None:
    """Check the alignment of vectors at the block's end, so that their members are all alike."""
    last = block.terminator
    for op in tuple(block):
        if isinstance(op, Load | Store) and op.alignment:
            with Builder(Block(), source=op.source):
                check = CheckAlignment(op.buffer, op.offset, op.alignment)
            assert check.block is not None
            check.block.unlink(check)
            block.insert_before(check, last)
            op.alignment = 0


def _reroll_run(run: Sequence[Store]) -> None:
    """Make loops of stores between which there are only loads and arithmetic."""
    place = 0
    while place < len(run) - 1:
        for count, row in _groupings(min(len(run) - place, MOST_COPIES)):
            if _reroll_stores(run[place : place + count], row, run):
                place += count - 1
                break
        place += 1


def _groupings(most: int) -> Iterator[tuple[int, int]]:
    """How many stores to take for copies, and how many of them to take for a row, the largest first."""
    for count in range(most, 1, -1):
        yield count, count
        for row in ROWS:
            if count > row and count % row == 0:
                yield count, row


def _reroll_stores(stores: Sequence[Store], row: int, run: Sequence[Store]) -> bool:
    """Make one loop of all these stores, if they are copies of one: two loops where there are several rows."""
    first, last = stores[0], stores[-1]
    if any(store.buffer is not first.buffer or store.value.dtype != first.value.dtype for store in stores):
        return False
    if all(store.value is first.value for store in stores):
        return False
    copies = _Copies(row)
    offset, value = copies.join([s.offset for s in stores]), copies.join([s.value for s in stores])
    width = byte_width(first.value.dtype)
    if offset is None or value is None or abs(offset.step) < width:
        return False
    if row < len(stores) and abs(offset.leap) < row * abs(offset.step):
        return False
    block = first.block
    assert block is not None
    if not all(_may_move(loads, stores, run) for loads in copies.loads):
        return False
    sizes = [len(stores)] if row == len(stores) else [len(stores) // row, row]
    bodies = [Block([tensor_type((), "i64")]) for _ in sizes]
    counters = [body.arguments[0] for body in bodies]
    made: dict[_Joined, Value] = {}
    with Builder(bodies[-1]) as builder:
        builder.source = first.source
        Store(value.emit(counters, made), first.buffer, offset.emit(counters, made))
        Yield(())
    outside = Block()
    for size, body, around in zip(reversed(sizes), reversed(bodies), [*reversed(bodies[:-1]), outside], strict=True):
        with Builder(around) as builder:
            builder.source = first.source
            For(Constant.of(size, "i64"), (), Region(body))
            if around is not outside:
                Yield(())
    for op in tuple(outside):
        outside.unlink(op)
        block.insert_before(op, last)
    for store in stores:
        _erase(store)
    return True


def _erase(op: Op) -> None:
    """Erase an op and what was computed for nothing else."""
    operands = op.operands
    op.erase()
    for operand in operands:
        if not isinstance(operand, Op) or operand.block is None or not operand.is_unused:
            continue
        if (operand.is_pure and not operand.regions) or isinstance(operand, Load):
            _erase(operand)


def _may_move(loads: Sequence[Load], stores: Sequence[Store], run: Sequence[Store]) -> bool:
    """Whether each copy may load just before it stores, after the stores of the copies before it."""
    if any(load.block is not stores[0].block or load.is_volatile for load in loads):
        return False
    others = [store for store in run if not any(store is own for own in stores)]
    ops = list(stores[0].block or ())
    start, end = min(ops.index(load) for load in loads), ops.index(stores[-1])
    if any(op in others or not (isinstance(op, Load | Store) or op.is_pure) for op in ops[start:end]):
        return False
    one, other = _base(loads[0].buffer), _base(stores[0].buffer)
    if one is other:
        return all(is_same(load.offset, store.offset) for load, store in zip(loads, stores, strict=True))
    return isinstance(one, Allocate) or isinstance(other, Allocate)


def _base(value: Value) -> Value:
    while isinstance(value, ViewBuffer):
        value = value.buffer
    return value


def is_same(one: Value, other: Value, depth: int = 0) -> bool:
    """Whether two values are computed alike."""
    if one is other:
        return True
    if not isinstance(one, Op) or not isinstance(other, Op) or type(one) is not type(other) or depth > DEEPEST:
        return False
    if not one.is_pure or one.regions or one.attributes != other.attributes or one.type is not other.type:
        return False
    pairs = zip(one.operands, other.operands, strict=True)
    return len(one.operands) == len(other.operands) and all(is_same(a, b, depth + 1) for a, b in pairs)


# -- copies of one value ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Joined:
    """The values of all copies as one.

    `kind` is "same" (one value), "op" (the example's op on other operands) or "step": its only part, if it has one,
    with `start`, the copy's place in its row times `step` and the row's times `leap` added to it (or put into its bits,
    if the example is an `Or`). For a `Subscript` the parts are its indices, of which these are two more.
    """

    kind: str
    example: Value
    parts: tuple[_Joined, ...] = ()
    start: int = 0
    step: int = 0
    leap: int = 0

    def emit(self, counters: Sequence[Value], made: dict[_Joined, Value]) -> Value:
        """The value of the copy that the counters tell: its row, if there are several, and its place in it."""
        if self.kind == "same":
            return self.example
        if self not in made:
            parts = [part.emit(counters, made) for part in self.parts]
            if self.kind == "step":
                made[self] = self._emit_step(counters, parts)
            else:
                assert isinstance(self.example, Op)
                made[self] = self.example.with_operands(tuple(parts))
        return made[self]

    def _emit_step(self, counters: Sequence[Value], parts: Sequence[Value]) -> Value:
        dtype = self.example.dtype
        steps = (self.step, self.leap)[: len(counters)]
        if isinstance(self.example, Subscript):
            return Subscript((*parts, *counters), (*self.example.strides, *steps[::-1]), self.start)
        number: Value = Constant.of(self.start, dtype)
        for counter, factor in zip(reversed(counters), steps, strict=True):
            place = counter if counter.dtype == dtype else Convert(counter, dtype)
            number = Add(number, Multiply(place, Constant.of(factor, dtype)))
        if not parts:
            return number
        return Or(parts[0], number) if isinstance(self.example, Or) else Add(parts[0], number)


class _Copies:
    """Joins values of copies; `loads` are those that this takes, a group of one per copy each."""

    def __init__(self, row: int) -> None:
        self.row = row
        self.loads: list[Sequence[Load]] = []
        self.known: dict[tuple[int, ...], _Joined | None] = {}

    def join(self, values: Sequence[Value], depth: int = 0) -> _Joined | None:
        """The values, one per copy, as one; None if they don't go on evenly."""
        key = tuple(map(id, values))
        if key not in self.known:
            self.known[key] = self._join(values, depth)
        return self.known[key]

    def _join(self, values: Sequence[Value], depth: int) -> _Joined | None:
        first = values[0]
        if all(value is first for value in values):
            return _Joined("same", first)
        if depth > DEEPEST or any(value.type is not first.type for value in values):
            return None
        if isinstance(first.type, TensorType) and first.type.is_integer:
            steps = _steps(values, Add, self.row) or _steps(values, Or, self.row) or _places(values, self.row)
            if steps is not None:
                return steps
        ops = [value for value in values if isinstance(value, Op)]
        example = ops[0] if ops else None
        if len(ops) < len(values) or example is None or isinstance(example, Constant) or example.regions:
            return None
        if any(type(op) is not type(example) or op.attributes != example.attributes for op in ops):
            return None
        if not example.is_pure and not isinstance(example, Load):
            return None
        parts = [self.join(operands, depth + 1) for operands in zip(*(op.operands for op in ops), strict=True)]
        found = tuple(part for part in parts if part is not None)
        if len(found) < len(parts):
            return None
        if isinstance(example, Load):
            self.loads.append([op for op in ops if isinstance(op, Load)])
        return _Joined("op", example, found)


def _steps(values: Sequence[Value], kind: type[Add | Or], row: int) -> _Joined | None:
    """Integers of which each is the one before with a number added."""
    roots, numbers = zip(*(_without_number(value, kind) for value in values), strict=True)
    root, steps = roots[0], _even_steps(numbers, row)
    if steps is None or any(each is not root for each in roots):
        return None
    if root is None:
        return _Joined("step", values[0], (), *steps) if kind is Add else None
    return _Joined("step", values[1], (_Joined("same", root),), *steps)


def _places(values: Sequence[Value], row: int) -> _Joined | None:
    """Subscripts of which each is the one before, so many bytes further."""
    places = [value for value in values if isinstance(value, Subscript)]
    if len(places) < len(values):
        return None
    first, steps = places[0], _even_steps([place.start for place in places], row)
    if steps is None or any((place.indices, place.strides) != (first.indices, first.strides) for place in places):
        return None
    return _Joined("step", first, tuple(_Joined("same", index) for index in first.indices), *steps)


def _even_steps(numbers: Sequence[int], row: int) -> tuple[int, int, int] | None:
    """Where numbers start, and by how much they grow from copy to copy and from row to row; None if they don't."""
    start = numbers[0]
    step, leap = numbers[1] - start, numbers[row % len(numbers)] - start
    for place, number in enumerate(numbers):
        if number != start + place % row * step + place // row * leap:
            return None
    return start, step, leap


def _without_number(value: Value, kind: type[Add | Or]) -> tuple[Value | None, int]:
    """What a known number is added to, and the number."""
    total = 0
    while isinstance(value, kind):
        left, right = value.operands
        if isinstance(left, Constant):
            left, right = right, left
        if not isinstance(right, Constant):
            break
        total, value = total + int(right.number), left
        if kind is Or:
            break
    if isinstance(value, Constant):
        return None, total + int(value.number)
    return value, total
