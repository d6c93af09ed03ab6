"""Folds over devices that need not wait for one another travel as one message."""

from __future__ import annotations

import math

from windlass.communication.places import owner_of
from windlass.ir import Block, Builder
from windlass.ir.core import Op
from windlass.ops import AllReduce, Concatenate, Reshape
from windlass.ops.movement import slice_along

MOST_JOINED = 1 << 17
"""Elements. Of more, putting them together costs more than a message."""


def combine_folds(block: Block) -> None:
    """Let folds of one kind over the same devices be one op, where none is computed from another.

    Ops go in rounds: those of a round come before its folds, which wait for the folds of the rounds before.
    """
    ops = list(block)
    if sum(isinstance(op, AllReduce) for op in ops) < 2:
        return
    rounds: dict[Op, int] = {}
    for op in ops:
        before = [rounds[source] + isinstance(source, AllReduce) for source in _sources(op) if source in rounds]
        rounds[op] = max(before, default=0)
    terminator = ops.pop()
    ordered = sorted(ops, key=lambda op: (rounds[op], isinstance(op, AllReduce)))
    for op in (*ops, terminator):
        block.unlink(op)
    for op in (*ordered, terminator):
        block.append(op)
    groups: dict[object, list[AllReduce]] = {}
    for op in ordered:
        if isinstance(op, AllReduce) and op.combiner is not None and _size(op) <= MOST_JOINED:
            key = (rounds[op], op.combiner, op.inputs[0].dtype, op.replica_groups)
            groups.setdefault(key, []).append(op)
    for folds in groups.values():
        if len(folds) > 1:
            _join(block, folds)


def _size(fold: AllReduce) -> int:
    return math.prod(fold.inputs[0].shape)


def _join(block: Block, folds: list[AllReduce]) -> None:
    """One fold of all elements in a line. (Shardy does not take one op of several operands in a region.)"""
    last = folds[-1]
    with Builder(block, before=last.next, source=last.source):
        lines = tuple(Reshape(fold.inputs[0], (_size(fold),)) for fold in folds)
        (joined,) = AllReduce(
            (Concatenate(lines, 0),),
            last.replica_groups,
            last.computation.clone({}),
            last.channel_handle,
            last.use_global_device_ids,
        ).results
        start = 0
        for fold in folds:
            end = start + _size(fold)
            found = Reshape(slice_along(joined, 0, start, end), fold.results[0].shape)
            fold.results[0].replace_all_uses_with(found)
            start = end
    for fold in folds:
        fold.erase()


def _sources(op: Op) -> list[Op]:
    return [source for value in op.operands if (source := owner_of(value)) is not None]
