"""What a value of the loop level stands for while it is raised: one item for all threads.

* integers: `Index`, symbolic as long as possible; what is loaded or computed lane by lane is an atom in it,
* booleans: `Predicate`,
* floats: `Lanes`,
* buffers: `Pointer` or `PointerChoice`,
* values carried by a loop that is being turned into a reduction: `Accumulation` (see reductions.py),
* `UNDEFINED`: any value will do.

Pointers go into memories, which hold items in turn. A memory is a flat tensor of words. Its state is a value that
changes with each store, so that several pointers into one memory see each other's stores. Words may be of any type: a
memory is kept in the type it was last stored with, and other types see a view of it. Local arrays whose indices are
all constant are kept as separate slots, one item each. Other local arrays, and shared ones, are memories in which each
thread (or block) has a segment of its own.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from windlass.affine.dimensions import Dimension
from windlass.affine.domain import Domain
from windlass.affine.index import ZERO, Data, Index, Range, RuntimeScalar
from windlass.affine.predicate import TRUE, Predicate
from windlass.affine.resolution import WordAccess
from windlass.ir import Value
from windlass.ops.base import FLOAT, INTEGER
from windlass.ops.combiners import Combiner
from windlass.ops.conversion import byte_width, dtype_range
from windlass.raising.lanes import Lanes, condition_of


class UndefinedItem:
    """A value that the program does not use in a way that matters."""

    def __repr__(self) -> str:
        return "undefined"


UNDEFINED = UndefinedItem()


@dataclass(frozen=True, eq=False)
class Pointer:
    """The place `byte_offset` bytes into a memory; None is what null points into."""

    memory: Memory | None
    byte_offset: int = 0


@dataclass(frozen=True, eq=False)
class PointerChoice:
    """`on_true` for the lanes where the condition holds, `on_false` for the others."""

    condition: Predicate
    on_true: Pointer | PointerChoice
    on_false: Pointer | PointerChoice


# -- what loops accumulate ---------------------------------------------------------------------------------------------


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


Buffer: TypeAlias = "Pointer | PointerChoice"
Item: TypeAlias = (
    "Index | Predicate | Lanes | Pointer | PointerChoice | Accumulation | AccumulationTest | UndefinedItem"
)


# -- memories ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class LoadSource:
    """Where a value was loaded from, and the number that it is instead where the guard does not hold."""

    memory: Memory
    version: int
    dtype: str
    index: Index
    guard: Predicate = TRUE
    filling: Any = None


@dataclass(frozen=True)
class StoreRecord(WordAccess):
    """What lanes stored: each active lane of the domain its value."""

    value: Lanes
    source: LoadSource | None
    """Where the value comes from, if it was just loaded."""


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


# -- items of values ---------------------------------------------------------------------------------------------------


def is_integer(dtype: str) -> bool:
    return dtype in INTEGER


def is_float(dtype: str) -> bool:
    return dtype in FLOAT


def from_lanes(lanes: Lanes, bounds: Range | None = None) -> Index | Predicate | Lanes:
    """The item for a computed value: integers become an atom of an index, booleans a condition.

    `bounds` are the least and greatest integer that active lanes hold, where more is known than the dtype says.
    """
    dtype = lanes.dtype
    if dtype == "i1":
        return condition_of(lanes)
    if not is_integer(dtype):
        return lanes
    return integer_item(lanes, bounds or dtype_range(dtype))


def integer_item(lanes: Lanes, bounds: Range) -> Index:
    """An index that is just these integers: one traced number where they don't differ from lane to lane."""
    if not lanes.dims:
        return Index.of(RuntimeScalar(lanes.value, *bounds))
    return Index.of(Data(lanes, *bounds))


def scalar_item(value: Value) -> Index | Predicate | Lanes:
    """The item for a rank-0 tensor."""
    return from_lanes(Lanes(value))


def dimensions_of_item(item: Item) -> frozenset[Dimension]:
    """The dimensions that an item may differ along."""
    match item:
        case Index() | Predicate():
            return item.dimensions
        case Lanes():
            return frozenset(item.dims)
        case _:
            return frozenset()
