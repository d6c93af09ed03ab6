"""Arrays of as many elements as data decide, in one program, against NumPy: for masks and elements of all kinds."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest

import windlass as wl
from tests.frontends.arrays import bounded_functions as functions
from tests.frontends.arrays.running import whole

KINDS = (ValueError, IndexError, TypeError, ZeroDivisionError)
VECTORS = {
    "floats": np.array([1.5, -2.0, 3.0, 0.25, -0.5, 1.5, 0.0]),
    "NaN": np.array([np.nan, -2.0, np.inf, 0.25, np.nan, -np.inf, 0.0]),
    "f32": np.array([1.5, -2.0, 3.0, 0.25, -0.5, 1.5, 0.0], np.float32),
    "integers": np.array([3, -2, 3, 0, 2**40, -(2**40), 1]),
    "bytes": np.array([200, 3, 255, 0, 7, 3, 255], np.uint8),
    "booleans": np.array([True, False, True, True, False, False, True]),
    "complex": np.array([1 + 2j, -2j, 3, 0, 1 + 2j, np.nan, 1j]),
}
MASKS = ["1011010", "1111111", "0000000", "0000001", "1000000", "0111100"]


def outcome(function: Callable[..., Any], *arguments: Any) -> Any:
    """What a function gives, and what it leaves its arguments as; or the kind of its exception."""
    given = [each.copy() for each in arguments]
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = function(*given)
    except Exception as error:
        return next((each for each in KINDS if isinstance(error, each)), type(error))
    return found, given


def assert_same(found: Any, wanted: Any, what: str) -> None:
    if isinstance(wanted, type) or isinstance(found, type):
        assert found == wanted, f"{what}: {found} for {wanted}"
        return
    results, expectations = jax.tree.leaves(found), jax.tree.leaves(wanted)
    assert len(results) == len(expectations)
    for result, expected in zip(results, expectations, strict=True):
        np.testing.assert_allclose(result, expected, rtol=1e-5, err_msg=what)
        assert np.asarray(result).dtype == np.asarray(expected).dtype, what
        assert np.shape(result) == np.shape(expected), what


def assert_numpys(function: Callable[..., Any], vector: Any, *, masks: list[str] = MASKS) -> None:
    compiled = whole(function)
    for text in masks:
        mask = np.array([each == "1" for each in text], bool)
        what = f"{function.__name__} of {vector} where {text}"
        assert_same(outcome(compiled, vector, mask), outcome(function, vector, mask), what)


def _named(function: Any) -> str:
    return function.__name__


ALL = [*functions.EVERYWHERE, *functions.OF_ORDERED, *functions.OF_FLOATS]
NOT_OF = {
    "booleans": (functions.adds_at_places, functions.deviates, functions.finds_medians),
    "nothing": (functions.finds_medians, functions.norms),
}
"""What is refused, or said in other words than NumPy's."""
CASES = [
    (function, kind)
    for kind in VECTORS
    for function in ALL
    if function not in NOT_OF.get(kind, ())
    and (
        kind in ("floats", "NaN")
        or (function not in functions.OF_FLOATS and (kind != "complex" or function not in functions.OF_ORDERED))
    )
]


@pytest.mark.one_in(30)
@pytest.mark.parametrize(("function", "kind"), CASES, ids=lambda each: each if isinstance(each, str) else _named(each))
def test_what_masks_pick_is_numpys(function: Callable[..., Any], kind: str) -> None:
    assert_numpys(function, VECTORS[kind])


@pytest.mark.one_in(10)
@pytest.mark.parametrize("size", [0, 1])
@pytest.mark.parametrize("function", ALL, ids=_named)
def test_what_masks_pick_of_nothing_or_one_is_numpys(function: Callable[..., Any], size: int) -> None:
    if size == 0 and function in NOT_OF["nothing"]:
        return
    assert_numpys(function, VECTORS["floats"][:size], masks=["0" * size, "1" * size][: size + 1])


@pytest.mark.one_in(2)
@pytest.mark.parametrize("function", functions.OF_LOOPS, ids=_named)
def test_what_goes_round_is_numpys(function: Callable[..., Any]) -> None:
    assert_numpys(function, VECTORS["floats"])


@pytest.mark.parametrize("function", [functions.may_be_the_callers, functions.may_be_another])
def test_a_name_of_one_of_two_arrays_is_pythons(function: Callable[..., Any]) -> None:
    with pytest.raises(wl.WindlassError, match="WL0908"):
        whole(function)(VECTORS["floats"].copy(), VECTORS["floats"] > 0)
    compiled = wl.jit(function)
    for vector in (VECTORS["floats"], -VECTORS["floats"]):
        mask = vector > 0
        assert_same(outcome(compiled, vector, mask), outcome(function, vector, mask), function.__name__)


def test_trials_compare_results_of_any_length(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WINDLASS_TRIALS", "1")
    compiled = wl.jit(functions.shrinks_from_a_known_length)
    vector = VECTORS["floats"]
    for number in range(6):
        mask = vector > number - 3
        wanted = outcome(functions.shrinks_from_a_known_length, vector * number, mask)
        assert_same(outcome(compiled, vector * number, mask), wanted, "shrinks")
