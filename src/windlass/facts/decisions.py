"""What decides: floats that are compared, rounded to whole numbers or taken for bits, and all that they are made of.

The last bit of such a value may change a branch, or the place that is read, while all others change by as little as
they did. So a derivative has to find these as the results were found.
"""

from __future__ import annotations

from windlass.ir import Argument, Block, Op, Result, TensorType, Value
from windlass.ir.core import Terminator
from windlass.ops import Ceil, Floor, Remainder, RoundNearestAfz, RoundNearestEven, Sign

STEPS: tuple[type[Op], ...] = (Ceil, Floor, Remainder, RoundNearestAfz, RoundNearestEven, Sign)
"""Ops of floats whose results jump."""


def find_deciding(block: Block) -> set[Op]:
    """The ops that decide, in the block and in what its ops hold, and those that their operands are made of.

    >>> from windlass.ir import Builder
    >>> from windlass.ir.values import tensor
    >>> from windlass.ops import Compare, Multiply
    >>> body = Block([tensor("f32").type])
    >>> with Builder(body):
    ...     square = Multiply(*body.arguments, *body.arguments)
    ...     fourth = Multiply(square, square)
    ...     test = Compare(square, body.arguments[0], "GT")
    >>> found = find_deciding(body)
    >>> square in found, fourth in found
    (True, False)
    """
    found: set[Op] = set()
    pending: list[Value] = []
    for op in block.walk():
        if _decides(op):
            found.add(op)
            pending += op.operands
    while pending:
        value = pending.pop()
        maker = _maker(value)
        if maker is None or maker in found or not _is_of_floats(value):
            continue
        found.add(maker)
        pending += maker.operands
        for region in maker.regions:
            for inner in region.blocks:
                pending += [operand for op in inner if isinstance(op, Terminator) for operand in op.operands]
    return found


def _decides(op: Op) -> bool:
    """Whether the op makes something else than a float of a float, or jumps."""
    if op.regions or isinstance(op, Terminator) or not any(map(_is_of_floats, op.operands)):
        return False
    return isinstance(op, STEPS) or not all(map(_is_of_floats, op.results))


def _maker(value: Value) -> Op | None:
    """The op that a value is the result of, or that hands it to a block that it holds."""
    if isinstance(value, Argument):
        region = None if value.block is None else value.block.parent
        return None if region is None else region.parent
    return value if isinstance(value, Op) else value.owner if isinstance(value, Result) else None


def _is_of_floats(value: Value) -> bool:
    return isinstance(value.type, TensorType) and (value.type.is_float or value.type.is_complex)
