"""Sums in an order that no division among devices changes.

A sum over devices adds what each of them has, so its bits depend on how many there are; and a compiler's own order may
depend on the size of a device's part. Here a sum becomes additions of whole arrays, element by element, which have one
result: an axis is seen as blocks, as many as the largest power of two that divides it. Within the blocks the halves are
added to one another until one element is left, then neighbouring blocks are, in a tree. Meshes whose axes are powers of
two divide between blocks, so that all but the last steps are each device's own.

Products of matrices become products of elements and such sums. That is for small ones: it takes memory for all
products at once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from windlass.diagnostics import Diagnostic, WindlassError
from windlass.ir import Builder, Function, Module, Value
from windlass.ir.core import Op
from windlass.ops import (
    Add,
    BitcastConvert,
    Branching,
    BroadcastInDim,
    Concatenate,
    Constant,
    Convert,
    DotGeneral,
    DynamicSlice,
    DynamicUpdateSlice,
    Gather,
    Iota,
    Maximum,
    Minimum,
    Multiply,
    Opaque,
    OptimizationBarrier,
    Pad,
    Reduce,
    ReduceWindow,
    Reshape,
    Return,
    Reverse,
    Scatter,
    Select,
    Slice,
    Sort,
    Transpose,
    While,
)
from windlass.ops.movement import slice_along
from windlass.ops.pointwise import Elementwise
from windlass.ops.shardings import MANUAL

MOST_BLOCKS = 1 << 13
MOST_PRODUCTS = 1 << 24
"""Elements of the products of two matrices, before they are summed."""
FIXED = (
    BitcastConvert, Branching, BroadcastInDim, Concatenate, Constant, Convert, DynamicSlice, DynamicUpdateSlice,
    Elementwise, Gather, Iota, OptimizationBarrier, Pad, Reshape, Return, Reverse, Select, Slice, Sort, Transpose,
    While,
)  # fmt: skip
"""Ops whose results don't depend on an order, each element being computed for itself."""


def fix_order(module: Module) -> None:
    """Give every sum of the module a fixed order, in place.

    Raises WindlassError (WL0945) for an op that has none.
    """
    for function in module.functions.values():
        _fix_function(function)


def _fix_function(function: Function) -> None:
    inner = {op for each in function.walk() if isinstance(each, Reduce | ReduceWindow | Scatter | Sort)
             for region in each.regions for block in region.blocks for op in block}  # fmt: skip
    for op in list(function.walk()):
        if op in inner or op.block is None:
            continue
        found: Value | None = None
        with Builder(op.block, before=op, source=op.source):
            if isinstance(op, DotGeneral) and _is_inexact(op.operands):
                found = _fix_product(op)
            elif isinstance(op, Reduce) and _is_inexact(op.inputs) and op.combiner not in (Maximum, Minimum):
                found = _fix_fold(op)
        if found is not None:
            op.results[0].replace_all_uses_with(found)
            op.erase()
        elif not (isinstance(op, FIXED) or not _is_inexact(op.operands) or _is_selection(op)):
            raise _refused(op, "has no order of sums that is the same for every mesh")


def _is_inexact(values: Sequence[Value]) -> bool:
    """Whether any of them is of floats, of which sums depend on their order."""
    types: list[Any] = [value.type for value in values]
    return any(getattr(each, "is_float", False) or getattr(each, "is_complex", False) for each in types)


def _is_selection(op: Op) -> bool:
    """Whether it gives elements as they are."""
    if isinstance(op, Opaque):
        return op.operation.startswith("sdy.") and op.operation != MANUAL
    return isinstance(op, Reduce | ReduceWindow | Scatter) and op.combiner in (None, Maximum, Minimum)


def _fix_fold(op: Reduce) -> Value:
    combiner: Any = op.combiner
    if len(op.inputs) != 1 or combiner not in (Add, Multiply):
        raise _refused(op, "folds in a way that has no order which is the same for every mesh")
    (value,), (start,) = op.inputs, op.init_values
    found = _folded(value, op.dimensions, combiner)
    return combiner(BroadcastInDim(start, found.shape, ()) if found.shape else start, found)


def _fix_product(op: DotGeneral) -> Value:
    """The products of all pairs of elements, and their sums."""
    dtype = op.results[0].dtype
    batch = len(op.lhs_batching_dimensions)
    sides = (
        (op.lhs, op.lhs_batching_dimensions, op.lhs_contracting_dimensions),
        (op.rhs, op.rhs_batching_dimensions, op.rhs_contracting_dimensions),
    )
    free = [
        [axis for axis in range(len(value.shape)) if axis not in (*batching, *contracting)]
        for value, batching, contracting in sides
    ]
    inner = tuple(op.lhs.shape[axis] for axis in op.lhs_contracting_dimensions)
    shape = (*op.results[0].shape, *inner)
    if math.prod(shape) > MOST_PRODUCTS:
        raise _refused(
            op, f"multiplies matrices, and has {math.prod(shape):,} products to be summed: more than {MOST_PRODUCTS:,}"
        )
    rank = len(op.results[0].shape)
    spread: list[Value] = []
    for number, (value, batching, contracting) in enumerate(sides):
        places = [0] * len(value.shape)
        first = batch + (len(free[0]) if number else 0)
        for own, place in ((batching, 0), (free[number], first), (contracting, rank)):
            for offset, axis in enumerate(own):
                places[axis] = place + offset
        wide = value if value.dtype == dtype else Convert(value, dtype)
        spread.append(BroadcastInDim(wide, shape, tuple(places)))
    zero = Constant.of(0, dtype, op.results[0].shape)
    return Add(zero, _folded(Multiply(*spread), tuple(range(rank, len(shape))), Add))


def _folded(value: Value, axes: Sequence[int], combiner: Any) -> Value:
    """First within the blocks of all axes, then the blocks: what goes from one device to another comes last."""
    shape = tuple(size for axis, size in enumerate(value.shape) if axis not in axes)
    if 0 in value.shape:
        return Constant.of(_neutral(combiner), value.dtype, shape)
    for axis in axes:
        value = _within_blocks(value, axis, combiner)
    for axis in axes:
        while (blocks := value.shape[axis]) > 1:
            pairs = Reshape(value, (*value.shape[:axis], blocks // 2, 2, *value.shape[axis + 1 :]))
            both = [slice_along(pairs, axis + 1, place, place + 1) for place in (0, 1)]
            value = Reshape(combiner(*both), (*value.shape[:axis], blocks // 2, *value.shape[axis + 1 :]))
    return value if value.shape == shape else Reshape(value, shape)


def _within_blocks(value: Value, axis: int, combiner: Any) -> Value:
    size = value.shape[axis]
    blocks = min(size & -size, MOST_BLOCKS)
    before, after = value.shape[:axis], value.shape[axis + 1 :]
    if blocks == size:
        return value
    value = Reshape(value, (*before, blocks, size // blocks, *after))
    while (length := value.shape[axis + 1]) > 1:
        if length % 2:
            highs = tuple(int(each == axis + 1) for each in range(len(value.shape)))
            none = (0,) * len(highs)
            value = Pad(value, Constant.of(_neutral(combiner), value.dtype), none, highs, none)
        half = (length + 1) // 2
        value = combiner(slice_along(value, axis + 1, 0, half), slice_along(value, axis + 1, half, 2 * half))
    return Reshape(value, (*before, blocks, *after))


def _neutral(combiner: Any) -> float:
    return -0.0 if combiner is Add else 1.0


def _refused(op: Op, reason: str) -> WindlassError:
    name = getattr(op, "operation", None) or getattr(op, "name", None) or type(op).__name__
    return WindlassError(
        Diagnostic(
            "WL0945",
            f"deterministic=True: {name} {reason}",
            op.source,
            help="leave this operation out of the function, or deterministic out of its options",
        )
    )
