"""Axes that kernels count in one number: apart again, with the same meaning."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from windlass.communication import exchange_halos_in
from windlass.communication.propagation import propagate
from windlass.communication.unfolding import keep_axes_apart
from windlass.ir import Block, Builder, Function, Module, Value
from windlass.ir.types import tensor_type
from windlass.ops import Add, Concatenate, Constant, DynamicUpdateSlice, Multiply, Negate, Reshape, Return, Slice
from windlass.ops.movement import slice_along
from windlass.ops.shardings import Mesh, Sharding

from .on_devices import evaluate

MESH = Mesh((("y", 2), ("x", 2)))
LAYERS, ROWS, COLUMNS = 3, 6, 8


def update(value: Value, part: Value, *starts: int) -> Value:
    return DynamicUpdateSlice(value, part, tuple(Constant.of(start, "i32") for start in starts))


def wrapped(x: Value) -> Value:
    """The first columns are what the last ones are, layers and rows as one."""
    merged = Reshape(x, (LAYERS * ROWS, COLUMNS))
    first = update(merged, slice_along(merged, 1, 5, 6), 0, 0)
    return Reshape(update(first, slice_along(first, 1, 1, 3), 0, 6), (LAYERS, ROWS, COLUMNS))


def mirrored(x: Value) -> Value:
    """The first row of each layer is what the third is, turned around; rows and columns as one."""
    merged = Reshape(x, (LAYERS, ROWS * COLUMNS))
    row = Slice(merged, (0, 2 * COLUMNS), (LAYERS, 3 * COLUMNS), (1, 1))
    return Reshape(update(merged, Negate(row), 0, 0), (LAYERS, ROWS, COLUMNS))


def of_one_layer(x: Value) -> Value:
    """An update of a rectangle in the second layer, layers and rows as one."""
    merged = Reshape(x, (LAYERS * ROWS, COLUMNS))
    part = Slice(merged, (ROWS + 1, 2), (ROWS + 4, 5), (1, 1))
    return Reshape(update(merged, Negate(part), ROWS + 2, 3), (LAYERS, ROWS, COLUMNS))


def across_layers(x: Value) -> Value:
    """What begins in one layer and ends in the next is no rectangle."""
    merged = Reshape(x, (LAYERS * ROWS, COLUMNS))
    return Reshape(update(merged, slice_along(merged, 0, 4, 8), 3, 0), (LAYERS, ROWS, COLUMNS))


def stacked(x: Value) -> Value:
    """Layers one under the other, then as layers."""
    layers = [Reshape(slice_along(x, 0, layer, layer + 1), (ROWS, COLUMNS)) for layer in (2, 0, 1)]
    return Reshape(Concatenate(tuple(layers), 0), (LAYERS, ROWS, COLUMNS))


def of_pieces(x: Value) -> Value:
    """Rows in turn, put together in two ways."""
    rows = tuple(slice_along(x, 1, row, row + 1) for row in (5, 0, 3))
    turned = Concatenate((Concatenate(rows, 1), slice_along(x, 1, 0, 1)), 1)
    return update(x, turned, 0, 1, 0)


def read_as_one(x: Value) -> Value:
    """An update that is read with its axes as one, beside what can be unfolded: that is tried once, not for ever."""
    merged = Reshape(x, (LAYERS * ROWS, COLUMNS))
    pair = Concatenate((slice_along(x, 2, 5, 6), slice_along(x, 2, 0, 1)), 2)
    updated = update(merged, Reshape(pair, (LAYERS * ROWS, 2)), 0, 0)
    return Add(Reshape(Negate(updated), (LAYERS, ROWS, COLUMNS)), stacked(x))


def flattened(x: Value) -> Value:
    """All axes as one: the first row of the second layer is what the last row of the first is, with the other sign."""
    merged = Reshape(x, (LAYERS * ROWS * COLUMNS,))
    row = slice_along(merged, 0, (ROWS - 1) * COLUMNS, ROWS * COLUMNS)
    return Reshape(update(merged, Multiply(Negate(row), row), ROWS * COLUMNS), (LAYERS, ROWS, COLUMNS))


def put_together(x: Value) -> Value:
    """Layers that are computed one from another, put under one another in an array of zeros, then read as layers."""
    found = Constant.of(0.0, "f64", (LAYERS * ROWS, COLUMNS))
    total = Constant.of(0.0, "f64", (1, ROWS - 1, COLUMNS - 1))
    for layer in range(LAYERS):
        inner = Slice(x, (layer, 1, 1), (layer + 1, ROWS, COLUMNS), (1, 1, 1))
        total = Add(total, inner)
        found = update(found, Reshape(total, (ROWS - 1, COLUMNS - 1)), layer * ROWS, 1)
    return Reshape(found, (LAYERS, ROWS, COLUMNS))


def kept_beside(x: Value) -> Value:
    """Room for layers under one another, which nobody reads as layers: its length says that it is that."""
    room = Constant.of(0.0, "f64", (LAYERS * ROWS, COLUMNS))
    first = Reshape(Slice(x, (0, 1, 0), (1, ROWS - 1, COLUMNS), (1, 1, 1)), (ROWS - 2, COLUMNS))
    room = update(room, first, ROWS + 1, 0)
    again = Slice(room, (ROWS + 1, 0), (2 * ROWS - 1, COLUMNS), (1, 1))
    return update(x, Reshape(Add(again, first), (1, ROWS - 2, COLUMNS)), 1, 1, 0)


@pytest.mark.parametrize(
    ("make", "is_unfolded"),
    [
        (wrapped, True),
        (mirrored, True),
        (of_one_layer, True),
        (across_layers, False),
        (stacked, True),
        (of_pieces, True),
        (read_as_one, True),
        (flattened, True),
        (put_together, True),
        (kept_beside, True),
    ],
)
def test_axes_are_kept_apart_with_the_same_meaning(make: Callable[[Value], Value], is_unfolded: bool) -> None:
    block = Block([tensor_type((LAYERS, ROWS, COLUMNS), "f64")])
    with Builder(block):
        Return((make(block.arguments[0]),))
    function = Function("main", block)
    x = np.arange(float(LAYERS * ROWS * COLUMNS)).reshape(LAYERS, ROWS, COLUMNS)
    (wanted,) = evaluate(function, [x])
    sharding = Sharding(MESH, ((), ("y",), ("x",)))
    exchanged = exchange_halos_in(Module([function], "program"), [sharding])
    if exchanged is not None:
        np.testing.assert_array_equal(evaluate(exchanged.main, [x])[0], wanted)
        left = {type(op) for op in exchanged.main.body if is_unfolded}
        assert make is read_as_one or not left & {DynamicUpdateSlice, Negate, Add, Multiply}
    rounds = 0
    while (found := propagate(function, {function.arguments[0]: sharding})) and keep_axes_apart(function, found):
        rounds += 1
        assert rounds < 9
    np.testing.assert_array_equal(evaluate(function, [x])[0], wanted)
    assert bool(rounds) == is_unfolded
