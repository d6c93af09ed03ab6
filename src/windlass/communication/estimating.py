"""What a program communicates, without compiling it: exactly what its regions do, about what XLA alone would.

Compiling a large program takes many times as long as reading it. Where both figures lie far apart, that says enough.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from windlass.communication.counting import USUAL_ROUNDS
from windlass.communication.propagation import Propagation
from windlass.ir import Block, Module, TensorType
from windlass.ir.core import Op
from windlass.ops import (
    AllReduce,
    AllToAll,
    BroadcastInDim,
    CollectivePermute,
    Constant,
    DynamicUpdateSlice,
    Iota,
    Opaque,
    Reshape,
    Return,
    While,
)
from windlass.ops.counting import find_counter
from windlass.ops.pointwise import Elementwise
from windlass.ops.shardings import MANUAL


def count_in_regions(module: Module, propagation: Propagation) -> tuple[float, float] | None:
    """How many bytes each device receives in a run, and in how many messages; None where XLA may have to add some.

    That is where anything but regions of local code moves or folds elements of divided arrays.
    """
    total, messages = 0.0, 0.0
    for op, rounds, is_local in walk_rounds(module.main.body, 1, False):
        if isinstance(op, CollectivePermute):
            total += rounds * _bytes(op.operand.tensor)
            messages += rounds
        elif isinstance(op, AllReduce):
            count = len(op.replica_groups[0])
            total += rounds * sum(2 * _bytes(each.tensor) * (count - 1) / count for each in op.inputs)
            messages += rounds
        elif isinstance(op, AllToAll):
            count = op.split_count
            total += rounds * sum(_bytes(each.tensor) * (count - 1) / count for each in op.inputs)
            messages += rounds
        elif not is_local and not stays_in_place(op, propagation):
            return None
    return total, messages


def estimate_by_xla(module: Module, propagation: Propagation) -> float:
    """About how many bytes XLA alone moves, at least: it puts whole arrays together to update a part of them."""
    total = 0.0
    for op, rounds, is_local in walk_rounds(module.main.body, 1, False):
        if is_local or not isinstance(op, DynamicUpdateSlice):
            continue
        divisions = propagation.divisions(op) or ()
        parts = [
            division.parts
            for division, size, own in zip(divisions, op.shape, op.update.shape, strict=False)
            if division is not None and size != own
        ]
        if parts:
            total += rounds * _bytes(op.update.tensor) * (1 - 1 / prod(parts))
    return total


def walk_rounds(block: Block, rounds: float, is_local: bool) -> Iterator[tuple[Op, float, bool]]:
    """Each op, how often it runs, and whether it is in a region of local code."""
    for op in block:
        yield op, rounds, is_local
        inner = rounds
        if isinstance(op, While):
            counter = find_counter(op)
            inner *= USUAL_ROUNDS if counter is None else counter.rounds
        for region in op.regions:
            for each in region.blocks:
                yield from walk_rounds(each, inner, is_local or (isinstance(op, Opaque) and op.operation == MANUAL))


def stays_in_place(op: Op, propagation: Propagation) -> bool:
    """Whether XLA moves nothing between devices for an op that is in no region."""
    if isinstance(op, While | Return) or (isinstance(op, Opaque) and op.operation == MANUAL):
        return True
    divisions = [propagation.divisions(value) for value in (*op.operands, *op.results)]
    if None not in divisions and not any(map(any, (each or () for each in divisions))):
        return True
    if op.is_pure and not any(result.uses for result in op.results):
        return True
    if isinstance(op, Elementwise | Constant | Iota):
        return True
    axes = op.axes() if isinstance(op, Reshape | BroadcastInDim) else None
    if axes is None:
        return False
    kept = [axes.operands[0][axis] for axis, division in enumerate(divisions[0] or ()) if division is not None]
    return all(letters and len(letters) == 1 and letters in axes.results[0] for letters in kept)


def _bytes(type_: TensorType) -> int:
    return type_.size * type_.numpy_dtype.itemsize
