"""Random programs under random subsets and orders of the rules: they settle, and mean what they meant."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import cast

import numpy as np
import pytest

from windlass.catalogue import catalogue
from windlass.ir import Block, Builder, Function, TypeFault, Value, tensor_type
from windlass.ops import (
    Abs,
    Add,
    BroadcastInDim,
    Compare,
    Concatenate,
    Constant,
    Convert,
    DynamicUpdateSlice,
    Maximum,
    Multiply,
    Negate,
    Pad,
    Reshape,
    Return,
    Reverse,
    Select,
    Slice,
    Transpose,
)
from windlass.ops.base import TensorOp
from windlass.ops.evaluation import evaluate_function
from windlass.ops.sampling import RandomDraw, Unsuitable
from windlass.rewriting import RuleSet, rewrite_function
from windlass.rewriting.laws import same_bits

MOVEMENTS: tuple[type[TensorOp], ...] = (BroadcastInDim, Reshape, Reverse, Slice, Transpose, Convert)
BINARY = (Add, Multiply, Maximum)


def make_program(seed: int, size: int = 25) -> Function:
    """A random program of movements and arithmetic, many of them on the same values."""
    draw = RandomDraw(seed)
    block = Block([tensor_type(draw.shape(1, 3, 1), draw.choose(("f32", "i32"))) for _ in range(2)])
    values: list[Value] = list(block.arguments)
    with Builder(block):
        while len(values) < size:
            operand = draw.choose(values[-8:])
            try:
                values.append(grow(operand, values, draw))
            except (TypeFault, Unsuitable):
                continue
        Return(tuple(values[-3:]))
    return Function("main", block)


def grow(x: Value, values: list[Value], draw: RandomDraw) -> Value:
    alike = [value for value in values if value.type is x.type]
    match draw.integer(0, 8):
        case 0:
            return draw.choose(BINARY)(x, draw.choose(alike))
        case 1:
            fill = Constant.of(draw.integer(0, 1), x.dtype)
            low, high = (tuple(draw.integer(-1, 2) for _ in x.shape) for _ in range(2))
            return Pad(x, fill, low, high, (0,) * len(x.shape))
        case 2:
            return Concatenate((x, draw.choose(alike)), 0)
        case 3:
            return Select(Compare(x, draw.choose(alike), "LT"), x, draw.choose(alike))
        case 4:
            return Add(x, Constant.of(draw.integer(0, 1), x.dtype, x.shape))
        case 5:
            update = Slice(x, (0,) * len(x.shape), tuple(max(size - 1, 0) for size in x.shape), (1,) * len(x.shape))
            starts = tuple(Constant.of(draw.integer(-1, 2), "i32") for _ in x.shape)
            return DynamicUpdateSlice(draw.choose(alike), update, starts)
        case 6:
            return draw.choose((Abs, Negate))(x)
        case _:
            movement = draw.choose(MOVEMENTS)
            fields = movement.sample(draw, x.tensor)
            if movement is Convert:
                fields = {"dtype": draw.choose(("f32", "i32"))}
            made = cast("Callable[..., TensorOp]", movement)(x, **fields)
            if made.tensor.size > 400:
                raise Unsuitable
            return made


@pytest.mark.parametrize("seed", range(120))
def test_random_program_settles_and_keeps_its_meaning(seed: int) -> None:
    function = make_program(seed)
    draw = RandomDraw(seed)
    arrays = [draw.array(argument.tensor) for argument in function.arguments]
    expected = evaluate_function(function, *arrays)
    shuffler = random.Random(seed)
    rules = list(catalogue)
    shuffler.shuffle(rules)
    kept = rules if seed % 3 == 0 else [rule for rule in rules if shuffler.random() < 0.7]
    ledger = rewrite_function(function, RuleSet(kept))
    assert ledger.exhausted is None, ledger.describe_cycle()
    for before, after in zip(expected, evaluate_function(function, *arrays), strict=True):
        assert same_bits(np.asarray(before), np.asarray(after)), ledger.count_by_rule()
