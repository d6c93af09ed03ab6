"""Kernels that were once raised to something else than they say, in their smallest forms. The emulator tells what is
right."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import windlass as wl

KERNELS: list[Kernel] = []


@dataclass(frozen=True)
class Kernel:
    """A kernel, its launch, its arguments, and what was wrong."""

    what: str
    text: str
    grid: Any
    block: Any
    arguments: Callable[[], list[Any]] = field(repr=False)

    def __post_init__(self) -> None:
        KERNELS.append(self)


def drawn(dtype: str, count: int, low: int = -8, high: int = 8) -> NDArray[Any]:
    """Small numbers, the same ones each time."""
    return np.random.default_rng(count).integers(low, high, count).astype(dtype)


Kernel(
    "least of a number beyond all signed ones and another",
    """
    __global__ void kernel(int *total) {
        size_t back = -2;
        int i = blockIdx.x;
        total[i] = (int)min(back * i, (size_t)16);
    }""",
    5,
    1,
    lambda: [np.zeros(5, np.int32)],
)

Kernel(
    "a constant divides a sum of equal numbers",
    """
    __global__ void kernel(const float *x, float *out) {
        __shared__ float tile[16];
        float sum = 0.0f;
        tile[threadIdx.x] = x[0];
        __syncthreads();
        for (int k = 0; k < 16; k++) sum += tile[k];
        out[blockIdx.x * 16 + threadIdx.x] = sum / 3.0f;
    }""",
    2,
    16,
    lambda: [np.array([-6.25], np.float32), np.zeros(32, np.float32)],
)
Kernel(
    "comparison three ways, as int",
    """
    __global__ void kernel(int *out) {
        long long row = (blockIdx.x * blockDim.x + threadIdx.x) >> 2;
        out[min(max((int)(1ul + row), 0), 2) + 3 * threadIdx.x] = 7;
    }""",
    1,
    33,
    lambda: [np.zeros(120, np.int32)],
)

Kernel(
    "size of a number of one bit",
    """
    __global__ void kernel(const float *x, float *out) {
        int i = threadIdx.x, best = 1000, where = -1;
        for (int k = 0; k < 12; k++)
            if (i > best) {
                best = i;
                where = k;
            }
        out[i] = x[abs(where) % 9];
    }""",
    1,
    16,
    lambda: [drawn("float32", 9), np.zeros(16, np.float32)],
)

Kernel(
    "a place in memory that two loops accumulate in",
    """
    __global__ void kernel(float *out, int *total) {
        int i = threadIdx.x;
        for (int k = 0; k < 5; k++)
            for (int l = 0; l < 6; l++) {
                atomicAdd(&total[0], 1);
                out[i] += 1.0f;
            }
    }""",
    1,
    8,
    lambda: [drawn("float32", 8), np.zeros(1, np.int32)],
)

Kernel(
    "zeros taken from zero",
    """
    __global__ void kernel(const float *x, float *out) {
        int i = threadIdx.x;
        float sum = 0.0f, some = 0.0f;
        for (int k = 0; k < 5; k++) sum -= x[i];
        for (int k = 0; k < i; k++) some -= x[k];
        out[2 * i] = 1.0f / sum;
        out[2 * i + 1] = 1.0f / some;
    }""",
    1,
    8,
    lambda: [np.zeros(8, np.float32), np.zeros(16, np.float32)],
)

Kernel(
    "zero as a signed number of one bit",
    """
    __global__ void kernel(float *out) {
        int i = threadIdx.x;
        out[i] = (float)((int)(i % 4 != 1) - 1);
    }""",
    1,
    8,
    lambda: [drawn("float32", 8)],
)

Kernel(
    "a place that the loop that stores to it finds itself",
    """
    __global__ void kernel(const int *order, unsigned char *out) {
        for (int k = 0; k < 6; k++)
            out[order[0]] = 0;
    }""",
    4,
    4,
    lambda: [np.array([3, 0, 2, 1], np.int32), drawn("uint8", 68, 1)],
)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda each: each.what)
def test_raised_kernel_agrees_with_emulator(kernel: Kernel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WINDLASS_FALLBACK", "error")
    compiled = wl.cuda.compile(kernel.text)["kernel"]
    got, wanted = kernel.arguments(), kernel.arguments()
    compiled[kernel.grid, kernel.block](*got)
    wl.emulate(compiled)[kernel.grid, kernel.block](*wanted)
    for mine, right in zip(got, wanted, strict=True):
        np.testing.assert_array_equal(mine, right)
        np.testing.assert_array_equal(np.signbit(mine), np.signbit(right))
