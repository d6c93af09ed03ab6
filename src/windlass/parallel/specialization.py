"""A kernel for one launch: what the launch knows stands in it as constants."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from windlass.ir import Builder, Function
from windlass.loops import LAUNCH_DIMENSIONS, LaunchSize
from windlass.ops.creation import Constant


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
