"""Laws of the ops that others define: they mean what the functions mean that they are named for, and XLA agrees."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import special

from tests.laws.op_instances import all_arrays, composite_classes, draw_instances, program_of
from tests.laws.test_op_laws import TOLERANCES, agree
from tests.laws.xla import run_through_xla
from windlass import ops
from windlass.diagnostics import ProgramError
from windlass.ir import Argument, tensor_type
from windlass.ops import Composite, evaluate_function, expand_composites
from windlass.stablehlo import export_text

SPECIAL = [
    *(0.0, -0.0, 1.0, -1.0, 0.5, 2.5, 3.0, 1e-3, math.pi, 1e10, -1e-10, 1e-40, 0.1, 1.5, -7.25),
    *(math.inf, -math.inf, math.nan),
]


def fused(left: float, right: float, addend: float) -> float:
    """The exact sum, rounded once; what has no exact sum as plain arithmetic has it."""
    if not all(map(math.isfinite, (left, right, addend))):
        return left * right + addend
    exact = Fraction(left) * Fraction(right) + Fraction(addend)
    return float(exact) if exact else left * right + addend


def remainder(left: float, right: float) -> float:
    if math.isnan(left) or math.isnan(right) or math.isinf(left) or right == 0:
        return math.nan
    return math.remainder(left, right)


MEANINGS: dict[type[Composite], tuple[Callable[..., Any], float]] = {
    ops.BesselI0e: (special.i0e, 1e-14),
    ops.CopySign: (np.copysign, 0),
    ops.Exp10: (lambda x: np.power(10.0, x), 4e-15),
    ops.Exp2: (np.exp2, 2e-15),
    ops.Fma: (np.vectorize(fused, otypes=[np.float64]), 0),
    ops.FrexpExponent: (lambda x: np.frexp(x)[1], 0),
    ops.FrexpFraction: (lambda x: np.frexp(x)[0], 0),
    ops.Hypot: (np.hypot, 4e-16),
    ops.Ilogb: (lambda x: np.where(x == 0, -(2**31), np.where(np.isfinite(x), np.frexp(x)[1] - 1, 0)), 0),
    ops.Log10: (np.log10, 2e-15),
    ops.Log2: (np.log2, 2e-15),
    ops.Logb: (lambda x: np.where(x == 0, -np.inf, np.where(np.isfinite(x), np.frexp(x)[1] - 1.0, np.abs(x))), 0),
    ops.NearestRemainder: (np.vectorize(remainder, otypes=[np.float64]), 0),
}
"""What each is in f64, and how far relative to it the definition may be."""


def test_every_composite_has_a_meaning_to_compare_with() -> None:
    assert {*MEANINGS, ops.Ldexp} == {*composite_classes()}


@pytest.mark.parametrize("cls", MEANINGS, ids=lambda cls: cls.__name__)
def test_definition_means_what_the_name_says(cls: type[Composite]) -> None:
    count = sum(field.kind == "operand" for field in cls.fields)
    grids = np.meshgrid(*[np.array(SPECIAL)] * count)
    arrays = [grid.reshape(-1) for grid in grids]
    if cls is ops.Ilogb:
        arrays = [each[np.isfinite(each)] for each in arrays]
    op = cls(*(Argument(tensor_type(each.shape, "f64")) for each in arrays))
    meaning, tolerance = MEANINGS[cls]
    with np.errstate(all="ignore"):
        expected = np.asarray(meaning(*arrays))
    if cls is ops.Hypot:
        # C's hypot of an infinite side is infinite even beside NaN.
        expected = np.where(np.isinf(arrays[0]) | np.isinf(arrays[1]), np.inf, expected)
    found = op.evaluate(*arrays)
    if tolerance:
        np.testing.assert_allclose(found, expected, rtol=tolerance, atol=0)
    else:
        np.testing.assert_array_equal(found, expected)
        numbers = ~np.isnan(found.astype(np.float64))
        np.testing.assert_array_equal(np.signbit(found[numbers]), np.signbit(expected[numbers]))


@pytest.mark.parametrize("dtype", ["f16", "bf16", "f32"])
def test_narrow_fused_products_are_rounded_once(dtype: str) -> None:
    type_ = tensor_type((2000,), dtype)
    draws = np.random.default_rng(7).standard_normal((3, 2000)) * 2.0 ** np.random.default_rng(8).integers(-5, 5, 2000)
    arrays = [np.asarray(each.astype(type_.numpy_dtype)) for each in draws]
    wide = [[Fraction(float(each)) for each in array] for array in arrays]
    exact = [left * right + addend for left, right, addend in zip(*wide, strict=True)]
    found = ops.Fma(*(Argument(type_) for _ in arrays)).evaluate(*arrays)
    for value, target in zip(found, exact, strict=True):
        here = Fraction(float(value))
        spacing = Fraction(float(np.spacing(np.abs(value)))) if dtype != "bf16" else abs(here) / 128
        assert abs(here - target) * 2 <= spacing


@pytest.mark.parametrize("dtype", ["f32", "f64"])
def test_ldexp_rounds_once(dtype: str) -> None:
    values, exponents = (grid.reshape(-1) for grid in np.meshgrid(SPECIAL, [0, 1, -1, 30, -30, 500, -160, -1074, 3000]))
    type_ = tensor_type(values.shape, dtype)
    values = values.astype(type_.numpy_dtype)
    op = ops.Ldexp(Argument(type_), Argument(tensor_type(values.shape, "i32")))
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(
            op.evaluate(values, exponents.astype(np.int32)), np.ldexp(values, exponents.astype(np.int32))
        )


@pytest.mark.parametrize("cls", composite_classes(), ids=lambda cls: cls.__name__)
def test_expansion_on_xla_gives_what_evaluate_gives(cls: type[Composite]) -> None:
    instances = draw_instances(cls, 12)
    module, arrays = program_of(instances), all_arrays(instances)
    expected = evaluate_function(module.main, *arrays)
    expand_composites(module.main.body)
    assert not any(isinstance(op, Composite) for op in module.main.walk())
    for instance, meant, given in zip(instances, expected, run_through_xla(module, arrays), strict=True):
        assert agree(np.asarray(meant), given, TOLERANCES.get(instance.op.tensor.dtype, 0.0)), instance.op


@pytest.mark.parametrize("cls", composite_classes(), ids=lambda cls: cls.__name__)
def test_composite_is_documented_and_has_no_place_in_a_tensor_program(cls: type[Composite]) -> None:
    assert cls.__doc__
    program = program_of(draw_instances(cls, 1))
    with pytest.raises(ProgramError, match="WL0503"):
        export_text(program)
