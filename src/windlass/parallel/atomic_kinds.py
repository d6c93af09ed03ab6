"""Updates of memory that are one of the atomic operations that there is a kind for."""

from __future__ import annotations

from windlass.ir import Argument, Block, Op, Value
from windlass.ops.combiners import EXTREMES, bits_of, name_of, read_step
from windlass.ops.conversion import BitcastConvert
from windlass.ops.elementwise import Multiply, Subtract


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
    is_extreme = fold.combiner in EXTREMES
    # `Maximum` lets NaN spread, unlike fmax.
    if fold.combiner is Multiply or (value.tensor.is_float and is_extreme and not fold.prefers_numbers):
        return None
    prefix = "f" if value.tensor.is_float else "u" if value.tensor.is_unsigned and is_extreme else ""
    kind = prefix + name_of(fold.combiner)
    return _operand(kind, left, right, old, body) or _operand(kind, right, left, old, body)


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
