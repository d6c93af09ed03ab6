"""Ops of the loop level that stop the program, or tell the user something; calls that nothing is known of."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from windlass.ir import Type, Value, tensor_type
from windlass.loops.base import LoopOp, expect_access
from windlass.loops.threads import StoppedError, Thread
from windlass.ops.loop_writer import LoopWriter, quoted


class Assert(LoopOp):
    """Stops the program with `message` if the condition is false.

    `counted_loop` names the loop (its header in the LLVM IR) that was counted on the strength of the condition: a form
    that can't stop has to prove it, or needs the loop uncounted.
    """

    name = "windlass.assert"
    is_pure: ClassVar[bool] = False
    condition: Value
    message: str
    counted_loop: str = ""

    def infer(self) -> tuple[Type, ...]:
        return ()

    def evaluate(self, thread: Thread, *operands: Any) -> tuple[()]:
        (condition,) = operands
        if not condition:
            raise StoppedError(self.message)
        return ()

    def write_loop(self, writer: LoopWriter) -> None:
        writer.line(f"cf.assert {writer.use(self.condition)}, {quoted(self.message)}")


class CheckAlignment(LoopOp):
    """Stops the program if a place is at no multiple of `alignment`; what `alignment` of loads and stores says."""

    name = "windlass.check_alignment"
    is_pure: ClassVar[bool] = False
    buffer: Value
    offset: Value
    alignment: int

    def infer(self) -> tuple[Type, ...]:
        expect_access(self.buffer, self.offset)
        return ()

    def evaluate(self, thread: Thread, *operands: Any) -> tuple[()]:
        buffer, offset = operands
        if (buffer.begin + int(offset)) % self.alignment:
            raise StoppedError(f"byte {buffer.begin + int(offset)} is at no multiple of {self.alignment}")
        return ()

    def write_loop(self, writer: LoopWriter) -> None:
        writer.call(self, f"check_alignment.{self.alignment}", self.operands)


class CheckRange(LoopOp):
    """Stops the program if `size` bytes from a place on are more than there are, or fewer than none."""

    name = "windlass.check_range"
    is_pure: ClassVar[bool] = False
    buffer: Value
    offset: Value
    size: Value

    def infer(self) -> tuple[Type, ...]:
        expect_access(self.buffer, self.offset)
        return ()

    def evaluate(self, thread: Thread, *operands: Any) -> tuple[()]:
        buffer, offset, size = operands
        end = buffer.begin + int(offset) + int(size)
        if int(size) < 0 or end > (0 if buffer.memory is None else buffer.memory.size):
            raise StoppedError(f"{int(size)} bytes up to {end} are out of bounds")
        return ()

    def write_loop(self, writer: LoopWriter) -> None:
        writer.call(self, "check_range", self.operands)


class Print(LoopOp):
    """Device printf: seen when emulated, without effect when raised."""

    name = "windlass.print"
    is_pure: ClassVar[bool] = False
    format: str
    inputs: tuple[Value, ...]

    def infer(self) -> tuple[Type, ...]:
        return ()

    def evaluate(self, thread: Thread, *operands: Any) -> tuple[()]:
        thread.launch.printed.append(self.format % tuple(np.asarray(each).item() for each in operands))
        return ()

    def write_loop(self, writer: LoopWriter) -> None:
        inputs = f", {writer.listed(self.inputs)} : {writer.types(self.inputs)}" if self.inputs else ""
        writer.line(f"gpu.printf {quoted(self.format)}{inputs}")


class Mark(LoopOp):
    """What a front end says of the loop around by a function that it calls, one of those of `windlass.llvm.names`.

    It stands there until `windlass.parallel.independence` has taken it.
    """

    name = "windlass.mark"
    is_pure: ClassVar[bool] = False
    function: str
    number: int = -1

    def infer(self) -> tuple[Type, ...]:
        return ()

    def evaluate(self, thread: Thread, *operands: Any) -> tuple[()]:
        return ()

    def write_loop(self, writer: LoopWriter) -> None:
        writer.line(f'"{self.name}"() {{function = "{self.function}", number = {self.number}}} : () -> ()')


class DeviceCall(LoopOp):
    """A call that the loop level has no word for; `callee` is its linker name. Nothing raises it but an explanation."""

    name = "windlass.device_call"
    is_pure: ClassVar[bool] = False
    callee: str
    inputs: tuple[Value, ...]
    result_dtypes: tuple[str, ...]

    def infer(self) -> tuple[Type, ...]:
        return tuple(tensor_type((), dtype) for dtype in self.result_dtypes)

    def write_loop(self, writer: LoopWriter) -> None:
        writer.call(self, self.callee, self.operands)
