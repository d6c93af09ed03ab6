"""Convolutions and folds of windows as sums of shifted copies of their input, which are computed in one loop.

XLA:CPU gathers each window of a convolution into a matrix before it multiplies. Where few channels share a window, that
takes most of the time: 40 ns for a window, where the sum of nine shifted slices takes 0.3 ns (1024² places, 3×3).
Depthwise convolutions have one window for each channel. On devices with convolution units the cost model says no.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from windlass.facts.cost import WIDE_WINDOW
from windlass.ir import Op, Value
from windlass.ir.values import tensor
from windlass.ops import (
    Add,
    BroadcastInDim,
    Constant,
    Convert,
    Convolution,
    Maximum,
    Multiply,
    Pad,
    ReduceWindow,
    Reshape,
    Slice,
    Transpose,
)
from windlass.ops.base import SMALL_FLOATS
from windlass.ops.combiners import combiner_region, identity_of
from windlass.ops.convolution import kernel_size
from windlass.ops.sampling import Draw
from windlass.ops.windows import fold_windows
from windlass.rewriting.pattern import any_op
from windlass.rewriting.rule import rewrite
from windlass.rules.convolutions import convolve, padded
from windlass.rules.letters import lay
from windlass.rules.reductions import FOLDS
from windlass.rules.windows import input_of, owner_of

__all__ = ["Maximum", "fold_windows", "owner_of", "tensor"]

MOST_TERMS = 128
"""Products for each element of the result; XLA takes long to compile more of them."""


MOST_IN_ODD_ROW = 24
"""The same for results that are one row of an odd number of elements: LLVM doesn't vectorize longer sums there."""
MOST_SHARED_TERMS, SMALLEST_SHARED = 40, 1 << 15
"""The same, and how many elements a result has at least, where several channels share a window: convolutions are better
at these, and small loops are not divided among threads."""
FEW_PLACES = 4
"""Of smaller windows the padding would cost as much as it saves to fold them otherwise."""


def sample_small_convolution(draw: Draw) -> Convolution:
    """A convolution of any layout, of one dimension or two, in groups at times."""
    rank = draw.integer(1, 2)
    groups, inputs, outputs = draw.integer(1, 2), draw.integer(1, 2), draw.integer(1, 2)
    window = tuple(draw.integer(1, 3) for _ in range(rank))
    axes, kernel_axes, result_axes = (draw.permutation(rank + 2) for _ in range(3))
    shape, kernel_shape = [0] * (rank + 2), [0] * (rank + 2)
    for axis, size in zip(axes, (draw.integer(1, 2), groups * inputs, *(draw.integer(5, 6),) * rank), strict=True):
        shape[axis] = size
    for axis, size in zip(kernel_axes, (groups * outputs, inputs, *window), strict=True):
        kernel_shape[axis] = size
    kernel: Value = tensor("f32", *kernel_shape, name="k")
    if draw.boolean():
        kernel = Constant.of(draw.tame_array(kernel.tensor))
    return convolve(
        tensor("f32", *shape),
        kernel,
        window_strides=tuple(draw.choose((1, 1, 2)) for _ in window),
        padding=tuple((draw.integer(-1, 2), draw.integer(0, 2)) for _ in window),
        lhs_dilation=tuple(draw.choose((1, 1, 1, 2)) for _ in window),
        rhs_dilation=tuple(draw.choose((1, 1, 2)) for _ in window),
        window_reversal=tuple(draw.boolean() for _ in window),
        input_batch_dimension=axes[0],
        input_feature_dimension=axes[1],
        input_spatial_dimensions=axes[2:],
        kernel_output_feature_dimension=kernel_axes[0],
        kernel_input_feature_dimension=kernel_axes[1],
        kernel_spatial_dimensions=kernel_axes[2:],
        output_batch_dimension=result_axes[0],
        output_feature_dimension=result_axes[1],
        output_spatial_dimensions=result_axes[2:],
        feature_group_count=groups,
    )


class Terms:
    """The products that a convolution adds up, each with the axes of lhs.

    Where there are several groups of several outputs each, the features are divided into two axes.
    """

    def __init__(self, op: Convolution) -> None:
        self.op = op
        self.groups = op.feature_group_count
        self.inputs = op.rhs.shape[op.kernel_input_feature_dimension]
        self.outputs = op.rhs.shape[op.kernel_output_feature_dimension] // self.groups
        self.feature = op.input_feature_dimension
        sizes = list(op.lhs.shape)
        for axis, place in zip(op.input_spatial_dimensions, op.output_spatial_dimensions, strict=True):
            sizes[axis] = op.tensor.shape[place]
        self.sizes = sizes
        divided = (self.groups, self.outputs)
        self.features = divided if min(divided) > 1 else (max(divided),)
        self.shape = (*sizes[: self.feature], *self.features, *sizes[self.feature + 1 :])
        self.wide = "f32" if op.tensor.dtype in SMALL_FLOATS else op.tensor.dtype

    def widened(self, value: Value) -> Value:
        return value if value.dtype == self.wide else Convert(value, self.wide)

    def list(self) -> Iterator[Value]:
        """The products, those of each place of the kernel together."""
        op, kernel, x = self.op, self.widened(self.op.rhs), padded(self.op, self.widened(self.op.lhs))
        for place in np.ndindex(*(op.rhs.shape[axis] for axis in op.kernel_spatial_dimensions)):
            for channel in range(self.inputs):
                yield Multiply(self.shifted(x, place, channel), self.weight(kernel, place, channel))

    def shifted(self, x: Value, place: tuple[int, ...], channel: int) -> Value:
        """What of x meets a place of the kernel, of one input channel in each group."""
        op = self.op
        start, limit, stride = [0] * x.tensor.rank, list(x.shape), [1] * x.tensor.rank
        start[self.feature], stride[self.feature] = channel, self.inputs if self.groups > 1 else 1
        for index, axis in enumerate(op.input_spatial_dimensions):
            size = op.rhs.shape[op.kernel_spatial_dimensions[index]]
            at = size - 1 - place[index] if op.window_reversal[index] else place[index]
            start[axis] = at * op.rhs_dilation[index]
            stride[axis] = op.window_strides[index]
            limit[axis] = start[axis] + (self.sizes[axis] - 1) * stride[axis] + 1
        limit[self.feature] = channel + (self.groups - 1) * self.inputs + 1
        window: Value = Slice(x, tuple(start), tuple(limit), tuple(stride))
        axes = tuple(axis + (axis > self.feature) * (len(self.features) - 1) for axis in range(x.tensor.rank))
        if self.groups == 1 and self.outputs > 1:
            kept = [axis for axis in range(x.tensor.rank) if axis != self.feature]
            window = Reshape(window, tuple(window.shape[axis] for axis in kept))
            axes = tuple(kept)
        return lay(window, self.shape, axes)

    def weight(self, kernel: Value, place: tuple[int, ...], channel: int) -> Value:
        """The kernel at a place, of one input channel in each group."""
        op = self.op
        start, limit = [0] * kernel.tensor.rank, list(kernel.shape)
        for axis, at in zip(
            (op.kernel_input_feature_dimension, *op.kernel_spatial_dimensions), (channel, *place), strict=True
        ):
            start[axis], limit[axis] = at, at + 1
        if isinstance(kernel, Constant):
            numbers = kernel.array[tuple(map(slice, start, limit))].reshape(-1)
            if numbers.size == 1 or (numbers == numbers[0]).all():
                return Constant.of(numbers[0], self.wide, self.shape)
        row = Slice(kernel, tuple(start), tuple(limit), (1,) * kernel.tensor.rank)
        if row.tensor.size == 1:
            return BroadcastInDim(Reshape(row, ()), self.shape, ())
        places = tuple(range(self.feature, self.feature + len(self.features)))
        return lay(Reshape(row, self.features), self.shape, places)

    def arranged(self, total: Value) -> Value:
        """The sum in the layout and type of the result."""
        op = self.op
        sizes = list(self.sizes)
        sizes[self.feature] = self.groups * self.outputs
        order = [0] * op.tensor.rank
        order[op.output_batch_dimension] = op.input_batch_dimension
        order[op.output_feature_dimension] = self.feature
        for source, goal in zip(op.input_spatial_dimensions, op.output_spatial_dimensions, strict=True):
            order[goal] = source
        flat = total if total.shape == tuple(sizes) else Reshape(total, tuple(sizes))
        if order != sorted(order):
            flat = Transpose(flat, tuple(order))
        return flat if flat.dtype == op.tensor.dtype else Convert(flat, op.tensor.dtype)


@rewrite(any_op(Convolution), sample=sample_small_convolution, by_cost=True, reassociates=True)
def convolution_as_shifted_sum(op: Convolution) -> Value | None:
    """convolution(x, k) = the sum of k[i] · slice(x, from i on) over all places i of the kernel

    >>> smooth = convolve(tensor("f32", 1, 1, 8), Constant.of(np.float32([[[1, 2]]])))
    >>> convolution_as_shifted_sum(smooth).lhs.rhs
    Constant(1.0)
    """
    terms = Terms(op)
    if op.batch_group_count != 1 or op.tensor.size == 0 or op.lhs.tensor.size == 0 or op.rhs.tensor.size == 0:
        return None
    if not op.lhs.dtype == op.rhs.dtype == op.tensor.dtype or kernel_size(op) * terms.inputs > MOST_TERMS:
        return None
    if max(op.tensor.shape) == op.tensor.size and op.tensor.size % 2 and kernel_size(op) > MOST_IN_ODD_ROW:
        return None
    is_small = op.tensor.size < SMALLEST_SHARED or kernel_size(op) * terms.inputs > MOST_SHARED_TERMS
    if terms.inputs > 1 and is_small:
        return None
    total: Value | None = None
    for term in terms.list():
        total = term if total is None else Add(total, term)
    return None if total is None else terms.arranged(total)


def sample_overlapping_windows(draw: Draw) -> Op:
    """A fold of windows of two or three elements along each axis."""
    rank, combiner = draw.integer(1, 2), draw.choose(FOLDS)
    dtype = draw.choose(("f32", "i32"))
    x = tensor(dtype, *(draw.integer(3, 5) for _ in range(rank)))
    ones = (1,) * rank
    return ReduceWindow(
        (x,),
        (Constant.of(identity_of(combiner, dtype), dtype),),
        tuple(draw.integer(1, 3) for _ in range(rank)),
        tuple(draw.integer(1, 2) for _ in range(rank)),
        draw.choose((ones, (2,) * rank)),
        draw.choose((ones, (2,) * rank)),
        tuple((draw.integer(-1, 1), draw.integer(0, 2)) for _ in range(rank)),
        combiner_region(combiner, dtype),
    )


@rewrite(any_op(ReduceWindow), sample=sample_overlapping_windows, by_cost=True, reassociates=True)
def windows_as_shifted_fold(op: ReduceWindow) -> Value | None:
    """reduce_window(x, f) = f(slice(x, from 0 on), f(slice(x, from 1 on), ...)), over all places of a window

    >>> windows_as_shifted_fold(owner_of(fold_windows(Maximum, tensor("f32", 8), (2,)))).lhs.limit_indices
    (7,)
    """
    x = input_of(op)
    places = math.prod(op.window_dimensions)
    combiner: type[Any] | None = op.combiner
    if x is None or combiner is None or not 1 < places <= MOST_TERMS:
        return None
    wide = [axis for axis, size in enumerate(op.window_dimensions) if size > 1]
    overlapping = any(op.window_strides[axis] < op.window_dimensions[axis] for axis in wide)
    if overlapping and (len(wide) > 1 or places >= WIDE_WINDOW):
        # One axis at a time, or by doubling, it is less work: see window_forms.py.
        return None
    low, high = (tuple(edge[side] for edge in op.padding) for side in (0, 1))
    interior = tuple(dilation - 1 for dilation in op.base_dilations)
    if any((*low, *high, *interior)):
        if places <= FEW_PLACES:
            return None
        x = Pad(x, op.init_values[0], low, high, interior)
    shape = op.results[0].shape
    folded: Value | None = None
    for place in np.ndindex(*op.window_dimensions):
        start = tuple(int(at) * dilation for at, dilation in zip(place, op.window_dilations, strict=True))
        limit = tuple(
            first + (size - 1) * stride + 1 for first, size, stride in zip(start, shape, op.window_strides, strict=True)
        )
        part = Slice(x, start, limit, op.window_strides)
        folded = part if folded is None else combiner(folded, part)
    return folded
