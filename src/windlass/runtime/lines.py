"""Arrays that begin within a cache line, taken by a program from the beginning of that line on, without a copy.

XLA takes memory of the caller's as it is only where it begins at a multiple of 64 bytes. NumPy's large arrays begin 16
bytes after one. The line that an array begins in can be read as a whole, wherever it begins: so the program may take
the array together with what stands before it in that line, and slice that off. In a program that goes element by
element the slice costs nothing, since loops are fused (2048², five points: 1.06 ms instead of 0.97, and 1.86 with a
copy). Sums, products of matrices and loops would read more slowly, or have a copy made; they are left to be staged.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from windlass.ir import Block, Builder, Function, Op, Value, tensor_type
from windlass.ops import (
    BitcastConvert,
    BroadcastInDim,
    Concatenate,
    Constant,
    DynamicSlice,
    DynamicUpdateSlice,
    Gather,
    Iota,
    Pad,
    ReplicaId,
    Reshape,
    Return,
    Reverse,
    Slice,
    Transpose,
)
from windlass.ops.pointwise import Elementwise
from windlass.runtime.staging import ALIGNMENT, address_of

Array: TypeAlias = NDArray[Any]

FUSED: tuple[type[Op], ...] = (
    BitcastConvert,
    BroadcastInDim,
    Concatenate,
    Constant,
    DynamicSlice,
    DynamicUpdateSlice,
    Elementwise,
    Gather,
    Iota,
    Pad,
    ReplicaId,
    Reshape,
    Return,
    Reverse,
    Slice,
    Transpose,
)
"""Ops that XLA fuses with a slice of what they read."""


def reads_lines_well(function: Function) -> bool:
    """Whether a slice of each argument costs nothing: the function consists of ops that XLA fuses with slices."""
    return all(isinstance(op, FUSED) for op in function.walk())


def offset_in_line(array: Array) -> int:
    """Elements of a contiguous array's dtype that lie before it in its cache line; -1 where they are no whole number.

    >>> lines = np.zeros(1024, np.uint8)
    >>> start = -address_of(lines) % ALIGNMENT
    >>> array = lines[start + 16 : start + 80]
    >>> offset_in_line(array.view(np.float32)), offset_in_line(array.view(np.dtype("V32")))
    (4, -1)
    """
    count, rest = divmod(address_of(array) % ALIGNMENT, array.itemsize)
    return -1 if rest else count


def from_line_start(array: Array, offset: int) -> Array:
    """A contiguous array and the elements before it in its cache line, flat and sharing its memory: to be read only."""
    size = (array.size + offset) * array.itemsize
    memory: Any = (ctypes.c_char * size).from_address(address_of(array) - offset * array.itemsize)
    memory.owner = array  # XLA may read it longer than the caller keeps it: a launch may be interrupted
    return np.frombuffer(memory, array.dtype)


def take_from_line_start(function: Function, offsets: Mapping[int, int]) -> Function:
    """The function with arguments flat and so many elements longer, at the front, as `from_line_start` gives them.

    >>> block = Block([tensor_type((2, 3), "f32")])
    >>> with Builder(block):
    ...     _ = Return((block.arguments[0],))
    >>> [argument.type for argument in take_from_line_start(Function("f", block), {0: 4}).arguments]
    [tensor<10xf32>]
    """
    old = function.arguments
    block = Block(
        tensor_type((each.tensor.size + offsets[index],), each.dtype) if offsets.get(index) else each.type
        for index, each in enumerate(old)
    )
    mapping: dict[Value, Value] = {}
    with Builder(block):
        for index, (before, after) in enumerate(zip(old, block.arguments, strict=True)):
            offset = offsets.get(index, 0)
            mapping[before] = after
            if offset:
                size = before.tensor.size
                mapping[before] = Reshape(Slice(after, (offset,), (offset + size,), (1,)), before.shape)
        for op in function.body:
            op.clone(mapping)
    return Function(function.name, block)
