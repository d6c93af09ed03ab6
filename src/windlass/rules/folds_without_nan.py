"""Folds by fmax and fmin, which pass over NaN: where there is none they are plain extremes."""

from __future__ import annotations

import numpy as np

from windlass.facts.ranges import has_nan
from windlass.ir import Value
from windlass.ir.values import tensor
from windlass.ops import Abs, Compare, Constant, Maximum, Minimum, Reduce, Select
from windlass.ops.combiners import combiner_region, find_extreme, identity_of
from windlass.ops.reduction import reduce_with
from windlass.ops.sampling import Draw
from windlass.rewriting.pattern import any_op, hole
from windlass.rewriting.rule import rewrite
from windlass.rules.reductions import has_elements

__all__ = ["Abs", "tensor"]


def fold_past_nan(combiner: type[Maximum] | type[Minimum], x: Value, axes: tuple[int, ...], start: float) -> Reduce:
    """x folded by fmax or fmin."""

    def choose(a: Value, b: Value) -> Value:
        return Select(Compare(a, a, "NE"), b, Select(Compare(b, b, "NE"), a, combiner(a, b)))

    return Reduce((x,), (Constant.of(start, x.dtype),), axes, combiner_region(choose, x.dtype))


def _sample(draw: Draw) -> Reduce:
    x = tensor(draw.choose(("f32", "f64")), 2, 3)
    numbers = Select(Compare(x, x, "EQ"), x, Constant.of(draw.choose((-np.inf, 0.0)), x.dtype, x.shape))
    axes = draw.choose(((0,), (1,), (0, 1)))
    return fold_past_nan(draw.choose((Maximum, Minimum)), numbers, axes, draw.choose((np.nan, -np.inf, 0.5)))


@rewrite(any_op(Reduce, operands=hole("operands", has_elements)), sample=_sample)
def fold_of_numbers(op: Reduce) -> Value | None:
    """reduce(x, fmax) = reduce(x, max), if no element of x is NaN; and so for fmin

    >>> distances = Abs(Select(Compare(tensor("f32", 3), tensor("f32", 3), "LT"), *[Constant.of(1, "f32", (3,))] * 2))
    >>> fold_of_numbers(fold_past_nan(Maximum, distances, (0,), float("nan"))).owner.combiner.__name__
    'Maximum'
    """
    if len(op.inputs) != 1 or op.combiner is not None or not op.inputs[0].tensor.is_float:
        return None
    ((x,), (start,)) = op.inputs, op.init_values
    if not isinstance(start, Constant) or has_nan(x):
        return None
    combiner = find_extreme(op.body)
    if combiner is None:
        return None
    first = identity_of(combiner, x.dtype) if np.isnan(start.number) else start.number
    return reduce_with(combiner, x, op.dimensions, first)
