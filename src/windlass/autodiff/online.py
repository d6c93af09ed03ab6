"""Which rounds of a loop to keep while it runs, when nobody knows how many there will be.

Each round is kept as it begins, in place of one that is needed least. What is kept then is as good as if the number of
rounds had been known: with s places, C(s + t, t) rounds are gone back through with no round run more than t times, the
run itself counted. The algorithm is that of Q. Wang, P. Moin and G. Iaccarino, *Minimal repetition dynamic
checkpointing algorithm for unsteady adjoint calculation*, SIAM Journal on Scientific Computing 31 (2009): rounds have
levels, and one before another of higher level can be spared. Where none can, the last is replaced by the round at hand,
one level higher, so that those before it can.
"""

from __future__ import annotations

from typing import NamedTuple

from windlass.autodiff.recording import INDEX, entered, entry
from windlass.autodiff.rounds import LONG, number
from windlass.ir import Value
from windlass.ops import (
    Add,
    And,
    BroadcastInDim,
    Compare,
    Concatenate,
    Constant,
    Iota,
    Not,
    Select,
    Slice,
    Subtract,
    reduce_sum,
)

_HIGHEST = 1 << 30
"""The level of round 0, which is never spared."""
_NOTHING = -1
"""That of a place which holds nothing."""


class Ledger(NamedTuple):
    """Which rounds are kept, in their order: so many, in which slots of a stack, which they are, and their levels.

    Slots that are free follow those that aren't. `height` is `tensor<i32>`, the others have an element for each slot.
    """

    height: Value
    slots: Value
    rounds: Value
    levels: Value


def empty_ledger(slots: int) -> Ledger:
    """One of so many slots in which nothing is kept yet."""
    count = (slots,)
    return Ledger(
        Constant.of(0, INDEX.dtype),
        Iota(count, INDEX.dtype, 0),
        Constant.of(0, LONG.dtype, count),
        Constant.of(_NOTHING, INDEX.dtype, count),
    )


def place_online(ledger: Ledger, round_: Value) -> tuple[Value, Ledger]:
    """The slot for the round at hand, of which the number is `tensor<i64>`; and the ledger with it.

    Rounds are given in their order; there are two slots or more.
    """
    height, slots, rounds, levels = ledger
    shape = slots.shape
    positions = Iota(shape, INDEX.dtype, 0)
    zero, one = Constant.of(0, INDEX.dtype), Constant.of(1, INDEX.dtype)
    last = Subtract(height, one)
    # Levels fall, but before the last whose level was raised as long as there are some to be spared before it.
    rises = Compare(levels, _shifted(levels), "LT")
    spared = reduce_sum(Select(rises, positions, Constant.of(0, INDEX.dtype, shape)), (0,))
    has_spared = Compare(spared, zero, "GT")
    is_full = Compare(height, Constant.of(shape[0], INDEX.dtype), "GE")
    hole = Select(is_full, Select(has_spared, spared, last), height)
    target = Select(is_full, last, height)
    raised = Select(And(is_full, Not(has_spared)), Add(entry(levels, last), one), zero)
    level = Select(Compare(round_, number(0), "EQ"), Constant.of(_HIGHEST, INDEX.dtype), raised)
    slot = entry(slots, hole)
    first, end = (BroadcastInDim(each, shape, ()) for each in (hole, target))
    moves = And(Compare(positions, first, "GE"), Compare(positions, end, "LT"))

    def moved(values: Value, value: Value) -> Value:
        return entered(Select(moves, _shifted(values), values), value, target)

    return slot, Ledger(Add(target, one), moved(slots, slot), moved(rounds, round_), moved(levels, level))


def _shifted(values: Value) -> Value:
    """At each position what the next holds."""
    count = values.shape[0]
    nothing = Constant.of(_NOTHING, values.dtype, (1,))
    return Concatenate((Slice(values, (1,), (count,), (1,)), nothing), 0)
