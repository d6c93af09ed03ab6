"""Loops that stay loops: a `While` that carries tensors, one iteration of all lanes at a time.

What is carried is found by trying: the body is interpreted with a guess (over which dimensions carried values lie,
which memories it writes), and once more with a better one as long as the guess was too small.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from windlass.affine.dimensions import Dimension, in_order
from windlass.affine.domain import Domain
from windlass.affine.index import Index, Scalar
from windlass.affine.predicate import TRUE, Predicate
from windlass.ir import Argument, Block, Builder, Region, TensorType, Value
from windlass.loops import Atomic as AtomicOp
from windlass.loops import AtomicUpdate, CompareExchange, DoWhile, For, Store
from windlass.ops.comparison import Compare
from windlass.ops.control import Return, While
from windlass.ops.creation import Constant
from windlass.ops.elementwise import Add, And, Or, Select
from windlass.ops.extremes import Maximum
from windlass.ops.reduction import reduce_with
from windlass.raising import emission
from windlass.raising.accumulations import Accumulation, AccumulationTest
from windlass.raising.allocation import make_addressable
from windlass.raising.assumptions import nothing_is_violated
from windlass.raising.blocks import run_block
from windlass.raising.cells import replace_slot
from windlass.raising.integers import fit
from windlass.raising.items import UNDEFINED, Item, Pointer, PointerChoice, Undefined, dimensions_of_item, from_lanes
from windlass.raising.lanes import Lanes, condition_of
from windlass.raising.memory import Memory, MemoryState, Slot, SlotKey
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
    addressed: set[Memory] = field(default_factory=set[Memory])
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


@dataclass
class _Counter:
    """How often a counted loop runs: the most iterations of any lane, and whether some lanes run fewer."""

    total: Value
    trips: Index
    upper: int
    is_ragged: bool


def run_counted_while(state: RaisingState, op: For, trips: Index) -> str:
    """A `While` that counts. Lanes with fewer iterations than others keep their values."""
    counter = _count(state, trips)
    _settle(state, op, op.body.block.arguments[1:], counter)
    return "while"


def run_as_while(state: RaisingState, op: DoWhile) -> str:
    """A `While` that runs as long as some lane goes on."""
    _settle(state, op, op.body.block.arguments, None)
    return "while"


def _count(state: RaisingState, trips: Index) -> _Counter:
    trips = trips.maximum(Index(0), state.box).simplify(state.box)
    upper = trips.value_range(state.box)[1]
    dtype = "i32" if upper < 2**31 else "i64"
    lanes = state.lanes(trips, dtype)
    if not lanes.dims:
        total = lanes.value
        mask = state.domain.mask
        if not mask.is_true and not isinstance(total, Constant):
            # Where no lane gets here the number means nothing: it may be what the source guards against.
            active = state.condition_lanes(mask).value
            any_active = reduce_with(Or, active, tuple(range(len(active.shape)))) if active.shape else active
            total = Select(any_active, total, emission.constant(0, dtype))
        return _Counter(total, trips, upper, False)
    if not state.domain.mask.is_true:
        zero = Lanes(emission.constant(0, dtype))
        lanes = Lanes.elementwise(Select, state.condition_lanes(state.domain.mask), lanes, zero, box=state.box)
    total = reduce_with(Maximum, lanes.value, tuple(range(len(lanes.dims))))
    # No iteration at all where no lane is active: the identity of the maximum is the least integer, which is fewer.
    return _Counter(total, trips, upper, True)


def _settle(state: RaisingState, op: For | DoWhile, arguments: list[Argument], counter: _Counter | None) -> None:
    """Try guesses until one is large enough."""
    guess = _first_guess(state, op, arguments, counter)
    moment = state.checkpoint()
    for _ in range(MOST_GUESSES):
        guess.has_grown = False
        for memory in guess.addressed:
            if memory.state.slots is not None:
                make_addressable(state, memory)
        _attempt(state, op, arguments, counter, guess)
        if not guess.has_grown:
            return
        state.restore(moment)
    raise state.obstacle("what the loop carries could not be found")


def _first_guess(state: RaisingState, op: For | DoWhile, arguments: list[Argument], counter: _Counter | None) -> _Guess:
    guess = _Guess()
    for position, (argument, initial) in enumerate(zip(arguments, op.initial, strict=True)):
        item = state.lookup(initial)
        if isinstance(item, Accumulation | AccumulationTest):
            raise state.obstacle("a sum over an outer loop is made within a loop that can't be vectorized")
        if isinstance(argument.type, TensorType):
            guess.dimensions[position] = dimensions_of_item(item)
    if counter is None and not state.domain.mask.is_true:
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


class _Carrier:
    """The operands of the `While` as they are gathered: initial values, and block arguments for them."""

    def __init__(self) -> None:
        self.block = Block()
        self.initial: list[Value] = []
        self.next: list[Value] = []

    def carry(self, value: Value) -> Argument:
        self.initial.append(value)
        return self.block.add_argument(value.type)


@dataclass
class _Carried:
    kind: str
    initial: Item
    argument: Argument | None = None
    dims: tuple[Dimension, ...] = ()
    step: Index | None = None
    place: int = -1


def _attempt(
    state: RaisingState, op: For | DoWhile, arguments: list[Argument], counter: _Counter | None, guess: _Guess
) -> None:
    outer = state.domain
    box = outer.box
    carrier = _Carrier()
    body = op.body.block
    yielded = body.terminator.operands if isinstance(op, For) else body.terminator.operands[1:]
    count = carrier.carry(emission.constant(0, counter.total.dtype)) if counter is not None else None
    active: Argument | None = None
    active_dims: tuple[Dimension, ...] = ()
    going: Argument | None = None
    if counter is None:
        if guess.active is None:
            going = carrier.carry(emission.constant(True, "i1"))
        else:
            active_dims = in_order(guess.active)
            mask = state.condition_lanes(outer.mask)
            guess_mask = frozenset(mask.dims)
            if not guess_mask <= guess.active:
                guess.widen_active(guess_mask)
                return
            active = carrier.carry(mask.expand(active_dims, box))
    plans = [
        _plan(state, op, argument, state.lookup(initial), result, carrier, guess.dimensions.get(position), position)
        for position, (argument, initial, result) in enumerate(zip(arguments, op.initial, yielded, strict=True))
    ]
    memory_places = {
        memory: carrier.carry(_words_as(memory, dtype))
        for memory, dtype in guess.memories.items()
        if memory.state.words is not None
    }
    slot_places: dict[tuple[Memory, SlotKey], tuple[Argument, tuple[Dimension, ...]]] = {}
    for (memory, key), dims in guess.slots.items():
        slots = memory.state.slots
        if slots is None:
            continue
        before = slots[key].item if key in slots else UNDEFINED
        if isinstance(before, Accumulation):
            raise state.obstacle("a sum over an outer loop is made within a loop that can't be vectorized")
        lanes = state.lanes(before, key[1])
        ordered = in_order((*dims, *lanes.dims))
        slot_places[memory, key] = (carrier.carry(lanes.expand(ordered, box)), ordered)
    known = list(state.memories)
    entry_states = {memory: memory.state for memory in known}
    changed_slots: dict[tuple[Memory, SlotKey], Item] = {}
    changed_memories: dict[Memory, Value] = {}
    results: list[Item] = []
    with state.inside(carrier.block):
        if op is state.turns:
            state.turn_depth = state.while_depth
        domain = outer
        runs = TRUE
        if counter is not None and count is not None:
            iteration = Index.of(Scalar(count, 0, max(counter.upper - 1, 0)))
            state.environment[body.arguments[0]] = iteration
            if counter.is_ragged:
                runs = Predicate.compare("LT", iteration, counter.trips)
                domain = outer.restrict(runs)
        elif active is not None:
            runs = condition_of(Lanes.over(active, active_dims, box))
            domain = Domain(outer.dimensions, box, runs)
        for argument, plan in zip(arguments, plans, strict=True):
            state.environment[argument] = _inner_item(state, plan, argument, count, counter, outer)
        for memory, place in memory_places.items():
            memory.change(place)
        for (memory, key), (place, dims) in slot_places.items():
            replace_slot(memory, key, Slot(from_lanes(Lanes.over(place, dims, box)), domain))
        marks = {memory: memory.state for memory in known}

        with state.within(domain):
            run_block(state, body)
            finals = [state.lookup(value) for value in yielded]
            goes_on = TRUE
            if isinstance(op, DoWhile):
                goes_on = predicate_of(state, body.terminator.operands[0])
                if state.assumptions.state is not marks[state.assumptions]:
                    goes_on &= nothing_is_violated(state)
            if active is None and going is not None:
                flag = state.condition_lanes(goes_on)
                if flag.dims:
                    guess.widen_active(frozenset(flag.dims))
            else:
                flag = None
        _collect_memories(state, known, marks, memory_places, slot_places, guess, changed_slots, changed_memories)
        if not guess.has_grown:
            # The values for the next iteration, in the order in which they are carried.
            if count is not None:
                carrier.next.append(Add(count, Constant.of(1, count.dtype)))
            if going is not None:
                assert flag is not None
                carrier.next.append(flag.value)
            if active is not None:
                with state.within(domain):
                    condition = state.condition_lanes(goes_on)
                if not frozenset(condition.dims) <= frozenset(active_dims):
                    guess.widen_active(frozenset(condition.dims))
                else:
                    both = And(active, condition.expand(active_dims, box))
                    carrier.next.append(both)
        for position, (plan, final) in enumerate(zip(plans, finals, strict=True)):
            if plan.kind == "pointer" and not (final is plan.initial or same_pointer(final, plan.initial)):
                raise state.obstacle(POINTER_CHANGES, value=yielded[position])
            results.append(_carry_on(state, plan, final, position, runs, domain, outer, carrier, guess))
        for memory, place in memory_places.items():
            carrier.next.append(changed_memories.get(memory, place))
        for (memory, key), (place, dims) in slot_places.items():
            item = changed_slots[memory, key]
            with state.within(outer):
                before = Lanes.over(place, dims, box)
                value = _kept(state, runs, domain, state.lanes(item, key[1]), before)
            if not frozenset(value.dims) <= frozenset(dims):
                guess.widen_slot((memory, key), frozenset(value.dims))
                continue
            carrier.next.append(value.expand(dims, box))
    del state.memories[len(known) :]
    for memory, before in entry_states.items():
        memory.state = before
    if guess.has_grown:
        return
    _emit(state, op, carrier, count, counter, active, plans, results, memory_places, slot_places)


def _plan(
    state: RaisingState,
    op: For | DoWhile,
    argument: Argument,
    initial: Item,
    yielded: Value,
    carrier: _Carrier,
    dims: frozenset[Dimension] | None,
    position: int,
) -> _Carried:
    if yielded is argument:
        return _Carried("unchanged", initial)
    if isinstance(initial, Pointer | PointerChoice) or dims is None:
        return _Carried("pointer", initial)
    if isinstance(op, For) and isinstance(initial, Index):
        step = induction_step(state, argument, yielded, op)
        if step is not None and step.constant_value is not None:
            return _Carried("induction", initial, step=step)
    ordered = in_order(dims)
    lanes = state.lanes(initial, argument.dtype)
    place = carrier.carry(lanes.expand(ordered, state.box))
    return _Carried("lanes", initial, place, ordered, place=position)


def _inner_item(
    state: RaisingState,
    plan: _Carried,
    argument: Argument,
    count: Argument | None,
    counter: _Counter | None,
    outer: Domain,
) -> Item:
    """What a carried value stands for in the body."""
    match plan.kind:
        case "lanes":
            assert plan.argument is not None
            return from_lanes(Lanes.over(plan.argument, plan.dims, outer.box))
        case "induction":
            assert count is not None and counter is not None and plan.step is not None
            assert isinstance(plan.initial, Index) and plan.step.constant_value is not None
            iteration = Index.of(Scalar(count, 0, max(counter.upper - 1, 0)))
            value = fit(plan.initial + iteration.scale(plan.step.constant_value), argument.dtype, outer.box)
            if value is not None:
                return value
            # It may wrap around: let tensor arithmetic do it.
            wide = state.lanes(plan.initial + iteration.scale(plan.step.constant_value), argument.dtype)
            return from_lanes(wide)
        case _:
            return plan.initial


def _carry_on(
    state: RaisingState,
    plan: _Carried,
    final: Item,
    position: int,
    runs: Predicate,
    domain: Domain,
    outer: Domain,
    carrier: _Carrier,
    guess: _Guess,
) -> Item:
    """Enter the value for the next iteration; gives the item after the loop where that is no result of the `While`."""
    match plan.kind:
        case "unchanged" | "induction" | "pointer":
            return plan.initial
        case _:
            pass
    assert plan.argument is not None
    before = Lanes.over(plan.argument, plan.dims, outer.box)
    if isinstance(final, Undefined):
        carrier.next.append(plan.argument)
        return UNDEFINED
    with state.within(outer):
        value = _kept(state, runs, domain, state.lanes(final, plan.argument.dtype), before)
    if not frozenset(value.dims) <= frozenset(plan.dims):
        guess.widen(position, frozenset(value.dims))
        return UNDEFINED
    carrier.next.append(value.expand(plan.dims, outer.box))
    return UNDEFINED


def _kept(state: RaisingState, runs: Predicate, domain: Domain, after: Lanes, before: Lanes) -> Lanes:
    """The new value at lanes that run, the old one at others."""
    if runs.is_true:
        return after
    return Lanes.elementwise(Select, state.condition_lanes(runs), after, state.covering(before), box=state.box)


def _words_as(memory: Memory, dtype: str) -> Value:
    """The memory's words in the type that the loop leaves them in, if the bytes make whole words of it."""
    words = memory.state.words
    assert words is not None
    if words.dtype == dtype:
        return words
    seen = reinterpret(words, dtype)
    back = reinterpret(seen, words.dtype)
    return seen if back.shape == words.shape and words.dtype != "i1" else words


def _collect_memories(
    state: RaisingState,
    known: list[Memory],
    marks: dict[Memory, MemoryState],
    memory_places: dict[Memory, Argument],
    slot_places: dict[tuple[Memory, SlotKey], tuple[Argument, tuple[Dimension, ...]]],
    guess: _Guess,
    changed_slots: dict[tuple[Memory, SlotKey], Item],
    changed_memories: dict[Memory, Value],
) -> None:
    """See what the body did to memories and local arrays."""
    for memory in known:
        before, after = marks[memory], memory.state
        if before.slots is not None:
            if after.slots is None:
                guess.addressed.add(memory)
                guess.has_grown = True
                continue
            for key, slot in after.slots.items():
                if (memory, key) in slot_places:
                    changed_slots[memory, key] = slot.item
                elif before.slots.get(key) is not slot:
                    guess.widen_slot((memory, key), dimensions_of_item(slot.item))
        elif after.version != before.version:
            words = after.words
            assert words is not None
            place = memory_places.get(memory)
            if place is None:
                guess.add_memory(memory, words.dtype)
            elif words.type is not place.type:
                changed = reinterpret(words, place.dtype)
                if changed.type is not place.type:
                    raise state.obstacle(f"{memory.name} is stored to with values of different sizes")
                changed_memories[memory] = changed
            else:
                changed_memories[memory] = words


# -- the loop itself --------------------------------------------------------------------------------------------------


def _emit(
    state: RaisingState,
    op: For | DoWhile,
    carrier: _Carrier,
    count: Argument | None,
    counter: _Counter | None,
    active: Argument | None,
    plans: list[_Carried],
    results: list[Item],
    memory_places: dict[Memory, Argument],
    slot_places: dict[tuple[Memory, SlotKey], tuple[Argument, tuple[Dimension, ...]]],
) -> None:
    """Place the `While`, and enter what holds after it."""
    block = carrier.block
    captured = close_over(block)
    initial = [*carrier.initial, *captured]
    following = [*carrier.next, *block.arguments[len(carrier.next) :]]
    with Builder(block):
        Return(tuple(following))
    condition_block = Block([value.type for value in initial])
    with Builder(condition_block):
        if counter is not None:
            limit: Value = counter.total
            if isinstance(limit, Constant):
                limit = Constant.of(limit.number, limit.dtype)
            else:
                initial.append(limit)
                limit_argument = condition_block.add_argument(limit.type)
                following.append(block.add_argument(limit.type))
                limit = limit_argument
            test: Value = Compare(condition_block.arguments[0], limit, "LT")
        elif active is not None:
            first = condition_block.arguments[0]
            test = first if not first.shape else reduce_with(Or, first, tuple(range(len(first.shape))))
        else:
            test = condition_block.arguments[0]
        word = memory_places.get(state.assumptions)
        if word is not None:
            # Where an assumption did not hold, what the loop waits for may never come.
            found = emission.reshape(condition_block.arguments[block.arguments.index(word)], ())
            test = And(test, emission.compare_with(found, "EQ", 0))
        Return((test,))
    if len(following) > len(block.terminator.operands):
        block.terminator.erase()
        with Builder(block):
            Return(tuple(following))
    loop = While(Region(condition_block), Region(block), tuple(initial))
    values = dict(zip(block.arguments, loop.results, strict=True))
    box = state.box
    for plan, result, item in zip(plans, op.results, results, strict=True):
        if plan.kind == "lanes":
            assert plan.argument is not None
            state.environment[result] = from_lanes(Lanes.over(values[plan.argument], plan.dims, box))
        elif plan.kind == "induction":
            state.environment[result] = _final_count(state, plan, counter, result)
        else:
            state.environment[result] = item
    for memory, place in memory_places.items():
        memory.change(values[place])
    for (memory, key), (place, dims) in slot_places.items():
        item = from_lanes(Lanes.over(values[place], dims, box))
        store_slot(state, memory, key, item)


def _final_count(state: RaisingState, plan: _Carried, counter: _Counter | None, result: Value) -> Item:
    """A counter after the loop."""
    assert counter is not None and plan.step is not None and isinstance(plan.initial, Index)
    assert plan.step.constant_value is not None
    exact = plan.initial + counter.trips.scale(plan.step.constant_value)
    fitted = fit(exact, result.dtype, state.box)
    return fitted if fitted is not None else from_lanes(state.lanes(exact, result.dtype))


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
