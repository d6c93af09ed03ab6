"""Names that loops and branches bind to one new array stay names of one array: a write through one is seen by all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import windlass as wl


def two_names_of_one(x: Any, n: Any) -> Any:
    a = b = x * 1.0
    for i in range(n):
        a = b = x * i
    a[0] = 100.0
    return a.sum() + b[0]


def a_name_for_the_round(u: Any, n: Any) -> Any:
    u = u * 1.0
    for _ in range(n):
        new = u * 2.0
        u[0] = 7.0
        new[1] += u[0]
        u = new
    u[2] = -1.0
    return u


def left_early(x: Any, n: Any) -> Any:
    a = x * 1.0
    b = a
    for i in range(n):
        if x[i] > 1.0:
            break
        a = b = x * i
    a[0] = 9.0
    return b


def bound_by_a_branch(x: Any, n: Any) -> Any:
    if n > 1:
        a = b = x * 2.0
    else:
        a = b = x * 3.0
    a[1] = 50.0
    return b


def a_number_on_one_way(x: Any, n: Any) -> Any:
    c = x * 2.0
    if n > 1:
        a, b = c, c
    else:
        a, b = 3.0, 5.0
    return a + 10.0 * b


@pytest.mark.parametrize("n", [0, 1, 3])
@pytest.mark.parametrize(
    "function", [two_names_of_one, a_name_for_the_round, left_early, bound_by_a_branch, a_number_on_one_way]
)
def test_writes_through_one_name_are_seen_through_the_other(function: Callable[..., Any], n: int) -> None:
    x = np.arange(5.0)
    np.testing.assert_array_equal(wl.jit(function)(x.copy(), np.int64(n)), function(x.copy(), np.int64(n)))


def one_array_after_a_round_only(x: Any, n: Any) -> Any:
    a, b = x * 1.0, x * 2.0
    for i in range(n):
        a = b = x * i
    a[1] = 7.0
    return b


def a_view_of_the_other(x: Any, n: Any) -> Any:
    a, b = x * 1.0, x[1:] * 1.0
    for i in range(n):
        a = x * i
        b = a[1:]
    b[0] = 7.0
    return a


def the_callers_array_if_no_round_ran(x: Any, n: Any) -> Any:
    for i in range(n):
        x = x * i
    x[0] = 7.0
    return x


@pytest.mark.parametrize(
    "function", [one_array_after_a_round_only, a_view_of_the_other, the_callers_array_if_no_round_ran]
)
def test_writes_are_refused_where_it_is_not_known_whether_names_share_memory(function: Callable[..., Any]) -> None:
    with pytest.raises(wl.WindlassError, match="it is not known which memory is written"):
        wl.jit(function)(np.arange(5.0), np.int64(2))


def test_arguments_that_are_surely_bound_anew_may_be_written() -> None:
    def scaled(x: Any) -> Any:
        for i in range(1, 300):
            x = x + i
        x[0] = 7.0
        return x

    x = np.arange(5.0)
    found = wl.jit(scaled)(x)
    np.testing.assert_array_equal(found, scaled(np.arange(5.0)))
    np.testing.assert_array_equal(x, np.arange(5.0))
