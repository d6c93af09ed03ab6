"""By which numbers addresses divide the dimensions of threads: such a dimension may better be several."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from windlass.affine.dimensions import Dimension
from windlass.affine.index import FloorDivide, Index, Modulo

if TYPE_CHECKING:
    from windlass.raising.state import RaisingState


def note_quotients(state: RaisingState, address: Index) -> None:
    """Remember by which numbers an address divides dimensions of threads: each may better be several dimensions."""
    for atom in address.terms:
        if not isinstance(atom, FloorDivide | Modulo):
            continue
        divisor, index = atom.divisor, atom.operand
        found = {divisor}
        while len(index.terms) == 1 and not index.constant:
            ((part, factor),) = index.terms.items()
            if isinstance(part, Dimension) and part in state.thread_dimensions and factor == 1:
                state.quotients[part] = state.quotients.get(part, frozenset()) | found
            if not isinstance(part, FloorDivide) or factor != 1:
                break
            found = {part.divisor, *(part.divisor * each for each in found)}
            index = part.operand


def find_cuts(state: RaisingState) -> dict[int, tuple[int, ...]]:
    """Where to cut dimensions of threads, told by their places, so that addresses divide none of them."""
    cuts: dict[int, tuple[int, ...]] = {}
    for place, dimension in enumerate(state.thread_dimensions):
        divisors = sorted(state.quotients.get(dimension, ()))
        sizes = (*divisors, dimension.size)
        if divisors and all(larger % smaller == 0 and larger > smaller for smaller, larger in pairwise(sizes)):
            cuts[place] = tuple(divisors)
    return cuts
