from __future__ import annotations

import numpy as np
import pytest

from windlass.catalogue import catalogue
from windlass.ir import Block, Builder, Function, tensor_type
from windlass.ops import Concatenate, DotGeneral, Return, Transpose
from windlass.ops.evaluation import evaluate_function
from windlass.passes.gram_matrices import multiply_by_blocks
from windlass.rewriting import rewrite_function


def gram_program(rows: int, deep: int, axis: int) -> Function:
    shape = (rows, deep) if axis == 1 else (deep, rows)
    block = Block([tensor_type(shape, "f64")])
    x = block.arguments[0]
    with Builder(block):
        Return((DotGeneral(x, x, (), (), (axis,), (axis,)),))
    return Function("main", block)


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("count", [2, 4])
def test_blocks_give_the_whole_product(axis: int, count: int) -> None:
    function = gram_program(7, 5, axis)
    array = np.random.default_rng(0).standard_normal(function.body.arguments[0].shape)
    (product, end) = list(function.body)
    assert isinstance(product, DotGeneral)
    with Builder(function.body, end):
        product.replace_all_uses_with(multiply_by_blocks(product, count))
    (found,) = evaluate_function(function, array)
    expected = array.T @ array if axis == 0 else array @ array.T
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
    assert np.array_equal(found, np.asarray(found).T)


def test_a_large_product_with_its_own_transpose_is_computed_by_half() -> None:
    function = gram_program(1024, 1024, 1)
    before = next(op.flops() for op in function.body if isinstance(op, DotGeneral))
    rewrite_function(function, catalogue.choose())
    products = [op for op in function.body if isinstance(op, DotGeneral)]
    assert sum(op.flops() for op in products) < 0.7 * before
    assert any(isinstance(op, Concatenate) for op in function.body)


@pytest.mark.parametrize(("rows", "deep"), [(64, 1024), (1024, 8)])
def test_products_of_which_little_is_saved_stay(rows: int, deep: int) -> None:
    function = gram_program(rows, deep, 1)
    rewrite_function(function, catalogue.choose())
    assert sum(isinstance(op, DotGeneral) for op in function.body) == 1


def test_squared_lengths_of_rows_are_not_taken_for_such_a_product() -> None:
    block = Block([tensor_type((1024, 1024), "f64")])
    x = block.arguments[0]
    with Builder(block):
        Return((DotGeneral(x, x, (0,), (0,), (1,), (1,)),))
    function = Function("main", block)
    rewrite_function(function, catalogue.choose())
    assert [type(op).__name__ for op in function.body] == ["DotGeneral", "Return"]


def test_exact_rewriting_leaves_the_product_alone() -> None:
    function = gram_program(1024, 1024, 1)
    rewrite_function(function, catalogue.choose(exact=True))
    assert not any(isinstance(op, Transpose) for op in function.body)
