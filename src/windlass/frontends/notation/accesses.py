"""Reading a tensor at sums of indices: its axes become those of the indices, by slices wherever that can be."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from windlass.ir import Value
from windlass.ops import Add, Concatenate, Constant, Gather, Iota, Multiply, Pad, Reshape, Reverse, Slice, Transpose
from windlass.ops.movement import slice_along
from windlass.rules.letters import Term

MOST_SLICES = 16
"""So many slices stand for a window; more are one gather."""


@dataclass(frozen=True)
class Stride:
    """A letter with so many values, and how far each goes."""

    letter: int
    factor: int
    count: int


@dataclass(frozen=True)
class Line:
    """Where an axis is read: at `base` plus factor times value of each letter."""

    base: int
    strides: tuple[Stride, ...]

    @property
    def letters(self) -> tuple[int, ...]:
        return tuple(each.letter for each in self.strides)

    def forward(self) -> tuple[Line, tuple[int, ...]]:
        """The line with factors that are not negative, largest first; and the letters that run backwards for it."""
        base, turned = self.base, [each for each in self.strides if each.factor < 0 and each.count > 1]
        for each in turned:
            base += each.factor * (each.count - 1)
        # How far the only value goes is no matter.
        strides = [Stride(each.letter, abs(each.factor) if each.count > 1 else 1, each.count) for each in self.strides]
        strides.sort(key=lambda each: -each.factor)
        return Line(base, tuple(strides)), tuple(each.letter for each in turned)


def read_lines(value: Value, lines: Sequence[Line]) -> Term:
    """The elements at one line per axis, for all values of the letters; a letter may stand in several lines.

    >>> from windlass.ir.values import tensor
    >>> read_lines(tensor("f32", 8, 3), [Line(1, (Stride(0, 2, 3),)), Line(2, ())])
    Term(value=Reshape(Slice(x, start_indices=(1, 2), limit_indices=(6, 3), strides=(2, 1)), shape=(3,)), letters=(0,))
    >>> read_lines(tensor("f32", 4, 4), [Line(0, (Stride(0, 1, 4),)), Line(0, (Stride(0, 1, 4),))]).value.type
    tensor<4xf32>
    """
    value, lines = _join_axes(value, list(lines))
    letters: list[int] = []
    backwards: list[int] = []
    # Single steps first, in one slice: what follows works on less.
    lows, limits, steps = [0] * len(lines), list(value.shape), [1] * len(lines)
    for axis, line in enumerate(lines):
        line, turned = line.forward()
        backwards += turned
        if len(line.strides) < 2:
            step, count = (line.strides[0].factor, line.strides[0].count) if line.strides else (1, 1)
            lows[axis], limits[axis], steps[axis] = line.base, line.base + step * (count - 1) + 1, step
            line = Line(0, tuple(Stride(each.letter, 1, each.count) for each in line.strides))
        lines[axis] = line
    if (lows, limits, steps) != ([0] * len(lines), list(value.shape), [1] * len(lines)):
        value = Slice(value, tuple(lows), tuple(limits), tuple(steps))
    dropped = [axis for axis, line in enumerate(lines) if not line.strides]
    if dropped:
        value = Reshape(value, tuple(size for axis, size in enumerate(value.shape) if axis not in dropped))
    for line in lines:
        if len(line.strides) > 1:
            value = _split_axis(value, len(letters), line)
        letters += line.letters
    if backwards:
        value = Reverse(value, tuple(sorted(letters.index(letter) for letter in backwards)))
    return Term(value, tuple(letters))


def _join_axes(value: Value, lines: list[Line]) -> tuple[Value, list[Line]]:
    """Axes that share letters as one axis each: a diagonal is a line through the joined axis."""
    while True:
        pair = next(
            (
                (first, second)
                for second in range(len(lines))
                for first in range(second)
                if set(lines[first].letters) & set(lines[second].letters)
            ),
            None,
        )
        if pair is None:
            return value, lines
        first, second = pair
        order = [axis for axis in range(len(lines)) if axis != second]
        order.insert(first + 1, second)
        if order != list(range(len(lines))):
            value = Transpose(value, tuple(order))
        inner = value.shape[first + 1]
        value = Reshape(value, (*value.shape[:first], value.shape[first] * inner, *value.shape[first + 2 :]))
        factors: dict[int, tuple[int, int]] = {}
        for line, scale in ((lines[first], inner), (lines[second], 1)):
            for each in line.strides:
                factor, count = factors.get(each.letter, (0, each.count))
                factors[each.letter] = factor + scale * each.factor, count
        base = lines[first].base * inner + lines[second].base
        joined = Line(base, tuple(Stride(letter, *rest) for letter, rest in factors.items()))
        lines = [line for axis, line in enumerate(lines) if axis != second]
        lines[first] = joined


def _split_axis(value: Value, axis: int, line: Line) -> Value:
    """One axis as several, one for each letter of the line, which goes forwards, in its order."""
    outer, *inner = line.strides
    rows = _as_rows(value, axis, line)
    if rows is not None:
        return rows
    if math.prod(each.count for each in inner) <= MOST_SLICES:
        return _stack_slices(value, axis, line.base, outer, inner)
    sizes = tuple(each.count for each in line.strides)
    places: Value = Constant.of(line.base, "i32", sizes)
    for place, each in enumerate(line.strides):
        places = Add(places, Multiply(Iota(sizes, "i32", place), Constant.of(each.factor, "i32", sizes)))
    return take_along(value, axis, places)


def _as_rows(value: Value, axis: int, line: Line) -> Value | None:
    """By reshaping, where each letter runs within a step of the one before: index 4 i + j, with j below 4."""
    factors = [each.factor for each in line.strides]
    if factors[-1] != 1 or any(
        large % small or each.count * small > large
        for large, small, each in zip(factors, factors[1:], line.strides[1:], strict=False)
    ):
        return None
    size, whole = value.shape[axis], factors[0] * line.strides[0].count
    beyond = max(line.base + whole - size, 0)
    if beyond:
        none, high = [0] * len(value.shape), [0] * len(value.shape)
        high[axis] = beyond
        value = Pad(value, Constant.of(0, value.dtype), tuple(none), tuple(high), tuple(none))
    value = slice_along(value, axis, line.base, line.base + whole)
    sizes = (line.strides[0].count, *(large // small for large, small in pairwise(factors)))
    value = Reshape(value, (*value.shape[:axis], *sizes, *value.shape[axis + 1 :]))
    for place, each in enumerate(line.strides):
        value = slice_along(value, axis + place, 0, each.count)
    return value


def _stack_slices(value: Value, axis: int, base: int, outer: Stride, inner: Sequence[Stride]) -> Value:
    """For each value of the inner letters a slice; these side by side."""
    if not inner:
        low, limit, step = [0] * len(value.shape), list(value.shape), [1] * len(value.shape)
        low[axis], limit[axis], step[axis] = base, base + outer.factor * (outer.count - 1) + 1, outer.factor
        return Slice(value, tuple(low), tuple(limit), tuple(step))
    *before, last = inner
    slices: list[Value] = []
    place = axis + len(inner)
    for step in range(last.count):
        part = _stack_slices(value, axis, base + last.factor * step, outer, before)
        slices.append(Reshape(part, (*part.shape[:place], 1, *part.shape[place:])))
    return slices[0] if len(slices) == 1 else Concatenate(tuple(slices), place)


def take_along(value: Value, axis: int, places: Value) -> Value:
    """The elements at these places of an axis, which becomes the axes of the places."""
    rank, more = len(value.shape), len(places.shape)
    offsets = tuple(each if each < axis else each + more - 1 for each in range(rank) if each != axis)
    sizes = tuple(1 if each == axis else size for each, size in enumerate(value.shape))
    return Gather(value, places, offsets, (axis,), (), (), (axis,), more, sizes)


def take_elements(term: Term, axes: Sequence[int], places: Sequence[Value], letters: tuple[int, ...]) -> Term:
    """The elements where these axes are at these places, all of which have axes with these letters.

    Those become the first axes, before the others of the term.
    """
    value, count = term.value, len(letters)
    vectors = [Reshape(each, (*each.shape, 1)) for each in places]
    indices = vectors[0] if len(vectors) == 1 else Concatenate(tuple(vectors), count)
    rest = tuple(letter for axis, letter in enumerate(term.letters) if axis not in axes)
    taken = Gather(
        value,
        indices,
        tuple(range(count, count + len(rest))),
        tuple(sorted(axes)),
        (),
        (),
        tuple(axes),
        count,
        tuple(1 if axis in axes else size for axis, size in enumerate(value.shape)),
    )
    return Term(taken, (*letters, *rest))
