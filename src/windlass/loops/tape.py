"""The tape of a thread: what its forward sweep keeps for the way back (Enzyme's cache, where its size is not known).

Each thread has one, empty at first. What was pushed last is popped first, all at once, by a `Pop` of the same `record`:
there is one `Push` and one `Pop` of each.
"""

from __future__ import annotations

from typing import Any, ClassVar

from windlass.ir import Type, TypeFault, Value, tensor_type
from windlass.loops.base import LoopOp
from windlass.loops.threads import Thread


class Push(LoopOp):
    """Keeps scalars at the end of the thread's tape, which grows as it has to."""

    name = "windlass.push"
    is_pure: ClassVar[bool] = False
    values: tuple[Value, ...]
    record: int

    def infer(self) -> tuple[Type, ...]:
        return ()

    def evaluate(self, thread: Thread, *operands: Any) -> tuple[()]:
        thread.tape.append(operands)
        return ()


class Pop(LoopOp):
    """Takes what was pushed last off the thread's tape: scalars of these element types."""

    name = "windlass.pop"
    is_pure: ClassVar[bool] = False
    dtypes: tuple[str, ...]
    record: int

    def infer(self) -> tuple[Type, ...]:
        if not self.dtypes:
            raise TypeFault("nothing is popped")
        return tuple(tensor_type((), dtype) for dtype in self.dtypes)

    def evaluate(self, thread: Thread, *operands: Any) -> tuple[Any, ...]:
        return thread.tape.pop()
