"""Orders of spans of one axis: sorted, ranked, the different elements; what places have no element counts last."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import jax
import jax.numpy as jnp
import numpy as np

from windlass.diagnostics import ArrayIndexError
from windlass.frontends.arrays.array import Array, Scalar, wrapped
from windlass.frontends.arrays.indexing import plain
from windlass.frontends.arrays.lengths import Length, Stretch, without_first
from windlass.frontends.arrays.places import packed_places
from windlass.frontends.arrays.spans import Span, as_span, of_elements
from windlass.frontends.arrays.tracing import Check, current_tracing, position_now
from windlass.frontends.arrays.unknown_lengths import UnknownLength


def vector_of(value: Any) -> tuple[Any, Any]:
    """The elements of an array, in C order and from place 0 on, and how many there are of them: there may be more."""
    span = value.span if isinstance(value, UnknownLength) else as_span(value)
    length = span.extents[0] if span.ndim == 1 else None
    if isinstance(length, Length):
        return span.read((Stretch(0, length.room),)), length.count
    if any(isinstance(each, Length) for each in span.extents):
        raise span.unknown("the order of elements of several axes")
    elements = jnp.ravel(span.read((None,) * span.ndim))
    return elements, elements.shape[0]


def with_last(span: Any, elements: Any, count: Any) -> Any:
    """The elements, and in places behind them what is sorted behind all.

    Raises WindlassError (WL0904) for complex numbers.
    """
    if isinstance(count, int):
        return elements
    kind = np.dtype(elements.dtype)
    if kind.kind == "c":
        raise span.unknown("the order of complex numbers")
    last = True if kind.kind == "b" else np.iinfo(kind).max if kind.kind in "iu" else np.nan
    return jnp.where(jnp.arange(elements.shape[0]) < count, elements, jnp.asarray(last, kind))


def _expect_vector(span: Span, axis: Any, options: dict[str, Any], name: str) -> None:
    if span.ndim != 1 or axis not in (-1, 0, None) or any(value is not None for value in options.values()):
        raise span.unknown(f"what numpy.{name} gives")


def sort(span: Span, axis: Any = -1, kind: Any = None, **options: Any) -> Span:
    """`numpy.sort`."""
    _expect_vector(span, axis, options, "sort")
    elements, count = vector_of(span)
    return of_elements(jnp.sort(with_last(span, elements, count)), [without_first(span.extents[0])])


def argsort(span: Span, axis: Any = -1, kind: Any = None, **options: Any) -> Span:
    """`numpy.argsort`, always a stable one."""
    _expect_vector(span, axis, options, "argsort")
    elements, count = vector_of(span)
    order = jnp.argsort(with_last(span, elements, count), stable=True).astype(jnp.int64)
    return of_elements(order, [without_first(span.extents[0])])


def median(span: Span, axis: Any = None, **options: Any) -> Any:
    """`numpy.median`."""
    _expect_vector(span, axis, options, "median")
    elements, count = vector_of(span)
    kind = np.dtype(elements.dtype)
    if kind.kind not in "f":
        elements = elements.astype(jnp.float64)
    if not elements.shape[0]:
        return Scalar(jnp.full((), jnp.nan, elements.dtype))
    ordered = jnp.sort(with_last(span, elements, count))
    low, high, last = (
        jnp.take(ordered, jnp.asarray(place), mode="clip") for place in ((count - 1) // 2, count // 2, count - 1)
    )
    middle = jnp.where(jnp.asarray(count) % 2 == 1, high, (low + high) / 2)
    return Scalar(jnp.where(jnp.isnan(last) | (jnp.asarray(count) == 0), jnp.nan, middle).astype(elements.dtype))


# -- the different elements -------------------------------------------------------------------------------------------


def unique(
    ar: Any,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: Any = None,
    *,
    equal_nan: bool = True,
    **options: Any,
) -> Any:
    """`numpy.unique` of all elements."""
    span = ar.span if isinstance(ar, UnknownLength) else as_span(ar)
    if axis is not None and not (span.ndim == 1 and axis in (0, -1)):
        raise span.unknown("what numpy.unique along an axis gives")
    elements, count = vector_of(span)
    if np.dtype(elements.dtype).kind == "c":
        raise span.unknown("the order of complex numbers")
    size = elements.shape[0]
    if not size:
        found = np.unique(np.zeros(span.view.shape, span.dtype), return_index, return_inverse, return_counts)
        return jax.tree.map(Array, found)
    order = jnp.argsort(with_last(span, elements, count), stable=True).astype(jnp.int64)
    needs_order = return_index or return_inverse
    ordered = elements[order] if needs_order else jnp.sort(with_last(span, elements, count))
    is_first = jnp.concatenate([jnp.ones(min(size, 1), bool), _differ(ordered[1:], ordered[:-1], equal_nan)])
    if not isinstance(count, int):
        is_first &= jnp.arange(size) < count
    places, found = packed_places(is_first)
    length = Length(found, size)
    results: list[Any] = [of_elements(jnp.take(ordered, places, mode="clip"), [length])]
    if return_index:
        results.append(of_elements(jnp.take(order, places, mode="clip"), [length]))
    if return_inverse:
        number = jnp.cumsum(is_first.astype(jnp.int64)) - 1
        inverse = jnp.zeros(size, jnp.int64).at[order].set(number)
        if isinstance(count, int):
            results.append(wrapped(jnp.reshape(inverse, span.view.shape)))
        else:
            results.append(of_elements(inverse, [Length(count, size)]))
    if return_counts:
        ends = jnp.where(jnp.arange(size) + 1 < found, jnp.roll(places, -1), jnp.asarray(count, jnp.int64))
        results.append(of_elements(ends - places, [length]))
    return results[0] if len(results) == 1 else tuple(results)


def _differ(ones: Any, others: Any, equal_nan: bool) -> Any:
    differ = ones != others
    if equal_nan and jnp.issubdtype(ones.dtype, jnp.inexact):
        differ &= ~(jnp.isnan(ones) & jnp.isnan(others))
    return differ


def quantile(span: Span, q: Any, axis: Any = None, *rest: Any, scale: float = 1.0, **options: Any) -> Any:
    """`numpy.quantile` of the method "linear"; of `numpy.percentile` with `scale` 100."""
    _expect_vector(span, axis, options, "quantile")
    elements, count = vector_of(span)
    if elements.dtype == np.bool_:
        raise TypeError("numpy boolean subtract, the `-` operator, is not supported")
    if np.dtype(elements.dtype).kind != "f":
        elements = elements.astype(jnp.float64)
    if not elements.shape[0] or rest:
        raise span.unknown("what numpy.quantile gives")
    tracing = current_tracing()
    if tracing is not None:
        position, where = position_now()
        check = Check("index -1 is out of bounds for axis 0 with size 0", position, length=where, kind=ArrayIndexError)
        tracing.require_never(jnp.asarray(count) == 0, check)
    ordered = jnp.sort(with_last(span, elements, count))
    is_number = isinstance(q, int | float) and not isinstance(q, np.generic)
    share = jnp.asarray(plain(q), elements.dtype if is_number else None) / scale
    place = share * (jnp.asarray(count) - 1)
    below = jnp.floor(place)
    one, other, last = (
        jnp.take(ordered, jnp.asarray(each).astype(jnp.int64), mode="clip")
        for each in (below, jnp.minimum(below + 1, count - 1), count - 1)
    )
    part = place - below
    found = jnp.where(part >= 0.5, other - (other - one) * (1 - part), one + (other - one) * part)
    return wrapped(jnp.where(jnp.isnan(last), jnp.nan, found))


def _set_of_two(name: str) -> Callable[..., Any]:
    def find(ar1: Any, ar2: Any, assume_unique: bool = False, **options: Any) -> Any:
        if options:
            raise (ar1.span if isinstance(ar1, UnknownLength) else as_span(ar1)).unknown(f"what numpy.{name} gives")
        if name == "union1d":
            return unique(np.concatenate([np.ravel(ar1), np.ravel(ar2)]))
        first = unique(ar1) if not assume_unique else np.ravel(ar1)
        others = np.isin(first, ar2)
        return first[others if name == "intersect1d" else ~cast("Any", others)]

    return find


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "argsort": argsort,
    "intersect1d": _set_of_two("intersect1d"),
    "median": median,
    "percentile": lambda span, *rest, **options: quantile(span, *rest, scale=100.0, **options),
    "quantile": quantile,
    "setdiff1d": _set_of_two("setdiff1d"),
    "sort": sort,
    "union1d": _set_of_two("union1d"),
    "unique": unique,
    "unique_values": lambda x: unique(x, equal_nan=False),
}
