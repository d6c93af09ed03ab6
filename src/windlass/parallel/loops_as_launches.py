"""A function's one independent loop as a launch: each thread does what stands around the loop, and one iteration.

    Parallel(1) { if (n > 0) For(n) { y[i] = x[i] } }  =  Parallel(trips) { if (n > 0) if (i < n) { y[i] = x[i] } }

Nothing around the loop may have an effect, since all threads repeat it. Loops that hold loops count the rows of a
launch, so that one thread runs an iteration from end to end; others its neighbours along x, which run together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any

import numpy as np

from windlass.ir import Block, BufferType, Builder, Function, Op, Region, Value
from windlass.loops import LAUNCH_DIMENSIONS, DoWhile, For, If, Load, Parallel, ViewBuffer, Yield
from windlass.loops.threads import Buffer, LaunchState, Thread
from windlass.ops.comparison import Compare
from windlass.ops.conversion import Convert
from windlass.ops.creation import Constant
from windlass.ops.elementwise import Add, Multiply

THREADS = 256
"""Of a block, where neighbours run together."""

ROWS = 1 << 15
"""What a grid has along y at most, where each counts for itself."""


@dataclass(frozen=True)
class LoopLaunch:
    """The loop as a launch, and what tells how many threads it takes."""

    function: Function
    has_rows: bool
    source: Function
    path: tuple[For | If, ...]
    """In the source: the branches around the loop, outermost first, and the loop."""

    def shape(self, arguments: Sequence[Any]) -> tuple[tuple[int, int, int], tuple[int, int, int]]:
        """The grid and block for these arguments: NumPy's numbers, in their parameters' types; the rest is not looked
        at, but for records. No thread, where the loop has no iteration."""
        trips = self._trips(arguments)
        if self.has_rows:
            return (1, min(trips, ROWS), ceil(trips / ROWS)), (1, 1, 1)
        return (ceil(trips / THREADS), 1, 1), (THREADS, 1, 1)

    def _trips(self, arguments: Sequence[Any]) -> int:
        thread = Thread(LaunchState(dict.fromkeys(LAUNCH_DIMENSIONS, 1)), 0, 0, {})
        values = thread.values
        for parameter, argument in zip(self.source.arguments, arguments, strict=True):
            if not isinstance(parameter.type, BufferType):
                values[parameter] = np.asarray(argument).astype(parameter.tensor.numpy_dtype)
            elif parameter.type.space == "parameter":
                values[parameter] = Buffer(np.frombuffer(bytes(argument.tobytes()), np.uint8))
        launch = _launch_of(self.source)
        values.update((each, np.asarray(0, np.int32)) for each in launch.body.block.arguments)
        _evaluate_before(thread, self.source.body, launch)
        block = launch.body.block
        for op in self.path:
            _evaluate_before(thread, block, op)
            if isinstance(op, For):
                return max(0, int(values[op.trip_count]))
            if not values[op.condition]:
                break
            block = op.regions[0].block
        return 0


def loop_as_launch(kernel: Function) -> LoopLaunch | None:
    """The independent loop that is all that a function does, as a launch; None where it does something else."""
    path = _path_to_loop(_launch_of(kernel).body.block)
    copy = kernel.clone()
    launch = _launch_of(copy)
    inner = _path_to_loop(launch.body.block)
    if path is None or inner is None:
        return None
    loop = inner[-1]
    assert isinstance(loop, For)
    has_rows = any(isinstance(op, For | DoWhile) for op in loop.body.walk())
    ids = dict(zip(LAUNCH_DIMENSIONS, launch.body.block.arguments, strict=True))
    assert loop.block is not None
    with Builder(loop.block, before=loop, source=loop.source):
        slow, size, quick = ("block.z", ROWS, "block.y") if has_rows else ("block.x", THREADS, "thread.x")
        first = Multiply(Convert(ids[slow], "i64"), Constant.of(size, "i64"))
        number = Add(first, Convert(ids[quick], "i64"))
        body = Block()
        mapping: dict[Value, Value] = {loop.body.block.arguments[0]: number}
        with Builder(body, source=loop.source):
            for op in loop.body.block:
                if op is not loop.body.block.terminator:
                    op.clone(mapping)
            Yield(())
        nothing = Block()
        with Builder(nothing, source=loop.source):
            Yield(())
        If(Compare(number, loop.trip_count, "LT"), Region(body), Region(nothing))
    loop.erase()
    return LoopLaunch(copy, has_rows, kernel, path)


def _launch_of(function: Function) -> Parallel:
    return next(op for op in function.body if isinstance(op, Parallel))


def _path_to_loop(block: Block) -> tuple[For | If, ...] | None:
    """The branches around the loop, and the loop; None where there is anything else that has an effect."""
    with_effect = [op for op in block if not (op is block.terminator or op.is_pure or _reads_parameter(op))]
    match with_effect:
        case [For() as loop] if loop.is_independent and not loop.initial:
            return (loop,)
        case [If() as branch] if not branch.results and _is_empty(branch.regions[1].block):
            inner = _path_to_loop(branch.regions[0].block)
            return None if inner is None else (branch, *inner)
        case _:
            return None


def _is_empty(block: Block) -> bool:
    return all(op is block.terminator or op.is_pure for op in block)


def _reads_parameter(op: Op) -> bool:
    """Whether an op reads a record that was passed by value, and that nothing writes to."""
    if not isinstance(op, Load) or op.is_volatile:
        return False
    buffer = op.buffer
    while isinstance(buffer, ViewBuffer):
        buffer = buffer.buffer
    return isinstance(buffer.type, BufferType) and buffer.type.space == "parameter"


def _evaluate_before(thread: Thread, block: Block, last: Op) -> None:
    """Evaluate what stands before an op and is known without memory."""
    for op in block:
        if op is last:
            break
        if not isinstance(op, ViewBuffer) or op.buffer in thread.values:
            found = thread.evaluate(op)
            results = found if isinstance(found, tuple) else (found,)
            thread.values.update(zip(op.results, results, strict=True))
