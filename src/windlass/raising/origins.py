"""Where items were loaded from, under a guard perhaps."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from windlass.affine.index import Data, Index
from windlass.affine.predicate import Predicate
from windlass.raising.items import Item, LoadSource
from windlass.raising.lanes import Lanes, lanes_of

if TYPE_CHECKING:
    from windlass.raising.state import RaisingState


def lanes_in(item: Item) -> Item | Lanes:
    """The lanes that an item is just a wrapper of."""
    if isinstance(item, Index) and len(item.terms) == 1 and item.constant == 0:
        ((atom, factor),) = item.terms.items()
        if isinstance(atom, Data) and factor == 1:
            return lanes_of(atom)
    return item


def source_of(state: RaisingState, item: Item) -> LoadSource | None:
    """Where an item was loaded from, under a guard perhaps; None if it was computed."""
    return state.memo.sources.get(lanes_in(item))


def origin(state: RaisingState, item: Item) -> LoadSource | None:
    """Where an item was loaded from under no guard; None if it was not."""
    found = source_of(state, item)
    return found if found is not None and found.guard.is_true else None


def note_source(state: RaisingState, item: Item, source: LoadSource) -> None:
    """Remember where an item was loaded from."""
    state.memo.sources[lanes_in(item)] = source


def note_guarded(state: RaisingState, item: Item, loaded: Item, guard: Predicate, filling: Any) -> None:
    """Remember that an item is a number where the guard does not hold, and else what was loaded."""
    found = origin(state, loaded)
    if found is not None and origin(state, item) is None:
        note_source(state, item, replace(found, guard=guard, filling=filling))
