"""Loops that stay loops: a `While` that carries tensors, one iteration of all lanes at a time.

What is carried is found by trying: the body is interpreted with a guess (over which dimensions carried values lie,
which memories it writes), and once more with a better one as long as the guess was too small.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from windlass.affine.dimensions import Dimension, in_order
from windlass.affine.index import Index
from windlass.affine.predicate import TRUE, Predicate
from windlass.facts.integers import fit
from windlass.ir import Argument, Block, Builder, Region, TensorType, Value
from windlass.loops import Atomic as AtomicOp
from windlass.loops import AtomicUpdate, CompareExchange, DoWhile, For, Store
from windlass.ops.control import While
from windlass.ops.creation import Constant
from windlass.ops.elementwise import And, Select
from windlass.ops.regions import Return
from windlass.raising import emission
from windlass.raising.allocation import make_addressable
from windlass.raising.assumptions import nothing_is_violated
from windlass.raising.blocks import run_block
from windlass.raising.cells import replace_slot
from windlass.raising.items import (
    UNDEFINED,
    Accumulation,
    AccumulationTest,
    Item,
    Memory,
    MemoryState,
    Pointer,
    PointerChoice,
    Slot,
    SlotKey,
    UndefinedItem,
    dimensions_of_item,
    from_lanes,
)
from windlass.raising.lanes import Lanes
from windlass.raising.loop_tests import AllTogether, Carrier, Count, EachLane, LoopTest
from windlass.raising.obstacle import POINTER_CHANGES
from windlass.raising.operands import predicate_of
from windlass.raising.reinterpretation import reinterpret
from windlass.raising.slots import store_slot
from windlass.raising.vectorization import induction_step, same_pointer

if TYPE_CHECKING:
    from windlass.raising.state import RaisingState

MOST_GUESSES = 12


@dataclass
class _Guess:
    """What the loop is taken to carry, so far."""

    dimensions: dict[int, frozenset[Dimension]] = field(default_factory=dict[int, "frozenset[Dimension]"])
    """For each carried value, by position, the dimensions that it differs along."""
    active: frozenset[Dimension] | None = None
    """The dimensions along which lanes stop at different times; None if all stop together."""
    memories: dict[Memory, str] = field(default_factory=dict[Memory, str])
    """Memories that the body writes, with the type that it leaves them in."""
    slots: dict[tuple[Memory, SlotKey], frozenset[Dimension]] = field(
        default_factory=dict["tuple[Memory, SlotKey]", "frozenset[Dimension]"]
    )
    addressed: dict[Memory, None] = field(default_factory=dict["Memory", None])
    """Local arrays that the body indexes with what is no constant."""
    has_grown: bool = False

    def widen(self, position: int, dims: frozenset[Dimension]) -> None:
        if not dims <= self.dimensions[position]:
            self.dimensions[position] |= dims
            self.has_grown = True

    def widen_slot(self, cell: tuple[Memory, SlotKey], dims: frozenset[Dimension]) -> None:
        if cell not in self.slots or not dims <= self.slots[cell]:
            self.slots[cell] = self.slots.get(cell, frozenset()) | dims
            self.has_grown = True

    def widen_active(self, dims: frozenset[Dimension]) -> None:
        if self.active is None or not dims <= self.active:
            self.active = (self.active or frozenset()) | dims
            self.has_grown = True

    def add_memory(self, memory: Memory, dtype: str) -> None:
        if self.memories.get(memory) != dtype:
            self.memories[memory] = dtype
            self.has_grown = True


def run_counted_while(state: RaisingState, op: For, trips: Index) -> str:
    """A `While` that counts. Lanes with fewer iterations than others keep their values."""
    _settle(state, op, op.body.block.arguments[1:], Count(state, trips))
    return "while"


def run_as_while(state: RaisingState, op: DoWhile) -> str:
    """A `While` that runs as long as some lane goes on."""
    _settle(state, op, op.body.block.arguments, None)
    return "while"


def _settle(state: RaisingState, op: For | DoWhile, arguments: list[Argument], count: Count | None) -> None:
    """Try guesses until one is large enough."""
    guess = _first_guess(state, op, arguments, count)
    moment = state.checkpoint()
    for _ in range(MOST_GUESSES):
        guess.has_grown = False
        for memory in guess.addressed:
            if memory.state.slots is not None:
                make_addressable(state, memory)
        test = count or _test(state, guess)
        if test is not None:
            attempt = _WhileAttempt(state, op, arguments, guess, test)
            attempt.carry()
            attempt.run()
            if not guess.has_grown:
                attempt.emit()
                return
        state.restore(moment)
    raise state.obstacle("what the loop carries could not be found")


def _test(state: RaisingState, guess: _Guess) -> AllTogether | EachLane | None:
    return AllTogether() if guess.active is None else EachLane.over(state, guess.active, guess)


def _first_guess(state: RaisingState, op: For | DoWhile, arguments: list[Argument], count: Count | None) -> _Guess:
    guess = _Guess()
    for position, (argument, initial) in enumerate(zip(arguments, op.initial, strict=True)):
        item = state.lookup(initial)
        if isinstance(item, Accumulation | AccumulationTest):
            raise state.obstacle("a sum over an outer loop is made within a loop that can't be vectorized")
        if isinstance(argument.type, TensorType):
            guess.dimensions[position] = dimensions_of_item(item)
    if count is None and not state.domain.mask.is_true:
        # With no lane active the loop must not run: what it tests would be made of values that mean nothing.
        guess.active = state.domain.mask.dimensions
    for inner in op.body.walk():
        if isinstance(inner, Store | AtomicOp | AtomicUpdate | CompareExchange):
            item = state.environment.get(inner.buffer)
            if isinstance(item, Pointer) and item.memory is not None and item.memory.state.words is not None:
                dtype = (inner.value if isinstance(inner, Store | AtomicOp) else inner).dtype
                guess.memories[item.memory] = "ui8" if dtype == "i1" else dtype
    return guess


# -- one attempt ------------------------------------------------------------------------------------------------------


@dataclass
class _WhileValue:
    """A value that the loop's body takes and gives: how it is carried, what it is before, its argument's dimensions."""

    kind: str
    initial: Item
    argument: Argument | None = None
    dims: tuple[Dimension, ...] = ()
    step: Index | None = None


@dataclass
class _CarriedSlot:
    """An element of a local array as it is carried, and what the body leaves in it."""

    argument: Argument
    dims: tuple[Dimension, ...]
    final: Item = UNDEFINED


@dataclass
class _CarriedWords:
    """A memory's words as they are carried, and those that the body leaves."""

    argument: Argument
    final: Value


class _WhileAttempt:
    """The loop with one guess: what is carried, its body, and the `While` if the guess was large enough."""

    def __init__(
        self, state: RaisingState, op: For | DoWhile, arguments: list[Argument], guess: _Guess, test: LoopTest
    ) -> None:
        self.state = state
        self.op = op
        self.arguments = arguments
        self.guess = guess
        self.test = test
        self.outer = state.domain
        """The lanes that come to the loop."""
        self.domain = state.domain
        """Those that run an iteration, where `runs` holds."""
        self.runs = TRUE
        self.carrier = Carrier()
        self.values: list[_WhileValue] = []
        self.words: dict[Memory, _CarriedWords] = {}
        self.slots: dict[tuple[Memory, SlotKey], _CarriedSlot] = {}

    @property
    def yielded(self) -> tuple[Value, ...]:
        """What the body gives for the values that it takes."""
        operands = self.op.body.block.terminator.operands
        return operands if isinstance(self.op, For) else operands[1:]

    # -- what is carried ----------------------------------------------------------------------------------------------

    def carry(self) -> None:
        """Gather what the `While` starts from."""
        state, carrier = self.state, self.carrier
        self.test.carry(state, carrier)
        for position, (argument, initial) in enumerate(zip(self.arguments, self.op.initial, strict=True)):
            self.values.append(self._carry_value(argument, state.lookup(initial), position))
        for memory, dtype in self.guess.memories.items():
            if memory.state.words is not None:
                place = carrier.carry(_words_as(memory, dtype))
                self.words[memory] = _CarriedWords(place, place)
        for (memory, key), dims in self.guess.slots.items():
            slots = memory.state.slots
            if slots is None:
                continue
            before = slots[key].item if key in slots else UNDEFINED
            if isinstance(before, Accumulation):
                raise state.obstacle("a sum over an outer loop is made within a loop that can't be vectorized")
            lanes = state.lanes(before, key[1])
            ordered = in_order((*dims, *lanes.dims))
            self.slots[memory, key] = _CarriedSlot(carrier.carry(lanes.expand(ordered, state.box)), ordered)

    def _carry_value(self, argument: Argument, initial: Item, position: int) -> _WhileValue:
        dims = self.guess.dimensions.get(position)
        if self.yielded[position] is argument:
            return _WhileValue("unchanged", initial)
        if isinstance(initial, Pointer | PointerChoice) or dims is None:
            return _WhileValue("pointer", initial)
        if isinstance(self.op, For) and isinstance(initial, Index):
            step = induction_step(self.state, argument, self.yielded[position], self.op)
            if step is not None and step.constant_value is not None:
                return _WhileValue("induction", initial, step=step)
        ordered = in_order(dims)
        lanes = self.state.lanes(initial, argument.dtype)
        return _WhileValue("lanes", initial, self.carrier.carry(lanes.expand(ordered, self.state.box)), ordered)

    # -- the body -----------------------------------------------------------------------------------------------------

    def run(self) -> None:
        """Interpret the body, and gather what it leaves for the next iteration; memories are then as before."""
        state, body = self.state, self.op.body.block
        before = {memory: memory.state for memory in state.memories}
        with state.inside(self.carrier.block):
            if isinstance(self.op, For) and self.op.serializes:
                state.serial_depth = state.while_depth
            self._enter()
            marks = {memory: memory.state for memory in before}
            with state.within(self.domain):
                run_block(state, body)
                finals = [state.lookup(value) for value in self.yielded]
                goes_on = self._goes_on(marks)
                self.test.note(state, goes_on, self.guess)
            self._see_memories(marks)
            if not self.guess.has_grown:
                self._append(self.test.find_next(state, goes_on, self.domain, self.guess))
            self._leave(finals)
        del state.memories[len(before) :]
        for memory, moment in before.items():
            memory.state = moment

    def _enter(self) -> None:
        """Let the body's arguments and memories be what is carried."""
        state, box = self.state, self.outer.box
        self.runs, self.domain = self.test.enter(self.outer)
        if isinstance(self.test, Count):
            state.environment[self.op.body.block.arguments[0]] = self.test.iteration
        for argument, carried in zip(self.arguments, self.values, strict=True):
            state.environment[argument] = self._inner_item(carried, argument)
        for memory, words in self.words.items():
            memory.change(words.argument)
        for (memory, key), slot in self.slots.items():
            replace_slot(memory, key, Slot(from_lanes(Lanes.over(slot.argument, slot.dims, box)), self.domain))

    def _inner_item(self, carried: _WhileValue, argument: Argument) -> Item:
        """What a carried value stands for in the body."""
        if carried.argument is not None:
            return from_lanes(Lanes.over(carried.argument, carried.dims, self.outer.box))
        if carried.kind != "induction":
            return carried.initial
        assert isinstance(self.test, Count)
        exact = _after(carried, self.test.iteration)
        value = fit(exact, argument.dtype, self.outer.box)
        # It may wrap around: let tensor arithmetic do it.
        return value if value is not None else from_lanes(self.state.lanes(exact, argument.dtype))

    def _goes_on(self, marks: Mapping[Memory, MemoryState]) -> Predicate:
        """What the body says at its end of whether there is a next iteration."""
        state = self.state
        if not isinstance(self.op, DoWhile):
            return TRUE
        goes_on = predicate_of(state, self.op.body.block.terminator.operands[0])
        if state.assumptions.state is not marks[state.assumptions]:
            goes_on &= nothing_is_violated(state)
        return goes_on

    def _see_memories(self, marks: Mapping[Memory, MemoryState]) -> None:
        """See what the body did to memories and local arrays."""
        for memory, before in marks.items():
            after = memory.state
            if before.slots is not None:
                self._see_slots(memory, before.slots, after.slots)
            elif after.version != before.version:
                assert after.words is not None
                self._see_words(memory, after.words)

    def _see_slots(self, memory: Memory, before: Mapping[SlotKey, Slot], after: Mapping[SlotKey, Slot] | None) -> None:
        if after is None:
            self.guess.addressed[memory] = None
            self.guess.has_grown = True
            return
        for key, slot in after.items():
            if (memory, key) in self.slots:
                self.slots[memory, key].final = slot.item
            elif before.get(key) is not slot:
                self.guess.widen_slot((memory, key), dimensions_of_item(slot.item))

    def _see_words(self, memory: Memory, words: Value) -> None:
        carried = self.words.get(memory)
        if carried is None:
            self.guess.add_memory(memory, words.dtype)
            return
        carried.final = words
        if words.type is not carried.argument.type:
            carried.final = reinterpret(words, carried.argument.dtype)
            if carried.final.type is not carried.argument.type:
                raise self.state.obstacle(f"{memory.name} is stored to with values of different sizes")

    def _leave(self, finals: list[Item]) -> None:
        """Gather the values for the next iteration, in the order in which they are carried."""
        state = self.state
        for position, (carried, final) in enumerate(zip(self.values, finals, strict=True)):
            if carried.kind == "pointer" and not (final is carried.initial or same_pointer(final, carried.initial)):
                raise state.obstacle(POINTER_CHANGES, value=self.yielded[position])
            if carried.argument is None:
                continue
            if isinstance(final, UndefinedItem):
                self._append(carried.argument)
                continue
            value = self._kept(final, carried.argument, carried.dims)
            if frozenset(value.dims) <= frozenset(carried.dims):
                self._append(value.expand(carried.dims, self.outer.box))
            else:
                self.guess.widen(position, frozenset(value.dims))
        for words in self.words.values():
            self._append(words.final)
        for cell, slot in self.slots.items():
            value = self._kept(slot.final, slot.argument, slot.dims)
            if frozenset(value.dims) <= frozenset(slot.dims):
                self._append(value.expand(slot.dims, self.outer.box))
            else:
                self.guess.widen_slot(cell, frozenset(value.dims))

    def _append(self, value: Value | None) -> None:
        if value is not None:
            self.carrier.next.append(value)

    def _kept(self, final: Item, argument: Argument, dims: tuple[Dimension, ...]) -> Lanes:
        """The new value at lanes that run, the old one at others."""
        state = self.state
        with state.within(self.outer):
            after = state.lanes(final, argument.dtype)
            if self.runs.is_true:
                return after
            before = state.covering(Lanes.over(argument, dims, self.outer.box))
            return Lanes.elementwise(Select, state.condition_lanes(self.runs), after, before, box=state.box)

    # -- the loop itself ----------------------------------------------------------------------------------------------

    def emit(self) -> None:
        """Place the `While`, and enter what holds after it."""
        state, block = self.state, self.carrier.block
        captured = close_over(block)
        initial = [*self.carrier.initial, *captured]
        following = [*self.carrier.next, *block.arguments[len(self.carrier.next) :]]
        condition = Block([value.type for value in initial])
        with Builder(condition):
            if isinstance(self.test, Count):
                limit: Value = self.test.total
                if isinstance(limit, Constant):
                    limit = Constant.of(limit.number, limit.dtype)
                else:
                    initial.append(limit)
                    following.append(block.add_argument(limit.type))
                    limit = condition.add_argument(limit.type)
                test = self.test.ask(condition.arguments[0], limit)
            else:
                test = self.test.ask(condition.arguments[0])
            words = self.words.get(state.assumptions)
            if words is not None:
                # Where an assumption did not hold, what the loop waits for may never come.
                found = emission.reshape(condition.arguments[block.arguments.index(words.argument)], ())
                test = And(test, emission.compare_with(found, "EQ", 0))
            Return((test,))
        with Builder(block):
            Return(tuple(following))
        loop = While(Region(condition), Region(block), tuple(initial))
        self._enter_results(dict(zip(block.arguments, loop.results, strict=True)))

    def _enter_results(self, values: Mapping[Argument, Value]) -> None:
        state, box = self.state, self.state.box
        for carried, result in zip(self.values, self.op.results, strict=True):
            if carried.argument is not None:
                item = from_lanes(Lanes.over(values[carried.argument], carried.dims, box))
            elif carried.kind == "induction":
                assert isinstance(self.test, Count)
                exact = _after(carried, self.test.trips)
                fitted = fit(exact, result.dtype, box)
                item = fitted if fitted is not None else from_lanes(state.lanes(exact, result.dtype))
            else:
                item = carried.initial
            state.environment[result] = item
        for memory, words in self.words.items():
            memory.change(values[words.argument])
        for (memory, key), slot in self.slots.items():
            store_slot(state, memory, key, from_lanes(Lanes.over(values[slot.argument], slot.dims, box)))


def _after(carried: _WhileValue, iterations: Index) -> Index:
    """A counter after so many iterations."""
    assert carried.step is not None and carried.step.constant_value is not None and isinstance(carried.initial, Index)
    return carried.initial + iterations.scale(carried.step.constant_value)


def _words_as(memory: Memory, dtype: str) -> Value:
    """The memory's words in the type that the loop leaves them in, if the bytes make whole words of it."""
    words = memory.state.words
    assert words is not None
    if words.dtype == dtype:
        return words
    seen = reinterpret(words, dtype)
    back = reinterpret(seen, words.dtype)
    return seen if back.shape == words.shape and words.dtype != "i1" else words


def close_over(block: Block) -> list[Value]:
    """Make a block depend on nothing but its arguments: gives the outside values that it now takes as further ones.

    Constants are made anew inside instead.
    """
    inside: set[Value] = set(block.arguments)
    for op in block.walk():
        inside.update(op.results)
        for region in op.regions:
            for inner in region.blocks:
                inside.update(inner.arguments)
    captured: dict[Value, Value] = {}
    given: list[Value] = []
    for op in list(block.walk()):
        for operand in op.operands:
            if operand in inside:
                continue
            if operand not in captured:
                captured[operand] = _inner_copy(block, operand, given)
            op.replace_operand(operand, captured[operand])
    return given


def _inner_copy(block: Block, value: Value, given: list[Value]) -> Value:
    if isinstance(value, Constant):
        with Builder(block, before=block.first):
            return Constant(value.value)
    given.append(value)
    return block.add_argument(value.type)
