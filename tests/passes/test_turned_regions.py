"""Elementwise ops between transposes, in random programs: fewer transposes, and the same results."""

from __future__ import annotations

import numpy as np
import pytest

from windlass.facts.cost import CPU
from windlass.ir import Block, Builder, Function, Value, tensor_type
from windlass.ops import (
    Add,
    BroadcastInDim,
    Compare,
    Constant,
    Maximum,
    Multiply,
    Negate,
    Return,
    Select,
    Transpose,
)
from windlass.ops.evaluation import evaluate_function
from windlass.ops.reduction import reduce_with
from windlass.ops.sampling import RandomDraw
from windlass.passes.turned_regions import turn_regions

SHAPE = (2, 3, 4)


def count_transposes(block: Block) -> int:
    return sum(isinstance(op, Transpose) for op in block)


def make_program(seed: int) -> Function:
    """Integers, so that sums in another order are the same."""
    draw = RandomDraw(seed)
    type_ = tensor_type(SHAPE, "i32")
    block = Block([type_, type_, tensor_type((SHAPE[1],), "i32"), tensor_type((), "i1")])
    x, y, row, chosen = block.arguments
    p = draw.permutation(3)
    q = tuple(int(axis) for axis in np.argsort(p))
    turned = tuple(SHAPE[axis] for axis in p)
    with Builder(block):
        values: list[Value] = [Transpose(x, p), Transpose(y, p)]
        values.append(Constant.of(draw.choose((3, np.arange(24, dtype=np.int32).reshape(turned))), "i32", turned))
        values.append(BroadcastInDim(row, turned, (p.index(1),)))
        for _ in range(draw.integer(1, 7)):
            a, b = draw.choose(values), draw.choose(values)
            kind = draw.integer(0, 4)
            if kind == 0:
                values.append(Negate(a))
            elif kind == 1:
                values.append(Select(Compare(a, b, "LT"), a, b))
            elif kind == 2:
                values.append(Select(chosen, a, b))
            else:
                values.append(draw.choose((Add, Multiply, Maximum))(a, b))
        results: list[Value] = []
        for _ in range(draw.integer(1, 5)):
            value = draw.choose(values[4:])
            kind = draw.integer(0, 5)
            if kind == 0:
                results.append(value)
            elif kind == 1:
                axes = draw.subset(3, draw.integer(1, 3))
                results.append(reduce_with(draw.choose((Add, Maximum)), value, axes))
            else:
                results.append(Transpose(value, q))
        Return(tuple(results))
    return Function("main", block)


@pytest.mark.parametrize("seed", range(150))
def test_turned_programs_keep_their_meaning(seed: int) -> None:
    function = make_program(seed)
    draw = RandomDraw(seed)
    arrays = [draw.tame_array(argument.tensor) for argument in function.arguments]
    expected = evaluate_function(function, *arrays)
    before = count_transposes(function.body)
    changes = list(turn_regions(function.body, CPU))
    assert count_transposes(function.body) <= before - len(changes)
    for left, right in zip(evaluate_function(function, *arrays), expected, strict=True):
        np.testing.assert_array_equal(left, right)


def test_some_programs_are_turned() -> None:
    assert sum(bool(list(turn_regions(make_program(seed).body, CPU))) for seed in range(50)) > 10


def test_a_value_with_many_users_is_turned() -> None:
    type_ = tensor_type((2, 3), "f32")
    block = Block([type_])
    with Builder(block):
        flipped = Transpose(block.arguments[0], (1, 0))
        more = Add(flipped, Constant.of(1, "f32", (3, 2)))
        total = reduce_with(Add, more, (0, 1))
        Return((Transpose(more, (1, 0)), Transpose(Multiply(more, flipped), (1, 0)), total))
    assert list(turn_regions(block, CPU))
    assert count_transposes(block) == 0


def test_a_transpose_that_is_needed_stays() -> None:
    block = Block([tensor_type((2, 3), "f32")])
    with Builder(block):
        Return((Negate(Transpose(block.arguments[0], (1, 0))),))
    assert not list(turn_regions(block, CPU))


def test_a_sum_with_its_own_transpose_keeps_its_meaning() -> None:
    block = Block([tensor_type((3, 3), "i32")])
    with Builder(block):
        doubled = Multiply(Transpose(block.arguments[0], (1, 0)), Constant.of(2, "i32", (3, 3)))
        Return((Add(doubled, Transpose(doubled, (1, 0))),))
    function = Function("f", block)
    x = np.arange(9, dtype=np.int32).reshape(3, 3)
    list(turn_regions(block, CPU))
    np.testing.assert_array_equal(evaluate_function(function, x)[0], 2 * (x + x.T))
