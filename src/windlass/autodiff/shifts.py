"""Values by which others are shifted, and that cancel: whatever they are, the results are the same.

The maximum in a softmax is one: exp(x - m) / sum(exp(x - m)) doesn't depend on m, nor does m + log(sum(exp(x - m))). So
its derivative is zero, which to find out by computing it takes longer than the rest of the gradient. How a value
depends on m is followed from op to op: it is c + k·m, or c·exp(k·m), with a number k for all elements; where k becomes
zero, m is gone. (JAX's `jax.nn.softmax` and `logsumexp` have their authors say so, by `stop_gradient`.)
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction

from windlass.autodiff.activity import is_differentiable
from windlass.ir import Block, Builder, Function, Op, Result, Type, Value
from windlass.ir.captures import captures
from windlass.ir.core import Terminator
from windlass.ir.types import TensorType, tensor_type
from windlass.ops import (
    Add,
    BroadcastInDim,
    Compare,
    Concatenate,
    Constant,
    Convert,
    CustomDerivative,
    Divide,
    DotGeneral,
    Exponential,
    Log,
    Maximum,
    Minimum,
    Multiply,
    Negate,
    Reduce,
    Reshape,
    Return,
    Reverse,
    Select,
    Slice,
    Subtract,
    Transpose,
)
from windlass.ops.base import TensorOp
from windlass.ops.combiners import combiners_of
from windlass.ops.custom_derivative import DerivativeRule, Pushforward
from windlass.rules.splats import number_everywhere

MOVEMENTS = BroadcastInDim, Reshape, Reverse, Slice, Transpose


def stop_shifts(function: Function) -> Function:
    """The function with the values that cancel as constants: results of a rule by which they don't change.

    The function itself where there are none.

    >>> from windlass.ir.values import tensor
    >>> from windlass.ops import reduce_max, reduce_sum
    >>> body = Block([tensor("f32", 2, 3).type])
    >>> with Builder(body):
    ...     x = body.arguments[0]
    ...     e = Exponential(Subtract(x, BroadcastInDim(reduce_max(x, (1,)), (2, 3), (0,))))
    ...     _ = Return((Divide(e, BroadcastInDim(reduce_sum(e, (1,)), (2, 3), (0,))),))
    >>> [type(op).__name__ for op in stop_shifts(Function("softmax", body)).body][:3]
    ['Constant', 'Reduce', 'CustomDerivative']
    """
    if not any(isinstance(op, Exponential) for op in function.walk()):
        return function
    copy = function.clone()
    found = [shift for block in _blocks(copy) for shift in _candidates(block) if _cancels(shift, block)]
    for shift in found:
        _stop(shift)
    return copy if found else function


def _blocks(function: Function) -> list[Block]:
    return [function.body, *(block for op in function.walk() for region in op.regions for block in region.blocks)]


def _candidates(block: Block) -> list[Value]:
    """What is subtracted from others in the block, before it was broadcast."""
    found: dict[Value, None] = {}
    for op in block:
        if isinstance(op, Subtract):
            shift = op.rhs
            while isinstance(shift, BroadcastInDim | Reshape):
                shift = shift.operand
            maker = _maker(shift)
            if is_differentiable(shift.type) and maker is not None and maker.block is block:
                found[shift] = None
    return [each for each in found if not isinstance(each, Constant)]


def _maker(value: Value) -> Op | None:
    return value if isinstance(value, Op) else value.owner if isinstance(value, Result) else None


@dataclass(frozen=True)
class Dependence:
    """c + degree·m, or with `is_scale` c·exp(degree·m), where c doesn't depend on the shift m.

    `axes` are those of the value that are the axes of m, in their order, but for those of size 1.
    """

    is_scale: bool
    degree: Fraction
    axes: tuple[int, ...]


class Stuck(Exception):
    """A value depends on the shift in another way."""


def _cancels(shift: Value, block: Block) -> bool:
    """Whether nothing that leaves the block depends on the value."""
    axes = tuple(axis for axis, size in enumerate(shift.tensor.shape) if size != 1)
    known: dict[Value, Dependence] = {shift: Dependence(False, Fraction(1), axes)}
    op = _maker(shift)
    assert op is not None
    try:
        while (op := op.next) is not None:
            if any(value in known for region in op.regions for value in captures(region)):
                return False
            given = [known.get(operand) for operand in op.operands]
            if all(each is None for each in given):
                continue
            if isinstance(op, Terminator) or not isinstance(op, TensorOp) or len(op.results) != 1:
                return False
            found = _dependence(op, given)
            if found is not None and found.degree != 0:
                known[op.results[0]] = found
    except Stuck:
        return False
    return True


def _dependence(op: TensorOp, given: list[Dependence | None]) -> Dependence | None:
    """How the result depends on the shift, as its operands do; None where it doesn't. Raises Stuck."""
    met = [each for each in given if each is not None]
    first = met[0]
    are_same = all(each == first for each in given)
    match op:
        case Negate():
            return first if first.is_scale else replace(first, degree=-first.degree)
        case Convert() if is_differentiable(op.type):
            return first
        case Exponential() if not first.is_scale:
            return replace(first, is_scale=True)
        case Log() if first.is_scale:
            return replace(first, is_scale=False)
        case Maximum() | Minimum() if are_same:
            return first
        case Compare() if are_same:
            return None
        case Select() if given[0] is None and given[1] == given[2]:
            return first
        case Add() | Subtract():
            return _sum(given, 1 if isinstance(op, Add) else -1)
        case Multiply() | Divide():
            return _product(op, given, 1 if isinstance(op, Multiply) else -1)
        case Reduce() if given[1] is None and _keeps(op, first):
            return _moved(op, 0, first)
        case Concatenate() if are_same:
            places = {_moved(op, place, first) for place in range(len(given))}
            if len(places) == 1:
                return places.pop()
        case DotGeneral() if len(met) == 1 and first.is_scale:
            return _moved(op, given.index(first), first)
        case _ if isinstance(op, MOVEMENTS):
            return _moved(op, 0, first)
        case _:
            pass
    raise Stuck


def _sum(given: list[Dependence | None], sign: int) -> Dependence:
    left, right = given
    if left is None or right is None:
        each = left or right
        assert each is not None
        if not each.is_scale:
            return each if left is not None else replace(each, degree=sign * each.degree)
    elif left.is_scale == right.is_scale and left.axes == right.axes:
        if not left.is_scale:
            return replace(left, degree=left.degree + sign * right.degree)
        if left == right:
            return left
    raise Stuck


def _product(op: Multiply | Divide, given: list[Dependence | None], sign: int) -> Dependence:
    left, right = given
    if left is not None and right is not None:
        if left.is_scale and right.is_scale and left.axes == right.axes:
            return replace(left, degree=left.degree + sign * right.degree)
        raise Stuck
    each = left or right
    assert each is not None
    if each.is_scale:
        return each if left is not None else replace(each, degree=sign * each.degree)
    number = number_everywhere(op.rhs if left is not None else op.lhs)
    if isinstance(number, Constant) and (left is not None or isinstance(op, Multiply)):
        value = float(number.number)
        if value and math.isfinite(value):
            factor = Fraction(value)
            return replace(each, degree=each.degree * (factor if sign > 0 else 1 / factor))
    raise Stuck


def _keeps(op: Reduce, each: Dependence) -> bool:
    """Whether folding along axes that the shift lacks keeps how it depends: sums of scales, and what is largest."""
    (combiner,) = combiners_of(op.body) if len(op.inputs) == 1 else (None,)
    return combiner in (Maximum, Minimum) or (combiner is Add and each.is_scale)


def _moved(op: TensorOp, position: int, each: Dependence) -> Dependence:
    """The same on the axes of the result. Raises Stuck where an axis of the shift is changed."""
    axes = op.axes()
    if axes is None:
        raise Stuck
    own, (result,) = axes.operands[position], axes.results
    places: list[int] = []
    for axis in each.axes:
        letters = own[axis]
        if letters is None or len(letters) != 1 or letters not in result:
            raise Stuck
        places.append(result.index(letters))
    return replace(each, axes=tuple(places))


class Stopped(DerivativeRule):
    """A value that cancels: itself, and unchanged by what it is made of."""

    name = "a shift that cancels"

    def __init__(self, type_: TensorType) -> None:
        self.type = type_
        self.operand_types = self.result_types = (type_,)
        self._primal = _identity(self.operand_types)

    @property
    def primal(self) -> Function:
        return self._primal

    def pushforward(self, changing: tuple[bool, ...]) -> Pushforward:
        return Pushforward(_identity((*self.operand_types, *self.operand_types)), (False,))

    def batched(self, is_batched: tuple[bool, ...], size: int) -> Stopped:
        return Stopped(tensor_type((size, *self.type.shape), self.type.dtype))


def _identity(types: Iterable[Type]) -> Function:
    """A function of these arguments that gives the first."""
    with Builder(body := Block(list(types))):
        Return((body.arguments[0],))
    return Function("shift", body)


def _stop(shift: Value) -> None:
    maker = _maker(shift)
    assert maker is not None and maker.block is not None
    users = list(shift.uses)
    with Builder(maker.block, before=maker.next, source=maker.source):
        (stopped,) = CustomDerivative(Stopped(shift.tensor), (shift,)).results
    for user in users:
        user.replace_operand(shift, stopped)
