"""What a value of the loop level stands for while it is raised: one item for all threads.

* integers: `Index`, symbolic as long as possible; what is loaded or computed lane by lane is an atom in it,
* booleans: `Predicate`,
* floats: `Lanes`,
* buffers: `Pointer` or `PointerChoice`,
* values carried by a loop that is being turned into a reduction: `Accumulation` (see reductions.py),
* `UNDEFINED`: any value will do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from windlass.affine.dimensions import Dimension
from windlass.affine.index import Data, Index, Range, RuntimeScalar
from windlass.affine.predicate import Predicate
from windlass.ir import Value
from windlass.ops.base import FLOAT, INTEGER
from windlass.ops.conversion import bit_width
from windlass.raising.lanes import Lanes, condition_of

if TYPE_CHECKING:
    from windlass.raising.accumulations import Accumulation, AccumulationTest
    from windlass.raising.memory import Memory


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


Buffer: TypeAlias = "Pointer | PointerChoice"
Item: TypeAlias = (
    "Index | Predicate | Lanes | Pointer | PointerChoice | Accumulation | AccumulationTest | UndefinedItem"
)


def dtype_range(dtype: str) -> Range:
    """The least and the greatest value of an integer type.

    >>> dtype_range("ui8"), dtype_range("i16")
    ((0, 255), (-32768, 32767))
    """
    bits = bit_width(dtype)
    return (0, 2**bits - 1) if dtype.startswith("u") else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


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
