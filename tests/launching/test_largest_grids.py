"""Launches of so many threads that an array with an element for each does not fit into memory."""

from __future__ import annotations

import re
from typing import Any

import jax
import numpy as np
import pytest

import windlass as wl
from windlass.diagnostics import limits
from windlass.diagnostics.limits import MemoryLimitError, available_memory
from windlass.launching import loaded_kernel as kernel_file
from windlass.launching.raised_form import RaisedForm

MOST = 2**31 - 1
"""The most blocks along x."""
INT = "int i = blockIdx.x * blockDim.x + threadIdx.x; "
UNSIGNED = "unsigned i = blockIdx.x * blockDim.x + threadIdx.x; "
LONG = "long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; "
GIBIBYTE = 1 << 30


def compile_body(body: str) -> wl.cuda.Kernel:
    return wl.cuda.compile(f"__global__ void k(const float *x, float *y, int n) {{ {body} }}")["k"]


@pytest.fixture(name="little_memory")
def little_memory_(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with a gibibyte left, whatever this one has."""
    monkeypatch.setattr(kernel_file, "available_memory", lambda: GIBIBYTE)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("blocks", [MOST, 2**27])
@pytest.mark.parametrize(
    "body",
    [
        INT + "if (i < n) y[i] = 2 * x[i];",
        INT + "if (i >= 0 && i < n) y[i] = 2 * x[i];",
        UNSIGNED + "if (i < n) y[i] = 2 * x[i];",
        "for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) y[i] = 2 * x[i];",
        "__shared__ float s[32]; " + INT + "s[threadIdx.x] = x[i & 7]; __syncthreads(); if (i < n) y[i] = s[0];",
        INT + "if (i < n) atomicAdd(&y[i], x[i]);",
        LONG + "if (x[i & 7] > 100) atomicAdd(&y[(int)x[i & 7] & 7], 1.0f);",
    ],
)
@pytest.mark.usefixtures("little_memory")
def test_what_needs_an_element_for_each_thread_is_refused_before_xla_is_asked(body: str, blocks: int) -> None:
    x, y = np.arange(8, dtype=np.float32), np.ones(8, np.float32)
    with pytest.raises(wl.LaunchError, match=rf"WL0418.*\n.*{blocks * 32} threads") as caught:
        compile_body(body)[blocks, 32](x, y, 8)
    assert "1024 MiB are available" in str(caught.value)
    assert np.array_equal(y, np.ones(8))


@pytest.mark.parametrize("grid", [(MOST, 65535, 65535), (2**20, 65535)])
@pytest.mark.usefixtures("little_memory")
def test_grids_of_several_dimensions_are_refused_or_right(grid: tuple[int, ...]) -> None:
    x, y = np.arange(8, dtype=np.float32), np.ones(8, np.float32)
    kernel = compile_body(INT + "if (i < n && blockIdx.y == 0 && blockIdx.z == 0) y[i] = 2 * x[i];")
    if grid[0] == MOST:
        with pytest.raises(wl.LaunchError, match="WL0418"):
            kernel[grid, 32](x, y, 8)
    else:
        kernel[grid, 32](x, y, 8)
        assert np.array_equal(y, 2 * x)


@pytest.mark.parametrize(
    "body",
    [
        LONG + "if (i < n) y[i] = 2 * x[i];",
        "size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = 2 * x[i];",
        "for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < n;"
        " i += (long long)gridDim.x * blockDim.x) y[i] = 2 * x[i];",
        LONG + "if (i < n) atomicAdd(&y[i], 2 * x[i] - 1);",
    ],
)
@pytest.mark.usefixtures("little_memory")
def test_the_largest_grid_with_an_index_of_64_bits_is_right(body: str) -> None:
    x, y = np.arange(8, dtype=np.float32), np.ones(8, np.float32)
    compile_body(body)[MOST, 32](x, y, 8)
    assert np.array_equal(y, 2 * x)


@pytest.mark.parametrize(("blocks", "table"), [(4, "tensor<8xi32>"), (2**27, "tensor<8xi64>"), (MOST, "tensor<8xi64>")])
def test_each_of_more_threads_than_32_bits_count_has_its_own_number(
    blocks: int, table: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether two threads come to one place is told by a table of who came there: two of one number would not meet."""
    monkeypatch.setattr(kernel_file, "LITTLE", 1 << 62)
    x, y = np.arange(8, dtype=np.float32), np.ones(8, np.float32)
    text = compile_body(LONG + "if (x[i & 7] > 6) y[(int)x[i & 7] & 7] += 1;").lower(blocks, 32, x, y, 8).text("tensor")
    assert re.findall(r"\}\) : \((tensor<8x\w+>), ", text) == [table, "tensor<8xf32>"]


@pytest.fixture(name="no_memory")
def no_memory_(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_file, "available_memory", lambda: 1 << 10)
    monkeypatch.setattr(kernel_file, "LITTLE", 0)


@pytest.mark.usefixtures("no_memory")
def test_small_launches_without_memory_run_as_native_code() -> None:
    x, y = np.arange(4096, dtype=np.float32), np.ones(8, np.float32)
    kernel = compile_body(INT + "atomicAdd(&y[(int)x[i] & 7], 1.0f);")
    kernel[128, 32](x, y, 8)
    assert y.tolist() == [513.0] * 8
    assert "native" in str(kernel.explain())


@pytest.mark.usefixtures("no_memory")
def test_small_launches_without_memory_that_have_no_native_form_are_emulated() -> None:
    x, y = np.arange(4096, dtype=np.float32), np.ones(8, np.float32)
    meeting = "__shared__ float s[32]; s[31 - threadIdx.x] = x[i]; __syncthreads(); "
    meeting += "for (int k = 0; k < (int)x[threadIdx.x] / 64; k++) __syncthreads(); "
    kernel = compile_body(INT + meeting + "atomicAdd(&y[(int)s[threadIdx.x] & 7], 1.0f);")
    with pytest.warns(wl.WindlassWarning, match=r"emulator.*takes \d+ MiB"):
        kernel[128, 32](x, y, 8)
    assert y.tolist() == [513.0] * 8


def test_what_would_be_emulated_for_hours_is_refused() -> None:
    kernel = compile_body(INT + "if (i < n) y[i] = 2 * x[i] + y[i];")
    x, y = np.arange(8, dtype=np.float32), np.ones(8, np.float32)
    with pytest.raises(wl.LaunchError, match=r"WL0419.*9 hours.*\n(.*\n)*.*without an atomic"):
        kernel[(2**20, 65535), 32](x, y, 8)


def test_memory_that_xla_can_not_have_is_said_of_the_launch(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise jax.errors.JaxRuntimeError("RESOURCE_EXHAUSTED: Out of memory allocating 51539607616 bytes.")

    monkeypatch.setattr(RaisedForm, "_run", fail)
    kernel = compile_body(INT + "if (i < n) y[i] = 2 * x[i];")
    x, y = np.arange(8, dtype=np.float32), np.ones(8, np.float32)
    with pytest.raises(MemoryLimitError, match=r"WL0624.*k with grid \(4, 1, 1\)(.*\n)*.*allocating 51539607616 bytes"):
        kernel[4, 32](x, y, 8)


def test_results_that_do_not_fit_into_memory_are_refused_by_jit(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise jax.errors.JaxRuntimeError("RESOURCE_EXHAUSTED: Out of memory allocating 274877906944 bytes.")

    @wl.jit(whole=True)
    def twice(x: Any) -> Any:
        return x + x

    monkeypatch.setattr(jax, "block_until_ready", fail)
    assert twice(np.ones(8, np.float32)).tolist() == [2.0] * 8
    with pytest.raises(MemoryLimitError, match=r"WL0624.*for twice(.*\n)*.*allocating 274877906944 bytes"):
        twice(np.ones(1 << 18, np.float32))


def test_available_memory_is_within_the_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    free = available_memory()
    assert free is not None
    assert free > 1 << 20
    monkeypatch.setattr(limits, "address_limit", lambda: 12345)
    assert available_memory() == 12345
