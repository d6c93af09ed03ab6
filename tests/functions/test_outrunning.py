"""Functions that Python runs faster than their program: what is given is the same, whoever runs them."""

from __future__ import annotations

import math
from itertools import count
from typing import Any

import numpy as np
import pytest

import windlass as wl
from windlass.functions import outrunning
from windlass.functions.undoing import may_need_undoing

SCALE = 2.0
CALLS = outrunning.RUNS_BEFORE + 5
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


def is_undone(function: Any, *arguments: Any) -> bool:
    """Whether copies are made of what Python writes."""
    seen = outrunning._seen_by(function)  # pyright: ignore[reportPrivateUsage]
    assert seen is not None
    return may_need_undoing(seen.codes, [(name, value) for _, name, value in seen.names], arguments)


def race_of(function: Any, *arguments: Any) -> Any:
    return function._find(arguments, {})[0].race


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


def scaled(x: Any, y: Any) -> None:
    for i in range(len(y)):
        x[i] *= SCALE * y[i].sum()


def calls_scaled(x: Any, y: Any) -> None:
    scaled(x, y)
    np.sqrt(np.abs(x), out=x)


def factored(x: Any) -> None:
    x[:] = np.linalg.cholesky(x) + np.triu(x, k=1)


def chosen(x: Any) -> None:
    x[0] = 0
    if x[1] > 0:
        x[1] = 1 / int(x[1])


def factored_late(x: Any) -> None:
    x[0, 0] += 1
    x[:] = np.linalg.cholesky(x)


def factored_as_written(x: Any) -> None:
    x[:] = np.linalg.inv(np.add(x, x, x))


def factored_in_a_loop(x: Any) -> None:
    for _ in range(2):
        x[:] = np.linalg.inv(x)


def as_long_as_told(x: Any) -> None:
    x[0] = 0
    x[1:] = np.arange(x[1])


def greatest(x: Any) -> Any:
    x[0] = 0
    return max(x[1], 1)


def masked(x: Any, y: Any) -> None:
    x[0] = 0
    x[y > 0] = y


def square_root(x: Any, y: Any) -> None:
    x[0] = 0
    x[1] = math.sqrt(y[0])


def test_arrays_are_copied_only_where_python_might_fail_after_it_wrote_to_them() -> None:
    x, y = np.ones((3, 3)), np.ones(3)
    for function, arguments in (
        (scaled, (x, y)),
        (calls_scaled, (x, y)),
        (factored, (x,)),
        (scaled, (x, y, np.float32(1))),
    ):
        assert not is_undone(function, *arguments), function.__name__
    for function in (chosen, factored_late, factored_as_written, factored_in_a_loop, as_long_as_told, greatest):
        assert is_undone(function, x), function.__name__
    for function, arguments in (
        (masked, (x, y)), (square_root, (x, y)), (scaled, (x, 1.5)), (scaled, (x, y.astype(int))), (scaled, (x, y > 0)),
    ):  # fmt: skip
        assert is_undone(function, *arguments), function.__name__


@pytest.mark.usefixtures("python_wins")
def test_matrix_that_has_no_factor_is_left_to_the_program() -> None:
    function = wl.jit(factored)
    for _ in range(CALLS):
        function(np.eye(2))
    assert is_run_by_python(function, np.eye(2))
    x = np.array([[1.0, 2.0], [2.0, 1.0]])
    with pytest.raises(np.linalg.LinAlgError):
        function(x)
    assert x.tolist() == [[1.0, 2.0], [2.0, 1.0]]
    assert not is_run_by_python(function, np.eye(2))


@pytest.mark.usefixtures("python_wins")
def test_error_that_no_number_makes_is_raised_where_something_may_be_written(monkeypatch: pytest.MonkeyPatch) -> None:
    function = wl.jit(scaled)
    for _ in range(CALLS):
        function(np.ones(2), np.ones(2))

    def has_no_memory(*_: Any) -> None:
        raise MemoryError

    monkeypatch.setattr(race_of(function, np.ones(2), np.ones(2)), "_function", has_no_memory)
    with pytest.raises(MemoryError):
        function(np.ones(2), np.ones(2))


@pytest.mark.usefixtures("python_wins")
def test_calls_that_compile_are_not_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python would win against a compiler."""
    monkeypatch.setattr(outrunning, "number_made", count().__next__)
    function, a, x = wl.jit(update), np.eye(3), np.ones(3)
    for _ in range(CALLS):
        function(a, x, 2)
    assert not is_run_by_python(function, a, x, 2)
