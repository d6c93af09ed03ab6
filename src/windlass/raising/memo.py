"""What is known of values that were made, and results that would be the same again."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from windlass.affine.dimensions import Dimension
from windlass.affine.index import Index
from windlass.ir import Op, Value
from windlass.raising.history import Saved
from windlass.raising.items import LoadSource
from windlass.raising.lanes import Lanes

FactT = TypeVar("FactT")


@dataclass
class ByIdentity(Saved, Generic[FactT]):
    """Facts of objects, equal ones apart. It keeps the objects, so that no other takes one's place in memory.

    >>> facts = ByIdentity[str]()
    >>> one, other = [1], [1]
    >>> facts[one] = "mine"
    >>> facts.get(one), facts.get(other)
    ('mine', None)
    """

    facts: dict[int, tuple[Any, FactT]] = field(default_factory=dict[int, "tuple[Any, FactT]"])

    def __setitem__(self, holder: Any, fact: FactT) -> None:
        self.facts[id(holder)] = (holder, fact)

    def get(self, holder: Any) -> FactT | None:
        found = self.facts.get(id(holder))
        return None if found is None else found[1]


@dataclass
class Memo(Saved):
    """What was found out of values, and results by what they are made of.

    It holds for ops of one block, and of those within it: what is computed within is not seen outside.
    """

    results: dict[Any, Any] = field(default_factory=dict[Any, Any])
    """Loads by memory, version and index, ops by operands, conditions by box."""
    sources: ByIdentity[LoadSource] = field(default_factory=ByIdentity["LoadSource"])
    """Where items were loaded from (see origins.py)."""
    factors: dict[Value, tuple[Lanes, Lanes]] = field(default_factory=dict["Value", "tuple[Lanes, Lanes]"])
    """The factors of products."""
    contractions: dict[Value, Contraction] = field(default_factory=dict["Value", "Contraction"])
    """The factors of sums of products."""
    whole_floats: dict[Value, tuple[Lanes, Index, float]] = field(
        default_factory=dict["Value", "tuple[Lanes, Index, float]"]
    )
    """Floats that are an index and a constant (see whole_floats.py)."""
    moments: dict[tuple[Op | None, Value], Any] = field(default_factory=dict["tuple[Op | None, Value]", Any])
    """What block folds begin with: the words of an array at an op, or of a value (see block_folds.py)."""
    idle: set[Value] = field(default_factory=set[Value])
    """Values that may stay without a user, and are removed then: their size does not count."""


@dataclass(frozen=True)
class Contraction:
    """Two factors whose product was summed over some dimensions."""

    left: Lanes
    right: Lanes
    over: tuple[Dimension, ...]
