"""Whether accesses are at multiples of the size of what is accessed, as CUDA asks.

A word of memory is found by dividing its address by its size, so an address between two words would be rounded down.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from windlass.raising.assumptions import Assumption, assume_never
from windlass.raising.divisibility import is_multiple
from windlass.raising.enumeration import holds_at, points_of
from windlass.raising.index import ZERO, Index
from windlass.raising.obstacle import MISALIGNED
from windlass.raising.predicate import Predicate
from windlass.raising.reinterpretation import byte_width

if TYPE_CHECKING:
    from windlass.raising.state import RaisingState


def check_alignment(state: RaisingState, address: Index, dtype: str) -> None:
    """Raise Obstacle if an active lane is at no multiple; let the program look where that depends on data."""
    width = byte_width(dtype)
    if is_multiple(address, width):
        return
    is_between = Predicate.compare("NE", address.modulo(width, state.box), ZERO).simplify(state.box)
    if is_between.is_false:
        return
    reason = f"a value of {width} bytes is accessed at an address that is no multiple of {width}"
    found = _holds_somewhere(state, is_between)
    if found:
        raise state.obstacle(reason, MISALIGNED)
    if found is None:
        assume_never(state, is_between, Assumption(reason, state.position, MISALIGNED))


def _holds_somewhere(state: RaisingState, condition: Predicate) -> bool | None:
    """Whether a condition holds at some active lane; None where that is known at run time only."""
    both = state.domain.mask & condition
    points = points_of(both.dimensions, state.box)
    if points is None or both.has_data:
        return None
    return bool(holds_at(both, points).any())
