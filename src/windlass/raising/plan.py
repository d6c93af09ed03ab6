"""How an access is made: regroupings of dimensions, a layout of memory, short dimensions gone through one by one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from windlass.affine.dimensions import Box, Dimension, in_order
from windlass.affine.index import Index
from windlass.affine.layout import AccessingLanes, Layout, Segments, Take, find_layout
from windlass.affine.predicate import Predicate, conjunction
from windlass.raising.regrouping import (
    FEWEST_BLOCKS,
    Regrouping,
    find_regroupings,
    regrouped_index,
    regrouped_predicate,
)

MOST_STEPS = 4
"""An access is regrouped or unrolled no more often than this."""
MOST_TRIALS = 4
"""How many regroupings are tried at each step."""
MOST_UNROLLED = 16
"""How many accesses an access over short dimensions is taken apart into."""


@dataclass(frozen=True)
class AccessPlan:
    """First `steps`, each with the box before it. Then one access by `layout`, or, if there are `parts`, one for each.

    `box` is the one after all steps. The parts are for the values, in order, of the dimension `unrolled`; None stands
    for a part in which no lane is active.
    """

    steps: tuple[tuple[Regrouping, Box], ...]
    layout: Layout
    box: Box
    cost: int
    unrolled: Dimension | None = None
    parts: tuple[AccessPlan | None, ...] = ()

    @property
    def is_whole(self) -> bool:
        """Whether no lane needs an index tensor."""
        return all(part is None or part.is_whole for part in self.parts) if self.parts else self.layout.is_whole

    @property
    def count(self) -> int:
        """How many accesses are made."""
        return sum(part.count for part in self.parts if part is not None) if self.parts else 1

    @property
    def is_simple(self) -> bool:
        """Whether there is nothing to be gained: no index tensors, no more pieces than a clamp at both ends has."""
        axes = () if self.parts else self.layout.axes
        many = any(isinstance(axis.way, Segments) and len(axis.way.pieces) >= FEWEST_BLOCKS for axis in axes)
        return self.is_whole and not self.parts and not many


def make_plan(index: Index, size: int, access: AccessingLanes, depth: int = MOST_STEPS) -> AccessPlan:
    """How to access flat memory of `size` words; the index is simplified over the access's box already."""
    layout = find_layout(index, size, access)
    best = AccessPlan((), layout, access.box, layout.cost(size))
    if depth == 0 or best.is_simple:
        return best
    for regrouping in find_regroupings(index, access.box)[:MOST_TRIALS]:
        box = access.box.without(regrouping.removed)
        new_index = regrouped_index(index, regrouping, access.box).simplify(box)
        bounds = regrouping.bounds(access.box)
        mask = (regrouped_predicate(access.mask, regrouping, access.box) & bounds).simplify(box)
        new_access = replace(access, box=box, mask=mask, all_active=access.all_active and bounds.is_true)
        plan = make_plan(new_index, size, new_access, depth - 1)
        if plan.cost < best.cost:
            best = replace(plan, steps=((regrouping, access.box), *plan.steps))
            if plan.is_simple:
                break
    if not best.is_whole and not index.has_data:
        for dimension in _short_dimensions(layout, access.box):
            plan = _unroll(index, size, access, dimension, layout, depth)
            if plan is not None and plan.cost < best.cost:
                return plan
    return best


def _short_dimensions(layout: Layout, box: Box) -> Iterable[Dimension]:
    """Dimensions of axes without a simple way that have few lanes, the shortest first."""
    dims = in_order(each for axis in layout.axes if isinstance(axis.way, Take) for each in axis.dims)
    return sorted((each for each in dims if box.extent(each) <= MOST_UNROLLED), key=box.extent)


def _unroll(
    index: Index, size: int, access: AccessingLanes, dimension: Dimension, layout: Layout, depth: int
) -> AccessPlan | None:
    """One access for each value of the dimension, if none of them needs an index tensor."""
    parts: list[AccessPlan | None] = []
    count = cost = 0
    for value in range(*access.box.bounds(dimension)):
        box, mask = access.mask.split(access.box.restrict(dimension, value, value + 1))
        if box.is_empty or mask.is_false:
            parts.append(None)
            continue
        part = make_plan(index.simplify(box), size, replace(access, box=box, mask=mask), depth - 1)
        count += part.count
        cost += part.cost + 1
        if not part.is_whole or count > MOST_UNROLLED:
            return None
        parts.append(part)
    return AccessPlan((), layout, access.box, cost, dimension, tuple(parts))


def facts_of(mask: Predicate) -> Predicate:
    """What the mask says without run-time data: it holds at all active lanes, and may hold at others."""
    return conjunction(each for each in mask.conjuncts() if not each.has_data)
