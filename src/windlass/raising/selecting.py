"""Choices lane by lane as tensors: pads where that says the same as a select, as for `i < n ? x[i] : 0`.

Lanes in their row-major order are a line. A condition that holds on the beginning or the end of it, as guards against
running over the end of an array do, makes the choice a slice and a pad, which need no tensor of conditions.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from windlass.affine.dimensions import Box, Dimension
from windlass.affine.predicate import AtLeastZero, Predicate
from windlass.ir import Value
from windlass.ops.elementwise import Select
from windlass.raising import emission
from windlass.raising.items import Item, from_lanes
from windlass.raising.lanes import Lanes
from windlass.raising.origins import note_guarded

if TYPE_CHECKING:
    from windlass.raising.state import RaisingState


def select_lanes(state: RaisingState, condition: Predicate, on_true: Item, on_false: Item, dtype: str) -> Item:
    """The merge as a tensor select, or as a pad where that says the same."""
    one, other = state.lanes(on_true, dtype), state.lanes(on_false, dtype)
    merged = pad_instead_of_select(condition, one, other, state.box)
    if merged is not None:
        item = from_lanes(merged)
    else:
        lanes = [state.condition_lanes(condition), one, other]
        key = ("select", tuple(map(id, lanes)), state.box)
        if key not in state.memo.results:
            state.memo.results[key] = (lanes, from_lanes(Lanes.elementwise(Select, *lanes, box=state.box)))
        item = state.memo.results[key][1]
    for loaded, filling, guard in ((on_true, other, condition), (on_false, one, ~condition)):
        number = emission.splat_number(filling.value)
        if number is not None:
            note_guarded(state, item, loaded, guard, number)
    return item


def pad_instead_of_select(condition: Predicate, on_true: Lanes, on_false: Lanes, box: Box) -> Lanes | None:
    """`on_true` where the condition holds, the one number that `on_false` is elsewhere (or the other way round).

    None where the condition is not that some lines begin or end with what it holds for, or neither is a number.
    """
    number = emission.splat_number(on_false.value)
    if number is None:
        on_true, on_false, condition = on_false, on_true, ~condition
        number = emission.splat_number(on_false.value)
    if number is None or emission.splat_number(on_true.value) is not None:
        return None
    value = on_true.at(box)
    # Memory is gone through in its own order, in which lines are more often whole.
    tensor, order = value.before_transpose()
    dims = list(order)
    for part in condition.conjuncts():
        padded = _pad_line(part, tensor, dims, number, box)
        if padded is None:
            return None
        tensor, dims = padded
    return Lanes(emission.transpose(tensor, [dims.index(each) for each in value.dims]), value.dims, value.lower)


def _pad_line(
    condition: Predicate, value: Value, dims: list[Dimension], number: Any, box: Box
) -> tuple[Value, list[Dimension]] | None:
    """A tensor over dimensions, in any order, with the number where the condition does not hold, and the order."""
    if not isinstance(condition, AtLeastZero):
        return None
    index = condition.index
    line = [each for each in dims if each in index.dimensions]
    if not line or len(index.terms) != len(line) or len(index.dimensions) != len(line):
        return None
    line.sort(key=lambda each: -abs(index.terms.get(each, 0)))
    steps = [index.terms.get(each, 0) for each in line]
    if not _is_line(line, steps, box):
        return None
    constant = index.constant + sum(step * box.lower(each) for each, step in zip(line, steps, strict=True))
    count = box.count(line)
    step = steps[-1]
    # Place e of the line is active where constant + step*e >= 0.
    if step < 0:
        start, limit = 0, min(max(constant // -step + 1, 0), count)
    else:
        start, limit = min(max(-(constant // step), 0), count), count
    if start == limit:
        return emission.constant(number, value.dtype, value.shape), dims
    # The line's dimensions side by side, outer ones first, where the first of them stands now.
    place = min(dims.index(each) for each in line)
    order = [each for each in dims if each not in line]
    order[place:place] = line
    value = emission.transpose(value, [dims.index(each) for each in order])
    shape = value.shape
    flat = emission.reshape(value, (*shape[:place], count, *shape[place + len(line) :]))
    cut = emission.slice_axis(flat, place, start, limit)
    return emission.reshape(emission.pad_axis(cut, place, start, count - limit, number), shape), order


def _is_line(dims: Sequence[Dimension], steps: Sequence[int], box: Box) -> bool:
    """Whether the lanes of the box, in row-major order, are places one step apart."""
    pairs = itertools.pairwise(zip(dims, steps, strict=True))
    return steps[-1] != 0 and all(outer == inner * box.extent(each) for (_, outer), (each, inner) in pairs)
