"""What the kernels of scans.cu do, in NumPy."""

from __future__ import annotations

import itertools

import numpy as np

from .program import Array, launch, program

ROWS = (
    launch(2, 32, rows=37, columns=45),
    launch(2, 16, rows=32, columns=64),
    launch(1, 1, rows=1, columns=1),
    launch(2, 64, rows=3, columns=150),
    launch(1, 8, idle=True, rows=0, columns=5),
)
LEVELS = (
    launch(2, 32, levels=20, columns=45),
    launch(2, 16, levels=64, columns=32),
    launch(1, 1, levels=1, columns=1),
    launch(2, 64, levels=100, columns=3),
    launch(1, 8, idle=True, levels=5, columns=0),
)


@program(ROWS, lambda draw, rows, columns: (draw.any_bits(rows, columns), draw.integers(rows, columns), rows, columns))
def row_prefix_sum(matrix: Array, sums: Array, rows: int, columns: int) -> None:
    sums[...] = np.cumsum(matrix, 1, dtype=np.int32)


@program(
    LEVELS,
    lambda draw, levels, columns: (
        draw.floats(levels, columns),
        draw.floats(levels, low=0.5, high=2),
        draw.floats(levels, columns),
        levels,
        columns,
    ),
    1e-5,
)
def column_integral(density: Array, thickness: Array, pressure: Array, levels: int, columns: int) -> None:
    weight = density * thickness[:, None]
    pressure[...] = np.cumsum(weight, 0) - np.float32(0.5) * weight


@program(
    LEVELS,
    lambda draw, levels, columns: (draw.floats(levels, columns), draw.floats(levels + 1, columns), levels, columns),
    1e-5,
)
def column_integral_upward(source: Array, at_faces: Array, levels: int, columns: int) -> None:
    at_faces[-1] = 0
    at_faces[:-1] = np.cumsum(source[::-1], 0)[::-1]


@program(ROWS, lambda draw, rows, columns: (draw.floats(rows, columns), draw.floats(rows, columns), rows, columns))
def running_greatest(matrix: Array, out: Array, rows: int, columns: int) -> None:
    out[...] = np.maximum.accumulate(matrix, 1)


@program(
    ROWS,
    lambda draw, rows, columns: (
        draw.floats(rows, columns),
        draw.floats(rows, columns),
        rows,
        columns,
        np.float32(0.3),
    ),
    1e-5,
)
def exponential_average(x: Array, out: Array, rows: int, columns: int, weight: np.float32) -> None:
    average = x[:, 0].copy()
    for t in range(columns):
        average = weight * x[:, t] + (np.float32(1) - weight) * average
        out[:, t] = average


@program((*ROWS[:2], ROWS[3]), lambda draw, rows, columns: (draw.floats(rows, columns), rows, columns), 1e-5)
def second_order_recurrence(x: Array, rows: int, columns: int) -> None:
    for t in range(2, columns):
        x[:, t] += np.float32(0.5) * x[:, t - 1] - np.float32(0.25) * x[:, t - 2]


@program(
    LEVELS,
    lambda draw, levels, columns: (
        draw.doubles(levels, columns, low=-1, high=1),
        draw.doubles(levels, columns, low=4, high=5),
        draw.doubles(levels, columns, low=-1, high=1),
        draw.doubles(levels, columns),
        draw.doubles(levels, columns),
        levels,
        columns,
    ),
    1e-12,
)
def solve_tridiagonal(
    lower: Array, diagonal: Array, upper: Array, right: Array, scratch: Array, levels: int, columns: int
) -> None:
    pivot = diagonal[0].copy()
    right[0] /= pivot
    for z in range(1, levels):
        scratch[z] = upper[z - 1] / pivot
        pivot = diagonal[z] - lower[z] * scratch[z]
        right[z] = (right[z] - lower[z] * right[z - 1]) / pivot
    for z in range(levels - 2, -1, -1):
        right[z] -= scratch[z + 1] * right[z + 1]


@program(
    ROWS,
    lambda draw, rows, columns: (
        draw.integers(rows, columns, low=0, high=3),
        draw.integers(rows + 1, low=-9, high=-5),
        rows,
        columns,
    ),
)
def count_runs(matrix: Array, runs: Array, rows: int, columns: int) -> None:
    for y in range(rows):
        runs[y] = len(list(itertools.groupby(matrix[y])))


@program(
    ROWS,
    lambda draw, rows, columns: (
        draw.floats(rows, columns),
        draw.integers(rows + 1, low=-9, high=-5),
        rows,
        columns,
    ),
)
def longest_climb(matrix: Array, longest: Array, rows: int, columns: int) -> None:
    for y in range(rows):
        climbs = [len(list(group)) for rises, group in itertools.groupby(np.diff(matrix[y]) > 0) if rises]
        longest[y] = 1 + max(climbs, default=0)
