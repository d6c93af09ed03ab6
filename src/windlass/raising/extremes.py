"""Loops that keep the least or greatest of what they see, and what comes with it.

Programs write them as comparisons (`if (x > most) { most = x; place = k; }`), with NaN left out because comparisons
with it are false, or with `fmin` and `fmax`, which give the other number for NaN.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from windlass.affine.index import Index
from windlass.affine.predicate import DataCondition, Predicate
from windlass.ops.combiners import EXTREMES, extreme_kept
from windlass.ops.comparison import MIRRORED, OPPOSITE, Compare
from windlass.raising.items import (
    KEEPS_NUMBERS,
    LEAVES_NAN,
    PENDING,
    AccumulatedTerm,
    Accumulation,
    AccumulationTest,
    Item,
    is_float,
)
from windlass.raising.lanes import Lanes, lanes_of

if TYPE_CHECKING:
    from windlass.raising.state import RaisingState


def make_test(state: RaisingState, op: Compare, items: list[Item]) -> AccumulationTest:
    """A comparison with an accumulated value, or the question whether it is NaN.

    Raises Obstacle for comparisons that no reduction makes.
    """
    left, right = items
    direction = op.direction
    if isinstance(left, Accumulation) and left is right and direction == "NE":
        return AccumulationTest("NAN", left, left)
    if isinstance(left, Accumulation) and not isinstance(right, Accumulation):
        left, right = right, left
        direction = MIRRORED[direction]
    if not isinstance(right, Accumulation) or isinstance(left, Accumulation | AccumulationTest):
        raise state.obstacle("two accumulated values are compared")
    if direction in ("EQ", "NE"):
        raise state.obstacle("an accumulated value is compared for equality")
    return AccumulationTest(direction, left, right)


def select_by_test(state: RaisingState, test: AccumulationTest, on_true: Item, on_false: Item) -> Item:
    """What a loop keeps by a comparison with what it kept before.

    Raises Obstacle where that is neither the extreme itself nor something that comes with it.
    """
    if test.direction == "NAN":
        return _select_by_nan(state, test.accumulation, on_true, on_false)
    accumulation, direction = test.accumulation, test.direction
    dtype = accumulation.root.dtype
    state.check_depth(accumulation)
    if on_true is accumulation and is_same(on_false, test.item) and not is_float(dtype):
        direction = OPPOSITE[direction]
        on_true, on_false = on_false, on_true
    if on_false is accumulation and is_same(on_true, test.item):
        combiner = extreme_kept(direction)
        nan = LEAVES_NAN if is_float(dtype) else ""
        if accumulation.terms and (accumulation.combiner is not combiner or accumulation.nan != nan):
            raise state.obstacle("a value is accumulated by several different operations")
        terms = (*accumulation.terms, AccumulatedTerm(test.item, state.domain))
        return Accumulation(accumulation.root, combiner, terms, nan)
    if isinstance(on_false, Accumulation) and not on_false.terms and not isinstance(on_true, Accumulation):
        state.check_depth(on_false)
        if accumulation.terms:
            raise state.obstacle("what is kept with a minimum or maximum depends on the order")
        if direction in ("LE", "GE") and is_float(dtype):
            raise state.obstacle("the last of several equal extremes is kept")
        term = AccumulatedTerm(on_true, state.domain)
        return Accumulation(
            on_false.root, None, (term,), leader=accumulation.root, direction=direction, tested=test.item
        )
    raise state.obstacle("what is kept with a minimum or maximum depends on the order")


def _select_by_nan(state: RaisingState, before: Accumulation, on_true: Item, on_false: Item) -> Item:
    """`isnan(least) ? x : min(least, x)`, half of what `fmin(least, x)` does."""
    if (
        isinstance(on_false, Accumulation)
        and on_false.root is before.root
        and on_false.combiner in EXTREMES
        and on_false.nan == ""
        and len(on_false.terms) == len(before.terms) + 1
        and is_same(on_true, on_false.terms[-1].item)
        and (not before.terms or before.nan == KEEPS_NUMBERS)
    ):
        last = on_false.terms[-1]
        is_complete = _leaves_out_nan(last, on_true)
        if is_complete or last.domain == state.domain:
            terms = (*before.terms, AccumulatedTerm(on_true, state.domain))
            return Accumulation(before.root, on_false.combiner, terms, KEEPS_NUMBERS if is_complete else PENDING)
    raise state.obstacle("what is kept depends on whether an accumulated value is NaN")


def complete_pending(state: RaisingState, condition: Predicate, on_true: Item, on_false: Item) -> Accumulation | None:
    """`isnan(x) ? least : ...`, the other half of `fmin(least, x)`."""
    if (
        isinstance(on_true, Accumulation)
        and isinstance(on_false, Accumulation)
        and on_false.nan == PENDING
        and _asks_for_nan(condition, on_false.terms[-1].item)
        and len(on_true.terms) + 1 == len(on_false.terms)
        and on_true.root is on_false.root
    ):
        return Accumulation(on_false.root, on_false.combiner, on_false.terms, KEEPS_NUMBERS)
    return None


def _asks_for_nan(condition: Predicate, item: Item) -> bool:
    """Whether a condition says that the item is NaN."""
    if not isinstance(condition, DataCondition) or not isinstance(item, Lanes):
        return False
    test = lanes_of(condition).value
    if not isinstance(test, Compare) or test.lhs is not item.value or test.rhs is not item.value:
        return False
    return test.direction == ("EQ" if condition.is_negated else "NE")


def _leaves_out_nan(term: AccumulatedTerm, item: Item) -> bool:
    """Whether a term counts only where it is a number."""
    return any(_asks_for_nan(~part, item) for part in term.domain.mask.conjuncts())


def is_same(one: Item | None, other: Item | None) -> bool:
    """Whether two items are the same value."""
    if isinstance(one, Lanes) and isinstance(other, Lanes):
        return one.value is other.value and one.dims == other.dims and one.lower == other.lower
    if isinstance(one, Index) and isinstance(other, Index):
        return one == other
    return one is other
