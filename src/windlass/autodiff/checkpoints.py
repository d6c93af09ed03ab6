"""What the rounds of a loop began with, computed again from a few that were kept.

A stack holds what some rounds began with, the first among them. To go back a round, the topmost is taken and run
forwards up to that round, and what is passed on the way is kept again as long as there is room. Where to put it is
binomial checkpointing (Griewank and Walther, *Revolve*): with s places, C(s + t, t) rounds are gone back through with
no round run more than t times. So the memory is the same whatever the number of rounds, which need not be known: with
places for all rounds each is run once, as if all were recorded. Where it is not known before how many rounds there are,
the loop is run to find out, and keeps of them meanwhile what will be needed (online.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from windlass.autodiff.activity import body_of
from windlass.autodiff.online import Ledger, empty_ledger, place_online
from windlass.autodiff.recording import INDEX, Replay, Round, converted, counting_down, entered, entry
from windlass.autodiff.rounds import LONG, number, run_counting
from windlass.facts.carried import arguments_behind, carries_behind
from windlass.ir import Block, Builder, Region, Value, tensor_type
from windlass.ops import (
    Add,
    And,
    Compare,
    Constant,
    Divide,
    Iota,
    Maximum,
    Minimum,
    Multiply,
    Return,
    Select,
    Subtract,
    While,
)
from windlass.rewriting.driver import remove_dead_code

FEWEST, MOST = 16, 1024
"""How many rounds are kept at least and at most..."""
USUAL_BYTES = 1 << 24
"""... and how much that takes, if it is not the fewest."""
LARGE_STATE = 1 << 14
"""Bytes. Beside the copy of such a state it costs little to choose its place online."""
_BYTES_OF_ENTRY = 16
"""Which round it is, in which slot and of what level (online.py)."""


def places_within(bytes_: int, each: int) -> int:
    """How many states of so many bytes are kept where so many bytes may be used.

    >>> places_within(USUAL_BYTES, 8), places_within(USUAL_BYTES, 1 << 18), places_within(USUAL_BYTES, 1 << 30)
    (1024, 64, 16)
    """
    return min(max(bytes_ // max(each, 1), FEWEST), MOST)


class Checkpoints(Replay):
    """Some of the rounds: at most so many as there are places in the stack."""

    def __init__(self, round_: Round, places: int, rounds: int | None = None) -> None:
        super().__init__(round_)
        behind = arguments_behind(round_.needed, round_.block)
        self.kept = sorted(place for place in behind if place not in self.same and place not in self.counted)
        self.needed = sorted(carries_behind(self.op, self.kept))
        self.stored = [place for place in self.needed if place not in self.same and place not in self.counted]
        self.places = max(places if rounds is None else min(places, rounds), 1)
        """Beside these there is one for the round at hand."""
        self._begun: tuple[Value, ...] = ()

    @classmethod
    def bytes_of_state(cls, round_: Round) -> int:
        """How much is kept of a round that is kept, with where and which it is."""
        state = sum(round_.op.operands[place].tensor.bytes for place in cls(round_, 1).stored)
        return state and state + _BYTES_OF_ENTRY

    def begin(self) -> None:
        """Begin with the state of round 0."""
        first = Constant.of(0, INDEX.dtype)
        stacks = [
            entered(stack, self.op.operands[place], first)
            for place, stack in zip(self.stored, self._empty(), strict=True)
        ]
        rounds = Constant.of(0, LONG.dtype, (self.places + 1,))
        self._begun = (Constant.of(1, INDEX.dtype), self._slots(), rounds, *stacks)

    def begin_online(self) -> Value:
        """Run the loop for its number of rounds, and begin with the states that are best to have at its end."""
        if not self.stored:
            return run_counting(self.op)[0]

        def enter(carried: Sequence[Value], given: Mapping[int, Value], count: Value) -> list[Value]:
            (*ledger,), stacks = carried[: len(Ledger._fields)], carried[len(Ledger._fields) :]
            slot, after = place_online(Ledger(*ledger), count)
            return [
                *after,
                *(entered(stack, given[each], slot) for each, stack in zip(self.stored, stacks, strict=True)),
            ]

        begun = (*empty_ledger(self.places + 1), *self._empty())
        count, *found = run_counting(self.op, self.needed, begun, enter)
        ledger = Ledger(*found[: len(Ledger._fields)])
        self._begun = (ledger.height, ledger.slots, ledger.rounds, *found[len(Ledger._fields) :])
        return count

    def begin_counting(self) -> Value:
        """Run the loop for its number of rounds, and begin with the states of all rounds if there is room for them.

        A round costs less so than online, but if there are more rounds they are all run again.
        """

        def enter(stacks: Sequence[Value], given: Mapping[int, Value], count: Value) -> list[Value]:
            place = converted(Minimum(count, number(self.places)), INDEX.dtype)
            return [entered(stack, given[each], place) for each, stack in zip(self.stored, stacks, strict=True)]

        rounds, *stacks = run_counting(self.op, self.needed, self._empty(), enter)
        one = number(1)
        # If there are more, that of round 0 is the only one that is in its place, and all that is needed.
        height = Select(Compare(rounds, number(self.places), "LE"), Maximum(rounds, one), one)
        held = Iota((self.places + 1,), LONG.dtype, 0)
        self._begun = (converted(height, INDEX.dtype), self._slots(), held, *stacks)
        return rounds

    def _slots(self) -> Value:
        """The slots of a stack in the order in which rounds that are kept one after the other take them."""
        return Iota((self.places + 1,), INDEX.dtype, 0)

    def _empty(self) -> list[Value]:
        types = [self.op.operands[place].tensor for place in self.stored]
        return [Constant.splat(0, tensor_type((self.places + 1, *type_.shape), type_.dtype)) for type_ in types]

    def initial(self) -> tuple[Value, ...]:
        """How many states are kept, in which slots, of which rounds, and the states."""
        return self._begun if self.stored else ()

    def enter(self, carried: Sequence[Value], index: Value) -> tuple[dict[Value, Value], tuple[Value, ...]]:
        found = self.simple_values(index)
        if not self.stored:
            return found, ()
        height, slots, rounds, *stacks = carried
        top = Subtract(height, Constant.of(1, INDEX.dtype))
        index = converted(index, LONG.dtype)
        distance = Subtract(index, entry(rounds, top))
        slot = entry(slots, top)
        initial = (distance, height, rounds, *stacks, *(entry(stack, slot) for stack in stacks))
        with Builder(body := Block([value.type for value in initial])):
            distance, height, rounds, *rest = body.arguments
            stacks, state = rest[: len(stacks)], rest[len(stacks) :]
            at = Subtract(index, distance)
            stride = stride_for(distance, height, self.places)
            state = self._run(state, at, stride)
            slot = entry(slots, height)
            stacks = [entered(stack, value, slot) for stack, value in zip(stacks, state, strict=True)]
            rounds = entered(rounds, Add(at, stride), height)
            height = Add(height, Constant.of(1, INDEX.dtype))
            Return((Subtract(distance, stride), height, rounds, *stacks, *state))
        remove_dead_code(body)
        _, height, rounds, *rest = While(counting_down(body), Region(body), initial).results
        stacks, state = rest[: len(stacks)], rest[len(stacks) :]
        given = dict(zip(self.stored, state, strict=True))
        found.update((self.round.carried[place], given[place]) for place in self.kept)
        # The topmost now is the round at hand: it is not asked for again.
        return found, (Subtract(height, Constant.of(1, INDEX.dtype)), slots, rounds, *stacks)

    def _run(self, state: Sequence[Value], at: Value, stride: Value) -> list[Value]:
        """The state after so many more rounds."""
        op = self.op
        initial = (stride, at, *state)
        with Builder(body := Block([value.type for value in initial])):
            left, index, *now = body.arguments
            given = dict(zip(self.stored, now, strict=True)) | self.simple(self.needed, index)
            mapping: dict[Value, Value] = {op.body.block.arguments[place]: value for place, value in given.items()}
            for each in body_of(op.body):
                each.clone(mapping)
            following = [op.body.block.terminator.operands[place] for place in self.stored]
            values = [mapping.get(value, value) for value in following]
            Return((Subtract(left, number(1)), Add(index, number(1)), *values))
        remove_dead_code(body)
        return list(While(counting_down(body), Region(body), initial).results[2:])


def stride_for(distance: Value, height: Value, places: int) -> Value:
    """How many rounds to run before the next is kept: from the topmost of so many, to one that is so far away."""
    one = number(1)
    free = Subtract(number(places + 1), converted(height, LONG.dtype))
    within, repetitions = _repetitions(Add(distance, one), free)
    # As much as one repetition less reaches, but for what it does with one place less: C(s - 1 + t - 1, t - 1).
    behind = Divide(Multiply(within, free), Add(free, Subtract(repetitions, one)))
    stride = Minimum(within, Subtract(Add(distance, one), behind))
    return Select(Compare(free, one, "LE"), distance, stride)


def _repetitions(rounds: Value, places: Value) -> tuple[Value, Value]:
    """The least t for which C(places + t, t) are at least so many rounds, after how many those of t - 1 are.

    Not looked for where there is but one place.
    """
    one = number(1)
    initial = (one, Add(places, one), one, rounds, places)
    types = [value.type for value in initial]
    with Builder(cond := Block(types)):
        _, reached, _, wanted, given = cond.arguments
        Return((And(Compare(reached, wanted, "LT"), Compare(given, one, "GT")),))
    with Builder(body := Block(types)):
        _, reached, count, wanted, given = body.arguments
        count = Add(count, one)
        Return((reached, Divide(Multiply(reached, Add(given, count)), count), count, wanted, given))
    less, _, count, *_ = While(Region(cond), Region(body), initial).results
    return less, count
