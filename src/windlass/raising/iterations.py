"""The value that an item has in one iteration of a loop."""

from __future__ import annotations

from typing import TYPE_CHECKING

from windlass.affine.dimensions import Dimension
from windlass.affine.index import Atom, Data, Index
from windlass.affine.predicate import Predicate
from windlass.raising import emission
from windlass.raising.items import Item, from_lanes, integer_item
from windlass.raising.lanes import Lanes, lanes_of
from windlass.raising.materialize import materialize_condition

if TYPE_CHECKING:
    from windlass.raising.state import RaisingState


def lanes_at(lanes: Lanes, dimension: Dimension, place: int) -> Lanes:
    """The lanes where the dimension has a value, as lanes without it."""
    if dimension not in lanes.dims:
        return lanes
    axis = lanes.dims.index(dimension)
    if not 0 <= place - lanes.lower[axis] < lanes.value.shape[axis]:
        lanes = lanes.cover(lanes.region.replace(dimension, place, place + 1))
    start = place - lanes.lower[axis]
    cut = emission.slice_axis(lanes.value, axis, start, start + 1)
    dims = (*lanes.dims[:axis], *lanes.dims[axis + 1 :])
    lower = (*lanes.lower[:axis], *lanes.lower[axis + 1 :])
    return Lanes(emission.reshape(cut, (*cut.shape[:axis], *cut.shape[axis + 1 :])), dims, lower)


def at_iteration(state: RaisingState, item: Item, dimension: Dimension, place: int) -> Item:
    """What the item is where the dimension has a value."""
    match item:
        case Lanes():
            return lanes_at(item, dimension, place)
        case Index():
            if dimension not in item.dimensions:
                return item

            def leaf(atom: Atom) -> Index:
                if atom is dimension:
                    return Index(place)
                if isinstance(atom, Data) and dimension in atom.handle.dims:
                    return integer_item(lanes_at(lanes_of(atom), dimension, place), (atom.lower, atom.upper))
                return Index.of(atom)

            return item.rebuild(leaf, state.box)
        case Predicate():
            if dimension not in item.dimensions:
                return item
            try:
                return item.substitute({dimension: Index(place)}, state.box)
            except ValueError:
                box = state.box.restrict(dimension, place, place + 1)
                return from_lanes(lanes_at(materialize_condition(item, box), dimension, place))
        case _:
            return item
