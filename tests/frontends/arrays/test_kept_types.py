"""Names keep the types that Python gives them: where a loop or branch would change one, the function is split."""

# pyright: basic
from __future__ import annotations

import numpy as np
import pytest

import windlass as wl

X = np.array([3.0, -1.0, 4.0])


def integer_after_a_float(x, n):
    r = x[0]
    while True:
        r = n
        n += 1
        if n > 3:
            break
    return r


def float_after_an_integer(x, n):
    r = n
    for i in range(n):
        r = r + x[i]
    return r


def truth_after_a_float(x, n):
    r = x[0]
    for i in range(n):
        r = x[i] > 0
    return r


def wide_after_narrow(x, n):
    r = x.astype(np.float32)
    for _ in range(n):
        r = r * np.float64(0.1)
    return r


def wide_on_one_way(x, n):
    r = x.astype(np.float32)
    if n > 1:
        r = x * 0.1
    return r


def narrow_on_one_way(x, n):
    r = 0.1
    if n > 1:
        r = np.float32(0.25) * x.astype(np.float32)[0]
    return r


def array_after_a_number(x, n):
    r = 0.0
    for _ in range(n):
        r = r + x
    return r


def array_after_a_number_by_data(x, n):
    r = 0.0
    while x[0] > n:
        r = r + x
        n += 1
    return r


CHANGING = [
    integer_after_a_float, float_after_an_integer, truth_after_a_float, wide_after_narrow,
    wide_on_one_way, narrow_on_one_way, array_after_a_number, array_after_a_number_by_data,
]  # fmt: skip


@pytest.mark.parametrize("function", CHANGING, ids=[each.__name__ for each in CHANGING])
def test_names_whose_types_change_have_pythons(function):
    compiled = wl.jit(function)
    for n in (0, 2, 3):
        for number in (n, np.int64(n)):
            found, wanted = compiled(X.copy(), number), function(X.copy(), number)
            assert np.asarray(found).dtype == np.asarray(wanted).dtype
            np.testing.assert_allclose(found, wanted)


def sum_from_zero(x, n):
    s, rows = 0, 0
    for i in range(n):
        s += x[i]
    for _ in range(9):
        rows = rows + x
    return s * 1.0 + rows


def test_numbers_of_the_source_take_the_type_of_what_follows():
    np.testing.assert_array_equal(wl.jit(whole=True)(sum_from_zero)(X, 2), sum_from_zero(X, 2))
