"""Kernels as native code on NumPy arrays, beside the same launches raised and Numba's `prange`, on as many threads.

python -m benchmarks.native [--rounds 7] [--threads 2]
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from benchmarks.measuring import Result, Run, compare, show
from rich.console import Console

import windlass as wl

SOURCE = r"""
__global__ void heat(const float *u, float *v, int n, float c) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i > 0 && i < n - 1 && j > 0 && j < n - 1)
        v[j * n + i] = u[j * n + i] + c * (u[j * n + i - 1] + u[j * n + i + 1] + u[(j - 1) * n + i]
                                           + u[(j + 1) * n + i] - 4 * u[j * n + i]);
}
__global__ void mandelbrot(int *out, int n, int limit) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= n || j >= n) return;
    float x0 = 3.0f * i / n - 2.0f, y0 = 2.0f * j / n - 1.0f, x = 0, y = 0;
    int k = 0;
    while (k < limit && x * x + y * y < 4.0f) { float t = x * x - y * y + x0; y = 2 * x * y + y0; x = t; k++; }
    out[j * n + i] = k;
}
__global__ void spmv(int n, const int *start, const int *column, const float *value, const float *x, float *y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float sum = 0;
        for (int k = start[i]; k < start[i + 1]; k++) sum += value[k] * x[column[k]];
        y[i] = sum;
    }
}
__device__ float normal(float d) {
    float k = 1.0f / (1.0f + 0.2316419f * fabsf(d));
    float p = 0.31938153f + k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f)));
    float w = 0.39894228f * expf(-0.5f * d * d) * (k * p);
    return d > 0 ? 1.0f - w : w;
}
__global__ void black_scholes(const float *s, const float *k, const float *t, float *call, float *put, int n, float r,
                              float v) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float q = sqrtf(t[i]), d1 = (logf(s[i] / k[i]) + (r + 0.5f * v * v) * t[i]) / (v * q), d2 = d1 - v * q;
        float a = normal(d1), b = normal(d2), e = expf(-r * t[i]);
        call[i] = s[i] * a - k[i] * e * b;
        put[i] = k[i] * e * (1.0f - b) - s[i] * (1.0f - a);
    }
}
"""


@dataclass(frozen=True)
class Case:
    """A launch, and the same in Numba; `tolerance` for functions that differ in their last bits."""

    name: str
    kernel: str
    grid: Any
    block: Any
    arguments: Sequence[Any]
    peer: Callable[..., None] | None
    tolerance: float = 0.0


def peers() -> dict[str, Callable[..., None]]:
    """The kernels by Numba, where it is installed."""
    try:
        import numba
    except ImportError:
        return {}
    from math import exp, log, sqrt

    parallel = numba.njit(parallel=True, fastmath=False)
    f4 = np.float32

    @parallel
    def heat(u: Any, v: Any, n: Any, c: Any) -> None:
        for j in numba.prange(1, n - 1):
            for i in range(1, n - 1):
                around = u[j, i - 1] + u[j, i + 1] + u[j - 1, i] + u[j + 1, i]
                v[j, i] = u[j, i] + c * (around - f4(4) * u[j, i])

    @parallel
    def mandelbrot(out: Any, n: Any, limit: Any) -> None:
        for j in numba.prange(n):
            for i in range(n):
                x0, y0, x, y = f4(3) * f4(i) / f4(n) - f4(2), f4(2) * f4(j) / f4(n) - f4(1), f4(0), f4(0)
                k = 0
                while k < limit and x * x + y * y < f4(4):
                    x, y = x * x - y * y + x0, f4(2) * x * y + y0
                    k += 1
                out[j, i] = k

    @parallel
    def spmv(n: Any, start: Any, column: Any, value: Any, x: Any, y: Any) -> None:
        for i in numba.prange(n):
            total = f4(0)
            for k in range(start[i], start[i + 1]):
                total += value[k] * x[column[k]]
            y[i] = total

    @numba.njit
    def normal(d: Any) -> Any:
        k = f4(1) / (f4(1) + f4(0.2316419) * abs(d))
        p = f4(1.781477937) + k * (f4(-1.821255978) + k * f4(1.330274429))
        p = f4(0.31938153) + k * (f4(-0.356563782) + k * p)
        w = f4(0.39894228) * f4(exp(f4(-0.5) * d * d)) * (k * p)
        return f4(1) - w if d > 0 else w

    @parallel
    def black_scholes(s: Any, k: Any, t: Any, call: Any, put: Any, n: Any, r: Any, v: Any) -> None:
        for i in numba.prange(n):
            q = f4(sqrt(t[i]))
            d1 = (f4(log(s[i] / k[i])) + (r + f4(0.5) * v * v) * t[i]) / (v * q)
            d2 = d1 - v * q
            a, b, e = normal(d1), normal(d2), f4(exp(-r * t[i]))
            call[i] = s[i] * a - k[i] * e * b
            put[i] = k[i] * e * (f4(1) - b) - s[i] * (f4(1) - a)

    return {"heat": heat, "mandelbrot": mandelbrot, "spmv": spmv, "black_scholes": black_scholes}


def cases() -> list[Case]:
    draw = np.random.default_rng(0)
    known = peers()
    f4 = np.float32
    n = 2048
    u = draw.random((n, n), dtype=f4)
    rows = 200_000
    lengths = draw.integers(4, 13, rows)
    start = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    column = draw.integers(0, rows, start[-1]).astype(np.int32)
    sparse = (rows, start, column, draw.random(start[-1], dtype=f4), draw.random(rows, dtype=f4), np.zeros(rows, f4))
    count = 2_000_000
    prices = [draw.random(count, dtype=f4) + f4(0.5) for _ in range(3)]
    options = (*prices, np.zeros(count, f4), np.zeros(count, f4), count, f4(0.02), f4(0.3))
    blocks = -(-count // 256)
    return [
        Case("heat 2048²", "heat", (n // 64, n // 4), (64, 4), (u, u.copy(), n, f4(0.1)), known.get("heat")),
        Case(
            "mandelbrot 1024², 200 rounds", "mandelbrot", (16, 256), (64, 4),
            (np.zeros((1024, 1024), np.int32), 1024, 200), known.get("mandelbrot"),
        ),
        Case("SpMV, 200,000 rows", "spmv", -(-rows // 256), 256, sparse, known.get("spmv")),
        Case(
            "Black-Scholes, 2 million", "black_scholes", blocks, 256, options, known.get("black_scholes"), 1e-5
        ),
    ]  # fmt: skip


def measure(case: Case, rounds: int) -> Result:
    """The launch as native code against its peer, and as launches were before."""
    module = wl.cuda.compile(SOURCE)
    kernel = module[case.kernel]
    native = wl.native(kernel)[case.grid, case.block]

    def copies() -> list[Any]:
        return [each.copy() if isinstance(each, np.ndarray) else each for each in case.arguments]

    ours, others = copies(), copies()
    native(*ours)
    runs: dict[str, Run] = {}
    if case.peer is not None:
        peer = case.peer
        peer(*others)
        for one, other in zip(ours, others, strict=True):
            np.testing.assert_allclose(one, other, rtol=case.tolerance, atol=case.tolerance)
        runs["Numba prange"] = lambda: peer(*others)
    raised = kernel[case.grid, case.block]
    third = copies()
    runs["Windlass, raised"] = lambda: raised(*third)
    return compare(case.name, lambda: native(*ours), runs, rounds, None)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    for name in ("WINDLASS_NUM_THREADS", "NUMBA_NUM_THREADS"):
        os.environ[name] = str(options.threads)
    os.environ["WINDLASS_NATIVE"] = "0"  # so that launches are raised, but for those by wl.native
    show([measure(case, options.rounds) for case in cases()], Console(width=160))


if __name__ == "__main__":
    main()
