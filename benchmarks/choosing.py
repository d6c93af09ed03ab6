"""Which form launches take, beside what each form takes: how often the choice costs more than it need.

python -m benchmarks.choosing [--unseen] [--cpu] [--margin 1.15]

Times are the least of several rounds on copies of the arrays (`wl.tune`), on NumPy arrays. A launch that is tried takes
what is measured to be the better form where both give the same bits, and elsewhere the one that it has by estimate.
`--unseen` measures other launches than those that the estimates were fitted to; with `--cpu` times are of all threads
together, which is less disturbed by what else a machine does.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks import native_blocks
from benchmarks.native import cases as native
from rich.console import Console
from rich.table import Table

import windlass as wl
from windlass.launching.choosing import choose
from windlass.launching.form import Request
from windlass.runtime.launch_shape import read_launch_shape

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


def unseen_cases() -> Iterator[Case]:
    """Launches that the estimates were not fitted to, some of them small."""
    draw, f4, n = np.random.default_rng(1), np.float32, 1 << 18
    module = wl.cuda.compile(Path(__file__).with_name("choosing_unseen.cu"))
    x, y = draw.random(n, f4), draw.random(n, f4)
    pixels = draw.integers(0, 255, (1024, 1024)).astype(np.uint8)
    places, levels = draw.random((n, 2), f4), draw.random((96, 96, 96))
    centres, bits = draw.random((16, 8), f4), pixels[:256, :256].copy() & 1
    numbers = draw.integers(0, 1 << 20, 1 << 16).astype(np.int32)
    long_x, long_y = draw.random(n), draw.random(n)
    matrix = draw.random(1 << 20, f4)
    yield Case(module["nearest"], n // 256, 256, (places, x.copy(), f4(0.5), f4(0.5), n))
    points, near = draw.random(8 << 14, f4), np.zeros(1 << 14, np.int32)
    yield Case(module["assign"], 128, 128, (points, centres, near, 1 << 14, 16, 8))
    yield Case(module["live"], (16, 16), (16, 16), (bits, bits.copy(), 256))
    yield Case(module["running"], 8, 128, (matrix, matrix.copy(), 1024, 1024))
    yield Case(module["sort"], 256, 256, (numbers,))
    yield Case(module["sobel"], (32, 128), (32, 8), (pixels, pixels.copy(), 1024, 1024))
    yield Case(module["hits"], 32, 128, (np.zeros(4096, np.uint32), 256))
    yield Case(module["dot"], 32, 128, (long_x, long_y, np.zeros(32), n))
    yield Case(module["rows"], 128, 256, (matrix, x[:1024].copy(), np.zeros(1024, f4), 1024))
    yield Case(module["convolve"], n // 128, 128, (x, y.copy(), n))
    yield Case(module["interleave"], 16, 128, (x[:2048].copy(), y[:2048].copy(), np.zeros(4096, f4), 2048))
    yield Case(module["relax"], (3, 24), (32, 4), (levels, levels.copy(), 96))


def main() -> None:
    """Prints a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--margin", type=float, default=1.15)
    parser.add_argument("--unseen", action="store_true")
    parser.add_argument("--cpu", action="store_true")
    options = parser.parse_args()
    if options.cpu:
        time.perf_counter = time.process_time
    table = Table("kernel", "raised ms", "native ms", "better", "by estimate", "taken / best", "tried / best")
    estimated: list[float] = []
    tried: list[float] = []
    for case in unseen_cases() if options.unseen else cases():
        taken = case.kernel.explain(case.grid, case.block, *case.arguments).form
        try:
            report = wl.tune(case.kernel)[case.grid, case.block](*case.arguments)
        except wl.LaunchError as error:  # it stops where something does not hold
            print(f"left out: {error.diagnostics[0].headline}")
            continue
        measured = {each.form: each.measured for each in report.candidates if each.measured is not None}
        if not measured:
            print(f"left out: {case.kernel.name} was not raised in time")
            continue
        best = min(measured.values())
        better = next(form for form, seconds in measured.items() if seconds == best)
        estimated.append(measured[taken] / best)
        tried.append(1.0 if gives_same_bits(case) else estimated[-1])
        raised, made = (f"{1e3 * measured[each]:.3f}" if each in measured else "-" for each in ("raised", "native"))
        cells = (case.kernel.name, raised, made, better, taken, f"{estimated[-1]:.2f}", f"{tried[-1]:.2f}")
        print(*cells, flush=True)
        table.add_row(*cells)
    Console().print(table)
    for how, ratios in (("by estimate alone", estimated), ("with trials", tried)):
        good = sum(each <= options.margin for each in ratios)
        print(f"{good} of {len(ratios)} within {options.margin} of the better form {how}")


def gives_same_bits(case: Case) -> bool:
    """Whether both forms gave the same when they were timed: else a trial leaves the choice to the estimate."""
    shape = read_launch_shape(case.kernel.signature, (case.grid, case.block))
    found = choose(Request.of(case.kernel, shape, case.arguments)).measurement
    return found is None or found.are_same


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:  # in which nothing was measured before
        os.environ["WINDLASS_CACHE"] = folder
        main()
