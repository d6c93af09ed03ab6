"""What the kernels of control.cu do, in NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from .program import LINE, PLANE, SLACK, Array, Draw, Launch, launch, program


@program(LINE, lambda draw, n: (draw.floats(n + SLACK), draw.floats(n + SLACK), n))
def early_returns(x: Array, out: Array, n: int) -> None:
    out[:n] = np.where(np.abs(x[:n]) > 1, np.sign(x[:n]), x[:n] * x[:n])


@program(
    LINE,
    lambda draw, n: (
        draw.integers(n + SLACK, low=-1, high=8),
        draw.floats(n + SLACK),
        draw.floats(n + SLACK),
        draw.floats(n + SLACK),
        n,
    ),
)
def choose(kind: Array, a: Array, b: Array, out: Array, n: int) -> None:
    kind, a, b = kind[:n], a[:n], b[:n]
    ten = np.float32(10)
    cases = [kind == 0, kind == 1, kind == 2, kind == 5, kind == 6]
    out[:n] = np.select(cases, [a + b, a - b, a * b, -b + ten, np.full_like(a, ten)], a * np.float32(0.5))


@program(LINE, lambda draw, n: (draw.floats(n + SLACK), draw.floats(n + SLACK), n))
def guarded_neighbor(x: Array, out: Array, n: int) -> None:
    for i in range(n):
        if i > 0 and x[i - 1] > 0:
            out[i] = x[i - 1]
        elif i == n - 1 or x[i + 1] < 0:
            out[i] = np.float32(-2) * x[i]
        else:
            out[i] = x[i] + x[i + 1]


def _sector(x: float, y: float) -> int:
    if x > 0:
        if y > 0:
            return 0 if x > y else 1
        return 6 if -y > x else 7
    if y > 0:
        return 2 if y > -x else 3
    return 4


@program(
    LINE, lambda draw, n: (draw.floats(n + SLACK), draw.floats(n + SLACK), draw.integers(n + SLACK, low=-9, high=-5), n)
)
def sectors(x: Array, y: Array, out: Array, n: int) -> None:
    out[:n] = [_sector(*pair) for pair in zip(x[:n], y[:n], strict=True)]


@program(
    LINE[:5], lambda draw, n: (draw.integers(n + SLACK, low=-5, high=400), draw.integers(n + SLACK, low=-9, high=-5), n)
)
def is_prime(x: Array, out: Array, n: int) -> None:
    out[:n] = [value >= 2 and all(value % d for d in range(2, int(value**0.5) + 1)) for value in x[:n].tolist()]


@program(
    LINE[:5],
    lambda draw, n: (
        draw.integers(4, 6, low=0, high=30),
        draw.integers(n + SLACK, low=0, high=30),
        draw.integers(n + SLACK, low=-9, high=-5),
        draw.integers(n + SLACK, low=-9, high=-5),
        n,
        4,
        6,
    ),
)
def find_pair(table: Array, wanted: Array, row: Array, column: Array, n: int, rows: int, columns: int) -> None:
    for i in range(n):
        places = np.argwhere(table == wanted[i])
        row[i], column[i] = places[0] if len(places) else (-1, -1)


def _run(code: list[int], value: int) -> int:
    for step in code:
        if step == 0:
            value += 3
        elif step == 1:
            value *= 2
        elif step == 2:
            value -= 40 if value > 50 else 0
        elif step == 3:
            if value % 2:
                continue
            value = int(value / 2)
        elif step == 4 and value < 0:
            return -1
        value ^= 1
    return value


@program(
    LINE[:5],
    lambda draw, n: (
        np.array([0, 1, 2, 3, 3, 1, 9, 4, 2, 3, 0], np.int32),
        11,
        draw.integers(n + SLACK, low=-40, high=70),
        draw.integers(n + SLACK, low=5000, high=6000),
        n,
    ),
)
def run_code(code: Array, length: int, values: Array, out: Array, n: int) -> None:
    out[:n] = [_run(code.tolist(), value) for value in values[:n].tolist()]


@program(
    LINE[:5],
    lambda draw, n: (
        draw.integers(n + 1, 9, low=0, high=12),
        draw.integers(2 * n + SLACK, low=-9, high=-5),
        n,
        9,
        7,
        35,
    ),
)
def two_exits(x: Array, out: Array, n: int, width: int, wanted: int, limit: int) -> None:
    for i in range(n):
        total, why, j = 0, 0, 0
        while j < width:
            if x[i, j] == wanted:
                why = 1
                break
            total += x[i, j]
            if total > limit:
                why = 2
                break
            j += 1
        out[2 * i], out[2 * i + 1] = why, j


@program(
    (launch(7, 32, blocks=5), launch(4, 1, blocks=4), launch(1, 1, blocks=1), launch(2, 8, blocks=0, idle=True)),
    lambda draw, blocks: (draw.integers(blocks + SLACK), draw.integers(blocks + SLACK), blocks),
)
def only_first_thread(launch: Launch, x: Array, out: Array, blocks: int) -> None:
    assert isinstance(launch.block, int)
    out[:blocks] = x[:blocks] * 10 + launch.block


def _guards(flag: int) -> Any:
    def draw_arguments(draw: Draw, rows: int, columns: int) -> tuple[Any, ...]:
        mask = draw.integers(rows, columns, low=0, high=2)
        return draw.floats(rows, columns), mask, draw.floats(rows, columns), rows, columns, flag

    return draw_arguments


@program(PLANE, _guards(1))
def nested_guards(x: Array, mask: Array, out: Array, rows: int, columns: int, flag: int) -> None:
    y, c = np.indices(x.shape)
    kept = np.where((c > 2) | (y < 1), out - np.float32(1), out)
    out[...] = np.where(mask != 0, x + np.float32(1), kept)


@program(LINE, lambda draw, n: (draw.floats(n + SLACK), n))
def odd_and_even_lanes(launch: Launch, x: Array, n: int) -> None:
    assert isinstance(launch.block, int)
    block, thread = np.divmod(np.arange(n), launch.block)
    values = np.where(thread % 2 == 0, x[:n] * np.float32(2), x[:n] - np.float32(1))
    x[:n] = np.where(block == 1, -values, values)
