"""Random programs with loops, branches and repeated ops: optimized they give what NumPy's evaluation and XLA give."""

from __future__ import annotations

import numpy as np
import pytest
from tests.laws.xla import run_through_xla

from windlass.catalogue import catalogue
from windlass.ir import Block, Builder, Function, Module, Value, tensor_type
from windlass.ops import (
    Add,
    BroadcastInDim,
    Compare,
    Concatenate,
    Constant,
    Convert,
    DotGeneral,
    DynamicSlice,
    DynamicUpdateSlice,
    If,
    Maximum,
    Multiply,
    Negate,
    Reshape,
    Return,
    Select,
    Slice,
    Subtract,
    Tanh,
    While,
    make_region,
)
from windlass.ops.evaluation import evaluate_function
from windlass.ops.sampling import RandomDraw
from windlass.rewriting import rewrite_function

ROWS, WIDTH = 6, 3


def make_loop_program(seed: int) -> Function:
    """A loop over rows of arrays, with a random body, start, step and limit."""
    draw = RandomDraw(seed)
    dtype = draw.choose(("f32", "i32"))
    counter = draw.choose(("i32", "i32", "i64", "ui8", "i8"))
    matrix, vector = tensor_type((ROWS, WIDTH), dtype), tensor_type((WIDTH,), dtype)
    block = Block([matrix, matrix, vector, vector, tensor_type((WIDTH, WIDTH), dtype)])
    x, y, a, b, w = block.arguments
    start, step = draw.integer(0, 3), draw.choose((1, 1, 1, 2, -1))
    trips = draw.choose((0, 1, 2, 3, 5, 6))
    if step < 0:
        # XLA:CPU counts the rounds wrong where an unsigned counter goes down by adding 255.
        counter = "i32" if counter == "ui8" else counter
        start = trips
    limit = start + step * trips
    wraps = counter == "ui8" and step > 0 and draw.integer(0, 3) == 0
    if wraps:
        start = 250
        limit = (250 + 6 * step) % 256
    direction = "NE" if wraps else ("LT" if step > 0 else "GT")
    choices = [draw.integer(0, 9) for _ in range(8)]

    def number(value: int) -> Constant:
        return Constant.of(np.array(value).astype(tensor_type((), counter).numpy_dtype), counter)

    def body(*values: Value) -> tuple[Value, ...]:
        i, out, total, state, other = values
        places = {
            0: i,
            1: Subtract(number(ROWS - 1), i),
            2: Add(i, number(1)),
            3: Select(Compare(i, number(2), "LT"), i, number(4)),
        }
        at = places[choices[0] % 4]
        row = Reshape(DynamicSlice(x, (at, number(0)), (1, WIDTH)), (WIDTH,))
        if choices[1] < 4:
            row = DotGeneral(row, w, (), (), (0,), (0,))
        if choices[1] > 6:
            row = Multiply(row, BroadcastInDim(Convert(i, dtype), (WIDTH,), ()))
        invariant = Add(Multiply(a, b), a)
        value = Add(row, invariant) if choices[2] % 2 else Maximum(row, b)
        if choices[3] < 3:
            value = Add(value, state)
        if choices[3] == 9:
            value = If(
                Compare(i, number(1), "GT"), make_region((), lambda: Negate(value)), make_region((), lambda: value)
            ).results[0]
        into = places[choices[4] % 4]
        written = DynamicUpdateSlice(out, Reshape(value, (1, WIDTH)), (into, number(0)))
        summed = (Add(total, value), Maximum(value, total), Add(Add(total, row), value), total)[choices[5] % 4]
        following = (value, Negate(state), state, row)[choices[6] % 4]
        return (Add(i, number(step)), written, summed, following, (other, state, Negate(state))[choices[7] % 3])

    types = [tensor_type((), counter), y.type, a.type, b.type, b.type]
    with Builder(block):
        initial = (number(start), y, a, b, b)
        loop = While(
            make_region(types, lambda *values: Compare(values[0], number(limit), direction)),
            make_region(types, body),
            tuple(initial),
        )
        results = loop.results
        Return(tuple(results) if choices[0] else (results[1],))
    return Function("main", block)


def make_repeated_program(seed: int) -> Function:
    """The same ops on many values, written out."""
    draw = RandomDraw(seed)
    count, rank = draw.integer(2, 6), draw.integer(0, 1)
    size = (4,) * (rank + 1)
    block = Block(
        [tensor_type((count + 1, 4, 4), "f32"), tensor_type((count + 1, *size), "f32"), tensor_type((4, 4), "f32")]
    )
    a, x, w = block.arguments
    choices = [draw.integer(0, 4) for _ in range(6)]

    def row(whole: Value, index: int) -> Value:
        rank = len(whole.shape)
        piece = Slice(whole, (index, *(0,) * (rank - 1)), (index + 1, *whole.shape[1:]), (1,) * rank)
        return Reshape(piece, whole.shape[1:])

    with Builder(block):
        found: list[Value] = []
        before: Value | None = None
        for index in range(count):
            place = index if choices[0] else count - index
            matrix = w if choices[1] == 0 else row(a, place)
            vector = row(x, place + (1 if choices[0] else 0))
            if choices[2] == 1 and before is not None:
                vector = Add(vector, before)
            if choices[2] == 2:
                vector = Tanh(vector)
            value: Value = DotGeneral(matrix, vector, (), (), (1,), (0,))
            if choices[3] == 1:
                value = Maximum(Multiply(value, vector), value)
            if choices[3] == 2:
                value = DotGeneral(value, w, (), (), (0,), (1 if index % 2 and choices[4] else 0,))
            before = value
            found.append(value)
        stacked = Concatenate(tuple(Reshape(value, (1, *value.shape)) for value in found), 0)
        total = found[0]
        for value in found[1:]:
            total = Add(total, value)
        Return(((stacked,), (total,), (stacked, total), tuple(found), (found[-1], stacked))[choices[5]])
    return Function("main", block)


def check(function: Function, seed: int) -> None:
    draw = RandomDraw(seed + 1)
    arrays = [draw.tame_array(argument.tensor) for argument in function.arguments]
    expected = evaluate_function(function, *arrays)
    ledger = rewrite_function(function, catalogue)
    assert ledger.exhausted is None, ledger.describe_cycle()
    found = evaluate_function(function, *arrays)
    compiled = run_through_xla(Module([function]), arrays)
    for before, after, run in zip(expected, found, compiled, strict=True):
        for other in (np.asarray(after), run):
            assert other.dtype == np.asarray(before).dtype
            if other.dtype.kind == "f":
                size = max(1.0, float(np.max(np.abs(before), initial=0.0)))
                assert np.allclose(before, other, rtol=1e-4, atol=1e-4 * size, equal_nan=True), ledger.count_by_rule()
            else:
                assert np.array_equal(before, other), ledger.count_by_rule()


@pytest.mark.one_in(6)
@pytest.mark.parametrize("seed", range(60))
def test_random_loop_keeps_its_meaning(seed: int) -> None:
    check(make_loop_program(seed), seed)


@pytest.mark.one_in(6)
@pytest.mark.parametrize("seed", range(40))
def test_repeated_ops_keep_their_meaning(seed: int) -> None:
    check(make_repeated_program(seed), seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1000, 2000))
def test_many_random_loops_keep_their_meaning(seed: int) -> None:
    check(make_loop_program(seed), seed)
    check(make_repeated_program(seed), seed)
