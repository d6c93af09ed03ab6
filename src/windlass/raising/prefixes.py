"""Choices between a value and a number where a count of lanes is all that the condition asks for: `i < n ? x[i] : 0`.

Lanes in their row-major order are a line. A condition that holds on the beginning or the end of it, as guards against
running over the end of an array do, makes the choice a slice and a pad, which need no tensor of conditions.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

from windlass.raising import emission
from windlass.raising.dimensions import Box, Dimension, in_order
from windlass.raising.lanes import Lanes
from windlass.raising.predicate import AtLeastZero, Predicate


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
    for part in condition.conjuncts():
        padded = _pad_line(part, value, number, box)
        if padded is None:
            return None
        value = padded
    return value


def _pad_line(condition: Predicate, lanes: Lanes, number: Any, box: Box) -> Lanes | None:
    if not isinstance(condition, AtLeastZero):
        return None
    index = condition.index
    dims = in_order(index.dimensions)
    steps = [index.terms.get(each, 0) for each in dims]
    if not dims or len(index.terms) != len(dims) or not all(each in lanes.dims for each in dims):
        return None
    first = lanes.dims.index(dims[0])
    if lanes.dims[first : first + len(dims)] != dims or not _is_line(dims, steps, box):
        return None
    shape = lanes.value.shape
    count = math.prod(shape[first : first + len(dims)])
    constant = index.constant + sum(step * box.lower(each) for each, step in zip(dims, steps, strict=True))
    step = steps[-1]
    # Place e of the line is active where constant + step*e >= 0.
    if step < 0:
        start, limit = 0, min(max(constant // -step + 1, 0), count)
    else:
        start, limit = min(max(-(constant // step), 0), count), count
    flat = emission.reshape(lanes.value, (*shape[:first], count, *shape[first + len(dims) :]))
    if limit > start:
        cut = emission.slice_axis(flat, first, start, limit)
        flat = emission.pad_axis(cut, first, start, count - limit, number)
    else:
        flat = emission.constant(number, lanes.dtype, flat.shape)
    return Lanes(emission.reshape(flat, shape), lanes.dims, lanes.lower)


def _is_line(dims: tuple[Dimension, ...], steps: list[int], box: Box) -> bool:
    """Whether the lanes of the box, in row-major order, are places one step apart."""
    pairs = itertools.pairwise(zip(dims, steps, strict=True))
    return steps[-1] != 0 and all(outer == inner * box.extent(each) for (_, outer), (each, inner) in pairs)
