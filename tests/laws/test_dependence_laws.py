"""The law of dependence: what changes with an element of an operand is in the pattern."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.laws.op_instances import composite_classes, draw_instance, meaningful_classes
from tests.laws.test_derivative_laws import SmoothDraw, function_of
from windlass.autodiff.activity import is_differentiable
from windlass.facts.dependence import TooDense, find_dependence
from windlass.ops.base import TensorOp
from windlass.ops.evaluation import evaluate_function


def bits_of(arrays: Any) -> NDArray[Any]:
    """All elements, one after the other, with equal ones where they are equal to the bit."""
    parts = [np.ascontiguousarray(np.asarray(array)).reshape(-1) for array in arrays]
    return np.concatenate([part.view(f"V{part.itemsize}").astype(object) for part in parts])


@pytest.mark.parametrize("cls", (*meaningful_classes(), *composite_classes()), ids=lambda cls: cls.__name__)
@pytest.mark.one_in(3)
@pytest.mark.parametrize("known", [True, False], ids=["known", "unknown"])
def test_what_changes_is_in_the_pattern(cls: type[TensorOp], known: bool) -> None:
    """Integers among the operands are known, or not."""
    for index in range(3):
        draw = SmoothDraw(zlib.crc32(cls.__name__.encode()) + 104729 * index)
        instance = draw_instance(cls, draw)
        function = function_of(instance.op)
        arrays = [np.asarray(each) for each in instance.arrays]
        active = [place for place, each in enumerate(function.arguments) if is_differentiable(each.type)]
        if not active:
            continue
        given = {place: array for place, array in enumerate(arrays) if place not in active} if known else {}
        try:
            patterns = find_dependence(function, active, given, 100_000)
        except TooDense:
            continue
        pattern = np.concatenate([each.toarray() for each in patterns])
        with np.errstate(all="ignore"):
            before = bits_of(evaluate_function(function, *arrays))
        column = 0
        for place in active:
            for element in range(min(arrays[place].size, 12)):
                moved = arrays[place].copy()
                moved.reshape(-1)[element] += 0.37
                with np.errstate(all="ignore"):
                    after = bits_of(evaluate_function(function, *arrays[:place], moved, *arrays[place + 1 :]))
                changed = np.flatnonzero([bytes(one) != bytes(other) for one, other in zip(before, after, strict=True)])
                assert pattern[changed, column + element].all(), (instance.op, place, element)
            column += arrays[place].size
