"""Broken constraints are named with their number in StableHLO's specification."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from windlass import ops
from windlass.ir import Region, TypeFault, Value, tensor_type
from windlass.ir.values import tensor

X, Y, S = tensor("f32", 4, 3), tensor("i32", 4, 3), tensor("f32")
I32 = tensor("i32")
ADD = ops.combiner_region(ops.Add, "f32")


def convolution(lhs: Value, rhs: Value) -> ops.Convolution:
    """With one window dimension, as if both operands had it last."""
    one, axes = (1,), (0, 1, (2,))
    order = (*axes, 1, 0, (2,), *axes)
    return ops.Convolution(lhs, rhs, one, ((0, 0),), one, one, (False,), *order)


BROKEN: dict[str, tuple[Callable[[], Value], str]] = {
    "add of two types": (lambda: ops.Add(X, Y), r"stablehlo\.add \(C1\): operand types differ"),
    "sine of integers": (lambda: ops.Sine(Y), r"stablehlo\.sine \(I1\): does not take tensor<4x3xi32>"),
    "slice past the end": (lambda: ops.Slice(X, (0, 0), (5, 3), (1, 1)), r"\(C3\): axis 0 of size 4 .* from 0 to 5"),
    "slice with no stride": (lambda: ops.Slice(X, (0, 0), (4, 3), (0, 1)), r"\(C4\): the stride of axis 0 is 0"),
    "pad with an integer": (lambda: ops.Pad(X, I32, (0, 0), (0, 0), (0, 0)), r"stablehlo\.pad \(C1\)"),
    "pad to nothing": (lambda: ops.Pad(X, S, (-3, 0), (-3, 0), (0, 0)), r"\(C4\): axis 0 gets -2 elements"),
    "concatenate rows": (lambda: ops.Concatenate((X, tensor("f32", 4, 2)), 0), r"\(C2\): shapes differ"),
    "reshape to fewer": (lambda: ops.Reshape(X, (5,)), r"\(C2\): tensor<4x3xf32> does not fit"),
    "transpose twice": (lambda: ops.Transpose(X, (0, 0)), r"\(C2\): \(0, 0\) does not permute 2 axes"),
    "broadcast of 3 to 4": (lambda: ops.BroadcastInDim(X, (4, 4), (0, 1)), r"\(C5\): size 3 does not broadcast to 4"),
    "select by numbers": (lambda: ops.Select(X, X, X), r"stablehlo\.select \(C1\)"),
    "compare of two types": (lambda: ops.Compare(X, Y, "EQ"), r"stablehlo\.compare \(C1\)"),
    "product of 3 with 4": (lambda: ops.matmul(X, X), r"dot_general \(C10\): sizes differ: 3 and 4"),
    "iota past the rank": (lambda: ops.Iota((2,), "i32", 1), r"stablehlo\.iota \(C1\)"),
    "update too large": (
        lambda: ops.DynamicUpdateSlice(X, tensor("f32", 5, 3), (I32, I32)),
        r"\(C6\): the update",
    ),
    "bits of a boolean": (lambda: ops.BitcastConvert(tensor("i1", 8), "i8"), r"\(C1\): booleans"),
    "bits of odd width": (lambda: ops.BitcastConvert(X, "f64"), r"\(C1\): the last axis must have 2 elements"),
    "reduce along a missing axis": (lambda: ops.Reduce((X,), (S,), (2,), ADD), r"\(C4\): dimensions \(2,\)"),
    "convolution of two ranks": (
        lambda: convolution(tensor("f32", 1, 1, 5), tensor("f32", 1, 1)),
        r"convolution \(C1\)",
    ),
    "convolution of vectors": (lambda: convolution(tensor("f32", 5), tensor("f32", 3)), r"convolution \(C1\)"),
    "scatter to too many": (
        lambda: ops.ReduceScatter(X, 0, ((0, 1, 2),), ADD, 3),
        r"reduce_scatter \(C\d+\)",
    ),
    "scatter to none": (lambda: ops.ReduceScatter(X, 0, ((),), ADD, 0), r"reduce_scatter \(C\d+\)"),
    "fewer than no largest": (lambda: ops.TopK(X, -1), r"top_k \(C2\): -1 of 3"),
    "more largest than there are": (lambda: ops.TopK(X, 4), r"top_k \(C2\): 4 of 3"),
    "no exponent": (lambda: ops.ReducePrecision(X, 0, 3), r"reduce_precision \(C2\)"),
    "negative mantissa": (lambda: ops.ReducePrecision(X, 5, -1), r"reduce_precision \(C3\)"),
    "gather that drops two elements": (
        lambda: ops.Gather(X, tensor("i32", 7, 1), (1,), (0,), (), (), (0,), 1, (2, 3)),
        r"gather \(C8\): axis 0 is dropped but has 2 elements",
    ),
    "branch on a number": (lambda: ops.If(X, Region(), Region()), r"stablehlo\.if \(I1\)"),
}


@pytest.mark.parametrize(("make", "message"), BROKEN.values(), ids=BROKEN)
def test_a_broken_constraint_is_named(make: Callable[[], Value], message: str) -> None:
    with pytest.raises(TypeFault, match=message):
        make()


def test_a_loop_must_give_what_it_carries() -> None:
    scalar = tensor_type((), "i32")
    forever = ops.make_region([scalar], lambda _: ops.Constant.of(True))
    widen = ops.make_region([scalar], lambda value: ops.Convert(value, "i64"))
    with pytest.raises(TypeFault, match=r"stablehlo\.while \(C2\): the body gives"):
        ops.While(forever, widen, (I32,))


def test_scalars_are_tensors_of_rank_0() -> None:
    left, right = tensor("i32"), tensor("i32")
    assert ops.Add(left, right).type is tensor_type((), "i32")
    assert ops.Select(ops.Compare(left, right, "LT"), left, right).shape == ()
    assert ops.Convert(left, "f64").dtype == "f64"
    assert ops.BitcastConvert(left, "ui32").dtype == "ui32"
