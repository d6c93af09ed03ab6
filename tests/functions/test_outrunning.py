"""Functions that Python runs faster than their program: what is given is the same, whoever runs them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import windlass as wl
from windlass.functions import outrunning

SCALE = 2.0
CALLS = outrunning.RUNS_BEFORE + 4
kept = np.ones(3)


@pytest.fixture
def python_wins(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the clock says."""
    monkeypatch.setenv("WINDLASS_TRIALS", "1")
    monkeypatch.setattr(outrunning, "LEAST_GAIN", -1e9)
    monkeypatch.setattr(outrunning, "MOST_TIMES", 1e9)


def update(a: Any, x: Any, n: int) -> Any:
    for i in range(n):
        x[i] = a[i] @ x * SCALE
    return a, x[:1], float(x[0]), {"sum": x.sum()}


def is_run_by_python(function: Any, *arguments: Any) -> bool:
    return "Python runs it" in str(function.explain(*arguments))


@pytest.mark.usefixtures("python_wins")
def test_results_are_the_programs_in_kind_and_share_no_memory() -> None:
    function, a, x = wl.jit(update), np.random.default_rng(0).random((3, 3)), np.ones(3)
    for number in range(CALLS):
        x, wanted = np.ones(3), np.ones(3)
        same, part, first, sums = function(a, x, 2)
        assert number or not is_run_by_python(function, a, x, 2)
        update(a, wanted, 2)
        assert same is a
        np.testing.assert_allclose(x, wanted)
        assert part.shape == (1,)
        assert not np.may_share_memory(part, x)
        assert type(first) is type(sums["sum"]) is np.float64
    assert is_run_by_python(function, a, x, 2)
    assert not is_run_by_python(function, a, x, 1)  # what was found holds for these integers


@pytest.mark.usefixtures("python_wins")
def test_what_is_compiled_in_stays_compiled_in(monkeypatch: pytest.MonkeyPatch) -> None:
    function, a = wl.jit(update), np.eye(3)
    for _ in range(CALLS):
        function(a, np.ones(3), 2)
    monkeypatch.setitem(globals(), "SCALE", 5.0)
    x = np.ones(3)
    function(a, x, 2)
    assert x.tolist() == [2.0, 2.0, 1.0]


@pytest.mark.usefixtures("python_wins")
def test_call_in_which_python_raises_is_done_again_by_the_program() -> None:
    def divides(x: Any, y: Any) -> Any:
        x[0] += 1
        return x / (1.0 / y)

    def first_of(x: Any, at: Any) -> Any:
        x[0] += 1
        return x[at[0]]

    function = wl.jit(divides)
    for _ in range(CALLS):
        function(np.ones(2), 4.0)
    x = np.ones(2)
    assert function(x, 0.0).tolist() == [0.0, 0.0]
    assert x.tolist() == [2.0, 1.0]
    function = wl.jit(first_of)
    for _ in range(CALLS):
        function(np.ones(2), np.array([1]))
    x = np.ones(2)
    with pytest.raises(wl.WindlassError, match="WL0913"):
        function(x, np.array([7]))
    assert x.tolist() == [1.0, 1.0]


@pytest.mark.usefixtures("python_wins")
@pytest.mark.parametrize(
    ("function", "argument"),
    [
        (lambda x: x + kept, np.ones(3)),  # whose elements are compiled in
        (lambda x: x[0] + x[1], [np.ones(3), np.ones(3)]),
    ],
)
def test_functions_that_see_arrays_or_are_given_lists_are_their_programs(function: Any, argument: Any) -> None:
    compiled = wl.jit(function)
    for _ in range(CALLS):
        compiled(argument)
    assert not is_run_by_python(compiled, argument)


def test_python_is_given_up_where_it_takes_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WINDLASS_TRIALS", "1")
    monkeypatch.setattr(outrunning, "LEAST_GAIN", -1e9)
    monkeypatch.setattr(outrunning, "MOST_TIMES", 0.0)
    function, a, x = wl.jit(update), np.eye(3), np.ones(3)
    for _ in range(CALLS):
        function(a, x, 2)
    assert not is_run_by_python(function, a, x, 2)
    assert x.tolist() == [2.0**CALLS, 2.0**CALLS, 1.0]
