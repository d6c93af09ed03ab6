"""Programs in index notation mean what they mean in NumPy."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

import windlass as wl
from tests.frontends.notation.examples import EXAMPLES
from windlass.ops import Constant, Return


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", EXAMPLES)
def test_example_is_what_numpy_makes_of_it(name: str) -> None:
    example = EXAMPLES[name]
    *_, function = wl.notation(example.text).values()
    found, expected = function(*example.arguments), example.expected(*example.arguments)
    if not isinstance(found, tuple):
        found, expected = (found,), (expected,)
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        assert isinstance(one, np.ndarray) and one.shape == np.shape(other)
        np.testing.assert_allclose(one, other, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("name", [name for name, example in EXAMPLES.items() if example.ops is not None])
def test_example_is_lowered_to_few_ops(name: str) -> None:
    example = EXAMPLES[name]
    *_, function = wl.notation(example.text).values()
    ops = function.compiled_for(*example.arguments).module.main.walk()
    assert Counter(type(op).__name__ for op in ops if not isinstance(op, Constant | Return)) == example.ops
