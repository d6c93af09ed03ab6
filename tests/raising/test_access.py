"""Loads and stores against going through the lanes one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.affine.drawing import (
    affine_indices,
    array_accesses,
    boxes,
    dimensions,
    in_bounds,
    indices,
    points,
    predicates,
)
from tests.raising.lanes_by_hand import Program, lane_value, lanes_of
from windlass.affine.dimensions import Box, Dimension, in_order
from windlass.affine.index import Index
from windlass.affine.predicate import TRUE, Predicate
from windlass.ops.elementwise import Add
from windlass.ops.extremes import Maximum
from windlass.raising.access import load, scatter_combine, store


def check_load(
    dims: list[Dimension], index: Index, box: Box, mask: Predicate, size: int, strides: tuple[int, ...] = ()
) -> Program:
    """Every active lane in bounds reads its own word."""
    program = Program()
    content = np.arange(100, 100 + size, dtype=np.float32)
    memory = program.argument(content)
    with program.building():
        lanes = load(memory, index, box, mask, strides)
    assert lanes.region.contains(box)
    array: Any = program.run(lanes.value)
    for point in points(dims, box):
        if mask.at(point):
            assert lane_value(lanes, array, point) == content[index.at(point)], (index, point, program.op_names())
    return program


def check_store(
    dims: list[Dimension], index: Index, box: Box, mask: Predicate, size: int, strides: tuple[int, ...] = ()
) -> Program:
    """Every word that active lanes write to holds what one of them wrote; every other one is as it was."""
    program = Program()
    content = -np.arange(1, size + 1, dtype=np.float32)
    memory = program.argument(content)
    numbers = iter(range(10**6))
    value = lanes_of(program, dims, box, lambda *_: next(numbers), "float32")
    written: dict[int, set[float]] = {}
    values = program.arrays[value.value]
    for point in points(dims, box):
        if mask.at(point):
            written.setdefault(index.at(point), set()).add(float(lane_value(value, values, point)))
    with program.building():
        after = store(memory, index, value, box, mask, strides)
    array: Any = program.run(after)
    assert array.shape == (size,)
    for place in range(size):
        allowed = written.get(place, {float(content[place])})
        assert float(array[place]) in allowed, (index, box, mask, place, program.op_names())
    return program


def shifted_into_memory(index: Index, dims: list[Dimension], box: Box, mask: Predicate) -> tuple[Index, int] | None:
    """The index moved so that active lanes use memory from about word 0, and a size that fits."""
    active = [index.at(point) for point in points(dims, box) if mask.at(point)]
    if not active:
        return None
    least, most = min(active), max(active)
    return index - least, most - least + 1


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_loads_agree_with_single_lanes(data: st.DataObject) -> None:
    dims = data.draw(dimensions())
    box, mask = data.draw(boxes(dims)), data.draw(predicates(dims, 1))
    index = data.draw(st.one_of(affine_indices(dims), indices(dims, 1), indices(dims, 2)))
    found = shifted_into_memory(index, dims, box, mask)
    if found is None:
        return
    index, size = found
    before, after = data.draw(st.integers(0, 9)), data.draw(st.integers(0, 9))
    strides = tuple(data.draw(st.lists(st.integers(2, 12), max_size=2)))
    check_load(dims, index + before, box, mask, size + before + after, strides)


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_stores_agree_with_single_lanes(data: st.DataObject) -> None:
    dims = data.draw(dimensions())
    box, mask = data.draw(boxes(dims)), data.draw(predicates(dims, 1))
    index = data.draw(st.one_of(affine_indices(dims), indices(dims, 1), indices(dims, 2)))
    found = shifted_into_memory(index, dims, box, mask)
    if found is None:
        return
    index, size = found
    before, after = data.draw(st.integers(0, 9)), data.draw(st.integers(0, 9))
    strides = tuple(data.draw(st.lists(st.integers(2, 12), max_size=2)))
    check_store(dims, index + before, box, mask, size + before + after, strides)


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_combining_stores_count_every_lane(data: st.DataObject) -> None:
    dims = data.draw(dimensions())
    box, mask = data.draw(boxes(dims)), data.draw(predicates(dims, 1))
    index = data.draw(st.one_of(affine_indices(dims), indices(dims, 1)))
    found = shifted_into_memory(index, dims, box, mask)
    if found is None:
        return
    index, size = found
    value_dims = in_order(each for each in dims if data.draw(st.booleans()))
    combiner: Any = data.draw(st.sampled_from([Add, Maximum]))
    program = Program()
    content = np.arange(size, dtype=np.int32)
    memory = program.argument(content)
    value = lanes_of(program, value_dims, box, lambda *place: 3 * sum(place) + 1, "int32")
    expected = content.copy()
    for point in points(dims, box):
        if mask.at(point):
            each = lane_value(value, program.arrays[value.value], point)
            place = index.at(point)
            expected[place] = expected[place] + each if combiner is Add else max(expected[place], each)
    with program.building():
        after = scatter_combine(memory, index, value, box, mask, combiner, dims)
    assert program.run(after).tolist() == expected.tolist()


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_loads_from_arrays_agree_with_single_lanes(data: st.DataObject) -> None:
    dims, index, strides, size = data.draw(array_accesses())
    box, mask = data.draw(boxes(dims)), data.draw(st.one_of(st.just(TRUE), predicates(dims, 1)))
    found = None if data.draw(st.booleans()) else shifted_into_memory(index, dims, box, mask)
    if found is None:
        mask = mask & in_bounds(index, size)
    else:
        index, size = found
        after = data.draw(st.sampled_from([0, 0, 1, 7]))
        size += after
    check_load(dims, index, box, mask, size, strides)


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_stores_to_arrays_agree_with_single_lanes(data: st.DataObject) -> None:
    dims, index, strides, size = data.draw(array_accesses())
    box, mask = data.draw(boxes(dims)), data.draw(st.one_of(st.just(TRUE), predicates(dims, 1)))
    found = None if data.draw(st.booleans()) else shifted_into_memory(index, dims, box, mask)
    if found is None:
        mask = mask & in_bounds(index, size)
    else:
        index, size = found
        after = data.draw(st.sampled_from([0, 0, 1, 7]))
        size += after
    check_store(dims, index, box, mask, size, strides)


def test_empty_boxes_touch_nothing() -> None:
    x = Dimension("x", 8, 0)
    box = Box().restrict(x, 3, 3)
    program = check_store([x], Index.of(x), box, TRUE, 8)
    assert program.op_names() == []
    assert check_load([x], Index.of(x), box, TRUE, 8).op_names() in (["Constant"], [])
