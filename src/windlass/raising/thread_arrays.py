"""Ops on what all threads of a block have, as arrays with one element for each thread."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from windlass.ir import Op, Terminator, Value
from windlass.ir.types import NUMPY_DTYPES
from windlass.loops import DoWhile
from windlass.ops.conversion import BitcastConvert
from windlass.raising.partial_folds import Array

WARP = 32


def evaluated(op: Op, arrays: Sequence[Any]) -> Array:
    """An op on scalars, for all threads."""
    dtype = NUMPY_DTYPES[op.dtype]
    if isinstance(op, BitcastConvert):
        return arrays[0].view(dtype)
    with np.errstate(all="ignore"):
        return np.asarray(op.evaluate(*arrays)).astype(dtype, copy=False)


def shuffled(kind: str, distance: Array, control: Array, count: int) -> tuple[Array, Array, Array]:
    """The thread that each of `count` threads reads from in a shuffle (see collectives.py).

    Also whether the lane is in the thread's segment, else it is the thread itself, and whether there is such a thread.
    """
    threads = np.arange(count)
    width = WARP - (control >> 8 & 31)
    lane = threads % WARP
    start = lane - lane % width
    reach = start + (control & 31) % width
    distance = distance % WARP
    match kind:
        case "up":
            source, is_there = lane - distance, lane - distance >= reach
        case "down":
            source, is_there = lane + distance, lane + distance <= reach
        case "bfly":
            source, is_there = lane ^ distance, (lane ^ distance) <= reach
        case _:
            source = start + distance % width
            is_there = source <= reach
    source = np.where(is_there, threads - lane + source, threads)
    exists = source < count
    return np.where(exists, source, threads), is_there, exists


def is_counted(op: DoWhile, is_number: Callable[[Value], bool]) -> bool:
    """Whether a loop ends by values that are known numbers in all rounds. `is_number` tells that of those outside."""
    block = op.body.block
    known = {argument for argument, initial in zip(block.arguments, op.initial, strict=True) if is_number(initial)}
    last = block.terminator
    while True:
        inside: set[Value] = {*known}
        for inner in block:
            is_plain = inner.is_pure and not inner.regions and not isinstance(inner, Terminator)
            if is_plain and all(each in inside or is_number(each) for each in inner.operands):
                inside.update(inner.results)
        kept = {
            argument
            for argument, following in zip(block.arguments, last.operands[1:], strict=True)
            if argument in known and (following in inside or is_number(following))
        }
        if kept == known:
            return last.operands[0] in inside
        known = kept
