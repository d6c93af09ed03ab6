"""Keeping XLA from forgetting NaN, infinities and the signs of zeros, where that costs nothing.

XLA's algebraic simplifier, on every device, takes for exact what holds for finite numbers of middle size only:

* a condition as a number, times x, becomes a choice of x or 0: NaN, infinities and -0 are lost;
* a root of a square becomes the absolute value: what overflows or underflows doesn't any more;
* what can't be negative is found to be at least 0: NaN isn't.

The simplifier knows each by its form. So the condition is written as a choice of 1 or 0, which it leaves alone, and a
square or what can't be negative gets rounded to the type that it has anyway, for which no code is made.
"""

from __future__ import annotations

import math

from windlass.ir import Argument, Block, Builder, Module, Op, Result, Value
from windlass.lowering.settling import is_settling
from windlass.ops import (
    Abs,
    BroadcastInDim,
    Call,
    Case,
    Compare,
    Constant,
    Convert,
    Exponential,
    If,
    Maximum,
    Minimum,
    Multiply,
    Negate,
    Power,
    Reduce,
    ReducePrecision,
    Reshape,
    Reverse,
    Rsqrt,
    Select,
    Slice,
    Sqrt,
    Transpose,
)

MOVEMENTS = (BroadcastInDim, Reshape, Reverse, Slice, Transpose)
NEVER_NEGATIVE = (Abs, Exponential, Maximum, Minimum, Power, Select)
"""Ops of which XLA may find, by their operands, that they give no negative numbers."""


def keep_special_values(module: Module) -> None:
    """Bring the module, in place, into a form in which XLA keeps the special values of each op."""
    called = frozenset(each.body for each in module.functions.values() if each.visibility == "private")
    for function in module.functions.values():
        for op in list(function.walk()):
            match op:
                case Convert() if op.operand.dtype == "i1" and (op.tensor.is_float or op.tensor.is_complex):
                    _choose_one_or_zero(op)
                case Sqrt() | Rsqrt() if op.tensor.is_float and _is_square(op.operand, called):
                    _set_apart(op, 0)
                case Compare(direction="GE") if _is_zero(op.rhs) and _is_never_negative(op.lhs, called):
                    _set_apart(op, 0)
                case Compare(direction="LE") if _is_zero(op.lhs) and _is_never_negative(op.rhs, called):
                    _set_apart(op, 1)
                case _:
                    pass


def _choose_one_or_zero(op: Convert) -> None:
    assert op.block is not None
    with Builder(op.block, before=op, source=op.source):
        one, zero = (Constant.of(number, op.dtype, op.shape) for number in (1, 0))
        op.replace_all_uses_with(Select(op.operand, one, zero))
    op.erase()


def _set_apart(op: Op, position: int) -> None:
    """Let XLA not see what the operand is."""
    operand = op.operands[position]
    assert op.block is not None
    with Builder(op.block, before=op, source=op.source):
        op.replace_operand(operand, ReducePrecision.to_own_type(operand))


def _is_square(value: Value, called: frozenset[Block]) -> bool:
    """Whether XLA may find that the value is a product of equals."""
    origin = _moved(value)
    while isinstance(origin, Abs):
        origin = _moved(origin.operand)
    if isinstance(origin, Multiply):
        return type(_moved(origin.lhs)) is type(_moved(origin.rhs))
    return isinstance(origin, Power) or _is_handed_on(origin, called)


def _is_never_negative(value: Value, called: frozenset[Block]) -> bool:
    """Whether XLA may find that the value isn't negative."""
    return isinstance(_moved(value), NEVER_NEGATIVE) or _is_square(value, called)


def _is_handed_on(origin: Value, called: frozenset[Block]) -> bool:
    """Whether the value comes from another function or a branch: XLA inlines calls, and branches that are known."""
    if isinstance(origin, Argument):
        return origin.block in called
    return isinstance(origin, Case | If) or (isinstance(origin, Call) and not is_settling(origin))


def _is_zero(value: Value) -> bool:
    value = _moved(value)
    return isinstance(value, Constant) and value.tensor.is_float and value.is_splat and value.number == 0


def _moved(value: Value) -> Value:
    """What a value was before it was moved about, up to its sign; a fold of single numbers moves them."""
    while True:
        source = value.owner if isinstance(value, Result) else value
        if isinstance(source, (*MOVEMENTS, Negate)):
            value = source.operand
        elif isinstance(source, Reduce) and len(source.inputs) == 1 and _folds_single_numbers(source):
            (value,) = source.inputs
        else:
            return source


def _folds_single_numbers(op: Reduce) -> bool:
    return math.prod(op.inputs[0].shape[axis] for axis in op.dimensions) == 1
