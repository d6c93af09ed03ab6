"""Which store last wrote what is read: the map from a store's points to its words, inverted and composed with a load's.

A store's index is a mixed-radix number of its points' dimensions. The digits of a load's index in that radix say which
point stored what is read: `tile[threadIdx.y][threadIdx.x] = v` and then `tile[k][threadIdx.y]` is v with k for
threadIdx.y and threadIdx.y for threadIdx.x.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from windlass.affine.access import byte_range
from windlass.affine.dimensions import Box, Dimension
from windlass.affine.domain import Domain
from windlass.affine.index import Index
from windlass.affine.predicate import Predicate, at_least_zero


@dataclass(frozen=True)
class WordAccess:
    """What the points of a domain access in one memory: the word `index` each, of words of a type of `width` bytes."""

    index: Index
    dtype: str
    width: int
    domain: Domain

    def may_overlap(self, other: WordAccess, origin: Index) -> bool:
        """Whether some point's bytes may be bytes of any other point's in another access.

        `origin` is where the part of memory begins that both are known to be in, in bytes.
        """
        (lower, upper), (first, last) = (
            byte_range(each.index.scale(each.width), each.width, each.domain, origin) for each in (self, other)
        )
        return lower < last and first < upper


StoreT = TypeVar("StoreT", bound=WordAccess)


@dataclass(frozen=True)
class Writers:
    """Which point stored what each point reads: an index for each dimension along which several points stored.

    The dimensions stand in the order of their strides, the largest first. `rests` says for each what is left of the
    load's index, in words, before its digit is taken away.
    """

    points: dict[Dimension, Index]
    rests: dict[Dimension, Index]


def resolve(stores: Sequence[StoreT], load: WordAccess, origin: Index) -> tuple[StoreT, Writers] | None:
    """The last of the stores (the last one last) that wrote what is read, and which of its points did.

    None where that is not known of one store for all points. `origin` is as in `may_overlap`.

    >>> from windlass.affine.predicate import TRUE
    >>> x = Dimension("x", 4, 0)
    >>> points = Domain((x,), Box(), TRUE)
    >>> store = WordAccess(Index.of(x).scale(2), "f32", 4, points)
    >>> load = WordAccess(Index(6) - Index.of(x).scale(2), "f32", 4, points)
    >>> _, writers = resolve([store], load, Index(0))
    >>> writers.points
    {x: -1*x + 3}
    """
    for store in reversed(stores):
        writers = find_writers(store, load)
        if writers is not None:
            return store, writers
        if store.may_overlap(load, origin):
            return None
    return None


def find_writers(store: WordAccess, load: WordAccess) -> Writers | None:
    """Which point stored what each active point of a load reads.

    None where that is not known, or where some point reads what the store did not write.
    """
    if load.dtype != store.dtype or not all(isinstance(atom, Dimension) for atom in store.index.terms):
        return None
    box, mask = load.domain.mask.split(load.domain.box)
    stored = store.domain.box
    rest = load.index - store.index.constant
    digits: list[tuple[Dimension, int, int]] = []
    for dimension, factor in store.index.terms.items():
        assert isinstance(dimension, Dimension)
        lower, upper = stored.bounds(dimension)
        rest = rest - factor * (lower if factor > 0 else upper - 1)
        if upper - lower > 1:
            digits.append((dimension, factor, upper - lower))
    digits.sort(key=lambda digit: -abs(digit[1]))
    reach = sum(abs(factor) * (extent - 1) for _, factor, extent in digits)
    found: dict[Dimension, Index] = {}
    rests: dict[Dimension, Index] = {}
    for dimension, factor, extent in digits:
        rests[dimension] = rest
        reach -= abs(factor) * (extent - 1)
        if reach >= abs(factor):
            return None
        quotient = rest.floor_divide(abs(factor), box).simplify(box)
        if not _is_known(at_least_zero(quotient) & at_least_zero(-quotient + (extent - 1)), mask, box):
            return None
        rest = rest.modulo(abs(factor), box).simplify(box)
        lower, upper = stored.bounds(dimension)
        found[dimension] = quotient + lower if factor > 0 else -quotient + (upper - 1)
    if rest.simplify(box).constant_value != 0:
        return None
    return Writers(found, rests) if held_at(store.domain.mask, stored, found, box, mask) else None


def held_at(
    condition: Predicate,
    stored: Box,
    points: Mapping[Dimension, Index],
    box: Box,
    mask: Predicate,
    shared: Collection[Dimension] = (),
) -> bool:
    """Whether a condition on a store's points surely held at those that active points of a load read from.

    `points` and `stored` say which they are, `box` and `mask` which points load. `shared` are the dimensions that
    store and load have in common: whichever of them stored, the same one loads.
    """
    if condition.is_true:
        return True
    alone = {each for each in condition.dimensions if stored.extent(each) == 1 and each not in shared}
    if not condition.dimensions <= points.keys() | alone | set(shared):
        return False
    places = {each: Index(stored.lower(each)) for each in alone}
    try:
        return _is_known(condition.substitute({**places, **points}, box), mask, box)
    except ValueError:
        return False


def _is_known(condition: Predicate, mask: Predicate, box: Box) -> bool:
    """Whether a condition holds at all active points."""
    return condition.simplify(box).is_true or mask.implies(condition, box)
