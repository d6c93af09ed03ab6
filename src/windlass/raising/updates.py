"""Atomic updates of memory by a function: what loops of compare-and-swaps do.

A lane that has its place to itself reads, computes and writes. Where several lanes come to one place the result must
not depend on their order, which holds

* for sums, products, extremes and bit operations of the old value with something else,
* where the old value is replaced if a comparison with it says so (`x > old ? x : old`), which keeps an extreme,
* where the function is the same for all lanes: then only how many of them come to a place matters.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from windlass.affine.dimensions import EVERYWHERE, Dimension
from windlass.affine.domain import Domain
from windlass.affine.index import Index
from windlass.affine.predicate import TRUE
from windlass.ir import Block, Builder, Op, Region, Value
from windlass.loops import AtomicUpdate
from windlass.ops.comparison import Compare
from windlass.ops.control import While
from windlass.ops.conversion import BitcastConvert
from windlass.ops.creation import Constant
from windlass.ops.elementwise import (
    Add,
    And,
    Multiply,
    Negate,
    Not,
    Or,
    Select,
    Subtract,
    Xor,
)
from windlass.ops.extremes import Maximum, Minimum
from windlass.ops.reduction import reduce_with
from windlass.ops.regions import Return, identity_of
from windlass.raising import emission
from windlass.raising.accumulations import Accumulation, AccumulationTest, Combiner
from windlass.raising.atomics import (
    as_words,
    combine_into,
    is_alone,
    number_of,
    order_matters,
    pointer_offset,
    scatter_into,
    target_memory,
)
from windlass.raising.blocks import run_block
from windlass.raising.extremes import TURNED_ROUND
from windlass.raising.items import UNDEFINED, Item, dimensions_of_item, from_lanes
from windlass.raising.lanes import Lanes
from windlass.raising.loads_and_stores import read, write
from windlass.raising.memory import Memory
from windlass.raising.operands import buffer_of, index_of
from windlass.raising.while_loops import close_over
from windlass.raising.words import put_view, view

if TYPE_CHECKING:
    from windlass.raising.state import RaisingState

_COMMUTATIVE: dict[type[Op], Combiner] = {each: each for each in (Add, Multiply, Minimum, Maximum, And, Or, Xor)}
_NAMES = {Add: "add", Multiply: "mul", Minimum: "min", Maximum: "max", And: "and", Or: "or", Xor: "xor"}


def run_atomic_update(state: RaisingState, op: AtomicUpdate) -> Item:
    """Let each active lane update its place.

    Raises Obstacle where several lanes may come to one place and what memory holds afterwards, or what a lane finds,
    depends on their order.
    """
    pointer, offset = buffer_of(state, op.buffer), index_of(state, op.offset)
    (old,) = op.body.block.arguments
    (new,) = op.body.block.terminator.operands
    if is_alone(state, pointer, offset):
        found = read(state, pointer, offset, op.dtype)
        write(state, pointer, offset, _new_item(state, op, found), op.dtype)
        return found
    if op.uses:
        raise order_matters(state, "compare and swap")
    memory = target_memory(state, pointer)
    offset = offset + pointer_offset(pointer)
    chain = _find_chain(new, old, op.body.block)
    if chain is not None:
        for value in chain.values:
            lanes = as_words(state.lanes(state.lookup(value), value.dtype), chain.dtype)
            if value in chain.subtracted:
                lanes = Lanes(Negate(lanes.value), lanes.dims, lanes.lower)
            combine_into(state, memory, offset, lanes, chain.combiner, chain.name)
        return UNDEFINED
    kept = _find_kept(new, old, op.body.block)
    if kept is not None:
        _keep_extreme(state, memory, offset, kept)
        return UNDEFINED
    if _is_same_for_all(state, op):
        _repeat_by_count(state, op, memory, offset)
        return UNDEFINED
    raise order_matters(
        state,
        "compare and swap",
        f"several threads may update the same place of {memory.name} by a function whose result depends on their order",
        "sums, products, extremes and bit operations do not depend on it; run the kernel with wl.emulate",
    )


def _new_item(state: RaisingState, op: AtomicUpdate, old: Item) -> Item:
    """What the update makes of an old value."""
    block = op.body.block
    state.environment[block.arguments[0]] = old
    run_block(state, block)
    return state.lookup(block.terminator.operands[0])


# -- one operation with the old value ---------------------------------------------------------------------------------


@dataclass
class _Chain:
    """The old value combined with others, by one commutative and associative operation in a type."""

    combiner: Combiner
    dtype: str
    values: list[Value]
    subtracted: set[Value]

    @property
    def name(self) -> str:
        """The name of the atomic operation."""
        prefix = "f" if self.dtype.startswith(("f", "bf")) else "u" if self.dtype.startswith("u") else ""
        return f"{prefix}{_NAMES[self.combiner]}"


def _find_chain(new: Value, old: Value, body: Block) -> _Chain | None:
    found: _Chain | None = None
    current = _bits_of(new)
    while current is not old:
        if not isinstance(current, Op):
            return None
        is_difference = isinstance(current, Subtract)
        combiner = Add if is_difference else _COMMUTATIVE.get(type(current))
        if combiner is None:
            return None
        left, right = current.operands
        if _is_inside(right, body) and not is_difference:
            left, right = right, left
        if _is_inside(right, body) or not _is_inside(left, body):
            return None
        dtype = current.dtype if combiner in (Minimum, Maximum) else current.dtype.removeprefix("u")
        if found is None:
            found = _Chain(combiner, dtype, [], set())
        if found.combiner is not combiner or found.dtype != dtype:
            return None
        found.values.append(right)
        if is_difference:
            found.subtracted.add(right)
        current = _bits_of(left)
    return found


def _is_inside(value: Value, body: Block) -> bool:
    """Whether a value depends on the old one: the body holds nothing else."""
    return getattr(value, "block", None) is body


def _bits_of(value: Value) -> Value:
    while isinstance(value, BitcastConvert):
        value = value.operand
    return value


# -- replaced by comparison -------------------------------------------------------------------------------------------


@dataclass
class _Kept:
    """`value direction old ? value : old`, or where `is_negated` the old value if the comparison does hold.

    The comparison is one of numbers of a type.
    """

    value: Value
    direction: str
    is_negated: bool
    dtype: str

    @property
    def is_least(self) -> bool:
        """Whether the least value is kept rather than the greatest."""
        return (self.direction in ("LT", "LE")) != self.is_negated


def _find_kept(new: Value, old: Value, body: Block) -> _Kept | None:
    choice = _bits_of(new)
    if not isinstance(choice, Select):
        return None
    test, holds = choice.pred, True
    while isinstance(test, Not):
        test, holds = test.operand, not holds
    on_true, on_false = _bits_of(choice.on_true), _bits_of(choice.on_false)
    if on_true is old:
        on_true, on_false, holds = on_false, on_true, not holds
    if on_false is not old or not isinstance(test, Compare) or _is_inside(on_true, body):
        return None
    left, right, direction = test.lhs, test.rhs, test.direction
    if _bits_of(left) is old:
        left, right, direction = right, left, TURNED_ROUND.get(direction, "")
    if _bits_of(right) is not old or _bits_of(left) is not on_true or direction not in TURNED_ROUND:
        return None
    return _Kept(on_true, direction, not holds, left.dtype)


def _keep_extreme(state: RaisingState, memory: Memory, offset: Index, kept: _Kept) -> None:
    """Replace each place by the least or greatest of what lanes bring there, if it compares so with what is there.

    Comparisons with NaN are false. Unless the comparison is negated NaN is never taken, and what holds NaN stays so.
    Otherwise NaN is always taken and replaced: let the lanes that bring NaN be the last.
    """
    combiner = Minimum if kept.is_least else Maximum
    dtype = kept.dtype
    lanes = as_words(state.lanes(state.lookup(kept.value), kept.value.dtype), dtype)
    if not lanes.value.tensor.is_float:
        combine_into(state, memory, offset, lanes, combiner, f"{dtype[:1].removeprefix('i')}{_NAMES[combiner]}")
        return
    name = f"{'not ' if kept.is_negated else ''}{kept.direction} of {dtype}"
    worst = identity_of(combiner, dtype)
    if not kept.is_negated:
        neutral = Lanes(emission.constant(worst, dtype))
        is_number = Lanes(Compare(lanes.value, lanes.value, "EQ"), lanes.dims, lanes.lower)
        lanes = Lanes.elementwise(Select, is_number, lanes, neutral, box=state.box)
    words = view(state, memory, dtype)
    nothing = Constant.of(worst, dtype, words.shape)
    best = scatter_into(state, memory, offset, dtype, nothing, lanes, combiner, name)
    takes: Value = Compare(best, words, kept.direction)
    if kept.is_negated:
        false = Constant.of(False, "i1", words.shape)
        reached = scatter_into(state, memory, offset, dtype, false, Lanes(emission.constant(True, "i1")), Or, name)
        takes = And(Not(takes), reached)
    put_view(memory, Select(takes, best, words))


# -- the same for all lanes -------------------------------------------------------------------------------------------


def _is_same_for_all(state: RaisingState, op: AtomicUpdate) -> bool:
    """Whether all lanes update by the same function of the old value alone."""
    body = op.body.block
    for inner in body:
        for operand in inner.operands:
            if _is_inside(operand, body):
                continue
            item = state.lookup(operand)
            if isinstance(item, Accumulation | AccumulationTest) or dimensions_of_item(item):
                return False
    return True


def _repeat_by_count(state: RaisingState, op: AtomicUpdate, memory: Memory, offset: Index) -> None:
    """Update each place as often as lanes come to it, all places at once, until nothing changes any more."""
    dtype = op.dtype
    words = view(state, memory, dtype)
    zeros = Constant.of(0, "i64", words.shape)
    one = Lanes(emission.constant(1, "i64"))
    counts = scatter_into(state, memory, offset, dtype, zeros, one, Add, f"update {number_of(op)}")
    place = Dimension("place", words.shape[0], 0)
    block = Block([words.type, emission.constant(0, "i64").type, emission.constant(True, "i1").type])
    old, done, _ = block.arguments
    with state.inside(block), state.within(Domain((place,), EVERYWHERE, TRUE)):
        item = _new_item(state, op, from_lanes(Lanes(old, (place,))))
        new = state.lanes(item, dtype).expand((place,), EVERYWHERE)
        is_due = Compare(counts, emission.broadcast(done, words.shape, ()), "GT")
        new = Select(is_due, new, old)
        bits = f"i{8 * words.tensor.numpy_dtype.itemsize}"
        differs = Compare(BitcastConvert(new, bits), BitcastConvert(old, bits), "NE")
        goes_on = reduce_with(Or, differs, (0,))
        following = [new, Add(done, Constant.of(1, "i64")), goes_on]
    captured = close_over(block)
    with Builder(block):
        Return((*following, *block.arguments[3:]))
    initial = (words, emission.constant(0, "i64"), emission.constant(True, "i1"), *captured)
    test = Block([value.type for value in initial])
    with Builder(test):
        Return((test.arguments[2],))
    loop = While(Region(test), Region(block), initial)
    put_view(memory, loop.results[0])
