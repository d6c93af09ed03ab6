"""What the kernels of reductions.cu do, in NumPy. Sums of floats may be taken in another order."""

from __future__ import annotations

import numpy as np

from .program import LINE, PLANE, SLACK, Array, launch, program

ROWS = (
    launch(2, 32, rows=37, columns=45),
    launch(2, 16, rows=32, columns=64),
    launch(1, 1, rows=1, columns=1),
    launch(2, 64, rows=3, columns=200),
    launch(1, 8, idle=True, rows=0, columns=5),
    launch(40, 64, slow=True, rows=2500, columns=700),
)
"""One thread for each row."""

COLUMNS = (
    launch(2, 32, rows=37, columns=45),
    launch(2, 32, rows=32, columns=64),
    launch(1, 1, rows=1, columns=1),
    launch(2, 64, rows=100, columns=3),
    launch(1, 8, idle=True, rows=5, columns=0),
)
"""One thread for each column."""


@program(ROWS, lambda draw, rows, columns: (draw.floats(rows, columns), draw.floats(rows + 1), rows, columns), 1e-5)
def row_sum(matrix: Array, sums: Array, rows: int, columns: int) -> None:
    sums[:rows] = matrix.sum(1)


@program(
    (*COLUMNS, launch(1, 4, rows=0, columns=3)),
    lambda draw, rows, columns: (draw.floats(rows + 1, columns), draw.floats(columns + 1), rows, columns),
    1e-5,
)
def column_sum(matrix: Array, sums: Array, rows: int, columns: int) -> None:
    sums[:columns] = matrix[:rows].sum(0)


@program(ROWS, lambda draw, rows, columns: (draw.floats(rows, columns), draw.floats(rows + 1), rows, columns), 1e-5)
def add_row_sum_in_memory(matrix: Array, sums: Array, rows: int, columns: int) -> None:
    sums[:rows] += matrix.sum(1)


@program(
    ROWS,
    lambda draw, rows, columns: (
        draw.floats(rows, columns),
        draw.floats(rows + 1, low=5, high=6),
        draw.floats(rows + 1, low=5, high=6),
        rows,
        columns,
    ),
)
def row_extremes(matrix: Array, least: Array, greatest: Array, rows: int, columns: int) -> None:
    least[:rows] = matrix.min(1)
    greatest[:rows] = matrix.max(1)


@program(
    ROWS[:5],
    lambda draw, rows, columns: (
        draw.integers(rows, columns, low=-9, high=9).astype(np.float32),
        draw.integers(rows + 1, low=-9, high=-5),
        draw.floats(rows + 1),
        rows,
        columns,
    ),
)
def row_place_of_greatest(matrix: Array, place: Array, greatest: Array, rows: int, columns: int) -> None:
    place[:rows] = matrix.argmax(1)
    greatest[:rows] = matrix.max(1)


@program(ROWS, lambda draw, rows, columns: (draw.doubles(rows, columns), draw.doubles(rows + 1), rows, columns), 1e-12)
def row_products(matrix: Array, products: Array, rows: int, columns: int) -> None:
    products[:rows] = matrix.prod(1)


@program(
    ROWS, lambda draw, rows, columns: (draw.floats(rows, columns), draw.floats(rows, columns), rows, columns), 1e-5
)
def row_softmax(matrix: Array, out: Array, rows: int, columns: int) -> None:
    powers = np.exp(matrix - matrix.max(1, keepdims=True))
    out[...] = powers / powers.sum(1, keepdims=True)


@program(
    ROWS,
    lambda draw, rows, columns: (
        draw.doubles(rows, columns),
        draw.doubles(rows + 1),
        draw.doubles(rows + 1),
        rows,
        columns,
    ),
    1e-12,
)
def row_moments(matrix: Array, mean: Array, variance: Array, rows: int, columns: int) -> None:
    mean[:rows] = matrix.mean(1)
    variance[:rows] = matrix.var(1)


@program(
    ROWS[:5],
    lambda draw, rows, columns: (
        draw.integers(rows, columns, low=0, high=10),
        draw.integers(rows + 1, low=-9, high=-5),
        draw.integers(rows + 1, low=-9, high=-5),
        draw.integers(rows + 1, low=-9, high=-5),
        rows,
        columns,
        2,
    ),
)
def row_counts(matrix: Array, above: Array, some: Array, every: Array, rows: int, columns: int, bound: int) -> None:
    above[:rows] = (matrix > bound).sum(1)
    some[:rows] = (matrix > bound).any(1)
    every[:rows] = (matrix > bound).all(1)


@program(
    ROWS,
    lambda draw, rows, columns: (
        draw.any_bits(rows, columns),
        draw.integers(rows + 1),
        draw.any_bits(rows + 1, dtype=np.uint32),
        rows,
        columns,
    ),
)
def wrapping_sum(matrix: Array, sums: Array, mixed: Array, rows: int, columns: int) -> None:
    sums[:rows] = matrix.sum(1, dtype=np.int32)
    mixed[:rows] = np.bitwise_xor.reduce(matrix.view(np.uint32) * np.uint32(3), 1)


@program(
    (launch(1, 1, n=1000), launch(1, 1, n=1), launch(1, 1, n=0)),
    lambda draw, n: (draw.doubles(n + SLACK), draw.doubles(1), n),
    1e-12,
)
def total(x: Array, sum_of_x: Array, n: int) -> None:
    sum_of_x[0] = x[:n].sum()


@program(LINE[:5], lambda draw, n: (draw.floats(n + SLACK), draw.floats(n + SLACK), n, 3), 1e-5)
def window_sum(x: Array, out: Array, n: int, radius: int) -> None:
    for i in range(n):
        out[i] = x[max(i - radius, 0) : min(i + radius, n - 1) + 1].sum()


@program(
    PLANE,
    lambda draw, rows, columns: (draw.floats(2 * rows, 2 * columns), draw.floats(rows, columns), rows, columns),
)
def pool(source: Array, target: Array, rows: int, columns: int) -> None:
    target[...] = source.reshape(rows, 2, columns, 2).max((1, 3))


@program(
    (
        launch(2, 16, depth=5, rows=19, columns=23),
        launch(1, 16, depth=8, rows=16, columns=16),
        launch(1, 1, depth=1, rows=1, columns=1),
    ),
    lambda draw, depth, rows, columns: (draw.floats(depth, rows, columns), draw.floats(rows + 1), depth, rows, columns),
    1e-5,
)
def volume_sum(volume: Array, sums: Array, depth: int, rows: int, columns: int) -> None:
    sums[:rows] = volume.sum((0, 2))
