"""Kernels that guard against singular points by branches: what is not taken has no part in derivatives."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import windlass as wl

GUARDS = {
    "if": "if (x[i] > 0) y[i] = sqrt(x[i]); else y[i] = 0;",
    "ternary": "y[i] = x[i] > 0 ? sqrt(x[i]) : 0;",
    "early return": "y[i] = 0; if (x[i] <= 0) return; y[i] = sqrt(x[i]);",
    "entropy": "y[i] = x[i] > 0 ? x[i] * log(x[i]) : 0;",
    "sinc": "y[i] = x[i] != 0 ? sin(x[i]) / x[i] : 1;",
    "pow": "y[i] = x[i] > 0 ? pow(x[i], .5) : 0;",
    "direction": "double r = sqrt(x[i] * x[i]); y[i] = r > 0 ? x[i] / r : 0;",
    "rsqrt": "y[i] = x[i] > 0 ? rsqrt(x[i]) : 0;",
    "in a loop": """double s = 0;
        for (int k = 0; k < n; k++) { double d = x[k] - x[i]; if (d > 0) s += sqrt(d); } y[i] = s;""",
    "continue": """double s = 0; for (int k = 0; k < n; k++) { if (k == i) continue;
        double d = x[k] - x[i], e = k - i, r = sqrt(d * d + e * e); s += d / (r * r * r); } y[i] = s;""",
    "cut": """double s = 0; for (int k = 0; k < n; k++) { double d = fabs(x[k] - x[i] + 3 * (k - i));
        if (k != i && d < 5) { double q = 1 / (d * d), c = q * q * q; s += c * c - c; } } y[i] = s;""",
    "nested": "y[i] = x[i] > 0 ? (x[i] < 1 ? log(1 - x[i]) * sqrt(x[i]) : log(x[i])) : (x[i] < 0 ? log(-x[i]) : 0);",
    "value of before": "double r = sqrt(x[i]); y[i] = x[i] > 0 ? r : 0; if (x[i] > .5) y[i] += r * r * r;",
    "value of before a loop": """double r = sqrt(x[i]), s = 0;
        for (int k = 0; k < 40; k++) if (x[i] > 0) s += r * sin(k * r); y[i] = s;""",
    "around a loop": """double r = sqrt(x[i]), s = 0;
        if (x[i] > 0) for (int k = 0; k < 40; k++) s = sin(s + k * r); y[i] = s;""",
    "by round": """double s = 1;
        for (int k = 0; k < 40; k++) s = x[i] > 0 ? s * .5 + sqrt(x[i]) : s * .25; y[i] = s;""",
    "by thread": "double s = 0; if (x[i] > 0) for (int k = 0; k < i; k++) s += sqrt(x[i]) * k; y[i] = s;",
    "larger": "y[i] = fmax(sqrt(x[i]), 0.3) + fmin(fmax(log(x[i]), -1.), 5.);",
    "by place": "double r = 1 / (i * 1. + x[i]); y[i] = i > 0 ? r : 3;",
    "of another": "int j = (int)(fabs(x[i]) * 10) % n; y[i] = x[j] > 0 ? sqrt(x[j]) : 0;",
    "shared": """__shared__ double t[8]; t[i] = sqrt(x[i]); __syncthreads();
        double s = 0; for (int k = 0; k < n; k++) if (x[k] > 0) s += t[k] * (k + i); y[i] = s;""",
    "largest": """__shared__ double t[8]; t[i] = sqrt(x[i]); __syncthreads();
        double s = 0; for (int k = 0; k < n; k++) s = fmax(s, t[k]); y[i] = s;""",
    "atomic": "if (x[i] > 0) atomicAdd(y, sqrt(x[i]));",
}
X = np.array([0.0, 0.25, 1.5, 0.0, 2.0, 0.7, 0.0, 1.25])
N = len(X)


@pytest.fixture(scope="module")
def module() -> wl.cuda.Module:
    kernels = (
        f"__device__ void guard{number}(int i, const double *x, double *y, int n) {{ {body} }}\n"
        f"__global__ void k{number}(const double *x, double *y, int n) {{ guard{number}(threadIdx.x, x, y, n); }}\n"
        for number, body in enumerate(GUARDS.values())
    )
    return wl.cuda.compile("".join(kernels))


@pytest.fixture(autouse=True)
def double_precision() -> Any:
    with jax.enable_x64(True):
        yield


@pytest.mark.one_in(3)
@pytest.mark.parametrize("part", range(4))
def test_what_a_guard_keeps_out_has_no_derivative(module: wl.cuda.Module, part: int) -> None:
    kernels = [module[f"k{number}"].jax(1, N) for number in range(part, len(GUARDS), 4)]

    def results(x: Any) -> Any:
        return jnp.stack([kernel(x, jnp.zeros(N), N) for kernel in kernels])

    weights = np.cos(np.arange(N) + 1)
    x = jnp.asarray(X)
    forward = np.asarray(jax.jit(jax.jacfwd(lambda x: results(x) @ weights))(x))
    reverse = np.asarray(jax.jit(jax.jacrev(lambda x: results(x) @ weights))(x))
    for name, one, other in zip(list(GUARDS)[part::4], forward, reverse, strict=True):
        assert np.isfinite(one).all(), (name, one)
        np.testing.assert_allclose(other, one, 1e-9, 1e-12, err_msg=name)


def test_second_derivatives_stop_at_guards_too(module: wl.cuda.Module) -> None:
    kernel = module[f"k{[*GUARDS].index('entropy')}"].jax(1, N)

    def total(x: Any) -> Any:
        return kernel(x, jnp.zeros(N), N).sum()

    expected = [1 / each if each > 0 else 0 for each in X]
    for transformed in (jax.hessian(total), jax.jacrev(jax.jacrev(total))):
        np.testing.assert_allclose(np.diagonal(transformed(jnp.asarray(X))), expected, 1e-12)


def test_a_result_that_nothing_uses_has_no_part_in_derivatives() -> None:
    kernel = wl.cuda.compile("""
    __global__ void k(const double *x, double *y, double *z) {
        y[threadIdx.x] = sqrt(x[threadIdx.x]);
        z[threadIdx.x] = x[threadIdx.x] * x[threadIdx.x];
    }""")["k"].jax(1, N)
    zeros = jnp.zeros(N)
    np.testing.assert_array_equal(jax.grad(lambda x: kernel(x, zeros, zeros)[1].sum())(jnp.asarray(X)), 2 * X)
