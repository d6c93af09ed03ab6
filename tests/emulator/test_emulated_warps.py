"""Shuffles, votes, matches and reductions give each lane what CUDA gives it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from windlass.emulator import Emulator

Emulate = Callable[[str], Emulator]
LANES = np.arange(32)


def launch(
    emulator: Emulator, kernel: str, *outputs: np.ndarray, threads: int = 32, detect_uninitialized: bool = True
) -> None:
    emulator.launch(kernel, 1, threads, outputs, detect_uninitialized=detect_uninitialized)


@pytest.mark.parametrize("c_type", ["int", "unsigned", "float", "double", "long long"])
@pytest.mark.parametrize("width", [4, 32])
def test_shuffles_of_every_kind(emulate: Emulate, c_type: str, width: int) -> None:
    emulator = emulate(f"""
        __global__ void run(double *index, double *up, double *down, double *exclusive) {{
            int i = threadIdx.x;
            {c_type} v = ({c_type})(i * 3);
            index[i] = (double)__shfl_sync(0xffffffff, v, 1, {width});
            up[i] = (double)__shfl_up_sync(0xffffffff, v, 2, {width});
            down[i] = (double)__shfl_down_sync(0xffffffff, v, 2, {width});
            exclusive[i] = (double)__shfl_xor_sync(0xffffffff, v, 1, {width});
        }}""")
    index, up, down, exclusive = np.zeros((4, 32))
    launch(emulator, "run", index, up, down, exclusive)
    first = LANES // width * width
    np.testing.assert_array_equal(index, 3 * (first + 1))
    np.testing.assert_array_equal(up, 3 * np.where(first + 2 > LANES, LANES, LANES - 2))
    np.testing.assert_array_equal(down, 3 * np.where(first + width - 2 > LANES, LANES + 2, LANES))
    np.testing.assert_array_equal(exclusive, 3 * (LANES ^ 1))


def test_votes(emulate: Emulate) -> None:
    emulator = emulate("""
        __global__ void run(int *any, int *all, int *uniform, unsigned *ballot, unsigned *part) {
            int i = threadIdx.x;
            any[i] = __any_sync(0xffffffff, i == 7) + 2 * __any_sync(0xffffffff, i == 70);
            all[i] = __all_sync(0xffffffff, i < 32) + 2 * __all_sync(0xffffffff, i < 31);
            uniform[i] = __uni_sync(0xffffffff, i > 40) + 2 * __uni_sync(0xffffffff, i > 4);
            ballot[i] = __ballot_sync(0xffffffff, i % 3 == 0);
            if (i < 8) part[i] = __ballot_sync(0xff, i % 2); else part[i] = __ballot_sync(0xffffff00, i > 30);
        }""")
    any_, all_, uniform = np.zeros((3, 32), np.int32)
    ballot, part = np.zeros((2, 32), np.uint32)
    launch(emulator, "run", any_, all_, uniform, ballot, part)
    assert (any_ == 1).all() and (all_ == 1).all() and (uniform == 1).all()
    assert (ballot == sum(1 << lane for lane in range(0, 32, 3))).all()
    np.testing.assert_array_equal(part, np.where(LANES < 8, 0b10101010, 1 << 31))


def test_matches_and_reductions(emulate: Emulate) -> None:
    emulator = emulate("""
        __global__ void run(unsigned *same, unsigned *wide, unsigned *all, int *holds, int *sum, int *least,
                            unsigned *most, unsigned *bits) {
            int i = threadIdx.x;
            same[i] = __match_any_sync(0xffffffff, i % 4);
            wide[i] = __match_any_sync(0xffffffff, (long long)(i / 16) << 40);
            int flag;
            all[i] = __match_all_sync(0xffffffff, i / 32, &flag);
            holds[i] = flag;
            __match_all_sync(0xffffffff, i, &flag);
            holds[i] += 2 * flag;
            sum[i] = __reduce_add_sync(0xffffffff, i - 40);
            least[i] = __reduce_min_sync(0xffffffff, i - 40);
            most[i] = __reduce_max_sync(0xffffffff, (unsigned)(i - 40));
            bits[i] = __reduce_xor_sync(0xffffffff, (unsigned)i * 5) + __reduce_or_sync(0xffffffff, (unsigned)i);
        }""")
    same, wide, all_, most, bits = np.zeros((5, 32), np.uint32)
    holds, total, least = np.zeros((3, 32), np.int32)
    launch(emulator, "run", same, wide, all_, holds, total, least, most, bits)
    np.testing.assert_array_equal(same, 0x11111111 << (LANES % 4))
    np.testing.assert_array_equal(wide, np.where(LANES < 16, 0xFFFF, 0xFFFF0000))
    assert (all_ == 0xFFFFFFFF).all() and (holds == 1).all()
    assert (total == (LANES - 40).sum()).all() and (least == -40).all() and (most == 2**32 - 9).all()
    assert (bits == np.bitwise_xor.reduce(LANES * 5) + 31).all()


def test_masks_name_half_warps_and_groups(emulate: Emulate) -> None:
    emulator = emulate("""
        __global__ void run(int *out) {
            int i = threadIdx.x;
            if (i < 16) out[i] = __shfl_down_sync(0x0000ffff, i, 1);
            else out[i] = __shfl_up_sync(0xffff0000, i, 1, 16);
        }""")
    out = np.zeros(32, np.int32)
    launch(emulator, "run", out, detect_uninitialized=False)
    expected = np.where(LANES < 16, LANES + 1, LANES - 1)
    expected[15], expected[16] = 15, 16  # lane 16 is no member; the segment begins at 16
    np.testing.assert_array_equal(out, expected)


def test_lanes_that_have_exited_are_not_waited_for(emulate: Emulate) -> None:
    emulator = emulate("""
        __global__ void run(int *out, unsigned *ballot) {
            int i = threadIdx.x;
            if (i >= 20) return;
            ballot[i] = __ballot_sync(0xffffffff, 1);
            out[i] = __shfl_sync(0xffffffff, i, 5);
            __syncwarp();
        }""")
    out, ballot = np.zeros(32, np.int32), np.zeros(32, np.uint32)
    launch(emulator, "run", out, ballot)
    assert (out[:20] == 5).all() and (ballot[:20] == 2**20 - 1).all()


def test_last_warp_may_be_incomplete(emulate: Emulate) -> None:
    emulator = emulate("""
        __global__ void run(int *out) {
            int sum = 1;
            for (int k = 16; k > 0; k /= 2) sum += __shfl_xor_sync(0xffffffff, sum, k) * (threadIdx.x < 32);
            out[threadIdx.x] = sum + __popc(__activemask()) * 100;
        }""")
    out = np.zeros(40, np.int32)
    launch(emulator, "run", out, threads=40)
    np.testing.assert_array_equal(out, [3232] * 32 + [801] * 8)


def test_warp_reduction_of_a_whole_block(emulate: Emulate) -> None:
    emulator = emulate("""
        __global__ void run(const float *x, float *out) {
            __shared__ float part[32];
            int i = threadIdx.x, lane = i % 32, warp = i / 32;
            float v = x[i];
            for (int k = 16; k > 0; k /= 2) v += __shfl_down_sync(0xffffffff, v, k);
            if (lane == 0) part[warp] = v;
            __syncthreads();
            if (warp == 0) {
                v = lane < blockDim.x / 32 ? part[lane] : 0.0f;
                for (int k = 16; k > 0; k /= 2) v += __shfl_down_sync(0xffffffff, v, k);
                if (lane == 0) out[0] = v;
            }
        }""")
    x, out = np.random.default_rng(5).random(256, np.float32), np.zeros(1, np.float32)
    launch(emulator, "run", x, out, threads=256)
    np.testing.assert_allclose(out[0], x.sum(), rtol=1e-5)


def test_volatile_accesses_run_in_lockstep_within_a_warp(emulate: Emulate) -> None:
    """Code from before Volta: no barrier below 32 threads."""
    emulator = emulate("""
        __global__ void run(const int *x, int *out) {
            __shared__ volatile int s[64];
            int i = threadIdx.x;
            s[i] = x[i];
            __syncthreads();
            if (i < 32) {
                s[i] += s[i + 32]; s[i] += s[i + 16]; s[i] += s[i + 8];
                s[i] += s[i + 4]; s[i] += s[i + 2]; s[i] += s[i + 1];
            }
            if (i == 0) out[0] = s[0];
        }""")
    x, out = np.arange(64, dtype=np.int32) ** 2, np.zeros(1, np.int32)
    launch(emulator, "run", x, out, threads=64)
    assert out[0] == (x).sum()


def test_spin_lock_between_threads_of_a_warp(emulate: Emulate) -> None:
    emulator = emulate("""
        __device__ int lock;
        __global__ void run(int *total) {
            bool done = false;
            while (!done) {
                if (atomicCAS(&lock, 0, 1) == 0) {
                    total[0] += threadIdx.x;
                    __threadfence();
                    atomicExch(&lock, 0);
                    done = true;
                }
            }
        }""")
    total = np.zeros(1, np.int32)
    emulator.launch("run", 2, 64, (total,))
    assert total[0] == 2 * sum(range(64))
