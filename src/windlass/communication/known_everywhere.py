"""What every device knows without being told: constants, and what is computed of these and of undivided arguments.

Each axis of an array is divided in a way of its own. What several axes have in common, such as coordinates or wave
numbers, is copied for each, so that it ties none of them to another.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from windlass.communication.layouts import Sizes
from windlass.communication.places import owner_of
from windlass.ir import Block, Builder, Function, Value
from windlass.ops import BroadcastInDim, Constant, Iota, Pad, Reshape, Slice, TensorOp
from windlass.ops.pointwise import Elementwise


class FreeValues:
    """Which values of a function nothing divided, and nothing that a loop changes, goes into."""

    def __init__(self, function: Function, is_undivided: Callable[[Value], bool]) -> None:
        self.function = function
        self.is_undivided = is_undivided
        """Asked of the function's arguments."""
        self.known: dict[Value, bool] = {}

    def is_free(self, value: Value) -> bool:
        if value not in self.known:
            owner = owner_of(value)
            if owner is None:
                self.known[value] = value in self.function.arguments and self.is_undivided(value)
            else:
                is_plain = owner.is_pure and not owner.regions
                self.known[value] = is_plain and all(map(self.is_free, owner.operands))
        return self.known[value]


def copy_for_each_axis(function: Function, is_undivided: Callable[[Value], bool]) -> None:
    """Copy, in place, free values that are repeated along different axes."""
    free, copies = FreeValues(function, is_undivided), Copies()
    ways: dict[Value, Sizes] = {}
    for op in list(function.walk()):
        if not isinstance(op, BroadcastInDim | Reshape) or op.block is None or max(op.operand.shape, default=1) == 1:
            continue
        value = op.operand
        way = op.broadcast_dimensions if isinstance(op, BroadcastInDim) else op.shape
        if ways.setdefault(value, way) != way and free.is_free(value):
            with Builder(op.block, before=op, source=op.source):
                op.replace_operand(value, copies.copy(value, value.shape, way, op.block))


class Copies:
    """Copies of what is known on every device, for one layout: longer at the ends of some axes, where nobody looks.

    What several axes have in common, such as their wave numbers, is divided differently for each: so each has its own.
    """

    def __init__(self) -> None:
        self.known: dict[tuple[Value, Sizes, Sizes, Block | None], Value] = {}

    def copy(self, value: Value, shape: Sizes, axes: Sizes, block: Block | None) -> Value:
        """The value in a shape, at the place of the active builder, which is in the block; `axes` are those of the
        array that is computed with it."""
        key = (value, shape, axes, block)
        if key not in self.known:
            self.known[key] = self._copy(value, shape, axes, block)
        return self.known[key]

    def _copy(self, value: Value, shape: Sizes, axes: Sizes, block: Block | None) -> Value:
        match value:
            case Constant() if value.is_splat:
                return Constant.of(value.number, value.dtype, shape)
            case Constant():
                return Constant.of(np.pad(value.evaluate(), _widths(value, shape)), value.dtype)
            case Iota():
                return Iota(shape, value.dtype, value.iota_dimension)
            case BroadcastInDim():
                places = value.broadcast_dimensions
                inner = tuple(
                    size if size == 1 else shape[axis] for size, axis in zip(value.operand.shape, places, strict=True)
                )
                operand = self.copy(value.operand, inner, tuple(axes[axis] for axis in places), block)
                return BroadcastInDim(operand, shape, places)
            case Slice() if set(value.strides) == {1}:
                limits = tuple(start + size for start, size in zip(value.start_indices, shape, strict=True))
                if all(limit <= size for limit, size in zip(limits, value.operand.shape, strict=True)):
                    operand = self.copy(value.operand, value.operand.shape, axes, block)
                    return Slice(operand, value.start_indices, limits, value.strides)
            case Elementwise() if len(value.results) == 1:
                operands = (self.copy(each, shape if each.shape else (), axes, block) for each in value.operands)
                return value.with_fields(tuple(operands)).results[0]
            case TensorOp() if value.shape == shape and len(value.results) == 1:
                operands = (self.copy(each, each.shape, axes, block) for each in value.operands)
                return value.with_fields(tuple(operands)).results[0]
            case _:
                pass
        return pad_to(value, shape)


def pad_to(value: Value, shape: Sizes) -> Value:
    """The value, longer at the ends of some axes."""
    if value.shape == shape:
        return value
    _, more = zip(*_widths(value, shape), strict=True)
    none = (0,) * len(more)
    return Pad(value, Constant.of(0, value.dtype), none, more, none)


def _widths(value: Value, shape: Sizes) -> list[tuple[int, int]]:
    return [(0, size - own) for size, own in zip(shape, value.shape, strict=True)]
