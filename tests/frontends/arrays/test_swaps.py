"""Names that swap arrays in loops whose end only data tell: the arrays and the names are Python's afterwards."""

# pyright: basic

from __future__ import annotations

import numpy as np
import pytest

import windlass as wl
from tests.frontends.arrays.running import whole


def names_only(x, q):
    a, b = x * 1.0, x * 2.0
    i = 0
    while i < q[0]:
        a, b = b, a
        i += 1
    return a, b


def back_and_forth(x, q):
    a, b = x, x * 2.0
    held = b
    i = 0
    while i < q[0]:
        b[1:-1] = 0.5 * (a[2:] + a[:-2]) + i
        a, b = b, a
        i += 1
    return a.sum(), b.sum(), held


def three_that_rotate(x, q):
    a, b, c = x * 1.0, x * 2.0, x * 3.0
    u, v, w = a, b, c
    i = 0
    while i < q[0]:
        a[0] += i + 1
        a, b, c = b, c, a
        i += 1
    return u, v, w


def left_by_a_break(x, q):
    a, b = x * 1.0, x * 2.0
    u, v = a, b
    for i in range(50):
        b[1:-1] = 0.5 * (a[2:] + a[:-2])
        a, b = b, a
        if i >= q[0]:
            break
    return u, v, a


@pytest.mark.parametrize("function", [names_only, back_and_forth, three_that_rotate, left_by_a_break])
def test_arrays_are_pythons_after_any_number_of_rounds(function):
    compiled = whole(function)
    for n in range(4):
        x, given = np.arange(5.0), np.arange(5.0)
        wanted, found = function(x, np.array([n])), compiled(given, np.array([n]))
        np.testing.assert_array_equal(given, x)
        for one, other in zip(found, wanted, strict=True):
            np.testing.assert_array_equal(one, other)


def test_an_array_is_not_read_by_another_name_while_names_swap_it():
    def function(x, q):
        a, b = x * 1.0, x * 2.0
        z, s, i = a, 0.0, 0
        while i < q[0]:
            b[1:-1] = 0.5 * (a[2:] + a[:-2])
            a, b = b, a
            s += z[1]
            i += 1
        return s

    with pytest.raises(wl.WindlassError, match="it is not known which memory is written"):
        whole(function)(np.arange(5.0), np.array([2]))


def test_arrays_of_two_kinds_do_not_swap():
    def function(x, q):
        a, b = x * 1.0, x.astype(np.float32)
        i = 0
        while i < q[0]:
            a, b = b, a
            i += 1
        return a, b

    with pytest.raises(wl.WindlassError, match="arrays of several kinds, change places"):
        whole(function)(np.arange(5.0), np.array([2]))
