"""Indices and predicates as tensors, against their values point by point."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.affine.drawing import boxes, dimensions, indices, points, predicates
from tests.raising.lanes_by_hand import Program, lane_value
from windlass.affine.dimensions import EVERYWHERE, Dimension
from windlass.affine.index import Index
from windlass.raising.materialize import materialize, materialize_condition


@settings(max_examples=30, deadline=None)
@given(st.data())
def test_lanes_of_an_index_hold_its_values(data: st.DataObject) -> None:
    dims = data.draw(dimensions())
    index, box = data.draw(indices(dims)), data.draw(boxes(dims))
    dtype = data.draw(st.sampled_from(["i32", "i64", "f32"]))
    program = Program()
    with program.building():
        lanes = materialize(index, box, dtype)
    assert lanes.dtype == dtype
    array: Any = program.run(lanes.value)
    for point in points(dims, box):
        assert lane_value(lanes, array, point) == index.at(point)


def test_large_numbers_keep_their_value_in_narrow_arithmetic() -> None:
    dimension = Dimension("x", 5, 0)
    x = Index.of(dimension)
    far = (x.scale(3_000_000_000) + 7).floor_divide(1_000_000_000)
    program = Program()
    with program.building():
        lanes = materialize(far, EVERYWHERE, "i32")
    assert program.run(lanes.value).tolist() == [0, 3, 6, 9, 12]


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_lanes_of_a_predicate_hold_its_truth(data: st.DataObject) -> None:
    dims = data.draw(dimensions())
    predicate, box = data.draw(predicates(dims)), data.draw(boxes(dims))
    program = Program()
    with program.building():
        lanes = materialize_condition(predicate, box)
    array = program.run(lanes.value)
    for point in points(dims, box):
        assert bool(lane_value(lanes, array, point)) == predicate.at(point)
