"""Reductions: merged, done on less, and done before what they can pass.

A reduction begins with a value that leaves others unchanged (see `Reduce`). Where a rule makes more or fewer of them it
asks that this is the constant it should be, or combines it with the result.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from windlass.ir import Block, Builder, Op, Region, Result, Value
from windlass.ir.values import tensor
from windlass.ops import (
    Abs,
    Add,
    And,
    BroadcastInDim,
    Compare,
    Concatenate,
    Constant,
    Iota,
    Maximum,
    Minimum,
    Multiply,
    Or,
    Pad,
    Reduce,
    Reshape,
    Return,
    Reverse,
    Select,
    Transpose,
)
from windlass.ops.combiners import EXTREMES, identity_of, is_identity
from windlass.ops.reduction import (
    reduce_max,
    reduce_sum,
    reduce_with,
)
from windlass.ops.regions import make_region
from windlass.ops.sampling import Draw
from windlass.rewriting.pattern import any_op, hole
from windlass.rewriting.rule import rewrite
from windlass.rewriting.sharing import is_alone, is_needed
from windlass.rules.letters import lay, unspread

__all__ = ["reduce_max", "reduce_sum"]

Sizes = tuple[int, ...]
Make = Callable[[Draw, Sizes, str], Value]

x, shape = hole("x"), hole("shape")

FOLDS = (Add, Maximum, Minimum, Multiply)
ALL_FOLDS = (*FOLDS, And, Or)


def fold_of(op: Reduce, *combiners: type[Op], made_by: Any = Value) -> Value | None:
    """The input of a reduction of one input by one of these ops; None also if it is not of the class `made_by`."""
    operands = op.operands
    if len(operands) != 2 or not isinstance(operands[0], made_by) or op.combiner not in combiners:
        return None
    return operands[0] if operands[0].tensor.size else None


def fold(combiners: tuple[type[Op], ...], of: Any) -> Any:
    """A pattern for reductions of one input, of elements of which there are some, by one of these ops."""
    known = hole("combiner", combiners.__contains__)
    return any_op(Reduce, inputs=(of,), combiner=known, operands=hole("operands", has_elements))


def has_elements(operands: tuple[Value, ...]) -> bool:
    """Whether the first of the operands of a reduction has elements."""
    return operands[0].tensor.size > 0


def begins_neutral(op: Reduce) -> bool:
    """Whether the initial value is a constant that leaves others unchanged."""
    return is_identity(op.init_values[0], op.combiner)


def again(op: Reduce, operand: Value, dimensions: Sizes, combiner: type[Any] | None = None) -> Value:
    """The operand folded as the op does, along these axes; by another op, from its own beginning, if one is given."""
    if not dimensions:
        return operand
    if combiner is not None:
        return reduce_with(combiner, operand, dimensions)
    return Reduce((operand,), op.init_values, dimensions, op.body.clone({})).results[0]


def sample_fold(make: Make, combiners: tuple[type[Any], ...] = FOLDS, least: int = 1, floats: bool = False) -> Any:
    """A sampler of reductions whose input is made by `make`."""

    def sample(draw: Draw) -> Op:
        shape = tuple(draw.integer(least, 4) for _ in range(draw.integer(1, 3)))
        dtype = draw.choose(("f32", "f64") if floats else ("f32", "i32", "f64"))
        operand = make(draw, shape, dtype)
        made = reduce_with(draw.choose(combiners), operand, some_axes(draw, operand))
        assert isinstance(made, Result)
        return made.owner

    return sample


def some_axes(draw: Draw, operand: Value) -> Sizes:
    rank = operand.tensor.rank
    return draw.subset(rank, draw.integer(1, rank))


def plain(draw: Draw, shape: Sizes, dtype: str) -> Value:
    return tensor(dtype, *shape)


def reduced(draw: Draw, shape: Sizes, dtype: str) -> Value:
    """What a reduction gives, with at least one axis."""
    shape = (*shape, draw.integer(1, 3))
    return reduce_with(draw.choose(FOLDS), tensor(dtype, *shape), (draw.integer(0, len(shape) - 1),))


@rewrite(
    fold((*FOLDS, And, Or), any_op(Reduce, bind="inner")),
    reassociates=True,
    in_kernels=True,
    sample=sample_fold(reduced),
)
def reduce_of_reduce(op: Reduce, inner: Reduce) -> Value | None:
    """reduce(reduce(x, d), e) = reduce(x, d and e), by the same op

    >>> reduce_of_reduce(reduce_sum(reduce_sum(tensor("f32", 2, 3, 4), (1,)), (1,)).owner).owner.dimensions
    (1, 2)
    """
    if not is_alone(op.inputs[0], op) or inner.combiner is not op.combiner or not begins_neutral(inner):
        return None
    kept = [axis for axis in range(inner.inputs[0].tensor.rank) if axis not in inner.dimensions]
    dimensions = sorted((*inner.dimensions, *(kept[axis] for axis in op.dimensions)))
    return again(op, inner.inputs[0], tuple(dimensions))


def unit_axes(draw: Draw, shape: Sizes, dtype: str) -> Value:
    return tensor(dtype, *(draw.choose((1, size)) for size in shape))


@rewrite(any_op(Reduce), sample=sample_fold(unit_axes))
def reduce_over_unit_axes(op: Reduce) -> Value | None:
    """reduce(x, d) = reshape(x), if all axes in d have size 1; else these are dropped first

    >>> reduce_over_unit_axes(reduce_max(tensor("f32", 3, 1), (1,)).owner)
    Reshape(x, shape=(3,))
    """
    if len(op.operands) != 2 or any(op.operands[0].shape[axis] != 1 for axis in op.dimensions):
        return None
    x = fold_of(op, *EXTREMES, Multiply, And, Or, *((Add,) if op.inputs[0].tensor.is_integer else ()))
    # A sum of one float begins with 0 and so turns -0.0 to 0.0.
    if x is None:
        return None
    if not op.dimensions or not begins_neutral(op):
        return None
    return Reshape(x, op.results[0].shape)


@rewrite(any_op(Reduce), reassociates=True, sample=sample_fold(unit_axes, (Add,), floats=True))
def sum_over_unit_axes(op: Reduce) -> Value | None:
    """sum(x, d) = reshape(x), if all axes in d have size 1; else these are dropped first; -0.0 stays

    >>> sum_over_unit_axes(reduce_sum(tensor("f32", 3, 1), (1,)).owner)
    Reshape(x, shape=(3,))
    """
    if len(op.operands) != 2 or any(op.operands[0].shape[axis] != 1 for axis in op.dimensions):
        return None
    x = fold_of(op, Add)
    if x is None or not begins_neutral(op):
        return None
    return Reshape(x, op.results[0].shape)


def groups_of(before: Sizes, after: Sizes) -> list[tuple[Sizes, Sizes]] | None:
    """Runs of axes that a reshape turns into each other, those of size 1 left out.

    >>> groups_of((2, 3, 4), (6, 1, 4))
    [((0, 1), (0,)), ((2,), (2,))]
    """
    left = [axis for axis, size in enumerate(before) if size != 1]
    right = [axis for axis, size in enumerate(after) if size != 1]
    groups: list[tuple[Sizes, Sizes]] = []
    while left or right:
        if not left or not right:
            return None
        own, others = [left.pop(0)], [right.pop(0)]
        while (size := math.prod(before[axis] for axis in own)) != (other := math.prod(after[axis] for axis in others)):
            smaller, rest = (own, left) if size < other else (others, right)
            if not rest:
                return None
            smaller.append(rest.pop(0))
        groups.append((tuple(own), tuple(others)))
    return groups


def reshaped(draw: Draw, shape: Sizes, dtype: str) -> Value:
    """A reshape that merges or splits axes, or adds and drops those of size 1."""
    x = tensor(dtype, *shape)
    size = math.prod(shape)
    options = [(size,), (*shape, 1), (1, *shape), (shape[0], size // shape[0]), (*shape[:-1], 1, shape[-1])]
    return Reshape(x, draw.choose(options))


@rewrite(fold(ALL_FOLDS, Reshape(x, shape)), reassociates=True, sample=sample_fold(reshaped))
def reduce_of_reshape(op: Reduce, x: Value, shape: Sizes) -> Value | None:
    """reduce(reshape(x)) = reduce(x), where axes that are merged or split are reduced as a whole

    >>> reduce_of_reshape(reduce_sum(Reshape(tensor("f32", 2, 3, 4), (24,)), (0,)).owner).owner.dimensions
    (0, 1, 2)
    """
    groups = groups_of(x.shape, shape)
    if groups is None:
        return None
    dimensions: list[int] = []
    for own, others in groups:
        inside = [axis in op.dimensions for axis in others]
        if all(inside):
            dimensions += own
        elif any(inside):
            return None
    wanted = op.results[0].shape
    # Axes of size 1 are reduced too where the result lacks them.
    kept = [axis for axis in range(x.tensor.rank) if axis not in dimensions]
    for axis in reversed(range(x.tensor.rank)):
        if x.shape[axis] == 1 and axis in kept and len(kept) > len(wanted):
            dimensions.append(axis)
            kept.remove(axis)
    if tuple(x.shape[axis] for axis in kept) != wanted or not dimensions:
        return None
    return again(op, x, tuple(sorted(dimensions)))


def transposed(draw: Draw, shape: Sizes, dtype: str) -> Value:
    return Transpose(tensor(dtype, *shape), draw.permutation(len(shape)))


@rewrite(
    fold(ALL_FOLDS, any_op(Transpose, bind="moved")), reassociates=True, in_kernels=True, sample=sample_fold(transposed)
)
def reduce_of_transpose(op: Reduce, moved: Transpose) -> Value | None:
    """reduce(transpose(x, p), d) = transpose(reduce(x, p(d))), of which the transpose is smaller or none

    >>> reduce_of_transpose(reduce_sum(Transpose(tensor("f32", 2, 3), (1, 0)), (0,)).owner).owner.dimensions
    (1,)
    """
    dimensions = tuple(sorted(moved.permutation[axis] for axis in op.dimensions))
    order = [axis for place, axis in enumerate(moved.permutation) if place not in op.dimensions]
    made = again(op, moved.operand, dimensions)
    if order == sorted(order):
        return made
    ranks = {axis: place for place, axis in enumerate(sorted(order))}
    return Transpose(made, tuple(ranks[axis] for axis in order)) if made.tensor.size < moved.tensor.size else None


def broadcast(draw: Draw, shape: Sizes, dtype: str) -> Value:
    axes = draw.permutation(len(shape))[: draw.integer(0, len(shape) - 1)]
    x = tensor(dtype, *(shape[axis] for axis in axes))
    return Constant.of(draw.integer(0, 2), dtype, shape) if draw.integer(0, 3) == 0 else BroadcastInDim(x, shape, axes)


def may_repeat(value: Value) -> bool:
    """Whether a value may be the same along some axes."""
    return isinstance(value, BroadcastInDim | Constant)


@rewrite(fold((Add, *EXTREMES, And, Or), hole("whole", may_repeat)), reassociates=True, sample=sample_fold(broadcast))
def reduce_of_broadcast(op: Reduce, whole: Value) -> Value | None:
    """sum(broadcast(x)) = n · sum(x), max(broadcast(x)) = max(x), along axes that x lacks; and so for min, and, or

    >>> reduce_of_broadcast(reduce_sum(BroadcastInDim(tensor("f32"), (5,), ()), (0,)).owner)
    Multiply(Constant(5.0), x)
    """
    found = unspread(whole)
    if found is None or not begins_neutral(op):
        return None
    x, axes = found
    gone = [axis for axis in op.dimensions if axis not in axes and whole.shape[axis] != 1]
    if not gone or (whole.tensor.is_boolean and op.combiner is Add):
        return None
    kept = [axis for axis in range(whole.tensor.rank) if axis not in op.dimensions]
    made = again(op, x, tuple(place for place, axis in enumerate(axes) if axis in op.dimensions))
    shape = op.results[0].shape
    left = [kept.index(axis) for axis in axes if axis in kept]
    if op.combiner is Add:
        if x.tensor.size + made.tensor.size >= whole.tensor.size:
            return None
        count = math.prod(whole.shape[axis] for axis in op.dimensions if axis not in axes)
        limit = 1 << 8 if whole.dtype == "bf16" else 1 << 11 if whole.dtype == "f16" else 1 << 24
        if count > limit and whole.dtype not in ("f64", "i32", "i64", "ui32", "ui64"):
            return None
        number = np.array(count).astype(whole.tensor.numpy_dtype)
        made = Multiply(Constant.of(number, whole.dtype, made.shape), made)
    return lay(made, shape, tuple(left))


def concatenated(draw: Draw, shape: Sizes, dtype: str) -> Value:
    axis = draw.integer(0, len(shape) - 1)
    parts = [
        tensor(dtype, *shape[:axis], draw.integer(1, 3), *shape[axis + 1 :], name=name)
        for name in "xyz"[: draw.integer(2, 3)]
    ]
    return Concatenate(tuple(parts), axis)


@rewrite(fold(ALL_FOLDS, any_op(Concatenate, bind="joined")), reassociates=True, sample=sample_fold(concatenated))
def reduce_of_concatenate_aside(op: Reduce, joined: Concatenate) -> Value | None:
    """reduce(concatenate(x, y)) = concatenate(reduce(x), reduce(y)), along other axes than they are joined by

    >>> both = Concatenate((tensor("f32", 2, 3), tensor("f32", 4, 3, name="y")), 0)
    >>> reduce_of_concatenate_aside(reduce_sum(both, (1,)).owner).dimension
    0
    """
    if joined.dimension in op.dimensions or not is_alone(joined, op):
        return None
    if op.results[0].tensor.size >= joined.tensor.size:
        return None
    before = sum(1 for axis in op.dimensions if axis < joined.dimension)
    return Concatenate(tuple(again(op, part, op.dimensions) for part in joined.inputs), joined.dimension - before)


@rewrite(
    fold(ALL_FOLDS, any_op(Concatenate, bind="joined")),
    reassociates=True,
    by_cost=True,
    sample=sample_fold(concatenated),
)
def reduce_of_concatenate_along(op: Reduce, joined: Concatenate) -> Value | None:
    """reduce(concatenate(x, y)) = reduce(x) ∘ reduce(y), along the axis that they are joined by

    >>> both = Concatenate((tensor("f32", 2, 3), tensor("f32", 4, 3, name="y")), 0)
    >>> type(reduce_of_concatenate_along(reduce_sum(both, (0,)).owner)).__name__
    'Add'
    """
    if joined.dimension not in op.dimensions or not is_alone(joined, op):
        return None
    if not begins_neutral(op) or len(joined.inputs) > 4:
        return None
    parts = [again(op, part, op.dimensions) for part in joined.inputs if part.tensor.size]
    combiner: Any = op.combiner
    made = parts[0]
    for part in parts[1:]:
        made = combiner(made, part)
    return made


def padded(draw: Draw, shape: Sizes, dtype: str) -> Value:
    fill = Constant.of(identity_of(draw.choose(FOLDS), dtype), dtype)
    low, high, between = (tuple(draw.integer(0, 2) for _ in shape) for _ in range(3))
    return Pad(tensor(dtype, *shape), fill, low, high, between)


@rewrite(fold(ALL_FOLDS, any_op(Pad, bind="pad")), sample=sample_fold(padded))
def reduce_of_pad(op: Reduce, pad: Pad) -> Value | None:
    """reduce(pad(x, c)) = reduce(x), where c leaves others unchanged; padding along axes that stay follows

    >>> padded = Pad(tensor("f32", 3), Constant.of(0, "f32"), (2,), (2,), (0,))
    >>> reduce_of_pad(reduce_sum(padded, (0,)).owner).owner.inputs
    (x,)
    """
    if not begins_neutral(op) or pad.operand.tensor.size == 0 or not is_alone(pad, op):
        return None
    fill, init = pad.padding_value, op.init_values[0]
    same = isinstance(fill, Constant) and isinstance(init, Constant) and fill.value == init.value
    paddings = list(zip(pad.edge_padding_low, pad.edge_padding_high, pad.interior_padding, strict=True))
    if not same or any(min(each) < 0 for each in paddings):
        return None
    if not any(any(paddings[axis]) for axis in op.dimensions):
        return None
    rest = [each for axis, each in enumerate(paddings) if axis not in op.dimensions]
    made = again(op, pad.operand, op.dimensions)
    return Pad(made, fill, *zip(*rest, strict=True)) if any(map(any, rest)) else made


def masked(draw: Draw, shape: Sizes, dtype: str) -> Value:
    """A value that only counts where an index is below or above a number."""
    axis = draw.integer(0, len(shape) - 1)
    bound = Constant.of(draw.integer(0, 4), "i32", shape)
    mask = Compare(Iota(shape, "i32", axis), bound, draw.choose(("LT", "LE", "GE", "GT", "EQ")))
    rest = Constant.of(identity_of(draw.choose(FOLDS), dtype), dtype, shape)
    return Select(mask, tensor(dtype, *shape), rest)


def chosen_by_row(draw: Draw, shape: Sizes, dtype: str) -> Value:
    """A choice that is the same along some axes."""
    axes = draw.permutation(len(shape))[: draw.integer(0, len(shape) - 1)]
    mask = BroadcastInDim(tensor("i1", *(shape[axis] for axis in axes), name="p"), shape, axes)
    rest = Constant.of(identity_of(draw.choose(FOLDS), dtype), dtype, shape)
    return Select(mask, tensor(dtype, *shape), rest)


@rewrite(fold(ALL_FOLDS, any_op(Select, bind="value")), sample=sample_fold(chosen_by_row))
def reduce_of_masked_rows(op: Reduce, value: Select) -> Value | None:
    """reduce(select(p, x, c)) = select(p, reduce(x), c), where p repeats along the axes and c leaves others unchanged

    >>> mask = BroadcastInDim(tensor("i1", 3, name="p"), (3, 9), (0,))
    >>> chosen = Select(mask, tensor("f32", 3, 9), Constant.of(0, "f32", (3, 9)))
    >>> reduce_of_masked_rows(reduce_sum(chosen, (1,)).owner).pred
    p
    """
    if not begins_neutral(op) or not is_alone(value, op):
        return None
    rest, init, result = value.on_false, op.init_values[0], op.results[0]
    if not (isinstance(rest, Constant) and rest.is_splat and isinstance(init, Constant)):
        return None
    found = unspread(value.pred)
    if (
        found is None
        or result.tensor.size >= value.tensor.size
        or rest.value.data.tobytes() != init.value.data.tobytes()
    ):
        return None
    mask, axes = found
    if any(axis in op.dimensions for axis in axes):
        return None
    kept = [axis for axis in range(value.tensor.rank) if axis not in op.dimensions]
    mask = lay(mask, result.shape, tuple(kept.index(axis) for axis in axes))
    return Select(mask, again(op, value.on_true, op.dimensions), Constant.of(init.number, init.dtype, result.shape))


def counted(draw: Draw, shape: Sizes, dtype: str) -> Value:
    return Iota(shape, draw.choose(("i32", "ui8", "f32")), draw.integer(0, len(shape) - 1))


@rewrite(fold((Add, *EXTREMES), any_op(Iota, bind="value")), sample=sample_fold(counted, (Add, *EXTREMES)))
def reduce_of_iota(op: Reduce, value: Iota) -> Value | None:
    """sum(0 … n-1) = n · (n - 1) / 2, max(0 … n-1) = n - 1, min(0 … n-1) = 0, along the axis that counts

    >>> reduce_of_iota(reduce_sum(Iota((5,), "i32", 0), (0,)).owner)
    Constant(10)
    """
    if not begins_neutral(op) or value.iota_dimension not in op.dimensions:
        return None
    size = value.shape[value.iota_dimension]
    exact = np.iinfo(value.tensor.numpy_dtype).max if value.tensor.is_integer else {"f32": 1 << 24}.get(value.dtype, 0)
    times = math.prod(value.shape[axis] for axis in op.dimensions if axis != value.iota_dimension)
    total = times * size * (size - 1) // 2
    number = {Add: total, Maximum: size - 1, Minimum: 0}[op.combiner]  # pyright: ignore[reportArgumentType]
    return Constant.of(number, value.dtype, op.results[0].shape) if max(size, total) <= exact else None


def flipped(draw: Draw, shape: Sizes, dtype: str) -> Value:
    return Reverse(tensor(dtype, *shape), draw.subset(len(shape), draw.integer(1, len(shape))))


@rewrite(fold(ALL_FOLDS, any_op(Reverse, bind="value")), reassociates=True, sample=sample_fold(flipped))
def reduce_of_reverse(op: Reduce, value: Reverse) -> Value | None:
    """reduce(reverse(x)) = reduce(x), reversed along those axes that stay

    >>> reduce_of_reverse(reduce_sum(Reverse(tensor("f32", 9), (0,)), (0,)).owner).owner.inputs
    (x,)
    """
    kept = [axis for axis in range(value.tensor.rank) if axis not in op.dimensions]
    rest = tuple(kept.index(axis) for axis in value.dimensions if axis in kept)
    if rest and op.results[0].tensor.size >= value.tensor.size:
        return None
    made = again(op, value.operand, op.dimensions)
    return Reverse(made, rest) if rest else made


def sample_fold_of_several(draw: Draw) -> Op:
    """A largest element and its index, of which one is wanted; or two sums in one."""
    shape = (draw.integer(1, 4), draw.integer(1, 3))
    inputs = (tensor("f32", *shape), tensor("i32", *shape, name="y"))
    inits = (Constant.of(-np.inf, "f32"), Constant.of(0, "i32"))
    scalars = [tensor("f32").type, tensor("i32").type]

    def best(a: Value, i: Value, b: Value, j: Value) -> tuple[Value, Value]:
        first = Compare(a, b, "GE")
        return Maximum(a, b), (Select(first, i, j) if draw.boolean() else Add(i, j))

    op = Reduce(inputs, inits, (0,), make_region([*scalars, *scalars], best))
    used = draw.integer(0, 1)
    Abs(op.results[used])
    return op


def _cone(region: Region, wanted: list[int], count: int) -> tuple[set[Op], set[int]] | None:
    """The ops that some results of a body need, and which of its inputs; None if something has an effect."""
    block = region.block
    ops: set[Op] = set()
    inputs: set[int] = set()
    pending = [block.terminator.operands[index] for index in wanted]
    while pending:
        value = pending.pop()
        if isinstance(value, Op):
            if value.regions or not value.is_pure or value.block is not block:
                return None
            if value not in ops:
                ops.add(value)
                pending += value.operands
        elif value in block.arguments:
            index = block.arguments.index(value) % count  # pyright: ignore[reportArgumentType]
            if index not in inputs:
                inputs.add(index)
                pending.append(block.terminator.operands[index])
        else:
            return None
    return ops, inputs


@rewrite(any_op(Reduce), sample=sample_fold_of_several)
def reduce_with_unused_results(op: Reduce) -> Value | tuple[Value, ...] | None:
    """reduce((x, y), f) = reduce(x, f), if the result for y is not used and that for x does not depend on y

    >>> x, y, zero = tensor("f32", 9), tensor("f32", 9, name="y"), Constant.of(0, "f32")
    >>> body = make_region([zero.type] * 4, lambda a, b, c, d: (Add(a, c), Add(b, d)))
    >>> sums = Reduce((x, y), (zero, zero), (0,), body)
    >>> user = Abs(sums.results[0])
    >>> [len(value.owner.inputs) for value in reduce_with_unused_results(sums)[:1]]
    [1]
    """
    count = len(op.inputs)
    used = [index for index, result in enumerate(op.results) if is_needed(result)]
    if count < 2 or not used or len(used) == count:
        return None
    found = _cone(op.body, used, count)
    if found is None or len(found[1]) == count:
        return None
    ops, kept_set = found
    kept = sorted(kept_set)
    old = op.body.block
    block = Block([old.arguments[index].type for index in (*kept, *(count + each for each in kept))])
    mapping: dict[Value, Value] = {}
    for place, index in enumerate(kept):
        mapping[old.arguments[index]] = block.arguments[place]
        mapping[old.arguments[count + index]] = block.arguments[len(kept) + place]
    with Builder(block):
        for each in old:
            if each in ops:
                each.clone(mapping)
        Return(tuple(mapping[old.terminator.operands[index]] for index in kept))
    made = Reduce(
        tuple(op.inputs[index] for index in kept),
        tuple(op.init_values[index] for index in kept),
        op.dimensions,
        Region(block),
    )
    # What nobody uses may be anything of its type.
    results: list[Value] = []
    for index, result in enumerate(op.results):
        if index in kept:
            results.append(made.results[kept.index(index)])
        else:
            results.append(BroadcastInDim(op.init_values[index], result.shape, ()))
    return tuple(results)
