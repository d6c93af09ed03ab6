"""Movement that is undone behind any number of elementwise ops."""

from __future__ import annotations

from windlass.ir import Op, Value
from windlass.ir.values import tensor
from windlass.ops import (
    Add,
    BroadcastInDim,
    Constant,
    Elementwise,
    Exponential,
    Multiply,
    Reshape,
    Reverse,
    Slice,
    Transpose,
)
from windlass.ops.sampling import Draw
from windlass.rewriting.pattern import any_op
from windlass.rewriting.rule import rewrite
from windlass.rewriting.sharing import users_of
from windlass.rules.axes import pick
from windlass.rules.elementwise_movement import same_everywhere

LARGEST_CONE = 64
"""Elementwise ops that are looked through for movements that cancel."""


def sample_undone_movement(draw: Draw, kind: type[Op]) -> Op:
    """Elementwise ops between a movement and its inverse, some of whose values are used twice."""
    x, y = (tensor("f32", 2, 3, 4, name=name) for name in "xy")

    def move(value: Value) -> Value:
        if kind is Transpose:
            return Transpose(value, (2, 0, 1))
        return Reverse(value, (0, 2)) if kind is Reverse else Reshape(value, (6, 4))

    def undo(value: Value) -> Op:
        if kind is Transpose:
            return Transpose(value, (1, 2, 0))
        return Reverse(value, (0, 2)) if kind is Reverse else Reshape(value, (2, 3, 4))

    if kind is Reshape and draw.boolean():
        first = Multiply(Reshape(tensor("f32", 1), ()), draw.choose((Constant.of(2, "f32"), tensor("f32", name="c"))))
        return Reshape(first, (1,))
    a = move(x)
    other = draw.integer(0, 2)
    if other == 0:
        second: Value = Constant.of(2, "f32", a.shape)
    else:
        second = BroadcastInDim(tensor("f32", name="c"), a.shape, ()) if other == 1 else move(y)
    if kind is Transpose and draw.boolean():
        part = tuple(size - draw.integer(0, 1) for size in a.shape)
        parts = [Slice(each, (0, 0, 0), part, (1, 1, 1)) for each in (a, move(y))]
        return undo(Add(Exponential(parts[0]), parts[draw.integer(0, 1)]))
    first = Multiply(a, second)
    shape = draw.integer(0, 3)
    if shape == 0:
        return undo(first)
    return undo(Add(first, first if shape == 1 else Exponential(first) if shape == 2 else second))


def list_cone(root: Op) -> tuple[list[Elementwise], list[Value]] | None:
    """The elementwise ops between the op and what is not elementwise, each before its users, and what they take.

    None where something beside them takes one of their results.
    """
    cone: dict[Op, None] = {}
    leaves: dict[Value, None] = {}
    pending: list[Value] = [root.operands[0]]
    while pending:
        value = pending.pop()
        if value in cone:
            continue
        if isinstance(value, Elementwise) and value.block is root.block and value.shape == root.operands[0].shape:
            # It comes after all of its users: the last of them will ask for it again.
            if all(user is root or user in cone for user in users_of(value)):
                cone[value] = None
                if len(cone) > LARGEST_CONE:
                    return None
                pending += value.operands
            continue
        leaves[value] = None
    ops = [each for each in cone if isinstance(each, Elementwise)]
    reached = {operand for each in ops for operand in each.operands}
    if not all(operand in leaves or operand in cone for operand in reached):
        return None
    return ops[::-1], list(leaves)


@rewrite(any_op(Transpose), sample=lambda draw: sample_undone_movement(draw, Transpose))
def transpose_undone_after_elementwise(op: Transpose) -> Value | None:
    """transpose(f(transpose(x, p), transpose(y, p)), p⁻¹) = f(x, y), for any number of elementwise ops

    >>> x = Transpose(tensor("f32", 2, 3), (1, 0))
    >>> transpose_undone_after_elementwise(Transpose(Add(Exponential(x), x), (1, 0)))
    Add(Exponential(x), x)
    """
    return _without_movement(op)


@rewrite(any_op(Reshape), sample=lambda draw: sample_undone_movement(draw, Reshape))
def reshape_undone_after_elementwise(op: Reshape) -> Value | None:
    """reshape(f(reshape(x), reshape(y))) = f(x, y), if that is x's shape, for any number of elementwise ops

    >>> x = Reshape(tensor("f32", 6), (2, 3))
    >>> reshape_undone_after_elementwise(Reshape(Add(Exponential(x), x), (6,)))
    Add(Exponential(x), x)
    """
    return _without_movement(op)


@rewrite(any_op(Reverse), sample=lambda draw: sample_undone_movement(draw, Reverse))
def reverse_undone_after_elementwise(op: Reverse) -> Value | None:
    """reverse(f(reverse(x, d), reverse(y, d)), d) = f(x, y), for any number of elementwise ops

    >>> x = Reverse(tensor("f32", 6), (0,))
    >>> reverse_undone_after_elementwise(Reverse(Add(Exponential(x), x), (0,)))
    Add(Exponential(x), x)
    """
    return _without_movement(op)


def _without_movement(op: Transpose | Reshape | Reverse) -> Value | None:
    if not isinstance(op.operand, Elementwise):
        return None
    found = list_cone(op)
    if found is None:
        return None
    ops, leaves = found
    before: dict[Value, Value] = {}
    is_undone = False
    for leaf in leaves:
        origin = _undone(op, leaf)
        if origin is not None:
            before[leaf] = origin
            is_undone = True
            continue
        inner = _undone(op, leaf.operand) if isinstance(leaf, Slice) else None
        if isinstance(leaf, Slice) and isinstance(op, Transpose) and inner is not None:
            # The part is taken in the other order of axes; the old one is not needed any more.
            if not all(user in ops for user in users_of(leaf)):
                return None
            p = op.permutation
            before[leaf] = Slice(inner, pick(leaf.start_indices, p), pick(leaf.limit_indices, p), pick(leaf.strides, p))
            is_undone = True
            continue
        if not op.operand.shape:
            # Here numbers of rank 0 are not limits or conditions for all elements.
            number = Constant.of(leaf.number, leaf.dtype, op.shape) if isinstance(leaf, Constant) else None
        else:
            number = same_everywhere(leaf, op.shape)
        if number is None:
            return None
        before[leaf] = number
    if not is_undone:
        return None
    for each in ops:
        before[each] = each.with_operands(tuple(before[operand] for operand in each.operands))
    return before[op.operand]


def _undone(op: Transpose | Reshape | Reverse, leaf: Value) -> Value | None:
    """What the value is made of, if the op undoes what made it."""
    match op, leaf:
        case Transpose(), Transpose() if pick(leaf.permutation, op.permutation) == tuple(range(op.tensor.rank)):
            return leaf.operand
        case Reshape(), Reshape() if leaf.operand.shape == op.shape:
            return leaf.operand
        case Reverse(), Reverse() if set(leaf.dimensions) == set(op.dimensions):
            return leaf.operand
        case _:
            return None
