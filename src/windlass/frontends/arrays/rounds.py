"""What a `for` loop goes over: ranges, arrays, and `enumerate`, `zip` and `reversed` of them.

A round is known by its number, which may be traced: then the loop can be one operation. What can only be asked for one
element after the other (lists, generators) is run by Python.
"""

from __future__ import annotations

import builtins
import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from windlass.diagnostics import ArrayValueError
from windlass.frontends.arrays.array import Array, Scalar
from windlass.frontends.arrays.integers import note_range
from windlass.frontends.arrays.spans import Span
from windlass.frontends.arrays.states import NotCapturable, is_traced, plain
from windlass.frontends.arrays.tracing import Check, current_tracing, position_now
from windlass.frontends.arrays.unknown_lengths import UnknownLength

ENTRY_POINTS = ("over",)
"""What captured functions call."""


class Rounds(ABC):
    """The rounds of a loop: an iterable of what the loop's target gets, where their count is known."""

    count: Any
    """How many rounds there are: a number, maybe traced; None where only going through them tells."""
    takes_traced = True
    """Whether what a round gets can be had by its traced number."""

    @abstractmethod
    def item(self, number: Any) -> Any:
        """What the round with this number gets; the number is one that there is."""

    def __iter__(self) -> Iterator[Any]:
        if self.count is None or is_traced(self.count):
            raise NotCapturable("how often the loop runs is not known, and what it goes over can't be indexed")
        return (self.item(number) for number in range(self.count))


class Range(Rounds):
    """`range`, whose bounds and step may be traced. What rounds get lies between `start` and `last`."""

    def __init__(self, *bounds: Any) -> None:
        if not any(is_traced(bound) for bound in bounds):
            self.known = range(*(_as_index(bound) for bound in bounds))
            self.start, self.step, self.count = self.known.start, self.known.step, len(self.known)
            self.last = self.known[-1] if self.known else self.start
            return
        for bound in bounds:
            if is_traced(bound) and jax.typeof(plain(bound)).dtype.kind not in "iub":
                raise TypeError(f"'{np.dtype(plain(bound).dtype).name}' object cannot be interpreted as an integer")
        self.known = None
        wide = [bound if isinstance(bound, int) else jnp.asarray(plain(bound)).astype(jnp.int64) for bound in bounds]
        self.start, stop, self.step = (0, wide[0], 1) if len(wide) == 1 else (wide[0], wide[1], (*wide, 1)[2])
        if isinstance(self.step, int) and self.step == 0:
            raise ValueError("range() arg 3 must not be zero")
        tracing = current_tracing()
        if tracing is not None and not isinstance(self.step, int):
            position, length = position_now()
            check = Check("range() arg 3 must not be zero", position, None, "WL0916", length, ArrayValueError)
            tracing.require_never(self.step == 0, check)
        self.count = _trip_count(self.start, stop, self.step)
        self.last = stop - 1 if isinstance(self.step, int) and self.step > 0 else stop + 1

    def item(self, number: Any) -> Any:
        found = self.start + number * self.step
        if isinstance(found, int):
            return found
        if isinstance(self.step, int):
            ends = (self.start, self.last) if self.step > 0 else (self.last, self.start)
            note_range(found, *ends)
        return Scalar(found)


class Elements(Rounds):
    """The rows of an array, or its elements if it has one axis."""

    def __init__(self, array: Any) -> None:
        self.array = array
        self.count = array.shape[0]

    def item(self, number: Any) -> Any:
        return self.array.row(number) if is_traced(number) and isinstance(self.array, Array) else self.array[number]


class Parts(Rounds):
    """The rows or elements of a slice whose length is not known."""

    def __init__(self, span: Span) -> None:
        self.span = span
        self.count = plain(span.shape[0])

    def item(self, number: Any) -> Any:
        return self.span[number]


class Enumerated(Rounds):
    """`enumerate`."""

    def __init__(self, inner: Any, start: Any = 0) -> None:
        self.inner, self.start = rounds_of(inner), start
        self.count, self.takes_traced = self.inner.count, self.inner.takes_traced

    def item(self, number: Any) -> Any:
        found = self.start + number
        return (found if isinstance(found, int | Array) else Scalar(found)), self.inner.item(number)

    def __iter__(self) -> Iterator[Any]:
        return ((self.start + number, item) for number, item in builtins.enumerate(iter(self.inner)))


class Zipped(Rounds):
    """`zip`."""

    def __init__(self, *inners: Any, strict: bool = False) -> None:
        self.inners = [rounds_of(each) for each in inners]
        self.strict = strict
        self.takes_traced = all(each.takes_traced for each in self.inners) and bool(inners)
        counts = [each.count for each in self.inners]
        if not self.takes_traced or None in counts:
            self.count = None
        elif any(is_traced(each) for each in counts):
            if strict:
                raise NotCapturable("`zip(strict=True)` of something whose length is not known")
            self.count = counts[0]
            for each in counts[1:]:
                self.count = jnp.minimum(plain(self.count), plain(each))
        else:
            if strict and len(set(counts)) > 1:
                self.takes_traced = False  # Python says so when it comes to it
            self.count = min(counts)

    def item(self, number: Any) -> Any:
        return tuple(each.item(number) for each in self.inners)

    def __iter__(self) -> Iterator[Any]:
        return builtins.zip(*map(iter, self.inners), strict=self.strict)


class Reversed(Rounds):
    """`reversed`."""

    def __init__(self, inner: Any) -> None:
        self.inner = rounds_of(inner)
        self.count, self.takes_traced = self.inner.count, self.inner.takes_traced

    def item(self, number: Any) -> Any:
        return self.inner.item(self.count - 1 - number)

    def __iter__(self) -> Iterator[Any]:
        if isinstance(self.inner, Plain):
            return builtins.reversed(self.inner.things)
        return super().__iter__()


class Plain(Rounds):
    """Anything else that can be gone through: what Python makes of it."""

    takes_traced = False

    def __init__(self, things: Any) -> None:
        self.things = things
        self.count = None

    def item(self, number: Any) -> Any:
        raise NotCapturable("the loop goes over something that is no array and no range")

    def __iter__(self) -> Iterator[Any]:
        return iter(self.things)


KINDS: dict[Any, Callable[..., Rounds]] = {
    builtins.range: Range,
    builtins.enumerate: Enumerated,
    builtins.zip: Zipped,
    builtins.reversed: Reversed,
}
NAMES = frozenset({"range", "prange", "enumerate", "zip", "reversed"})
"""What these are called where they may be, `numba.prange` too."""


def over(call: Callable[..., Any], function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
    """What `for name in function(...)` goes over; `call` calls other functions than these."""
    kind = KINDS.get(function) if isinstance(function, type) else None
    return kind(*arguments, **named) if kind is not None else call(function, *arguments, **named)


def rounds_of(things: Any) -> Rounds:
    """What a loop over these goes over."""
    if isinstance(things, Rounds):
        return things
    if isinstance(things, builtins.range):
        return Range(things.start, things.stop, things.step)
    if isinstance(things, Array) and not things.is_scalar and things.ndim:
        return Elements(things)
    if isinstance(things, jax.Array) and things.ndim:
        return Elements(Array(things))
    if isinstance(things, UnknownLength) and things.ndim:
        return Parts(things.span) if isinstance(things.shape[0], Array) else Elements(things)
    return Plain(things)


def _as_index(bound: Any) -> int:
    return int(plain(bound)) if isinstance(bound, jax.Array) else operator.index(bound)


def _trip_count(start: Any, stop: Any, step: Any) -> Any:
    span = (stop - start + step - 1) // step if isinstance(step, int) and step > 0 else None
    if span is None:
        step = jnp.asarray(step)
        span = -((start - stop) // jnp.where(step == 0, 1, step))
    return jnp.maximum(span, 0)
