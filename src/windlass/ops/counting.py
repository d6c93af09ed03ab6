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
    (test,) = loop.cond.block.terminator.operands
    if not isinstance(test, Compare) or len(loop.cond.blocks) != 1:
        return None
    tested, limit, direction = test.lhs, test.rhs, test.direction
    if not isinstance(tested, Argument):
        tested, limit, direction = limit, tested, MIRRORED[direction]
    if not isinstance(tested, Argument) or tested.block is not loop.cond.block or tested.dtype not in INTEGER:
        return None
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
