"""SharedMemory memory that each iteration of a loop fills anew: iterations side by side have a copy each.

    for (int t = 0; t < n / TILE; t++) {
        tile[threadIdx.y][threadIdx.x] = a[...];
        __syncthreads();
        for (int k = 0; k < TILE; k++) sum += tile[threadIdx.y][k] * ...;
        __syncthreads();
    }

Its iterations are ordered by barriers only because they share the tile. With a copy for each (the classical
privatization of arrays: Tu and Padua 1993) they are independent, and the loop becomes one sum over `t` and `k`. That
is right where an iteration reads nothing that an earlier one has left, which is shown in one of two ways: a store
before it in the same iteration surely wrote what is read; or all stores that may have written it come before it and
write the same places in every iteration.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from windlass.affine.dimensions import Dimension
from windlass.affine.index import Atom, Data, Index, RuntimeScalar, dimensions_of, parts_of
from windlass.ir import Block, BufferType, Op, Terminator, Value
from windlass.loops import Atomic, AtomicUpdate, Barrier, CompareExchange, DoWhile, For, Store, ViewBuffer
from windlass.ops.conversion import byte_width
from windlass.raising import emission
from windlass.raising.frames import AccessRecord, VectorFrame, is_within
from windlass.raising.items import Memory, MemoryState, Pointer, fresh_version
from windlass.raising.lanes import lanes_of

if TYPE_CHECKING:
    from windlass.raising.state import RaisingState


@dataclass(frozen=True)
class SharedMemory:
    """A shared memory as it was before a loop, whether what follows reads it, and whether the loop comes again."""

    memory: Memory
    before: MemoryState
    is_read_later: bool
    is_repeated: bool


def has_barrier(block: Block) -> bool:
    """Whether threads wait for each other in the block."""
    return any(isinstance(op, Barrier) for op in block.walk())


def give_copies(state: RaisingState, op: For, dimension: Dimension) -> list[SharedMemory]:
    """Let each iteration have a copy of each shared memory that the loop stores to, as it is before the loop."""
    copied: list[SharedMemory] = []
    for memory in stored_to(state, op.body.block):
        before = memory.state
        words = before.words
        assert words is not None
        count = words.shape[0]
        copies = emission.broadcast(words, (dimension.size, count), [1])
        segment = before.segment + Index.of(dimension).scale(count * byte_width(words.dtype))
        state_of_copies = MemoryState(
            emission.reshape(copies, (dimension.size * count,)),
            fresh_version(),
            before.is_written,
            segment=segment,
            is_lost=before.is_lost,
        )
        copied.append(SharedMemory(memory, before, _is_read_outside(state, op, memory), _is_within_loop(op)))
        memory.state = state_of_copies
    return copied


def take_back_copies(
    state: RaisingState, frame: VectorFrame, copied: Sequence[SharedMemory], dimension: Dimension, is_ragged: bool
) -> None:
    """Let shared memories hold what the last iteration left in them.

    Raises Obstacle where an iteration may read what an earlier one left, or where it is not known what is left.
    """
    for each in copied:
        records = [record for record in frame.accesses if record.memory is each.memory]
        _check_iterations(state, frame, each.memory, records)
        # Within another loop, what reads from before it will read what it leaves now.
        reads_from_before = any(record.kind != "store" and not record.is_covered for record in records)
        is_read_later = each.is_read_later or (each.is_repeated and reads_from_before)
        if is_read_later and (is_ragged or not all(_is_same_each_time(frame, record) for record in records)):
            raise state.obstacle(f"what the loop leaves in {each.memory.name} depends on the iteration")
        words, left = each.memory.state.words, each.before.words
        assert words is not None and left is not None
        if is_read_later:
            count = words.shape[0] // dimension.size
            left = emission.take_slice(words, [words.shape[0] - count], [words.shape[0]])
        is_lost = each.is_repeated and not is_read_later
        each.memory.state = replace(
            each.before, words=left, version=fresh_version(), is_written=True, stores=(), is_lost=is_lost
        )
        # What nothing reads will be removed: its size does not count.
        state.memo.idle.add(words)


# -- which memories ---------------------------------------------------------------------------------------------------


def _base(value: Value) -> Value:
    while isinstance(value, ViewBuffer):
        value = value.buffer
    return value


def _memory_of(state: RaisingState, buffer: Value) -> Memory | None:
    item = state.environment.get(_base(buffer))
    return item.memory if isinstance(item, Pointer) else None


def stored_to(state: RaisingState, block: Block) -> list[Memory]:
    """The shared memories that ops of the block store to."""
    found: dict[Memory, None] = {}
    for op in block.walk():
        if isinstance(op, Store | Atomic | AtomicUpdate | CompareExchange):
            memory = _memory_of(state, op.buffer)
            if memory is not None and memory.is_shared:
                found[memory] = None
    return list(found)


def _is_within_loop(op: Op) -> bool:
    outer = op.parent_op
    return outer is not None and (isinstance(outer, For | DoWhile) or _is_within_loop(outer))


def _is_read_outside(state: RaisingState, loop: Op, memory: Memory) -> bool:
    """Whether anything but the loop may read a shared memory."""
    outermost: Op = loop
    while outermost.parent_op is not None:
        outermost = outermost.parent_op
    for region in outermost.regions:
        for op in region.walk():
            if isinstance(op, Store | ViewBuffer | For | DoWhile | Terminator) or is_within(op, loop):
                continue
            bases = [_base(operand) for operand in op.operands if isinstance(operand.type, BufferType)]
            if any(_memory_of(state, base) in (memory, None) for base in bases):
                return True
    return False


# -- what iterations see of each other --------------------------------------------------------------------------------


def _check_iterations(state: RaisingState, frame: VectorFrame, memory: Memory, records: Sequence[AccessRecord]) -> None:
    for place, load in enumerate(records):
        if load.kind == "store" or load.is_covered:
            continue
        for other, store in enumerate(records):
            if store.kind == "load" or not load.may_overlap(store, memory.segment):
                continue
            if other >= place or not _is_same_each_time(frame, store):
                raise state.obstacle(f"an iteration may read what an earlier one left in {memory.name}")


def _is_same_each_time(frame: VectorFrame, record: AccessRecord) -> bool:
    """Whether an access is made to the same places in every iteration."""
    dimension = frame.dimension
    return (
        record.while_depth == frame.while_depth
        and dimension not in record.mask.dimensions
        and record.box.bounds(dimension) == frame.domain.box.bounds(dimension)
        and not any(_changes(atom, frame) for atom in (record.address - record.memory.segment).terms)
    )


def _changes(atom: Atom, frame: VectorFrame) -> bool:
    """Whether an atom may differ between iterations, in other ways than counting lanes."""
    if isinstance(atom, Dimension):
        return atom is frame.dimension
    if isinstance(atom, RuntimeScalar):
        return frame.is_inner(atom.value)
    if isinstance(atom, Data):
        return frame.is_inner(lanes_of(atom).value) or frame.dimension in dimensions_of(atom)
    return any(_changes(part, frame) for index in parts_of(atom) for part in index.terms)
