"""Large NumPy arrays of `wl.jit` functions, wherever they begin in memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import windlass as wl
from windlass.runtime.staging import address_of, pool
from windlass.stablehlo.program import number_made

Array = NDArray[Any]
ROWS, COLUMNS = 1501, 700


def placed(array: Array, offset: int) -> Array:
    """A copy that begins so many bytes after a multiple of 64."""
    room = np.zeros(array.nbytes + 128, np.uint8)
    start = -address_of(room) % 64 + offset
    copy = room[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy


def rows(a: Any, b: Any, x: Any, y: Any) -> Any:
    return a @ x, 2.5 * a @ x, (a * b + 1) @ x, (x * a) @ x, x @ a.T, np.dot(a, np.stack([x, x + 1], axis=1))


def columns(a: Any, b: Any, x: Any, y: Any) -> Any:
    return a.T @ y, y @ a, y[0] * y @ (a - b), np.stack([y, y + 1]) @ a


def elements(a: Any, b: Any, x: Any, y: Any) -> Any:
    return a + b[0, 0] * x, np.sqrt(abs(a[1:, :-1] - b[:-1, 1:]))


def mixed(a: Any, b: Any, x: Any, y: Any) -> Any:
    return a.sum(axis=0), (a * b).max(axis=1), a.T @ b, np.cumsum(b, axis=0)[-1], a[:, 3] @ y


@pytest.mark.one_in(5)
@pytest.mark.parametrize("function", [rows, columns, elements, mixed])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_results_are_those_of_numpy_and_do_not_depend_on_where_arrays_begin(
    function: Callable[..., Any], dtype: type[np.floating[Any]]
) -> None:
    draw = np.random.default_rng(0)
    a, b = draw.standard_normal((2, ROWS, COLUMNS)).astype(dtype)
    x, y = draw.standard_normal(COLUMNS).astype(dtype), draw.standard_normal(ROWS).astype(dtype)
    compiled = wl.jit(function)
    expected = function(a, b, x, y)
    first: Any = None
    for offsets in ((0, 0), (16, 16), (16, 48), (8, 0), (24, 40), (0, 16), (16, 16)):
        found = compiled(placed(a, offsets[0]), placed(b, offsets[1]), x, y)
        for one, wanted in zip(found, expected, strict=True):
            np.testing.assert_allclose(one, wanted, rtol=2e-5 if dtype is np.float32 else 1e-12, atol=1e-3)
        if first is not None and function is not mixed:
            assert all(np.array_equal(one, other) for one, other in zip(found, first, strict=True))
        first = found


def test_products_of_matrices_that_are_not_contiguous_are_right() -> None:
    a, x = np.random.default_rng(0).random((COLUMNS, ROWS)).T, np.arange(float(COLUMNS))
    function = wl.jit(lambda a, x: a @ x)
    np.testing.assert_allclose(function(a, x), a @ x, rtol=1e-12)
    np.testing.assert_allclose(function(np.repeat(a, 2, axis=1)[:, ::2], x), a @ x, rtol=1e-12)


def test_large_arrays_are_taken_without_a_copy_or_by_way_of_memory_that_is_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    a = placed(np.random.default_rng(0).random((ROWS, COLUMNS)), 16)
    copies: list[Any] = []
    monkeypatch.setattr(pool, "empty", lambda *sizes, empty=pool.empty: copies.append(empty(*sizes)) or copies[-1])
    wl.jit(lambda a: (a @ a[0], 2 * a))(a)
    assert not copies
    inner = wl.jit(lambda a: a.T @ a)
    inner(a)
    inner(a)
    assert len(copies) == 2
    assert np.shares_memory(*copies)


def test_arrays_that_are_written_and_read_keep_their_meaning() -> None:
    def step(a: Any, b: Any, x: Any) -> None:
        b[:] = a + 1
        a *= 2
        x += (a @ x[:COLUMNS])[: len(x)]

    a, b = np.random.default_rng(0).random((2, ROWS, COLUMNS))
    x = np.arange(1000.0)
    wanted = a.copy(), b.copy(), x.copy()
    step(*wanted)
    wl.jit(step)(a, b, x)
    for one, other in zip((a, b, x), wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)


def test_arrays_at_other_places_are_copied_until_that_has_taken_as_long_as_a_program_takes_to_be_made(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("WINDLASS_TRIALS", "1")
    a = np.random.default_rng(0).random((ROWS, COLUMNS))

    def function(a: Any, b: Any) -> Any:
        return a @ np.ones(COLUMNS), b + 1

    compiled = wl.jit(whole=True)(function)

    def expect_right(*offsets: int) -> None:
        product, one_more = compiled(*(placed(a, offset) for offset in offsets))
        np.testing.assert_allclose(product, a.sum(axis=1), rtol=1e-12)
        np.testing.assert_array_equal(one_more, a + 1)

    expect_right(16, 48)
    made = number_made()
    for offsets in ((16, 48), (48, 16), (0, 0), (8, 48)):
        expect_right(*offsets)
    assert number_made() == made
    monkeypatch.setenv("WINDLASS_TRIALS", "0")  # no times are compared
    for _ in range(2):
        expect_right(48, 16)
    assert number_made() == made + 1
