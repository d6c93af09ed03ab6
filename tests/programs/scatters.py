"""What the kernels of scatters.cu do, in NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from .program import LINE, PLANE, SLACK, Array, Draw, launch, program


@program(LINE, lambda draw, n: (draw.floats(n + SLACK), draw.permutation(n + SLACK), draw.floats(n + SLACK), n))
def put(values: Array, place: Array, out: Array, n: int) -> None:
    out[place[:n]] = values[:n]


@program(
    LINE[:2] + LINE[3:],
    lambda draw, n: (
        draw.floats(n + SLACK),
        np.where(np.arange(n + SLACK) % 2 == 0, draw.permutation(n + SLACK), np.int32(-1)),
        draw.floats(n + SLACK),
        n,
    ),
)
def put_where_valid(values: Array, place: Array, out: Array, n: int) -> None:
    valid = place[:n] >= 0
    out[place[:n][valid]] = np.float32(2) * values[:n][valid]


@program(LINE, lambda draw, n: (draw.floats(n + SLACK), draw.permutation(n + SLACK), draw.floats(n + SLACK), n))
def add_at(out: Array, place: Array, values: Array, n: int) -> None:
    out[place[:n]] += values[:n]


@program(LINE, lambda draw, n: (draw.integers(n + SLACK, low=0, high=40), draw.integers(40, low=2, high=9), n))
def mark(place: Array, marks: Array, n: int) -> None:
    marks[place[:n]] = 1


@program(
    PLANE,
    lambda draw, rows, columns: (
        draw.floats(rows, columns),
        draw.permutation(rows + 1),
        draw.floats(rows + 1, columns),
        rows,
        columns,
    ),
)
def put_rows(values: Array, place: Array, table: Array, rows: int, columns: int) -> None:
    table[place[:rows]] = values


@program(
    (launch(2, 32, rows=37, columns=45), launch(1, 1, rows=1, columns=1), launch(1, 8, rows=0, columns=5, idle=True)),
    lambda draw, rows, columns: (
        draw.integers(rows, columns, low=0, high=6),
        draw.integers(rows + 1, 6, low=50, high=60),
        rows,
        columns,
        6,
    ),
)
def row_histogram(matrix: Array, counts: Array, rows: int, columns: int, bins: int) -> None:
    for y in range(rows):
        counts[y] = np.bincount(matrix[y], minlength=bins)


@program(
    (launch(1, 1, n=60), launch(1, 1, n=1), launch(1, 1, n=0)),
    lambda draw, n: (
        draw.integers(n + SLACK, low=0, high=10),
        draw.integers(11, low=1, high=9),
        draw.integers(n + SLACK, low=50, high=60),
        n,
        10,
    ),
)
def counting_sort(keys: Array, offsets: Array, ordered: Array, n: int, span: int) -> None:
    ordered[:n] = np.sort(keys[:n])
    offsets[:span] = np.cumsum(np.bincount(keys[:n], minlength=span))
    offsets[span] = n


def _compaction(draw: Draw, n: int) -> tuple[Any, ...]:
    values = draw.floats(n + SLACK)
    kept = np.cumsum(values > 0.5) - 1
    return values, kept.astype(np.int32), draw.floats(n + SLACK), n, np.float32(0.5)


@program(LINE[:2] + LINE[4:], _compaction)
def compact(values: Array, place: Array, kept: Array, n: int, bound: np.float32) -> None:
    chosen = values[:n][values[:n] > bound]
    kept[: chosen.size] = chosen


def _pairs(draw: Draw, n: int) -> tuple[Any, ...]:
    order = draw.permutation(2 * n + SLACK)
    return draw.floats(2 * n + SLACK), order[: n + 1].copy(), order[n + 1 :].copy(), n


@program(LINE, _pairs)
def swap_pairs(x: Array, left: Array, right: Array, n: int) -> None:
    x[left[:n]], x[right[:n]] = x[right[:n]], x[left[:n]]


@program(
    (launch(2, 32, n=50), launch(1, 1, n=1), launch(2, 64, n=7), launch(1, 8, n=0, idle=True)),
    lambda draw, n: (draw.floats(n + SLACK), draw.floats(n * (n + 1) // 2 + SLACK), n),
)
def put_quadratic(x: Array, out: Array, n: int) -> None:
    i = np.arange(n)
    out[i * (i + 1) // 2] = x[:n]
