"""Functions of NumPy that make arrays of as many elements as data decide: `nonzero`, `compress`, `unique` and their
kin, and those that put such arrays together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import jax
import jax.numpy as jnp
import numpy as np

from windlass.frontends.arrays import span_orders
from windlass.frontends.arrays.array import Array, Scalar
from windlass.frontends.arrays.indexing import as_one_array, plain
from windlass.frontends.arrays.integers import as_wide_integer, range_of
from windlass.frontends.arrays.lengths import Length, Stretch, is_traced_integer
from windlass.frontends.arrays.places import true_places
from windlass.frontends.arrays.span_indexing import easiest_of, has_element
from windlass.frontends.arrays.spans import Span, as_span, equal_extents, lifted, of_elements, read_aligned
from windlass.frontends.arrays.unknown_lengths import UnknownLength


def spans_of(values: Sequence[Any]) -> list[Span]:
    """Arrays, lists and what data decide the length of, as spans."""
    return [
        each.span if isinstance(each, UnknownLength) else as_span(as_one_array(each) if _is_list(each) else each)
        for each in values
    ]


def _is_list(value: Any) -> bool:
    return isinstance(value, list | tuple)


# -- places -----------------------------------------------------------------------------------------------------------


def _truth(value: Any) -> tuple[Any, Span]:
    """Which elements are not zero, those that there are not being none of them; and the span that they are of."""
    (span,) = spans_of([value])
    stretches = tuple(Stretch(0, each.room) if isinstance(each, Length) else None for each in span.extents)
    is_there = [Length(each.count, each.room) if isinstance(each, Length) else each for each in span.extents]
    return (span.read(stretches) != 0) & has_element(is_there), span


def nonzero(a: Any) -> tuple[Any, ...]:
    """`numpy.nonzero`, and `numpy.where` of a condition alone."""
    truth, _ = _truth(a)
    if not truth.ndim:
        raise ValueError("Calling nonzero on 0d arrays is not allowed. Use np.atleast_1d(scalar).nonzero() instead.")
    left = true_places(truth)
    if truth.ndim == 1:
        return (left,)
    found: list[Any] = []
    for extent in reversed(truth.shape):
        found.append(np.remainder(left, max(extent, 1)))
        left = left // max(extent, 1)
    return tuple(reversed(found))


def flatnonzero(a: Any) -> Any:
    """`numpy.flatnonzero`."""
    truth, span = _truth(a)
    if span.ndim > 1 and any(isinstance(each, Length) for each in span.extents[1:]):
        raise span.unknown("where the elements of several axes are")
    return true_places(truth)


def argwhere(a: Any) -> Any:
    """`numpy.argwhere`."""
    return np.stack(nonzero(a), axis=1)


# -- what a mask picks ------------------------------------------------------------------------------------------------


def compress(condition: Any, a: Any, axis: Any = None) -> Any:
    """`numpy.compress`: the condition may be shorter than the axis."""
    truth, _ = _truth(condition)
    (span,) = spans_of([a])
    if span.ndim != 1 and axis is None:
        span = as_span(np.ravel(a))
    axis = range(span.ndim)[0 if axis is None else axis]
    extent = span.extents[axis]
    if truth.ndim != 1 or isinstance(extent, Length) or truth.shape[0] > extent:
        if truth.ndim != 1 or not isinstance(extent, Length) or axis:
            raise span.unknown("what numpy.compress gives")
        return span[true_places(truth)]
    mask = jnp.pad(truth, (0, extent - truth.shape[0]))
    return span.view[(*(slice(None),) * axis, Array(mask))]


def extract(condition: Any, arr: Any) -> Any:
    """`numpy.extract`."""
    return compress(np.ravel(condition), np.ravel(arr), 0)


def delete(arr: Any, obj: Any, axis: Any = None) -> Any:
    """`numpy.delete` of what a mask picks, or of places."""
    (span,) = spans_of([arr])
    if axis is None:
        span = span if span.ndim == 1 else as_span(np.ravel(arr))
        axis = 0
    axis = range(span.ndim)[axis]
    extent = span.extents[axis]
    (what,) = spans_of([obj])
    if what.dtype == np.bool_ and what.ndim == 1:
        kept: Any = ~what.settled
    elif what.dtype.kind in "iu" and what.ndim <= 1 and not isinstance(extent, Length):
        flags = Array(jnp.ones(extent, bool))
        flags[what.settled] = False
        kept = flags
    else:
        raise span.unknown("what numpy.delete gives")
    return span.settled[(*(slice(None),) * axis, kept)]


# -- put together -----------------------------------------------------------------------------------------------------


def _in_one_dtype(spans: Sequence[Span], dtype: Any) -> np.dtype:
    return np.result_type(*(each.dtype for each in spans)) if dtype is None else np.dtype(dtype)


def concatenate(arrays: Any, axis: Any = 0, *, dtype: Any = None, casting: Any = None) -> Any:
    """`numpy.concatenate`: each part is written behind the elements of those before it."""
    spans = spans_of(arrays)
    if axis is None:
        spans, axis = spans_of([np.ravel(each) for each in arrays]), 0
    axis = range(spans[0].ndim)[axis]
    if any(each.ndim != spans[0].ndim for each in spans):
        raise ValueError("all the input array dimensions except for the concatenation axis must match exactly")
    rests = [each.extents[:axis] + each.extents[axis + 1 :] for each in spans]
    rest = equal_extents(rests)
    kind = _in_one_dtype(spans, dtype)
    room = sum(each.room if isinstance(each, Length) else each for each in (span.extents[axis] for span in spans))
    others = [each.room if isinstance(each, Length) else each for each in rest]
    found = jnp.zeros((*others[:axis], room, *others[axis:]), kind)
    count: Any = 0
    for span in spans:
        extent = span.extents[axis]
        extents = (*rest[:axis], extent, *rest[axis:])
        stretches = list(easiest_of(extents))
        if isinstance(extent, Length):
            stretches[axis] = Stretch(0, extent.room)
        part = read_aligned(span, extents, stretches).astype(kind)
        found = jax.lax.dynamic_update_slice_in_dim(found, part, jnp.asarray(count, jnp.int64), axis)
        count = count + (extent.count if isinstance(extent, Length) else extent)
    return of_elements(found, (*rest[:axis], Length(count, room), *rest[axis:]))


def _appended(arr: Any, values: Any, axis: Any = None) -> Any:
    return concatenate([arr, values], axis)


def _side_by_side(tup: Any, **options: Any) -> Any:
    spans = spans_of(tup)
    return concatenate(tup, 0 if spans[0].ndim == 1 else 1, **options)


def stack(arrays: Any, axis: int = 0, *, dtype: Any = None, casting: Any = None) -> Any:
    """`numpy.stack`."""
    spans = spans_of(arrays)
    if any(each.ndim != spans[0].ndim for each in spans):
        raise ValueError("all input arrays must have the same shape")
    extents = equal_extents([each.extents for each in spans])
    axis = range(len(extents) + 1)[axis]
    kind = _in_one_dtype(spans, dtype)
    parts = [read_aligned(each, extents, easiest_of(extents)).astype(kind) for each in spans]
    return of_elements(jnp.stack(parts, axis), (*extents[:axis], len(spans), *extents[axis:]))


def _rows(tup: Any, **options: Any) -> Any:
    return concatenate([each if np.ndim(each) > 1 else each[None] for each in spans_of(tup)], 0, **options)


def _columns(tup: Any) -> Any:
    return concatenate([each if np.ndim(each) > 1 else each[:, None] for each in spans_of(tup)], 1)


def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> Any:
    """`numpy.array_equal`: arrays of different lengths are not equal."""
    one, other = spans_of([a1, a2])
    if one.ndim != other.ndim:
        return False
    if one.ndim != 1 or equal_nan:
        raise one.unknown("whether it is equal to another array")
    (first, firsts), (second, seconds) = map(span_orders.vector_of, (one, other))
    size = min(first.shape[0], second.shape[0])
    is_there = jnp.arange(size) < firsts
    are_equal = jnp.all((first[:size] == second[:size]) | ~is_there)
    return Scalar(jnp.asarray(firsts == seconds) & are_equal)


def isin(element: Any, test_elements: Any, assume_unique: bool = False, invert: bool = False, **options: Any) -> Any:
    """`numpy.isin`."""
    if not isinstance(test_elements, UnknownLength):
        return lifted(lambda each: np.isin(each, test_elements, invert=invert), element)
    others, count = span_orders.vector_of(test_elements)
    if not others.shape[0]:
        return lifted(lambda each: np.full_like(each, invert, bool), element)
    # Places without an element are the first, if there is one.
    others = Array(jnp.where(jnp.arange(others.shape[0]) < count, others, others[0]))
    found = lifted(lambda each: np.isin(each, others) & Array(jnp.asarray(count > 0)), element)
    found = ~found if invert else found
    return found.settled


def of_shape(function: Callable[..., Any], arguments: Sequence[Any], named: dict[str, Any]) -> Any:
    """What `numpy.zeros(n)`, `ones`, `empty`, `full` and `arange(n)` give for a traced `n` of which it is known how
    much it is at most; NotImplemented for others."""
    if named.keys() - {"dtype", "fill_value"} or not arguments:
        return NotImplemented
    first, *rest = arguments
    shape = list(first) if _is_list(first) else [first]
    extents: list[Any] = []
    for each in shape:
        value = plain(each)
        low, high = range_of(value) if is_traced_integer(value) or isinstance(value, int | np.integer) else (None, None)
        if low is None or high is None or low < 0:
            return NotImplemented
        extents.append(int(value) if low == high else Length(as_wide_integer(value), high))
    if function is np.arange and (len(extents) > 1 or rest or _is_list(first)):
        return NotImplemented
    rooms = [each.room if isinstance(each, Length) else each for each in extents]
    made = function(rooms[0] if function is np.arange else rooms, *rest, **named)
    return of_elements(jnp.asarray(plain(made)), extents)


def ravel(a: Any, order: str = "C") -> Any:
    """`numpy.ravel`, where only the first axis has a length that data decide."""
    (span,) = spans_of([a])
    if span.ndim == 1:
        return span
    if (
        order != "C"
        or not isinstance(span.extents[0], Length)
        or any(isinstance(each, Length) for each in span.extents[1:])
    ):
        raise span.unknown("what numpy.ravel gives")
    length = span.extents[0]
    each = int(np.prod(cast("Any", span.extents[1:])))
    elements = span.read((Stretch(0, length.room), *(None,) * (span.ndim - 1)))
    return of_elements(jnp.reshape(elements, -1), [Length(length.count * each, length.room * each)])


def _elementwise_in(place: int) -> Callable[[Any], Callable[..., Any]]:
    """A function of NumPy that looks at the elements of one of its arguments one by one, and takes others whole."""

    def of(function: Any) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            span = arguments[place]
            others = [each for number, each in enumerate(arguments) if number != place]
            given = next((each for each in (*others, *options.values()) if isinstance(each, UnknownLength)), None)
            if given is not None:
                raise given.unknown(f"what numpy.{function.__name__} gives")

            def one(elements: Any) -> Any:
                return function(*others[:place], elements, *others[place:], **options)

            return lifted(one, span.span if isinstance(span, UnknownLength) else span)

        return call

    return of


MAKING: dict[str, Callable[..., Any]] = {
    "argwhere": argwhere, "compress": compress, "delete": delete, "extract": extract, "flatnonzero": flatnonzero,
    "nonzero": nonzero,
}  # fmt: skip
"""What gives as many elements as data decide, by no more than one walk along its argument."""
SORTING = frozenset({"unique", "unique_values", "union1d", "intersect1d", "setdiff1d"})
"""The same, by sorting."""
FUNCTIONS: dict[str, Callable[..., Any]] = {
    **MAKING,
    **span_orders.FUNCTIONS,
    "append": _appended, "array_equal": array_equal, "column_stack": _columns, "concatenate": concatenate,
    "hstack": _side_by_side, "ravel": ravel, "stack": stack, "vstack": _rows, "where": nonzero,
    "digitize": _elementwise_in(0)(np.digitize), "interp": _elementwise_in(0)(np.interp),
    "isin": isin, "searchsorted": _elementwise_in(1)(np.searchsorted),
}  # fmt: skip
"""Functions of spans that make arrays of other lengths, or look at other arrays as a whole."""
