"""Memories and what is read from and written to them by all lanes at once.

A memory is a flat tensor of words. Its state is a value that changes with each store, so that several pointers into
one memory see each other's stores. Words may be of any type: a memory is kept in the type it was last stored with,
and other types see a view of it.

Local arrays whose indices are all constant are kept as separate slots, one item each. Other local arrays, and shared
ones, are memories in which each thread (or block) has a segment of its own.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from windlass.affine.dimensions import Dimension
from windlass.affine.domain import Domain
from windlass.affine.index import ZERO, Index
from windlass.ir import Value
from windlass.ops.conversion import byte_width
from windlass.raising.forwarding import StoreRecord
from windlass.raising.items import (
    Item,
)

if TYPE_CHECKING:
    pass


_versions = itertools.count(1)


def fresh_version() -> int:
    """A number that no state of a memory has had."""
    return next(_versions)


SlotKey = tuple[int, str]
"""A slot's byte offset and dtype."""


ELEMENT_ORDER = 200
"""Dimensions of a local array's elements stand behind those of loops."""


@dataclass(frozen=True)
class ElementAxis:
    """An axis of a local array: the dimension that counts along it, and how many bytes its steps take."""

    dimension: Dimension
    stride: int


@dataclass(frozen=True)
class Slot:
    """What one element of a local array holds, and the lanes that it was last stored for."""

    item: Item
    domain: Domain


@dataclass(frozen=True)
class MemoryState:
    """What a memory holds at one moment: its words, or the slots of a local array.

    `segment` is where the part begins that a lane's offsets count from, in bytes: 0 for global memory. `stores` are
    the last stores to shared memory, with nothing but stores between them and now. `is_lost` says that a loop has left
    something else in shared memory than `words`: what is read has to be stored anew before.
    """

    words: Value | None
    version: int = 0
    is_written: bool = False
    slots: Mapping[SlotKey, Slot] | None = None
    segment: Index = ZERO
    stores: tuple[StoreRecord, ...] = ()
    is_lost: bool = False


class Memory:
    """A memory. What it holds is in `state`, which changes; all else stays."""

    def __init__(
        self,
        name: str,
        size_bytes: int,
        state: MemoryState,
        row_strides_bytes: tuple[int, ...] = (),
        home: Domain | None = None,
    ) -> None:
        self.name = name
        self.size_bytes = size_bytes
        self.row_strides_bytes = row_strides_bytes
        self.home = home
        self.misalignment = 0
        """How many bytes it begins behind a multiple of 16."""
        self.limit: int | None = None
        """The bytes of a segment that may be accessed, where that is less than its size."""
        self.axes: tuple[ElementAxis, ...] = ()
        """Those of a local array whose elements are lanes (see elements.py)."""
        self.state = state

    @property
    def segment(self) -> Index:
        return self.state.segment

    @property
    def is_shared(self) -> bool:
        """Whether each block has a segment of its own."""
        return self.limit is not None

    def change(self, words: Value) -> None:
        """Hold other words from now on."""
        self.state = replace(self.state, words=words, version=fresh_version(), is_written=True, stores=())

    def row_strides(self, dtype: str) -> tuple[int, ...]:
        """The declared row strides in words of a type."""
        width = byte_width(dtype)
        return tuple(stride // width for stride in self.row_strides_bytes if stride % width == 0)

    def __repr__(self) -> str:
        return self.name


# -- local arrays -----------------------------------------------------------------------------------------------------
