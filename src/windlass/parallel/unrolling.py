"""Loops in which threads meet, round after round, where each round's numbers are known before.

    for (int s = 128; s > 0; s /= 2) { if (t < s) part[t] += part[t + s]; __syncthreads(); }
        =  if (t < 128) part[t] += part[t + 128];  __syncthreads();  if (t < 64) part[t] += part[t + 64]; …

How far threads reach in a round, and which of them do, are numbers then: `part[t]` and `part[t + 128]` can be told
apart, and a shuffle by a known number of lanes is a permutation. Loops that count, without such numbers
of their own, stay as they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from windlass.ir import Block, Builder, Op, TensorType, Value
from windlass.loops import Barrier, Collective, DoWhile, For, If, Yield
from windlass.ops.base import INTEGER, TensorOp
from windlass.ops.creation import Constant

MOST_ROUNDS = 24
MOST_OPS = 1500
"""So many ops a loop has at most when it is written out."""


def unroll_meetings(block: Block) -> None:
    """Write out such loops of a block, and of those within it; what is computed of numbers alone becomes a number."""
    for op in tuple(block):
        if _becomes_number(op):
            continue
        if isinstance(op, For | DoWhile) and _meets(op):
            rounds = _known_rounds(op)
            if rounds and rounds * sum(1 for _ in op.body.walk()) <= MOST_OPS:
                written = _write_rounds(op, rounds)
                unroll_meetings(written)
                _inline(op, written)
                continue
        for region in op.regions:
            unroll_meetings(region.block)


def _meets(op: Op) -> bool:
    return any(isinstance(inner, Barrier | Collective) for region in op.regions for inner in region.walk())


def _is_number(value: Value) -> bool:
    return isinstance(value.type, TensorType) and (value.dtype in INTEGER or value.dtype == "i1")


def _number_of(op: Op, known: Mapping[Value, Constant]) -> Constant | None:
    """What an op gives for known operands: an integer or a truth value."""
    if not isinstance(op, TensorOp) or not op.is_pure or op.regions or len(op.results) != 1 or not op.operands:
        return None
    given = [operand if isinstance(operand, Constant) else known.get(operand) for operand in op.operands]
    if not all(each is not None and _is_number(each) for each in given) or not _is_number(op):
        return None
    with np.errstate(all="ignore"):
        found = op.evaluate(*(np.asarray(each.number, each.tensor.numpy_dtype) for each in given if each is not None))
    with Builder(Block()):
        return Constant.of(np.asarray(found), op.dtype)


def _becomes_number(op: Op) -> bool:
    """Put a number in the place of an op on numbers, or the branch that is taken in that of a branch on one."""
    if isinstance(op, If) and isinstance(op.condition, Constant):
        taken = (op.then if op.condition.number else op.otherwise).block
        unroll_meetings(taken)
        _inline(op, taken)
        return True
    found = _number_of(op, {})
    if found is None:
        return False
    assert op.block is not None and found.block is not None
    found.block.unlink(found)
    op.block.insert_before(found, op)
    op.replace_all_uses_with(found)
    op.erase()
    return True


def _known_rounds(op: For | DoWhile) -> int:
    """How many rounds a loop goes whose numbers are known in each; 0 where that is not known, or it only counts."""
    body = op.body.block
    end = body.terminator
    arguments = body.arguments[isinstance(op, For) :]
    values = end.operands[isinstance(op, DoWhile) :]
    carried: list[Constant | None] = [each if isinstance(each, Constant) else None for each in op.initial]
    if isinstance(op, For):
        count = int(op.trip_count.number) if isinstance(op.trip_count, Constant) else 0
        if not any(each is not None and _is_number(each) for each in carried):
            return 0
        return count if count <= MOST_ROUNDS else 0
    for number in range(1, MOST_ROUNDS + 1):
        pairs = zip(arguments, carried, strict=True)
        known: dict[Value, Constant] = {argument: each for argument, each in pairs if each is not None}
        for inner in body:
            found = _number_of(inner, known)
            if found is not None and isinstance(inner, TensorOp):
                known[inner] = found
        decides = _known(end.operands[0], known)
        if decides is None:
            return 0
        if not decides.number:
            return number
        carried = [_known(value, known) for value in values]
    return 0


def _known(value: Value, known: Mapping[Value, Constant]) -> Constant | None:
    return value if isinstance(value, Constant) else known.get(value)


def _write_rounds(op: For | DoWhile, rounds: int) -> Block:
    """The rounds one after another in a block of their own, which ends with what the loop gives."""
    body = op.body.block
    written = Block()
    carried: Sequence[Value] = op.initial
    end = body.terminator
    with Builder(written, source=op.source):
        for number in range(rounds):
            mapping: dict[Value, Value] = {}
            given = [Constant.of(number, "i64"), *carried] if isinstance(op, For) else carried
            mapping.update(zip(body.arguments, given, strict=True))
            for inner in body:
                if inner is not end:
                    inner.clone(mapping)
            values = end.operands[isinstance(op, DoWhile) :]
            carried = [mapping.get(value, value) for value in values]
        Yield(tuple(carried))
    return written


def _inline(op: Op, written: Block) -> None:
    """Put the ops of a block in the place of an op, whose results are what the block ends with."""
    assert op.block is not None
    end = written.terminator
    for inner in tuple(written):
        if inner is not end:
            written.unlink(inner)
            op.block.insert_before(inner, op)
    for result, value in zip(op.results, end.operands, strict=True):
        result.replace_all_uses_with(value)
    end.erase()
    op.erase()
