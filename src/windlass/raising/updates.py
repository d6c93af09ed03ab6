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
from windlass.ir import Block, Builder, Region, Value
from windlass.loops import AtomicUpdate
from windlass.ops.combiners import Combiner, bits_of, extreme_kept, find_chain, identity_of, name_of
from windlass.ops.comparison import MIRRORED, OPPOSITE, Compare
from windlass.ops.control import While
from windlass.ops.conversion import BitcastConvert
from windlass.ops.creation import Constant
from windlass.ops.elementwise import (
    Add,
    And,
    Negate,
    Not,
    Or,
    Select,
)
from windlass.ops.reduction import reduce_with
from windlass.ops.regions import Return
from windlass.raising import emission
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
from windlass.raising.items import (
    UNDEFINED,
    Accumulation,
    AccumulationTest,
    Item,
    Memory,
    dimensions_of_item,
    from_lanes,
)
from windlass.raising.lanes import Lanes
from windlass.raising.loads_and_stores import read, write
from windlass.raising.operands import buffer_of, index_of
from windlass.raising.while_loops import close_over
from windlass.raising.words import put_view, view

if TYPE_CHECKING:
    from windlass.raising.state import RaisingState


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
    chain = find_chain(new, old, lambda value: _is_inside(value, op.body.block))
    if chain is not None:
        prefix = "f" if chain.dtype.startswith(("f", "bf")) else "u" if chain.dtype.startswith("u") else ""
        for number, value in enumerate((*chain.terms, *chain.subtracted)):
            lanes = as_words(state.lanes(state.lookup(value), value.dtype), chain.dtype)
            if number >= len(chain.terms):
                lanes = Lanes(Negate(lanes.value), lanes.dims, lanes.lower)
            combine_into(state, memory, offset, lanes, chain.combiner, f"{prefix}{name_of(chain.combiner)}")
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


def _is_inside(value: Value, body: Block) -> bool:
    """Whether a value depends on the old one: the body holds nothing else."""
    return getattr(value, "block", None) is body


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
    def extreme(self) -> Combiner:
        """Whether the least value is kept or the greatest."""
        return extreme_kept(OPPOSITE[self.direction] if self.is_negated else self.direction)


def _find_kept(new: Value, old: Value, body: Block) -> _Kept | None:
    choice = bits_of(new)
    if not isinstance(choice, Select):
        return None
    test, holds = choice.pred, True
    while isinstance(test, Not):
        test, holds = test.operand, not holds
    on_true, on_false = bits_of(choice.on_true), bits_of(choice.on_false)
    if on_true is old:
        on_true, on_false, holds = on_false, on_true, not holds
    if on_false is not old or not isinstance(test, Compare) or _is_inside(on_true, body):
        return None
    left, right, direction = test.lhs, test.rhs, test.direction
    if bits_of(left) is old:
        left, right, direction = right, left, MIRRORED[direction]
    if bits_of(right) is not old or bits_of(left) is not on_true or direction in ("EQ", "NE"):
        return None
    return _Kept(on_true, direction, not holds, left.dtype)


def _keep_extreme(state: RaisingState, memory: Memory, offset: Index, kept: _Kept) -> None:
    """Replace each place by the least or greatest of what lanes bring there, if it compares so with what is there.

    Comparisons with NaN are false. Unless the comparison is negated NaN is never taken, and what holds NaN stays so.
    Otherwise NaN is always taken and replaced: let the lanes that bring NaN be the last.
    """
    combiner = kept.extreme
    dtype = kept.dtype
    lanes = as_words(state.lanes(state.lookup(kept.value), kept.value.dtype), dtype)
    if not lanes.value.tensor.is_float:
        combine_into(state, memory, offset, lanes, combiner, f"{dtype[:1].removeprefix('i')}{name_of(combiner)}")
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
