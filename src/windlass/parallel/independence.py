"""An independent loop, as the source says it: marks of loops in any order become `For.is_independent`.

    for (...) { __windlass_iteration(7); y[index[i]] = x[i]; }   =   For(...) { y[index[i]] = x[i] } independent

A front end calls markers where a source promises independence, and where it takes it back (see `windlass.llvm.names`).
What a compiler has moved since is seen by the marker in front of the loop: where both stand within one loop, the mark
has left its own. Where it stands as it should, but the loop is none that can be counted, there is no mark to take.
"""

from __future__ import annotations

from windlass.ir import Block, Op
from windlass.llvm.names import ENTER, IN_ORDER, ITERATION, OWN_THREAD
from windlass.loops import DoWhile, For, Mark
from windlass.loops.independence import why_in_order


def take_marks(block: Block) -> None:
    """Let loops say that they are independent where they are marked so, and nothing forbids it; the marks go."""
    marks = [op for op in block.walk() if isinstance(op, Mark)]
    entered: dict[int, set[Op]] = {}
    in_order: set[Op] = set()
    for mark in marks:
        if mark.function == ENTER:
            entered.setdefault(mark.number, set()).update(_loops_around(mark))
        elif mark.function == IN_ORDER:
            in_order.update(_loops_around(mark))
    has_own_memory = any(mark.function == OWN_THREAD for mark in marks)
    marked: list[For] = []
    for mark in marks:
        if mark.function != ITERATION or mark.number < 0 or has_own_memory:
            continue
        loop = next(iter(_loops_around(mark)), None)
        if (
            isinstance(loop, For)
            and loop not in in_order
            and not any(loop in entered.get(number, ()) for number in (mark.number, -1))
        ):
            marked.append(loop)
    for mark in marks:
        mark.erase()
    for loop in marked:
        loop.is_independent = not why_in_order(loop)


def _loops_around(op: Op) -> list[For | DoWhile]:
    """The loops that an op stands in, innermost first."""
    found: list[For | DoWhile] = []
    around = op.parent_op
    while around is not None:
        if isinstance(around, For | DoWhile):
            found.append(around)
        around = around.parent_op
    return found
