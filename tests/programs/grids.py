"""What the kernels of grids.cu do, in NumPy."""

from __future__ import annotations

import numpy as np

from .program import LINE, PLANE, SLACK, STRIDE, Array, Launch, launch, program


def _block(shape: Launch) -> int:
    return int(np.prod(shape.block))


@program(STRIDE, lambda draw, n: (np.float32(0.7), draw.floats(n + SLACK), draw.floats(n + SLACK), n))
def grid_stride(a: np.float32, x: Array, y: Array, n: int) -> None:
    y[:n] = a * x[:n] + y[:n]


@program(
    (
        launch((2, 2), (8, 4), rows=37, columns=45),
        launch((2, 2), (8, 4), rows=16, columns=32),
        launch(1, 1, rows=3, columns=5),
        launch((2, 3), (8, 4), rows=2, columns=3),
        launch((1, 1), (8, 8), idle=True, rows=0, columns=5),
    ),
    lambda draw, rows, columns: (draw.floats(rows, columns), draw.floats(rows, columns), rows, columns),
)
def grid_stride_plane(x: Array, y: Array, rows: int, columns: int) -> None:
    r, c = np.indices(x.shape).astype(np.float32)
    y[...] = x * (r + np.float32(1)) - c


@program(
    (launch(5, 32, rows=5, columns=77), launch(3, 64, rows=3, columns=10), launch(1, 1, rows=1, columns=4)),
    lambda draw, rows, columns: (draw.floats(rows, columns), draw.floats(rows, columns), columns),
)
def block_for_row(x: Array, y: Array, columns: int) -> None:
    y[...] = np.float32(2) * x


@program(
    (launch(2, 128, n=1000), launch(1, 32, n=128), launch(1, 1, n=3), launch(3, 64, n=5), launch(1, 8, n=0, idle=True)),
    lambda draw, n: (draw.any_bits(n + SLACK), draw.any_bits(n + SLACK)[::-1].copy(), n),
)
def several_each(x: Array, y: Array, n: int) -> None:
    y[:n] = x[:n] * np.int32(3)


@program(
    (
        launch(2, 64, n=1000, share=8),
        launch(2, 8, n=100, share=9),
        launch(1, 1, n=5, share=5),
        launch(2, 8, n=3, share=2),
    ),
    lambda draw, n, share: (draw.any_bits(n + SLACK), draw.any_bits(n + SLACK), n, share),
)
def blocked_each(x: Array, y: Array, n: int, share: int) -> None:
    y[:n] = x[:n] - np.int32(7)


@program(
    (
        launch((3, 4), 64, n=700),
        launch((2, 2), 16, n=64),
        launch((1, 1), 1, n=1),
        launch((2, 2), 32, n=5),
        launch((2, 2), 8, n=0, idle=True),
    ),
    lambda draw, n: (draw.integers(n + SLACK), draw.integers(n + SLACK, low=500, high=600), n),
)
def flattened_plane_of_blocks(launch: Launch, x: Array, y: Array, n: int) -> None:
    assert isinstance(launch.grid, tuple)
    y[:n] = x[:n] + np.arange(n) // (launch.grid[0] * _block(launch))


@program(
    (
        launch(3, (4, 3, 2), n=60),
        launch(2, (8, 2, 2), n=64),
        launch(2, (4, 4, 4), n=5),
        launch(1, (2, 2, 2), n=0, idle=True),
    ),
    lambda draw, n: (draw.integers(n + SLACK), draw.integers(n + SLACK, low=9000, high=9900), n),
)
def flattened_block(launch: Launch, x: Array, y: Array, n: int) -> None:
    y[:n] = x[:n] * (np.arange(n) % _block(launch))


@program(LINE, lambda draw, n: (draw.integers(n + SLACK), n))
def identify(launch: Launch, out: Array, n: int) -> None:
    assert isinstance(launch.grid, int)
    block, thread = np.divmod(np.arange(n), _block(launch))
    out[:n] = thread + 1000 * block + 100000 * _block(launch) + launch.grid


@program(
    (
        launch((2, 2, 3), (16, 8), batch=3, rows=13, columns=29),
        launch((1, 1, 2), (8, 8), batch=2, rows=8, columns=8),
        launch((1, 1, 1), 1, batch=1, rows=1, columns=1),
        launch((1, 1, 2), (8, 8), idle=True, batch=2, rows=0, columns=3),
    ),
    lambda draw, batch, rows, columns: (
        draw.floats(batch, rows, columns),
        draw.floats(batch),
        draw.floats(batch, rows, columns),
        rows,
        columns,
    ),
)
def batch_in_z(x: Array, scale: Array, y: Array, rows: int, columns: int) -> None:
    y[...] = scale[:, None, None] * x


@program(
    (launch((3, 7), (16, 8), rows=37, columns=45), launch((1, 1), (8, 8), rows=8, columns=8), PLANE[2]),
    lambda draw, rows, columns: (draw.floats(rows, columns), draw.floats(rows, columns), rows, columns),
)
def rows_on_x(x: Array, y: Array, rows: int, columns: int) -> None:
    y[...] = -x


@program(LINE, lambda draw, n: (draw.integers(n + SLACK), n))
def lane_numbers(launch: Launch, out: Array, n: int) -> None:
    thread = np.arange(n) % _block(launch)
    out[:n] = thread % 32 + 100 * (thread // 32) + 32000
