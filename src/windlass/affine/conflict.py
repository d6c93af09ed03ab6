"""At which distances of iterations two accesses may come to the same byte, and whether points of one ever do."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

from windlass.affine.access import Access, MemoryT
from windlass.affine.dimensions import Box, Dimension
from windlass.affine.index import Atom, Index, dimensions_of, range_of

MOST_DISTANCES = 256
"""So many distances between iterations are looked at one by one."""


def conflict(
    first: Access[MemoryT], second: Access[MemoryT], dimension: Dimension, varies: Callable[[Atom], bool]
) -> tuple[int, int]:
    """Bounds, both included, of the distances other than 0 between iterations in which both come to one byte.

    A distance is the iteration of the first access less that of the second. `dimension` counts the iterations, and
    `varies` says of an atom whether it may differ between two of them, or even within one; all others are the same in
    both. (0, 0) says never but in the same iteration; all distances that there are say that nothing is known.
    Conditions on the points do not count, and both accesses are to one memory.

    >>> from windlass.affine.domain import Domain
    >>> from windlass.affine.predicate import TRUE
    >>> k = Dimension("k", 10, 0)
    >>> place = Index.of(k).scale(4)
    >>> here, ahead = (Access("x", place + start, 4, Domain((k,), Box(), TRUE), 0) for start in (0, 8))
    >>> conflict(here, ahead, k, lambda atom: atom is k)
    (0, 2)
    """
    everything = (1 - dimension.size, dimension.size - 1)
    one = first.address.terms.get(dimension, 0)
    other = second.address.terms.get(dimension, 0)
    difference = first.address.constant - second.address.constant
    lower = upper = difference
    factors: list[int] = []
    atoms = {atom for atom in (*first.address.terms, *second.address.terms) if atom is not dimension}
    for atom in atoms:
        left, right = first.address.terms.get(atom, 0), second.address.terms.get(atom, 0)
        if varies(atom):
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
        least, most = max(least, everything[0]), min(most, everything[1])
        if least > most or least == most == 0:
            return 0, 0
        if most - least > MOST_DISTANCES:
            return least, most
        # Other counters go on in steps, and may leap over the places of other iterations.
        shifts = ((distance, one * distance) for distance in range(least, most + 1))
        found = [
            distance
            for distance, shift in shifts
            if _may_be_zero(lower + shift, upper + shift, factors, difference + shift, first, second)
        ]
        return min([0, *found]), max([0, *found])
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
    lower: int, upper: int, factors: list[int], constant: int, first: Access[MemoryT], second: Access[MemoryT]
) -> bool:
    """Whether a sum of multiples of `factors` and the constant, within the bounds, may overlap zero."""
    least, most = max(lower, 1 - first.size), min(upper, second.size - 1)
    if least > most:
        return False
    common = math.gcd(*factors) if factors else 0
    if common == 0:
        return True
    return constant + -(-(least - constant) // common) * common <= most


def is_injective(index: Index, dimensions: Iterable[Dimension], box: Box, size: int = 1) -> bool:
    """Whether the index is known to differ between any two lanes of the box, by `size` at least.

    Its terms are like the digits of a number: where no sum of the smaller ones reaches the next, it tells them all.

    >>> x, y = Dimension("x", 8, 1), Dimension("y", 5, 0)
    >>> is_injective(Index.of(y).scale(10) + Index.of(x), (x, y), Box())
    True
    >>> is_injective(Index.of(x), (x, y), Box())
    False
    """
    several = {dimension for dimension in dimensions if box.extent(dimension) > 1}
    reach = size - 1
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
