"""Loads from shared memory of what some thread has stored there: the value goes from store to load by way of no memory.

A store's index is a mixed-radix number of its lanes' dimensions. The digits of a load's index in that radix say which
lane stored what is read: `tile[threadIdx.y][threadIdx.x] = v` and then `tile[k][threadIdx.y]` is v with k for
threadIdx.y and threadIdx.y for threadIdx.x. So a tile that is the same for many blocks is not made for each of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from windlass.affine.access import byte_range
from windlass.affine.dimensions import Dimension
from windlass.affine.domain import Domain
from windlass.affine.index import Index
from windlass.affine.predicate import Predicate, at_least_zero
from windlass.ops.conversion import byte_width
from windlass.raising import access, emission
from windlass.raising.items import StoreRecord
from windlass.raising.lanes import Lanes

if TYPE_CHECKING:
    pass

MOST_STORES = 64
"""So many stores of a memory are remembered."""


@dataclass(frozen=True)
class Writers:
    """Which lane stored what each lane reads: an index for each dimension of the store along which there were several.

    The dimensions stand in the order of their strides, the largest first. `rests` says for each what is left of the
    load's index, in words, before its digit is taken away.
    """

    lanes: dict[Dimension, Index]
    rests: dict[Dimension, Index]


def find_writers(store: StoreRecord, index: Index, dtype: str, domain: Domain) -> Writers | None:
    """Which lane stored what each active lane of the domain reads at `index`.

    None where that is not known, or where some lane reads what the store did not write.
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
    rests: dict[Dimension, Index] = {}
    for dimension, factor, extent in digits:
        rests[dimension] = rest
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
    return Writers(found, rests)


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
    width = byte_width(dtype)
    return byte_range(index.scale(width), width, domain, segment)


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


def _read_lanes(store: StoreRecord, writers: Writers, domain: Domain) -> Lanes | None:
    """The stored value at other lanes."""
    box = store.domain.box
    value = store.value.at(box)
    if any(each not in writers.lanes and box.extent(each) > 1 for each in value.dims):
        return None
    # In the order of the words that were written, so that the load is as regular as one from memory.
    own = [each for each in writers.lanes if each in value.dims]
    if not own:
        return Lanes(emission.reshape(value.value, ()))
    rest = [each for each in value.dims if each not in own]
    laid = emission.transpose(value.value, [value.dims.index(each) for each in (*rest, *own)])
    flat = emission.reshape(laid, (box.count(own),))
    dense = _dense_end(store, writers, own)
    index, stride, strides = Index(0), 1, [1]
    for dimension in reversed(own):
        if dimension in dense:
            unit = abs(store.index.terms[dense[-1]])
            if dimension is dense[0]:
                index = writers.rests[dimension].floor_divide(unit, domain.box)
        else:
            index = index + (writers.lanes[dimension] - box.lower(dimension)).scale(stride)
        stride *= box.extent(dimension)
        strides.append(stride)
    return access.load(flat, index, domain.box, domain.mask, strides[1:-1])


def _dense_end(store: StoreRecord, writers: Writers, own: Sequence[Dimension]) -> list[Dimension]:
    """The innermost dimensions, as many as the value has all of, if the words that they count lie without gaps."""
    found: list[Dimension] = []
    size = 0
    for dimension in reversed(list(writers.lanes)):
        factor = store.index.terms[dimension]
        if dimension not in own or factor < 0 or (found and factor != size):
            break
        found.insert(0, dimension)
        size = factor * store.domain.box.extent(dimension)
    return found
