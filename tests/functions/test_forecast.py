"""What `wl.forecast` says of programs, against what XLA sets aside for them."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import windlass as wl
from windlass.functions.pure_call import pure_call

MODULE = wl.cuda.compile("""
__global__ void heat(const float *now, float *next, const float *k, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i > 0 && j > 0 && i < n - 1 && j < n - 1) {
        int at = j * n + i;
        float around = now[at - 1] + now[at + 1] + now[at - n] + now[at + n];
        next[at] = now[at] + 0.2f * tanhf(k[at]) * (around - 4 * now[at]);
    }
}
__global__ void forces(const float *x, const float *y, float *fx, float *fy, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float a = 0, b = 0;
    for (int j = 0; j < n; j++) {
        float dx = x[j] - x[i], dy = y[j] - y[i];
        float r = rsqrtf(dx * dx + dy * dy + 0.01f);
        a += dx * r * r * r;
        b += dy * r * r * r;
    }
    fx[i] = a;
    fy[i] = b;
}
__global__ void price(const float *s, const float *k, const float *t, float *call, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float r = 0.02f, v = 0.3f, q = sqrtf(t[i]);
    float d1 = (logf(s[i] / k[i]) + (r + 0.5f * v * v) * t[i]) / (v * q), d2 = d1 - v * q;
    call[i] = s[i] * normcdff(d1) - k[i] * expf(-r * t[i]) * normcdff(d2);
}
""")
N = 256


@wl.jit(whole=True)
def run(u: Any, k: Any, steps: Any) -> None:
    scratch = u.copy()
    for _ in range(steps):
        MODULE["heat"][(N // 32, N // 8), (32, 8)](u, scratch, k, N)
        u[:] = scratch


@wl.jit(whole=True)
def heat_loss(u: Any, k: Any) -> Any:
    run(u, k, 40)
    return (u * u).sum()


@wl.jit(whole=True)
def network(weights: Any, x: Any, y: Any) -> Any:
    first, second, third = weights
    return ((np.tanh(np.tanh(x @ first) @ second) @ third - y) ** 2).mean()


@wl.jit(whole=True)
def attend(q: Any, k: Any, v: Any) -> Any:
    scores = q @ k.T / np.sqrt(np.float32(q.shape[1]))
    weights = np.exp(scores - scores.max(1, keepdims=True))
    return (weights / weights.sum(1, keepdims=True)) @ v


@wl.jit(whole=True)
def attention_loss(q: Any, k: Any, v: Any) -> Any:
    return attend(q, k, v).sum()


@wl.jit(whole=True)
def pull(x: Any, y: Any) -> Any:
    fx, fy = np.zeros_like(x), np.zeros_like(y)
    MODULE["forces"][x.shape[0] // 128, 128](x, y, fx, fy, x.shape[0])
    return (fx * fx).sum() + (fy * fy).sum()


@wl.jit(whole=True)
def recur(h: Any, w: Any) -> Any:
    for i in range(h.shape[0] - 1):
        h[i + 1] = np.tanh(w @ h[i])
    return (h * h).sum()


@wl.jit(whole=True)
def value(s: Any, k: Any, t: Any) -> Any:
    call = np.zeros_like(s)
    MODULE["price"][s.shape[0] // 256, 256](s, k, t, call, s.shape[0])
    return call.sum()


@wl.jit(whole=True)
def rank(x: Any) -> Any:
    return np.cumsum(np.sort(x)) / np.arange(1, x.shape[0] + 1, dtype=np.float32)


def solve(a: Any, b: Any) -> Any:
    return jnp.sum(jnp.linalg.solve(a, b) ** 2)


@wl.jit(whole=True)
def damp(x: Any) -> Any:
    spectrum = np.fft.rfft2(x)
    return np.fft.irfft2(spectrum * np.exp(-np.abs(spectrum)))


@wl.jit(whole=True)
def blur(image: Any) -> Any:
    for _ in range(3):
        image = (image + np.roll(image, 1, 0) + np.roll(image, -1, 0) + np.roll(image, 1, 1)) / 4
    return image


@wl.jit(whole=True)
def find_roots(a: Any) -> Any:
    x = a.copy()
    while np.abs(x * x - a).max() > 1e-3:
        x = 0.5 * (x + a / x)
    return x.sum()


def f32(*shape: int) -> Any:
    return np.random.default_rng(1).uniform(0.5, 1, shape).astype(np.float32)


WEIGHTS = (f32(256, 512), f32(512, 512), f32(512, 10))
PROGRAMS: dict[str, tuple[Any, ...]] = {
    "heat": (run, f32(N, N), f32(N, N), 40),
    "network": (network, WEIGHTS, f32(1024, 256), f32(1024, 10)),
    "attention": (attend, f32(512, 64), f32(512, 64), f32(512, 64)),
    "n-body": (pull, f32(512), f32(512)),
    "network, gradient": (wl.value_and_grad(network), WEIGHTS, f32(1024, 256), f32(1024, 10)),
    "recurrence": (recur, f32(512, 256), f32(256, 256)),
    "options": (value, f32(1 << 18), f32(1 << 18), f32(1 << 18)),
    "options, gradient": (wl.grad(value, (0, 1, 2)), f32(1 << 18), f32(1 << 18), f32(1 << 18)),
    "heat, gradient": (wl.grad(heat_loss, (0, 1)), f32(N, N), f32(N, N)),
    "attention, gradient": (wl.grad(attention_loss, (0, 1, 2)), f32(512, 64), f32(512, 64), f32(512, 64)),
    "sort": (rank, f32(1 << 18)),
    "solve, gradient": (wl.grad(solve, (0, 1)), f32(256, 256) + 256 * np.eye(256, dtype=np.float32), f32(256)),
    "spectrum": (damp, f32(256, 256)),
    "blur": (blur, f32(512, 512)),
    "roots": (find_roots, f32(1 << 18)),
}

ROUGH = {"attention, gradient", "sort", "blur"}
"""Of these XLA puts one array more or less aside than is told: it fuses otherwise, and sorts into memory of its own."""


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", PROGRAMS)
def test_peak_is_what_xla_sets_aside(name: str) -> None:
    function, *arguments = PROGRAMS[name]
    call = pure_call(function, arguments, {})
    with call.precision():
        if call.program is not None:
            lowered = call.program.lower()
        else:
            lowered = jax.jit(call.apply).lower([jax.ShapeDtypeStruct(each.shape, each.dtype) for each in call.values])
        xla = lowered.compile().memory_analysis()
    assert xla is not None
    aside = xla.argument_size_in_bytes + xla.output_size_in_bytes + xla.temp_size_in_bytes
    assert wl.forecast(function, *arguments).peak_bytes == pytest.approx(aside, rel=0.35 if name in ROUGH else 0.1)


def test_loops_count_by_what_is_given() -> None:
    few, many = (wl.forecast(run, f32(N, N), f32(N, N), steps) for steps in (10, 1000))
    assert many.flops > 90 * few.flops
    assert many.bytes > 90 * few.bytes
    assert many.peak_bytes == few.peak_bytes


def test_what_fits_no_memory_is_forecast() -> None:
    large = jax.ShapeDtypeStruct((1 << 20, 1 << 20), np.float32)
    found = wl.forecast(lambda x: np.tanh(x @ x).sum(), large)
    assert found.argument_bytes == 4 << 40
    assert found.peak_bytes >= 8 << 40
    assert found.flops >= 2 << 60


def test_report_says_in_which_line_the_peak_is() -> None:
    found = wl.forecast(network, WEIGHTS, f32(1024, 256), f32(1024, 10))
    line = network.function.__code__.co_firstlineno + 3
    assert found.position is not None
    assert found.position.line == line
    assert f"test_forecast.py:{line}" in str(found)
    assert found.flops > 2 * 1024 * 512 * (256 + 512)


def test_what_has_no_derivative_is_refused_as_by_a_call() -> None:
    with pytest.raises(wl.WindlassError, match="WL0931"):
        wl.forecast(wl.grad(lambda x: x * 2), f32(3))
