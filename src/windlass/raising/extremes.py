"""Loops that keep the least or greatest of what they see, and what comes with it.

Programs write them as comparisons (`if (x > most) { most = x; place = k; }`), with NaN left out because comparisons
with it are false, or with `fmin` and `fmax`, which give the other number for NaN.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from windlass.affine.dimensions import Dimension, in_order
from windlass.affine.index import Index
from windlass.affine.predicate import Condition, Predicate
from windlass.ir import Value, tensor_type
from windlass.ops.comparison import Compare
from windlass.ops.creation import Constant
from windlass.ops.elementwise import And, Or, Select
from windlass.ops.extremes import Maximum, Minimum
from windlass.ops.reduction import Reduce
from windlass.ops.regions import identity_of, make_region
from windlass.raising import emission
from windlass.raising.integers import is_bare
from windlass.raising.items import Item, from_lanes, is_float
from windlass.raising.lanes import Lanes, lanes_of
from windlass.raising.materialize import dtype_of_places
from windlass.raising.reductions import (
    KEEPS_NUMBERS,
    LEAVES_NAN,
    PENDING,
    Accumulation,
    AccumulationTest,
    Term,
    check_depth,
    relevant_mask,
    without_axis,
)

if TYPE_CHECKING:
    from windlass.raising.state import RaisingState

TURNED_ROUND = {"LT": "GT", "LE": "GE", "GT": "LT", "GE": "LE"}


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
        direction = TURNED_ROUND.get(direction, "")
    if not isinstance(right, Accumulation) or isinstance(left, Accumulation | AccumulationTest):
        raise state.obstacle("two accumulated values are compared")
    if direction not in TURNED_ROUND:
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
    check_depth(state, accumulation)
    if on_true is accumulation and is_same(on_false, test.item) and not is_float(dtype):
        direction = {"LT": "GE", "LE": "GT", "GT": "LE", "GE": "LT"}[direction]
        on_true, on_false = on_false, on_true
    if on_false is accumulation and is_same(on_true, test.item):
        combiner = Minimum if direction in ("LT", "LE") else Maximum
        nan = LEAVES_NAN if is_float(dtype) else ""
        if accumulation.terms and (accumulation.combiner is not combiner or accumulation.nan != nan):
            raise state.obstacle("a value is accumulated by several different operations")
        terms = (*accumulation.terms, Term(test.item, state.domain))
        return Accumulation(accumulation.root, combiner, terms, nan)
    if isinstance(on_false, Accumulation) and not on_false.terms and not isinstance(on_true, Accumulation):
        check_depth(state, on_false)
        if accumulation.terms:
            raise state.obstacle("what is kept with a minimum or maximum depends on the order")
        if direction in ("LE", "GE") and is_float(dtype):
            raise state.obstacle("the last of several equal extremes is kept")
        term = Term(on_true, state.domain)
        return Accumulation(
            on_false.root, None, (term,), leader=accumulation.root, direction=direction, tested=test.item
        )
    raise state.obstacle("what is kept with a minimum or maximum depends on the order")


def _select_by_nan(state: RaisingState, before: Accumulation, on_true: Item, on_false: Item) -> Item:
    """`isnan(least) ? x : min(least, x)`, half of what `fmin(least, x)` does."""
    if (
        isinstance(on_false, Accumulation)
        and on_false.root is before.root
        and on_false.combiner in (Minimum, Maximum)
        and on_false.nan == ""
        and len(on_false.terms) == len(before.terms) + 1
        and is_same(on_true, on_false.terms[-1].item)
        and (not before.terms or before.nan == KEEPS_NUMBERS)
    ):
        last = on_false.terms[-1]
        is_complete = _leaves_out_nan(last, on_true)
        if is_complete or last.domain == state.domain:
            terms = (*before.terms, Term(on_true, state.domain))
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
    if not isinstance(condition, Condition) or not isinstance(item, Lanes):
        return False
    test = lanes_of(condition).value
    if not isinstance(test, Compare) or test.lhs is not item.value or test.rhs is not item.value:
        return False
    return test.direction == ("EQ" if condition.is_negated else "NE")


def _leaves_out_nan(term: Term, item: Item) -> bool:
    """Whether a term counts only where it is a number."""
    return any(_asks_for_nan(~part, item) for part in term.domain.mask.conjuncts())


def is_same(one: Item | None, other: Item | None) -> bool:
    """Whether two items are the same value."""
    if isinstance(one, Lanes) and isinstance(other, Lanes):
        return one.value is other.value and one.dims == other.dims and one.lower == other.lower
    if isinstance(one, Index) and isinstance(other, Index):
        return one == other
    return one is other


# -- what comes with an extreme ---------------------------------------------------------------------------------------


def finish_led(
    state: RaisingState,
    leader: Accumulation,
    leader_initial: Item,
    followers: list[tuple[Accumulation, Item]],
    dimension: Dimension,
) -> list[Item]:
    """An extreme and what comes with it, after the loop: the leader first, then each follower.

    One reduction folds all of them, with the iteration to tell which of several equal ones is kept.

    Raises Obstacle where they do not belong to one comparison.
    """
    if len(leader.terms) != 1 or any(follower.terms[0].domain != leader.terms[0].domain for follower, _ in followers):
        raise state.obstacle("several values compete for one extreme")
    direction = followers[0][0].direction
    if (
        any(follower.direction != direction for follower, _ in followers)
        or not all(is_same(follower.tested, leader.terms[0].item) for follower, _ in followers)
        or leader.combiner is not (Minimum if direction in ("LT", "LE") else Maximum)
        or leader.nan != (LEAVES_NAN if is_float(leader.root.dtype) else "")
    ):
        raise state.obstacle("what is kept with a minimum or maximum depends on the order")
    domain = leader.terms[0].domain
    is_least = direction in ("LT", "LE")
    keeps_first = direction in ("LT", "GT")
    number = dtype_of_places(state.box.bounds(dimension)[1])
    dtypes = [leader.root.dtype, number, *(follower.root.dtype for follower, _ in followers)]
    nowhere = 2 ** (31 if number == "i32" else 63) - 1 if keeps_first else -1
    with state.within(domain):
        box = state.box
        value = state.lanes(leader.terms[0].item, dtypes[0])
        place = state.lanes(Index.of(dimension), number)
        counts = [state.condition_lanes(relevant_mask(domain, dimension, state))]
        if is_float(dtypes[0]):
            counts.append(Lanes(Compare(value.value, value.value, "EQ"), value.dims, value.lower))
        active = Lanes.elementwise(And, *counts, box=box) if len(counts) == 2 else counts[0]
        worst = Constant.of(identity_of(Minimum if is_least else Maximum, dtypes[0]), dtypes[0])
        neutral = [Lanes(worst), Lanes(emission.constant(nowhere, number))]
        lanes = [
            Lanes.elementwise(Select, active, one, other, box=box)
            for one, other in zip((value, place), neutral, strict=True)
        ]
        lanes += [
            state.lanes(follower.terms[0].item, dtype)
            for (follower, _), dtype in zip(followers, dtypes[2:], strict=True)
        ]
        dims = in_order([dimension, *(each for lane in lanes for each in lane.dims)])
        wide = [Lanes.over(lane.expand(dims, box), dims, box) for lane in lanes]
        axis = dims.index(dimension)
        inits = [worst, neutral[1].value, *(Constant.of(0, dtype) for dtype in dtypes[2:])]

        def better(*values: Value) -> tuple[Value, ...]:
            kept, found = values[: len(dtypes)], values[len(dtypes) :]
            is_better = Compare(found[0], kept[0], "LT" if is_least else "GT")
            is_equal = Compare(found[0], kept[0], "EQ")
            comes_first = Compare(found[1], kept[1], "LT" if keeps_first else "GT")
            takes = Or(is_better, And(is_equal, comes_first))
            return tuple(Select(takes, two, one) for one, two in zip(kept, found, strict=True))

        scalars = [tensor_type((), dtype) for dtype in dtypes]
        reduction = Reduce(
            tuple(lane.value for lane in wide), tuple(inits), (axis,), make_region([*scalars, *scalars], better)
        )
        totals = [without_axis(result, wide[0], dimension) for result in reduction.results]
    if domain.box.without([dimension]) != state.box.without([dimension]):
        raise state.obstacle("an extreme is looked for by some lanes only")
    extreme = from_lanes(totals[0])
    if isinstance(leader_initial, Accumulation):
        test = AccumulationTest(direction, extreme, leader_initial)
        results = [select_by_test(state, test, extreme, leader_initial)]
        if not keeps_first or not is_bare_item(extreme):
            raise state.obstacle("an extreme over two loops is looked for")
        results += [
            select_by_test(state, test, from_lanes(total), initial)
            for total, (_, initial) in zip(totals[2:], followers, strict=True)
        ]
        return results
    before = state.lanes(leader_initial, dtypes[0])
    is_found = Compare(totals[1].value, Constant.of(nowhere, number, totals[1].value.shape), "NE")
    found = Lanes(is_found, totals[1].dims, totals[1].lower)
    beats = Lanes.elementwise(lambda x, y: Compare(x, y, direction), totals[0], before, box=state.box)
    takes = Lanes.elementwise(And, found, beats, box=state.box)
    initials = [leader_initial, *(initial for _, initial in followers)]
    return [
        from_lanes(Lanes.elementwise(Select, takes, total, state.lanes(initial, dtype), box=state.box))
        for total, initial, dtype in zip([totals[0], *totals[2:]], initials, [dtypes[0], *dtypes[2:]], strict=True)
    ]


def is_bare_item(item: Item) -> bool:
    """Whether an item is just what was computed."""
    return isinstance(item, Lanes) or (isinstance(item, Index) and is_bare(item))
