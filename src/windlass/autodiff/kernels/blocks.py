"""Kernels whose threads meet, as kernels of one thread a block, which runs the pieces between meetings.

    Parallel(grid, block) { a; Barrier; b }  =  Parallel(grid, 1) { For(threads) { a }; For(threads) { b } }

What goes from piece to piece lies in memory (`windlass.parallel.fission`). To go back through a barrier is to go back
through all that comes after it before anything that comes before it, and so do loops.
"""

from __future__ import annotations

from collections.abc import Sequence

from windlass.autodiff.kernels.varying import Refusal
from windlass.ir import Block, Builder, Function, Op, Region, Value, tensor_type
from windlass.loops import LAUNCH_DIMENSIONS, THREADS, WARPS, Allocate, For, Parallel, Yield
from windlass.loops.threads import WARP
from windlass.ops.conversion import Convert
from windlass.ops.creation import Constant
from windlass.ops.elementwise import Add, Multiply, Subtract
from windlass.ops.extremes import Minimum
from windlass.parallel.exchanges import CannotSplit
from windlass.parallel.fission import needs_fission, split_at_meetings
from windlass.parallel.serialization import digits_of


def threads_meet(function: Function) -> bool:
    """Whether threads of a block of the only launch meet, or share memory."""
    return any(isinstance(op, Parallel) and needs_fission(op) for op in function.body)


def with_one_thread_a_block(function: Function, extents: Sequence[int], shared_bytes: int) -> Function:
    """A kernel that does the same with blocks of one thread, for a launch of these extents.

    Raises Refusal where threads meet in branches or loops that are not common to them.
    """
    kernel = function.clone()
    (launch,) = (op for op in kernel.body if isinstance(op, Parallel))
    gx, gy, gz, bx, by, bz = extents
    try:
        grid = split_at_meetings(launch, (gx, gy, gz), (bx, by, bz)).grid
    except CannotSplit as reason:
        raise Refusal(reason.reason, reason.position) from None
    for op in [*grid.body.walk()]:
        if isinstance(op, Parallel) and op.block is not None:
            _run_in_turn(op)
    body = grid.body.block
    for name in LAUNCH_DIMENSIONS[3:]:
        body.add_argument(tensor_type((), "i32"), name)
    for op in [*body.walk()]:
        if isinstance(op, Allocate) and op.space == "shared":
            _make_own(op, shared_bytes)
    with Builder(kernel.body, before=grid, source=grid.source):
        one = Constant.of(1, "i32")
        Parallel((*grid.extents, one, one, one), LAUNCH_DIMENSIONS, Region(_moved(body)))
    grid.erase()
    return kernel


def _run_in_turn(parallel: Parallel) -> None:
    """Put a loop in the place of threads, warps or lanes."""
    assert parallel.block is not None
    body = parallel.body.block
    turn = Block([tensor_type((), "i64")])
    with Builder(parallel.block, before=parallel, source=parallel.source):
        count = _count(parallel.extents)
        with Builder(turn, source=parallel.source):
            number: Value = turn.arguments[0]
        if parallel.kind == "lane":
            around = _around(parallel)
            first = Multiply(Convert(around, "i64"), Constant.of(WARP, "i64"))
            count = Minimum(Subtract(count, first), Constant.of(WARP, "i64"))
            with Builder(turn, source=parallel.source):
                number = Add(number, first)
        with Builder(turn, source=parallel.source):
            ids = [Convert(number, "i32")] if parallel.dimensions == WARPS else digits_of(number, parallel.extents)
        for argument, each in zip(body.arguments, ids, strict=True):
            argument.replace_all_uses_with(each)
        for op in list(body):
            body.unlink(op)
            turn.append(op)
        For(count, (), Region(turn), serializes=THREADS)
    parallel.erase()


def _count(extents: Sequence[Value]) -> Value:
    count: Value = Constant.of(1, "i64")
    for extent in extents:
        count = Multiply(count, Convert(extent, "i64"))
    return count


def _around(lanes: Parallel) -> Value:
    """The number of the warp around, as the loop over warps has it."""
    op: Op | None = lanes.parent_op
    while op is not None:
        if isinstance(op, For) and op.serializes:
            return Convert(op.body.block.arguments[0], "i32")
        op = op.parent_op
    raise Refusal("lanes without a warp", lanes.source)


def _make_own(op: Allocate, shared_bytes: int) -> None:
    """Let memory of the block be that of its only thread."""
    assert op.block is not None
    size = op.size if op.size >= 0 or op.byte_count is not None else shared_bytes
    with Builder(op.block, before=op, source=op.source):
        own = Allocate("local", size, op.variable, op.element_dtype, op.axes, op.byte_count)
    op.replace_all_uses_with(own)
    op.erase()


def _moved(body: Block) -> Block:
    """The same ops and arguments in a block of its own."""
    made = Block([each.type for each in body.arguments], [each.name for each in body.arguments])
    for argument, each in zip(body.arguments, made.arguments, strict=True):
        argument.replace_all_uses_with(each)
    for op in list(body):
        body.unlink(op)
        made.append(op)
    if not isinstance(made.terminator, Yield):
        raise AssertionError("a grid ends in a yield")
    return made
