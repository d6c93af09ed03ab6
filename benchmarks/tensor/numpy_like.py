"""Kernels that NumPy programs are made of, as their authors would write them in jax.numpy.

The choice follows the NPBench suite (Ziogas and others, 2021) and PolyBench; the code is ours.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from benchmarks.tensor.program import Draw, normal, program, uniform
from jax import lax

NUMPY = "numpy-like"


@program(NUMPY, normal((640, 640), (640, 640), (640, 640)))
def gemm(a: Any, b: Any, c: Any) -> Any:
    return 1.5 * a @ b + 1.2 * c


@program(
    NUMPY, lambda draw: (draw.weight(500, 400), draw.weight(400, 600), draw.weight(600, 300), draw.weight(500, 300))
)
def k2mm(a: Any, b: Any, c: Any, d: Any) -> Any:
    return 1.5 * a @ b @ c + 1.2 * d


@program(
    NUMPY, lambda draw: (draw.weight(500, 400), draw.weight(400, 300), draw.weight(300, 600), draw.weight(600, 200))
)
def k3mm(a: Any, b: Any, c: Any, d: Any) -> Any:
    """As written, the two products of the outer matrices come first."""
    return (a @ b) @ (c @ d)


@program(NUMPY, normal((2000, 2400), (2400,)))
def atax(a: Any, x: Any) -> Any:
    return (a @ x) @ a


@program(NUMPY, normal((2000, 2400), (2400,), (2000,)))
def bicg(a: Any, p: Any, r: Any) -> Any:
    return r @ a, a @ p


@program(NUMPY, normal((2000,), (2000,), (2000,), (2000,), (2000, 2000)))
def mvt(x1: Any, x2: Any, y1: Any, y2: Any, a: Any) -> Any:
    return x1 + a @ y1, x2 + y2 @ a


@program(NUMPY, normal((2000, 2000), (2000, 2000), (2000,)))
def gesummv(a: Any, b: Any, x: Any) -> Any:
    return 1.5 * a @ x + 1.2 * b @ x


@program(NUMPY, normal((1500, 1500), (1500,), (1500,), (1500,), (1500,), (1500,), (1500,)), tolerance=1e-3)
def gemver(a: Any, u1: Any, v1: Any, u2: Any, v2: Any, y: Any, z: Any) -> Any:
    a = a + jnp.outer(u1, v1) + jnp.outer(u2, v2)
    x = 1.2 * y @ a + z
    return a, x, 1.5 * a @ x


@program(NUMPY, lambda draw: (draw.normal(60, 64, 128), draw.weight(128, 128)))
def doitgen(a: Any, c4: Any) -> Any:
    nr, nq, np_ = a.shape
    return jnp.reshape(jnp.reshape(a, (nr, nq, 1, np_)) @ c4, (nr, nq, np_))


@program(NUMPY, lambda draw: (draw.normal(300, 300), draw.weight(300, 200)), tolerance=1e-4)
def syrk_by_rows(c: Any, a: Any) -> Any:
    """The lower triangle, a row at a time in a loop."""

    def row(i: Any, c: Any) -> Any:
        updated = 1.2 * c[i] + 1.5 * (a @ a[i])
        return c.at[i].set(jnp.where(jnp.arange(c.shape[1]) <= i, updated, c[i]))

    return lax.fori_loop(0, c.shape[0], row, c)


@program(NUMPY, lambda draw: (draw.weight(640, 640), draw.weight(640, 640), draw.normal(640, 640)))
def syr2k(a: Any, b: Any, c: Any) -> Any:
    return jnp.tril(1.5 * a @ b.T + 1.5 * b @ a.T + 1.2 * c)


@program(NUMPY, lambda draw: (draw.weight(640, 640), draw.normal(640, 640)))
def trmm(a: Any, b: Any) -> Any:
    return 1.5 * jnp.tril(a) @ b


@program(NUMPY, normal((1000, 800)))
def covariance(data: Any) -> Any:
    centred = data - jnp.mean(data, 0)
    return centred.T @ centred / (data.shape[0] - 1)


@program(NUMPY, normal((1000, 800)))
def correlation(data: Any) -> Any:
    deviation = jnp.std(data, 0)
    deviation = jnp.where(deviation <= 0.1, 1.0, deviation)
    scaled = (data - jnp.mean(data, 0)) / (jnp.sqrt(data.shape[0]) * deviation)
    return scaled.T @ scaled


@program(NUMPY, normal((2_000_000,), (2_000_000,)))
def jacobi_1d(a: Any, b: Any) -> Any:
    for _ in range(3):
        b = b.at[1:-1].set(0.33333 * (a[:-2] + a[1:-1] + a[2:]))
        a = a.at[1:-1].set(0.33333 * (b[:-2] + b[1:-1] + b[2:]))
    return a, b


@program(NUMPY, normal((1000, 1000), (1000, 1000)))
def jacobi_2d(a: Any, b: Any) -> Any:
    def sweep(a: Any, b: Any) -> Any:
        return b.at[1:-1, 1:-1].set(0.2 * (a[1:-1, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:] + a[2:, 1:-1] + a[:-2, 1:-1]))

    def both(_: Any, state: Any) -> Any:
        a, b = state
        b = sweep(a, b)
        return sweep(b, a), b

    return lax.fori_loop(0, 3, both, (a, b))


@program(NUMPY, normal((100, 100, 100), (100, 100, 100)))
def heat_3d(a: Any, b: Any) -> Any:
    def sweep(a: Any, b: Any) -> Any:
        here = a[1:-1, 1:-1, 1:-1]
        return b.at[1:-1, 1:-1, 1:-1].set(
            0.125 * (a[2:, 1:-1, 1:-1] - 2.0 * here + a[:-2, 1:-1, 1:-1])
            + 0.125 * (a[1:-1, 2:, 1:-1] - 2.0 * here + a[1:-1, :-2, 1:-1])
            + 0.125 * (a[1:-1, 1:-1, 2:] - 2.0 * here + a[1:-1, 1:-1, :-2])
            + here
        )

    for _ in range(2):
        b = sweep(a, b)
        a = sweep(b, a)
    return a, b


@program(NUMPY, normal((800, 1000), (800, 1000), (800, 1000), (8,)))
def fdtd_2d(ex: Any, ey: Any, hz: Any, source: Any) -> Any:
    for t in range(4):
        ey = ey.at[0, :].set(source[t])
        ey = ey.at[1:, :].add(-0.5 * (hz[1:, :] - hz[:-1, :]))
        ex = ex.at[:, 1:].add(-0.5 * (hz[:, 1:] - hz[:, :-1]))
        hz = hz.at[:-1, :-1].add(-0.7 * (ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1]))
    return ex, ey, hz


@program(NUMPY, normal((8, 256, 256, 8)))
def horizontal_diffusion(field: Any) -> Any:
    """A Laplacian, limited fluxes and their divergence: stencils upon stencils."""
    laplacian = 4.0 * field[:, 1:-1, 1:-1] - (
        field[:, 2:, 1:-1] + field[:, :-2, 1:-1] + field[:, 1:-1, 2:] + field[:, 1:-1, :-2]
    )
    flux_i = laplacian[:, 1:, 1:-1] - laplacian[:, :-1, 1:-1]
    flux_i = jnp.where(flux_i * (field[:, 2:-1, 2:-2] - field[:, 1:-2, 2:-2]) > 0, 0, flux_i)
    flux_j = laplacian[:, 1:-1, 1:] - laplacian[:, 1:-1, :-1]
    flux_j = jnp.where(flux_j * (field[:, 2:-2, 2:-1] - field[:, 2:-2, 1:-2]) > 0, 0, flux_j)
    return field[:, 2:-2, 2:-2] - 0.2 * (flux_i[:, 1:] - flux_i[:, :-1] + flux_j[:, :, 1:] - flux_j[:, :, :-1])


@program(NUMPY, normal((16, 34, 34, 3), (3, 3, 3, 16), (16,)))
def conv2d_by_windows(image: Any, weights: Any, bias: Any) -> Any:
    """The convolution as NumPy programs write it: for each place of the result, a product with its window."""
    rows = []
    for i in range(0, 32, 4):
        row = []
        for j in range(0, 32, 4):
            window = image[:, i : i + 3, j : j + 3, :]
            row.append(jnp.sum(window[:, :, :, :, None] * weights[None], axis=(1, 2, 3)))
        rows.append(jnp.stack(row, 1))
    return jnp.stack(rows, 1) + bias


@program(NUMPY, normal((8, 66, 66, 3), (3, 3, 3, 16), (16,)))
def conv2d_by_shifts(image: Any, weights: Any, bias: Any) -> Any:
    """The convolution as a sum over the places of the window."""
    total = jnp.zeros((8, 64, 64, 16))
    for i in range(3):
        for j in range(3):
            total = total + image[:, i : i + 64, j : j + 64, :] @ weights[i, j]
    return jax.nn.relu(total + bias)


@program(
    NUMPY, lambda draw: (draw.uniform(400, low=-2, high=0.5), draw.uniform(400, low=-1.25, high=1.25)), tolerance=0.02
)
def mandelbrot(x: Any, y: Any) -> Any:
    """Complex iteration under a mask; what has escaped is kept."""
    c = x[None, :] + 1j * y[:, None]
    count = jnp.zeros(c.shape, jnp.int32)
    z = jnp.zeros_like(c)

    def step(_: Any, state: Any) -> Any:
        z, count = state
        is_inside = jnp.abs(z) < 2.0
        return jnp.where(is_inside, z * z + c, z), count + is_inside.astype(jnp.int32)

    return lax.fori_loop(0, 20, step, (z, count))[1]


@program(NUMPY, normal((16, 16, 128, 128)))
def softmax(x: Any) -> Any:
    shifted = x - jnp.max(x, -1, keepdims=True)
    exponential = jnp.exp(shifted)
    return exponential / jnp.sum(exponential, -1, keepdims=True)


@program(NUMPY, uniform((3000, 3000)))
def go_fast(a: Any) -> Any:
    trace = 0.0
    for i in range(100):
        trace += jnp.tanh(a[i, i])
    return a + trace


@program(NUMPY, normal((4_000_000,), (4_000_000,)))
def compute(a: Any, b: Any) -> Any:
    return jnp.clip(a, -1, 1) * 4 + b * 3 + 9


@program(NUMPY, normal((2, 65536)))
def stockham_fft(x: Any) -> Any:
    """Radix 2, all stages unrolled, on complex numbers in one vector."""
    signal = x[0] + 1j * x[1]
    size, half = signal.shape[0], 1
    for _ in range(16):
        pairs = signal.reshape(2, size // 2 // half, half)
        turn = jnp.exp(-1j * jnp.pi * jnp.arange(half) / half).astype(jnp.complex64)
        other = pairs[1] * turn
        signal = jnp.stack([pairs[0] + other, pairs[0] - other], 1).reshape(size)
        half *= 2
    return jnp.real(signal), jnp.imag(signal)


def make_sparse(draw: Draw) -> tuple[Any, ...]:
    rows, entries = 60_000, 16
    return draw.normal(rows * entries), draw.integers(rows * entries, high=rows), draw.normal(rows)


@program(NUMPY, make_sparse)
def spmv(values: Any, columns: Any, x: Any) -> Any:
    """Sparse matrix times vector, the same number of entries in each row, summed by segment."""
    rows = jnp.repeat(jnp.arange(x.shape[0]), 16)
    return jax.ops.segment_sum(values * x[columns], rows, x.shape[0])


@program(NUMPY, lambda draw: (draw.uniform(1024, low=-0.002, high=0.002),), tolerance=1e-3)
def durbin(r: Any) -> Any:
    """The Yule–Walker equations: each step extends the solution by one, in a vector of full length."""
    n = r.shape[0]
    places = jnp.arange(n)

    def step(k: Any, state: Any) -> Any:
        alpha, beta, y = state
        beta = beta * (1 - alpha * alpha)
        flipped = jnp.where(places < k, jnp.roll(r[::-1], k - n), 0)
        alpha = -(r[k] + jnp.sum(flipped * jnp.where(places < k, y, 0))) / beta
        mirrored = jnp.where(places < k, jnp.roll(y[::-1], k - n), 0)
        return alpha, beta, (y + alpha * mirrored).at[k].set(alpha)

    start = -r[0], jnp.float32(1.0), jnp.zeros(n).at[0].set(-r[0])
    return lax.fori_loop(1, n, step, start)[2]


@program(NUMPY, lambda draw: (draw.uniform(256, 256, high=100.0),))
def floyd_warshall(path: Any) -> Any:
    def step(k: Any, path: Any) -> Any:
        return jnp.minimum(path, path[:, k][:, None] + path[k, :][None, :])

    return lax.fori_loop(0, path.shape[0], step, path)


@program(NUMPY, lambda draw: (draw.weight(160, 120),), tolerance=1e-3)
def gram_schmidt(a: Any) -> Any:
    """Columns one after the other, unrolled over the first 24."""
    basis = []
    for k in range(24):
        column = a[:, k]
        for each in basis:
            column = column - (each @ a[:, k]) * each
        basis.append(column / jnp.sqrt(jnp.sum(column * column)))
    return jnp.stack(basis, 1)


@program(
    NUMPY, lambda draw: (draw.normal(64, 784), [draw.weight(784, 512), draw.weight(512, 256), draw.weight(256, 10)])
)
def perceptron(x: Any, weights: Any) -> Any:
    for w in weights[:-1]:
        x = jnp.maximum(x @ w, 0)
    return softmax(x @ weights[-1])


def make_contour(draw: Draw) -> tuple[Any, ...]:
    return draw.weight(96, 96), draw.weight(96, 96), draw.normal(96, 8), draw.uniform(8, low=1, high=2)


@program(NUMPY, make_contour, tolerance=1e-2)
def resolvent_sum(a: Any, b: Any, y: Any, shifts: Any) -> Any:
    """Linear systems at points of a contour, one after the other."""
    total = jnp.zeros_like(y)
    for i in range(shifts.shape[0]):
        matrix = a + shifts[i] * b + 4.0 * shifts[i] * jnp.eye(96)
        total = total + jnp.linalg.inv(matrix) @ y
    return total
