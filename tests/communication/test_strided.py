"""Every other element along a divided axis: read, computed with, and put back between the rest."""

from __future__ import annotations

import random

import numpy as np
import pytest

from tests.communication.on_devices import evaluate
from windlass.communication import exchange_and_estimate
from windlass.ir import Block, Builder, Function, Module, Value, tensor_type
from windlass.ops import (
    Add,
    BroadcastInDim,
    Compare,
    Constant,
    Maximum,
    Multiply,
    Return,
    Scatter,
    Select,
    Slice,
    Subtract,
)
from windlass.ops.combiners import scattering_region
from windlass.ops.shardings import Mesh, Sharding

LINE, PLANE = Mesh((("x", 4),)), Mesh((("x", 2), ("y", 2)))
CASES = (((32,), Sharding(LINE, (("x",),))), ((20, 24), Sharding(PLANE, (("x",), ("y",)))))
Lattice = tuple[range, ...]


def read(value: Value, places: Lattice, shifts: tuple[int, ...]) -> Value:
    pairs = list(zip(places, shifts, strict=True))
    starts, limits = (tuple(each[end] + (end < 0) + shift for each, shift in pairs) for end in (0, -1))
    return Slice(value, starts, limits, tuple(each.step for each in places))


def put(value: Value, places: Lattice, new: Value, combiner: type[Add] | None) -> Value:
    """As `value.at[2:-1:2, 1:-1].set(new)` is lowered: indices along all axes."""
    grid = np.stack(np.meshgrid(*places, indexing="ij"), -1).astype(np.int32)
    axes = tuple(range(len(places)))
    region = scattering_region(combiner, value.dtype)
    return Scatter((value,), Constant.of(grid), (new,), (), axes, (), (), axes, len(axes), region).results[0]


def sweep(draw: random.Random, value: Value) -> Value:
    """Elements on a lattice from their neighbours."""
    places = tuple(
        range(draw.randint(1, 3), size - draw.randint(1, 2), draw.choice((1, 2, 2, 3))) for size in value.shape
    )
    shifts = [tuple(draw.randint(-1, 1) for _ in places) for _ in range(draw.randint(1, 3))]
    parts = [read(value, places, shift) for shift in shifts]
    found = parts[0]
    for part in parts[1:]:
        found = draw.choice((Add, Subtract, Maximum))(found, part)
    if draw.random() < 0.3:
        found = Select(Compare(found, Constant.of(0.4, "f64", found.shape), "LT"), parts[-1], found)
    factor = draw.choice(
        (Constant.of(0.5, "f64", found.shape), BroadcastInDim(Constant.of(0.5, "f64"), found.shape, ()))
    )
    return put(value, places, Multiply(found, factor), draw.choice((None, None, Add)))


def check_program(seed: int) -> bool:
    """Devices compute the same; gives whether nothing is left to XLA that moves anything."""
    draw = random.Random(seed)
    shape, sharding = draw.choice(CASES)
    block = Block([tensor_type(shape, "f64")])
    with Builder(block):
        value: Value = block.arguments[0]
        for _ in range(draw.randint(1, 3)):
            value = sweep(draw, value)
        Return((value,))
    module = Module([Function("main", block)])
    exchanged = exchange_and_estimate(module, [sharding])
    if exchanged is None:
        return False
    array = np.random.default_rng(seed).random(shape)
    found, expected = (evaluate(each.main, [array])[0] for each in (exchanged.module, module))
    np.testing.assert_array_equal(found, expected)
    # Where XLA has anything to move, that is not known.
    return exchanged.traffic is not None


def test_elements_on_a_lattice_are_computed_from_their_neighbours() -> None:
    assert sum(check_program(seed) for seed in range(30)) > 20


@pytest.mark.slow
@pytest.mark.parametrize("first", range(1000, 5000, 1000))
def test_more_elements_on_a_lattice_are_computed_from_their_neighbours(first: int) -> None:
    for seed in range(first, first + 1000):
        check_program(seed)
