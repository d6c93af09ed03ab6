"""`Span`: an array some of whose axes have lengths that are known only as the program runs, as `x[i:j]` has in a loop.

A span is a view of an array: for each of its axes all of the array's, or what lies between bounds that are computed
(`lengths.py`). Reading gives the elements at a stretch of places of each axis whose length is not known, and anything
where there is no element. What is computed of spans is a new array with as much room as its lengths may need, and the
span of its elements; reductions and products (`span_functions.py`) look at the places that have elements.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, cast

import jax
import jax.numpy as jnp
import numpy as np

from windlass.diagnostics import ArrayIndexError
from windlass.frontends.arrays.array import ANSWERS, Array, Scalar, wrapped
from windlass.frontends.arrays.indexing import for_each_axis, is_basic, is_integer, plain
from windlass.frontends.arrays.integers import arguments_behind
from windlass.frontends.arrays.lengths import (
    Bounds,
    Extent,
    Length,
    Stretch,
    Stretches,
    are_equal,
    bounds_of,
    broadcast,
    cut,
    expect_equal,
    is_all,
    is_traced_integer,
    spread_mask,
)
from windlass.frontends.arrays.operators import define_operators
from windlass.frontends.arrays.tracing import Check, Storage, current_tracing, position_now
from windlass.frontends.arrays.unknown_lengths import LEAVES, Leaving, UnknownLength
from windlass.frontends.arrays.views import shadow_of

HELP = (
    "elementwise functions, reductions, products and writes of such slices can be compiled; otherwise use the whole "
    "array with a mask: numpy.where(numpy.arange(a.size) < n, a, 0)"
)


class Span(UnknownLength):
    """The part of the array `view` between `bounds`, which are None for axes that it has all of. `extents` has a
    number or a `Length` for each axis."""

    __slots__ = ("bounds", "extents", "view")
    headline = "how many elements a slice has is not known while the function is compiled"
    help = HELP

    def __init__(self, view: Array, bounds: Sequence[Bounds | None]) -> None:
        super().__init__()
        self.view = view
        self.bounds = tuple(bounds)
        self.extents: tuple[Extent, ...] = tuple(
            extent if each is None else _length(each, extent)
            for each, extent in zip(self.bounds, view.shape, strict=True)
        )

    # -- what is known of it ------------------------------------------------------------------------------------------

    @property
    def dtype(self) -> np.dtype:
        return self.view.dtype

    @property
    def ndim(self) -> int:
        return len(self.extents)

    @property
    def shape(self) -> tuple[Any, ...]:
        return tuple(_counted(each) for each in self.extents)

    @property
    def size(self) -> Any:
        found: Any = 1
        for each in self.shape:
            found = each * found
        return found

    @property
    def easiest(self) -> Stretches:
        """The stretches that are the easiest to compute and have all elements."""
        return tuple(each.easiest if isinstance(each, Length) else None for each in self.extents)

    @property
    def span(self) -> Span:
        return self

    @property
    def axes(self) -> list[tuple[int, bool]]:
        return [(each.room, True) if isinstance(each, Length) else (each, False) for each in self.extents]

    @property
    def memory(self) -> Storage:
        return self.view.storage

    def leave(self) -> tuple[list[Any], Leaving]:
        stretches = tuple(Stretch(0, each.room) if isinstance(each, Length) else None for each in self.extents)
        axes = [axis for axis, each in enumerate(self.extents) if isinstance(each, Length)]
        counts = [jnp.asarray(cast("Length", self.extents[axis]).count) for axis in axes]
        return [self.read(stretches), *counts], Leaving(1 + len(axes), self.unknown(LEAVES), cut=tuple(axes))

    def read(self, stretches: Stretches) -> Any:
        """The elements at these stretches, with any elements at places that have none."""
        value = jnp.asarray(self.view.value)
        for axis, (each, stretch) in enumerate(zip(self.bounds, stretches, strict=True)):
            if stretch is not None:
                start, step = (0, 1) if each is None else (each.start, each.step)
                value = cut(value, axis, start, step, stretch)
        return value

    # -- elements -----------------------------------------------------------------------------------------------------

    def __getitem__(self, index: Any) -> Any:
        if not _is_basic(index):
            return ANSWERS["take of"](self, index)
        return self._at(index).settled

    def __setitem__(self, index: Any, value: Any) -> None:
        if not _is_basic(index):
            ANSWERS["put of"](self, index, value)
            return
        self._at(index).write(value)

    def _at(self, index: Any) -> Span:
        """The elements at basic indices, as a view where this is one."""
        found, axis = self, 0
        for entry in for_each_axis(index if isinstance(index, tuple) else (index,), self.ndim):
            if entry is None:
                found, axis = _with_axis(found, axis), axis + 1
            elif isinstance(entry, slice):
                found, axis = _sliced(found, axis, entry), axis + 1
            else:
                found = _without_axis(found, axis, entry)
        return found

    @property
    def settled(self) -> Any:
        """The span, or the array that it is where all its lengths are known."""
        if any(each is not None for each in self.bounds):
            return self
        return self.view if self.ndim else wrapped(self.view.value)

    def write(self, value: Any) -> None:
        """Write to the array that this is a view of."""
        new = as_span(value)
        extra = new.ndim - self.ndim
        if extra > 0 and all(each == 1 for each in new.extents[:extra]):
            new = as_span(new[(0,) * extra])
        expect_broadcast(self.extents, new)
        view = self.view
        mask: Any = True
        stretches: list[Stretch | None] = []
        for axis, (bounds, extent) in enumerate(zip(self.bounds, view.shape, strict=True)):
            if bounds is None:
                stretches.append(None)
                continue
            length = cast("Length", self.extents[axis])
            places, stretch, found = _places_in(view, axis, bounds, length, extent)
            view = view if places is None else _window(view, axis, *places)
            stretches.append(stretch)
            mask = mask & spread_mask(found, axis, view.ndim)
        elements = read_aligned(new, self.extents, tuple(stretches))
        for axis, bounds in enumerate(self.bounds):
            if bounds is not None and abs(bounds.step) != 1:
                places = (jnp.arange(view.shape[axis]) - bounds.start) // bounds.step
                if elements.ndim >= view.ndim - axis and elements.shape[axis - view.ndim] != 1:
                    elements = jnp.take(elements, jnp.clip(places, 0, None), axis=axis - view.ndim, mode="clip")
            elif bounds is not None and bounds.step == -1 and elements.ndim >= view.ndim - axis:
                elements = jnp.flip(elements, axis - view.ndim)
        view.write_where(view, mask, wrapped(elements))

    # -- NumPy's protocols --------------------------------------------------------------------------------------------

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        return ANSWERS["ufunc of spans"](ufunc, method, inputs, options)

    def __array_function__(self, function: Any, types: Any, arguments: Sequence[Any], options: Any) -> Any:
        return ANSWERS["function of spans"](self, function, arguments, options)

    def __repr__(self) -> str:
        return f"windlass.Span({self.shape!r}, {self.dtype})"

    # -- methods ------------------------------------------------------------------------------------------------------

    def astype(self, dtype: Any, **options: Any) -> Span:
        return lifted(lambda each: each.astype(dtype, **options), self)

    def copy(self, order: str = "C") -> Span:
        return of_elements(self.read(self.easiest), self.extents)

    def fill(self, value: Any) -> None:
        self.write(value)

    def sort(self, axis: int = -1, kind: Any = None) -> None:
        self.write(np.sort(cast("Any", self), axis, kind))

    def ravel(self, order: str = "C") -> Any:
        return np.ravel(cast("Any", self), cast("Any", order))

    def flatten(self, order: str = "C") -> Any:
        return self.ravel(order).copy()

    @property
    def T(self) -> Span:  # noqa: N802 (NumPy's name)
        return self.transpose()

    def transpose(self, *axes: Any) -> Span:
        given = axes[0] if len(axes) == 1 and (axes[0] is None or isinstance(axes[0], tuple | list)) else axes
        order = tuple(range(self.ndim))[::-1] if not given else tuple(range(self.ndim)[each] for each in given)
        if sorted(order) != list(range(self.ndim)):
            raise ValueError("axes don't match array")
        return Span(self.view.transpose(order), [self.bounds[each] for each in order])

    def dot(self, other: Any) -> Any:
        return np.dot(cast("Any", self), other)

    @property
    def real(self) -> Span:
        return lifted(np.real, self)

    @property
    def imag(self) -> Span:
        return lifted(np.imag, self)

    def conj(self) -> Span:
        return lifted(np.conj, self)


define_operators(Span)
for _name in ("sum", "prod", "mean", "std", "var", "any", "all", "max", "min", "ptp", "argmax", "argmin", "cumsum",
              "cumprod", "clip", "round", "argsort", "nonzero", "searchsorted", "take"):  # fmt: skip

    def _method(self: Span, *rest: Any, _name: str = _name, **options: Any) -> Any:
        return getattr(np, _name)(self, *rest, **options)

    setattr(Span, _name, _method)


def _is_basic(index: Any) -> bool:
    return all(map(is_basic, index)) if isinstance(index, tuple) else is_basic(index)


def _counted(extent: Extent) -> Any:
    if not isinstance(extent, Length):
        return extent
    return Scalar(jnp.asarray(extent.count))


# -- slices of arrays -------------------------------------------------------------------------------------------------


def moves(entries: Sequence[Any]) -> bool:
    """Whether a slice among the indices has a bound that is not known, and that no argument of the function tells."""
    bounds = [bound for each in entries if isinstance(each, slice) for bound in (each.start, each.stop)]
    steps = [each.step for each in entries if isinstance(each, slice)]
    tracing = current_tracing()
    if tracing is None or not any(is_traced_integer(each) for each in bounds) or any(map(is_traced_integer, steps)):
        return False
    return not any(is_traced_integer(each) and arguments_behind(plain(each), tracing.arguments) for each in bounds)


def slice_of(array: Array, entries: Sequence[Any]) -> Any:
    """`array[entries]`, where `moves(entries)`: a span, or a view where the lengths are known after all."""
    full = for_each_axis(entries, array.ndim)
    is_moving = [
        isinstance(each, slice) and (is_traced_integer(each.start) or is_traced_integer(each.stop)) for each in full
    ]
    view = array[tuple(slice(None) if moving else each for each, moving in zip(full, is_moving, strict=True))]
    kept = [each if moving else None for each, moving in zip(full, is_moving, strict=True) if not is_integer(each)]
    bounds = [None if each is None else bounds_of(each, extent) for each, extent in zip(kept, view.shape, strict=True)]
    for axis, each in enumerate(bounds):
        if each is not None and isinstance(each.count, int):
            view, bounds[axis] = _window(view, axis, each.start, each.step, each.count), None
    return Span(view, bounds) if any(each is not None for each in bounds) else view


def write_slice(array: Array, entries: Sequence[Any], value: Any) -> None:
    """`array[entries] = value`, where `moves(entries)`."""
    part = slice_of(array, entries)
    if isinstance(part, Span):
        part.write(value)
    else:
        part[...] = value


def _length(bounds: Bounds, extent: int) -> Length:
    start, step, count, most = bounds
    if abs(step) != 1 or most < extent:
        return Length(count, most)
    return Length(count, extent, -start if step == 1 else start - (extent - 1))


def _window(view: Array, axis: int, start: Any, step: int, count: int) -> Array:
    """`view[start : start + step * count : step]` along an axis, for a traced start."""
    before = (slice(None),) * axis
    if step < 0:
        return _window(view, axis, start + step * (count - 1), -step, count)[(*before, slice(None, None, -1))]
    return view.window(axis, start, step, count)


def _places_in(
    view: Array, axis: int, bounds: Bounds, length: Length, extent: int
) -> tuple[tuple[Any, int, int] | None, Stretch, Any]:
    """How a span's elements are written along an axis: the window of the view to be written (None for all of it), the
    stretch of elements that lies there, and which of its places have elements."""
    start, step, _, most = bounds
    if abs(step) != 1:
        places = jnp.arange(extent) - start
        numbers = places // step
        return None, Stretch(0, most), (places % step == 0) & (numbers >= 0) & (numbers < length.count)
    size = min(most, extent)
    if step == 1:
        begin = 0 if size == extent else jnp.clip(start, 0, extent - size)
        stretch = Stretch(begin - start, size)
        return None if size == extent else (begin, 1, size), stretch, length.mask(stretch)
    begin = 0 if size == extent else jnp.clip(start - (size - 1), 0, extent - size)
    stretch = Stretch(start - begin - (size - 1), size)
    return None if size == extent else (begin, 1, size), stretch, jnp.flip(length.mask(stretch))


# -- axes of spans ----------------------------------------------------------------------------------------------------


def _with_axis(span: Span, axis: int) -> Span:
    view = span.view[(*(slice(None),) * axis, None)]
    return Span(view, (*span.bounds[:axis], None, *span.bounds[axis:]))


def _sliced(span: Span, axis: int, entry: slice) -> Span:
    if is_all(entry):
        return span
    if is_traced_integer(entry.step):
        raise span.unknown("what a step that is not known takes")
    extent = span.view.shape[axis]
    outer = span.bounds[axis] or Bounds(0, 1, extent, extent)
    inner = _bounds_within(entry, span.extents[axis])
    start = outer.start + inner.start * outer.step
    found = Bounds(start, outer.step * inner.step, inner.count, min(inner.most, outer.most))
    return Span(span.view, (*span.bounds[:axis], found, *span.bounds[axis + 1 :]))


def _bounds_within(entry: slice, extent: Extent) -> Bounds:
    """What a slice takes of an axis of a span."""
    if not isinstance(extent, Length):
        return bounds_of(entry, extent)
    step = 1 if entry.step is None else int(plain(entry.step))
    if step == 0:
        raise ValueError("slice step cannot be zero")
    count = jnp.asarray(extent.count, jnp.int64)
    least, greatest = (jnp.int64(0), count) if step > 0 else (jnp.int64(-1), count - 1)

    def place(bound: Any, default: Any) -> Any:
        if bound is None:
            return default
        value = jnp.asarray(plain(bound), jnp.int64)
        return jnp.clip(jnp.where(value < 0, value + count, value), least, greatest)

    start = place(entry.start, 0 if step > 0 else extent.count - 1)
    stop = place(entry.stop, extent.count if step > 0 else -1)
    span = stop - start if step > 0 else start - stop
    found = span if abs(step) == 1 else (span + (abs(step) - 1)) // abs(step)
    has_no_bounds = entry.start is None and entry.stop is None
    return Bounds(start, step, found if has_no_bounds else jnp.maximum(found, 0), len(range(0, extent.room, abs(step))))


def _without_axis(span: Span, axis: int, entry: Any) -> Span:
    """One place of an axis, which may be counted from the end, and is checked."""
    extent = span.extents[axis]
    count = extent.count if isinstance(extent, Length) else extent
    value = plain(entry)
    number = jnp.asarray(value, jnp.int64)
    tracing = current_tracing()
    if tracing is not None:
        position, length = position_now()
        text = f"index {{index}} is out of bounds for axis {axis} of a slice"
        check = Check(text, position, length=length, kind=ArrayIndexError)
        tracing.require_never((number < -jnp.asarray(count)) | (number >= count), check, number)
    place = jnp.where(number < 0, number + count, number) if isinstance(value, jax.Array) else (
        count + int(value) if int(value) < 0 else int(value)
    )  # fmt: skip
    view, each = span.view, span.bounds[axis]
    where = place if each is None else jnp.clip(each.start + place * each.step, 0, max(view.shape[axis] - 1, 0))
    part = view.window(axis, where, 1, 1).reshape(*view.shape[:axis], *view.shape[axis + 1 :])
    return Span(part, (*span.bounds[:axis], *span.bounds[axis + 1 :]))


# -- with other values ------------------------------------------------------------------------------------------------

LINEAR = frozenset({"add", "subtract", "negative", "positive"})
"""Ufuncs whose derivatives are numbers: what they give where there is no element reaches nothing else."""


def as_span(value: Any) -> Span:
    """Any operand as a span."""
    if isinstance(value, Span):
        return value
    array = value if isinstance(value, Array) else Array(value if isinstance(value, jax.Array) else np.asarray(value))
    return Span(array, (None,) * array.ndim)


def of_elements(value: Any, extents: Sequence[Extent]) -> Span:
    """A new span, whose elements at the easiest stretches these are."""
    bounds = [Bounds(-each.first, 1, each.count, each.room) if isinstance(each, Length) else None for each in extents]
    return Span(Array(value), bounds)


def lifted(function: Callable[..., Any], *operands: Any, is_linear: bool = False) -> Any:
    """What a function that looks at elements one by one gives of operands that are broadcast."""
    given = [each if _is_plain_number(each) else as_span(each) for each in operands]
    spans = [each for each in given if isinstance(each, Span)]
    extents = common_extents([each.extents for each in spans])

    stretches = tuple(each.easiest if isinstance(each, Length) else None for each in extents)
    values: list[Any] = []
    for operand, each in zip(operands, given, strict=True):
        if not isinstance(each, Span):
            values.append(each)
            continue
        value = read_aligned(each, extents, stretches)
        if not is_linear:
            value = _benign(value, each.extents, extents, stretches)
        is_number = not each.ndim and (isinstance(operand, np.generic) or getattr(operand, "is_scalar", False))
        values.append(Scalar(value) if is_number else Array(value))
    found = function(*values)
    if isinstance(found, tuple):
        return tuple(of_elements(elements_of(each), extents) for each in cast("tuple[Any, ...]", found))
    return of_elements(elements_of(found), extents)


def elements_of(value: Any) -> Any:
    return jnp.asarray(plain(value))


def _is_plain_number(value: Any) -> bool:
    """Whether it is a number of Python's, which is promoted weakly."""
    return isinstance(value, bool | int | float | complex) and not isinstance(value, np.generic)


def common_extents(shapes: Sequence[Sequence[Extent]]) -> tuple[Extent, ...]:
    """The extents of operands that are broadcast against each other; that they can be is checked.

    Raises ValueError where they are known not to be.
    """
    rank = max(map(len, shapes))
    found: list[Extent] = []
    for place in range(-rank, 0):
        extents = [shape[place] for shape in shapes if len(shape) >= -place]
        lengths = [each for each in extents if isinstance(each, Length)]
        others = [each for each in extents if not isinstance(each, Length) and each != 1]
        found.append(functools.reduce(broadcast, (*lengths, *others) or (1,)))
    return tuple(found)


def equal_extents(shapes: Sequence[Sequence[Extent]]) -> tuple[Extent, ...]:
    """The extents of arrays that have the same ones; that they are the same is checked.

    Raises ValueError where they are known not to be.
    """
    found: list[Extent] = []
    for extents in zip(*shapes, strict=True):
        chosen = next((each for each in extents if isinstance(each, Length)), extents[0])
        for each in extents:
            expect_equal(chosen, each)
        found.append(chosen)
    return tuple(found)


def read_aligned(span: Span, extents: Sequence[Extent], stretches: Sequence[Stretch | None]) -> Any:
    """The elements of an operand that are broadcast to these stretches of axes of the result."""
    offset = len(extents) - span.ndim
    own = [
        None if extent == 1 and not isinstance(extent, Length) else stretches[offset + axis]
        for axis, extent in enumerate(span.extents)
    ]
    for axis, extent in enumerate(span.extents):
        wanted = extents[offset + axis]
        if isinstance(extent, Length) and isinstance(wanted, int):
            own[axis] = Stretch(0, wanted)
    for axis, extent in enumerate(span.extents):
        wanted = extents[offset + axis]
        if not isinstance(extent, Length) or are_equal(extent, wanted) or not extent.room:
            continue
        # It may be that a single element stands beside all others.
        found = read_aligned(span, (*extents[: offset + axis], extent, *extents[offset + axis + 1 :]), stretches)
        first = span.read((*own[:axis], Stretch(0, 1), *own[axis + 1 :]))
        return jnp.where(jnp.asarray(extent.count) == 1, first, found)
    return span.read(tuple(own))


def _benign(value: Any, own: Sequence[Extent], extents: Sequence[Extent], stretches: Stretches) -> Any:
    """The elements, and one of them in all places that have none: what is computed there has no poles of its own."""
    if not jnp.issubdtype(value.dtype, jnp.inexact):
        return value
    offset = len(extents) - len(own)
    for axis, extent in enumerate(own):
        length, stretch = extents[offset + axis], stretches[offset + axis]
        if stretch is None or not isinstance(length, Length) or value.shape[axis] == 1 or extent == 1:
            continue
        place = jnp.clip(-jnp.asarray(stretch.start), 0, stretch.size - 1)
        one = jax.lax.dynamic_slice_in_dim(value, place, 1, axis)
        one = jnp.where(length.count > 0, one, jnp.ones((), value.dtype))
        value = jnp.where(spread_mask(length.mask(stretch), axis, value.ndim), value, one)
    return value


def expect_broadcast(target: Sequence[Extent], value: Span) -> None:
    """Raises ValueError where what is written can't be broadcast to where; that lengths are equal is checked."""
    if value.ndim > len(target):
        raise ValueError(
            f"could not broadcast input array from shape {value.shape} into shape {tuple(map(_counted, target))}"
        )
    for place in range(-value.ndim, 0):
        extent, wanted = value.extents[place], target[place]
        if extent is wanted or (not isinstance(extent, Length) and extent == 1):
            continue
        if not isinstance(extent, Length) and not isinstance(wanted, Length) and extent != wanted:
            raise ValueError(
                f"could not broadcast input array from shape {value.shape} into shape {tuple(map(_counted, target))}"
            )
        if isinstance(extent, Length) or isinstance(wanted, Length):
            expect_equal(wanted, extent, may_be_one=True)


def fitted(value: UnknownLength, shape: Sequence[int]) -> Any:
    """The elements for an array of this shape that they are written to; that they can be is checked."""
    span = value.span
    expect_broadcast(shape, span)
    return read_aligned(span, shape, (None,) * len(shape))


def _children(span: Span) -> tuple[tuple[Any, ...], Any]:
    """What a span is made of where it is carried: its array, where it begins in that, and how many elements it has."""
    numbers = [_carried(number) for each in span.bounds if each for number in (each.start, each.count)]
    return (span.view, *numbers), tuple(each and (each.step, each.most) for each in span.bounds)


def _carried(number: Any) -> Any:
    """An integer as a part of a value; nothing is computed: the trace that the integer is of may have ended."""
    if not isinstance(number, jax.Array):
        return number
    return Scalar(None, Storage(number), (), shadow_of((), np.dtype(number.dtype)))


def _from_children(kinds: Any, parts: Sequence[Any]) -> Any:
    view, *numbers = parts
    if not isinstance(view, Array) or not all(isinstance(each, Array | int) for each in numbers):
        return tuple(parts)
    values = iter(plain(each) for each in numbers)
    return Span(view, [each and Bounds(next(values), each[0], next(values), each[1]) for each in kinds])


jax.tree_util.register_pytree_node(Span, _children, _from_children)
ANSWERS.update({"moves": moves, "span": slice_of, "fitted": fitted, "write span": write_slice})
