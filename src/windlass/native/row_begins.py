"""Rows of neighbours whose place the data give: `image[row[j] * n + i]`.

The index is computed in 32 bits, and since `row[j]` may be anything it may wrap around between two lanes: it is no
place that grows from lane to lane. But a memory is smaller than what 32 bits count, so where the elements from the
first lane's on lie in it as a whole row, no lane has wrapped around.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from windlass.ir import Value
from windlass.loops import Subscript
from windlass.native.strides import Stride
from windlass.ops.conversion import Convert, bit_width
from windlass.ops.creation import Constant
from windlass.ops.elementwise import Add, Multiply, ShiftLeft

_PLACES = ("i64", "ui64")


@dataclass(frozen=True)
class RowBegin:
    """The place `scale * index + start`, in bytes, of a number in fewer bits that grows from lane to lane."""

    index: Value
    scale: int
    start: int


def find_row_begin(offset: Value, strides: Mapping[Value, Stride], width: int, size: int | None) -> RowBegin | None:
    """How an offset into a memory of so many bytes comes of an index in fewer bits, if it is a row's wherever the row
    lies in the memory: of elements of `width` bytes, side by side."""
    scale, start = 1, 0
    while not isinstance(offset, Convert):
        match offset:
            case Subscript(indices=(index,), strides=(stride,)):
                offset, start, scale = index, start + scale * offset.start, scale * stride
            case Multiply(operands=(index, Constant() as number)) | Multiply(operands=(Constant() as number, index)):
                offset, scale = index, scale * int(number.number)
            case ShiftLeft(operands=(index, Constant() as number)) if 0 <= int(number.number) < 32:
                offset, scale = index, scale << int(number.number)
            case Add(operands=(index, Constant() as number)) | Add(operands=(Constant() as number, index)):
                offset, start = index, start + scale * int(number.number)
            case _:
                return None
    index = offset.operand
    stride = strides.get(index, 0)
    if offset.dtype not in _PLACES or not index.dtype.lstrip("u").startswith("i") or stride is None or size is None:
        return None
    if scale * stride != width:
        return None
    # An index that wraps around comes from the largest number, or goes there, which lies beyond the memory.
    largest = (1 << (bit_width(index.dtype) - 1)) - 1
    return RowBegin(index, scale, start) if size + abs(start) < (largest >> 1) * abs(scale) else None
