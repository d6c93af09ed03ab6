"""The ops of a block, one after the other."""

from __future__ import annotations

from windlass.diagnostics.deadline import is_late
from windlass.ir import Block, Op
from windlass.raising.block_folds import run_with_folds
from windlass.raising.items import Item
from windlass.raising.obstacle import Obstacle, OutOfTime
from windlass.raising.state import RaisingState


def run_block(state: RaisingState, block: Block) -> Op:
    """Interpret the ops of a block; gives its terminator."""
    last = block.terminator
    for op in block:
        if op is last:
            break
        state.builder.source = op.source or state.builder.source
        if is_late():
            raise OutOfTime(op.source)
        try:
            if op in state.folds.ops:
                run_with_folds(state, op)
            else:
                state.run_op(state, op)
        except Obstacle as obstacle:
            obstacle.op = obstacle.op or op
            raise
    return last


def run_branch(state: RaisingState, block: Block) -> list[Item]:
    """Interpret one side of a branch; gives what it yields."""
    last = run_block(state, block)
    return [state.lookup(value) for value in last.operands]
