"""Exchanging halos: what a device needs of its neighbours' parts, in as few messages as there are directions.

Axes are exchanged one after another, and what came along one goes along with the next, so that corners need no
messages of their own. Faces of all arrays that go the same way travel as one message, if they are of one type.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from windlass.communication.propagation import Divisions
from windlass.diagnostics import Position
from windlass.ir import Value
from windlass.ops import CollectivePermute, Concatenate, Constant, OptimizationBarrier, Pad, Reshape, Slice
from windlass.ops.movement import slice_along
from windlass.ops.shardings import Mesh

DEVICE_TO_DEVICE = 1
FIRST_FOR_FACES, FIRST_FOR_FOLDS = 1 << 20, 1 << 21
"""Numbers of channels from here on are ours: JAX counts its own from 1 on. XLA wants one kind of op for each number."""


class Channels:
    """Numbers for the channels of one module."""

    def __init__(self) -> None:
        self._taken = 0

    def take(self, first: int = FIRST_FOR_FACES) -> tuple[int, int]:
        self._taken += 1
        return first + self._taken, DEVICE_TO_DEVICE


Extents = tuple[tuple[int, int], ...]
"""For each axis the positions that an array holds: from so many after the device's own first one, to so many after its
own last one; 0 and 0 along axes that are not divided."""


def hull_of(boxes: Iterable[Extents]) -> Extents:
    """The positions in any of the boxes, and those between."""
    return tuple((min(low for low, _ in axis), max(high for _, high in axis)) for axis in zip(*boxes, strict=True))


@dataclass
class Halo:
    """A device's part of an array, and what is needed of it: each of `boxes`, though not what is between them."""

    part: Value
    divisions: Divisions
    boxes: Collection[Extents]
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

    def strips(self, axis: int, end: int, done: Collection[int]) -> list[Strip]:
        """What is needed from beyond an end of an axis, in order: only that goes along.

        Of the axes that were exchanged before, `done`, so much of what they brought goes along with it.
        """
        division = self.divisions[axis]
        assert division is not None
        length = division.length
        reaches: list[tuple[int, int, Extents]] = []
        for box in self.boxes:
            low, high = box[axis]
            first, limit = (max(low - length, 0), high) if end else (low, min(length + high, 0))
            if first < limit:
                reaches.append((first, limit, box))
        found: list[Strip] = []
        for first, limit in pairwise(sorted({place for reach in reaches for place in reach[:2]})):
            boxes = [box for begin, beyond, box in reaches if begin <= first and limit <= beyond]
            if not boxes:
                continue
            across = tuple(each if other in done else (0, 0) for other, each in enumerate(hull_of(boxes)))
            if found and found[-1].limit == first and found[-1].across == across:
                found[-1] = found[-1]._replace(limit=limit)
            else:
                found.append(Strip(first, limit, across))
        return found


class Strip(NamedTuple):
    """Positions beyond an end of an axis, counted from the end, and how much of the axes across."""

    first: int
    limit: int
    across: Extents

    @property
    def size(self) -> int:
        return self.limit - self.first


def count_traffic(mesh: Mesh, halos: Sequence[Halo]) -> tuple[int, int]:
    """How many bytes each device sends in an exchange, and in how many messages."""
    total = 0
    messages: set[tuple[tuple[str, ...], int, str]] = set()
    for halo in halos:
        shape = halo.part.shape
        done: set[int] = set()
        for axis in _axes_in_order(mesh, halo):
            division = halo.divisions[axis]
            assert division is not None
            for end in (0, 1):
                for strip in halo.strips(axis, end, done):
                    sizes = [size + high - low for size, (low, high) in zip(shape, strip.across, strict=True)]
                    sizes[axis] = strip.size
                    total += math.prod(sizes) * halo.part.tensor.numpy_dtype.itemsize
                    messages.add((division.names, end, halo.part.dtype))
            done.add(axis)
    return total, len(messages)


def exchange_halos(
    mesh: Mesh, halos: Sequence[Halo], goes_round: set[tuple[str, ...]], channels: Channels
) -> list[Value]:
    """The parts with their halos; where there is no neighbour, or nothing is needed of it, these are zeros."""
    parts = [halo.part for halo in halos]
    done: list[set[int]] = [set() for _ in halos]
    for names in _in_order(mesh, halos):
        received: dict[tuple[int, int], tuple[list[Piece], list[Piece]]] = {}
        for end, step in ((0, 1), (1, -1)):
            faces: dict[tuple[int, int, Strip], Value] = {}
            for index, halo in enumerate(halos):
                for axis, division in enumerate(halo.divisions):
                    if division is not None and division.names == names:
                        for strip in halo.strips(axis, end, done[index]):
                            first = strip.first if end else division.length + strip.first
                            faces[index, axis, strip] = _cut_face(halo, parts[index], axis, first, strip)
            pairs = mesh.neighbours(names, step, names in goes_round)
            sources = [halos[index].source for index, *_ in faces]
            for place, face in zip(faces, _send(list(faces.values()), sources, pairs, channels), strict=True):
                index, axis, strip = place
                found = received.setdefault((index, axis), ([], []))[end]
                found.append((strip, _fill_face(halos[index], face, strip, done[index])))
        for (index, axis), (before, after) in received.items():
            pieces = [*_lay_out(before, axis, is_last=True), parts[index], *_lay_out(after, axis, is_last=False)]
            parts[index] = Concatenate(tuple(pieces), axis)
            done[index].add(axis)
    # XLA would join the pieces again in every op that reads them.
    extended = [index for index, halo in enumerate(halos) if parts[index] is not halo.part]
    if extended:
        barrier = OptimizationBarrier(tuple(parts[index] for index in extended))
        for index, result in zip(extended, barrier.results, strict=True):
            parts[index] = result
    return parts


Piece = tuple[Strip, Value]


def _cut_face(halo: Halo, part: Value, axis: int, place: int, strip: Strip) -> Value:
    """Of a part with the halos so far a strip that its neighbour needs, from a place along the axis on."""
    first, limits = [0] * len(part.shape), list(part.shape)
    for each, (low, high) in enumerate(strip.across):
        size = halo.part.shape[each]
        before = max(halo.widths[each][0], 0) if part.shape[each] != size else 0
        first[each], limits[each] = before + low, before + size + high
    first[axis], limits[axis] = place, place + strip.size
    return Slice(part, tuple(first), tuple(limits), (1,) * len(first))


def _fill_face(halo: Halo, face: Value, strip: Strip, done: Collection[int]) -> Value:
    """A face as wide as the part is with its halos so far."""
    lows, highs = [0] * len(face.shape), [0] * len(face.shape)
    for each, (low, high) in enumerate(strip.across):
        if each in done:
            before, after = (max(width, 0) for width in halo.widths[each])
            lows[each], highs[each] = before + low, after - high
    if not any((*lows, *highs)):
        return face
    return Pad(face, Constant.of(0, face.dtype), tuple(lows), tuple(highs), (0,) * len(lows))


def _lay_out(strips: Sequence[Piece], axis: int, is_last: bool) -> Iterator[Value]:
    """What lies beyond one end: the strips, and zeros between them and the end."""
    place = 0 if not strips or not is_last else strips[0][0].first
    for strip, face in strips:
        if strip.first > place:
            yield _zeros(face, axis, strip.first - place)
        yield face
        place = strip.limit
    if is_last and place < 0:
        yield _zeros(strips[-1][1], axis, -place)


def _zeros(face: Value, axis: int, size: int) -> Value:
    return Constant.of(0, face.dtype, tuple(size if each == axis else own for each, own in enumerate(face.shape)))


def _axes_in_order(mesh: Mesh, halo: Halo) -> list[int]:
    order = [name for name, _ in mesh.axes]
    divided = [(axis, division.names) for axis, division in enumerate(halo.divisions) if division is not None]
    return [axis for axis, _ in sorted(divided, key=lambda each: [order.index(name) for name in each[1]])]


def _in_order(mesh: Mesh, halos: Sequence[Halo]) -> list[tuple[str, ...]]:
    """The axes of the mesh along which something is sent."""
    order = [name for name, _ in mesh.axes]
    used = {
        division.names
        for halo in halos
        for division, width in zip(halo.divisions, halo.widths, strict=True)
        if division is not None and max(width) > 0
    }
    return sorted(used, key=lambda names: [order.index(name) for name in names])


def _send(
    faces: list[Value], sources: list[Position | None], pairs: tuple[tuple[int, int], ...], channels: Channels
) -> Iterator[Value]:
    """What arrives in place of each face, those of one type sent together."""
    arrived: dict[Value, Value] = {}
    named = dict(zip(faces, sources, strict=True))

    def send(message: Value, parts: list[Value]) -> Value:
        found = CollectivePermute(message, pairs, channels.take())
        found.source = next((source for part in parts if (source := named[part]) is not None), None)
        return found

    for dtype in dict.fromkeys(face.dtype for face in faces):
        group = [face for face in faces if face.dtype == dtype]
        if len(group) == 1:
            arrived[group[0]] = send(group[0], group)
            continue
        sizes = [math.prod(face.shape) for face in group]
        lines = tuple(Reshape(face, (size,)) for face, size in zip(group, sizes, strict=True))
        message = send(Concatenate(lines, 0), group)
        start = 0
        for face, size in zip(group, sizes, strict=True):
            arrived[face] = Reshape(slice_along(message, 0, start, start + size), face.shape)
            start += size
    return (arrived[face] for face in faces)
