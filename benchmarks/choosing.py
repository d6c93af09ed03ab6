"""Which form launches take by estimate, beside what each form takes: how often the choice costs more than it need.

python -m benchmarks.choosing [--margin 1.15]

Times are the least of several rounds on copies of the arrays (`wl.tune`), on NumPy arrays.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from benchmarks import native_blocks
from benchmarks.native import cases as native
from rich.console import Console
from rich.table import Table

import windlass as wl

SOURCE = r"""
__global__ void saxpy(int n, float a, const float *x, float *y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] += a * x[i];
}
__global__ void count(const int *x, int *counts, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(&counts[x[i]], 1);
}
__global__ void gather(const int *where, const float *x, float *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[where[i]];
}
__global__ void bodies(const float4 *p, float3 *a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float x = 0, y = 0, z = 0;
    for (int j = 0; j < n; j++) {
        float dx = p[j].x - p[i].x, dy = p[j].y - p[i].y, dz = p[j].z - p[i].z;
        float s = rsqrtf(dx * dx + dy * dy + dz * dz + 1e-3f), w = p[j].w * s * s * s;
        x += w * dx, y += w * dy, z += w * dz;
    }
    a[i] = make_float3(x, y, z);
}
__global__ void transpose(const float *x, float *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
    y[i * n + j] = x[j * n + i];
}
__global__ void matmul(const float *a, const float *b, float *c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
    float sum = 0;
    for (int k = 0; k < n; k++) sum += a[j * n + k] * b[k * n + i];
    c[j * n + i] = sum;
}
__global__ void visit(const int *start, const int *edges, const int *level, int *next, int now, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && level[i] == now)
        for (int k = start[i]; k < start[i + 1]; k++) next[edges[k]] = now + 1;
}
"""


@dataclass(frozen=True)
class Case:
    """A launch of a kernel."""

    kernel: wl.cuda.Kernel
    grid: Any
    block: Any
    arguments: Sequence[Any]


def cases() -> Iterator[Case]:
    """Launches of this page, and of the pages on native code."""
    draw, f4, n = np.random.default_rng(0), np.float32, 1 << 20
    module = wl.cuda.compile(SOURCE)
    many, blocks = n, n // 256
    x, y = draw.random(n, f4), draw.random(n, f4)
    where = draw.integers(0, n, n).astype(np.int32)
    yield Case(module["saxpy"], blocks, 256, (many, f4(2), x, y))
    yield Case(module["count"], blocks, 256, (where % 256, np.zeros(256, np.int32), many))
    yield Case(module["gather"], blocks, 256, (where, x, y, many))
    yield Case(module["bodies"], 16, 128, (draw.random((2048, 4), f4), np.zeros((2048, 3), f4), 2048))
    yield Case(module["transpose"], (32, 128), (32, 8), (x, y, 1024))
    few = (draw.random(512 * 512, f4), draw.random(512 * 512, f4), np.zeros(512 * 512, f4), 512)
    yield Case(module["matmul"], (16, 64), (32, 8), few)
    start = np.arange(0, n + 1, 4, dtype=np.int32)
    level = draw.integers(0, 2, n // 4).astype(np.int32)
    yield Case(module["visit"], blocks // 4, 256, (start, where % (n // 4), level, level.copy(), 1, n // 4))
    kernels = wl.cuda.compile(native.SOURCE)
    for case in native.cases():
        for launch in {each.kernel: each for each in case.launches}.values():
            given = [case.arguments[place] for place in launch.arguments]
            yield Case(kernels[launch.kernel], launch.grid, launch.block, given)
    for case in native_blocks.cases():
        launches = reversed(case.launches(*(each.copy() for each in case.arrays)))
        for kernel, grid, block, given in {each[0]: each for each in launches}.values():
            yield Case(native_blocks.module()[kernel], grid, block, given)


def main() -> None:
    """Prints a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--margin", type=float, default=1.15)
    options = parser.parse_args()
    table = Table("kernel", "by estimate", "raised ms", "native ms", "taken / best")
    ratios: list[float] = []
    for case in cases():
        taken = case.kernel.explain(case.grid, case.block, *case.arguments).form
        try:
            report = wl.tune(case.kernel)[case.grid, case.block](*case.arguments)
        except wl.LaunchError as error:  # it stops where something does not hold
            print(f"left out: {error.diagnostics[0].headline}")
            continue
        measured = {each.form: each.measured for each in report.candidates if each.measured is not None}
        ratios.append(measured[taken] / min(measured.values()))
        raised, made = (f"{1e3 * measured[each]:.2f}" if each in measured else "-" for each in ("raised", "native"))
        print(case.kernel.name, taken, raised, made, f"{ratios[-1]:.2f}", flush=True)
        table.add_row(case.kernel.name, taken, raised, made, f"{ratios[-1]:.2f}")
    Console().print(table)
    good = sum(each <= options.margin for each in ratios)
    print(f"{good} of {len(ratios)} within {options.margin} of the best form by estimate alone")


if __name__ == "__main__":
    import os

    with tempfile.TemporaryDirectory() as folder:  # in which nothing was measured before
        os.environ["WINDLASS_CACHE"] = folder
        main()
