"""Axes of which it is known only as the program runs how many elements they have: those of slices whose bounds are
computed.

What is computed of such an axis is computed for a stretch of places (`Stretch`), as many as the compiled program has
room for, whatever stands at those that the axis does not have.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from windlass.diagnostics import ArrayValueError
from windlass.frontends.arrays.indexing import plain
from windlass.frontends.arrays.integers import as_wide_integer, clamped, difference, range_of
from windlass.frontends.arrays.tracing import Check, current_tracing, position_now


class Stretch(NamedTuple):
    """Places along an axis: so many from `start` on, which may be traced and negative."""

    start: Any
    size: int


@dataclass(frozen=True, eq=False)
class Length:
    """The elements of an axis: `count` of them, a traced integer.

    They are all among the `room` places from `first` on, which are the easiest to compute.
    """

    count: Any
    room: int
    first: Any = 0

    @property
    def easiest(self) -> Stretch:
        """Places among which all elements are."""
        return Stretch(self.first, self.room)

    def mask(self, stretch: Stretch) -> Any:
        """Which places of the stretch have elements."""
        places = jnp.arange(stretch.size) + stretch.start
        return (places >= 0) & (places < self.count)


def without_first(extent: Extent) -> Extent:
    """The same elements, of which the easiest to compute are those from place 0 on."""
    return Length(extent.count, extent.room) if isinstance(extent, Length) else extent


Extent: TypeAlias = int | Length
Stretches: TypeAlias = tuple[Stretch | None, ...]
"""For each axis the stretch that is asked for; None for all of an axis whose length is known."""


def is_all(entry: Any) -> bool:
    """Whether an index takes all of an axis."""
    return isinstance(entry, slice) and entry.start is None and entry.stop is None and entry.step is None


def spread_mask(mask: Any, axis: int, rank: int) -> Any:
    """The mask of one axis, with axes of one element for the others."""
    return jnp.reshape(mask, tuple(mask.shape[0] if each == axis else 1 for each in range(rank)))


class Bounds(NamedTuple):
    """Where a slice with traced bounds begins in its axis, how far its elements are apart, and how many there are."""

    start: Any
    step: int
    count: Any
    most: int


def bounds_of(entry: slice, extent: int) -> Bounds:
    """What a slice takes of an axis, as NumPy clamps it; its step is known.

    Raises ValueError for a step of zero.
    """
    step = 1 if entry.step is None else int(plain(entry.step))
    if step == 0:
        raise ValueError("slice step cannot be zero")
    least, greatest = (0, extent) if step > 0 else (-1, extent - 1)
    start = _place(entry.start, extent, least, greatest, least if step > 0 else greatest)
    stop = _place(entry.stop, extent, least, greatest, greatest if step > 0 else least)
    reach = difference(stop, start)
    if reach is not None:
        found = len(range(0, reach, step))
        return Bounds(start, step, found, found)
    span = stop - start if step > 0 else start - stop
    size = abs(step)
    count = span if size == 1 else (span + (size - 1)) // size
    least_span = range_of(span)[0]
    if least_span is None or least_span < 0:
        count = jnp.maximum(count, 0)
    most = len(range(0, extent, size))
    raw = None if entry.start is None or entry.stop is None else difference(*map(_integer, (entry.stop, entry.start)))
    if raw is not None:
        most = min(most, len(range(0, raw, step)))
    return Bounds(start, step, count, most)


def _integer(bound: Any) -> Any:
    return as_wide_integer(plain(bound))


def _place(bound: Any, extent: int, least: int, greatest: int, default: int) -> Any:
    """A bound as a place of the axis: counted from the end where it is negative, and clamped."""
    if bound is None:
        return default
    value = _integer(bound)
    low, high = range_of(value)
    if low is None or low < 0:
        value = value + extent if high is not None and high < 0 else jnp.where(value < 0, value + extent, value)
    return clamped(value, least, greatest)


def cut(value: Any, axis: int, start: Any, step: int, stretch: Stretch) -> Any:
    """The places of a stretch along an axis whose first element is at `start` and the next ones `step` farther each.

    Places that are beyond the ends of the axis have any elements.
    """
    extent, size = value.shape[axis], stretch.size
    if extent == 0:
        return jnp.zeros((*value.shape[:axis], size, *value.shape[axis + 1 :]), value.dtype)
    if abs(step) != 1:
        places = start + (stretch.start + jnp.arange(size)) * step
        return jnp.take(value, places, axis=axis, mode="clip")
    if step == -1:
        from_end = cut(value, axis, start - stretch.start - (size - 1), 1, Stretch(0, size))
        return jnp.flip(from_end, axis)
    first = start + stretch.start
    if size > extent:
        widths = [(0, size - extent if each == axis else 0) for each in range(value.ndim)]
        return cut(jnp.pad(value, widths), axis, first, 1, Stretch(0, size))
    if size == extent and difference(first, 0) == 0:
        return value
    low, high = range_of(first)
    if low is not None and high is not None and low >= 0 and high + size <= extent:
        return jax.lax.dynamic_slice_in_dim(value, first, size, axis)
    begin = jnp.clip(first, 0, extent - size)
    part = value if size == extent else jax.lax.dynamic_slice_in_dim(value, begin, size, axis)
    # What lies within the axis moves to its place; the rest comes round from the other end.
    return jax.lax.dynamic_slice_in_dim(jnp.concatenate([part, part], axis), (first - begin) % size, size, axis)


def count_of(extent: Extent) -> Any:
    """How many elements an axis has: an integer, maybe traced."""
    return extent.count if isinstance(extent, Length) else extent


def are_equal(one: Extent, other: Extent) -> bool:
    """Whether it is known that two axes have as many elements as each other."""
    return one is other or difference(count_of(one), count_of(other)) == 0


def expect_equal(one: Extent, other: Extent, *, may_be_one: bool = False) -> None:
    """Let the program fail where two axes that stand side by side have different numbers of elements; with `may_be_one`
    the second may have a single one.

    Raises ValueError where they are known to differ.
    """
    if are_equal(one, other):
        return
    first, second = count_of(one), count_of(other)
    text = "operands could not be broadcast together: slices of them have different numbers of elements"
    if difference(first, second) is not None and not may_be_one:
        raise ValueError(text)
    fails = jnp.asarray(first) != jnp.asarray(second)
    _expect_never(text, fails & (jnp.asarray(second) != 1) if may_be_one else fails)


def broadcast(one: Extent, other: Extent) -> Extent:
    """What two axes that stand side by side have: as many elements as each other, or as the other has where one has a
    single element. The program fails where neither is so.

    Raises ValueError where that is known.
    """
    if are_equal(one, other):
        return one if isinstance(one, Length) or not isinstance(other, Length) else other
    first, second = count_of(one), count_of(other)
    text = "operands could not be broadcast together: slices of them have different numbers of elements"
    if isinstance(first, int) and isinstance(second, int):
        if 1 not in (first, second):
            raise ValueError(text)
        return one if second == 1 else other
    _expect_never(text, (jnp.asarray(first) != second) & (jnp.asarray(first) != 1) & (jnp.asarray(second) != 1))
    rooms = [each.room if isinstance(each, Length) else each for each in (one, other)]
    return Length(jnp.where(jnp.asarray(first) == 1, second, first), max(rooms))


def _expect_never(text: str, fails: Any) -> None:
    tracing = current_tracing()
    if tracing is not None:
        position, length = position_now()
        help = "slices that stand side by side need as many elements as each other"
        tracing.require_never(fails, Check(text, position, help, "WL0922", length, ArrayValueError))


def is_traced_integer(value: Any) -> bool:
    """Whether it is an integer that is not known while the function is compiled."""
    value = plain(value)
    return isinstance(value, Tracer) and value.ndim == 0 and np.dtype(value.dtype).kind in "iu"
