"""`reduce`, `accumulate`, `reduceat`, `outer` and `at` of every ufunc that has them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from tests.frontends.arrays.running import whole
from tests.frontends.arrays.special_values import assert_same

BINARY = sorted(
    {each for each in vars(np).values() if isinstance(each, np.ufunc) and (each.nin, each.nout) == (2, 1)
     and each.signature is None},
    key=lambda each: each.__name__,
)  # fmt: skip
UNARY = (np.negative, np.invert, np.square, np.absolute)
X = np.array([[3, 1, 4], [1, 5, 9], [2, 6, 5], [3, 5, 8]])
INDICES = np.array([0, 2, 1, 3])
REORDERABLE = frozenset({"add", "multiply", "bitwise_and", "bitwise_or", "bitwise_xor", "logical_and", "logical_or",
                         "logical_xor", "maximum", "minimum", "fmax", "fmin"})  # fmt: skip


def folds(ufunc: np.ufunc, a: Any, i: Any) -> list[Any]:
    found = [ufunc.reduce(a), ufunc.reduce(a, axis=1), ufunc.reduce(a, axis=-1, keepdims=True), ufunc.accumulate(a, 1),
             ufunc.reduceat(a, i), ufunc.reduceat(a, [0, 2], axis=1), ufunc.outer(a[0], a[1])]  # fmt: skip
    if ufunc.__name__ in REORDERABLE:
        found += [ufunc.reduce(a, axis=None), ufunc.reduce(a, axis=(0, 1), keepdims=True)]
        found += [ufunc.reduce(a, axis=0, where=a > 2, initial=1), ufunc.reduce(a, initial=3)]
    return found


def updates(ufunc: np.ufunc, a: Any, i: Any) -> Any:
    a = a.copy()
    if ufunc.nin == 1:
        ufunc.at(a, i)
    else:
        ufunc.at(a, (i, 1), 2)
        ufunc.at(a, i, a[0] * 1)
        ufunc.at(a[:, 0], [1, 1, 1], [2, 3, 1])
    return a


def _kind(ufunc: np.ufunc, x: Any) -> str:
    try:
        with np.errstate(all="ignore"):
            return str(ufunc(x, *[x] * (ufunc.nin - 1)).dtype.kind)
    except TypeError:
        return ""


def check_methods(ufuncs: Sequence[np.ufunc], code: str) -> None:
    x = X.astype(code) if code != "?" else X % 2 == 0
    kept: list[tuple[Any, np.ufunc, Any]] = []
    for method in (folds, updates):
        for ufunc in ufuncs:
            if method is updates and _kind(ufunc, x) == "f" and code != "d":
                continue  # NumPy converts NaN and infinities to integers
            try:
                with np.errstate(all="ignore"):
                    kept.append((method, ufunc, method(ufunc, x, INDICES)))
            except (TypeError, ValueError):
                continue
    found = whole(lambda a, i: [method(ufunc, a, i) for method, ufunc, _ in kept])(x.copy(), INDICES)
    assert len(kept) > len(ufuncs)
    for (method, ufunc, expected), result in zip(kept, found, strict=True):
        assert_same(result, expected, f"{ufunc.__name__}, {method.__name__}", 16, False)


def test_methods_of_ufuncs_give_what_numpys_give() -> None:
    check_methods((np.add, np.subtract, np.bitwise_xor, np.invert), "q")
    check_methods((np.multiply, np.true_divide, np.fmax), "d")


@pytest.mark.slow
@pytest.mark.parametrize("code", ["q", "d", "?"])
def test_methods_of_every_ufunc_give_what_numpys_give(code: str) -> None:
    check_methods([*BINARY, *UNARY], code)


def test_methods_of_empty_arrays_give_identities() -> None:
    def function(a: Any) -> Any:
        return (np.add.reduce(a), np.multiply.reduce(a, axis=0), np.bitwise_or.reduce(a), np.logical_xor.reduce(a),
                np.gcd.reduce(a), np.add.accumulate(a), np.maximum.reduce(a, initial=4), np.hypot.reduce(a * 1.0),
                np.bitwise_and.accumulate(a))  # fmt: skip

    empty = np.zeros((0, 3), np.int64)
    assert_same(whole(function)(empty), function(empty))
    with pytest.raises(ValueError, match="zero-size array to reduction operation fmax which has no identity"):
        whole(lambda a: np.fmax.reduce(a, axis=0))(empty)


def test_types_of_folds_are_numpys() -> None:
    def function(a: Any, b: Any) -> Any:
        return (np.add.reduce(a), np.multiply.accumulate(a), np.add.reduce(b), np.add.reduceat(a, [0, 1]),
                np.add.reduce(a, dtype=np.float32), np.add.accumulate(b, dtype=np.int16), np.logical_or.reduce(a),
                np.subtract.reduce(a), np.maximum.reduce(a), np.bitwise_xor.reduce(a))  # fmt: skip

    given = np.array([1, 2, 100, 100], np.int8), np.array([True, True, False])
    assert_same(whole(function)(*given), function(*given))


def test_updates_are_computed_in_the_types_of_ufuncs() -> None:
    def function(a: Any, b: Any, c: Any) -> Any:
        np.true_divide.at(a, [0, 0, 1], 2)
        np.add.at(a, [2, 2], 1.5)
        np.maximum.at(b, [0, 1], np.array([300, 5]))
        np.add.at(b, [2], np.array([300]))
        np.add.at(c, [0, 0], np.array([1e-8, 1.0]))
        return a, b, c

    given = np.array([9, 5, 1]), np.arange(3, dtype=np.uint8), np.ones(2, np.float32)
    assert_same(whole(function)(*map(np.copy, given)), function(*map(np.copy, given)))
