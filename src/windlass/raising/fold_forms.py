"""Which folds of leaves the threads hold: each of them all of a segment, or all up to a place of its own.

The leaves that are used, put in the right order, fall into segments of one length, such as a block's or a warp's.
Each thread holds a fold of the beginning of a segment. Where that is all of it for each, the folds are a reduction;
else they are a running fold, of which each thread has one place.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from windlass.raising.partial_folds import Array

MOST_DIGITS = 4

Digits: TypeAlias = "tuple[tuple[int, int], ...]"
"""A sequence as a number in mixed radix: the extent and the stride of each digit, outer ones first."""


@dataclass(frozen=True)
class FoldLine:
    """Numbers as a function of their place: `start` and what the digits of the place add."""

    start: int
    digits: Digits

    @property
    def count(self) -> int:
        """How many places there are."""
        return math.prod(extent for extent, _ in self.digits)

    @property
    def most(self) -> int:
        """The greatest of the numbers."""
        return self.start + sum((extent - 1) * max(stride, 0) for extent, stride in self.digits)


@dataclass(frozen=True)
class Scheme:
    """Folds of leaves in segments of `length`: of all of each, where `is_total`, else of all beginnings of each.

    `leaves` are the numbers of the leaves in order, segment after segment. There are `each` folds of a segment; with
    `is_exclusive` the first is that of no leaves.
    """

    leaves: FoldLine
    length: int
    is_total: bool
    is_exclusive: bool
    each: int


@dataclass(frozen=True)
class FoldForm:
    """Which of the folds of a scheme each thread holds: thread `first_thread + step * e` has number e of `places`."""

    scheme: Scheme
    first_thread: int
    step: int
    places: FoldLine


def find_forms(held: Sequence[tuple[Sequence[int], Array]], most: int) -> list[FoldForm] | None:
    """One scheme for several values, each given by the sets of leaves that the threads of some numbers have.

    There are `most` leaves. None if there is no such scheme.
    """
    sets = [each for own, _ in held for each in own]
    union = 0
    for each in sets:
        union |= each
    if not union:
        return None
    low = (union & -union).bit_length() - 1
    size = -(-(union.bit_length() - low) // 8)
    raw = b"".join((each >> low).to_bytes(size, "little") for each in sets)
    matrix = np.unpackbits(np.frombuffer(raw, np.uint8).reshape(len(sets), size), axis=1, bitorder="little")
    columns = np.flatnonzero(matrix.any(0))
    matrix = matrix[:, columns].astype(bool)
    for is_reversed in (False, True):
        found = _beginnings(matrix[:, ::-1] if is_reversed else matrix)
        if found is None:
            continue
        order, length, segments, counts = found
        numbers = low + (columns[::-1][order] if is_reversed else columns[order])
        scheme = _scheme(numbers, length, counts, most)
        if scheme is None:
            continue
        forms: list[FoldForm] = []
        start = 0
        for own, threads in held:
            rows = slice(start, start + len(own))
            form = _form(scheme, segments[rows], counts[rows], threads)
            start += len(own)
            if form is not None:
                forms.append(form)
        if len(forms) == len(held):
            return forms
    return None


def _beginnings(matrix: Array) -> tuple[Array, int, Array, Array] | None:
    """An order of the columns in which each row is the beginning of a segment.

    Gives the order, the length of segments, and for each row the segment and how many columns it has.
    """
    count = matrix.shape[1]
    counts = matrix.sum(1)
    holds = counts > 0
    first = matrix.argmax(1)
    # The first column of a segment is in all of its beginnings: it tells which segment a row and its columns are in.
    place = np.where(matrix, first[:, None], -1).max(0)
    if (place != np.where(matrix, first[:, None], count).min(0)).any():
        return None
    starts, segment = np.unique(place, return_inverse=True)
    length = count // len(starts)
    if (np.bincount(segment) != length).any():
        return None
    # Columns that come first are in more of the beginnings.
    order = np.lexsort((np.arange(count), -matrix.sum(0), segment))
    segments = np.where(holds, segment[first], 0)
    places = np.arange(count)
    starting = (segments * length)[:, None]
    expected = (places >= starting) & (places < starting + counts[:, None])
    return None if (matrix[:, order] != expected).any() else (order, length, segments, counts)


def _scheme(leaves: Array, length: int, counts: Array, most: int) -> Scheme | None:
    is_total = bool(((counts == length) | (counts == 0)).all())
    is_exclusive = bool((counts == 0).any())
    # Where no thread has all leaves of the block, the last is missing in a pattern that goes on.
    line = _as_line(leaves, may_go_on=not is_total and length == len(leaves))
    if line is None or line.most >= most:
        return None
    length += line.count - len(leaves)
    if is_total:
        each = 2 if is_exclusive else 1
    else:
        # With a fold of no leaves at all there is one more than there are leaves, if that of all is wanted, too.
        each = length + 1 if is_exclusive and bool((counts == length).any()) else length
    return Scheme(line, length, is_total, is_exclusive, each)


def _form(scheme: Scheme, segments: Array, counts: Array, threads: Array) -> FoldForm | None:
    each = scheme.each
    sizes = np.minimum(counts, 1) if scheme.is_total else counts
    places = segments * each + sizes - (0 if scheme.is_exclusive else 1)
    steps = np.diff(threads)
    step = int(steps[0]) if len(steps) else 1
    if (steps != step).any():
        return None
    for row in np.flatnonzero(counts == 0):
        # No leaves are the beginning of any segment: take the one that goes with the next thread, or the last.
        place = places[row + 1] - 1 if row + 1 < len(places) else places[row - 1] + 1
        if place % each == 0:
            places[row] = place
    line = _as_line(places)
    return None if line is None else FoldForm(scheme, int(threads[0]), step, line)


def _as_line(numbers: Array, may_go_on: bool = False) -> FoldLine | None:
    """Numbers in mixed radix; None where they have too many digits.

    If they may go on, the line may be longer than they are.
    """
    digits = _digits(numbers, may_go_on)
    return None if digits is None else FoldLine(int(numbers[0]), digits)


def _digits(numbers: Array, may_go_on: bool = False) -> Digits | None:
    """The digits of a sequence.

    >>> _digits(np.arange(6) * 2)
    ((6, 2),)
    >>> _digits(np.array([0, 1, 2, 10, 11, 12]))
    ((2, 10), (3, 1))
    >>> _digits(np.array([0, 1, 2, 10, 11]), may_go_on=True)
    ((2, 10), (3, 1))
    """
    count = len(numbers)
    if count == 1:
        return ()
    steps = np.diff(numbers)
    other = np.flatnonzero(steps != steps[0])
    extent = int(other[0]) + 1 if len(other) else count
    missing = -count % extent
    if missing and not may_go_on:
        return None
    inner = (extent, int(steps[0]))
    if extent == count:
        return (inner,)
    table = np.concatenate([numbers, numbers[-1] + steps[0] * np.arange(1, missing + 1)]).reshape(-1, extent)
    if (np.diff(table, axis=1) != steps[0]).any():
        return None
    outer = _digits(table[:, 0], may_go_on)
    return None if outer is None or len(outer) >= MOST_DIGITS else (*outer, inner)
