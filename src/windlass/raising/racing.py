"""Stores of several threads to one place that each makes of what it found there: an increment without an atomic.

What such a kernel computes depends on the order of its threads, so it has no tensor form. Threads that all store the
same thing, or things of which any one will do, are let be.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from windlass.affine.access import Access
from windlass.affine.index import Index
from windlass.ir import Argument, Op, Value
from windlass.loops import Load, Store
from windlass.ops.conversion import byte_width
from windlass.raising.codes import RACE
from windlass.raising.items import Memory, Pointer, dimensions_of_item
from windlass.raising.own_places import HELP, check_own_places, have_own_places

if TYPE_CHECKING:
    from windlass.raising.state import RaisingState

MOST_VISITED = 2000
MOST_PLACES = 64
"""Of a load that is repeated, so many places are remembered."""


def check_race(state: RaisingState, op: Store, offset: Index) -> None:
    """Raise Obstacle if lanes that store to one place make what they store of what they loaded from there.

    Stores of different things to one place are remembered: to load from there with no barrier between is a race, too.
    """
    pointer = state.environment.get(op.buffer)
    if not isinstance(pointer, Pointer) or pointer.memory is None or not _is_shared_by_threads(pointer.memory):
        return
    address = (pointer.memory.segment + offset + pointer.byte_offset).simplify(state.box)
    domain = state.domain
    store = Access(pointer.memory, address, byte_width(op.value.dtype), domain, state.barriers)
    # Blocks have segments of their own in shared memory: only threads of one block can meet there.
    is_shared = bool(pointer.memory.segment.terms)
    dependent = (offset if is_shared else address).dimensions
    several = [
        each
        for each in state.thread_dimensions
        if domain.box.extent(each) > 1
        and each in domain.dimensions
        and each not in dependent
        and not (is_shared and each in state.block_dimensions)
    ]
    if not several:
        _check_own_places(state, op, store)
        return
    differing = domain.mask.dimensions | dimensions_of_item(state.lookup(op.value))
    if not differing.isdisjoint(several):
        state.shared_stores.append(store)
    threads = [each for each in several if each not in domain.mask.dimensions]
    # Threads of one block that wait for one another between load and store have all loaded before any of them stores.
    waits = is_shared or state.block_number.dimensions.isdisjoint(several)
    if threads and _depends_on_load(state, op, store, waits):
        raise state.obstacle(
            f"several threads add to the same place of {pointer.memory.name} without an atomic operation",
            RACE,
            HELP,
        )
    _check_own_places(state, op, store)


def _check_own_places(state: RaisingState, op: Store, store: Access[Memory]) -> None:
    """See that threads that change what they find at an address are alone there."""
    memory, address = store.memory, store.address
    waits = bool(memory.segment.terms) or math.prod(state.specification.grid) == 1
    if not have_own_places(state, address) and any(
        loaded.memory is memory
        and (loaded.address - address).constant_value == 0
        and (loaded.time == store.time or not waits)
        for loaded in _loads_behind(state, op.value)[0]
    ):
        check_own_places(state, memory, address, op.value.dtype)


def _is_shared_by_threads(memory: Memory) -> bool:
    """Whether several threads can come to one place of a memory: local arrays have a segment for each."""
    return memory.state.words is not None and memory.home is None


def note_load(state: RaisingState, op: Load, offset: Index) -> None:
    """Remember where a load read, for stores that come after it.

    Raises Obstacle where it reads what several threads have stored to one place.
    """
    pointer = state.environment.get(op.buffer)
    if isinstance(pointer, Pointer) and pointer.memory is not None and _is_shared_by_threads(pointer.memory):
        address = (pointer.memory.segment + offset + pointer.byte_offset).simplify(state.box)
        loaded = Access(pointer.memory, address, byte_width(op.dtype_read), state.domain, state.barriers)
        for store in state.shared_stores:
            if store.time == loaded.time and loaded.may_meet(store):
                raise state.obstacle(
                    f"threads load from {pointer.memory.name} what several of them have stored to one place, "
                    "with no barrier between",
                    RACE,
                )
        state.loaded_from[op] = (*state.loaded_from.get(op, ()), loaded)[-MOST_PLACES:]


def _depends_on_load(state: RaisingState, op: Store, store: Access[Memory], waits: bool) -> bool:
    """Whether what is stored is made of what may have been loaded from there, perhaps by way of other memory.

    `waits` says whether the threads in question meet at barriers: none may be between.
    """
    behind, went_through_memory = _loads_behind(state, op.value)
    if went_through_memory:
        behind = [loaded for places in state.loaded_from.values() for loaded in places]
    return any((loaded.time == store.time or not waits) and loaded.may_meet(store) for loaded in behind)


def _loads_behind(state: RaisingState, value: Value) -> tuple[list[Access[Memory]], bool]:
    """Where the loads read that a value is made of, and whether there are any.

    What was loaded may have been made of loads from elsewhere, before it was stored.
    """
    found: list[Access[Memory]] = []
    went_through_memory = False
    seen: set[Value] = set()
    waiting = [value]
    while waiting and len(seen) < MOST_VISITED:
        each = waiting.pop()
        if each in seen:
            continue
        seen.add(each)
        owner = each if isinstance(each, Op) else getattr(each, "owner", None)
        if isinstance(each, Argument):
            block = each.block
            parent = block.parent.parent if block is not None and block.parent is not None else None
            if parent is not None and parent.results:
                waiting += [*parent.operands, *block.terminator.operands] if block is not None else []
            continue
        if isinstance(owner, Load):
            found += state.loaded_from.get(owner, [])
            went_through_memory = True
        elif isinstance(owner, Op):
            waiting += owner.operands
            for region in owner.regions:
                waiting += region.block.terminator.operands
    return found, went_through_memory
