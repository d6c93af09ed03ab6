"""Parts of convolutions, and convolutions of padded or repeated operands: what is zero or repeated isn't multiplied."""

from __future__ import annotations

from typing import Any

from windlass.ir import Value
from windlass.ir.values import tensor
from windlass.ops import BroadcastInDim, Constant, Convolution, Negate, Pad, Reverse, Slice
from windlass.ops.sampling import Draw
from windlass.rewriting.pattern import any_op, hole
from windlass.rewriting.rule import rewrite
from windlass.rewriting.sharing import is_alone
from windlass.rules.axes import Sizes
from windlass.rules.convolutions import changed, convolve

start, limit, stride = hole("start"), hole("limit"), hole("stride")


def has_groups(op: Convolution) -> bool:
    """Whether features or samples are convolved in groups."""
    return op.feature_group_count != 1 or op.batch_group_count != 1


def _sides(op: Convolution) -> tuple[tuple[str, int, int], ...]:
    """Each operand with its axis that is an axis of the result, and that axis."""
    return (
        ("lhs", op.input_batch_dimension, op.output_batch_dimension),
        ("rhs", op.kernel_output_feature_dimension, op.output_feature_dimension),
    )


def _cut(value: Value, bounds: dict[int, tuple[int, int, int]]) -> Value:
    """The part of a value between these bounds along some axes."""
    if all(bounds[axis] == (0, value.shape[axis], 1) for axis in bounds):
        return value
    axes = range(value.tensor.rank)
    found = [bounds.get(axis, (0, value.shape[axis], 1)) for axis in axes]
    return Slice(value, *(tuple(each[place] for each in found) for place in range(3)))


# -- slices -----------------------------------------------------------------------------------------------------------


def _sample_slice(draw: Draw) -> Slice:
    padding = ((draw.integer(0, 2), draw.integer(0, 2)), (draw.integer(-1, 1), 0))
    made = convolve(
        tensor("f32", 3, 2, 6, 5),
        tensor("f32", 4, 2, draw.integer(1, 3), 2, name="k"),
        padding=padding,
        window_strides=(draw.choose((1, 2)), 1),
        rhs_dilation=(1, draw.choose((1, 2))),
        lhs_dilation=(draw.choose((1, 1, 2)), 1),
        window_reversal=(draw.boolean(), False),
    )
    fields = Slice.sample(draw, made.tensor)
    return Slice(made, **{**fields, "strides": (1,) * 4 if draw.boolean() else fields["strides"]})


@rewrite(Slice(any_op(Convolution), start, limit, stride), single_use=True, sample=_sample_slice)
def slice_of_convolution(op: Slice, start: Sizes, limit: Sizes, stride: Sizes) -> Value | None:
    """slice(convolution(x, k)) = convolution(slice(x), slice(k)): only the samples, features and places asked for

    >>> made = convolve(tensor("f32", 5, 2, 9), tensor("f32", 4, 2, 3, name="k"))
    >>> slice_of_convolution(Slice(made, (0, 1, 2), (5, 3, 4), (1, 1, 1))).operands
    (Slice(x, start_indices=(0, 0, 2), limit_indices=(5, 2, 6), strides=(1, 1, 1)), \
Slice(k, start_indices=(1, 0, 0), limit_indices=(3, 2, 3), strides=(1, 1, 1)))
    """
    inner = op.operand
    assert isinstance(inner, Convolution)
    if has_groups(inner) or not is_alone(inner, op) or op.tensor.size in (0, inner.tensor.size):
        return None
    batch, feature = inner.output_batch_dimension, inner.output_feature_dimension
    of_x = {inner.input_batch_dimension: (start[batch], limit[batch], stride[batch])}
    of_kernel = {inner.kernel_output_feature_dimension: (start[feature], limit[feature], stride[feature])}
    padding = list(inner.padding)
    for place, axis in enumerate(inner.output_spatial_dimensions):
        if (start[axis], limit[axis], stride[axis]) == (0, inner.shape[axis], 1):
            continue
        if stride[axis] != 1 or inner.lhs_dilation[place] != 1:
            return None
        source, step = inner.input_spatial_dimensions[place], inner.window_strides[place]
        reach = (inner.rhs.shape[inner.kernel_spatial_dimensions[place]] - 1) * inner.rhs_dilation[place] + 1
        size = inner.lhs.shape[source]
        first = start[axis] * step - padding[place][0]
        last = (limit[axis] - 1) * step + reach - padding[place][0]
        bounds = min(max(first, 0), size), max(min(last, size), 0)
        if bounds[0] >= bounds[1]:
            return None
        of_x[source] = (*bounds, 1)
        padding[place] = (bounds[0] - first, last - bounds[1])
    return changed(inner, lhs=_cut(inner.lhs, of_x), rhs=_cut(inner.rhs, of_kernel), padding=tuple(padding))


# -- pads -------------------------------------------------------------------------------------------------------------


def _zero_pad(value: Value) -> Pad | None:
    """The value as a pad with zeros at edges, none of which cuts."""
    if not isinstance(value, Pad) or not isinstance(value.padding_value, Constant) or value.padding_value.number != 0:
        return None
    edges = (*value.edge_padding_low, *value.edge_padding_high)
    return value if min(edges, default=0) >= 0 and 0 not in value.operand.shape else None


def _pad_again(pad: Pad, left_out: int) -> Value:
    """What is padded, along all axes but one."""
    low, high, interior = (
        tuple(0 if axis == left_out else size for axis, size in enumerate(sizes))
        for sizes in (pad.edge_padding_low, pad.edge_padding_high, pad.interior_padding)
    )
    return Pad(pad.operand, pad.padding_value, low, high, interior) if any((*low, *high, *interior)) else pad.operand


def _kept(pad: Pad, axis: int) -> tuple[int, int, int]:
    """Where along an axis what is padded stands."""
    low, high = pad.edge_padding_low[axis], pad.edge_padding_high[axis]
    return low, pad.shape[axis] - high, pad.interior_padding[axis] + 1


def _sample_padded(draw: Draw) -> Convolution:
    x: Value = tensor("f32", 2, 2, 5)
    kernel: Value = tensor("f32", 3, 2, 2, name="k")
    axis, zero = draw.integer(0, 2), Constant.of(0, "f32")
    edges = [tuple(draw.integer(0, 2) if each == axis else 0 for each in range(3)) for _ in range(2)]
    between = tuple(int(each == axis and draw.boolean()) for each in range(3))
    if draw.boolean():
        kernel = Pad(kernel, zero, edges[0], edges[1], between)
        x = tensor("f32", 2, kernel.shape[1], 7)
    else:
        x = Pad(x, zero, edges[0], edges[1], between)
        kernel = tensor("f32", 3, x.shape[1], 2, name="k")
    return convolve(x, kernel, padding=((draw.integer(0, 2), 3),), window_reversal=(draw.boolean(),))


@rewrite(any_op(Convolution), reassociates=True, sample=_sample_padded)
def convolution_of_padded_features(op: Convolution) -> Value | None:
    """convolution(pad(x, 0), k) = convolution(x, slice(k)), where features of x are padded; likewise those of k

    >>> x = Pad(tensor("f32", 1, 2, 8), Constant.of(0, "f32"), (0, 1, 0), (0, 0, 0), (0, 0, 0))
    >>> convolution_of_padded_features(convolve(x, tensor("f32", 4, 3, 3, name="k"))).rhs
    Slice(k, start_indices=(0, 1, 0), limit_indices=(4, 3, 3), strides=(1, 1, 1))
    """
    if has_groups(op):
        return None
    left, right = op.input_feature_dimension, op.kernel_input_feature_dimension
    for side, other, axis, across in (("lhs", "rhs", left, right), ("rhs", "lhs", right, left)):
        pad = _zero_pad(getattr(op, side))
        if pad is not None and pad.shape[axis] > pad.operand.shape[axis]:
            rest = _cut(getattr(op, other), {across: _kept(pad, axis)})
            return changed(op, **{side: _pad_again(pad, axis), other: rest})
    return None


@rewrite(any_op(Convolution), reassociates=True, sample=_sample_padded)
def convolution_of_padded_samples(op: Convolution) -> Value | None:
    """convolution(pad(x, 0), k) = pad(convolution(x, k), 0), where there are more samples; likewise more outputs of k

    >>> x = Pad(tensor("f32", 1, 2, 8), Constant.of(0, "f32"), (1, 0, 0), (0, 0, 0), (0, 0, 0))
    >>> convolution_of_padded_samples(convolve(x, tensor("f32", 4, 2, 3, name="k"))).operand.lhs
    x
    """
    if has_groups(op) or op.tensor.size == 0:
        return None
    for side, axis, target in _sides(op):
        pad = _zero_pad(getattr(op, side))
        if pad is not None and pad.shape[axis] > pad.operand.shape[axis]:
            made = changed(op, **{side: _pad_again(pad, axis)})
            low, high, interior = (
                tuple(sizes[axis] if each == target else 0 for each in range(op.tensor.rank))
                for sizes in (pad.edge_padding_low, pad.edge_padding_high, pad.interior_padding)
            )
            return Pad(made, Constant.of(0, op.tensor.dtype), low, high, interior)
    return None


@rewrite(any_op(Convolution, rhs=any_op(Pad, bind="pad")), reassociates=True, sample=_sample_padded)
def convolution_by_padded_kernel(op: Convolution, pad: Pad) -> Value | None:
    """convolution(x, pad(k, 0)) = convolution(x, k) with less padding, or of less of x, where k has more places by it

    >>> kernel = Pad(tensor("f32", 4, 2, 3, name="k"), Constant.of(0, "f32"), (0, 0, 1), (0, 0, 1), (0, 0, 0))
    >>> convolution_by_padded_kernel(convolve(tensor("f32", 1, 2, 8), kernel, padding=((1, 1),))).operands
    (x, k)
    """
    if _zero_pad(pad) is None:
        return None
    for place, axis in enumerate(op.kernel_spatial_dimensions):
        before, after, between = pad.edge_padding_low[axis], pad.edge_padding_high[axis], pad.interior_padding[axis]
        if not (before or after or between) or (op.lhs_dilation[place] != 1 and (before or after)):
            continue
        if op.window_reversal[place]:
            before, after = after, before
        step = op.rhs_dilation[place]
        low, high = op.padding[place][0] - before * step, op.padding[place][1] - after * step
        source = op.input_spatial_dimensions[place]
        size = op.lhs.shape[source]
        bounds = (max(-low, 0), size - max(-high, 0), 1)
        if bounds[0] >= bounds[1]:
            continue
        padding, dilation = list(op.padding), list(op.rhs_dilation)
        padding[place] = (max(low, 0), max(high, 0))
        if op.lhs_dilation[place] != 1:
            bounds, padding[place] = (0, size, 1), op.padding[place]
        dilation[place] = step * (between + 1)
        kernel, x = _pad_again(pad, axis), _cut(op.lhs, {source: bounds})
        return changed(op, lhs=x, rhs=kernel, padding=tuple(padding), rhs_dilation=tuple(dilation))
    return None


# -- operands that repeat, and signs ----------------------------------------------------------------------------------


def _sample_repeated(draw: Draw) -> Convolution:
    x: Value = tensor("f32", 2, 2, 5)
    kernel: Value = tensor("f32", 3, 2, 2, name="k")
    if draw.boolean():
        one = draw.boolean()
        x = BroadcastInDim(tensor("f32", *((1,) if one else ()), 2, 5), (3, 2, 5), (0, 1, 2) if one else (1, 2))
    else:
        kernel = BroadcastInDim(tensor("f32", 2, 2, name="k"), (3, 2, 2), (1, 2))
    return convolve(x, kernel)


@rewrite(any_op(Convolution), sample=_sample_repeated)
def convolution_of_equal_samples(op: Convolution) -> Value | None:
    """convolution(broadcast(x), k) = broadcast(convolution(x, k)), where samples repeat; likewise outputs of k

    >>> x = BroadcastInDim(tensor("f32", 2, 8), (5, 2, 8), (1, 2))
    >>> convolution_of_equal_samples(convolve(x, tensor("f32", 4, 2, 3))).operand.type
    tensor<1x4x6xf32>
    """
    if has_groups(op) or op.tensor.size == 0:
        return None
    for side, axis, target in _sides(op):
        value = getattr(op, side)
        if not isinstance(value, BroadcastInDim) or value.shape[axis] == 1:
            continue
        source = dict(zip(value.broadcast_dimensions, value.operand.shape, strict=True))
        if source.get(axis, 1) != 1:
            continue
        shape = tuple(1 if each == axis else size for each, size in enumerate(value.shape))
        same = value.operand.shape == shape and value.broadcast_dimensions == tuple(range(len(shape)))
        one = value.operand if same else BroadcastInDim(value.operand, shape, value.broadcast_dimensions)
        fields: dict[str, Any] = {side: one}
        made = changed(op, **fields)
        assert made.shape[target] == 1
        return BroadcastInDim(made, op.shape, tuple(range(op.tensor.rank)))
    return None


def _sample_negated(draw: Draw) -> Negate:
    x, kernel = tensor("f32", 2, 2, 5), tensor("f32", 3, 2, 2, name="k")
    return Negate(convolve(Negate(x), kernel) if draw.boolean() else convolve(x, Negate(kernel)))


@rewrite(Negate(any_op(Convolution)), single_use=True, reassociates=True, sample=_sample_negated)
def negate_of_convolution_of_negate(op: Negate) -> Value | None:
    """-convolution(-x, k) = convolution(x, k), and so for -k; but for the sign of zero

    >>> negate_of_convolution_of_negate(Negate(convolve(Negate(tensor("f32", 1, 2, 8)), tensor("f32", 4, 2, 3)))).lhs
    x
    """
    inner = op.operand
    assert isinstance(inner, Convolution)
    if not inner.tensor.is_float:
        return None
    for side in ("lhs", "rhs"):
        value = getattr(inner, side)
        if isinstance(value, Negate):
            return changed(inner, **{side: value.operand})
    return None


def _sample_reversed(draw: Draw) -> Reverse:
    axes = draw.choose(((2,), (3,), (2, 3)))
    x = Reverse(tensor("f32", 2, 2, 6, 5), axes)
    padding = ((draw.integer(0, 2), draw.integer(0, 2)), (0, 1))
    kernel = tensor("f32", 3, 2, 3, 2, name="k")
    return Reverse(convolve(x, kernel, padding=padding, window_strides=(draw.choose((1, 2)), 1)), axes)


@rewrite(Reverse(any_op(Convolution), hole("dimensions")), single_use=True, reassociates=True, sample=_sample_reversed)
def reverse_around_convolution(op: Reverse, dimensions: Sizes) -> Value | None:
    """reverse(convolution(reverse(x), k)) = convolution(x, reverse(k)), its padding the other way round

    >>> x, k = Reverse(tensor("f32", 2, 2, 8), (2,)), tensor("f32", 4, 2, 3, name="k")
    >>> reverse_around_convolution(Reverse(convolve(x, k, padding=((2, 0),)), (2,))).padding
    ((0, 2),)
    """
    inner = op.operand
    assert isinstance(inner, Convolution)
    x = inner.lhs
    spatial = dict(zip(inner.output_spatial_dimensions, range(len(inner.padding)), strict=True))
    if not isinstance(x, Reverse) or not all(axis in spatial for axis in dimensions):
        return None
    places = [spatial[axis] for axis in dimensions]
    if {inner.input_spatial_dimensions[place] for place in places} != set(x.dimensions):
        return None
    turned = tuple(inner.kernel_spatial_dimensions[place] for place in places)
    if inner.rhs.tensor.size > x.tensor.size or any(not _fits(inner, place) for place in places):
        return None
    padding = tuple(pair[::-1] if place in places else tuple(pair) for place, pair in enumerate(inner.padding))
    return changed(inner, lhs=x.operand, rhs=Reverse(inner.rhs, turned), padding=padding)


def _fits(op: Convolution, place: int) -> bool:
    """Whether windows begin at one end of the padded input and end at the other."""
    size = op.lhs.shape[op.input_spatial_dimensions[place]]
    whole = (size - 1) * op.lhs_dilation[place] + 1 + sum(op.padding[place])
    reach = (op.rhs.shape[op.kernel_spatial_dimensions[place]] - 1) * op.rhs_dilation[place] + 1
    return size > 0 and whole >= reach and (whole - reach) % op.window_strides[place] == 0
