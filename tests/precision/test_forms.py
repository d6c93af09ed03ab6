"""Laws of ops on limbs, derived from their classes: what an op means in f64 it means with limbs, within its bound."""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest

from tests.laws.op_instances import draw_instance, sampled_classes
from windlass import ops
from windlass.diagnostics import WindlassError
from windlass.ir import Block, Builder, Function, Op, Value, tensor_type
from windlass.ops import evaluate_function
from windlass.ops.base import TensorOp
from windlass.ops.sampling import RandomDraw
from windlass.precision import Limbs, spread_function
from windlass.precision.arithmetic import Arithmetic
from windlass.precision.bounds import EXACT, MEASURED, PROVED
from windlass.precision.spreading import forms

U_SQUARED = 2.0**-48

Array = np.ndarray[Any, Any]


def classes_with_forms() -> list[type[TensorOp]]:
    found = {cls for cls in Op.by_name.values() if issubclass(cls, TensorOp) and cls.limbs}
    return sorted(found, key=lambda cls: cls.__name__)


def test_every_form_that_a_class_names_is_there_and_every_form_is_named() -> None:
    assert {cls.limbs for cls in classes_with_forms()} == set(forms)


class WideDraw(RandomDraw):
    """Choices in which floats are f64, wherever an op takes them."""

    def dtype(self, allowed: Iterable[str]) -> str:
        accepted = set(allowed)
        return "f64" if "f64" in accepted else super().dtype(accepted)


def in_range(array: Array, count: int = 2) -> Array:
    """The numbers that so many limbs of f32 say."""
    if array.dtype != np.float64:
        return array
    total, rest = np.zeros_like(array), array
    with np.errstate(all="ignore"):
        for _ in range(count):
            limb = np.where(np.isfinite(rest), rest, 0).astype(np.float32).astype(np.float64)
            total, rest = total + limb, rest - limb
    return np.where(np.isfinite(array), total, array)


def spread_and_run(op_of: Any, arrays: list[Array], name: str = "f32x2") -> tuple[tuple[Array, ...], tuple[Array, ...]]:
    """What an op gives in f64 and with limbs."""
    block = Block([tensor_type(array.shape, ops.Constant.of(array).dtype) for array in arrays])
    with Builder(block):
        ops.Return(op_of(*block.arguments).results)
    function = Function("main", block)
    with np.errstate(all="ignore"):
        expected = evaluate_function(function, *arrays)
        found = evaluate_function(spread_function(function, Limbs.parse(name)), *arrays)
    return tuple(expected), tuple(found)


def check(expected: Array, found: Array, units: float) -> None:
    """Equal within so many u², relative to each element; special values and signs of zeros are the same."""
    assert expected.dtype == found.dtype
    assert expected.shape == found.shape
    if expected.dtype != np.float64:
        np.testing.assert_array_equal(expected, found)
        return
    with np.errstate(all="ignore"):
        too_large = np.abs(expected) > np.finfo(np.float32).max
        expected = np.where(too_large, np.copysign(np.inf, expected), expected)
        is_special = ~np.isfinite(expected) | (expected == 0)
        np.testing.assert_array_equal(expected[is_special], found[is_special])
        numbers = ~np.isnan(expected)
        np.testing.assert_array_equal(np.signbit(expected[numbers]), np.signbit(found[numbers]))
        error = np.abs(found - expected) / np.maximum(np.abs(expected), 2.0**-100)
    assert np.max(error[~is_special], initial=0.0) <= (units + 1) * U_SQUARED


SHAPED = [cls for cls in sampled_classes() if cls.limbs and not cls.is_elementwise]


@pytest.mark.parametrize("cls", SHAPED, ids=lambda cls: f"[{cls.__name__}]")
def test_op_on_tensors_means_the_same_with_limbs(cls: type[TensorOp]) -> None:
    seed = zlib.crc32(cls.__name__.encode())
    for index in range(8):
        instance = draw_instance(cls, WideDraw(seed + 7919 * index))
        arrays = [in_range(array) for array in instance.arrays]
        expected, found = spread_and_run(partial(_again, instance.op), arrays)
        for meant, given in zip(expected, found, strict=True):
            if cls.limbs in EXACT | {"while", "branches", "sort"}:
                check(meant, given, 0)
            else:  # sums may cancel
                np.testing.assert_allclose(given, meant, rtol=1e-12, atol=1e-11)


def _again(op: TensorOp, *values: Value) -> TensorOp:
    return op.clone(dict(zip(op.operands, values, strict=True)))


GENERATOR = np.random.default_rng(7)
COUNT = 500


def draw(low: float, high: float, exponents: int = 0) -> Array:
    return in_range(GENERATOR.uniform(low, high, COUNT) * np.exp2(GENERATOR.integers(-exponents, exponents + 1, COUNT)))


WIDE, POSITIVE, UNIT, FAR = draw(-2, 2, 20), draw(0.5, 1, 20), draw(-1, 1), draw(-60, 60)
ARGUMENTS: dict[str, tuple[Array, ...]] = {
    "Acosh": (in_range(1 + POSITIVE),), "Asin": (UNIT,), "Acos": (draw(-0.9, 0.9),), "Atanh": (draw(-0.9, 0.9),),
    "Power": (POSITIVE, draw(-1, 1)), "Exp10": (draw(-25, 25),), "Exponential": (FAR,), "Exp2": (FAR,), "Cosh": (FAR,),
    "Sinh": (FAR,), "Logistic": (FAR,), "ExponentialMinusOne": (FAR,), "Sine": (draw(-3, 3),), "Cosine": (draw(-1, 1),),
    "Tan": (draw(-1.5, 1.5),), "Log": (POSITIVE,), "Log2": (POSITIVE,), "Log10": (POSITIVE,), "LogPlusOne": (POSITIVE,),
    "Sqrt": (POSITIVE,), "Rsqrt": (POSITIVE,),
}  # fmt: skip
SPECIAL = np.array(
    [np.inf, -np.inf, np.nan, 0, -0.0, 1, -1, 0.5, -0.5, 1.5, 2.5, -2.5, 3e38, -3e38, 100, -120, 1 + 2.0**-40,
     0.5 - 2.0**-30, 0.5 + 2.0**-30, 8388608.5, 2.0**24 + 0.5, 1e9 + 0.5, -1e9 - 0.5, 1e20]
)  # fmt: skip
LARGE_ANGLES = {"Sine", "Cosine", "Tan"}

POINTWISE = [cls for cls in classes_with_forms() if cls.is_elementwise and cls.limbs in PROVED | MEASURED]


def test_every_elementwise_form_has_a_bound() -> None:
    named = {cls.limbs for cls in classes_with_forms() if cls.is_elementwise}
    assert named - EXACT - set(PROVED) - set(MEASURED) == {"fma"}


@pytest.mark.parametrize("cls", POINTWISE, ids=lambda cls: f"[{cls.__name__}]")
def test_elementwise_op_is_within_its_bound(cls: type[TensorOp]) -> None:
    operands = sum(field.kind == "operand" for field in cls.fields)
    arrays = [*ARGUMENTS.get(cls.__name__, (WIDE, draw(-2, 2, 20))[:operands])]
    (expected,), (found,) = spread_and_run(cls, arrays)
    # f64 rounds too: twice half a unit of its own, where it isn't correctly rounded.
    check(expected, found, (PROVED | MEASURED)[cls.limbs])


@pytest.mark.parametrize("cls", POINTWISE, ids=lambda cls: f"[{cls.__name__}]")
def test_elementwise_op_keeps_special_values(cls: type[TensorOp]) -> None:
    operands = sum(field.kind == "operand" for field in cls.fields)
    values = SPECIAL[np.abs(SPECIAL) < 1e7] if cls.__name__ in LARGE_ANGLES else SPECIAL
    arrays = [np.repeat(values, len(values)), np.tile(values, len(values))] if operands == 2 else [values]
    (expected,), (found,) = spread_and_run(cls, arrays)
    is_normal = ~(np.abs(expected) < 2.0**-100) | (expected == 0)
    check(expected[is_normal], found[is_normal], 2000)


COMPARISONS = ("EQ", "NE", "LT", "LE", "GT", "GE")


@pytest.mark.parametrize("name", ["f32x2", "f32x3"])
def test_comparisons_look_at_all_limbs(name: str) -> None:
    values = np.concatenate([SPECIAL, SPECIAL * (1 + 2.0**-45)])
    arrays = [in_range(np.repeat(values, len(values)), 3), in_range(np.tile(values, len(values)), 3)]
    arrays = [in_range(array) for array in arrays]
    for direction in COMPARISONS:
        for kind in (None, "TOTALORDER"):
            (expected,), (found,) = spread_and_run(lambda x, y: ops.Compare(x, y, direction, kind), arrays, name)  # noqa: B023
            np.testing.assert_array_equal(expected, found)


def test_numbers_are_converted_exactly_as_far_as_limbs_go() -> None:
    integers = np.array([0, 1, -1, 2**31 - 1, -(2**31), 2**40 + 3, -(2**45) - 1])
    (expected,), (found,) = spread_and_run(lambda x: ops.Convert(x, "f64"), [integers])
    np.testing.assert_array_equal(expected, found)
    floats = np.array(
        [0.9, -0.9, 2.0**31 - 1, 2.0**31, -(2.0**31), 2.0**33, 2.0**40 + 0.5, np.nan, np.inf, -np.inf, -3.5, 255.9]
    )
    for target in ("i32", "i64", "ui8", "ui32", "ui64", "i1", "f32"):
        (expected,), (found,) = spread_and_run(lambda x: ops.Convert(x, target), [floats])  # noqa: B023
        np.testing.assert_array_equal(expected, found)


@pytest.mark.parametrize(("name", "digits"), [("f32x3", 68), ("f32x4", 92), ("f64x2", 103)])
def test_more_limbs_give_more_digits(name: str, digits: int) -> None:
    limbs = Limbs.parse(name)
    dtype = {"f32": np.float32, "f64": np.float64}[limbs.dtype]

    def numbers() -> list[Array]:
        return [
            (GENERATOR.uniform(0.5, 1, 40) * 2.0 ** (-place * (limbs.format.digits + 1))).astype(dtype)
            for place in range(limbs.count)
        ]

    x, y = numbers(), numbers()
    for operation in ("add", "subtract", "multiply", "divide"):
        block = Block([tensor_type((40,), limbs.dtype)] * (2 * limbs.count))
        with Builder(block):
            left, right = tuple(block.arguments[: limbs.count]), tuple(block.arguments[limbs.count :])
            ops.Return(getattr(Arithmetic(limbs), operation)(left, right))
        found = evaluate_function(Function("main", block), *x, *y)
        for place in range(40):
            a, b, c = (sum(Fraction(float(limb[place])) for limb in number) for number in (x, y, found))
            exact = {"add": a + b, "subtract": a - b, "multiply": a * b, "divide": a / b}[operation]
            scale = abs(a) if operation == "subtract" else abs(exact)
            assert abs(c - exact) <= scale * Fraction(2) ** -digits, operation


def test_what_has_no_form_is_refused() -> None:
    with pytest.raises(WindlassError, match="WL0962"):
        spread_and_run(lambda x: ops.Real(ops.Fft(ops.Complex(x, x), "FFT", (8,))), [np.ones(8)])
