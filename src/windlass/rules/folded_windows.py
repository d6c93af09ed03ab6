"""Folds of windows of what is negated, reversed, or folded in windows itself."""

from __future__ import annotations

from typing import Any

from windlass.ir import Result, Value
from windlass.ir.values import tensor
from windlass.ops import Add, Constant, Fft, Maximum, Minimum, Multiply, Negate, ReduceWindow, Reverse
from windlass.ops.combiners import IDEMPOTENT, combiner_region, identity_of
from windlass.ops.sampling import Draw
from windlass.ops.windows import fold_windows
from windlass.rewriting.pattern import any_op, hole
from windlass.rewriting.rule import rewrite
from windlass.rewriting.sharing import is_alone
from windlass.rules.axes import Sizes
from windlass.rules.turned_operations import changed
from windlass.rules.windows import input_of

x = hole("x")


def is_for_one(windows: ReduceWindow) -> bool:
    """Whether it is a fold of windows by a plain op, and serves one op only."""
    return is_alone(windows.results[0]) and input_of(windows) is not None


# -- signs ------------------------------------------------------------------------------------------------------------


def _sample_negated_windows(draw: Draw) -> Negate:
    combiner = draw.choose((Maximum, Minimum, Add))
    window, strides = (draw.integer(1, 3), 2), (draw.choose((1, 2)), 1)
    return Negate(fold_windows(combiner, Negate(tensor("f32", 5, 6)), window, strides, ((0, 1), (1, 0))))


negated_windows = Negate(any_op(ReduceWindow, bind="windows", inputs=(Negate(x),)))


@rewrite(negated_windows, sample=_sample_negated_windows)
def negate_of_extreme_of_negated_windows(op: Negate, windows: ReduceWindow, x: Value) -> Value | None:
    """-reduce_window(-x, max) = reduce_window(x, min), and the other way, for floats

    >>> pooled = fold_windows(Maximum, Negate(tensor("f32", 6, 8)), (2, 2))
    >>> negate_of_extreme_of_negated_windows(Negate(pooled)).owner.combiner.__name__
    'Minimum'
    """
    if not is_for_one(windows) or windows.combiner not in (Maximum, Minimum) or not op.tensor.is_float:
        return None
    other = Minimum if windows.combiner is Maximum else Maximum
    first = Constant.of(identity_of(other, op.tensor.dtype), op.tensor.dtype)
    body = combiner_region(other, op.tensor.dtype)
    return changed(windows, inputs=(x,), init_values=(first,), body=body)


@rewrite(negated_windows, reassociates=True, sample=_sample_negated_windows)
def negate_of_sum_of_negated_windows(windows: ReduceWindow, x: Value) -> Value | None:
    """-reduce_window(-x, +) = reduce_window(x, +), but for the sign of zero

    >>> pooled = fold_windows(Add, Negate(tensor("f32", 6, 8)), (2, 2))
    >>> negate_of_sum_of_negated_windows(Negate(pooled)).owner.inputs
    (x,)
    """
    return changed(windows, inputs=(x,)) if is_for_one(windows) and windows.combiner is Add else None


def _sample_negated_transform(draw: Draw) -> Negate:
    kind = draw.choose(("FFT", "IFFT", "RFFT"))
    return Negate(Fft(Negate(tensor("f32" if kind == "RFFT" else "complex<f32>", 3, 4)), kind, (4,)))


@rewrite(
    Negate(Fft(Negate(x), hole("kind"), hole("length"))),
    single_use=True,
    reassociates=True,
    sample=_sample_negated_transform,
)
def negate_of_transform_of_negate(x: Value, kind: Any, length: Sizes) -> Value | None:
    """-fft(-x) = fft(x), but for the sign of zero

    >>> negate_of_transform_of_negate(Negate(Fft(Negate(tensor("f32", 8)), "RFFT", (8,))))
    Fft(x, fft_type='RFFT', fft_length=(8,))
    """
    return Fft(x, kind, length)


# -- the other way round ----------------------------------------------------------------------------------------------


def _sample_reversed_windows(draw: Draw) -> Reverse:
    axes = draw.choose(((0,), (1,), (0, 1)))
    window, strides = (draw.integer(1, 3), 2), (draw.choose((1, 2)), 1)
    padding = ((draw.integer(0, 2), draw.integer(0, 1)), (1, 0))
    combiner = draw.choose((Maximum, Add))
    return Reverse(fold_windows(combiner, Reverse(tensor("f32", 5, 6), axes), window, strides, padding), axes)


@rewrite(
    Reverse(any_op(ReduceWindow, bind="windows", inputs=(Reverse(x, hole("inner")),)), hole("dimensions")),
    reassociates=True,
    sample=_sample_reversed_windows,
)
def reverse_around_windows(windows: ReduceWindow, x: Value, inner: Sizes, dimensions: Sizes) -> Value | None:
    """reverse(reduce_window(reverse(x))) = reduce_window(x), its padding the other way round: cumsum(x[::-1])[::-1]

    >>> sums = fold_windows(Add, Reverse(tensor("f32", 8), (0,)), (8,), None, ((7, 0),))
    >>> reverse_around_windows(Reverse(sums, (0,))).owner.padding
    ((0, 7),)
    """
    if not is_for_one(windows) or set(inner) != set(dimensions):
        return None
    if not all(_fits(windows, axis) for axis in dimensions):
        return None
    padding = tuple(
        pair[::-1] if axis in dimensions else tuple(pair) for axis, pair in enumerate(map(tuple, windows.padding))
    )
    return changed(windows, inputs=(x,), padding=padding)


def _fits(op: ReduceWindow, axis: int) -> bool:
    """Whether windows begin at one end of the padded input and end at the other."""
    size = op.inputs[0].shape[axis]
    whole = (size - 1) * op.base_dilations[axis] + 1 + sum(op.padding[axis])
    reach = (op.window_dimensions[axis] - 1) * op.window_dilations[axis] + 1
    return size > 0 and whole >= reach and (whole - reach) % op.window_strides[axis] == 0


# -- windows of windows -----------------------------------------------------------------------------------------------


def _sample_windows_of_windows(draw: Draw) -> ReduceWindow:
    combiner = draw.choose((Maximum, Minimum, Add, Multiply))
    inner, outer = ((draw.integer(1, 3), draw.integer(1, 2)) for _ in range(2))
    apart = draw.boolean()
    padding = ((draw.integer(0, 2), 1), (0, draw.integer(0, 1)))
    strides = inner if apart else (draw.integer(1, 2), 1)
    first = fold_windows(combiner, tensor("f32", 9, 8), inner, strides, padding)
    second = fold_windows(combiner, first, outer, (draw.integer(1, 2), draw.integer(1, 2)))
    assert isinstance(second, Result)
    assert isinstance(second.owner, ReduceWindow)
    return second.owner


@rewrite(
    any_op(ReduceWindow, inputs=(any_op(ReduceWindow, bind="inner"),)),
    reassociates=True,
    by_cost=True,
    sample=_sample_windows_of_windows,
)
def windows_of_windows(op: ReduceWindow, inner: ReduceWindow) -> Value | None:
    """reduce_window(reduce_window(x, max, w), max, v) = reduce_window(x, max, w + v - 1), and for sums of windows apart

    >>> twice = fold_windows(Maximum, fold_windows(Maximum, tensor("f32", 9), (2,), (2,)), (3,))
    >>> windows_of_windows(twice.owner).owner.window_dimensions
    (6,)
    """
    if input_of(op) is None or not is_for_one(inner) or inner.combiner is not op.combiner:
        return None
    sizes: list[int] = []
    strides: list[int] = []
    for axis, (window, stride) in enumerate(zip(op.window_dimensions, op.window_strides, strict=True)):
        own, step = inner.window_dimensions[axis], inner.window_strides[axis]
        dilations = (op.window_dilations, op.base_dilations, inner.window_dilations, inner.base_dilations)
        if any(each[axis] != 1 for each in dilations) or any(op.padding[axis]):
            return None
        # Each element is folded once, or may be several times; and none is left out between the windows.
        if window > 1 and not (step <= own if op.combiner in IDEMPOTENT else step == own):
            return None
        sizes.append((window - 1) * step + own)
        strides.append(stride * step)
    return changed(inner, window_dimensions=tuple(sizes), window_strides=tuple(strides))
