"""Which axes of an op's results come from which axes of its operands, by letters, as einsum writes them.

A letter of operands and results: what a result holds at an index along it follows from what the operands hold at that
index, and from operands that lack the letter; results that lack it don't depend on operands that have it. A letter that
only results have: they repeat along it. A letter that only operands have: they are folded along it by `combiner`, in
any order and in parts. An axis without a letter (`.`) is changed: cut, padded, sorted, counted or looked up along.
Several letters on one axis, the outermost first, are axes merged in row-major order; none (`1`) is an axis of size 1.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from windlass.ir.types import TensorType

if TYPE_CHECKING:
    from windlass.ir.core import Op, Region

Axis: TypeAlias = "tuple[int, ...] | None"
CHANGED: Axis = None


class Axes(NamedTuple):
    """The letters of each axis of each operand and each result; `sizes` says how many indices each letter has.

    `combiner` folds the letters that no result has: the class of an op, or a region that takes two of each result.
    """

    operands: tuple[tuple[Axis, ...], ...]
    results: tuple[tuple[Axis, ...], ...]
    sizes: Mapping[int, int]
    combiner: type[Op] | Region | None = None

    @property
    def mapped(self) -> frozenset[int]:
        """The letters that operands and results have."""
        return _letters(self.operands) & _letters(self.results)

    @property
    def repeated(self) -> frozenset[int]:
        """The letters that only results have."""
        return _letters(self.results) - _letters(self.operands)

    @property
    def reduced(self) -> frozenset[int]:
        """The letters that only operands have."""
        return _letters(self.operands) - _letters(self.results)

    def __str__(self) -> str:
        sides = (",".join(map(_spell, side)) for side in (self.operands, self.results))
        return "->".join(sides)


def axes_of(
    op: Op,
    operands: Iterable[Sequence[Axis | int]],
    results: Iterable[Sequence[Axis | int]],
    combiner: type[Op] | Region | None = None,
    sizes: dict[int, int] | None = None,
) -> Axes:
    """The axes of an op; a bare number is an axis of one letter. Letters that never stand alone need their sizes."""
    known: dict[Axis, int] = {}
    sides: list[tuple[tuple[Axis, ...], ...]] = []
    for values, side in ((op.operands, operands), (op.results, results)):
        rows = tuple([tuple([(axis,) if isinstance(axis, int) else axis for axis in axes]) for axes in side])
        for value, row in zip(values, rows, strict=True):
            if row:
                known.update(zip(row, value.shape, strict=True))
        sides.append(rows)
    single = {axis[0]: size for axis, size in known.items() if axis and len(axis) == 1}
    return Axes(sides[0], sides[1], single | (sizes or {}), combiner)


def axes_in_place(op: Op, changed: Collection[int] = ()) -> Axes:
    """The axes of an op that leaves all of them in their place, but for those that it changes.

    Operands that are single numbers are the same at all places.
    """
    letters = [CHANGED if axis in changed else axis for axis in range(op.results[0].tensor.rank)]
    operands = (letters if value.tensor.rank == len(letters) else () for value in op.operands)
    return axes_of(op, operands, (letters for _ in op.results))


def axes_one_by_one(op: Op, changed: Collection[int] = ()) -> Axes:
    """The axes of an op that gives one result for each operand, each with axes of its own."""
    letters: list[list[Axis | int]] = []
    first = 0
    for value in op.operands:
        # A token has no axes.
        rank = value.type.rank if isinstance(value.type, TensorType) else 0
        letters.append([CHANGED if axis in changed else first + axis for axis in range(rank)])
        first += rank
    return axes_of(op, letters, letters)


def axes_of_reshape(op: Op) -> Axes:
    """The axes of an op that keeps its elements in row-major order: merged, split, or kept.

    Between two places where axes end in both shapes they are changed, unless each end there divides the next.

    >>> from windlass.ir.values import tensor
    >>> from windlass.ops import Reshape
    >>> print(Reshape(tensor("f32", 4, 6, 5), (8, 3, 5, 1)).axes())
    i(jk)l->(ij)kl1
    """
    (before,), (after,) = ((value.shape for value in values) for values in (op.operands, op.results))
    if 0 in before:
        return axes_of(op, [[CHANGED] * len(before)], [[CHANGED] * len(after)])
    ends = tuple(set(itertools.accumulate(reversed(shape), operator.mul, initial=1)) for shape in (before, after))
    common = sorted(ends[0] & ends[1])
    pieces: list[tuple[int, int]] = []
    for low, high in itertools.pairwise(common):
        steps = list(itertools.pairwise(sorted(end for end in ends[0] | ends[1] if low <= end <= high)))
        if all(above % below == 0 for below, above in steps):
            pieces += steps
    pieces.reverse()

    def letters_of(shape: tuple[int, ...]) -> list[Axis]:
        found: list[Axis] = []
        low = 1
        for size in reversed(shape):
            high = low * size
            inside = [letter for letter, piece in enumerate(pieces) if low <= piece[0] and piece[1] <= high]
            found.append(tuple(inside) if inside or size == 1 else CHANGED)
            low = high
        return found[::-1]

    sizes = {letter: high // low for letter, (low, high) in enumerate(pieces)}
    return axes_of(op, [letters_of(before)], [letters_of(after)], sizes=sizes)


def _letters(side: Iterable[Iterable[Axis]]) -> frozenset[int]:
    return frozenset(letter for axes in side for axis in axes for letter in axis or ())


def _spell(axes: tuple[Axis, ...]) -> str:
    words = ("." if axis is None else "".join(map(_name, axis)) or "1" for axis in axes)
    return "".join(f"({word})" if len(word) > 1 and word.isalpha() else word for word in words)


def _name(letter: int) -> str:
    """Letters from i on, as matrices' axes are called."""
    return chr(ord("a") + (letter + 8) % 26) if letter < 26 else f"<{letter}>"
