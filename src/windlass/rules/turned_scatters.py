"""Transposes of scatters: the places are named otherwise."""

from __future__ import annotations

from windlass.ir import Value
from windlass.ir.values import tensor
from windlass.ops import Add, Constant, Multiply, Scatter, Transpose
from windlass.ops.combiners import combiner_region
from windlass.ops.sampling import Draw
from windlass.rewriting.pattern import any_op, hole
from windlass.rewriting.rule import rewrite
from windlass.rewriting.sharing import is_alone
from windlass.rules.axes import Sizes
from windlass.rules.scatter_order import (
    can_be_turned,
    one_number_of,
    scatter_in_order,
    starts_from_one_number,
)
from windlass.rules.scatters import put_rows

__all__ = ["put_rows"]

q = hole("q")


def scatter_into(x: Value, draw: Draw) -> Scatter:
    """A scatter of rows, columns, planes or elements into an array of rank 3."""
    body = combiner_region(draw.choose((Add, Multiply)), "f32")
    count = draw.integer(1, 3)
    mapped = draw.permutation(3)[: draw.integer(1, 3)]
    if draw.integer(0, 2) == 0:
        return _scatter_by_batches(x, draw, mapped)
    inserted = tuple(sorted(draw.choose((mapped, mapped[:1], ()))))
    kept = [axis for axis in range(3) if axis not in inserted]
    window = [draw.integer(1, min(2, x.shape[axis])) for axis in kept]
    updates = tensor("f32", count, *window, name="u")
    indices = tensor("i32", count, len(mapped), name="i")
    return Scatter((x,), indices, (updates,), tuple(range(1, 1 + len(kept))), inserted, (), (), mapped, 1, body)


def _scatter_by_batches(x: Value, draw: Draw, order: Sizes) -> Scatter:
    """One window for each place along an axis or two, each at a place of its own."""
    batching = tuple(sorted(order[:2]))
    places = draw.permutation(len(batching))
    rest = [axis for axis in range(3) if axis not in batching]
    counts = [0] * len(batching)
    for axis, place in zip(batching, places, strict=True):
        counts[place] = x.shape[axis]
    indices, rank = tensor("i32", *counts, len(rest), name="i"), len(batching)
    updates = tensor("f32", *counts, *(1 for _ in rest), name="u")
    window, body = tuple(range(rank, rank + len(rest))), combiner_region(Add, "f32")
    return Scatter((x,), indices, (updates,), window, (), batching, places, tuple(rest), rank, body)


def _sample_turned_scatter(draw: Draw) -> Transpose:
    p, q = draw.permutation(3), draw.permutation(3)
    x: Value = Constant.of(draw.choose((0, 1)), "f32", (3, 4, 5))
    if draw.boolean():
        x = Transpose(tensor("f32", 3, 4, 5), p)
    return Transpose(scatter_into(x, draw).results[0], q)


@rewrite(Transpose(any_op(Scatter, bind="scatter"), q), single_use=True, sample=_sample_turned_scatter)
def transpose_of_scatter(op: Transpose, scatter: Scatter, q: Sizes) -> Value | None:
    """transpose(scatter(transpose(x, p), i, u), q) = scatter(transpose(x, p∘q), i, u), or if x is one number

    >>> zeros = Constant.of(0, "f32", (9, 5))
    >>> rows = put_rows(zeros, tensor("i32", 2, 1, name="i"), tensor("f32", 2, 5, name="u"), Add)
    >>> columns = transpose_of_scatter(Transpose(rows.results[0], (1, 0))).owner
    >>> columns.inserted_window_dims, columns.update_window_dims
    ((1,), (1,))
    """
    if not can_be_turned(scatter):
        return None
    into = scatter.inputs[0]
    if starts_from_one_number(scatter):
        return scatter_in_order(scatter, one_number_of(into, op.shape), q)
    if not isinstance(into, Transpose) or not is_alone(into):
        return None
    both = tuple(into.permutation[axis] for axis in q)
    in_order = both == tuple(range(len(both)))
    return scatter_in_order(scatter, into.operand if in_order else Transpose(into.operand, both), q)
