"""What the kernels of tensor_cores.cu do, in NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from .program import Array, Draw, launch, program


def halves(draw: Draw, *shape: int) -> Array:
    return draw.floats(*shape).astype(np.float16)


def short_floats(x: Array) -> Array:
    """To 10 bits behind the point, ties away from zero."""
    mantissa, exponent = np.frexp(x.astype(np.float64))
    return np.ldexp(np.trunc(mantissa * 2**11 + np.copysign(0.5, mantissa)) / 2**11, exponent).astype(np.float32)


def bfloats(x: Array) -> Array:
    """To 7 bits behind the point, ties to even."""
    mantissa, exponent = np.frexp(x.astype(np.float64))
    return np.ldexp(np.rint(mantissa * 2**8) / 2**8, exponent).astype(np.float32)


def squares(rows: int, columns: int, depth: int) -> tuple[Any, ...]:
    """Launches of one warp for each part of rows by columns."""
    return (
        launch((3, 2), 32, n=3 * columns, k=3 * depth, m=2 * rows),
        launch((1, 1), 32, n=columns, k=depth, m=rows),
        launch((2, 3), 32, n=2 * columns, k=depth, m=3 * rows),
    )


@program(
    (
        launch((1, 3), (64, 1), m=32, n=48, k=32),
        launch((2, 2), (64, 2), m=64, n=48, k=64),
        launch((1, 1), (32, 1), m=16, n=16, k=16),
    ),
    lambda draw, m, n, k: (
        halves(draw, m, k),
        halves(draw, k, n),
        draw.floats(m, n),
        *(m, n, k),
        *(np.float32(0.5), np.float32(2)),
    ),
    1e-6,
)
def half_product(a: Array, b: Array, c: Array, m: int, n: int, k: int, alpha: float, beta: float) -> None:
    c[...] = alpha * (a.astype(np.float32) @ b.astype(np.float32)) + beta * c


@program(
    (launch((2, 1), (64, 2), m=48, n=32, k=32), launch((1, 2), (64, 2), m=32, n=64, k=16)),
    lambda draw, m, n, k: (
        halves(draw, k, m),
        halves(draw, n, k),
        draw.floats(n, m),
        *(m, n, k),
        *(np.float32(0.5), np.float32(2)),
    ),
    1e-6,
)
def guarded_product(a: Array, b: Array, c: Array, m: int, n: int, k: int, alpha: float, beta: float) -> None:
    c[...] = alpha * (b.astype(np.float32) @ a.astype(np.float32)) + beta * c


@program(
    squares(16, 16, 16),
    lambda draw, m, n, k: (halves(draw, m, k), halves(draw, n, k), draw.floats(m, n), n, k),
    1e-6,
)
def plain_product(a: Array, b: Array, c: Array, n: int, k: int) -> None:
    c[...] = a.astype(np.float32) @ b.astype(np.float32).T


@program(
    (launch((2, 3), 32, m=32, n=48, k=48), launch((1, 1), 32, m=16, n=16, k=16)),
    lambda draw, m, n, k: (
        draw.integers(k, m, low=-5, high=5).astype(np.float16),
        draw.integers(n, k, low=-5, high=5).astype(np.float16),
        draw.floats(n, m).astype(np.float16),
        *(m, n, k),
    ),
)
def half_sums(a: Array, b: Array, c: Array, m: int, n: int, k: int) -> None:
    c[...] = (1 + b.astype(np.float32) @ a.astype(np.float32)).astype(np.float16)


@program(
    squares(32, 8, 16),
    lambda draw, m, n, k: (halves(draw, m, k), halves(draw, k, n), draw.floats(m, n), n, k),
    1e-6,
)
def tall_product(a: Array, b: Array, c: Array, n: int, k: int) -> None:
    c[...] = a.astype(np.float32) @ b.astype(np.float32)


@program(
    squares(8, 32, 16),
    lambda draw, m, n, k: (halves(draw, m, k), halves(draw, k, n), draw.floats(m, n), n, k),
    1e-6,
)
def wide_product(a: Array, b: Array, c: Array, n: int, k: int) -> None:
    c[...] = a.astype(np.float32) @ b.astype(np.float32)


@program(
    squares(16, 16, 16),
    lambda draw, m, n, k: (draw.floats(m, k), draw.floats(k, n), draw.floats(m, n), n, k),
    1e-6,
)
def bfloat16_product(a: Array, b: Array, c: Array, n: int, k: int) -> None:
    c[...] = bfloats(a) @ bfloats(b)


@program(
    squares(16, 16, 8),
    lambda draw, m, n, k: (draw.floats(m, k), draw.floats(k, n), draw.floats(m, n), n, k),
    1e-6,
)
def short_float_product(a: Array, b: Array, c: Array, n: int, k: int) -> None:
    c[...] = short_floats(a) @ short_floats(b)


@program(
    squares(8, 8, 4),
    lambda draw, m, n, k: (draw.doubles(m, k), draw.doubles(n, k), draw.doubles(m, n), n, k),
    1e-14,
)
def double_product(a: Array, b: Array, c: Array, n: int, k: int) -> None:
    c[...] = a @ b.T


@program(
    squares(16, 16, 16),
    lambda draw, m, n, k: (
        draw.any_bits(m, k, dtype=np.int8),
        draw.any_bits(n, k, dtype=np.int8),
        draw.any_bits(m, n),
        *(n, k),
    ),
)
def signed_product(a: Array, b: Array, c: Array, n: int, k: int) -> None:
    c[...] = (c + a.astype(np.int64) @ b.astype(np.int64).T).astype(np.int32)


@program(
    squares(16, 16, 16),
    lambda draw, m, n, k: (
        draw.any_bits(m, k, dtype=np.uint8),
        draw.any_bits(n, k, dtype=np.uint8),
        draw.any_bits(m, n),
        *(n, k),
    ),
)
def unsigned_product(a: Array, b: Array, c: Array, n: int, k: int) -> None:
    c[...] = (c + a.astype(np.int64) @ b.astype(np.int64).T).astype(np.int32)


@program(
    squares(16, 16, 16),
    lambda draw, m, n, k: (
        draw.any_bits(m, k, dtype=np.int8),
        draw.any_bits(n, k, dtype=np.int8),
        draw.random.choice(np.array([-(2**31), 2**31 - 1, 0, 5], np.int32), (m, n)),
        *(n, k),
    ),
)
def saturated_product(a: Array, b: Array, c: Array, n: int, k: int) -> None:
    for i in range(0, k, 16):
        total = c + a[:, i : i + 16].astype(np.int64) @ b[:, i : i + 16].astype(np.int64).T
        c[...] = np.clip(total, -(2**31), 2**31 - 1)


@program(
    (launch((2, 1), 128, m=64, n=128, k=48), launch((1, 1), 128, m=64, n=64, k=16)),
    lambda draw, m, n, k: (halves(draw, m, k), halves(draw, k, n), draw.floats(m, n), n, k),
    1e-6,
)
def staged_product(a: Array, b: Array, c: Array, n: int, k: int) -> None:
    c[...] = np.maximum(a.astype(np.float32) @ b.astype(np.float32), 0)
