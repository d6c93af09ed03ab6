"""What threads find that come to one counter one after another: `place = atomicAdd(count, 1)`.

Each finds what was there before, and what all earlier threads have added: a running sum over the threads in an order,
which is the emulator's, block by block, and in a block thread by thread. That is one of the orders that the hardware
may take. A counter is one place for all threads of the grid, or one in the shared memory of each block.

What the threads find is right so long as nothing else comes to the counter meanwhile. All other accesses to its place
have to be of another time: of the blocks' own memory, before or after a barrier.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from windlass.affine.domain import Domain
from windlass.affine.index import Index
from windlass.loops import Atomic
from windlass.ops.conversion import byte_width
from windlass.ops.elementwise import Add, Subtract
from windlass.raising import access, emission
from windlass.raising.frames import Visit
from windlass.raising.items import Memory, is_integer
from windlass.raising.lanes import Lanes
from windlass.raising.obstacle import Obstacle
from windlass.raising.running_folds import running_fold

if TYPE_CHECKING:
    from windlass.raising.state import RaisingState

MOST_LANES = 1 << 26
"""Running sums are made over so many threads at most."""


def _meet(earlier: Visit, later: Visit, state: RaisingState) -> bool:
    """Whether threads may make two accesses to the same place, in an order that is not told."""
    if not earlier.may_meet(later):
        return False
    # Blocks don't wait for one another.
    is_of_block = earlier.memory.is_shared or math.prod(state.specification.grid) == 1
    barriers = state.meetings[earlier.time : later.time]
    return not (is_of_block and any(_covers(each, earlier.domain) and _covers(each, later.domain) for each in barriers))


def _covers(barrier: Domain, other: Domain) -> bool:
    """Whether all lanes of a domain are known to have come to a barrier."""
    is_inside = other.box.intersect(barrier.box) == other.box
    return is_inside and set(barrier.mask.conjuncts()) <= set(other.mask.conjuncts())


def note_visit(state: RaisingState, memory: Memory, address: Index, size: int) -> None:
    """Remember an access.

    Raises Obstacle where it comes to a counter at the same time as threads that were told what they find there.
    """
    visit = Visit(memory, address, size, state.domain, len(state.meetings))
    for each in state.visits:
        if each.obstacle is not None and _meet(each, visit, state):
            raise each.obstacle
    state.visits.append(visit)


def count_arrivals(
    state: RaisingState, op: Atomic, memory: Memory, address: Index, value: Lanes, obstacle: Obstacle
) -> Lanes | None:
    """What is added to a counter by the threads before each lane's; None where that can't be told.

    `obstacle` is what is said if a later access comes to the counter at the same time.
    """
    place = address - memory.segment if memory.is_shared else address
    count = math.prod(state.specification.grid) * math.prod(state.specification.block)
    is_repeated = state.frames or state.while_depth > state.serial_depth
    if op.kind not in ("add", "sub") or not is_integer(value.dtype) or is_repeated or count > MOST_LANES:
        return None
    visit = Visit(memory, address, byte_width(value.dtype), state.domain, len(state.meetings), obstacle)
    if place.simplify(state.box).dimensions or any(_meet(each, visit, state) for each in state.visits):
        return None
    state.visits.append(visit)
    return _add_up(state, value, memory.is_shared)


def _add_up(state: RaisingState, value: Lanes, by_block: bool) -> Lanes:
    """The sum of the values of all active lanes before each, in the grid or in its block."""
    thread = state.thread_number.simplify(state.box)
    threads = math.prod(state.specification.block)
    if thread.constant_value is not None:
        thread, threads = Index(0), 1
    blocks = math.prod(state.specification.grid)
    number = state.block_number.scale(threads) + thread
    nothing = emission.constant(0, value.dtype, (blocks * threads,))
    added = access.store(nothing, number, value, state.box, state.domain.mask)
    shape = (blocks, threads) if by_block else (1, blocks * threads)
    rows = emission.reshape(added, shape)
    before = emission.reshape(Subtract(running_fold(rows, Add, 0), rows), added.shape)
    return access.load(before, number, state.box, state.domain.mask)
