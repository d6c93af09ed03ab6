"""Indices of 8 and 16 bits, signed and not, reach every place that they name, in arrays longer than they can count."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import windlass as wl
from tests.frontends.arrays.running import whole
from tests.frontends.arrays.special_values import assert_same

LINE = np.arange(300.0)
ROWS = np.arange(600.0).reshape(300, 2)
COLUMNS = np.arange(600.0).reshape(2, 300)


def places(dtype: np.dtype) -> Any:
    """Places of an array of 300, of which the dtype has 127 or more."""
    others = [-1, -2, -128] if dtype.kind == "i" else [200, 255]
    return np.array([0, 1, 2, 1, 100, 127, *others, *([290] if dtype.itemsize > 1 else [])], dtype)


def reads(a: Any, rows: Any, columns: Any, i: Any) -> Any:
    return (
        a[i], rows[i], columns[:, i], a[i[4]], a[i[6]], rows[i[6], 1], a.flat[i], rows[i, i % 2],
        rows[np.ix_(i[:3], i[:2])], a[None, i], rows[(i[:3], i[:3] % 2)], a.take(i), np.take(columns, i, axis=1),
        np.take(a, i[6]),
        np.take_along_axis(a, i, 0), np.take_along_axis(columns, i[None], 1), np.take_along_axis(columns, i, None),
        np.take(a, i, mode="wrap"), np.take(a, i, mode="clip"), np.take(a[:20], i, mode="clip"),
        np.take(a[:20], i, mode="wrap"), a[np.searchsorted(a, i)], np.searchsorted(i[:3], i), i[np.argsort(i)],
    )  # fmt: skip


def writes(a: Any, rows: Any, columns: Any, i: Any) -> Any:
    a[i] = 7
    a[i[4]] = 8
    a[i[6]] += 3
    rows[i] += 1
    columns[:, i] = 5
    np.add.at(a, i, 2)
    np.multiply.at(a, i, 2)
    np.maximum.at(a, i, 9)
    np.put_along_axis(columns, i[None], 6, 1)
    np.put_along_axis(a, i, 4, None)
    return a, rows, columns


def joins(a: Any, rows: Any, columns: Any, i: Any) -> Any:
    part = i[:8]
    choices = [a[k : k + 8] * k for k in range(5)]
    which = (part % 3).astype(i.dtype)
    at = np.unravel_index(abs(i[:6]), (30, 10))
    return (
        np.choose(part, choices, mode="clip"), np.choose(part, choices, mode="wrap"), np.choose(which, choices[:3]),
        which.choose(choices[:3]), np.choose(which, np.stack(choices)), *at,
        np.unravel_index(abs(i[:6]), (30, 10), order="F")[0],
        np.ravel_multi_index((abs(i[:4]), abs(i[:4])), (300, 300)),
        np.ravel_multi_index((i, i), (300, 20), mode="clip"), np.ravel_multi_index((i, i), (300, 20), mode="wrap"),
        np.ravel_multi_index((i, i), (300, 20), mode=("wrap", "clip"), order="F"),
    )  # fmt: skip


def puts(a: Any, rows: Any, columns: Any, i: Any) -> Any:
    b, c = a.copy(), a[:20].copy()
    np.put(a, i, [1.0, 2, 3])
    np.put(b, i, 4, mode="clip")
    np.put(c, i[:4], rows[:1, 0], mode="wrap")
    np.place(rows, rows > 50, [1.0, 2, 3])
    return a, b, c, rows


@pytest.mark.one_in(2)
@pytest.mark.parametrize("function", [reads, writes, joins, puts])
def test_every_index_type_reaches_its_places(function: Callable[..., Any]) -> None:
    kinds = [np.dtype(each) for each in ("bBHQ" if function in (reads, writes) else "bBH")]  # NumPy's others refuse Q

    def together(a: Any, rows: Any, columns: Any, *indices: Any) -> Any:
        return [function(a.copy(), rows.copy(), columns.copy(), each) for each in indices]

    given = [places(each) for each in kinds]
    wanted = together(LINE, ROWS, COLUMNS, *given)
    found = whole(together)(LINE, ROWS, COLUMNS, *given)
    for kind, result, expected in zip(kinds, found, wanted, strict=True):
        assert_same(result, expected, f"{function.__name__} at {kind.name}")


def test_indices_that_are_known_may_be_narrow() -> None:
    def function(a: Any, rows: Any, x: Any) -> Any:
        narrow = np.array([-1, -2, 100], np.int8)
        found = (
            a[narrow],
            a[np.int8(-3)],
            a[np.array([200, 255], np.uint8)],
            np.repeat(a[:3], np.array([2, 0, 1], np.int8)),
        )
        a[narrow] = x
        np.add.at(a, narrow, 2)
        return *found, np.compress([False, True], rows, axis=1), np.extract(np.arange(4) > 1, a[:4]), a

    assert_same(whole(function)(LINE.copy(), ROWS, 3.0), function(LINE.copy(), ROWS, 3.0))


def test_insertion_and_deletion_at_traced_places() -> None:
    def function(a: Any, columns: Any, i: Any, j: Any) -> Any:
        return (
            np.insert(a, i, 5), np.insert(columns, i, a[:2], axis=1), np.insert(a, j, a[:3]), np.delete(a, i),
            np.delete(columns, i, axis=1), np.delete(a, slice(2, 9, 3)), np.delete(a, [1, -1]),
            np.insert(a, [0, 300], 1),
        )  # fmt: skip

    for place in (2, -3, 299):
        given = LINE, COLUMNS, place, np.array([3, 1, 3], np.int16)
        assert_same(whole(function)(*given), function(*given))
    for wrong in (301, -301):
        with pytest.raises(IndexError, match=f"index {wrong} is out of bounds for axis 0 with size 300"):
            whole(lambda a, i: np.insert(a, i, 5))(LINE, wrong)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda a, i: np.choose(i, [a[:3], a[3:6]]), "invalid entry in choice array"),
        (lambda a, i: np.ravel_multi_index((i, i), (9, 9)), "invalid entry in coordinates array"),
        (lambda a, i: np.unravel_index(i, (3, 3)), "index -128 is out of bounds for array with size 9"),
    ],
)
def test_entries_that_are_no_places_are_refused_as_by_numpy(function: Callable[..., Any], message: str) -> None:
    index = np.array([1, -128, 0], np.int8)
    with pytest.raises(ValueError, match=message):
        whole(function)(LINE, index)
    with pytest.raises(ValueError, match=message):
        function(LINE, index)


@pytest.mark.parametrize(
    "function",
    [lambda a, i: np.repeat(a, abs(i)), lambda a, i: np.bincount(i), lambda a, i: np.trim_zeros(a)],
)
def test_shapes_that_depend_on_elements_are_refused(function: Callable[..., Any]) -> None:
    with pytest.raises(wl.WindlassError, match=r"WL0904.*is not known while the function is compiled"):
        whole(function)(LINE, np.arange(300))
