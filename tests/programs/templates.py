"""What the kernels of templates.cu do, in NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from .program import LINE, SLACK, Array, program

AFFINE = np.dtype([("scale", np.float32), ("offset", np.float32)])


@program(
    LINE, lambda draw, n: (np.float32(1.5), draw.floats(n + SLACK), draw.floats(n + SLACK), n), kernel="axpy<float>"
)
def axpy_float(a: np.float32, x: Array, y: Array, n: int) -> None:
    y[:n] += a * x[:n]


@program(LINE, lambda draw, n: (1.1, draw.doubles(n + SLACK), draw.doubles(n + SLACK), n), kernel="axpy<double>")
def axpy_double(a: float, x: Array, y: Array, n: int) -> None:
    y[:n] += a * x[:n]


@program(LINE, lambda draw, n: (-3, draw.any_bits(n + SLACK), draw.any_bits(n + SLACK), n), kernel="axpy<int>")
def axpy_int(a: int, x: Array, y: Array, n: int) -> None:
    y[:n] += np.int32(a) * x[:n]


@program(LINE, lambda draw, n: (draw.floats(n + 3), draw.floats(n + SLACK), n), 1e-6, kernel="windowed<4>")
def windowed(x: Array, out: Array, n: int) -> None:
    out[:n] = sum(x[k : k + n] for k in range(4)) / np.float32(4)


@program(
    LINE,
    lambda draw, n: (np.array((2.5, -1), AFFINE)[()], draw.floats(n + SLACK), draw.floats(n + SLACK), n),
    kernel="map<Affine>",
)
def map_affine(function: Any, x: Array, out: Array, n: int) -> None:
    out[:n] = function["scale"] * x[:n] + function["offset"]


@program(LINE, lambda draw, n: (*(draw.integers(n + SLACK) for _ in range(3)), n))
def both_signs(x: Array, same: Array, negated: Array, n: int) -> None:
    same[:n] = x[:n]
    negated[:n] = -x[:n]


@program((*LINE[:2], *LINE[3:]), lambda draw, n: (draw.floats(3 * n + SLACK), n))
def sort_three(x: Array, n: int) -> None:
    x[: 3 * n] = np.sort(x[: 3 * n].reshape(n, 3), 1).ravel()


@program(LINE, lambda draw, n: (draw.floats(n + SLACK), draw.floats(n + SLACK), n))
def overloads(x: Array, out: Array, n: int) -> None:
    f = np.float32
    blended = f(0.25) * x[:n] + f(0.75) * out[:n]
    out[:n] = blended + (f(2) * x[:n] + f(0.5)) + f(6) + f(120)


@program(LINE, lambda draw, n: (draw.floats(n + SLACK), draw.floats(n + SLACK), n), 1e-6)
def calls_far_function(x: Array, out: Array, n: int) -> None:
    out[:n] = x[:n] * np.float32(6) - x[:n]


@program(LINE, lambda draw, n: (draw.floats(n + SLACK), n, np.float32(0.1)), kernel="physics::slow_down")
def slow_down(speed: Array, n: int, dt: np.float32) -> None:
    speed[:n] -= dt * (np.float32(0.5) * speed[:n] * np.abs(speed[:n]))
