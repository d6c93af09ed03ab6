"""Predicates against plain truth values, point by point."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.affine.drawing import boxes, dimensions, points, predicates
from windlass.affine.dimensions import EVERYWHERE, Box, Dimension
from windlass.affine.index import Index
from windlass.affine.predicate import FALSE, TRUE, DataCondition, Predicate


@dataclass(frozen=True)
class Unknown:
    """A handle on what is known at run time only."""

    dims: tuple[Dimension, ...]
    identity: str


def is_inside(box: Box, point: dict[Dimension, int]) -> bool:
    return all(box.bounds(each)[0] <= value < box.bounds(each)[1] for each, value in point.items())


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_splitting_keeps_exactly_the_lanes_that_hold(data: st.DataObject) -> None:
    dims = data.draw(dimensions())
    predicate, box = data.draw(predicates(dims)), data.draw(boxes(dims))
    simpler = predicate.simplify(box)
    smaller, residual = predicate.split(box)
    for point in points(dims, box):
        held = predicate.at(point)
        assert simpler.at(point) == held
        assert (is_inside(smaller, point) and residual.at(point)) == held


@settings(max_examples=70, deadline=None)
@given(st.data())
def test_connectives_agree_with_truth_values(data: st.DataObject) -> None:
    dims = data.draw(dimensions())
    one, other = data.draw(predicates(dims)), data.draw(predicates(dims))
    both, either, neither = one & other, one | other, ~one
    implied = one.implies(other)
    for point in points(dims, EVERYWHERE):
        assert both.at(point) == (one.at(point) and other.at(point))
        assert either.at(point) == (one.at(point) or other.at(point))
        assert neither.at(point) != one.at(point)
        if implied and one.at(point):
            assert other.at(point)


def compare(direction: str, left: Index, right: Index | int) -> Predicate:
    return Predicate.compare(direction, left, Index(right) if isinstance(right, int) else right)


def test_a_guard_over_rows_and_columns_becomes_a_box() -> None:
    row, column = Dimension("row", 100, 0), Dimension("column", 32, 1)
    flat = Index.of(row).scale(32) + Index.of(column)
    assert compare("LT", flat, 320).split(EVERYWHERE) == (Box({row: (0, 10)}), TRUE)
    smaller, residual = compare("LT", flat, 330).split(EVERYWHERE)
    assert smaller == Box({row: (0, 11)})
    assert not residual.is_true


def test_equality_makes_a_point() -> None:
    x = Dimension("x", 100, 0)
    assert compare("EQ", Index.of(x).scale(3), 12).split(EVERYWHERE) == (Box({x: (4, 5)}), TRUE)
    assert compare("EQ", Index.of(x).scale(3), 13).is_false
    assert compare("NE", Index.of(x), 0).split(EVERYWHERE) == (Box({x: (1, 100)}), TRUE)


def test_guards_on_quotients_become_guards_on_the_dimension() -> None:
    g = Dimension("g", 1000, 0)
    block = Index.of(g).floor_divide(32)
    assert compare("GE", block, 3).split(EVERYWHERE) == (Box({g: (96, 1000)}), TRUE)
    assert compare("EQ", block, 3).split(EVERYWHERE) == (Box({g: (96, 128)}), TRUE)


def test_a_predicate_and_its_opposite_cancel() -> None:
    x = Dimension("x", 4, 0)
    condition = DataCondition(Unknown((x,), "flags"))
    guard = compare("LT", Index.of(x), 3)
    assert (condition & ~condition).is_false
    assert (condition | ~condition).is_true
    assert ((guard & condition) | (guard & ~condition)) == guard
    assert (guard | (~guard & condition)) == (guard | condition)
    assert (guard & ~guard) is FALSE


def test_bounds_that_say_less_go_away() -> None:
    x = Dimension("x", 100, 0)
    index = Index.of(x)
    assert compare("LT", index, 5) & compare("LT", index, 9) == compare("LT", index, 5)
    assert compare("LT", index, 5) | compare("LT", index, 9) == compare("LT", index, 9)
    assert (compare("LT", index, 5) & compare("GT", index, 7)).is_false
    assert (compare("LT", index, 5) | compare("GT", index, 3)).is_true


def test_clamped_comparisons_come_apart() -> None:
    x, y = Dimension("x", 100, 0), Dimension("y", 100, 1)
    least = Index.of(x).minimum(Index.of(y))
    assert compare("GE", least, 7).split(EVERYWHERE) == (Box({x: (7, 100), y: (7, 100)}), TRUE)


def test_implication_sees_through_combined_bounds() -> None:
    x, y = Dimension("x", 100, 0), Dimension("y", 100, 1)
    guard = compare("GE", Index.of(x), 50) & compare("GE", Index.of(y), 10)
    assert guard.implies(compare("GE", Index.of(x) + Index.of(y), 60))
    assert not guard.implies(compare("GE", Index.of(x) + Index.of(y), 61))
