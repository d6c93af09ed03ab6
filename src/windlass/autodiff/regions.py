"""Cotangents through choices and loops: branches are pulled back within, loops go round once more, from end to start.

What a round backwards needs of the values that the loop carried is recorded on the way forwards, and nothing else: not
what is the same in all rounds, not counters, and nothing at all where rounds are linear.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from windlass.autodiff.activity import body_of, inputs_of, is_differentiable
from windlass.autodiff.forward import choose, sum_of
from windlass.facts.terms import op_of
from windlass.ir import Argument, Block, Builder, Op, Region, Value, tensor_type
from windlass.ir.captures import captures
from windlass.ops import (
    Add,
    Case,
    Compare,
    Constant,
    Convert,
    DynamicSlice,
    DynamicUpdateSlice,
    If,
    Multiply,
    Reshape,
    Return,
    Subtract,
    While,
)
from windlass.ops.base import NoDerivative
from windlass.ops.counting import find_counter, step_of
from windlass.rewriting.driver import remove_dead_code

Cotangents: TypeAlias = "dict[Value, Value]"
PullBack: TypeAlias = Callable[[Sequence[Op], Sequence[Value], Mapping[Value, Value]], Cotangents]
"""The cotangents of active values through ops, from those of what is computed of them."""

INDEX = tensor_type((), "i32")


def pull_back_choice(op: If | Case, given: Sequence[Value | None], reached: set[Value], pull: PullBack) -> Cotangents:
    """The cotangents of what the branches take from outside: a choice between those of each branch."""
    wanted = list(dict.fromkeys(value for region in op.regions for value in captures(region) if value in reached))
    if not wanted:
        return {}
    regions: list[Region] = []
    for region in op.regions:
        with Builder(block := Block()):
            mapping: dict[Value, Value] = {}
            ops = [each.clone(mapping) for each in body_of(region)]
            returned = [mapping.get(value, value) for value in region.block.terminator.operands]
            found = pull(ops, wanted, seeds_of(returned, given))
            Return(tuple(found.get(value) or Constant.splat(0, value.type) for value in wanted))
        remove_dead_code(block)
        regions.append(Region(block))
    return dict(zip(wanted, choose(op, op.operands[0], regions), strict=True))


def seeds_of(values: Sequence[Value], given: Sequence[Value | None]) -> Cotangents:
    """Cotangents by value: those of a value that is returned several times are added."""
    seeds: Cotangents = {}
    for value, cotangent in zip(values, given, strict=True):
        total = sum_of(seeds.get(value), cotangent)
        if total is not None and is_differentiable(value.type):
            seeds[value] = total
    return seeds


class _Round(NamedTuple):
    """A round backwards: a block of what the loop carries and of cotangents; `used` are the carried values it needs."""

    block: Block
    used: list[int]


def pull_back_loop(op: While, given: Sequence[Value | None], reached: set[Value], pull: PullBack) -> Cotangents:
    """The cotangents of what a loop begins with and takes from outside.

    Raises NoDerivative where it is not known before how often the loop goes round.
    """
    counter = find_counter(op)
    if counter is None:
        raise NoDerivative(op)
    active = [place for place, result in enumerate(op.results) if result in reached]
    outside = [value for value in captures(op.body) if value in reached]
    if counter.rounds == 0:
        return seeds_of([op.operands[place] for place in active], [given[place] for place in active])
    backwards = _round_backwards(op, active, outside, pull)
    recorded = _record(op, backwards.used, counter.rounds, reached)
    initial = [
        Constant.of(0, INDEX.dtype),
        *(given[place] or Constant.splat(0, op.operands[place].type) for place in active),
        *(Constant.splat(0, value.type) for value in outside),
    ]
    with Builder(body := Block([value.type for value in initial])):
        index, *cotangents = body.arguments
        place = Subtract(Constant.of(counter.rounds - 1, INDEX.dtype), index)
        mapping: dict[Value, Value] = {backwards.block.arguments[each]: find(place) for each, find in recorded.items()}
        first = len(op.operands)
        mapping.update(zip(backwards.block.arguments[first:], cotangents[: len(active)], strict=True))
        for each in backwards.block:
            if each is not backwards.block.terminator:
                each.clone(mapping)
        found = [mapping.get(value, value) for value in backwards.block.terminator.operands]
        totals = map(Add, cotangents[len(active) :], found[len(active) :])
        Return((Add(index, Constant.of(1, INDEX.dtype)), *found[: len(active)], *totals))
    for each in reversed(list(backwards.block)):
        each.erase()
    results = While(_counting_to(counter.rounds, body), Region(body), tuple(initial)).results[1:]
    return seeds_of([*(op.operands[place] for place in active), *outside], results)


def _round_backwards(op: While, active: Sequence[int], outside: Sequence[Value], pull: PullBack) -> _Round:
    """One round: the cotangents of what it carried in, and what it adds to those of what is outside."""
    carried = op.body.block.arguments
    block = Block([*(value.type for value in carried), *(carried[place].type for place in active)])
    with Builder(block):
        mapping: dict[Value, Value] = dict(zip(carried, block.arguments, strict=False))
        ops = [each.clone(mapping) for each in body_of(op.body)]
        following = op.body.block.terminator.operands
        seeds = seeds_of(
            [mapping.get(following[place], following[place]) for place in active], block.arguments[len(carried) :]
        )
        wanted = [*(block.arguments[place] for place in active), *outside]
        found = pull(ops, wanted, seeds)
        Return(tuple(found.get(value) or Constant.splat(0, value.type) for value in wanted))
    remove_dead_code(block)
    return _Round(block, [place for place in range(len(carried)) if block.arguments[place].uses])


def _record(op: While, used: Sequence[int], rounds: int, reached: set[Value]) -> dict[int, Callable[[Value], Value]]:
    """How each carried value that is used is found again, by the number of the round."""
    arguments, following = op.body.block.arguments, op.body.block.terminator.operands
    found: dict[int, Callable[[Value], Value]] = {}
    kept: list[int] = []
    for place in used:
        step = step_of(arguments[place], following[place])
        if following[place] is arguments[place]:
            found[place] = _constantly(op.operands[place])
        elif step is not None:
            found[place] = _counted(op.operands[place], step)
        else:
            kept.append(place)
    tapes = _run_recording(op, kept, rounds, reached) if kept else ()
    found.update((place, _entry_of(tape)) for place, tape in zip(kept, tapes, strict=True))
    return found


def _constantly(value: Value) -> Callable[[Value], Value]:
    return lambda _: value


def _counted(start: Value, step: int) -> Callable[[Value], Value]:
    def count(place: Value) -> Value:
        number = place if start.dtype == place.dtype else Convert(place, start.dtype)
        return Add(start, Multiply(number, Constant.of(step, start.dtype)))

    return count


def _entry_of(tape: Value) -> Callable[[Value], Value]:
    def take(place: Value) -> Value:
        shape = tape.shape[1:]
        zero = Constant.of(0, INDEX.dtype)
        return Reshape(DynamicSlice(tape, (place, *(zero for _ in shape)), (1, *shape)), shape)

    return take


def _run_recording(op: While, kept: Sequence[int], rounds: int, reached: set[Value]) -> tuple[Value, ...]:
    """What is kept of each round, in the order of rounds: an array for each, with the rounds as first axis.

    A loop of its own where what is kept does not vary, for then the loop at hand is only there to be transposed; else
    the loop itself writes it down.
    """
    needed = _needed_for(op, kept)
    if all(op.results[place] not in reached for place in needed):
        return _recording_loop(op, kept, needed, rounds)[1 + len(needed) :]
    assert op.block is not None
    with Builder(op.block, before=op):
        results = _recording_loop(op, kept, range(len(op.operands)), rounds)
    for old, new in zip(op.results, results[1:], strict=False):
        old.replace_all_uses_with(new)
    return results[1 + len(op.operands) :]


def _needed_for(op: While, kept: Sequence[int]) -> list[int]:
    """The places of the carried values that those which are kept depend on, in any round."""
    following = op.body.block.terminator.operands
    needed: set[int] = set()
    waiting = list(kept)
    while waiting:
        place = waiting.pop()
        if place not in needed:
            needed.add(place)
            waiting += _arguments_behind(following[place], op.body.block)
    return sorted(needed)


def _arguments_behind(value: Value, block: Block) -> set[int]:
    """The arguments of a block that a value of it depends on."""
    found: set[int] = set()
    seen: set[Value] = set()
    waiting = [value]
    while waiting:
        value = waiting.pop()
        if value in seen:
            continue
        seen.add(value)
        if isinstance(value, Argument):
            if value.block is block:
                found.add(value.index)
            continue
        op = op_of(value)
        if op is not None and op.block is block:
            waiting += inputs_of(op)
    return found


def _recording_loop(op: While, kept: Sequence[int], places: Sequence[int], rounds: int) -> tuple[Value, ...]:
    """A loop that carries its number of rounds, the values at these places, and the arrays of what is kept."""
    carried = op.body.block.arguments
    initial = [
        Constant.of(0, INDEX.dtype),
        *(op.operands[place] for place in places),
        *(Constant.splat(0, tensor_type((rounds, *carried[place].shape), carried[place].dtype)) for place in kept),
    ]
    with Builder(body := Block([value.type for value in initial])):
        index = body.arguments[0]
        given = dict(zip(places, body.arguments[1:], strict=False))
        mapping: dict[Value, Value] = {carried[place]: value for place, value in given.items()}
        for each in body_of(op.body):
            each.clone(mapping)
        zero = Constant.of(0, INDEX.dtype)
        entries = [
            DynamicUpdateSlice(
                tape, Reshape(given[place], (1, *carried[place].shape)), (index, *(zero for _ in carried[place].shape))
            )
            for place, tape in zip(kept, body.arguments[1 + len(places) :], strict=True)
        ]
        following = op.body.block.terminator.operands
        values = [mapping.get(following[place], following[place]) for place in places]
        Return((Add(index, Constant.of(1, INDEX.dtype)), *values, *entries))
    remove_dead_code(body)
    return While(_counting_to(rounds, body), Region(body), tuple(initial)).results


def _counting_to(rounds: int, body: Block) -> Region:
    """The condition of a loop whose first value counts its rounds."""
    with Builder(cond := Block([argument.type for argument in body.arguments])):
        Return((Compare(cond.arguments[0], Constant.of(rounds, INDEX.dtype), "LT"),))
    return Region(cond)


def separate(block: Block, varying: set[Value]) -> None:
    """Let what does not vary be computed by choices and loops of their own, at every depth, before those that do."""
    for op in list(block):
        if isinstance(op, While | If | Case):
            for region in op.regions:
                separate(region.block, varying)
            with Builder(block, before=op):
                _compute_apart(op, varying)


def _compute_apart(op: While | If | Case, varying: set[Value]) -> None:
    """Give those who use results that do not vary such results of another op, which has no others."""
    places = [place for place, result in enumerate(op.results) if result not in varying]
    if len(places) == len(op.results) or not any(op.results[place].uses for place in places):
        return
    if isinstance(op, While):
        results = _loop_of(op, places)
    else:
        regions: list[Region] = []
        for region in op.regions:
            with Builder(block := Block()):
                mapping: dict[Value, Value] = {}
                for each in body_of(region):
                    each.clone(mapping)
                returned = region.block.terminator.operands
                Return(tuple(mapping.get(returned[place], returned[place]) for place in places))
            remove_dead_code(block)
            regions.append(Region(block))
        results = choose(op, op.operands[0], regions)
    for place, result in zip(places, results, strict=True):
        op.results[place].replace_all_uses_with(result)


def _loop_of(op: While, places: Sequence[int]) -> tuple[Value, ...]:
    """The loop with only the values at these places, which depend on no others."""
    regions: list[Region] = []
    for region in (op.cond, op.body):
        arguments, returned = region.block.arguments, region.block.terminator.operands
        with Builder(block := Block([arguments[place].type for place in places])):
            mapping: dict[Value, Value] = dict(
                zip((arguments[place] for place in places), block.arguments, strict=True)
            )
            for each in body_of(region):
                each.clone(mapping)
            chosen = returned if region is op.cond else [returned[place] for place in places]
            Return(tuple(mapping.get(value, value) for value in chosen))
        remove_dead_code(block)
        regions.append(Region(block))
    cond, body = regions
    return While(cond, body, tuple(op.operands[place] for place in places)).results
