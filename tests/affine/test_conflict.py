"""Distances of iterations at which two accesses come to one byte: by all pairs of iterations and by all bytes."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from windlass.affine.access import Access
from windlass.affine.conflict import conflict
from windlass.affine.dimensions import Box, Dimension
from windlass.affine.domain import Domain
from windlass.affine.index import Index
from windlass.affine.predicate import TRUE

K, INNER, OUTER = Dimension("k", 5, 0), Dimension("inner", 3, 1), Dimension("outer", 3, 2)


@st.composite
def accesses(draw: Any) -> Access[str]:
    address = Index(draw(st.integers(-9, 9)))
    box = Box()
    for each in (K, INNER, OUTER):
        address = address + Index.of(each).scale(draw(st.sampled_from([-12, -4, -3, -1, 0, 1, 2, 4, 8, 16])))
        lower = draw(st.integers(0, each.size - 1))
        box = box.restrict(each, lower, draw(st.integers(lower + 1, each.size)))
    return Access("a memory", address, draw(st.sampled_from([1, 2, 4, 8])), Domain((K, INNER, OUTER), box, TRUE), 0)


def places(access: Access[str]) -> list[tuple[int, int, range]]:
    """The iteration, the outer counter, and the bytes of each point."""
    found: list[tuple[int, int, range]] = []
    for k in range(*access.box.bounds(K)):
        for inner in range(*access.box.bounds(INNER)):
            for outer in range(*access.box.bounds(OUTER)):
                point = Box({K: (k, k + 1), INNER: (inner, inner + 1), OUTER: (outer, outer + 1)})
                start = access.address.value_range(point)[0]
                found.append((k, outer, range(start, start + access.size)))
    return found


@given(accesses(), accesses())
def test_every_distance_at_which_iterations_touch_one_byte_is_within_the_bounds(
    one: Access[str], other: Access[str]
) -> None:
    least, most = conflict(one, other, K, lambda atom: atom is K or atom is INNER)
    for k, outer, own in places(one):
        for other_k, other_outer, others in places(other):
            if k != other_k and outer == other_outer and max(own[0], others[0]) <= min(own[-1], others[-1]):
                assert least <= k - other_k <= most


def test_iterations_side_by_side_never_conflict() -> None:
    domain = Domain((K,), Box(), TRUE)
    own = Access("a memory", Index.of(K).scale(4), 4, domain, 0)
    assert conflict(own, own, K, lambda atom: atom is K) == (0, 0)


def test_one_place_of_all_iterations_conflicts_at_every_distance() -> None:
    own = Access("a memory", Index(8), 4, Domain((K,), Box(), TRUE), 0)
    assert conflict(own, own, K, lambda atom: atom is K) == (-4, 4)
