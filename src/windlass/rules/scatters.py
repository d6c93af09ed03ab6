"""Scatters to places that are known, in regular order, become updates of a block."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import numpy as np

from windlass.facts.known_values import Progression, find_progression, known_integers
from windlass.ir import Op, Value, tensor_type
from windlass.ir.values import tensor
from windlass.ops import (
    Add,
    And,
    Compare,
    Constant,
    Convert,
    DynamicUpdateSlice,
    Exponential,
    Iota,
    Multiply,
    Negate,
    Pad,
    Remainder,
    Reshape,
    Reverse,
    Scatter,
    Select,
    Slice,
    Sqrt,
    Transpose,
    make_region,
)
from windlass.ops.combiners import scattering_region
from windlass.ops.pointwise import Unary
from windlass.ops.sampling import Draw
from windlass.rewriting.pattern import any_op
from windlass.rewriting.rule import rewrite
from windlass.rules.axes import Sizes
from windlass.rules.splats import compute

__all__ = ["Constant", "np"]


def put_rows(x: Value, indices: Value, updates: Value, combiner: type[Add] | type[Multiply] | None) -> Scatter:
    """Rows put or combined into x at indices of shape (n, 1), as `x.at[indices].set(…)` is lowered."""
    rest = tuple(range(1, len(x.shape)))
    return Scatter((x,), indices, (updates,), rest, (0,), (), (), (0,), 1, scattering_region(combiner, x.dtype))


def sample_regular_scatter(draw: Draw) -> Scatter:
    """A scatter to places that are known, mostly neighbours."""
    x = tensor("f32", 6, 5)
    combiner = draw.choose((None, Add, Multiply))
    count = draw.integer(1, 4)
    first, step = draw.integer(-1, 4), draw.choose((1, 1, -1, 2))
    rows = Constant.of(np.array([[first + step * index] for index in range(count)], np.int32))
    if draw.boolean():
        return put_rows(x, rows, tensor("f32", count, 5, name="u"), combiner)
    # One block at one place, its axes of size 1 dropped or not.
    place = Constant.of(np.array([draw.integer(0, 4), draw.integer(-1, 3)], np.int32))
    body = scattering_region(combiner, "f32")
    if draw.boolean():
        return Scatter((x,), place, (tensor("f32", 2, 3, name="u"),), (0, 1), (), (), (), (0, 1), 0, body)
    return Scatter((x,), place, (tensor("f32", 3, name="u"),), (0,), (0,), (), (), (0, 1), 0, body)


@rewrite(any_op(Scatter), sample=sample_regular_scatter)
def scatter_at_neighbouring_places(op: Scatter) -> Value | None:
    """scatter(x, a + iota, u) = dynamic_update_slice(x, f(slice(x), u), a), where f combines what was there with u

    Where x itself is combined with u, only for small u (docs/decisions/0006-in-place-updates.md).

    Only if all of it lies inside x: what does not is left out by a scatter, but moved inside by dynamic_update_slice.

    >>> rows = Constant.of(np.array([[2], [3]], np.int32))
    >>> scatter_at_neighbouring_places(put_rows(tensor("f32", 9), rows, tensor("f32", 2, name="u"), None))
    DynamicUpdateSlice(x, u, (Constant(2),))
    """
    return update_of_known_block(op)


def update_of_known_block(op: Scatter, any_size: bool = False) -> Value | None:
    """What a scatter to neighbouring places that are known gives, as an update of a block; None where it is none.

    With `any_size` also where that costs a pass over the block, and where places between those are kept.
    """
    if len(op.inputs) != 1 or 0 in op.updates[0].shape:
        return None
    indices = known_integers(op.scatter_indices)
    if indices is None:
        return None
    vectors = indices[..., np.newaxis] if op.index_vector_dim == indices.ndim else indices
    vectors = np.moveaxis(vectors, op.index_vector_dim, -1)
    x, updates = op.inputs[0], op.updates[0]
    places = [Progression(0, None, 0)] * len(x.shape)
    for component, axis in enumerate(op.scatter_dims_to_operand_dims):
        found = find_progression(vectors[..., component])
        if found is None or (abs(found.step) > 1 and not any_size):
            return None
        places[axis] = found
    for axis, batch_axis in zip(op.input_batching_dims, op.scatter_indices_batching_dims, strict=True):
        if x.shape[axis] != 1:
            places[axis] = Progression(0, batch_axis - (batch_axis > op.index_vector_dim), 1)
    return _update_block(op, x, updates, places, vectors.shape[:-1], any_size)


def _update_block(
    op: Scatter, x: Value, updates: Value, places: list[Progression], batch: Sizes, any_size: bool
) -> Value | None:
    """The array with a block of it updated; None if the places are no block, or do not lie inside."""
    window = dict(zip(_window_axes(op), op.update_window_dims, strict=True))
    batch_axes = [axis for axis in range(len(updates.shape)) if axis not in op.update_window_dims]
    moving = [place.axis for place in places if place.axis is not None]
    if sorted(moving) != [axis for axis, size in enumerate(batch) if size > 1]:
        return None
    start: list[int] = []
    shape: list[int] = []
    sources: list[int] = []
    backwards: list[int] = []
    between: list[int] = []
    for axis, place in enumerate(places):
        size = updates.shape[window[axis]] if axis in window else 1
        if place.axis is not None:
            if size != 1:
                return None
            size = batch[place.axis]
            sources.append(batch_axes[place.axis])
            if place.step < 0:
                backwards.append(axis)
        elif axis in window and size > 1:
            sources.append(window[axis])
        first = min(place.base, place.last(size)) if place.axis is not None else place.base
        between.append(max(abs(place.step) - 1, 0))
        if first < 0 or first + (size - 1) * (between[axis] + 1) + 1 > x.shape[axis]:
            return None
        start.append(first)
        shape.append(size)
    order = (*sources, *(axis for axis in range(len(updates.shape)) if axis not in sources))
    block = updates if order == tuple(range(len(order))) else Transpose(updates, order)
    if block.shape != tuple(shape):
        block = Reshape(block, tuple(shape))
    if backwards:
        block = Reverse(block, tuple(backwards))
    is_put: Value | None = None
    if any(between):
        none = (0,) * len(between)
        block = Pad(block, Constant.of(0, x.dtype), none, none, tuple(between))
        for axis, step in enumerate(between):
            number = Remainder(Iota(block.shape, "i32", axis), Constant.of(step + 1, "i32", block.shape))
            test = Compare(number, Constant.of(0, "i32", block.shape), "EQ")
            is_put = (test if is_put is None else And(is_put, test)) if step else is_put
    starts = tuple(Constant.of(first, "i32") for first in start)
    return put_block(op, x, block, starts, tuple(start), any_size, is_put)


def _window_axes(op: Scatter) -> list[int]:
    """The axes of the operand that the updates' windows have."""
    taken = (*op.inserted_window_dims, *op.input_batching_dims)
    return [axis for axis in range(len(op.inputs[0].shape)) if axis not in taken]


SMALL_PART = 4
"""An update that reads the array which it updates costs a pass over the block: no part larger than one in so many."""


def put_block(
    op: Scatter,
    x: Value,
    block: Value,
    starts: tuple[Value, ...],
    known: Sizes,
    any_size: bool = False,
    is_put: Value | None = None,
) -> Value | None:
    """The block put, or combined as the scatter does, into x at the starts, which lie inside; of it what `is_put`."""
    limit = tuple(first + size for first, size in zip(known, block.shape, strict=True))
    if not op.is_overwrite:
        combiner = op.combiner
        if combiner is None or op.results[0].type is not x.type:
            return None
        is_large = block.shape != x.shape and block.tensor.size * SMALL_PART > x.tensor.size
        if is_large and not isinstance(x, Constant) and not any_size:
            return None
        old = x if block.shape == x.shape else Slice(x, known, limit, (1,) * len(known))
        block = cast("Callable[[Value, Value], Op]", combiner)(old, block)
    if is_put is not None:
        old = x if block.shape == x.shape else Slice(x, known, limit, (1,) * len(known))
        block = Select(is_put, block, old)
    return block if block.shape == x.shape else DynamicUpdateSlice(x, block, starts)


def sample_scatter_outside(draw: Draw) -> Scatter:
    """A scatter past the end, or of nothing."""
    count = draw.integer(0, 2)
    rows = Constant.of(np.array([[draw.choose((-1, 6, 7, 100))] for _ in range(count)], np.int32).reshape(count, 1))
    return put_rows(tensor("f32", 6, 2), rows, tensor("f32", count, 2, name="u"), draw.choose((None, Add)))


@rewrite(any_op(Scatter), sample=sample_scatter_outside)
def scatter_outside(op: Scatter) -> Value | None:
    """scatter(x, i, u) = x, if no place i lies inside x, or u has no elements

    >>> outside = Constant.of(np.array([[9]], np.int32))
    >>> scatter_outside(put_rows(tensor("f32", 9), outside, tensor("f32", 1, name="u"), None))
    x
    """
    if len(op.inputs) != 1 or op.results[0].type is not op.inputs[0].type:
        return None
    if 0 in op.updates[0].shape:
        return op.inputs[0]
    window = dict(zip(_window_axes(op), op.update_window_dims, strict=True))
    indices = known_integers(op.scatter_indices)
    if indices is None:
        return None
    vectors = indices[..., np.newaxis] if op.index_vector_dim == indices.ndim else indices
    vectors = np.moveaxis(vectors, op.index_vector_dim, -1)
    inside = np.ones(vectors.shape[:-1], bool)
    for component, axis in enumerate(op.scatter_dims_to_operand_dims):
        size = op.updates[0].shape[window[axis]] if axis in window else 1
        start = vectors[..., component]
        inside &= (start >= 0) & (start + size <= op.inputs[0].shape[axis])
    return None if inside.any() else op.inputs[0]


def _sample_put_number(draw: Draw) -> Value:
    """A number put into an array of another number."""
    x, u = (Constant.of(draw.integer(0, 2), "f32", shape) for shape in ((6, 5), (3, 5)))
    put = put_rows(x, tensor("i32", 3, 1, name="i"), u, draw.choose((None, None, Add)))
    return put.results[0]


def sample_function_of_scatter(draw: Draw) -> Unary:
    return draw.choose((Exponential, Negate, Sqrt))(_sample_put_number(draw))


@rewrite(any_op(Unary, operand=any_op(Scatter, bind="put")), single_use=True, sample=sample_function_of_scatter)
def function_of_scatter(op: Unary, put: Scatter) -> Value | None:
    """f(scatter(c, i, d)) = scatter(f(c), i, f(d)), for numbers c and d of which the second takes the first's place

    >>> zeros, twos = Constant.of(0, "f32", (6, 5)), Constant.of(2, "f32", (3, 5))
    >>> put = put_rows(zeros, tensor("i32", 3, 1, name="i"), twos, None)
    >>> function_of_scatter(Negate(put.results[0])).owner.updates
    (Constant(-2.0),)
    """
    return _put_function(op, put)


@rewrite(
    any_op(Convert, operand=any_op(Scatter, bind="put")),
    single_use=True,
    sample=lambda draw: Convert(_sample_put_number(draw), draw.choose(("f64", "i32"))),
)
def convert_of_scatter(op: Convert, put: Scatter) -> Value | None:
    """convert(scatter(c, i, d)) = scatter(convert(c), i, convert(d)), for numbers c and d as above

    >>> nowhere, there = Constant.of(False, "i1", (6, 5)), Constant.of(True, "i1", (3, 5))
    >>> put = put_rows(nowhere, tensor("i32", 3, 1, name="i"), there, None)
    >>> convert_of_scatter(Convert(put.results[0], "f32")).owner.updates
    (Constant(1.0),)
    """
    return _put_function(op, put)


def _put_function(op: Unary | Convert, put: Scatter) -> Value | None:
    if not put.is_overwrite:
        return None
    (x,), (u,) = put.inputs, put.updates
    if not (isinstance(x, Constant) and x.is_splat and isinstance(u, Constant) and u.is_splat):
        return None
    fields = {"dtype": op.dtype} if isinstance(op, Convert) else {}
    news = [compute(type(op), each, **fields) for each in (x, u)]
    scalar = tensor_type((), op.dtype)
    made = Scatter(
        (news[0],),
        put.scatter_indices,
        (news[1],),
        put.update_window_dims,
        put.inserted_window_dims,
        put.input_batching_dims,
        put.scatter_indices_batching_dims,
        put.scatter_dims_to_operand_dims,
        put.index_vector_dim,
        make_region([scalar] * 2, lambda _, new: new),
        put.indices_are_sorted,
        put.unique_indices,
    )
    return made.results[0]
