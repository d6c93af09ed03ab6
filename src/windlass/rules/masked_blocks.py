"""Choices by masks that are one block: what is chosen is put there, or is all that is left inside of padding."""

from __future__ import annotations

import math

from windlass.ir import Value
from windlass.ir.values import tensor
from windlass.ops import (
    And,
    BroadcastInDim,
    Compare,
    Constant,
    DynamicUpdateSlice,
    Iota,
    Not,
    Pad,
    Select,
    Slice,
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
    if isinstance(p, And):
        left, right = (find_block(each, depth - 1) for each in p.operands)
        if left is None or right is None or not (left[1] and right[1]):
            return None
        both = tuple((max(a, c), min(b, d)) for (a, b), (c, d) in zip(left[0], right[0], strict=True))
        return None if any(low >= high for low, high in both) else (both, True)
    return _compared_block(p, whole) if isinstance(p, Compare) else None


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
    iota, bound = p.lhs, p.rhs
    if not isinstance(iota, Iota) or not isinstance(bound, Constant) or not bound.is_splat or iota.tensor.is_complex:
        return None
    axis, number = iota.iota_dimension, float(bound.number)
    size = iota.shape[axis]
    if not math.isfinite(number):
        return None
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


def _sample_by_block(draw: Draw, puts_number: bool) -> Select:
    shape = (draw.integer(2, 6), draw.integer(3, 6))
    iotas = [Iota(shape, "i32", axis) for axis in (0, 1)]
    kind = draw.integer(0, 2)
    p: Value
    if kind == 0:
        p = Compare(iotas[draw.integer(0, 1)], Constant.of(1, "i32", shape), draw.choose(("EQ", "NE", "LT", "GE")))
    elif kind == 1:
        parts = [Compare(iota, Constant.of(1, "i32", shape), draw.choose(("GE", "EQ", "LE"))) for iota in iotas]
        p = And(*parts)
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
