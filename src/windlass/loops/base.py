"""What all ops of the loop level share."""

from __future__ import annotations

from typing import Any, ClassVar

from windlass.ir import BufferType, Op, TypeFault, Value, tensor_type
from windlass.loops.threads import Thread
from windlass.ops.loop_writer import LoopWriter


class LoopOp(Op):
    """Base of the ops that only the loop level has."""

    yield_name: ClassVar[str] = "scf.yield"
    """What ends this op's bodies in text."""

    def evaluate(self, thread: Thread, *operands: Any) -> Any:
        """What the op gives a thread: a value, or a tuple of its results.

        Where threads may meet within, it is a generator that returns these: see `windlass.loops.threads`. Raises
        NotImplementedError where the loop level has no word for what the op does.
        """
        raise NotImplementedError(f"{self.name} has no meaning at the loop level")

    def write_loop(self, writer: LoopWriter) -> None:
        """Write the op as loop-level text: a call, where MLIR has no such op."""
        writer.call(self, self.name, self.operands)


def expect_scalar(value: Value, dtype: str, what: str) -> None:
    """Raise TypeFault unless it is a scalar of that element type."""
    if value.type is not tensor_type((), dtype):
        raise TypeFault(f"{what} must be a scalar {dtype}, got {value.type}")


def expect_access(buffer: Value, offset: Value) -> None:
    """Raise TypeFault unless it is a buffer, and a byte offset into it."""
    if not isinstance(buffer.type, BufferType):
        raise TypeFault(f"expected a buffer, got {buffer.type}")
    expect_scalar(offset, "i64", "the byte offset")
