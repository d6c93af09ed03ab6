"""Integers that JAX has no value for yet are guessed from the arrays beside them, and compared at run time."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest
from numpy.typing import NDArray

import windlass as wl

SOURCE = """
__global__ void inside(const float *now, float *next, int rows, int columns) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < 1 || y < 1 || x >= columns - 1 || y >= rows - 1) return;
    int i = y * columns + x;
    next[i] = now[i - 1] + now[i + 1] + now[i - columns] + now[i + columns];
}
__global__ void reversed(const float *x, float *y, long long n) {
    long long i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[n - 1 - i];
}
__global__ void gather(const float *x, const int *where, float *y, unsigned n) {
    unsigned i = threadIdx.x;
    if (i < n) y[i] = x[where[i]];
}
"""
GRID, BLOCK = (3, 3), (8, 8)


@pytest.fixture(scope="module")
def module() -> Any:
    return wl.cuda.compile(SOURCE)


def expected(now: NDArray[Any], following: NDArray[Any], rows: int, columns: int) -> NDArray[Any]:
    seen, written = now.reshape(-1)[: rows * columns].reshape(rows, columns), following.copy()
    inside = written.reshape(-1)[: rows * columns].reshape(rows, columns)
    inside[1:-1, 1:-1] = seen[1:-1, :-2] + seen[1:-1, 2:] + seen[:-2, 1:-1] + seen[2:, 1:-1]
    return written


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("rows", "columns"), [(20, 24), (24, 20), (10, 24), (20, 20), (3, 3)])
def test_likely_and_other_integers_give_the_same(module: Any, rows: int, columns: int) -> None:
    now, following = np.random.default_rng(0).random((2, 20, 24), np.float32)
    step = jax.jit(module["inside"].jax(GRID, BLOCK))
    np.testing.assert_array_equal(
        step(now, following, rows, columns), expected(now, following, rows, columns), err_msg=f"{rows} × {columns}"
    )


def test_form_for_extents_has_no_gather(module: Any) -> None:
    now = np.zeros((20, 24), np.float32)
    text = jax.jit(module["inside"].jax(GRID, BLOCK)).lower(now, now, 20, 24).as_text()
    likely, other = text[text.index("stablehlo.if") :].split("}, {", 1)
    assert "gather" not in likely
    assert "gather" in other or "dynamic_slice" in other


def test_wide_integers_are_compared_as_a_whole(module: Any) -> None:
    x = np.arange(20, dtype=np.float32)
    turn = jax.jit(module["reversed"].jax(1, 32))
    for n in (20, 7, 0):
        wanted = np.zeros_like(x)
        wanted[:n] = x[:n][::-1]
        np.testing.assert_array_equal(turn(x, np.zeros_like(x), n), wanted)


def test_gathers_that_data_ask_for_make_no_second_form(module: Any) -> None:
    x, where = np.arange(9, dtype=np.float32), np.arange(9, dtype=np.int32)[::-1].copy()
    gather = jax.jit(module["gather"].jax(1, 16))
    assert "stablehlo.if" not in gather.lower(x, where, np.zeros_like(x), 9).as_text()
    np.testing.assert_array_equal(gather(x, where, np.zeros_like(x), 9), x[::-1])


def test_numpy_programs_have_both_forms(module: Any) -> None:
    @wl.jit
    def run(now: Any, following: Any, rows: int, columns: int) -> None:
        for _ in range(3):
            module["inside"][GRID, BLOCK](now, following, rows, columns)
            now[...] = following

    start = np.random.default_rng(1).random((2, 20, 24), np.float32)
    for rows, columns in ((20, 24), (7, 9)):
        (now, following), (seen, other) = start.copy(), start.copy()
        run(now, following, rows, columns)
        for _ in range(3):
            other = expected(seen, other, rows, columns)
            seen = other.copy()
        np.testing.assert_array_equal(now, seen)
        np.testing.assert_array_equal(following, other)


def test_second_form_survives_vmap(module: Any) -> None:
    start = np.random.default_rng(2).random((3, 2, 20, 24), np.float32)
    step = jax.jit(jax.vmap(module["inside"].jax(GRID, BLOCK), (0, 0, None, 0)))
    found = step(start[:, 0], start[:, 1], 20, np.array([24, 10, 24]))
    for each, (now, following), columns in zip(found, start, (24, 10, 24), strict=True):
        np.testing.assert_array_equal(each, expected(now, following, 20, columns))
