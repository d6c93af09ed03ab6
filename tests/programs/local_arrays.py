"""What the kernels of local_arrays.cu do, in NumPy."""

from __future__ import annotations

import numpy as np

from .program import LINE, SLACK, Array, launch, program


@program(
    (launch(8, 128, n=1000), launch(3, 64, n=5), launch(1, 32, n=4, idle=True)),
    lambda draw, n: (draw.floats(n + SLACK), draw.floats(n + SLACK), n),
)
def median_of_five(x: Array, out: Array, n: int) -> None:
    for i in range(2, n - 2):
        out[i] = np.median(x[i - 2 : i + 3])


@program(
    LINE[:5],
    lambda draw, n: (draw.integers(n + 1, 12, low=0, high=8), draw.integers(n + SLACK, low=-9, high=-5), n, 12),
)
def most_frequent(x: Array, out: Array, n: int, width: int) -> None:
    out[:n] = [np.bincount(row, minlength=8).argmax() for row in x[:n]]


@program(
    LINE[:5],
    lambda draw, n: (draw.doubles(n + 1, 3, 3) + 4 * np.eye(3), draw.doubles(n + 1, 3, 3), n),
    1e-12,
)
def invert_matrices(matrices: Array, inverses: Array, n: int) -> None:
    inverses[:n] = np.linalg.inv(matrices[:n])


@program(
    LINE[:5],
    lambda draw, n: (draw.integers(n + 1, 12, low=-5, high=9), draw.integers(n + SLACK, low=-9, high=-5), n, 12),
)
def stack_machine(x: Array, out: Array, n: int, width: int) -> None:
    for i in range(n):
        stack: list[int] = []
        for value in x[i].tolist():
            if value > 0:
                stack.append(value)
            elif len(stack) > 1:
                last = stack.pop()
                stack[-1] -= last
        total = 0
        for value in stack:
            total = 3 * total + value
        out[i] = total


@program(LINE, lambda draw, n: (draw.integers(n + SLACK, low=0, high=6), draw.floats(n + SLACK), n))
def lookup(kind: Array, out: Array, n: int) -> None:
    out[:n] = np.array([1.5, -2, 0.25, 8, -0.5, 3], np.float32)[kind[:n]]


@program(LINE, lambda draw, n: (draw.floats(n + 1, 2), n, np.float32(0.1)), 1e-6)
def runge_kutta(state: Array, n: int, dt: np.float32) -> None:
    y = state[:n].astype(np.float64)
    slopes = [np.zeros_like(y)]
    for share in (0.0, 0.5, 0.5, 1.0):
        stage = y + dt * share * slopes[-1]
        slopes.append(np.stack([stage[:, 1], -stage[:, 0]], 1))
    state[:n] = y + dt * (slopes[1] + 2 * slopes[2] + 2 * slopes[3] + slopes[4]) / 6
