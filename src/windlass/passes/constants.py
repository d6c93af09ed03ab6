"""What can be computed now is: folding of constants, with one number for all elements kept as one number."""

from __future__ import annotations

from typing import Any

import numpy as np

from windlass.ir import Op, Result, TensorType, Value, tensor_type
from windlass.ir.captures import captures
from windlass.ir.values import tensor
from windlass.ops import (
    Add,
    BroadcastInDim,
    Compare,
    Concatenate,
    Constant,
    Elementwise,
    Maximum,
    Minimum,
    Pad,
    Reduce,
    Reshape,
    Return,
    Reverse,
    Scatter,
    Select,
    Slice,
    Transpose,
)
from windlass.ops.base import TensorOp
from windlass.ops.evaluation import Scope
from windlass.ops.reduction import reduce_with
from windlass.ops.regions import make_region
from windlass.ops.sampling import Draw
from windlass.rewriting.pattern import any_op, hole
from windlass.rewriting.rule import rewrite
from windlass.rules.splats import splat

__all__ = ["tensor"]

LARGEST_FOLDED = 256
"""Elements: larger results stay computed, so that programs hold no large tables."""

MOVEMENTS = (BroadcastInDim, Reshape, Reverse, Slice, Transpose)


def sample_op_on_constants(draw: Draw) -> TensorOp:
    """An op whose operands are all constants, small tables or one number each."""
    shape = draw.shape(1, 2, 1)
    dtype = draw.choose(("f32", "i32", "ui8"))
    if draw.boolean():
        shape = (*shape, LARGEST_FOLDED + 1)
        x, y = (Constant.of(draw.integer(0, 3), dtype, shape) for _ in range(2))
    else:
        x, y = (Constant.of(draw.array(tensor_type(shape, dtype))) for _ in range(2))
    return draw.choose((Add(x, y), Compare(x, y, "LT"), Select(Compare(x, y, "GT"), x, y), Reverse(x, (0,))))


@rewrite(any_op(TensorOp, takes=(Constant,)), sample=sample_op_on_constants)
def fold_constants(op: TensorOp) -> Value | None:
    """f(constants) = constant, if it is small

    >>> fold_constants(Add(Constant.of(np.array([1, 2], np.int32)), Constant.of(np.array([3, 4], np.int32))))
    Constant([4, 6])
    """
    operands = op.operands
    if not operands or op.region_names or not op.is_pure or not isinstance(op.type, TensorType):
        return None
    if not all(isinstance(operand, Constant) for operand in operands):
        return None
    constants = [operand for operand in operands if isinstance(operand, Constant)]
    if op.tensor.size <= LARGEST_FOLDED and all(constant.tensor.size <= 4 * LARGEST_FOLDED for constant in constants):
        try:
            found = np.asarray(op.evaluate(*[constant.array for constant in constants]))
        except (NotImplementedError, ValueError, np.linalg.LinAlgError):
            return None  # no meaning on arrays alone, or not on these
        return Constant.of(found, op.dtype)
    if isinstance(op, Elementwise) and all(constant.is_splat for constant in constants):
        scalars = tuple(Constant.of(constant.number, constant.dtype) for constant in constants)
        number = op.with_operands(scalars).evaluate(*[scalar.array for scalar in scalars])
        return Constant.of(np.asarray(number)[()], op.dtype, op.shape)
    return None


def sample_reduction_of_constant(draw: Draw) -> Op:
    x = Constant.of(draw.tame_array(tensor_type((4, 3), "i32")))
    total = reduce_with(draw.choose((Add, Maximum)), x, (draw.integer(0, 1),))
    assert isinstance(total, Result)
    return total.owner


@rewrite(any_op(Reduce), sample=sample_reduction_of_constant)
def fold_reduction_of_constant(op: Reduce) -> tuple[Value, ...] | None:
    """reduce(constant) = constant, if it is small and nothing is rounded

    >>> x = Constant.of(np.array([1, 2, 3], np.int32))
    >>> fold_reduction_of_constant(reduce_with(Add, x, (0,)).owner)
    (Constant(6),)
    """
    return _fold_regions(op)


def sample_scatter_of_constants(draw: Draw) -> Op:
    x = Constant.of(draw.tame_array(tensor_type((4, 3), "i32")))
    places = Constant.of(draw.tame_array(tensor_type((2, 1), "i32")))
    rows = Constant.of(draw.tame_array(tensor_type((2, 3), "i32")))
    body = make_region([tensor_type((), "i32")] * 2, draw.choose((lambda _, new: new, Add)))
    return Scatter((x,), places, (rows,), (1,), (0,), (), (), (0,), 1, body)


@rewrite(any_op(Scatter), sample=sample_scatter_of_constants)
def fold_scatter_of_constants(op: Scatter) -> tuple[Value, ...] | None:
    """scatter(constants) = constant, if it is small and nothing is rounded

    >>> x, places = Constant.of(np.array([1, 2, 3], np.int32)), Constant.of(np.array([[1]], np.int32))
    >>> body = make_region([tensor_type((), "i32")] * 2, lambda _, new: new)
    >>> put = Scatter((x,), places, (Constant.of(7, "i32", (1,)),), (), (0,), (), (), (0,), 1, body)
    >>> fold_scatter_of_constants(put)
    (Constant([1, 7, 3]),)
    """
    return _fold_regions(op)


def _fold_regions(op: Reduce | Scatter) -> tuple[Value, ...] | None:
    if not all(map(_is_small, op.operands)) or _rounds(op):
        return None
    if not all(isinstance(result.type, TensorType) and result.tensor.size <= LARGEST_FOLDED for result in op.results):
        return None
    known: dict[Value, Any] = {}
    for captured in (value for region in op.regions for value in captures(region)):
        if not isinstance(captured, Constant):
            return None
        known[captured] = captured.array
    arrays = [operand.array for operand in op.operands if isinstance(operand, Constant)]
    found = op.evaluate(*arrays, scope=Scope(known))
    return tuple(
        Constant.of(np.asarray(each), result.tensor.dtype) for each, result in zip(found, op.results, strict=True)
    )


def _rounds(op: Reduce | Scatter) -> bool:
    """Whether its result may depend on the order of what it does."""
    return any(
        isinstance(inner.type, TensorType)
        and not (inner.tensor.is_integer or inner.tensor.is_boolean)
        and not isinstance(inner, Constant | Maximum | Minimum | Return | Select)
        for region in op.regions
        for inner in region.walk()
    )


def _is_small(value: Value) -> bool:
    return isinstance(value, Constant) and value.tensor.size <= 4 * LARGEST_FOLDED


def sample_movement_of_constant(draw: Draw) -> TensorOp:
    """A movement of a constant that is one number everywhere, often too large to be folded."""
    shape = (*draw.shape(1, 2, 1), draw.choose((2, LARGEST_FOLDED + 1)))
    x = Constant.of(draw.integer(-2, 2), "f32", shape)
    movement = draw.choose(MOVEMENTS)
    if movement is BroadcastInDim:
        return BroadcastInDim(x, (2, *shape), tuple(range(1, len(shape) + 1)))
    return movement(x, **movement.sample(draw, x.tensor))


@rewrite(any_op(TensorOp, only=MOVEMENTS, takes=(Constant,)), sample=sample_movement_of_constant)
def move_constant(op: TensorOp) -> Value | None:
    """movement(constant c everywhere) = constant c everywhere

    >>> move_constant(Reshape(Constant.of(1.5, "f32", (2, 3)), (6,)))
    Constant(1.5)
    """
    if not isinstance(op, MOVEMENTS):
        return None
    operand = op.operand
    if isinstance(operand, Constant) and operand.is_splat:
        return Constant.of(operand.number, operand.dtype, op.shape)
    return None


x, fill, low, high, interior = hole("x"), hole("fill"), hole("low"), hole("high"), hole("interior")


def sample_padded_constant(draw: Draw) -> Pad:
    """A constant in more of the same, mostly, and often too large to be folded."""
    inside = Constant.of(draw.integer(0, 1), "f32", (draw.choose((2, LARGEST_FOLDED)), 3))
    fill = Constant.of(draw.choose((inside.number, inside.number, -0.0)), "f32")
    return Pad(inside, fill, (draw.integer(-1, 2), 0), (1, draw.integer(0, 2)), (0, draw.integer(0, 1)))


@rewrite(any_op(Pad, operand=splat("x"), padding_value=any_op(Constant, bind="fill")), sample=sample_padded_constant)
def pad_of_constant(op: Pad, x: Constant, fill: Constant) -> Value | None:
    """pad(constant c, c) = constant c of the larger shape

    >>> pad_of_constant(Pad(Constant.of(0, "f32", (2,)), Constant.of(0, "f32"), (1,), (1,), (0,)))
    Constant(0.0)
    """
    if x.value.data.tobytes() != fill.value.data.tobytes():
        return None
    return Constant.of(fill.number, fill.dtype, op.shape)


inputs, dimension = hole("inputs"), hole("dimension")


@rewrite(any_op(Concatenate, takes=(Constant,), inputs=inputs, dimension=dimension))
def concatenate_with_constant(inputs: tuple[Value, ...], dimension: int) -> Value | None:
    """concatenate(constant c, x) = pad(x, c), and so at the other end

    >>> zeros = Constant.of(0, "f32", (2,))
    >>> concatenate_with_constant(Concatenate((zeros, tensor("f32", 3)), 0)).edge_padding_low
    (2,)
    """
    if len(inputs) != 2:
        return None
    for end, rest in (inputs, inputs[::-1]):
        if isinstance(end, Constant) and end.is_splat and end.shape[dimension]:
            nothing = (0,) * len(end.shape)
            edge = tuple(size if axis == dimension else 0 for axis, size in enumerate(end.shape))
            edges = (edge, nothing) if end is inputs[0] else (nothing, edge)
            return Pad(rest, Constant.of(end.number, end.dtype), *edges, nothing)
    return None
