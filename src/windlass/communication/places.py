"""Where the elements of a value lie on the mesh, and at what distance ops read them.

The devices along an axis of the mesh hold positions 0 … N-1 of what is divided among them, L each. A value of a region
of local code is given a position for its first element, its `start`, along each axis that is divided: element k lies at
position start + k, and the device that holds this position computes it. What an op reads is then an operand at a
distance, and only that counts: a slice is its operand with another start.

Each device holds some positions before and after its own as well, for what it reads there. Most values are *on a ring*:
what stands at position p there is what belongs to p modulo N, so that distances count modulo N. Longer ones, such as
arrays with ghost cells around them, are on a line: positions below 0 and from N on are there, on the first and last
device alone, and distances are what they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from windlass.communication.propagation import Divisions
from windlass.ir import Value
from windlass.ir.core import Op
from windlass.ir.values import Result


@dataclass(frozen=True)
class Local:
    """A value as devices hold it: the array of `base`, with its first element at `starts`, an entry for each axis."""

    base: Value
    starts: tuple[int, ...]
    is_ring: tuple[bool, ...]


OWN = -1
EVERY = -1
"""All parts of an axis. A set of parts is a number that has a bit for each."""


@dataclass(frozen=True)
class Read:
    """What an op reads: the array of `base`, at a distance along each of its axes from the result's positions.

    `axes` says for each axis of the base which axis of the result it is, if it is divided; `OWN` for one that the
    result has not, of which each device reads the positions that are its own.
    """

    base: Value
    axes: tuple[int | None, ...]
    distances: tuple[int, ...]
    spans: tuple[Span, ...] = ()
    """Where along some axes of the result what is read matters: elsewhere the result has something else."""


class Span(NamedTuple):
    """Positions from `first` on and below `limit` along an axis of a result, of whose parts each has `length`."""

    axis: int
    first: int
    limit: int
    length: int
    parts: int
    is_ring: bool

    def clip(self, low: int, high: int, is_told_apart: bool = False) -> dict[tuple[int, int], int]:
        """What of the positions from `low` after a device's first one to `high` after its last one is in the span.

        One entry for each that it is on some device, with the parts of which it is that, if these are told apart.

        >>> Span(0, -1, 1, 8, 4, is_ring=True).clip(-2, 2, is_told_apart=True)
        {(7, 1): 8, (-1, -7): 1}
        """
        length = self.length
        # A device that is `k` parts further holds them `k` lengths earlier.
        begin, end = (self.first - length - high) // length, (self.limit - low) // length + 1
        whole, beyond = -((low - self.first) // length), (self.limit - length - high) // length + 1
        if not self.is_ring:
            begin, whole, end, beyond = max(begin, 0), max(whole, 0), min(end, self.parts), min(beyond, self.parts)
        found: dict[tuple[int, int], int] = {}
        if whole < beyond:
            if not is_told_apart or beyond - whole >= self.parts:
                return {(low, high): EVERY}
            found[low, high] = sum(1 << k % self.parts for k in range(whole, beyond))
        for k in (*range(begin, min(whole, end)), *range(max(beyond, begin), end)):
            first = max(low, self.first - k * length)
            limit = min(length + high, self.limit - k * length)
            if first < limit:
                part = 1 << k % self.parts if is_told_apart else EVERY
                place = (first, limit - length)
                found[place] = found.get(place, 0) | part
        return found


class Ring:
    """Counting modulo the extent of an axis, noting whether anything goes round."""

    def __init__(self) -> None:
        self.goes_round: set[tuple[str, ...]] = set()
        """The mesh's axes along which the last device's neighbour is the first one."""

    def centred(self, start: int, size: int, axis: int, divisions: Divisions, is_ring: bool) -> int:
        """Where a value of this size starts best: in the middle of all positions."""
        division = divisions[axis]
        if division is None:
            return 0
        return self._reduce(start, (division.extent - size) // 2, division.extent, division.names) if is_ring else start

    def distance(self, local: Local, own: int, target: int, axis: int, divisions: Divisions) -> int:
        """How far from a position of a result, which starts at `target`, the operand has the same element."""
        division = divisions[axis]
        if division is None:
            return 0
        found = local.starts[own] - target
        return self._reduce(found, 0, division.extent, division.names) if local.is_ring[own] else found

    def _reduce(self, number: int, best: int, extent: int, names: tuple[str, ...]) -> int:
        rounds = round((number - best) / extent)
        if rounds:
            self.goes_round.add(names)
        return number - rounds * extent


def owner_of(value: Value) -> Op | None:
    """The op that gives the value; None for parameters of blocks."""
    if isinstance(value, Op):
        return value
    return value.owner if isinstance(value, Result) else None
