"""Scales and sums of convolutions, done on their kernels: batch normalization at inference is no work at all."""

from __future__ import annotations

from typing import Any

from windlass.ir import Op, Value
from windlass.ir.values import tensor
from windlass.ops import Add, BroadcastInDim, Constant, Convolution, Divide, Multiply, Subtract
from windlass.ops.sampling import Draw
from windlass.rewriting.pattern import any_op, hole
from windlass.rewriting.rule import rewrite
from windlass.rewriting.sharing import is_alone
from windlass.rules.convolutions import changed, convolve
from windlass.rules.letters import lay, unspread

__all__ = ["tensor"]

x, y = hole("x"), hole("y")


def by_features(op: Convolution, value: Value) -> Value | None:
    """What a value with the shape of a convolution's result repeats, if only the features tell its elements apart.

    It is laid out as the kernel is.
    """
    found = unspread(value)
    if found is None or not set(found[1]) <= {op.output_feature_dimension}:
        return None
    return lay(found[0], op.rhs.shape, (op.kernel_output_feature_dimension,) * len(found[1]))


def scaled(op: Convolution, by: Value, kind: type[Any]) -> Value | None:
    """The convolution with its kernel scaled, if that is smaller than its result."""
    if op.rhs.tensor.size >= op.tensor.size or op.rhs.dtype != op.tensor.dtype or op.tensor.dtype not in ("f32", "f64"):
        return None
    factor = by_features(op, by)
    return None if factor is None else changed(op, rhs=kind(op.rhs, factor))


def sample_scaled(draw: Draw) -> Op:
    """A convolution, perhaps with something added to each feature, times or over something for each feature."""
    made: Value = convolve(tensor("f32", 2, 2, 7), tensor("f32", 3, 2, 2, name="k"))
    if draw.boolean():
        added = BroadcastInDim(tensor("f32", 3, name="m"), made.shape, (1,))
        kind, operands = draw.choose((Add, Subtract)), (made, added)
        made = kind(*(operands if kind is Subtract or draw.boolean() else operands[::-1]))
    if draw.boolean():
        return Divide(made, Constant.of(draw.integer(2, 5), "f32", made.shape))
    factor = BroadcastInDim(tensor("f32", 3, name="c"), made.shape, (1,))
    return Multiply(made, factor) if draw.boolean() else Multiply(factor, made)


@rewrite(Multiply(any_op(Convolution), y), single_use=True, reassociates=True, sample=sample_scaled)
def scale_of_convolution(op: Multiply, y: Value) -> Value | None:
    """c · convolution(x, k) = convolution(x, c · k), if c is a number or one for each feature of the result

    >>> made = convolve(tensor("f32", 9, 2, 8), tensor("f32", 4, 2, 3))
    >>> scale_of_convolution(Multiply(made, Constant.of(2, "f32", made.shape))).rhs.rhs
    Constant(2.0)
    """
    inner = op.rhs if op.lhs is y else op.lhs
    return scaled(inner, y, Multiply) if isinstance(inner, Convolution) and is_alone(inner, op) else None


@rewrite(Divide(any_op(Convolution), y), single_use=True, reassociates=True, sample=sample_scaled)
def quotient_of_convolution(op: Divide, y: Value) -> Value | None:
    """convolution(x, k) / c = convolution(x, k / c), if c is a number or one for each feature of the result

    >>> made = convolve(tensor("f32", 9, 2, 8), tensor("f32", 4, 2, 3))
    >>> quotient_of_convolution(Divide(made, Constant.of(2, "f32", made.shape))).rhs.rhs
    Constant(2.0)
    """
    inner = op.lhs
    return scaled(inner, y, Divide) if isinstance(inner, Convolution) and is_alone(inner, op) else None


def shifted_convolution(value: Value, user: Op) -> tuple[type[Any], Convolution, Value] | None:
    """The sum or difference that a value is, of a convolution and something else, if just the user uses them."""
    if not isinstance(value, Add | Subtract) or not is_alone(value, user):
        return None
    pairs = [value.operands, value.operands[::-1]] if isinstance(value, Add) else [value.operands]
    for inner, added in pairs:
        if isinstance(inner, Convolution) and is_alone(inner, value):
            return type(value), inner, added
    return None


def _distribute(op: Op, value: Value, by: Value, kind: type[Any]) -> Value | None:
    found = shifted_convolution(value, op)
    if found is None:
        return None
    sign, inner, added = found
    shift, factor = unspread(added), unspread(by)
    feature = inner.output_feature_dimension
    if shift is None or factor is None or not {*shift[1], *factor[1]} <= {feature}:
        return None
    made = scaled(inner, by, kind)
    if made is None:
        return None
    axes = tuple(sorted({*shift[1], *factor[1]}))
    shape = tuple(inner.shape[axis] for axis in axes)
    small = kind(*(lay(each, shape, tuple(range(len(places)))) for each, places in (shift, factor)))
    return sign(made, lay(small, inner.shape, axes))


@rewrite(Multiply(x, y), reassociates=True, sample=sample_scaled)
def scale_of_shifted_convolution(op: Multiply, x: Value, y: Value) -> Value | None:
    """c · (convolution(x, k) + b) = convolution(x, c · k) + c · b, for numbers or one for each feature; and so for -

    >>> made = convolve(tensor("f32", 9, 2, 8), tensor("f32", 4, 2, 3))
    >>> shifted = Add(made, BroadcastInDim(tensor("f32", 4, name="b"), made.shape, (1,)))
    >>> scale_of_shifted_convolution(Multiply(shifted, Constant.of(2, "f32", made.shape))).rhs.operand.lhs
    b
    """
    return _distribute(op, x, y, Multiply) or _distribute(op, y, x, Multiply)


@rewrite(Divide(x, y), reassociates=True, sample=sample_scaled)
def quotient_of_shifted_convolution(op: Divide, x: Value, y: Value) -> Value | None:
    """(convolution(x, k) + b) / c = convolution(x, k / c) + b / c, for numbers or one for each feature; and so for -

    >>> made = convolve(tensor("f32", 9, 2, 8), tensor("f32", 4, 2, 3))
    >>> shifted = Add(made, BroadcastInDim(tensor("f32", 4, name="b"), made.shape, (1,)))
    >>> quotient_of_shifted_convolution(Divide(shifted, Constant.of(2, "f32", made.shape))).rhs.operand.lhs
    b
    """
    return _distribute(op, x, y, Divide)
