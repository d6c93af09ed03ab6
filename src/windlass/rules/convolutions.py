"""Convolutions: products where they are nothing else, paddings and reversals taken in, one in place of two."""

from __future__ import annotations

from typing import Any

from windlass.facts.cost import has_features_last
from windlass.ir import Value
from windlass.ir.values import tensor
from windlass.ops import Constant, Convolution, DotGeneral, Pad, Reshape, Reverse, Slice, Transpose
from windlass.ops.convolution import kernel_size
from windlass.ops.sampling import Draw
from windlass.rewriting.pattern import any_op, hole
from windlass.rewriting.rule import rewrite

__all__ = ["tensor"]


def convolve(x: Value, kernel: Value, **fields: Any) -> Convolution:
    """A convolution of samples × features × places with outputs × features × places; `fields` say what differs.

    >>> convolve(tensor("f32", 1, 2, 8), tensor("f32", 4, 2, 3)).type
    tensor<1x4x6xf32>
    """
    rank = x.tensor.rank - 2
    axes = tuple(range(2, rank + 2))
    plain: dict[str, Any] = {
        "window_strides": (1,) * rank,
        "padding": ((0, 0),) * rank,
        "lhs_dilation": (1,) * rank,
        "rhs_dilation": (1,) * rank,
        "window_reversal": (False,) * rank,
        "input_batch_dimension": 0,
        "input_feature_dimension": 1,
        "input_spatial_dimensions": axes,
        "kernel_input_feature_dimension": 1,
        "kernel_output_feature_dimension": 0,
        "kernel_spatial_dimensions": axes,
        "output_batch_dimension": 0,
        "output_feature_dimension": 1,
        "output_spatial_dimensions": axes,
    }
    return Convolution(x, kernel, **(plain | fields))


def changed(op: Convolution, **fields: Any) -> Convolution:
    """The op with some fields changed."""
    return Convolution.from_fields({**op.field_values(), "dtype": op.tensor.dtype, **fields})


def reversed_axes(op: Convolution) -> tuple[int, ...]:
    """The axes of the kernel along which windows are reversed."""
    pairs = zip(op.kernel_spatial_dimensions, op.window_reversal, strict=True)
    return tuple(sorted(axis for axis, is_reversed in pairs if is_reversed))


def padded(op: Convolution, x: Value) -> Value:
    """x, the input of a convolution, with all that is put around and between its elements."""
    low, high, interior = ([0] * x.tensor.rank for _ in range(3))
    for axis, (before, after), dilation in zip(op.input_spatial_dimensions, op.padding, op.lhs_dilation, strict=True):
        low[axis], high[axis], interior[axis] = before, after, dilation - 1
    if not any((*low, *high, *interior)):
        return x
    return Pad(x, Constant.of(0, x.dtype), tuple(low), tuple(high), tuple(interior))


def sample_convolution(draw: Draw) -> Convolution:
    """A convolution of padded, sliced or reversed operands, or by a kernel of one place."""
    size = draw.choose((1, 1, 2, 3))
    x: Value = tensor("f32", 2, 2, 5)
    kernel: Value = tensor("f32", 3, 2, size, name="k")
    kind = draw.integer(0, 3)
    if kind == 1:
        x = Pad(
            x, Constant.of(0, "f32"), (0, 0, draw.integer(0, 2)), (0, 0, draw.integer(0, 2)), (0, 0, draw.integer(0, 1))
        )
    if kind == 2:
        kernel = Reverse(kernel, (2,))
    if kind == 3:
        x = Slice(x, (0, 0, 1), (2, 2, 4), (1, 1, 1))
    plain = {"window_strides": (draw.choose((1, 1, 2)),), "padding": ((draw.integer(0, 1), draw.integer(0, 2)),)}
    return convolve(x, kernel, **(plain if draw.boolean() else {}))


@rewrite(any_op(Convolution), sample=sample_convolution, by_cost=True, reassociates=True)
def convolution_by_one_place(op: Convolution) -> Value | None:
    """convolution(x, k) = x · k over the features, if k has one place

    >>> convolution_by_one_place(convolve(tensor("f32", 1, 2, 8), tensor("f32", 4, 2, 1))).type
    tensor<1x4x8xf32>
    """
    if kernel_size(op) != 1 or op.feature_group_count != 1 or op.batch_group_count != 1 or op.tensor.size == 0:
        return None
    x = padded(op, op.lhs)
    if any(stride != 1 for stride in op.window_strides):
        strides = [1] * x.tensor.rank
        for axis, stride in zip(op.input_spatial_dimensions, op.window_strides, strict=True):
            strides[axis] = stride
        x = Slice(x, (0,) * x.tensor.rank, x.shape, tuple(strides))
    inputs, outputs = op.kernel_input_feature_dimension, op.kernel_output_feature_dimension
    order = (inputs, outputs, *op.kernel_spatial_dimensions)
    shape = (op.rhs.shape[inputs], op.rhs.shape[outputs])
    matrix = Reshape(Transpose(op.rhs, order), shape)
    product = DotGeneral(
        x, matrix, (), (), (op.input_feature_dimension,), (0,), op.precision_config, None, op.tensor.dtype
    )
    # The product's axes are those of lhs without the features, then the outputs.
    places = [axis for axis in range(op.lhs.tensor.rank) if axis != op.input_feature_dimension]
    goal = [0] * op.tensor.rank
    goal[op.output_batch_dimension] = places.index(op.input_batch_dimension)
    goal[op.output_feature_dimension] = len(places)
    for target, source in zip(op.output_spatial_dimensions, op.input_spatial_dimensions, strict=True):
        goal[target] = places.index(source)
    return Transpose(product, tuple(goal))


@rewrite(any_op(Convolution, lhs=any_op(Pad, bind="pad")), sample=sample_convolution)
def convolution_of_pad(op: Convolution, pad: Pad) -> Value | None:
    """convolution(pad(x, 0), k) = convolution(x, k) with that padding

    >>> x = Pad(tensor("f32", 1, 2, 8), Constant.of(0, "f32"), (0, 0, 1), (0, 0, 1), (0, 0, 0))
    >>> convolution_of_pad(convolve(x, tensor("f32", 4, 2, 3))).padding
    ((1, 1),)
    """
    if not isinstance(pad.padding_value, Constant) or pad.padding_value.number != 0:
        return None
    spatial = op.input_spatial_dimensions
    low, high, interior = pad.edge_padding_low, pad.edge_padding_high, pad.interior_padding
    others = [axis for axis in range(op.lhs.tensor.rank) if axis not in spatial]
    if any(low[axis] or high[axis] or interior[axis] for axis in others) or 0 in pad.operand.shape:
        return None
    padding: list[tuple[int, int]] = []
    dilation: list[int] = []
    for axis, (before, after), step in zip(spatial, op.padding, op.lhs_dilation, strict=True):
        if interior[axis] and step != 1:
            return None
        if low[axis] < 0 or high[axis] < 0:
            return None
        padding.append((before + low[axis] * step, after + high[axis] * step))
        dilation.append(step * (interior[axis] + 1))
    return changed(op, lhs=pad.operand, padding=tuple(padding), lhs_dilation=tuple(dilation))


@rewrite(any_op(Convolution, rhs=any_op(Reverse, bind="kernel")), sample=sample_convolution, by_cost=True)
def convolution_by_reversed_kernel(op: Convolution, kernel: Reverse) -> Value | None:
    """convolution(x, reverse(k)) = convolution(x, k) with windows reversed

    >>> kernel = Reverse(tensor("f32", 4, 2, 3, name="k"), (2,))
    >>> convolution_by_reversed_kernel(convolve(tensor("f32", 1, 2, 8), kernel)).window_reversal
    (True,)
    """
    if not set(kernel.dimensions) <= set(op.kernel_spatial_dimensions):
        return None
    turned = tuple(
        reversal != (axis in kernel.dimensions)
        for axis, reversal in zip(op.kernel_spatial_dimensions, op.window_reversal, strict=True)
    )
    return changed(op, rhs=kernel.operand, window_reversal=turned)


def sample_reversed_windows(draw: Draw) -> Convolution:
    """A convolution whose windows are reversed along some axes."""
    turned = tuple(draw.boolean() for _ in range(2))
    kernel = tensor("f32", 3, 2, draw.integer(1, 3), draw.integer(1, 3), name="k")
    return convolve(tensor("f32", 2, 2, 4, 5), kernel, window_reversal=turned)


@rewrite(any_op(Convolution), sample=sample_reversed_windows, by_cost=True)
def convolution_with_reversed_windows(op: Convolution) -> Value | None:
    """convolution(x, k) with windows reversed = convolution(x, reverse(k)): XLA:CPU is slow at the former

    >>> x, kernel = tensor("f32", 1, 2, 8), tensor("f32", 4, 2, 3, name="k")
    >>> convolution_with_reversed_windows(convolve(x, kernel, window_reversal=(True,))).rhs.dimensions
    (2,)
    """
    turned = reversed_axes(op)
    return (
        changed(op, rhs=Reverse(op.rhs, turned), window_reversal=(False,) * len(op.window_reversal)) if turned else None
    )


def sample_transposed(draw: Draw) -> Convolution:
    """A convolution of transposed operands."""
    x: Value = tensor("f32", 2, 5, 3)
    kernel: Value = tensor("f32", 3, 2, 4, name="k")
    x, kernel = Transpose(x, (0, 2, 1)), Transpose(kernel, (2, 0, 1))
    if draw.boolean():
        return convolve(x, tensor("f32", 4, 3, 2, name="k"))
    return convolve(x, kernel)


@rewrite(any_op(Convolution, takes=(Transpose,)), sample=sample_transposed, by_cost=True)
def convolution_of_transpose(op: Convolution) -> Value | None:
    """convolution(transpose(x), transpose(k)) = convolution(x, k) with its axes named otherwise

    >>> x = Transpose(tensor("f32", 1, 8, 2), (0, 2, 1))
    >>> convolution_of_transpose(convolve(x, tensor("f32", 4, 2, 3))).input_feature_dimension
    2
    """
    fields: dict[str, Any] = {}
    if isinstance(op.lhs, Transpose):
        order = op.lhs.permutation
        fields |= {
            "lhs": op.lhs.operand,
            "input_batch_dimension": order[op.input_batch_dimension],
            "input_feature_dimension": order[op.input_feature_dimension],
            "input_spatial_dimensions": tuple(order[axis] for axis in op.input_spatial_dimensions),
        }
    if isinstance(op.rhs, Transpose):
        order = op.rhs.permutation
        fields |= {
            "rhs": op.rhs.operand,
            "kernel_input_feature_dimension": order[op.kernel_input_feature_dimension],
            "kernel_output_feature_dimension": order[op.kernel_output_feature_dimension],
            "kernel_spatial_dimensions": tuple(order[axis] for axis in op.kernel_spatial_dimensions),
        }
    return changed(op, **fields) if fields else None


def sample_result_in_another_order(draw: Draw) -> Transpose:
    return Transpose(sample_convolution(draw), draw.permutation(3))


@rewrite(
    Transpose(any_op(Convolution), hole("p")), single_use=True, sample=sample_result_in_another_order, by_cost=True
)
def transpose_of_convolution(op: Transpose, p: tuple[int, ...]) -> Value | None:
    """transpose(convolution(x, k)) = convolution(x, k) with the axes of its result named otherwise

    >>> made = convolve(tensor("f32", 1, 2, 8), tensor("f32", 4, 2, 3))
    >>> transpose_of_convolution(Transpose(made, (0, 2, 1))).output_feature_dimension
    2
    """
    made = op.operand
    assert isinstance(made, Convolution)
    return result_in_order(made, p, within=op.block is not None and op.block.parent is not None)


def result_in_order(made: Convolution, p: tuple[int, ...], within: bool) -> Value | None:
    """The convolution's transpose by p: its result's axes named otherwise. None within loops, where that is slower."""
    if within and has_features_last(made):
        # Within loops XLA:CPU convolves in that layout alone.
        return None
    return changed(
        made,
        output_batch_dimension=p.index(made.output_batch_dimension),
        output_feature_dimension=p.index(made.output_feature_dimension),
        output_spatial_dimensions=tuple(p.index(axis) for axis in made.output_spatial_dimensions),
    )


def sample_any_layout(draw: Draw) -> Convolution:
    """A convolution with its axes in any order."""
    axes, kernel_axes, result_axes = (draw.permutation(4) for _ in range(3))
    shape, kernel_shape = [0] * 4, [0] * 4
    for axis, size in zip(axes, (2, 3, 4, 5), strict=True):
        shape[axis] = size
    for axis, size in zip(kernel_axes, (2, 3, 2, 1), strict=True):
        kernel_shape[axis] = size
    return convolve(
        tensor("f32", *shape),
        tensor("f32", *kernel_shape, name="k"),
        input_batch_dimension=axes[0],
        input_feature_dimension=axes[1],
        input_spatial_dimensions=axes[2:],
        kernel_output_feature_dimension=kernel_axes[0],
        kernel_input_feature_dimension=kernel_axes[1],
        kernel_spatial_dimensions=kernel_axes[2:],
        output_batch_dimension=result_axes[0],
        output_feature_dimension=result_axes[1],
        output_spatial_dimensions=result_axes[2:],
    )


@rewrite(any_op(Convolution), sample=sample_any_layout, by_cost=True)
def convolution_with_features_last(op: Convolution) -> Value | None:
    """convolution(x, k) = transpose(convolution(transpose(x), transpose(k))), in the layout NHWC, HWIO

    XLA:CPU does so itself, but not within loops. Windows that are reversed are made straight with it.

    >>> convolution_with_features_last(convolve(tensor("f32", 1, 2, 8), tensor("f32", 4, 2, 3))).operand.shape
    (1, 6, 4)
    """
    if has_features_last(op):
        return None
    rank = op.tensor.rank
    places = tuple(range(1, rank - 1))
    order = (op.input_batch_dimension, *op.input_spatial_dimensions, op.input_feature_dimension)
    kernel = (*op.kernel_spatial_dimensions, op.kernel_input_feature_dimension, op.kernel_output_feature_dimension)
    result = (op.output_batch_dimension, *op.output_spatial_dimensions, op.output_feature_dimension)
    turned = reversed_axes(op)
    made = changed(
        op,
        lhs=Transpose(op.lhs, order),
        rhs=Transpose(Reverse(op.rhs, turned) if turned else op.rhs, kernel),
        window_reversal=(False,) * (rank - 2),
        input_batch_dimension=0,
        input_spatial_dimensions=places,
        input_feature_dimension=rank - 1,
        kernel_spatial_dimensions=tuple(range(rank - 2)),
        kernel_input_feature_dimension=rank - 2,
        kernel_output_feature_dimension=rank - 1,
        output_batch_dimension=0,
        output_spatial_dimensions=places,
        output_feature_dimension=rank - 1,
    )
    return Transpose(made, tuple(result.index(axis) for axis in range(rank)))
