"""Kernels with loops of every kind, whose lengths are in an array, against differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import windlass as wl

SOURCE = """
#define KERNEL(name, ...) __global__ void name(const double *x, const double *p, const int *n, double *y) { \\
    int i = threadIdx.x; double v = x[i], a = p[i]; __VA_ARGS__; y[i] = v; }
KERNEL(downwards, for (int k = n[i]; k > 0; k--) v = sin(v) * a + 0.1 * k)
KERNEL(doubling, for (int k = 1; k < n[0]; k *= 2) v = sin(v * k) + a)
KERNEL(leaving, for (int k = 0; k < n[i]; k++) { v = v * a + 0.3; if (v > 1.5) break; })
KERNEL(skipping, for (int k = 0; k < n[i]; k++) { if (k % 3 == 1) continue; v = sin(v) * a * 0.1 * k + v; })
KERNEL(tested_last, int k = 0; do { v = sin(v * v) * a; k++; } while (k < n[i]))
KERNEL(endless, int k = 0; while (true) { if (k >= n[i] || v < 0.01) break; v *= a * 0.8; k++; })
KERNEL(nested, for (int k = 0; k < n[0]; k++) for (int j = 0; j < n[i] && v < 4; j++) v += 0.1 * a * sin(v + j))
KERNEL(returning, for (int k = 0; k < n[i]; k++) { if (v > 2) { y[i] = v * v; return; } v *= 1 + a; })
KERNEL(in_memory, double t[4] = {v, a, v * a, 1};
    for (int k = 0; k < n[i]; k++) t[k % 4] = sin(t[(k + 1) % 4]) * t[k % 4]; v = t[0] + t[1] + t[2])
KERNEL(exchanging, for (int k = 0; k < n[0]; k++) v = sin(v + __shfl_xor_sync(0xffffffff, v, 1)) * a)
KERNEL(adding, for (int k = i; k < n[7]; k += 3) atomicAdd(&y[k % 8], x[i] * p[k % 8]); v = y[i])
__global__ void sharing(const double *x, const double *p, const int *n, double *y) {
    __shared__ double s[2][8];
    int i = threadIdx.x;
    s[0][i] = x[i];
    __syncthreads();
    for (int k = 0; k < n[0]; k++) {
        s[1 - k % 2][i] = s[k % 2][i] + 0.2 * p[i] * sin(s[k % 2][(i + 1) % 8]);
        __syncthreads();
    }
    y[i] = s[n[0] % 2][i];
}
__global__ void bisecting(const double *x, const double *p, const int *n, double *y) {
    double low = 0, high = 4;
    while (high - low > 1e-12) {
        double middle = (low + high) / 2;
        if (middle * middle < x[threadIdx.x]) low = middle; else high = middle;
    }
    y[threadIdx.x] = low * p[threadIdx.x];
}
"""
QUICK = ("downwards", "skipping", "tested_last", "in_memory")
SLOW = ("doubling", "leaving", "endless", "nested", "returning", "exchanging", "sharing", "adding")
N = 8
X, P, LENGTHS = np.linspace(0.3, 1.1, N), np.linspace(0.6, 0.95, N), np.array([3, 0, 1, 7, 2, 5, 4, 20], np.int32)


@pytest.fixture(scope="module")
def module() -> wl.cuda.Module:
    return wl.cuda.compile(SOURCE)


@pytest.mark.parametrize("names", [QUICK, *(pytest.param((name,), marks=pytest.mark.slow) for name in SLOW)], ids=str)
def test_kernels_with_loops_of_any_length_go_backwards(names: tuple[str, ...], module: wl.cuda.Module) -> None:
    """As one program, for it is compiling that takes the time."""

    @wl.jit
    def loss(x: Any, p: Any) -> Any:
        return sum((module[name].jax(1, N)(x, p, LENGTHS, x * 0) * np.cos(np.arange(N))).sum() for name in names)

    found = wl.grad(loss, (0, 1))(X, P)
    step = 1e-6
    for place, one in enumerate(found):
        for number, along in enumerate(step * np.eye(N)):
            up, down = ([(X + sign * along, P), (X, P + sign * along)][place] for sign in (1, -1))
            assert one[number] == pytest.approx((loss(*up) - loss(*down)) / (2 * step), rel=1e-6, abs=1e-8)


def test_what_only_decides_has_no_part_in_a_derivative(module: wl.cuda.Module) -> None:
    """What is found by halving an interval is compared with, and no more: as in JAX and Enzyme."""
    kernel = module["bisecting"].jax(1, N)
    for mode in ("forward", "reverse"):
        by_x, by_p = wl.jacobian(kernel, (0, 1), mode=mode)(X, P, LENGTHS, X)
        assert (by_x == 0).all()
        np.testing.assert_allclose(by_p, np.diag(np.sqrt(X)), 1e-10)
