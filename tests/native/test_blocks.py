"""Kernels whose threads meet give as native code what the emulator gives, to the bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import windlass as wl
from windlass.launching.emulation import emulate_launch

SOURCE = r"""
__global__ void turn(int *x) {
    __shared__ int tile[64];
    tile[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    x[threadIdx.x] = tile[63 - threadIdx.x];
}
__global__ void product(const float *a, const float *b, float *c, int n) {
    __shared__ float s[8][8], t[8][8];
    int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 8 + y, column = blockIdx.x * 8 + x;
    float sum = 0;
    for (int k = 0; k < n; k += 8) {
        s[y][x] = a[row * n + k + x];
        t[y][x] = b[(k + y) * n + column];
        __syncthreads();
        for (int i = 0; i < 8; i++) sum += s[y][i] * t[i][x];
        __syncthreads();
    }
    c[row * n + column] = sum;
}
__global__ void tree(const float *x, float *sums, int n) {
    extern __shared__ float part[];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    part[t] = i < n ? x[i] : 0;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s /= 2) {
        if (t < s) part[t] += part[t + s];
        __syncthreads();
    }
    if (t == 0) sums[blockIdx.x] = part[0];
}
__global__ void warps(const float *x, float *sums, int *votes, int n) {
    __shared__ float part[4];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    if (i >= n) return;
    float v = x[i];
    for (int o = 16; o; o >>= 1) v += __shfl_down_sync(~0u, v, o);
    if (t % 32 == 0) part[t / 32] = v;
    __syncthreads();
    if (t < 32) {
        v = t < 4 ? part[t] : 0;
        for (int o = 2; o; o >>= 1) v += __shfl_xor_sync(~0u, v, o);
        if (t == 0) sums[blockIdx.x] = v;
    }
    unsigned some = __ballot_sync(~0u, x[i] > 0.5f);
    votes[i] = __popc(some) + __syncthreads_count(x[i] > 0.9f) + 100 * __any_sync(~0u, x[i] > 0.99f)
             + __reduce_add_sync(~0u, t) + (int)__match_any_sync(~0u, t % 5);
}
__global__ void few(int *x, int *y) {
    int t = threadIdx.x + threadIdx.y * blockDim.x;
    y[t] = __shfl_up_sync(~0u, x[t], 1) + __shfl_sync(~0u, x[t], 3, 8);
}
__global__ void shuffles(int *x, int *y) {
    int t = threadIdx.x, v = x[t], sum = 0;
    for (int o = 16; o; o /= 2) v += 3 * __shfl_xor_sync(~0u, v, o);
    sum += v + __shfl_xor_sync(~0u, t, 3) + 5 * __shfl_xor_sync(~0u, t, 16, 8) + 7 * __shfl_xor_sync(~0u, v, 2, 4);
    for (int o = 1; o < 32; o *= 2) v += __shfl_up_sync(~0u, v, o);
    sum += v + __shfl_down_sync(~0u, t, 9, 16) + 3 * __shfl_up_sync(~0u, v, 2, 8) + __shfl_down_sync(~0u, t, 0);
    y[t] = sum + __shfl_sync(~0u, v, 33) + __shfl_sync(~0u, v, 5, 8);
}
__global__ void both(const float *x, float *y) {  // v is wanted after the shuffle, and after the barrier
    __shared__ float s[64];
    int t = threadIdx.x;
    float v = x[t] * 3, w = __shfl_down_sync(~0u, v, 2);
    y[t] = v + w;
    s[t] = w;
    __syncthreads();
    y[t] += v * 2 + s[63 - t];
}
__global__ void own(const int *x, int *y) {
    int held[4];
    for (int k = 0; k < 4; k++) held[(k + threadIdx.x) % 4] = x[threadIdx.x] + k;
    __shared__ int shift;
    if (threadIdx.x == 5) shift = x[0];
    __syncthreads();
    for (int k = 0; k < 4; k++) y[4 * threadIdx.x + k] = held[(k + shift) & 3];
}
__global__ void until(int *x, int *rounds) {
    __shared__ int moved;
    int t = threadIdx.x, count = 0;
    do {
        count++;
        __syncthreads();
        if (t == 0) moved = 0;
        __syncthreads();
        if (t > 0 && (t + count) % 2 && x[t] < x[t - 1]) {
            int held = x[t];
            x[t] = x[t - 1];
            x[t - 1] = held;
            moved = 1;
        }
        __syncthreads();
    } while (__syncthreads_or(moved) || count < 2);
    rounds[t] = count;
}
__global__ void later(int *x) {  // each thread reads what a later one writes
    __shared__ int s[72];
    int t = threadIdx.x;
    s[t] = x[t];
    if (t < 8) s[64 + t] = t;
    __syncthreads();
    s[t] = s[t + 3] + 1;
    __syncthreads();
    x[t] = s[t];
}
__global__ void earlier(int *x) {  // each thread reads what an earlier one has written, in the order of the emulator
    __shared__ int s[65];
    int t = threadIdx.x;
    s[t + 1] = x[t];
    if (t == 0) s[0] = 5;
    __syncthreads();
    s[t + 1] = s[t] + 1;
    __syncthreads();
    x[t] = s[t + 1];
}
__global__ void rounds(int *x, int n) {  // the rounds of a thread stand before those of the next one
    __shared__ int s[72];
    int t = threadIdx.x;
    s[t] = x[t];
    if (t < 8) s[64 + t] = t;
    __syncthreads();
    for (int k = 0; k < n; k++) s[t + k] = s[t + k + 1] + k;
    __syncthreads();
    x[t] = s[t];
}
__global__ void places(int *x) {  // the last thread that writes a place is the one that counts
    __shared__ int s[64];
    int t = threadIdx.x;
    s[t] = 0;
    __syncthreads();
    s[t / 3] = x[t];
    s[63 - t / 2] = t;
    __syncthreads();
    x[t] = s[t];
}
__global__ void scan(int *x, int n) {
    __shared__ int s[2][64];
    int t = threadIdx.x, in = 0, step = 1;
    s[0][t] = x[t];
    for (int d = 1; d < 64; d *= 2) {
        __syncthreads();
        s[1 - in][t] = t >= d ? s[in][t] + s[in][t - d] : s[in][t];
        in = 1 - in;
    }
    for (int d = 32; d > 0; d >>= 1, step *= 2) {
        __syncthreads();
        if (t < d) s[in][step * (2 * t + 2) - 1] += s[in][step * (2 * t + 1) - 1];
    }
    __syncthreads();
    for (int m = 0; m < n; m++) {
        if (t >= m && t <= 40 - m) s[in][t] += s[in][t + m] + m;
        __syncthreads();
    }
    x[t] = s[in][t];
}
__global__ void histogram(const int *x, int *counts, int n) {
    __shared__ int own[16];
    if (threadIdx.x < 16) own[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&own[x[i]], 1);
    __syncthreads();
    if (threadIdx.x < 16) atomicAdd(&counts[threadIdx.x], own[threadIdx.x]);
}
"""
MODULE = wl.cuda.compile(SOURCE)
RANDOM = np.random.default_rng(11)


def integers(high: int, count: int) -> Any:
    return RANDOM.integers(0, high, count).astype(np.int32)


def floats(count: int) -> Any:
    return RANDOM.random(count).astype(np.float32)


LAUNCHES: dict[str, tuple[tuple[Any, ...], tuple[Any, ...]]] = {
    "turn": ((1, 64), (integers(99, 64),)),
    "product": (((3, 3), (8, 8)), (floats(24 * 24), floats(24 * 24), np.zeros(24 * 24, np.float32), 24)),
    "tree": ((4, 64, 256), (floats(230), np.zeros(4, np.float32), 230)),
    "warps": ((3, 128), (floats(384), np.zeros(3, np.float32), np.zeros(384, np.int32), 384)),
    "few": ((1, (16, 4)), (integers(99, 64), np.zeros(64, np.int32))),
    "shuffles": ((1, 96), (integers(99, 96), np.zeros(96, np.int32))),
    "both": ((1, 64), (floats(64), np.zeros(64, np.float32))),
    "own": ((1, 32), (integers(99, 32), np.zeros(128, np.int32))),
    "until": ((1, 32), (integers(99, 32), np.zeros(32, np.int32))),
    "later": ((1, 64), (integers(99, 64),)),
    "earlier": ((1, 64), (integers(99, 64),)),
    "rounds": ((1, 64), (integers(99, 64), 4)),
    "places": ((1, 64), (integers(99, 64),)),
    "scan": ((1, 64), (integers(99, 64), 9)),
    "histogram": ((3, 64), (integers(16, 1000), np.zeros(16, np.int32), 1000)),
}
RACES = ("later", "earlier", "rounds", "places", "scan")
"""Threads come to what others write: then the order of the emulator counts."""


@pytest.mark.parametrize("name", LAUNCHES)
def test_threads_that_meet_give_what_the_emulator_gives(name: str) -> None:
    shape, arguments = LAUNCHES[name]
    native, emulated = ([each.copy() if isinstance(each, np.ndarray) else each for each in arguments] for _ in "ab")
    wl.native(MODULE[name])[shape](*native)
    launch = MODULE[name][shape]
    emulate_launch(launch.kernel, launch.shape, emulated, finds_races=name not in RACES)
    for got, wanted in zip(native, emulated, strict=True):
        if isinstance(got, np.ndarray):
            assert got.tobytes() == wanted.tobytes()


def test_a_thread_beyond_shared_memory_is_named() -> None:
    with pytest.raises(wl.EmulationError, match=r"write of 4 bytes out of bounds") as caught:
        wl.native(MODULE["tree"])[4, 64, 128](floats(230), np.zeros(4, np.float32), 230)
    assert "thread (32, 0, 0)" in str(caught.value)


@pytest.mark.parametrize(
    "exchange", ["__ballot_sync(~0u, v > 3)", "__shfl_sync(~0u, v, 3)", "__shfl_xor_sync(~0u, t, 4)"]
)
@pytest.mark.parametrize("value", ["x[t] + t / 5 * t / 7 % 3 * t / 9", "__shfl_sync(~0u, t * 3, n)"])
def test_what_is_found_before_an_exchange_is_kept_beyond_the_next_barrier(value: str, exchange: str) -> None:
    kernel = wl.cuda.compile(f"""__global__ void k(unsigned *x, int n) {{
        unsigned t = threadIdx.x, v = {value}, u = {exchange};
        __syncthreads();
        x[t] = v + u;
    }}""")["k"]
    found, wanted = np.arange(64, dtype=np.uint32), np.arange(64, dtype=np.uint32)
    wl.native(kernel)[1, 64](found, 5)
    wl.emulate(kernel)[1, 64](wanted, 5)
    np.testing.assert_array_equal(found, wanted)
