"""What integers in a loop's body are in each round, where the counter alone decides it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from windlass.facts.terms import evaluate_term
from windlass.ir import Block, Builder, Op, Region, TensorType, Value, tensor_type
from windlass.ir.values import Argument
from windlass.ops import Constant, DynamicSlice, While
from windlass.ops.base import INTEGER, TensorOp
from windlass.ops.counting import Counter, integer_of, step_of

Table = NDArray[Any]

MOST_ROUNDS = 1 << 16
LARGEST = 64
"""Elements of a value that is followed."""


def tabulate_rounds(loop: While, counter: Counter) -> Mapping[Value, Table]:
    """Values of the body that counters alone decide, a row for each round: integers and booleans of few elements."""
    return loop.body.remember(_tabulate_body, counter.rounds, starts_of(loop))


def starts_of(loop: While) -> tuple[int | None, ...]:
    """What of the carried values is a known integer at first: this, the number of rounds and the body decide tables."""
    return tuple(integer_of(value) for value in loop.operands)


def _tabulate_body(body: Region, rounds: int, starts: tuple[int | None, ...]) -> Mapping[Value, Table]:
    tables: dict[Value, Table] = {}
    if not 0 < rounds <= MOST_ROUNDS:
        return tables
    block = body.block
    for argument, following, first in zip(block.arguments, block.terminator.operands, starts, strict=True):
        step = None if first is None else step_of(argument, following)
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
    if isinstance(op, DynamicSlice):
        return _tabulate_slices(op, tables, rounds)
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


def clamp_starts(table: Table, latest: int) -> Table:
    """Start indices moved to 0 … latest, as slices and updates do.

    >>> clamp_starts(np.array([-1, 2, 9]), 5), clamp_starts(np.array([2**64 - 1], np.uint64), 5)
    (array([0, 2, 5]), array([5]))
    """
    if table.dtype == np.uint64:
        table = np.minimum(table, np.uint64(np.iinfo(np.int64).max))
    return np.clip(table.astype(np.int64), 0, latest)


def _tabulate_slices(op: DynamicSlice, tables: dict[Value, Table], rounds: int) -> Table | None:
    """What is read from a constant in each round."""
    if not isinstance(op.operand, Constant) or 0 in op.slice_sizes:
        return None
    whole = op.operand.array
    starts: list[Table] = []
    for start, extent, size in zip(op.start_indices, whole.shape, op.slice_sizes, strict=True):
        if start in tables:
            starts.append(clamp_starts(tables[start], extent - size))
        elif isinstance(start, Constant):
            starts.append(np.full(rounds, min(max(int(start.number), 0), extent - size), np.int64))
        else:
            return None
    offsets = np.indices(op.slice_sizes)
    places = tuple(
        first.reshape(-1, *(1,) * len(op.slice_sizes)) + offset for first, offset in zip(starts, offsets, strict=True)
    )
    return whole[places]


def _with_rows(value: Value, rounds: int) -> TensorType:
    return tensor_type((rounds, *value.shape), value.dtype)
