"""What scans and trees over blocks become: one running fold (of many rows: in parts, by a loop), or one reduction."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import windlass as wl

from . import block_folds
from .program import PROGRAMS

SOURCE = Path(block_folds.__file__).with_suffix(".cu")

ONE_FOLD = {
    "ping_pong_scan": "while",
    "scan_of_scans_of_warps": "while",
    "scans_of_columns": "while",
    "scan_of_runs": "while",
    "trees_of_extremes": "reduce",
    "trees_of_products": "reduce",
}
"""Kernels, and the op that does the work of all their steps."""

IN_STEPS = {"scan_of_guarded_loads": 25, "scan_from_the_end": 27, "scan_with_carry": 21}
"""Kernels whose running sums of integers the rules make by doubling, and how many ops that takes at most."""


@pytest.fixture(scope="module")
def module() -> wl.cuda.Module:
    return wl.cuda.compile(SOURCE)


def ops_of(module: wl.cuda.Module, name: str) -> dict[str, int]:
    """How often each op is in the optimized program of a kernel's first launch."""
    program = next(each for each in PROGRAMS if each.source == SOURCE and each.kernel == name)
    launch = program.launches[0]
    arguments = program.draw_arguments(launch)
    return module[name].explain(launch.grid, launch.block, *arguments, shared_bytes=launch.shared_bytes).ops


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("name", "op"), list(ONE_FOLD.items()))
def test_steps_of_a_block_become_one_fold(module: wl.cuda.Module, name: str, op: str) -> None:
    ops = ops_of(module, name)
    assert 1 <= ops[op] <= 3
    assert sum(ops.values()) <= 20


@pytest.mark.parametrize(("name", "most"), list(IN_STEPS.items()))
def test_scan_of_integers_takes_few_ops(module: wl.cuda.Module, name: str, most: int) -> None:
    assert sum(ops_of(module, name).values()) <= most


def test_histogram_in_shared_memory_is_one_scatter() -> None:
    source = """
    __global__ void histogram(const int *x, unsigned *counts, int n) {
        __shared__ unsigned mine[64];
        mine[threadIdx.x] = 0;
        __syncthreads();
        for (int i = blockIdx.x * 64 + threadIdx.x; i < n; i += 64 * gridDim.x) atomicAdd(&mine[x[i] & 63], 1u);
        __syncthreads();
        atomicAdd(&counts[threadIdx.x], mine[threadIdx.x]);
    }
    """
    kernel = wl.cuda.compile(source)["histogram"]
    x, counts = np.random.default_rng(0).integers(0, 1000, 1000).astype(np.int32), np.zeros(64, np.uint32)
    assert kernel.explain(4, 64, x, counts, x.size).ops["scatter"] == 1
    kernel[4, 64](x, counts, x.size)
    np.testing.assert_array_equal(counts, np.bincount(x & 63, minlength=64))
