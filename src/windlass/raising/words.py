"""Words of memory that all lanes load or store at once, and what loops, counters and reports are told of it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from windlass.affine.dimensions import Dimension
from windlass.affine.domain import Domain
from windlass.affine.index import Index
from windlass.affine.resolution import WordAccess
from windlass.ir import Op, Value
from windlass.ops.conversion import byte_width
from windlass.ops.elementwise import Select
from windlass.raising import access
from windlass.raising.alignment import check_alignment
from windlass.raising.arrivals import note_visit
from windlass.raising.bounds import check_inside, find_outside
from windlass.raising.codes import MISALIGNED, OUTSIDE
from windlass.raising.forwarding import MOST_STORES, forward, is_stored
from windlass.raising.frames import AccessRecord
from windlass.raising.items import Item, LoadSource, Memory, StoreRecord, from_lanes
from windlass.raising.origins import note_source, source_of
from windlass.raising.quotients import note_quotients
from windlass.raising.reinterpretation import reinterpret, write_back
from windlass.raising.report import AccessNote, OutsideNote
from windlass.raising.tiles import read_tile

if TYPE_CHECKING:
    from windlass.raising.state import RaisingState


def read_words(state: RaisingState, memory: Memory, address: Index, dtype: str) -> Item:
    """What each lane reads at an address."""
    return load_words(state, memory, word_index(state, address, dtype), dtype)


def load_words(state: RaisingState, memory: Memory, index: Index, dtype: str) -> Item:
    """What each lane reads at a word index."""
    domain = state.domain
    key = ("load", memory, memory.state.version, dtype, index, domain.box, domain.mask)
    if key in state.memo.results:
        return state.memo.results[key]
    last = state.builder.block.last
    lanes = None
    load = WordAccess(index, dtype, byte_width(dtype), domain)
    if not state.has_tiles:
        lanes = forward(memory.state.stores, load, memory.segment)
    if lanes is None and memory.state.stores:
        copied = read_tile(state, memory, index, dtype, load_words)
        if copied is not None:
            note_access(state, memory, "load", last, is_forwarded=True)
            state.memo.results[key] = copied
            return copied
        if state.has_tiles:
            lanes = forward(memory.state.stores, load, memory.segment)
    is_forwarded = lanes is not None
    if lanes is None:
        lanes = access.load(view(state, memory, dtype), index, domain.box, domain.mask, memory.row_strides(dtype))
    kind = note_access(state, memory, "load", last, is_forwarded)
    if all(isinstance(atom, Dimension) for atom in index.terms) and (kind == "gather" or _is_in_parts(state, last)):
        for frame in state.frames:
            frame.affine_gathers += frame.dimension in index.dimensions
    item = from_lanes(lanes)
    state.memo.results[key] = item
    note_source(state, item, LoadSource(memory, memory.state.version, dtype, index))
    return item


def _is_in_parts(state: RaisingState, last: Op | None) -> bool:
    """Whether the ops placed after `last` select between several slices."""
    op = state.builder.block.first if last is None else last.next
    count = 0
    while op is not None:
        count += isinstance(op, Select)
        op = op.next
    return count > 1


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
        assert memory.state.words is not None
        state.memo.idle.add(memory.state.words)
        record = StoreRecord(index, dtype, byte_width(dtype), domain, value, source_of(state, item))
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
        elif index.has_data and not frame.is_independent:
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
    if key not in state.memo.results:
        state.memo.results[key] = viewed = reinterpret(words, dtype)
        if memory.is_shared:
            # Where a store writes all of a tile nothing uses it: its size does not count.
            state.memo.idle.add(viewed)
    return state.memo.results[key]


def put_view(memory: Memory, changed: Value) -> None:
    """Let the memory hold the changed words, which may be of another type than its own."""
    words = memory.state.words
    assert words is not None
    if changed.shape[0] * byte_width(changed.dtype) != words.shape[0] * byte_width(words.dtype):
        changed = write_back(changed, words)
    memory.change(changed)


def word_index(state: RaisingState, address: Index, dtype: str) -> Index:
    """The word at an address, which is a multiple of the word's size by CUDA's rules (see alignment.py)."""
    return address.floor_divide(byte_width(dtype), state.box)


def record_access(state: RaisingState, memory: Memory, kind: str, address: Index, dtype: str) -> None:
    """Let the loops that are being vectorized, and counters, know of an access, once it is seen to be aligned."""
    check_alignment(state, address, dtype)
    note_visit(state, memory, address, byte_width(dtype))
    if state.has_tiles:
        note_quotients(state, address)
    is_covered = (
        kind == "load"
        and (memory.state.is_lost or any(memory in frame.copied for frame in state.frames))
        and is_stored(
            memory.state.stores,
            WordAccess(word_index(state, address, dtype), dtype, byte_width(dtype), state.domain),
        )
    )
    if memory.state.is_lost and kind != "store" and not is_covered:
        raise state.obstacle(f"what a loop has left in {memory.name} is read when the loop comes again")
    for frame in state.frames:
        whole = frame.domain
        is_unconditional = state.box == whole.box and state.domain.mask == whole.mask
        frame.accesses.append(
            AccessRecord(
                memory,
                address,
                byte_width(dtype),
                state.domain,
                state.barriers,
                kind,
                dtype,
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
