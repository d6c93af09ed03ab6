"""Updates and scatters into zeros that are added to an array, or into ones: they are made into the array itself."""

from __future__ import annotations

import math

import numpy as np

from windlass.facts.ranges import range_of
from windlass.ir import Value
from windlass.ir.values import tensor
from windlass.ops import Add, Constant, DynamicSlice, DynamicUpdateSlice, Multiply, Scatter
from windlass.ops.combiners import combiner_region
from windlass.ops.sampling import Draw
from windlass.rewriting.pattern import any_op, hole
from windlass.rewriting.rule import rewrite
from windlass.rules.dynamic_slices import some_starts
from windlass.rules.repeated_scatters import with_inputs
from windlass.rules.scatters import SMALL_PART, put_rows
from windlass.rules.splats import splat_hole

x, zeros, update, starts = hole("x"), splat_hole("zeros", 0), hole("update"), hole("starts")


def is_neutral_zero(zeros: Constant, other: Value) -> bool:
    """Whether adding these zeros changes nothing: floats that may be -0.0 become 0.0 by adding 0.0."""
    return not zeros.tensor.is_float or bool(np.signbit(zeros.number)) or not range_of(other).negative_zero


def _sample_sum_with_update(draw: Draw) -> Add:
    dtype = draw.choose(("f32", "i32"))
    updated = DynamicUpdateSlice(
        Constant.of(draw.choose((0, -0.0)), dtype, (6, 4)), tensor(dtype, 2, 2, name="u"), some_starts(2)
    )
    return Add(*draw.choose(((tensor(dtype, 6, 4), updated), (updated, tensor(dtype, 6, 4)))))


@rewrite(Add(x, DynamicUpdateSlice(zeros, update, starts)), single_use=True, sample=_sample_sum_with_update)
def sum_with_update_of_zeros(x: Value, zeros: Constant, update: Value, starts: tuple[Value, ...]) -> Value | None:
    """x + update(0, u, i) = update(x, slice(x, i) + u, i), for small u; for floats if no x is -0.0

    >>> zeros, i = Constant.of(0, "i32", (9,)), tensor("i32", name="i")
    >>> sum_with_update_of_zeros(
    ...     Add(tensor("i32", 9), DynamicUpdateSlice(zeros, tensor("i32", 2, name="u"), (i,)))).update
    Add(DynamicSlice(x, (i,), slice_sizes=(2,)), u)
    """
    if SMALL_PART * update.tensor.size >= x.tensor.size or not is_neutral_zero(zeros, x):
        return None
    return DynamicUpdateSlice(x, Add(DynamicSlice(x, starts, update.shape), update), starts)


# -- scatters ---------------------------------------------------------------------------------------------------------


def _sample_scatter_into_neutral(draw: Draw, combiner: type[Add] | type[Multiply]) -> Add | Multiply:
    neutral = draw.choose((0, -0.0)) if combiner is Add else 1
    indices = tensor("i32", draw.choose((1, 3)), 1, name="i")
    updates = tensor(draw.choose(("f32", "i32")), indices.shape[0], 2, name="u")
    put = put_rows(Constant.of(neutral, updates.dtype, (6, 2)), indices, updates, draw.choose((None, combiner)))
    y = tensor(updates.dtype, 6, 2, name="y")
    if combiner is Add and draw.boolean():
        y = Multiply(y, y)
    return combiner(*draw.choose(((put.results[0], y), (y, put.results[0]))))


def _combined(op: Add | Multiply, scatter: Scatter, other: Value) -> Value | None:
    x, combiner = scatter.inputs[0], type(op)
    if scatter.results[0].type is not op.type or not isinstance(x, Constant) or not x.is_splat:
        return None
    if scatter.combiner is not combiner and not (scatter.is_overwrite and _repeats_no_place(scatter)):
        return None
    is_neutral = x.number == 1 if combiner is Multiply else x.number == 0 and is_neutral_zero(x, other)
    return _with_combiner(scatter, other, combiner) if is_neutral else None


def _with_combiner(op: Scatter, x: Value, combiner: type[Add] | type[Multiply]) -> Value:
    if op.combiner is combiner:
        return with_inputs(op, x, op.updates[0])
    fields = {**op.field_values(), "inputs": (x,), "update_computation": combiner_region(combiner, x.dtype)}
    return Scatter.from_fields(fields).results[0]


def _repeats_no_place(op: Scatter) -> bool:
    indices = op.scatter_indices.shape
    places = math.prod(size for axis, size in enumerate(indices) if axis != op.index_vector_dim)
    return op.unique_indices or places <= 1


@rewrite(
    Add(any_op(Scatter, bind="scatter"), hole("y")),
    single_use=True,
    reassociates=True,
    sample=lambda draw: _sample_scatter_into_neutral(draw, Add),
)
def sum_with_scatter_into_zeros(op: Add, scatter: Scatter, y: Value) -> Value | None:
    """y + scatter(0, i, u, +) = scatter(y, i, u, +), for floats if no y is -0.0; and if u is put where no place repeats

    >>> zeros, i = Constant.of(0, "i32", (9,)), tensor("i32", 2, 1, name="i")
    >>> put = put_rows(zeros, i, tensor("i32", 2, name="u"), Add)
    >>> sum_with_scatter_into_zeros(Add(put.results[0], tensor("i32", 9, name="y"))).owner.inputs
    (y,)
    """
    return _combined(op, scatter, y)


@rewrite(
    Multiply(any_op(Scatter, bind="scatter"), hole("y")),
    single_use=True,
    reassociates=True,
    sample=lambda draw: _sample_scatter_into_neutral(draw, Multiply),
)
def product_with_scatter_into_ones(op: Multiply, scatter: Scatter, y: Value) -> Value | None:
    """y · scatter(1, i, u, ·) = scatter(y, i, u, ·), and if u is put there where no place repeats

    >>> ones, i = Constant.of(1, "f32", (9,)), tensor("i32", 1, 1, name="i")
    >>> put = put_rows(ones, i, tensor("f32", 1, name="u"), None)
    >>> product_with_scatter_into_ones(Multiply(tensor("f32", 9, name="y"), put.results[0])).owner.combiner
    <class 'windlass.ops.elementwise.Multiply'>
    """
    return _combined(op, scatter, y)
