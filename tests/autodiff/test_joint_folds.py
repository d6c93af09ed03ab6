"""Folds that share one op, some of them of what is differentiated and others not."""

from __future__ import annotations

import numpy as np
import pytest

from windlass.autodiff.reverse import pullback_function, transposed_function
from windlass.ir import Block, Builder, Function, Region, Value, tensor_type
from windlass.ops import Add, Convert, Multiply, Reduce, ReduceWindow, Return, evaluate_function, make_region
from windlass.ops.creation import Constant


def _sums(dtypes: tuple[str, str]) -> Region:
    scalars = [tensor_type((), dtype) for dtype in dtypes] * 2

    def add(*values: Value) -> tuple[Value, ...]:
        return Add(values[0], values[2]), Add(values[1], values[3])

    return make_region(scalars, add)


def _product_of_sums(known: str, is_windowed: bool) -> Function:
    """The sums of an array and of another one by one op, multiplied."""
    block = Block([tensor_type((2, 3), known), tensor_type((2, 3), "f32")])
    dtypes = (known, "f32")
    with Builder(block):
        starts = tuple(Constant.of(0, dtype) for dtype in dtypes)
        if is_windowed:
            ones, none = (1, 1), ((0, 0), (0, 0))
            fold = ReduceWindow(tuple(block.arguments), starts, (1, 3), ones, ones, ones, none, _sums(dtypes))
        else:
            fold = Reduce(tuple(block.arguments), starts, (1,), _sums(dtypes))
        count, total = fold.results
        Return((Multiply(total, count if known == "f32" else Convert(count, "f32")),))
    return Function("product", block)


@pytest.mark.parametrize("known", ["i32", "f32"])
@pytest.mark.parametrize("is_windowed", [False, True])
def test_what_is_folded_beside_a_linear_value_stays_known(known: str, is_windowed: bool) -> None:
    function = _product_of_sums(known, is_windowed)
    count = np.arange(6).reshape(2, 3).astype("int32" if known == "i32" else "float32")
    shape = (2, 1) if is_windowed else (2,)
    given = np.array([2, 3], np.float32).reshape(shape)
    expected = np.broadcast_to((given.ravel() * count.sum(1))[:, None], (2, 3))
    (found,) = evaluate_function(transposed_function(function, [1], [0]), count, given)
    np.testing.assert_array_equal(found, expected)
    (found,) = evaluate_function(pullback_function(function, [1]), count, np.ones((2, 3), np.float32), given)
    np.testing.assert_array_equal(found, expected)
