"""Which store last wrote what is read: by writing and reading each word of a memory, point by point."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

from hypothesis import event, given, settings
from hypothesis import strategies as st

from windlass.affine.dimensions import Box, Dimension
from windlass.affine.domain import Domain
from windlass.affine.index import Index
from windlass.affine.predicate import TRUE, Predicate
from windlass.affine.resolution import WordAccess, resolve

X, Y = Dimension("x", 4, 0), Dimension("y", 3, 1)


@st.composite
def accesses(draw: Any) -> WordAccess:
    factors = [(1, 4), (1, 4), (3, 1), (-1, 4), (1, -4), (2, 8), (1, 5), (1, 0), (0, 1), (2, 1)]
    x, y = draw(st.sampled_from(factors))
    index = Index.of(X).scale(x) + Index.of(Y).scale(y) + draw(st.sampled_from([0, 0, 0, 1, 3, 7]))
    if draw(st.sampled_from([False, False, True])):
        index = index.modulo(draw(st.sampled_from([4, 12])))
    limit = draw(st.integers(1, 5))
    mask = draw(st.sampled_from([TRUE, TRUE, Predicate.compare("LT", Index.of(X), Index(limit))]))
    box = Box()
    for each in (X, Y):
        if draw(st.sampled_from([False, False, True])):
            lower = draw(st.integers(0, each.size - 1))
            box = box.restrict(each, lower, draw(st.integers(lower + 1, each.size)))
    return WordAccess(index, draw(st.sampled_from(["f32", "f32", "f32", "i32"])), 4, Domain((X, Y), box, mask))


def words(access: WordAccess) -> Iterator[tuple[dict[Dimension, int], int]]:
    """Each active point and its word."""
    box = access.domain.box
    for x, y in product(range(*box.bounds(X)), range(*box.bounds(Y))):
        point = {X: x, Y: y}
        if access.domain.mask.at(point):
            yield point, access.index.at(point)


@settings(max_examples=100)
@given(st.lists(accesses(), min_size=1, max_size=3), accesses())
def test_the_point_that_is_named_is_one_that_stored_there_last(stores: list[WordAccess], load: WordAccess) -> None:
    last: dict[int, tuple[WordAccess, list[dict[Dimension, int]]]] = {}
    for store in stores:
        written: dict[int, list[dict[Dimension, int]]] = {}
        for point, word in words(store):
            written.setdefault(word, []).append(point)
        last.update({word: (store, points) for word, points in written.items()})
    found = resolve(stores, load, Index(0))
    event(f"resolved: {found is not None}")
    if found is None:
        return
    store, writers = found
    for point, word in words(load):
        writer, points = last[word]
        assert writer is store
        assert {each: index.at(point) for each, index in writers.points.items()} in [
            {each: stored[each] for each in writers.points} for stored in points
        ]


def test_a_transposed_tile_is_read_from_the_other_thread() -> None:
    points = Domain((X, Y), Box(), TRUE)
    store = WordAccess(Index.of(Y).scale(4) + Index.of(X), "f32", 4, points)
    load = WordAccess(Index.of(X).minimum(Index(2)).scale(4) + Index.of(Y), "f32", 4, points)
    found = resolve([store], load, Index(0))
    assert found is not None
    assert found[1].points == {Y: Index.of(X).minimum(Index(2)), X: Index.of(Y)}


def test_what_a_later_store_may_have_written_in_part_is_not_known() -> None:
    points = Domain((X,), Box(), TRUE)
    whole = WordAccess(Index.of(X), "f32", 4, points)
    some = WordAccess(Index.of(X), "f32", 4, points.restrict(Predicate.compare("LT", Index.of(X), Index(2))))
    beyond = WordAccess(Index.of(X) + 4, "f32", 4, points)
    assert resolve([whole, some], whole, Index(0)) is None
    assert resolve([whole, beyond], whole, Index(0)) is not None
