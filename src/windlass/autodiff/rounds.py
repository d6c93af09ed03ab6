"""How often a loop goes round, as a value of the program: known before, by a counter, or counted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeAlias

from windlass.autodiff.activity import body_of
from windlass.facts.carried import arguments_behind, carries_behind
from windlass.ir import Block, Builder, Region, Value, tensor_type
from windlass.ops import Add, Compare, Constant, Convert, Divide, Return, Select, Subtract, While
from windlass.ops.counting import find_bound, find_counter
from windlass.rewriting.driver import remove_dead_code

LONG = tensor_type((), "i64")
"""The type of numbers of rounds that are not known before."""


def number(value: int) -> Value:
    """A constant of that type."""
    return Constant.of(value, LONG.dtype)


def rounds_by_counter(op: While) -> int | Value | None:
    """How often the loop goes round, by a counter that grows by a constant up to a limit that stays the same.

    Ops that find it out are placed where the active builder is. None where the loop has to be run for it.
    """
    counter = find_counter(op)
    if counter is not None:
        return counter.rounds
    bound = find_bound(op)
    if bound is None:
        return None
    start, limit = (
        Convert(each, LONG.dtype) if each.dtype != LONG.dtype else each for each in (bound.start, bound.limit)
    )
    step = bound.step
    if step < 0:
        start, limit, step = limit, start, -step
    if bound.is_limit_included:
        # Before the test, as it is where an integer could wrap around that nothing is lost by it.
        goes = Compare(start, limit, "LE")
        distance = Add(Subtract(limit, start), number(step))
    else:
        goes = Compare(start, limit, "LT")
        distance = Add(Subtract(limit, start), number(step - 1))
    rounds = distance if step == 1 else Divide(distance, number(step))
    return Select(goes, rounds, number(0))


Entering: TypeAlias = Callable[[Sequence[Value], Mapping[int, Value], Value], Sequence[Value]]
"""What becomes of tapes in a round, from them, the carried values by place, and the number of the round."""


def run_counting(
    op: While, kept: Iterable[int] = (), tapes: Sequence[Value] = (), enter: Entering = lambda *_: ()
) -> tuple[Value, ...]:
    """The number of rounds of a loop, and the tapes as they are at its end.

    The loop is run once, with what its condition depends on and the carried values at the places `kept`.
    """
    cond = op.cond.block
    places = sorted(carries_behind(op, [*arguments_behind(cond.terminator.operands, cond), *kept]))
    initial = (number(0), *tapes, *(op.operands[place] for place in places))
    regions: list[Region] = []
    for region in (op.cond, op.body):
        with Builder(block := Block([value.type for value in initial])):
            count, *carried = block.arguments
            given: dict[int, Value] = dict(zip(places, carried[len(tapes) :], strict=True))
            mapping: dict[Value, Value] = {region.block.arguments[place]: value for place, value in given.items()}
            for each in body_of(region):
                each.clone(mapping)
            returned = [mapping.get(value, value) for value in region.block.terminator.operands]
            if region is op.cond:
                Return(tuple(returned))
            else:
                entered = enter(carried[: len(tapes)], given, count)
                Return((Add(count, number(1)), *entered, *(returned[place] for place in places)))
        remove_dead_code(block)
        regions.append(Region(block))
    cond_region, body_region = regions
    return While(cond_region, body_region, initial).results[: 1 + len(tapes)]


def in_segments(op: While, rounds: int, every: int) -> list[While]:
    """Loops that do together what one does that goes round so often: one of segments, and one of the rounds that remain
    if any do. The results of each follow a count."""
    loops: list[While] = []
    operands = op.operands
    if rounds >= every:
        with Builder(body := Block([LONG, *(value.type for value in operands)])):
            count, *state = body.arguments
            segment = _counted(op, state, every)
            Return((Add(count, number(1)), *segment.results[1:]))
        initial = (number(0), *operands)
        loops.append(While(_until(body, rounds // every), Region(body), initial))
        operands = loops[0].results[1:]
    if rounds % every:
        loops.append(_counted(op, operands, rounds % every))
    return loops


def _counted(op: While, operands: Sequence[Value], rounds: int) -> While:
    """The loop from these values on, so many rounds of it."""
    with Builder(body := Block([LONG, *(value.type for value in operands)])):
        count, *state = body.arguments
        mapping: dict[Value, Value] = dict(zip(op.body.block.arguments, state, strict=True))
        for each in body_of(op.body):
            each.clone(mapping)
        following = op.body.block.terminator.operands
        Return((Add(count, number(1)), *(mapping.get(value, value) for value in following)))
    return While(_until(body, rounds), Region(body), (number(0), *operands))


def _until(body: Block, rounds: int) -> Region:
    with Builder(cond := Block([argument.type for argument in body.arguments])):
        Return((Compare(cond.arguments[0], number(rounds), "LT"),))
    return Region(cond)
