"""Convolutions with windows about as large as their input: what differentiating by a kernel gives.

The derivative of a convolution by its kernel is a convolution of the input with the result's derivative, of which only
as many places are wanted as the kernel has. For depthwise convolutions its samples are divided into groups.
"""

from __future__ import annotations

import numpy as np

from windlass.ir import Value
from windlass.ir.values import tensor
from windlass.ops import Concatenate, Convolution, Multiply, Reshape, Reverse, Slice, Transpose
from windlass.ops.reduction import reduce_sum
from windlass.ops.sampling import Draw
from windlass.rewriting.pattern import any_op
from windlass.rewriting.rule import rewrite
from windlass.rules.convolutions import convolve, padded, reversed_axes

__all__ = ["tensor"]

MOST_PLACES = 49
"""Sums that are made instead of one convolution."""


def sample_sums(draw: Draw) -> Convolution:
    """A convolution of as many groups as samples and outputs."""
    groups, features = draw.integer(1, 3), draw.integer(1, 2)
    size = draw.integer(3, 4)
    orders = [draw.permutation(3) for _ in range(3)]
    lhs, rhs = [0] * 3, [0] * 3
    for shape, order, sizes in zip(
        (lhs, rhs), orders[:2], ((groups, features, 4), (groups, features, size)), strict=True
    ):
        for axis, each in zip(order, sizes, strict=True):
            shape[axis] = each
    return convolve(
        tensor("f32", *lhs),
        tensor("f32", *rhs, name="k"),
        window_strides=(draw.choose((1, 2)),),
        padding=((draw.integer(-1, 1), draw.integer(0, 1)),),
        rhs_dilation=(1,),
        window_reversal=(draw.boolean(),),
        input_batch_dimension=orders[0][0],
        input_feature_dimension=orders[0][1],
        input_spatial_dimensions=orders[0][2:],
        kernel_output_feature_dimension=orders[1][0],
        kernel_input_feature_dimension=orders[1][1],
        kernel_spatial_dimensions=orders[1][2:],
        output_batch_dimension=orders[2][0],
        output_feature_dimension=orders[2][1],
        output_spatial_dimensions=orders[2][2:],
        batch_group_count=groups,
    )


@rewrite(any_op(Convolution), sample=sample_sums, by_cost=True, reassociates=True)
def convolution_as_sums(op: Convolution) -> Value | None:
    """convolution(x, k)[i] = sum(slice(x, from i on) · k), where each sample meets one output, and places are few

    >>> x, k = tensor("f32", 4, 1, 9), tensor("f32", 4, 1, 7, name="k")
    >>> type(convolution_as_sums(convolve(x, k, batch_group_count=4)).operand.operand).__name__
    'Concatenate'
    """
    groups, rank = op.batch_group_count, op.tensor.rank
    samples, outputs = op.lhs.shape[op.input_batch_dimension], op.rhs.shape[op.kernel_output_feature_dimension]
    if samples != groups or outputs != groups or op.tensor.size > groups * MOST_PLACES:
        return None
    if not op.lhs.dtype == op.rhs.dtype == op.tensor.dtype or op.tensor.dtype not in ("f32", "f64"):
        return None
    if 0 in (op.tensor.size, op.lhs.tensor.size, op.rhs.tensor.size):
        return None
    turned = reversed_axes(op)
    # From here on all have the axes of lhs.
    order = [0] * rank
    order[op.input_batch_dimension] = op.kernel_output_feature_dimension
    order[op.input_feature_dimension] = op.kernel_input_feature_dimension
    for axis, each in zip(op.input_spatial_dimensions, op.kernel_spatial_dimensions, strict=True):
        order[axis] = each
    kernel = Transpose(Reverse(op.rhs, turned) if turned else op.rhs, tuple(order))
    x = padded(op, op.lhs)
    summed = tuple(axis for axis in range(rank) if axis != op.input_batch_dimension)
    spatial = tuple(op.tensor.shape[axis] for axis in op.output_spatial_dimensions)
    sums: list[Value] = []
    for place in np.ndindex(*spatial):
        start, limit, stride = [0] * rank, list(x.shape), [1] * rank
        for index, axis in enumerate(op.input_spatial_dimensions):
            start[axis] = int(place[index]) * op.window_strides[index]
            stride[axis] = op.rhs_dilation[index]
            limit[axis] = start[axis] + (kernel.shape[axis] - 1) * stride[axis] + 1
        window = Slice(x, tuple(start), tuple(limit), tuple(stride))
        sums.append(Reshape(reduce_sum(Multiply(window, kernel), summed), (groups, 1)))
    stacked = Reshape(Concatenate(tuple(sums), 1), (1, groups, *spatial))
    goal = (op.output_batch_dimension, op.output_feature_dimension, *op.output_spatial_dimensions)
    return Transpose(stacked, tuple(goal.index(axis) for axis in range(rank)))
