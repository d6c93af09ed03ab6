"""Updates of memory that are one of the atomic operations that there is a kind for."""

from __future__ import annotations

from windlass.ir import Argument, Block, Op, Value
from windlass.ops.comparison import Compare
from windlass.ops.conversion import BitcastConvert
from windlass.ops.creation import Constant
from windlass.ops.elementwise import (
    Add,
    And,
    Or,
    Select,
    Subtract,
    Xor,
)
from windlass.ops.extremes import Maximum, Minimum

_KINDS: dict[type[Op], tuple[str, str]] = {
    Add: ("add", "fadd"),
    And: ("and", ""),
    Or: ("or", ""),
    Xor: ("xor", ""),
    Maximum: ("max", ""),
    Minimum: ("min", ""),
}
"""The atomic kinds of commutative ops, on integers and on floats (where `Maximum` lets NaN spread, unlike fmax)."""


def find_kind(new: Value, old: Value, body: Block) -> tuple[str, Value] | None:
    """The kind and the operand of the atomic operation that makes `new` of `old`; the operand lies outside the body."""
    value = bits_of(new)
    if is_outside(value, body):
        return "exchange", value
    if isinstance(value, Subtract):
        return _operand("fsub" if value.tensor.is_float else "sub", value.lhs, value.rhs, old, body)
    if isinstance(value, Select):
        return _extreme_of_numbers(value, old, body)
    if not isinstance(value, Op):
        return None
    names = _KINDS.get(type(value))
    if names is None:
        return None
    left, right = value.operands
    kind = names[1] if value.tensor.is_float else names[0]
    if value.tensor.is_unsigned and kind in ("min", "max"):
        kind = "u" + kind
    if not kind:
        return None
    return _operand(kind, left, right, old, body) or _operand(kind, right, left, old, body)


def bits_of(value: Value) -> Value:
    """The value whose bits these are."""
    while isinstance(value, BitcastConvert):
        value = value.operand
    return value


def is_outside(value: Value, body: Block) -> bool:
    """Whether the value is known before the body runs."""
    if isinstance(value, Op):
        return value.block is not body
    return not isinstance(value, Argument) or value.block is not body


def _operand(kind: str, left: Value, right: Value, old: Value, body: Block) -> tuple[str, Value] | None:
    if bits_of(left) is not old:
        return None
    if isinstance(right, BitcastConvert) and right.tensor.is_unsigned:
        right = right.operand
    return (kind, right) if is_outside(right, body) and right.type is old.type else None


def _extreme_of_numbers(value: Select, old: Value, body: Block) -> tuple[str, Value] | None:
    """fmin and fmax as `builtins/extremes.py` writes them: tests for NaN around a `Minimum` or `Maximum`."""
    tested: set[Value] = set()
    current: Value = value
    while isinstance(current, Select):
        test = current.pred
        if not isinstance(test, Compare) or test.direction != "NE" or test.lhs is not test.rhs:
            return None
        if current.on_true is test.lhs:
            return None
        tested |= {test.lhs, current.on_true} if is_number(current.on_true) else {test.lhs}
        current = current.on_false
    if not isinstance(current, Maximum | Minimum) or tested != set(current.operands):
        return None
    kind = "fmax" if isinstance(current, Maximum) else "fmin"
    left, right = current.operands
    return _operand(kind, left, right, old, body) or _operand(kind, right, left, old, body)


def is_number(value: Value) -> bool:
    """Whether a float is known not to be NaN."""
    return isinstance(value, Constant) and value.number == value.number
