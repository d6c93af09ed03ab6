"""Sums of products of shifted slices with matrices, one for each place of a window: these are convolutions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from windlass.ir import Op, Value
from windlass.ir.values import tensor
from windlass.ops import Add, Concatenate, DotGeneral, Reshape, Slice
from windlass.ops.sampling import Draw
from windlass.rewriting.pattern import any_op, hole
from windlass.rewriting.rule import rewrite
from windlass.rewriting.sharing import is_alone, users_of
from windlass.rules.convolutions import convolve
from windlass.rules.letters import is_plain

__all__ = ["tensor"]

MOST_PRODUCTS = 64
Places = tuple[int, ...]


@dataclass(frozen=True)
class Shifted:
    """A product of a slice with a matrix, whose columns are the result's last axis."""

    window: Slice
    matrix: Value
    feature: int
    inputs: int
    """Which axis of the matrix is summed over."""
    product: DotGeneral


def read_shifted(value: Value) -> Shifted | None:
    """The product of a slice along one of its axes with a matrix that a value is."""
    if not isinstance(value, DotGeneral) or not isinstance(value.lhs, Slice) or not is_plain(value):
        return None
    window = value.lhs
    if value.lhs_batching_dimensions or len(value.lhs_contracting_dimensions) != 1 or value.rhs.tensor.rank != 2:
        return None
    (feature,), (inputs,) = value.lhs_contracting_dimensions, value.rhs_contracting_dimensions
    if window.shape[feature] != window.operand.shape[feature] or value.tensor.size == 0:
        return None
    return Shifted(window, value.rhs, feature, inputs, value)


def list_addends(op: Add) -> list[Value]:
    """What a tree of sums adds up, from left to right; inner sums that have other users count as addends."""
    found: list[Value] = []
    pending: list[tuple[Value, Op]] = [(op.rhs, op), (op.lhs, op)]
    while pending and len(found) <= MOST_PRODUCTS:
        value, user = pending.pop()
        if isinstance(value, Add) and is_alone(value, user):
            pending += [(value.rhs, value), (value.lhs, value)]
        elif is_alone(value, user) or not isinstance(value, DotGeneral):
            found.append(value)
        else:
            return []
    return found


def steps_of(starts: list[int]) -> tuple[int, int] | None:
    """How many different numbers there are, and how far apart they are; None where not equally far."""
    places = sorted(set(starts))
    if len(places) == 1:
        return 1, 1
    step = places[1] - places[0]
    regular = all(b - a == step for a, b in pairwise(places))
    return (len(places), step) if regular else None


def sample_sum_of_shifted(draw: Draw) -> Add:
    """The sum of the products of two or four windows with matrices."""
    rank = draw.integer(2, 3)
    shape = (draw.integer(1, 2), *(draw.integer(4, 5) for _ in range(rank - 2)), 3)
    x, count = tensor("f32", *shape), 2
    places = [(i,) * (rank - 2) for i in range(count)] if rank == 2 else [(i,) for i in range(count)]
    total: Value | None = tensor("f32", shape[0], *(size - count + 1 for size in shape[1:-1]), 2, name="bias")
    if draw.boolean():
        total = None
    for number, place in enumerate(places):
        limit = tuple(at + size - count + 1 for at, size in zip(place, shape[1:-1], strict=True))
        window = Slice(x, (0, *place, 0), (shape[0], *limit, 3), (1,) * rank)
        term = DotGeneral(window, tensor("f32", 3, 2, name=f"w{number}"), (), (), (rank - 1,), (0,))
        total = term if total is None else Add(total, term)
    assert isinstance(total, Add)
    return total


@rewrite(Add(hole("x"), any_op(DotGeneral)), sample=sample_sum_of_shifted, by_cost=True, reassociates=True)
def sum_of_shifted_products(op: Add) -> Value | None:
    """x[i:] · a + x[i + 1:] · b + ... = convolution(x, a beside b ...), for matrices a, b ... and slices of one x

    >>> x, rows = tensor("f32", 1, 9, 4), [tensor("f32", 4, 5, name="a"), tensor("f32", 4, 5, name="b")]
    >>> parts = [Slice(x, (0, i, 0), (1, i + 8, 4), (1, 1, 1)) for i in range(2)]
    >>> terms = [DotGeneral(part, row, (), (), (2,), (0,)) for part, row in zip(parts, rows)]
    >>> sum_of_shifted_products(Add(*terms)).rhs.shape
    (2, 4, 5)
    """
    users = users_of(op)
    if len(users) == 1 and any(isinstance(user, Add) and _adds_product(user, op) for user in users):
        return None
    addends = list_addends(op)
    terms = [found for value in addends if (found := read_shifted(value)) is not None]
    if not 1 < len(terms) <= MOST_PRODUCTS:
        return None
    first = terms[0]
    terms = [each for each in terms if _are_alike(each, first)]
    rest = [value for value in addends if all(each.product is not value for each in terms)]
    made = _convolve(terms)
    if made is None:
        return None
    for value in rest:
        made = Add(made, value)
    return made


def _adds_product(user: Add, op: Op) -> bool:
    """Whether a sum adds one more product, so that the rule begins there."""
    return any(operand is not op and isinstance(operand, DotGeneral) for operand in user.operands)


def _are_alike(one: Shifted, other: Shifted) -> bool:
    return (
        one.window.operand is other.window.operand
        and one.window.type is other.window.type
        and one.window.strides == other.window.strides
        and (one.feature, one.inputs, one.matrix.type) == (other.feature, other.inputs, other.matrix.type)
        and one.product.precision_config == other.product.precision_config
    )


def _slice_of_windows(
    window: Slice, places: Sequence[int], least: Sequence[int], grid: Sequence[tuple[int, int]]
) -> Value:
    """What is read of an operand by windows that begin in a grid: so many steps behind the least place."""
    x, rank = window.operand, window.tensor.rank
    start, limit = [0] * rank, list(x.shape)
    for axis in places:
        count, step = grid[axis]
        size, stride = window.shape[axis], window.strides[axis]
        start[axis], limit[axis] = least[axis], least[axis] + (count - 1) * step + (size - 1) * stride + 1
    if tuple(limit) != x.shape or any(start):
        return Slice(x, tuple(start), tuple(limit), (1,) * rank)
    return x


def _convolve(terms: list[Shifted]) -> Value | None:
    first = terms[0]
    x, rank, feature = first.window.operand, first.window.tensor.rank, first.feature
    found = [steps_of([each.window.start_indices[axis] for each in terms]) for axis in range(rank)]
    grid = [each for each in found if each is not None]
    if len(grid) < rank or math.prod(count for count, _ in grid) != len(terms) or len(terms) < 2:
        return None
    least = [min(each.window.start_indices[axis] for each in terms) for axis in range(rank)]
    order = sorted(terms, key=lambda each: each.window.start_indices)
    if len({each.window.start_indices for each in terms}) != len(terms):
        return None
    # Samples are an axis along which nothing is shifted; without one there is one sample.
    whole = [
        axis
        for axis in range(rank)
        if axis != feature and first.window.shape[axis] == x.shape[axis] and grid[axis][0] == 1
    ]
    batch = whole[0] if whole else None
    places = [axis for axis in range(rank) if axis not in (feature, batch)]
    if not places:
        return None
    matrices = [Reshape(each.matrix, (1, *each.matrix.shape)) for each in order]
    stacked = Concatenate(tuple(matrices), 0)
    kernel = Reshape(stacked, (*(grid[axis][0] for axis in places), *first.matrix.shape))
    x = _slice_of_windows(first.window, places, least, grid)
    shift = 0
    if batch is None:
        x, shift, batch = Reshape(x, (1, *x.shape)), 1, -1
    spatial = tuple(axis + shift for axis in places)
    # The result's axes are those of x without the features, then the columns.
    after = {axis: number for number, axis in enumerate(each for each in range(rank) if each != feature)}
    fields: dict[str, Any] = {
        "window_strides": tuple(first.window.strides[axis] for axis in places),
        "rhs_dilation": tuple(grid[axis][1] for axis in places),
        "input_batch_dimension": batch + shift,
        "input_feature_dimension": feature + shift,
        "input_spatial_dimensions": spatial,
        "kernel_spatial_dimensions": tuple(range(len(places))),
        "kernel_input_feature_dimension": len(places) + first.inputs,
        "kernel_output_feature_dimension": len(places) + 1 - first.inputs,
        "output_batch_dimension": 0 if shift else after[batch],
        "output_feature_dimension": rank - 1 + shift,
        "output_spatial_dimensions": tuple(after[axis] + shift for axis in places),
        "precision_config": first.product.precision_config,
    }
    made = convolve(x, kernel, **fields)
    return Reshape(made, first.product.shape) if shift else made
