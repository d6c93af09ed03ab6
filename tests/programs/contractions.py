"""What the kernels of contractions.cu do, in NumPy. Sums of floats may be taken in another order."""

from __future__ import annotations

import numpy as np

from .program import LINE, PLANE, SLACK, Array, launch, program

PRODUCT = (
    launch((3, 5), (16, 8), rows=37, columns=45, inner=29),
    launch((2, 2), (16, 16), rows=32, columns=32, inner=32),
    launch(1, 1, rows=1, columns=1, inner=1),
    launch((2, 3), (16, 4), rows=4, columns=7, inner=3),
    launch((1, 1), (8, 8), rows=4, columns=5, inner=0),
    launch((1, 1), (8, 8), idle=True, rows=0, columns=5, inner=4),
    launch((20, 20), (16, 16), slow=True, rows=301, columns=313, inner=257),
)


@program(
    PRODUCT,
    lambda draw, rows, columns, inner: (
        draw.floats(rows, inner),
        draw.floats(inner, columns),
        draw.floats(rows, columns),
        rows,
        columns,
        inner,
    ),
    1e-5,
)
def matmul(a: Array, b: Array, c: Array, rows: int, columns: int, inner: int) -> None:
    c[...] = a @ b


@program(
    PRODUCT[:4],
    lambda draw, rows, columns, inner: (
        draw.floats(inner, rows),
        draw.floats(columns, inner),
        draw.floats(rows, columns),
        rows,
        columns,
        inner,
    ),
    1e-5,
)
def matmul_transposed(a: Array, b: Array, c: Array, rows: int, columns: int, inner: int) -> None:
    c[...] = a.T @ b.T


@program(
    PRODUCT[:4],
    lambda draw, rows, columns, inner: (
        draw.doubles(rows, inner),
        draw.doubles(inner, columns),
        draw.doubles(rows, columns),
        rows,
        columns,
        inner,
        1.1,
        -0.3,
    ),
    1e-12,
)
def gemm(a: Array, b: Array, c: Array, rows: int, columns: int, inner: int, alpha: float, beta: float) -> None:
    c[...] = alpha * (a @ b) + beta * c


@program(
    PRODUCT,
    lambda draw, rows, columns, inner: (
        draw.any_bits(rows, inner),
        draw.any_bits(inner, columns),
        draw.integers(rows, columns),
        rows,
        columns,
        inner,
    ),
)
def matmul_integers(a: Array, b: Array, c: Array, rows: int, columns: int, inner: int) -> None:
    c[...] = a @ b


@program(
    (
        launch((2, 2, 3), (8, 8), batch=3, rows=9, columns=13, inner=5),
        launch((1, 1, 2), (8, 8), batch=2, rows=8, columns=8, inner=8),
        launch(1, 1, batch=1, rows=1, columns=1, inner=1),
    ),
    lambda draw, batch, rows, columns, inner: (
        draw.floats(batch, rows, inner),
        draw.floats(batch, inner, columns),
        draw.floats(batch, rows, columns),
        rows,
        columns,
        inner,
    ),
    1e-5,
)
def matmul_batched(a: Array, b: Array, c: Array, rows: int, columns: int, inner: int) -> None:
    c[...] = a @ b


VECTOR = (
    launch(2, 32, rows=37, columns=45),
    launch(2, 16, rows=32, columns=32),
    launch(1, 1, rows=1, columns=1),
    launch(2, 64, rows=3, columns=100),
    launch(1, 8, idle=True, rows=0, columns=5),
)


@program(
    VECTOR,
    lambda draw, rows, columns: (
        draw.floats(rows, columns),
        draw.floats(columns),
        draw.floats(rows + 1),
        rows,
        columns,
    ),
    1e-5,
)
def matrix_times_vector(matrix: Array, vector: Array, out: Array, rows: int, columns: int) -> None:
    out[:rows] = matrix @ vector


@program(
    VECTOR,
    lambda draw, rows, columns: (
        draw.floats(rows, columns),
        draw.floats(columns),
        draw.floats(rows + 1),
        rows,
        columns,
    ),
    1e-5,
)
def lower_triangle_times_vector(matrix: Array, vector: Array, out: Array, rows: int, columns: int) -> None:
    out[:rows] = np.tril(matrix) @ vector


@program(
    PLANE,
    lambda draw, rows, columns: (
        draw.floats(rows + 1),
        draw.floats(columns + 1),
        draw.floats(rows, columns),
        rows,
        columns,
    ),
)
def outer_product(a: Array, b: Array, c: Array, rows: int, columns: int) -> None:
    c[...] = np.outer(a[:rows], b[:columns])


@program(
    VECTOR,
    lambda draw, rows, columns: (
        draw.floats(rows, columns),
        draw.floats(rows, columns),
        draw.floats(rows + 1),
        rows,
        columns,
    ),
    1e-5,
)
def row_dots(a: Array, b: Array, out: Array, rows: int, columns: int) -> None:
    out[:rows] = (a * b).sum(1)


@program(
    (launch(8, 128, n=1000), launch(1, 1, n=9), launch(3, 64, n=12), launch(1, 32, n=4, idle=True)),
    lambda draw, n: (draw.floats(n + SLACK), draw.floats(9), draw.floats(n + SLACK), n, 9),
    1e-5,
)
def filter_line(x: Array, taps: Array, out: Array, n: int, width: int) -> None:
    if n >= width:
        out[: n - width + 1] = np.correlate(x[:n], taps, "valid")


@program(
    PLANE[:4],
    lambda draw, rows, columns: (
        draw.floats(rows + 4, columns + 4),
        draw.floats(5, 5),
        draw.floats(rows, columns),
        rows,
        columns,
        5,
    ),
    1e-5,
)
def filter_plane(image: Array, taps: Array, out: Array, rows: int, columns: int, width: int) -> None:
    windows = np.lib.stride_tricks.sliding_window_view(image, (width, width))
    out[...] = np.einsum("yxab,ab->yx", windows, taps)


@program(
    PRODUCT[:4],
    lambda draw, rows, columns, inner: (
        draw.floats(rows, inner),
        draw.floats(columns, inner),
        draw.floats(rows, columns),
        rows,
        columns,
        inner,
    ),
    1e-5,
)
def squared_distances(points: Array, centres: Array, out: Array, rows: int, columns: int, width: int) -> None:
    out[...] = ((points[:, None] - centres[None]) ** 2).sum(2)


@program(
    LINE[:5],
    lambda draw, n: (
        draw.integers(n + 1, 3, low=-20, high=20).astype(np.float32),
        draw.integers(11, 3, low=-20, high=20).astype(np.float32),
        draw.integers(n + SLACK, low=-9, high=-5),
        n,
        11,
        3,
    ),
)
def nearest_centre(points: Array, centres: Array, nearest: Array, n: int, count: int, width: int) -> None:
    nearest[:n] = ((points[:n, None] - centres[None]) ** 2).sum(2).argmin(1)


@program(
    (launch(2, 64, n=100), launch(1, 32, n=32), launch(1, 1, n=1), launch(1, 8, n=0, idle=True)),
    lambda draw, n: (draw.floats(n + 1, 2), draw.floats(n + 1, 2), n, np.float32(0.01)),
    1e-4,
)
def pairwise_forces(position: Array, force: Array, n: int, softening: np.float32) -> None:
    p = position[:n].astype(np.float64)
    difference = p[None] - p[:, None]
    inverse = 1 / np.sqrt((difference**2).sum(2) + softening)
    force[:n] = (difference * inverse[..., None] ** 3).sum(1)
