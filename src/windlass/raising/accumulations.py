"""What a loop carries and adds to, while its iterations are interpreted: roots, terms, and tests against them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from windlass.affine.dimensions import Dimension
from windlass.affine.domain import Domain
from windlass.ops.combiners import Combiner
from windlass.raising.items import Item

if TYPE_CHECKING:
    from windlass.raising.state import RaisingState


class Root:
    """What a loop carries from one iteration to the next in one place. Compared by identity."""

    def __init__(self, dtype: str, while_depth: int, loop_depth: int) -> None:
        self.dtype = dtype
        self.while_depth = while_depth
        self.loop_depth = loop_depth
        """How many loops are being vectorized where it is carried, its own among them."""


@dataclass(frozen=True, eq=False)
class AccumulatedTerm:
    """Something that the lanes of a domain combine into an accumulation."""

    item: Item
    domain: Domain


LEAVES_NAN = "leaves out NaN"
"""As `x < least ? x : least` does: NaN is never taken, but stays if it was there before."""

KEEPS_NUMBERS = "keeps numbers"
"""As `fmin` does: of NaN and a number the number."""

PENDING = "pending"
"""Half of `fmin` is there as yet."""


@dataclass(frozen=True, eq=False)
class Accumulation:
    """The root's value before the loop, combined with terms by one op; `combiner` is None while there are no terms.

    `nan` says how minima and maxima of floats treat NaN; empty where it spreads. Where there is a `leader`, the one
    term is kept whenever that other accumulation takes a new extreme by a comparison of this `direction`.
    """

    root: Root
    combiner: Combiner | None = None
    terms: tuple[AccumulatedTerm, ...] = ()
    nan: str = ""
    leader: Root | None = None
    direction: str = ""
    tested: Item | None = None
    """What is compared with the leader."""
    elements: frozenset[tuple[Dimension, Dimension]] = frozenset()
    """Where it is that of a local array's elements: the loops that count them, each with the array's own dimension."""


@dataclass(frozen=True, eq=False)
class AccumulationTest:
    """The comparison `item direction accumulation`, with which a loop keeps the least or greatest item.

    With the direction "NAN": whether the accumulation is NaN.
    """

    direction: str
    item: Item
    accumulation: Accumulation


def check_depth(state: RaisingState, accumulation: Accumulation) -> None:
    """Raise Obstacle unless the innermost loop is the one that carries the accumulation."""
    if accumulation.root.while_depth != state.while_depth:
        raise state.obstacle("a sum over an outer loop is made within a loop that can't be vectorized")
    counters = {counter for counter, _ in accumulation.elements}
    depth = accumulation.root.loop_depth
    if depth > len(state.frames) or any(frame.dimension not in counters for frame in state.frames[depth:]):
        raise state.obstacle("a sum over an outer loop is made within an inner one in a way that is no reduction")
