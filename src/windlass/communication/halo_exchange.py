"""Exchanging halos: what a device needs of its neighbours' parts, in as few messages as there are directions.

Axes are exchanged one after another, and what came along one goes along with the next, so that corners need no
messages of their own. Faces of all arrays that go the same way travel as one message, if they are of one type. Where
devices need different rows of their neighbours, as those at the ends of a ring with ghost cells do, each is sent its
own.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from windlass.communication.needs import Halo, Strip, Way
from windlass.communication.positions import Positions
from windlass.communication.propagation import Division
from windlass.diagnostics import Position
from windlass.ir import Value
from windlass.ops import CollectivePermute, Concatenate, Constant, OptimizationBarrier, Pad, Reshape, Select, Slice
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


def count_traffic(mesh: Mesh, halos: Sequence[Halo]) -> tuple[int, int]:
    """How many bytes each device sends in an exchange, and in how many messages."""
    total = 0
    messages: set[tuple[tuple[str, ...], int, str]] = set()
    for halo in halos:
        done: set[int] = set()
        for axis in _axes_in_order(mesh, halo):
            division = halo.divisions[axis]
            assert division is not None
            for end in (0, 1):
                count = halo.count(axis, halo.ways(axis, end, done))
                if count:
                    total += count * halo.part.tensor.numpy_dtype.itemsize
                    messages.add((division.names, end, halo.part.dtype))
            done.add(axis)
    return total, len(messages)


def exchange_halos(
    mesh: Mesh, halos: Sequence[Halo], goes_round: set[tuple[str, ...]], channels: Channels
) -> list[Value]:
    """The parts with their halos; where there is no neighbour, or nothing is needed of it, these are zeros."""
    parts = [halo.part for halo in halos]
    done: list[set[int]] = [set() for _ in halos]
    positions = Positions(mesh)
    for names in _in_order(mesh, halos):
        received: dict[tuple[int, int], tuple[list[Piece], list[Piece]]] = {}
        for end, step in ((0, 1), (1, -1)):
            faces: dict[tuple[int, int, Strip | tuple[Way, ...]], Value] = {}
            for index, halo in enumerate(halos):
                for axis, division in enumerate(halo.divisions):
                    if division is not None and division.names == names:
                        choosing = Choosing(halo, axis, division, step, positions)
                        ways = halo.ways(axis, end, done[index])
                        if len(ways) > 1:
                            faces[index, axis, tuple(ways)] = choosing.pack(parts[index], ways)
                        for strip in ways[0].strips if len(ways) == 1 else ():
                            faces[index, axis, strip] = choosing.cut(parts[index], strip)
            pairs = mesh.neighbours(names, step, names in goes_round)
            sources = [halos[index].source for index, *_ in faces]
            for place, face in zip(faces, _send(list(faces.values()), sources, pairs, channels), strict=True):
                index, axis, what = place
                division = halos[index].divisions[axis]
                assert division is not None
                if not isinstance(what, Strip):
                    what, face = Choosing(halos[index], axis, division, step, positions).unpack(face, what)
                found = received.setdefault((index, axis), ([], []))[end]
                found.append((what, _fill_face(halos[index], face, what, done[index])))
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


@dataclass
class Choosing:
    """What goes along an axis of an array to the neighbour: the same strips from all, or what that one needs."""

    halo: Halo
    axis: int
    division: Division
    step: int
    """From a device that sends to the one that receives."""
    positions: Positions

    def cut(self, part: Value, strip: Strip) -> Value:
        """Of a part with the halos so far a strip that its neighbour needs."""
        first, limits = [0] * len(part.shape), list(part.shape)
        for each, (low, high) in enumerate(strip.across):
            size = self.halo.part.shape[each]
            before = max(self.halo.widths[each][0], 0) if part.shape[each] != size else 0
            first[each], limits[each] = before + low, before + size + high
        place = strip.first + (self.division.length if self.step > 0 else 0)
        first[self.axis], limits[self.axis] = place, place + strip.size
        return Slice(part, tuple(first), tuple(limits), (1,) * len(first))

    def pack(self, part: Value, ways: Sequence[Way]) -> Value:
        """The strips that the neighbour needs, one after another: as many positions as any device is sent."""
        size, count = max(way.size for way in ways), self.division.parts
        found: list[tuple[int, Value]] = []
        for way in ways:
            pieces = [self.cut(part, strip) for strip in way.strips]
            if way.size < size:
                pieces.append(_zeros(pieces[0], self.axis, size - way.size))
            senders = sum(1 << (k - self.step) % count for k in range(count) if way.parts >> k & 1)
            found.append((senders, Concatenate(tuple(pieces), self.axis) if len(pieces) > 1 else pieces[0]))
        return self._choose(found)

    def unpack(self, face: Value, ways: Sequence[Way]) -> Piece:
        """What came, each strip at its place, and zeros between them."""
        strips = [strip for way in ways for strip in way.strips]
        first, limit = min(strip.first for strip in strips), max(strip.limit for strip in strips)
        found: list[tuple[int, Value]] = []
        for way in ways:
            pieces: list[Value] = []
            place, offset = first, 0
            for strip in way.strips:
                if strip.first > place:
                    pieces.append(_zeros(face, self.axis, strip.first - place))
                pieces.append(slice_along(face, self.axis, offset, offset + strip.size))
                place, offset = strip.limit, offset + strip.size
            if place < limit:
                pieces.append(_zeros(face, self.axis, limit - place))
            found.append((way.parts, Concatenate(tuple(pieces), self.axis) if len(pieces) > 1 else pieces[0]))
        return Strip(first, limit, strips[0].across), self._choose(found)

    def _choose(self, found: Sequence[tuple[int, Value]]) -> Value:
        """The value of the parts to which this device's belongs; any of them on devices that need none."""
        *others, (_, chosen) = found
        for parts, value in others:
            chosen = Select(self.positions.is_among(self.division, parts), value, chosen)
        return chosen


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
