"""Where items were loaded from, under a guard perhaps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from windlass.affine.index import Data, Index
from windlass.affine.predicate import Predicate
from windlass.raising.forwarding import LoadSource
from windlass.raising.items import Item
from windlass.raising.lanes import Lanes, lanes_of
from windlass.raising.memory import Memory

if TYPE_CHECKING:
    from windlass.raising.state import RaisingState


def lanes_in(item: Item) -> Item | Lanes:
    """The lanes that an item is just a wrapper of."""
    if isinstance(item, Index) and len(item.terms) == 1 and item.constant == 0:
        ((atom, factor),) = item.terms.items()
        if isinstance(atom, Data) and factor == 1:
            return lanes_of(atom)
    return item


def origin(state: RaisingState, item: Item) -> tuple[Memory, int, str, Index] | None:
    """Where an item was loaded from: memory, version, dtype and word index; None if it was computed."""
    found = state.memo.get(("origin", id(lanes_in(item))))
    return None if found is None else found[:4]


def source_of(state: RaisingState, item: Item) -> LoadSource | None:
    """Where an item was loaded from, under a guard perhaps; None if it was computed."""
    found = origin(state, item)
    if found is not None:
        return LoadSource(*found)
    guarded = state.memo.get(("guarded", id(lanes_in(item))))
    return None if guarded is None else guarded[0]


def note_guarded(state: RaisingState, item: Item, loaded: Item, guard: Predicate, filling: Any) -> None:
    """Remember that an item is a number where the guard does not hold, and else what was loaded."""
    found = origin(state, loaded)
    if found is not None:
        state.memo["guarded", id(lanes_in(item))] = (LoadSource(*found, guard, filling), item)
