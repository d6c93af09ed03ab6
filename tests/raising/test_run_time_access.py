"""Loads and stores whose indices and masks are known at run time only, against going through the lanes one by one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.affine.drawing import affine_indices, array_accesses, boxes, dimensions, indices, points, predicates
from tests.raising.lanes_by_hand import Program, index_value, lane_value, lanes_of, predicate_value
from windlass.affine.dimensions import Box, Dimension, in_order
from windlass.affine.index import Data, Index, RuntimeScalar
from windlass.affine.predicate import TRUE, Predicate
from windlass.ops.elementwise import Add, And, Or, Xor
from windlass.ops.extremes import Maximum, Minimum
from windlass.raising.access import load, scatter_combine, store
from windlass.raising.lanes import Lanes, condition_of

FAR = 2**31 - 1


@st.composite
def scalars(draw: st.DrawFn, program: Program) -> Index:
    """A run-time number, with tight, loose or no bounds."""
    value, slack = draw(st.integers(-3, 9)), draw(st.sampled_from([0, 2, 9, FAR]))
    argument = program.argument(np.array(value, draw(st.sampled_from([np.int32, np.int64]))))
    return Index.of(RuntimeScalar(argument, value - min(slack, 1), value + slack if slack < FAR else FAR))


@st.composite
def subsets(draw: st.DrawFn, dims: Sequence[Dimension]) -> tuple[Dimension, ...]:
    return in_order(dimension for dimension in dims if draw(st.booleans()))


@st.composite
def data_indices(draw: st.DrawFn, program: Program, dims: Sequence[Dimension], box: Box) -> Index:
    """Run-time integers for the lanes of the box."""
    own = draw(subsets(dims))
    most = draw(st.integers(0, 6))
    generator = np.random.default_rng(draw(st.integers(0, 1000)))
    lanes = lanes_of(program, own, box, lambda *_: generator.integers(0, most + 1), "int32")
    return Index.of(Data(lanes, 0, most if draw(st.booleans()) else FAR))


@st.composite
def conditions(draw: st.DrawFn, program: Program, dims: Sequence[Dimension], box: Box) -> Predicate:
    own = draw(subsets(dims))
    generator = np.random.default_rng(draw(st.integers(0, 1000)))
    lanes = lanes_of(program, own, box, lambda *_: generator.random() < 0.6, "bool")
    condition = condition_of(lanes)
    return draw(st.sampled_from([condition, ~condition]))


class Situation:
    """An access to memory by some lanes, with what each of them means."""

    def __init__(self, data: st.DataObject) -> None:
        self.program = Program()
        program = self.program
        if data.draw(st.booleans()):
            self.dims, index, self.strides, _ = data.draw(array_accesses())
        else:
            self.dims, self.strides = data.draw(dimensions()), (data.draw(st.integers(2, 9)),)
            index = data.draw(st.one_of(affine_indices(self.dims), indices(self.dims, 1)))
        self.box = data.draw(boxes(self.dims))
        factors = st.sampled_from([1, 1, -1, 2, *self.strides])
        if data.draw(st.booleans()):
            index = index + data.draw(scalars(program)).scale(data.draw(factors))
        if data.draw(st.booleans()):
            index = index + data.draw(data_indices(program, self.dims, self.box)).scale(data.draw(factors))
        if data.draw(st.integers(0, 4)) == 0:
            index = index.floor_divide(data.draw(st.integers(2, 4)))
        mask = data.draw(st.one_of(st.just(TRUE), predicates(self.dims, 1)))
        for _ in range(data.draw(st.integers(0, 2))):
            condition = data.draw(conditions(program, self.dims, self.box))
            mask = mask & condition if data.draw(st.booleans()) else mask | condition
        self.mask = mask
        self.active = [each for each in points(self.dims, self.box) if predicate_value(mask, each, program)]
        places = [index_value(index, each, program) for each in self.active] or [0]
        before, after = data.draw(st.integers(0, 5)), data.draw(st.integers(0, 5))
        self.index = index - min(places) + before
        self.size = max(places) - min(places) + 1 + before + after

    def place(self, point: dict[Dimension, int]) -> int:
        return index_value(self.index, point, self.program)

    def value(self, data: st.DataObject) -> tuple[Lanes, Any]:
        """What lanes write: distinct numbers."""
        generator = iter(range(1, 10**6))
        own = data.draw(subsets(self.dims)) if data.draw(st.booleans()) else in_order(self.dims)
        lanes = lanes_of(self.program, own, self.box, lambda *_: next(generator), "int32")
        return lanes, self.program.arrays[lanes.value]


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_loads_at_run_time_places(data: st.DataObject) -> None:
    case = Situation(data)
    content = np.arange(100, 100 + case.size, dtype=np.int32)
    memory = case.program.argument(content)
    with case.program.building():
        lanes = load(memory, case.index, case.box, case.mask, case.strides)
    array: Any = case.program.run(lanes.value)
    for point in case.active:
        assert lane_value(lanes, array, point) == content[case.place(point)], case.program.op_names()


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_stores_at_run_time_places(data: st.DataObject) -> None:
    case = Situation(data)
    content = -np.arange(1, case.size + 1, dtype=np.int32)
    memory = case.program.argument(content)
    value, values = case.value(data)
    allowed = [{int(each)} for each in content]
    written: dict[int, set[int]] = {}
    for point in case.active:
        written.setdefault(case.place(point), set()).add(int(lane_value(value, values, point)))
    for place, numbers in written.items():
        allowed[place] = numbers
    with case.program.building():
        after = store(memory, case.index, value, case.box, case.mask, case.strides)
    array: Any = case.program.run(after)
    assert all(int(each) in numbers for each, numbers in zip(array, allowed, strict=True)), case.program.op_names()


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_combinations_at_run_time_places(data: st.DataObject) -> None:
    case = Situation(data)
    generator = np.random.default_rng(data.draw(st.integers(0, 1000)))
    content = generator.integers(-50, 50, case.size).astype(np.int32)
    memory = case.program.argument(content)
    value, values = case.value(data)
    combiners: dict[Any, Any] = {
        Add: np.add,
        Maximum: np.maximum,
        Minimum: np.minimum,
        And: np.bitwise_and,
        Or: np.bitwise_or,
        Xor: np.bitwise_xor,
    }
    combiner = data.draw(st.sampled_from(list(combiners)))
    expected = content.copy()
    for point in case.active:
        place = case.place(point)
        expected[place] = combiners[combiner](expected[place], lane_value(value, values, point))
    with case.program.building():
        after = scatter_combine(memory, case.index, value, case.box, case.mask, combiner, case.dims, case.strides)
    assert case.program.run(after).tolist() == expected.tolist(), case.program.op_names()


def test_a_window_is_not_trusted_after_idle_lanes_were_folded_away() -> None:
    program = Program()
    x, y = Dimension("x", 2, 0), Dimension("y", 3, 1)
    memory = program.argument(np.array([10, 20], np.int32))
    # Only x = 0 is active; the window of both would stick out of memory at the end.
    active = Lanes(program.argument(np.array([[True, False, True], [False] * 3])), (x, y))
    start = Index.of(RuntimeScalar(program.argument(np.array(1, np.int32)), -FAR, FAR))
    value = Lanes(program.argument(np.array(5, np.int32)))
    with program.building():
        after = scatter_combine(memory, start + Index.of(x), value, Box(), condition_of(active), Add, (x, y))
    assert program.run(after).tolist() == [10, 30]
