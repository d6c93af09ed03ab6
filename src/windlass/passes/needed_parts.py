"""What is looked at in part is computed in part, through chains of steps that read their neighbours.

A rule sees one slice. Where several slices of a value are all that is looked at, as in a step of a stencil, the box
around them is what has to be computed. From the back of a block to its front, each value is cut down to that box; what
it is made of is then looked at in part as well.
"""

from __future__ import annotations

from collections.abc import Iterator

from windlass.facts.boxes import ElementBox
from windlass.facts.cost import Device
from windlass.ir import Block, Builder, Op, Value
from windlass.ops import BroadcastInDim, Concatenate, Constant, DynamicUpdateSlice, Elementwise, Pad, Slice
from windlass.rewriting.passes import Change, Pass
from windlass.rewriting.rule import catalogue

MOST_USERS = 64
"""Users of one value that are looked at."""
LARGEST_PART = 0.5
"""A box that is a larger part of the value is not worth it: an update of the value may have been made in place."""


def compute_needed_parts(block: Block, device: Device) -> Iterator[Change]:
    """Cut values of which only slices are looked at down to the box around those."""
    for op in reversed(list(block)):
        if op.is_unused and op.is_removable:
            op.erase()
            continue
        box = _find_needed(block, op)
        if box is None:
            continue
        placed: list[Op] = []
        builder = Builder(block, op, op.source)
        builder.placed, builder.made_by = placed, ("needed_parts",)
        with builder:
            part = compute_part(op, box)
        if part is None:
            for each in reversed(placed):
                each.erase()
            continue
        saved = (op.tensor.bytes - part.tensor.bytes) / device.bandwidth
        for user in list(op.uses):
            assert isinstance(user, Slice)
            seen = ElementBox(user.start_indices, user.limit_indices).seen_from(box.start)
            with Builder(block, user, user.source):
                user.replace_all_uses_with(
                    part if part.type is user.type else Slice(part, seen.start, seen.limit, user.strides)
                )
            user.erase()
        op.erase()
        yield Change(type(op).__name__, op.source, placed, saved)


def _find_needed(block: Block, op: Op) -> ElementBox | None:
    """The box around all that is seen of a value, if it is a small part of the value."""
    if not isinstance(op, Elementwise | DynamicUpdateSlice | Pad | Concatenate) or not op.tensor.size:
        return None
    users = list(op.uses)
    if len(users) > MOST_USERS:
        return None
    slices = [user for user in users if isinstance(user, Slice) and user.block is block]
    if len(slices) != len(users) or any(not each.tensor.size for each in slices):
        return None
    axes = range(op.tensor.rank)
    start = tuple(min(each.start_indices[axis] for each in slices) for axis in axes)
    limit = tuple(max(each.limit_indices[axis] for each in slices) for axis in axes)
    box, size = ElementBox(start, limit), 1
    for extent in box.shape:
        size *= extent
    return box if size <= LARGEST_PART * op.tensor.size else None


def compute_part(op: Op, box: ElementBox) -> Value | None:
    """The elements of a value in a box; None where it isn't known how they are computed."""
    if isinstance(op, Elementwise):
        if any(operand.shape not in (op.shape, ()) for operand in op.operands):
            return None
        return op.with_operands(tuple(_cut(each, box) if each.shape else each for each in op.operands))
    if isinstance(op, DynamicUpdateSlice):
        return _update_part(op, box)
    if isinstance(op, Pad):
        return _pad_part(op, box)
    return _join_part(op, box) if isinstance(op, Concatenate) else None


def _update_part(op: DynamicUpdateSlice, box: ElementBox) -> Value | None:
    starts = [int(each.number) for each in op.start_indices if isinstance(each, Constant)]
    if len(starts) != op.tensor.rank:
        return None
    places = zip(starts, op.shape, op.update.shape, strict=True)
    first = tuple(min(max(start, 0), whole - part) for start, whole, part in places)
    updated = box.meet(ElementBox.at(first, op.update.shape))
    if 0 in updated.shape:
        return _cut(op.operand, box)
    new = _cut(op.update, updated.seen_from(first))
    if updated == box:
        return new
    at = tuple(
        Constant.of(a, index.dtype)
        for a, index in zip(updated.seen_from(box.start).start, op.start_indices, strict=True)
    )
    return DynamicUpdateSlice(_cut(op.operand, box), new, at)


def _pad_part(op: Pad, box: ElementBox) -> Value | None:
    if any(op.interior_padding) or any(edge < 0 for edge in (*op.edge_padding_low, *op.edge_padding_high)):
        return None
    inside = box.meet(ElementBox.at(op.edge_padding_low, op.operand.shape))
    if 0 in inside.shape:
        return BroadcastInDim(op.padding_value, box.shape, ())
    low = tuple(a - b for a, b in zip(inside.start, box.start, strict=True))
    high = tuple(b - a for a, b in zip(inside.limit, box.limit, strict=True))
    part = _cut(op.operand, inside.seen_from(op.edge_padding_low))
    return Pad(part, op.padding_value, low, high, (0,) * len(low)) if any(low) or any(high) else part


def _join_part(op: Concatenate, box: ElementBox) -> Value:
    axis, offset = op.dimension, 0
    parts: list[Value] = []
    for each in op.operands:
        first = tuple(offset if other == axis else 0 for other in range(op.tensor.rank))
        seen = box.meet(ElementBox.at(first, each.shape))
        if 0 not in seen.shape:
            parts.append(_cut(each, seen.seen_from(first)))
        offset += each.shape[axis]
    return parts[0] if len(parts) == 1 else Concatenate(tuple(parts), axis)


def _cut(value: Value, box: ElementBox) -> Value:
    """The elements of a value in a box, read from what the value is a slice of, if it is one."""
    if box.shape == value.shape:
        return value
    steps = (1,) * len(box.start)
    if isinstance(value, Slice):
        inner = zip(value.start_indices, value.strides, box.start, box.limit, strict=True)
        bounds = [(first + step * a, first + step * (b - 1) + 1) for first, step, a, b in inner]
        return Slice(value.operand, tuple(a for a, _ in bounds), tuple(b for _, b in bounds), value.strides)
    return Slice(value, box.start, box.limit, steps)


catalogue.passes.append(
    Pass(
        "needed_parts",
        "slice(f(x), a), slice(f(x), b) = slices of f(slice(x, c)), where c is the box around a and b",
        compute_needed_parts,
    )
)
