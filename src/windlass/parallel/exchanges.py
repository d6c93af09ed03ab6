"""What lanes exchange, as reads of what each has left in an array: shuffles, votes, matches, reductions.

    v = shfl.down(v, 4)    =   left[lane] = v;  (all lanes have)  v = left[lane + 4 within the segment, else lane]
    ballot(p)              =   left[lane] = p;  (all lanes have)  for k: found |= left[k] << k

The meaning is that of `Collective.exchange` and of the emulator (PTX: a lane that reads from one which takes no part
gets its own value).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from windlass.diagnostics import Position
from windlass.ir import Block, Builder, Region, Value, tensor_type
from windlass.loops import Allocate, Collective, For, If, Yield
from windlass.loops.threads import WARP
from windlass.ops.comparison import Compare
from windlass.ops.conversion import BitcastConvert, Convert
from windlass.ops.creation import Constant
from windlass.ops.elementwise import Add, And, Not, Or, Select, ShiftLeft, ShiftRightLogical, Subtract, Xor
from windlass.ops.extremes import Maximum, Minimum
from windlass.parallel.kept_values import load_kept


class CannotSplit(Exception):
    """Threads meet where this can't be brought outside of them."""

    def __init__(self, reason: str, position: Position | None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.position = position


@dataclass(frozen=True)
class Group:
    """The threads that exchange: `count` (an i64) from the number `first` on; those that came, by an array of flags
    (None: all); what each has given, in `given`; and which lanes of them are meant (None: all)."""

    first: Value
    count: Value
    given: Allocate | None
    came: Allocate | None = None
    mask: Value | None = None


def exchanged_input(op: Collective) -> int | None:
    """Which of the inputs is given to others; None if none is. Others each lane needs for itself.

    Raises CannotSplit for exchanges that have no such form.
    """
    match op.kind.split("."):
        case ["shfl", "sync", _, _] | ["vote", _, "sync"] | ["match", _, "sync", _]:
            return 1
        case ["redux", "sync", way] if way in _FOLDS:
            return 0
        case ["activemask"]:
            return None
        case ["barrier0" | "barrier", *_, "popc" | "and" | "or"] | ["barrier", "cta", "red", _, *_]:
            return len(op.inputs) - 1
        case _:
            raise CannotSplit(f"threads exchange values by {op.kind}", op.source)


def mask_of(op: Collective) -> Value | None:
    """The lanes that are meant; None where that is all that come."""
    match op.kind.split("."):
        case ["shfl" | "vote" | "match", *_]:
            return op.inputs[0]
        case ["redux", *_]:
            return op.inputs[1]
        case _:
            return None


def is_alike(op: Collective) -> bool:
    """Whether all lanes that are meant are given the same."""
    kind = op.kind.split(".")
    return kind[0] not in ("shfl", "match") or kind[:2] == ["match", "all"]


def write_exchange(op: Collective, group: Group) -> tuple[Value, ...]:
    """What is given to all that take part, where that `is_alike`."""
    match op.kind.split("."):
        case ["vote", way, "sync"]:
            return (_vote(way, group),)
        case ["activemask"]:
            return (_mask(group, lambda k: _true()),)
        case ["match", "all", "sync", _]:
            return _match_all(op, group)[: len(op.result_dtypes)]
        case ["redux", "sync", way]:
            return (_reduce(way, group),)
        case kind:
            return (_meet(kind, op, group),)


def write_exchange_of(
    op: Collective, group: Group, thread: Value, operands: Sequence[Value | None]
) -> tuple[Value, ...]:
    """What a thread of that number in its block (an i32) receives. `operands` are its own inputs, but for the one that
    it has given."""
    kind = op.kind.split(".")
    if kind[0] == "shfl":
        _, _, amount, control = operands
        assert amount is not None and control is not None
        return _shuffle(kind[2], op.inputs[1].dtype, group, thread, amount, control)[: len(op.result_dtypes)]
    if kind[:2] == ["match", "any"]:
        own = _given(group, op.inputs[1].dtype, thread)
        return (_mask(group, lambda number: Compare(_given(group, own.dtype, number), own, "EQ")),)
    return write_exchange(op, group)


# -- loops over those that take part ----------------------------------------------------------------------------------


def _fold(
    group: Group, initial: Sequence[Value], combine: Callable[[Value, Value, Sequence[Value]], Sequence[Value]]
) -> tuple[Value, ...]:
    """Carried values after all that take part, in order: of `combine(place in the group, number in the block, …)`."""
    body = Block([tensor_type((), "i64"), *(each.type for each in initial)])
    counter, carried = body.arguments[0], body.arguments[1:]
    with Builder(body):
        place = Convert(counter, "i32")
        number = Add(group.first, place)
        takes_part: Value | None = None
        if group.mask is not None:
            takes_part = Compare(And(ShiftRightLogical(group.mask, place), _one()), _zero(), "NE")
        if group.came is not None:
            came = load_kept(group.came, "i1", number)
            takes_part = came if takes_part is None else And(takes_part, came)
        if takes_part is None:
            Yield(tuple(combine(place, number, carried)))
        else:
            then, otherwise = Block(), Block()
            with Builder(then):
                Yield(tuple(combine(place, number, carried)))
            with Builder(otherwise):
                Yield(tuple(carried))
            Yield(If(takes_part, Region(then), Region(otherwise)).results)
    return For(group.count, tuple(initial), Region(body)).results


def _given(group: Group, dtype: str, number: Value) -> Value:
    assert group.given is not None
    return load_kept(group.given, dtype, number)


def _mask(group: Group, holds: Callable[[Value], Value]) -> Value:
    def combine(place: Value, number: Value, carried: Sequence[Value]) -> Sequence[Value]:
        bit = ShiftLeft(_one(), place)
        return (Select(holds(number), Or(carried[0], bit), carried[0]),)

    return _fold(group, (_zero(),), combine)[0]


def _vote(way: str, group: Group) -> Value:
    if way == "ballot":
        return _mask(group, lambda number: _given(group, "i1", number))

    def combine(place: Value, number: Value, carried: Sequence[Value]) -> Sequence[Value]:
        vote = _given(group, "i1", number)
        return Or(carried[0], vote), And(carried[1], vote)

    some, every = _fold(group, (_false(), _true()), combine)
    return {"any": some, "all": every}[way] if way != "uni" else Or(every, Not(some))


def _reduce(way: str, group: Group) -> Value:
    def combine(place: Value, number: Value, carried: Sequence[Value]) -> Sequence[Value]:
        is_first, found = carried
        given = _given(group, "i32", number)
        return _false(), Select(is_first, given, _folded(way, found, given))

    return _fold(group, (_true(), _zero()), combine)[1]


def _folded(way: str, one: Value, other: Value) -> Value:
    fold = _FOLDS[way]
    if not way.startswith("u"):
        return fold(one, other)
    return BitcastConvert(fold(BitcastConvert(one, "ui32"), BitcastConvert(other, "ui32")), "i32")


_FOLDS: dict[str, Callable[[Value, Value], Value]] = {
    "add": Add, "min": Minimum, "umin": Minimum, "max": Maximum, "umax": Maximum, "and": And, "or": Or, "xor": Xor,
}  # fmt: skip


def _match_all(op: Collective, group: Group) -> tuple[Value, ...]:
    value = op.inputs[1]

    def combine(place: Value, number: Value, carried: Sequence[Value]) -> Sequence[Value]:
        is_first, found, same, members = carried
        given = _given(group, value.dtype, number)
        return (
            _false(),
            Select(is_first, given, found),
            And(same, Or(is_first, Compare(given, found, "EQ"))),
            Or(members, ShiftLeft(_one(), place)),
        )

    _, _, same, members = _fold(group, (_true(), Constant.of(0, value.dtype), _true(), _zero()), combine)
    return Select(same, members, _zero()), same


def _meet(kind: Sequence[str], op: Collective, group: Group) -> Value:
    """How many threads of a block say yes; whether all or some do."""
    dtype, given = op.result_dtypes[0], op.inputs[-1].dtype

    def combine(place: Value, number: Value, carried: Sequence[Value]) -> Sequence[Value]:
        told = _given(group, given, number)
        holds = told if given == "i1" else Compare(told, Constant.of(0, given), "NE")
        count, every = carried
        return Add(count, Convert(holds, "i32")), And(every, holds)

    count, every = _fold(group, (_zero(), _true()), combine)
    if "popc" in kind:
        return count if dtype == "i32" else Convert(count, dtype)
    found = every if "and" in kind else Compare(count, _zero(), "NE")
    return found if dtype == "i1" else Convert(found, dtype)


def _shuffle(way: str, dtype: str, group: Group, thread: Value, amount: Value, control: Value) -> tuple[Value, ...]:
    """PTX, shfl.sync: the value of the lane that is read from, and whether it lies within the segment."""

    def number(of: int) -> Value:
        return Constant.of(of, "i32")

    lane = And(thread, number(WARP - 1))
    amount = number(int(amount.number) % WARP) if isinstance(amount, Constant) else And(amount, number(WARP - 1))
    segment = And(ShiftRightLogical(control, number(8)), number(WARP - 1))
    rest = Xor(segment, number(WARP - 1))
    lowest = And(lane, segment)
    highest = Or(lowest, And(And(control, number(WARP - 1)), rest))
    match way:
        case "idx":
            source: Value = Or(lowest, And(amount, rest))
        case "up":
            source = Subtract(lane, amount)
        case "down":
            source = Add(lane, amount)
        case _:
            source = Xor(lane, amount)
    is_inside = Compare(source, highest, "GE" if way == "up" else "LE")
    if isinstance(amount, Constant) and _takes_all(group):
        found = _from_neighbour(way, dtype, group, thread, int(amount.number), is_inside)
        if found is not None:
            return found, is_inside
    source = Select(is_inside, source, lane)
    takes_part = Compare(Convert(source, "i64"), group.count, "LT")
    if group.mask is not None:
        takes_part = And(takes_part, Compare(And(ShiftRightLogical(group.mask, source), _one()), _zero(), "NE"))
    place = Add(group.first, Select(takes_part, source, lane))
    if group.came is not None:
        place = Select(load_kept(group.came, "i1", place), place, thread)
    return _given(group, dtype, place), is_inside


def _takes_all(group: Group) -> bool:
    """Whether all lanes of a whole warp exchange."""
    return group.mask is None and group.came is None and isinstance(group.count, Constant)


def _from_neighbour(way: str, dtype: str, group: Group, thread: Value, amount: int, is_inside: Value) -> Value | None:
    """What the thread so many before or after it has given, or it itself, read as neighbours lie; None if not so."""
    if way in ("up", "down"):
        return _read_if(is_inside, dtype, group, thread, amount if way == "down" else -amount, 0)
    if way != "bfly" or amount & (amount - 1):
        return None
    is_below = Compare(And(thread, Constant.of(amount, "i32")), _zero(), "EQ")
    other = _read_if(is_below, dtype, group, thread, amount, -amount)
    return Select(is_inside, other, _given(group, dtype, thread))


def _read_if(condition: Value, dtype: str, group: Group, thread: Value, amount: int, other: int) -> Value:
    """What the thread so many after it has given: one number where the condition holds, and the other elsewhere."""
    blocks: list[Block] = []
    for each in (amount, other):
        block = Block()
        with Builder(block):
            Yield((_given(group, dtype, Add(thread, Constant.of(each, "i32"))),))
        blocks.append(block)
    return If(condition, *map(Region, blocks)).results[0]


def _zero() -> Value:
    return Constant.of(0, "i32")


def _one() -> Value:
    return Constant.of(1, "i32")


def _true() -> Value:
    return Constant.of(True, "i1")


def _false() -> Value:
    return Constant.of(False, "i1")
