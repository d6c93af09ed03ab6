"""Integer terms without variables, such as indices made of counting and constants: what they are.

And starts of dynamic slices of which only one is possible.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from windlass.facts.ranges import range_of
from windlass.ir import Argument, Value
from windlass.ops import (
    BroadcastInDim,
    Concatenate,
    Constant,
    Elementwise,
    Iota,
    Pad,
    Reshape,
    Reverse,
    Slice,
    Transpose,
)
from windlass.ops.base import TensorOp

Integers = NDArray[np.int64]
Sizes = tuple[int, ...]

LARGEST_KNOWN = 1 << 15
"""Elements: of larger arrays nothing is found out."""

MOST_OPS = 48

_PLAIN = (BroadcastInDim, Concatenate, Constant, Elementwise, Iota, Pad, Reshape, Reverse, Slice, Transpose)


def known_integers(value: Value) -> Integers | None:
    """The elements of an integer term that has no variables; None where it has, or is large.

    >>> from windlass.ops import Add
    >>> known_integers(Add(Iota((3,), "i32", 0), Constant.of(5, "i32", (3,)))).tolist()
    [5, 6, 7]
    """
    found = known_elements(value) if value.tensor.is_integer else None
    return None if found is None else found.astype(np.int64)


def known_elements(value: Value) -> NDArray[Any] | None:
    """As `known_integers`, for booleans too."""
    ops = _list_ops(value)
    if ops is None:
        return None
    found: dict[Value, NDArray[Any]] = {}
    for op in reversed(ops):
        found[op] = np.asarray(op.evaluate(*[found[operand] for operand in op.operands]))
    return found[value]


def _list_ops(value: Value) -> list[TensorOp] | None:
    """The ops of a term, each before its operands; None if it has variables or is too large."""
    order: list[TensorOp] = []
    done: set[Value] = set()

    def visit(each: Value) -> bool:
        if each in done:
            return True
        fits = isinstance(each, _PLAIN) and each.tensor.size <= LARGEST_KNOWN and len(done) < MOST_OPS
        if not fits or not (each.tensor.is_integer or each.tensor.is_boolean):
            return False
        done.add(each)
        assert isinstance(each, TensorOp)
        if not all(visit(operand) for operand in each.operands):
            return False
        order.append(each)
        return True

    return order[::-1] if visit(value) else None


def costs_work(value: Value) -> bool:
    """Whether a term without variables computes anything."""
    return any(op.flops() for op in _list_ops(value) or ())


class Progression(NamedTuple):
    """The integers base, base + step, … along one axis, the same along all others; axis None: base everywhere."""

    base: int
    axis: int | None
    step: int

    def last(self, count: int) -> int:
        return self.base + (count - 1) * self.step


def find_progression(numbers: Integers) -> Progression | None:
    """The progression that an array is, if it is one.

    >>> find_progression(np.array([[1, 1], [4, 4], [7, 7]]))
    Progression(base=1, axis=0, step=3)
    """
    if numbers.size == 0:
        return None
    base = int(numbers.flat[0])
    varying = [axis for axis in range(numbers.ndim) if (np.diff(numbers, axis=axis) != 0).any()]
    if not varying:
        return Progression(base, None, 0)
    if len(varying) > 1:
        return None
    line = np.moveaxis(numbers, varying[0], 0).reshape(numbers.shape[varying[0]], -1)[:, 0]
    steps = np.diff(line)
    return Progression(base, varying[0], int(steps[0])) if (steps == steps[0]).all() else None


def known_starts(starts: tuple[Value, ...], shape: Sizes, sizes: Sizes) -> Sizes | None:
    """The start indices after clamping, if only one of each is possible."""
    found: list[int] = []
    for start, extent, size in zip(starts, shape, sizes, strict=True):
        first = known_start(start, extent - size)
        if first is None:
            return None
        found.append(first)
    return tuple(found)


def known_start(start: Value, latest: int) -> int | None:
    """A start index after clamping to 0 … latest, if only one is possible."""
    if latest == 0:
        return 0
    if isinstance(start, Constant):
        return min(max(int(start.number), 0), latest)
    if isinstance(start, Argument):
        return None
    found = range_of(start)
    if found.high <= 0:
        return 0
    return latest if found.low >= latest else None
