"""Launches as ops: what a program on the host does with kernels, one after another.

A program of launches is a `Module` whose main function launches its other functions, over buffers and scalars:

    Function main(x: buffer, y: buffer)
      t = Allocate("global", 400)
      Launch(scale, sizes, shared bytes, (x, t))
      Launch(add, sizes, shared bytes, (t, y))
      Return()

So what stands between two launches, and which memory they have in common, shows in one function.
"""

from __future__ import annotations

from typing import ClassVar

from windlass.ir import Type, TypeFault, Value
from windlass.loops.base import LoopOp, expect_scalar
from windlass.loops.control import LAUNCH_DIMENSIONS
from windlass.ops.loop_writer import LoopWriter, type_text
from windlass.ops.spelling import Symbol


class Launch(LoopOp):
    """Runs the kernel `callee` of the module for a grid of blocks, once all that stands before is done.

    `sizes` are those of the launch dimensions, in order; `shared_bytes` is the size of dynamic shared memory, and
    `inputs` are the kernel's arguments, of its parameters' types. `evaluate_program` runs it.
    """

    name = "windlass.launch"
    is_pure: ClassVar[bool] = False
    callee: Symbol
    sizes: tuple[Value, ...]
    shared_bytes: Value
    inputs: tuple[Value, ...]

    def infer(self) -> tuple[Type, ...]:
        if len(self.sizes) != len(LAUNCH_DIMENSIONS):
            raise TypeFault(f"a launch has {len(LAUNCH_DIMENSIONS)} sizes, got {len(self.sizes)}")
        for size in (*self.sizes, self.shared_bytes):
            expect_scalar(size, "i32", "a size of a launch")
        return ()

    def write_loop(self, writer: LoopWriter) -> None:
        sizes = [writer.temporary(f"arith.index_cast {writer.use(size)} : i32 to index") for size in self.sizes]
        given = ", ".join([*sizes, writer.use(self.shared_bytes), *(writer.use(each) for each in self.inputs)])
        types = ", ".join(["index"] * len(sizes) + ["i32", *(type_text(each.type) for each in self.inputs)])
        writer.line(f'func.call @"{self.callee}"({given}) : ({types}) -> ()')
