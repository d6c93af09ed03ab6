"""Atomic operations on global memory: all lanes combine their values into it, in no particular order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from windlass.ops.conversion import BitcastConvert
from windlass.ops.elementwise import Add, And, Maximum, Minimum, Negate, Or, Xor
from windlass.ops.loops import Atomic, CompareExchange
from windlass.raising import access
from windlass.raising.items import UNDEFINED, Item, Pointer, Undefined
from windlass.raising.lanes import Lanes
from windlass.raising.memory import note_access, put_view, record_access, view, word_index, write
from windlass.raising.obstacle import NO_MEMORY, NOT_RAISED, RESULT_OF_ATOMIC
from windlass.raising.reductions import Combiner

if TYPE_CHECKING:
    from windlass.raising.state import RaisingState


def run_atomic(state: RaisingState, op: Atomic) -> Item:
    """Combine each active lane's value into memory.

    Raises Obstacle where the old value is used: what it is depends on the order in which threads come.
    """
    from windlass.raising.interpreter import buffer_of, index_of

    if op.uses:
        raise state.obstacle(
            f"the result of an atomic operation ({op.kind}) is used, which depends on the order of threads",
            RESULT_OF_ATOMIC,
            "it runs as loops; or compute places with a scan instead",
        )
    pointer = buffer_of(state, op.buffer)
    offset = index_of(state, op.offset)
    value = state.lookup(op.value)
    if isinstance(value, Undefined):
        return UNDEFINED
    if op.kind == "exchange":
        if state.frames and any(frame.dimension in state.domain.dimensions for frame in state.frames):
            raise state.obstacle("iterations exchange values with memory")
        write(state, pointer, offset, value, op.value.dtype)
        return UNDEFINED
    if not isinstance(pointer, Pointer) or pointer.memory is None or pointer.memory.state.words is None:
        raise state.obstacle("an atomic operation goes through one of several pointers", NO_MEMORY)
    memory = pointer.memory
    combiner, dtype = _combiner(state, op)
    lanes = state.lanes(value, op.value.dtype)
    if op.kind in ("sub", "fsub"):
        lanes = Lanes(Negate(lanes.value), lanes.dims, lanes.lower)
    if dtype != lanes.dtype:
        lanes = Lanes(BitcastConvert(lanes.value, dtype), lanes.dims, lanes.lower)
    address = memory.segment + offset + pointer.byte_offset
    record_access(state, memory, f"atomic {op.kind}", address, dtype)
    index = word_index(state, address, dtype)
    domain = state.domain
    words = view(state, memory, dtype)
    last = state.builder.block.last
    dims = tuple(each for each in domain.dimensions if domain.box.extent(each) > 1)
    changed = access.scatter_combine(words, index, lanes, domain.box, domain.mask, combiner, dims)
    note_access(state, memory, f"atomic {op.kind}", last)
    put_view(memory, changed)
    return UNDEFINED


def _combiner(state: RaisingState, op: Atomic) -> tuple[Combiner, str]:
    """The op that combines, and the type that it is done in: unsigned orders compare as unsigned numbers."""
    dtype = op.value.dtype
    match op.kind:
        case "add" | "sub" | "fadd" | "fsub":
            return Add, dtype
        case "min" | "max" | "fmin" | "fmax":
            return (Minimum if op.kind.endswith("min") else Maximum), dtype
        case "umin" | "umax":
            return (Minimum if op.kind == "umin" else Maximum), f"u{dtype}"
        case "and":
            return And, dtype
        case "or":
            return Or, dtype
        case "xor":
            return Xor, dtype
        case _:
            raise state.obstacle(f"the atomic operation '{op.kind}' has no tensor form", NOT_RAISED)


def run_compare_exchange(state: RaisingState, op: CompareExchange) -> Item:
    """No tensor form: what a thread finds depends on the order of threads."""
    raise state.obstacle(
        "it compares and exchanges values in memory, which depends on the order of threads", RESULT_OF_ATOMIC
    )
