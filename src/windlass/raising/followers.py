"""What a loop keeps together with an extreme: the place of the least, what stood there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from windlass.affine.dimensions import Dimension, in_order
from windlass.affine.index import Index
from windlass.facts.integers import is_bare
from windlass.ir import Value, tensor_type
from windlass.ops.combiners import Combiner, extreme_kept, identity_of
from windlass.ops.comparison import Compare
from windlass.ops.creation import Constant
from windlass.ops.elementwise import And, Or, Select
from windlass.ops.extremes import Minimum
from windlass.ops.reduction import Reduce
from windlass.ops.regions import make_region
from windlass.raising import emission
from windlass.raising.extremes import is_same, select_by_test
from windlass.raising.items import LEAVES_NAN, Accumulation, AccumulationTest, Item, from_lanes, is_float
from windlass.raising.lanes import Lanes
from windlass.raising.materialize import dtype_of_places
from windlass.raising.reductions import relevant_mask, without_axis

if TYPE_CHECKING:
    from windlass.raising.state import RaisingState


Follower: TypeAlias = "tuple[Accumulation, Item]"
"""What comes with the extreme, and what it was before the loop."""


@dataclass(frozen=True)
class _Contest:
    """Which of several iterations wins: by a comparison, and of equals the first or the last."""

    direction: str
    number: str
    """The dtype of iterations' numbers."""
    dtypes: tuple[str, ...]
    """Those of what is folded: the extreme, the number of its iteration, and what comes with it."""

    @property
    def extreme(self) -> Combiner:
        return extreme_kept(self.direction)

    @property
    def keeps_first(self) -> bool:
        return self.direction in ("LT", "GT")

    @property
    def nowhere(self) -> int:
        """A number that loses against that of any iteration."""
        return 2 ** (31 if self.number == "i32" else 63) - 1 if self.keeps_first else -1

    @property
    def worst(self) -> Constant:
        """An extreme that loses against any other."""
        return Constant.of(identity_of(self.extreme, self.dtypes[0]), self.dtypes[0])

    def better(self, *values: Value) -> tuple[Value, ...]:
        """What is kept of two iterations: the values of one, then those of the other."""
        kept, found = values[: len(self.dtypes)], values[len(self.dtypes) :]
        is_better = Compare(found[0], kept[0], "LT" if self.extreme is Minimum else "GT")
        is_equal = Compare(found[0], kept[0], "EQ")
        comes_first = Compare(found[1], kept[1], "LT" if self.keeps_first else "GT")
        takes = Or(is_better, And(is_equal, comes_first))
        return tuple(Select(takes, two, one) for one, two in zip(kept, found, strict=True))


def finish_led(
    state: RaisingState,
    leader: Accumulation,
    leader_initial: Item,
    followers: list[Follower],
    dimension: Dimension,
) -> list[Item]:
    """An extreme and what comes with it, after the loop: the leader first, then each follower.

    One reduction folds all of them, with the iteration to tell which of several equal ones is kept.

    Raises Obstacle where they do not belong to one comparison.
    """
    _check_contest(state, leader, followers)
    number = dtype_of_places(state.box.bounds(dimension)[1])
    dtypes = (leader.root.dtype, number, *(follower.root.dtype for follower, _ in followers))
    contest = _Contest(followers[0][0].direction, number, dtypes)
    totals = _fold(state, contest, leader, followers, dimension)
    box = leader.terms[0].domain.box
    if box.without([dimension]) != state.box.without([dimension]):
        raise state.obstacle("an extreme is looked for by some lanes only")
    if isinstance(leader_initial, Accumulation):
        return _over_two_loops(state, contest, totals, leader_initial, followers)
    return _against_before(state, contest, totals, leader_initial, followers)


def _check_contest(state: RaisingState, leader: Accumulation, followers: list[Follower]) -> None:
    """Raise Obstacle unless all belong to one comparison."""
    if len(leader.terms) != 1 or any(follower.terms[0].domain != leader.terms[0].domain for follower, _ in followers):
        raise state.obstacle("several values compete for one extreme")
    direction = followers[0][0].direction
    if (
        any(follower.direction != direction for follower, _ in followers)
        or not all(is_same(follower.tested, leader.terms[0].item) for follower, _ in followers)
        or leader.combiner is not extreme_kept(direction)
        or leader.nan != (LEAVES_NAN if is_float(leader.root.dtype) else "")
    ):
        raise state.obstacle("what is kept with a minimum or maximum depends on the order")


def _fold(
    state: RaisingState, contest: _Contest, leader: Accumulation, followers: list[Follower], dimension: Dimension
) -> list[Lanes]:
    """What the iterations alone give: the extreme, the number of its iteration, and what comes with it."""
    domain = leader.terms[0].domain
    with state.within(domain):
        box = state.box
        value = state.lanes(leader.terms[0].item, contest.dtypes[0])
        place = state.lanes(Index.of(dimension), contest.number)
        counts = [state.condition_lanes(relevant_mask(domain, dimension, state))]
        if is_float(contest.dtypes[0]):
            counts.append(Lanes(Compare(value.value, value.value, "EQ"), value.dims, value.lower))
        active = Lanes.elementwise(And, *counts, box=box) if len(counts) == 2 else counts[0]
        neutral = [Lanes(contest.worst), Lanes(emission.constant(contest.nowhere, contest.number))]
        lanes = [
            Lanes.elementwise(Select, active, one, other, box=box)
            for one, other in zip((value, place), neutral, strict=True)
        ]
        lanes += [
            state.lanes(follower.terms[0].item, dtype)
            for (follower, _), dtype in zip(followers, contest.dtypes[2:], strict=True)
        ]
        dims = in_order([dimension, *(each for lane in lanes for each in lane.dims)])
        wide = [Lanes.over(lane.expand(dims, box), dims, box) for lane in lanes]
        inits = [each.value for each in neutral] + [Constant.of(0, dtype) for dtype in contest.dtypes[2:]]
        scalars = [tensor_type((), dtype) for dtype in contest.dtypes]
        region = make_region([*scalars, *scalars], contest.better)
        reduction = Reduce(tuple(lane.value for lane in wide), tuple(inits), (dims.index(dimension),), region)
        return [without_axis(result, wide[0], dimension) for result in reduction.results]


def _over_two_loops(
    state: RaisingState, contest: _Contest, totals: list[Lanes], leader: Accumulation, followers: list[Follower]
) -> list[Item]:
    """What the loop around this one keeps, which looks for the extreme of the extremes."""
    extreme = from_lanes(totals[0])
    test = AccumulationTest(contest.direction, extreme, leader)
    results = [select_by_test(state, test, extreme, leader)]
    if not contest.keeps_first or not is_bare_item(extreme):
        raise state.obstacle("an extreme over two loops is looked for")
    results += [
        select_by_test(state, test, from_lanes(total), initial)
        for total, (_, initial) in zip(totals[2:], followers, strict=True)
    ]
    return results


def _against_before(
    state: RaisingState, contest: _Contest, totals: list[Lanes], leader_initial: Item, followers: list[Follower]
) -> list[Item]:
    """What is kept of the iterations' and of what there was before the loop."""
    place = totals[1]
    before = state.lanes(leader_initial, contest.dtypes[0])
    is_found = Compare(place.value, Constant.of(contest.nowhere, contest.number, place.value.shape), "NE")
    found = Lanes(is_found, place.dims, place.lower)
    beats = Lanes.elementwise(lambda x, y: Compare(x, y, contest.direction), totals[0], before, box=state.box)
    takes = Lanes.elementwise(And, found, beats, box=state.box)
    initials = [leader_initial, *(initial for _, initial in followers)]
    dtypes = [contest.dtypes[0], *contest.dtypes[2:]]
    return [
        from_lanes(Lanes.elementwise(Select, takes, total, state.lanes(initial, dtype), box=state.box))
        for total, initial, dtype in zip([totals[0], *totals[2:]], initials, dtypes, strict=True)
    ]


def is_bare_item(item: Item) -> bool:
    """Whether an item is just what was computed."""
    return isinstance(item, Lanes) or (isinstance(item, Index) and is_bare(item))
