"""Structs passed by value: a small read-only memory whose scalars are known one by one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from windlass.affine.dimensions import Box
from windlass.affine.domain import Domain
from windlass.affine.predicate import TRUE
from windlass.ir import Value
from windlass.loops.launch_specification import KnownScalar, RecordArgument
from windlass.ops.conversion import BitcastConvert, Convert, bit_width
from windlass.raising.arithmetic import constant_item
from windlass.raising.items import Item, Memory, MemoryState, Pointer, Slot, SlotKey, is_integer, scalar_item
from windlass.raising.reductions import wrapped

if TYPE_CHECKING:
    from windlass.raising.state import RaisingState


def record_memory(state: RaisingState, name: str, given: RecordArgument, traced: Iterator[Value]) -> Pointer:
    """A pointer to the record, as to a local array with one slot for each scalar."""
    slots: dict[SlotKey, Slot] = {}
    home = Domain((), Box(), TRUE)
    for offset, leaf in given.leaves:
        dtype = loop_level_dtype(leaf.dtype)
        item = known_item(leaf, dtype) if isinstance(leaf, KnownScalar) else traced_item(next(traced), dtype)
        slots[offset, dtype] = Slot(item, home)
    memory = Memory(name, given.size, MemoryState(None, slots=slots), home=home)
    state.memories.append(memory)
    return Pointer(memory)


def loop_level_dtype(dtype: str) -> str:
    """The dtype as the loop level has it in memory: integers have no sign there, booleans are bytes.

    >>> loop_level_dtype("ui32"), loop_level_dtype("f32"), loop_level_dtype("i1")
    ('i32', 'f32', 'i8')
    """
    if dtype == "i1":
        return "i8"
    return dtype[1:] if dtype.startswith("ui") else dtype


def known_item(given: KnownScalar, dtype: str) -> Item:
    """A known number as a value of the loop level's dtype."""
    number = given.value
    if dtype == "i1":
        return constant_item(bool(number), dtype)
    if is_integer(dtype):
        return constant_item(wrapped(int(number), dtype), dtype)  # pyright: ignore[reportArgumentType]
    return constant_item(number, dtype)


def traced_item(value: Value, dtype: str) -> Item:
    """A traced number as a value of the loop level's dtype."""
    if value.dtype == dtype:
        return scalar_item(value)
    if "i1" in (value.dtype, dtype) or bit_width(value.dtype) != bit_width(dtype):
        return scalar_item(Convert(value, dtype))
    return scalar_item(BitcastConvert(value, dtype))
