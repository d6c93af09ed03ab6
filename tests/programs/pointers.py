"""What the kernels of pointers.cu do, in NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from .program import LINE, SLACK, Array, Draw, launch, program

ROWS = (
    launch(2, 32, rows=37, columns=45),
    launch(1, 1, rows=1, columns=1),
    launch(2, 64, rows=3, columns=100),
    launch(1, 8, idle=True, rows=0, columns=5),
)


@program(ROWS, lambda draw, rows, columns: (draw.floats(rows, columns), draw.floats(rows + 1), rows, columns))
def row_by_pointer(matrix: Array, out: Array, rows: int, columns: int) -> None:
    out[:rows] = matrix[:, 0] - matrix[:, -1]


@program(ROWS, lambda draw, rows, columns: (draw.floats(rows, columns), draw.floats(rows + 1), rows, columns), 1e-5)
def walk(matrix: Array, sums: Array, rows: int, columns: int) -> None:
    sums[:rows] = matrix.sum(1)


@program(LINE, lambda draw, n: (draw.floats(n + SLACK), draw.floats(n + SLACK), draw.floats(n + SLACK), n, 0))
def choose_source(a: Array, b: Array, out: Array, n: int, flag: int) -> None:
    out[:n] = a[:n] if flag else b[:n]


@program(LINE, lambda draw, n: (draw.floats(n + SLACK), draw.floats(n + SLACK), draw.floats(n + SLACK), n))
def choose_source_by_thread(a: Array, b: Array, out: Array, n: int) -> None:
    out[:n] = np.where(np.arange(n) % 3 == 0, a[:n], b[:n]) + np.float32(1)


@program(LINE[:5], lambda draw, n: (draw.floats(n + SLACK), draw.floats(n + SLACK), n, 7))
def ping_pong(a: Array, b: Array, n: int, rounds: int) -> None:
    source, target = a[:n], b[:n]
    for _ in range(rounds):
        target[...] = np.float32(0.5) * source + np.float32(1)
        source, target = target, source


@program(LINE, lambda draw, n: (draw.floats(n + SLACK), draw.floats(n + SLACK), n))
def middle_pointer(x: Array, out: Array, n: int) -> None:
    out[:n] = x[:n] * np.float32(2)


def _same_array_twice(draw: Draw, n: int) -> tuple[Any, ...]:
    x = draw.floats(n + SLACK)
    return x, x, n


@program(LINE, _same_array_twice)
def add_into(x: Array, y: Array, n: int) -> None:
    y[:n] = x[:n] + y[:n]


def _overlapping_views(draw: Draw, n: int) -> tuple[Any, ...]:
    buffer = draw.floats(n + 1 + SLACK)
    return buffer[:-1], buffer[1:], n


@program((launch(1, 1, n=50), launch(1, 1, n=1), launch(1, 1, n=0, idle=True)), _overlapping_views)
def shift_by_one(source: Array, target: Array, n: int) -> None:
    for i in range(n):
        target[i] = source[i] + np.float32(1)


def _two_views(draw: Draw, n: int) -> tuple[Any, ...]:
    buffer = draw.floats(2 * n + SLACK)
    return buffer, buffer[n + 1 :], n


@program(LINE, _two_views)
def copy_far(source: Array, target: Array, n: int) -> None:
    target[:n] = source[:n].copy()


@program(LINE, lambda draw, n: (draw.doubles(n + SLACK, 2, 3), draw.doubles(n + SLACK), n))
def tensor_of_arrays(tensor: Array, values: Array, n: int) -> None:
    a, b = np.indices((2, 3))
    tensor[:n] = values[:n, None, None] * (a + 1) - b


@program(
    (launch(2, 64, quads=100), launch(1, 1, quads=1), launch(2, 32, quads=3), launch(1, 8, quads=0, idle=True)),
    lambda draw, quads: (draw.floats(4 * quads + 4), draw.floats(4 * quads + 4), quads),
)
def four_at_once(x: Array, out: Array, quads: int) -> None:
    out[: 4 * quads] = x[: 4 * quads].reshape(quads, 4)[:, ::-1].ravel()


@program(
    LINE,
    lambda draw, n: (
        draw.any_bits(n + SLACK, dtype=np.uint32)[::-1].copy(),
        draw.any_bits(4 * n + SLACK, dtype=np.uint8),
        n,
    ),
)
def bytes_of_words(words: Array, octets: Array, n: int) -> None:
    octets[: 4 * n] = words[:n].view(np.uint8).reshape(n, 4)[:, ::-1].ravel()


@program(LINE, lambda draw, n: (draw.floats(n + SLACK), None, draw.floats(n + SLACK), n))
def optional_mask(x: Array, mask: Array | None, out: Array, n: int) -> None:
    out[:n] = x[:n]


@program(
    LINE, lambda draw, n: (draw.floats(n + SLACK), draw.floats(n + SLACK), draw.integers(n + SLACK, low=-9, high=-5), n)
)
def difference_of_pointers(begin: Array, end_marker: Array, out: Array, n: int) -> None:
    i = np.arange(n)
    out[:n] = i * 2 + (n - i > 2)
