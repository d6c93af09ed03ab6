"""Division, powers, shifts and comparisons give NumPy's values, where JAX gives others too."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import windlass as wl
from tests.frontends.arrays.running import whole
from tests.frontends.arrays.special_values import FLOATS, INTEGERS, assert_same, pairs, special_values

DIVISIONS = (
    operator.floordiv, operator.mod, divmod, np.floor_divide, np.remainder, np.mod, np.fmod, np.divmod,
)  # fmt: skip
FEW = tuple(map(np.dtype, ("b", "B", "q", "Q")))
COMPARISONS = (np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal)
MIXED = (("q", "Q"), ("Q", "q"), ("b", "B"), ("Q", "b"), ("f", "i"), ("e", "b"), ("?", "B"), ("i", "d"))


def compare_with_numpy(functions: Any, arguments: list[tuple[Any, ...]]) -> None:
    """Each function on each tuple of arguments, all of them as one program."""

    def together(*given: tuple[Any, ...]) -> Any:
        return [[function(*each) for each in given] for function in functions]

    with np.errstate(all="ignore"):
        wanted = together(*arguments)
    found = whole(together)(*arguments)
    for function, results, expectations in zip(functions, found, wanted, strict=True):
        for given, result, expected in zip(arguments, results, expectations, strict=True):
            assert_same(result, expected, f"{function.__name__} of {[each.dtype.name for each in given]}")


def test_division_is_numpys_for_zeros_extremes_and_signs() -> None:
    alike = [pairs(each, each) for each in (np.dtype("?"), *INTEGERS, *FLOATS)]
    compare_with_numpy(DIVISIONS, alike)


def test_division_is_numpys_for_two_dtypes() -> None:
    compare_with_numpy(DIVISIONS[:3], [pairs(np.dtype(first), np.dtype(second)) for first, second in MIXED])


def test_division_in_place_and_by_numbers_is_numpys() -> None:
    def divided_in_place(a: Any, b: Any) -> Any:
        first, second = a.copy(), a.copy()
        first //= b
        second %= b
        return first, second, 7 // a, a // 3, a % 3, divmod(7, a), a // 0, 5 % a

    same = [each[:-1] for each in map(special_values, (*FEW, *FLOATS))]
    compare_with_numpy([divided_in_place], [(each, each[::-1].copy()) for each in same])


def test_comparisons_are_exact() -> None:
    compare_with_numpy(COMPARISONS, [pairs(np.dtype(each), np.dtype(each)) for each in "?bBqQefF"])
    compare_with_numpy(COMPARISONS, [pairs(np.dtype(first), np.dtype(second)) for first, second in MIXED])


def test_comparisons_with_numbers_that_the_dtype_has_not_are_exact() -> None:
    def compared(a: Any) -> Any:
        return a < 300, a >= -200, a == 1 << 70, a != -(1 << 70), a > 128, a < 300, a == -1

    def compared_with_argument(a: Any, n: Any) -> Any:
        return a < n, n <= a, a == n

    arrays = [special_values(each) for each in INTEGERS]
    compare_with_numpy([compared], [(each,) for each in arrays])
    for number in (-1, 300, (1 << 63) - 1):
        for array in (arrays[1], arrays[7]):
            assert_same(whole(compared_with_argument)(array, number), compared_with_argument(array, number))


def test_powers_are_numpys() -> None:
    def powers(x: Any, y: Any) -> Any:
        return x**y, x**3, x**0, 2 ** (y % 8), np.power(x, 5)

    compare_with_numpy([powers], [(special_values(each)[:, None], abs(special_values(each) // 2)) for each in FEW])


@pytest.mark.parametrize(
    "function", [lambda a, b: a**b, lambda a, b: np.power(a, 3 * b), lambda a, b: a**-1, lambda a, b: 2**b]
)
def test_integers_to_negative_powers_are_refused_as_by_numpy(function: Callable[..., Any]) -> None:
    base, powers = np.arange(3), np.array([1, -1, 2])
    for call in (function, whole(function)):
        with pytest.raises(ValueError, match="Integers to negative integer powers are not allowed"):
            call(base, powers)
    with pytest.raises(wl.WindlassError, match=r"test_integer_arithmetic.py:\d+"):
        whole(function)(base, powers)


def test_shifts_and_signs_are_numpys() -> None:
    functions = (np.left_shift, np.right_shift, operator.lshift, operator.rshift)
    compare_with_numpy(functions, [pairs(each, each) for each in INTEGERS])

    def signs(a: Any) -> Any:
        return abs(a), -a, np.sign(a), ~a, np.positive(a)

    compare_with_numpy([signs], [(special_values(each),) for each in INTEGERS])
    assert_same(whole(lambda a: (~a, np.sign(a * 1), abs(a)))(np.array([True, False])), (
        np.array([False, True]), np.array([1, 0]), np.array([True, False])
    ))  # fmt: skip


def test_integers_that_a_dtype_has_not_are_refused_as_by_numpy() -> None:
    for function in (lambda a: a + 300, lambda a: a * -1, lambda a: 256 // a):
        for call in (function, whole(function)):
            with pytest.raises(Exception, match="out of bounds for uint8"):
                call(np.arange(3, dtype=np.uint8))
