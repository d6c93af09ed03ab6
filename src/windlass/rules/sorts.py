"""Sorts of what is in order, of what is not looked at, and of what has been sorted."""

from __future__ import annotations

import numpy as np

from windlass.ir import Block, Builder, Region, Value, tensor_type
from windlass.ir.values import tensor
from windlass.ops import Compare, Constant, Iota, Reshape, Return, Reverse, Select, Slice, Sort
from windlass.ops.reduction import reduce_max, reduce_min
from windlass.ops.regions import make_region
from windlass.ops.sampling import Draw
from windlass.rewriting.pattern import any_op, hole
from windlass.rewriting.rule import rewrite
from windlass.rewriting.sharing import is_alone, is_needed

x, dimensions = hole("x"), hole("dimensions")


def sort_by(operands: tuple[Value, ...], dimension: int, direction: str = "LT", is_stable: bool = True) -> Sort:
    """A sort by the first operand.

    >>> sort_by((tensor("f32", 5),), 0).results[0].type
    tensor<5xf32>
    """
    scalars = [tensor_type((), each.dtype) for each in operands for _ in range(2)]
    kind = "TOTALORDER" if operands[0].tensor.is_float else None
    region = make_region(scalars, lambda *values: Compare(values[0], values[1], direction, kind))
    return Sort(operands, region, dimension, is_stable)


def direction_of(op: Sort) -> str | None:
    """LT or GT where elements of the first operand are put in that order by one comparison, of integers or total."""
    block = op.comparator.block
    compare = block.first
    if not isinstance(compare, Compare) or compare.next is not block.last or block.terminator.operands != (compare,):
        return None
    if compare.lhs.tensor.is_float and compare.compare_type != "TOTALORDER":
        return None
    direction = compare.direction
    if compare.operands == (block.arguments[1], block.arguments[0]):
        direction = {"LT": "GT", "GT": "LT"}.get(direction, "")
    elif compare.operands != (block.arguments[0], block.arguments[1]):
        return None
    return direction if direction in ("LT", "GT") else None


def axis_of(op: Sort) -> int:
    return op.dimension % op.inputs[0].tensor.rank


def sample_short_sort(draw: Draw) -> Sort:
    shape = [draw.integer(1, 3) for _ in range(draw.integer(1, 3))]
    axis = draw.integer(0, len(shape) - 1)
    shape[axis] = 1
    return sort_by((tensor("f32", *shape),) if draw.boolean() else (tensor("i32", *shape), tensor("f32", *shape)), axis)


@rewrite(any_op(Sort), sample=sample_short_sort)
def sort_of_one_element(op: Sort) -> tuple[Value, ...] | None:
    """sort(x) = x, along an axis of size 1

    >>> sort_of_one_element(sort_by((tensor("f32", 4, 1),), 1))
    (x,)
    """
    return op.inputs if op.inputs[0].shape[axis_of(op)] <= 1 else None


def sample_sort_of_sort(draw: Draw) -> Sort:
    axis = draw.integer(0, 1)
    direction = draw.choose(("LT", "GT"))
    inner = sort_by((tensor(draw.choose(("i32", "f32")), 3, 4),), axis, direction)
    return sort_by((inner.results[0],), axis, direction)


@rewrite(any_op(Sort, inputs=(any_op(Sort, bind="inner"),)), sample=sample_sort_of_sort)
def sort_of_sort(op: Sort, inner: Sort) -> tuple[Value, ...] | None:
    """sort(sort(x)) = sort(x), along one axis and in one order

    >>> once = sort_by((tensor("i32", 9),), 0)
    >>> sort_of_sort(sort_by(once.results, 0)) == once.results
    True
    """
    direction = direction_of(op)
    if direction is None or direction_of(inner) != direction or axis_of(inner) != axis_of(op):
        return None
    return op.inputs


def sample_sort_with_payload(draw: Draw) -> Sort:
    """Values and their places sorted together, of which only the values are used."""
    shape = draw.shape(1, 2, 1)
    made = sort_by((tensor("f32", *shape), Iota(shape, "i32", 0), tensor("f32", *shape, name="z")), 0)
    Reverse(made.results[0], (0,))
    return made


@rewrite(any_op(Sort), sample=sample_sort_with_payload)
def sort_with_unused_results(op: Sort) -> tuple[Value, ...] | None:
    """sort(x, y) = sort(x), where y follows x and is not used

    >>> both = sort_by((tensor("f32", 9), tensor("f32", 9, name="y")), 0)
    >>> user = Reverse(both.results[0], (0,))
    >>> sort_with_unused_results(both)[0].owner.inputs
    (x,)
    """
    block = op.comparator.block
    compared = [
        index for index in range(len(op.inputs)) if any(block.arguments[2 * index + side].uses for side in (0, 1))
    ]
    kept = [index for index, result in enumerate(op.results) if is_needed(result) or index in compared]
    if len(kept) == len(op.inputs) or not kept or not any(map(is_needed, op.results)):
        return None
    new = Block([block.arguments[2 * index + side].type for index in kept for side in (0, 1)])
    mapping: dict[Value, Value] = {
        block.arguments[2 * index + side]: new.arguments[2 * place + side]
        for place, index in enumerate(kept)
        for side in (0, 1)
    }
    with Builder(new):
        for each in block:
            if each is not block.last:
                each.clone(mapping)
        Return(tuple(mapping.get(value, value) for value in block.terminator.operands))
    made = Sort(tuple(op.inputs[index] for index in kept), Region(new), op.dimension, op.is_stable)
    # What nobody uses may be anything of its type.
    return tuple(made.results[kept.index(index)] if index in kept else each for index, each in enumerate(op.inputs))


def sample_reversed_sort(draw: Draw) -> Reverse:
    axis = draw.integer(0, 1)
    made = sort_by((tensor(draw.choose(("i32", "ui8")), 3, 4),), axis, draw.choose(("LT", "GT")))
    return Reverse(made.results[0], (axis,))


@rewrite(Reverse(any_op(Sort, bind="sort"), dimensions), single_use=True, sample=sample_reversed_sort)
def reverse_of_sort(sort: Sort, dimensions: tuple[int, ...]) -> Value | None:
    """reverse(sort(x)) = sort(x) in the opposite order, for one operand whose equal elements can't be told apart

    >>> reverse_of_sort(Reverse(sort_by((tensor("i32", 9),), 0).results[0], (0,))).owner.inputs
    (x,)
    """
    direction = direction_of(sort)
    if direction is None or dimensions != (axis_of(sort),):
        return None
    return sort_by(sort.inputs, sort.dimension, "GT" if direction == "LT" else "LT", sort.is_stable).results[0]


def sample_sort_of_reverse(draw: Draw) -> Sort:
    axis = draw.integer(0, 1)
    return sort_by((Reverse(tensor("i32", 3, 4), (axis,)),), axis, draw.choose(("LT", "GT")))


@rewrite(any_op(Sort, inputs=(Reverse(x, dimensions),)), sample=sample_sort_of_reverse)
def sort_of_reverse(op: Sort, x: Value, dimensions: tuple[int, ...]) -> tuple[Value, ...] | None:
    """sort(reverse(x)) = sort(x), along one axis, for one operand whose equal elements can't be told apart

    >>> sort_of_reverse(sort_by((Reverse(tensor("i32", 9), (0,)),), 0))[0].owner.inputs
    (x,)
    """
    direction = direction_of(op)
    if direction is None or dimensions != (axis_of(op),):
        return None
    return sort_by((x,), op.dimension, direction, op.is_stable).results


def sample_end_of_sort(draw: Draw) -> Slice:
    shape = (draw.integer(2, 5), draw.integer(1, 3))
    axis = draw.integer(0, 1)
    made = sort_by((tensor("i32", *shape),), axis, draw.choose(("LT", "GT"))).results[0]
    at = draw.choose((0, shape[axis] - 1))
    starts = tuple(at if each == axis else 0 for each in range(2))
    limits = tuple(at + 1 if each == axis else size for each, size in enumerate(shape))
    return Slice(made, starts, limits, (1, 1))


start, limit, stride = hole("start"), hole("limit"), hole("stride")


@rewrite(Slice(any_op(Sort, bind="sort"), start, limit, stride), sample=sample_end_of_sort)
def end_of_sort(op: Slice, sort: Sort, start: tuple[int, ...], limit: tuple[int, ...]) -> Value | None:
    """sort(x)[0] = min(x), sort(x)[-1] = max(x), for integers

    >>> ordered = sort_by((tensor("i32", 9),), 0).results[0]
    >>> end_of_sort(Slice(ordered, (8,), (9,), (1,))).operand.owner.combiner.__name__
    'Maximum'
    """
    x = op.operand
    if not x.tensor.is_integer or not is_alone(x, op):
        return None
    axis, direction = axis_of(sort), direction_of(sort)
    size = x.shape[axis]
    if direction is None or limit[axis] != start[axis] + 1 or start[axis] not in (0, size - 1) or size < 2:
        return None
    least = (start[axis] == 0) == (direction == "LT")
    found = (reduce_min if least else reduce_max)(sort.inputs[0], (axis,))
    made = Reshape(found, tuple(1 if each == axis else length for each, length in enumerate(x.shape)))
    starts = tuple(0 if each == axis else first for each, first in enumerate(start))
    limits = tuple(1 if each == axis else last for each, last in enumerate(limit))
    if limits == made.shape and not any(starts) and all(step == 1 for step in op.strides):
        return made
    return Slice(made, starts, limits, op.strides)


def ordinary_comparator(dtype: str) -> Region:
    """The comparison of jnp.sort: both zeros are equal, NaN comes last."""

    def compare(left: Value, right: Value) -> Value:
        zero, nan = Constant.of(0, dtype), Constant.of(np.nan, dtype)
        plain = [Select(Compare(x, zero, "EQ"), zero, x) for x in (left, right)]
        plain = [Select(Compare(x, x, "NE"), nan, y) for x, y in zip((left, right), plain, strict=True)]
        return Compare(plain[0], plain[1], "LT", "TOTALORDER")

    return make_region([tensor_type((), dtype)] * 2, compare)
