"""What loads and stores become, by what their pointers go into."""

from __future__ import annotations

from typing import TYPE_CHECKING

from windlass.affine.index import Index
from windlass.raising.allocation import make_addressable
from windlass.raising.cells import find_place, set_place
from windlass.raising.codes import NO_MEMORY
from windlass.raising.conditions import merge_items
from windlass.raising.elements import read_element, write_element
from windlass.raising.items import UNDEFINED, Buffer, Item, Memory, Pointer, PointerChoice
from windlass.raising.slots import read_slot, write_slot
from windlass.raising.words import read_words, record_access, write_words

if TYPE_CHECKING:
    from windlass.raising.state import RaisingState


def read(state: RaisingState, buffer: Buffer, offset: Index, dtype: str) -> Item:
    """What each lane reads at its byte offset."""
    if isinstance(buffer, PointerChoice):
        return _read_choice(state, buffer, offset, dtype)
    memory = _memory_of(state, buffer)
    if memory.axes:
        return read_element(state, memory, offset + buffer.byte_offset, dtype)
    if memory.state.slots is not None:
        found = read_slot(state, memory, offset + buffer.byte_offset, dtype)
        if found is not None:
            return found
        make_addressable(state, memory)
    address = memory.segment + offset + buffer.byte_offset
    cell = find_place(state, memory, address, dtype)
    if cell is not None:
        return state.places[cell].item
    record_access(state, memory, "load", address, dtype)
    return read_words(state, memory, address, dtype)


def write(state: RaisingState, buffer: Buffer, offset: Index, item: Item, dtype: str) -> None:
    """Each active lane writes its value at its byte offset."""
    if isinstance(buffer, PointerChoice):
        condition = buffer.condition.simplify(state.box)
        for side, pointer in ((condition, buffer.on_true), (~condition, buffer.on_false)):
            domain = state.domain.restrict(side)
            if not domain.is_empty:
                with state.within(domain):
                    write(state, pointer, offset, item, dtype)
        return
    memory = _memory_of(state, buffer)
    if memory.axes:
        write_element(state, memory, offset + buffer.byte_offset, item, dtype)
        return
    if memory.state.slots is not None:
        if write_slot(state, memory, offset + buffer.byte_offset, item, dtype):
            return
        make_addressable(state, memory)
    address = memory.segment + offset + buffer.byte_offset
    cell = find_place(state, memory, address, dtype)
    if cell is not None:
        set_place(state, cell, item)
        return
    record_access(state, memory, "store", address, dtype)
    write_words(state, memory, address, item, dtype)


def _memory_of(state: RaisingState, pointer: Pointer) -> Memory:
    if pointer.memory is None:
        raise state.obstacle(
            "it goes through a null pointer",
            NO_MEMORY,
            "pass an array for the pointer that is None, or guard the access",
        )
    return pointer.memory


def _read_choice(state: RaisingState, buffer: PointerChoice, offset: Index, dtype: str) -> Item:
    condition = buffer.condition.simplify(state.box)
    if condition.is_true or condition.is_false:
        return read(state, buffer.on_true if condition.is_true else buffer.on_false, offset, dtype)
    items: list[Item] = []
    domains = [state.domain.restrict(condition), state.domain.restrict(~condition)]
    for domain, pointer in zip(domains, (buffer.on_true, buffer.on_false), strict=True):
        if domain.is_empty:
            items.append(UNDEFINED)
            continue
        with state.within(domain):
            items.append(read(state, pointer, offset, dtype))
    return merge_items(state, condition, items[0], items[1], dtype)
