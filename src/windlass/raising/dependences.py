"""Whether the iterations of a loop may run side by side: no one sees or undoes what another has stored, but as before.

Interpreted in lockstep, all iterations make the first access of the body, then all make the second, and so on. That
is the serial order for two accesses to one place in different iterations just when the one that is earlier in the
body is made by the earlier iteration.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable

from windlass.affine.dimensions import Box, Dimension
from windlass.affine.index import Atom, Data, Index, RuntimeScalar, dimensions_of, parts_of, range_of
from windlass.diagnostics import Position
from windlass.raising.frames import AccessRecord, VectorFrame
from windlass.raising.items import Memory
from windlass.raising.lanes import lanes_of
from windlass.raising.obstacle import Obstacle

MOST_DISTANCES = 256
"""So many distances between iterations are looked at one by one."""


class Conflict(Obstacle):
    """Iterations may touch the same place of a memory."""

    def __init__(self, memory: Memory, reason: str, position: Position | None) -> None:
        super().__init__(reason, position)
        self.memory = memory


def check_dependences(frame: VectorFrame) -> None:
    """Raise Obstacle if the iterations of the loop can't be shown to be independent."""
    by_memory: defaultdict[Memory, list[AccessRecord]] = defaultdict(list)
    for record in frame.accesses:
        if record.memory not in frame.copied:
            by_memory[record.memory].append(record)
    for records in by_memory.values():
        unique = list({(record.kind, record.address, record.size, record.box): record for record in records}.values())
        if all(record.kind == "load" for record in unique):
            continue
        for place, first in enumerate(unique):
            for second in unique[place:]:
                _check_pair(frame, first, second)


def _check_pair(frame: VectorFrame, first: AccessRecord, second: AccessRecord) -> None:
    kinds = {first.kind, second.kind}
    if kinds == {"load"} or (len(kinds) == 1 and first.kind.startswith("atomic")):
        return
    least, most = iteration_distances(frame, first, second)
    # distance = iteration of the first access - iteration of the second, where both touch one place.
    is_repeated = max(first.while_depth, second.while_depth) > frame.while_depth
    if most > 0 or (least < 0 and (is_repeated or first is second)):
        where = f" (line {second.position.line})" if second.position and second.position.line else ""
        raise Conflict(
            first.memory,
            f"iterations may touch the same place of {first.memory.name}{where}: {first.kind}, then {second.kind}",
            first.position,
        )


def iteration_distances(frame: VectorFrame, first: AccessRecord, second: AccessRecord) -> tuple[int, int]:
    """Bounds, both included, of the distances other than 0 between iterations in which both touch one place.

    (0, 0) if there are none.
    """
    dimension = frame.dimension
    furthest = dimension.size - 1
    everything = (-furthest, furthest)
    one = first.address.terms.get(dimension, 0)
    other = second.address.terms.get(dimension, 0)
    difference = first.address.constant - second.address.constant
    lower = upper = difference
    factors: list[int] = []
    atoms = {atom for atom in (*first.address.terms, *second.address.terms) if atom is not dimension}
    for atom in atoms:
        left, right = first.address.terms.get(atom, 0), second.address.terms.get(atom, 0)
        if varies(atom, frame):
            parts = [(left, first.box), (-right, second.box)]
        else:
            parts = [(left - right, first.box.hull(second.box))]
        for factor, box in parts:
            if factor:
                factors.append(factor)
                lower, upper = _widen(lower, upper, factor, atom, box)
    # Both touch one place where -first.size < one*k1 - other*k2 + (lower..upper) < second.size.
    if one == other and one != 0:
        if one < 0:
            least, most = _solutions(-one, -upper, -lower, second.size, first.size)
        else:
            least, most = _solutions(one, lower, upper, first.size, second.size)
        least, most = max(least, -furthest), min(most, furthest)
        if least > most or least == most == 0:
            return 0, 0
        if most - least > MOST_DISTANCES:
            return least, most
        # Other counters go on in steps, and may leap over the places of other iterations.
        found = [0]
        for distance in range(least, most + 1):
            shift = one * distance
            if _may_be_zero(lower + shift, upper + shift, factors, difference + shift, first, second):
                found.append(distance)
        return min(found), max(found)
    if one == 0 and other == 0:
        return everything if _may_be_zero(lower, upper, factors, difference, first, second) else (0, 0)
    for factor, box in ((one, first.box), (-other, second.box)):
        if factor:
            factors.append(factor)
            lower, upper = _widen(lower, upper, factor, dimension, box)
    return everything if _may_be_zero(lower, upper, factors, difference, first, second) else (0, 0)


def _solutions(step: int, lower: int, upper: int, low_size: int, high_size: int) -> tuple[int, int]:
    """Bounds of the integers d with -low_size < step*d + e < high_size for some e from lower to upper; step > 0."""
    least = (-low_size - upper) // step + 1
    most = -((lower - high_size) // step) - 1
    return least, most


def _widen(lower: int, upper: int, factor: int, atom: Atom, box: Box) -> tuple[int, int]:
    least, most = range_of(atom, box)
    if factor < 0:
        least, most = most, least
    return lower + factor * least, upper + factor * most


def _may_be_zero(
    lower: int, upper: int, factors: list[int], constant: int, first: AccessRecord, second: AccessRecord
) -> bool:
    """Whether a sum of multiples of `factors` and the constant, within the bounds, may overlap zero."""
    least, most = max(lower, 1 - first.size), min(upper, second.size - 1)
    if least > most:
        return False
    common = math.gcd(*factors) if factors else 0
    if common == 0:
        return True
    return constant + -(-(least - constant) // common) * common <= most


def varies(atom: Atom, frame: VectorFrame) -> bool:
    """Whether an atom may differ between iterations of the loop, or is counted inside of it."""
    if isinstance(atom, Dimension):
        return atom is frame.dimension or atom in frame.inner_dimensions
    if isinstance(atom, RuntimeScalar):
        return frame.is_inner(atom.value)
    if isinstance(atom, Data):
        if frame.is_inner(lanes_of(atom).value):
            return True
        dims = dimensions_of(atom)
        return frame.dimension in dims or not dims.isdisjoint(frame.inner_dimensions)
    return any(_varies_within(part, frame) for part in parts_of(atom))


def _varies_within(index: Index, frame: VectorFrame) -> bool:
    return any(varies(atom, frame) for atom in index.terms)


def is_injective(index: Index, dimensions: Iterable[Dimension], box: Box) -> bool:
    """Whether the index is known to differ between any two lanes of the box.

    Its terms are like the digits of a number: where no sum of the smaller ones reaches the next, it tells them all.

    >>> x, y = Dimension("x", 8, 1), Dimension("y", 5, 0)
    >>> is_injective(Index.of(y).scale(10) + Index.of(x), (x, y), Box())
    True
    >>> is_injective(Index.of(x), (x, y), Box())
    False
    """
    several = {dimension for dimension in dimensions if box.extent(dimension) > 1}
    reach = 0
    for atom, factor in sorted(index.terms.items(), key=lambda term: abs(term[1])):
        if dimensions_of(atom).isdisjoint(several):
            continue
        if abs(factor) <= reach:
            return False
        if isinstance(atom, Dimension):
            several.remove(atom)
        least, most = range_of(atom, box)
        reach += abs(factor) * (most - least)
    return not several
