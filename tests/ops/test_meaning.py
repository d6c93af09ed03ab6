"""What ops mean where languages differ, checked by hand; that XLA agrees is a law of its own."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from windlass import ops
from windlass.ir import Block, Builder, Function, Module, Op, tensor_type
from windlass.ir.types import MLIR_DTYPES, NUMPY_DTYPES


def apply(op: Any, *operands: Any, **fields: Any) -> Any:
    """The op's meaning on arrays."""
    arrays = [np.asarray(each) for each in operands]
    block = Block([tensor_type(array.shape, MLIR_DTYPES[array.dtype]) for array in arrays])
    made: Op = op(*block.arguments, **fields)
    return made.evaluate(*arrays).tolist()


def i32(*numbers: int) -> np.ndarray[Any, Any]:
    return np.array(numbers, np.int32)


def f32(*numbers: float) -> np.ndarray[Any, Any]:
    return np.array(numbers, np.float32)


LEAST = -(2**31)


def test_integer_division_truncates_and_by_zero_sets_all_bits() -> None:
    assert apply(ops.Divide, i32(7, -7, 7, -7, 5, LEAST), i32(2, 2, -2, -2, 0, -1)) == [3, -3, -3, 3, -1, LEAST]
    assert apply(ops.Divide, np.array([7, 5], np.uint8), np.array([2, 0], np.uint8)) == [3, 255]


def test_remainder_has_the_sign_of_the_dividend() -> None:
    assert apply(ops.Remainder, i32(7, -7, 7, 5, LEAST), i32(3, 3, -3, 0, -1)) == [1, -1, 1, 5, 0]
    assert apply(ops.Remainder, f32(5.5, -5.5), f32(2, 2)) == [1.5, -1.5]


def test_integers_wrap_around() -> None:
    assert apply(ops.Add, i32(2**31 - 1), i32(1)) == [LEAST]
    assert apply(ops.Negate, i32(LEAST)) == [LEAST]
    assert apply(ops.Abs, i32(LEAST, -3)) == [LEAST, 3]


def test_shifts_by_the_width_or_more_leave_nothing() -> None:
    assert apply(ops.ShiftLeft, i32(1, 1, 1, 1), i32(31, 32, 33, -1)) == [LEAST, 0, 0, 0]
    assert apply(ops.ShiftRightLogical, i32(-1, -1), i32(31, 32)) == [1, 0]
    assert apply(ops.ShiftRightArithmetic, i32(-8, -8, 8), i32(1, 40, 40)) == [-4, -1, 0]


def test_floats_to_integers_saturate() -> None:
    assert apply(ops.Convert, f32(1e20, -1e20, math.nan, -1.9, 2.9), dtype="i32") == [2**31 - 1, LEAST, 0, -1, 2]
    assert apply(ops.Convert, f32(-5, 300, math.inf), dtype="ui8") == [0, 255, 255]
    assert apply(ops.Convert, i32(300, -1), dtype="ui8") == [44, 255]


def test_bits_of_small_integers() -> None:
    numbers = np.array([-8, -1, 0, 7], NUMPY_DTYPES["i4"])
    assert [int(each) for each in apply(ops.Popcnt, numbers)] == [1, 4, 0, 3]
    assert [int(each) for each in apply(ops.CountLeadingZeros, numbers)] == [0, 0, 4, 1]


def test_the_bits_of_the_last_axis_become_one_element() -> None:
    pairs = np.array([[[1, 0], [0, 1]], [[2, 0], [0, 0]], [[0, 0], [3, 0]]], np.uint32)
    assert apply(ops.BitcastConvert, pairs, dtype="ui64") == [[1, 2**32], [2, 0], [0, 3]]


def test_the_last_branch_stands_in_for_numbers_out_of_range() -> None:
    branches = tuple(ops.make_region((), lambda number=number: ops.Constant.of(number, "i32")) for number in (5, 6, 7))

    def choose(index: Any) -> Op:
        return ops.Case(index, branches)

    chosen = [
        choose(*Block([tensor_type((), "i32")]).arguments).evaluate(np.int32(index)) for index in (-1, 0, 1, 2, 3)
    ]
    assert [int(each) for (each,) in chosen] == [7, 5, 6, 7, 7]


def test_a_float_can_lose_its_whole_mantissa() -> None:
    assert apply(ops.ReducePrecision, f32(1.25, 1.5, 1.75, 3), exponent_bits=8, mantissa_bits=0) == [1, 2, 2, 4]


def test_nan_wins_in_minimum_and_maximum() -> None:
    for op in (ops.Maximum, ops.Minimum):
        assert all(math.isnan(each) for each in apply(op, f32(math.nan, 1), f32(1, math.nan)))


def test_total_order_puts_nan_last_and_zeros_apart() -> None:
    left, right = f32(-0.0, math.nan, 1.0), f32(0.0, math.inf, math.nan)
    assert apply(ops.Compare, left, right, direction="LT", compare_type="TOTALORDER") == [True, False, True]
    assert apply(ops.Compare, left, right, direction="LT") == [False, False, False]


def test_halves_round_to_even_or_away_from_zero() -> None:
    numbers = f32(0.5, 1.5, 2.5, -0.5, -2.5, 0.49999997)
    assert apply(ops.RoundNearestEven, numbers) == [0, 2, 2, 0, -2, 0]
    assert apply(ops.RoundNearestAfz, numbers) == [1, 2, 3, -1, -3, 0]


def test_dynamic_slices_are_moved_inside() -> None:
    row = i32(0, 1, 2, 3, 4)

    def slice_at(operand: Any, start: Any) -> Op:
        return ops.DynamicSlice(operand, (start,), (2,))

    assert apply(slice_at, row, np.int32(4)) == [3, 4]
    assert apply(slice_at, row, np.int32(-7)) == [0, 1]


def test_scatter_leaves_out_what_does_not_fit_and_combines_repeats() -> None:
    region = ops.combiner_region(ops.Add, "i32")

    def scatter(operand: Any, indices: Any, updates: Any) -> Op:
        return ops.Scatter((operand,), indices, (updates,), (), (0,), (), (), (0,), 1, region)

    op: Any = scatter(
        *Block([tensor_type((3,), "i32"), tensor_type((4, 1), "i32"), tensor_type((4,), "i32")]).arguments
    )
    (result,) = op.evaluate(i32(0, 0, 0), np.array([[1], [1], [3], [-1]], np.int32), i32(1, 2, 4, 8))
    assert result.tolist() == [0, 3, 0]


def test_sorting_is_stable() -> None:
    types = [tensor_type((), "i32")] * 4
    region = ops.make_region(types, lambda *values: ops.Compare(values[0], values[1], "GT"))
    block = Block([tensor_type((4,), "i32")] * 2)
    op = ops.Sort(tuple(block.arguments), region, 0, True)
    keys, order = op.evaluate(i32(1, 2, 1, 2), i32(0, 1, 2, 3))
    assert (keys.tolist(), order.tolist()) == ([2, 2, 1, 1], [1, 3, 0, 2])


def test_functions_call_each_other() -> None:
    scalar = tensor_type((), "i32")
    helper = Block([scalar])
    with Builder(helper):
        ops.Return((ops.Multiply(helper.arguments[0], helper.arguments[0]),))
    main = Block([scalar])
    with Builder(main):
        ops.Return(ops.Call("helper", (ops.Add(main.arguments[0], ops.Constant.of(1, "i32")),), (scalar,)).results)
    module = Module([Function("main", main), Function("helper", helper)])
    assert ops.evaluate_function(module.main, 4, module=module)[0] == 25
    with pytest.raises(NotImplementedError, match="module that holds @helper"):
        ops.evaluate_function(module.main, 4)


def test_a_loop_sees_values_around_it() -> None:
    scalar = tensor_type((), "i32")
    main = Block([scalar, scalar])
    with Builder(main):
        limit, step = main.arguments
        loop = ops.While(
            ops.make_region([scalar], lambda value: ops.Compare(value, limit, "LT")),
            ops.make_region([scalar], lambda value: ops.Add(value, step)),
            (ops.Constant.of(0, "i32"),),
        )
        ops.Return(loop.results)
    assert ops.evaluate_function(Function("main", main), 10, 4)[0] == 12


@pytest.mark.parametrize("combiner", [ops.Add, ops.Multiply, ops.Maximum, ops.Minimum, ops.And, ops.Or, ops.Xor])
@pytest.mark.parametrize("dtype", ["i1", "i32", "ui8", "f32", "bf16"])
def test_an_identity_leaves_others_unchanged(combiner: Any, dtype: str) -> None:
    if dtype not in combiner.dtypes:
        return
    type_ = tensor_type((3,), dtype)
    block = Block([type_, type_])
    numbers = np.array([0, 1, 5]).astype(type_.numpy_dtype)
    identity = np.full(3, ops.identity_of(combiner, dtype))
    assert combiner(*block.arguments).evaluate(numbers, identity).tolist() == numbers.tolist()


def test_a_reduction_tells_its_combiner() -> None:
    x = Block([tensor_type((3,), "f32")]).arguments[0]
    total = ops.reduce_sum(x, (0,))
    (reduction,) = x.uses
    assert isinstance(reduction, ops.Reduce)
    assert reduction.combiner is ops.Add
    assert total is reduction.results[0]
    scalars = [tensor_type((), "f32")] * 2
    crossed = ops.make_region(scalars, lambda left, right: ops.Subtract(right, left))
    assert ops.combiner_of(crossed) is None
    assert ops.combiner_of(ops.make_region(scalars, lambda left, right: ops.Add(right, left))) is ops.Add
    assert ops.combiner_of(ops.make_region(scalars, lambda left, right: ops.Add(left, left))) is None
