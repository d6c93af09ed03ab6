"""Dynamic slices and updates whose start is known become plain; StableHLO's clamping of starts is kept exactly."""

from __future__ import annotations

from windlass.ir import Value
from windlass.ir.values import tensor
from windlass.ops import Constant, DynamicSlice, DynamicUpdateSlice, Slice
from windlass.ops.sampling import Draw
from windlass.rewriting.pattern import hole
from windlass.rewriting.rule import rewrite

__all__ = ["tensor"]

Sizes = tuple[int, ...]

x, update, other = hole("x"), hole("update"), hole("other")
starts, sizes = hole("starts"), hole("sizes")


def known_starts(starts: tuple[Value, ...], shape: Sizes, sizes: Sizes) -> Sizes | None:
    """The start indices after clamping, if they are constants or can be nothing but 0."""
    found: list[int] = []
    for start, extent, size in zip(starts, shape, sizes, strict=True):
        if extent == size:
            found.append(0)
        elif isinstance(start, Constant):
            found.append(min(max(int(start.number), 0), extent - size))
        else:
            return None
    return tuple(found)


@rewrite(DynamicSlice(x, starts, sizes))
def dynamic_slice_at_known_start(x: Value, starts: tuple[Value, ...], sizes: Sizes) -> Value | None:
    """dynamic_slice(x, constant i, s) = slice(x, j, j + s) with j = clamp(0, i, shape(x) - s)

    >>> dynamic_slice_at_known_start(DynamicSlice(tensor("f32", 9), (Constant.of(8, "i32"),), (3,)))
    Slice(x, start_indices=(6,), limit_indices=(9,), strides=(1,))
    """
    begin = known_starts(starts, x.shape, sizes)
    if begin is None:
        return None
    return Slice(x, begin, tuple(a + size for a, size in zip(begin, sizes, strict=True)), (1,) * len(sizes))


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


@rewrite(DynamicUpdateSlice(DynamicUpdateSlice(x, other, starts), update, starts))
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


FARTHEST = 16
"""How many updates back a rule looks: chains of hundreds must not take time in proportion to their square."""


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
    while isinstance(x, DynamicUpdateSlice) and len(x.uses) <= 1 and len(between) < FARTHEST:
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


@rewrite(DynamicUpdateSlice(x, Slice(x, hole("begin"), hole("end"), hole("strides")), starts))
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
