"""Tiles of shared memory that are copies of parts of another memory, put together by several stores.

    tile[i + 1] = x[base + i];
    if (i == 0) tile[0] = x[base - 1];
    if (i == 31) tile[33] = x[base + 32];

Each store says what cells of the tile hold as a function of the cell: here all say that cell c holds x[base + c - 1].
A load of the tile is then a load of that memory, whichever store wrote the cell, and a stencil over tiles with halos
becomes one over the array. Choices that keep cells from running over the ends of the array (`i < n ? x[i] : 0`) are
functions of the cell, too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from windlass.affine.dimensions import Box, Dimension
from windlass.affine.domain import Domain
from windlass.affine.index import Index
from windlass.affine.predicate import TRUE, at_least_zero
from windlass.affine.resolution import held_at
from windlass.ops.conversion import byte_width
from windlass.raising import emission
from windlass.raising.items import Item, LoadSource, Memory, StoreRecord
from windlass.raising.lanes import Lanes
from windlass.raising.selecting import select_lanes

if TYPE_CHECKING:
    from windlass.raising.state import RaisingState

WORD_ORDER = 300
"""Dimensions that count words stored at once stand behind all others."""

Ranges = tuple[tuple[int, int], ...]

LoadWords: TypeAlias = "Callable[[RaisingState, Memory, Index, str], Item]"
"""Loads words of the memory that a tile is a copy of, which may be a tile itself."""


@dataclass(frozen=True)
class _Part:
    """What one store wrote: the coordinates of its cells in the tile, their ranges (half open), and what they hold."""

    store: StoreRecord
    source: LoadSource
    coordinates: tuple[Index, ...]
    ranges: Ranges

    def lanes_of(self, cells: Sequence[Index]) -> dict[Dimension, Index] | None:
        """The store's lanes for cells at these coordinates; None if coordinates are more than one dimension each."""
        found: dict[Dimension, Index] = {}
        box = self.store.domain.box
        for own, cell in zip(self.coordinates, cells, strict=True):
            digits = sorted(own.terms.items(), key=lambda term: term[1])
            rest, size = cell - own.constant, 1
            for place, (dimension, factor) in enumerate(digits):
                if factor != size or not isinstance(dimension, Dimension) or dimension in found:
                    return None
                lower, upper = box.bounds(dimension)
                is_last = place == len(digits) - 1
                if lower and not is_last:
                    return None
                found[dimension] = rest if is_last else rest.modulo(upper)
                rest = rest.floor_divide(upper) if not is_last else rest
                size *= upper
        return found


def read_tile(state: RaisingState, memory: Memory, index: Index, dtype: str, load_words: LoadWords) -> Item | None:
    """What each lane reads at a word index of shared memory, loaded from where the tile was; None if not known."""
    stores = _joined(memory.state.stores)
    sources = [store.source for store in stores]
    if not stores or sources[-1] is None or any(store.dtype != dtype for store in stores) or sources[-1].dtype != dtype:
        return None
    segment = memory.segment
    radices = _radices([*((store.index, store.domain) for store in stores), (index, state.domain)], segment, dtype)
    cells = _coordinates(index, segment, state.domain, radices, dtype)
    if cells is None:
        return None
    wanted = _ranges(cells, state.domain)
    parts: list[_Part] = []
    for store in reversed(stores):
        source = store.source
        coordinates = _coordinates(store.index, segment, store.domain, radices, dtype)
        if coordinates is None:
            return None
        ranges = _ranges(coordinates, store.domain)
        if not _overlap(ranges, wanted):
            continue
        if source is None:
            return None
        parts.append(_Part(store, source, coordinates, ranges))
    if not parts or not _cover([part.ranges for part in parts], wanted):
        return None
    owners = segment.dimensions
    tile = _function_of_cell(parts, owners, wanted)
    if tile is None or tile.memory.state.version != tile.version:
        return None
    if not all(_was_stored(part, cells, state.domain, owners) for part in parts):
        return None
    return _load(state, tile, cells, load_words)


# -- several words at once --------------------------------------------------------------------------------------------


def _joined(stores: Sequence[StoreRecord]) -> list[StoreRecord]:
    """The stores, with runs that only go on evenly (the words of a `float4`) as one over one more dimension."""
    found: list[StoreRecord] = []
    place = 0
    while place < len(stores):
        first = stores[place]
        steps = _steps(first, stores[place + 1]) if place + 1 < len(stores) else None
        count = 1
        if steps is not None:
            while place + count < len(stores) and _steps(stores[place + count - 1], stores[place + count]) == steps:
                count += 1
        if steps is not None and first.source is not None:
            words = Dimension("words", count, WORD_ORDER)
            source = replace(first.source, index=first.source.index + Index.of(words).scale(steps[1]))
            domain = first.domain.extended(words)
            first = replace(first, index=first.index + Index.of(words).scale(steps[0]), domain=domain, source=source)
        found.append(first)
        place += count
    return found


def _steps(one: StoreRecord, other: StoreRecord) -> tuple[int, int] | None:
    """How far apart two stores are, and what they store; None if they differ in more."""
    left, right = one.source, other.source
    if left is None or right is None or (one.dtype, one.domain) != (other.dtype, other.domain):
        return None
    index = right.index
    if replace(right, index=left.index) != left:
        return None
    steps = (other.index - one.index).constant_value, (index - left.index).constant_value
    return (steps[0], steps[1]) if steps[0] and steps[1] else None


# -- coordinates ------------------------------------------------------------------------------------------------------


def _radices(accesses: Sequence[tuple[Index, Domain]], segment: Index, dtype: str) -> list[int]:
    """The strides of the tile's axes, in words, as accesses show them; the last is 1.

    A stride that some access runs across is none of an axis: threads that are counted along two dimensions have such.
    """
    width = byte_width(dtype)
    relative = [((index.scale(width) - segment).simplify(domain.box), domain.box) for index, domain in accesses]
    found = {abs(factor) // width for index, _ in relative for factor in index.terms.values() if factor % width == 0}
    radices = sorted(
        (each for each in found if each > 1 and all(_stays(index, each * width, box) for index, box in relative)),
        reverse=True,
    )
    return [radix for place, radix in enumerate(radices) if all(other % radix == 0 for other in radices[:place])] + [1]


def _stays(index: Index, stride: int, box: Box) -> bool:
    """Whether what is no multiple of a stride stays within one step of it."""
    rest = Index(index.constant, {atom: factor for atom, factor in index.terms.items() if factor % stride})
    least, most = rest.value_range(box)
    return least // stride == most // stride


def _coordinates(
    index: Index, segment: Index, domain: Domain, radices: Sequence[int], dtype: str
) -> tuple[Index, ...] | None:
    """The place along each axis of the tile; None where a lane may leave an axis."""
    width = byte_width(dtype)
    box, _ = domain.mask.split(domain.box)
    relative = (index.scale(width) - segment).simplify(box)
    if relative.constant % width or any(factor % width for factor in relative.terms.values()):
        return None
    rest = Index(relative.constant // width, {atom: factor // width for atom, factor in relative.terms.items()})
    found: list[Index] = []
    for radix in radices[:-1]:
        outer = {atom: factor for atom, factor in rest.terms.items() if factor % radix == 0}
        inner = Index(rest.constant, {atom: factor for atom, factor in rest.terms.items() if atom not in outer})
        least, most = inner.value_range(box)
        row = least // radix
        if most // radix != row:
            return None
        found.append(Index(row, {atom: factor // radix for atom, factor in outer.items()}))
        rest = inner - row * radix
    return (*found, rest)


def _ranges(coordinates: Sequence[Index], domain: Domain) -> Ranges:
    box, _ = domain.mask.split(domain.box)
    bounds = [each.value_range(box) for each in coordinates]
    return tuple((lower, upper + 1) for lower, upper in bounds)


def _overlap(one: Ranges, other: Ranges) -> bool:
    return all(a < d and c < b for (a, b), (c, d) in zip(one, other, strict=True))


def _cover(parts: Sequence[Ranges], wanted: Ranges) -> bool:
    """Whether boxes cover a box."""
    if any(lower >= upper for lower, upper in wanted):
        return True
    for place, part in enumerate(parts):
        if not _overlap(part, wanted):
            continue
        rest = list(wanted)
        for axis, ((lower, upper), (first, last)) in enumerate(zip(part, wanted, strict=True)):
            for piece in ((first, min(lower, last)), (max(upper, first), last)):
                if piece[0] < piece[1]:
                    outside = (*rest[:axis], piece, *rest[axis + 1 :])
                    if not _cover(parts[place + 1 :], outside):
                        return False
            rest[axis] = (max(lower, first), min(upper, last))
        return True
    return False


# -- what cells hold --------------------------------------------------------------------------------------------------


def _function_of_cell(parts: Sequence[_Part], owners: frozenset[Dimension], wanted: Ranges) -> LoadSource | None:
    """What the cells hold, over dimensions that count cells; None unless all stores agree."""
    counters = tuple(Dimension(f"cell.{axis}", upper + 1, axis) for axis, (_, upper) in enumerate(wanted))
    cells = [Index.of(counter) for counter in counters]
    found: LoadSource | None = None
    for part in parts:
        lanes = part.lanes_of(cells)
        if lanes is None:
            return None
        source = part.source
        guard = TRUE
        try:
            index = source.index.substitute(lanes)
            guard = source.guard.substitute(lanes)
        except ValueError:
            return None
        if not index.dimensions <= owners | set(counters) or not guard.dimensions <= owners | set(counters):
            continue
        if any(
            upper - lower > 1 and not own.terms for own, (lower, upper) in zip(part.coordinates, wanted, strict=True)
        ):
            continue
        if found is None:
            found = LoadSource(source.memory, source.version, source.dtype, index, guard, source.filling)
        else:
            both = found.guard & guard
            found = LoadSource(found.memory, found.version, found.dtype, found.index, both, found.filling)
    if found is None:
        return None
    return found if all(_agrees(found, part, counters) for part in parts) else None


def _agrees(tile: LoadSource, part: _Part, counters: Sequence[Dimension]) -> bool:
    """Whether the store put into its cells what the function says."""
    own = part.source
    if (own.memory, own.version, own.dtype) != (tile.memory, tile.version, tile.dtype):
        return False
    box, mask = part.store.domain.mask.split(part.store.domain.box)
    places = dict(zip(counters, part.coordinates, strict=True))
    # Dimensions along which there is one lane are no more than numbers.
    alone = {
        each: Index(box.lower(each)) for each in (own.index.dimensions | own.guard.dimensions) if box.extent(each) == 1
    }
    difference = tile.index.substitute(places, box).substitute(alone, box) - own.index.substitute(alone, box)
    if difference.simplify(box).constant_value != 0:
        return False
    try:
        expected = tile.guard.substitute(places, box).substitute(alone, box).simplify(box)
        actual = own.guard.substitute(alone, box).simplify(box)
    except ValueError:
        return False
    if not (mask & expected).implies(actual, box) or not (mask & actual).implies(expected, box):
        return False
    return actual.is_true or np.asarray(own.filling).tobytes() == np.asarray(tile.filling).tobytes()


def _was_stored(part: _Part, cells: Sequence[Index], domain: Domain, owners: frozenset[Dimension]) -> bool:
    """Whether lanes that read the store's cells read what was really stored: lanes of it may have been masked.

    `owners` are the dimensions that tell tiles apart.
    """
    stored, condition = part.store.domain.box, part.store.domain.mask
    for owner in owners:
        lower, upper = stored.bounds(owner)
        condition = condition & at_least_zero(Index.of(owner) - lower) & at_least_zero(-Index.of(owner) + (upper - 1))
    if condition.is_true:
        return True
    lanes = part.lanes_of(cells)
    if lanes is None:
        return False
    box, mask = domain.mask.split(domain.box)
    for cell, (lower, upper) in zip(cells, part.ranges, strict=True):
        if len(cell.terms) == 1:
            ((dimension, factor),) = cell.terms.items()
            if isinstance(dimension, Dimension) and factor == 1:
                first, last = box.bounds(dimension)
                low, high = max(first, lower - cell.constant), min(last, upper - cell.constant)
                if low >= high:
                    return True
                box = box.restrict(dimension, low, high)
    return held_at(condition, stored, lanes, box, mask, owners)


def _load(state: RaisingState, tile: LoadSource, cells: Sequence[Index], load_words: LoadWords) -> Item | None:
    box = state.box
    counters = sorted(
        (each for each in tile.index.dimensions | tile.guard.dimensions if each.name.startswith("cell.")),
        key=lambda each: each.order,
    )
    places: Mapping[Dimension, Index] = {each: cells[each.order] for each in counters}
    index = tile.index.substitute(places, box).simplify(box)
    guard = tile.guard.substitute(places, box).simplify(box)
    if guard.is_true or state.domain.restrict(~guard).is_empty:
        return load_words(state, tile.memory, index, tile.dtype)
    filling = Lanes(emission.constant(tile.filling, tile.dtype))
    inside = state.domain.restrict(guard)
    if inside.is_empty:
        return filling
    with state.within(inside):
        loaded = load_words(state, tile.memory, index, tile.dtype)
    return select_lanes(state, guard, loaded, filling, tile.dtype)
