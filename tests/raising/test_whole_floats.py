"""Whole numbers that go through floats and back stay symbolic where that is exact, and only there."""

from __future__ import annotations

import numpy as np
import pytest

import windlass as wl

SOURCE = """
__global__ void halves(const float *x, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = x[(int)floorf((float)i + 0.5f)];
}
__global__ void before(const float *x, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int k = (int)floorf((float)(i - 3) - 0.25f);
    if (i < n) out[i] = x[max(k, 0)] + (int)((float)i - 1.75f);
}
__global__ void shuffled(const float *x, float *out, int n) {
    int i = threadIdx.x;
    float f = __shfl_down_sync(0xffffffff, (float)i, 3);
    if (i < n) out[i] = x[(int)f];
}
__global__ void far(double *out, int n, int start) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = (int)((float)(i + start) + 0.5f) + 0.25 * (((float)i > 7.5f) + 2 * ((float)i < 1e9f));
}
"""


@pytest.fixture(scope="module")
def module() -> wl.cuda.Module:
    return wl.cuda.compile(SOURCE)


def test_memory_is_sliced_through_them(module: wl.cuda.Module) -> None:
    x, out = np.random.default_rng(0).random(100, np.float32), np.zeros(100, np.float32)
    module["halves"][4, 32](x, out, 100)
    np.testing.assert_array_equal(out, x)
    report = module["halves"].explain()
    assert report.is_raised and "gather" not in report.ops, str(report)


def test_numbers_below_zero_are_rounded_as_floats_are(module: wl.cuda.Module) -> None:
    x, out = np.random.default_rng(1).random(70, np.float32), np.zeros(70, np.float32)
    module["before"][3, 32](x, out, 70)
    i = np.arange(70)
    np.testing.assert_array_equal(out, x[np.maximum(i - 4, 0)] + np.trunc(i - 1.75).astype(np.float32))
    assert module["before"].explain().is_raised


def test_lanes_that_take_each_others_floats_take_their_numbers(module: wl.cuda.Module) -> None:
    x, out = np.random.default_rng(2).random(32, np.float32), np.zeros(32, np.float32)
    module["shuffled"][1, 32](x, out, 32)
    i = np.arange(32)
    np.testing.assert_array_equal(out, x[np.where(i + 3 < 32, i + 3, i)])
    assert module["shuffled"].explain().is_raised


@pytest.mark.parametrize("start", [0, 2**22 - 20, 2**23 - 20, 2**24 - 20, -(2**24) - 5, 2**30])
def test_sums_that_floats_round_are_rounded(module: wl.cuda.Module, start: int) -> None:
    out = np.zeros(40)
    module["far"][2, 32](out, 40, start)
    i = np.arange(40)
    with np.errstate(all="ignore"):
        rounded = (i + start).astype(np.float32) + np.float32(0.5)
    np.testing.assert_array_equal(out, np.trunc(rounded).astype(np.int64) + 0.25 * ((i > 7.5) + 2.0))
    assert module["far"].explain().is_raised
