"""Laws that hold for every op, written once: what `evaluate` says is what XLA does, and text keeps the op."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.laws.op_instances import (
    Instance,
    all_arrays,
    draw_instances,
    meaningful_classes,
    program_of,
    sampled_classes,
)
from tests.laws.xla import run_through_xla
from windlass import ops
from windlass.ir import Op, TensorType
from windlass.ir.verifier import verify
from windlass.ops import evaluate_function
from windlass.ops.base import TensorOp
from windlass.stablehlo import export_text, import_text

NOT_ON_CPU = {ops.CollectiveBroadcast, ops.RaggedDot}
"""XLA compiles these for accelerators only."""

COMPARED = [cls for cls in meaningful_classes() if cls not in NOT_ON_CPU]

TOLERANCES = {"f64": 1e-9, "f32": 3e-5, "bf16": 2e-2, "f16": 3e-3, "complex<f32>": 2e-4, "complex<f64>": 1e-8}


CORRECTLY_ROUNDED = {
    ops.Abs, ops.Add, ops.BitcastConvert, ops.Ceil, ops.Clamp, ops.Complex, ops.Conj, ops.Convert, ops.Divide,
    ops.Floor, ops.Imag, ops.Maximum, ops.Minimum, ops.Multiply, ops.Negate, ops.NextAfter, ops.Real,
    ops.ReducePrecision, ops.Remainder, ops.RoundNearestAfz, ops.RoundNearestEven, ops.Select, ops.Sign,
    ops.Square, ops.Subtract,
}  # fmt: skip
"""Elementwise ops that leave XLA no choice for real numbers."""


def is_exact(op: Op) -> bool:
    """Whether every bit of the result is fixed: ops that only move elements, and correctly rounded ones."""
    if any(operand.tensor.is_complex for operand in op.operands if isinstance(operand.type, TensorType)):
        return not op.is_elementwise and op.flops() == 0
    return type(op) in CORRECTLY_ROUNDED or (not op.is_elementwise and op.flops() == 0 and not op.regions)


def check_against_xla(cls: type[TensorOp], instances: list[Instance]) -> None:
    module, arrays = program_of(instances), all_arrays(instances)
    expected = evaluate_function(module.main, *arrays)
    found = run_through_xla(module, arrays)
    places = [(instance, result) for instance in instances for result in instance.op.results]
    for (instance, result), meant, given in zip(places, expected, found, strict=True):
        type_ = result.tensor
        assert (meant.shape, meant.dtype) == (type_.shape, type_.numpy_dtype), (
            f"evaluate gives {meant.dtype}{meant.shape}"
        )
        assert (given.shape, given.dtype) == (type_.shape, type_.numpy_dtype)
        tolerance = 0.0 if is_exact(instance.op) else TOLERANCES.get(type_.dtype, 0.0)
        if not agree(np.asarray(meant), given, tolerance):
            shown = [
                f"{operand!r} = {array!r}" for operand, array in zip(instance.op.operands, instance.arrays, strict=True)
            ]
            text = "\n".join([repr(instance.op), *shown, f"evaluate: {meant!r}", f"XLA: {given!r}"])
            raise AssertionError(text)


def agree(meant: np.ndarray[Any, Any], given: np.ndarray[Any, Any], tolerance: float) -> bool:
    if meant.dtype.kind in "iub":
        return np.array_equal(meant, given)
    wide = np.complex128 if meant.dtype.kind == "c" else np.float64
    first, second = meant.astype(wide), given.astype(wide)
    if not tolerance:
        numbers = ~np.isnan(first)
        signs = np.signbit(first.real) == np.signbit(second.real)
        return np.array_equal(first, second, equal_nan=True) and bool(signs[numbers].all())
    return np.allclose(first, second, rtol=tolerance, atol=tolerance, equal_nan=True)


@pytest.mark.parametrize("cls", COMPARED, ids=lambda cls: cls.__name__)
def test_evaluate_agrees_with_xla(cls: type[TensorOp]) -> None:
    check_against_xla(cls, draw_instances(cls, 12))


@pytest.mark.slow
@pytest.mark.parametrize("salt", range(1, 6))
@pytest.mark.parametrize("cls", COMPARED, ids=lambda cls: cls.__name__)
def test_evaluate_agrees_with_xla_on_many_instances(cls: type[TensorOp], salt: int) -> None:
    check_against_xla(cls, draw_instances(cls, 40, salt))


@pytest.mark.parametrize("cls", sampled_classes(), ids=lambda cls: cls.__name__)
def test_text_keeps_the_op(cls: type[TensorOp]) -> None:
    instances = draw_instances(cls, 12)
    program = program_of(instances)
    verify(program)
    text = export_text(program)
    module = import_text(text)
    verify(module)
    assert export_text(module) == text
    found = [op for op in module.main.body if type(op) is cls]
    assert len(found) == len(instances)
    for op, instance in zip(found, instances, strict=True):
        assert [result.type for result in op.results] == [result.type for result in instance.op.results]
        assert op.attributes == instance.op.attributes


@pytest.mark.parametrize("cls", sampled_classes(), ids=lambda cls: cls.__name__)
def test_op_is_documented_and_costs_something_sensible(cls: type[TensorOp]) -> None:
    assert cls.__doc__
    for instance in draw_instances(cls, 4):
        assert instance.op.flops() >= 0
        assert instance.op.bytes_moved() >= 0
