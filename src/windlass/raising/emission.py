"""Data movement ops, left out where they would do nothing."""

from __future__ import annotations

from collections.abc import Sequence

from windlass.ir import Value
from windlass.ops.base import BroadcastInDim
from windlass.ops.comparison import Compare
from windlass.ops.creation import Constant, Iota
from windlass.ops.elementwise import Not
from windlass.ops.movement import Concatenate, Pad, Reshape, Reverse, Slice, Transpose


def constant(number: int | float | bool, dtype: str, shape: Sequence[int] = ()) -> Constant:
    """`number` in every element."""
    return Constant.of(number, dtype, tuple(shape))


def zero_like(value: Value) -> Constant:
    """A scalar zero of the value's dtype."""
    return Constant.of(0, value.dtype)


def splat_number(value: Value) -> object | None:
    """The number that fills a constant, or None for anything else."""
    if isinstance(value, Constant) and value.is_splat:
        return value.number
    return None


def _splat(value: Value, shape: Sequence[int]) -> Value | None:
    number = splat_number(value)
    return None if number is None else Constant.of(number, value.dtype, tuple(shape))


def take_slice(
    value: Value, starts: Sequence[int], limits: Sequence[int], strides: Sequence[int] | None = None
) -> Value:
    """A slice; limits are drawn in to just after the last element taken."""
    strides = tuple(strides) if strides is not None else (1,) * len(starts)
    tight = tuple(
        start + (limit - 1 - start) // stride * stride + 1 if limit > start else start
        for start, limit, stride in zip(starts, limits, strides, strict=True)
    )
    strides = tuple(
        1 if limit - start <= 1 else stride for start, limit, stride in zip(starts, tight, strides, strict=True)
    )
    if tuple(tight) == value.shape and not any(starts) and all(stride == 1 for stride in strides):
        return value
    shape = [-(-(limit - start) // stride) for start, limit, stride in zip(starts, tight, strides, strict=True)]
    filled = _splat(value, shape)
    return filled if filled is not None else Slice(value, tuple(starts), tight, strides)


def slice_axis(value: Value, axis: int, start: int, limit: int, stride: int = 1) -> Value:
    """A slice along one axis."""
    starts, limits, strides = [0] * len(value.shape), list(value.shape), [1] * len(value.shape)
    starts[axis], limits[axis], strides[axis] = start, limit, stride
    return take_slice(value, starts, limits, strides)


def pad(
    value: Value,
    low: Sequence[int],
    high: Sequence[int],
    interior: Sequence[int] | None = None,
    filling: int | float | bool = 0,
) -> Value:
    """Padding with a number; negative amounts cut."""
    interior = tuple(interior) if interior is not None else (0,) * len(low)
    if not any(low) and not any(high) and not any(interior):
        return value
    return Pad(value, Constant.of(filling, value.dtype), tuple(low), tuple(high), interior)


def pad_axis(value: Value, axis: int, low: int, high: int, filling: int | float | bool = 0) -> Value:
    """Padding of one axis."""
    lows, highs = [0] * len(value.shape), [0] * len(value.shape)
    lows[axis], highs[axis] = low, high
    return pad(value, lows, highs, None, filling)


def reshape(value: Value, shape: Sequence[int]) -> Value:
    """The same elements in row-major order with another shape."""
    shape = tuple(shape)
    if value.shape != shape and isinstance(value, Reshape):
        value = value.operand
    if value.shape == shape:
        return value
    filled = _splat(value, shape)
    return filled if filled is not None else Reshape(value, shape)


def transpose(value: Value, permutation: Sequence[int]) -> Value:
    """Axis i of the result is axis permutation[i] of the operand; a reshape where only axes of size 1 move."""
    permutation = tuple(permutation)
    if permutation == tuple(range(len(permutation))):
        return value
    shape = tuple(value.shape[axis] for axis in permutation)
    moved = [axis for axis in permutation if value.shape[axis] != 1]
    if moved == sorted(moved):
        return reshape(value, shape)
    return Transpose(value, permutation)


def broadcast(value: Value, shape: Sequence[int], axes: Sequence[int]) -> Value:
    """The operand's axis i becomes axis axes[i] of the result (its size must be that or 1)."""
    shape, axes = tuple(shape), tuple(axes)
    if value.shape == shape and axes == tuple(range(len(shape))):
        return value
    filled = _splat(value, shape)
    if filled is not None:
        return filled
    return BroadcastInDim(value, shape, axes)


def reverse(value: Value, axes: Sequence[int]) -> Value:
    """The elements in opposite order along some axes."""
    axes = tuple(axis for axis in axes if value.shape[axis] > 1)
    return Reverse(value, axes) if axes else value


def concatenate(values: Sequence[Value], axis: int) -> Value:
    """One after the other along an axis; empty ones are left out."""
    kept = [value for value in values if value.shape[axis]] or list(values[:1])
    return kept[0] if len(kept) == 1 else Concatenate(tuple(kept), axis)


def iota(shape: Sequence[int], dtype: str, axis: int) -> Value:
    """Each element is its place along the axis."""
    shape = tuple(shape)
    if shape[axis] == 1:
        return Constant.of(0, dtype, shape)
    return Iota(shape, dtype, axis)


def negate(value: Value) -> Value:
    """The opposite truth."""
    return value.operand if isinstance(value, Not) else Not(value)


def compare_with(value: Value, direction: str, number: int) -> Value:
    """An elementwise comparison with one number."""
    return Compare(value, Constant.of(number, value.dtype, value.shape), direction)
