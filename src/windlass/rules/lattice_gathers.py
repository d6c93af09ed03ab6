"""Gathers at places that are counted by several counters at once: slices of an array that is folded up."""

from __future__ import annotations

import math

import numpy as np

from windlass.facts.known_values import Integers, costs_work, known_integers
from windlass.ir import Value
from windlass.ir.values import tensor
from windlass.ops import Add, Constant, Gather, Reshape, Slice
from windlass.ops.sampling import Draw
from windlass.rewriting.pattern import any_op
from windlass.rewriting.rule import rewrite

__all__ = ["tensor"]

MOST_COUNTERS = 3


def find_counters(places: Integers) -> list[tuple[int, int]] | None:
    """How far each counter goes and how many places it steps, the slowest first; None if that is not how they go.

    >>> find_counters(np.array([1, 2, 6, 7, 11, 12]))
    [(3, 5), (2, 1)]
    """
    counters: list[tuple[int, int]] = []
    while places.size > 1:
        steps = np.diff(places)
        breaks = np.flatnonzero(steps != steps[0])
        count = int(breaks[0]) + 1 if breaks.size else places.size
        if steps[0] <= 0 or places.size % count or len(counters) == MOST_COUNTERS:
            return None
        rows = places.reshape(-1, count)
        if (rows - rows[:, :1] != np.arange(count) * steps[0]).any():
            return None
        counters.insert(0, (count, int(steps[0])))
        places = rows[:, 0]
    return counters


def sample_gather_by_counters(draw: Draw) -> Gather:
    """Single elements of an array at places that two or three counters give."""
    x = tensor("f32", *draw.choose(((40,), (5, 8))))
    rows, columns = draw.integer(2, 3), draw.integer(2, 3)
    first = draw.integer(0, 9)
    flat = first + 10 * np.arange(rows)[:, None] + draw.integer(1, 4) * np.arange(columns)
    if draw.boolean():
        flat = first + 20 * np.arange(2)[:, None, None] + 5 * np.arange(2)[:, None] + np.arange(columns)
    rank = len(x.shape)
    indices = np.stack(np.unravel_index(np.minimum(flat, 39), x.shape), axis=-1).astype(np.int32)
    axes = tuple(range(rank))
    if draw.boolean():
        indices = indices.reshape(-1, rank)
    given = Add(Constant.of(indices - 1), Constant.of(1, "i32", indices.shape))
    return Gather(x, given, (), axes, (), (), axes, indices.ndim - 1, (1,) * rank)


@rewrite(any_op(Gather), sample=sample_gather_by_counters)
def gather_by_counters(op: Gather) -> Value | None:
    """x[a + s·i + t·j] = x.reshape(n, s)[b:c, d:e:t], for single elements, where s divides the size and holds t·j

    >>> table = Constant.of(np.array([[[1], [2]], [[6], [7]], [[11], [12]]], np.int32))
    >>> gather = Gather(tensor("f32", 30), Add(table, table), (), (0,), (), (), (0,), 2, (1,))
    >>> gather_by_counters(gather)
    Slice(Reshape(x, shape=(3, 10)), start_indices=(0, 2), limit_indices=(3, 5), strides=(1, 2))
    """
    x = op.operand
    if op.operand_batching_dims or any(size != 1 for size in op.slice_sizes) or op.tensor.size < 4 or 0 in x.shape:
        return None
    if sorted(op.start_index_map) != list(range(x.tensor.rank)):
        return None
    indices = known_integers(op.start_indices)
    # A gather by a table that is written out is one op, as a slice is.
    if indices is None or not costs_work(op.start_indices) or op.index_vector_dim == indices.ndim:
        return None
    vectors = np.moveaxis(indices, op.index_vector_dim, -1).reshape(-1, x.tensor.rank)
    places = np.zeros(vectors.shape[0], np.int64)
    for component, axis in enumerate(op.start_index_map):
        step = math.prod(x.shape[axis + 1 :])
        places += np.clip(vectors[:, component], 0, x.shape[axis] - 1) * step
    counters = find_counters(places)
    if counters is None or len(counters) < 2:
        return None
    taken = _folded(x, int(places[0]), counters)
    return taken if taken is None or taken.shape == op.shape else Reshape(taken, op.shape)


def _folded(x: Value, first: int, counters: list[tuple[int, int]]) -> Value | None:
    """The elements as a slice of the array with an axis for each counter."""
    folded: list[int] = []
    begin: list[int] = []
    end: list[int] = []
    size = x.tensor.size
    for count, step in counters[:-1]:
        if size % step:
            return None
        folded.append(size // step)
        begin.append(first // step)
        end.append(begin[-1] + count)
        size, first = step, first % step
    count, step = counters[-1]
    folded.append(size)
    begin.append(first)
    end.append(first + (count - 1) * step + 1)
    if any(limit > extent for limit, extent in zip(end, folded, strict=True)):
        return None
    whole = x if x.shape == tuple(folded) else Reshape(x, tuple(folded))
    return Slice(whole, tuple(begin), tuple(end), (*(1 for _ in begin[1:]), step))
