"""What C++ leaves open, and kernels do all the same: no thread is taken to be absent for it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import windlass as wl

SOURCE = """
__device__ int take_place(int *count) {
    unsigned here = __activemask(), rank = __popc(here & ((1u << (threadIdx.x & 31)) - 1));
    int first;
    if (rank == 0) first = atomicAdd(count, __popc(here));
    return __shfl_sync(here, first, __ffs(here) - 1) + rank;
}
__global__ void compact(const int *x, int *out, int *count, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && x[i] > 0) out[take_place(count)] = i;
}

__device__ float of_lane(float v, int lane) { return __shfl_sync(~0u, v, lane); }
__global__ void broadcast(const float *x, float *out) {
    float v;
    if (threadIdx.x == 5) v = 2 * x[0];
    out[threadIdx.x] = of_lane(v, 5) + threadIdx.x;
}

__device__ int sign(int v) {
    if (v > 0) return 1;
    else if (v < 0) return -1;
}
__global__ void signs(const int *x, int *out) {
    int s = sign(x[threadIdx.x]);
    out[threadIdx.x] = x[threadIdx.x] ? s : 7;
}
__device__ int add(int *sum, int v) { atomicAdd(sum, v); }
__global__ void total(const int *x, int *sum, int *out) { add(sum, x[threadIdx.x]); out[threadIdx.x] = 3; }
"""


@pytest.fixture(scope="module")
def module() -> wl.cuda.Module:
    return wl.cuda.compile(SOURCE)


@pytest.fixture(params=["raised", "native", "emulated"])
def form(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("WINDLASS_NATIVE", "fallback")
    return {"raised": lambda kernel: kernel, "native": wl.native, "emulated": wl.emulate}[request.param]


def test_one_lane_counts_for_its_warp(module: wl.cuda.Module, form: Any) -> None:
    x = np.arange(64, dtype=np.int32) % 3
    out, count = np.zeros(64, np.int32), np.zeros(1, np.int32)
    form(module["compact"])[1, 64](x, out, count, 60)
    assert out[: count[0]].tolist() == np.flatnonzero(x[:60]).tolist()


def test_one_lane_reads_for_its_warp(module: wl.cuda.Module, form: Any) -> None:
    out = np.zeros(32, np.float32)
    form(module["broadcast"])[1, 32](np.array([3], np.float32), out)
    assert out.tolist() == [6 + lane for lane in range(32)]


def test_functions_may_end_without_a_result_that_nobody_uses(module: wl.cuda.Module, form: Any) -> None:
    x, out, total = np.array([4, 0, -4, 0], np.int32), np.zeros(4, np.int32), np.zeros(1, np.int32)
    form(module["signs"])[1, 4](x, out)
    assert out.tolist() == [1, 7, -1, 7]
    form(module["total"])[1, 4](x + 1, total, out)
    assert (total[0], out.tolist()) == (4, [3] * 4)
