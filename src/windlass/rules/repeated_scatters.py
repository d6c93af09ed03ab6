"""Scatters to the places of another scatter, one after the other, as one."""

from __future__ import annotations

import math

from windlass.ir import Value
from windlass.ir.values import tensor
from windlass.ops import Add, Constant, Maximum, Minimum, Multiply, Scatter, Subtract, make_region
from windlass.ops.combiners import combiner_region
from windlass.ops.sampling import Draw
from windlass.rewriting.pattern import any_op
from windlass.rewriting.rule import rewrite
from windlass.rules.scatters import put_rows

__all__ = ["tensor"]

PLACES = (
    "update_window_dims",
    "inserted_window_dims",
    "input_batching_dims",
    "scatter_indices_batching_dims",
    "scatter_dims_to_operand_dims",
    "index_vector_dim",
)


COMBINING = (Add, Multiply, Subtract, Maximum, Minimum)
"""What joins an update with what was there."""


def _sample_twice(draw: Draw) -> Scatter:
    count = draw.choose((1, 1, 3))
    indices = tensor("i32", count, 1, name="i")
    u, v = (tensor("f32", count, 5, name=name) for name in "uv")
    first = put_rows(tensor("f32", 6, 5), indices, u, draw.choose((None, Add)))
    if draw.boolean():
        first = _puts_one_number(first)
    second = put_rows(first.results[0], indices, v, draw.choose((None, Add)))
    kind = draw.integer(0, 3)
    if kind == 0:
        return _puts_one_number(second)
    if kind > 1:
        return second
    made = draw.choose((Subtract, lambda old, new: Subtract(new, old), Maximum))
    return Scatter.from_fields({**second.field_values(), "update_computation": combiner_region(made, "f32")})


def _puts_one_number(scatter: Scatter) -> Scatter:
    number = Constant.of(2.5, "f32")
    region = make_region([number.type] * 2, lambda _, new: number)
    return Scatter.from_fields({**scatter.field_values(), "update_computation": region})


twice = any_op(Scatter, inputs=(any_op(Scatter, bind="inner"),))


def _is_at_same_places(op: Scatter, inner: Scatter) -> bool:
    if inner.scatter_indices is not op.scatter_indices or inner.updates[0].type is not op.updates[0].type:
        return False
    return all(getattr(inner, name) == getattr(op, name) for name in PLACES)


def with_inputs(op: Scatter, x: Value, updates: Value) -> Value:
    """The scatter of other updates into another input."""
    fields = op.field_values()
    region = op.update_computation.clone({})
    return Scatter.from_fields({**fields, "inputs": (x,), "updates": (updates,), "update_computation": region}).results[
        0
    ]


@rewrite(twice, single_use=True, sample=_sample_twice)
def scatter_hidden_by_scatter(op: Scatter, inner: Scatter) -> Value | None:
    """scatter(scatter(x, i, u), i, v) = scatter(x, i, v), if v takes the place of what is there, and is put as u is

    >>> x, i, u, v = (tensor("f32", 9), tensor("i32", 2, 1, name="i"), *(tensor("f32", 2, name=n) for n in "uv"))
    >>> twice = put_rows(put_rows(x, i, u, None).results[0], i, v, None)
    >>> scatter_hidden_by_scatter(twice).owner.inputs
    (x,)
    """
    if not _is_at_same_places(op, inner) or op.update_computation.block.arguments[0].uses:
        return None
    if inner.results[0].type is not inner.inputs[0].type:
        return None
    return with_inputs(op, inner.inputs[0], op.updates[0])


@rewrite(twice, single_use=True, sample=_sample_twice, reassociates=True)
def scatter_of_sums_at_same_places(op: Scatter, inner: Scatter) -> Value | None:
    """scatter(scatter(x, i, u, +), i, v, +) = scatter(x, i, u + v, +), and so for products

    >>> x, i, u, v = (tensor("f32", 9), tensor("i32", 2, 1, name="i"), *(tensor("f32", 2, name=n) for n in "uv"))
    >>> twice = put_rows(put_rows(x, i, u, Add).results[0], i, v, Add)
    >>> scatter_of_sums_at_same_places(twice).owner.updates
    (Add(u, v),)
    """
    if not _is_at_same_places(op, inner) or op.combiner not in (Add, Multiply) or inner.combiner is not op.combiner:
        return None
    if inner.results[0].type is not inner.inputs[0].type or op.results[0].type is not op.inputs[0].type:
        return None
    combine = Add if op.combiner is Add else Multiply
    return with_inputs(op, inner.inputs[0], combine(inner.updates[0], op.updates[0]))


@rewrite(twice, single_use=True, sample=_sample_twice, reassociates=True)
def scatter_added_to_what_was_put(op: Scatter, inner: Scatter) -> Value | None:
    """scatter(scatter(x, i, u), i, v, +) = scatter(x, i, u + v), where no place repeats; so for -, ·, max and min

    And so where one number is put at all places.

    >>> x, u, v = tensor("f32", 9), *(tensor("f32", 1, name=name) for name in "uv")
    >>> i = tensor("i32", 1, 1, name="i")
    >>> twice = put_rows(put_rows(x, i, u, None).results[0], i, v, Add)
    >>> scatter_added_to_what_was_put(twice).owner.updates
    (Add(u, v),)
    """
    combine = op.combiner
    if not _is_at_same_places(op, inner) or combine is None or not issubclass(combine, COMBINING):
        return None
    put = _put_by(inner)
    axis, indices = op.index_vector_dim, op.scatter_indices
    places = math.prod(size for place, size in enumerate(indices.shape) if place != axis)
    if put is None or not (inner.unique_indices or places == 1):
        return None
    if inner.results[0].type is not inner.inputs[0].type or op.results[0].type is not op.inputs[0].type:
        return None
    number = tensor(op.inputs[0].dtype).type
    region = make_region([number, number], lambda _, given: given)
    updates = (combine(put, op.updates[0]),)
    fields = {**inner.field_values(), "inputs": inner.inputs, "updates": updates}
    return Scatter.from_fields({**fields, "update_computation": region}).results[0]


def _put_by(scatter: Scatter) -> Value | None:
    """What a scatter puts in the place of what is there: its updates, or one number."""
    if scatter.is_overwrite:
        return scatter.updates[0]
    block = scatter.update_computation.block
    (given,) = block.terminator.operands
    if block.first is not block.last or not isinstance(given, Constant) or given.shape:
        return None
    return Constant.of(given.number, given.dtype, scatter.updates[0].shape)
