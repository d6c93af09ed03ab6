"""What is needed of the rounds of a loop, found again from the last round to the first.

A `Replay` says what of it the loop backwards carries along, and what values of a round were. Counters are computed and
what stays the same is taken from outside. Of the rest, keeping.py chooses what is `Recorded`, each round's in an array
whose first axis are the rounds; or what a round began with is computed again from `Checkpoints` (checkpoints.py), where
it is not known before how many rounds there are, or where they are too many.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import NamedTuple

from windlass.autodiff.activity import body_of
from windlass.autodiff.keeping import choose_kept
from windlass.facts.carried import arguments_behind, carries_behind
from windlass.facts.terms import op_of, sources
from windlass.ir import Argument, Block, Builder, Op, Region, Value, tensor_type
from windlass.ops import (
    Add,
    Compare,
    Constant,
    Convert,
    DynamicSlice,
    DynamicUpdateSlice,
    Multiply,
    Reshape,
    Return,
    While,
)
from windlass.ops.counting import step_of
from windlass.rewriting.driver import remove_dead_code

INDEX = tensor_type((), "i32")


class Round(NamedTuple):
    """One round of a loop, with what is needed of it backwards.

    `block` begins with what the loop carries, and holds what is needed and how it is computed of that. `originals` are
    the values of the loop's own body that values of the block stand for.
    """

    op: While
    block: Block
    needed: list[Value]
    originals: dict[Value, Value]

    @property
    def carried(self) -> tuple[Argument, ...]:
        return tuple(self.block.arguments[: len(self.op.operands)])


class Replay(ABC):
    """The values of a loop's rounds, by the number of the round, asked for from the last round to the first."""

    def __init__(self, round_: Round) -> None:
        self.round = round_
        self.op = round_.op
        self.same = _places_of_invariants(self.op)
        self.counted = _steps_of_counters(self.op)

    def simple(self, places: Sequence[int], index: Value) -> dict[int, Value]:
        """Those carried values of a round that take nothing that was kept: what is the same in all rounds, counters."""
        found = {place: self.op.operands[place] for place in places if place in self.same}
        for place in places:
            if place in self.counted:
                start = self.op.operands[place]
                grown = Multiply(converted(index, start.dtype), Constant.of(self.counted[place], start.dtype))
                found[place] = Add(start, grown)
        return found

    def simple_values(self, index: Value) -> dict[Value, Value]:
        """The same, as values of the round's block."""
        found = self.simple([argument.index for argument in self.round.carried], index)
        return {self.round.carried[place]: value for place, value in found.items()}

    @abstractmethod
    def initial(self) -> tuple[Value, ...]:
        """What the loop backwards carries for it, at first."""

    @abstractmethod
    def enter(self, carried: Sequence[Value], index: Value) -> tuple[dict[Value, Value], tuple[Value, ...]]:
        """Values of the block in the round of this number, of which what is needed is made; and what is carried on."""


class Recorded(Replay):
    """All rounds, of which there are so many, each with some of its values.

    Written down by a loop of its own where what is kept does not vary, for then the loop at hand is only there to be
    transposed; else the loop itself does.
    """

    def __init__(self, round_: Round, rounds: int, kept: Sequence[Value], reached: set[Value]) -> None:
        super().__init__(round_)
        self.kept = kept
        self.tapes = _run_recording(round_, kept, rounds, reached) if kept else ()

    def initial(self) -> tuple[Value, ...]:
        return ()

    def enter(self, carried: Sequence[Value], index: Value) -> tuple[dict[Value, Value], tuple[Value, ...]]:
        found = self.simple_values(index)
        found.update((value, entry(tape, index)) for value, tape in zip(self.kept, self.tapes, strict=True))
        return found, ()


def values_to_keep(round_: Round, is_least: bool = False) -> list[Value]:
    """The values of a round's block to be kept in each round: a minimum cut (keeping.py)."""
    simple = _places_of_invariants(round_.op) | _steps_of_counters(round_.op).keys()
    return choose_kept(round_.block, round_.needed, {round_.block.arguments[place] for place in simple}, is_least)


def _places_of_invariants(op: While) -> set[int]:
    pairs = zip(op.body.block.arguments, op.body.block.terminator.operands, strict=True)
    return {place for place, (argument, following) in enumerate(pairs) if following is argument}


def _steps_of_counters(op: While) -> dict[int, int]:
    pairs = zip(op.body.block.arguments, op.body.block.terminator.operands, strict=True)
    steps = {place: step_of(argument, following) for place, (argument, following) in enumerate(pairs)}
    return {place: step for place, step in steps.items() if step is not None}


def converted(value: Value, dtype: str) -> Value:
    return value if value.dtype == dtype else Convert(value, dtype)


def entry(tape: Value, index: Value) -> Value:
    """What an array holds at this place of its first axis."""
    shape = tape.shape[1:]
    zero = Constant.of(0, index.dtype)
    return Reshape(DynamicSlice(tape, (index, *(zero for _ in shape)), (1, *shape)), shape)


def entered(tape: Value, value: Value, index: Value) -> Value:
    """The array with this value at this place of its first axis."""
    zero = Constant.of(0, index.dtype)
    return DynamicUpdateSlice(tape, Reshape(value, (1, *value.shape)), (index, *(zero for _ in value.shape)))


def _run_recording(round_: Round, kept: Sequence[Value], rounds: int, reached: set[Value]) -> tuple[Value, ...]:
    """What is kept of each round, in the order of rounds: an array for each, with the rounds as first axis."""
    op = round_.op
    needed = sorted(carries_behind(op, arguments_behind(kept, round_.block)))
    if all(op.results[place] not in reached for place in needed):
        return _recording_loop(round_, kept, needed, rounds)[1 + len(needed) :]
    assert op.block is not None
    with Builder(op.block, before=op):
        results = _recording_loop(round_, kept, range(len(op.operands)), rounds)
    for old, new in zip(op.results, results[1:], strict=False):
        old.replace_all_uses_with(new)
    return results[1 + len(op.operands) :]


def _recording_loop(round_: Round, kept: Sequence[Value], places: Sequence[int], rounds: int) -> tuple[Value, ...]:
    """A loop that carries its number of rounds, the values at these places, and the arrays of what is kept."""
    op = round_.op
    carried = op.body.block.arguments
    initial = [
        Constant.of(0, INDEX.dtype),
        *(op.operands[place] for place in places),
        *(Constant.splat(0, tensor_type((rounds, *value.shape), value.dtype)) for value in kept),
    ]
    with Builder(body := Block([value.type for value in initial])):
        index = body.arguments[0]
        given = dict(zip(places, body.arguments[1:], strict=False))
        own: dict[Value, Value] = {round_.carried[place]: value for place, value in given.items()}
        clone_behind(kept, round_.block, own)
        mapping: dict[Value, Value] = {carried[place]: value for place, value in given.items()}
        mapping.update((old, own[value]) for value, old in round_.originals.items() if value in own)
        for each in body_of(op.body):
            if not each.results or any(result not in mapping for result in each.results):
                each.clone(mapping)
        tapes = body.arguments[1 + len(places) :]
        entries = [entered(tape, own[value], index) for value, tape in zip(kept, tapes, strict=True)]
        following = op.body.block.terminator.operands
        values = [mapping.get(following[place], following[place]) for place in places]
        Return((Add(index, Constant.of(1, INDEX.dtype)), *values, *entries))
    remove_dead_code(body)
    return While(counting_to(rounds, body), Region(body), tuple(initial)).results


def clone_behind(values: Sequence[Value], block: Block, mapping: dict[Value, Value]) -> None:
    """Place the ops of a block that these values are made by, but not what is behind those that are mapped already."""
    wanted: set[Op] = set()
    waiting = [value for value in values if value not in mapping]
    while waiting:
        op = op_of(waiting.pop())
        if op is not None and op.block is block and op not in wanted:
            wanted.add(op)
            waiting += [each for each in sources(op) if each not in mapping]
    for op in block:
        if op in wanted:
            op.clone(mapping)


def counting_to(rounds: int, body: Block) -> Region:
    """The condition of a loop whose first value counts its rounds."""
    with Builder(cond := Block([argument.type for argument in body.arguments])):
        Return((Compare(cond.arguments[0], Constant.of(rounds, INDEX.dtype), "LT"),))
    return Region(cond)


def counting_down(body: Block) -> Region:
    """The condition of a loop whose first value says how many rounds are left."""
    with Builder(cond := Block([argument.type for argument in body.arguments])):
        count = cond.arguments[0]
        Return((Compare(count, Constant.of(0, count.dtype), "GT"),))
    return Region(cond)
