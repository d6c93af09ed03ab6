"""Barriers and pipelines as objects: threads with other roles, and what goes wrong with them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import windlass as wl
from windlass.diagnostics import EmulationError
from windlass.emulator import Emulator

Emulate = Callable[[str], Emulator]
HEAD = """
#include <cooperative_groups.h>
#include <cuda/barrier>
#include <cuda/pipeline>
namespace cg = cooperative_groups;
using block_barrier = cuda::barrier<cuda::thread_scope_block>;
"""

ROLES = (
    HEAD
    + """
__global__ void run(const float *x, float *y, int n) {
    __shared__ float buffer[2][64];
    __shared__ block_barrier barriers[4];
    auto block = cg::this_thread_block();
    if (block.thread_rank() < 4) init(barriers + block.thread_rank(), block.size());
    block.sync();
    block_barrier *ready = barriers, *filled = barriers + 2;
    if (threadIdx.x < 32) {
        for (int i = 0; i < n; i++) {
            ready[i % 2].arrive_and_wait();
            for (int j = threadIdx.x; j < 64; j += 32) buffer[i % 2][j] = x[i * 64 + j];
            (void)filled[i % 2].arrive();
        }
    } else {
        (void)ready[0].arrive();
        (void)ready[1].arrive();
        for (int i = 0; i < n; i++) {
            filled[i % 2].arrive_and_wait();
            y[i * 64 + threadIdx.x - 32] = buffer[i % 2][95 - threadIdx.x];
            (void)ready[i % 2].arrive();
        }
    }
}"""
)


def test_one_warp_fills_what_others_use(emulate: Emulate) -> None:
    x = np.arange(6 * 64, dtype=np.float32).reshape(6, 64)
    y = np.zeros_like(x)
    emulate(ROLES).launch("run", 1, 96, (x, y, 6))
    np.testing.assert_array_equal(y, x[:, ::-1])


def test_threads_with_other_roles_are_not_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WINDLASS_FALLBACK", "error")
    x = np.zeros((6, 64), np.float32)
    with pytest.raises(wl.RaisingError, match="some threads of a block wait at a barrier"):
        wl.cuda.compile(ROLES)["run"][1, 96](x, x.copy(), 6)


def test_pipeline_with_producers_and_consumers(emulate: Emulate) -> None:
    emulator = emulate(
        HEAD
        + """
        __global__ void run(const int *x, int *y, int n) {
            constexpr int stages = 3;
            __shared__ int tiles[stages][32];
            __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, stages> state;
            bool fills = threadIdx.x < 32;
            auto pipeline = cuda::make_pipeline(
                cg::this_thread_block(), &state, fills ? cuda::pipeline_role::producer : cuda::pipeline_role::consumer);
            for (int t = 0; t < n; t++)
                if (fills) {
                    pipeline.producer_acquire();
                    cuda::memcpy_async(&tiles[t % stages][threadIdx.x], x + t * 32 + threadIdx.x, 4, pipeline);
                    pipeline.producer_commit();
                } else {
                    pipeline.consumer_wait();
                    y[t * 32 + threadIdx.x - 32] = tiles[t % stages][63 - threadIdx.x];
                    pipeline.consumer_release();
                }
        }"""
    )
    x = np.arange(10 * 32, dtype=np.int32).reshape(10, 32)
    y = np.zeros_like(x)
    emulator.launch("run", 1, 64, (x, y, 10))
    np.testing.assert_array_equal(y, x[:, ::-1])


def test_function_at_the_end_of_a_phase_is_called_once(emulate: Emulate) -> None:
    emulator = emulate(
        HEAD
        + """
        __shared__ int phases;
        struct Count { __device__ void operator()() { phases++; } };
        __global__ void run(int *y) {
            __shared__ cuda::barrier<cuda::thread_scope_block, Count> barrier;
            if (threadIdx.x == 0) { init(&barrier, blockDim.x); phases = 0; }
            __syncthreads();
            for (int i = 0; i < 5; i++) {
                barrier.arrive_and_wait();
                y[i * blockDim.x + threadIdx.x] = phases;
                __syncthreads();
            }
        }"""
    )
    y = np.zeros((5, 64), np.int32)
    emulator.launch("run", 1, 64, (y,))
    np.testing.assert_array_equal(y, np.repeat(np.arange(1, 6)[:, None], 64, 1))


def test_threads_that_drop_out_are_not_waited_for(emulate: Emulate) -> None:
    emulator = emulate(
        HEAD
        + """
        __global__ void run(int *y) {
            __shared__ block_barrier barrier;
            __shared__ int word;
            if (threadIdx.x == 0) init(&barrier, blockDim.x);
            __syncthreads();
            if (threadIdx.x >= 8) { barrier.arrive_and_drop(); return; }
            barrier.arrive_and_wait();
            if (threadIdx.x == 3) word = 5;
            barrier.arrive_and_wait();
            y[threadIdx.x] = word;
        }"""
    )
    y = np.zeros(8, np.int32)
    emulator.launch("run", 1, 64, (y,))
    assert (y == 5).all()


def test_parities_tell_phases_apart(emulate: Emulate) -> None:
    emulator = emulate(
        HEAD
        + """
        __global__ void run(int *y) {
            __shared__ block_barrier barrier;
            if (threadIdx.x == 0) init(&barrier, blockDim.x);
            __syncthreads();
            for (int i = 0; i < 4; i++) {
                y[i * 32 + threadIdx.x] = barrier.try_wait_parity(i % 2);
                __syncwarp();
                (void)barrier.arrive();
                barrier.wait_parity(i % 2);
            }
        }"""
    )
    y = np.ones((4, 32), np.int32)
    emulator.launch("run", 1, 32, (y,))
    assert (y == 0).all()


@pytest.mark.parametrize(
    ("opening", "body", "code"),
    [
        (
            "if (threadIdx.x == 0) init(&barrier, blockDim.x);",
            "if (threadIdx.x < 32) barrier.arrive_and_wait();",
            "WL0604",
        ),
        ("", "barrier.arrive_and_wait();", "WL0606"),
        (
            "if (threadIdx.x == 0) init(&barrier, blockDim.x);",
            "word[threadIdx.x] = 1; (void)barrier.arrive(); y[threadIdx.x] = word[threadIdx.x ^ 32];",
            "WL0603",
        ),
    ],
)
def test_mistakes_with_barriers_are_found(emulate: Emulate, opening: str, body: str, code: str) -> None:
    emulator = emulate(
        f"""{HEAD}
        __global__ void run(int *y) {{
            __shared__ block_barrier barrier;
            __shared__ int word[64];
            {opening}
            __syncthreads();
            {body}
        }}"""
    )
    with pytest.raises(EmulationError) as caught:
        emulator.launch("run", 1, 64, (np.zeros(64, np.int32),))
    assert caught.value.diagnostics[0].code == code
