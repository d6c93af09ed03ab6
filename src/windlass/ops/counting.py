"""How often a loop goes round, where that can be told from its counter."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

from windlass.ir.core import Region
from windlass.ir.values import Argument, Value
from windlass.ops.base import INTEGER
from windlass.ops.comparison import MIRRORED, Compare
from windlass.ops.creation import Constant
from windlass.ops.elementwise import Add, Subtract


class Loop(Protocol):
    """What is looked at in a loop: `windlass.ops.While`."""

    @property
    def cond(self) -> Region: ...
    @property
    def body(self) -> Region: ...
    @property
    def operands(self) -> tuple[Value, ...]: ...


class Counter(NamedTuple):
    """A carried integer that is `start` at first and grows by `step` each of the `rounds`; it never wraps around."""

    position: int
    start: int
    step: int
    rounds: int


def find_counter(loop: Loop) -> Counter | None:
    """The counter that the loop's condition tests, if start, step and limit are constants.

    >>> from windlass.ops import While, make_region
    >>> zero, body = Constant.of(0, "i32"), lambda i: Add(i, Constant.of(2, "i32"))
    >>> cond = make_region([zero.type], lambda i: Compare(i, Constant.of(7, "i32"), "LT"))
    >>> find_counter(While(cond, make_region([zero.type], body), (zero,)))
    Counter(position=0, start=0, step=2, rounds=4)
    """
    found = _tested(loop)
    if found is None:
        return None
    tested, limit, direction = found
    start, bound = loop.operands[tested.index], integer_of(limit)
    body = loop.body.block
    step = step_of(body.arguments[tested.index], body.terminator.operands[tested.index])
    first = integer_of(start)
    if first is None or bound is None or step is None:
        return None
    rounds = _count(first, bound, step, direction)
    bits = np.iinfo(tested.tensor.numpy_dtype) if tested.dtype not in ("i4", "ui4") else None
    if rounds is None or bits is None or not int(bits.min) <= first + rounds * step <= int(bits.max):
        return None
    return Counter(tested.index, first, step, rounds)


class Bound(NamedTuple):
    """A carried integer that begins with `start`, grows by `step` each round (which is not 0), and is tested against
    `limit`: both are values from outside of the loop. The loop goes on while it has not passed the limit, or reached
    it. `position` is its own among what is carried."""

    start: Value
    step: int
    limit: Value
    is_limit_included: bool
    position: int


def find_bound(loop: Loop) -> Bound | None:
    """What the loop's condition tests, if that is a counter alone, with a limit that stays the same.

    Of integers that are not wider than 32 bits, or of 64 with a sign: their differences have no more than 64 bits,
    where the loop ends at all.

    >>> from windlass.ir.values import tensor
    >>> from windlass.ops import While, make_region
    >>> zero, limit = Constant.of(0, "i32"), tensor("i32", name="n")
    >>> cond = make_region([zero.type], lambda i: Compare(i, limit, "LT"))
    >>> bound = find_bound(While(cond, make_region([zero.type], lambda i: Add(i, Constant.of(2, "i32"))), (zero,)))
    >>> bound.step, bound.limit, bound.is_limit_included
    (2, n, False)
    """
    tested = _tested(loop)
    if tested is None:
        return None
    argument, limit, direction = tested
    body = loop.body.block
    step = step_of(body.arguments[argument.index], body.terminator.operands[argument.index])
    if (
        argument.dtype in ("ui64", "i4", "ui4")
        or not step
        or direction not in (("LT", "LE") if step > 0 else ("GT", "GE"))
    ):
        return None
    if isinstance(limit, Argument) and limit.block is loop.cond.block:
        if body.terminator.operands[limit.index] is not body.arguments[limit.index]:
            return None
        limit = loop.operands[limit.index]
    elif isinstance(limit, Constant):
        limit = Constant.of(int(limit.number), limit.dtype)
    elif any(limit in op.results for op in loop.cond.block):
        return None
    return Bound(loop.operands[argument.index], step, limit, direction in ("LE", "GE"), argument.index)


def _tested(loop: Loop) -> tuple[Argument, Value, str] | None:
    """The carried integer that the condition is a comparison of, and with what."""
    (test,) = loop.cond.block.terminator.operands
    if not isinstance(test, Compare) or len(loop.cond.blocks) != 1:
        return None
    tested, limit, direction = test.lhs, test.rhs, test.direction
    is_carried = isinstance(tested, Argument) and tested.block is loop.cond.block
    if not is_carried or (_is_tested_against(loop, tested) and not _is_tested_against(loop, limit)):
        tested, limit, direction = limit, tested, MIRRORED[direction]
    if not isinstance(tested, Argument) or tested.block is not loop.cond.block or tested.dtype not in INTEGER:
        return None
    return tested, limit, direction


def _is_tested_against(loop: Loop, value: Value) -> bool:
    """Whether a value of the condition is a carried one that stays the same in all rounds."""
    if not isinstance(value, Argument) or value.block is not loop.cond.block:
        return False
    body = loop.body.block
    return body.terminator.operands[value.index] is body.arguments[value.index]


def step_of(argument: Argument, following: Value) -> int | None:
    """By how much a carried integer, as the body sees it and as it gives it, grows each round: None if that varies."""
    if argument.tensor.shape or argument.dtype not in INTEGER:
        return None
    match following:
        case Add(lhs=lhs, rhs=rhs) if lhs is argument:
            return integer_of(rhs)
        case Add(lhs=lhs, rhs=rhs) if rhs is argument:
            return integer_of(lhs)
        case Subtract(lhs=lhs, rhs=rhs) if lhs is argument:
            step = integer_of(rhs)
            return None if step is None else -step
        case _:
            return None


def integer_of(value: Value) -> int | None:
    """The number of a constant integer scalar."""
    if isinstance(value, Constant) and not value.tensor.shape and value.dtype in INTEGER:
        return int(value.number)
    return None


def _count(first: int, bound: int, step: int, direction: str) -> int | None:
    match direction:
        case "LT" | "LE":
            distance = bound - first + (direction == "LE")
        case "GT" | "GE":
            distance, step = first - bound + (direction == "GE"), -step
        case "NE":
            if step == 0 or (bound - first) % step:
                return None if bound != first else 0
            rounds = (bound - first) // step
            return rounds if rounds >= 0 else None
        case _:
            return None if first == bound else 0
    if distance <= 0:
        return 0
    return -(-distance // step) if step > 0 else None
