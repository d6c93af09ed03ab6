"""Arrays while a tensor program is written as loops: in memory, or computed where their elements are asked for.

An element is asked for by its place along each axis, a number of the loop level and a constant: so neighbours are loads
at offsets from one address.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from windlass.ir import TensorType, Value
from windlass.loops import Load, Store, Subscript
from windlass.ops.comparison import Compare
from windlass.ops.conversion import Convert, bit_width, byte_width
from windlass.ops.creation import Constant
from windlass.ops.elementwise import Add, And, Multiply, Select, Subtract
from windlass.ops.extremes import Maximum, Minimum
from windlass.ops.movement import Concatenate, Pad

DTYPES = frozenset({"f32", "f64", "i1", *(f"{sign}i{width}" for sign in ("", "u") for width in (8, 16, 32, 64))})
"""Elements that native code loads, stores and computes with as XLA does."""


class Place(NamedTuple):
    """Where along an axis: at `offset` from a number (an i64), or from 0."""

    base: Value | None
    offset: int

    def moved(self, by: int) -> Place:
        return Place(self.base, self.offset + by)

    def value(self) -> Value:
        offset = Constant.of(self.offset, "i64")
        return offset if self.base is None else plus(self.base, offset)

    def times(self, factor: int) -> Place:
        if factor == 1 or self.base is None:
            return Place(self.base, self.offset * factor)
        return Place(Multiply(self.base, Constant.of(factor, "i64")), self.offset * factor)

    def from_end(self, extent: int) -> Place:
        """The same place counted from the other end."""
        last = extent - 1 - self.offset
        if self.base is None:
            return Place(None, last)
        return Place(Subtract(Constant.of(last, "i64"), self.base), 0)


FIRST = Place(None, 0)


def add_places(one: Place, other: Place) -> Place:
    """The second place, counted from the first on."""
    base = one.base if other.base is None else other.base if one.base is None else plus(one.base, other.base)
    return Place(base, one.offset + other.offset)


def moved_inside(number: Value, last: int) -> Place:
    """The place of that number, moved to between 0 and the last."""
    if last == 0:
        return FIRST
    if isinstance(number, Constant):
        return Place(None, min(max(int(number.number), 0), last))
    most = min(last, (1 << (bit_width(number.dtype) - (not number.dtype.startswith("u")))) - 1)
    inside = Minimum(Maximum(number, Constant.of(0, number.dtype)), Constant.of(most, number.dtype))
    return Place(as_i64(inside), 0)


Places: TypeAlias = tuple[Place, ...]


@dataclass(frozen=True)
class Memory:
    """A version of an array, in the memory that all its versions have in turn."""

    buffer: Value
    type: TensorType


@dataclass(frozen=True, eq=False)
class Elements:
    """An array that is computed where its elements are asked for, from what these memories hold then."""

    type: TensorType
    at: Callable[[Places], Value]
    buffers: frozenset[Value]


Written: TypeAlias = Value | Memory | Elements
"""What stands for a value of the tensor level: a number, or an array."""
ElementOf: TypeAlias = Callable[[Value, Places], Value]
"""What an array of the tensor level has at a place."""


def in_one_part(op: Concatenate, places: Places, element_of: ElementOf) -> Value:
    """An element of arrays that follow one another."""
    place = places[op.dimension]
    found: Value | None = None
    start = 0
    for part in op.inputs:
        extent = part.shape[op.dimension]
        within = place.moved(-start)
        if place.base is None:
            if 0 <= within.offset < extent:
                return element_of(part, (*places[: op.dimension], within, *places[op.dimension + 1 :]))
        elif extent:
            inside = Place(_moved_into(within.value(), extent - 1), 0)
            here = element_of(part, (*places[: op.dimension], inside, *places[op.dimension + 1 :]))
            before = Compare(place.value(), Constant.of(start, "i64"), "LT")
            found = here if found is None else Select(before, found, here)
        start += extent
    assert found is not None
    return found


def in_padding(op: Pad, places: Places, element_of: ElementOf, padding: Value) -> Value:
    """An element of an array with a border around it."""
    shape = op.operand.shape
    inner: list[Place] = []
    inside: Value | None = None
    for place, low, high, extent in zip(places, op.edge_padding_low, op.edge_padding_high, shape, strict=True):
        moved = place.moved(-low)
        if low <= 0 and high <= 0:
            inner.append(moved)
            continue
        number = moved.value()
        kept = _moved_into(number, extent - 1)
        holds = Compare(number, kept, "EQ")
        inside = holds if inside is None else And(inside, holds)
        inner.append(Place(kept, 0))
    found = element_of(op.operand, tuple(inner))
    return found if inside is None else Select(inside, found, padding)


def _moved_into(number: Value, last: int) -> Value:
    return Minimum(Maximum(number, Constant.of(0, "i64")), Constant.of(last, "i64"))


# -- numbers ----------------------------------------------------------------------------------------------------------


def as_dtype(value: Value, dtype: str) -> Value:
    return value if value.dtype == dtype else Convert(value, dtype)


def as_i64(value: Value) -> Value:
    if isinstance(value, Constant):
        return Constant.of(int(value.number), "i64")
    return as_dtype(value, "i64")


def plus(left: Value, right: Value) -> Value:
    pair = (left, right)
    numbers = [int(each.number) for each in pair if isinstance(each, Constant)]
    if len(numbers) == 2:
        return Constant.of(sum(numbers), "i64")
    if 0 in numbers:
        return right if isinstance(left, Constant) else left
    return Add(left, right)


def minus(left: Value, right: Value) -> Value:
    if isinstance(right, Constant):
        return plus(left, Constant.of(-int(right.number), "i64"))
    return Subtract(left, right)


# -- memory -----------------------------------------------------------------------------------------------------------


def byte_of(array: TensorType, places: Places) -> Value:
    """The byte where an element is."""
    indices: list[Value] = []
    strides: list[int] = []
    stride = byte_width(stored_dtype(array.dtype))
    start = 0
    for extent, place in zip(reversed(array.shape), reversed(places), strict=True):
        start += place.offset * stride
        if isinstance(place.base, Constant):
            start += int(place.base.number) * stride
        elif place.base is not None:
            indices.insert(0, place.base)
            strides.insert(0, stride)
        stride *= extent
    return Subscript(tuple(indices), tuple(strides), start) if indices else Constant.of(start, "i64")


def stored_dtype(dtype: str) -> str:
    """As what an element is in memory: a truth value is a byte."""
    return "ui8" if dtype == "i1" else dtype


def load(buffer: Value, byte: Value, dtype: str) -> Value:
    found = Load(buffer, byte, stored_dtype(dtype))
    return Compare(found, Constant.of(0, "ui8"), "NE") if dtype == "i1" else found


def store(value: Value, buffer: Value, byte: Value) -> None:
    Store(as_dtype(value, stored_dtype(value.dtype)), buffer, byte)
