"""What the kernels of gathers.cu do, in NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from .program import LINE, PLANE, SLACK, Array, Draw, launch, program


@program(
    LINE,
    lambda draw, n: (draw.floats(77), draw.integers(n + SLACK, low=0, high=77), draw.floats(n + SLACK), n),
)
def pick(values: Array, index: Array, out: Array, n: int) -> None:
    out[:n] = values[index[:n]]


@program(
    LINE,
    lambda draw, n: (
        draw.floats(30),
        draw.integers(n + SLACK, low=0, high=50),
        draw.integers(50, low=0, high=30),
        draw.floats(n + SLACK),
        n,
    ),
)
def pick_through_two(values: Array, outer: Array, inner: Array, out: Array, n: int) -> None:
    out[:n] = values[inner[outer[:n]]]


@program(
    LINE,
    lambda draw, n: (draw.floats(77), draw.any_bits(n + SLACK) // 2**23, draw.floats(n + SLACK), n, 77),
)
def pick_where_valid(values: Array, index: Array, out: Array, n: int, count: int) -> None:
    j = index[:n]
    valid = (j >= 0) & (j < count)
    out[:n] = np.where(valid, values[np.where(valid, j, 0)], np.float32(-1))


@program(
    PLANE,
    lambda draw, rows, columns: (
        draw.floats(13, columns),
        draw.integers(rows + 1, low=0, high=13),
        draw.floats(rows, columns),
        rows,
        columns,
    ),
)
def pick_rows(table: Array, index: Array, out: Array, rows: int, columns: int) -> None:
    out[...] = table[index[:rows]]


FLOAT2 = np.dtype([("x", np.float32), ("y", np.float32)])


@program(
    LINE,
    lambda draw, n: (
        draw.record(FLOAT2, 60),
        draw.integers(n + SLACK, low=0, high=60),
        draw.record(FLOAT2, n + SLACK),
        n,
    ),
)
def pick_complex(values: Array, index: Array, out: Array, n: int) -> None:
    out[:n] = values[index[:n]]


def _sparse(draw: Draw, rows: int) -> tuple[Any, ...]:
    start = np.zeros(rows + 1, np.int32)
    start[1:] = np.cumsum(draw.integers(rows, low=0, high=9))
    count = int(start[-1]) + 1
    return start, draw.integers(count, low=0, high=40), draw.floats(count), draw.floats(40), draw.floats(rows + 1), rows


@program(
    (launch(4, 64, rows=200), launch(1, 32, rows=32), launch(1, 1, rows=1), launch(1, 8, rows=0, idle=True)),
    _sparse,
    1e-5,
)
def sparse_times_vector(start: Array, column: Array, value: Array, x: Array, y: Array, rows: int) -> None:
    for row in range(rows):
        part = slice(start[row], start[row + 1])
        y[row] = (value[part] * x[column[part]]).sum()


@program(
    LINE[:5],
    lambda draw, n: (
        draw.integers(5, n, low=-10, high=40),
        draw.floats(5, n),
        draw.floats(40),
        draw.floats(n + SLACK),
        n,
        5,
    ),
    1e-5,
)
def padded_sparse_times_vector(column: Array, value: Array, x: Array, y: Array, rows: int, width: int) -> None:
    y[:rows] = np.where(column >= 0, value * x[np.maximum(column, 0)], np.float32(0)).sum(0)


@program(
    LINE,
    lambda draw, n: (draw.floats(50), 50, draw.floats(n + SLACK, low=-0.2, high=1.2), draw.floats(n + SLACK), n),
)
def interpolate(table: Array, size: int, x: Array, out: Array, n: int) -> None:
    place = x[:n] * np.float32(size - 1)
    left = np.clip(place.astype(np.int32), 0, size - 2)
    weight = place - left.astype(np.float32)
    out[:n] = (np.float32(1) - weight) * table[left] + weight * table[left + 1]


@program(
    LINE[:5],
    lambda draw, n: (
        draw.integers(n + 1, 3, low=-40, high=40),
        draw.floats(40),
        draw.floats(n + SLACK, low=0.5, high=1),
        draw.floats(n + SLACK),
        n,
    ),
)
def edges_of_cells(edge_of_cell: Array, flux: Array, area: Array, out: Array, cells: int) -> None:
    e = edge_of_cell[:cells]
    terms = np.where(e >= 0, flux[np.maximum(e, 0)], -flux[np.where(e < 0, -e - 1, 0)])
    out[:cells] = (terms[:, 0] + terms[:, 1] + terms[:, 2]) / area[:cells]


@program(
    PLANE,
    lambda draw, rows, columns: (
        draw.floats(rows, columns),
        draw.floats(rows, columns, low=-4, high=4),
        draw.floats(rows, columns, low=-4, high=4),
        draw.floats(rows, columns),
        rows,
        columns,
    ),
)
def warp_image(image: Array, dx: Array, dy: Array, out: Array, rows: int, columns: int) -> None:
    y, x = np.indices(image.shape).astype(np.float32)
    sx = np.clip(np.floor(x + dx), 0, columns - 1).astype(int)
    sy = np.clip(np.floor(y + dy), 0, rows - 1).astype(int)
    out[...] = image[sy, sx]


@program(LINE[:5], lambda draw, n: (draw.permutation(n + SLACK), draw.integers(n + SLACK, low=-9, high=-5), n, 12))
def follow_links(following: Array, out: Array, n: int, hops: int) -> None:
    place = np.arange(n)
    for _ in range(hops):
        place = following[place]
    out[:n] = place
