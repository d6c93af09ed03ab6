"""Updates at computed places: those that change nothing or are hidden are dropped, neighbours are joined.

No rule may keep an older version of an updated array alive beside the newest one, which XLA updates in place
(docs/decisions/0006-in-place-updates.md).
"""

from __future__ import annotations

from windlass.facts.known_values import known_start, known_starts
from windlass.ir import Value
from windlass.ir.values import tensor
from windlass.ops import (
    Add,
    BroadcastInDim,
    Concatenate,
    Constant,
    DynamicSlice,
    DynamicUpdateSlice,
    Elementwise,
    Maximum,
    Pad,
    Slice,
)
from windlass.ops.sampling import Draw
from windlass.rewriting.pattern import hole
from windlass.rewriting.rule import rewrite
from windlass.rewriting.sharing import is_used_once, users_of
from windlass.rules.axes import Sizes, replace
from windlass.rules.dynamic_slices import FARTHEST, computes_start, sample_clamped_index, some_starts, without_clamping
from windlass.rules.splats import number_everywhere

__all__ = ["Maximum", "tensor"]

x, update, other, starts = hole("x"), hole("update"), hole("other"), hole("starts")
inner_starts = hole("inner_starts")


@rewrite(DynamicUpdateSlice(x, update, starts))
def update_of_everything(x: Value, update: Value) -> Value | None:
    """dynamic_update_slice(x, u, i) = u, if u has x's shape: i is clamped to 0

    >>> x, u = tensor("f32", 4), tensor("f32", 4, name="u")
    >>> update_of_everything(DynamicUpdateSlice(x, u, (tensor("i32", name="i"),)))
    u
    """
    return update if update.type is x.type else None


@rewrite(DynamicUpdateSlice(x, update, starts))
def update_of_nothing(x: Value, update: Value) -> Value | None:
    """dynamic_update_slice(x, u, i) = x, if u has no elements

    >>> update_of_nothing(DynamicUpdateSlice(tensor("f32", 4), tensor("f32", 0, name="u"), (tensor("i32", name="i"),)))
    x
    """
    return x if update.tensor.size == 0 else None


def sample_same_update(draw: Draw) -> DynamicUpdateSlice:
    """Two updates from one place on, known or not."""
    shape = draw.shape(1, 2, 2)
    first, second = (tensor("f32", *(size - 1 for size in shape), name=name) for name in "vu")
    starts = some_starts(len(shape)) if draw.boolean() else tuple(Constant.of(1, "i32") for _ in shape)
    return DynamicUpdateSlice(DynamicUpdateSlice(tensor("f32", *shape), first, starts), second, starts)


@rewrite(
    DynamicUpdateSlice(DynamicUpdateSlice(x, other, starts), update, starts),
    single_use=True,
    sample=sample_same_update,
)
def update_of_same_update(x: Value, other: Value, update: Value, starts: tuple[Value, ...]) -> Value | None:
    """dynamic_update_slice(dynamic_update_slice(x, v, i), u, i) = dynamic_update_slice(x, u, i), if u has v's shape

    >>> x, v, u, i = tensor("f32", 9), tensor("f32", 3), tensor("f32", 3, name="u"), (tensor("i32", name="i"),)
    >>> update_of_same_update(DynamicUpdateSlice(DynamicUpdateSlice(x, v, i), u, i))
    DynamicUpdateSlice(x, u, (i,))
    """
    return DynamicUpdateSlice(x, update, starts) if update.type is other.type else None


def sample_hidden_update(draw: Draw) -> DynamicUpdateSlice:
    """Three updates in a row, the last of which covers the first."""
    x = tensor("f32", *draw.shape(1, 2, 1))
    sizes = tuple(draw.integer(1, size) for size in x.shape)
    begin = tuple(Constant.of(draw.integer(0, all_ - part), "i32") for all_, part in zip(x.shape, sizes, strict=True))
    small = tuple(draw.integer(1, size) for size in x.shape)
    somewhere = tuple(Constant.of(draw.integer(0, 2), "i32") for _ in small)
    first = DynamicUpdateSlice(x, tensor("f32", *sizes, name="v"), begin)
    second = DynamicUpdateSlice(first, tensor("f32", *small, name="w"), somewhere)
    return DynamicUpdateSlice(second, tensor("f32", *sizes, name="u"), begin)


@rewrite(DynamicUpdateSlice(x, update, starts), sample=sample_hidden_update)
def update_that_hides_another(x: Value, update: Value, starts: tuple[Value, ...]) -> Value | None:
    """update(…update(x, v, i)…, u, j) = update(…x…, u, j), if u covers v and nothing else sees the updates between

    >>> at = (Constant.of(2, "i32"),)
    >>> first = DynamicUpdateSlice(tensor("f32", 9), tensor("f32", 3, name="v"), at)
    >>> second = DynamicUpdateSlice(first, tensor("f32", 1, name="w"), (Constant.of(8, "i32"),))
    >>> update_that_hides_another(DynamicUpdateSlice(second, tensor("f32", 4, name="u"), at))
    DynamicUpdateSlice(DynamicUpdateSlice(x, w, (Constant(8),)), u, (Constant(2),))
    """
    begin = known_starts(starts, x.shape, update.shape)
    if begin is None:
        return None
    between: list[DynamicUpdateSlice] = []
    while isinstance(x, DynamicUpdateSlice) and len(users_of(x)) <= 1 and len(between) < FARTHEST:
        first = known_starts(x.start_indices, x.shape, x.update.shape)
        if first is not None and all(
            a <= b and b + inner <= a + outer
            for a, b, outer, inner in zip(begin, first, update.shape, x.update.shape, strict=True)
        ):
            kept = x.operand
            for each in reversed(between):
                kept = DynamicUpdateSlice(kept, each.update, each.start_indices)
            return DynamicUpdateSlice(kept, update, starts)
        between.append(x)
        x = x.operand
    return None


def sample_own_slice(draw: Draw) -> DynamicUpdateSlice:
    """An update by a slice of what is updated, mostly from the place where that begins."""
    x = tensor("f32", *draw.shape(1, 2, 2))
    begin = tuple(draw.integer(0, size - 1) for size in x.shape)
    own = Slice(
        x, begin, tuple(draw.integer(at + 1, size) for at, size in zip(begin, x.shape, strict=True)), (1,) * len(begin)
    )
    return DynamicUpdateSlice(x, own, tuple(Constant.of(max(at - draw.choose((0, 0, 1)), 0), "i32") for at in begin))


@rewrite(
    DynamicUpdateSlice(x, Slice(x, hole("begin"), hole("end"), hole("strides")), starts),
    sample=sample_own_slice,
)
def update_by_own_slice(x: Value, begin: Sizes, end: Sizes, strides: Sizes, starts: tuple[Value, ...]) -> Value | None:
    """dynamic_update_slice(x, slice(x, a, b), a) = x

    >>> x = tensor("f32", 9)
    >>> update_by_own_slice(DynamicUpdateSlice(x, Slice(x, (2,), (5,), (1,)), (Constant.of(2, "i32"),)))
    x
    """
    sizes = tuple(b - a for a, b in zip(begin, end, strict=True))
    if any(step != 1 for step in strides):
        return None
    return x if known_starts(starts, x.shape, sizes) == begin else None


def sample_neighbouring_updates(draw: Draw) -> DynamicUpdateSlice:
    """Two updates of neighbouring rows, mostly."""
    x, first = tensor("f32", 6, 2), draw.integer(0, 2)
    sizes = draw.integer(1, 2), draw.integer(1, 2)
    zero = Constant.of(0, "i32")
    begins = [first, first + sizes[0]]
    updates: list[Value] = []
    starts: list[tuple[Value, ...]] = []
    for place in draw.choose(((0, 1), (1, 0))):
        at = Constant.of(begins[place], "i32"), zero
        updates.append(tensor("f32", sizes[place], 2, name="uv"[place]))
        starts.append(at)
    return DynamicUpdateSlice(DynamicUpdateSlice(x, updates[0], starts[0]), updates[1], starts[1])


@rewrite(
    DynamicUpdateSlice(DynamicUpdateSlice(x, other, inner_starts), update, starts),
    single_use=True,
    sample=sample_neighbouring_updates,
)
def update_beside_update(
    x: Value, other: Value, inner_starts: tuple[Value, ...], update: Value, starts: tuple[Value, ...]
) -> Value | None:
    """update(update(x, v, a), u, a + shape(v)) = update(x, concatenate(v, u), a), if nothing else sees the first

    >>> first = DynamicUpdateSlice(tensor("f32", 9), tensor("f32", 2, name="v"), (Constant.of(1, "i32"),))
    >>> update_beside_update(DynamicUpdateSlice(first, tensor("f32", 3, name="u"), (Constant.of(3, "i32"),)))
    DynamicUpdateSlice(x, Concatenate((v, u), dimension=0), (Constant(1),))
    """
    differing = [axis for axis in range(len(starts)) if update.shape[axis] != x.shape[axis]]
    same = [axis for axis in range(len(starts)) if starts[axis] is inner_starts[axis]]
    axes: list[int] = []
    for axis in range(len(starts)):
        latest = x.shape[axis] - update.shape[axis], x.shape[axis] - other.shape[axis]
        begin, first = known_start(starts[axis], latest[0]), known_start(inner_starts[axis], latest[1])
        if update.shape[axis] == other.shape[axis] and (axis in same or (begin is not None and begin == first)):
            continue
        if begin is None or first is None:
            return None
        if begin != first + other.shape[axis] and first != begin + update.shape[axis]:
            return None
        axes.append(axis)
    if len(axes) != 1 or not differing or 0 in (*update.shape, *other.shape):
        return None
    (axis,) = axes
    begin = known_start(starts[axis], x.shape[axis] - update.shape[axis])
    first = known_start(inner_starts[axis], x.shape[axis] - other.shape[axis])
    assert begin is not None and first is not None
    parts = (other, update) if first < begin else (update, other)
    both = Concatenate(parts, axis)
    if both.shape == x.shape:
        return both
    return DynamicUpdateSlice(x, both, inner_starts if first < begin else starts)


def sample_update_of_own_part(draw: Draw) -> DynamicUpdateSlice:
    """A part of an array that was updated itself, put back where it was."""
    x = tensor("f32", 6, 3)
    at = draw.integer(0, 3), draw.integer(0, 1)
    begin = tuple(Constant.of(each, "i32") for each in at)
    part = Slice(x, at, (at[0] + 3, at[1] + 2), (1, 1))
    place = tuple(Constant.of(draw.integer(-1, 2), "i32") for _ in range(2))
    return DynamicUpdateSlice(x, DynamicUpdateSlice(part, tensor("f32", 1, 2, name="u"), place), begin)


begin, end, strides = hole("begin"), hole("end"), hole("strides")


@rewrite(
    DynamicUpdateSlice(x, DynamicUpdateSlice(Slice(x, begin, end, strides), update, inner_starts), starts),
    sample=sample_update_of_own_part,
)
def update_by_own_updated_slice(
    x: Value,
    begin: Sizes,
    end: Sizes,
    strides: Sizes,
    update: Value,
    inner_starts: tuple[Value, ...],
    starts: tuple[Value, ...],
) -> Value | None:
    """update(x, update(slice(x, a, b), u, i), a) = update(x, u, a + i), for known i

    >>> x = tensor("f32", 9)
    >>> part = DynamicUpdateSlice(Slice(x, (2,), (6,), (1,)), tensor("f32", 1, name="u"), (Constant.of(3, "i32"),))
    >>> update_by_own_updated_slice(DynamicUpdateSlice(x, part, (Constant.of(2, "i32"),)))
    DynamicUpdateSlice(x, u, (Constant(5),))
    """
    sizes = tuple(b - a for a, b in zip(begin, end, strict=True))
    first = known_starts(inner_starts, sizes, update.shape)
    if first is None or any(step != 1 for step in strides) or known_starts(starts, x.shape, sizes) != begin:
        return None
    at = tuple(Constant.of(a + b, starts[0].dtype) for a, b in zip(begin, first, strict=True))
    return DynamicUpdateSlice(x, update, at)


def sample_slice_around_update(draw: Draw) -> Slice:
    first, size = draw.integer(0, 3), draw.integer(1, 3)
    at = draw.integer(first, first + 2)
    updated = DynamicUpdateSlice(
        Add(tensor("f32", 9), tensor("f32", 9, name="y")), tensor("f32", size, name="u"), (Constant.of(at, "i32"),)
    )
    return Slice(updated, (first,), (min(at + size + draw.integer(0, 2), 9),), (1,))


@rewrite(
    Slice(DynamicUpdateSlice(x, update, starts), begin, end, strides),
    single_use=True,
    sample=sample_slice_around_update,
)
def slice_around_update(
    op: Slice, x: Value, update: Value, starts: tuple[Value, ...], begin: Sizes, end: Sizes, strides: Sizes
) -> Value | None:
    """slice(dynamic_update_slice(x, u, i), a, b) = dynamic_update_slice(slice(x, a, b), u, i - a), where u lies within

    Only of what is computed for it, of which less is computed then.

    >>> total, at = Add(tensor("f32", 9), tensor("f32", 9)), Constant.of(0, "i32")
    >>> updated = DynamicUpdateSlice(total, tensor("f32", 2), (at,))
    >>> slice_around_update(Slice(updated, (0,), (5,), (1,))).operand.limit_indices
    (5,)
    """
    first = known_starts(starts, x.shape, update.shape)
    if first is None or not isinstance(x, Elementwise) or not is_used_once(x) or op.shape == x.shape:
        return None
    ends = (at + size for at, size in zip(first, update.shape, strict=True))
    if any(step != 1 for step in strides) or any(at < low for at, low in zip(first, begin, strict=True)):
        return None
    if any(at > high for at, high in zip(ends, end, strict=True)):
        return None
    places = zip(first, begin, starts, strict=True)
    moved = tuple(Constant.of(at - low, start.dtype) for at, low, start in places)
    return DynamicUpdateSlice(Slice(x, begin, end, strides), update, moved)


@rewrite(DynamicUpdateSlice(x, DynamicSlice(x, starts, hole("sizes")), starts))
def update_by_own_dynamic_slice(x: Value) -> Value:
    """dynamic_update_slice(x, dynamic_slice(x, i, s), i) = x

    >>> x, i = tensor("f32", 9), (tensor("i32", name="i"),)
    >>> update_by_own_dynamic_slice(DynamicUpdateSlice(x, DynamicSlice(x, i, (3,)), i))
    x
    """
    return x


def sample_update_at_clamped_start(draw: Draw) -> DynamicUpdateSlice:
    start, latest = sample_clamped_index(draw)
    return DynamicUpdateSlice(tensor("f32", latest + 2), tensor("f32", 2, name="u"), (start,))


@rewrite(DynamicUpdateSlice(x, update, starts), sample=sample_update_at_clamped_start)
def update_at_clamped_start(x: Value, update: Value, starts: tuple[Value, ...]) -> Value | None:
    """dynamic_update_slice(x, u, clamp(0, i, n - s)) = dynamic_update_slice(x, u, i), which clamps i itself

    >>> x, u, zero = tensor("f32", 9), tensor("f32", 3, name="u"), Constant.of(0, "i32")
    >>> update_at_clamped_start(DynamicUpdateSlice(x, u, (Maximum(tensor("i32", name="i"), zero),)))
    DynamicUpdateSlice(x, u, (i,))
    """
    places = zip(starts, x.shape, update.shape, strict=True)
    free = tuple(without_clamping(start, extent - size) for start, extent, size in places)
    if all(a is b for a, b in zip(free, starts, strict=True)):
        return None
    return DynamicUpdateSlice(x, update, free)


def sample_update_along_whole_axis(draw: Draw) -> DynamicUpdateSlice:
    """An update of the whole of an axis whose start is computed."""
    i, j = tensor("i32", name="i"), tensor("i32", name="j")
    at = (i, Add(j, Constant.of(draw.integer(0, 2), "i32")))
    return DynamicUpdateSlice(tensor("f32", 4, 3), tensor("f32", 2, 3, name="u"), at)


@rewrite(DynamicUpdateSlice(x, update, starts), sample=sample_update_along_whole_axis)
def update_along_whole_axis(x: Value, update: Value, starts: tuple[Value, ...]) -> Value | None:
    """dynamic_update_slice(x, u, i) = dynamic_update_slice(x, u, 0) along an axis that u covers

    >>> x, u, i, j = tensor("f32", 9, 4), tensor("f32", 1, 4, name="u"), tensor("i32", name="i"), tensor("i32")
    >>> update_along_whole_axis(DynamicUpdateSlice(x, u, (i, Add(j, j))))
    DynamicUpdateSlice(x, u, (i, Constant(0)))
    """
    found = tuple(
        Constant.of(0, start.dtype) if computes_start(start) and extent == size else start
        for start, extent, size in zip(starts, x.shape, update.shape, strict=True)
    )
    if all(a is b for a, b in zip(found, starts, strict=True)):
        return None
    return DynamicUpdateSlice(x, update, found)


fill, low, high, interior = hole("fill"), hole("low"), hole("high"), hole("interior")


def sample_update_of_padding(draw: Draw) -> DynamicUpdateSlice:
    """A padded array whose padding is overwritten on one side, as a whole or in part."""
    low, high = draw.integer(0, 2), draw.integer(0, 2)
    padded = Pad(tensor("f32", 3, 2), Constant.of(0, "f32"), (low, 0), (high, 0), (0, 0))
    size = draw.integer(1, 2)
    at = draw.choose((0, 3 + low)), 0
    return DynamicUpdateSlice(padded, tensor("f32", size, 2, name="u"), tuple(Constant.of(each, "i32") for each in at))


@rewrite(
    DynamicUpdateSlice(Pad(x, fill, low, high, interior), update, starts),
    single_use=True,
    sample=sample_update_of_padding,
)
def update_of_padding(
    op: DynamicUpdateSlice,
    x: Value,
    fill: Value,
    low: Sizes,
    high: Sizes,
    interior: Sizes,
    update: Value,
    starts: tuple[Value, ...],
) -> Value | None:
    """update(pad(x, c), u, place of the padding) = pad(concatenate(u, x), less), where u lies beside x

    >>> padded = Pad(tensor("f32", 4), Constant.of(0, "f32"), (2,), (0,), (0,))
    >>> update_of_padding(DynamicUpdateSlice(padded, tensor("f32", 2, name="u"), (Constant.of(0, "i32"),)))
    Concatenate((u, x), dimension=0)
    """
    begin = known_starts(starts, op.shape, update.shape)
    if begin is None or any(interior) or any(edge < 0 for edge in (*low, *high)) or 0 in (*x.shape, *update.shape):
        return None
    axes = [axis for axis in range(len(low)) if begin[axis] != low[axis] or update.shape[axis] != x.shape[axis]]
    if len(axes) != 1:
        return None
    (axis,) = axes
    before = begin[axis] + update.shape[axis] == low[axis]
    if not before and begin[axis] != low[axis] + x.shape[axis]:
        return None
    joined = Concatenate((update, x) if before else (x, update), axis)
    size = update.shape[axis]
    new_low = replace(low, axis, low[axis] - size) if before else low
    new_high = high if before else replace(high, axis, high[axis] - size)
    if not any(new_low) and not any(new_high):
        return joined
    return Pad(joined, fill, new_low, new_high, interior)


def sample_update_within_padded(draw: Draw) -> DynamicUpdateSlice:
    """A padded array that is updated where it is not padding."""
    low, high, at = draw.integer(0, 2), draw.integer(0, 2), draw.integer(0, 2)
    padded = Pad(tensor("f32", 3, 2), Constant.of(0, "f32"), (low, 1), (high, 0), (0, 0))
    starts = Constant.of(low + at, "i32"), Constant.of(1, "i32")
    return DynamicUpdateSlice(padded, tensor("f32", draw.integer(1, 2), draw.integer(1, 2), name="u"), starts)


@rewrite(
    DynamicUpdateSlice(Pad(x, fill, low, high, interior), update, starts),
    single_use=True,
    sample=sample_update_within_padded,
)
def update_within_padded(
    op: DynamicUpdateSlice,
    x: Value,
    fill: Value,
    low: Sizes,
    high: Sizes,
    interior: Sizes,
    update: Value,
    starts: tuple[Value, ...],
) -> Value | None:
    """update(pad(x, c), u, i) = pad(update(x, u, i - low), c), where u lies within x

    >>> padded = Pad(tensor("f32", 4), Constant.of(0, "f32"), (2,), (0,), (0,))
    >>> update_within_padded(DynamicUpdateSlice(padded, tensor("f32", 2, name="u"), (Constant.of(3, "i32"),))).operand
    DynamicUpdateSlice(x, u, (Constant(1),))
    """
    begin = known_starts(starts, op.shape, update.shape)
    if begin is None or any(interior) or any(edge < 0 for edge in (*low, *high)) or not update.tensor.size:
        return None
    moved = [first - edge for first, edge in zip(begin, low, strict=True)]
    inside = all(
        first >= 0 and first + part <= whole for first, part, whole in zip(moved, update.shape, x.shape, strict=True)
    )
    if not inside or x.tensor.size == op.tensor.size:
        return None
    news = tuple(Constant.of(first, start.dtype) for first, start in zip(moved, starts, strict=True))
    return Pad(DynamicUpdateSlice(x, update, news), fill, low, high, interior)


def sample_update_of_one_number(draw: Draw) -> DynamicUpdateSlice:
    """An update at a known place of an array that is one number everywhere."""
    shape = draw.shape(1, 2, 2)
    x: Value = Constant.of(draw.integer(0, 1), "f32", shape)
    if draw.boolean():
        x = BroadcastInDim(tensor("f32", name="c"), shape, ())
    update = tensor("f32", *(draw.integer(1, size) for size in shape), name="u")
    return DynamicUpdateSlice(x, update, tuple(Constant.of(draw.integer(-1, 3), "i32") for _ in shape))


@rewrite(DynamicUpdateSlice(x, update, starts), sample=sample_update_of_one_number)
def update_of_one_number(op: DynamicUpdateSlice, x: Value, update: Value, starts: tuple[Value, ...]) -> Value | None:
    """update(c everywhere, u, i) = pad(u, c), at a known place

    >>> zeros = Constant.of(0, "f32", (9,))
    >>> update_of_one_number(DynamicUpdateSlice(zeros, tensor("f32", 2, name="u"), (Constant.of(3, "i32"),)))
    Pad(u, Constant(0.0), edge_padding_low=(3,), edge_padding_high=(4,), interior_padding=(0,))
    """
    fill = number_everywhere(x)
    if fill is None:
        return None
    begin = known_starts(starts, op.shape, update.shape)
    if begin is None or not update.tensor.size or update.shape == op.shape:
        return None
    if any(isinstance(user, DynamicUpdateSlice) for user in users_of(op)):
        return None  # the next update of a row of them
    high = tuple(whole - part - first for whole, part, first in zip(op.shape, update.shape, begin, strict=True))
    return Pad(update, fill, begin, high, (0,) * len(begin))
