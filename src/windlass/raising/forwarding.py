"""Loads from shared memory of what some thread has stored there: the value goes from store to load by way of no memory.

A store's index is a mixed-radix number of its lanes' dimensions. The digits of a load's index in that radix say which
lane stored what is read: `tile[threadIdx.y][threadIdx.x] = v` and then `tile[k][threadIdx.y]` is v with k for
threadIdx.y and threadIdx.y for threadIdx.x. So a tile that is the same for many blocks is not made for each of them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from windlass.raising import access, emission
from windlass.raising.dimensions import Dimension
from windlass.raising.domain import Domain
from windlass.raising.index import Index
from windlass.raising.lanes import Lanes
from windlass.raising.predicate import TRUE, Predicate, at_least_zero
from windlass.raising.reinterpretation import byte_width

if TYPE_CHECKING:
    from windlass.raising.memory import Memory

MOST_STORES = 64
"""So many stores of a memory are remembered."""


@dataclass(frozen=True)
class Source:
    """Where a value was loaded from, and the number that it is instead where the guard does not hold."""

    memory: Memory
    version: int
    dtype: str
    index: Index
    guard: Predicate = TRUE
    filling: Any = None


@dataclass(frozen=True)
class StoreRecord:
    """What lanes stored: each active lane of the domain its value, at the word `index` of words of a type."""

    index: Index
    dtype: str
    value: Lanes
    domain: Domain
    source: Source | None
    """Where the value comes from, if it was just loaded."""


def find_writers(store: StoreRecord, index: Index, dtype: str, domain: Domain) -> dict[Dimension, Index] | None:
    """Which lane stored what each active lane of the domain reads at `index`: the store's dimensions as indices.

    Dimensions along which there was one lane are left out. None where that is not known, or where some lane reads what
    the store did not write.
    """
    if dtype != store.dtype or not all(isinstance(atom, Dimension) for atom in store.index.terms):
        return None
    box, mask = domain.mask.split(domain.box)
    stored = store.domain.box
    rest = index - store.index.constant
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
    for dimension, factor, extent in digits:
        reach -= abs(factor) * (extent - 1)
        if reach >= abs(factor):
            return None
        quotient = rest.floor_divide(abs(factor), box).simplify(box)
        if not _is_known(at_least_zero(quotient) & at_least_zero(-quotient + (extent - 1)), mask, domain):
            return None
        rest = rest.modulo(abs(factor), box).simplify(box)
        lower, upper = stored.bounds(dimension)
        found[dimension] = quotient + lower if factor > 0 else -quotient + (upper - 1)
    if rest.simplify(box).constant_value != 0 or not _was_active(store, found, mask, domain):
        return None
    return found


def _is_known(condition: Predicate, mask: Predicate, domain: Domain) -> bool:
    """Whether a condition holds at all active lanes."""
    box, _ = domain.mask.split(domain.box)
    return condition.simplify(box).is_true or mask.implies(condition, box)


def _was_active(store: StoreRecord, writers: Mapping[Dimension, Index], mask: Predicate, domain: Domain) -> bool:
    """Whether the lanes that are read from were active in the store."""
    condition = store.domain.mask
    if condition.is_true:
        return True
    alone = {each for each in condition.dimensions if store.domain.box.extent(each) == 1}
    if not condition.dimensions <= writers.keys() | alone:
        return False
    box, _ = domain.mask.split(domain.box)
    points = {each: Index(store.domain.box.lower(each)) for each in alone}
    try:
        return _is_known(condition.substitute({**points, **writers}, box), mask, domain)
    except ValueError:
        return False


def may_touch(store: StoreRecord, index: Index, dtype: str, domain: Domain, segment: Index) -> bool:
    """Whether some lane may read what the store wrote. `segment` is where each block's part begins, in bytes."""
    lower, upper = _range_in_segment(index, dtype, domain, segment)
    first, last = _range_in_segment(store.index, store.dtype, store.domain, segment)
    return lower < last and first < upper


def _range_in_segment(index: Index, dtype: str, domain: Domain, segment: Index) -> tuple[int, int]:
    """The bytes of a segment that lanes come to, as a half-open range."""
    width = byte_width(dtype)
    box, _ = domain.mask.split(domain.box)
    lower, upper = (index.scale(width) - segment).simplify(box).value_range(box)
    return lower, upper + width


def forward(stores: Sequence[StoreRecord], index: Index, dtype: str, domain: Domain, segment: Index) -> Lanes | None:
    """What each active lane reads at a word index, where the stores (the last one last) say that; else None."""
    for store in reversed(stores):
        writers = find_writers(store, index, dtype, domain)
        if writers is not None:
            return _read_lanes(store, writers, domain)
        if may_touch(store, index, dtype, domain, segment):
            return None
    return None


def is_stored(stores: Sequence[StoreRecord], index: Index, dtype: str, domain: Domain) -> bool:
    """Whether one of the stores surely wrote all that lanes read at a word index."""
    return any(find_writers(store, index, dtype, domain) is not None for store in stores)


def _read_lanes(store: StoreRecord, writers: Mapping[Dimension, Index], domain: Domain) -> Lanes | None:
    """The stored value at other lanes."""
    box = store.domain.box
    value = store.value.at(box)
    if any(each not in writers and box.extent(each) > 1 for each in value.dims):
        return None
    own = [each for each in value.dims if box.extent(each) > 1]
    if not own:
        return Lanes(emission.reshape(value.value, ()))
    index = Index(0)
    stride = 1
    strides: list[int] = []
    for dimension in reversed(own):
        strides.append(stride)
        index = index + (writers[dimension] - box.lower(dimension)).scale(stride)
        stride *= box.extent(dimension)
    flat = emission.reshape(value.value, (math.prod(value.value.shape),))
    return access.load(flat, index, domain.box, domain.mask, strides[1:])
