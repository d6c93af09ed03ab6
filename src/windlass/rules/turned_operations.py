"""Transposes around windows, sorts, transforms and updates: the axes are named otherwise, and one transpose is left.

Axis i of transpose(x, p) is axis p[i] of x: what an op says of the former, it says of the latter without the transpose.
"""

from __future__ import annotations

from typing import Any

from windlass.ir import Op, Result, Value
from windlass.ir.values import tensor
from windlass.ops import DynamicUpdateSlice, Fft, Maximum, ReduceWindow, Reshape, Sort, Transpose
from windlass.ops.combiners import is_order_free
from windlass.ops.sampling import Draw
from windlass.ops.windows import fold_windows
from windlass.rewriting.pattern import any_op, hole
from windlass.rewriting.rule import rewrite
from windlass.rewriting.sharing import is_alone
from windlass.rules.axes import Sizes, invert, match_axes, pick
from windlass.rules.dynamic_slices import some_starts
from windlass.rules.sorts import ordinary_comparator, sort_by

__all__ = ["Maximum", "fold_windows", "tensor"]

x, p, q, shape = hole("x"), hole("p"), hole("q"), hole("shape")


def owner_of(value: Value) -> Op | None:
    """The op that gives a value."""
    return value.owner if isinstance(value, Result) else value if isinstance(value, Op) else None


def changed(op: Op, **fields: Any) -> Value:
    """The first result of the op with some fields changed."""
    own = {
        name: value.clone({}) if type(value).__name__ == "Region" else value
        for name, value in op.field_values().items()
    }
    return type(op).from_fields({**own, **fields}).results[0]


def turned(op: Op, p: Sizes) -> Value | None:
    """The op on what its operands were before they were transposed by p; None if they weren't, or it can't be done."""
    back = invert(p)
    if isinstance(op, ReduceWindow) and len(op.inputs) == 1:
        return changed(
            op,
            inputs=(_untransposed(op.inputs[0], p),),
            window_dimensions=pick(op.window_dimensions, back),
            window_strides=pick(op.window_strides, back),
            base_dilations=pick(op.base_dilations, back),
            window_dilations=pick(op.window_dilations, back),
            padding=tuple(op.padding[axis] for axis in back),
        )
    if isinstance(op, Sort) and len(op.inputs) == 1:
        axis = op.dimension % len(p)
        return changed(op, inputs=(_untransposed(op.inputs[0], p),), dimension=p[axis])
    if isinstance(op, Fft):
        count = len(op.fft_length)
        if p[len(p) - count :] != tuple(range(len(p)))[len(p) - count :]:
            return None
        return changed(op, operand=_untransposed(op.operand, p))
    if isinstance(op, DynamicUpdateSlice):
        starts = tuple(op.start_indices[axis] for axis in back)
        return DynamicUpdateSlice(_untransposed(op.operand, p), _untransposed(op.update, p), starts)
    return None


def _untransposed(value: Value, p: Sizes) -> Value:
    if isinstance(value, Transpose) and value.permutation == p:
        return value.operand
    return Transpose(value, invert(p))


def find_permutation(op: Op) -> Sizes | None:
    """How the operand of an op that may be turned is transposed, if that serves no one else."""
    first = op.operands[0] if op.operands else None
    if not isinstance(first, Transpose) or not is_alone(first):
        return None
    if isinstance(op, DynamicUpdateSlice):
        update, size = op.update, op.tensor.size
        alike = isinstance(update, Transpose) and update.permutation == first.permutation
        # Else what is written is transposed instead, which is little.
        if not alike and 2 * update.tensor.size > size:
            return None
    elif isinstance(op, ReduceWindow):
        wide = sum(size > 1 for size in op.window_dimensions)
        # Elements of a window are folded in the order of the axes, which matters where results are rounded.
        if op.combiner is None or not (wide <= 1 or is_order_free(op.combiner, op.inputs[0].tensor)):
            return None
    elif not isinstance(op, Sort | Fft):
        return None
    return first.permutation


def _sample_turned(draw: Draw) -> Value:
    p = draw.permutation(3)
    kind = draw.integer(0, 3)
    dtype = draw.choose(("f32", "i32")) if kind else "f32"
    before = Transpose(tensor(dtype, 3, 4, 5), p)
    if kind == 0:
        window, strides = tuple(draw.integer(1, 3) for _ in p), tuple(draw.integer(1, 2) for _ in p)
        padding = tuple((draw.integer(0, 1), draw.integer(0, 1)) for _ in p)
        return fold_windows(Maximum, before, window, strides, padding)
    if kind == 1:
        axis = draw.integer(0, 2)
        if dtype == "i32":
            return sort_by((before,), axis).results[0]
        return Sort((before,), ordinary_comparator(dtype), axis, True).results[0]
    if kind == 2:
        z = Transpose(tensor("complex<f32>", 2, 3, 4, name="z"), (1, 0, 2))
        return Fft(z, draw.choose(("FFT", "IFFT")), (4,))
    update = tensor(dtype, *(1 for _ in p), name="u")
    if draw.boolean():
        update = Transpose(tensor(dtype, 2, 1, 2, name="u"), p)
    return DynamicUpdateSlice(before, update, some_starts(3))


@rewrite(Transpose(x, q), sample=lambda draw: Transpose(_sample_turned(draw), draw.permutation(3)))
def transpose_after_turned_operation(op: Transpose, x: Value, q: Sizes) -> Value | None:
    """transpose(f(transpose(x, p)), q) = transpose(f(x), p∘q), for folds of windows, sorts, transforms and updates

    >>> turned = fold_windows(Maximum, Transpose(tensor("f32", 6, 8), (1, 0)), (3, 1))
    >>> transpose_after_turned_operation(Transpose(turned, (1, 0))).owner.window_dimensions
    (1, 3)
    """
    inner = owner_of(x)
    p = None if inner is None or not is_alone(x) or len(inner.results) != 1 else find_permutation(inner)
    if inner is None or p is None:
        return None
    made = turned(inner, p)
    if made is None:
        return None
    both = tuple(p[axis] for axis in q)
    return made if both == tuple(range(len(both))) else Transpose(made, both)


def _sample_windows(draw: Draw) -> ReduceWindow:
    p = draw.permutation(2)
    before = Transpose(tensor("f32", 6, 8), p)
    made = owner_of(fold_windows(Maximum, before, (draw.integer(1, 3), 2), (2, draw.integer(1, 2))))
    assert isinstance(made, ReduceWindow)
    return made


@rewrite(any_op(ReduceWindow), sample=_sample_windows)
def windows_of_transpose(op: ReduceWindow) -> Value | None:
    """reduce_window(transpose(x, p)) = transpose(reduce_window(x), p), which is smaller

    >>> windows_of_transpose(fold_windows(Maximum, Transpose(tensor("f32", 6, 8), (1, 0)), (2, 2), (2, 2)).owner).type
    tensor<4x3xf32>
    """
    p = find_permutation(op)
    if p is None or op.results[0].tensor.size >= op.inputs[0].tensor.size:
        return None
    made = turned(op, p)
    return None if made is None else Transpose(made, p)


# -- transforms: axes among those that are transformed ----------------------------------------------------------------


def _may_stand_last(op: Fft, axes: Sizes) -> bool:
    """Whether the op can transform its axes in this order: the one that is halved has to stay the last."""
    rank, count = op.tensor.rank, len(op.fft_length)
    own = tuple(range(rank - count, rank))
    return set(axes[rank - count :]) == set(own) and (op.fft_type in ("FFT", "IFFT") or axes[-1] == rank - 1)


def _transform_in_order(op: Fft, x: Value, axes: Sizes) -> Fft:
    """The transform of x, whose axes are those of the op's operand in this order."""
    first = op.tensor.rank - len(op.fft_length)
    return Fft(x, op.fft_type, tuple(op.fft_length[axis - first] for axis in axes[first:]))


def _sample_transform_between_transposes(draw: Draw) -> Transpose:
    kind = draw.choose(("FFT", "IFFT", "RFFT", "IRFFT"))
    z = tensor("f32" if kind == "RFFT" else "complex<f32>", 2, 3, 4, 5, name="z")
    p, q = ((*draw.permutation(2), *(2 + axis for axis in draw.permutation(2))) for _ in range(2))
    if draw.boolean():
        p, q = (draw.permutation(4) for _ in range(2))
    moved = Transpose(z, p)
    last = 2 * moved.shape[-1] - 2 if kind == "IRFFT" else moved.shape[-1]
    return Transpose(Fft(moved, kind, (*moved.shape[4 - draw.integer(1, 3) : -1], last)), q)


@rewrite(
    Transpose(Fft(Transpose(x, p), hole("kind"), hole("length")), q),
    single_use=True,
    reassociates=True,
    sample=_sample_transform_between_transposes,
)
def transpose_around_transform(op: Transpose, x: Value, p: Sizes, q: Sizes) -> Value | None:
    """transpose(fft(transpose(x, p)), q) = fft(transpose(x, p∘q)), or transpose(fft(x), p∘q), if q or p keep the axes

    >>> z = Fft(Transpose(tensor("complex<f32>", 4, 2, 3), (0, 2, 1)), "FFT", (3, 2))
    >>> transpose_around_transform(Transpose(z, (0, 2, 1)))
    Fft(x, fft_type='FFT', fft_length=(2, 3))
    """
    transform = op.operand
    assert isinstance(transform, Fft)
    both = tuple(p[axis] for axis in q)
    if _may_stand_last(transform, q):
        in_order = both == tuple(range(len(both)))
        return _transform_in_order(transform, x if in_order else Transpose(x, both), q)
    back = invert(p)
    return Transpose(_transform_in_order(transform, x, back), both) if _may_stand_last(transform, back) else None


# -- unit axes --------------------------------------------------------------------------------------------------------


def without_unit_axes(op: Op, x: Value) -> Value | None:
    """The op on x, where its operand is x with axes of size 1 added along which it does nothing."""
    first = op.operands[0].tensor
    kept = match_axes(first.shape, x.shape)
    if kept is None or len(kept) != sum(size != 1 for size in first.shape):
        return None
    if any(size == 1 for size in x.shape):
        return None
    axes = tuple(sorted(kept))
    dropped = [axis for axis in range(first.rank) if axis not in axes]
    if isinstance(op, ReduceWindow) and len(op.inputs) == 1:
        plain = ((0, 0), 1, 1, 1)
        for axis in dropped:
            found = (
                tuple(op.padding[axis]),
                op.window_dimensions[axis],
                op.window_strides[axis],
                op.base_dilations[axis],
            )
            if found != plain:
                return None
        return changed(
            op,
            inputs=(x,),
            window_dimensions=pick(op.window_dimensions, axes),
            window_strides=pick(op.window_strides, axes),
            base_dilations=pick(op.base_dilations, axes),
            window_dilations=pick(op.window_dilations, axes),
            padding=tuple(op.padding[axis] for axis in axes),
        )
    if isinstance(op, Sort) and len(op.inputs) == 1:
        axis = op.dimension % first.rank
        return None if axis in dropped else changed(op, inputs=(x,), dimension=axes.index(axis))
    if isinstance(op, Fft):
        last = axes[len(axes) - len(op.fft_length) :]
        return changed(op, operand=x) if last == tuple(range(first.rank))[-len(op.fft_length) :] else None
    return None


def _sample_with_unit_axes(draw: Draw) -> Reshape:
    x = tensor("f32", 4, 5)
    wide = draw.choose(((4, 1, 5), (1, 4, 5), (4, 5, 1)))
    axes = [axis for axis in range(3) if wide[axis] != 1]
    if draw.boolean():
        window = [1, 1, 1]
        window[draw.choose(axes)] = 2
        made = fold_windows(Maximum, Reshape(x, wide), tuple(window))
    else:
        made = Sort((Reshape(x, wide),), ordinary_comparator("f32"), draw.choose(axes), True).results[0]
    return Reshape(made, tuple(size for size, axis in zip(made.shape, range(3), strict=True) if axis in axes))


@rewrite(Reshape(x, shape), sample=_sample_with_unit_axes)
def unit_axes_around_operation(op: Reshape, x: Value) -> Value | None:
    """reshape(f(reshape(x))) = f(x), where the reshapes add and drop axes of size 1; for folds of windows, sorts, fft

    >>> wide = fold_windows(Maximum, Reshape(tensor("f32", 6, 8), (6, 1, 8)), (2, 1, 2))
    >>> unit_axes_around_operation(Reshape(wide, (5, 7))).owner.window_dimensions
    (2, 2)
    """
    inner = owner_of(x)
    if inner is None or not isinstance(inner, ReduceWindow | Sort | Fft) or not is_alone(x):
        return None
    first = inner.operands[0]
    if len(inner.results) != 1 or not isinstance(first, Reshape):
        return None
    made = without_unit_axes(inner, first.operand)
    return made if made is not None and made.type is op.type else None
