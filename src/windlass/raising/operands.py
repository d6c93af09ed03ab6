"""What the operands of the kernel's ops stand for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from windlass.affine.index import Index
from windlass.affine.predicate import FALSE, Predicate
from windlass.ir import Value
from windlass.raising.codes import NO_MEMORY
from windlass.raising.items import Buffer, Pointer, PointerChoice, UndefinedItem

if TYPE_CHECKING:
    from windlass.raising.state import RaisingState


def buffer_of(state: RaisingState, value: Value) -> Buffer:
    """What a buffer operand stands for.

    Raises Obstacle where it is not known which memory it goes into.
    """
    item = state.environment[value]
    if isinstance(item, Pointer | PointerChoice):
        return item
    raise state.obstacle("it is not known which array a pointer goes into", NO_MEMORY, value=value)


def index_of(state: RaisingState, value: Value) -> Index:
    """An integer operand."""
    item = state.lookup(value)
    if isinstance(item, Index):
        return item
    if isinstance(item, UndefinedItem):
        return Index(0)
    raise state.obstacle("an address depends on earlier iterations in a way that is no plain counter", value=value)


def predicate_of(state: RaisingState, value: Value) -> Predicate:
    """A boolean operand."""
    item = state.lookup(value)
    if isinstance(item, Predicate):
        return item
    if isinstance(item, UndefinedItem):
        return FALSE
    raise state.obstacle("a condition depends on earlier iterations", value=value)
