"""Lanes that write to the same place: which of them wins, and how many are combined."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from windlass.affine.dimensions import Box, Dimension, in_order
from windlass.affine.predicate import TRUE, Predicate, conjunction
from windlass.ir import Op
from windlass.ops.combiners import IDEMPOTENT, Combiner, neutral_of
from windlass.ops.elementwise import (
    Or,
    Select,
)
from windlass.ops.reduction import reduce_with
from windlass.raising import emission
from windlass.raising.lanes import Lanes, condition_of
from windlass.raising.materialize import materialize_condition


@dataclass(frozen=True)
class RacingWriters:
    """Lanes that write: their values, the box, and which of them are active.

    `has_idle` says that some, though the mask holds, may be inactive: they combine an identity, at any place.
    """

    value: Lanes
    box: Box
    mask: Predicate
    has_idle: bool = False


def settle(writers: RacingWriters, dims: Iterable[Dimension]) -> RacingWriters | None:
    """One active writer for each place, where writers that differ only in `dims` share one: the last of them.

    Afterwards neither value nor mask depends on those. None where which lane is active and what it writes both depend
    on one of them.
    """
    value, box, mask = writers.value, writers.box, writers.mask
    for dimension in in_order(dims):
        if dimension not in mask.dimensions:
            upper = box.bounds(dimension)[1]
            box = box.restrict(dimension, upper - 1, upper)
            value = _without_points(value.at(box), (dimension,))
        elif dimension in value.dims:
            return None
    deciding = [each for each in dims if each in mask.dimensions]
    return replace(writers, value=value, box=box, mask=any_over(mask, deciding, box) if deciding else mask)


def _without_points(lanes: Lanes, dims: Sequence[Dimension]) -> Lanes:
    """Without these dimensions, along which there is one lane only."""
    kept = [place for place, dimension in enumerate(lanes.dims) if dimension not in dims]
    shape = [lanes.value.shape[place] for place in kept]
    return Lanes(
        emission.reshape(lanes.value, shape),
        [lanes.dims[place] for place in kept],
        [lanes.lower[place] for place in kept],
    )


def any_over(mask: Predicate, dims: Sequence[Dimension], box: Box) -> Predicate:
    """Whether the mask holds for some value of the dimensions."""
    apart = [each for each in mask.conjuncts() if each.dimensions.isdisjoint(dims)]
    joint = conjunction(each for each in mask.conjuncts() if not each.dimensions.isdisjoint(dims))
    lanes = materialize_condition(joint, box)
    return conjunction([*apart, condition_of(_fold(lanes, dims, Or, False))])


def combine_over(writers: RacingWriters, dims: Sequence[Dimension], combiner: Combiner) -> RacingWriters:
    """Values combined over `dims`, so that each place has one writer.

    The order in which values are combined is not defined. Inactive lanes count as the combiner's identity.
    """
    value, box, mask = writers.value, writers.box, writers.mask
    dtype = value.dtype
    identity = neutral_of(combiner, dtype)
    over = [each for each in in_order(dims) if each in value.dims or each in mask.dimensions]
    if combiner not in IDEMPOTENT:
        over = list(in_order(dims))
    over = [each for each in over if box.extent(each) > 1 or each in value.dims or each in mask.dimensions]
    apart = [each for each in mask.conjuncts() if each.dimensions.isdisjoint(over)]
    joint = conjunction(each for each in mask.conjuncts() if not each.dimensions.isdisjoint(over))
    lanes = value.at(box)
    if not joint.is_true:
        neutral = Lanes(emission.constant(identity, dtype))
        lanes = Lanes.elementwise(Select, materialize_condition(joint, box), lanes, neutral, box=box)
    order = in_order((*lanes.dims, *over))
    lanes = Lanes.over(lanes.expand(order, box), order, box)
    has_idle = writers.has_idle or not joint.is_true
    return RacingWriters(_fold(lanes, over, combiner, identity), box, conjunction(apart) if apart else TRUE, has_idle)


def _fold(lanes: Lanes, dims: Sequence[Dimension], combiner: type[Op], identity: Any) -> Lanes:
    axes = [lanes.dims.index(dimension) for dimension in dims if dimension in lanes.dims]
    if all(lanes.value.shape[axis] == 1 for axis in axes):
        return _without_points(lanes, dims)
    kept = [place for place in range(len(lanes.dims)) if place not in axes]

    value = reduce_with(combiner, lanes.value, tuple(axes), identity)
    return Lanes(value, [lanes.dims[place] for place in kept], [lanes.lower[place] for place in kept])
