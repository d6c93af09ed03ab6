"""The laws of derivatives: tangents are what differences show, cotangents are their transpose, to second order too."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.laws.op_instances import composite_classes, draw_instance, meaningful_classes
from windlass.autodiff import NoDerivative, pullback_function, tangent_function
from windlass.autodiff.activity import is_differentiable
from windlass.ir import Block, Builder, Function, TensorType, Value, tensor_type
from windlass.ir.types import NUMPY_DTYPES
from windlass.ops import Constant, Return, Select
from windlass.ops.base import TensorOp
from windlass.ops.evaluation import evaluate_block
from windlass.ops.pointwise import Elementwise
from windlass.ops.sampling import RandomDraw

Array = NDArray[Any]

STEP = 1e-6
TOLERANCE = 1e-5


class SmoothDraw(RandomDraw):
    """Numbers of double precision, no two the same, no special ones."""

    common_dtypes = ("f64", "f64", "f64", "complex<f64>", "i32", "i1", "ui32")

    def array(self, type_: TensorType, low: float = -4.0, high: float = 4.0) -> Array:
        if not is_differentiable(type_):
            return super().tame_array(type_, low, high)
        generator = np.random.default_rng(self.integer(0, 2**31 - 1))
        real = generator.uniform(low, high, type_.shape)
        if type_.is_complex:
            real = real + 1j * generator.uniform(low, high, type_.shape)
        return np.asarray(real).astype(NUMPY_DTYPES[type_.dtype])

    def tame_array(self, type_: TensorType, low: float = -3.0, high: float = 3.0) -> Array:
        return self.array(type_, low, high)


WITHOUT: frozenset[str] = frozenset({"Map", "RaggedDot"})
"""Ops of floats that have no derivative, by name: an error where one is asked for."""

WITHOUT_BY = {"Polygamma": 0, "Zeta": 0}
"""Those that have none by one of their operands."""

ROUNDING = frozenset({"ReducePrecision"})
"""Ops that round, whose derivative is that of what they round: differences don't show it."""

NOT_IN_ALL_FORMS = frozenset({"BitcastConvert", "Scatter"})
"""Ops of which some forms have none: an error where it is asked for."""

DRAWS = {"Cholesky": 6, "TriangularSolve": 6}
"""How many instances are drawn of ops whose derivatives are programs of their own; 40 of others."""

BEGINNINGS = "init_values"
"""Operands of folds that have to be the identity, so that they can't change: an error where they do."""


def function_of(op: TensorOp) -> Function:
    """The op alone, as a function of its operands."""
    block = Block([operand.type for operand in op.operands])
    with Builder(block):
        mapping: dict[Value, Value] = dict(zip(op.operands, block.arguments, strict=True))
        Return(op.clone(mapping).results)
    return Function("op", block)


def changeable(op: TensorOp) -> list[int]:
    """The operands that a derivative can be asked by."""
    fixed: set[Value] = set(getattr(op, BEGINNINGS, ()))
    if type(op).__name__ in WITHOUT_BY:
        fixed.add(op.operands[WITHOUT_BY[type(op).__name__]])
    return [place for place in differentiable([each.type for each in op.operands]) if op.operands[place] not in fixed]


def differentiable(types: Sequence[Any]) -> list[int]:
    return [position for position, type_ in enumerate(types) if is_differentiable(type_)]


def run(function: Function, arrays: Sequence[Array]) -> list[Array]:
    """What the function gives, of those results that are differentiable."""
    with np.errstate(all="ignore"):
        found = evaluate_block(function.body, list(arrays))
    returned = function.body.terminator.operands
    return [
        np.asarray(each, NUMPY_DTYPES[value.dtype])
        for each, value in zip(found, returned, strict=True)
        if is_differentiable(value.type)
    ]


def moved(arrays: Sequence[Array], active: Sequence[int], directions: Sequence[Array], step: float) -> list[Array]:
    along = dict(zip(active, directions, strict=True))
    return [array + step * along[index] if index in along else array for index, array in enumerate(arrays)]


def assert_close(expected: Sequence[Array], found: Sequence[Array], about: object) -> int:
    """Where both are finite they are equal; gives how many elements that were."""
    count = 0
    for one, other in zip(expected, found, strict=True):
        known = np.isfinite(one) & np.isfinite(other)
        assert known.sum() >= np.isfinite(one).sum(), (about, one, other)
        assert np.allclose(one[known], other[known], TOLERANCE * 10, TOLERANCE), (about, one, other)
        count += int(known.sum())
    return count


def assert_tangents_are_differences(
    function: Function, arrays: Sequence[Array], active: Sequence[int], draw: SmoothDraw
) -> int:
    tangent = tangent_function(function, active)
    directions = [draw.array(function.arguments[index].tensor, -1.0, 1.0) for index in active]
    after, before = (run(function, moved(arrays, active, directions, step)) for step in (STEP, -STEP))
    with np.errstate(all="ignore"):
        expected = [(one - other) / (2 * STEP) for one, other in zip(after, before, strict=True)]
    return assert_close(expected, run(tangent, [*arrays, *directions]), function.body)


def assert_pullback_is_transpose(
    function: Function, arrays: Sequence[Array], active: Sequence[int], draw: SmoothDraw, is_finite: bool = False
) -> None:
    directions = [draw.array(function.arguments[index].tensor, -1.0, 1.0) for index in active]
    tangents = run(tangent_function(function, active), [*arrays, *directions])
    if not all(np.isfinite(each).all() for each in tangents):
        assert not is_finite, (function.body, tangents)
        return
    cotangents = [draw.array(value.tensor, -1.0, 1.0) for value in returned_of(function)]
    pulled = run(pullback_function(function, active), [*arrays, *cotangents])
    forward = sum(float(np.sum(one * other).real) for one, other in zip(cotangents, tangents, strict=True))
    back = sum(float(np.sum(one * other).real) for one, other in zip(pulled, directions, strict=True))
    assert np.isclose(forward, back, 1e-9, 1e-9), (function.body, forward, back)


def returned_of(function: Function) -> list[Value]:
    return [value for value in function.body.terminator.operands if is_differentiable(value.type)]


CLASSES = (*meaningful_classes(), *composite_classes())


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_derivatives_are_what_differences_show(cls: type[TensorOp]) -> None:
    compared = 0
    asked = False
    for index in range(DRAWS.get(cls.__name__, 40)):
        draw = SmoothDraw(zlib.crc32(cls.__name__.encode()) + 7919 * index)
        instance = draw_instance(cls, draw)
        function = function_of(instance.op)
        active = changeable(instance.op)
        if not active or not returned_of(function):
            continue
        asked = True
        arrays = [np.asarray(each) for each in instance.arrays]
        if cls.__name__ in WITHOUT:
            with pytest.raises(NoDerivative):
                tangent_function(function, active)
            return
        if cls.__name__ in ROUNDING:
            assert_pullback_is_transpose(function, arrays, active, draw)
            return
        try:
            tangent_function(function, active)
        except NoDerivative:
            assert cls.__name__ in NOT_IN_ALL_FORMS
            continue
        compared += assert_tangents_are_differences(function, arrays, active, draw)
        assert_pullback_is_transpose(function, arrays, active, draw)
        tangent = tangent_function(function, active)
        if returned_of(tangent):
            everything = [*active, *range(len(arrays), len(tangent.arguments))]
            directions = [draw.array(function.arguments[place].tensor, -1.0, 1.0) for place in active]
            assert_tangents_are_differences(tangent, [*arrays, *directions], everything, draw)
            assert_pullback_is_transpose(tangent, [*arrays, *directions], everything, draw)
    assert compared or not asked


class TieDraw(SmoothDraw):
    """A few numbers of double precision, again and again: ties, breakpoints, poles, infinite slopes."""

    def array(self, type_: TensorType, low: float = -4.0, high: float = 4.0) -> Array:
        if not type_.is_float:
            return super().array(type_, low, high)
        numbers = np.array([-1.0, -0.5, 0.0, 0.5, 1.0, 2.0])
        return np.random.default_rng(self.integer(0, 2**31 - 1)).choice(numbers, type_.shape)


def guarded(op: TensorOp) -> Function:
    """The op where a condition holds, and zero elsewhere: a function of its operands and of the condition."""
    block = Block([*(operand.type for operand in op.operands), tensor_type(op.tensor.shape, "i1")])
    with Builder(block):
        mapping: dict[Value, Value] = dict(zip(op.operands, block.arguments, strict=False))
        (result,) = op.clone(mapping).results
        Return((Select(block.arguments[-1], result, Constant.splat(0, result.type)),))
    return Function("guarded", block)


ELEMENTWISE = [
    cls for cls in CLASSES if issubclass(cls, Elementwise) and cls.__name__ not in WITHOUT | WITHOUT_BY.keys()
]


@pytest.mark.parametrize("cls", ELEMENTWISE, ids=lambda cls: cls.__name__)
def test_both_modes_agree_at_ties_and_stop_at_guards_of_poles(cls: type[TensorOp]) -> None:
    for index in range(6):
        draw = TieDraw(zlib.crc32(cls.__name__.encode()) + 7919 * index)
        op = draw_instance(cls, draw).op
        active = changeable(op)
        if not active or not op.tensor.is_float:
            continue
        arrays = [draw.array(operand.tensor) for operand in op.operands]
        directions = [draw.array(op.operands[place].tensor) for place in active]
        function = function_of(op)
        ordinary = np.ones(op.tensor.shape, bool)
        for place, direction in zip(active, directions, strict=True):
            (tangent,) = run(tangent_function(function, [place]), [*arrays, np.ones_like(direction)])
            ordinary &= np.isfinite(tangent)
        assert_pullback_is_transpose(guarded(op), [*arrays, ordinary], active, draw, is_finite=True)
