"""Local and shared arrays as they begin, and local arrays that become words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from windlass.affine.dimensions import Dimension
from windlass.affine.index import ZERO, Index
from windlass.ops.conversion import byte_width
from windlass.raising import emission
from windlass.raising.items import ELEMENT_ORDER, ElementAxis, Memory, MemoryState, UndefinedItem, fresh_version
from windlass.raising.words import store_words, word_index

if TYPE_CHECKING:
    from windlass.raising.state import RaisingState

WIDEST = 16
"""Segments begin at multiples of this, so that they hold whole words of any type."""


def allocate_local(state: RaisingState, name: str, size_bytes: int, axes: Sequence[tuple[int, int]] = ()) -> Memory:
    """A local array, one for each lane, in slots as yet. With axes (strides and sizes) its elements are lanes."""
    memory = Memory(name, size_bytes, MemoryState(None, slots={}), home=state.domain)
    memory.axes = tuple(
        ElementAxis(Dimension(f"element.{place}", size, ELEMENT_ORDER + place), stride)
        for place, (stride, size) in enumerate(axes)
    )
    state.memories.append(memory)
    return memory


def allocate_shared(state: RaisingState, name: str, size_bytes: int) -> Memory:
    """A shared array: a segment for each block. A negative size is the launch's dynamic one; all such are one array."""
    if size_bytes < 0:
        name, size_bytes = "dynamic shared memory", state.specification.shared_bytes
        found = next((memory for memory in state.memories if memory.name == name), None)
        if found is not None:
            return found
    limit = size_bytes
    size_bytes = -(-max(size_bytes, 1) // WIDEST) * WIDEST
    words = emission.constant(0, "ui8", (size_bytes * math.prod(state.specification.grid),))
    segment = state.block_number.scale(size_bytes)
    memory = Memory(name, size_bytes, MemoryState(words, segment=segment), (size_bytes,))
    memory.limit = limit
    state.memories.append(memory)
    return memory


def make_addressable(state: RaisingState, memory: Memory) -> None:
    """Give a local array words, a segment for each lane, since its slots are not enough: an index is not constant."""
    slots = memory.state.slots
    home = memory.home
    assert slots is not None and home is not None
    widths = {byte_width(dtype) for _, dtype in slots} or {4}
    dtypes = {dtype for _, dtype in slots}
    dtype = next(iter(dtypes)) if len(dtypes) == 1 else f"ui{8 * min(widths)}"
    if dtype == "i1":
        dtype = "ui8"
    owners = home.dimensions
    lane: Index = ZERO
    count = 1
    for dimension in reversed(owners):
        lane = lane + Index.of(dimension).scale(count)
        count *= dimension.size
    words = emission.constant(0, dtype, (count * memory.size_bytes // byte_width(dtype),))
    memory.row_strides_bytes = (memory.size_bytes,)
    memory.state = MemoryState(words, fresh_version(), segment=lane.scale(memory.size_bytes))
    for (place, slot_dtype), slot in slots.items():
        with state.within(slot.domain):
            index = word_index(state, memory.segment + place, slot_dtype)
            if not isinstance(slot.item, UndefinedItem):
                store_words(state, memory, index, slot.item, slot_dtype)
