"""Ways from one division of an array to another, of which each step sends what some devices have to some others.

A step takes the innermost of the mesh's axes that divide one axis of the array, and divides another axis by them: one
`all_to_all`. A transform along an axis wants that axis whole at some time, so the way between goes where that is.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import prod
from typing import NamedTuple

from windlass.ops.shardings import Mesh

Layout = tuple[tuple[str, ...], ...]
"""For each axis of an array the axes of the mesh that divide it, the outermost first."""
Sizes = tuple[int, ...]


class Moving(NamedTuple):
    """What changes from one layout to the next: `names` divide the axis `to` then, in this order, and not `source`."""

    source: int
    to: int
    names: tuple[str, ...]


def moving_between(before: Layout, after: Layout) -> Moving | None:
    """The one step between two layouts; None where there is none, or it takes several.

    >>> moving_between((("x",), ("y",)), ((), ("y", "x")))
    Moving(source=0, to=1, names=('x',))
    """
    changed = [axis for axis, (own, other) in enumerate(zip(before, after, strict=True)) if own != other]
    if len(changed) != 2:
        return None
    source, to = sorted(changed, key=lambda axis: len(after[axis]) - len(before[axis]))
    kept, had = len(after[source]), len(before[to])
    names = after[to][had:]
    is_step = before[source][:kept] == after[source] and after[to][:had] == before[to]
    return Moving(source, to, names) if is_step and sorted(names) == sorted(before[source][kept:]) else None


@dataclass(frozen=True)
class Atlas:
    """The layouts of an array of a shape, each of its axes as long as the mesh wants it.

    An axis that its divisors do not divide evenly is longer by some elements while it is divided.
    """

    mesh: Mesh
    unit: int
    """What such an axis becomes a multiple of: only what divides that can divide the axis."""

    def parts(self, names: tuple[str, ...]) -> int:
        return self.mesh.size(names)

    def extent(self, size: int, names: tuple[str, ...]) -> int:
        return size if size % self.parts(names) == 0 else -(-size // self.unit) * self.unit

    def extents(self, sizes: Sizes, layout: Layout) -> Sizes:
        return tuple(self.extent(size, names) for size, names in zip(sizes, layout, strict=True))

    def steps(self, sizes: Sizes, layout: Layout) -> Iterator[tuple[float, Layout]]:
        """The layouts that are one step away, and what share of all elements a device receives on the way."""
        for source, to in itertools.permutations(range(len(layout)), 2):
            for kept in range(len(layout[source])):
                for names in itertools.permutations(layout[source][kept:]):
                    after = list(layout)
                    after[source], after[to] = layout[source][:kept], (*layout[to], *names)
                    parts = self.parts(after[to])
                    if (
                        sizes[to] >= parts
                        and (sizes[to] % parts == 0 or self.unit % parts == 0)
                        and all(
                            not own or not other or self.extent(size, own) == self.extent(size, other)
                            for size, own, other in zip(sizes, layout, after, strict=True)
                        )
                    ):
                        count = self.parts(names)
                        extents = map(max, self.extents(sizes, layout), self.extents(sizes, tuple(after)))
                        share = prod(extents) / self.parts(tuple(itertools.chain(*layout)))
                        yield share * (count - 1) / count, tuple(after)


class State(NamedTuple):
    """Which transform of several, a layout, and the axes that are still to be transformed then."""

    number: int
    layout: Layout
    remaining: frozenset[int]


Ways = dict[State, tuple[float, State]]
"""For each state that can be reached what that costs, and the state before it."""


def cheapest_ways(first: State, steps: Callable[[State], Iterator[tuple[float, State]]]) -> Ways:
    """The cheapest ways from a state to all others (Dijkstra)."""
    found: Ways = {first: (0.0, first)}
    done: set[State] = set()
    number = itertools.count()
    queue = [(0.0, next(number), first)]
    while queue:
        cost, _, state = heapq.heappop(queue)
        if state in done:
            continue
        done.add(state)
        for more, following in steps(state):
            if following not in found or cost + more < found[following][0]:
                found[following] = cost + more, state
                heapq.heappush(queue, (cost + more, next(number), following))
    return found


def way_to(state: State, found: Ways) -> list[State]:
    """The states on the way to one, from the first on."""
    way = [state]
    while found[way[-1]][1] != way[-1]:
        way.append(found[way[-1]][1])
    return way[::-1]
