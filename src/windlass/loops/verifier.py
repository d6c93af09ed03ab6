"""What holds of a kernel at the loop level, as numbered rules; `windlass.ir.verifier` checks what holds of any IR.

* L1: the arguments are scalars and buffers.
* L2: the body is pure ops and launch sizes, one `Parallel` over the six launch dimensions in order, and a return; or
  it is one of kind "grid" over the first three whose body is pure ops, shared memory, and one of kind "block" over the
  others. Within a thread there are independent ones alone.
* L3: each region has one block, and ends in `Condition` if it is a `DoWhile`'s, in `Yield` otherwise.
* L4: what a body hands on has the types that the op around it expects: carried values for loops, results for `If`,
  nothing for `Parallel`.
* L5: every value within is a scalar or a buffer.
* L6: memory is accessed through buffers, at i64 offsets, with dtypes of whole bytes.
* L7: memory is allocated at the top of the threads' `Parallel`, or of a loop over threads or blocks; shared memory
  there or at the top of the grid's; a shared variable once.
* L8: threads meet, print and touch memory within the threads' `Parallel` only; launch sizes are read outside.
* L9: threads do not meet within an independent `Parallel`.
* L10: what a `For` declares to be a reduction is one by that operation (`windlass.loops.reductions`).
* L11: an access at a subscript is of a whole element: strides and start are multiples of its width.
"""

from __future__ import annotations

from collections.abc import Iterator

from windlass import loops
from windlass.ir import Block, BufferType, Function, Op, TensorType, Value
from windlass.loops.reductions import find_reductions
from windlass.loops.subscripts import counts_elements
from windlass.ops.conversion import bit_width, byte_width
from windlass.ops.regions import Return

_MEETING = (loops.Barrier, loops.Collective)


class LoopFault(Exception):
    """A kernel breaks a rule of the loop level: an error in Windlass, not in the user's program."""


def verify_kernel(function: Function) -> None:
    """Check all rules.

    Raises LoopFault that lists each fault, with the number of its rule.
    """
    faults = list(find_loop_faults(function))
    if faults:
        raise LoopFault("\n".join(f"@{function.name}: {fault}" for fault in faults))


def find_loop_faults(function: Function) -> Iterator[str]:
    """What is wrong with the kernel, rule by rule.

    >>> list(find_loop_faults(Function("empty", Block())))
    ['L2: 0 parallel loops']
    """
    for argument in function.arguments:
        if not is_loop_value(argument):
            yield f"L1: {argument!r} is {argument.type}"
    parallels = [op for op in function.body if isinstance(op, loops.Parallel)]
    if len(parallels) != 1:
        yield f"L2: {len(parallels)} parallel loops"
        return
    (parallel,) = parallels
    yield from _check_kind(parallel, ("launch", "grid"))
    for op in function.body:
        if op is not parallel and not isinstance(op, Return) and not op.is_pure:
            yield f"L8: {type(op).__name__} outside the parallel loop"
    if not isinstance(function.body.terminator, Return):
        yield "L2: the function does not end in a return"
    yield from _check_body(parallel, parallel.body.block)
    if parallel.kind == "grid":
        yield from _check_grid(parallel)
    shared = [op.variable for op in parallel.body.walk() if isinstance(op, loops.Allocate) and op.space == "shared"]
    for name in {name for name in shared if shared.count(name) > 1}:
        yield f"L7: shared variable {name} is allocated {shared.count(name)} times"


def _check_kind(parallel: loops.Parallel, kinds: tuple[str, ...]) -> Iterator[str]:
    if parallel.kind not in kinds:
        yield f"L2: a parallel loop of kind {parallel.kind} where it should be {' or '.join(kinds)}"
    elif parallel.dimensions != loops.KIND_DIMENSIONS.get(parallel.kind, parallel.dimensions):
        yield f"L2: the parallel dimensions are {parallel.dimensions}"


def _check_grid(grid: loops.Parallel) -> Iterator[str]:
    count = 0
    inside = {*grid.body.block.arguments, *(result for op in grid.body.block for result in op.results)}
    for op in grid.body.block:
        if isinstance(op, loops.Parallel):
            count += 1
            if any(extent in inside for extent in op.extents):
                yield "L2: the number of threads differs from block to block"
        elif count and not isinstance(op, loops.Yield):
            yield f"L2: {type(op).__name__} after the threads of a block"
        elif not (
            op.is_pure or isinstance(op, loops.Yield) or (isinstance(op, loops.Allocate) and op.space == "shared")
        ):
            yield f"L8: {type(op).__name__} outside the threads of a block"
    if count != 1:
        yield f"L2: {count} parallel loops in a grid"


def is_loop_value(value: Value) -> bool:
    """Whether the value is of a kind that the loop level has."""
    type_ = value.type
    return isinstance(type_, BufferType) or (isinstance(type_, TensorType) and type_.rank == 0)


def _check_body(owner: Op, block: Block) -> Iterator[str]:
    name = type(owner).__name__
    end = block.terminator
    is_condition = isinstance(owner, loops.DoWhile)
    if not isinstance(end, loops.Condition if is_condition else loops.Yield):
        yield f"L3: the body of {name} ends in {type(end).__name__}"
    else:
        given, expected = (tuple(value.type for value in values) for values in (end.values, owner.results))
        if given != expected:
            yield f"L4: the body of {name} hands on {given}, not {expected}"
    for argument in block.arguments:
        if not is_loop_value(argument):
            yield f"L5: {argument!r} of {name} is {argument.type}"
    for op in block:
        if isinstance(op, loops.Parallel):
            is_grid = isinstance(owner, loops.Parallel) and owner.kind == "grid"
            yield from _check_kind(op, ("block",) if is_grid else ("independent",))
            if op.kind == "independent" and any(isinstance(each, _MEETING) for each in op.body.walk()):
                yield "L9: threads meet within an independent parallel loop"
        yield from _check_op(op, _is_top(owner))


def _is_top(owner: Op) -> bool:
    """Whether its body is all that a thread, or a block, does."""
    if isinstance(owner, loops.For):
        return bool(owner.serializes)
    return isinstance(owner, loops.Parallel) and owner.kind != "independent"


def _check_op(op: Op, is_at_top: bool) -> Iterator[str]:
    name = type(op).__name__
    for result in op.results if not isinstance(op, loops.Yield | loops.Condition) else ():
        if not is_loop_value(result):
            yield f"L5: {name} gives {result.type}"
    if isinstance(op, loops.For) and any(op.reductions):
        for place, (told, found) in enumerate(zip(op.reductions, find_reductions(op), strict=True)):
            if told not in ("", found):
                yield f"L10: carried value {place} of {name} is no reduction by {told}"
    if isinstance(op, loops.LaunchSize):
        yield "L8: a launch size is read within the parallel loop"
    if isinstance(op, loops.Allocate) and not is_at_top:
        yield f"L7: {op.variable or 'memory'} is allocated within a branch or loop"
    if isinstance(op, loops.Access):
        dtype = loops.accessed_dtype(op)
        if bit_width(dtype) < 8:
            yield f"L6: {name} of {dtype}, which has no whole bytes"
        if isinstance(op.offset, loops.Subscript) and not counts_elements(op.offset, byte_width(dtype)):
            yield f"L11: {name} of {dtype} at {op.offset.start} and steps of {op.offset.strides} bytes"
    if len([1 for region in op.regions for _ in region.blocks]) != len(op.regions):
        yield f"L3: a region of {name} has several blocks"
        return
    for region in op.regions:
        yield from _check_body(op, region.block)
