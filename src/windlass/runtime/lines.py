"""Arrays that begin within a cache line, taken by a program from the beginning of that line on, without a copy.

XLA takes memory of the caller's as it is only where it begins at a multiple of 64 bytes. NumPy's large arrays begin 16
bytes after one. The line that an array begins in can be read as a whole, wherever it begins: so the program may take
the array together with what stands before it in that line, and slice that off. In a program that goes element by
element the slice costs nothing, since loops are fused (2048², five points: 1.06 ms instead of 0.97, and 1.86 with a
copy). A large matrix times a vector goes by blocks of rows (see `windlass.lowering.matrices_by_blocks`). Sums, other
products and loops would read more slowly, or have a copy made; they are left to be staged.
"""

from __future__ import annotations

import ctypes
from collections.abc import Collection, Iterable, Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from windlass.ir import Block, Builder, Function, Op, Value, tensor_type
from windlass.lowering.matrices_by_blocks import Memory, ProductByBlocks, matrix_by_blocks
from windlass.ops import (
    BitcastConvert,
    BroadcastInDim,
    Concatenate,
    Constant,
    DotGeneral,
    DynamicSlice,
    DynamicUpdateSlice,
    Gather,
    Iota,
    Pad,
    Reduce,
    ReduceWindow,
    ReplicaId,
    Reshape,
    Return,
    Reverse,
    Slice,
    Transpose,
)
from windlass.ops.pointwise import Elementwise
from windlass.runtime.staging import ALIGNMENT, LARGE, address_of, pool

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


def takes_line_well(function: Function, place: int) -> bool:
    """Whether a slice of one argument costs nothing, whatever the function does with its other arguments."""
    argument = function.arguments[place]
    return _fuses_with_slice(argument, function.body, argument, set())


def _fuses_with_slice(value: Value, body: Block, argument: Value, seen: set[Value]) -> bool:
    """Whether XLA fuses the slice of an argument, which the value was moved from, with all that reads the value."""
    if value in seen or (value is not argument and value.tensor.bytes < LARGE):
        return True  # a copy of little takes no time
    seen.add(value)
    for user in value.uses:
        if user.block is not body:
            return False  # in a loop or a branch, which begins with a copy
        if isinstance(user, Elementwise):
            # Sums are fused with the arithmetic before them, and with the slice; anything else takes what is computed.
            if not all(_is_computed(result, set()) for result in user.results):
                return False
        elif isinstance(user, FUSED):
            if not all(_fuses_with_slice(result, body, argument, seen) for result in user.results):
                return False
        elif value is not argument or matrix_by_blocks(user, {value}) is None:
            return False
    return True


def _is_computed(value: Value, seen: set[Value]) -> bool:
    """Whether nothing folds the value in the loop that computes it."""
    if value in seen:
        return True
    seen.add(value)
    return not any(
        isinstance(user, Reduce | ReduceWindow)
        or (isinstance(user, FUSED) and not all(_is_computed(result, seen) for result in user.results))
        for user in value.uses
    )


def has_large_products(function: Function, places: Iterable[int]) -> bool:
    """Whether a matrix that is made of these arguments goes block by block."""
    arguments = {function.arguments[place] for place in places}
    return any(matrix_by_blocks(op, arguments) is not None for op in function.body)


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


def placed(array: Array, offset: int) -> tuple[Array, Array | None]:
    """An array as a program takes it that reads it from so many elements after the beginning of a cache line on, and
    the copy that this took, which is to be given back to the pool.

    >>> lines = pool.empty(200, np.dtype(np.float32))
    >>> taken, copy = placed(lines[4:104], 4)
    >>> taken.shape, np.shares_memory(taken, lines), copy
    ((104,), True, None)
    >>> taken, copy = placed(lines[5:105], 4)
    >>> taken.shape, np.shares_memory(taken, lines), copy is taken
    ((104,), False, True)
    """
    if array.flags.c_contiguous and offset_in_line(array) == offset:
        return (from_line_start(array, offset) if offset else array), None
    copy = pool.empty(array.size + offset, array.dtype)
    whole = copy[offset:].reshape(array.shape)
    np.copyto(whole, array)
    return (copy, copy) if offset else (whole, copy)


def take_from_line_start(function: Function, offsets: Mapping[int, int], by_blocks: Collection[int] = ()) -> Function:
    """The function with arguments flat and so many elements longer, at the front, as `from_line_start` gives them.

    Products of matrices that are made of the arguments at `by_blocks` go by blocks, wherever these begin: so that the
    order of their sums does not depend on that.

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
    memories: dict[Value, Memory] = {}
    with Builder(block):
        for index, (before, after) in enumerate(zip(old, block.arguments, strict=True)):
            offset = offsets.get(index, 0)
            mapping[before] = after
            if offset:
                size = before.tensor.size
                mapping[before] = Reshape(Slice(after, (offset,), (offset + size,), (1,)), before.shape)
            if index in by_blocks:
                memories[before] = Memory(after if offset else Reshape(after, (before.tensor.size,)), offset)
        for op in function.body:
            matrix = matrix_by_blocks(op, memories)
            if matrix is not None and isinstance(op, DotGeneral):
                mapping[op] = ProductByBlocks(op, matrix, memories, mapping).multiply()
            else:
                op.clone(mapping)
    for op in reversed(list(block)):
        if op.is_pure and op.is_unused:
            op.erase()  # the whole of a matrix that goes by blocks
    return Function(function.name, block)
