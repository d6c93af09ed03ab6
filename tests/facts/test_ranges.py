"""Ranges hold: what an op says of its results is true of what it gives, whatever its operands are known to be."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.laws.op_instances import Instance, draw_instances, meaningful_classes

from windlass.facts.ranges import declare_range, granting, range_of
from windlass.ir import Block, Builder, Function, Module, Value, tensor_type
from windlass.ir.values import tensor
from windlass.ops import (
    Abs,
    Add,
    And,
    BitcastConvert,
    Compare,
    Constant,
    Convert,
    Exponential,
    Multiply,
    Or,
    Return,
    Select,
    ShiftRightLogical,
    Subtract,
    While,
)
from windlass.ops.base import TensorOp
from windlass.ops.ranges import NOTHING_KNOWN, Range, range_of_array
from windlass.ops.regions import make_region
from windlass.stablehlo import import_text


def narrow(array: np.ndarray[Any, Any], kind: int) -> np.ndarray[Any, Any]:
    """The array with elements of one kind only, so that much is known of it."""
    if array.dtype.kind in "bc" or array.dtype.name in ("int4", "uint4"):
        return array
    if array.dtype.kind not in "iu":
        if kind % 2:
            array = np.where(np.isfinite(array.astype(np.float64)), array, np.ones_like(array))
        if kind % 3 == 1:
            array = np.where(np.signbit(array.astype(np.float64)), -array, array)
        elif kind % 3 == 2:
            array = np.floor(array.astype(np.float64)).astype(array.dtype)
    elif kind % 2:
        array = np.where(np.abs(array.astype(np.float64)) > 100, np.ones_like(array), array)
    if kind % 5 == 0 and array.size:
        array = np.broadcast_to(np.asarray(array).reshape(-1)[0], array.shape)
    return np.asarray(array)


def check_range_holds(instance: Instance, kind: int) -> None:
    arrays = [narrow(array, kind) for array in instance.arrays]
    for operand, array in zip(instance.op.operands, arrays, strict=True):
        declare_range(operand, range_of_array(array))  # pyright: ignore[reportArgumentType]
    outcome = instance.op.evaluate(*arrays)
    outcomes = outcome if isinstance(outcome, tuple) else (outcome,)
    for result, array in zip(instance.op.results, outcomes, strict=True):
        found = np.asarray(array)
        if found.size and found.dtype.kind != "c":
            assert_holds(range_of(result), range_of_array(found), instance, arrays, found)


def assert_holds(claimed: Range, actual: Range, instance: Instance, arrays: list[Any], found: Any) -> None:
    if actual is NOTHING_KNOWN:
        assert claimed.nan
        return
    message = f"{instance.op!r} of {arrays} = {found}: claimed {claimed}, found {actual}"
    assert claimed.low <= actual.low and actual.high <= claimed.high, message
    assert claimed.nan or not actual.nan, message
    assert claimed.negative_zero or not actual.negative_zero, message
    assert actual.whole or not claimed.whole, message


@pytest.mark.parametrize("cls", meaningful_classes(), ids=lambda cls: cls.__name__)
def test_range_holds_for_what_the_op_gives(cls: type[TensorOp]) -> None:
    for index, instance in enumerate(draw_instances(cls, 60, salt=77)):
        check_range_holds(instance, index)


def test_uniform_random_bits_lie_below_one() -> None:
    bits = ShiftRightLogical(tensor("ui32", 4), Constant.of(9, "ui32", (4,)))
    floats = BitcastConvert(Or(bits, Constant.of(0x3F800000, "ui32", (4,))), "f32")
    found = range_of(Subtract(floats, Constant.of(1, "f32", (4,))))
    assert found.low == 0 and 0.99 < found.high < 1.001 and not found.nan and not found.negative_zero


def test_square_plus_positive_constant_is_positive() -> None:
    x = tensor("f32", 4)
    found = range_of(Add(Multiply(x, x), Constant.of(1e-5, "f32", (4,))))
    assert found.low > 0 and found.high == np.inf


def test_wrapping_sum_may_be_anything() -> None:
    x = Convert(tensor("i8"), "i16")
    assert range_of(Add(x, x)).high == 254
    assert range_of(Add(tensor("i8"), tensor("i8"))).low == -128
    assert range_of(Abs(tensor("i8"))).low == -128


def test_rounding_to_half_may_overflow() -> None:
    big = Convert(tensor("ui16"), "f32")
    assert range_of(big).is_finite
    assert not range_of(Convert(big, "f16")).is_finite


def test_difference_of_infinities_may_be_no_number() -> None:
    e = Exponential(tensor("f32"))
    assert range_of(Subtract(e, e)).nan


def test_long_chains_need_no_recursion() -> None:
    value: Value = tensor("f32")
    for _ in range(5000):
        value = Abs(value)
    assert range_of(value).low == 0


def counting_loop(limit: int, step: int) -> While:
    types = [tensor_type((), "i32"), tensor_type((), "f32")]

    def test(count: Value, _: Value) -> Value:
        return And(Compare(count, Constant.of(limit, "i32"), "LT"), Constant.of(True))

    def body(count: Value, total: Value) -> tuple[Value, Value]:
        return Add(count, Constant.of(step, "i32")), Add(total, Abs(total))

    start = (Constant.of(0, "i32"), Constant.of(1, "f32"))
    return While(make_region(types, test), make_region(types, body), start)


def test_counter_of_a_loop_is_bounded_by_its_condition() -> None:
    loop = counting_loop(10, 1)
    assert (range_of(loop.results[0]).low, range_of(loop.results[0]).high) == (0, 10)
    assert range_of(loop.body.block.arguments[0]).high == 9
    assert range_of(loop.results[1]).low == 1
    assert range_of(loop.results[1]).high == np.inf


def test_counter_that_may_wrap_around_is_not_bounded() -> None:
    loop = counting_loop(2**31 - 2, 3)
    assert range_of(loop.results[0]).low == -(2**31)


def test_nested_loops_end() -> None:
    text = """func.func @main(%n: tensor<i32>) -> tensor<i32> {
      %c0 = stablehlo.constant dense<0> : tensor<i32>
      %c1 = stablehlo.constant dense<1> : tensor<i32>
      %c9 = stablehlo.constant dense<9> : tensor<i32>
      %r:2 = stablehlo.while(%i = %c0, %s = %c0) : tensor<i32>, tensor<i32>
        cond { %p = stablehlo.compare LT, %i, %c9 : (tensor<i32>, tensor<i32>) -> tensor<i1>
               stablehlo.return %p : tensor<i1> }
        do { %q:2 = stablehlo.while(%j = %i, %t = %s) : tensor<i32>, tensor<i32>
               cond { %p = stablehlo.compare LT, %j, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
                      stablehlo.return %p : tensor<i1> }
               do { %k = stablehlo.add %j, %c1 : tensor<i32>
                    %u = stablehlo.maximum %t, %k : tensor<i32>
                    stablehlo.return %k, %u : tensor<i32>, tensor<i32> }
             %i1 = stablehlo.add %i, %c1 : tensor<i32>
             stablehlo.return %i1, %q#1 : tensor<i32>, tensor<i32> }
      return %r#1 : tensor<i32>
    }"""
    module: Module = import_text(text)
    function: Function = module.main
    (result,) = function.body.terminator.operands
    assert range_of(result).low == 0


def test_nothing_is_known_of_a_functions_parameter() -> None:
    block = Block([tensor_type((), "f32")])
    with Builder(block):
        Return((block.arguments[0],))
    assert range_of(block.arguments[0]).nan


GRANTS = ("no NaN", "no -0.0", "finite")


def test_what_is_granted_holds_of_what_comes_in_and_of_what_is_made_of_it() -> None:
    x, y = tensor("f32", 3), tensor("f32", 3, name="y")
    with granting(GRANTS):
        for value in (x, Multiply(x, y), Exponential(Subtract(x, y)), Convert(x, "f64")):
            known = range_of(value)
            assert known.is_finite
            assert not known.negative_zero
    assert range_of(Multiply(tensor("f32"), tensor("f32"))).nan


def test_an_infinity_that_stands_in_the_program_stays_one_whatever_is_granted() -> None:
    x = tensor("f32", 3)
    nothing, missing = (Constant.of(number, "f32", (3,)) for number in (float("-inf"), float("nan")))
    with granting(GRANTS):
        masked = Select(tensor("i1", 3, name="mask"), x, nothing)
        assert range_of(masked).low == float("-inf")
        assert not range_of(Exponential(masked)).nan
        assert range_of(Add(masked, x)).low == float("-inf")
        assert range_of(Add(missing, x)).nan


def test_what_an_op_gives_its_region_may_be_anything_whatever_is_granted() -> None:
    text = """
    func.func @main(%x: tensor<4xf32>) -> tensor<f32> {
      %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
      %0 = stablehlo.reduce(%x init: %low) across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
       reducer(%a: tensor<f32>, %b: tensor<f32>) {
        %1 = stablehlo.maximum %a, %b : tensor<f32>
        stablehlo.return %1 : tensor<f32>
      }
      return %0 : tensor<f32>
    }"""
    (fold,) = (op for op in import_text(text).main.body if op.regions)
    with granting(GRANTS):
        assert range_of(fold.regions[0].block.arguments[0]).low == float("-inf")


def test_an_infinity_that_stands_in_a_region_stays_one_whatever_is_granted() -> None:
    text = """
    func.func @main(%x: tensor<4xf32>) -> tensor<f32> {
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %0 = stablehlo.reduce(%x init: %zero) across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
       reducer(%a: tensor<f32>, %b: tensor<f32>) {
        %high = stablehlo.constant dense<0x7F800000> : tensor<f32>
        %1 = stablehlo.maximum %a, %high : tensor<f32>
        stablehlo.return %1 : tensor<f32>
      }
      return %0 : tensor<f32>
    }"""
    (fold,) = (op for op in import_text(text).main.body if op.regions)
    with granting(GRANTS):
        assert range_of(fold.results[0]).high == float("inf")
