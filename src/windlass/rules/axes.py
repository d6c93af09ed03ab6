"""Which axes of an array are which of another: what movement rules ask."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

Sizes = tuple[int, ...]


class AxisGroup(NamedTuple):
    """Axes of one shape that hold the same elements, in the same order, as axes of another; either may be none."""

    old: Sizes
    new: Sizes

    @property
    def is_single(self) -> bool:
        """Whether it is one axis in both shapes."""
        return len(self.old) == len(self.new) == 1


def group_axes(old: Sizes, new: Sizes) -> list[AxisGroup] | None:
    """The smallest groups of axes that a reshape from `old` to `new` keeps apart; None for empty arrays.

    >>> group_axes((4, 6), (4, 1, 2, 3))
    [AxisGroup(old=(0,), new=(0,)), AxisGroup(old=(), new=(1,)), AxisGroup(old=(1,), new=(2, 3))]
    """
    if math.prod(old) == 0:
        return None
    groups: list[AxisGroup] = []
    i = j = 0
    while i < len(old) or j < len(new):
        if i < len(old) and j < len(new) and old[i] == new[j]:
            groups.append(AxisGroup((i,), (j,)))
            i, j = i + 1, j + 1
        elif i < len(old) and old[i] == 1:
            groups.append(AxisGroup((i,), ()))
            i += 1
        elif j < len(new) and new[j] == 1:
            groups.append(AxisGroup((), (j,)))
            j += 1
        else:
            first_old, first_new = i, j
            held, wanted = old[i], new[j]
            i, j = i + 1, j + 1
            while held != wanted:
                if held < wanted:
                    held *= old[i]
                    i += 1
                else:
                    wanted *= new[j]
                    j += 1
            groups.append(AxisGroup(tuple(range(first_old, i)), tuple(range(first_new, j))))
    return groups


def match_axes(old: Sizes, new: Sizes) -> dict[int, int] | None:
    """New axis by old axis, for the axes longer than 1, where a reshape only adds or drops axes of size 1.

    >>> match_axes((4, 1, 5), (1, 4, 5))
    {0: 1, 2: 2}
    """
    long_old = [axis for axis, size in enumerate(old) if size != 1]
    long_new = [axis for axis, size in enumerate(new) if size != 1]
    if [old[axis] for axis in long_old] != [new[axis] for axis in long_new]:
        return None
    return dict(zip(long_old, long_new, strict=True))


def invert(permutation: Sequence[int]) -> Sizes:
    """The permutation that undoes this one.

    >>> invert((2, 0, 1))
    (1, 2, 0)
    """
    return tuple(sorted(range(len(permutation)), key=permutation.__getitem__))


def pick(values: Sequence[int], axes: Sequence[int]) -> Sizes:
    """The values at these axes."""
    return tuple([values[axis] for axis in axes])


def replace(sizes: Sizes, axis: int, size: int) -> Sizes:
    """The sizes with another at one axis."""
    return (*sizes[:axis], size, *sizes[axis + 1 :])


def places_after_reshape(small: Sizes, wide: Sizes, places: Sizes, shape: Sizes) -> Sizes | None:
    """Where the axes of an array stand that was broadcast and then reshaped from `wide` to `shape`, if that tells.

    `small` is the array's shape, `places` where its axes stand in `wide`. None where axes of it were split or joined
    with others.

    >>> places_after_reshape((3,), (2, 4, 3), (2,), (8, 1, 3))
    (2,)
    """
    groups = group_axes(wide, shape)
    if groups is None:
        return None
    own = {place: axis for axis, place in enumerate(places) if small[axis] != 1}
    found: dict[int, int] = {}
    for group in groups:
        held = [axis for axis in group.old if axis in own]
        kept = [axis for axis in group.new if shape[axis] != 1]
        if not held:
            continue
        if len(held) < len([axis for axis in group.old if wide[axis] != 1]):
            return None
        if pick(wide, held) != pick(shape, kept):
            return None
        found.update((own[axis], place) for axis, place in zip(held, kept, strict=True))
    # Axes of size 1 may become any axis that is left.
    free = [axis for axis in range(len(shape)) if axis not in found.values()]
    units = [axis for axis, size in enumerate(small) if size == 1]
    if len(units) > len(free):
        return None
    found.update(zip(units, free, strict=False))
    return tuple(found[axis] for axis in range(len(small)))
