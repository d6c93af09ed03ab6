"""What integers in a loop's body are in each round, where the counter alone decides it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from windlass.ir import Block, Builder, Op, TensorType, Value, tensor_type
from windlass.ir.values import Argument
from windlass.ops import Constant, While
from windlass.ops.base import INTEGER, TensorOp
from windlass.ops.counting import Counter, integer_of, step_of
from windlass.rewriting.instances import evaluate_term

Table = NDArray[Any]

MOST_ROUNDS = 1 << 16
LARGEST = 64
"""Elements of a value that is followed."""


def tabulate_rounds(loop: While, counter: Counter) -> dict[Value, Table]:
    """Values of the body that counters alone decide, a row for each round: integers and booleans of few elements."""
    rounds = counter.rounds
    tables: dict[Value, Table] = {}
    if not 0 < rounds <= MOST_ROUNDS:
        return tables
    block = loop.body.block
    for argument, initial in zip(block.arguments, loop.operands, strict=True):
        first, step = integer_of(initial), step_of(loop, argument.index)
        if first is not None and step is not None and argument.dtype in INTEGER - {"i4", "ui4"}:
            # Counters besides the one that is tested may wrap around, as the machine's integers do.
            numbers = first + step * np.arange(rounds, dtype=np.int64)
            tables[argument] = numbers.astype(argument.tensor.numpy_dtype)
    for op in block:
        if op is not block.last and is_followed(op) and any(operand in tables for operand in op.operands):
            table = _tabulate(op, tables, rounds)
            if table is not None:
                tables[op] = table
    return tables


def is_followed(op: Op) -> bool:
    """Whether the op gives few integers or booleans and has nothing inside."""
    type_ = op.type
    return (
        isinstance(type_, TensorType)
        and (type_.dtype in INTEGER or type_.is_boolean)
        and type_.size <= LARGEST
        and isinstance(op, TensorOp)
        and op.is_pure
        and not op.region_names
    )


def _tabulate(op: Op, tables: dict[Value, Table], rounds: int) -> Table | None:
    assert isinstance(op, TensorOp)
    known: dict[Value, Table] = {}
    operands: list[Value] = []
    for operand in op.operands:
        if operand in tables:
            stand_in: Value = Argument(_with_rows(operand, rounds))
            known[stand_in] = tables[operand]
        elif isinstance(operand, Constant) and operand.tensor.size <= LARGEST:
            stand_in = operand
        else:
            return None
        operands.append(stand_in)
    with Builder(Block()):
        results = op.batch(tuple(operands), tuple(operand in tables for operand in op.operands), rounds)
        if results is None:
            return None
        try:
            return np.asarray(evaluate_term(results[0], known))
        except NotImplementedError:
            return None


def _with_rows(value: Value, rounds: int) -> TensorType:
    return tensor_type((rounds, *value.shape), value.dtype)
