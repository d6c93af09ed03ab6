"""Convolutions by kernels that are known: without the zeros at their edges, which holds for finite values."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from windlass.ir import Value
from windlass.ir.values import tensor
from windlass.ops import Constant, Convolution, Slice
from windlass.ops.sampling import Draw
from windlass.rewriting.pattern import any_op
from windlass.rewriting.rule import rewrite
from windlass.rules.convolutions import changed, convolve

__all__ = ["tensor"]

Array = NDArray[np.float64]
KINDS = ("f32", "f64")
LARGEST = 1 << 14
"""Elements of a kernel that is looked at."""


def read_kernel(op: Convolution) -> Array | None:
    """A constant kernel with its axes in the order outputs, inputs, places, not reversed; None for others."""
    kernel = op.rhs
    if not isinstance(kernel, Constant) or not op.lhs.dtype == kernel.dtype == op.tensor.dtype:
        return None
    if kernel.dtype not in KINDS or 0 in kernel.shape or kernel.tensor.size > LARGEST:
        return None
    found = np.transpose(kernel.array.astype(np.float64), _order(op))
    turned = tuple(axis + 2 for axis, is_reversed in enumerate(op.window_reversal) if is_reversed)
    return np.flip(found, turned) if turned else found


def write_kernel(op: Convolution, kernel: Array) -> Constant:
    """A kernel as `read_kernel` gives it, in the layout of an op whose windows are not reversed."""
    return Constant.of(np.transpose(kernel, np.argsort(_order(op))).astype(op.rhs.tensor.numpy_dtype))


def _order(op: Convolution) -> tuple[int, ...]:
    return (op.kernel_output_feature_dimension, op.kernel_input_feature_dimension, *op.kernel_spatial_dimensions)


# -- zeros at the edges -----------------------------------------------------------------------------------------------


def sample_kernel_with_margins(draw: Draw) -> Convolution:
    """A convolution by a constant that is zero but within."""
    size = draw.integer(3, 5)
    kernel = np.zeros((1, 1, 2, size), np.float32)
    kernel[..., draw.integer(0, size - 1)] = draw.integer(1, 3)
    return convolve(
        tensor("f32", 2, 1, 4, 7),
        Constant.of(kernel),
        window_strides=(1, draw.integer(1, 2)),
        padding=((0, 1), (draw.integer(0, 3), draw.integer(0, 2))),
        rhs_dilation=(1, 1 if size > 3 else draw.integer(1, 2)),
        window_reversal=(False, draw.boolean()),
    )


@rewrite(any_op(Convolution), sample=sample_kernel_with_margins, reassociates=True)
def convolution_without_margins(op: Convolution) -> Value | None:
    """convolution(x, k) = convolution(x, k without the zeros at its edges), with less padding, or less of x

    >>> kernel = Constant.of([[[0.0, 2.0, 0.0]]], "f32")
    >>> convolution_without_margins(convolve(tensor("f32", 1, 1, 8), kernel)).operands
    (Slice(x, start_indices=(0, 0, 1), limit_indices=(1, 1, 7), strides=(1, 1, 1)), Constant(2.0))
    """
    kernel = read_kernel(op)
    if kernel is None or op.tensor.size == 0:
        return None
    used = np.argwhere(kernel.any((0, 1)))
    if not len(used):
        return None
    first, last = used.min(0), used.max(0) + 1
    sizes = kernel.shape[2:]
    if all(stop - start == size for start, stop, size in zip(first, last, sizes, strict=True)):
        return None
    x, padding = op.lhs, list(op.padding)
    starts, limits = [0] * x.tensor.rank, list(x.shape)
    for index, axis in enumerate(op.input_spatial_dimensions):
        step = op.rhs_dilation[index]
        low = padding[index][0] - int(first[index]) * step
        high = padding[index][1] - (sizes[index] - int(last[index])) * step
        if min(low, high) < 0 and (op.lhs_dilation[index] != 1 or min(padding[index]) < 0):
            return None
        starts[axis], limits[axis] = max(-low, 0), x.shape[axis] + min(high, 0)
        if starts[axis] >= limits[axis]:
            return None
        padding[index] = (max(low, 0), max(high, 0))
    within = kernel[(slice(None), slice(None), *(slice(a, b) for a, b in zip(first, last, strict=True)))]
    if (tuple(starts), tuple(limits)) != ((0,) * x.tensor.rank, x.shape):
        x = Slice(x, tuple(starts), tuple(limits), (1,) * x.tensor.rank)
    rest = {"padding": tuple(padding), "window_reversal": (False,) * len(padding)}
    return changed(op, lhs=x, rhs=write_kernel(op, within), **rest)


# -- one axis after the other -----------------------------------------------------------------------------------------


# -- two at once ------------------------------------------------------------------------------------------------------
