"""What the rounds of a loop began with, found again from the last round to the first.

A `Replay` says what of it the loop backwards carries along, and what the carried values of a round were. Counters are
computed and what stays the same is taken from outside. The rest is `Recorded`, each round's in an array whose first
axis are the rounds; or it is computed again from `Checkpoints` (checkpoints.py), where it is not known before how many
rounds there are, or where they are too many.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from windlass.autodiff.activity import body_of
from windlass.autodiff.rounds import needed_for
from windlass.ir import Block, Builder, Region, Value, tensor_type
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


class Replay(ABC):
    """The values that a loop carried, by the number of the round, asked for from the last round to the first."""

    def __init__(self, op: While, used: Sequence[int]) -> None:
        """`used` are the places of the carried values that are asked for."""
        self.op = op
        self.same = _places_of_invariants(op)
        self.counted = _steps_of_counters(op)
        self.used = list(used)
        self.kept = _kept(op, used)

    def simple(self, places: Sequence[int], index: Value) -> dict[int, Value]:
        """Those values of a round that take nothing that was kept: what is the same in all rounds, and counters."""
        found = {place: self.op.operands[place] for place in places if place in self.same}
        for place in places:
            if place in self.counted:
                start = self.op.operands[place]
                grown = Multiply(converted(index, start.dtype), Constant.of(self.counted[place], start.dtype))
                found[place] = Add(start, grown)
        return found

    @abstractmethod
    def initial(self) -> tuple[Value, ...]:
        """What the loop backwards carries for it, at first."""

    @abstractmethod
    def enter(self, carried: Sequence[Value], index: Value) -> tuple[dict[int, Value], tuple[Value, ...]]:
        """The values at the places used in the round of this number, and what is carried on."""


class Recorded(Replay):
    """All rounds, of which there are so many, each as it began.

    Written down by a loop of its own where what is kept does not vary, for then the loop at hand is only there to be
    transposed; else the loop itself does.
    """

    def __init__(self, op: While, used: Sequence[int], rounds: int, reached: set[Value]) -> None:
        super().__init__(op, used)
        self.tapes = _run_recording(op, self.kept, rounds, reached) if self.kept else ()

    @staticmethod
    def bytes_of_round(op: While, used: Sequence[int]) -> int:
        """How much is kept of each round."""
        return sum(op.operands[place].tensor.bytes for place in _kept(op, used))

    def initial(self) -> tuple[Value, ...]:
        return ()

    def enter(self, carried: Sequence[Value], index: Value) -> tuple[dict[int, Value], tuple[Value, ...]]:
        found = self.simple(self.used, index)
        found.update((place, entry(tape, index)) for place, tape in zip(self.kept, self.tapes, strict=True))
        return found, ()


def _places_of_invariants(op: While) -> set[int]:
    pairs = zip(op.body.block.arguments, op.body.block.terminator.operands, strict=True)
    return {place for place, (argument, following) in enumerate(pairs) if following is argument}


def _steps_of_counters(op: While) -> dict[int, int]:
    pairs = zip(op.body.block.arguments, op.body.block.terminator.operands, strict=True)
    steps = {place: step_of(argument, following) for place, (argument, following) in enumerate(pairs)}
    return {place: step for place, step in steps.items() if step is not None}


def _kept(op: While, used: Sequence[int]) -> list[int]:
    """Those places whose values of a round don't follow from its number."""
    simple = _places_of_invariants(op) | _steps_of_counters(op).keys()
    return [place for place in used if place not in simple]


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


def _run_recording(op: While, kept: Sequence[int], rounds: int, reached: set[Value]) -> tuple[Value, ...]:
    """What is kept of each round, in the order of rounds: an array for each, with the rounds as first axis."""
    needed = needed_for(op, kept)
    if all(op.results[place] not in reached for place in needed):
        return _recording_loop(op, kept, needed, rounds)[1 + len(needed) :]
    assert op.block is not None
    with Builder(op.block, before=op):
        results = _recording_loop(op, kept, range(len(op.operands)), rounds)
    for old, new in zip(op.results, results[1:], strict=False):
        old.replace_all_uses_with(new)
    return results[1 + len(op.operands) :]


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
        tapes = body.arguments[1 + len(places) :]
        entries = [entered(tape, given[place], index) for place, tape in zip(kept, tapes, strict=True)]
        following = op.body.block.terminator.operands
        values = [mapping.get(following[place], following[place]) for place in places]
        Return((Add(index, Constant.of(1, INDEX.dtype)), *values, *entries))
    remove_dead_code(body)
    return While(counting_to(rounds, body), Region(body), tuple(initial)).results


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
