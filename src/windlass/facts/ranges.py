"""What is known of a value's elements: found out when a rule asks, and remembered.

Each op class says what holds for its results, given what holds for its operands (`TensorOp.find_range`). Here this is
followed through a program: without recursion through long chains of ops, and around loops, where what is carried is
widened until an iteration adds nothing (Cousot and Cousot, 1977).

What was found stays with the value: rewriting replaces values by equal ones only. Rules that reassociate floats may
move a value by some units in the last place, for which ranges leave room.

The user may grant that special values don't occur (`granting`). That is said of what comes in and of what is computed
from it, not of constants: what a program itself makes of a NaN or an infinity that stands in it may be one.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from typing import Any

from windlass.diagnostics.deadline import is_late
from windlass.ir import Argument, Block, Op, Region, Result, TensorType, Type, Value
from windlass.ops import And, Call, Compare, Constant, Select, While
from windlass.ops.base import TensorOp
from windlass.ops.comparison import MIRRORED
from windlass.ops.ranges import Range, everything, largest_float

LARGEST_LOOP = 4000
"""Ops: of what larger loops carry nothing is found out."""

ROUNDS = 6
"""How often a loop's body is gone through before what it carries counts as unknown."""

FRESH = 3
"""How often a loop inside of others is begun with nothing but what it is given, while these are gone through."""


_granted: ContextVar[frozenset[str]] = ContextVar("granted", default=frozenset())


@contextmanager
def granting(assumptions: Iterable[str]) -> Generator[None]:
    """Within it, values count as free of what the user says doesn't occur: "no NaN", "no -0.0", "finite".

    >>> from windlass.ir.values import tensor
    >>> with granting(("no NaN", "finite")):
    ...     print(range_of(tensor("f16")))
    Range(low=-65504.0, high=65504.0, nan=False, negative_zero=True, whole=False)
    """
    token = _granted.set(frozenset(assumptions))
    try:
        yield
    finally:
        _granted.reset(token)


def zeros_have_signs() -> bool:
    """Whether 0.0 and -0.0 have to be told apart: not where the user grants that there is no -0.0."""
    return "no -0.0" not in _granted.get()


def _as_granted(found: Range, type_: Type, made_of: Iterable[Range]) -> Range:
    """What is left of a range by what is granted, for a value that is made of others with these ranges."""
    granted = _granted.get()
    if not granted or not isinstance(type_, TensorType) or not type_.is_float:
        return found
    sources = list(made_of)
    if "no NaN" in granted and not any(each.nan for each in sources):
        found = replace(found, nan=False)
    if "no -0.0" in granted:
        found = replace(found, negative_zero=False)
    if "finite" in granted and not any(each.has_infinity for each in sources):
        largest = largest_float(type_.dtype)
        low, high = max(found.low, -largest), min(found.high, largest)
        found = found if low > high else replace(found, low=low, high=high)
    return found


def range_of(value: Value) -> Range:
    """What holds for every element of a value.

    >>> from windlass.ir.values import tensor
    >>> from windlass.ops import Abs, Convert
    >>> range_of(Abs(Convert(tensor("i8", 3), "f32")))
    Range(low=0.0, high=128.0, nan=False, negative_zero=False, whole=True)
    """
    known = getattr(value, "facts", None)
    return known if known is not None else _Analysis().find(value)


def declare_range(argument: Argument, known: Range) -> None:
    """Take for granted that the elements of a parameter lie in a range."""
    argument.facts = known


def is_nonnegative(value: Value) -> bool:
    """No element is less than 0 or -0.0; NaN is not excluded."""
    return not range_of(value).may_be_negative


def is_finite(value: Value) -> bool:
    """No element is NaN or infinite."""
    return range_of(value).is_finite


def has_nan(value: Value) -> bool:
    """An element may be NaN."""
    return range_of(value).nan


def is_within(value: Value, low: Any, high: Any) -> bool:
    """Every element is a number from `low` to `high`."""
    return range_of(value).lies_within(low, high)


def forget_loops(block: Block, is_inside: bool = False) -> None:
    """Have what was found out of loops in the block, and within them, be found anew when it is asked for.

    Loops in which nothing has changed since are left alone.
    """
    for op in block:
        if isinstance(op, While) and not is_inside and (op.body.findings or {}).get((_is_as_found,)):
            continue
        inside = is_inside or isinstance(op, While)
        if inside:
            _forget(op.results)
        for region in op.regions:
            for inner in region.blocks:
                if inside:
                    _forget(inner.arguments)
                forget_loops(inner, inside)


def _is_as_found(_: Region) -> bool:
    """Remembered of the body of a loop that was gone through, for as long as nothing changes in it."""
    return True


def _forget(values: Iterable[Value]) -> None:
    for value in values:
        if hasattr(value, "facts"):
            del value.facts


class _Analysis:
    """Finds ranges and keeps them with the values."""

    def find(self, value: Value) -> Range:
        """The range of a value, those of what it is made of found first."""
        pending = [value]
        waiting: set[Value] = set()
        while pending:
            each = pending[-1]
            if self.known(each) is not None:
                pending.pop()
                continue
            if each not in waiting:
                waiting.add(each)
                missing = [source for source in _sources(each) if self.known(source) is None]
                if missing:
                    pending.extend(missing)
                    continue
            pending.pop()
            self.settle(each)
        found = self.known(value)
        return everything(value.type) if found is None else found

    def known(self, value: Value) -> Range | None:
        return getattr(value, "facts", None)

    def keep(self, value: Value, found: Range) -> None:
        value.facts = found

    def settle(self, value: Value) -> None:
        """Find the range of a value whose sources are known."""
        op = value.owner if isinstance(value, Result) else value
        if isinstance(op, While):
            self.settle_loop(op)
        elif isinstance(op, TensorOp) and isinstance(op.type, TensorType):
            found = op.find_range(self.find)
            assert isinstance(found, Range)
            if found.nan and isinstance(op, Select):
                other = _instead_of_nan(op)
                found = found if other is None else replace(found, nan=self.find(other).nan)
            self.keep_granted(op, found, op)
        elif isinstance(op, TensorOp) and op.results:
            several = op.find_range(self.find)
            assert isinstance(several, tuple)
            for result, found in zip(op.results, several, strict=True):
                self.keep_granted(result, found, op)
        else:
            loop = _loop_of(value)
            if loop is not None:
                self.settle_loop(loop)
            if self.known(value) is None:
                self.keep_granted(value, everything(value.type), op)

    def keep_granted(self, value: Value, found: Range, origin: Op | Value) -> None:
        """Keep what was found, less what the user grants."""
        if not _granted.get() or isinstance(origin, Constant) or _is_within_op(origin) or _holds_constants(origin):
            self.keep(value, found)
        else:
            floats = (each for each in _sources(origin) if isinstance(each.type, TensorType) and each.tensor.is_float)
            self.keep(value, _as_granted(found, value.type, map(self.find, floats)))

    def settle_loop(self, loop: While) -> None:
        """Find what a loop carries: its results, and the parameters of its body and condition."""
        nest = _Nest(self, loop)
        for result, found in zip(loop.results, nest.find_carried(loop), strict=True):
            self.keep(result, found)
        nest.hand_over(loop)
        loop.body.remember(_is_as_found)


def _instead_of_nan(op: Select) -> Value | None:
    """y in select(x == x, x, y), which takes the place of NaN."""
    test = op.pred
    if not isinstance(test, Compare) or test.lhs is not test.rhs or test.compare_type == "TOTALORDER":
        return None
    if test.direction == "EQ" and op.on_true is test.lhs:
        return op.on_false
    return op.on_true if test.direction == "NE" and op.on_false is test.lhs else None


class _Nest(_Analysis):
    """Finds what a loop carries, and for that what holds in it and in loops inside.

    A body is gone through again and again under wider assumptions, and what is inside of it with it. So that this
    doesn't multiply from loop to loop, what an item (an op, or a parameter of a region) was made of is remembered, and
    it is settled again only if some of that has changed since; and a loop that was begun anew `FRESH` times goes on
    from the widest that it carried, of which what it carries can be found by going through it once more.
    """

    def __init__(self, outer: _Analysis, loop: While) -> None:
        self.outer = outer
        self.homes: dict[Value, While] = {}
        """Values by the loop whose body they are in, if only in a region of an op in the body."""
        self.size = 0
        self.find_homes(loop.body, loop)
        self.ranges: dict[Value, Range] = {}
        self.clock = 0
        """How many ranges have changed so far."""
        self.changed: dict[Value, int] = {}
        """When the range of a value changed."""
        self.settled: dict[Value, int] = {}
        self.made_of: dict[Value, tuple[Value, ...]] = {}
        """When an item was settled, and the values in the nest that were looked at."""
        self.round: dict[While, int] = {}
        self.seen: dict[Value, int] = {}
        """How often a loop's body was gone through, and the last such round in which an item was up to date."""
        self.order: dict[While, list[Value]] = {}
        """The items of a body that are up to date, each after what it is made of."""
        self.begun: dict[While, int] = {}
        self.widest: dict[While, Sequence[Range]] = {}
        """How often a loop was begun, and what it carried at most when it was gone through last."""
        self.carried: dict[While, Sequence[Range]] = {}
        """What loops carry, as found last."""
        self.looked_at: list[dict[Value, None]] = []

    def find_homes(self, region: Region, home: While) -> None:
        for block in region.blocks:
            for argument in block.arguments:
                self.homes[argument] = home
            for op in block:
                self.size += 1
                self.homes[op] = home
                for result in op.results:
                    self.homes[result] = home
                if isinstance(op, While):
                    self.find_homes(op.cond, home)
                    self.find_homes(op.body, op)
                elif op.region_names:
                    for inner in op.regions:
                        self.find_homes(inner, home)

    # -- values -----------------------------------------------------------------------------------------------------

    def find(self, value: Value) -> Range:
        home = self.homes.get(value)
        if home is None:
            return self.outer.find(value)
        if self.looked_at:
            self.looked_at[-1][value] = None
        found = self.known(value)
        return super().find(value) if found is None else found

    def known(self, value: Value) -> Range | None:
        """The range of a value, if it is up to date."""
        home = self.homes.get(value)
        if home is None:
            return self.outer.known(value)
        return self.ranges.get(value) if self.seen.get(_item_of(value)) == self.round[home] else None

    def keep(self, value: Value, found: Range) -> None:
        if self.ranges.get(value) != found:
            self.ranges[value] = found
            self.clock += 1
            self.changed[value] = self.clock

    def settle(self, value: Value) -> None:
        """Find the range of a value whose sources are up to date, unless none of them has changed."""
        item, home = _item_of(value), self.homes.get(value)
        if home is None:
            self.outer.find(value)
            return
        if self.seen.get(item) == self.round[home]:
            return
        if self.has_changed(item):
            looked_at: dict[Value, None] = {}
            self.looked_at.append(looked_at)
            super().settle(value)
            self.looked_at.pop()
            if isinstance(item, While):
                for inner in self.order.get(item, ()):
                    looked_at.update(dict.fromkeys(self.made_of[inner]))
            self.made_of[item] = tuple(each for each in looked_at if self.homes.get(each) is not item)
            self.settled[item] = self.clock
        self.seen[item] = self.round[home]
        self.order[home].append(item)

    def has_changed(self, item: Value) -> bool:
        """Whether some of what an item was made of has changed since."""
        settled = self.settled.get(item)
        if settled is None:
            return True
        for each in self.made_of[item]:
            if self.known(each) is None:
                self.find(each)
            if self.changed.get(each, 0) > settled:
                return True
        return False

    # -- loops ------------------------------------------------------------------------------------------------------

    def settle_loop(self, loop: While) -> None:
        for result, found in zip(loop.results, self.find_carried(loop), strict=True):
            self.keep(result, found)

    def find_carried(self, loop: While) -> Sequence[Range]:
        unknown = [everything(result.type) for result in loop.results]
        begun = self.begun[loop] = self.begun.get(loop, 0) + 1
        is_fresh = begun <= FRESH
        self.widest[loop], self.carried[loop] = self.widen(loop, unknown, is_fresh) or (unknown, unknown)
        return self.carried[loop]

    def widen(
        self, loop: While, unknown: Sequence[Range], is_fresh: bool
    ) -> tuple[Sequence[Range], Sequence[Range]] | None:
        """What a round adds nothing to, and what of it is carried; None where nothing is known."""
        if self.size > LARGEST_LOOP:
            return None
        initial = [self.find(operand) for operand in loop.operands]
        carried: Sequence[Range] = initial if is_fresh else _join(self.widest[loop], initial)
        for attempt in range(ROUNDS):
            if is_late():
                break
            given = self.run_once(loop, carried)
            wider = _join(carried, given)
            if wider == carried:
                # What is carried at any time was there at first, or was given by the body.
                return carried, _join(initial, given)
            if attempt or not is_fresh:
                wider = [_widen(*each) for each in zip(carried, wider, unknown, strict=True)]
            carried = wider
        return None

    def run_once(self, loop: While, carried: Sequence[Range]) -> Sequence[Range]:
        """What the body gives for what is carried."""
        self.round[loop] = number = self.round.get(loop, 0) + 1
        for argument, found in zip(loop.body.block.arguments, self.under_condition(loop, carried), strict=True):
            self.keep(argument, found)
            self.seen[argument] = number
        before, self.order[loop] = self.order.get(loop, []), []
        for item in before:
            self.settle(item)
        return [self.find(given) for given in loop.body.block.terminator.operands]

    def hand_over(self, loop: While) -> None:
        """Let others know what holds in the loop, where they would find the same."""
        carried = self.carried[loop]
        for argument, found in zip(loop.cond.block.arguments, carried, strict=True):
            self.outer.keep(argument, found)
        for argument, found in zip(loop.body.block.arguments, self.under_condition(loop, carried), strict=True):
            self.outer.keep(argument, found)
        if loop not in self.order:
            return
        self.run_once(loop, carried)
        for item in self.order[loop]:
            for value in item.results if isinstance(item, Op) else (item,):
                self.outer.keep(value, self.ranges[value])
            if isinstance(item, While) and self.begun[item] <= FRESH:
                self.hand_over(item)

    def under_condition(self, loop: While, carried: Sequence[Range]) -> list[Range]:
        """What holds for what is carried where the condition does."""
        arguments = loop.cond.block.arguments
        limited = dict(zip(arguments, carried, strict=True))
        pending, seen = list(loop.cond.block.terminator.operands), set[Value]()
        while pending:
            test = pending.pop()
            if test in seen:
                continue
            seen.add(test)
            if isinstance(test, And):
                pending += test.operands
            elif isinstance(test, Compare) and test.lhs.tensor.is_integer:
                for value, bound, direction in (
                    (test.lhs, test.rhs, test.direction),
                    (test.rhs, test.lhs, MIRRORED[test.direction]),
                ):
                    if isinstance(value, Argument) and value in limited:
                        limit = limited.get(bound) if isinstance(bound, Argument) else self.known_outside(loop, bound)
                        if limit is not None:
                            limited[value] = _limit(limited[value], direction, limit)
        return list(limited.values())

    def known_outside(self, loop: While, value: Value) -> Range | None:
        """The range of a value that the loop does not compute, and of constants in it."""
        home = value.owner.block if isinstance(value, Result) else getattr(value, "block", None)
        if isinstance(value, Constant) or home is loop.block:
            return self.find(value)
        return None


def _join(some: Sequence[Range], others: Sequence[Range]) -> list[Range]:
    return [one.join(other) for one, other in zip(some, others, strict=True)]


def _item_of(value: Value) -> Value:
    """What a value is found together with: the op that gives it; itself, if none does."""
    return value.owner if isinstance(value, Result) else value


def _sources(value: Value) -> tuple[Value, ...]:
    """The values that have to be known before this one."""
    op = value.owner if isinstance(value, Result) else value
    if isinstance(op, Op):
        if isinstance(op, While):
            return op.operands
        inner = [region.block.terminator.operands for region in op.regions if not region.block.arguments]
        return (*op.operands, *(given for each in inner for given in each))
    loop = _loop_of(value)
    return () if loop is None else loop.operands


def _holds_constants(origin: Op | Value) -> bool:
    """Whether constants that are no operands may be in what an op gives: those of its regions, or of what it calls."""
    if isinstance(origin, Call):
        return True
    return isinstance(origin, Op) and any(isinstance(op, Constant) for region in origin.regions for op in region.walk())


def _is_within_op(origin: Op | Value) -> bool:
    """Whether it's a parameter of an op's region: it may be given constants."""
    return isinstance(origin, Argument) and origin.block is not None and origin.block.parent is not None


def _loop_of(value: Value) -> While | None:
    """The loop that a value is a parameter of."""
    if isinstance(value, Argument) and value.block is not None and value.block.parent is not None:
        owner = value.block.parent.parent
        if isinstance(owner, While):
            return owner
    return None


def _widen(old: Range, new: Range, full: Range) -> Range:
    """`new`, with the bounds that moved moved as far as they go."""
    low = new.low if new.low == old.low else full.low
    high = new.high if new.high == old.high else full.high
    return Range(low, high, new.nan, new.negative_zero, new.whole)


def _limit(found: Range, direction: str, bound: Range) -> Range:
    """Integers of a range that compare so with one of another."""
    match direction:
        case "LT":
            return found.meet(found.low, bound.high - 1)
        case "LE":
            return found.meet(found.low, bound.high)
        case "GT":
            return found.meet(bound.low + 1, found.high)
        case "GE":
            return found.meet(bound.low, found.high)
        case "EQ":
            return found.meet(bound.low, bound.high)
        case _:
            return found
