"""Lanes that are neighbours but at borders, and rows of which some lanes are stored, give what the emulator gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import windlass as wl
from windlass.native import block_plan, masked_stores, memory, plan
from windlass.native.machine import compile_text

TYPES = {"f": ("float", np.float32), "d": ("double", np.float64), "c": ("signed char", np.int8)}
SOURCE = "\n".join(
    r"""
__global__ void rows_NAME(const int *table, const TYPE *x, TYPE *y, int n, int last) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    TYPE sum = x[min(i + 1, last)] + 3 * x[i > 0 ? i - 1 : 0];
    if (i % 5 != 2) sum += x[table[i]];
    y[i] = sum;
}
__global__ void tiles_NAME(const int *table, const TYPE *x, TYPE *y, int n, int last) {
    __shared__ TYPE tile[4][32], other[4][32];
    int tx = threadIdx.x, ty = threadIdx.y, at = (blockIdx.x * 4 + ty) * 32 + tx;
    tile[ty][tx] = x[at];
    other[ty][tx] = 0;
    __syncthreads();
    for (int k = 0; k < 3; k++) {
        int west = max(tx - 1, 0), east = min(tx + 1, 31), north = max(ty - 1, 0);
        if (tx > k && tx < 31 - k && ty > 0) other[ty][tx] = tile[ty][west] + tile[ty][east] - tile[north][tx];
        __syncthreads();
        if (tx != 7 && tx < last) tile[ty][tx] = other[ty][tx];
        __syncthreads();
    }
    y[at] = tile[ty][31 - tx];
}
""".replace("NAME", name).replace("TYPE", type_)
    for name, (type_, _) in TYPES.items()
)
MODULE = wl.cuda.compile(SOURCE)
N = 8 * 128


def given(name: str) -> list[Any]:
    random = np.random.default_rng(6)
    table = np.maximum(np.arange(N) - 1, 0).astype(np.int32)
    table[100:140] = random.integers(0, N, 40)
    dtype = TYPES[name.rpartition("_")[2]][1]
    x = random.integers(-9, 9, N).astype(dtype) if dtype == np.int8 else random.random(N).astype(dtype)
    n = N - 5 if name.startswith("rows") else N
    return [table, x, np.zeros(N, dtype), n, n - 1 if name.startswith("rows") else 27]


def launch(form: Any, name: str, arguments: list[Any]) -> bytes:
    form(MODULE[name])[8, 128 if name.startswith("rows") else (32, 4)](*arguments)
    return arguments[2].tobytes()


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", list(MODULE.kernels))
def test_rows_with_borders_are_those_of_the_emulator(name: str) -> None:
    assert launch(wl.native, name, given(name)) == launch(wl.emulate, name, given(name))


def text_of(name: str, plans: Any, monkeypatch: pytest.MonkeyPatch) -> str:
    """What a first launch is made of; its results are compared with the emulator's."""
    texts: list[str] = []
    monkeypatch.setattr(plans, "compile_text", lambda text: (texts.append(text), compile_text(text))[1])
    arguments = given(name)
    grid, block = 8, 128 if name.startswith("rows") else (32, 4)
    wl.native(wl.cuda.compile(SOURCE)[name])[grid, block](*arguments)
    assert arguments[2].tobytes() == launch(wl.emulate, name, given(name))
    (text,) = texts
    return text


@pytest.mark.parametrize("has_masked_stores", [False, True])
def test_some_lanes_are_stored_by_halves_or_under_a_mask(
    has_masked_stores: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(masked_stores, "has_masked_stores", lambda: has_masked_stores)
    assert ("llvm.masked.store" in text_of("tiles_d", block_plan, monkeypatch)) == has_masked_stores


def test_neighbours_are_read_as_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = text_of("rows_f", plan, monkeypatch).count("load <8 x float>")
    monkeypatch.setattr(memory, "may_be_row", lambda *_: False)
    assert rows > text_of("rows_f", plan, monkeypatch).count("load <8 x float>")


@pytest.mark.parametrize(("place", "thread"), [(N, 8), (-1, 0)])
def test_a_place_beyond_an_array_is_named_where_its_neighbours_are_in_it(place: int, thread: int) -> None:
    arguments = given("rows_f")
    arguments[0][:9] = np.arange(9) + place - thread
    with pytest.raises(wl.EmulationError, match="read of 4 bytes out of bounds") as caught:
        launch(wl.native, "rows_f", arguments)
    assert f"thread ({thread}, 0, 0)" in str(caught.value)
