"""Places in memory that loops carry values in."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

from windlass.affine.dimensions import Dimension
from windlass.affine.index import Index
from windlass.raising.items import Memory, SlotKey


@dataclass(frozen=True)
class SlotCell:
    """An element of a local array."""

    memory: Memory
    key: SlotKey


@dataclass(frozen=True)
class PlaceCell:
    """A value of some dtype at an address, in bytes, that is the same in all iterations."""

    memory: Memory
    address: Index
    dtype: str


Cell: TypeAlias = "SlotCell | PlaceCell"


class NeedsCells(Exception):
    """The loop can be vectorized if these places are treated as variables that it carries."""

    def __init__(self, cells: Iterable[Cell], past: Iterable[Dimension] = ()) -> None:
        super().__init__("places in memory carry values")
        self.cells = tuple(dict.fromkeys(cells))
        self.past = frozenset(past)
        """Loops that count the cells' elements: it is a loop around them that carries the values."""
