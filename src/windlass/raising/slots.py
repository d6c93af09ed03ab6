"""Elements of local arrays whose indices are all constant: one item each."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from windlass.affine.choices import box_condition
from windlass.affine.domain import Domain
from windlass.affine.index import Index
from windlass.ops.conversion import byte_width
from windlass.raising.carried_places import NeedsCells, SlotCell
from windlass.raising.conditions import merge_items
from windlass.raising.items import UNDEFINED, Accumulation, Item, Memory, Slot, SlotKey, UndefinedItem, fresh_version

if TYPE_CHECKING:
    from windlass.raising.state import RaisingState


def _slot_key(state: RaisingState, memory: Memory, offset: Index, dtype: str) -> SlotKey | None:
    """The slot at a constant offset; None where there is none or its neighbours overlap it."""
    place = offset.simplify(state.box).constant_value
    if place is None:
        return None
    width = byte_width(dtype)
    slots = memory.state.slots
    assert slots is not None
    for other, other_dtype in slots:
        if other < place + width and place < other + byte_width(other_dtype) and (other, other_dtype) != (place, dtype):
            return None
    return place, dtype


def read_slot(state: RaisingState, memory: Memory, offset: Index, dtype: str) -> Item | None:
    key = _slot_key(state, memory, offset, dtype)
    if key is None:
        return None

    slots = memory.state.slots
    assert slots is not None
    for frame in state.frames:
        if (memory, key) not in frame.written_slots:
            frame.read_slots.add((memory, key))
    slot = slots.get(key)
    if slot is None:
        return UNDEFINED
    if isinstance(slot.item, Accumulation) and slot.item.root.loop_depth != len(state.frames):
        raise NeedsCells([SlotCell(memory, key)])
    return slot.item


def write_slot(state: RaisingState, memory: Memory, offset: Index, item: Item, dtype: str) -> bool:
    key = _slot_key(state, memory, offset, dtype)
    if key is None:
        return False
    for frame in state.frames:
        is_whole = state.box == frame.domain.box and state.domain.mask == frame.domain.mask
        if not is_whole and (memory, key) not in frame.written_slots:
            # Lanes that are not stored to keep what an earlier iteration may have left.
            frame.read_slots.add((memory, key))
        frame.written_slots[memory, key] = None
    store_slot(state, memory, key, item)
    return True


def store_slot(state: RaisingState, memory: Memory, key: SlotKey, item: Item) -> None:
    """Let an element of a local array hold something else for the active lanes; others keep what they have."""
    slots = memory.state.slots
    assert slots is not None
    old = slots.get(key)
    domain = state.domain
    if old is not None and not isinstance(old.item, UndefinedItem) and domain != old.domain:
        home = memory.home
        assert home is not None
        condition = box_condition(domain.box, home.box) & domain.mask
        whole = Domain(domain.dimensions, home.box, home.mask)
        if not condition.simplify(whole.box).is_true:
            with state.within(whole):
                item = merge_items(state, condition, item, old.item, key[1])
        domain = whole
    memory.state = replace(memory.state, slots={**slots, key: Slot(item, domain)}, version=fresh_version())
