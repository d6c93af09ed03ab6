"""A launch as a grid of blocks of threads, or of warps of lanes, and back.

    Parallel(six dimensions) { body } = Parallel(grid) { shared memory; Parallel(block) { the rest of the body } }
    Parallel(block) { body }          = Parallel(warps of the block) { Parallel(lane) { body } }

The grid's level has what each block has once, the warps' what each warp has; a barrier orders the threads of the block
around it.
"""

from __future__ import annotations

from collections.abc import Sequence

from windlass.ir import Argument, Block, Builder, Region, Value
from windlass.loops import LAUNCH_DIMENSIONS, WARPS, Allocate, Parallel, Yield
from windlass.loops.threads import WARP
from windlass.ops.creation import Constant
from windlass.ops.elementwise import Add, Divide, Multiply


def nest(block: Block) -> None:
    """Make a kernel's launches grids of blocks; one that is a grid already stays as it is."""
    for launch in _launches(block, "launch"):
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


def nest_lanes(block: Block) -> None:
    """Make a kernel's launches grids of blocks of warps, as CUDA forms them: numbers of threads count x first."""
    nest(block)
    for grid in _launches(block, "grid"):
        threads = _within(grid)
        if threads.dimensions == WARPS:
            continue
        with Builder(block, before=grid, source=grid.source):
            width, height, depth = threads.extents
            count = Add(Multiply(Multiply(width, height), depth), Constant.of(WARP - 1, "i32"))
            warps = Divide(count, Constant.of(WARP, "i32"))
        outer = Block([warps.type], list(WARPS))
        with Builder(outer, source=threads.source):
            Parallel(threads.extents, threads.dimensions, threads.body.clone({}), kind="lane")
            Yield(())
        with Builder(grid.body.block, before=threads, source=threads.source):
            Parallel((warps,), WARPS, Region(outer), kind="block")
        threads.erase()


def flatten(block: Block) -> None:
    """Make grids of blocks loops over all threads, each of which computes what its block and its warp have once."""
    for grid in _launches(block, "grid"):
        levels = [grid, _within(grid)]
        if levels[1].dimensions == WARPS:
            levels.append(_within(levels[1]))
        threads = levels[-1]
        around = (*grid.body.block.arguments, *threads.body.block.arguments)
        body = _body(around)
        mapping: dict[Value, Value] = dict(zip(around, body.arguments, strict=True))
        with Builder(body):
            if levels[1] is not threads and levels[1].body.block.arguments[0].uses:
                x, y, z = body.arguments[3:]
                columns, rows, _ = threads.extents
                number = Add(x, Multiply(columns, Add(y, Multiply(rows, z))))
                mapping[levels[1].body.block.arguments[0]] = Divide(number, Constant.of(WARP, "i32"))
            for level in levels:
                for op in level.body.block:
                    if op not in levels and (level is threads or not isinstance(op, Yield)):
                        op.clone(mapping)
        with Builder(block, before=grid, source=grid.source):
            Parallel((*grid.extents, *threads.extents), LAUNCH_DIMENSIONS, Region(body))
        grid.erase()


def _launches(block: Block, kind: str) -> list[Parallel]:
    return [op for op in block if isinstance(op, Parallel) and op.kind == kind]


def _within(level: Parallel) -> Parallel:
    """The level in a grid, or in the warps of a block."""
    return next(op for op in level.body.block if isinstance(op, Parallel))


def _body(like: Sequence[Argument]) -> Block:
    return Block([argument.type for argument in like], [argument.name or "" for argument in like])
