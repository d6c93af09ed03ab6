"""Affine pieces against the index itself."""

from __future__ import annotations

import itertools

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.affine.drawing import indices
from windlass.affine.dimensions import Dimension
from windlass.affine.index import Index
from windlass.affine.pieces import Piece, affine_pieces


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_pieces_cover_the_range_and_agree_with_the_index(data: st.DataObject) -> None:
    x = Dimension("x", data.draw(st.integers(2, 30)), 0)
    index = data.draw(indices([x], 3))
    lower = data.draw(st.integers(0, x.size - 1))
    upper = data.draw(st.integers(lower + 1, x.size))
    pieces = affine_pieces(index, x, lower, upper)
    if pieces is None:
        return
    assert pieces[0].lower == lower
    assert pieces[-1].upper == upper
    assert all(one.upper == other.lower for one, other in itertools.pairwise(pieces))
    for piece in pieces:
        for at in range(piece.lower, piece.upper):
            assert piece.stride * at + piece.offset == index.at({x: at})


@settings(max_examples=100, deadline=None)
@given(st.integers(-5, 5), st.integers(-20, 20), st.integers(0, 9), st.integers(0, 9), st.integers(1, 20))
def test_the_part_within_an_axis_is_exact(stride: int, offset: int, lower: int, count: int, size: int) -> None:
    piece = Piece(lower, lower + count, stride, offset)
    inside = {at for at in range(lower, lower + count) if 0 <= stride * at + offset < size}
    part = piece.within(size)
    assert set(range(part.lower, part.upper)) == inside


def test_well_known_forms_have_few_pieces() -> None:
    x = Dimension("x", 100, 0)
    index = Index.of(x)
    wrapped = (index + 99).modulo(100)
    assert affine_pieces(wrapped, x, 0, 100) == [Piece(0, 1, 0, 99), Piece(1, 100, 1, -1)]
    clamped = (index - 2).maximum(Index(0)).minimum(Index(90))
    found = affine_pieces(clamped, x, 0, 100)
    assert found is not None and [piece.stride for piece in found] == [0, 1, 0]
    reflected = Index.choose(index - 1, index - 1, Index(1) - index)
    found = affine_pieces(reflected, x, 0, 100)
    assert found is not None and len(found) == 2
    assert affine_pieces(index.floor_divide(2), x, 0, 100) is None
