"""What devices need of an array beyond their own parts: boxes of positions, and which devices need each of them."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from windlass.communication.places import EVERY
from windlass.communication.propagation import Division, Divisions
from windlass.diagnostics import Position
from windlass.ir import Value

Extents = tuple[tuple[int, int], ...]
"""For each axis the positions that an array holds: from so many after the device's own first one, to so many after its
own last one; 0 and 0 along axes that are not divided."""
Sharers = tuple[int, ...]
"""For each axis the parts whose devices need a box."""


class Strip(NamedTuple):
    """Positions beyond an end of an axis, counted from the end, and how much of the axes across."""

    first: int
    limit: int
    across: Extents

    @property
    def size(self) -> int:
        return self.limit - self.first


class Way(NamedTuple):
    """What the devices that hold some parts of an axis need from beyond an end of it, in order."""

    parts: int
    strips: tuple[Strip, ...]

    @property
    def size(self) -> int:
        return sum(strip.size for strip in self.strips)


def hull_of(boxes: Iterable[Extents]) -> Extents:
    """The positions in any of the boxes, and those between."""
    return tuple((min(low for low, _ in axis), max(high for _, high in axis)) for axis in zip(*boxes, strict=True))


def add_box(boxes: dict[Extents, Sharers], box: Extents, sharers: Sharers) -> None:
    """Let these devices need the box, too."""
    known = boxes.setdefault(box, sharers)
    if known != sharers:
        boxes[box] = tuple([own | other for own, other in zip(known, sharers, strict=True)])


def put_together(boxes: Mapping[Extents, Sharers], divisions: Divisions) -> dict[Extents, Sharers]:
    """Fewer boxes of the same positions for the same devices: neighbours are one, and none lies within another."""
    found = dict(boxes)
    for axis, division in enumerate(divisions):
        if division is None:
            continue
        lines: dict[tuple[Extents, Sharers], list[tuple[int, int]]] = {}
        for box, sharers in found.items():
            lines.setdefault(((*box[:axis], *box[axis + 1 :]), sharers), []).append(box[axis])
        found.clear()
        for (rest, sharers), places in lines.items():
            for place in _joined(sorted(places), division.length):
                add_box(found, (*rest[:axis], place, *rest[axis:]), sharers)
    for box, sharers in list(found.items()):
        if any(
            box != other
            and all(low <= first and limit <= high for (first, limit), (low, high) in zip(box, other, strict=True))
            and all(own & parts == own for own, parts in zip(sharers, found[other], strict=True))
            for other in found
        ):
            del found[box]
    return found


def _joined(places: Iterable[tuple[int, int]], length: int) -> list[tuple[int, int]]:
    """Of positions in order those that meet as one."""
    found: list[tuple[int, int]] = []
    for first, limit in places:
        if found and first <= length + found[-1][1]:
            found[-1] = found[-1][0], max(found[-1][1], limit)
        else:
            found.append((first, limit))
    return found


@dataclass
class Halo:
    """A device's part of an array, and what is needed of it: each of `boxes`, though not what is between them."""

    part: Value
    divisions: Divisions
    boxes: Mapping[Extents, Sharers]
    source: Position | None = None
    """Where in the source what is needed is read."""

    @property
    def widths(self) -> Extents:
        """By how much the part is extended along each axis at both ends."""
        return tuple(
            (max(-box[axis][0] for box in self.boxes), max(box[axis][1] for box in self.boxes))
            if division is not None
            else (0, 0)
            for axis, division in enumerate(self.divisions)
        )

    @property
    def extents(self) -> Extents:
        """What a device holds afterwards: its own positions, and all that are needed."""
        return hull_of([*self.boxes, ((0, 0),) * len(self.divisions)])

    def ways(self, axis: int, end: int, done: Collection[int]) -> list[Way]:
        """What is needed from beyond an end of an axis: only that goes along.

        Of the axes that were exchanged before, `done`, so much of what they brought goes along with it. Where there are
        several ways, each device sends what the device that it sends to needs: that is less than all in one.
        """
        division = self.divisions[axis]
        assert division is not None
        common = tuple(self._strips(division.length, axis, end, done, self.boxes))
        if not common:
            return []
        apart = [
            Way(parts, strips)
            for parts, boxes in self._classes(division, axis)
            if (strips := tuple(self._strips(division.length, axis, end, done, boxes)))
        ]
        if len(apart) > 1:
            across = hull_of(strip.across for way in apart for strip in way.strips)
            if max(way.size for way in apart) * self._area(axis, across) < self._count(common, axis):
                return [Way(way.parts, tuple(strip._replace(across=across) for strip in way.strips)) for way in apart]
        return [Way(EVERY, common)]

    def count(self, axis: int, ways: list[Way]) -> int:
        """How many elements a device sends."""
        return max((self._count(way.strips, axis) for way in ways), default=0)

    def _count(self, strips: Iterable[Strip], axis: int) -> int:
        return sum(strip.size * self._area(axis, strip.across) for strip in strips)

    def _area(self, axis: int, across: Extents) -> int:
        sizes = enumerate(zip(self.part.shape, across, strict=True))
        return math.prod(size + high - low for each, (size, (low, high)) in sizes if each != axis)

    def _classes(self, division: Division, axis: int) -> list[tuple[int, list[Extents]]]:
        """The parts of an axis that need the same boxes, and these."""
        classes = [(1 << division.parts) - 1]
        for mask in {sharers[axis] for sharers in self.boxes.values()} - {EVERY}:
            classes = [piece for each in classes for piece in (each & mask, each & ~mask) if piece]
        return [(parts, [box for box, sharers in self.boxes.items() if parts & sharers[axis]]) for parts in classes]

    def _strips(self, length: int, axis: int, end: int, done: Collection[int], boxes: Iterable[Extents]) -> list[Strip]:
        reaches: list[tuple[int, int, Extents]] = []
        for box in boxes:
            low, high = box[axis]
            first, limit = (max(low - length, 0), high) if end else (low, min(length + high, 0))
            if first < limit:
                reaches.append((first, limit, box))
        found: list[Strip] = []
        for first, limit in pairwise(sorted({place for reach in reaches for place in reach[:2]})):
            there = [box for begin, beyond, box in reaches if begin <= first and limit <= beyond]
            if not there:
                continue
            across = tuple(each if other in done else (0, 0) for other, each in enumerate(hull_of(there)))
            if found and found[-1].limit == first and found[-1].across == across:
                found[-1] = found[-1]._replace(limit=limit)
            else:
                found.append(Strip(first, limit, across))
        return found


def may_differ(boxes: Iterable[Extents], divisions: Divisions) -> bool:
    """Whether devices that need different boxes of these might be sent less than all of them."""
    for axis, division in enumerate(divisions):
        if division is not None:
            befores = {(low, min(division.length + high, 0)) for low, high in (box[axis] for box in boxes)}
            afters = {(max(low - division.length, 0), high) for low, high in (box[axis] for box in boxes)}
            for reaches in (befores, afters):
                there = [(first, limit) for first, limit in reaches if first < limit]
                if there and (min(there)[0], max(limit for _, limit in there)) not in there:
                    return True
    return False
