"""The measure that every rule lowers, so that rewriting ends.

A term (the ops between a value and the leaves of a rule's pattern) is measured by, in this order:

1. work: arithmetic, in operations;
2. movement: elements written by ops that copy (slices, pads, transposes...), of those whose result isn't free;
3. ops: how many there are, and how many operands they have; those that are free count half;
4. order: how far slices and concatenations are from the leaves (`TensorOp.disorder`).

A rule may raise a later part if it lowers an earlier one. The measure of the whole program falls with that of the term,
unless the term's inner ops have other users and stay: such rules are declared `single_use`.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from windlass.ir import Op, Result, TensorType, Value
from windlass.ir.captures import captures
from windlass.ops.base import TensorOp


class Measure(NamedTuple):
    """Compared part by part."""

    work: int
    movement: int
    ops: int
    order: int


def measure_term(value: Value, leaves: Collection[Value]) -> Measure:
    """The measure of the ops from `value` down to the leaves, each op counted once.

    >>> from windlass.ir.values import tensor
    >>> from windlass.ops import Add, Slice
    >>> x = tensor("f32", 8)
    >>> measure_term(Slice(Add(x, x), (0,), (2,), (1,)), [x])
    Measure(work=8, movement=2, ops=7, order=8)
    """
    heights: dict[Op, int] = {}
    stop = set(leaves)

    def visit(each: Value) -> int:
        op = each.owner if isinstance(each, Result) else each
        if each in stop or not isinstance(op, Op):
            return 0
        if op not in heights:
            sources = [*op.operands, *(value for region in op.regions for value in captures(region))]
            heights[op] = 1 + max((visit(operand) for operand in sources), default=0)
        return heights[op]

    visit(value)
    return Measure(
        sum(op.flops() for op in heights),
        sum(_elements_moved(op) for op in heights),
        sum((1 if op.is_free else 2) + len(op.operands) for op in heights),
        sum(op.disorder * height for op, height in heights.items() if isinstance(op, TensorOp)),
    )


def _elements_moved(op: Op) -> int:
    if op.is_elementwise or op.is_free or op.flops():
        return 0
    return sum(result.type.size for result in op.results if isinstance(result.type, TensorType))
