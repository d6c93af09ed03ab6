"""Kernels of other kinds: by element, by row, sums of blocks, sparse matrices, products."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from benchmarks.derivatives.case import Case, case, draw, uniform

import windlass as wl

MODULE = wl.cuda.compile(r"""
__global__ void attract(const float *p, const float *m, float *a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float ax = 0, ay = 0, az = 0;
    for (int j = 0; j < n; j++) {
        float dx = p[3 * j] - p[3 * i], dy = p[3 * j + 1] - p[3 * i + 1], dz = p[3 * j + 2] - p[3 * i + 2];
        float inverse = rsqrtf(dx * dx + dy * dy + dz * dz + 0.01f), w = m[j] * inverse * inverse * inverse;
        ax += w * dx; ay += w * dy; az += w * dz;
    }
    a[3 * i] = ax; a[3 * i + 1] = ay; a[3 * i + 2] = az;
}
__global__ void black_scholes(const float *s, const float *k, const float *t, const float *r, const float *v,
                              float *call, float *put, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float q = sqrtf(t[i]), d1 = (logf(s[i] / k[i]) + (r[i] + 0.5f * v[i] * v[i]) * t[i]) / (v[i] * q);
    float d2 = d1 - v[i] * q, a = normcdff(d1), b = normcdff(d2), e = expf(-r[i] * t[i]);
    call[i] = s[i] * a - k[i] * e * b;
    put[i] = k[i] * e * (1.0f - b) - s[i] * (1.0f - a);
}
__global__ void softmax(const float *x, float *y, int n) {
    __shared__ float part[128];
    const float *row = x + blockIdx.x * n;
    int t = threadIdx.x;
    float most = -INFINITY;
    for (int i = t; i < n; i += 128) most = fmaxf(most, row[i]);
    part[t] = most; __syncthreads();
    for (int s = 64; s > 0; s >>= 1) { if (t < s) part[t] = fmaxf(part[t], part[t + s]); __syncthreads(); }
    most = part[0]; __syncthreads();
    float sum = 0;
    for (int i = t; i < n; i += 128) sum += expf(row[i] - most);
    part[t] = sum; __syncthreads();
    for (int s = 64; s > 0; s >>= 1) { if (t < s) part[t] += part[t + s]; __syncthreads(); }
    sum = part[0];
    for (int i = t; i < n; i += 128) y[blockIdx.x * n + i] = expf(row[i] - most) / sum;
}
__global__ void layernorm(const float *x, const float *scale, const float *shift, float *y, int n) {
    __shared__ float part[128];
    const float *row = x + blockIdx.x * n;
    int t = threadIdx.x;
    float sum = 0;
    for (int i = t; i < n; i += 128) sum += row[i];
    part[t] = sum; __syncthreads();
    for (int s = 64; s > 0; s >>= 1) { if (t < s) part[t] += part[t + s]; __syncthreads(); }
    float mean = part[0] / n; __syncthreads();
    sum = 0;
    for (int i = t; i < n; i += 128) sum += (row[i] - mean) * (row[i] - mean);
    part[t] = sum; __syncthreads();
    for (int s = 64; s > 0; s >>= 1) { if (t < s) part[t] += part[t + s]; __syncthreads(); }
    float factor = rsqrtf(part[0] / n + 1e-5f);
    for (int i = t; i < n; i += 128) y[blockIdx.x * n + i] = (row[i] - mean) * factor * scale[i] + shift[i];
}
__global__ void coo(const int *row, const int *column, const float *value, const float *x, float *y, int count) {
    int k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k < count) atomicAdd(&y[row[k]], value[k] * x[column[k]]);
}
__global__ void ell(const int *column, const float *value, const float *x, float *y, int n, int width) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float sum = 0;
    for (int k = 0; k < width; k++) sum += value[k * n + i] * x[column[k * n + i]];
    y[i] = sum;
}
__global__ void csr(const int *start, const int *column, const float *value, const float *x, float *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float sum = 0;
    for (int k = start[i]; k < start[i + 1]; k++) sum += value[k] * x[column[k]];
    y[i] = sum;
}
__global__ void scan(const float *x, float *y) {
    __shared__ float part[2][256];
    int t = threadIdx.x, at = 0;
    part[0][t] = x[blockIdx.x * 256 + t]; __syncthreads();
    for (int s = 1; s < 256; s *= 2) {
        part[1 - at][t] = t >= s ? part[at][t] + part[at][t - s] : part[at][t];
        at = 1 - at; __syncthreads();
    }
    y[blockIdx.x * 256 + t] = part[at][t];
}
__global__ void tree(const float *x, float *sums) {
    __shared__ float part[256];
    int t = threadIdx.x;
    float each = x[blockIdx.x * 256 + t];
    part[t] = each * each; __syncthreads();
    for (int s = 128; s > 0; s >>= 1) { if (t < s) part[t] += part[t + s]; __syncthreads(); }
    if (t == 0) sums[blockIdx.x] = part[0];
}
__global__ void matmul(const float *a, const float *b, float *c, int n) {
    __shared__ float left[16][16], right[16][16];
    int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 16 + y, column = blockIdx.x * 16 + x;
    float sum = 0;
    for (int k = 0; k < n; k += 16) {
        left[y][x] = a[row * n + k + x]; right[y][x] = b[(k + y) * n + column]; __syncthreads();
        for (int i = 0; i < 16; i++) sum += left[y][i] * right[i][x];
        __syncthreads();
    }
    c[row * n + column] = sum;
}
""")


@case
def n_body() -> Case:
    size = 1024
    launch = MODULE["attract"].jax(size // 128, 128)

    def pairs(p: Any, m: Any) -> Any:
        d = p[None] - p[:, None]
        w = m * jax.lax.rsqrt((d * d).sum(-1) + 0.01) ** 3
        return ((w[..., None] * d).sum(1) ** 2).sum()

    def rows(p: Any, m: Any) -> Any:
        dx, dy, dz = (each[None] - each[:, None] for each in p.T)
        w = m * jax.lax.rsqrt(dx * dx + dy * dy + dz * dz + 0.01) ** 3
        return sum(((w * d).sum(1) ** 2).sum() for d in (dx, dy, dz))

    return Case(
        lambda p, m: (launch(p, m, jnp.zeros_like(p), size) ** 2).sum(),
        {"pairs": pairs, "rows": rows},
        (uniform((size, 3)), uniform(size)),
        (0, 1),
    )


@case
def black_scholes() -> Case:
    size = 1 << 18
    launch = MODULE["black_scholes"].jax(size // 256, 256)

    def ours(s: Any, k: Any, t: Any, r: Any, v: Any) -> Any:
        call, put = launch(s, k, t, r, v, jnp.zeros_like(s), jnp.zeros_like(s), size)
        return (call + 2 * put).sum()

    def by_hand(s: Any, k: Any, t: Any, r: Any, v: Any) -> Any:
        q = jnp.sqrt(t)
        d1 = (jnp.log(s / k) + (r + 0.5 * v * v) * t) / (v * q)
        d2 = d1 - v * q
        a, b, e = jax.scipy.stats.norm.cdf(d1), jax.scipy.stats.norm.cdf(d2), jnp.exp(-r * t)
        return (s * a - k * e * b + 2 * (k * e * (1 - b) - s * (1 - a))).sum()

    rows = uniform((5, size), 0.1, 1.0)
    return Case(
        ours,
        {"jax.numpy": by_hand},
        tuple(rows + np.array([[20], [20], [0.2], [0], [0.1]], np.float32)),
        (0, 1, 2, 3, 4),
    )


@case
def softmax() -> Case:
    rows, size = 1024, 512
    launch = MODULE["softmax"].jax(rows, 128)

    def plain(x: Any, w: Any) -> Any:
        e = jnp.exp(x - x.max(1, keepdims=True))
        return (w * (e / e.sum(1, keepdims=True))).sum()

    return Case(
        lambda x, w: (w * launch(x, jnp.zeros_like(x), size)).sum(),
        {"jax.nn": lambda x, w: (w * jax.nn.softmax(x)).sum(), "plain": plain},
        (uniform((rows, size), -3, 3), uniform((rows, size))),
    )


@case
def layernorm() -> Case:
    rows, size = 2048, 256
    launch = MODULE["layernorm"].jax(rows, 128)

    def plain(x: Any, scale: Any, shift: Any, w: Any) -> Any:
        centered = x - x.mean(1, keepdims=True)
        factor = jax.lax.rsqrt((centered * centered).mean(1, keepdims=True) + 1e-5)
        return (w * (centered * factor * scale + shift)).sum()

    def by_variance(x: Any, scale: Any, shift: Any, w: Any) -> Any:
        mean, variance = x.mean(1, keepdims=True), x.var(1, keepdims=True)
        return (w * ((x - mean) * jax.lax.rsqrt(variance + 1e-5) * scale + shift)).sum()

    return Case(
        lambda x, scale, shift, w: (w * launch(x, scale, shift, jnp.zeros_like(x), size)).sum(),
        {"plain": plain, "var": by_variance},
        (uniform((rows, size)), uniform(size), uniform(size), uniform((rows, size))),
        (0, 1, 2),
    )


def _sparse(size: int, width: int) -> tuple[Any, Any, Any]:
    """Rows, columns and values of a matrix of so many entries in each row."""
    columns = draw().integers(0, size, (size, width)).astype(np.int32)
    rows = np.repeat(np.arange(size, dtype=np.int32), width)
    return rows, columns.ravel(), uniform(size * width)


@case
def sparse_by_coordinates() -> Case:
    size, width = 1 << 14, 16
    rows, columns, values = _sparse(size, width)
    launch = MODULE["coo"].jax(size * width // 256, 256)

    def ours(values: Any, x: Any, rows: Any, columns: Any) -> Any:
        return (launch(rows, columns, values, x, jnp.zeros_like(x), size * width) ** 2).sum()

    def added(values: Any, x: Any, rows: Any, columns: Any) -> Any:
        return (jnp.zeros_like(x).at[rows].add(values * x[columns]) ** 2).sum()

    def segments(values: Any, x: Any, rows: Any, columns: Any) -> Any:
        return (jax.ops.segment_sum(values * x[columns], rows, size) ** 2).sum()

    return Case(ours, {"add": added, "segment_sum": segments}, (values, uniform(size), rows, columns), (0, 1))


@case
def sparse_by_slots() -> Case:
    size, width = 1 << 14, 16
    _, columns, values = _sparse(size, width)
    launch = MODULE["ell"].jax(size // 256, 256)

    def ours(values: Any, x: Any, columns: Any) -> Any:
        return (launch(columns, values, x, jnp.zeros_like(x), size, width) ** 2).sum()

    def gathered(values: Any, x: Any, columns: Any) -> Any:
        return ((values * x[columns]).sum(0) ** 2).sum()

    arguments = (values.reshape(width, size), uniform(size), columns.reshape(width, size))
    return Case(ours, {"gathered": gathered}, arguments, (0, 1))


@case
def sparse_by_rows() -> Case:
    size, width = 1 << 12, 16
    rows, columns, values = _sparse(size, width)
    starts = np.arange(0, size * width + 1, width, dtype=np.int32)
    launch = MODULE["csr"].jax(size // 256, 256)

    def ours(values: Any, x: Any, starts: Any, columns: Any) -> Any:
        return (launch(starts, columns, values, x, jnp.zeros_like(x), size) ** 2).sum()

    def segments(values: Any, x: Any, starts: Any, columns: Any) -> Any:
        rows = jnp.searchsorted(starts, jnp.arange(values.size, dtype=np.int32), side="right") - 1
        return (jax.ops.segment_sum(values * x[columns], rows, size, indices_are_sorted=True) ** 2).sum()

    def repeated(values: Any, x: Any, starts: Any, columns: Any) -> Any:
        rows = jnp.repeat(jnp.arange(size), jnp.diff(starts), total_repeat_length=values.size)
        return (jnp.zeros_like(x).at[rows].add(values * x[columns]) ** 2).sum()

    del rows
    return Case(ours, {"segment_sum": segments, "repeat": repeated}, (values, uniform(size), starts, columns), (0, 1))


@case
def scan_of_blocks() -> Case:
    rows = 1024
    launch = MODULE["scan"].jax(rows, 256)
    return Case(
        lambda x, w: (w * launch(x, jnp.zeros_like(x))).sum(),
        {
            "cumsum": lambda x, w: (w * jnp.cumsum(x, 1)).sum(),
            "associative_scan": lambda x, w: (w * jax.lax.associative_scan(jnp.add, x, axis=1)).sum(),
        },
        (uniform((rows, 256)), uniform((rows, 256))),
    )


@case
def tree_of_sums() -> Case:
    size = 1 << 20
    launch = MODULE["tree"].jax(size // 256, 256)
    return Case(
        lambda x, w: (w * launch(x, jnp.zeros(size // 256, jnp.float32))).sum(),
        {"sum": lambda x, w: (w * (x * x).reshape(-1, 256).sum(1)).sum()},
        (uniform(size), uniform(size // 256)),
    )


@case
def tiled_matmul() -> Case:
    size = 512
    launch = MODULE["matmul"].jax((size // 16, size // 16), (16, 16))
    return Case(
        lambda a, b: (launch(a, b, jnp.zeros_like(a), size) ** 2).sum(),
        {"matmul": lambda a, b: ((a @ b) ** 2).sum()},
        (uniform((size, size)), uniform((size, size))),
        (0, 1),
    )
