from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import pytest

from tests.communication.on_devices import evaluate
from windlass.communication import exchange_and_estimate, exchange_halos_in
from windlass.communication.machines import Machine
from windlass.ir import Block, Builder, Function, Module, Value, tensor_type
from windlass.ops import (
    Add,
    BitcastConvert,
    BroadcastInDim,
    Cholesky,
    CollectivePermute,
    Compare,
    Concatenate,
    Constant,
    DynamicUpdateSlice,
    Iota,
    Maximum,
    Multiply,
    Opaque,
    Pad,
    Reduce,
    ReduceWindow,
    Reshape,
    Return,
    Reverse,
    Select,
    Slice,
    Sort,
    Subtract,
    TopK,
    Transpose,
    TriangularSolve,
    While,
    make_region,
)
from windlass.ops.combiners import combiner_region
from windlass.ops.movement import slice_along
from windlass.ops.shardings import MANUAL, Mesh, Sharding

CASES: tuple[tuple[tuple[int, ...], Sharding], ...] = (
    ((24,), Sharding(Mesh((("x", 4),)), (("x",),))),
    ((12, 6), Sharding(Mesh((("x", 3), ("y", 2))), (("x",), ("y",)))),
    ((5, 16), Sharding(Mesh((("x", 4),)), ((), ("x",)))),
    ((16, 4), Sharding(Mesh((("x", 2), ("y", 2))), (("y", "x"), ()))),
)


class Author:
    """Writes a program of moves and arithmetic on a few fields, at random."""

    def __init__(self, draw: random.Random, fields: list[Value]) -> None:
        self.draw = draw
        self.fields = fields
        self.shape = fields[0].shape
        self.values = list(fields)

    def write(self, length: int) -> None:
        moves: tuple[Callable[[Value], Value | None], ...] = (
            self.cut, self.pad, self.roll, self.join, self.update, self.combine, self.combine, self.mask, self.turn,
            self.smooth, self.fold, self.window, self.accumulate,
        )  # fmt: skip
        for _ in range(length):
            recent = self.values[-4:] if self.draw.random() < 0.7 else self.values
            found = self.draw.choice(moves)(self.draw.choice(recent))
            if found is not None and min(found.shape) > 0 and max(found.shape) <= 2 * max(self.shape):
                self.values.append(found)

    def axis(self, value: Value) -> int:
        return self.draw.randrange(len(value.shape))

    def cut(self, value: Value) -> Value:
        axis = self.axis(value)
        size = value.shape[axis]
        first = self.draw.randint(0, min(3, size - 1))
        return slice_along(value, axis, first, max(first + 1, size - self.draw.randint(0, 3)))

    def pad(self, value: Value) -> Value | None:
        axis = self.axis(value)
        lows, highs = ([0] * len(value.shape) for _ in range(2))
        lows[axis], highs[axis] = (self.draw.choice((-1, 0, 1, 1, 2)) for _ in range(2))
        if value.shape[axis] + lows[axis] + highs[axis] < 1:
            return None
        number = Constant.of(self.draw.choice((0.0, 7.0)), "f64")
        return Pad(value, number, tuple(lows), tuple(highs), (0,) * len(lows))

    def roll(self, value: Value) -> Value | None:
        axis = self.axis(value)
        size = value.shape[axis]
        by = self.draw.choice((1, 1, 2, size - 1, size - 2))
        if not 0 < by < size:
            return None
        return Concatenate((slice_along(value, axis, by, size), slice_along(value, axis, 0, by)), axis)

    def join(self, value: Value) -> Value | None:
        """Ghost cells of some kind, or two values one after the other."""
        axis = self.axis(value)
        size = value.shape[axis]
        if size < 3:
            return None
        kind = self.draw.choice(("periodic", "mirrored", "edge", "other"))
        if kind == "other":
            others = [each for each in self.values if _fits(each, value, axis)]
            return Concatenate((value, self.draw.choice(others)), axis)
        places = {"periodic": (size - 1, 0), "mirrored": (1, size - 2), "edge": (0, size - 1)}[kind]
        ghosts = [slice_along(value, axis, place, place + 1) for place in places]
        return Concatenate((ghosts[0], value, ghosts[1]), axis)

    def update(self, value: Value) -> Value | None:
        others = [each for each in self.values if all(a <= b for a, b in zip(each.shape, value.shape, strict=True))]
        new = self.draw.choice(others)
        starts = [self.draw.randint(0, big - small) for small, big in zip(new.shape, value.shape, strict=True)]
        return DynamicUpdateSlice(value, new, tuple(Constant.of(start, "i32") for start in starts))

    def combine(self, value: Value) -> Value:
        others = [each for each in self.values if each.shape == value.shape]
        return self.draw.choice((Add, Subtract, Multiply))(value, self.draw.choice(others))

    def mask(self, value: Value) -> Value:
        axis = self.axis(value)
        limit = Constant.of(self.draw.randint(0, value.shape[axis]), "i32", value.shape)
        others = [each for each in self.values if each.shape == value.shape]
        test = Compare(Iota(value.shape, "i32", axis), limit, self.draw.choice(("LT", "GE")))
        return Select(test, value, self.draw.choice(others))

    def turn(self, value: Value) -> Value | None:
        if self.draw.random() < 0.5 or len(value.shape) == 1:
            return Reverse(value, (self.axis(value),)) if self.draw.random() < 0.2 else None
        if self.draw.random() < 0.2 and value.shape[0] == value.shape[1]:
            return Transpose(value, (1, 0))
        row = slice_along(value, 0, 0, 1)
        return BroadcastInDim(row, value.shape, (0, 1))

    def smooth(self, value: Value) -> Value | None:
        """The interior from its neighbours."""
        axis = self.axis(value)
        size = value.shape[axis]
        if size < 3:
            return None
        inner = Add(slice_along(value, axis, 0, size - 2), slice_along(value, axis, 2, size))
        starts = [1 if each == axis else 0 for each in range(len(value.shape))]
        return DynamicUpdateSlice(value, inner, tuple(Constant.of(start, "i32") for start in starts))

    def window(self, value: Value) -> Value | None:
        """The greatest of neighbours, also of those beyond the end."""
        axis = self.axis(value)
        sizes, dilations, padding = [1] * len(value.shape), [1] * len(value.shape), [(0, 0)] * len(value.shape)
        sizes[axis], dilations[axis] = self.draw.randint(1, 3), self.draw.randint(1, 2)
        padding[axis] = (self.draw.randint(0, 2), self.draw.randint(0, 2))
        if value.shape[axis] + sum(padding[axis]) <= (sizes[axis] - 1) * dilations[axis]:
            return None
        ones, start = (1,) * len(sizes), Constant.of(-np.inf, "f64")
        region = combiner_region(Maximum, "f64")
        windows = (tuple(sizes), ones, ones, tuple(dilations), tuple(padding))
        (found,) = ReduceWindow((value,), (start,), *windows, region).results
        # What lies outside alone gives nothing that could be computed with.
        return Maximum(found, Constant.of(-9.0, "f64", found.shape))

    def accumulate(self, value: Value) -> Value:
        """Running sums, from either end."""
        axis = self.axis(value)
        size, rank = value.shape[axis], len(value.shape)
        sizes, padding = [1] * rank, [(0, 0)] * rank
        sizes[axis] = size
        padding[axis] = self.draw.choice(((size - 1, 0), (0, size - 1)))
        ones = (1,) * rank
        windows = (tuple(sizes), ones, ones, ones, tuple(padding))
        region = combiner_region(Add, "f64")
        (found,) = ReduceWindow((value,), (Constant.of(0.0, "f64"),), *windows, region).results
        return Multiply(found, Constant.of(1 / size, "f64", found.shape))

    def fold(self, value: Value) -> Value:
        """The value with its sum, or its maximum, along some axes added to it."""
        axes = tuple(axis for axis in range(len(value.shape)) if self.draw.random() < 0.7) or (0,)
        combiner, start = self.draw.choice(((Add, 0.0), (Maximum, -np.inf)))
        region = combiner_region(combiner, "f64")
        (found,) = Reduce((value,), (Constant.of(start, "f64"),), axes, region).results
        kept = tuple(axis for axis in range(len(value.shape)) if axis not in axes)
        return Add(value, BroadcastInDim(found, value.shape, kept))


def _fits(value: Value, other: Value, axis: int) -> bool:
    return all(each == axis or a == b for each, (a, b) in enumerate(zip(value.shape, other.shape, strict=True)))


def write_program(seed: int) -> tuple[Module, list[Sharding]]:
    draw = random.Random(seed)
    shape, sharding = draw.choice(CASES)
    count = draw.randint(1, 3)
    block = Block([tensor_type(shape, "f64")] * count)
    with Builder(block):
        author = Author(draw, list(block.arguments))
        author.write(draw.randint(2, 14))
        whole = [value for value in author.values[count:] if value.shape == shape] or author.values[-1:]
        results = whole[-2:] + ([author.values[-1]] if draw.random() < 0.3 else [])
        Return(tuple(results))
    return Module([Function("main", block)], "program"), [sharding] * count


def check_program(seed: int) -> int:
    """Whether the program computes on devices what it computes on one; gives how many regions it has."""
    module, shardings = write_program(seed)
    exchanged = exchange_halos_in(module, shardings)
    if exchanged is None:
        return 0
    arrays = [
        np.random.default_rng(seed + k).random(argument.shape) for k, argument in enumerate(module.main.arguments)
    ]
    for found, expected in zip(evaluate(exchanged.main, arrays), evaluate(module.main, arrays), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12)
    return sum(isinstance(op, Opaque) and op.operation == MANUAL for op in exchanged.main.body)


def test_regions_compute_what_the_program_computes() -> None:
    regions = [check_program(seed) for seed in range(150)]
    assert sum(map(bool, regions)) > 70
    assert max(regions) > 1


@pytest.mark.slow
@pytest.mark.parametrize("first", range(1000, 21000, 1000))
def test_many_regions_compute_what_the_program_computes(first: int) -> None:
    for seed in range(first, first + 1000):
        check_program(seed)


def test_slices_of_a_slice_are_read_from_the_array() -> None:
    """What moves and computes nothing takes no array of its own."""
    block = Block([tensor_type((24,), "f64")])
    with Builder(block):
        (u,) = block.arguments
        inner = Slice(Slice(u, (1,), (23,), (1,)), (2,), (20,), (1,))
        Return((DynamicUpdateSlice(u, inner, (Constant.of(4, "i32"),)),))
    exchanged = exchange_halos_in(Module([Function("main", block)]), [CASES[0][1]])
    assert exchanged is not None
    array = np.arange(24.0)
    (found,) = evaluate(exchanged.main, [array])
    np.testing.assert_array_equal(found, [*range(4), *range(3, 21), *range(22, 24)])


def test_folds_close_the_ring_for_what_begins_before_the_first_device() -> None:
    block = Block([tensor_type((24,), "f64")])
    with Builder(block):
        (u,) = block.arguments
        moved = Pad(u, Constant.of(7.0, "f64"), (1,), (-1,), (0,))
        again = DynamicUpdateSlice(moved, u, (Constant.of(0, "i32"),))
        (found,) = Reduce((again,), (Constant.of(0.0, "f64"),), (0,), combiner_region(Add, "f64")).results
        Return((found,))
    exchanged = exchange_halos_in(Module([Function("main", block)]), [CASES[0][1]])
    assert exchanged is not None
    (found,) = evaluate(exchanged.main, [np.arange(24.0)])
    assert found == 276.0


def write_loops(passes_on: bool) -> Module:
    """Two loops, one in the other, which read a field at a distance that neither of them changes."""
    block = Block([tensor_type((24,), "f64")] * 3)

    def is_below(count: Value, *_: Value) -> Value:
        return Compare(count, Constant.of(3, "i32"), "LT")

    def rolled(value: Value, by: int) -> Value:
        return Concatenate((slice_along(value, 0, by, 24), slice_along(value, 0, 0, by)), 0)

    with Builder(block):
        u, depth, push = block.arguments
        zero = Constant.of(0, "i32")

        def step(count: Value, u: Value, kept: Value) -> tuple[Value, ...]:
            mean = Multiply(Add(rolled(u, 1), rolled(u, 23)), Constant.of(0.5, "f64", (24,)))

            def short_step(count: Value, u: Value, inner: Value, mean: Value) -> tuple[Value, ...]:
                depth_there = rolled(inner if passes_on else depth, 22)
                found = Add(Multiply(rolled(u, 2), depth_there), Subtract(rolled(mean, 1), rolled(push, 3)))
                return Add(count, Constant.of(1, "i32")), found, inner, mean

            taken = (zero, u, kept, mean)
            types = tuple(value.type for value in taken)
            rounds = While(make_region(types, is_below), make_region(types, short_step), taken)
            found = Multiply(rounds.results[1], rolled(kept if passes_on else depth, 1))
            return Add(count, Constant.of(1, "i32")), found, kept

        taken = (zero, u, depth)
        types = tuple(value.type for value in taken)
        loop = While(make_region(types, is_below), make_region(types, step), taken)
        Return((loop.results[1],))
    return Module([Function("main", block)])


@pytest.mark.parametrize("passes_on", [False, True])
def test_what_loops_leave_as_it_is_is_exchanged_once_before_them(passes_on: bool) -> None:
    module = write_loops(passes_on)
    exchanged = exchange_halos_in(module, [CASES[0][1]] * 3)
    assert exchanged is not None

    def count(block: Block) -> int:
        regions = (op.bodies[0].block for op in block if isinstance(op, Opaque) and op.operation == MANUAL)
        return sum(isinstance(op, CollectivePermute) for region in regions for op in region)

    (loop,) = (op for op in exchanged.main.body if isinstance(op, While))
    (rounds,) = (op for op in loop.body.block if isinstance(op, While))
    # From the left and from the right: of what both leave as it is, of what the inner one does, of what changes there.
    assert count(exchanged.main.body) == 2
    assert count(rounds.body.block) == 1
    arrays = [np.random.default_rng(k).random(24) for k in range(3)]
    expected, found = (evaluate(each.main, arrays) for each in (module, exchanged))
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-12)


def test_parts_without_elements_part_no_regions() -> None:
    """An array rolled by 0 along an axis, and the way back of that: a pad of a part that has no elements."""
    block = Block([tensor_type((24,), "f64")])
    with Builder(block):
        (u,) = block.arguments
        nothing, one = slice_along(u, 0, 24, 24), slice_along(u, 0, 0, 1)
        rolled = Concatenate((slice_along(u, 0, 1, 24), one, nothing), 0)
        back = Pad(nothing, Constant.of(3.0, "f64"), (0,), (24,), (0,))
        updated = DynamicUpdateSlice(rolled, nothing, (Constant.of(4, "i32"),))
        Return((Add(updated, back),))
    exchanged = exchange_and_estimate(Module([Function("main", block)]), [CASES[0][1]])
    assert exchanged is not None
    assert exchanged.traffic == (8, 1)
    (found,) = evaluate(exchanged.module.main, [np.arange(24.0)])
    np.testing.assert_array_equal(found, np.roll(np.arange(24.0), -1) + 3)


def test_the_fewest_bytes_are_those_of_each_result_exchanged_once() -> None:
    """Of a field that is moved, changed and moved again, what it is each time goes over, not what it is made of."""
    block = Block([tensor_type((240,), "f64")] * 2)
    with Builder(block):
        u, v = block.arguments

        def moved(value: Value, by: int) -> Value:
            # Both parts are changed apart, as rules leave it.
            parts = (slice_along(value, 0, by, 240), slice_along(value, 0, 0, by))
            return Concatenate(tuple(Multiply(part, part) for part in parts), 0)

        first = Add(Multiply(u, v), moved(Add(u, v), 1))
        second = Add(first, moved(Add(first, u), 1))
        Return((Add(second, moved(second, 1)),))
    module, shardings = Module([Function("main", block)]), [CASES[0][1]] * 2
    arrays = [np.random.default_rng(k).random(240) for k in range(2)]
    expected = evaluate(module.main, arrays)[0]
    for machine, traffic in ((Machine("few", 1.0, 1e9), (48, 1)), (Machine("thrifty", 0.0, 1e9), (24, 3))):
        exchanged = exchange_and_estimate(module, shardings, machine)
        assert exchanged is not None
        assert exchanged.traffic == traffic
        np.testing.assert_allclose(evaluate(exchanged.module.main, arrays)[0], expected, rtol=1e-12)


def test_what_no_region_can_do_parts_two_regions() -> None:
    """A long reversal is left to XLA; what is shorter than the divided extent goes to it, and comes from it."""
    block = Block([tensor_type((24,), "f64")])
    with Builder(block):
        (u,) = block.arguments
        inner = Add(slice_along(u, 0, 0, 22), slice_along(u, 0, 2, 24))
        turned = Reverse(inner, (0,))
        again = Subtract(Multiply(turned, inner), slice_along(u, 0, 1, 23))
        Return((DynamicUpdateSlice(u, again, (Constant.of(1, "i32"),)),))
    module = Module([Function("main", block)])
    exchanged = exchange_halos_in(module, [CASES[0][1]])
    assert exchanged is not None
    left = [type(op) for op in exchanged.main.body if not isinstance(op, Opaque)]
    assert left.count(Reverse) == 1
    assert not {Add, Multiply, Subtract, DynamicUpdateSlice} & set(left)
    array = np.random.default_rng(1).random(24)
    np.testing.assert_array_equal(evaluate(exchanged.main, [array])[0], evaluate(module.main, [array])[0])


def test_layers_are_put_together_by_each_device() -> None:
    """XLA may divide what is made of each layer in another way, and move all of it, where nothing has to move."""
    block = Block([tensor_type((3, 24), "f64")])
    with Builder(block):
        (u,) = block.arguments
        layers = [slice_along(u, 0, place, place + 1) for place in range(3)]
        Return((Concatenate((Add(layers[0], layers[1]), Multiply(layers[1], layers[2]), layers[2]), 0),))
    module = Module([Function("main", block)])
    exchanged = exchange_halos_in(module, [Sharding(Mesh((("x", 4),)), ((), ("x",)))])
    assert exchanged is not None
    assert not any(isinstance(op, Concatenate) for op in exchanged.main.body)
    array = np.random.default_rng(1).random((3, 24))
    np.testing.assert_array_equal(evaluate(exchanged.main, [array])[0], evaluate(module.main, [array])[0])


def test_what_lies_between_a_device_and_what_it_reads_is_not_sent() -> None:
    """The first columns of a ring with ghost cells are copies of some near its end."""
    block = Block([tensor_type((48,), "f64")])
    with Builder(block):
        (u,) = block.arguments
        Return((DynamicUpdateSlice(u, slice_along(u, 0, 42, 45), (Constant.of(0, "i32"),)),))
    module = Module([Function("main", block)])
    exchanged = exchange_and_estimate(module, [CASES[0][1]])
    assert exchanged is not None
    assert exchanged.traffic == (3 * 8, 1)
    array = np.random.default_rng(1).random(48)
    np.testing.assert_array_equal(evaluate(exchanged.module.main, [array])[0], evaluate(module.main, [array])[0])


def _sort_rows(value: Value) -> Value:
    numbers = (tensor_type((), "f64"),) * 2
    return Sort((value,), make_region(numbers, lambda one, other: Compare(one, other, "LT")), 1).results[0]


def _take_greatest(value: Value) -> Value:
    return Pad(TopK(value, 2).results[0], Constant.of(0.0, "f64"), (0, 0), (0, 1), (0, 0))


def _solve(value: Value) -> Value:
    """With matrices of sums and their factors: one for each row."""
    places = (48, 3, 3)
    diagonal = Compare(Iota(places, "i32", 1), Iota(places, "i32", 2), "EQ")
    matrices = Add(BroadcastInDim(value, places, (0, 1)), BroadcastInDim(value, places, (0, 2)))
    matrices = Select(diagonal, Constant.of(9.0, "f64", places), matrices)
    sides = Reshape(value, (48, 3, 1))
    return Reshape(TriangularSolve(Cholesky(matrices, True), sides, True, True, False, "NO_TRANSPOSE"), (48, 3))


@pytest.mark.parametrize(
    "change",
    [
        lambda value: BitcastConvert(BitcastConvert(value, "ui64"), "f64"),
        lambda value: BitcastConvert(BitcastConvert(value, "ui32"), "f64"),
        _sort_rows,
        _take_greatest,
        _solve,
    ],
    ids=["bits", "halves of bits", "sorted", "greatest", "solved"],
)
def test_what_is_done_row_by_row_is_computed_on_the_halo(change: Callable[[Value], Value]) -> None:
    """It parts no region in two, and nothing that lies between is exchanged."""

    def smooth(value: Value) -> Value:
        return Add(slice_along(value, 0, 0, value.shape[0] - 2), slice_along(value, 0, 2, value.shape[0]))

    block = Block([tensor_type((48, 3), "f64")])
    with Builder(block):
        (u,) = block.arguments
        starts = (Constant.of(2, "i32"), Constant.of(0, "i32"))
        once = Pad(smooth(u), Constant.of(0.5, "f64"), (1, 0), (1, 0), (0, 0))
        Return((DynamicUpdateSlice(u, slice_along(smooth(change(once)), 0, 1, 45), starts),))
    module = Module([Function("main", block)])
    exchanged = exchange_and_estimate(module, [Sharding(Mesh((("x", 4),)), (("x",), ()))])
    assert exchanged is not None
    assert exchanged.traffic == (4 * 3 * 8, 2)
    array = np.random.default_rng(1).random((48, 3))
    np.testing.assert_array_equal(evaluate(exchanged.module.main, [array])[0], evaluate(module.main, [array])[0])
