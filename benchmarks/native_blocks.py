"""Kernels whose threads meet: as native code, raised, and in the emulator.

python -m benchmarks.native_blocks

Seconds of CPU in all threads, the best of several rounds; the emulator runs a smaller grid, and is counted per block.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import windlass as wl

SOURCE = r"""
__global__ void product(const float *a, const float *b, float *c, int n) {
    __shared__ float s[16][16], t[16][16];
    int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 16 + y, column = blockIdx.x * 16 + x;
    float sum = 0;
    for (int k = 0; k < n; k += 16) {
        s[y][x] = a[row * n + k + x];
        t[y][x] = b[(k + y) * n + column];
        __syncthreads();
        for (int i = 0; i < 16; i++) sum += s[y][i] * t[i][x];
        __syncthreads();
    }
    c[row * n + column] = sum;
}
__global__ void histogram(const int *x, int *counts, int n) {
    __shared__ int own[256];
    own[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * 4096 + threadIdx.x; i < (blockIdx.x + 1) * 4096; i += 256) atomicAdd(&own[x[i]], 1);
    __syncthreads();
    atomicAdd(&counts[threadIdx.x], own[threadIdx.x]);
}
__global__ void tree(const float *x, float *sums) {
    __shared__ float part[256];
    int t = threadIdx.x;
    part[t] = x[blockIdx.x * 256 + t];
    __syncthreads();
    for (int s = 128; s > 0; s /= 2) {
        if (t < s) part[t] += part[t + s];
        __syncthreads();
    }
    if (t == 0) sums[blockIdx.x] = part[0];
}
__global__ void warps(const float *x, float *sums) {
    __shared__ float part[8];
    int t = threadIdx.x;
    float v = x[blockIdx.x * 256 + t];
    for (int o = 16; o; o /= 2) v += __shfl_down_sync(~0u, v, o);
    if (t % 32 == 0) part[t / 32] = v;
    __syncthreads();
    if (t < 32) {
        v = t < 8 ? part[t] : 0;
        for (int o = 4; o; o /= 2) v += __shfl_down_sync(~0u, v, o);
        if (t == 0) sums[blockIdx.x] = v;
    }
}
__global__ void align(const int *reference, int *score, int penalty) {
    __shared__ int s[17][17], r[16][16];
    int t = threadIdx.x, base = blockIdx.x * 17 * 17;
    for (int y = 0; y < 17; y++) {
        s[y][t] = score[base + y * 17 + t];
        if (t == 15) s[y][16] = score[base + y * 17 + 16];
    }
    for (int y = 0; y < 16; y++) r[y][t] = reference[(blockIdx.x * 16 + y) * 16 + t];
    __syncthreads();
    for (int m = 0; m < 16; m++) {
        if (t <= m) {
            int x = t + 1, y = m - t + 1;
            s[y][x] = max(s[y - 1][x - 1] + r[y - 1][x - 1], max(s[y][x - 1], s[y - 1][x]) - penalty);
        }
        __syncthreads();
    }
    for (int m = 14; m >= 0; m--) {
        if (t <= m) {
            int x = t + 16 - m, y = 16 - t;
            s[y][x] = max(s[y - 1][x - 1] + r[y - 1][x - 1], max(s[y][x - 1], s[y - 1][x]) - penalty);
        }
        __syncthreads();
    }
    for (int y = 0; y < 16; y++) score[base + (y + 1) * 17 + t + 1] = s[y + 1][t + 1];
}
__global__ void path(const int *wall, const int *from, int *to, int columns, int rows) {
    __shared__ int before[256], after[256];
    int t = threadIdx.x, x = blockIdx.x * 224 + t - 16;
    bool is_inside = x >= 0 && x < columns;
    before[t] = is_inside ? from[x] : 1 << 20;
    __syncthreads();
    for (int row = 0; row < rows; row++) {
        if (t > row && t < 255 - row && is_inside)
            after[t] = wall[row * columns + x] + min(before[t], min(before[t - 1], before[t + 1]));
        __syncthreads();
        if (t > row && t < 255 - row && is_inside) before[t] = after[t];
        __syncthreads();
    }
    if (t >= 16 && t < 240 && is_inside) to[x] = before[t];
}
"""
ROUNDS = 5


@dataclass(frozen=True)
class Case:
    """A launch: `arguments` for so many blocks, the grid and block."""

    name: str
    grid: Any
    block: Any
    arguments: Sequence[Any]
    few: Any
    """A grid that the emulator runs in little time."""


def cases() -> list[Case]:
    """The launches that are measured."""
    random = np.random.default_rng(1)
    n, blocks = 512, 4096

    def floats(count: int) -> Any:
        return random.random(count, np.float32)

    def integers(high: int, count: int) -> Any:
        return random.integers(0, high, count).astype(np.int32)

    return [
        Case("product", (32, 32), (16, 16), (floats(n * n), floats(n * n), np.zeros(n * n, np.float32), n), (2, 2)),
        Case("histogram", 1024, 256, (integers(256, 1024 * 4096), np.zeros(256, np.int32), 1024 * 4096), 4),
        Case("tree", blocks, 256, (floats(blocks * 256), np.zeros(blocks, np.float32)), 32),
        Case("warps", blocks, 256, (floats(blocks * 256), np.zeros(blocks, np.float32)), 32),
        Case("align", blocks, 16, (integers(9, blocks * 256), integers(9, blocks * 289), 3), 64),
        Case(
            "path", blocks, 256,
            (
                integers(9, 14 * 224 * blocks), integers(9, 224 * blocks), np.zeros(224 * blocks, np.int32),
                224 * blocks, 14,
            ),
            16,
        ),
    ]  # fmt: skip


def seconds(run: Callable[..., None], arguments: Sequence[Any], rounds: int = ROUNDS) -> float:
    """The least CPU time of a round; the first is not counted, unless it is the only one."""
    found: list[float] = []
    for _ in range(rounds):
        given = [each.copy() if isinstance(each, np.ndarray) else each for each in arguments]
        begin = time.process_time()
        run(*given)
        found.append(time.process_time() - begin)
    return min(found[1:] or found)


def main() -> None:
    """Prints a table."""
    module = wl.cuda.compile(SOURCE)
    table = Table("kernel", "native ms", "raised / native", "emulated / native, per block")
    for case in cases():
        kernel = module[case.name]
        native = seconds(wl.native(kernel)[case.grid, case.block], case.arguments)
        is_raised = kernel.explain(case.grid, case.block, *case.arguments).is_raised
        raised = seconds(kernel[case.grid, case.block], case.arguments) if is_raised else float("nan")
        emulated = seconds(wl.emulate(kernel)[case.few, case.block], case.arguments, 1)
        share = np.prod(case.few) / np.prod(case.grid)
        table.add_row(case.name, f"{1e3 * native:.2f}", f"{raised / native:.1f}", f"{emulated / share / native:.0f}")
    Console().print(table)


if __name__ == "__main__":
    main()
