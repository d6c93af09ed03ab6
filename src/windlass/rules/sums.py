"""Sums and extremes of arithmetic: of what is scaled, shifted, negated or mapped by a function that keeps order."""

from __future__ import annotations

import math

import numpy as np

from windlass.ir import Op, Result, Value
from windlass.ir.values import tensor
from windlass.ops import (
    Add,
    And,
    BroadcastInDim,
    Ceil,
    Constant,
    Convert,
    Divide,
    Exponential,
    Floor,
    Logistic,
    Maximum,
    Minimum,
    Multiply,
    Negate,
    Not,
    Or,
    Reduce,
    Subtract,
    Tanh,
)
from windlass.ops.combiners import EXTREMES
from windlass.ops.pointwise import Binary, Unary
from windlass.ops.reduction import reduce_and, reduce_max, reduce_or, reduce_sum
from windlass.ops.sampling import Draw
from windlass.rewriting.pattern import any_op, hole
from windlass.rewriting.rule import rewrite
from windlass.rewriting.sharing import is_alone
from windlass.rules.letters import lay, unspread
from windlass.rules.reductions import Sizes, again, begins_neutral, broadcast, fold, sample_fold

__all__ = ["BroadcastInDim", "reduce_max", "reduce_sum"]

x = hole("x")


def converted(draw: Draw, shape: Sizes, dtype: str) -> Value:
    narrow, wide = draw.choose((("bf16", "f32"), ("f32", "f64"), ("i8", "i32"), ("ui8", "i32"), ("i32", "f64")))
    return Convert(tensor(narrow, *shape), wide)


WIDENINGS = {
    "f32": ("bf16", "f16", "i8", "ui8", "i16", "ui16"),
    "f64": ("bf16", "f16", "f32", "i8", "ui8", "i16", "ui16", "i32", "ui32"),
    "i16": ("i8", "ui8"),
    "i32": ("i8", "ui8", "i16", "ui16"),
    "i64": ("i8", "ui8", "i16", "ui16", "i32", "ui32"),
}
"""Element types all of whose numbers another one has."""


@rewrite(fold(EXTREMES, any_op(Convert, bind="wide")), sample=sample_fold(converted, EXTREMES))
def extreme_of_widened(op: Reduce, wide: Convert) -> Value | None:
    """max(convert(x)) = convert(max(x)), to a type that has all numbers of the narrower one; and so for min

    >>> extreme_of_widened(reduce_max(Convert(tensor("bf16", 9), "f32"), (0,)).owner).dtype
    'f32'
    """
    if wide.operand.dtype not in WIDENINGS.get(wide.dtype, ()):
        return None
    if not begins_neutral(op) or op.results[0].tensor.size >= wide.tensor.size:
        return None
    return Convert(again(op, wide.operand, op.dimensions, op.combiner), wide.dtype)


def negated(draw: Draw, shape: Sizes, dtype: str) -> Value:
    return Negate(tensor(dtype, *shape))


@rewrite(fold((Add,), Negate(x)), reassociates=True, sample=sample_fold(negated, (Add,)))
def sum_of_negated(op: Reduce, x: Value) -> Value | None:
    """sum(-x) = -sum(x)

    >>> sum_of_negated(reduce_sum(Negate(tensor("f32", 9)), (0,)).owner).operand.owner.inputs
    (x,)
    """
    if not begins_neutral(op) or op.results[0].tensor.size >= x.tensor.size:
        return None
    return Negate(again(op, x, op.dimensions))


@rewrite(fold(EXTREMES, Negate(x)), sample=sample_fold(negated, EXTREMES, floats=True))
def extreme_of_negated(op: Reduce, x: Value) -> Value | None:
    """max(-x) = -min(x), min(-x) = -max(x), for floats

    >>> type(extreme_of_negated(reduce_max(Negate(tensor("f32", 9)), (0,)).owner)).__name__
    'Negate'
    """
    if not x.tensor.is_float or not begins_neutral(op) or op.results[0].tensor.size >= x.tensor.size:
        return None
    return Negate(again(op, x, op.dimensions, Minimum if op.combiner is Maximum else Maximum))


def scaled(draw: Draw, shape: Sizes, dtype: str) -> Value:
    """A value times what repeats along some axes."""
    factor = broadcast(draw, shape, dtype)
    kind = Divide if dtype != "i32" and draw.boolean() and isinstance(factor, Constant) else Multiply
    if kind is Divide:
        factor = Constant.of(draw.integer(2, 5), dtype, shape)
    return kind(tensor(dtype, *shape, name="y"), factor)


@rewrite(
    fold((Add,), any_op(Binary, only=(Multiply, Divide), bind="value")),
    reassociates=True,
    sample=sample_fold(scaled, (Add,)),
)
def sum_of_scaled(op: Reduce, value: Multiply | Divide) -> Value | None:
    """sum(c · x) = c · sum(x), along axes along which c repeats; and so for x / c

    >>> scaled = Multiply(tensor("f32", 9), BroadcastInDim(tensor("f32", name="c"), (9,), ()))
    >>> sum_of_scaled(reduce_sum(scaled, (0,)).owner).lhs
    c
    """
    if not is_alone(value, op) or not begins_neutral(op):
        return None
    if isinstance(value, Divide) and value.tensor.is_integer:
        return None
    orders = [(value.lhs, value.rhs)] if isinstance(value, Divide) else [value.operands, value.operands[::-1]]
    for x, by in orders:
        found = unspread(by)
        if found is None:
            continue
        factor, axes = found
        free = tuple(axis for axis in op.dimensions if axis not in axes)
        # What is left must be worth a pass of its own.
        if not free or math.prod(value.shape[axis] for axis in free) < 2:
            continue
        kept = [axis for axis in range(value.tensor.rank) if axis not in free]
        inner = again(op, x, free)
        own = lay(factor, inner.shape, tuple(kept.index(axis) for axis in axes))
        scaled_sum = Divide(inner, own) if isinstance(value, Divide) else Multiply(own, inner)
        rest = tuple(kept.index(axis) for axis in op.dimensions if axis not in free)
        if rest and scaled_sum.tensor.size * 2 >= value.tensor.size:
            continue
        return again(op, scaled_sum, rest)
    return None


def shifted(draw: Draw, shape: Sizes, dtype: str) -> Value:
    """A value plus or minus what repeats along all axes that are reduced."""
    return draw.choose((Add, Subtract))(tensor(dtype, *shape, name="y"), broadcast(draw, shape, dtype))


@rewrite(
    fold((Add,), any_op(Binary, only=(Add, Subtract), bind="value")),
    reassociates=True,
    sample=sample_fold(shifted, (Add,)),
)
def sum_of_shifted(op: Reduce, value: Add | Subtract) -> Value | None:
    """sum(x + c) = sum(x) + n · c, along n elements along which c repeats; and so for x - c

    >>> shifted = Add(tensor("f32", 9), Constant.of(2, "f32", (9,)))
    >>> sum_of_shifted(reduce_sum(shifted, (0,)).owner).rhs
    Constant(18.0)
    """
    if not is_alone(value, op) or not begins_neutral(op):
        return None
    result = op.results[0]
    if 3 * result.tensor.size >= value.tensor.size or value.tensor.is_boolean:
        return None
    orders = [(value.lhs, value.rhs)] if isinstance(value, Subtract) else [value.operands, value.operands[::-1]]
    for x, by in orders:
        found = unspread(by)
        if found is None or any(axis in op.dimensions for axis in found[1]):
            continue
        shift, axes = found
        count = math.prod(value.shape[axis] for axis in op.dimensions)
        kept = [axis for axis in range(value.tensor.rank) if axis not in op.dimensions]
        if value.dtype in ("bf16", "f16") or (count > 1 << 24 and value.tensor.is_float):
            continue
        if isinstance(shift, Constant):
            with np.errstate(all="ignore"):
                number = (shift.array * np.array(count).astype(shift.tensor.numpy_dtype)).astype(
                    shift.tensor.numpy_dtype
                )
            total: Value = Constant.of(number[()], shift.dtype, result.shape)
        else:
            number = np.array(count).astype(value.tensor.numpy_dtype)
            total = Multiply(Constant.of(number, shift.dtype, shift.shape), shift)
            total = lay(total, result.shape, tuple(kept.index(axis) for axis in axes))
        return type(value)(again(op, x, op.dimensions), total)
    return None


INCREASING = (Exponential, Tanh, Logistic, Floor, Ceil)


def increasing(draw: Draw, shape: Sizes, dtype: str) -> Value:
    return draw.choose(INCREASING)(tensor(dtype, *shape))


@rewrite(
    fold(EXTREMES, any_op(Unary, only=INCREASING, bind="value")),
    reassociates=True,
    sample=sample_fold(increasing, EXTREMES, floats=True),
)
def extreme_of_increasing(op: Reduce, value: Unary) -> Value | None:
    """max(f(x)) = f(max(x)), for f among exp, tanh, logistic, floor and ceil; and so for min

    >>> extreme_of_increasing(reduce_max(Exponential(tensor("f32", 9)), (0,)).owner).operand.owner.inputs
    (x,)
    """
    if not is_alone(value, op) or not begins_neutral(op):
        return None
    if op.results[0].tensor.size >= value.tensor.size:
        return None
    return value.with_operands((again(op, value.operand, op.dimensions),))


@rewrite(
    fold(EXTREMES, any_op(Binary, only=(Add, Subtract), bind="value")),
    reassociates=True,
    sample=sample_fold(shifted, EXTREMES, floats=True),
)
def extreme_of_shifted(op: Reduce, value: Add | Subtract) -> Value | None:
    """max(x + c) = max(x) + c, along axes along which c repeats; and so for x - c, and for min; floats

    >>> shifted = Subtract(tensor("f32", 9), Constant.of(2, "f32", (9,)))
    >>> extreme_of_shifted(reduce_max(shifted, (0,)).owner).rhs
    Constant(2.0)
    """
    if not value.tensor.is_float or not is_alone(value, op):
        return None
    result = op.results[0]
    if not begins_neutral(op) or result.tensor.size >= value.tensor.size:
        return None
    orders = [(value.lhs, value.rhs)] if isinstance(value, Subtract) else [value.operands, value.operands[::-1]]
    for x, by in orders:
        found = unspread(by)
        if found is None or any(axis in op.dimensions for axis in found[1]):
            continue
        shift, axes = found
        kept = [axis for axis in range(value.tensor.rank) if axis not in op.dimensions]
        shift = lay(shift, result.shape, tuple(kept.index(axis) for axis in axes))
        return type(value)(again(op, x, op.dimensions), shift)
    return None


def sample_fold_of_not(draw: Draw) -> Op:
    made = draw.choose((reduce_and, reduce_or))(Not(tensor("i1", *draw.shape(1, 2, 1))), (0,))
    assert isinstance(made, Result)
    return made.owner


@rewrite(fold((And, Or), Not(x)), sample=sample_fold_of_not)
def fold_of_not(op: Reduce, x: Value) -> Value | None:
    """any(not x) = not all(x), all(not x) = not any(x)

    >>> fold_of_not(reduce_or(Not(tensor("i1", 9)), (0,)).owner).operand.owner.combiner.__name__
    'And'
    """
    if not begins_neutral(op) or op.results[0].tensor.size >= x.tensor.size:
        return None
    return Not(again(op, x, op.dimensions, And if op.combiner is Or else Or))
