"""What the kernels of movement.cu do, in NumPy."""

from __future__ import annotations

import numpy as np

from .program import LINE, PLANE, SLACK, Array, launch, program


@program(LINE, lambda draw, n: (draw.floats(n + SLACK), n, np.float32(2.5)))
def fill(x: Array, n: int, value: np.float32) -> None:
    x[:n] = value


@program(LINE, lambda draw, n: (n, np.float32(1.7), draw.floats(n + SLACK), draw.floats(n + SLACK)))
def saxpy(n: int, a: np.float32, x: Array, y: Array) -> None:
    y[:n] = a * x[:n] + y[:n]


@program(LINE, lambda draw, n: (draw.floats(n + SLACK), draw.floats(n + SLACK), n))
def reverse(source: Array, target: Array, n: int) -> None:
    target[:n] = source[:n][::-1]


@program(LINE, lambda draw, n: (draw.floats(2 * n + SLACK), draw.floats(n + SLACK), draw.floats(n + SLACK), n))
def deinterleave(pairs: Array, even: Array, odd: Array, n: int) -> None:
    even[:n] = pairs[: 2 * n : 2]
    odd[:n] = pairs[1 : 2 * n : 2]


@program(LINE, lambda draw, n: (draw.floats(n + SLACK), draw.floats(n + SLACK), draw.floats(2 * n + SLACK), n))
def interleave(even: Array, odd: Array, pairs: Array, n: int) -> None:
    pairs[: 2 * n : 2] = even[:n]
    pairs[1 : 2 * n : 2] = odd[:n]


@program(LINE, lambda draw, n: (draw.floats(n + SLACK), draw.floats(n + SLACK), n))
def every_other(source: Array, target: Array, n: int) -> None:
    target[:n:2] = -source[:n:2]


@program(PLANE, lambda draw, rows, columns: (draw.floats(rows, columns), draw.floats(columns, rows), rows, columns))
def transpose(matrix: Array, transposed: Array, rows: int, columns: int) -> None:
    transposed[...] = matrix.T


@program(LINE, lambda draw, n: (draw.floats(n + SLACK), draw.floats(n + SLACK), n, 1 if n < 10 else 7))
def rotate(source: Array, target: Array, n: int, shift: int) -> None:
    target[:n] = np.roll(source[:n], -shift)


@program(LINE, lambda draw, n: (draw.floats(n + SLACK), draw.floats(n + SLACK), n, 1 if n < 10 else 7))
def rotate_down(source: Array, target: Array, n: int, shift: int) -> None:
    target[:n] = np.roll(source[:n], -shift)


@program(LINE, lambda draw, n: (draw.floats(n + SLACK), draw.floats(n + SLACK), n, -4))
def clamped_shift(source: Array, target: Array, n: int, shift: int) -> None:
    if n:
        target[:n] = source[np.clip(np.arange(n) + shift, 0, n - 1)]


@program(LINE[:2] + LINE[3:], lambda draw, n: (draw.floats(n + SLACK), draw.floats(n + SLACK), n, 3))
def mirrored_shift(source: Array, target: Array, n: int, shift: int) -> None:
    j = np.abs(np.arange(n) + shift)
    target[:n] = source[np.where(j >= n, 2 * n - 2 - j, j)]


@program(PLANE, lambda draw, rows, columns: (draw.floats(columns), draw.floats(rows, columns), rows, columns))
def add_to_rows(row: Array, matrix: Array, rows: int, columns: int) -> None:
    matrix += row


@program(PLANE, lambda draw, rows, columns: (draw.floats(rows + 1), draw.floats(rows, columns), rows, columns))
def add_to_columns(column: Array, matrix: Array, rows: int, columns: int) -> None:
    matrix += column[:rows, None]


@program(
    PLANE,
    lambda draw, rows, columns: (
        draw.floats(rows + 7, columns + 9),
        columns + 9,
        3,
        5,
        draw.floats(rows, columns),
        rows,
        columns,
    ),
)
def copy_block(source: Array, source_pitch: int, top: int, left: int, target: Array, rows: int, columns: int) -> None:
    target[...] = source[top : top + rows, left : left + columns]


@program(
    PLANE,
    lambda draw, rows, columns: (
        draw.floats(rows + 7, columns + 9),
        columns + 9,
        3,
        5,
        draw.floats(rows, columns),
        rows,
        columns,
    ),
)
def paste_block(target: Array, target_pitch: int, top: int, left: int, source: Array, rows: int, columns: int) -> None:
    target[top : top + rows, left : left + columns] = source


@program(PLANE, lambda draw, rows, columns: (draw.floats(rows, columns), draw.floats(rows, columns), rows, columns))
def lower_triangle(matrix: Array, triangle: Array, rows: int, columns: int) -> None:
    triangle[...] = np.where(np.tri(rows, columns, dtype=bool), matrix, triangle)


@program(
    PLANE,
    lambda draw, rows, columns: (
        draw.floats((rows + 1) // 2, (columns + 1) // 2),
        draw.floats(rows, columns),
        rows,
        columns,
    ),
)
def enlarge(small: Array, large: Array, rows: int, columns: int) -> None:
    large[...] = small.repeat(2, 0).repeat(2, 1)[:rows, :columns]


@program(LINE[:-1], lambda draw, n: (draw.floats(n + 1, n + 2), draw.floats(n + 1), n, n + 2))
def set_diagonal(matrix: Array, values: Array, n: int, pitch: int) -> None:
    matrix[np.arange(n), np.arange(n)] = values[:n]


@program(
    (
        launch((2, 2, 3), (8, 4, 2), depth=5, rows=7, columns=11),
        launch((2, 2, 2), (4, 4, 4), depth=8, rows=8, columns=8),
        launch(1, 1, depth=1, rows=1, columns=1),
        launch((1, 1, 1), (4, 4, 4), idle=True, depth=2, rows=0, columns=3),
    ),
    lambda draw, depth, rows, columns: (
        draw.floats(depth, rows, columns),
        draw.floats(columns, depth, rows),
        depth,
        rows,
        columns,
    ),
)
def permute_axes(volume: Array, permuted: Array, depth: int, rows: int, columns: int) -> None:
    permuted[...] = volume.transpose(2, 0, 1)


@program(
    (
        launch(7, 32, rows=11, columns=19),
        launch(2, 32, rows=8, columns=8),
        launch(1, 1, rows=1, columns=1),
        launch(2, 16, idle=True, rows=3, columns=0),
    ),
    lambda draw, rows, columns: (draw.floats(rows, columns), draw.floats(columns, rows), rows, columns),
)
def split_index(flat: Array, transposed: Array, rows: int, columns: int) -> None:
    transposed[...] = flat.T


@program(
    (launch(4, 128, n=1000), launch(1, 64, n=5), launch(1, 1, n=2), launch(1, 32, n=1, idle=True)),
    lambda draw, n: (draw.floats(n + SLACK), n),
)
def swap_halves(x: Array, n: int) -> None:
    half = n // 2
    x[:half], x[half : 2 * half] = x[half : 2 * half].copy(), x[:half].copy()
