"""Writing at sums of indices: a tensor over indices becomes one over the target's axes, with a filling in between."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from windlass.frontends.notation.accesses import Line, Stride
from windlass.ir import Value
from windlass.ops import Compare, Iota, Pad, Reshape, Reverse, Select, Transpose
from windlass.ops.movement import slice_along
from windlass.rules.letters import Term, spread

MOST_PIECES = 256
"""A target's elements that several indices reach are put together from so many pieces at most."""

Combine = Callable[[Value, Value], Value]


class TooManyPieces(Exception):
    """The elements would have to be put together from too many pieces."""


def covers(lines: Sequence[Line], shape: Sequence[int]) -> bool:
    """Whether the lines reach each element of the shape. They are in it, and reach none twice (see `is_injective`)."""
    letters = {each.letter: each.count for line in lines for each in line.strides}
    return math.prod(letters.values()) == math.prod(shape)


def is_injective(lines: Sequence[Line]) -> bool:
    """Whether each element is known to be reached once only: in each axis letters run within the steps of others."""
    return all(_is_mixed_radix(line.forward()[0]) for line in lines)


def _is_mixed_radix(line: Line) -> bool:
    factors = [each.factor for each in line.strides if each.count > 1]
    counts = [each.count for each in line.strides if each.count > 1]
    reach = [
        sum(factor * (count - 1) for factor, count in zip(factors[place:], counts[place:], strict=True))
        for place in range(len(factors) + 1)
    ]
    return all(reach[place + 1] < factor for place, factor in enumerate(factors))


def place(term: Term, lines: Sequence[Line], shape: tuple[int, ...], filling: Value, combine: Combine) -> Value:
    """The term's elements at these lines of the axes of a tensor of this shape, `filling` (a scalar) elsewhere.

    Those that meet are combined, for which the filling must be neutral.

    Raises TooManyPieces.

    >>> from windlass.ir.values import tensor
    >>> from windlass.ops import Add, Constant
    >>> line = Line(1, (Stride(0, 2, 3),))
    >>> place(Term(tensor("f32", 3), (0,)), [line], (7,), Constant.of(0, "f32"), Add)
    Pad(x, Constant(0.0), edge_padding_low=(1,), edge_padding_high=(1,), interior_padding=(1,))
    """
    term, lines = _without_repeats(term, list(lines), filling)
    order = tuple(term.letters.index(letter) for line in lines for letter in line.letters)
    value = term.value if order == tuple(range(len(order))) else Transpose(term.value, order)
    for axis, (line, size) in enumerate(zip(lines, shape, strict=True)):
        value = _place_axis(value, axis, line, size, filling, combine)
    return value


def _without_repeats(term: Term, lines: list[Line], filling: Value) -> tuple[Term, list[Line]]:
    """A letter that stands in several axes gets a name of its own in each but the first: elements off the diagonal are
    filling."""
    seen: set[int] = set()
    for axis, line in enumerate(lines):
        strides: list[Stride] = []
        for each in line.strides:
            if each.letter in seen:
                fresh = max((*term.letters, *seen)) + 1
                letters = (*term.letters, fresh)
                sizes = term.sizes() | {fresh: each.count}
                shape = tuple(sizes[letter] for letter in letters)
                places = [Iota(shape, "i32", letters.index(letter)) for letter in (each.letter, fresh)]
                whole = spread(Term(filling, ()), letters, sizes)
                term = Term(Select(Compare(places[0], places[1], "EQ"), spread(term, letters, sizes), whole), letters)
                each = Stride(fresh, each.factor, each.count)
            seen.add(each.letter)
            strides.append(each)
        lines[axis] = Line(line.base, tuple(strides))
    return term, lines


def _place_axis(value: Value, axis: int, line: Line, size: int, filling: Value, combine: Combine) -> Value:
    """The axes of the line's letters, which are from `axis` on, as one axis of this size."""
    count = len(line.strides)
    forward, turned = line.forward()
    if turned:
        value = Reverse(value, tuple(sorted(axis + line.letters.index(letter) for letter in turned)))
    if count == 0:
        value = Reshape(value, (*value.shape[:axis], 1, *value.shape[axis:]))
        forward = Line(line.base, (Stride(-1, 1, 1),))
    elif forward.letters != line.letters:
        inner = [axis + line.letters.index(letter) for letter in forward.letters]
        value = Transpose(value, (*range(axis), *inner, *range(axis + count, len(value.shape))))
    outer, *rest = forward.strides
    while rest:
        *before, second, last = (outer, *rest)
        if last.count > 1 and second.count > 1 and second.factor % last.factor == 0:
            step = second.factor // last.factor
            if last.count <= step:
                value = _join_rows(value, axis + len(before), step, filling)
                merged = Stride(last.letter, last.factor, second.count * step)
                outer, *rest = (*before, merged)
                continue
        return _add_pieces(value, axis, forward.base, (outer, *rest), size, filling, combine)
    return _pad(value, axis, forward.base, outer.factor, size, filling)


def _join_rows(value: Value, axis: int, step: int, filling: Value) -> Value:
    """An axis and the next as one, of rows of `step`."""
    value = _pad(value, axis + 1, 0, 1, step, filling)
    return Reshape(value, (*value.shape[:axis], value.shape[axis] * step, *value.shape[axis + 2 :]))


def _add_pieces(
    value: Value, axis: int, base: int, strides: Sequence[Stride], size: int, filling: Value, combine: Combine
) -> Value:
    """All pieces along all letters but the largest, each at its place, combined."""
    largest = max(range(len(strides)), key=lambda place: strides[place].count)
    others = [place for place in range(len(strides)) if place != largest]
    if math.prod(strides[place].count for place in others) > MOST_PIECES:
        raise TooManyPieces
    total: Value | None = None
    pending = [(value, base, list(strides))]
    while pending:
        part, at, left = pending.pop()
        if len(left) == 1:
            piece = _pad(part, axis, at, left[0].factor, size, filling)
            total = piece if total is None else combine(total, piece)
            continue
        largest = max(range(len(left)), key=lambda place: left[place].count)
        split = next(place for place in range(len(left)) if place != largest)
        rest = [each for place, each in enumerate(left) if place != split]
        for step in range(left[split].count):
            row = slice_along(part, axis + split, step, step + 1)
            row = Reshape(row, tuple(n for place, n in enumerate(row.shape) if place != axis + split))
            pending.append((row, at + left[split].factor * step, rest))
    assert total is not None
    return total


def _pad(value: Value, axis: int, low: int, factor: int, size: int, filling: Value) -> Value:
    """The axis with its elements `factor` apart from `low` on, in an axis of this size; what goes beyond is filling."""
    rank, count = len(value.shape), value.shape[axis]
    high = size - low - (max(count - 1, 0) * factor + (count > 0))
    if low == high == 0 and factor == 1:
        return value
    lows, highs, inside = [0] * rank, [0] * rank, [0] * rank
    lows[axis], highs[axis], inside[axis] = low, high, factor - 1
    return Pad(value, filling, tuple(lows), tuple(highs), tuple(inside))
