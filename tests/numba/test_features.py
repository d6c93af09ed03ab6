# pyright: basic
"""What functions of Numba's users may do, with what Numba gives, stated here: it need not be installed."""

from __future__ import annotations

import cmath
import math
from collections import namedtuple
from typing import Any

import numpy as np
import pytest

from windlass import numba
from windlass.diagnostics import LaunchError
from windlass.numba import guvectorize, njit, prange, typed, types, vectorize

Point = namedtuple("Point", "x y")
RECORDS = np.dtype([("count", np.int32), ("weight", np.float64)])
PROGRAMS: dict[str, tuple[Any, tuple[Any, ...], Any]] = {}


def program(*arguments: Any, gives: Any):
    def add(function: Any):
        PROGRAMS[function.__name__] = function, arguments, gives
        return function

    return add


@program(7, -2, gives=(-4, -1, -3.5, 28, -8, 5, -7, 6))
def integers(a, b):
    return a // b, a % b, a / b, a << 2, ~a, a ^ 2, -a, a & -b | 4


@program(-7, 2.5, gives=(-3.0, 0.5, -17.5, 49, 7, 2, -7.0))
def mixed(a, b):
    return a // b, a % b, a * b, a**2, abs(a), int(b), float(a)


@program(np.int64(2**62), gives=(0, -(2**63), 2**63 - 1))
def wrapped(a):
    return a * 4, a + a, -a * 2 - 1


@program(np.uint8(200), gives=(400, -200, -1, 144, 55))
def bytes_(a):
    return a + a, -np.int64(a), a - 201, np.uint8(a + a), np.uint8(~a)


@program(np.float32(1.5), np.int32(3), gives=(4.5, 2.5, 3.0, 1.5, 2.25))
def singles(a, b):
    return a * b, a + 1, a * 2.0, b / 2, a**2


@program(np.array([1, 2, 3, 4], np.int8), gives=(4, 4, [2, 3], [4, 3, 2, 1]))
def from_the_end(x):
    return x[-1], x[-2] + x[0], x[1:-1], x[::-1]


@program(2.5, gives=(2, 2.5, -2, 3, 2, 2.0))
def rounded(x):
    return round(x), round(x, 1), int(-x), math.ceil(x), math.floor(x), np.rint(x)


@program(1 + 2j, gives=(1.0, 2.0, math.sqrt(5), -3 + 4j, -0.5 + 1.5j, 1 - 2j, -3 + 4j, cmath.exp(1 + 2j)))
def complex_numbers(z):
    return z.real, z.imag, abs(z), z * z, z / (1 - 1j), z.conjugate(), z**2, cmath.exp(z)


@program(5, gives=(15, 3, (2.0, 10)))
def tuples(n):
    t = (n, 2.0, n * 2)
    a, _, c = t
    return a + c, len(t), t[1:]


@program(Point(1.0, 2.0), gives=(3.0, Point(2.0, 1.0)))
def named_tuples(p):
    return p.x + p.y, Point(p.y, p.x)


@program(4, gives=(21, 4, [7, 1, 4, 9]))
def lists(n):
    found = []
    for i in range(n):
        found.append(i * i)
    found[0] = 7
    total = 0
    for value in found:
        total += value
    return total, len(found), found


@program(4, gives=(12, 6, 0))
def comprehensions(n):
    found = [i * 2 for i in range(n)]
    return sum(found), max(found), min(found)


@program(3, gives=(7.5, True, 3))
def dictionaries(n):
    found = {}
    for i in range(n):
        found[i] = i * 1.5
    total = 0.0
    for key, value in found.items():
        total += key * value
    return total, 2 in found, len(found)


@program(np.array([3, 1, 3, 2]), gives=3)
def sets(x):
    seen = set()
    for value in x:
        seen.add(value)
    return len(seen)


@program("hello", 2, gives=(5, "HELLO", "hello!", True, "e", "hellohello2"))
def texts(s, n):
    return len(s), s.upper(), s + "!", s == "hello", s[1], s * n + str(n)


@program(None, gives=-1)
def nothing(x):
    if x is None:
        return -1
    return x


@program(np.arange(6).reshape(2, 3), gives=(14, 17))
def enumerated(x):
    first = second = 0
    for i, row in enumerate(x):
        for j, value in enumerate(row):
            first += i * j * value
    for index, value in np.ndenumerate(x):
        second += index[0] * value + index[1] - 1 + x[index] * 0
    return first, second + 5


@program(np.arange(6.0), gives=(20.0, 15.0))
def zipped(x):
    total, flat = 0.0, 0.0
    for a, b in zip(x, x[::-1], strict=True):
        total += a * b
    for value in x.reshape(2, 3).flat:
        flat += value
    return total, flat


@program(5, gives=61)
def functions_within(n):
    def square(v):
        return v * v

    shifted = lambda v: v + n  # noqa: E731
    return square(n) + square(n + 1) + shifted(-n)


@program(np.arange(10), gives=18)
def broken_off(x):
    total = 0
    for i in range(len(x)):
        if x[i] == 3:
            continue
        if x[i] > 6:
            break
        total += x[i]
    else:
        total = -1
    return total


@program(np.arange(10.0), gives=(45.0, -1.0, 9.0, 10, 0.0))
def reductions(x):
    total, product, most, count, least = 0.0, -1.0, -np.inf, 0, x[0]
    for i in prange(x.size):
        total += x[i]
        product *= 1 + x[i] * 0
        most = max(most, x[i])
        least = min(least, x[i])
        count += 1
    return total, product, most, count, least


@program(np.arange(100), gives=[10] * 10)
def a_race_gives_what_one_round_after_another_gives(x):
    counts = np.zeros(10, np.int64)
    for i in prange(x.size):
        counts[x[i] % 10] += 1
    return counts


@program(np.arange(4), gives=[6.0] * 3)
def array_reduction(x):
    total = np.zeros(3)
    for i in prange(x.size):
        total += x[i] * np.ones(3)
    return total


@program(np.arange(3.0), gives=[0.0, 2.0, 4.0])
def masked(x):
    return (2 * x)[x >= 0]


@program(0, gives=(0.0, 0))
def empty(n):
    x = np.zeros(n)
    total = 0.0
    for value in x:
        total += value
    return total, x.size


@program(np.array([(1, 2.5), (3, 4.5)], RECORDS), gives=(16.0, 7.0))
def records(r):
    total = 0.0
    for i in range(r.shape[0]):
        total += r[i].count * r[i].weight
    return total, r["weight"].sum()


@program(np.array([4.0, 1.0]), gives=(2.0, [1.0, 2.0], [0.0, 1.0], [2.0, 3.0, 1.0], 5))
def library(x):
    return np.sqrt(x[0]), np.sort(np.sqrt(x)), np.linspace(0, 1, 2), np.roll(np.array([1.0, 2.0, 3.0]), -1), np.argmax(
        np.array([1, 2, 3, 4, 5, 9, 6])
    )  # fmt: skip


@program(np.array([[4.0, 1.0], [2.0, 3.0]]), gives=(10.0, [[18.0, 7.0], [14.0, 11.0]], [[0.3, -0.1], [-0.2, 0.4]]))
def matrices(a):
    return np.linalg.det(a), a @ a, np.linalg.inv(a)


@program((1, 2.5), gives=3.5)
def tuples_in_turn(t):
    total = 0.0
    for value in numba.literal_unroll(t):
        total += numba.literally(value)
    return total


@program(np.zeros((2, 2)), gives=[[0.0, 0.0], [1.0, 1.0]])
def places(x):
    for index in numba.pndindex(x.shape):
        x[index] = index[0]
    return x


@program(12, gives=144)
def recursive(n):
    return fibonacci(n)


@njit
def fibonacci(n):
    if n < 2:
        return n
    return fibonacci(n - 1) + fibonacci(n - 2)


@program(1.0, 0.0, gives=ZeroDivisionError)
def quotient(a, b):
    return a / b


@program(3, 0, gives=ZeroDivisionError)
def remainder(a, b):
    return a % b


@program(np.array([1.0, 0.0]), gives=ZeroDivisionError)
def sum_of_quotients(x):
    total = 0.0
    for i in range(x.size):
        total += 1 / x[i]
    return total


@program(np.array([1.0, 0.0]), gives=([1.0, np.inf], [np.inf, np.nan]))
def arrays_by_zero(x):
    return 1.0 / x, x / 0.0


@program(np.arange(3.0), 7, gives=IndexError)
def beyond(x, i):
    return x[i]


@program(-3, gives=ValueError)
def raising(n):
    if n < 0:
        raise ValueError("negative")
    return n


@program(-3, gives=AssertionError)
def asserting(n):
    assert n > 0
    return n


@program(3, gives=2)
def caught(n):
    try:
        if n > 2:
            raise ValueError("large")
        return 1
    except Exception:
        return 2


def expect_value(found: Any, wanted: Any) -> None:
    if isinstance(wanted, tuple):
        assert type(found) is type(wanted) and len(found) == len(wanted)
        for one, other in zip(found, wanted, strict=True):
            expect_value(one, other)
    elif isinstance(wanted, list):
        assert type(found) in (list, np.ndarray)
        np.testing.assert_allclose(found, wanted)
    else:
        assert type(found) is type(wanted), (found, wanted)
        assert found == pytest.approx(wanted, rel=1e-12) if not isinstance(wanted, str) else found == wanted


@pytest.mark.one_in(5)
@pytest.mark.parametrize("name", PROGRAMS)
def test_functions_give_what_numba_s_do(name: str):
    function, arguments, wanted = PROGRAMS[name]
    if isinstance(wanted, type):
        with pytest.raises(wanted):
            njit(function)(*arguments)
    else:
        expect_value(njit(function)(*arguments), wanted)


def test_numbers_are_divided_by_zero_as_the_error_model_says():
    assert njit(error_model="numpy")(quotient)(1.0, 0.0) == math.inf
    with pytest.raises(ZeroDivisionError, match="division by zero"):
        njit(quotient)(1.0, 0.0)
    assert vectorize(["float64(float64, float64)"])(quotient)(1.0, 0.0) == math.inf


def test_signatures_name_tuples_texts_and_arrays():
    pair = njit(types.Tuple((types.int64, types.float64))(types.int64))(lambda a: (a, a * 1.5))
    assert pair(2) == (2, 3.0)
    assert njit(types.UniTuple(types.int64, 2)(types.int64))(lambda a: (a, a + 1))(2) == (2, 3)
    assert njit(types.int64(types.unicode_type))(lambda s: len(s) + 1)("four") == 5
    assert njit("int32(int32, int32)")(lambda a, b: a + b)(2**31 - 1, 1) == -(2**31)
    with pytest.raises(LaunchError, match=r"no signature takes float64\[:, :\]"):
        njit("float64(float64[:])")(lambda a: a.sum())(np.ones((2, 2)))


def test_lists_and_dictionaries_of_one_type_are_python_s():
    values, table = typed.List(), typed.Dict.empty(types.unicode_type, types.float64)
    values.append(1.0)
    table["a"] = 1.5

    @njit
    def extend(values, table):
        values.append(table["a"] + values[0])
        table["b"] = values[1]
        return typed.List.empty_list(types.int64)

    assert extend(values, table) == []
    assert list(values) == [1.0, 2.5] and table == {"a": 1.5, "b": 2.5}


def test_vectorized_functions_tell_their_types():
    both = vectorize(["int32(int32, int32)", "float64(float64, float64)"], target="parallel")(lambda a, b: a + b)
    assert (both.types, both.ntypes, both.nin, both.nout) == (["ii->i", "dd->d"], 2, 2, 1)


def test_functions_of_inner_arrays_write_what_they_are_given_without_signatures():
    @guvectorize("(n),()->(),(n)")
    def summed(x, scale, total, scaled):
        total[0] = 0
        for i in range(x.shape[0]):
            scaled[i] = x[i] * scale
            total[0] += scaled[i]

    totals, scaled = np.zeros(2), np.zeros((2, 3))
    summed(np.arange(6.0).reshape(2, 3), np.array([1.0, 10.0]), totals, scaled)
    assert totals.tolist() == [3.0, 120.0] and scaled[1].tolist() == [30.0, 40.0, 50.0]
    with pytest.raises(TypeError, match="it takes 4 arrays, those of the results last"):
        summed(np.arange(3.0), 1.0)


def test_threads_are_told_and_not_set():
    assert numba.get_num_threads() >= 1
    with pytest.raises(LaunchError, match="WINDLASS_NUM_THREADS"):
        numba.set_num_threads(1)
