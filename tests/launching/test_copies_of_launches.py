"""A launch on large NumPy arrays copies what the kernel writes, and not what it only reads or leaves as it is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import windlass as wl
from windlass.launching.raised_form import RaisedForm
from windlass.runtime.staging import ALIGNMENT, LARGE, address_of, pool

SOURCE = """
__device__ float table[300];
__global__ void inside(const float *now, float *next, int rows, int columns) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < 1 || y < 1 || x >= columns - 1 || y >= rows - 1) return;
    int i = y * columns + x;
    next[i] = now[i - 1] + now[i + 1] + now[i - columns] + now[i + columns];
}
__global__ void shift(float *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float old = i + 7 < n ? x[i + 7] : 0;
    __syncthreads();
    if (i < 100) x[i + 3] = old;
}
__global__ void ends(double *x, const double *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < 5) { x[i] = y[i]; x[n - 1 - i] = -y[i]; }
}
__global__ void fill_table(const float *x) { table[threadIdx.x + 2] = x[threadIdx.x]; }
__global__ void total(float *sum, const float *x, int n) {
    float found = 0;
    for (int i = 0; i < n; i++) found += x[i];
    sum[threadIdx.x] = found;
}
"""
SIDE = 300


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("WINDLASS_NATIVE", "0")  # which copies nothing
    return wl.cuda.compile(SOURCE)


def at_offset(values: NDArray[Any], offset: int) -> NDArray[Any]:
    """The values at so many bytes after a multiple of 64; NaN around them."""
    raw = np.full(values.nbytes + 2 * ALIGNMENT, 0xFF, np.uint8)
    start = -address_of(raw) % ALIGNMENT + offset
    placed = raw[start : start + values.nbytes].view(values.dtype).reshape(values.shape)
    placed[...] = values
    return placed


def form_of(launch: Any) -> RaisedForm:
    (form,) = launch._forms.values()  # pyright: ignore[reportPrivateUsage]
    assert isinstance(form, RaisedForm)
    return form


def expected_inside(now: NDArray[Any], following: NDArray[Any]) -> NDArray[Any]:
    wanted = following.copy()
    wanted[1:-1, 1:-1] = now[1:-1, :-2] + now[1:-1, 2:] + now[:-2, 1:-1] + now[2:, 1:-1]
    return wanted


@pytest.mark.parametrize("is_flat", [False, True])
def test_array_that_is_partly_written_is_not_read(module: Any, is_flat: bool) -> None:
    random = np.random.default_rng(0)
    now, following = random.random((2, SIDE, SIDE), np.float32)
    wanted = expected_inside(now, following)
    if is_flat:
        now, following, wanted = now.reshape(-1), following.reshape(-1), wanted.reshape(-1)
    assert now.nbytes >= LARGE
    launch = module["inside"][(19, 19), (16, 16)]
    launch(now, following, SIDE, SIDE)
    np.testing.assert_array_equal(following, wanted)
    form = form_of(launch)
    assert form._taken == (0,)  # pyright: ignore[reportPrivateUsage]
    ((_, parts),) = form._parts  # pyright: ignore[reportPrivateUsage]
    assert parts is not None


@pytest.mark.parametrize("offset", [0, 4, 16, 48, 60])
def test_large_arrays_are_read_where_they_lie(module: Any, offset: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*sizes: Any) -> Any:
        raise AssertionError("copied")

    monkeypatch.setattr(pool, "empty", refuse)
    now = np.random.default_rng(offset).random((SIDE, SIDE), np.float32)
    following = np.ones((SIDE, SIDE), np.float32)
    wanted = expected_inside(now, following)
    module["inside"][(19, 19), (16, 16)](at_offset(now, offset), following, SIDE, SIDE)
    np.testing.assert_array_equal(following, wanted)


def test_arrays_at_many_offsets_are_compiled_for_three_of_them(module: Any) -> None:
    now = np.random.default_rng(1).random((SIDE, SIDE), np.float32)
    launch = module["inside"][(19, 19), (16, 16)]
    for offset in (16, 0, 4, 20, 8, 16):
        following = np.zeros((SIDE, SIDE), np.float32)
        launch(at_offset(now, offset), following, SIDE, SIDE)
        np.testing.assert_array_equal(following, expected_inside(now, np.zeros_like(now)), err_msg=str(offset))
    assert len(form_of(launch)._compiled._from_lines) <= 3  # pyright: ignore[reportPrivateUsage]


def test_array_that_is_read_and_partly_written_keeps_the_rest(module: Any) -> None:
    for count in (200, 100_000):
        x = np.arange(count, dtype=np.float32)
        wanted = x.copy()
        wanted[3:103] = x[7:107]
        module["shift"][1, 128](x, count)
        np.testing.assert_array_equal(x, wanted)


def test_several_parts_of_one_array_are_written(module: Any) -> None:
    x, y = np.ones(50_000), np.arange(50_000, dtype=np.float64)
    launch = module["ends"][1, 32]
    launch(x, y, len(x))
    wanted = np.ones(50_000)
    wanted[:5], wanted[-5:] = y[:5], -y[:5][::-1]
    np.testing.assert_array_equal(x, wanted)


def test_overlapping_arrays_keep_the_rest(module: Any) -> None:
    memory = np.arange(SIDE * SIDE + 100, dtype=np.float32)
    now, following = memory[: SIDE * SIDE].reshape(SIDE, SIDE), memory[100:].reshape(SIDE, SIDE)
    raised, emulated = memory.copy(), memory.copy()
    launch = ((4, 1), (64, 1))
    for form, target in ((module["inside"], raised), (wl.emulate(module["inside"]), emulated)):
        views = target[: SIDE * SIDE].reshape(SIDE, SIDE), target[-40:].reshape(4, 10)
        form[launch](*views, 4, 10)
    assert now.shape == following.shape
    np.testing.assert_array_equal(raised, emulated)


def test_device_variables_are_written_in_part(module: Any) -> None:
    module.variables["table"][:] = 1
    module["fill_table"][1, 10](np.arange(10, dtype=np.float32))
    wanted = np.ones(300, np.float32)
    wanted[2:12] = np.arange(10)
    np.testing.assert_array_equal(module.variables["table"], wanted)


def test_sums_are_staged(module: Any) -> None:
    """XLA reads aligned memory faster in sums than a slice of a longer array."""
    x, sums = at_offset(np.ones(100_000, np.float32), 16), np.zeros(3, np.float32)
    launch = module["total"][1, 3]
    launch(sums, x, len(x))
    np.testing.assert_array_equal(sums, np.full(3, 100_000, np.float32))
    assert not form_of(launch)._compiled._from_lines  # pyright: ignore[reportPrivateUsage]
