"""Slices of updated arrays, place by place: what each may be read from, and what it must not be read from."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from windlass.facts.terms import evaluate_term
from windlass.ir import Value
from windlass.ir.values import tensor
from windlass.ops import Constant, DynamicUpdateSlice, Slice
from windlass.ops.sampling import RandomDraw
from windlass.rules.slices import slice_of_update

Place = tuple[int, ...]


def updated(operand: Value, update: Value, place: Place) -> DynamicUpdateSlice:
    return DynamicUpdateSlice(operand, update, tuple(Constant.of(start, "i32") for start in place))


def lies_within(start: Place, limit: Place, begin: Place, shape: Place) -> bool:
    ends = tuple(first + size for first, size in zip(begin, shape, strict=True))
    return all(a >= first and b <= end for a, b, first, end in zip(start, limit, begin, ends, strict=True))


def misses(start: Place, limit: Place, begin: Place, shape: Place) -> bool:
    ends = tuple(first + size for first, size in zip(begin, shape, strict=True))
    return any(b <= first or a >= end for a, b, first, end in zip(start, limit, begin, ends, strict=True))


def check(inner: Place, outer: Place, start: Place, limit: Place, size: int) -> None:
    """A slice of an array of this size that was updated at `inner`, then at `outer`."""
    rank = len(inner)
    x, u, w = (tensor("i32", *(length,) * rank, name=name) for name, length in (("x", size), ("u", 3), ("w", 2)))
    term = Slice(updated(updated(x, u, inner), w, outer), start, limit, (1,) * rank)
    found = slice_of_update(term)
    read = None
    if lies_within(start, limit, outer, w.shape):
        read = w
    elif misses(start, limit, outer, w.shape) and lies_within(start, limit, inner, u.shape):
        read = u
    if read is None:
        assert found is None
        return
    assert isinstance(found, Slice)
    assert found.operand is read
    numbers = np.random.default_rng(size).integers(0, 1000, (3, size, size)).astype(np.int32)
    values: dict[Value, Any] = {
        value: numbers[index][tuple(slice(each) for each in value.shape)]
        if rank == 2
        else numbers[index][0][: value.shape[0]]
        for index, value in enumerate((x, u, w))
    }
    assert np.array_equal(evaluate_term(term, dict(values)), evaluate_term(found, dict(values)))


@pytest.mark.parametrize("inner", range(5))
def test_slice_is_read_from_the_newest_update_that_holds_all_of_it(inner: int) -> None:
    size = 7
    for outer, start, limit in product(range(6), range(size), range(size + 1)):
        if start < limit:
            check((inner,), (outer,), (start,), (limit,), size)


def test_slice_of_two_axes_is_read_where_all_axes_fit() -> None:
    draw = RandomDraw(5)
    for _ in range(400):
        inner, outer = (tuple(draw.integer(0, most) for _ in range(2)) for most in (1, 2))
        start = tuple(draw.integer(0, 3) for _ in range(2))
        limit = tuple(draw.integer(first + 1, 4) for first in start)
        check(inner, outer, start, limit, 4)


def test_slice_does_not_reach_for_an_older_version_of_an_array() -> None:
    assert slice_of_update(Slice(updated(tensor("f32", 9), tensor("f32", 3, name="u"), (2,)), (6,), (8,), (1,))) is None


def test_a_place_that_is_out_of_range_is_moved_inside() -> None:
    u = tensor("f32", 3, name="u")
    made = slice_of_update(Slice(updated(tensor("f32", 9), u, (8,)), (6,), (8,), (1,)))
    assert isinstance(made, Slice)
    assert (made.operand, made.start_indices, made.limit_indices) == (u, (0,), (2,))
