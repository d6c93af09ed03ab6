"""Races are found where nothing orders two accesses, and only there."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from windlass.diagnostics import EmulationError
from windlass.emulator import Emulator

Emulate = Callable[[str], Emulator]


def ints(count: int) -> np.ndarray:
    return np.arange(count, dtype=np.int32)


def expect_race(emulator: Emulator, *arguments: object, grid: int = 1, block: int = 64, says: str = "") -> None:
    with pytest.raises(EmulationError, match="WL0603") as caught:
        emulator.launch(emulator.code.kernels[0], grid, block, arguments)
    assert says in str(caught.value)
    emulator.launch(emulator.code.kernels[0], grid, block, arguments, detect_races=False, detect_uninitialized=False)


def expect_none(emulator: Emulator, *arguments: object, grid: int = 1, block: int = 64) -> None:
    emulator.launch(emulator.code.kernels[0], grid, block, arguments)


def test_missing_barrier_before_reading_a_neighbour(emulate: Emulate) -> None:
    source = """
        __global__ void run(int *x) {
            __shared__ int tile[64];
            int t = threadIdx.x;
            tile[t] = x[t];
            BARRIER
            x[t] = tile[63 - t];
        }"""
    expect_race(emulate(source.replace("BARRIER", "")), ints(64), says="of 'tile'")
    expect_none(emulate(source.replace("BARRIER", "__syncthreads();")), ints(64))


def test_scan_needs_both_barriers(emulate: Emulate) -> None:
    source = """
        __global__ void scan(int *x) {
            __shared__ int tile[64];
            int t = threadIdx.x;
            tile[t] = x[t];
            for (int step = 1; step < 64; step *= 2) {
                __syncthreads();
                int left = t >= step ? tile[t - step] : 0;
                BARRIER
                tile[t] += left;
            }
            x[t] = tile[t];
        }"""
    expect_race(emulate(source.replace("BARRIER", "")), ints(64) + 1)
    expect_none(emulate(source.replace("BARRIER", "__syncthreads();")), ints(64) + 1)


def test_tree_reduction_without_its_barrier(emulate: Emulate) -> None:
    source = """
        __global__ void sum(const int *x, int *out) {
            __shared__ int part[64];
            int t = threadIdx.x;
            part[t] = x[t];
            __syncthreads();
            for (int k = 32; k > 0; k /= 2) {
                if (t < k) part[t] += part[t + k];
                BARRIER
            }
            if (t == 0) out[0] = part[0];
        }"""
    expect_race(emulate(source.replace("BARRIER", "")), ints(64), np.zeros(1, np.int32))
    expect_none(emulate(source.replace("BARRIER", "__syncthreads();")), ints(64), np.zeros(1, np.int32))


def test_tiled_loop_without_its_second_barrier(emulate: Emulate) -> None:
    source = """
        __global__ void run(const int *x, int *out, int n) {
            __shared__ int tile[64];
            int t = threadIdx.x, sum = 0;
            for (int k = 0; k < n; k += 64) {
                tile[t] = x[k + t];
                __syncthreads();
                for (int i = 0; i < 64; i++) sum += tile[i];
                BARRIER
            }
            out[t] = sum;
        }"""
    arguments = (ints(256), np.zeros(64, np.int32), 256)
    expect_race(emulate(source.replace("BARRIER", "")), *arguments)
    expect_none(emulate(source.replace("BARRIER", "__syncthreads();")), *arguments)


def test_plain_histogram_races_and_atomic_histogram_does_not(emulate: Emulate) -> None:
    source = "__global__ void count(const int *x, int *bins) { UPDATE; }"
    expect_race(emulate(source.replace("UPDATE", "bins[x[threadIdx.x] % 8]++")), ints(64), np.zeros(8, np.int32))
    expect_none(
        emulate(source.replace("UPDATE", "atomicAdd(&bins[x[threadIdx.x] % 8], 1)")), ints(64), np.zeros(8, np.int32)
    )


def test_plain_write_beside_atomics_races(emulate: Emulate) -> None:
    emulator = emulate("""
        __global__ void run(int *x) { if (threadIdx.x == 5) x[0] = 7; else atomicAdd(x, 1); }""")
    expect_race(emulator, ints(1), says="an atomic update")


def test_blocks_are_never_ordered(emulate: Emulate) -> None:
    emulator = emulate("""
        __global__ void run(int *x) {
            int i = blockIdx.x * blockDim.x + threadIdx.x;
            x[i] = i + 5;
            __syncthreads();
            x[i] += x[(i + 64) % 128];
        }""")
    expect_race(emulator, ints(128), grid=2, says="blocks run in any order")


def test_in_place_stencil_races_where_a_copy_does_not(emulate: Emulate) -> None:
    emulator = emulate("""
        __global__ void smooth(const int *x, int *y, int n) {
            int i = blockIdx.x * blockDim.x + threadIdx.x;
            if (i > 0 && i < n - 1) y[i] = x[i - 1] + x[i + 1];
        }""")
    x = ints(256)
    expect_none(emulator, x, ints(256), 256, grid=4)
    expect_race(emulator, x, x, 256, grid=4)


def test_storing_the_same_value_is_no_race(emulate: Emulate) -> None:
    same = "__global__ void run(const int *x, int *found) { if (x[threadIdx.x] > 3) found[0] = 1; }"
    different = "__global__ void run(const int *x, int *found) { if (x[threadIdx.x] > 3) found[0] = threadIdx.x; }"
    expect_none(emulate(same), ints(64), np.zeros(1, np.int32))
    expect_race(emulate(different), ints(64), np.zeros(1, np.int32), says="a write and a write")


def test_bytes_next_to_each_other_are_different_memory(emulate: Emulate) -> None:
    emulator = emulate("""
        __global__ void run(unsigned char *x) {
            __shared__ unsigned char tile[64];
            tile[threadIdx.x] = x[threadIdx.x];
            x[threadIdx.x] = tile[threadIdx.x] + 1;
        }""")
    expect_none(emulator, np.zeros(64, np.uint8))


def test_parts_of_a_wide_store_are_seen(emulate: Emulate) -> None:
    emulator = emulate("""
        __global__ void run(float *x) {
            if (threadIdx.x == 0) *(float4 *)x = make_float4(1, 2, 3, 4);
            else if (threadIdx.x == 3) x[3] = 9;
        }""")
    expect_race(emulator, np.zeros(4, np.float32), says="element 3 of 'x'")


@pytest.mark.parametrize("order", ["__syncwarp();", "__shfl_sync(0xffffffff, t, 0);", "__ballot_sync(0xffffffff, t);"])
def test_warp_intrinsics_order_the_lanes_of_a_warp(emulate: Emulate, order: str) -> None:
    source = """
        __global__ void run(int *x) {
            __shared__ int tile[64];
            int t = threadIdx.x;
            tile[t] = x[t];
            ORDER
            x[t] = tile[t ^ DISTANCE];
        }"""
    within, across = source.replace("DISTANCE", "1"), source.replace("DISTANCE", "32")
    expect_none(emulate(within.replace("ORDER", order)), ints(64))
    expect_race(emulate(across.replace("ORDER", order)), ints(64))
    expect_race(emulate(within.replace("ORDER", "")), ints(64))


def test_partial_masks_order_only_their_lanes(emulate: Emulate) -> None:
    source = """
        __global__ void run(int *x) {
            __shared__ int tile[32];
            int t = threadIdx.x;
            tile[t] = x[t];
            __syncwarp(t < 16 ? 0x0000ffff : 0xffff0000);
            x[t] = tile[t ^ DISTANCE];
        }"""
    expect_none(emulate(source.replace("DISTANCE", "8")), ints(32), block=32)
    expect_race(emulate(source.replace("DISTANCE", "16")), ints(32), block=32)


def test_order_through_a_third_lane_counts(emulate: Emulate) -> None:
    emulator = emulate("""
        __global__ void run(int *x) {
            __shared__ int tile[3];
            int t = threadIdx.x;
            if (t == 0) tile[0] = 5;
            if (t < 2) __syncwarp(0x3);
            if (t > 0) { __syncwarp(0x6); if (t == 2) x[0] = tile[0]; }
        }""")
    expect_none(emulator, ints(1), block=3)


def test_compare_and_swap_loop_may_begin_with_a_plain_load(emulate: Emulate) -> None:
    emulator = emulate("""
        __device__ double add(double *address, double value) {
            unsigned long long *word = (unsigned long long *)address, old = *word, assumed;
            do {
                assumed = old;
                old = atomicCAS(word, assumed, __double_as_longlong(value + __longlong_as_double(assumed)));
            } while (assumed != old);
            return __longlong_as_double(old);
        }
        __global__ void run(double *x) { add(x, 0.5); }""")
    x = np.zeros(1)
    expect_none(emulator, x, grid=3)
    assert x[0] == 96


def test_last_block_may_read_what_others_released(emulate: Emulate) -> None:
    source = """
        __device__ unsigned arrived;
        __global__ void run(const int *x, int *part, int *out) {
            __shared__ bool is_last;
            if (threadIdx.x == 0) {
                part[blockIdx.x] = x[blockIdx.x] + 1;
                FENCE
                is_last = atomicInc(&arrived, gridDim.x - 1) == gridDim.x - 1;
            }
            __syncthreads();
            if (is_last && threadIdx.x == 0) {
                int sum = 0;
                for (int i = 0; i < gridDim.x; i++) sum += part[i];
                out[0] = sum;
            }
        }"""
    arguments = (ints(8) + 1, np.zeros(8, np.int32), np.zeros(1, np.int32))
    expect_none(emulate(source.replace("FENCE", "__threadfence();")), *arguments, grid=8)
    assert arguments[2][0] == 44
    expect_race(emulate(source.replace("FENCE", "")), ints(8) + 1, np.zeros(8, np.int32), np.zeros(1, np.int32), grid=8)


def test_result_that_only_one_thread_reads_after_a_loop(emulate: Emulate) -> None:
    """The optimizer loads it in all threads and selects: that is not the program's access."""
    emulator = emulate("""
        __device__ int reduce(int v) {
            __shared__ int part[64];
            int t = threadIdx.x;
            part[t] = v;
            for (int k = 32; __syncthreads(), k > 0; k /= 2) if (t < k) part[t] += part[t + k];
            if (t == 0) v = part[0];
            return v;
        }
        __global__ void run(int *x, int *out) {
            for (int i = 0; i < 3; i++) out[threadIdx.x * 3 + i] = reduce(x[threadIdx.x] + i);
        }""")
    untyped = Emulator(replace(emulator.code, llvm_ir=re.sub(r", !tbaa !\d+", "", emulator.code.llvm_ir)))
    for each in (emulator, untyped):
        out = np.zeros((64, 3), np.int32)
        expect_none(each, ints(64), out)
        np.testing.assert_array_equal(out[0], 2016 + 64 * np.arange(3))
        np.testing.assert_array_equal(out[5], 5 + np.arange(3))


def test_device_variables_race_too(emulate: Emulate) -> None:
    emulator = emulate("""
        __device__ int latest;
        __global__ void run(int *x) { latest = threadIdx.x; x[threadIdx.x] = latest; }""")
    expect_race(emulator, ints(64), says="of 'latest'")


def test_first_store_to_shared_memory_initializes_whatever_its_value(emulate: Emulate) -> None:
    emulator = emulate("""
        __global__ void run(int *x) {
            __shared__ int tile[64];
            tile[threadIdx.x] = x[threadIdx.x];
            __syncthreads();
            x[threadIdx.x] = tile[63 - threadIdx.x];
        }""")
    for value in (-1, 0, 0x7E7E7E7E):
        expect_none(emulator, np.full(64, value, np.int32))


def test_byte_of_a_word_that_another_thread_wrote(emulate: Emulate) -> None:
    """What is known of the word is known of its bytes."""
    source = """
        __global__ void run(int *x, int *out) {
            int t = threadIdx.x;
            x[t] = 0x01020304 * (t + 1);
            BARRIER
            out[t] = ((unsigned char *)x)[(t ^ 1) * 4 + 2];
        }"""
    expect_race(emulate(source.replace("BARRIER", "")), np.zeros(64, np.int32), np.zeros(64, np.int32))
    expect_none(emulate(source.replace("BARRIER", "__syncthreads();")), np.zeros(64, np.int32), np.zeros(64, np.int32))


def test_thread_may_read_what_it_and_others_stored(emulate: Emulate) -> None:
    source = """
        __global__ void run(const int *x, int *all, int *out) {
            int holds = __syncthreads_and(x[threadIdx.x] > 0);
            CONDITION all[0] = holds;
            out[threadIdx.x] = all[0] + 1;
        }"""
    everyone, one = source.replace("CONDITION", ""), source.replace("CONDITION", "if (threadIdx.x == 0)")
    expect_none(emulate(everyone), ints(64) + 1, np.zeros(1, np.int32), np.zeros(64, np.int32))
    expect_race(emulate(one), ints(64) + 1, np.zeros(1, np.int32), np.zeros(64, np.int32))


def test_selected_load_counts_where_it_is_used(emulate: Emulate) -> None:
    emulator = emulate("""
        __global__ void run(const int *x, int *out) {
            __shared__ int tile[64];
            int t = threadIdx.x, v = x[t];
            tile[t] = v;
            if (t < 2) v = tile[0] + 1;
            out[t] = v;
        }""")
    expect_race(emulator, ints(64) + 1, np.zeros(64, np.int32), says="thread (1, 0, 0)")
