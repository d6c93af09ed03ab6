"""Spans as indices of arrays, and indices of spans that are arrays: masks and places, whose number data decide."""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from windlass.diagnostics import ArrayIndexError
from windlass.frontends.arrays.array import ANSWERS, Array, wrapped
from windlass.frontends.arrays.indexing import checked_index, for_each_axis, is_basic
from windlass.frontends.arrays.lengths import Extent, Length, Stretch, expect_equal, spread_mask
from windlass.frontends.arrays.places import true_places
from windlass.frontends.arrays.spans import (
    Span,
    as_span,
    common_extents,
    expect_broadcast,
    of_elements,
    read_aligned,
)
from windlass.frontends.arrays.tracing import Check, current_tracing, position_now
from windlass.frontends.arrays.ufunc_methods import SCATTERS
from windlass.frontends.arrays.unknown_lengths import UnknownLength


def easiest_of(extents: Sequence[Extent]) -> tuple[Stretch | None, ...]:
    """The stretches of these axes that are the easiest to compute."""
    return tuple(each.easiest if isinstance(each, Length) else None for each in extents)


def has_element(extents: Sequence[Extent]) -> Any:
    """Which places of the easiest stretches have elements: true where all lengths are known."""
    masks = [
        spread_mask(extent.mask(extent.easiest), axis, len(extents))
        for axis, extent in enumerate(extents)
        if isinstance(extent, Length)
    ]
    return functools.reduce(operator.and_, masks) if masks else True


# -- arrays at spans --------------------------------------------------------------------------------------------------


class Places(NamedTuple):
    """What `array[..., span, ...]` takes: `entries` has a slice or places for each axis; where no element is, `mask` is
    false and the places are 0. `extents` are those of what it gives."""

    entries: tuple[Any, ...]
    mask: Any
    extents: tuple[Extent, ...]


def _places_in(array: Array, entries: Sequence[Any]) -> Places:
    """Raises WindlassError (WL0904) for indices that are new axes, or apart from one another."""
    span = next(each for each in entries if isinstance(each, UnknownLength))
    full = for_each_axis([each.span if isinstance(each, UnknownLength) else each for each in entries], array.ndim)
    at = [axis for axis, each in enumerate(full) if not isinstance(each, slice)]
    if (
        any(each is None for each in full)
        or at != list(range(at[0], at[-1] + 1))
        or not all(array.shape[axis] for axis in at)
    ):
        raise span.unknown("which elements are asked for")
    given = [as_span(np.asarray(full[axis]) if isinstance(full[axis], list) else full[axis]) for axis in at]
    if any(each.dtype.kind not in "iu" for each in given):
        raise span.unknown("how many elements are asked for")
    extents = common_extents([each.extents for each in given])
    mask = has_element(extents)
    index = list(full)
    for axis, each in zip(at, given, strict=True):
        places = jnp.where(mask, read_aligned(each, extents, easiest_of(extents)), 0)
        (index[axis],) = checked_index(Array(places), array.shape[axis : axis + 1])
    rest = array[tuple(each if isinstance(each, slice) else 0 for each in index)]
    shape = () if not isinstance(rest, Array) else rest.shape
    return Places(tuple(index), mask, (*shape[: at[0]], *extents, *shape[at[0] :]))


def _as_places(entries: Sequence[Any], shape: Sequence[int]) -> list[Any]:
    """The indices, with the places where they are true for masks whose length data decide."""
    found: list[Any] = []
    axis = 0
    for each in entries:
        if isinstance(each, UnknownLength) and each.dtype == np.bool_:
            span = each.span
            if span.ndim != 1:
                raise span.unknown("which elements a mask of several axes picks")
            expect_equal(span.extents[0], shape[axis])
            each = _true_places(span)
        found.append(each)
        axis += each is not None and each is not Ellipsis
    return found


def take(array: Array, entries: Sequence[Any]) -> Any:
    """`array[..., span, ...]`, of which the span tells the places."""
    places = _places_in(array, _as_places(entries, array.shape))
    found = jnp.asarray(array.value).at[places.entries].get(mode="clip")
    return of_elements(found, places.extents)


def put(array: Array, entries: Sequence[Any], value: Any) -> None:
    """`array[..., span, ...] = value`."""
    places = _places_in(array, _as_places(entries, array.shape))
    new = as_span(value)
    expect_broadcast(places.extents, new)
    elements = read_aligned(new, places.extents, easiest_of(places.extents))
    slot = jnp.asarray(array.value).at[_kept_places(array, places)]
    array.assign(slot.set(elements.astype(array.dtype), mode="drop"))


def add_at(ufunc: np.ufunc, array: Any, index: Any, *rest: Any) -> None:
    """`ufunc.at(array, span, value)` of sums, products and extremes.

    Raises WindlassError (WL0904) for other ufuncs.
    """
    entries = list(index) if isinstance(index, tuple) else [index]
    span = next(each for each in (*entries, *rest) if isinstance(each, UnknownLength))
    name = SCATTERS.get(ufunc.__name__)
    if (
        name is None
        or array.dtype == np.bool_
        or not isinstance(array, Array)
        or len(rest) != 1
        or not any(map(_is_unknown, entries))
    ):
        raise span.unknown(f"what numpy.{ufunc.__name__}.at does")
    places = _places_in(array, _as_places(entries, array.shape))
    new = as_span(rest[0].span if _is_unknown(rest[0]) else rest[0])
    if not np.can_cast(new.dtype, array.dtype, "same_kind"):
        raise span.unknown(f"what numpy.{ufunc.__name__}.at does")
    expect_broadcast(places.extents, new)
    elements = read_aligned(new, places.extents, easiest_of(places.extents)).astype(array.dtype)
    slot = jnp.asarray(array.value).at[_kept_places(array, places)]
    array.assign(getattr(slot, name)(-elements if ufunc.__name__ == "subtract" else elements, mode="drop"))


def _kept_places(array: Array, places: Places) -> tuple[Any, ...]:
    """The index, with places outside of the array where no element is."""
    kept = list(places.entries)
    number = next(axis for axis, each in enumerate(places.entries) if not isinstance(each, slice))
    kept[number] = jnp.where(places.mask, places.entries[number], array.shape[number])
    return tuple(kept)


# -- spans at arrays --------------------------------------------------------------------------------------------------


def _true_places(mask: Span) -> Span:
    """Where a mask of one axis is true."""
    (extent,) = mask.extents
    elements = mask.read((Stretch(0, extent.room),)) if isinstance(extent, Length) else mask.read((None,))
    if isinstance(extent, Length):
        elements &= extent.mask(Stretch(0, extent.room))
    return as_span(true_places(elements))


def _places_along(span: Span, index: Any) -> Span:
    """An array index as places along the first axis of a span, from 0 on, and checked.

    Raises WindlassError (WL0904) for other indices than one array of one axis.
    """
    entry = as_span(np.asarray(index) if isinstance(index, list) else index.span if _is_unknown(index) else index)
    extent = span.extents[0]
    if entry.dtype == np.bool_ and entry.ndim == 1:
        expect_equal(entry.extents[0], extent)
        return _true_places(entry)
    if entry.dtype.kind not in "iu":
        raise span.unknown("which of its elements are asked for")
    count = extent.count if isinstance(extent, Length) else extent
    places = entry.read(entry.easiest).astype(jnp.int64)
    is_outside = ((places < -count) | (places >= count)) & has_element(entry.extents)
    tracing = current_tracing()
    if tracing is not None and places.size:
        position, length = position_now()
        check = Check("index {index} is out of bounds for axis 0", position, length=length, kind=ArrayIndexError)
        tracing.require_never(jnp.any(is_outside), check, jnp.ravel(places)[jnp.argmax(jnp.ravel(is_outside))])
    return of_elements(jnp.where(places < 0, places + count, places), entry.extents)


def _is_unknown(value: Any) -> bool:
    return isinstance(value, UnknownLength)


def _numbers_in_view(span: Span, places: Any) -> Any:
    """Places along the first axis of a span as places of its view."""
    bounds = span.bounds[0]
    found = places if bounds is None else bounds.start + places * bounds.step
    return jnp.clip(found, 0, max(span.view.shape[0] - 1, 0))


def take_of(span: Span, index: Any) -> Any:
    """`span[index]` for a mask or an array of places, of the first axis."""
    entries: tuple[Any, ...] = index if isinstance(index, tuple) else (index,)
    if len(entries) != 1 or not span.ndim or is_basic(entries[0]):
        raise span.unknown("which of its elements are asked for")
    places = _places_along(span, entries[0])
    rest = span.extents[1:]
    numbers = _numbers_in_view(span, places.read(places.easiest))
    shape = (*places.extents, *rest)
    if not span.view.shape[0]:
        found = jnp.zeros((*numbers.shape, *span.view.shape[1:]), span.dtype)
    else:
        found = jnp.take(jnp.asarray(span.view.value), numbers, axis=0, mode="clip")
    inner = Span(Array(found), (*(None,) * numbers.ndim, *span.bounds[1:]))
    found = inner.read(easiest_of(shape)) if any(span.bounds[1:]) else found
    return of_elements(found, shape) if any(isinstance(each, Length) for each in shape) else wrapped(found)


def put_of(span: Span, index: Any, value: Any) -> None:
    """`span[index] = value` for a mask or an array of places, of one axis."""
    entries: tuple[Any, ...] = index if isinstance(index, tuple) else (index,)
    if len(entries) != 1 or span.ndim != 1 or is_basic(entries[0]):
        raise span.unknown("which of its elements are written")
    if not span.view.shape[0]:
        return
    places = _places_along(span, entries[0])
    span.view[of_elements(_numbers_in_view(span, places.read(places.easiest)), places.extents)] = value


ANSWERS.update({"take": take, "put": put, "take of": take_of, "put of": put_of})
