"""Names that loops and branches bind to one new array stay names of one array: a write through one is seen by all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import windlass as wl
from tests.frontends.arrays.running import whole


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
    np.testing.assert_array_equal(whole(function)(x.copy(), np.int64(n)), function(x.copy(), np.int64(n)))


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


def a_name_from_before(x: Any, n: Any) -> Any:
    y = x * 1.0
    z = y
    for _ in range(n):
        y = y * 2.0
    y[0] = 9.0
    return y, z


def the_name_from_before_is_written(x: Any, n: Any) -> Any:
    y = x * 1.0
    z = y
    for _ in range(n):
        y = y * 2.0
    z[0] = 9.0
    return y


def a_view_from_before(x: Any, n: Any) -> Any:
    y = x * 1.0
    z = y[1:]
    while y[1] < n:
        y = y * 2.0
    y[1] = 9.0
    return z


def an_element_from_before(x: Any, n: Any) -> Any:
    held = {"y": (x * 1.0, 3)}
    y = held["y"][0]
    if n > 1:
        y = y * 2.0
    y[0] = 9.0
    return held["y"][0]


def an_attribute_from_before(x: Any, n: Any) -> Any:
    held = Held(x * 1.0)
    y = held.array
    for i in range(n):
        if x[i] > 0.5:
            y = y * 2.0
            break
    y[0] = 9.0
    return held.array


def a_cell_of_a_function(x: Any, n: Any) -> Any:
    z = x * 1.0
    y = z

    def first() -> Any:
        return z[0]

    for _ in range(n):
        y = y * 2.0
    y[0] = 9.0
    return first()


def one_of_a_list(x: Any, n: Any) -> Any:
    arrays = [x * 1.0, x * 2.0]
    y = arrays[0]
    for each in arrays:
        if n > 1:
            y = each
    y[0] = 9.0
    return arrays[0]


def the_name_of_the_round_before(x: Any, n: Any) -> Any:
    y, s = x * 1.0, 0.0
    for i in range(n):
        z = y
        if x[i] > 0.5:
            y = y + 1.0
        y[0] = 9.0
        s += z[0]
    return s


def handed_to_a_function(x: Any, n: Any) -> Any:
    z = x * 1.0
    _doubled_and_written(z, n)
    return z


def _doubled_and_written(y: Any, n: Any) -> Any:
    for _ in range(n):
        y = y * 2.0
    y[0] = 9.0
    return y


def two_that_may_be_one(x: Any, n: Any) -> Any:
    y = z = x * 1.0
    for _ in range(n):
        y = y * 2.0
    for _ in range(n - 1):
        z = z * 3.0
    y[0] = 9.0
    return z


class Held:
    def __init__(self, array: Any) -> None:
        self.array = array


@pytest.mark.parametrize(
    "function",
    [
        one_array_after_a_round_only,
        a_view_of_the_other,
        the_callers_array_if_no_round_ran,
        a_name_from_before,
        the_name_from_before_is_written,
        a_view_from_before,
        an_element_from_before,
        an_attribute_from_before,
        a_cell_of_a_function,
        one_of_a_list,
        the_name_of_the_round_before,
        handed_to_a_function,
        two_that_may_be_one,
    ],
)
def test_writes_are_refused_where_it_is_not_known_whether_names_share_memory(function: Callable[..., Any]) -> None:
    with pytest.raises(wl.WindlassError, match="it is not known which memory is written"):
        whole(function)(np.arange(5.0), np.int64(2))


def written_in_each_round(x: Any, n: Any) -> Any:
    y = x * 1.0
    for i in range(n):
        for _ in range(n):
            y = y * 0.5
        y[0] = i
        if y[1] > 0.3:
            y = y * 2.0
        y[1] = 3.0
    y[2] = 1.0
    return y


def nobody_reads_the_other(x: Any, n: Any) -> Any:
    y = x * 1.0
    z = y
    s = z.sum()
    for _ in range(n):
        y = y * 2.0
    y[0] = 9.0
    return y, s


def the_other_is_written_whole(x: Any, n: Any) -> Any:
    y = x * 1.0
    z = y
    for _ in range(n):
        y = y * 2.0
    s = y.sum()
    y[0] = 9.0
    z[...] = 4.0
    return z, s


def the_array_before_is_kept(x: Any, n: Any) -> Any:
    y, before = x * 1.0, x * 0.0
    for _ in range(n):
        before = y
        y = y * 2.0
    y[0] = 7.0
    before[1] = 8.0
    return y, before


def a_row_for_the_round(x: Any, n: Any) -> Any:
    u, s = x * np.ones((3, 1)), 0.0
    for i in range(n):
        u[0, 0] += 1.0
        row = u[i % 3]
        s += row.sum()
    return u, s


@pytest.mark.parametrize("n", [0, 1, 3])
@pytest.mark.parametrize(
    "function",
    [
        written_in_each_round,
        nobody_reads_the_other,
        the_other_is_written_whole,
        the_array_before_is_kept,
        a_row_for_the_round,
    ],
)
def test_writes_are_right_where_nobody_reads_what_may_be_the_same_array(function: Callable[..., Any], n: int) -> None:
    x = np.arange(5.0)
    found, wanted = whole(function)(x.copy(), np.int64(n)), function(x.copy(), np.int64(n))
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(one, other)


def test_kernels_do_not_write_what_may_be_the_callers_array() -> None:
    kernel = wl.cuda.compile("__global__ void mark(double *y) { y[threadIdx.x] = 9; }")["mark"]

    def function(x: Any, n: Any) -> Any:
        for _ in range(n):
            x = x * 2.0
        kernel[1, 2](x)
        return x

    with pytest.raises(wl.WindlassError, match="it is not known which memory is written"):
        whole(function)(np.arange(5.0), np.int64(2))


def test_arguments_that_are_surely_bound_anew_may_be_written() -> None:
    def scaled(x: Any) -> Any:
        for i in range(1, 300):
            x = x + i
        x[0] = 7.0
        return x

    x = np.arange(5.0)
    found = whole(scaled)(x)
    np.testing.assert_array_equal(found, scaled(np.arange(5.0)))
    np.testing.assert_array_equal(x, np.arange(5.0))
