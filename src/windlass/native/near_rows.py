"""Places that are a row's for most strips of lanes: `u[min(i + 1, n - 1)]`, `u[(i + 1) % n]`, `u[east[i]]`.

A strip asks whether its lanes are neighbours; only where they are not, at a border, each lane goes to its place by
itself.
"""

from __future__ import annotations

from collections.abc import Mapping

from windlass.ir import Value
from windlass.loops import Load, Subscript
from windlass.native.lanes import Lanes
from windlass.native.strides import Stride
from windlass.ops.conversion import BitcastConvert, Convert
from windlass.ops.elementwise import Add, Multiply, Remainder, Select, ShiftLeft, Subtract
from windlass.ops.extremes import Maximum, Minimum

DEEPEST = 16


def may_be_row(offset: Value, strides: Mapping[Value, Stride], depth: int = DEEPEST) -> bool:
    """Whether an offset that varies grows from lane to lane but for clamps, choices and remainders, or may do so as it
    is read from a row of a table."""
    stride = strides.get(offset, 0)
    if stride is not None or not depth:
        return bool(stride)
    match offset:
        case Select():
            grown = (offset.on_true, offset.on_false)
        case Remainder() | ShiftLeft():
            grown = (offset.lhs,)
        case Load():  # a table of neighbours, which has a row's places but at borders
            return bool(strides.get(offset.offset, 0))
        case Maximum() | Minimum() | Add() | Subtract() | Multiply() | Convert() | BitcastConvert() | Subscript():
            grown = offset.operands
        case _:
            return False
    return any(may_be_row(each, strides, depth - 1) for each in grown)


def first_if_row(lanes: Lanes, offset: Value, width: int) -> tuple[str, str]:
    """The offset where a row would begin, and whether all active lanes are in it, so many bytes after each other.

    The row is that of a lane in the middle, which most borders are not near.
    """
    text, middle = lanes.text, lanes.width // 2
    many = text.vector("i64")
    # Lanes that are not active may hold a number that is none.
    offsets = text.put(f"freeze {many} {lanes.vector(offset)}")
    first = text.put(f"extractelement {many} {offsets}, i64 {middle}")
    first = text.put(f"sub i64 {first}, {middle * width}")
    steps = ", ".join(f"i64 {lane * width}" for lane in range(lanes.width))
    row = text.put(f"add {many} {text.splat('i64', first)}, <{steps}>")
    is_in_row = text.put(f"icmp eq {many} {offsets}, {row}")
    if lanes.mask is not None:
        is_idle = text.put(f"xor {text.vector('i1')} {lanes.mask}, splat (i1 true)")
        is_in_row = text.put(f"or {text.vector('i1')} {is_in_row}, {is_idle}")
    return first, text.all(is_in_row)
