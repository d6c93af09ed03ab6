"""Parts of values that are longer than the field, as the faces between cells are: of what these are made of.

Such a value lies on a line: what is at one of its ends is not next to the other. What it is made of is on a ring, where
the ends are neighbours. So a part is computed of that: one that lies in a piece that others were only put to, and one
that is put far away, as the last but one face on the first of a periodic axis.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from itertools import accumulate

from windlass.communication.places import owner_of
from windlass.communication.propagation import Division, Propagation
from windlass.facts.boxes import ElementBox
from windlass.facts.known_values import known_start
from windlass.ir import Builder, Function, Value
from windlass.ir.core import Op
from windlass.ops import Concatenate, DynamicUpdateSlice, Slice
from windlass.passes.needed_parts import compute_part


def write_parts_of_longer(function: Function, propagation: Propagation) -> bool:
    """Rewrite the function in place; whether anything changed."""
    changed = False
    for op in list(function.walk()):
        if isinstance(op, Slice):
            longer = _longer_axes(op.operand, propagation)
            if any(_is_in_a_piece(op, axis) or _is_put_far_away(op, axis, each) for axis, each in longer):
                changed = _compute(op, propagation) or changed
    return changed


def _longer_axes(value: Value, propagation: Propagation) -> list[tuple[int, Division]]:
    """The axes along which a value is longer than what is divided."""
    divisions = enumerate(propagation.divisions(value) or ())
    return [(axis, each) for axis, each in divisions if each is not None and value.shape[axis] > each.extent]


def _is_in_a_piece(part: Slice, axis: int) -> bool:
    """Whether it is a part of one of several pieces that were put together."""
    whole = owner_of(part.operand)
    if not isinstance(whole, Concatenate) or whole.dimension != axis:
        return False
    ends = list(accumulate(each.shape[axis] for each in whole.inputs))
    return bisect_right(ends, part.start_indices[axis]) == bisect_left(ends, part.limit_indices[axis])


def _is_put_far_away(part: Slice, axis: int, division: Division) -> bool:
    """Whether a part is put further than a device's part from where it was, and could be sent at once."""
    if part.shape[axis] > division.length:
        return False
    for user in part.uses:
        places: list[int] = []
        if isinstance(user, DynamicUpdateSlice) and user.update is part:
            place = known_start(user.start_indices[axis], user.shape[axis] - part.shape[axis])
            places += [] if place is None else [place]
        if isinstance(user, Concatenate) and user.dimension == axis:
            sizes = [each.shape[axis] for each in user.inputs]
            places += [sum(sizes[:index]) for index, each in enumerate(user.inputs) if each is part]
        if any(abs(place - part.start_indices[axis]) > division.length for place in places):
            return True
    return False


def _compute(part: Slice, propagation: Propagation) -> bool:
    """Compute the part of what its value is made of, back to values that are not longer; whether there is a way."""
    source = owner_of(part.operand)
    if source is None or part.block is None or set(part.strides) != {1}:
        return False
    placed: list[Op] = []
    builder = Builder(part.block, part, part.source)
    builder.placed = placed
    with builder:
        found = compute_part(source, ElementBox(part.start_indices, part.limit_indices))
    if found is None:
        return False
    part.replace_all_uses_with(found)
    part.erase()
    for op in placed:
        if isinstance(op, Slice) and _longer_axes(op.operand, propagation):
            _compute(op, propagation)
    return True
