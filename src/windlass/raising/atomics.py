"""Atomic operations on global memory: all lanes combine their values into it, in no particular order."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from windlass.affine.conflict import is_injective
from windlass.affine.dimensions import Dimension
from windlass.affine.domain import Domain
from windlass.affine.index import Index
from windlass.affine.predicate import Predicate
from windlass.ir import Op, Value
from windlass.loops import Atomic, CompareExchange
from windlass.ops.base import BroadcastInDim
from windlass.ops.combiners import Combiner, combiner_named, extreme_of_numbers
from windlass.ops.comparison import Compare
from windlass.ops.conversion import BitcastConvert, Convert
from windlass.ops.creation import Constant
from windlass.ops.elementwise import (
    Add,
    And,
    Negate,
    Or,
    Remainder,
    Select,
    ShiftRightArithmetic,
    Subtract,
    Xor,
)
from windlass.ops.extremes import Maximum, Minimum
from windlass.raising import access
from windlass.raising.arrivals import count_arrivals
from windlass.raising.codes import NO_MEMORY, NOT_RAISED, RESULT_OF_ATOMIC
from windlass.raising.conditions import merge_items
from windlass.raising.items import (
    UNDEFINED,
    Buffer,
    Item,
    Memory,
    Pointer,
    UndefinedItem,
    dimensions_of_item,
    from_lanes,
)
from windlass.raising.lanes import Lanes, condition_of
from windlass.raising.loads_and_stores import read, write
from windlass.raising.obstacle import Obstacle
from windlass.raising.operands import buffer_of, index_of
from windlass.raising.words import note_access, put_view, read_words, record_access, store_words, view, word_index

if TYPE_CHECKING:
    from windlass.raising.state import RaisingState


def run_atomic(state: RaisingState, op: Atomic) -> Item:
    """Combine each active lane's value into memory.

    Raises Obstacle where the old value is used and several lanes may come to one place: what each of them finds
    depends on their order.
    """
    pointer = buffer_of(state, op.buffer)
    offset = index_of(state, op.offset)
    value = state.lookup(op.value)
    if isinstance(value, UndefinedItem):
        return UNDEFINED
    if op.uses or op.kind == "exchange":
        if not is_alone(state, pointer, offset):
            if op.uses:
                return _arrive(state, op, pointer, offset, value)
            return _exchange(state, pointer, offset, value, op.value.dtype)
        old = read(state, pointer, offset, op.value.dtype)
        new = _combined(state, op, old, value)
        write(state, pointer, offset, new, op.value.dtype)
        return old
    memory = target_memory(state, pointer)
    offset = offset + pointer_offset(pointer)
    if op.kind in ("inc", "dec"):
        return _count_around(state, op, memory, offset, value)
    combiner, dtype = _combiner(state, op)
    lanes = as_words(state.lanes(value, op.value.dtype), dtype)
    if op.kind in ("sub", "fsub"):
        lanes = Lanes(Negate(lanes.value), lanes.dims, lanes.lower)
    if op.kind in ("fmin", "fmax"):
        _keep_number(state, memory, offset, lanes, op.kind)
    else:
        combine_into(state, memory, offset, lanes, combiner, op.kind)
    return UNDEFINED


def target_memory(state: RaisingState, pointer: Buffer) -> Memory:
    """The one memory that a pointer of an atomic operation goes into.

    Raises Obstacle where it goes into several, or into a local array.
    """
    if not isinstance(pointer, Pointer) or pointer.memory is None or pointer.memory.state.words is None:
        raise state.obstacle("an atomic operation goes through one of several pointers", NO_MEMORY)
    return pointer.memory


def combine_into(
    state: RaisingState, memory: Memory, offset: Index, lanes: Lanes, combiner: Combiner, name: str
) -> None:
    """Combine each active lane's value into its place of a memory, which is seen as words of the lanes' type.

    `name` tells the operation from others, with which it may not change places.
    """
    words = view(state, memory, lanes.dtype)
    put_view(memory, scatter_into(state, memory, offset, lanes.dtype, words, lanes, combiner, name))


def scatter_into(
    state: RaisingState,
    memory: Memory,
    offset: Index,
    dtype: str,
    numbers: Value,
    lanes: Lanes,
    combiner: Combiner,
    name: str,
) -> Value:
    """Numbers, one for each word of type `dtype` that the memory has, with each active lane's combined into its own."""
    address = memory.segment + offset
    record_access(state, memory, f"atomic {name}", address, dtype)
    index = word_index(state, address, dtype)
    domain = state.domain
    last = state.builder.block.last
    changed = access.scatter_combine(numbers, index, lanes, domain.box, domain.mask, combiner, lane_dimensions(domain))
    note_access(state, memory, f"atomic {name}", last)
    return changed


def as_words(lanes: Lanes, dtype: str) -> Lanes:
    """The lanes' bits as numbers of another type."""
    if lanes.dtype == dtype:
        return lanes
    return Lanes(BitcastConvert(lanes.value, dtype), lanes.dims, lanes.lower)


def lane_dimensions(domain: Domain) -> tuple[Dimension, ...]:
    """The dimensions along which the domain has several lanes."""
    return tuple(each for each in domain.dimensions if domain.box.extent(each) > 1)


def order_matters(state: RaisingState, what: str, reason: str | None = None, help: str | None = None) -> Obstacle:
    """That an atomic operation can't be raised because of what depends on the order of threads.

    Where it is repeated, another form of the loop may help: in some all that come to a place are one thread.
    """
    obstacle = state.obstacle(
        reason or f"the result of an atomic operation ({what}) is used, which depends on the order of threads",
        RESULT_OF_ATOMIC,
        help or "compute places with a scan instead, or run the kernel with wl.emulate",
    )
    obstacle.is_final = not state.frames
    return obstacle


def is_alone(state: RaisingState, pointer: Buffer, offset: Index) -> bool:
    """Whether no two lanes come to one place, so that their order does not matter."""
    if not isinstance(pointer, Pointer) or pointer.memory is None:
        return False
    address = (pointer.memory.segment + offset).simplify(state.box)
    return is_injective(address, state.domain.dimensions, state.box)


def _arrive(state: RaisingState, op: Atomic, pointer: Buffer, offset: Index, value: Item) -> Item:
    """An atomic operation of several lanes on one place, each of which asks what it finds.

    Raises Obstacle where that can't be told.
    """
    obstacle = order_matters(state, op.kind)
    if not isinstance(pointer, Pointer) or pointer.memory is None or pointer.memory.state.words is None:
        raise obstacle
    memory, dtype = pointer.memory, op.value.dtype
    offset = offset + pointer.byte_offset
    lanes = state.lanes(value, dtype)
    if op.kind == "sub":
        lanes = Lanes(Negate(lanes.value), lanes.dims, lanes.lower)
    before = count_arrivals(state, op, memory, memory.segment + offset, lanes, obstacle)
    if before is None:
        raise obstacle
    at_first = state.lanes(read_words(state, memory, memory.segment + offset, dtype), dtype)
    arrivals = state.visits.pop()
    combine_into(state, memory, offset, lanes, Add, op.kind)
    state.visits.append(arrivals)
    return from_lanes(Lanes.elementwise(Add, at_first, before, box=state.box))


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
    if op.kind in ("fmin", "fmax"):
        extreme, _ = _combiner(state, op)
        return from_lanes(Lanes.elementwise(partial(extreme_of_numbers, extreme), one, other, box=state.box))
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
        raise order_matters(state, op.kind)
    words = view(state, memory, dtype)
    nothing = Constant.of(0, "i64", words.shape)
    one = Lanes(Constant.of(1, "i64"))
    counts = scatter_into(state, memory, offset, dtype, nothing, one, Add, op.kind)

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
    combiner, dtype = combiner_named(op.kind), op.value.dtype
    if combiner is None:
        raise state.obstacle(f"the atomic operation '{op.kind}' has no tensor form", NOT_RAISED)
    return combiner, f"u{dtype}" if op.kind.startswith("u") else dtype


# -- fmin and fmax ----------------------------------------------------------------------------------------------------


def _keep_number(state: RaisingState, memory: Memory, offset: Index, lanes: Lanes, kind: str) -> None:
    """fmin or fmax by many lanes, which make NaN of NaN only: the extreme of integers in the floats' order.

    The bits of floats, those below the sign flipped for negative ones, have the order of the floats, -0.0 before 0.0.
    For NaN stands the integer that no other one loses to.
    """
    bits = 8 * lanes.value.tensor.numpy_dtype.itemsize
    least, most = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
    dtype = f"i{bits}"

    def flipped(number: Value) -> Value:
        sign = ShiftRightArithmetic(number, Constant.of(bits - 1, dtype, number.shape))
        return Xor(number, And(sign, Constant.of(most, dtype, number.shape)))

    def rank(value: Value) -> Value:
        nothing = Constant.of(most if kind == "fmin" else least, dtype, value.shape)
        return Select(Compare(value, value, "EQ"), flipped(BitcastConvert(value, dtype)), nothing)

    words = view(state, memory, lanes.dtype)
    before = rank(words)
    ranks = Lanes(rank(lanes.value), lanes.dims, lanes.lower)
    combiner = Minimum if kind == "fmin" else Maximum
    after = scatter_into(state, memory, offset, lanes.dtype, before, ranks, combiner, kind)
    put_view(memory, Select(Compare(after, before, "EQ"), words, BitcastConvert(flipped(after), lanes.dtype)))


# -- compare and swap -------------------------------------------------------------------------------------------------


def run_compare_exchange(state: RaisingState, op: CompareExchange) -> Item:
    """Each active lane writes what it desires if it finds what it expects.

    Where several lanes come to one place and none asks what it found, one of those that find what they expect writes:
    let those that don't come first, and those that would change nothing. Then all the others find something else.

    Raises Obstacle where what each lane found is asked for, since that depends on their order.
    """
    pointer, offset = buffer_of(state, op.buffer), index_of(state, op.offset)
    dtype = op.expected.dtype
    bits = f"i{8 * op.tensor.numpy_dtype.itemsize}"
    expected, desired = (state.lookup(item) for item in (op.expected, op.desired))
    if is_alone(state, pointer, offset):
        old = read(state, pointer, offset, dtype)
        finds = _matches(state, old, expected, dtype, bits)
        new = merge_items(state, finds, desired, old, dtype)
        write(state, pointer, offset, new, dtype)
        return old
    if op.uses:
        raise order_matters(
            state,
            "compare and swap",
            "several threads may compare and swap the same place, and which of them succeeds is asked",
            "a loop that tries again until it has stored a function of what it found has a tensor form; locks and "
            "claims have none: run the kernel with wl.emulate",
        )
    memory = target_memory(state, pointer)
    is_one_swap = not dimensions_of_item(expected) and not dimensions_of_item(desired)
    if not is_one_swap and any(frame.dimension in state.domain.dimensions for frame in state.frames):
        raise state.obstacle("iterations compare and swap different values with memory")
    address = memory.segment + offset + pointer_offset(pointer)
    record_access(state, memory, f"atomic swap {number_of(op)}", address, dtype)
    finds = _matches(state, read_words(state, memory, address, dtype), expected, dtype, bits)
    changes = ~_matches(state, desired, expected, dtype, bits)
    domain = state.domain.restrict(finds & changes)
    if not domain.is_empty:
        with state.within(domain):
            store_words(state, memory, word_index(state, address, dtype), desired, dtype)
    return UNDEFINED


def pointer_offset(pointer: Buffer) -> int:
    """Where in its memory a pointer goes."""
    assert isinstance(pointer, Pointer)
    return pointer.byte_offset


def _matches(state: RaisingState, one: Item, other: Item, dtype: str, bits: str) -> Predicate:
    """Whether two items have the same bits."""
    left, right = (as_words(state.lanes(item, dtype), bits) for item in (one, other))
    found = Lanes.elementwise(lambda x, y: Compare(x, y, "EQ"), left, right, box=state.box)
    return condition_of(found)


def number_of(op: Op) -> int:
    """A number that no other op of the kernel of this kind has."""
    root: Op = op
    while root.parent_op is not None:
        root = root.parent_op
    same = (each for region in root.regions for each in region.walk() if type(each) is type(op))
    return next(number for number, each in enumerate(same) if each is op)
