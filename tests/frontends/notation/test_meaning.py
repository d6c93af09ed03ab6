"""Tensor programs of the notation are what loops over points and elements give."""

from __future__ import annotations

import numpy as np
import pytest

import windlass as wl
from tests.frontends.notation import meaning
from tests.frontends.notation.author import Author
from tests.frontends.notation.examples import EXAMPLES
from windlass.diagnostics import WindlassError
from windlass.frontends.notation import Source, load, lower
from windlass.ops import evaluate_function


def compare(seed: int) -> bool:
    """Whether the author's text says something; if so, its program has been found right."""
    author = Author(seed)
    text = author.text()
    arguments = author.arguments()
    source = Source(text)
    try:
        (procedure,) = load(source).values()
        lowered = lower(source, procedure, [each.shape for each in arguments])
    except WindlassError as error:
        # Types that do not meet, and elements that are set by no or by several points.
        assert error.diagnostics[0].code in ("WL1506", "WL1507", "WL1504"), f"{text}\n{error}"
        return False
    expected = meaning.run(source, procedure, arguments)
    found = evaluate_function(lowered.function, *arguments)
    for one, other in zip(found, expected, strict=False):
        np.testing.assert_array_equal(one, other, err_msg=f"seed {seed}\n{text}\n{arguments}")
        assert one.dtype == other.dtype, text
    return True


def compare_compiled(seed: int) -> None:
    """As `compare`, after the rules and through XLA."""
    author = Author(seed)
    text, arguments = author.text(), author.arguments()
    try:
        (function,) = wl.notation(text).values()
        found = function(*arguments)
    except WindlassError:
        return
    expected = meaning.run(function.source, function.procedure, arguments)
    for one, other in zip(found if isinstance(found, tuple) else (found,), expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6, err_msg=f"seed {seed}\n{text}\n{arguments}")


def test_random_functions_are_what_loops_give() -> None:
    said = sum(compare(seed) for seed in range(100))
    assert said > 80


@pytest.mark.slow
def test_optimized_functions_are_what_loops_give() -> None:
    for seed in range(200):
        compare_compiled(seed)


@pytest.mark.slow
def test_many_random_functions_are_what_loops_give() -> None:
    assert sum(compare(seed) for seed in range(100, 6000)) > 4000


@pytest.mark.parametrize("name", ["look-up beside its own index", "part that is set", "repeated pixels", "layer"])
def test_loops_give_what_numpy_gives(name: str) -> None:
    example = EXAMPLES[name]
    source = Source(example.text)
    (procedure,) = load(source).values()
    (found,) = meaning.run(source, procedure, example.arguments)
    np.testing.assert_allclose(found, example.expected(*example.arguments), rtol=1e-5)
