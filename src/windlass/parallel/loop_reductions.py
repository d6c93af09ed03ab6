"""Loops that say which of the values that they carry are reductions."""

from __future__ import annotations

from windlass.ir import Block
from windlass.loops import For
from windlass.loops.reductions import find_reductions


def declare_reductions(block: Block) -> None:
    """Let each counted loop in a block and within its ops declare the reductions that can be proved."""
    for op in block.walk():
        if isinstance(op, For):
            found = find_reductions(op)
            op.reductions = found if any(found) else ()
