"""The laws of `axes`: what an op says of its axes is true of what it gives."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from tests.laws.op_instances import Instance, draw_instances, meaningful_classes
from windlass.ir import Argument, Op, Region, tensor_type
from windlass.ops.axes import Axes, Axis
from windlass.ops.base import TOKEN, TensorOp
from windlass.ops.control import OptimizationBarrier
from windlass.ops.evaluation import Scope, run_pointwise
from windlass.rewriting.laws import same_bits

Array = np.ndarray[Any, Any]

COUNT = 25
RANDOM = np.random.default_rng(7)

WITHOUT_AXES = {
    "AfterAll": "a token has no axes",
    "Call": "what is called says",
    "Case": "its branches say",
    "CustomCall": "nobody knows",
    "CustomDerivative": "what it stands for says",
    "If": "its branches say",
    "Infeed": "values come from outside",
    "MissingDerivative": "nobody knows",
    "Opaque": "nobody knows",
    "OpaqueTerminator": "nobody knows",
    "Outfeed": "values go outside",
    "PartitionId": "a number without axes",
    "Recv": "values come from outside",
    "ReplicaId": "a number without axes",
    "Return": "ends a region",
    "Rng": "each number is another one",
    "RngBitGenerator": "each number is another one",
    "Send": "values go outside",
    "While": "its body says",
}


def classes_with_axes() -> list[type[TensorOp]]:
    return [cls for cls in meaningful_classes() if cls.axes is not TensorOp.axes]


def test_every_op_has_axes_or_a_reason() -> None:
    named = {cls for cls in Op.by_name.values() if issubclass(cls, TensorOp)}
    without = {cls.__name__ for cls in named if cls.axes is TensorOp.axes and cls.__module__.startswith("windlass.ops")}
    assert without == {name for name in WITHOUT_AXES if name not in {"Opaque", "OpaqueTerminator"}}


def test_token_has_no_axes() -> None:
    barrier = OptimizationBarrier((Argument(TOKEN), Argument(tensor_type((2, 3), "f32"))))
    axes = barrier.axes()
    assert axes is not None
    assert str(axes) == ",ij->,ij"


@pytest.mark.parametrize("cls", classes_with_axes(), ids=lambda cls: cls.__name__)
def test_axes_are_true(cls: type[TensorOp]) -> None:
    for instance in draw_instances(cls, COUNT):
        op, axes = instance.op, instance.op.axes()
        if axes is None:
            continue
        check_sizes(op, axes)
        results = evaluate(op, instance.arrays)
        for letter in sorted(axes.mapped):
            check_mapped(instance, axes, letter, results)
        for letter in sorted(axes.repeated):
            first = [0] * axes.sizes[letter]
            for array, places in zip(results, axes.results, strict=True):
                assert_same(op, axes, array, take(array, places, letter, axes, first))
        for letter in sorted(axes.reduced):
            check_reduced(instance, axes, letter, results)


def check_sizes(op: TensorOp, axes: Axes) -> None:
    for values, side in ((op.operands, axes.operands), (op.results, axes.results)):
        for value, places in zip(values, side, strict=True):
            letters = [letter for axis in places for letter in axis or ()]
            assert len(set(letters)) == len(letters)
            for size, axis in zip(value.shape, places, strict=True):
                assert axis is None or math.prod(axes.sizes[letter] for letter in axis) == size, (op, str(axes))


def check_mapped(instance: Instance, axes: Axes, letter: int, results: list[Array]) -> None:
    """Indices may be permuted, and what is at one doesn't depend on what is at another."""
    op, size = instance.op, axes.sizes[letter]
    order = RANDOM.permutation(size)
    permuted = [
        take(array, places, letter, axes, order) for array, places in zip(instance.arrays, axes.operands, strict=True)
    ]
    for found, before, places in zip(evaluate(op, permuted), results, axes.results, strict=True):
        assert_same(op, axes, found, take(before, places, letter, axes, order))
    for index in range(size):
        # Every other index gets what is at this one.
        alike = [
            take(array, places, letter, axes, [index] * size)
            for array, places in zip(instance.arrays, axes.operands, strict=True)
        ]
        for found, before, places in zip(evaluate(op, alike), results, axes.results, strict=True):
            assert_same(op, axes, found, take(before, places, letter, axes, [index] * size))


def check_reduced(instance: Instance, axes: Axes, letter: int, results: list[Array]) -> None:
    """Indices may be permuted, and results of two parts are combined to the result of the whole."""
    op, size = instance.op, axes.sizes[letter]
    assert axes.combiner is not None
    order = RANDOM.permutation(size)

    def given(indices: Sequence[int] | Array) -> list[Array]:
        return [
            take(array, places, letter, axes, indices)
            for array, places in zip(instance.arrays, axes.operands, strict=True)
        ]

    for found, before in zip(evaluate(op, given(order)), results, strict=True):
        assert_near(op, axes, found, before)
    if size < 2:
        return
    middle = int(RANDOM.integers(1, size))
    first, second = (evaluate_part(op, given(part)) for part in (range(middle), range(middle, size)))
    for found, before in zip(combine(op, axes.combiner, first, second), results, strict=True):
        assert_near(op, axes, found, before)


def evaluate(op: TensorOp, arrays: Sequence[Array]) -> list[Array]:
    with np.errstate(all="ignore"):
        outcome = op.evaluate(*arrays, **({"scope": Scope()} if op.needs_scope else {}))
    return [np.asarray(each) for each in (outcome if isinstance(outcome, tuple) else (outcome,))]


def evaluate_part(op: TensorOp, arrays: Sequence[Array]) -> list[Array]:
    """What the op gives of operands that are smaller than its own."""
    operands = tuple(
        Argument(tensor_type(array.shape, operand.dtype)) for array, operand in zip(arrays, op.operands, strict=True)
    )
    regions = {name: getattr(op, name).clone({}) for name in op.region_names}
    return evaluate(op.with_fields(operands, **regions), arrays)


def combine(op: TensorOp, combiner: type[Op] | Region, first: list[Array], second: list[Array]) -> list[Array]:
    with np.errstate(all="ignore"):
        if isinstance(combiner, Region):
            return list(run_pointwise(combiner, Scope(), *first, *second))
        found: list[Array] = []
        for result, left, right in zip(op.results, first, second, strict=True):
            combined: Any = combiner.from_fields({"lhs": Argument(result.type), "rhs": Argument(result.type)})
            found += evaluate(combined, [left, right])
        return found


def take(array: Array, places: Sequence[Axis], letter: int, axes: Axes, indices: Sequence[int] | Array) -> Array:
    """The array with these indices along the letter; itself where it has no axis with the letter."""
    for position, axis in enumerate(places):
        if axis is not None and letter in axis:
            inner = tuple(axes.sizes[each] for each in axis)
            split = array.reshape(*array.shape[:position], *inner, *array.shape[position + 1 :])
            taken = np.take(split, np.asarray(indices, np.int64), position + axis.index(letter))
            whole = math.prod(inner) // max(axes.sizes[letter], 1) * len(indices)
            return taken.reshape(*array.shape[:position], whole, *array.shape[position + 1 :])
    return array


def assert_same(op: TensorOp, axes: Axes, found: Array, expected: Array) -> None:
    """Equal to the bit, but for ops that may add in another order."""
    if op.is_contraction:
        assert_near(op, axes, found, expected)
    else:
        assert found.shape == expected.shape, (op, str(axes))
        assert same_bits(found, expected), (op, str(axes))


def assert_near(op: TensorOp, axes: Axes, found: Array, expected: Array) -> None:
    assert found.shape == expected.shape, (op, str(axes))
    if expected.dtype.kind in "iub":
        assert np.array_equal(found, expected), (op, str(axes))
        return
    wide = found.astype(np.complex128), expected.astype(np.complex128)
    near = {1: 0.5, 2: 0.1}.get(expected.dtype.itemsize, 1e-4)
    scale = float(np.abs(wide[1][np.isfinite(wide[1])]).max(initial=1))
    assert np.allclose(*wide, rtol=near, atol=near * scale, equal_nan=True), (op, str(axes))
