"""Local arrays whose elements are lanes: one item over dimensions of its own; loops' counters say the places in it.

A load at the counters of loops is the item with the loops' dimensions in place of the array's; a store is the reverse.
What the loops around accumulate in the array is an accumulation over the array's dimensions.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, TypeAlias

from windlass.affine.dimensions import Box, Dimension, in_order
from windlass.affine.domain import Domain
from windlass.affine.index import Atom, Data, Index
from windlass.affine.predicate import Predicate
from windlass.ir import Value
from windlass.ops.creation import Constant
from windlass.ops.elementwise import Multiply
from windlass.raising import emission
from windlass.raising.carried_places import Cell, NeedsCells, SlotCell
from windlass.raising.frames import VectorFrame
from windlass.raising.items import (
    UNDEFINED,
    AccumulatedTerm,
    Accumulation,
    Item,
    Memory,
    Slot,
    SlotKey,
    UndefinedItem,
    fresh_version,
    integer_item,
)
from windlass.raising.iterations import lanes_at
from windlass.raising.lanes import Lanes, lanes_of
from windlass.raising.obstacle import Obstacle
from windlass.raising.reductions import contract
from windlass.raising.slots import store_slot

if TYPE_CHECKING:
    from windlass.raising.state import RaisingState

Renaming: TypeAlias = Mapping[Dimension, Dimension]
"""Dimensions in place of others."""


class NotElementwise(Obstacle):
    """A local array is used in a way that its elements can't be lanes."""

    def __init__(self, state: RaisingState, memory: Memory, how: str) -> None:
        super().__init__(f"{memory.name} is {how}", state.position)
        self.is_final = True


def check_elements(state: RaisingState, cells: Iterable[Cell]) -> None:
    """Raise NotElementwise where a loop carries values in elements that a loop around it counts."""
    for cell in cells:
        if not isinstance(cell, SlotCell) or not cell.memory.axes:
            continue
        for frame in state.frames:
            if any(frame.element_places.get((cell.memory, cell.key), ())):
                raise NotElementwise(state, cell.memory, "added to by a loop within one that counts its elements")


def read_element(state: RaisingState, memory: Memory, offset: Index, dtype: str) -> Item:
    """What each lane reads at its byte offset.

    Raises NotElementwise where the array can't be read like that.
    """
    coordinates = _coordinates(state, memory, offset)
    key = _only_key(state, memory, dtype)
    inner = _note_places(state, memory, key, coordinates)
    for frame in inner:
        if (memory, key) not in frame.written_slots:
            frame.read_slots.add((memory, key))
    slot = (memory.state.slots or {}).get(key)
    if slot is None or isinstance(slot.item, UndefinedItem):
        return UNDEFINED
    item = slot.item
    counters = _counters(state, memory, coordinates)
    if isinstance(item, Accumulation):
        if any(frame in inner for frame in state.frames[item.root.loop_depth :]):
            raise NeedsCells([SlotCell(memory, key)], {each for place in coordinates for each in place.dimensions})
        if counters is None:
            raise NotElementwise(state, memory, "added to at some of its elements")
        return replace(item, elements=frozenset((counter, own) for own, counter in counters.items()))
    if counters is not None:
        return _renamed(state, memory, item, counters)
    if isinstance(item, Lanes):
        return _lanes_at(state, memory, item, coordinates)
    raise NotElementwise(state, memory, "read at some of its elements")


def write_element(state: RaisingState, memory: Memory, offset: Index, item: Item, dtype: str) -> None:
    """Each active lane writes its value at its byte offset.

    Raises NotElementwise where the array can't be written like that.
    """
    coordinates = _coordinates(state, memory, offset)
    key = _only_key(state, memory, dtype)
    counters = _counters(state, memory, coordinates)
    merged = _merged(state, memory, coordinates, item, dtype) if counters is None else None
    if counters is None and merged is None:
        _fill(state, memory, key, item, coordinates)
        return
    old = (memory.state.slots or {}).get(key)
    is_new = old is None or isinstance(old.item, UndefinedItem)
    for frame in _note_places(state, memory, key, coordinates, stores=True):
        is_whole = state.box == frame.domain.box and state.domain.mask == frame.domain.mask
        # Lanes that store in no iteration to an array that held nothing may find anything there.
        is_whole = is_whole or (is_new and _is_same_each_time(state, frame))
        if not is_whole and (memory, key) not in frame.written_slots:
            frame.read_slots.add((memory, key))
        frame.written_slots[memory, key] = None
    if merged is not None:
        item, domain = merged
        with state.within(domain):
            store_slot(state, memory, key, item)
        return
    places = {counter: own for own, counter in (counters or {}).items()}
    if isinstance(item, Accumulation):
        if item.elements != frozenset(places.items()):
            raise NotElementwise(state, memory, "added to by way of other elements")
        terms = tuple(_renamed_term(state, memory, term, places) for term in item.terms)
        item = replace(item, terms=terms, elements=frozenset())
    else:
        item = _renamed(state, memory, item, places)
    with state.within(_renamed_domain(state, memory, state.domain, places)):
        store_slot(state, memory, key, item)


def _is_same_each_time(state: RaisingState, frame: VectorFrame) -> bool:
    """Whether the same lanes are active in each iteration of a loop."""
    is_always = state.box.bounds(frame.dimension) == frame.domain.box.bounds(frame.dimension)
    return is_always and frame.dimension not in state.domain.mask.dimensions


def _only_key(state: RaisingState, memory: Memory, dtype: str) -> SlotKey:
    """The key of the one slot that holds all elements."""
    key = (0, dtype)
    if any(other != key for other in memory.state.slots or {}):
        raise NotElementwise(state, memory, "read and written as numbers of several types")
    return key


def _fill(state: RaisingState, memory: Memory, key: SlotKey, item: Item, coordinates: Sequence[Index]) -> None:
    """A store to some elements of an array that nothing else was written to: the others may hold the same number."""
    slots, home, number = memory.state.slots or {}, memory.home, _number(item)
    old = slots.get(key)
    assert home is not None
    if number is None or not (old is None or _number(old.item) == number):
        raise NotElementwise(state, memory, "written at some of its elements")
    for frame in state.frames:
        if (memory, key) in frame.element_places:
            raise NotElementwise(state, memory, "written at some of its elements")
        is_whole = state.box == frame.domain.box and state.domain.mask == frame.domain.mask
        filled = frame.filled_places.get((memory, key), frozenset())
        if is_whole and not any(coordinate.terms for coordinate in coordinates):
            filled |= {tuple(coordinate.constant for coordinate in coordinates)}
            frame.filled_places[memory, key] = filled
        if len(filled) == math.prod(axis.dimension.size for axis in memory.axes):
            frame.written_slots[memory, key] = None
    if old is None:
        slot = Slot(item, Domain(state.domain.dimensions, home.box, home.mask))
        memory.state = replace(memory.state, slots={**slots, key: slot}, version=fresh_version())


def _merged(
    state: RaisingState, memory: Memory, coordinates: Sequence[Index], item: Item, dtype: str
) -> tuple[Lanes, Domain] | None:
    """What is stored to all elements, of which several loops count those along one axis."""
    counters = [_even_counters(state, coordinate) for coordinate in coordinates]
    every = [counter for found in counters for counter in found or ()]
    if len(set(every)) < len(every) or isinstance(item, Accumulation | UndefinedItem):
        return None
    for axis, coordinate, found in zip(memory.axes, coordinates, counters, strict=True):
        if not found or coordinate.constant or min(coordinate.terms.values()) != 1:
            return None
        if state.box.count(found) != axis.dimension.size or any(state.box.lower(each) for each in found):
            return None
    if not state.domain.mask.dimensions.isdisjoint(every):
        return None
    lanes = state.lanes(item, dtype)
    if not set(lanes.dims).isdisjoint(every):
        others = [each for each in lanes.dims if each not in every]
        value = lanes.expand([*others, *every], state.box)
        own = [axis.dimension for axis in memory.axes]
        value = emission.reshape(value, (*state.box.shape(others), *(each.size for each in own)))
        lower = [*(state.box.lower(each) for each in others), *(0 for _ in own)]
        lanes = _in_order(value, [*others, *own], lower)
    dimensions = [each for each in state.domain.dimensions if each not in every]
    dimensions += [axis.dimension for axis in memory.axes]
    return lanes, Domain(tuple(dimensions), state.box.without(every), state.domain.mask)


def _even_counters(state: RaisingState, coordinate: Index) -> list[Dimension] | None:
    """The loops that count along an axis in equal steps, the outermost first; None if that is not all there is."""
    terms = sorted(coordinate.terms.items(), key=lambda term: -term[1])
    counters = [atom for atom, _ in terms if isinstance(atom, Dimension)]
    if not terms or len(counters) < len(terms) or terms[-1][1] < 1:
        return None
    if any(all(frame.dimension is not counter for frame in state.frames) for counter in counters):
        return None
    extents = state.box.shape(counters)
    steps = zip(pairwise(factor for _, factor in terms), extents[1:], strict=True)
    return counters if all(outer == inner * size for (outer, inner), size in steps) else None


def _number(item: Item) -> tuple[str, bytes] | int | None:
    """What tells a known number from others: zeros have signs."""
    match item:
        case Lanes() if not item.dims and isinstance(item.value, Constant):
            return item.dtype, item.value.array.tobytes()
        case Index():
            return item.constant_value
        case _:
            return None


# -- places -----------------------------------------------------------------------------------------------------------


def _coordinates(state: RaisingState, memory: Memory, offset: Index) -> tuple[Index, ...]:
    """The place along each axis."""
    rest = offset.simplify(state.box)
    found: list[Index] = []
    for axis in memory.axes:
        outer = {atom: factor for atom, factor in rest.terms.items() if factor % axis.stride == 0}
        inner = Index(rest.constant, {atom: factor for atom, factor in rest.terms.items() if atom not in outer})
        least, most = inner.value_range(state.box)
        place = least // axis.stride
        coordinate = Index(place, {atom: factor // axis.stride for atom, factor in outer.items()})
        lower, upper = coordinate.value_range(state.box)
        if most // axis.stride != place or lower < 0 or upper >= axis.dimension.size:
            raise NotElementwise(state, memory, "accessed across its rows")
        found.append(coordinate)
        rest = inner - place * axis.stride
    if rest.constant_value != 0:
        raise NotElementwise(state, memory, "accessed between its elements")
    return tuple(found)


def _counters(state: RaisingState, memory: Memory, coordinates: Sequence[Index]) -> dict[Dimension, Dimension] | None:
    """Which loop counts along each of the array's own dimensions, where there is one for each, and it counts all."""
    found: dict[Dimension, Dimension] = {}
    for axis, coordinate in zip(memory.axes, coordinates, strict=True):
        if coordinate.constant or len(coordinate.terms) != 1:
            return None
        ((counter, factor),) = coordinate.terms.items()
        if not isinstance(counter, Dimension) or factor != 1 or counter in found.values():
            return None
        if counter.size != axis.dimension.size or all(frame.dimension is not counter for frame in state.frames):
            return None
        found[axis.dimension] = counter
    return found


def _note_places(
    state: RaisingState, memory: Memory, key: SlotKey, coordinates: Sequence[Index], stores: bool = False
) -> list[VectorFrame]:
    """The loops that count no elements of this access; the others get to know which ones each iteration touches.

    Raises NotElementwise where iterations may touch each other's elements.
    """
    inner: list[VectorFrame] = []
    for frame in state.frames:
        places = tuple(
            (axis.dimension, coordinate)
            for axis, coordinate in zip(memory.axes, coordinates, strict=True)
            if frame.dimension in coordinate.dimensions
        )
        if not places:
            inner.append(frame)
        known = frame.element_places.get((memory, key), frozenset()) | {places}
        frame.element_places[memory, key] = known
        if stores and places:
            frame.counted_stores.add((memory, key))
        if len(known) > 1 and (memory, key) in frame.counted_stores:
            raise NotElementwise(state, memory, "accessed by an iteration at another's elements")
    return inner


def _lanes_at(state: RaisingState, memory: Memory, lanes: Lanes, coordinates: Sequence[Index]) -> Lanes:
    """The lanes at any places along the array's axes that loops count evenly."""
    for axis, coordinate in zip(memory.axes, coordinates, strict=True):
        own = axis.dimension
        if own not in lanes.dims:
            continue
        if coordinate.constant_value is not None:
            lanes = lanes_at(lanes, own, coordinate.constant_value)
            continue
        counters = _even_counters(state, coordinate)
        if counters is None or not set(lanes.dims).isdisjoint(counters):
            raise NotElementwise(state, memory, "read in an order that loops don't count evenly")
        lanes = lanes.cover(lanes.region.replace(own, 0, own.size))
        first, last = coordinate.value_range(state.box)
        value, dims = lanes.before_transpose()
        place = dims.index(own)
        extents = state.box.shape(counters)
        cut = emission.slice_axis(value, place, first, last + 1, min(coordinate.terms.values()))
        split = emission.reshape(cut, (*cut.shape[:place], *extents, *cut.shape[place + 1 :]))
        lower = [lanes.region.lower(each) for each in dims]
        lower[place : place + 1] = [state.box.lower(each) for each in counters]
        dims = (*dims[:place], *counters, *dims[place + 1 :])
        lanes = _in_order(split, dims, lower)
    return lanes


def _in_order(value: Value, dims: Sequence[Dimension], lower: Sequence[int]) -> Lanes:
    """Lanes of a value whose axes stand in any order."""
    order = in_order(dims)
    permutation = [dims.index(each) for each in order]
    return Lanes(emission.transpose(value, permutation), order, [lower[axis] for axis in permutation])


# -- other dimensions -------------------------------------------------------------------------------------------------


def _renamed(state: RaisingState, memory: Memory, item: Item, names: Renaming) -> Item:
    """The item over other dimensions of the same sizes.

    Raises NotElementwise for what can't be moved.
    """
    own = (
        set(item.dims) if isinstance(item, Lanes) else item.dimensions if isinstance(item, Index | Predicate) else set()
    )
    _check_apart(state, memory, own, names)
    match item:
        case Lanes():
            return _renamed_lanes(state, item, names)
        case Index():
            return _renamed_index(state, item, names)
        case Predicate():
            return _renamed_predicate(state, memory, item, names)
        case UndefinedItem():
            return item
        case _:
            raise NotElementwise(state, memory, "filled with what is no number")


def _check_apart(state: RaisingState, memory: Memory, dimensions: Collection[Dimension], names: Renaming) -> None:
    """Raise NotElementwise where a dimension would be called like another one that is there, too."""
    renamed = [names[each] for each in dimensions if each in names]
    if any(each in dimensions and each not in names for each in renamed):
        raise NotElementwise(state, memory, "accessed along a diagonal")


def _renamed_lanes(state: RaisingState, lanes: Lanes, names: Renaming) -> Lanes:
    if set(lanes.dims).isdisjoint(names):
        return lanes
    box = _renamed_box(lanes.region, names)
    # What is known of a value as a product is known of its own dimensions. It may stay without a user.
    state.memo.idle.add(lanes.value)
    factors = state.memo.factors.get(lanes.value)
    if factors is not None:
        left, right = (_renamed_lanes(state, factor, names) for factor in factors)
        product = Lanes.elementwise(Multiply, left, right, box=box)
        state.memo.factors[product.value] = (left, right)
        return product
    found = state.memo.contractions.get(lanes.value)
    if found is not None:
        left, right = (_renamed_lanes(state, factor, names) for factor in (found.left, found.right))
        for dimension in found.over:
            box = box.replace(dimension, *found.left.region.bounds(dimension))
        return contract(state, left, right, found.over, box)
    dims = [names.get(each, each) for each in lanes.dims]
    return _in_order(lanes.value, dims, lanes.lower)


def _renamed_index(state: RaisingState, index: Index, names: Renaming) -> Index:
    def leaf(atom: Atom) -> Index:
        if isinstance(atom, Dimension):
            return Index.of(names.get(atom, atom))
        if isinstance(atom, Data):
            return integer_item(_renamed_lanes(state, lanes_of(atom), names), (atom.lower, atom.upper))
        return Index.of(atom)

    return index if index.dimensions.isdisjoint(names) else index.rebuild(leaf)


def _renamed_predicate(state: RaisingState, memory: Memory, predicate: Predicate, names: Renaming) -> Predicate:
    if predicate.dimensions.isdisjoint(names):
        return predicate
    try:
        return predicate.substitute({old: Index.of(new) for old, new in names.items()})
    except ValueError:
        raise NotElementwise(state, memory, "accessed where data says so") from None


def _renamed_box(box: Box, names: Renaming) -> Box:
    return Box({names.get(each, each): box.bounds(each) for each in box.restricted})


def _renamed_domain(state: RaisingState, memory: Memory, domain: Domain, names: Renaming) -> Domain:
    dimensions = tuple(names.get(each, each) for each in domain.dimensions)
    return Domain(dimensions, _renamed_box(domain.box, names), _renamed_predicate(state, memory, domain.mask, names))


def _renamed_term(state: RaisingState, memory: Memory, term: AccumulatedTerm, names: Renaming) -> AccumulatedTerm:
    if set(term.domain.dimensions).isdisjoint(names):
        return term
    _check_apart(state, memory, term.domain.dimensions, names)
    item = _renamed(state, memory, term.item, names)
    return AccumulatedTerm(item, _renamed_domain(state, memory, term.domain, names))
