"""Random programs of products, reductions and movements, under random subsets and orders of the rules.

They settle, and mean what they meant: to within what a different order of sums may change.
"""

from __future__ import annotations

import random

import numpy as np
import pytest

from windlass.catalogue import catalogue
from windlass.ir import Block, Builder, Function, TypeFault, Value, tensor_type
from windlass.ops import (
    Add,
    BroadcastInDim,
    Concatenate,
    Constant,
    DotGeneral,
    Iota,
    Maximum,
    Minimum,
    Multiply,
    Negate,
    Pad,
    Reshape,
    Return,
    Reverse,
    Select,
    Slice,
    Subtract,
    Transpose,
)
from windlass.ops.evaluation import evaluate_function
from windlass.ops.reduction import reduce_with
from windlass.ops.sampling import RandomDraw, Unsuitable
from windlass.ops.windows import fold_windows
from windlass.rewriting import RuleSet, rewrite_function
from windlass.rules.diagonals import diagonal_matrix, diagonal_slice, identity_matrix, index_mask
from windlass.rules.sorts import sort_by


def make_program(seed: int, size: int = 22) -> Function:
    """A random program on a few square and thin matrices, many of its ops on the same values."""
    draw = RandomDraw(seed)
    n = draw.integer(2, 4)
    shapes = [(n, n), (n, n), (n,), (n, 1), (2, n)]
    block = Block([tensor_type(shape, "f64") for shape in shapes])
    values: list[Value] = list(block.arguments)
    with Builder(block):
        while len(values) < size:
            try:
                made = grow(draw, values, n)
            except (TypeFault, Unsuitable):
                continue
            if made.tensor.size <= 300:
                values.append(made)
        Return(tuple(values[-4:]))
    return Function("main", block)


def grow(draw: RandomDraw, values: list[Value], n: int) -> Value:
    x = draw.choose(values[-10:])
    alike = [value for value in values if value.type is x.type]
    y = draw.choose(alike)
    rank = x.tensor.rank
    match draw.integer(0, 17):
        case 0 | 1 | 2 | 3:
            other = draw.choose(values)
            return DotGeneral(x, other, **DotGeneral.sample(draw, x.tensor, other.tensor))
        case 4 | 5:
            if rank == 0 or 0 in x.shape:
                raise Unsuitable
            axes = draw.subset(rank, draw.integer(1, rank))
            return reduce_with(draw.choose((Add, Add, Maximum, Minimum)), x, axes)
        case 6:
            return draw.choose((Add, Subtract, Multiply))(x, y)
        case 7:
            return Multiply(x, Constant.of(draw.choose((0.5, 2, 0)), "f64", x.shape))
        case 8:
            return Transpose(x, draw.permutation(rank))
        case 9:
            return Slice(x, **Slice.sample(draw, x.tensor))
        case 10:
            return draw.choose((Negate(x), Reverse(x, draw.subset(rank))))
        case 11:
            return Reshape(x, **Reshape.sample(draw, x.tensor))
        case 12:
            return BroadcastInDim(x, **BroadcastInDim.sample(draw, x.tensor))
        case 13:
            zero = Constant.of(0, "f64")
            return Pad(x, zero, draw_edges(draw, rank), draw_edges(draw, rank), (0,) * rank)
        case 14:
            return draw.choose((identity_matrix(n, "f64"), Multiply(identity_matrix(n, "f64"), matrix(values, n))))
        case 15:
            square = matrix(values, n)
            mask = index_mask(n, draw.choose(("EQ", "GE", "LT", "NE")), draw.integer(-1, 1))
            return draw.choose((Select(mask, square, Constant.of(0, "f64", (n, n))), diagonal_slice(square)))
        case 16:
            vectors = [value for value in values if value.shape == (n,)]
            return draw.choose((diagonal_matrix(draw.choose(vectors)), Iota((n, n), "f64", draw.integer(0, 1))))
        case _:
            if rank == 0 or 0 in x.shape:
                raise Unsuitable
            axis = draw.integer(0, rank - 1)
            window = tuple(draw.integer(1, size) for size in x.shape)
            return draw.choose(
                (
                    Concatenate((x, y), axis),
                    sort_by((x,), axis).results[0],
                    fold_windows(draw.choose((Add, Maximum)), x, window, draw.choose((window, None))),
                )
            )


def draw_edges(draw: RandomDraw, rank: int) -> tuple[int, ...]:
    return tuple(draw.integer(0, 1) for _ in range(rank))


def matrix(values: list[Value], n: int) -> Value:
    return [value for value in values if value.shape == (n, n)][-1]


def is_near(before: np.ndarray, after: np.ndarray, scale: float) -> bool:
    both_wild = ~np.isfinite(before) & ~np.isfinite(after)
    with np.errstate(invalid="ignore"):
        return bool((both_wild | (np.abs(before - after) <= 1e-9 * scale)).all())


@pytest.mark.parametrize("seed", range(150))
def test_random_products_settle_and_keep_their_meaning(seed: int) -> None:
    function = make_program(seed)
    draw = RandomDraw(seed)
    arrays = [draw.tame_array(argument.tensor) for argument in function.arguments]
    expected = [np.asarray(each) for each in evaluate_function(function, *arrays)]
    shuffler = random.Random(seed)
    rules = list(catalogue.choose())
    shuffler.shuffle(rules)
    kept = rules if seed % 3 == 0 else [rule for rule in rules if shuffler.random() < 0.7]
    ledger = rewrite_function(function, RuleSet(kept))
    assert ledger.exhausted is None, ledger.describe_cycle()
    # Values within the program may have been larger than its results.
    scale = 1e3 * max(1.0, *(float(np.max(np.abs(each[np.isfinite(each)]), initial=0)) for each in expected))
    for before, after in zip(expected, evaluate_function(function, *arrays), strict=True):
        assert before.shape == np.asarray(after).shape
        assert is_near(before, np.asarray(after), scale), ledger.count_by_rule()
