"""`assert`, `raise` and `math`: what Python looks at while it runs, the program looks at while it does."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest

import windlass as wl
from tests.frontends.arrays.running import whole


def asserted(x: Any) -> Any:
    assert x.sum() > 0, "nothing is there"
    return x / x.sum()


def asserted_without_words(x: Any) -> Any:
    assert 0 < x[0] < 5 and x.sum() > 0
    return x


def asserted_in_a_loop(x: Any) -> Any:
    total = 0.0
    for i in range(x.size):
        assert x[i] >= 0, f"element {i}"
        total += x[i]
    return total


def asserted_in_a_branch(x: Any) -> Any:
    if x[0] > 1:
        assert x[1] > 0
        x = x * 2
    return x


@pytest.mark.parametrize("function", [asserted, asserted_without_words, asserted_in_a_loop, asserted_in_a_branch])
def test_assertions_hold_or_fail_as_in_python(function: Callable[..., Any]) -> None:
    compiled = whole(function)
    for x in ([1.0, 2.0], [-1.0, -2.0], [3.0, -1.0], [0.5, -1.0]):
        try:
            wanted = function(np.array(x))
        except AssertionError:
            with pytest.raises(AssertionError, match=r"WL0923.*assertion failed"):
                compiled(np.array(x))
        else:
            np.testing.assert_array_equal(compiled(np.array(x)), wanted)


def test_a_failed_assertion_is_told_with_its_line() -> None:
    with pytest.raises(wl.WindlassError) as caught:
        whole(asserted)(-np.ones(2))
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.headline == "assertion failed: nothing is there"
    assert diagnostic.position is not None
    assert (diagnostic.position.source_line() or "").strip().startswith("assert x.sum()")
    with pytest.raises(wl.WindlassError, match=r"assertion failed: 0 < x\[0\] < 5 and x.sum\(\) > 0"):
        whole(asserted_without_words)(-np.ones(2))


class NoRoot(Exception):
    def __init__(self, why: str) -> None:
        super().__init__(f"no root: {why}")


def checked_root(x: Any, limit: int = 3) -> Any:
    """Raises what its statements say."""
    if limit < 0:
        raise TypeError("a limit below zero")
    if x.min() < 0:
        raise NoRoot("a negative number")
    for i in range(x.size):
        if x[i] > limit:
            raise ValueError(f"element {i} is beyond {limit}")
    return np.sqrt(x)


def test_raise_under_a_condition_raises_after_the_run() -> None:
    compiled = whole(checked_root)
    np.testing.assert_array_equal(compiled(np.array([1.0, 2.0])), np.sqrt([1.0, 2.0]))
    with pytest.raises(NoRoot, match="no root: a negative number") as caught:
        compiled(np.array([1.0, -2.0]))
    assert "test_assertions.py:" in caught.value.__notes__[0]
    with pytest.raises(ValueError, match="beyond 3"):
        compiled(np.array([1.0, 4.0]))
    with pytest.raises(TypeError, match="a limit below zero"):
        whole(static="limit")(checked_root)(np.ones(2), -1)
    np.testing.assert_array_equal(compiled(np.array([1.0, 2.0])), np.sqrt([1.0, 2.0]))


def test_what_a_handler_may_see_is_not_put_off() -> None:
    def function(x: Any) -> Any:
        try:
            if x[0] > 0:
                raise ValueError("positive")
        except ValueError:
            return x * 2
        return x

    with pytest.raises(wl.WindlassError, match=r"WL0904|WL0910"):
        whole(function)(np.ones(2))


def test_gradients_pass_by_assertions() -> None:
    by_x = wl.grad(lambda x: asserted(x)[0])(np.array([1.0, 3.0]))
    np.testing.assert_allclose(by_x, [3 / 16, -1 / 16])
    with pytest.raises(AssertionError, match="nothing is there"):
        wl.grad(lambda x: asserted(x)[0])(-np.ones(2))


@pytest.mark.parametrize("function", [asserted, lambda x: x[x.astype(int)]], ids=["asserted", "indices"])
def test_checked_functions_take_numpys_doubles_under_vmap(function: Callable[..., Any]) -> None:
    found = jax.vmap(whole(function))(np.ones((2, 3)))
    assert found.shape == (2, 3)
    assert found.dtype == np.float32  # as JAX has it, without 64 bits


# -- math -------------------------------------------------------------------------------------------------------------

ONE = [
    math.acos, math.acosh, math.asin, math.asinh, math.atan, math.atanh, math.cbrt, math.cos, math.cosh, math.degrees,
    math.erf, math.erfc, math.exp, math.exp2, math.expm1, math.fabs, math.gamma, math.lgamma, math.log, math.log10,
    math.log1p, math.log2, math.radians, math.sin, math.sinh, math.sqrt, math.tan, math.tanh, math.ceil, math.floor,
    math.trunc, math.isfinite, math.isinf, math.isnan,
]  # fmt: skip
TWO = [math.atan2, math.copysign, math.fmod, math.hypot, math.isclose, math.log, math.nextafter, math.pow]
POINTS = [0.3, -0.3, 0.0, -0.0, 1.0, -1.0, 2.0, -2.5, 700.0, 1e3, -1e3, 1e300, math.inf, -math.inf, math.nan]


def outcome_of(function: Callable[..., Any], *numbers: Any) -> Any:
    try:
        return function(*numbers)
    except (ValueError, OverflowError) as error:
        return OverflowError if isinstance(error, OverflowError) else ValueError


@pytest.mark.parametrize("function", [*ONE, *TWO], ids=lambda each: each.__name__)
def test_functions_of_math_are_as_in_python(function: Any) -> None:
    points = [(x,) for x in POINTS] if function in ONE else [(x, y) for x in POINTS[::2] for y in POINTS]
    compiled = whole(lambda *numbers: function(*numbers))  # noqa: PLW0108
    for numbers in points:
        found, wanted = outcome_of(compiled, *map(np.float64, numbers)), outcome_of(function, *numbers)
        if isinstance(wanted, int) and abs(wanted) >= 2**63:
            assert found is OverflowError  # integers have 64 bits
        elif isinstance(wanted, type):
            assert found is wanted, (numbers, found, wanted)
        else:
            assert not isinstance(found, type), (numbers, found, wanted)
            np.testing.assert_allclose(found, wanted, rtol=1e-13, atol=1e-300, err_msg=str(numbers))
            assert np.signbit(found) == np.signbit(wanted) or np.isnan(wanted), numbers


def test_math_of_elements_in_a_loop() -> None:
    def function(x: Any) -> Any:
        total = 0.0
        for value in x:
            total += math.sin(value) * math.gcd(12, 18) + math.floor(value)
        return total

    x = np.linspace(-2, 2, 7)
    np.testing.assert_allclose(whole(function)(x), function(x), rtol=1e-14)
    np.testing.assert_allclose(wl.grad(function)(x), 6 * np.cos(x), rtol=1e-14)


def test_math_of_narrow_floats_is_pythons() -> None:
    x = np.array([0.1, 0.7], np.float32)

    def function(x: Any) -> Any:
        return x * math.exp(x[0])

    found = whole(function)(x)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, function(x), rtol=1e-6)
