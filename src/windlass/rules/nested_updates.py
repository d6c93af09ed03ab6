"""Updates of what was updated, computed or put together: less is written, and less is computed."""

from __future__ import annotations

from windlass.facts.known_values import known_starts
from windlass.ir import Value
from windlass.ir.values import tensor
from windlass.ops import Concatenate, Constant, Convert, DynamicUpdateSlice, Exponential, Negate, Sine, Slice
from windlass.ops.base import TensorOp
from windlass.ops.pointwise import Unary
from windlass.ops.sampling import Draw
from windlass.rewriting.pattern import any_op, hole
from windlass.rewriting.rule import rewrite
from windlass.rules.axes import Sizes, replace
from windlass.rules.dynamic_slices import some_starts

__all__ = ["Constant", "Exponential", "tensor"]

x, y, update, other, starts, inner_starts = (
    hole(name) for name in ("x", "y", "update", "other", "starts", "inner_starts")
)


def starts_at(*places: int) -> tuple[Value, ...]:
    """Places to update, as operands."""
    return tuple(Constant.of(place, "i32") for place in places)


def _sample_within(draw: Draw) -> DynamicUpdateSlice:
    x, other = tensor("f32", 6, 8), tensor("f32", 3, 4, name="v")
    place = (draw.integer(0, 3), draw.integer(0, 4))
    inner = DynamicUpdateSlice(x, other, starts_at(*place))
    within = (place[0] + draw.integer(0, 1), place[1] + draw.integer(0, 2))
    return DynamicUpdateSlice(inner, tensor("f32", 2, 2, name="u"), starts_at(*within))


@rewrite(
    DynamicUpdateSlice(DynamicUpdateSlice(x, other, inner_starts), update, starts),
    sample=_sample_within,
    single_use=True,
)
def update_within_update(
    op: DynamicUpdateSlice, x: Value, other: Value, update: Value, inner_starts: tuple[Value, ...]
) -> Value | None:
    """update(update(x, v, i), u, j) = update(x, update(v, u, j - i), i), where u lies within v, at known places

    >>> x, v, u = tensor("f32", 9), tensor("f32", 4, name="v"), tensor("f32", 2, name="u")
    >>> inner = DynamicUpdateSlice(x, v, starts_at(3))
    >>> update_within_update(DynamicUpdateSlice(inner, u, starts_at(4))).update.operand
    v
    """
    outer = known_starts(op.start_indices, x.shape, update.shape)
    inner = known_starts(inner_starts, x.shape, other.shape)
    if outer is None or inner is None or not other.tensor.size:
        return None
    offsets = [place - base for place, base in zip(outer, inner, strict=True)]
    if any(
        offset < 0 or offset + size > whole
        for offset, size, whole in zip(offsets, update.shape, other.shape, strict=True)
    ):
        return None
    return DynamicUpdateSlice(x, DynamicUpdateSlice(other, update, starts_at(*offsets)), inner_starts)


def _sample_of_function(draw: Draw) -> DynamicUpdateSlice:
    x, update = tensor("f32", 4, 5), tensor("f32", 2, draw.integer(1, 3), name="u")
    made = draw.choose((Exponential, Sine, Negate, lambda value: Convert(value, "f64")))
    return DynamicUpdateSlice(made(x), made(update), some_starts(2))


@rewrite(
    DynamicUpdateSlice(
        any_op(TensorOp, only=(Unary, Convert), bind="x"),
        any_op(TensorOp, only=(Unary, Convert), bind="update"),
        starts,
    ),
    single_use=True,
    sample=_sample_of_function,
)
def update_of_one_function(x: Unary | Convert, update: Unary | Convert, starts: tuple[Value, ...]) -> Value | None:
    """update(f(x), f(u), i) = f(update(x, u, i)), if nothing else uses f(x) and f(u)

    >>> x, u = tensor("f32", 4), tensor("f32", 2, name="u")
    >>> update_of_one_function(DynamicUpdateSlice(Exponential(x), Exponential(u), some_starts(1))).operand.operand
    x
    """
    first, second = x.operand, update.operand
    if type(x) is not type(update) or first.dtype != second.dtype:
        return None
    names = [field.name for field in x.fields if field.kind == "attribute"]
    if any(getattr(x, name) != getattr(update, name) for name in names):
        return None
    if isinstance(x, Convert) and first.tensor.size * 2 < first.tensor.size + second.tensor.size:
        return None
    return x.with_operands((DynamicUpdateSlice(first, second, starts),))


def _sample_across(draw: Draw) -> Slice:
    x, update = tensor("f32", 6, 8), tensor("f32", 3, 4, name="u")
    place = (draw.integer(0, 3), draw.integer(0, 4))
    begin = tuple(draw.integer(0, 4) for _ in range(2))
    limit = tuple(draw.integer(low + 1, size) for low, size in zip(begin, x.shape, strict=True))
    return Slice(DynamicUpdateSlice(x, update, starts_at(*place)), begin, limit, (1, 1))


begin, limit, strides = hole("begin"), hole("limit"), hole("strides")


@rewrite(Slice(DynamicUpdateSlice(x, update, starts), begin, limit, strides), single_use=True, sample=_sample_across)
def slice_across_update(
    x: Value, update: Value, starts: tuple[Value, ...], begin: Sizes, limit: Sizes, strides: Sizes
) -> Value | None:
    """slice(update(x, u, i), a, b) = update(slice(x), slice(u), i - a), where they meet, at known places

    >>> updated = DynamicUpdateSlice(tensor("f32", 9), tensor("f32", 4, name="u"), starts_at(3))
    >>> slice_across_update(Slice(updated, (0,), (5,), (1,))).update
    Slice(u, start_indices=(0,), limit_indices=(2,), strides=(1,))
    """
    places = known_starts(starts, x.shape, update.shape)
    if places is None or any(stride != 1 for stride in strides):
        return None
    inner: list[tuple[int, int, int]] = []
    for place, size, low, high in zip(places, update.shape, begin, limit, strict=True):
        first, last = max(place, low), min(place + size, high)
        if first >= last:
            return None
        inner.append((first - place, last - place, first - low))
    if all(low == 0 and high == size for (low, high, _), size in zip(inner, update.shape, strict=True)):
        return None
    ones = (1,) * len(begin)
    part = Slice(update, tuple(each[0] for each in inner), tuple(each[1] for each in inner), ones)
    return DynamicUpdateSlice(Slice(x, begin, limit, ones), part, starts_at(*(each[2] for each in inner)))


def _sample_of_parts(draw: Draw) -> DynamicUpdateSlice:
    axis = draw.integer(0, 1)
    shapes = [replace((4, 4), axis, draw.integer(2, 4)) for _ in range(3)]
    parts = tuple(tensor("f32", *shape, name=name) for shape, name in zip(shapes, "xyz", strict=True))
    joined = Concatenate(parts, axis)
    update = tensor("f32", 2, 2, name="u")
    place = tuple(draw.integer(0, size - 2) for size in joined.shape)
    return DynamicUpdateSlice(joined, update, starts_at(*place))


@rewrite(
    DynamicUpdateSlice(Concatenate((hole("parts"),), hole("axis")), update, starts),
    single_use=True,
    sample=_sample_of_parts,
)
def update_of_part(
    op: DynamicUpdateSlice, parts: tuple[Value, ...], axis: int, update: Value, starts: tuple[Value, ...]
) -> Value | None:
    """update(concatenate(x, y), u, i) = concatenate(x, update(y, u, i - n)), where u lies within one part

    >>> joined = Concatenate((tensor("f32", 4), tensor("f32", 4, name="y")), 0)
    >>> update_of_part(DynamicUpdateSlice(joined, tensor("f32", 2, name="u"), starts_at(5))).inputs[0]
    x
    """
    places = known_starts(starts, op.shape, update.shape)
    if places is None or not update.tensor.size:
        return None
    start = 0
    for index, part in enumerate(parts):
        end = start + part.shape[axis]
        if start <= places[axis] and places[axis] + update.shape[axis] <= end:
            if 2 * part.tensor.size > op.tensor.size:
                return None
            own = replace(places, axis, places[axis] - start)
            made = DynamicUpdateSlice(part, update, starts_at(*own))
            return Concatenate((*parts[:index], made, *parts[index + 1 :]), axis)
        start = end
    return None
