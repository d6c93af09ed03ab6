"""Index arithmetic against Python's own integers, point by point."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.affine.drawing import affine_indices, boxes, dimensions, indices, points
from windlass.affine.dimensions import EVERYWHERE, Box, Dimension
from windlass.affine.index import Index, RuntimeScalar
from windlass.ir.values import tensor


def line(name: str, size: int, order: int = 0) -> Index:
    return Index.of(Dimension(name, size, order))


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_arithmetic_agrees_with_integers_at_every_point(data: st.DataObject) -> None:
    dims = data.draw(dimensions())
    one, other = data.draw(indices(dims, 2)), data.draw(indices(dims, 2))
    condition, divisor = data.draw(affine_indices(dims)), data.draw(st.integers(1, 9))
    made = {
        "sum": one + other,
        "difference": one - other,
        "negated": -one,
        "quotient": one.floor_divide(divisor),
        "remainder": one.modulo(divisor),
        "least": one.minimum(other),
        "most": one.maximum(other),
        "choice": Index.choose(condition, one, other),
    }
    for point in points(dims, EVERYWHERE):
        a, b = one.at(point), other.at(point)
        expected = {
            "sum": a + b,
            "difference": a - b,
            "negated": -a,
            "quotient": a // divisor,
            "remainder": a % divisor,
            "least": min(a, b),
            "most": max(a, b),
            "choice": a if condition.at(point) >= 0 else b,
        }
        assert {name: index.at(point) for name, index in made.items()} == expected


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_simplification_and_ranges_hold_over_the_box(data: st.DataObject) -> None:
    dims = data.draw(dimensions())
    index, box = data.draw(indices(dims)), data.draw(boxes(dims))
    simpler = index.simplify(box)
    lower, upper = index.value_range(box)
    simpler_lower, simpler_upper = simpler.value_range(box)
    positive = index.nonnegative_part(box)
    for point in points(dims, box):
        value = index.at(point)
        assert simpler.at(point) == value
        assert lower <= value <= upper
        assert simpler_lower <= value <= simpler_upper
        if value >= 0:
            assert all(positive.lower(each) <= at < positive.bounds(each)[1] for each, at in point.items())


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_substitution_puts_indices_in_place_of_dimensions(data: st.DataObject) -> None:
    old, new = data.draw(dimensions()), data.draw(dimensions())
    index = data.draw(indices(old))
    replacements = {
        dimension: data.draw(affine_indices(new)).modulo(dimension.size)
        for dimension in old
        if data.draw(st.booleans())
    }
    result = index.substitute(replacements)
    kept = [dimension for dimension in old if dimension not in replacements]
    for point in points([*kept, *new], EVERYWHERE):
        values = {each: replacements[each].at(point) if each in replacements else point[each] for each in old}
        assert result.at(point) == index.at(values)


def test_quotient_and_remainder_join_again() -> None:
    g = line("g", 1000)
    assert g.floor_divide(8).scale(8) + g.modulo(8) == g
    assert g - g.floor_divide(8).scale(8) == g.modulo(8)
    digits = g.modulo(4) + g.floor_divide(4).modulo(8).scale(4) + g.floor_divide(32).scale(32)
    assert digits == g
    assert (g + 3) - (g + 3).floor_divide(5).scale(5) == (g + 3).modulo(5)
    assert g.scale(6) - g.scale(6).floor_divide(4).scale(4) == g.scale(6).modulo(4)


def test_flat_ids_come_apart_by_ranges() -> None:
    block, thread = line("block", 20), line("thread", 16, 1)
    flat = block.scale(16) + thread
    assert flat.floor_divide(16) == block
    assert flat.modulo(16) == thread
    assert flat.floor_divide(32) == block.floor_divide(2)
    assert flat.floor_divide(4) == block.scale(4) + thread.floor_divide(4)
    assert (flat + 320).modulo(320) == flat


def test_nested_remainders_and_extrema_go_away_where_ranges_allow() -> None:
    x = line("x", 10)
    assert (((x + 9).modulo(10)) + 1).modulo(10) == x
    assert x.minimum(Index(9)) == x
    assert x.maximum(Index(-1)) == x
    assert x.minimum(Index(5)).value_range() == (0, 5)
    assert (x + 1).minimum(Index(5)) == x.minimum(Index(4)) + 1
    assert x.floor_divide(10) == Index(0)
    (dimension,) = x.dimensions
    assert (x - 1).maximum(Index(0)).simplify(Box({dimension: (1, 10)})) == x - 1


def test_choices_that_clamp_are_known_as_such() -> None:
    x = line("x", 10)
    assert Index.choose(x - 1, x - 1, x) == (x - 1).maximum(Index(0))
    assert Index.choose(Index(8) - x, x + 1, x) == (x + 1).minimum(Index(9))
    assert Index.choose(-x, Index(0), x - 1) == (x - 1).maximum(Index(0))


def test_a_point_dimension_is_a_number() -> None:
    assert line("x", 1) == Index(0)
    assert Index.of(RuntimeScalar(tensor("i32"), 4, 4)) == Index(4)


def test_products_need_a_constant() -> None:
    x = line("x", 10)
    assert x.multiply(Index(3)) == x.scale(3)
    assert x.multiply(x) is None
