"""Programs that give back only those parts of their arrays that they write: what is left as it was is copied nowhere.

A tensor program that writes the inside of an array gives the whole array, with its own argument behind the update. For
an array that lies in the caller's memory that is three copies too many: of the argument into the program, of the
argument into the result, and of the result back. The update alone is enough; it goes where the update would have.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from numpy.typing import NDArray

from windlass.ir import Argument, Block, Builder, Function, Value
from windlass.ops import Constant, DynamicUpdateSlice, Reshape, Return
from windlass.rewriting.driver import remove_dead_code

Array: TypeAlias = NDArray[Any]


@dataclass(frozen=True)
class WrittenPart:
    """Where an update goes: the extents in which the array is seen, and the slice of it."""

    shape: tuple[int, ...]
    slices: tuple[slice, ...]

    def write(self, array: Array, update: Array) -> None:
        """Put the update into a contiguous array.

            >>> import numpy as np
        >>> x = np.zeros(6, np.int32)
            >>> WrittenPart((2, 3), (slice(0, 2), slice(1, 2))).write(x, np.array([[7], [8]], np.int32))
            >>> x.tolist()
            [0, 7, 0, 0, 8, 0]
        """
        array.reshape(self.shape)[self.slices] = update


@dataclass(frozen=True)
class WrittenParts:
    """A function that gives updates for arrays, where its results are updates of its arguments.

    `parts` has for each of the first results of the function as it was the parts that the new one gives, in the order
    in which they are written, or None where it gives the whole; `taken` says which of the arguments are left.
    """

    function: Function
    parts: tuple[tuple[WrittenPart, ...] | None, ...]
    taken: tuple[int, ...]


def return_parts(function: Function, memories: Sequence[int]) -> WrittenParts:
    """The function with its first results as parts of its arguments `memories`. Works on a copy.

    >>> from windlass.ir.values import tensor_type
    >>> block = Block([tensor_type((4,), "f32"), tensor_type((2,), "f32")])
    >>> x, update = block.arguments
    >>> with Builder(block):
    ...     _ = Return((DynamicUpdateSlice(x, update, (Constant.of(1, "i32"),)),))
    >>> found = return_parts(Function("f", block), [0])
    >>> found.parts, found.taken
    (((WrittenPart(shape=(4,), slices=(slice(1, 3, None),)),),), (1,))
    """
    function = function.clone()
    body = function.body
    old = body.terminator
    results: list[Value] = []
    parts: list[tuple[WrittenPart, ...] | None] = []
    for result, memory in zip(old.operands, memories, strict=False):
        updates = _updates_of(result, function.arguments[memory])
        if updates is None:
            results.append(result)
            parts.append(None)
        else:
            results += [update.update for update, _ in updates]
            parts.append(tuple(part for _, part in updates))
    results += old.operands[len(memories) :]
    old.erase()
    with Builder(body):
        Return(tuple(results))
    remove_dead_code(body)
    taken = tuple(index for index, argument in enumerate(body.arguments) if argument.uses)
    return WrittenParts(_with_arguments(function, taken), tuple(parts), taken)


def _updates_of(result: Value, memory: Argument) -> list[tuple[DynamicUpdateSlice, WrittenPart]] | None:
    """The updates at known places that make the result of the argument, the first one first; None for other results."""
    value = result.operand if isinstance(result, Reshape) else result
    found: list[tuple[DynamicUpdateSlice, WrittenPart]] = []
    left = memory.tensor.size
    while isinstance(value, DynamicUpdateSlice):
        starts = [index.number for index in value.start_indices if isinstance(index, Constant)]
        extents = value.update.shape
        left -= value.update.tensor.size
        if len(starts) < len(extents) or left < 0:
            return None
        # An update that would reach beyond the array is moved inside.
        starts = [
            min(max(int(start), 0), whole - extent)
            for start, whole, extent in zip(starts, value.shape, extents, strict=True)
        ]
        slices = tuple(slice(start, start + extent) for start, extent in zip(starts, extents, strict=True))
        found.append((value, WrittenPart(value.shape, slices)))
        value = value.operand
    value = value.operand if isinstance(value, Reshape) else value
    return found[::-1] if found and value is memory else None


def _with_arguments(function: Function, taken: Sequence[int]) -> Function:
    """The function without the arguments that nothing uses."""
    old = function.arguments
    block = Block([old[index].type for index in taken])
    mapping: dict[Value, Value] = {old[index]: new for index, new in zip(taken, block.arguments, strict=True)}
    with Builder(block):
        for op in function.body:
            op.clone(mapping)
    return Function(function.name, block)
