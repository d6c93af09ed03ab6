"""A kernel for one launch: what the launch knows stands in it as constants."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from windlass.diagnostics import Diagnostic, RaisingError
from windlass.ir import Builder, Function
from windlass.loops import LAUNCH_DIMENSIONS, Launch, LaunchSize, Parallel
from windlass.loops.launch_specification import KnownScalar, LaunchSpecification
from windlass.ops.creation import Constant
from windlass.parallel.nesting import flatten

LAUNCH_MISMATCH = "WL0305"


def specialize_for(kernel: Function, specification: LaunchSpecification) -> Function:
    """A copy of a kernel for one launch, flat: the numbers that the launch knows stand in it, and all read them there.

    Raises RaisingError where the launch doesn't fit it, or it is several launches.
    """
    parallels = [op for op in kernel.body if isinstance(op, Parallel)]
    if len(parallels) > 1 or any(isinstance(op, Launch) for op in kernel.body):
        raise _mismatch(kernel, "it is a program of launches, of which each has a tensor form of its own")
    if not parallels or len(kernel.arguments) != len(specification.arguments):
        taken, given = len(kernel.arguments), len(specification.arguments)
        raise _mismatch(kernel, f"it takes {taken} arguments, the launch gives {given}")
    arguments = enumerate(specification.arguments)
    known = {position: each.value for position, each in arguments if isinstance(each, KnownScalar)}
    special = specialize(kernel, specification.grid, specification.block, known)
    if parallels[0].kind == "grid":
        flatten(special.body)
    return special


def _mismatch(kernel: Function, reason: str) -> RaisingError:
    headline = f"kernel '{kernel.name}' can't be raised: {reason}"
    return RaisingError(Diagnostic(LAUNCH_MISMATCH, headline, kernel.source))


def specialize(kernel: Function, grid: Sequence[int], block: Sequence[int], known: Mapping[int, Any]) -> Function:
    """A copy of a kernel that reads no launch size, and none of the arguments that are `known`, by position.

    Sizes are x first; `known` are the arguments as the host has them, signs or not. The copy takes the arguments of
    the kernel, so that it is launched as the kernel is.

    >>> from windlass.ir import Block, tensor_type
    >>> from windlass.ops import Add, Return
    >>> kernel = Function("threads_and", Block([tensor_type((), "i32")]))
    >>> with Builder(kernel.body):
    ...     end = Return((Add(LaunchSize("thread.x"), kernel.arguments[0]),))
    >>> special = specialize(kernel, (2, 1, 1), (64, 1, 1), {0: 7})
    >>> [int(operand.number) for operand in special.body.terminator.operands[0].operands]
    [64, 7]
    """
    sizes: dict[str, int] = dict(zip(LAUNCH_DIMENSIONS, (*grid, *block), strict=True))
    special = kernel.clone()
    with Builder(special.body, before=special.body.first):
        for position, number in known.items():
            argument = special.arguments[position]
            if argument.uses:
                value = np.asarray(number).astype(argument.tensor.numpy_dtype)
                argument.replace_all_uses_with(Constant.of(value, argument.dtype))
    for op in list(special.walk()):
        if isinstance(op, LaunchSize) and op.block is not None:
            with Builder(op.block, before=op):
                op.replace_all_uses_with(Constant.of(sizes[op.dimension], op.dtype))
            op.erase()
    return special
