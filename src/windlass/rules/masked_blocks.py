"""Choices by masks that are one block: what is chosen is put there, or is all that is left inside of padding."""

from __future__ import annotations

import math

import numpy as np

from windlass.facts.ranges import range_of
from windlass.ir import Value
from windlass.ir.values import tensor
from windlass.ops import (
    Add,
    And,
    BroadcastInDim,
    Compare,
    Constant,
    DynamicUpdateSlice,
    Iota,
    Not,
    Or,
    Pad,
    Select,
    Slice,
    Subtract,
)
from windlass.ops.sampling import Draw
from windlass.rewriting.pattern import any_op
from windlass.rewriting.rule import rewrite
from windlass.rules.axes import Sizes
from windlass.rules.splats import is_splat

__all__ = ["tensor"]

Block = tuple[tuple[int, int], ...]
"""For each axis where it begins and ends."""

DEPTH = 8

LARGEST_MASK = 1 << 16
"""Elements of a mask that is written out which are looked at."""


def find_block(p: Value, depth: int = DEPTH) -> tuple[Block, bool] | None:
    """The block where a condition is true (or false, as the flag says) while it is the opposite around it.

    >>> find_block(Compare(Iota((4, 6), "i32", 1), Constant.of(2, "i32", (4, 6)), "GE"))
    (((0, 4), (2, 6)), True)
    """
    if depth == 0:
        return None
    whole: Block = tuple((0, size) for size in p.shape)
    if isinstance(p, Not):
        found = find_block(p.operand, depth - 1)
        return None if found is None else (found[0], not found[1])
    if isinstance(p, BroadcastInDim):
        found = find_block(p.operand, depth - 1)
        if found is None or p.operand.tensor.rank == 0:
            return None
        block: list[tuple[int, int]] = list(whole)
        for edges, axis, size in zip(found[0], p.broadcast_dimensions, p.operand.shape, strict=True):
            if size == p.shape[axis]:
                block[axis] = edges
            elif edges != (0, 1):
                return None
        return tuple(block), found[1]
    if isinstance(p, Pad):
        return _padded_block(p)
    if isinstance(p, Constant):
        return _written_block(p)
    if isinstance(p, And | Or):
        # Both hold within what both blocks share; one of both holds outside of what their complements share.
        inside = isinstance(p, And)
        left, right = (_block_that_is(inside, each, depth - 1) for each in p.operands)
        if left is None or right is None:
            return None
        both = tuple((max(a, c), min(b, d)) for (a, b), (c, d) in zip(left, right, strict=True))
        return None if any(low >= high for low, high in both) else (both, inside)
    return _compared_block(p, whole) if isinstance(p, Compare) else None


def _block_that_is(inside: bool, p: Value, depth: int) -> Block | None:
    """The block where a condition is this while it is the opposite around it."""
    found = find_block(p, depth)
    if found is None or found[1] == inside:
        return None if found is None else found[0]
    cut = [axis for axis, (edges, size) in enumerate(zip(found[0], p.shape, strict=True)) if edges != (0, size)]
    if len(cut) != 1:
        return None
    low, high = found[0][cut[0]]
    size = p.shape[cut[0]]
    if low != 0 and high != size:
        return None
    rest = (high, size) if low == 0 else (0, low)
    return (*found[0][: cut[0]], rest, *found[0][cut[0] + 1 :])


def _written_block(p: Constant) -> tuple[Block, bool] | None:
    if p.is_splat or not p.shape or not 1 < p.tensor.size <= LARGEST_MASK:
        return None
    for mask, is_true in ((p.array, True), (~p.array, False)):
        places = [np.flatnonzero(mask.any(axis=tuple(set(range(mask.ndim)) - {axis}))) for axis in range(mask.ndim)]
        block = tuple((int(each[0]), int(each[-1]) + 1) for each in places)
        if math.prod(high - low for low, high in block) == np.count_nonzero(mask):
            return block, is_true
    return None


def _padded_block(p: Pad) -> tuple[Block, bool] | None:
    inner, fill = p.operand, p.padding_value
    if not isinstance(inner, Constant) or not inner.is_splat or not isinstance(fill, Constant):
        return None
    edges = (*p.edge_padding_low, *p.edge_padding_high)
    if any(p.interior_padding) or any(edge < 0 for edge in edges) or inner.number == fill.number:
        return None
    starts = p.edge_padding_low
    return tuple((low, low + size) for low, size in zip(starts, inner.shape, strict=True)), bool(inner.number)


def _compared_block(p: Compare, whole: Block) -> tuple[Block, bool] | None:
    bound, counted = p.rhs, _counted(p.lhs)
    if counted is None or not isinstance(bound, Constant) or not bound.is_splat or not math.isfinite(bound.number):
        return None
    axis, first = counted
    number, size = float(bound.number) - first, p.shape[axis]
    low, high = {
        "LT": (0, math.ceil(number)),
        "LE": (0, math.floor(number) + 1),
        "GE": (math.ceil(number), size),
        "GT": (math.floor(number) + 1, size),
        "EQ": (int(number), int(number) + 1),
        "NE": (int(number), int(number) + 1),
    }[p.direction]
    if p.direction in ("EQ", "NE") and number != int(number):
        return None
    low, high = max(low, 0), min(high, size)
    if low >= high:
        return None
    return (*whole[:axis], (low, high), *whole[axis + 1 :]), p.direction != "NE"


def _counted(value: Value) -> tuple[int, int] | None:
    """Along which axis a value counts up by one, and from where."""
    first = 0
    if isinstance(value, Add | Subtract) and isinstance(value.rhs, Constant) and value.rhs.is_splat:
        if not value.tensor.is_integer:
            return None
        first = int(value.rhs.number) if isinstance(value, Add) else -int(value.rhs.number)
        inner = _counted(value.lhs) if isinstance(value.lhs, Iota | Slice) else None
        if inner is None:
            return None
        axis, first = inner[0], inner[1] + first
        # Sums that run over don't count.
        return (axis, first) if range_of(value).lies_within(first, first + value.shape[axis] - 1) else None
    if isinstance(value, Slice) and isinstance(value.operand, Iota):
        axis = value.operand.iota_dimension
        first = value.start_indices[axis]
        if value.strides[axis] != 1:
            return None
        value = value.operand
    if not isinstance(value, Iota) or value.tensor.is_complex:
        return None
    return value.iota_dimension, first


def _sample_by_block(draw: Draw, puts_number: bool) -> Select:
    shape = (draw.integer(2, 6), draw.integer(3, 6))
    iotas: list[Value] = [Iota(shape, "i32", axis) for axis in (0, 1)]
    if draw.boolean():
        larger = Iota((shape[0] + 1, shape[1]), "ui32", 0)
        iotas[0] = Slice(larger, (1, 0), (shape[0] + 1, shape[1]), (1, 1))
        iotas[1] = Add(Iota(shape, "ui32", 1), Constant.of(draw.integer(0, 2), "ui32", shape))
    kind = draw.integer(0, 4)
    p: Value
    if kind == 0:
        iota = iotas[draw.integer(0, 1)]
        p = Compare(iota, Constant.of(1, iota.dtype, shape), draw.choose(("EQ", "NE", "LT", "GE")))
    elif kind == 1:
        bounds = [Constant.of(draw.integer(1, 2), iota.dtype, shape) for iota in iotas]
        p = And(*(Compare(*each, draw.choose(("GE", "EQ", "LE"))) for each in zip(iotas, bounds, strict=True)))
    elif kind == 2:
        iota = iotas[draw.integer(0, 1)]
        low, high = (Constant.of(bound, iota.dtype, shape) for bound in (draw.integer(0, 1), draw.integer(1, 3)))
        made = draw.choose((And, Or))
        p = made(
            Compare(iota, low, draw.choose(("GT", "NE", "LE"))), Compare(iota, high, draw.choose(("LT", "GE", "NE")))
        )
    elif kind == 3:
        mask = np.zeros(shape, np.bool_)
        mask[draw.integer(0, 1) : draw.integer(1, 5), draw.integer(0, 2) : draw.integer(1, 3)] = True
        p = Constant.of(mask if draw.boolean() else ~mask)
    else:
        inner = Constant.of(True, "i1", (shape[0] - 1, shape[1] - 2))
        p = Pad(inner, Constant.of(False, "i1"), (1, 1), (0, 1), (0, 0))
    x = tensor("f32", *shape)
    y: Value = Constant.of(draw.integer(0, 1), "f32", shape) if puts_number else tensor("f32", *shape, name="y")
    return Select(p, *draw.choose(((x, y), (y, x))))


def _split(op: Select) -> tuple[Value, Value, Sizes, Sizes] | None:
    """What is inside of the block, what is outside, and where the block begins and ends."""
    if op.pred.shape != op.shape or not op.shape:
        return None
    found = find_block(op.pred)
    if found is None:
        return None
    block, is_true = found
    inside, outside = (op.on_true, op.on_false) if is_true else (op.on_false, op.on_true)
    return inside, outside, tuple(low for low, _ in block), tuple(high for _, high in block)


@rewrite(any_op(Select), by_cost=True, sample=lambda draw: _sample_by_block(draw, False))
def select_by_block(op: Select) -> Value | None:
    """select(a ≤ iota < b, x, y) = dynamic_update_slice(y, slice(x, a, b), a), and so for blocks along several axes

    >>> rows = Iota((8, 3), "i32", 0)
    >>> row = Compare(rows, Constant.of(5, "i32", (8, 3)), "EQ")
    >>> select_by_block(Select(row, tensor("f32", 8, 3), tensor("f32", 8, 3, name="y"))).update
    Slice(x, start_indices=(5, 0), limit_indices=(6, 3), strides=(1, 1))
    """
    parts = _split(op)
    if parts is None:
        return None
    inside, outside, begin, end = parts
    if is_splat(outside) or any(size == 0 for size in op.shape):
        return None
    sizes = tuple(high - low for low, high in zip(begin, end, strict=True))
    if 2 * math.prod(sizes) > op.tensor.size:
        return None
    starts = tuple(Constant.of(low, "i32") for low in begin)
    if isinstance(inside, Constant) and inside.is_splat:
        return DynamicUpdateSlice(outside, Constant.of(inside.number, inside.dtype, sizes), starts)
    return DynamicUpdateSlice(outside, Slice(inside, begin, end, (1,) * len(begin)), starts)


@rewrite(any_op(Select), by_cost=True, sample=lambda draw: _sample_by_block(draw, True))
def select_of_block_in_number(op: Select) -> Value | None:
    """select(a ≤ iota < b, x, c) = pad(slice(x, a, b), c), for a number c, and so for blocks along several axes

    >>> rows = Compare(Iota((8, 3), "i32", 0), Constant.of(5, "i32", (8, 3)), "LT")
    >>> select_of_block_in_number(Select(rows, tensor("f32", 8, 3), Constant.of(0, "f32", (8, 3)))).edge_padding_high
    (3, 0)
    """
    parts = _split(op)
    if parts is None:
        return None
    inside, outside, begin, end = parts
    if not isinstance(outside, Constant) or not outside.is_splat or is_splat(inside):
        return None
    part = Slice(inside, begin, end, (1,) * len(begin))
    high = tuple(size - limit for size, limit in zip(op.shape, end, strict=True))
    return Pad(part, Constant.of(outside.number, outside.dtype), begin, high, (0,) * len(begin))
