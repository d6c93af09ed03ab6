"""Reductions that a device is slow at, in forms that it is fast at: the cost model says which (`Device.slow_fold`)."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from windlass.facts.cost import CPU, LONG_FOLD, fuses, has_long_rows
from windlass.ir import Op, Result, Value
from windlass.ir.values import tensor
from windlass.ops import (
    Add,
    BroadcastInDim,
    Compare,
    Constant,
    DotGeneral,
    DynamicSlice,
    Iota,
    Maximum,
    Multiply,
    Not,
    Or,
    Reduce,
    Reshape,
    Select,
    Slice,
    While,
)
from windlass.ops.combiners import EXTREMES, choosing_region, find_choice
from windlass.ops.reduction import reduce_max, reduce_min, reduce_sum, reduce_with
from windlass.ops.regions import make_region
from windlass.ops.sampling import Draw
from windlass.rewriting.pattern import any_op
from windlass.rewriting.rule import rewrite
from windlass.rewriting.sharing import is_alone
from windlass.rules.letters import Kind, Term, multiply_terms, unspread
from windlass.rules.reductions import begins_neutral, fold, fold_of

__all__ = ["DotGeneral", "tensor"]

Sizes = tuple[int, ...]

TOGETHER = 8
"""Rows that are folded in each round of a loop."""
MOST_ROWS = 32
"""Rows that are folded one after the other in a program without a loop."""
MOST_OPS = 400
"""Ops that this may become, with what computes each row."""


# -- products that are summed -----------------------------------------------------------------------------------------


def sample_sum_of_spread(draw: Draw) -> Op:
    """The sum of products of values that repeat along axes of each other."""
    sizes = tuple(draw.integer(2, 4) for _ in range(3))
    summed = draw.integer(0, 2)
    others = [axis for axis in range(3) if axis != summed]
    left = tuple(sorted((summed, others[0])))
    right = draw.choose((tuple(sorted((summed, others[1]))), (summed,), (0, 1, 2)))
    x, y = (tensor("f32", *(sizes[axis] for axis in axes), name=name) for axes, name in ((left, "x"), (right, "y")))
    factors = [BroadcastInDim(x, sizes, left), y if len(right) == 3 else BroadcastInDim(y, sizes, right)]
    made = reduce_sum(Multiply(*(factors if draw.boolean() else reversed(factors))), (summed,))
    assert isinstance(made, Result)
    return made.owner


@rewrite(fold((Add,), any_op(Multiply, bind="product")), sample=sample_sum_of_spread, reassociates=True, by_cost=True)
def sum_of_spread_products(op: Reduce, product: Multiply) -> Value | None:
    """sum(broadcast(x) · broadcast(y)) = dot(x, y), where x lacks axes that y has

    >>> x = BroadcastInDim(tensor("f32", 4, 5), (3, 4, 5), (1, 2))
    >>> y = BroadcastInDim(tensor("f32", 3, 5, name="y"), (3, 4, 5), (0, 2))
    >>> product = sum_of_spread_products(reduce_sum(Multiply(x, y), (2,)).owner)
    >>> product.operands, product.shape
    ((y, x), (3, 4))
    """
    if not begins_neutral(op) or not is_alone(product, op):
        return None
    if product.dtype not in ("f32", "f64"):
        return None
    terms: list[Term] = []
    for value in product.operands:
        inner, axes = unspread(value) or (value, tuple(range(product.tensor.rank)))
        terms.append(Term(inner, axes))
    left, right = terms
    kept = tuple(axis for axis in range(product.tensor.rank) if axis not in op.dimensions)
    shared = set(left.letters) & set(right.letters)
    if not set(op.dimensions) <= shared or set(kept) <= shared:
        return None
    if {*left.letters, *right.letters} != set(range(product.tensor.rank)):
        return None
    # Where each element is used once there is nothing to reuse: one loop over both does as well.
    if not any(axis not in shared for axis in kept) or math.prod(product.shape[axis] for axis in op.dimensions) < 4:
        return None
    return multiply_terms(left, right, kept, Kind(product.dtype, ("HIGHEST", "HIGHEST")))


# -- rows folded with each other --------------------------------------------------------------------------------------

LONGEST_ROW = round(CPU.longest_row)


def sample_long_rows(combiners: tuple[type[Any], ...]) -> Any:
    """A sampler of folds of few long rows."""

    def sample(draw: Draw) -> Op:
        length = LONGEST_ROW // 4 + draw.integer(1, 9)
        rows = draw.choose((2, 3, 5, MOST_ROWS + 1))
        shape = draw.choose(((rows, length), (rows, 2, length), (2, rows, length), (2, 2, length)))
        axes = (shape.index(rows),) if rows in shape else (0, 1)
        made = reduce_with(draw.choose(combiners), tensor("f32", *shape), axes)
        assert isinstance(made, Result)
        return made.owner

    return sample


@rewrite(any_op(Reduce), sample=sample_long_rows((Add,)), reassociates=True, by_cost=True)
def sum_of_long_rows(op: Reduce) -> Value | None:
    """sum(x) = x[0] + x[1] + …, where rows are long

    >>> type(sum_of_long_rows(reduce_sum(tensor("f32", 2, 20_000), (0,)).owner)).__name__
    'Add'
    """
    return _fold_rows(op) if op.combiner in (Add, Multiply) else None


@rewrite(any_op(Reduce), sample=sample_long_rows(EXTREMES), by_cost=True)
def extreme_of_long_rows(op: Reduce) -> Value | None:
    """max(x) = max(max(x[0], x[1]), …), where rows are long; and so for min

    >>> type(extreme_of_long_rows(reduce_max(tensor("f32", 2, 20_000), (0,)).owner)).__name__
    'Maximum'
    """
    return _fold_rows(op) if op.combiner in EXTREMES else None


def _fold_rows(op: Reduce) -> Value | None:
    operand = fold_of(op, Add, Multiply, *EXTREMES)
    if operand is None or not begins_neutral(op) or not has_long_rows(op, LONGEST_ROW):
        return None
    first, last = min(op.dimensions), max(op.dimensions)
    if set(range(first, last + 1)) != set(op.dimensions):
        return None
    rows = math.prod(operand.shape[axis] for axis in op.dimensions)
    result: Sizes = op.results[0].shape
    combiner: Any = op.combiner
    if rows < 2:
        return None
    if rows <= MOST_ROWS and rows * (1 + _count_fused(operand)) <= MOST_OPS:
        parts = itertools.product(*(range(operand.shape[axis]) for axis in op.dimensions))
        return _chain(combiner, [Reshape(_row(operand, first, part), result) for part in parts])
    together = max(count for count in range(1, TOGETHER + 1) if rows % count == 0)
    flat = Reshape(operand, (*operand.shape[:first], rows, *operand.shape[last + 1 :]))
    zero, start = Constant.of(0, "i32"), BroadcastInDim(op.init_values[0], result, ())

    def body(at: Value, total: Value) -> tuple[Value, ...]:
        starts = tuple(at if axis == first else Constant.of(0, "i32") for axis in range(flat.tensor.rank))
        sizes = tuple(together if axis == first else size for axis, size in enumerate(flat.shape))
        block = DynamicSlice(flat, starts, sizes)
        rows_in_block = [Reshape(_row(block, first, (place,)), result) for place in range(together)]
        return Add(at, Constant.of(together, "i32")), _chain(combiner, [total, *rows_in_block])

    types = [zero.type, start.type]
    cond = make_region(types, lambda at, total: Compare(at, Constant.of(rows, "i32"), "LT"))
    return While(cond, make_region(types, body), (zero, start)).results[1]


def _count_fused(value: Value) -> int:
    """Ops that are computed in one loop with what reads the value, as far as they are counted."""
    seen: set[Op] = set()
    pending = [value]
    while pending and len(seen) < MOST_OPS:
        each = pending.pop()
        if isinstance(each, Op) and each not in seen and each.is_elementwise and fuses(each):
            seen.add(each)
            pending += each.operands
    return len(seen)


def _row(value: Value, first: int, part: Sizes) -> Value:
    starts, limits = [0] * value.tensor.rank, list(value.shape)
    for axis, place in enumerate(part, first):
        starts[axis], limits[axis] = place, place + 1
    return Slice(value, tuple(starts), tuple(limits), (1,) * value.tensor.rank)


def _chain(combiner: Any, rows: list[Value]) -> Value:
    total = rows[0]
    for row in rows[1:]:
        total = combiner(total, row)
    return total


# -- where the largest is ---------------------------------------------------------------------------------------------


def sample_place_of_extreme(draw: Draw) -> Op:
    """jnp.argmax, or jnp.argmin, along a long axis."""
    long = LONG_FOLD + draw.integer(0, 3)
    shape = draw.choose(((long,), (long, 2), (3, long)))
    axis = shape.index(long)
    direction, dtype = draw.choose(("GT", "LT")), draw.choose(("f32", "i32", "f64"))
    worst = {"f32": np.inf, "f64": np.inf, "i32": 2**31 - 1}[dtype]
    least = {"i32": -(2**31)}.get(dtype, -np.inf)
    inits = Constant.of(worst if direction == "LT" else least, dtype), Constant.of(0, "i32")
    inputs = tensor(dtype, *shape), Iota(shape, "i32", axis)
    op = Reduce(inputs, inits, (axis,), choosing_region(dtype, "i32", direction))
    Not(op.results[1])
    return op


@rewrite(any_op(Reduce), sample=sample_place_of_extreme, by_cost=True)
def place_of_extreme(op: Reduce) -> tuple[Value, ...] | None:
    """argmax(x) = min(select(x = max(x), i, n)), the first place that has it or NaN; and so for argmin

    >>> x, places, zero = tensor("f32", 500), Iota((500,), "i32", 0), Constant.of(0, "i32")
    >>> inits = Constant.of(-np.inf, "f32"), zero
    >>> best = Reduce((x, places), inits, (0,), choosing_region("f32", "i32", "GT"))
    >>> user = Not(best.results[1])
    >>> place_of_extreme(best)[1].owner.combiner.__name__
    'Minimum'
    """
    if len(op.inputs) != 2 or len(op.dimensions) != 1:
        return None
    (x, places), (axis,) = op.inputs, op.dimensions
    if not isinstance(places, Iota) or places.iota_dimension != axis or x.shape[axis] < LONG_FOLD:
        return None
    # The number itself may be a zero of either sign.
    if op.results[0].uses and not x.tensor.is_integer:
        return None
    init, first = op.init_values
    if not isinstance(first, Constant) or first.number != 0 or not isinstance(init, Constant):
        return None
    combiner = find_choice(op.body)
    if combiner is None:
        return None
    best = (reduce_max if combiner is Maximum else reduce_min)(x, (axis,))
    assert isinstance(best, Result) and isinstance(best.owner, Reduce)
    start = best.owner.init_values[0]
    if not isinstance(start, Constant) or start.number != init.number:
        return None
    kept = tuple(each for each in range(x.tensor.rank) if each != axis)
    has_it: Value = Compare(x, BroadcastInDim(best, x.shape, kept), "EQ")
    if x.tensor.is_float:
        has_it = Or(has_it, Compare(x, x, "NE"))
    beyond = Constant.of(np.iinfo(places.tensor.numpy_dtype).max, places.dtype, x.shape)
    return best, reduce_min(Select(has_it, places, beyond), (axis,))
