"""Whether the thread that stands some places further in the block takes part in what the lanes of a domain do."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from windlass.affine.dimensions import Box, Dimension
from windlass.affine.domain import Domain
from windlass.affine.index import Index
from windlass.affine.predicate import Predicate, conjunction

if TYPE_CHECKING:
    from windlass.raising.state import RaisingState

WARP = 32


def takes_part(state: RaisingState, domain: Domain, distance: Index) -> Predicate:
    """Where, in `domain`, the thread `distance` places further in one's warp is one of the state's own active lanes.

    Conditions known at run time only are taken to hold for it.
    """
    count = math.prod(state.specification.block)
    number = state.thread_number + distance
    conditions = [Predicate.compare("LT", number, Index(count))] if count % WARP else []
    moved = _moved(state, number, distance, domain.box)
    for dimension, index in moved.items():
        lower, upper = state.box.bounds(dimension)
        if upper - lower < dimension.size:
            conditions += [Predicate.compare("GE", index, Index(lower)), Predicate.compare("LT", index, Index(upper))]
    conditions += [
        each.substitute(moved, domain.box)
        for each in state.domain.mask.conjuncts()
        if not each.has_data and not each.dimensions.isdisjoint(moved)
    ]
    return conjunction(each.simplify(domain.box) for each in conditions).simplify(domain.box)


def _moved(state: RaisingState, number: Index, distance: Index, box: Box) -> dict[Dimension, Index]:
    """What each dimension along which threads of a block differ is for the thread with another number.

    Axes that were divided into several dimensions are left out.
    """
    block = state.specification.block
    is_line = sum(extent > 1 for extent in block) == 1
    moved: dict[Dimension, Index] = {}
    rest = number
    for extent, own in zip(block, state.thread_ids, strict=True):
        if extent > 1 and len(own.dimensions) == 1:
            (dimension,) = own.dimensions
            step = distance if is_line else rest.modulo(extent, box) - own
            moved[dimension] = (Index.of(dimension) + step).simplify(box)
        rest = rest.floor_divide(extent, box)
    return moved
