"""`and`, `or`, `not`, chains of comparisons, `a if b else c`, `max` and `min` of numbers that are not known yet."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import windlass as wl
from tests.frontends.arrays.running import assert_as_numpy, whole

X = np.array([0.5, -1.25, 3, 0, 2.5, 0.5, 7, -4])
K = np.array([5, 0, 3, 8, 1, 9, 3, 2], np.int32)


def inserts(a: Any) -> None:
    for i in range(1, len(a)):
        key, j = a[i], i - 1
        while j >= 0 and a[j] > key:
            a[j + 1] = a[j]
            j -= 1
        a[j + 1] = key


def stops_before_the_end(a: Any) -> Any:
    i = 0
    while i < len(a) and a[i] < 3:
        a[i] *= 2
        i += 1
    return i


def counts_those_between(a: Any, low: Any, high: Any) -> Any:
    count = 0
    for i in range(len(a)):
        if low <= a[i] < high != 3:
            count += 1
    return count


def asks_three_ways(a: Any) -> Any:
    found = 0
    for i in range(len(a)):
        if (a[i] < 0 or a[i] > 2) and not (a[i] == 7 or i == 4):
            found = found * 10 + i
    return found


def numbers_are_conditions(k: Any) -> Any:
    n = k[0]
    while n and k[n]:
        k[n] -= 1
        n = k[n] if k[n] < 8 else 0
    return n, not n, not k[0]


def gives_one_of_two(a: Any) -> Any:
    return a[0] and a[1], a[3] and a[1], a[0] or a[1], a[3] or a[1], a[3] or a[3] or a[2], a[3] and a[0] and a[9]


def chooses(a: Any) -> Any:
    x = a[0] if a[1] > 0 else a[2] if a[3] == 0 else a[4]
    a[0 if a[1] > 0 else 1] = 9
    return x, (1.5 if a[0] > 0 else 2.5), -1 if a[0] < 0 else 1


def chooses_arrays(a: Any) -> Any:
    b = a[:4] if a[0] > a[1] else a[4:]
    return b * 2


def looks_only_where_asked(a: Any, k: Any) -> Any:
    total = 0.0
    for i in range(len(k)):
        total += a[k[i]] if k[i] < len(a) else -1.0
    return total, k[5] < len(a) and a[k[5]] > 0


def changes_on_the_way(a: Any) -> Any:
    def put(place: int) -> Any:
        a[place] += 10
        return a[place] > 0

    yes = put(1) and put(3)
    no = (put(7) and put(7)) or put(0)
    return yes, no


def known_before_unknown(a: Any, b: Any) -> Any:
    if b is not None and b[0] > 0:
        a += 1
    if b is None or a[0] > 0:
        a += 2
    return 5 and a[0], 0 or a[0], () or a[0]


def within_comprehensions(a: Any) -> Any:
    return [x if x > 0 else -x for x in a], sum(1 if 0 < x < 3 else 0 for x in a)


def extremes(a: Any, k: Any) -> Any:
    low = a[0]
    for i in range(1, len(a)):
        low = min(low, a[i])
    return low, max(a[0], a[1], a[2]), min([k[0], k[1]]), max(0.0, a[1]), max(1, 2), min(k[1:3].tolist() if 0 else [4])


def first_of_equals(a: Any) -> Any:
    a[0], a[1] = 0.0, -0.0
    return np.signbit(max(a[0], a[1])), np.signbit(max(a[1], a[0])), np.signbit(min(a[1], a[0]))


def nans(a: Any) -> Any:
    a[0] = np.nan
    return max(a[0], a[1]), max(a[1], a[0]), min(a[0], a[1]), a[0] < 1 or a[1] < 1, not a[0], 0 < a[0] < 1


CASES: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    (inserts, (X,)),
    (inserts, (K,)),
    (inserts, (X[::-2].copy(),)),
    (stops_before_the_end, (X,)),
    (stops_before_the_end, (np.zeros(5),)),
    (counts_those_between, (X, 0.5, 3.0)),
    (counts_those_between, (X, -9, 9)),
    (asks_three_ways, (X,)),
    (numbers_are_conditions, (K,)),
    (gives_one_of_two, (X,)),
    (chooses, (X,)),
    (chooses, (-X,)),
    (chooses_arrays, (X,)),
    (chooses_arrays, (-X,)),
    (looks_only_where_asked, (X, K)),
    (changes_on_the_way, (X,)),
    (known_before_unknown, (X, X + 1)),
    (known_before_unknown, (X, None)),
    (within_comprehensions, (X,)),
    (extremes, (X, K)),
    (first_of_equals, (X,)),
    (nans, (X,)),
]


@pytest.mark.one_in(5)
@pytest.mark.parametrize(("function", "arguments"), CASES, ids=[each.__name__ for each, _ in CASES])
def test_conditions_are_what_python_makes_of_them(function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    assert_as_numpy(function, *arguments)


def test_what_is_not_asked_for_is_no_error() -> None:
    def function(x: Any, i: Any) -> Any:
        return x[i] if i < len(x) else 0.0

    assert whole(function)(X.copy(), 6) == 7
    assert whole(function)(X.copy(), 60) == 0

    def asked(x: Any, i: Any) -> Any:
        return i >= 0 and x[i] > 0

    with pytest.raises(wl.WindlassError, match="WL0913"):
        whole(asked)(X.copy(), 60)
    assert not whole(asked)(X.copy(), -60)


def test_truth_of_many_elements_is_ambiguous_as_in_numpy() -> None:
    def function(x: Any) -> Any:
        return 0 < x < 1

    with pytest.raises(ValueError, match="ambiguous"):
        whole(function)(X.copy())


def a_number_or_an_array(x: Any, y: Any) -> Any:
    if x.sum() > 0:
        r = 7
    else:
        r = y * 2
    return r


def a_count_or_a_fraction(x: Any, n: Any) -> Any:
    r = n
    if x.sum() > 0:
        r = 0.5
    return r


def integers_or_halves(x: Any, y: Any) -> Any:
    if x.sum() < 0:
        r = y.astype(np.int64)
    else:
        r = y * 0.5
    return r


def a_truth_or_a_number(x: Any, y: Any) -> Any:
    if x.sum() < 0:
        r = y[0] > 1
    else:
        r = y[1]
    return r


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize(
    ("function", "other"),
    [
        (a_number_or_an_array, np.arange(3.0)),
        (a_count_or_a_fraction, 2**53 + 1),
        (integers_or_halves, np.arange(3) + 2**53),
        (a_truth_or_a_number, np.arange(3)),
    ],
    ids=lambda case: getattr(case, "__name__", ""),
)
def test_values_of_two_ways_stay_what_they_are(function: Any, other: Any, sign: int) -> None:
    x = np.full(3, float(sign))
    found, wanted = wl.jit(function)(x, other), function(x, other)
    np.testing.assert_array_equal(found, wanted, strict=True)
    with pytest.raises(wl.WindlassError, match=r"'r' is .* on one way and .* on another"):
        wl.jit(whole=True)(function)(x, other)


def test_a_whole_number_may_be_a_float_on_another_way() -> None:
    @wl.jit(whole=True)
    def clipped(x: Any) -> Any:
        r = 0
        if x.sum() > 0:
            r = x.sum()
        return r + x

    np.testing.assert_array_equal(clipped(np.ones(3)), np.full(3, 4.0))
    np.testing.assert_array_equal(clipped(-np.ones(3)), np.full(3, -1.0))
