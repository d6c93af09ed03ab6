"""Accesses that may come to the same byte: said of all that do, by all points and by all bytes."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from windlass.affine.access import Access
from windlass.affine.dimensions import Box, Dimension
from windlass.affine.domain import Domain
from windlass.affine.index import Index
from windlass.affine.predicate import TRUE, Predicate

X, Y = Dimension("x", 5, 0), Dimension("y", 4, 1)
MEMORY = "a memory"


@st.composite
def accesses(draw: Any) -> Access[str]:
    a, b, c, limit = (draw(st.integers(-6, 6)) for _ in range(4))
    address = Index.of(X).scale(a) + Index.of(Y).scale(b) + c
    mask = draw(st.sampled_from([TRUE, Predicate.compare("LT", Index.of(X), Index(limit))]))
    lower = draw(st.integers(0, 3))
    box = Box().restrict(X, lower, draw(st.integers(lower + 1, 5)))
    return Access(MEMORY, address, draw(st.sampled_from([1, 2, 4, 8])), Domain((X, Y), box, mask), 0)


def bytes_by_point(access: Access[str]) -> dict[tuple[int, int], set[int]]:
    found: dict[tuple[int, int], set[int]] = {}
    for x in range(*access.box.bounds(X)):
        for y in range(*access.box.bounds(Y)):
            point = Box().restrict(X, x, x + 1).restrict(Y, y, y + 1)
            if access.mask.simplify(point).is_true:
                start = access.address.value_range(point)[0]
                found[x, y] = set(range(start, start + access.size))
    return found


@given(accesses(), accesses())
def test_accesses_that_touch_one_byte_are_said_to(one: Access[str], other: Access[str]) -> None:
    first, second = bytes_by_point(one), bytes_by_point(other)
    if set[int]().union(*first.values()) & set[int]().union(*second.values()):
        assert one.may_overlap(other)
        assert other.may_overlap(one)
    if any(first[point] & second[point] for point in first.keys() & second.keys()):
        assert one.may_meet(other)
        assert other.may_meet(one)


def test_neighbours_overlap_but_do_not_meet() -> None:
    domain = Domain((X,), Box(), TRUE)
    own, next_one = (Access(MEMORY, Index.of(X).scale(4) + start, 4, domain, 0) for start in (0, 4))
    assert own.may_overlap(next_one)
    assert not own.may_meet(next_one)


def test_other_memories_never_overlap() -> None:
    domain = Domain((X,), Box(), TRUE)
    one, other = (Access([], Index(0), 4, domain, 0) for _ in range(2))
    assert one.may_overlap(one)
    assert not one.may_overlap(other)
    assert not one.may_meet(other)
