"""Loads from shared memory of what some thread has stored there: the value goes from store to load by way of no memory.

So a tile that is the same for many blocks is not made for each of them. `affine/resolution.py` tells which lane stored
what is read.
"""

from __future__ import annotations

from collections.abc import Sequence

from windlass.affine.dimensions import Dimension
from windlass.affine.domain import Domain
from windlass.affine.index import Index
from windlass.affine.resolution import WordAccess, Writers, find_writers, resolve
from windlass.raising import access, emission
from windlass.raising.items import StoreRecord
from windlass.raising.lanes import Lanes

MOST_STORES = 64
"""So many stores of a memory are remembered."""


def forward(stores: Sequence[StoreRecord], load: WordAccess, segment: Index) -> Lanes | None:
    """What each active lane reads, where the stores (the last one last) say that; else None.

    `segment` is where each block's part of the memory begins, in bytes.
    """
    found = resolve(stores, load, segment)
    return None if found is None else _read_lanes(*found, load.domain)


def is_stored(stores: Sequence[StoreRecord], load: WordAccess) -> bool:
    """Whether one of the stores surely wrote all that lanes read."""
    return any(find_writers(store, load) is not None for store in stores)


def _read_lanes(store: StoreRecord, writers: Writers, domain: Domain) -> Lanes | None:
    """The stored value at other lanes."""
    box = store.domain.box
    value = store.value.at(box)
    if any(each not in writers.points and box.extent(each) > 1 for each in value.dims):
        return None
    # In the order of the words that were written, so that the load is as regular as one from memory.
    own = [each for each in writers.points if each in value.dims]
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
            index = index + (writers.points[dimension] - box.lower(dimension)).scale(stride)
        stride *= box.extent(dimension)
        strides.append(stride)
    return access.load(flat, index, domain.box, domain.mask, strides[1:-1])


def _dense_end(store: StoreRecord, writers: Writers, own: Sequence[Dimension]) -> list[Dimension]:
    """The innermost dimensions, as many as the value has all of, if the words that they count lie without gaps."""
    found: list[Dimension] = []
    size = 0
    for dimension in reversed(list(writers.points)):
        factor = store.index.terms[dimension]
        if dimension not in own or factor < 0 or (found and factor != size):
            break
        found.insert(0, dimension)
        size = factor * store.domain.box.extent(dimension)
    return found
