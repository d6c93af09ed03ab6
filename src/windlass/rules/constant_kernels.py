"""Convolutions by kernels that are known: without zeros at the edges, one axis after the other, two at once.

All of these add up in another order, and leave out products with zeros: they hold for finite values.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from windlass.ir import Value
from windlass.ir.values import tensor
from windlass.ops import Constant, Convolution, Slice
from windlass.ops.sampling import Draw
from windlass.rewriting.pattern import any_op
from windlass.rewriting.rule import rewrite
from windlass.rules.convolutions import changed, convolve
from windlass.rules.letters import feeds_only

__all__ = ["tensor"]

Array = NDArray[np.float64]
KINDS = ("f32", "f64")
LARGEST = 1 << 14
"""Elements of a kernel that is made of two."""


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


def sample_separable(draw: Draw) -> Convolution:
    """A convolution by the outer product of a column and a row, for one feature or for each of several."""
    count = draw.integer(1, 2)
    column, row = ([draw.choose((-1.0, 0.5, 2.0)) for _ in range(count * size)] for size in (3, 4))
    outer = np.einsum("ci,cj->cij", np.reshape(column, (count, 3)), np.reshape(row, (count, 4)))
    return convolve(
        tensor("f32", 2, count, 6, 7),
        Constant.of(outer[:, None].astype(np.float32)),
        feature_group_count=count,
        window_strides=(draw.integer(1, 2), 1),
        padding=((draw.integer(0, 2), 1), (0, draw.integer(0, 2))),
        rhs_dilation=(1, draw.integer(1, 2)),
        window_reversal=(draw.boolean(), False),
    )


@rewrite(any_op(Convolution), sample=sample_separable, reassociates=True, by_cost=True)
def convolution_one_axis_at_a_time(op: Convolution) -> Value | None:
    """convolution(x, u · vᵀ) = convolution(convolution(x, u), vᵀ), for known kernels of one feature each

    >>> blur = Constant.of([[[[1.0, 2.0, 1.0], [2.0, 4.0, 2.0], [1.0, 2.0, 1.0]]]], "f32")
    >>> made = convolution_one_axis_at_a_time(convolve(tensor("f32", 1, 1, 8, 8), blur))
    >>> made.lhs.rhs.shape, made.rhs.shape
    ((1, 1, 3, 1), (1, 1, 1, 3))
    """
    kernel = read_kernel(op)
    if kernel is None or op.batch_group_count != 1 or op.tensor.size == 0:
        return None
    if kernel.shape[1] != 1 or kernel.shape[0] != op.feature_group_count:
        return None
    wide = [index for index, size in enumerate(kernel.shape[2:]) if size > 1]
    if len(wide) != 2:
        return None
    found = _split_outer(kernel.reshape(len(kernel), *(kernel.shape[2 + index] for index in wide)), op.rhs.dtype)
    if found is None:
        return None
    x, rank = op.lhs, len(op.window_strides)
    for turn, (index, row) in enumerate(zip(wide, found, strict=True)):
        # The first one does along its axis what is to be done, and along all others but the second's too.
        other = wide[1 - turn]
        rest = set(range(rank)) - {other} if turn == 0 else {index}

        def only(values: tuple[Any, ...], plain: Any, rest: set[int] = rest) -> tuple[Any, ...]:
            return tuple(value if place in rest else plain for place, value in enumerate(values))

        shape = (len(kernel), 1, *(row.shape[1] if place == index else 1 for place in range(rank)))
        made = changed(
            op,
            lhs=x,
            rhs=write_kernel(op, row.reshape(shape)),
            window_strides=only(op.window_strides, 1),
            padding=only(op.padding, (0, 0)),
            lhs_dilation=only(op.lhs_dilation, 1),
            rhs_dilation=only(op.rhs_dilation, 1),
            window_reversal=(False,) * rank,
        )
        if turn == 0:
            made = changed(
                made,
                output_batch_dimension=op.input_batch_dimension,
                output_feature_dimension=op.input_feature_dimension,
                output_spatial_dimensions=op.input_spatial_dimensions,
            )
        x = made
    return x


def _split_outer(kernels: Array, dtype: str | None) -> tuple[Array, Array] | None:
    """Columns and rows whose outer products the kernels are, but for their own rounding."""
    columns, rows = np.empty(kernels.shape[:2]), np.empty((kernels.shape[0], kernels.shape[2]))
    for place, kernel in enumerate(kernels):
        peak = np.unravel_index(np.argmax(np.abs(kernel)), kernel.shape)
        if not np.isfinite(kernel).all() or kernel[peak] == 0:
            return None
        columns[place], rows[place] = kernel[:, peak[1]], kernel[peak[0]] / kernel[peak]
    made = np.einsum("ci,cj->cij", columns, rows)
    slack = 8 * np.finfo(np.float32 if dtype == "f32" else np.float64).eps
    return (columns, rows) if bool((np.abs(made - kernels) <= slack * np.abs(kernels)).all()) else None


# -- two at once ------------------------------------------------------------------------------------------------------


def sample_two_convolutions(draw: Draw) -> Convolution:
    """A convolution of a convolution, both by constants."""
    inputs, between, outputs = (draw.integer(1, 2) for _ in range(3))
    first = draw.tame_array(tensor("f32", between, inputs, 3).tensor)
    second = draw.tame_array(tensor("f32", outputs, between, 2).tensor)
    wide = draw.choose(((0, 0), (2, 2), (3, 2), (1, 0)))
    inner = convolve(tensor("f32", 2, inputs, 8), Constant.of(first), padding=(wide,))
    around = draw.choose(((0, 0), (1, 1), (0, 2)))
    return convolve(inner, Constant.of(second), padding=(around,), window_strides=(draw.integer(1, 2),))


@rewrite(
    any_op(Convolution, lhs=any_op(Convolution, bind="inner")),
    sample=sample_two_convolutions,
    reassociates=True,
    by_cost=True,
)
def convolution_of_convolution(op: Convolution, inner: Convolution) -> Value | None:
    """convolution(convolution(x, k), j) = convolution(x, k ∗ j), for known kernels

    >>> difference = Constant.of([[[-1.0, 1.0]]], "f32")
    >>> twice = convolution_of_convolution(convolve(convolve(tensor("f32", 1, 1, 8), difference), difference))
    >>> twice.rhs.array.tolist()
    [[[1.0, -2.0, 1.0]]]
    """
    if not feeds_only(inner, op):
        return None
    first, second = read_kernel(inner), read_kernel(op)
    if first is None or second is None or op.tensor.size == 0 or inner.lhs.tensor.size == 0:
        return None
    for each in (inner, op):
        if each.feature_group_count != 1 or each.batch_group_count != 1:
            return None
        if any(step != 1 for step in (*each.lhs_dilation, *each.rhs_dilation)):
            return None
    if any(step != 1 for step in inner.window_strides) or inner.precision_config != op.precision_config:
        return None
    axes = (inner.output_batch_dimension, inner.output_feature_dimension, *inner.output_spatial_dimensions)
    if axes != (op.input_batch_dimension, op.input_feature_dimension, *op.input_spatial_dimensions):
        return None
    padding: list[tuple[int, int]] = []
    for size, within, around in zip(first.shape[2:], inner.padding, op.padding, strict=True):
        # Zeros around the first result are its own elements only where its windows have left x.
        if any(outer and each < size - 1 for each, outer in zip(within, around, strict=True)):
            return None
        if min(*within, *around) < 0:
            return None
        padding.append((within[0] + around[0], within[1] + around[1]))
    sizes = [a + b - 1 for a, b in zip(first.shape[2:], second.shape[2:], strict=True)]
    if second.shape[0] * first.shape[1] * math.prod(sizes) > LARGEST:
        return None
    together = np.zeros((second.shape[0], first.shape[1], *sizes))
    for place in np.ndindex(*second.shape[2:]):
        window = tuple(slice(start, start + size) for start, size in zip(place, first.shape[2:], strict=True))
        part = np.tensordot(second[(slice(None), slice(None), *place)], first, 1)
        together[(slice(None), slice(None), *window)] += part
    return changed(
        op,
        lhs=inner.lhs,
        rhs=write_kernel(op, together),
        padding=tuple(padding),
        window_reversal=(False,) * len(sizes),
        input_batch_dimension=inner.input_batch_dimension,
        input_feature_dimension=inner.input_feature_dimension,
        input_spatial_dimensions=inner.input_spatial_dimensions,
    )
