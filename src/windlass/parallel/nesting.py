"""A launch as a grid of blocks of threads, and back.

    Parallel(six dimensions) { body } = Parallel(grid) { shared memory; Parallel(block) { the rest of the body } }

The grid's level has what each block has once; a barrier orders the threads of the block level around it.
"""

from __future__ import annotations

from collections.abc import Sequence

from windlass.ir import Argument, Block, Builder, Op, Region, Value
from windlass.loops import LAUNCH_DIMENSIONS, Allocate, Parallel, Yield


def nest(block: Block) -> None:
    """Make a kernel's launch a grid of blocks; one that is a grid already stays as it is."""
    launch = next((op for op in block if isinstance(op, Parallel)), None)
    if launch is None or launch.kind != "launch":
        return
    outer, inner = (_body(launch.body.block.arguments[part]) for part in (slice(3), slice(3, 6)))
    mapping: dict[Value, Value] = dict(
        zip(launch.body.block.arguments, (*outer.arguments, *inner.arguments), strict=True)
    )
    for op in launch.body.block:
        with Builder(outer if isinstance(op, Allocate) and op.space == "shared" else inner):
            op.clone(mapping)
    with Builder(outer, source=launch.source):
        Parallel(launch.extents[3:], LAUNCH_DIMENSIONS[3:], Region(inner), kind="block")
        Yield(())
    with Builder(block, before=launch, source=launch.source):
        Parallel(launch.extents[:3], LAUNCH_DIMENSIONS[:3], Region(outer), kind="grid")
    launch.erase()


def flatten(block: Block) -> None:
    """Make a grid of blocks one loop over all threads, each of which computes what its block has once."""
    grid = next((op for op in block if isinstance(op, Parallel)), None)
    if grid is None or grid.kind != "grid":
        return
    threads = next(op for op in grid.body.block if isinstance(op, Parallel))
    around = (*grid.body.block.arguments, *threads.body.block.arguments)
    body = _body(around)
    mapping: dict[Value, Value] = dict(zip(around, body.arguments, strict=True))
    before: list[Op] = [op for op in grid.body.block if op is not threads and not isinstance(op, Yield)]
    with Builder(body):
        for op in (*before, *threads.body.block):
            op.clone(mapping)
    with Builder(block, before=grid, source=grid.source):
        Parallel((*grid.extents, *threads.extents), LAUNCH_DIMENSIONS, Region(body))
    grid.erase()


def _body(like: Sequence[Argument]) -> Block:
    return Block([argument.type for argument in like], [argument.name or "" for argument in like])
