"""Floats that travel as integers, as what they are: what compare-and-swap loops and exchanges of words do with them."""

from __future__ import annotations

from windlass.ir import Block, Builder, Function, Op, Region, Value, tensor_type
from windlass.loops import Atomic, AtomicUpdate, Load, Store, Yield
from windlass.ops.conversion import BitcastConvert, bit_width
from windlass.parallel.dead_code import remove_unused


def read_words_as_floats(function: Function) -> None:
    """Let accesses of integers that are made of the bits of floats, or only used as such, be accesses of floats."""
    for op in [*function.walk()]:
        if op.block is None:
            continue
        with Builder(op.block, before=op, source=op.source):
            _read_as_float(op)
    for op in [*function.walk()]:
        if isinstance(op, BitcastConvert) and isinstance(op.operand, BitcastConvert):
            origin = op.operand.operand
            if origin.type is op.type:
                op.replace_all_uses_with(origin)
    remove_unused(function.body)


def _read_as_float(op: Op) -> None:
    match op:
        case Store():
            found = _float_in(op.value)
            if found is not None:
                Store(found, op.buffer, op.offset, op.is_volatile, op.alignment)
                op.erase()
        case Load() if not op.tensor.is_float and op.uses:
            users = {user.dtype if _is_float_of(user, op) else "" for user in op.uses}
            if len(users) == 1 and "" not in users:
                loaded = Load(op.buffer, op.offset, users.pop(), op.is_volatile, op.alignment)
                _replace(op, loaded)
        case Atomic(kind="exchange"):
            found = _float_in(op.value)
            if found is not None:
                _replace(op, Atomic("exchange", op.buffer, op.offset, found))
        case AtomicUpdate():
            found = _float_in(op.body.block.terminator.operands[0])
            if found is not None:
                _replace(op, _update_of_floats(op, found))
        case _:
            pass


def _float_in(value: Value) -> Value | None:
    """The float whose bits an integer is, of the same width."""
    if not isinstance(value, BitcastConvert) or value.tensor.is_float or not value.operand.tensor.is_float:
        return None
    return value.operand if bit_width(value.dtype) == bit_width(value.operand.dtype) else None


def _is_float_of(user: Op, value: Value) -> bool:
    return isinstance(user, BitcastConvert) and user.tensor.is_float and bit_width(user.dtype) == bit_width(value.dtype)


def _replace(old: Op, new: Value) -> None:
    if old.uses:
        old.replace_all_uses_with(BitcastConvert(new, old.dtype))
    old.erase()


def _update_of_floats(op: AtomicUpdate, new: Value) -> AtomicUpdate:
    block = Block([tensor_type((), new.dtype)])
    body = op.body.block
    with Builder(block, source=op.source):
        mapping: dict[Value, Value] = {body.arguments[0]: BitcastConvert(block.arguments[0], op.dtype)}
        for each in body:
            if each is not body.terminator:
                each.clone(mapping)
        Yield((mapping.get(new, new),))
    return AtomicUpdate(op.buffer, op.offset, Region(block))
