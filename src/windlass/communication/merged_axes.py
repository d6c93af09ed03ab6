"""Axes that stand for several: what a part of an array is in a shape that keeps them apart.

A shape is finer than another one if each axis of that stands for neighbouring axes of it, in row-major order. Axes of
size 1 may stand anywhere in both.
"""

from __future__ import annotations

from math import prod

Sizes = tuple[int, ...]


def groups_of(coarse: Sizes, fine: Sizes) -> tuple[tuple[int, ...], ...] | None:
    """For each axis of a shape the axes of a finer one that it stands for; None where that is not finer.

    >>> groups_of((12, 7), (3, 4, 7)), groups_of((1, 12), (12,)), groups_of((6, 8), (8, 6))
    (((0, 1), (2,)), ((), (0,)), None)
    """
    found: list[tuple[int, ...]] = []
    place = 0
    for size in coarse:
        first, product = place, 1
        while product < size and place < len(fine):
            product *= fine[place]
            place += 1
        if product != size:
            return None
        found.append(tuple(range(first, place)))
    rest = tuple(range(place, len(fine)))
    if any(fine[axis] != 1 for axis in rest):
        return None
    if found:
        found[-1] += rest
    return tuple(found)


def box_of(start: int, size: int, axes: Sizes) -> tuple[tuple[int, int], ...] | None:
    """Where a stretch of merged axes begins along each, and how much it takes of each, if it is a box.

    >>> box_of(13, 3, (4, 6)), box_of(12, 18, (4, 6)), box_of(4, 3, (4, 6)), box_of(24, 0, (4, 6))
    (((2, 1), (1, 3)), ((2, 3), (0, 6)), None, None)
    """
    if not size:
        return None
    if len(axes) < 2:
        return tuple((start, size) for _ in axes)
    inner = prod(axes[1:])
    first, rest = divmod(start, inner)
    if rest + size <= inner:
        found = box_of(rest, size, axes[1:])
        return None if found is None else ((first, 1), *found)
    if rest == 0 and size % inner == 0:
        return ((first, size // inner), *((0, each) for each in axes[1:]))
    return None


def boxes_of(starts: Sizes, sizes: Sizes, coarse: Sizes, fine: Sizes) -> tuple[Sizes, Sizes] | None:
    """Where a part of an array begins in a finer shape, and its sizes there, if it is a box in that, too.

    >>> boxes_of((0, 12), (3, 6), (3, 24), (3, 4, 6))
    ((0, 2, 0), (3, 1, 6))
    """
    groups = groups_of(coarse, fine)
    if groups is None:
        return None
    found: list[tuple[int, int]] = [(0, 1)] * len(fine)
    for start, size, group in zip(starts, sizes, groups, strict=True):
        box = box_of(start, size, tuple(fine[axis] for axis in group)) if group else ()
        if box is None:
            return None
        for axis, each in zip(group, box, strict=True):
            found[axis] = each
    return tuple(first for first, _ in found), tuple(size for _, size in found)


def axes_like(axis: int, coarse: Sizes, fine: Sizes) -> list[int]:
    """The axes of a finer shape along which pieces follow one another as along an axis of the other.

    >>> axes_like(0, (12, 7), (3, 4, 7)), axes_like(0, (1, 7), (1, 1, 7))
    ([0], [0, 1, 2])
    """
    outer = prod(coarse[:axis])
    return [each for each in range(len(fine)) if prod(fine[:each]) == outer]
