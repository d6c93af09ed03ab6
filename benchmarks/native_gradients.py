"""Gradients of kernels as native code: held to differences, and the time of a gradient beside that of a launch.

python -m benchmarks.native_gradients [--rounds 9] [--only REGEX] [--markdown]

The kernels are such as tensor programs do badly: data-dependent loops, chains of places, sweeps in place, sorting
within a thread. A gradient is the value and the gradient of a weighted sum of all that a launch leaves, by what is
active; a launch is the same sum alone. Both are compiled by `jax.jit`. Times are of the CPU in all threads, the least
of all rounds that they take in turn. The error is that of a derivative in a drawn direction, beside differences in
double precision.
"""

from __future__ import annotations

import argparse
import math
import re
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from benchmarks.measuring import spell_time
from rich.console import Console
from rich.table import Table

import windlass as wl

SOURCE = r"""
#define THREAD int i = blockIdx.x * blockDim.x + threadIdx.x; if (i >= n) return;

__global__ void rows(const int *begin, const int *at, const double *a, const double *x, double *y, int n) {
    THREAD
    double s = 0;
    for (int k = begin[i]; k < begin[i + 1]; k++) s += a[k] * x[at[k]];
    y[i] = s;
}
__global__ void newton(const double *a, double *y, int n) {
    THREAD
    double r = a[i] > 1 ? a[i] : 1.0;
    for (int c = 0; c < 50; c++) {
        double before = r;
        r = (2 * r + a[i] / (r * r)) / 3;
        if (fabs(r - before) < 1e-13) break;
    }
    y[i] = r;
}
__global__ void table(const double *at, const double *of, const double *x, double *y, int m, int n) {
    THREAD
    int low = 0, high = m - 1;
    while (high - low > 1) {
        int middle = (low + high) / 2;
        if (at[middle] <= x[i]) low = middle; else high = middle;
    }
    double t = (x[i] - at[low]) / (at[high] - at[low]);
    y[i] = of[low] * (1 - t) + of[high] * t * t;
}
__global__ void chase(const int *next, const double *x, double *y, int n) {
    THREAD
    double s = 1;
    for (int k = i; k >= 0; k = next[k]) s = 0.9 * s + 0.1 * x[k] * x[k] * s;
    y[i] = s;
}
__global__ void seidel(double *u, const double *f, int n, int sweeps) {
    if (blockIdx.x * blockDim.x + threadIdx.x) return;
    for (int s = 0; s < sweeps; s++)
        for (int i = 1; i < n - 1; i++) u[i] = 0.5 * (u[i - 1] + u[i + 1] - f[i] * u[i] * u[i]);
}
__global__ void scans(const double *x, double *y, int m, int n) {
    THREAD
    double s = 0;
    for (int k = 0; k < m; k++) {
        s = 0.7 * s + x[i * m + k];
        y[i * m + k] = s * s;
    }
}
__global__ void march(const double *density, const double *slope, double *y, int m, int n) {
    THREAD
    double t = 0, left = 1, sum = 0;
    for (int k = 0; k < 200; k++) {
        if (left < 0.05) break;
        int cell = (int)(t * slope[i]);
        if (cell >= m) break;
        double step = 0.1 + 0.05 * density[cell];
        sum += left * density[cell] * step;
        left *= 1 - 0.3 * density[cell] * step;
        t += step;
    }
    y[i] = sum + left;
}
__global__ void sorting(const double *x, double *y, int n) {
    THREAD
    double a[8];
    for (int k = 0; k < 8; k++) {
        double v = x[8 * i + k];
        int j = k;
        while (j > 0 && a[j - 1] > v) { a[j] = a[j - 1]; j--; }
        a[j] = v;
    }
    double s = 0;
    for (int k = 0; k < 8; k++) { s = 0.5 * s + a[k] * a[k]; y[8 * i + k] = s; }
}
__global__ void network(const double *x, double *y, int n) {
    THREAD
    double a[4];
    for (int k = 0; k < 4; k++) a[k] = x[4 * i + k];
    for (int p = 0; p < 4; p++)
        for (int k = p & 1; k + 1 < 4; k += 2)
            if (a[k] > a[k + 1]) { double t = a[k]; a[k] = a[k + 1]; a[k + 1] = t; }
    for (int k = 0; k < 4; k++) y[4 * i + k] = a[k] * a[k] * (k + 1);
}
__global__ void in_turn(double *s, const double *x, double *y, int n) {
    THREAD
    s[0] = s[0] * 0.5 + x[i] * s[0];
    y[i] = s[0] * x[i];
}
__global__ void bins(const double *x, double *sums, int m, int n) {
    THREAD
    atomicAdd(sums + (i * 7919u) % m, exp(x[i]) * x[i]);
}
__global__ void compact(const double *x, double *y, int *count, int n) {
    THREAD
    if (x[i] > 0) {
        int k = atomicAdd(count, 1);
        y[k] = sqrt(x[i]) + x[i] * x[i];
    }
}
__global__ void pivots(const double *x, double *y, int n) {
    THREAD
    double m[9], det = 1;
    for (int k = 0; k < 9; k++) m[k] = x[9 * i + k];
    for (int p = 0; p < 3; p++) {
        int best = p;
        for (int r = p + 1; r < 3; r++) if (fabs(m[3 * r + p]) > fabs(m[3 * best + p])) best = r;
        if (best != p) {
            for (int c = 3 * p; c < 3 * p + 3; c++) {
                double t = m[c];
                m[c] = m[c + 3 * (best - p)];
                m[c + 3 * (best - p)] = t;
            }
            det = -det;
        }
        det *= m[3 * p + p];
        for (int r = p + 1; r < 3; r++) {
            double f = m[3 * r + p] / m[3 * p + p];
            for (int c = p; c < 3; c++) m[3 * r + c] -= f * m[3 * p + c];
        }
    }
    y[i] = det;
}
__global__ void thomas(const double *a, const double *b, const double *c, double *d, double *w, int m, int n) {
    THREAD
    a += i * m, b += i * m, c += i * m, d += i * m, w += i * m;
    w[0] = c[0] / b[0];
    d[0] /= b[0];
    for (int k = 1; k < m; k++) {
        double q = 1 / (b[k] - a[k] * w[k - 1]);
        w[k] = c[k] * q;
        d[k] = (d[k] - a[k] * d[k - 1]) * q;
    }
    for (int k = m - 2; k >= 0; k--) d[k] -= w[k] * d[k + 1];
}
__global__ void adaptive(const double *start, double *end, double rate, int n) {
    THREAD
    double y = start[i], t = 0, h = 0.1;
    while (t < 1) {
        double f = -rate * y * y, one = y + h * f, half = y + 0.5 * h * f;
        half += 0.5 * h * (-rate * half * half);
        if (fabs(one - half) > 1e-4 && h > 1e-3) { h *= 0.5; continue; }
        y = half;
        t += h;
        h *= 1.3;
    }
    end[i] = y;
}
"""
LIMIT = 4.0
"""What a gradient may take at most, in launches: the geometric mean."""


class Case(NamedTuple):
    """A launch: how many threads, its arguments, and which of them are active."""

    threads: int
    arguments: tuple[Any, ...]
    active: tuple[int, ...]


def cases() -> dict[str, Case]:
    draw = np.random.default_rng(8)
    n = 20_000
    counts = draw.integers(0, 12, n)
    begin = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    entries = int(begin[-1])
    columns = draw.integers(0, n, entries).astype(np.int32)
    places = np.linspace(-4, 4, 1000) + draw.uniform(-1e-3, 1e-3, 1000)
    next_ = np.array([-1 if k == 0 else max(-1, k - int(draw.integers(1, 2000))) for k in range(n)], np.int32)
    h, one, zeros = 5 * n, np.ones(1), np.zeros

    def normal(size: int) -> Any:
        return draw.normal(size=size)

    return {
        "rows": Case(n, (begin, columns, normal(entries), normal(n), zeros(n), n), (2, 3)),
        "newton": Case(n, (draw.uniform(0.5, 50, n), zeros(n), n), (0,)),
        "table": Case(n, (places, normal(1000), normal(n), zeros(n), 1000, n), (0, 1, 2)),
        "chase": Case(n, (next_, normal(n), zeros(n), n), (1,)),
        "seidel": Case(1, (0.3 * normal(n), 0.5 * normal(n), n, 10), (0, 1)),
        "scans": Case(n // 10, (normal(n * 10), zeros(n * 10), 100, n // 10), (0,)),
        "march": Case(n, (draw.uniform(0.1, 1, 64), draw.uniform(1, 4, n), zeros(n), 64, n), (0, 1)),
        "sorting": Case(n, (normal(8 * n), zeros(8 * n), n), (0,)),
        "network": Case(4 * n, (normal(16 * n), zeros(16 * n), 4 * n), (0,)),
        "in_turn": Case(10 * n, (one, draw.uniform(0.49, 0.51, 10 * n), zeros(10 * n), 10 * n), (0, 1)),
        "bins": Case(10 * n, (normal(10 * n), zeros(256), 256, 10 * n), (0,)),
        "compact": Case(10 * n, (normal(10 * n), zeros(10 * n), np.zeros(1, np.int32), 10 * n), (0,)),
        "pivots": Case(n, (normal(9 * n), zeros(n), n), (0,)),
        "thomas": Case(
            n // 10,
            (0.1 * normal(h), 2 + draw.uniform(size=h), 0.1 * normal(h), normal(h), zeros(h), 50, n // 10),
            (0, 1, 2, 3),
        ),
        "adaptive": Case(n, (draw.uniform(0.5, 3, n), zeros(n), np.float64(1.1), n), (0, 2)),
    }  # fmt: skip


def loss_of(module: wl.cuda.Module, name: str, case: Case) -> Callable[..., Any]:
    """A weighted sum of what a launch leaves, as a function of what is active."""
    block = min(case.threads, 128)
    run = wl.native(module[name]).jax(-(-case.threads // block), block)
    given = [jnp.asarray(each) if isinstance(each, np.ndarray) else each for each in case.arguments]

    def loss(*active: Any) -> Any:
        now = list(given)
        for position, value in zip(case.active, active, strict=True):
            now[position] = value
        found = run(*now)
        results = found if isinstance(found, tuple) else (found,)
        return sum((each * weights[each.shape]).sum() for each in results if jnp.issubdtype(each.dtype, jnp.floating))

    draw = np.random.default_rng(1)
    shapes = {each.shape for each in case.arguments if isinstance(each, np.ndarray)}
    weights = {shape: jnp.asarray(draw.normal(size=shape)) for shape in sorted(shapes)}
    return loss


def least(ways: Sequence[Callable[[], Any]], rounds: int) -> list[float]:
    """The least CPU time of each, in turn."""
    found = [math.inf] * len(ways)
    for _ in range(rounds):
        for place, run in enumerate(ways):
            begin = time.process_time()
            jax.block_until_ready(run())
            found[place] = min(found[place], time.process_time() - begin)
    return found


def measure(module: wl.cuda.Module, name: str, case: Case, rounds: int) -> tuple[float, float, float]:
    """CPU seconds of a launch and of a gradient, and the error of the gradient."""
    loss = loss_of(module, name, case)
    active = [jnp.asarray(case.arguments[position]) for position in case.active]
    primal = jax.jit(loss)
    gradient = jax.jit(jax.value_and_grad(loss, tuple(range(len(active)))))
    _, slopes = gradient(*active)
    draw = np.random.default_rng(2)
    moved = [jnp.asarray(draw.normal(size=each.shape)) for each in active]
    derivative = sum(float((s * m).sum()) for s, m in zip(slopes, moved, strict=True))
    size = sum(float(jnp.abs(s * m).sum()) for s, m in zip(slopes, moved, strict=True))
    error = math.inf
    # At large steps comparisons between elements change, at small ones sums are rounded.
    for step in (1e-6, 1e-7, 1e-8):
        ends = [float(primal(*(a + sign * step * m for a, m in zip(active, moved, strict=True)))) for sign in (1, -1)]
        error = min(error, abs((ends[0] - ends[1]) / (2 * step) - derivative) / size)
    launch, whole = least([lambda: primal(*active), lambda: gradient(*active)], rounds)
    return launch, whole, error


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--only", default="")
    parser.add_argument("--markdown", action="store_true")
    options = parser.parse_args()
    jax.config.update("jax_enable_x64", True)
    module = wl.cuda.compile(SOURCE)
    table = Table("kernel", "launch", "gradient", "ratio", "error")
    ratios: list[float] = []
    for name, case in cases().items():
        if not re.search(options.only, name):
            continue
        launch, whole, error = measure(module, name, case, options.rounds)
        ratios.append(whole / launch)
        row = (name, spell_time(launch), spell_time(whole), f"{ratios[-1]:.2f}", f"{error:.0e}")
        if options.markdown:
            print("| " + " | ".join(row) + " |", flush=True)
        table.add_row(*row)
    if not options.markdown:
        Console().print(table)
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    print(f"geometric mean {mean:.2f} (at most {LIMIT:g})")


if __name__ == "__main__":
    main()
