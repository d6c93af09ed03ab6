"""Parts of updated arrays at places that are computed: of the update, of what was there before, or of both."""

from __future__ import annotations

from windlass.facts.known_values import known_start
from windlass.ir import Value
from windlass.ir.values import tensor
from windlass.ops import (
    Add,
    Constant,
    DynamicSlice,
    DynamicUpdateSlice,
    Maximum,
    Pad,
    Slice,
    Subtract,
)
from windlass.ops.sampling import Draw
from windlass.rewriting.pattern import hole
from windlass.rewriting.rule import rewrite
from windlass.rules.axes import Sizes
from windlass.rules.dynamic_slices import can_hold, is_inside, small_number
from windlass.rules.splats import number_everywhere

__all__ = ["tensor"]

x, update = hole("x"), hole("update")
starts, inner_starts, sizes = hole("starts"), hole("inner_starts"), hole("sizes")


def distance(start: Value, other: Value, extent: int, size: int, other_size: int) -> int | None:
    """How far a part of this size begins behind another of an axis of this extent, both clamped, if that is known."""
    latest, other_latest = extent - size, extent - other_size
    first, second = known_start(start, latest), known_start(other, other_latest)
    if first is not None and second is not None:
        return first - second
    if start is other and size == other_size:
        return 0
    base, number = split_sum(start)
    other_base, other_number = split_sum(other)
    if base is not other_base or not is_inside(start, latest) or not is_inside(other, other_latest):
        return None
    # Both are within the axis, whatever the sums ran over on their way: the distance is the least that fits.
    span = 8 * start.tensor.bytes
    return (number - other_number + (1 << span - 1)) % (1 << span) - (1 << span - 1)


def split_sum(start: Value) -> tuple[Value, int]:
    """An index as something and a number that is added to it."""
    if isinstance(start, Add):
        for number, rest in (start.operands, start.operands[::-1]):
            if isinstance(number, Constant):
                return rest, int(number.number)
    if isinstance(start, Subtract) and isinstance(start.rhs, Constant):
        return start.lhs, -int(start.rhs.number)
    return start, 0


def distances(op: DynamicSlice, update: Value, inner_starts: tuple[Value, ...]) -> list[int | None]:
    """How far the part begins behind the update along each axis, where that is known."""
    places = zip(op.start_indices, inner_starts, op.operand.shape, op.slice_sizes, update.shape, strict=True)
    return [distance(*place) for place in places]


def sample_part_of_updated(draw: Draw) -> DynamicSlice:
    """A part of an updated array near the update, at a place that has to do with the update's."""
    whole = draw.choose((9, 12))
    filled: Value = draw.choose((tensor("f32", whole, 3), Constant.of(2, "f32", (whole, 3))))
    zero, i = Constant.of(0, "i32"), draw.choose((small_number("i", 3), tensor("i32", name="i")))
    moved = draw.choose((i, i, Add(i, Constant.of(draw.integer(0, 5), "i32")), Constant.of(draw.integer(0, 9), "i32")))
    updated = DynamicUpdateSlice(
        filled,
        tensor("f32", draw.integer(1, 4), draw.integer(2, 3), name="u"),
        (draw.choose((i, moved, Constant.of(draw.integer(0, 9), "i32"))), zero),
    )
    return DynamicSlice(updated, (moved, zero), (draw.integer(1, 4), draw.integer(1, 3)))


@rewrite(DynamicSlice(DynamicUpdateSlice(x, update, inner_starts), starts, sizes), sample=sample_part_of_updated)
def dynamic_slice_within_update(
    op: DynamicSlice, update: Value, inner_starts: tuple[Value, ...], sizes: Sizes
) -> Value | None:
    """dynamic_slice(dynamic_update_slice(x, u, i), i + a, s) = slice(u, a, a + s), for a known a, within u

    >>> i = small_number("i", 3)
    >>> updated = DynamicUpdateSlice(tensor("f32", 9), tensor("f32", 4, name="u"), (i,))
    >>> dynamic_slice_within_update(DynamicSlice(updated, (Add(i, Constant.of(1, "i32")),), (2,)))
    Slice(u, start_indices=(1,), limit_indices=(3,), strides=(1,))
    """
    begin = _within(op, update, inner_starts)
    if begin is None:
        return None
    return Slice(update, begin, tuple(a + size for a, size in zip(begin, sizes, strict=True)), (1,) * len(sizes))


def _within(op: DynamicSlice, update: Value, inner_starts: tuple[Value, ...]) -> Sizes | None:
    begin: list[int] = []
    for place, (size, extent) in zip(
        distances(op, update, inner_starts), zip(op.slice_sizes, update.shape, strict=True), strict=True
    ):
        if place is None or place < 0 or place + size > extent:
            return None
        begin.append(place)
    return tuple(begin)


@rewrite(
    DynamicSlice(DynamicUpdateSlice(x, update, inner_starts), starts, sizes),
    single_use=True,
    sample=sample_part_of_updated,
)
def dynamic_slice_beside_update(
    op: DynamicSlice, x: Value, update: Value, inner_starts: tuple[Value, ...], starts: tuple[Value, ...], sizes: Sizes
) -> Value | None:
    """dynamic_slice(dynamic_update_slice(x, u, i), j, s) = dynamic_slice(x, j, s), where it lies beside u

    >>> i = small_number("i", 3)
    >>> updated = DynamicUpdateSlice(tensor("f32", 9), tensor("f32", 2, name="u"), (i,))
    >>> dynamic_slice_beside_update(DynamicSlice(updated, (Add(i, Constant.of(2, "i32")),), (2,))).operand
    x
    """
    for place, size, extent in zip(distances(op, update, inner_starts), sizes, update.shape, strict=True):
        if place is not None and (place >= extent or place + size <= 0):
            return DynamicSlice(x, starts, sizes)
    return None


@rewrite(
    DynamicSlice(DynamicUpdateSlice(x, update, inner_starts), starts, sizes),
    single_use=True,
    sample=sample_part_of_updated,
)
def dynamic_slice_across_update_of_one_number(
    op: DynamicSlice, x: Value, update: Value, inner_starts: tuple[Value, ...], sizes: Sizes
) -> Value | None:
    """dynamic_slice(dynamic_update_slice(c everywhere, u, i), i - a, s) = pad(slice(u), c), where a is known

    >>> i = small_number("i", 3)
    >>> updated = DynamicUpdateSlice(Constant.of(7, "f32", (9,)), tensor("f32", 2, name="u"), (i,))
    >>> dynamic_slice_across_update_of_one_number(DynamicSlice(updated, (i,), (4,)))
    Pad(u, Constant(7.0), edge_padding_low=(0,), edge_padding_high=(2,), interior_padding=(0,))
    """
    fill = number_everywhere(x)
    if fill is None:
        return None
    begin: list[int] = []
    end: list[int] = []
    low: list[int] = []
    high: list[int] = []
    for place, size, extent in zip(distances(op, update, inner_starts), sizes, update.shape, strict=True):
        if place is None or place >= extent or place + size <= 0:
            return None
        begin.append(max(place, 0))
        end.append(min(place + size, extent))
        low.append(begin[-1] - place)
        high.append(place + size - end[-1])
    if not any(low) and not any(high):
        return None
    inside: Value = update
    if any(begin) or tuple(end) != update.shape:
        inside = Slice(update, tuple(begin), tuple(end), (1,) * len(begin))
    return Pad(inside, fill, tuple(low), tuple(high), (0,) * len(low))


def sample_part_from_the_same_start(draw: Draw) -> DynamicSlice:
    """A part of an updated array from where the update begins, or would but for clamping."""
    i, j = tensor("i32", name="i"), draw.choose((tensor("i32", name="j"), Constant.of(0, "i32")))
    rows, columns = draw.integer(2, 4), draw.integer(2, 3)
    updated = DynamicUpdateSlice(tensor("f32", 90, 60), tensor("f32", rows, columns, name="u"), (i, j))
    return DynamicSlice(updated, (i, j), (draw.integer(1, rows), draw.integer(1, columns)))


@rewrite(
    DynamicSlice(DynamicUpdateSlice(x, update, starts), starts, sizes),
    by_cost=True,
    single_use=True,
    sample=sample_part_from_the_same_start,
)
def dynamic_slice_from_start_of_update(
    op: DynamicSlice, x: Value, update: Value, starts: tuple[Value, ...], sizes: Sizes
) -> Value | None:
    """dynamic_slice(dynamic_update_slice(x, u, i), i, s) = dynamic_slice(u, max(i, n) - n, s), n + shape(u) = shape(x)

    Where u is moved back so that it fits, the part begins behind its start.

    >>> x, u, i = tensor("f32", 9), tensor("f32", 3, name="u"), tensor("i32", name="i")
    >>> dynamic_slice_from_start_of_update(DynamicSlice(DynamicUpdateSlice(x, u, (i,)), (i,), (2,)))
    DynamicSlice(u, (Subtract(Maximum(i, Constant(6)), Constant(6)),), slice_sizes=(2,))
    """
    first: list[Value] = []
    for start, whole, extent, size in zip(starts, x.shape, update.shape, sizes, strict=True):
        if size > extent or not can_hold(start.dtype, whole):
            return None
        latest = Constant.of(whole - extent, start.dtype)
        same = distance(start, start, whole, size, extent) == 0
        first.append(Constant.of(0, start.dtype) if same else Subtract(Maximum(start, latest), latest))
    return DynamicSlice(update, tuple(first), sizes)
