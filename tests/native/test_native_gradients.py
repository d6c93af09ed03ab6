"""Derivatives of native code are those of its kernels: held to differences, in both modes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import windlass as wl
from windlass.autodiff.kernels import pullback_kernel, tangent_kernel
from windlass.loops import Push, evaluate_kernel
from windlass.loops.verifier import verify_kernel
from windlass.parallel.specialization import specialize

SOURCE = r"""
__global__ void rows(const int *begin, const int *at, const double *a, const double *x, double *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    double s = 0;
    for (int k = begin[i]; k < begin[i + 1]; k++) s += a[k] * sin(x[at[k]]) * cos(0.1 * s);
    y[i] = s;
}
__global__ void newton(const double *a, double *x, double scale, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    double r = a[i] > 1 ? a[i] : 1.0;
    for (int c = 0; c < 50; c++) {
        double next = 0.5 * (r + a[i] / r);
        if (fabs(next - r) < 1e-12) break;
        r = next;
    }
    x[i] += r * scale;
}
__global__ void table(const double *at, const double *of, const double *x, double *y, int m, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int low = 0, high = m - 1;
    while (high - low > 1) {
        int middle = (low + high) / 2;
        if (at[middle] <= x[i]) low = middle; else high = middle;
    }
    double t = (x[i] - at[low]) / (at[high] - at[low]);
    y[i] = of[low] * (1 - t) + of[high] * t * t;
}
__global__ void chase(const int *next, const double *x, double *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    double s = 1;
    for (int k = i; k >= 0; k = next[k]) s = 0.9 * s + 0.1 * x[k] * x[k] * s;
    y[i] = s;
}
__global__ void seidel(double *u, const double *f, int n, int sweeps) {
    for (int s = 0; s < sweeps; s++)
        for (int i = 1; i < n - 1; i++) u[i] = 0.5 * (u[i - 1] + u[i + 1] - f[i] * u[i] * u[i]);
}
__global__ void insertion(const double *x, double *y, int n, int m) {
    int i = threadIdx.x;
    if (i >= n) return;
    double a[8], s = 0;
    for (int k = 0; k < m; k++) {
        double v = x[m * i + k];
        int j = k;
        while (j > 0 && a[j - 1] > v) { a[j] = a[j - 1]; j--; }
        a[j] = v;
    }
    for (int k = 0; k < m; k++) { s = s * 0.5 + a[k] * a[k]; y[m * i + k] = s; }
}
__global__ void in_turn(double *s, const double *x, double *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { s[0] = s[0] * 0.5 + x[i] * s[0]; y[i] = s[0] * s[0]; }
}
__global__ void bins(const double *x, double *sums, double scale, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(sums + (int)(x[i] * 2 + 10) % 4, scale * exp(x[i]));
}
__global__ void compact(const double *x, double *y, int *count, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && x[i] > 0) {
        int k = atomicAdd(count, 1);
        y[k] = x[i] * x[i] * k;
    }
}
__global__ void swapped(double *x, double *y, int n) {
    int i = threadIdx.x;
    if (i >= n) return;
    double t = x[i];
    x[i] = y[i] * t;
    y[i] = t;
    x[i] += y[i] * x[i];
    y[i] = 0;
    for (int k = 0; k < i % 3; k++) x[i] = x[i] * x[i] + 0.5;
    y[i] += x[i];
    x[i] = 3;
}
__global__ void guarded(const double *x, double *y, int n) {
    int i = threadIdx.x;
    if (i >= n) return;
    double s = 0;
    for (int k = 0; k < (int)x[i]; k++) s += log(x[i] + k);
    y[i] = x[i] > 0 ? sqrt(x[i]) + s : 0;
    if (x[i] != 0) y[i] += 1 / x[i];
}
__global__ void left(const double *x, double *y, int n) {
    int i = threadIdx.x;
    if (i >= n) return;
    double s = 0;
    for (int a = 0; a < n; a++) {
        if (a == i) continue;
        double p = 1;
        for (int b = 0; b <= a; b++) {
            p *= x[b] * 0.5 + 0.6;
            if (p > 2) break;
            if (p < -0.5) goto end;
        }
        s += p;
    }
end:
    y[i] = s;
}
__global__ void tree(const double *x, double *y, int n) {
    __shared__ double t[16];
    int k = threadIdx.x, i = blockIdx.x * 16 + k;
    t[k] = i < n ? x[i] * x[i] : 0;
    __syncthreads();
    for (int s = 8; s > 0; s /= 2) {
        if (k < s) t[k] += t[k + s] * 0.9 * t[k];
        __syncthreads();
    }
    if (k == 0) y[blockIdx.x] = t[0];
}
__global__ void jacobi(double *x, int steps) {
    __shared__ double t[10];
    int k = threadIdx.x;
    t[k + 1] = x[blockIdx.x * 8 + k];
    if (k == 0) { t[0] = 0; t[9] = 1; }
    __syncthreads();
    for (int s = 0; s < steps; s++) {
        double v = 0.5 * (t[k] + t[k + 2]) - 0.1 * t[k + 1] * t[k + 1];
        __syncthreads();
        t[k + 1] = v;
        __syncthreads();
    }
    x[blockIdx.x * 8 + k] = t[k + 1];
}
__global__ void shuffled(const double *x, double *y) {
    double v = x[threadIdx.x];
    for (int d = 16; d > 0; d /= 2) v += __shfl_down_sync(~0u, v * 1.1, d) * v * 0.3;
    y[threadIdx.x] = v;
}
__device__ double multiply(double *at, double by) {
    unsigned long long *p = (unsigned long long *)at, old = *p, seen;
    do {
        seen = old;
        old = atomicCAS(p, seen, __double_as_longlong(__longlong_as_double(seen) * by + exp(by)));
    } while (seen != old);
    return __longlong_as_double(old);
}
__global__ void products(double *s, const double *x, double *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = multiply(s + i % 2, x[i] * 0.5);
}
__global__ void bits(const double *x, double *y) {
    long long b = __double_as_longlong(x[threadIdx.x]);
    y[threadIdx.x] = 2.0 * __longlong_as_double(b + (1ll << 52));
}
__global__ void words(const double *x, double *y) {
    ((long long *)y)[threadIdx.x] = __double_as_longlong(x[threadIdx.x]) + 3;
}
"""
DRAW = np.random.default_rng(32)
N = 13
ORDER = np.array([int(DRAW.integers(-1, k)) for k in range(N)], np.int32)
"""Each comes after one of those before it, or ends."""


class Launch(NamedTuple):
    grid: int
    block: int
    arguments: tuple[Any, ...]
    active: tuple[int, ...]


def normal(size: int) -> Any:
    return DRAW.normal(size=size)


LAUNCHES = {
    "rows": Launch(
        2, 8,
        (np.array([0, 2, 2, 5, 6, 9, 9, 12, 14, 14, 15, 17, 18, 20], np.int32),
         DRAW.integers(0, 9, 20).astype(np.int32), normal(20), normal(9), np.zeros(N), N), (2, 3),
    ),
    "newton": Launch(2, 8, (DRAW.uniform(0.3, 5, N), normal(N), np.float64(0.7), N), (0, 1, 2)),
    "table": Launch(2, 8, (np.sort(normal(11)), normal(11), 0.7 * normal(N), np.zeros(N), 11, N), (0, 1, 2)),
    "chase": Launch(2, 8, (ORDER, normal(N), np.zeros(N), N), (1,)),
    "seidel": Launch(1, 1, (0.3 * normal(N), normal(N), N, 3), (0, 1)),
    "insertion": Launch(1, 4, (normal(18), np.zeros(18), 3, 6), (0,)),
    "in_turn": Launch(2, 8, (np.array([1.3]), normal(N), np.zeros(N), N), (0, 1)),
    "bins": Launch(2, 8, (normal(N), normal(4), np.float64(0.7), N), (0, 1, 2)),
    "compact": Launch(2, 8, (normal(N), np.zeros(N), np.zeros(1, np.int32), N), (0,)),
    "swapped": Launch(1, 16, (normal(N), normal(N), N), (0, 1)),
    "guarded": Launch(1, 16, (DRAW.uniform(-3, 4, N), np.zeros(N), N), (0,)),
    "left": Launch(1, 16, (normal(N), np.zeros(N), N), (0,)),
    "tree": Launch(2, 16, (0.5 * normal(27), np.zeros(2), 27), (0,)),
    "jacobi": Launch(2, 8, (normal(16), 5), (0,)),
    "shuffled": Launch(1, 32, (0.3 * normal(32), np.zeros(32)), (0,)),
    "products": Launch(2, 8, (normal(2), normal(N), np.zeros(N), N), (0, 1)),
}  # fmt: skip


@pytest.fixture(scope="module")
def module() -> wl.cuda.Module:
    return wl.cuda.compile(SOURCE)


def loss_of(run: Callable[..., Any], launch: Launch) -> Callable[..., Any]:
    """A number that depends on all floats that a launch leaves, as a function of what is active."""

    def loss(*active: Any) -> Any:
        given = [jnp.asarray(each) if isinstance(each, np.ndarray) else each for each in launch.arguments]
        for position, value in zip(launch.active, active, strict=True):
            given[position] = value
        found = run(*given)
        results = found if isinstance(found, tuple) else (found,)
        total = 0.0
        for each in results:
            if jnp.issubdtype(each.dtype, jnp.floating):
                total += (each * jnp.cos(jnp.arange(1.0, each.size + 1))).sum()
        return total

    return loss


def difference(loss: Callable[..., Any], active: Sequence[Any], moved: Sequence[Any], step: float = 1e-6) -> float:
    ends = [loss(*(a + sign * step * m for a, m in zip(active, moved, strict=True))) for sign in (1, -1)]
    return float(ends[0] - ends[1]) / (2 * step)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", LAUNCHES)
def test_both_modes_agree_with_differences(module: wl.cuda.Module, name: str) -> None:
    launch = LAUNCHES[name]
    with jax.enable_x64(True):
        loss = loss_of(wl.native(module[name]).jax(launch.grid, launch.block), launch)
        active = [jnp.asarray(launch.arguments[position]) for position in launch.active]
        gradient = jax.grad(loss, tuple(range(len(active))))(*active)
        for _ in range(3):
            moved = [jnp.asarray(DRAW.normal(size=each.shape)) for each in active]
            wanted = difference(loss, active, moved)
            backwards = sum(float((g * m).sum()) for g, m in zip(gradient, moved, strict=True))
            _, forwards = jax.jvp(loss, tuple(active), tuple(moved))
            assert backwards == pytest.approx(wanted, rel=1e-6, abs=1e-7)
            assert float(forwards) == pytest.approx(backwards, rel=1e-12, abs=1e-13)


@pytest.mark.parametrize("name", ["newton", "insertion", "in_turn", "swapped"])
def test_what_is_derived_holds_what_kernels_hold_and_does_what_it_does_as_native_code(
    module: wl.cuda.Module, name: str
) -> None:
    """The verifier accepts it, and the oracle of the loop level gives the gradient that native code gives."""
    launch = LAUNCHES[name]
    known = {position: each for position, each in enumerate(launch.arguments) if isinstance(each, int)}
    kernel = specialize(module[name].structured(frozenset()), (launch.grid, 1, 1), (launch.block, 1, 1), known)
    verify_kernel(tangent_kernel(kernel, launch.active).function, "transformed")
    made = pullback_kernel(kernel, launch.active, is_independent=False)
    verify_kernel(made.function, "transformed")
    given = [each.copy() if isinstance(each, np.ndarray) else each for each in launch.arguments]
    shadows: list[Any] = [np.atleast_1d(np.zeros_like(launch.arguments[position])) for position in made.positions]
    written = sorted(module[name].written)
    for position, shadow in zip(made.positions, shadows, strict=True):
        if position in written:
            shadow[...] = np.cos(np.arange(1.0, shadow.size + 1))
    evaluate_kernel(made.function, (1,), (1,), [*given, *shadows])
    found = dict(zip(made.positions, shadows, strict=True))
    with jax.enable_x64(True):
        loss = loss_of(wl.native(module[name]).jax(launch.grid, launch.block), launch)
        active = [jnp.asarray(launch.arguments[position]) for position in launch.active]
        gradient = jax.grad(loss, tuple(range(len(active))))(*active)
    for position, each in zip(launch.active, gradient, strict=True):
        np.testing.assert_allclose(found[position].reshape(each.shape), each, rtol=1e-12, atol=1e-12)


def test_indices_and_what_nobody_writes_are_not_kept_for_each_round(module: wl.cuda.Module) -> None:
    """They are computed and read again; what a loop carries is kept, and so are functions that take long."""
    kernel = specialize(module["rows"].structured(frozenset()), (2, 1, 1), (8, 1, 1), {5: N})
    made = pullback_kernel(kernel, LAUNCHES["rows"].active, is_independent=True)
    (push,) = (op for op in made.function.walk() if isinstance(op, Push))
    assert [each.dtype for each in push.values] == ["f64", "f64", "f64"]


def test_second_derivatives_and_batches(module: wl.cuda.Module) -> None:
    launch = LAUNCHES["newton"]
    with jax.enable_x64(True):
        run = wl.native(module["newton"]).jax(2, 8)
        a, x = jnp.asarray(launch.arguments[0]), jnp.zeros(N)

        def roots(a: Any) -> Any:
            return run(a, x, 1.0, N).sum()

        np.testing.assert_allclose(jnp.diag(jax.hessian(roots)(a)), -0.25 * a**-1.5, rtol=1e-9)
        batch = jnp.stack([a, a + 1, a + 2])
        wanted = 0.5 / jnp.sqrt(batch)
        np.testing.assert_allclose(jax.vmap(jax.grad(roots))(batch), wanted, rtol=1e-9)
        np.testing.assert_allclose(jax.grad(lambda b: jax.vmap(roots)(b).sum())(batch), wanted, rtol=1e-9)
        np.testing.assert_allclose(jax.jit(jax.vmap(jax.grad(roots), 1, 1))(batch.T), wanted.T, rtol=1e-9)


def test_launches_that_are_not_raised_are_differentiated_by_all_ways(
    module: wl.cuda.Module, monkeypatch: pytest.MonkeyPatch
) -> None:
    from windlass.raising import state

    monkeypatch.setattr(state, "MOST_OPS", 1)
    kernel = wl.cuda.compile("""
    __global__ void cubes(const float *x, float *y, float by, int n) {
        int i = threadIdx.x;
        if (i < n) y[i] = by * x[i] * x[i] * x[i];
    }""")["cubes"]
    x = np.arange(1, 9, dtype=np.float32)

    @wl.jit
    def energy(x: Any, by: Any) -> Any:
        y = x * 0
        kernel[1, 8](x, y, by, 8)
        return (y * 2).sum()

    wanted = 6 * x * x * 0.5
    np.testing.assert_allclose(jax.grad(lambda x: kernel.jax(1, 8)(x, x * 0, 0.5, 8).sum())(jnp.asarray(x)), wanted / 2)
    assert kernel.last_report is not None and kernel.last_report.is_native
    cost = wl.forecast(energy, x, np.float32(0.5)).flops, wl.forecast(wl.grad(energy), x, np.float32(0.5)).flops
    assert 8 * 8 < cost[0] < cost[1] < 8 * cost[0]
    by_x, by_number = wl.grad(energy, (0, 1))(x, np.float32(0.5))
    np.testing.assert_allclose(by_x, wanted)
    np.testing.assert_allclose(by_number, 2 * (x**3).sum())
    np.testing.assert_allclose(wl.jvp(energy, (x, np.float32(0.5)), (x, None))[1], (wanted * x).sum())
    np.testing.assert_allclose(wl.hvp(energy, (x, np.float32(0.5)), (np.ones_like(x), None)), 6 * x)
    by_x, y = np.zeros_like(x), np.zeros_like(x)
    given = wl.Duplicated(x, by_x), wl.Duplicated(y, np.ones_like(x)), wl.Const(np.float32(0.5)), wl.Const(8)
    wl.autodiff(wl.Reverse, kernel[1, 8], *given)
    np.testing.assert_allclose(by_x, wanted / 2)


@pytest.mark.parametrize(
    ("name", "line", "reason"),
    [
        ("bits", "y[threadIdx.x] = 2.0 *", "a float is made of the bits of others"),
        ("words", "((long long *)y)[threadIdx.x] =", "it stores bits of floats as integers"),
    ],
)
def test_what_has_no_derivative_says_why(module: wl.cuda.Module, name: str, line: str, reason: str) -> None:
    with jax.enable_x64(True), pytest.raises(wl.WindlassError, match="WL0901") as told:
        jax.grad(lambda x: wl.native(module[name]).jax(1, 8)(x, jnp.ones(8)).sum())(jnp.ones(8))
    assert reason in str(told.value) and line in str(told.value)
