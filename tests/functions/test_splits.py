"""Functions that can't be one program are split: they do what Python does, with programs between."""

# pyright: basic
from __future__ import annotations

import contextlib
import copy
import dataclasses
import io
import traceback
from typing import Any

import jax
import numpy as np
import pytest

import windlass as wl
from tests.functions import split_functions
from tests.functions.split_functions import CASES, X
from windlass.functions import resting, splits

RTOL = 1e-9


def assert_alike(found, wanted, where=""):
    """Both are of one type, hold alike numbers, and are made alike."""
    assert type(found) is type(wanted), (where, found, wanted)
    if isinstance(wanted, np.ndarray):
        assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape), where
        if wanted.dtype.kind in "fc":
            np.testing.assert_allclose(found, wanted, rtol=RTOL, atol=1e-12, err_msg=where)
        else:
            np.testing.assert_array_equal(found, wanted, err_msg=where)
    elif isinstance(wanted, list | tuple):
        assert len(found) == len(wanted), where
        for number, (one, other) in enumerate(zip(found, wanted, strict=True)):
            assert_alike(one, other, f"{where}[{number}]")
    elif isinstance(wanted, dict):
        assert list(found) == list(wanted), where
        for key, value in wanted.items():
            assert_alike(found[key], value, f"{where}[{key!r}]")
    elif dataclasses.is_dataclass(wanted):
        assert_alike(vars(found), vars(wanted), where)
    elif isinstance(wanted, np.random.Generator):
        assert found.bit_generator.state == wanted.bit_generator.state, where
    elif isinstance(wanted, float | np.floating):
        np.testing.assert_allclose(found, wanted, rtol=RTOL, err_msg=where)
    else:
        assert found == wanted, (where, found, wanted)


def outcome_of(function, arguments):
    """What a call gives or raises, and the line that raises it; what it prints; what it leaves in its arguments."""
    split_functions.COUNT = 0
    split_functions.SEEN.clear()
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        try:
            result = function(*arguments)
        except Exception as error:
            lines = [
                each.lineno for each in traceback.extract_tb(error.__traceback__) if "split_functions" in each.filename
            ]
            result = type(error).__name__, str(error), lines[:1]
    return result, printed.getvalue(), list(arguments), split_functions.COUNT, list(split_functions.SEEN)


def names_of_one_memory(value):
    """Which of the arrays in a value share memory."""
    arrays = [each for each in jax.tree.leaves(value) if isinstance(each, np.ndarray)]
    return [np.shares_memory(one, other) for one in arrays for other in arrays]


@pytest.mark.one_in(8)
@pytest.mark.parametrize(("function", "arguments"), CASES, ids=[function.__name__ for function, _ in CASES])
def test_split_functions_do_what_python_does(function, arguments):
    do_what_python_does(function, arguments, 3)


@pytest.mark.one_in(16)
@pytest.mark.parametrize(("function", "arguments"), CASES, ids=[function.__name__ for function, _ in CASES])
def test_split_functions_do_what_python_does_when_loops_rest(function, arguments, monkeypatch):
    monkeypatch.setenv("WINDLASS_TRIALS", "1")
    monkeypatch.setattr(resting, "QUIET", 1)
    monkeypatch.setattr(resting, "FIRST_REST", 1)
    do_what_python_does(function, arguments, 9)


def do_what_python_does(function, arguments, calls):
    compiled = wl.jit(function)
    for _ in range(calls):
        given, plain = copy.deepcopy(arguments), copy.deepcopy(arguments)
        found, wanted = outcome_of(compiled, given), outcome_of(function, plain)
        assert_alike(found, wanted, function.__name__)
        assert names_of_one_memory((found[0], found[2])) == names_of_one_memory((wanted[0], wanted[2]))


def test_statements_around_one_of_pythons_are_programs():
    def function(x):
        y = x * 2 + 1
        y[0] = 3.0
        u = np.unique(y)
        z = u * 3 + y.sum()
        return z - 1

    compiled = wl.jit(function)
    assert compiled(X.copy()).tolist() == function(X.copy()).tolist()
    explained = compiled.explain(X)
    (split,) = explained.splits
    assert (split.position.source_line() or "").strip() == "u = np.unique(y)"
    assert "WL0904" in split.reason and split.count == 1
    assert explained.programs == 2
    assert "u = np.unique(y)" in str(explained)


def test_programs_are_made_once_for_each_shape():
    def function(x):
        for _ in range(5):
            x = np.sin(x) * 2
            print(end="")
        return x

    compiled = wl.jit(function)
    for size in (3, 3, 4, 3):
        compiled(np.ones(size))
    assert compiled.explain(np.ones(3)).programs == 1
    assert compiled.explain(np.ones(3)).program_runs == 14
    assert compiled.explain(np.ones(4)).program_runs == 4


def test_whole_functions_are_one_program():
    compiled = wl.jit(lambda x: x * 2)
    compiled(X)
    assert compiled.explain(X).is_whole and str(compiled.explain(X)) == "<lambda> is one program"


def spread(x):
    y = np.sin(x) * 2
    u = np.trim_zeros(y)
    return (u - u.mean()).sum()


@pytest.mark.parametrize("way", [wl.jit(whole=True)(spread), wl.grad(wl.jit(spread)), jax.jit(wl.jit(spread))])
def test_one_program_is_refused_with_line_and_reason(way):
    with pytest.raises(wl.WindlassError, match=r"(?s)WL0904.*numpy.trim_zeros.*u = np.trim_zeros\(y\)"):
        way(X)


def test_a_function_that_nobody_can_read_is_pythons():
    scope: dict[str, Any] = {"np": np}
    exec("def function(x):\n    u = np.unique(x)\n    return u * 2\n", scope)
    assert wl.jit(scope["function"])(X).tolist() == scope["function"](X).tolist()


def test_within_a_split_function_others_are_compiled():
    @wl.jit
    def inner(x):
        return np.sin(x) * 2

    @wl.jit
    def outer(x):
        u = np.unique(x)
        return inner(u) + 1

    np.testing.assert_allclose(outer(X), np.sin(np.unique(X)) * 2 + 1)


def test_shapes_that_do_not_last_are_left_to_python(monkeypatch):
    """A program is made where Python has taken as long as that: not for each of many shapes met a second time."""
    monkeypatch.setenv("WINDLASS_TRIALS", "1")

    def function(x):
        while x.size > 1:
            x = np.sin(x) * 2
            print(end="")
            x = x[1:]
        return x

    compiled, x = wl.jit(function), np.linspace(0, 1, 30)
    for _ in range(3):
        np.testing.assert_allclose(compiled(x), function(x))
    assert compiled.explain(x).programs < 20


def test_programs_that_python_outruns_are_left_to_it(monkeypatch):
    monkeypatch.setenv("WINDLASS_TRIALS", "1")

    def function(x):
        for _ in range(9):
            x = x + 1
            print(end="")
        return x

    compiled = wl.jit(function)
    for _ in range(3):
        np.testing.assert_array_equal(compiled(X), function(X))
    assert compiled.explain(X).program_runs < 26


def test_loops_without_programs_are_asked_ever_more_seldom(monkeypatch):
    monkeypatch.setenv("WINDLASS_TRIALS", "1")
    monkeypatch.setattr(splits, "LONGER", 0.0)  # nobody compares what takes so long with Python

    def function(x, rounds):
        stack = list(range(rounds))
        while stack:
            stack.pop()
        for _ in range(rounds):
            x = np.sin(x) * 2
            print(end="")
        return x

    compiled, large, rounds = wl.jit(function), np.ones(200_000), 6
    for _ in range(20):
        np.testing.assert_allclose(compiled(large, rounds), function(large, rounds))
    explained = compiled.explain(large, rounds)
    counts = {(each.position.source_line() or "").strip(): each.count for each in explained.splits}
    assert counts["stack.pop()"] == 4 * rounds  # when it is cut, twice, and once after 15 rests
    assert explained.program_runs == 20 * rounds - 1


def test_a_function_without_programs_is_pythons_for_arguments_of_such_shapes(monkeypatch):
    monkeypatch.setenv("WINDLASS_TRIALS", "1")

    def function(x):
        if x.size < 4:
            print(end="")
            return x
        print(end="")
        return np.sin(x) * 2 + x

    compiled = wl.jit(function)
    for _ in range(9):
        assert compiled(np.ones(3)).tolist() == [1.0] * 3
    for _ in range(3):
        np.testing.assert_allclose(compiled(np.ones(100_000)), np.sin(1.0) * 2 + 1)
    assert compiled.explain(np.ones(100_000)).program_runs == 2
    (split,) = compiled.explain(np.ones(3)).splits
    assert split.count == 3


def test_programs_with_short_loops_that_python_outruns_are_left_to_it(monkeypatch):
    monkeypatch.setenv("WINDLASS_TRIALS", "1")

    def function(x):
        total = 0.0
        for _ in range(20):
            for _ in range(2):
                x = x + 1
            total += x[0]
            print(end="")
        return x, total

    compiled, x = wl.jit(function), np.ones(3)
    for _ in range(4):
        found, wanted = compiled(x), function(x)
        assert found[0].tolist() == wanted[0].tolist() and found[1] == wanted[1]
    assert compiled.explain(x).program_runs < 50


def test_longer_statements_are_compared_with_python_where_they_call_numpy_alone(monkeypatch):
    monkeypatch.setenv("WINDLASS_TRIALS", "1")
    monkeypatch.setattr(splits, "SHORT", 0.0)
    monkeypatch.setattr(splits, "LONGER", np.inf)
    compared = []
    monkeypatch.setattr(splits._Passage, "end", lambda passage: compared.append(passage.group.pieces[0].line))

    def function(x, rounds, other):
        for _ in range(rounds):
            y = np.sqrt(x) + 1
            print(end="")
            z = 2 * other(y)
            print(end="")
        return y, z

    x = np.arange(9.0)
    for found, wanted in zip(wl.jit(function)(x, 9, np.negative), function(x, 9, np.negative), strict=True):
        np.testing.assert_allclose(found, wanted)
    assert compared == [function.__code__.co_firstlineno + 2]
