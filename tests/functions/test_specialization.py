"""Integers whose values a compiled function needs are compiled in by themselves, and no others."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import windlass as wl
from tests.frontends.arrays.running import assert_as_numpy
from windlass.functions.compiled_call import CompiledCall
from windlass.functions.specialization import MANY_VALUES

X = np.arange(12.0)


def makes_zeros(x: Any, n: Any) -> Any:
    return np.zeros(n) + x[0]


def slices(x: Any, n: Any) -> Any:
    return x[:n] * 2


def slices_from_a_sum(x: Any, n: Any) -> Any:
    return x[n + 1 : 2 * n + 3].sum(), x[n]


def reshapes(x: Any, n: Any) -> Any:
    return x.reshape(n, -1).sum(axis=0)


def sums_along(x: Any, n: Any) -> Any:
    return x.reshape(3, 4).sum(axis=n % 2)


def concatenates(x: Any, n: Any) -> Any:
    for _ in range(n):
        x = np.concatenate([x, x[:1]])
    return x


def indexes_a_list(x: Any, n: Any) -> Any:
    return x * [2.0, 3.0, 5.0, 7.0][n - 1]


def makes_one_of_two(x: Any, n: Any) -> Any:
    if n > 2:
        return np.ones(3)
    return x


def slices_in_a_loop(x: Any, n: Any) -> Any:
    for k in range(20):
        x[:n] += k
    return x


def repeats(x: Any, n: Any) -> Any:
    return np.repeat(x, n), np.tile(x, n), np.eye(n), np.linspace(0.0, 1.0, n), np.arange(n)


def slides(x: Any, n: Any) -> Any:
    return np.lib.stride_tricks.sliding_window_view(x, n).sum(axis=1)


@pytest.mark.parametrize(
    "function",
    [makes_zeros, slices, slices_from_a_sum, reshapes, sums_along, concatenates, indexes_a_list, makes_one_of_two,
     slices_in_a_loop, repeats, slides],
)  # fmt: skip
def test_integers_are_compiled_in_where_they_are_needed(function: Callable[..., Any]) -> None:
    for n in (2, 3):
        assert_as_numpy(function, X, n)


def _count_compilations(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    found: list[Any] = []
    make = CompiledCall.__init__

    def counted(self: Any, owner: Any, leaves: Any, structure: Any) -> None:
        make(self, owner, leaves, structure)
        found.append(structure)

    monkeypatch.setattr(CompiledCall, "__init__", counted)
    return found


def test_each_value_is_compiled_once_and_other_integers_stay_open(monkeypatch: pytest.MonkeyPatch) -> None:
    made = _count_compilations(monkeypatch)

    @wl.jit(whole=True)
    def function(x: Any, n: Any, rounds: Any) -> Any:
        s = 0.0
        for k in range(rounds):
            s = s + x[:n].sum() * k
        return s

    for n, rounds in ((2, 3), (2, 50), (3, 4), (2, 0), (3, 9)):
        assert function(X.copy(), n, rounds) == sum(X[:n].sum() * k for k in range(rounds))
    assert len(made) == 2


def test_functions_that_need_none_are_compiled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made = _count_compilations(monkeypatch)

    @wl.jit(whole=True)
    def function(x: Any, n: Any) -> Any:
        return x[n] * n

    assert [function(X.copy(), n) for n in range(4)] == [0, 1, 4, 9]
    assert len(made) == 1


def test_what_elements_decide_is_no_reason_to_compile_numbers_in() -> None:
    def function(x: Any, k: Any, n: Any) -> Any:
        return x[: k[0] + n]

    for n in (2, 1):
        found = wl.jit(whole=True)(function)(X.copy(), np.arange(3), n)
        np.testing.assert_array_equal(found, X[:n])


def test_errors_of_known_values_are_pythons() -> None:
    with pytest.raises(ValueError, match="cannot reshape array of size 12 into shape"):
        wl.jit(whole=True)(reshapes)(X.copy(), 5)


def test_many_values_are_told_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("windlass.functions.specialization.MANY_VALUES", 2)
    assert MANY_VALUES > 2
    function = wl.jit(whole=True)(slices)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for n in (1, 2, 1, 2):
            function(X.copy(), n)
        assert not caught
        for n in (3, 4):
            function(X.copy(), n)
    (warning,) = caught
    assert issubclass(warning.category, wl.WindlassWarning)
    assert "WL0921" in str(warning.message)
    assert warning.filename == __file__


def test_programs_are_shown_for_the_value() -> None:
    assert "tensor<5xf64>" in wl.jit(whole=True)(slices).lower(X.copy(), 5).text("tensor")
