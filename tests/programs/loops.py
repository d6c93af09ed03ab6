"""What the kernels of loops.cu do, in NumPy."""

from __future__ import annotations

import math

import numpy as np

from .program import LINE, PLANE, SLACK, STRIDE, Array, launch, program


@program(LINE, lambda draw, n: (draw.floats(6), 5, draw.floats(n + SLACK), draw.floats(n + SLACK), n))
def polynomial(coefficients: Array, degree: int, x: Array, y: Array, n: int) -> None:
    value = np.full(n, coefficients[degree])
    for k in range(degree - 1, -1, -1):
        value = value * x[:n] + coefficients[k]
    y[:n] = value


@program(LINE[:5], lambda draw, n: (draw.floats(n + SLACK, low=0.1, high=0.9), n, np.float32(3.9), 1000))
def logistic_map(x: Array, n: int, rate: np.float32, steps: int) -> None:
    for _ in range(steps):
        x[:n] = rate * x[:n] * (np.float32(1) - x[:n])


@program(
    (launch(2, 64, n=100), launch(1, 1, n=1), launch(3, 4, n=5), launch(1, 32, n=0, idle=True)),
    lambda draw, n: (draw.integers(n + SLACK, low=5, high=9, dtype=np.uint32), n),
)
def fibonacci(x: Array, n: int) -> None:
    a, b = 0, 1
    for i in range(n):
        x[i] = a % 2**32
        a, b = b, a + b


@program(LINE[:5], lambda draw, n: (draw.integers(n + SLACK, low=1, high=500), draw.integers(n + SLACK), n))
def collatz(start: Array, steps: Array, n: int) -> None:
    for i in range(n):
        value, count = int(start[i]), 0
        while value != 1:
            value, count = (value // 2 if value % 2 == 0 else 3 * value + 1), count + 1
        steps[i] = count


@program(
    LINE[:5],
    lambda draw, n: (draw.doubles(n + SLACK, low=0.1, high=50), draw.doubles(n + SLACK), draw.integers(n + SLACK), n),
)
def square_root(x: Array, root: Array, rounds: Array, n: int) -> None:
    for i in range(n):
        guess = max(x[i], 1.0)
        k = 0
        while k < 100:
            better = 0.5 * (guess + x[i] / guess)
            if better >= guess:
                break
            guess, k = better, k + 1
        root[i], rounds[i] = guess, k


@program(
    LINE[:5],
    lambda draw, n: (
        np.sort(draw.integers(77, low=0, high=50)),
        77,
        draw.integers(n + SLACK, low=-5, high=60),
        draw.integers(n + SLACK, low=-9, high=-5),
        n,
    ),
)
def lower_bound(ordered: Array, count: int, wanted: Array, place: Array, n: int) -> None:
    place[:n] = np.searchsorted(ordered, wanted[:n])


@program(
    LINE[:5],
    lambda draw, n: (
        draw.integers(n + SLACK, low=0, high=1000),
        draw.integers(n + SLACK, low=0, high=1000),
        draw.integers(n + SLACK, low=-9, high=-5),
        n,
    ),
)
def greatest_divisor(a: Array, b: Array, out: Array, n: int) -> None:
    out[:n] = [math.gcd(int(p), int(q)) for p, q in zip(a[:n], b[:n], strict=True)]


@program(
    (*PLANE[:3], launch((4, 8), (16, 8), rows=60, columns=60), PLANE[4]),
    lambda draw, rows, columns: (draw.integers(rows, columns, low=-3, high=0), rows, columns, 200),
)
def mandelbrot(iterations: Array, rows: int, columns: int, limit: int) -> None:
    f = np.float32
    ci, cr = np.indices((rows, columns)).astype(np.float32)
    cr, ci = f(-2) + f(3) * cr / f(columns), f(-1.5) + f(3) * ci / f(max(rows, 1))
    zr, zi, count = np.zeros_like(cr), np.zeros_like(ci), np.zeros(cr.shape, np.int32)
    for _ in range(limit):
        inside = zr * zr + zi * zi < f(4)
        zr, zi = np.where(inside, zr * zr - zi * zi + cr, zr), np.where(inside, f(2) * zr * zi + ci, zi)
        count += inside
    iterations[...] = count


@program(
    LINE,
    lambda draw, n: (
        draw.any_bits(n + SLACK, dtype=np.uint32)[::-1].copy(),
        draw.any_bits(n + SLACK, dtype=np.uint32),
        n,
    ),
)
def reverse_bits(x: Array, out: Array, n: int) -> None:
    out[:n] = [int(f"{int(value):032b}"[::-1], 2) for value in x[:n]]


@program(
    (launch(2, 64, n=100), launch(2, 64, n=128), launch(1, 1, n=1), launch(3, 4, n=5), launch(1, 32, n=0, idle=True)),
    lambda draw, n: (draw.any_bits(n + SLACK), draw.integers(n + SLACK), n),
)
def sum_of_earlier(x: Array, out: Array, n: int) -> None:
    out[:n] = np.cumsum(x[:n], dtype=np.int32)


@program(
    (
        launch(2, 32, n=1000, lanes=50),
        launch(1, 32, n=64, lanes=32),
        launch(1, 1, n=9, lanes=1),
        launch(2, 32, n=5, lanes=40),
    ),
    lambda draw, n, lanes: (draw.integers(n + SLACK), draw.integers(lanes + SLACK, low=5000, high=6000), n, lanes),
)
def strided_sum(x: Array, partial: Array, n: int, lanes: int) -> None:
    for i in range(lanes):
        partial[i] = x[i:n:lanes].sum()


@program(LINE[:5], lambda draw, n: (draw.integers(n + SLACK), draw.integers(n + SLACK, low=-9, high=-5), n, 1500))
def doubling(x: Array, out: Array, n: int, limit: int) -> None:
    for i in range(n):
        value, rounds = int(x[i]), 0
        while True:
            value, rounds = value * 2, rounds + 1
            if not (value < limit and rounds < 20):
                break
        out[i] = value + rounds


@program(
    LINE[:5],
    lambda draw, n: (draw.integers(n + 1, 12, low=-9, high=10), draw.integers(n + SLACK, low=-9, high=-5), n, 12),
)
def sum_positive_until_zero(x: Array, out: Array, n: int, width: int) -> None:
    for i in range(n):
        row = x[i, :width]
        zeros = np.flatnonzero(row == 0)
        row = row[: zeros[0]] if zeros.size else row
        out[i] = row[row > 0].sum()


@program(
    LINE[:5],
    lambda draw, n: (draw.integers(n + 1, 9, low=-3, high=4), draw.integers(n + SLACK, low=-9, high=-5), n, 9),
)
def count_pairs(x: Array, out: Array, n: int, width: int) -> None:
    for i in range(n):
        row = x[i]
        out[i] = sum(int(row[a]) + int(row[b]) == 0 for a in range(width) for b in range(a + 1, width))


@program(LINE[:5], lambda draw, n: (draw.floats(n + SLACK), n, 50))
def iterate_in_memory(x: Array, n: int, steps: int) -> None:
    for _ in range(steps):
        x[:n] = np.float32(0.5) * x[:n] + np.float32(1)


@program(
    STRIDE,
    lambda draw, n: (draw.floats(n + SLACK), draw.floats(n + SLACK), draw.integers(n + SLACK, low=-9, high=-5), n),
)
def halve_until_small(x: Array, out: Array, rounds: Array, n: int) -> None:
    for i in range(n):
        value, k = x[i], 0
        while abs(value) > np.float32(0.01):
            value, k = value * np.float32(0.5), k + 1
        out[i], rounds[i] = value, k


@program(
    LINE[:5],
    lambda draw, n: (
        draw.integers(n + 1, low=0, high=90).astype(np.uint32),
        draw.integers(n + SLACK, low=0, high=9).astype(np.uint32),
        draw.integers(n + SLACK, low=0, high=9).astype(np.uint32),
        n,
    ),
)
def count_blocks(lengths: Array, blocks: Array, left: Array, n: int) -> None:
    for i in range(n):
        length, count = int(lengths[i]), 0
        while length > 12:
            count, length = count + (length & 7), length - 12
        blocks[i], left[i] = count, length
