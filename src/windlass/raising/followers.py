"""What a loop keeps together with an extreme: the place of the least, what stood there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from windlass.affine.dimensions import Dimension, in_order
from windlass.affine.index import Index
from windlass.ir import Value, tensor_type
from windlass.ops.comparison import Compare
from windlass.ops.creation import Constant
from windlass.ops.elementwise import And, Or, Select
from windlass.ops.extremes import Maximum, Minimum
from windlass.ops.reduction import Reduce
from windlass.ops.regions import identity_of, make_region
from windlass.raising import emission
from windlass.raising.accumulations import LEAVES_NAN, Accumulation, AccumulationTest
from windlass.raising.extremes import is_same, select_by_test
from windlass.raising.integers import is_bare
from windlass.raising.items import Item, from_lanes, is_float
from windlass.raising.lanes import Lanes
from windlass.raising.materialize import dtype_of_places
from windlass.raising.reductions import relevant_mask, without_axis

if TYPE_CHECKING:
    from windlass.raising.state import RaisingState


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
