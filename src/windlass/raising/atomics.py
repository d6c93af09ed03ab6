"""Atomic operations on global memory: all lanes combine their values into it, in no particular order."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from windlass.ir import Value
from windlass.ops.comparison import Compare
from windlass.ops.conversion import BitcastConvert, Convert
from windlass.ops.creation import Constant
from windlass.ops.elementwise import Add, And, Maximum, Minimum, Negate, Or, Remainder, Select, Subtract, Xor
from windlass.ops.loops import Atomic, CompareExchange
from windlass.ops.movement import BroadcastInDim
from windlass.raising import access
from windlass.raising.dependences import is_injective
from windlass.raising.dimensions import Dimension
from windlass.raising.domain import Domain
from windlass.raising.index import Index
from windlass.raising.items import UNDEFINED, Buffer, Item, Pointer, Undefined, from_lanes
from windlass.raising.lanes import Lanes
from windlass.raising.memory import Memory, note_access, put_view, read, record_access, view, word_index, write
from windlass.raising.obstacle import NO_MEMORY, NOT_RAISED, RESULT_OF_ATOMIC, Obstacle
from windlass.raising.reductions import Combiner

if TYPE_CHECKING:
    from windlass.raising.state import RaisingState


def run_atomic(state: RaisingState, op: Atomic) -> Item:
    """Combine each active lane's value into memory.

    Raises Obstacle where the old value is used and several lanes may come to one place: what each of them finds
    depends on their order.
    """
    from windlass.raising.interpreter import buffer_of, index_of

    pointer = buffer_of(state, op.buffer)
    offset = index_of(state, op.offset)
    value = state.lookup(op.value)
    if isinstance(value, Undefined):
        return UNDEFINED
    if op.uses or op.kind == "exchange":
        if not _is_alone(state, pointer, offset):
            if op.uses:
                raise _order_matters(state, op.kind)
            return _exchange(state, pointer, offset, value, op.value.dtype)
        old = read(state, pointer, offset, op.value.dtype)
        new = _combined(state, op, old, value)
        write(state, pointer, offset, new, op.value.dtype)
        return old
    if not isinstance(pointer, Pointer) or pointer.memory is None or pointer.memory.state.words is None:
        raise state.obstacle("an atomic operation goes through one of several pointers", NO_MEMORY)
    if op.kind in ("inc", "dec"):
        return _count_around(state, op, pointer.memory, offset + pointer.byte_offset, value)
    combiner, dtype = _combiner(state, op)
    lanes = state.lanes(value, op.value.dtype)
    if op.kind in ("sub", "fsub"):
        lanes = Lanes(Negate(lanes.value), lanes.dims, lanes.lower)
    if dtype != lanes.dtype:
        lanes = Lanes(BitcastConvert(lanes.value, dtype), lanes.dims, lanes.lower)
    memory = pointer.memory
    address = memory.segment + offset + pointer.byte_offset
    record_access(state, memory, f"atomic {op.kind}", address, dtype)
    index = word_index(state, address, dtype)
    domain = state.domain
    words = view(state, memory, dtype)
    last = state.builder.block.last
    changed = access.scatter_combine(words, index, lanes, domain.box, domain.mask, combiner, lane_dimensions(domain))
    note_access(state, memory, f"atomic {op.kind}", last)
    put_view(memory, changed)
    return UNDEFINED


def lane_dimensions(domain: Domain) -> tuple[Dimension, ...]:
    """The dimensions along which the domain has several lanes."""
    return tuple(each for each in domain.dimensions if domain.box.extent(each) > 1)


def _order_matters(state: RaisingState, what: str) -> Obstacle:
    return state.obstacle(
        f"the result of an atomic operation ({what}) is used, which depends on the order of threads",
        RESULT_OF_ATOMIC,
        "compute places with a scan instead, or run the kernel with wl.emulate",
    )


def _is_alone(state: RaisingState, pointer: Buffer, offset: Index) -> bool:
    """Whether no two lanes come to one place, so that their order does not matter."""
    return isinstance(pointer, Pointer) and is_injective(offset, state.domain.dimensions, state.box)


def _exchange(state: RaisingState, pointer: Buffer, offset: Index, value: Item, dtype: str) -> Item:
    """An exchange whose result is not used stores; of several lanes any one may be the last."""
    if any(frame.dimension in state.domain.dimensions for frame in state.frames):
        raise state.obstacle("iterations exchange values with memory")
    write(state, pointer, offset, value, dtype)
    return UNDEFINED


def _combined(state: RaisingState, op: Atomic, old: Item, value: Item) -> Item:
    """What memory holds after one lane's operation."""
    if op.kind == "exchange":
        return value
    dtype = op.value.dtype
    one, other = state.lanes(old, dtype), state.lanes(value, dtype)
    if op.kind in ("inc", "dec"):
        return from_lanes(Lanes.elementwise(_step_around(op.kind, dtype), one, other, box=state.box))
    if op.kind in ("sub", "fsub"):
        return from_lanes(Lanes.elementwise(Subtract, one, other, box=state.box))
    combiner, working = _combiner(state, op)

    def combine(left: Value, right: Value) -> Value:
        if working == dtype:
            return combiner(left, right)
        return BitcastConvert(combiner(BitcastConvert(left, working), BitcastConvert(right, working)), dtype)

    return from_lanes(Lanes.elementwise(combine, one, other, box=state.box))


def _step_around(kind: str, dtype: str) -> Callable[[Value, Value], Value]:
    """CUDA's atomicInc and atomicDec, which count from 0 to a limit and around."""

    def step(old: Value, limit: Value) -> Value:
        unsigned = f"u{dtype}"
        before, most = BitcastConvert(old, unsigned), BitcastConvert(limit, unsigned)
        zero, one = (Constant.of(each, unsigned, old.shape) for each in (0, 1))
        if kind == "inc":
            after = Select(Compare(before, most, "GE"), zero, Add(before, one))
        else:
            around = Or(Compare(before, zero, "EQ"), Compare(before, most, "GT"))
            after = Select(around, most, Subtract(before, one))
        return BitcastConvert(after, dtype)

    return step


def _count_around(state: RaisingState, op: Atomic, memory: Memory, offset: Index, limit: Item) -> Item:
    """atomicInc and atomicDec by many lanes: each place goes on by as many steps as lanes come to it.

    Raises Obstacle where the limit differs between lanes.
    """
    dtype = op.value.dtype
    most = state.lanes(limit, dtype)
    if most.dims:
        raise _order_matters(state, op.kind)
    address = memory.segment + offset
    record_access(state, memory, f"atomic {op.kind}", address, dtype)
    index = word_index(state, address, dtype)
    domain = state.domain
    words = view(state, memory, dtype)
    nothing = Constant.of(0, "i64", words.shape)
    one = Lanes(Constant.of(1, "i64"))
    last = state.builder.block.last
    counts = access.scatter_combine(nothing, index, one, domain.box, domain.mask, Add, lane_dimensions(domain))
    note_access(state, memory, f"atomic {op.kind}", last)

    def filled(number: int) -> Value:
        return Constant.of(number, "i64", words.shape)

    unsigned = f"u{dtype}"
    before = Convert(BitcastConvert(words, unsigned), "i64")
    top = BroadcastInDim(Convert(BitcastConvert(most.value, unsigned), "i64"), words.shape, ())
    period = Add(top, filled(1))
    beyond = Compare(before, top, "GT")
    # A number beyond the limit takes one step to get back into the range: to 0 going up, to the limit going down.
    start = Select(beyond, filled(0) if op.kind == "inc" else top, before)
    steps = Select(beyond, Subtract(counts, filled(1)), counts)
    if op.kind == "inc":
        after = Remainder(Add(start, steps), period)
    else:
        after = Remainder(Add(Subtract(start, Remainder(steps, period)), period), period)
    after = BitcastConvert(Convert(after, unsigned), dtype)
    put_view(memory, Select(Compare(counts, nothing, "GT"), after, words))
    return UNDEFINED


def _combiner(state: RaisingState, op: Atomic) -> tuple[Combiner, str]:
    """The op that combines, and the type that it is done in: unsigned orders compare as unsigned numbers."""
    dtype = op.value.dtype
    match op.kind:
        case "add" | "sub" | "fadd" | "fsub":
            return Add, dtype
        case "min" | "max" | "fmin" | "fmax":
            return (Minimum if op.kind.endswith("min") else Maximum), dtype
        case "umin" | "umax":
            return (Minimum if op.kind == "umin" else Maximum), f"u{dtype}"
        case "and":
            return And, dtype
        case "or":
            return Or, dtype
        case "xor":
            return Xor, dtype
        case _:
            raise state.obstacle(f"the atomic operation '{op.kind}' has no tensor form", NOT_RAISED)


def run_compare_exchange(state: RaisingState, op: CompareExchange) -> Item:
    """Each lane at a place of its own.

    Raises Obstacle where several lanes may come to one place: what each finds depends on their order.
    """
    from windlass.raising.interpreter import buffer_of, index_of

    pointer, offset = buffer_of(state, op.buffer), index_of(state, op.offset)
    if not _is_alone(state, pointer, offset):
        raise _order_matters(state, "compare and swap")
    dtype = op.expected.dtype
    old = read(state, pointer, offset, dtype)
    items = [old, state.lookup(op.expected), state.lookup(op.desired)]
    found, expected, desired = (state.lanes(item, dtype) for item in items)

    def exchange(before: Value, wanted: Value, after: Value) -> Value:
        return Select(Compare(before, wanted, "EQ"), after, before)

    new = from_lanes(Lanes.elementwise(exchange, found, expected, desired, box=state.box))
    write(state, pointer, offset, new, dtype)
    return old
