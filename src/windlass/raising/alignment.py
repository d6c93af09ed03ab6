"""Whether accesses are at multiples of the size of what is accessed, as CUDA asks.

A word of memory is found by dividing its address by its size, so an address between two words would be rounded down.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from windlass.affine.enumeration import holds_somewhere
from windlass.affine.index import ZERO, Index
from windlass.affine.predicate import Predicate
from windlass.ops.conversion import byte_width
from windlass.raising.assumptions import assume_never
from windlass.raising.codes import MISALIGNED
from windlass.raising.divisibility import is_multiple
from windlass.raising.items import Buffer, PointerChoice
from windlass.raising.report import Assumption

if TYPE_CHECKING:
    from windlass.raising.state import RaisingState


def check_alignment(state: RaisingState, address: Index, dtype: str) -> None:
    """Raise Obstacle if an active lane is at no multiple; let the program look where that depends on data."""
    _check_multiple(state, address, byte_width(dtype))


def check_vector_alignment(state: RaisingState, pointer: Buffer, offset: Index, width: int) -> None:
    """The same for the first member of a vector or struct, which is to lie at a multiple of `width`."""
    if isinstance(pointer, PointerChoice):
        for condition, choice in ((pointer.condition, pointer.on_true), (~pointer.condition, pointer.on_false)):
            with state.within(state.domain.restrict(condition)):
                check_vector_alignment(state, choice, offset, width)
    elif pointer.memory is not None:
        _check_multiple(state, offset + (pointer.byte_offset + pointer.memory.misalignment), width)


def _check_multiple(state: RaisingState, address: Index, width: int) -> None:
    if is_multiple(address, width):
        return
    is_between = Predicate.compare("NE", address.modulo(width, state.box), ZERO).simplify(state.box)
    if is_between.is_false:
        return
    reason = f"a value of {width} bytes is accessed at an address that is no multiple of {width}"
    found = holds_somewhere(state.domain.mask, is_between, state.box)
    if found:
        raise state.obstacle(reason, MISALIGNED)
    if found is None:
        assume_never(state, is_between, Assumption(reason, state.position, MISALIGNED))
