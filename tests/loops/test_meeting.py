"""Threads that meet, or never do, while a kernel is evaluated."""

from __future__ import annotations

import numpy as np
import pytest
from tests.frontends.llvm.running import run

from windlass.loops import StoppedError


def lanes(source: str, threads: int = 40) -> list[int]:
    """What each thread writes: `source` sets `r` from the thread's number `t`."""
    found = np.zeros(threads, np.int32)
    kernel = f"__global__ void kernel(int *x) {{ int t = threadIdx.x, r = -1; {source} x[t] = r; }}"
    run(kernel, found, block=(threads,))
    return found.tolist()


def test_lanes_exchange_values_within_their_warp() -> None:
    assert lanes("r = __shfl_down_sync(~0u, t, 2);") == [*range(2, 32), 30, 31, *range(34, 40), 38, 39]
    assert lanes("r = __shfl_xor_sync(~0u, t, 1, 4);") == [t ^ 1 for t in range(40)]
    assert lanes("r = __shfl_sync(~0u, t, 3);") == [3] * 32 + [35] * 8


def test_only_lanes_that_are_there_and_named_count() -> None:
    assert lanes("if (t < 4) r = __activemask();", 8) == [15] * 4 + [-1] * 4
    assert lanes("if (t < 4) r = __ballot_sync(7, t & 1);", 4) == [2] * 4
    assert lanes("r = __any_sync(3, t == 2);", 4) == [0] * 4
    assert lanes("r = __match_any_sync(0xff, t / 3);", 8) == [7, 7, 7, 56, 56, 56, 192, 192]
    assert lanes("r = __reduce_add_sync(0xff, t);", 8) == [28] * 8


def test_blocks_count_at_barriers() -> None:
    assert lanes("r = __syncthreads_count(t > 4);") == [35] * 40
    assert lanes("r = __syncthreads_and(t >= 0) + 2 * __syncthreads_or(t > 39);") == [1] * 40


def test_shared_memory_is_seen_after_a_barrier() -> None:
    source = "__shared__ int s[40]; s[t] = t * t; __syncthreads(); r = s[39 - t];"
    assert lanes(source) == [(39 - t) ** 2 for t in range(40)]


def test_grids_meet() -> None:
    x = np.zeros(6, np.int32)
    run(
        """#include <cooperative_groups.h>
        __global__ void kernel(int *x) {
          int i = blockIdx.x * 2 + threadIdx.x;
          x[i] = i + 1;
          cooperative_groups::this_grid().sync();
          int other = x[5 - i];
          cooperative_groups::this_grid().sync();
          x[i] = other;
        }""",
        x,
        grid=(3,),
        block=(2,),
    )
    assert x.tolist() == [6, 5, 4, 3, 2, 1]


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("x[t + 100] = 1;", "an access of int32 at byte 400 of 160 is out of bounds"),
        ("if (t == 3) __trap();", "the kernel traps"),
    ],
)
def test_what_stops_a_program_stops_its_evaluation(source: str, reason: str) -> None:
    with pytest.raises(StoppedError, match=reason):
        lanes(source)


def test_threads_that_wait_for_others_that_wait_elsewhere_are_told() -> None:
    source = """#include <cooperative_groups.h>
        __global__ void kernel(int *x) {
          if (blockIdx.x) cooperative_groups::this_grid().sync(); else { __syncthreads(); x[0] = 1; }
          if (threadIdx.x) cooperative_groups::this_grid().sync(); else __syncthreads();
        }"""
    with pytest.raises(StoppedError, match="wait at a barrier for others that wait elsewhere"):
        run(source, np.zeros(4, np.int32), grid=(2,), block=(2,))
