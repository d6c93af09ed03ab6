"""Memories and what is read from and written to them by all lanes at once.

A memory is a flat tensor of words. Its state is a value that changes with each store, so that several pointers into
one memory see each other's stores. Words may be of any type: a memory is kept in the type it was last stored with,
and other types see a view of it.

Local arrays whose indices are all constant are kept as separate slots, one item each. Other local arrays, and shared
ones, are memories in which each thread (or block) has a segment of its own.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from windlass.affine.dimensions import Dimension
from windlass.affine.domain import Domain
from windlass.affine.index import ZERO, Data, Index
from windlass.affine.predicate import Predicate
from windlass.ir import Op, Value
from windlass.ops.elementwise import Select
from windlass.raising import access, emission
from windlass.raising.alignment import check_alignment
from windlass.raising.arrivals import note_visit
from windlass.raising.bounds import check_inside, find_outside
from windlass.raising.conditions import box_condition, merge_items
from windlass.raising.forwarding import MOST_STORES, Source, StoreRecord, forward, is_stored
from windlass.raising.frames import AccessRecord
from windlass.raising.items import (
    UNDEFINED,
    Buffer,
    Item,
    Pointer,
    PointerChoice,
    Undefined,
    from_lanes,
)
from windlass.raising.lanes import Lanes, lanes_of
from windlass.raising.obstacle import MISALIGNED, NO_MEMORY, OUTSIDE
from windlass.raising.register_tiles import note_quotients
from windlass.raising.reinterpretation import byte_width, reinterpret, write_back
from windlass.raising.report import AccessNote, OutsideNote
from windlass.raising.tiles import read_tile

if TYPE_CHECKING:
    from windlass.raising.state import RaisingState

WIDEST = 16
"""Segments begin at multiples of this, so that they hold whole words of any type."""

_versions = itertools.count(1)


def fresh_version() -> int:
    """A number that no state of a memory has had."""
    return next(_versions)


SlotKey = tuple[int, str]
"""A slot's byte offset and dtype."""


ELEMENT_ORDER = 200
"""Dimensions of a local array's elements stand behind those of loops."""


@dataclass(frozen=True)
class Axis:
    """An axis of a local array: the dimension that counts along it, and how many bytes its steps take."""

    dimension: Dimension
    stride: int


@dataclass(frozen=True)
class Slot:
    """What one element of a local array holds, and the lanes that it was last stored for."""

    item: Item
    domain: Domain


@dataclass(frozen=True)
class MemoryState:
    """What a memory holds at one moment: its words, or the slots of a local array.

    `segment` is where the part begins that a lane's offsets count from, in bytes: 0 for global memory. `stores` are
    the last stores to shared memory, with nothing but stores between them and now. `is_lost` says that a loop has left
    something else in shared memory than `words`: what is read has to be stored anew before.
    """

    words: Value | None
    version: int = 0
    is_written: bool = False
    slots: Mapping[SlotKey, Slot] | None = None
    segment: Index = ZERO
    stores: tuple[StoreRecord, ...] = ()
    is_lost: bool = False


class Memory:
    """A memory. What it holds is in `state`, which changes; all else stays."""

    def __init__(
        self,
        name: str,
        size_bytes: int,
        state: MemoryState,
        row_strides_bytes: tuple[int, ...] = (),
        home: Domain | None = None,
    ) -> None:
        self.name = name
        self.size_bytes = size_bytes
        self.row_strides_bytes = row_strides_bytes
        self.home = home
        self.misalignment = 0
        """How many bytes it begins behind a multiple of 16."""
        self.limit: int | None = None
        """The bytes of a segment that may be accessed, where that is less than its size."""
        self.axes: tuple[Axis, ...] = ()
        """Those of a local array whose elements are lanes (see elements.py)."""
        self.state = state

    @property
    def segment(self) -> Index:
        return self.state.segment

    @property
    def is_shared(self) -> bool:
        """Whether each block has a segment of its own."""
        return self.limit is not None

    def change(self, words: Value) -> None:
        """Hold other words from now on."""
        self.state = replace(self.state, words=words, version=fresh_version(), is_written=True, stores=())

    def row_strides(self, dtype: str) -> tuple[int, ...]:
        """The declared row strides in words of a type."""
        width = byte_width(dtype)
        return tuple(stride // width for stride in self.row_strides_bytes if stride % width == 0)

    def __repr__(self) -> str:
        return self.name


def read(state: RaisingState, buffer: Buffer, offset: Index, dtype: str) -> Item:
    """What each lane reads at its byte offset."""
    from windlass.raising.cells import find_place
    from windlass.raising.elements import read_element

    if isinstance(buffer, PointerChoice):
        return _read_choice(state, buffer, offset, dtype)
    memory = _memory_of(state, buffer)
    if memory.axes:
        return read_element(state, memory, offset + buffer.byte_offset, dtype)
    if memory.state.slots is not None:
        found = _read_slot(state, memory, offset + buffer.byte_offset, dtype)
        if found is not None:
            return found
        make_addressable(state, memory)
    address = memory.segment + offset + buffer.byte_offset
    cell = find_place(state, memory, address, dtype)
    if cell is not None:
        return state.places[cell].item
    record_access(state, memory, "load", address, dtype)
    return read_words(state, memory, address, dtype)


def read_words(state: RaisingState, memory: Memory, address: Index, dtype: str) -> Item:
    """What each lane reads at an address."""
    return load_words(state, memory, word_index(state, address, dtype), dtype)


def load_words(state: RaisingState, memory: Memory, index: Index, dtype: str) -> Item:
    """What each lane reads at a word index."""
    domain = state.domain
    key = ("load", memory, memory.state.version, dtype, index, domain.box, domain.mask)
    if key in state.memo:
        return state.memo[key]
    last = state.builder.block.last
    lanes = None
    if not state.register_tiles.arrays:
        lanes = forward(memory.state.stores, index, dtype, domain, memory.segment)
    if lanes is None and memory.state.stores:
        copied = read_tile(state, memory, index, dtype)
        if copied is not None:
            note_access(state, memory, "load", last, is_forwarded=True)
            state.memo[key] = copied
            return copied
        if state.register_tiles.arrays:
            lanes = forward(memory.state.stores, index, dtype, domain, memory.segment)
    is_forwarded = lanes is not None
    if lanes is None:
        lanes = access.load(view(state, memory, dtype), index, domain.box, domain.mask, memory.row_strides(dtype))
    kind = note_access(state, memory, "load", last, is_forwarded)
    if all(isinstance(atom, Dimension) for atom in index.terms) and (kind == "gather" or _is_in_parts(state, last)):
        for frame in state.frames:
            frame.affine_gathers += frame.dimension in index.dimensions
    item = from_lanes(lanes)
    state.memo[key] = item
    state.memo["origin", id(_lanes_in(item))] = (memory, memory.state.version, dtype, index, item)
    return item


def _is_in_parts(state: RaisingState, last: Op | None) -> bool:
    """Whether the ops placed after `last` select between several slices."""
    op = state.builder.block.first if last is None else last.next
    count = 0
    while op is not None:
        count += isinstance(op, Select)
        op = op.next
    return count > 1


def _lanes_in(item: Item) -> Item | Lanes:
    """The lanes that an item is just a wrapper of."""
    if isinstance(item, Index) and len(item.terms) == 1 and item.constant == 0:
        ((atom, factor),) = item.terms.items()
        if isinstance(atom, Data) and factor == 1:
            return lanes_of(atom)
    return item


def origin(state: RaisingState, item: Item) -> tuple[Memory, int, str, Index] | None:
    """Where an item was loaded from: memory, version, dtype and word index; None if it was computed."""
    found = state.memo.get(("origin", id(_lanes_in(item))))
    return None if found is None else found[:4]


def source_of(state: RaisingState, item: Item) -> Source | None:
    """Where an item was loaded from, under a guard perhaps; None if it was computed."""
    found = origin(state, item)
    if found is not None:
        return Source(*found)
    guarded = state.memo.get(("guarded", id(_lanes_in(item))))
    return None if guarded is None else guarded[0]


def note_guarded(state: RaisingState, item: Item, loaded: Item, guard: Predicate, filling: Any) -> None:
    """Remember that an item is a number where the guard does not hold, and else what was loaded."""
    found = origin(state, loaded)
    if found is not None:
        state.memo["guarded", id(_lanes_in(item))] = (Source(*found, guard, filling), item)


def write(state: RaisingState, buffer: Buffer, offset: Index, item: Item, dtype: str) -> None:
    """Each active lane writes its value at its byte offset."""
    from windlass.raising.cells import find_place, set_place
    from windlass.raising.elements import write_element

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
        if _write_slot(state, memory, offset + buffer.byte_offset, item, dtype):
            return
        make_addressable(state, memory)
    address = memory.segment + offset + buffer.byte_offset
    cell = find_place(state, memory, address, dtype)
    if cell is not None:
        set_place(state, cell, item)
        return
    record_access(state, memory, "store", address, dtype)
    write_words(state, memory, address, item, dtype)


def write_words(state: RaisingState, memory: Memory, address: Index, item: Item, dtype: str) -> None:
    """Each active lane writes its value at an address."""
    index = word_index(state, address, dtype)
    with state.within(last_iterations(state, index)):
        store_words(state, memory, index, item, dtype)


def store_words(state: RaisingState, memory: Memory, index: Index, item: Item, dtype: str) -> None:
    """Each active lane writes its value at a word index."""
    domain = state.domain
    words = view(state, memory, dtype)
    value = state.lanes(item, dtype)
    last = state.builder.block.last
    changed = access.store(words, index, value, domain.box, domain.mask, memory.row_strides(dtype))
    note_access(state, memory, "store", last)
    stores = memory.state.stores
    put_view(memory, changed)
    if memory.is_shared:
        # What it held before may have no user: its size does not count.
        state.memo["spread", id(memory.state.words)] = memory.state.words
        record = StoreRecord(index, dtype, value, domain, source_of(state, item))
        memory.state = replace(memory.state, stores=(*stores, record)[-MOST_STORES:])


def last_iterations(state: RaisingState, index: Index) -> Domain:
    """Of loops whose iterations all store to the same place, the last one stores last.

    Raises Obstacle where it is not known which iteration that is.
    """
    domain = state.domain
    for frame in state.frames:
        dimension = frame.dimension
        if domain.box.extent(dimension) <= 1:
            continue
        if dimension not in index.dimensions:
            if frame.is_fused:
                raise state.obstacle("iterations of all threads store to the same place")
            if dimension in domain.mask.dimensions:
                raise state.obstacle("which iteration stores last depends on data")
            lower, upper = domain.box.bounds(dimension)
            domain = Domain(
                domain.dimensions, domain.box.restrict(dimension, max(lower, upper - 1), upper), domain.mask
            )
        elif index.has_data:
            raise state.obstacle("iterations may store to the same place, which is known at run time only")
    return domain


def view(state: RaisingState, memory: Memory, dtype: str) -> Value:
    """The memory's words as words of a type."""
    words = memory.state.words
    assert words is not None
    if words.dtype == dtype:
        return words
    if "complex" in words.dtype or "complex" in dtype:
        raise state.obstacle(f"memory of {words.dtype} is read as {dtype}", MISALIGNED)
    key = ("view", memory, memory.state.version, dtype)
    if key not in state.memo:
        state.memo[key] = viewed = reinterpret(words, dtype)
        if memory.is_shared:
            # Where a store writes all of a tile nothing uses it: its size does not count.
            state.memo["spread", id(viewed)] = viewed
    return state.memo[key]


def put_view(memory: Memory, changed: Value) -> None:
    """Let the memory hold the changed words, which may be of another type than its own."""
    words = memory.state.words
    assert words is not None
    if changed.shape[0] * byte_width(changed.dtype) != words.shape[0] * byte_width(words.dtype):
        changed = write_back(changed, words)
    memory.change(changed)


def _memory_of(state: RaisingState, pointer: Pointer) -> Memory:
    if pointer.memory is None:
        raise state.obstacle(
            "it goes through a null pointer",
            NO_MEMORY,
            "pass an array for the pointer that is None, or guard the access",
        )
    return pointer.memory


def word_index(state: RaisingState, address: Index, dtype: str) -> Index:
    """The word at an address, which is a multiple of the word's size by CUDA's rules (see alignment.py)."""
    return address.floor_divide(byte_width(dtype), state.box)


def record_access(state: RaisingState, memory: Memory, kind: str, address: Index, dtype: str) -> None:
    """Let the loops that are being vectorized, and counters, know of an access, once it is seen to be aligned."""
    check_alignment(state, address, dtype)
    note_visit(state, memory, address, byte_width(dtype))
    if state.register_tiles.arrays:
        note_quotients(state, address)
    is_covered = (
        kind == "load"
        and (memory.state.is_lost or any(memory in frame.copied for frame in state.frames))
        and is_stored(memory.state.stores, word_index(state, address, dtype), dtype, state.domain)
    )
    if memory.state.is_lost and kind != "store" and not is_covered:
        raise state.obstacle(f"what a loop has left in {memory.name} is read when the loop comes again")
    for frame in state.frames:
        whole = frame.domain
        is_unconditional = state.box == whole.box and state.domain.mask == whole.mask
        frame.accesses.append(
            AccessRecord(
                memory,
                kind,
                address,
                byte_width(dtype),
                dtype,
                state.box,
                state.domain.mask,
                state.while_depth,
                is_unconditional,
                is_covered,
                state.position,
            )
        )
    if memory.segment.terms or memory.home is not None or memory.limit is not None:
        _check_segment(state, memory, address - memory.segment, dtype)
    elif memory in state.memories[: len(state.specification.memories)]:
        found = find_outside(address, byte_width(dtype), memory.size_bytes, state.domain)
        if found is not None:
            state.report.outside.append(OutsideNote(state.position, kind, memory.name, found, memory.size_bytes))
        check_inside(state, memory, address, byte_width(dtype), memory.size_bytes)


def _check_segment(state: RaisingState, memory: Memory, offset: Index, dtype: str) -> None:
    """Raise Obstacle where an access is known to go beyond a thread's or block's own segment."""
    limit = memory.size_bytes if memory.limit is None else memory.limit
    found = find_outside(offset.simplify(state.box), byte_width(dtype), limit, state.domain)
    if found is not None:
        raise state.obstacle(
            f"it accesses byte {found} of {memory.name}, which has {limit} bytes",
            OUTSIDE,
            "wl.emulate names the thread",
        )
    check_inside(state, memory, offset, byte_width(dtype), limit)


def note_access(state: RaisingState, memory: Memory, action: str, last: Op | None, is_forwarded: bool = False) -> str:
    """Note in the report what the ops placed after `last` show the access to have become."""
    op = state.builder.block.first if last is None else last.next
    names: set[str] = set()
    while op is not None:
        names.add(type(op).__name__)
        op = op.next
    kind = next(
        (
            kind
            for name, kind in (
                ("Gather", "gather"),
                ("Scatter", "scatter"),
                ("DynamicUpdateSlice", "update"),
                ("DynamicSlice", "dynamic slice"),
            )
            if name in names
        ),
        "slice" if action == "load" else "update",
    )
    state.report.accesses.append(AccessNote(state.position, action, memory.name, kind, is_forwarded))
    if memory.is_shared:
        state.report.tiles.add(memory.name)
    return kind


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


# -- local arrays -----------------------------------------------------------------------------------------------------


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


def _read_slot(state: RaisingState, memory: Memory, offset: Index, dtype: str) -> Item | None:
    key = _slot_key(state, memory, offset, dtype)
    if key is None:
        return None
    from windlass.raising.reductions import Accumulation

    slots = memory.state.slots
    assert slots is not None
    for frame in state.frames:
        if (memory, key) not in frame.written_slots:
            frame.read_slots.add((memory, key))
    slot = slots.get(key)
    if slot is None:
        return UNDEFINED
    if isinstance(slot.item, Accumulation) and slot.item.root.loop_depth != len(state.frames):
        from windlass.raising.cells import NeedsCells, SlotCell

        raise NeedsCells([SlotCell(memory, key)])
    return slot.item


def _write_slot(state: RaisingState, memory: Memory, offset: Index, item: Item, dtype: str) -> bool:
    key = _slot_key(state, memory, offset, dtype)
    if key is None:
        return False
    for frame in state.frames:
        is_whole = state.box == frame.domain.box and state.domain.mask == frame.domain.mask
        if not is_whole and (memory, key) not in frame.written_slots:
            # Lanes that are not stored to keep what an earlier iteration may have left.
            frame.read_slots.add((memory, key))
        frame.written_slots.add((memory, key))
    store_slot(state, memory, key, item)
    return True


def store_slot(state: RaisingState, memory: Memory, key: SlotKey, item: Item) -> None:
    """Let an element of a local array hold something else for the active lanes; others keep what they have."""
    slots = memory.state.slots
    assert slots is not None
    old = slots.get(key)
    domain = state.domain
    if old is not None and not isinstance(old.item, Undefined) and domain != old.domain:
        home = memory.home
        assert home is not None
        condition = box_condition(domain.box, home.box) & domain.mask
        whole = Domain(domain.dimensions, home.box, home.mask)
        if not condition.simplify(whole.box).is_true:
            with state.within(whole):
                item = merge_items(state, condition, item, old.item, key[1])
        domain = whole
    memory.state = replace(memory.state, slots={**slots, key: Slot(item, domain)}, version=fresh_version())


def allocate(state: RaisingState, name: str, size_bytes: int, axes: Sequence[tuple[int, int]] = ()) -> Memory:
    """A local array, one for each lane, in slots as yet. With axes (strides and sizes) its elements are lanes."""
    memory = Memory(name, size_bytes, MemoryState(None, slots={}), home=state.domain)
    memory.axes = tuple(
        Axis(Dimension(f"element.{place}", size, ELEMENT_ORDER + place), stride)
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
            if not isinstance(slot.item, Undefined):
                store_words(state, memory, index, slot.item, slot_dtype)
