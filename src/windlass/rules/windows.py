"""Reductions over windows that are something simpler: slices, whole reductions, reductions of blocks."""

from __future__ import annotations

import math

from windlass.ir import Op, Result, Value
from windlass.ir.values import tensor
from windlass.ops import (
    Add,
    BroadcastInDim,
    Constant,
    Maximum,
    Minimum,
    Multiply,
    Pad,
    Reduce,
    ReduceWindow,
    Reshape,
    Slice,
)
from windlass.ops.combiners import identity_of, is_identity, is_order_free
from windlass.ops.reduction import reduce_sum
from windlass.ops.sampling import Draw
from windlass.ops.windows import fold_windows
from windlass.rewriting.pattern import any_op
from windlass.rewriting.rule import rewrite
from windlass.rewriting.sharing import is_alone, users_of
from windlass.rules.reductions import ALL_FOLDS, FOLDS

__all__ = ["reduce_sum"]

Sizes = tuple[int, ...]


def input_of(op: ReduceWindow) -> Value | None:
    """The one input of a reduction over windows by a plain op, if it begins with what leaves others unchanged."""
    if len(op.inputs) != 1 or op.combiner not in ALL_FOLDS or op.inputs[0].tensor.size == 0:
        return None
    if op.results[0].tensor.size == 0 or not is_identity(op.init_values[0], op.combiner):
        return None
    return op.inputs[0]


def owner_of(value: Value) -> Op:
    assert isinstance(value, Result)
    return value.owner


def is_dense(op: ReduceWindow, axis: int) -> bool:
    """Whether the windows take all elements next to each other along an axis, none between or at the edges."""
    return (op.base_dilations[axis], op.window_dilations[axis], op.padding[axis]) == (1, 1, (0, 0))


def sample_narrow_windows(draw: Draw) -> Op:
    shape = draw.shape(1, 3, 1)
    strides = tuple(draw.integer(1, 3) for _ in shape)
    return owner_of(
        fold_windows(draw.choose((Maximum, Minimum, Multiply)), tensor("f32", *shape), (1,) * len(shape), strides)
    )


@rewrite(any_op(ReduceWindow), sample=sample_narrow_windows)
def window_of_one_element(op: ReduceWindow) -> Value | None:
    """reduce_window(x) = slice(x) with the windows' strides, where each window is one element

    >>> window_of_one_element(fold_windows(Maximum, tensor("f32", 8), (1,), (2,)).owner).strides
    (2,)
    """
    x = input_of(op)
    if x is None or any(size != 1 for size in op.window_dimensions):
        return None
    # Sums of floats turn -0.0 to 0.0.
    if op.combiner is Add and not x.tensor.is_integer:
        return None
    if not all((op.base_dilations[axis], op.padding[axis]) == (1, (0, 0)) for axis in range(x.tensor.rank)):
        return None
    if all(stride == 1 for stride in op.window_strides):
        return x
    return Slice(x, (0,) * x.tensor.rank, x.shape, op.window_strides)


def sample_whole_windows(draw: Draw) -> Op:
    shape = draw.shape(1, 3, 1)
    whole = draw.subset(len(shape), draw.integer(1, len(shape)))
    window = tuple(size if axis in whole else 1 for axis, size in enumerate(shape))
    return owner_of(fold_windows(draw.choose(FOLDS), tensor(draw.choose(("f32", "i32")), *shape), window))


@rewrite(any_op(ReduceWindow), reassociates=True, sample=sample_whole_windows)
def window_over_whole_axes(op: ReduceWindow) -> Value | None:
    """reduce_window(x) = reshape(reduce(x)), where each window spans whole axes and is 1 wide along the others

    >>> window_over_whole_axes(fold_windows(Add, tensor("f32", 8, 5), (8, 1)).owner).shape
    (1, 5)
    """
    x = input_of(op)
    if x is None or not all(is_dense(op, axis) for axis in range(x.tensor.rank)):
        return None
    axes = tuple(axis for axis, size in enumerate(op.window_dimensions) if size > 1)
    for axis, (size, stride) in enumerate(zip(op.window_dimensions, op.window_strides, strict=True)):
        if size != (x.shape[axis] if axis in axes else 1) or (stride != 1 and axis not in axes):
            return None
    if not axes:
        return None
    return Reshape(_reduce_like(op, x, axes), op.results[0].shape)


def _reduce_like(op: ReduceWindow, x: Value, axes: Sizes) -> Value:
    return Reduce((x,), op.init_values, axes, op.body.clone({})).results[0]


def sample_blocks(draw: Draw) -> Op:
    window = tuple(draw.integer(1, 3) for _ in range(draw.integer(1, 3)))
    shape = tuple(size * draw.integer(1, 3) for size in window)
    return owner_of(fold_windows(draw.choose(FOLDS), tensor(draw.choose(("f32", "i32")), *shape), window, window))


@rewrite(any_op(ReduceWindow), reassociates=True, sample=sample_blocks)
def window_over_blocks(op: ReduceWindow) -> Value | None:
    """reduce_window(x) = reduce(reshape(x)) over blocks, where windows lie side by side and cover x

    >>> window_over_blocks(fold_windows(Add, tensor("f32", 8), (2,), (2,)).owner).owner.inputs[0].shape
    (4, 2)
    """
    x = input_of(op)
    if x is None or not all(is_dense(op, axis) for axis in range(x.tensor.rank)):
        return None
    if op.window_dimensions != op.window_strides or all(size == 1 for size in op.window_dimensions):
        return None
    shape: list[int] = []
    axes: list[int] = []
    for size, window in zip(x.shape, op.window_dimensions, strict=True):
        if size % window:
            return None
        shape.append(size // window)
        if window > 1:
            axes.append(len(shape))
            shape.append(window)
    return _reduce_like(op, Reshape(x, tuple(shape)), tuple(axes))


def sample_padded_windows(draw: Draw) -> Op:
    shape = draw.shape(1, 2, 2)
    combiner, dtype = draw.choose(FOLDS), draw.choose(("f32", "i32"))
    low, high = (tuple(draw.integer(0, 2) for _ in shape) for _ in range(2))
    fill = Constant.of(identity_of(combiner, dtype), dtype)
    padded = Pad(tensor(dtype, *shape), fill, low, high, (0,) * len(shape))
    return owner_of(fold_windows(combiner, padded, (2,) * len(shape), tuple(draw.integer(1, 2) for _ in shape)))


@rewrite(any_op(ReduceWindow, inputs=(any_op(Pad, bind="pad"),)), sample=sample_padded_windows)
def window_of_pad(op: ReduceWindow, pad: Pad) -> Value | None:
    """reduce_window(pad(x, c)) = reduce_window(x) with that padding, where c leaves others unchanged

    >>> padded = Pad(tensor("f32", 8), Constant.of(0, "f32"), (1,), (1,), (0,))
    >>> window_of_pad(fold_windows(Add, padded, (3,)).owner).owner.padding
    ((1, 1),)
    """
    init = op.init_values[0]
    if input_of(op) is None or not isinstance(init, Constant) or not isinstance(pad.padding_value, Constant):
        return None
    if pad.padding_value.value != init.value or any(base != 1 for base in op.base_dilations):
        return None
    edges = list(zip(pad.edge_padding_low, pad.edge_padding_high, strict=True))
    if any(pad.interior_padding) or any(min(each) < 0 for each in edges) or pad.operand.tensor.size == 0:
        return None
    padding = tuple((low + own[0], high + own[1]) for (low, high), own in zip(edges, op.padding, strict=True))
    return ReduceWindow(
        (pad.operand,),
        op.init_values,
        op.window_dimensions,
        op.window_strides,
        op.base_dilations,
        op.window_dilations,
        padding,
        op.body.clone({}),
    ).results[0]


def sample_windows_of_constant(draw: Draw) -> Op:
    shape = draw.shape(1, 2, 2)
    window = tuple(draw.integer(1, 2) for _ in shape)
    combiner = draw.choose((Add, Maximum, Minimum))
    operand = Constant.of(draw.integer(0, 3), "f32", shape)
    if draw.boolean():
        operand = BroadcastInDim(tensor("f32", name="c"), shape, ())
    return owner_of(fold_windows(combiner, operand, window))


@rewrite(any_op(ReduceWindow), reassociates=True, sample=sample_windows_of_constant)
def window_of_equal_elements(op: ReduceWindow) -> Value | None:
    """reduce_window(broadcast(c)) = n · c for sums of n elements, c for extremes, where no padding is met

    >>> window_of_equal_elements(fold_windows(Add, Constant.of(1, "f32", (8,)), (3,)).owner)
    Constant(3.0)
    """
    x = input_of(op)
    if x is None or op.combiner not in (Add, Maximum, Minimum) or x.tensor.is_boolean:
        return None
    if not all((op.base_dilations[axis], op.padding[axis]) == (1, (0, 0)) for axis in range(x.tensor.rank)):
        return None
    result = op.results[0]
    count = math.prod(op.window_dimensions)
    if isinstance(x, Constant) and x.is_splat and (x.tensor.is_integer or count <= 256):
        number = x.number * x.tensor.numpy_dtype.type(count) if op.combiner is Add else x.number
        return Constant.of(number, x.dtype, result.shape)
    if isinstance(x, BroadcastInDim) and not x.operand.shape and (op.combiner is not Add or x.dtype in ("f32", "f64")):
        one = x.operand
        if op.combiner is Add:
            one = Multiply(Constant.of(count, x.dtype), one)
        return BroadcastInDim(one, result.shape, ())
    return None


def sample_counts_in_windows(draw: Draw) -> Op:
    """How many elements each window of an average takes in, at the edges too."""
    size, window = draw.integer(2, 6), draw.integer(2, 3)
    padding = ((draw.integer(0, 1), draw.integer(0, 1)),)
    return owner_of(fold_windows(Add, Constant.of(draw.integer(1, 3), "f32", (size,)), (window,), None, padding))


LARGEST_COUNTED = 4096


@rewrite(any_op(ReduceWindow), reassociates=True, sample=sample_counts_in_windows)
def window_sum_of_constant(op: ReduceWindow) -> Value | None:
    """reduce_window(constant) = constant, as average pooling counts the elements at its edges; if it is small

    >>> counts = fold_windows(Add, Constant.of(1, "f32", (4,)), (3,), (1,), ((1, 1),))
    >>> window_sum_of_constant(counts.owner)
    Constant([2.0, 3.0, 3.0, 2.0])
    """
    x = input_of(op)
    if not isinstance(x, Constant) or x.tensor.size > LARGEST_COUNTED or op.results[0].tensor.size > LARGEST_COUNTED:
        return None
    init = op.init_values[0]
    assert isinstance(init, Constant)
    return Constant.of(op.evaluate(x.array, init.array)[0], x.dtype)


LARGEST_PREFIX = 64


def sample_prefix_sum(draw: Draw) -> Op:
    shape = draw.shape(1, 2, 2)
    axis = draw.integer(0, len(shape) - 1)
    size = shape[axis]
    window = tuple(size if each == axis else 1 for each in range(len(shape)))
    padding = tuple((size - 1, 0) if each == axis else (0, 0) for each in range(len(shape)))
    return owner_of(fold_windows(draw.choose((Add, Maximum)), tensor("f32", *shape), window, None, padding))


def prefix_axis(op: ReduceWindow) -> int | None:
    """The axis along which each window takes in all elements up to its own: a running fold such as jnp.cumsum."""
    x = input_of(op)
    if x is None or any(base != 1 for base in (*op.base_dilations, *op.window_dilations, *op.window_strides)):
        return None
    wide = [axis for axis, size in enumerate(op.window_dimensions) if size > 1]
    if len(wide) != 1 or op.window_dimensions[wide[0]] != x.shape[wide[0]]:
        return None
    before = (x.shape[wide[0]] - 1, 0)
    others = all(pad == (0, 0) for axis, pad in enumerate(op.padding) if axis != wide[0])
    return wide[0] if tuple(op.padding[wide[0]]) == before and others else None


def reorders(op: ReduceWindow) -> bool:
    """Whether another order of folding shows in the last digits."""
    return not is_order_free(op.combiner, op.inputs[0].tensor)


def sample_last_of_prefix(draw: Draw) -> Slice:
    made = owner_of_prefix(draw)
    x = made.inputs[0]
    axis = prefix_axis(made)
    assert axis is not None
    starts = tuple(size - 1 if each == axis else 0 for each, size in enumerate(x.shape))
    return Slice(made.results[0], starts, x.shape, (1,) * x.tensor.rank)


def owner_of_prefix(draw: Draw) -> ReduceWindow:
    made = sample_prefix_sum(draw)
    assert isinstance(made, ReduceWindow)
    return made


@rewrite(any_op(Slice, operand=any_op(ReduceWindow, bind="inner")), reassociates=True, sample=sample_last_of_prefix)
def last_of_running_fold(op: Slice, inner: ReduceWindow) -> Value | None:
    """cumsum(x)[-1] = sum(x), and so for running products

    >>> sums = fold_windows(Add, tensor("f32", 8), (8,), (1,), ((7, 0),))
    >>> last_of_running_fold(Slice(sums, (7,), (8,), (1,))).operand.owner.dimensions
    (0,)
    """
    return _fold_of_all(op, inner) if reorders(inner) else None


@rewrite(any_op(Slice, operand=any_op(ReduceWindow, bind="inner")), sample=sample_last_of_prefix)
def last_of_running_extreme(op: Slice, inner: ReduceWindow) -> Value | None:
    """cummax(x)[-1] = max(x), and so for whatever may be folded in any order

    >>> peaks = fold_windows(Maximum, tensor("f32", 8), (8,), (1,), ((7, 0),))
    >>> last_of_running_extreme(Slice(peaks, (7,), (8,), (1,))).operand.owner.dimensions
    (0,)
    """
    return None if reorders(inner) else _fold_of_all(op, inner)


def is_last_wanted(op: ReduceWindow) -> bool:
    """Whether it is a running fold of which only the last result is looked at: rules above make it a plain one."""
    axis = prefix_axis(op)
    result = op.results[0]
    users = users_of(result)
    if axis is None or len(users) != 1:
        return False
    (user,) = users
    return isinstance(user, Slice) and user.start_indices[axis] == result.shape[axis] - 1


def _fold_of_all(op: Slice, inner: ReduceWindow) -> Value | None:
    value = op.operand
    axis = prefix_axis(inner) if is_alone(value, op) else None
    if axis is None or op.start_indices[axis] != value.shape[axis] - 1 or op.tensor.size == 0:
        return None
    made = Reshape(
        _reduce_like(inner, inner.inputs[0], (axis,)),
        tuple(1 if each == axis else size for each, size in enumerate(value.shape)),
    )
    starts = tuple(0 if each == axis else start for each, start in enumerate(op.start_indices))
    limits = tuple(1 if each == axis else limit for each, limit in enumerate(op.limit_indices))
    whole = limits == made.shape and not any(starts) and all(stride == 1 for stride in op.strides)
    return made if whole else Slice(made, starts, limits, op.strides)
