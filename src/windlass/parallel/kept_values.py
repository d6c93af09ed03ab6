"""Arrays of a block in which each thread has a place: what threads keep, or give to one another."""

from __future__ import annotations

from windlass.ir import Value
from windlass.loops import Allocate, Load, Store
from windlass.ops.comparison import Compare
from windlass.ops.conversion import Convert, bit_width, byte_width
from windlass.ops.creation import Constant
from windlass.ops.elementwise import Multiply

KEPT = "a value that threads keep"


def allocate_kept(dtype: str, threads: int) -> Allocate:
    """An array with a place for a number of each thread of a block."""
    return Allocate("local", threads * byte_width(_held(dtype)), KEPT, _held(dtype))


def store_kept(array: Allocate, number: Value, thread: Value) -> None:
    """Write the number to the place of a thread, told by its number (an i32)."""
    held = _held(number.dtype)
    Store(number if held == number.dtype else Convert(number, held), array, _place(thread, held))


def load_kept(array: Allocate, dtype: str, thread: Value) -> Value:
    """The number at the place of a thread."""
    held = _held(dtype)
    found = Load(array, _place(thread, held), held)
    return found if held == dtype else Compare(found, Constant.of(0, held), "NE")


def _place(thread: Value, held: str) -> Value:
    return Multiply(Convert(thread, "i64"), Constant.of(byte_width(held), "i64"))


def _held(dtype: str) -> str:
    return dtype if bit_width(dtype) >= 8 else "i8"
