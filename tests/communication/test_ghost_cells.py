"""Ghost cells that an array has within itself: devices at the ends need other rows than all the others."""

from __future__ import annotations

import itertools
import random
from collections.abc import Mapping

import numpy as np
import pytest

from tests.communication.on_devices import evaluate
from windlass.communication import exchange_and_estimate
from windlass.communication.needs import Extents, Sharers, put_together
from windlass.communication.places import EVERY
from windlass.communication.propagation import Division
from windlass.ir import Block, Builder, Function, Module, Value, tensor_type
from windlass.ops import Add, Constant, DynamicUpdateSlice, Multiply, Return
from windlass.ops.movement import slice_along
from windlass.ops.shardings import Mesh, Sharding

LINE = Sharding(Mesh((("x", 4),)), (("x",),))
PLANE = Sharding(Mesh((("x", 4), ("y", 2))), (("x",), ("y",)))
MERGED = Sharding(Mesh((("x", 2), ("y", 3))), (("y", "x"), ()))


def put(value: Value, new: Value, axis: int, place: int) -> Value:
    starts = (Constant.of(place if each == axis else 0, "i32") for each in range(len(value.shape)))
    return DynamicUpdateSlice(value, new, tuple(starts))


def fill(value: Value, axis: int, width: int, shift: int = 0) -> Value:
    """Periodic ghost cells along an axis, as wide as that, of cells that begin so much further on."""
    size = value.shape[axis]
    first = size - 2 * width + shift
    value = put(value, slice_along(value, axis, first, first + width), axis, 0)
    return put(value, slice_along(value, axis, width - shift, 2 * width - shift), axis, size - width)


def smooth(value: Value, axis: int, width: int) -> Value:
    size = value.shape[axis]
    sides = Add(slice_along(value, axis, 0, size - 2 * width), slice_along(value, axis, 2 * width, size))
    return put(value, Multiply(sides, Constant.of(0.5, "f64", sides.shape)), axis, width)


def traffic_of(module: Module, sharding: Sharding, seed: int = 0) -> tuple[float, float] | None:
    """What each device receives, in how many messages; what comes out is compared with one device."""
    exchanged = exchange_and_estimate(module, [sharding])
    if exchanged is None:
        return None
    array = np.random.default_rng(seed).random(module.main.arguments[0].shape)
    found, expected = (evaluate(each.main, [array])[0] for each in (exchanged.module, module))
    np.testing.assert_array_equal(found, expected)
    return exchanged.traffic


@pytest.mark.parametrize("width", [1, 2])
def test_each_device_is_sent_the_row_that_it_needs(width: int) -> None:
    """The first and the last one need a row next to the ghost cells, the others a neighbour's last or first one."""
    block = Block([tensor_type((96,), "f64")])
    with Builder(block):
        (u,) = block.arguments
        Return((smooth(fill(u, 0, width), 0, width),))
    module = Module([Function("main", block)])
    assert traffic_of(module, LINE) == (2 * width * 8, 2)


def test_ghost_cells_go_with_the_halo_of_the_stencil_that_reads_them() -> None:
    """What is sent is 3 of a device's 16 cells, though ghost cells are 6 from the cells that they repeat."""
    block = Block([tensor_type((64,), "f64")])
    with Builder(block):
        (u,) = block.arguments
        Return((smooth(fill(u, 0, 3), 0, 3),))
    module = Module([Function("main", block)])
    assert traffic_of(module, LINE) == (2 * 3 * 8, 2)


def test_boxes_that_are_put_together_hold_the_same_for_each_device() -> None:
    draw = random.Random(5)
    divisions = (Division(("x",), 2, 4), Division(("y",), 2, 3), None)

    def held(boxes: Mapping[Extents, Sharers]) -> set[tuple[int, ...]]:
        """For each device, by its parts, the positions that it needs."""
        return {
            (first, second, i, j)
            for (rows, columns, _), sharers in boxes.items()
            for first, second in itertools.product(range(2), repeat=2)
            if sharers[0] >> first & 1 and sharers[1] >> second & 1
            for i, j in itertools.product(range(rows[0], 4 + rows[1]), range(columns[0], 3 + columns[1]))
        }

    for _ in range(50):
        boxes: dict[Extents, Sharers] = {}
        for _ in range(draw.randint(1, 20)):
            (low, high), (left, right) = (sorted(draw.sample(range(-3, 9), 2)) for _ in range(2))
            box = ((low, high - 4), (left, right - 3), (0, 0))
            boxes.setdefault(box, (draw.choice((EVERY, 1, 2)), draw.choice((EVERY, 1, 2)), EVERY))
        found = put_together(boxes, divisions)
        assert len(found) <= len(boxes)
        assert held(boxes) <= held(found)
        if all(sharers == (EVERY,) * 3 for sharers in boxes.values()):
            assert held(boxes) == held(found)
    lines = {((k, k - 3), (0, 0), (0, 0)): (EVERY, 1, EVERY) for k in range(-2, 6)}
    assert put_together({**lines, ((0, -2), (0, 0), (0, 0)): (1, 1, EVERY)}, divisions) == {
        ((-2, 2), (0, 0), (0, 0)): (EVERY, 1, EVERY)
    }


def test_corners_of_ghost_cells_go_along() -> None:
    block = Block([tensor_type((48, 32), "f64")])
    with Builder(block):
        (u,) = block.arguments
        u = fill(fill(u, 0, 1), 1, 1)
        Return((Add(smooth(u, 0, 1), smooth(u, 1, 1)),))
    module = Module([Function("main", block)])
    traffic = traffic_of(module, PLANE)
    assert traffic is not None
    assert traffic[1] == 4
    assert 8 * (2 * 16 + 2 * 12) <= traffic[0] <= 8 * (2 * 16 + 2 * (12 + 4))


def check_program(seed: int) -> None:
    """Ghost cells are filled and read at random."""
    draw = random.Random(seed)
    shape, sharding = draw.choice((((48,), LINE), ((32, 12), PLANE), ((36, 6), MERGED)))
    block = Block([tensor_type(shape, "f64")])
    with Builder(block):
        values: list[Value] = list(block.arguments)
        for _ in range(draw.randint(2, 7)):
            value, axis, width = draw.choice(values[-2:]), draw.randrange(len(shape)), draw.randint(1, 2)
            change = draw.randrange(3)
            if change == 0:
                value = smooth(value, axis, width)
            elif change == 1:
                value = Add(value, draw.choice(values))
            else:
                value = fill(value, axis, width, draw.randint(0, 1))
            values.append(value)
        Return((values[-1],))
    module = Module([Function("main", block)])
    traffic_of(module, sharding, seed)


def test_ghost_cells_are_filled_and_read_in_any_order() -> None:
    for seed in range(60):
        check_program(seed)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(1000, 5000, 1000))
def test_many_ghost_cells_are_filled_and_read_in_any_order(first: int) -> None:
    for seed in range(first, first + 1000):
        check_program(seed)
