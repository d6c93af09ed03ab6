"""What holds of functions at the loop level, as numbered rules; `windlass.ir.verifier` checks what holds of any IR.

* L1: the arguments are scalars and buffers.
* L2: the body is pure ops, a launch as one `Parallel` over the six dimensions in order, and a return.
* L3: each region has one block, and ends in `Condition` if it is a `DoWhile`'s, in `Yield` otherwise.
* L4: what a body hands on has the types that the op around it expects: carried values for loops, results for `If`,
  nothing for `Parallel`.
* L5: every value within is a scalar or a buffer.
* L6: memory is accessed through buffers, at i64 offsets, with dtypes of whole bytes.
* L7: memory is allocated at the top of the threads' `Parallel`, a shared variable once in each launch.
* L8: threads meet, print and touch memory within the threads' `Parallel` only; launch sizes are read outside.
* L9: a thread holds no `Parallel`.
* L10: what a `For` declares to be a reduction is one by that operation (`windlass.loops.reductions`).
* L11: a grid holds pure ops, then one `Parallel` over the threads or warps of a block; that over warps holds pure ops,
  then one of kind "lane" over the block's threads. Their sizes are the same for each block and warp.
* L12: a `Launch` names a kernel of the program, and gives what the kernel's parameters take.
* L13: an access at a subscript is of a whole element: strides and start are multiples of its width.
* L14: nothing to be seen forbids that an independent `For` runs in any order (`windlass.loops.independence`).

By profile: kernels as front ends *imported* them or as loop passes *transformed* them, and the main function of a
*program* of launches. Rules that are not in the table hold in all of them.

| rule | imported | transformed | program |
|---|---|---|---|
| L2 | one launch | launches and grids, in sequence | as transformed, and `Launch`es; or none |
| L7 | as it stands | shared memory may be a grid's, any a serial loop's, global the function's | as transformed |
| L8 | as it stands | as it stands | no launch size is read |
| L9 | as it stands | a `Parallel` may be independent: threads do not meet within | as transformed |
| L11 | there are no grids | as it stands | as it stands |
| L12 | there are no `Launch`es | there are no `Launch`es | holds, if the program is known |
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal, TypeAlias

from windlass import loops
from windlass.ir import Block, BufferType, Function, Module, Op, TensorType, Value
from windlass.loops.independence import why_in_order
from windlass.loops.reductions import find_reductions
from windlass.loops.subscripts import counts_elements
from windlass.ops.conversion import bit_width, byte_width
from windlass.ops.regions import Return

Profile: TypeAlias = Literal["imported", "transformed", "program"]

_MEETING = (loops.Barrier, loops.Collective)


class LoopFault(Exception):
    """A kernel breaks a rule of the loop level: an error in Windlass, not in the user's program."""


def verify_kernel(function: Function, profile: Profile = "imported") -> None:
    """Check all rules of a profile.

    Raises LoopFault that lists each fault, with the number of its rule.
    """
    _raise_faults(function, find_loop_faults(function, profile))


def verify_program(program: Module) -> None:
    """Check all rules, of the main function as a program and of its kernels.

    Raises LoopFault as `verify_kernel` does, for the first function with faults.
    """
    for function in program.functions.values():
        if function is program.main:
            _raise_faults(function, find_loop_faults(function, "program", program.functions))
        else:
            verify_kernel(function, "transformed")


def _raise_faults(function: Function, found: Iterator[str]) -> None:
    faults = list(found)
    if faults:
        raise LoopFault("\n".join(f"@{function.name}: {fault}" for fault in faults))


def find_loop_faults(
    function: Function, profile: Profile = "imported", kernels: Mapping[str, Function] | None = None
) -> Iterator[str]:
    """What is wrong with the kernel, or with the main function of a program with these kernels, rule by rule.

    >>> list(find_loop_faults(Function("empty", Block())))
    ['L2: 0 parallel loops']
    """
    for argument in function.arguments:
        if not is_loop_value(argument):
            yield f"L1: {argument!r} is {argument.type}"
    launches = [op for op in function.body if isinstance(op, loops.Parallel)]
    if (not launches and profile != "program") or (profile == "imported" and len(launches) > 1):
        yield f"L2: {len(launches)} parallel loops"
        return
    if not isinstance(function.body.terminator, Return):
        yield "L2: the function does not end in a return"
    checker = _LoopChecker(profile, kernels)
    for op in function.body:
        if isinstance(op, loops.Parallel):
            yield from checker.check_launch(op)
        else:
            yield from checker.check_outside(op)


def is_loop_value(value: Value) -> bool:
    """Whether the value is of a kind that the loop level has."""
    type_ = value.type
    return isinstance(type_, BufferType) or (isinstance(type_, TensorType) and type_.rank == 0)


class _LoopChecker:
    def __init__(self, profile: Profile, kernels: Mapping[str, Function] | None) -> None:
        self.is_imported = profile == "imported"
        self.is_program = profile == "program"
        self.kernels = kernels

    def check_outside(self, op: Op) -> Iterator[str]:
        """An op that no launch holds."""
        if isinstance(op, loops.Allocate):
            if self.is_imported or op.space != "global":
                yield f"L7: {op.space} memory is allocated outside the parallel loop"
        elif isinstance(op, loops.Launch):
            yield from self.check_launched(op)
        elif self.is_program and isinstance(op, loops.LaunchSize):
            yield "L8: a program reads a launch size"
        elif not isinstance(op, Return) and not op.is_pure:
            yield f"L8: {type(op).__name__} outside the parallel loop"

    def check_launched(self, launch: loops.Launch) -> Iterator[str]:
        if not self.is_program:
            yield f"L12: @{launch.callee} is launched, but not by a program"
        elif self.kernels is not None:
            kernel = self.kernels.get(launch.callee)
            given = [each.type for each in launch.inputs]
            if kernel is None:
                yield f"L12: there is no kernel @{launch.callee}"
            elif given != [each.type for each in kernel.arguments]:
                yield f"L12: @{launch.callee} is given {given}"

    def check_launch(self, launch: loops.Parallel) -> Iterator[str]:
        yield from _check_kind(launch, ("launch",) if self.is_imported else ("launch", "grid"))
        yield from self.check_body(launch, launch.body.block)
        if launch.kind == "grid":
            yield from _check_level(launch, frozenset())
        shared = [op.variable for op in launch.body.walk() if isinstance(op, loops.Allocate) and op.space == "shared"]
        for name in {name for name in shared if shared.count(name) > 1}:
            yield f"L7: shared variable {name} is allocated {shared.count(name)} times"

    def check_body(self, owner: Op, block: Block) -> Iterator[str]:
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
                yield from self.check_inner(owner, op)
            yield from self.check_op(op, self.is_top(owner))

    def check_inner(self, owner: Op, inner: loops.Parallel) -> Iterator[str]:
        """A parallel loop within another."""
        if isinstance(owner, loops.Parallel) and _is_level(owner):
            yield from _check_kind(inner, ("block",) if owner.kind == "grid" else ("lane",))
        elif self.is_imported:
            yield f"L9: a parallel loop of kind {inner.kind} within a thread"
        else:
            yield from _check_kind(inner, ("independent",))
            if any(isinstance(each, _MEETING) for each in inner.body.walk()):
                yield "L9: threads meet within an independent parallel loop"

    def is_top(self, owner: Op) -> bool:
        """Whether its body is all that a thread, or a block, does."""
        if isinstance(owner, loops.For):
            return bool(owner.serializes) and not self.is_imported
        return isinstance(owner, loops.Parallel) and owner.kind != "independent"

    def check_op(self, op: Op, is_at_top: bool) -> Iterator[str]:
        name = type(op).__name__
        for result in op.results if not isinstance(op, loops.Yield | loops.Condition) else ():
            if not is_loop_value(result):
                yield f"L5: {name} gives {result.type}"
        if isinstance(op, loops.For) and any(op.reductions):
            for place, (told, found) in enumerate(zip(op.reductions, find_reductions(op), strict=True)):
                if told not in ("", found):
                    yield f"L10: carried value {place} of {name} is no reduction by {told}"
        if isinstance(op, loops.For) and op.is_independent and (reason := why_in_order(op)):
            yield f"L14: an independent loop: {reason}"
        if isinstance(op, loops.Launch):
            yield f"L12: @{op.callee} is launched within the parallel loop"
        if isinstance(op, loops.LaunchSize):
            yield "L8: a launch size is read within the parallel loop"
        if isinstance(op, loops.Allocate) and not is_at_top:
            yield f"L7: {op.variable or 'memory'} is allocated within a branch or loop"
        if isinstance(op, loops.Allocate) and op.space == "global":
            yield f"L7: {op.variable or 'global memory'} is allocated within the parallel loop"
        if isinstance(op, loops.Access):
            dtype = loops.accessed_dtype(op)
            if bit_width(dtype) < 8:
                yield f"L6: {name} of {dtype}, which has no whole bytes"
            if isinstance(op.offset, loops.Subscript) and not counts_elements(op.offset, byte_width(dtype)):
                yield f"L13: {name} of {dtype} at {op.offset.start} and steps of {op.offset.strides} bytes"
        if len([1 for region in op.regions for _ in region.blocks]) != len(op.regions):
            yield f"L3: a region of {name} has several blocks"
            return
        for region in op.regions:
            yield from self.check_body(op, region.block)


def _check_kind(parallel: loops.Parallel, kinds: tuple[str, ...]) -> Iterator[str]:
    if parallel.kind not in kinds:
        yield f"L2: a parallel loop of kind {parallel.kind} where it should be {' or '.join(kinds)}"
    known = [loops.KIND_DIMENSIONS.get(parallel.kind, parallel.dimensions)]
    if parallel.kind == "block":
        known.append(loops.WARPS)
    if parallel.kind in kinds and parallel.dimensions not in known:
        yield f"L2: the parallel dimensions are {parallel.dimensions}"


def _is_level(parallel: loops.Parallel) -> bool:
    """Whether there is another level of the launch in it, not yet the threads."""
    return parallel.kind == "grid" or (parallel.kind == "block" and parallel.dimensions == loops.WARPS)


def _check_level(level: loops.Parallel, around: frozenset[Value]) -> Iterator[str]:
    """What a grid or the warps of a block hold; `around` are the values of the levels around."""
    what = "block" if level.kind == "grid" else "warp"
    inside = around.union(level.body.block.arguments, *(op.results for op in level.body.block))
    count = 0
    for op in level.body.block:
        is_shared = level.kind == "grid" and isinstance(op, loops.Allocate) and op.space == "shared"
        if isinstance(op, loops.Parallel):
            count += 1
            if any(extent in inside for extent in op.extents):
                yield f"L11: the number of threads differs from {what} to {what}"
            if _is_level(op):
                yield from _check_level(op, inside)
        elif count and not isinstance(op, loops.Yield):
            yield f"L11: {type(op).__name__} after the threads of a {what}"
        elif not (op.is_pure or isinstance(op, loops.Yield) or is_shared):
            yield f"L8: {type(op).__name__} outside the threads of a {what}"
    if count != 1:
        yield f"L11: {count} parallel loops in a {'grid' if what == 'block' else what}"
