"""What keeps a loop from being independent: from giving the same whichever iteration comes first.

`For.is_independent` is a claim about memory that the launch was given: no iteration touches there what another one
stores, but by atomic operations. Of all else it is plain to see, and asked here: what is carried from one iteration to
the next has to be a reduction, and what the kernel allocated for itself may be read alone.
"""

from __future__ import annotations

from windlass.ir import Argument, BufferType, Value
from windlass.loops.control import For
from windlass.loops.meeting import Barrier, Collective
from windlass.loops.memory import Access, DeviceVariableBuffer, Load, ViewBuffer


def why_in_order(loop: For) -> str:
    """What forbids that the iterations run in any order, whatever is claimed of them; "" if nothing does."""
    if len(loop.initial) != sum(1 for name in loop.reductions if name):
        return "it carries a value that is no reduction"
    for op in loop.body.walk():
        if isinstance(op, Barrier | Collective):
            return "threads meet within"
        if isinstance(op, Access) and not isinstance(op, Load) and not _is_given(op.buffer):
            return "it stores to memory of the kernel's own"
    return ""


def _is_given(buffer: Value) -> bool:
    """Whether a buffer is surely memory that was there before the kernel."""
    while isinstance(buffer, ViewBuffer):
        buffer = buffer.buffer
    if isinstance(buffer, DeviceVariableBuffer):
        return True
    # Arguments of blocks within an op are values that loops and branches hand on.
    is_parameter = isinstance(buffer, Argument) and buffer.block is not None and buffer.block.parent is None
    return is_parameter and isinstance(buffer.type, BufferType) and buffer.type.space != "parameter"
