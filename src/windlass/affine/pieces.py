"""An index over one dimension as a few affine pieces: clamps, wraps, reflections and one-point exceptions."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from windlass.affine.dimensions import Dimension
from windlass.affine.index import (
    Atom,
    Choice,
    Data,
    FloorDivide,
    Index,
    IndexMaximum,
    IndexMinimum,
    Modulo,
    RuntimeScalar,
)

MOST_PIECES = 6
"""An index of more pieces is not taken apart."""


class Piece(NamedTuple):
    """`stride*dimension + offset` for the dimension in [lower, upper)."""

    lower: int
    upper: int
    stride: int
    offset: int

    @property
    def extent(self) -> int:
        return self.upper - self.lower

    @property
    def first(self) -> int:
        """The value at the lower end."""
        return self.stride * self.lower + self.offset

    @property
    def last(self) -> int:
        """The value at the upper end."""
        return self.stride * (self.upper - 1) + self.offset

    @property
    def least(self) -> int:
        return min(self.first, self.last)

    @property
    def most(self) -> int:
        return max(self.first, self.last)

    def part(self, lower: int, upper: int) -> Piece:
        """The piece over a smaller range."""
        return Piece(lower, upper, self.stride, self.offset)

    def within(self, size: int) -> Piece:
        """The part with values in [0, size); it may be empty."""
        lower, upper = nonnegative_range(self.stride, self.offset, self.lower, self.upper)
        above = nonnegative_range(-self.stride, size - 1 - self.offset, lower, upper)
        return self.part(*above)


class _TooMany(Exception):
    pass


def nonnegative_range(stride: int, offset: int, lower: int, upper: int) -> tuple[int, int]:
    """The part of [lower, upper) where `stride*x + offset >= 0`, as a half-open range."""
    if stride > 0:
        lower = max(lower, -(offset // stride))
    elif stride < 0:
        upper = min(upper, offset // -stride + 1)
    elif offset < 0:
        upper = lower
    return lower, max(lower, upper)


def affine_pieces(index: Index, dimension: Dimension, lower: int, upper: int) -> list[Piece] | None:
    """The index, which depends on `dimension` alone, over [lower, upper): pieces in order, without gaps.

    None where it has run-time parts or more than a few pieces.

    >>> x = Dimension("x", 10, 0)
    >>> affine_pieces((Index.of(x) - 1).maximum(Index(0)), x, 0, 10)
    [Piece(lower=0, upper=1, stride=0, offset=0), Piece(lower=1, upper=10, stride=1, offset=-1)]
    """
    if upper <= lower:
        return None
    try:
        return _joined(_index_pieces(index, dimension, lower, upper))
    except _TooMany:
        return None


def _joined(pieces: list[Piece]) -> list[Piece]:
    """Neighbours that continue each other become one; a single point counts as part of any line through it."""
    result: list[Piece] = []
    for piece in pieces:
        if result:
            before = result[-1]
            if (before.stride, before.offset) == (piece.stride, piece.offset) or (
                piece.extent == 1 and before.extent > 1 and before.stride * piece.lower + before.offset == piece.first
            ):
                result[-1] = before.part(before.lower, piece.upper)
                continue
            if before.extent == 1 and piece.stride * before.lower + piece.offset == before.first:
                result[-1] = piece.part(before.lower, piece.upper)
                continue
        result.append(piece)
    return [piece if piece.extent > 1 else Piece(piece.lower, piece.upper, 0, piece.first) for piece in result]


def _index_pieces(index: Index, dimension: Dimension, lower: int, upper: int) -> list[Piece]:
    total = [Piece(lower, upper, 0, index.constant)]
    for atom, factor in index.terms.items():
        total = _merge(
            total,
            _atom_pieces(atom, dimension, lower, upper),
            lambda one, other, factor=factor: [
                Piece(one.lower, one.upper, one.stride + factor * other.stride, one.offset + factor * other.offset)
            ],
        )
    return total


def _atom_pieces(atom: Atom, dimension: Dimension, lower: int, upper: int) -> list[Piece]:
    match atom:
        case Dimension():
            return [Piece(lower, upper, 1, 0)]
        case RuntimeScalar() | Data():
            raise _TooMany
        case FloorDivide() | Modulo():
            operand = _index_pieces(atom.operand, dimension, lower, upper)
            return _limited(part for piece in operand for part in _divide(piece, atom))
        case IndexMinimum() | IndexMaximum():
            wants_greater = isinstance(atom, IndexMaximum)
            left = _index_pieces(atom.left, dimension, lower, upper)
            right = _index_pieces(atom.right, dimension, lower, upper)

            def pick(one: Piece, other: Piece) -> list[Piece]:
                difference = Piece(one.lower, one.upper, one.stride - other.stride, one.offset - other.offset)
                greater, lesser = (one, other) if wants_greater else (other, one)
                return _by_sign(difference, greater, lesser)

            return _merge(left, right, pick)
        case Choice():
            condition = _index_pieces(atom.condition, dimension, lower, upper)
            left = _index_pieces(atom.left, dimension, lower, upper)
            right = _index_pieces(atom.right, dimension, lower, upper)
            held: list[Piece] = []
            for piece in _merge(condition, left, lambda one, _: [one]):
                for other in _merge([piece], _covering(right, piece), lambda one, _: [one]):
                    yes, no = _over(left, other), _over(right, other)
                    held += _by_sign(other, yes, no)
            return _limited(held)


def _covering(pieces: list[Piece], wanted: Piece) -> list[Piece]:
    """The pieces cut to the range of another one."""
    return [
        piece.part(max(piece.lower, wanted.lower), min(piece.upper, wanted.upper))
        for piece in pieces
        if piece.lower < wanted.upper and wanted.lower < piece.upper
    ]


def _over(pieces: list[Piece], wanted: Piece) -> Piece:
    """The one piece that goes over the whole range of another one, cut to it."""
    (found,) = _covering(pieces, wanted)
    return found


def _by_sign(difference: Piece, positive: Piece, negative: Piece) -> list[Piece]:
    """`positive` where the difference is >= 0, else `negative`; all three go over one range."""
    lower, upper = nonnegative_range(difference.stride, difference.offset, difference.lower, difference.upper)
    parts = [
        negative.part(difference.lower, lower if upper > lower else difference.upper),
        positive.part(lower, upper),
        negative.part(upper if upper > lower else difference.upper, difference.upper),
    ]
    return [part for part in parts if part.extent > 0]


def _divide(piece: Piece, atom: FloorDivide | Modulo) -> Iterable[Piece]:
    """One piece for each quotient that occurs."""
    divisor = atom.divisor
    wants_quotient = isinstance(atom, FloorDivide)
    if piece.stride % divisor == 0:
        if wants_quotient:
            yield Piece(piece.lower, piece.upper, piece.stride // divisor, piece.offset // divisor)
        else:
            yield Piece(piece.lower, piece.upper, 0, piece.offset % divisor)
        return
    first, last = piece.first // divisor, piece.last // divisor
    if abs(first - last) >= MOST_PIECES:
        raise _TooMany
    for quotient in range(first, last + 1) if first <= last else range(first, last - 1, -1):
        offset = piece.offset - quotient * divisor
        part = Piece(piece.lower, piece.upper, piece.stride, offset).within(divisor)
        if part.extent > 0:
            yield part if not wants_quotient else Piece(part.lower, part.upper, 0, quotient)


def _merge(left: list[Piece], right: list[Piece], combine: Callable[[Piece, Piece], Iterable[Piece]]) -> list[Piece]:
    """Combine pieces of two indices over the ranges in which both are affine."""
    result: list[Piece] = []
    for one in left:
        for other in right:
            lower, upper = max(one.lower, other.lower), min(one.upper, other.upper)
            if lower < upper:
                result += combine(one.part(lower, upper), other.part(lower, upper))
    return _limited(result)


def _limited(pieces: Iterable[Piece]) -> list[Piece]:
    found: list[Piece] = []
    for piece in pieces:
        found.append(piece)
        if len(found) > 2 * MOST_PIECES:
            raise _TooMany
    return found
