"""Compare-and-swap loops that are atomic operations in disguise.

    do { assumed = old; old = atomicCAS(place, assumed, f(assumed, value)); } while (assumed != old);

applies f to the memory in one step, whatever other threads do meanwhile. Where f is an addition, a minimum and so on
of a value that the loop does not change, the loop becomes an `Atomic`; its result is the old value.
"""

from __future__ import annotations

from windlass.ir import Argument, Block, Builder, Op, Value
from windlass.ops.comparison import Compare
from windlass.ops.conversion import BitcastConvert
from windlass.ops.elementwise import Add, And, Maximum, Minimum, Not, Or, Select, Subtract, Xor
from windlass.ops.loops import Atomic, CompareExchange, Condition, DoWhile, Load

_KINDS: dict[type[Op], tuple[str, str]] = {
    Add: ("add", "fadd"),
    And: ("and", ""),
    Or: ("or", ""),
    Xor: ("xor", ""),
    Maximum: ("max", ""),
    Minimum: ("min", ""),
}
"""The atomic kinds of commutative ops, on integers and on floats."""


def replace_idioms(block: Block) -> None:
    """Replace every such loop in the block and in the regions of its ops."""
    for op in tuple(block):
        for region in op.regions:
            replace_idioms(region.block)
        if isinstance(op, DoWhile):
            _replace(op)


def _replace(loop: DoWhile) -> None:
    body = loop.body.block
    exchange = _only_effect(body)
    end = body.terminator
    if exchange is None or not isinstance(end, Condition) or len(loop.initial) != 1:
        return
    (old,) = body.arguments
    (following,) = end.values
    if _bits(exchange.expected) is not old or _bits(following) is not exchange:
        return
    if not _goes_on_while_different(end.continues, old, exchange):
        return
    found = _combination(_bits(exchange.desired), old, body)
    if found is None or not all(_is_outside(value, body) for value in (exchange.buffer, exchange.offset)):
        return
    kind, value = found
    with Builder(_block_of(loop), before=loop, source=exchange.source):
        result: Value = Atomic(kind, exchange.buffer, exchange.offset, value)
        if result.type is not old.type:
            result = BitcastConvert(result, old.dtype)
    loop.results[0].replace_all_uses_with(result)
    loop.erase()


def _block_of(op: Op) -> Block:
    assert op.block is not None
    return op.block


def _only_effect(body: Block) -> CompareExchange | None:
    """The compare-exchange that is all that the body does besides computing."""
    found: CompareExchange | None = None
    for op in body:
        if isinstance(op, CompareExchange):
            if found is not None:
                return None
            found = op
        elif not op.is_pure and not isinstance(op, Load | Condition):
            return None
    return found


def _bits(value: Value) -> Value:
    """The value whose bits these are."""
    while isinstance(value, BitcastConvert):
        value = value.operand
    return value


def _is_outside(value: Value, body: Block) -> bool:
    """Whether the value is known before the loop."""
    if isinstance(value, Op):
        return value.block is not body
    return not isinstance(value, Argument) or value.block is not body


def _goes_on_while_different(test: Value, old: Value, exchange: CompareExchange) -> bool:
    direction = "NE"
    if isinstance(test, Not):
        test, direction = test.operand, "EQ"
    if not isinstance(test, Compare) or test.direction != direction:
        return False
    sides = {_bits(test.lhs), _bits(test.rhs)}
    return sides == {old, exchange}


def _combination(value: Value, old: Value, body: Block) -> tuple[str, Value] | None:
    """The kind of atomic operation and its operand, if `value` is a combination of `old` with something outside."""
    if _is_outside(value, body):
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


def _operand(kind: str, left: Value, right: Value, old: Value, body: Block) -> tuple[str, Value] | None:
    if _bits(left) is not old:
        return None
    if isinstance(right, BitcastConvert) and not _is_outside(right, body):
        right = right.operand
    return (kind, right) if _is_outside(right, body) else None


def _extreme_of_numbers(value: Select, old: Value, body: Block) -> tuple[str, Value] | None:
    """fmin and fmax as `builtins/extremes.py` writes them: tests for NaN around a `Minimum` or `Maximum`."""
    operands: set[Value] = set()
    current: Value = value
    while isinstance(current, Select):
        test = current.pred
        is_test_for_nan = isinstance(test, Compare) and test.direction == "NE" and test.lhs is test.rhs
        if not isinstance(test, Compare) or not is_test_for_nan or current.on_true is test.lhs:
            return None
        operands |= {test.lhs, current.on_true}
        current = current.on_false
    if not isinstance(current, Maximum | Minimum) or not operands <= set(current.operands):
        return None
    kind = "fmax" if isinstance(current, Maximum) else "fmin"
    left, right = current.operands
    return _operand(kind, left, right, old, body) or _operand(kind, right, left, old, body)
