"""Updates of memory that are one of the atomic operations that there is a kind for."""

from __future__ import annotations

from windlass.ir import Argument, Block, Op, Value
from windlass.loops import ATOMIC_KINDS
from windlass.ops.combiners import bits_of, read_step
from windlass.ops.conversion import BitcastConvert
from windlass.ops.elementwise import Subtract


def find_kind(new: Value, old: Value, body: Block) -> tuple[str, Value] | None:
    """The kind and the operand of the atomic operation that makes `new` of `old`; the operand lies outside the body."""
    value = bits_of(new)
    if is_outside(value, body):
        return "exchange", value
    if isinstance(value, Subtract):
        return _operand("fsub" if value.tensor.is_float else "sub", value.lhs, value.rhs, old, body)
    step = read_step(value)
    if step is None:
        return None
    fold, left, right = step
    # There is none that multiplies, and none through which NaN spreads.
    if fold.name not in ATOMIC_KINDS:
        return None
    return _operand(fold.name, left, right, old, body) or _operand(fold.name, right, left, old, body)


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
