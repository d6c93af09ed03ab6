"""Transposes of scatters: the places are named otherwise. And scatters that are combined with a whole array."""

from __future__ import annotations

import math

import numpy as np

from windlass.ir import Value
from windlass.ir.values import tensor
from windlass.ops import Add, Constant, Multiply, Scatter, Transpose
from windlass.ops.regions import combiner_region
from windlass.ops.sampling import Draw
from windlass.rewriting.facts import range_of
from windlass.rewriting.pattern import any_op, hole
from windlass.rewriting.rule import rewrite
from windlass.rewriting.turned_scatters import (
    can_be_turned,
    one_number_of,
    scatter_in_order,
    scatter_of,
    starts_from_one_number,
)
from windlass.rules.axes import Sizes
from windlass.rules.repeated_scatters import with_inputs
from windlass.rules.scatters import put_rows

q = hole("q")


def scatter_into(x: Value, draw: Draw) -> Scatter:
    """A scatter of rows, columns, planes or elements into an array of rank 3."""
    body = combiner_region(draw.choose((Add, Multiply)), "f32")
    count = draw.integer(1, 3)
    mapped = draw.permutation(3)[: draw.integer(1, 3)]
    inserted = tuple(sorted(draw.choose((mapped, mapped[:1], ()))))
    kept = [axis for axis in range(3) if axis not in inserted]
    window = [draw.integer(1, min(2, x.shape[axis])) for axis in kept]
    updates = tensor("f32", count, *window, name="u")
    indices = tensor("i32", count, len(mapped), name="i")
    return Scatter((x,), indices, (updates,), tuple(range(1, 1 + len(kept))), inserted, (), (), mapped, 1, body)


def _sample_turned_scatter(draw: Draw) -> Transpose:
    p, q = draw.permutation(3), draw.permutation(3)
    x: Value = Constant.of(draw.choose((0, 1)), "f32", (3, 4, 5))
    if draw.boolean():
        x = Transpose(tensor("f32", 3, 4, 5), p)
    return Transpose(scatter_into(x, draw).results[0], q)


@rewrite(Transpose(hole("x"), q), sample=_sample_turned_scatter)
def transpose_of_scatter(op: Transpose, x: Value, q: Sizes) -> Value | None:
    """transpose(scatter(transpose(x, p), i, u), q) = scatter(transpose(x, p∘q), i, u), or if x is one number

    >>> zeros = Constant.of(0, "f32", (9, 5))
    >>> rows = put_rows(zeros, tensor("i32", 2, 1, name="i"), tensor("f32", 2, 5, name="u"), Add)
    >>> columns = transpose_of_scatter(Transpose(rows.results[0], (1, 0))).owner
    >>> columns.inserted_window_dims, columns.update_window_dims
    ((1,), (1,))
    """
    scatter = scatter_of(x)
    if scatter is None or len(x.uses) != 1 or not can_be_turned(scatter):
        return None
    into = scatter.inputs[0]
    if starts_from_one_number(scatter):
        return scatter_in_order(scatter, one_number_of(into, op.shape), q)
    if not isinstance(into, Transpose) or len(into.uses) != 1:
        return None
    both = tuple(into.permutation[axis] for axis in q)
    in_order = both == tuple(range(len(both)))
    return scatter_in_order(scatter, into.operand if in_order else Transpose(into.operand, both), q)


# -- scatters into what changes nothing -------------------------------------------------------------------------------


def _sample_scatter_into_neutral(draw: Draw, combiner: type[Add] | type[Multiply]) -> Add | Multiply:
    neutral = draw.choose((0, -0.0)) if combiner is Add else 1
    indices = tensor("i32", draw.choose((1, 3)), 1, name="i")
    updates = tensor(draw.choose(("f32", "i32")), indices.shape[0], 2, name="u")
    put = put_rows(Constant.of(neutral, updates.dtype, (6, 2)), indices, updates, draw.choose((None, combiner)))
    y = tensor(updates.dtype, 6, 2, name="y")
    if combiner is Add and draw.boolean():
        y = Multiply(y, y)
    return combiner(*draw.choose(((put.results[0], y), (y, put.results[0]))))


def _combined(op: Add | Multiply, combiner: type[Add] | type[Multiply]) -> Value | None:
    for side, other in ((op.lhs, op.rhs), (op.rhs, op.lhs)):
        scatter = scatter_of(side)
        if scatter is None or len(side.uses) != 1 or scatter.results[0].type is not op.type:
            continue
        x = scatter.inputs[0]
        if not isinstance(x, Constant) or not x.is_splat:
            continue
        if scatter.combiner is not combiner and not (scatter.is_overwrite and _repeats_no_place(scatter)):
            continue
        if combiner is Multiply and x.number == 1:
            return _with_combiner(scatter, other, combiner)
        if combiner is Add and x.number == 0 and (np.signbit(x.number) or not range_of(other).negative_zero):
            return _with_combiner(scatter, other, combiner)
    return None


def _with_combiner(op: Scatter, x: Value, combiner: type[Add] | type[Multiply]) -> Value:
    if op.combiner is combiner:
        return with_inputs(op, x, op.updates[0])
    fields = {**op.field_values(), "inputs": (x,), "update_computation": combiner_region(combiner, x.dtype)}
    return Scatter.from_fields(fields).results[0]


def _repeats_no_place(op: Scatter) -> bool:
    indices = op.scatter_indices.shape
    places = math.prod(size for axis, size in enumerate(indices) if axis != op.index_vector_dim)
    return op.unique_indices or places <= 1


@rewrite(any_op(Add), reassociates=True, sample=lambda draw: _sample_scatter_into_neutral(draw, Add))
def sum_with_scatter_into_zeros(op: Add) -> Value | None:
    """y + scatter(0, i, u, +) = scatter(y, i, u, +), for floats if no y is -0.0; and if u is put where no place repeats

    >>> zeros, i = Constant.of(0, "i32", (9,)), tensor("i32", 2, 1, name="i")
    >>> put = put_rows(zeros, i, tensor("i32", 2, name="u"), Add)
    >>> sum_with_scatter_into_zeros(Add(put.results[0], tensor("i32", 9, name="y"))).owner.inputs
    (y,)
    """
    return _combined(op, Add)


@rewrite(any_op(Multiply), reassociates=True, sample=lambda draw: _sample_scatter_into_neutral(draw, Multiply))
def product_with_scatter_into_ones(op: Multiply) -> Value | None:
    """y · scatter(1, i, u, ·) = scatter(y, i, u, ·), and if u is put there where no place repeats

    >>> ones, i = Constant.of(1, "f32", (9,)), tensor("i32", 1, 1, name="i")
    >>> put = put_rows(ones, i, tensor("f32", 1, name="u"), None)
    >>> product_with_scatter_into_ones(Multiply(tensor("f32", 9, name="y"), put.results[0])).owner.combiner
    <class 'windlass.ops.elementwise.Multiply'>
    """
    return _combined(op, Multiply)
