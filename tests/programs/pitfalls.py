"""What the kernels of pitfalls.cu do, in NumPy."""

from __future__ import annotations

import numpy as np

from .program import LINE, SLACK, Array, Launch, launch, program
from .structs import vector


@program(
    LINE[:5],
    lambda draw, n: (
        draw.integers(n + 1, 6, low=0, high=4),
        draw.integers(n + 1, 6, low=-9, high=9).astype(np.float32),
        draw.integers(n + 1, 4, low=50, high=60).astype(np.float32),
        n,
        6,
    ),
)
def accumulate_by_class(kind: Array, x: Array, sums: Array, n: int, width: int) -> None:
    for y in range(n):
        np.add.at(sums[y], kind[y], x[y])


@program(
    LINE, lambda draw, n: (draw.integers(n + SLACK, low=-2, high=5), draw.integers(3 * n + SLACK, low=50, high=60), n)
)
def constant_then_changed(x: Array, out: Array, n: int) -> None:
    value = np.full(n, 5)
    for k in range(3):
        value = np.where(x[:n] > k, 7 * k, value)
        out[k : 3 * n : 3] = value


@program(LINE, lambda draw, n: (draw.integers(2 * n + SLACK), draw.integers(n + SLACK), n, 1))
def constant_through_memory(scratch: Array, out: Array, n: int, place: int) -> None:
    scratch[: 2 * n : 2] = 11
    scratch[1 : 2 * n : 2] = 13
    scratch[place : 2 * n : 2] = 17
    out[:n] = scratch[: 2 * n : 2] * 100 + scratch[1 : 2 * n : 2]


FLOAT2 = vector("xy", np.float32)


@program(
    LINE,
    lambda draw, n: (
        draw.record(FLOAT2, 60),
        draw.integers(n + SLACK, low=0, high=60),
        draw.record(FLOAT2, n + SLACK),
        n,
    ),
)
def gather_products(a: Array, index: Array, out: Array, n: int) -> None:
    p, q = a[index[:n]], a[index[:n][::-1]]
    out["x"][:n] = p["x"] * q["x"] - p["y"] * q["y"]
    out["y"][:n] = p["x"] * q["y"] + p["y"] * q["x"]


@program(
    (launch(2, 32, levels=20, columns=45), launch(1, 16, levels=2, columns=16), launch(1, 1, levels=3, columns=1)),
    lambda draw, levels, columns: (
        draw.floats(levels, columns),
        draw.floats(levels, columns),
        draw.floats(levels, columns),
        levels,
        columns,
    ),
    1e-5,
)
def hydrostatic(density: Array, pressure: Array, gradient: Array, levels: int, columns: int) -> None:
    half = np.float32(0.5)
    pressure[-1] = half * density[-1]
    for z in range(levels - 2, -1, -1):
        pressure[z] = pressure[z + 1] + half * (density[z] + density[z + 1])
    gradient[...] = pressure - pressure[0]


@program(LINE[:2] + LINE[3:], lambda draw, n: (draw.floats(n + SLACK), draw.floats(n + SLACK), n))
def stencil_with_ifs(x: Array, out: Array, n: int) -> None:
    if n:
        out[0] = x[1] - x[0]
        out[1 : n - 1] = np.float32(0.5) * (x[2:n] - x[: n - 2])
        out[n - 1] = x[n - 1] - x[n - 2]


@program((launch(1, (16, 16)), launch((2, 2), (2, 2))), lambda draw: (draw.floats(4, 4), draw.floats(4, 4)))
def small_under_large(x: Array, out: Array) -> None:
    out[...] = x.T + np.float32(1)


@program(LINE, lambda draw, n: (draw.floats(n + SLACK), draw.floats(n + SLACK), n))
def local_memory(x: Array, out: Array, n: int) -> None:
    total = np.zeros(n, np.float32)
    for k in (3, 2, 1, 0):
        total = np.float32(2) * total + np.roll(x[:n], -k)
    out[:n] = total


@program((launch(1, 1), launch(3, 32)), lambda draw: (draw.integers(1),))
def one_store(out: Array) -> None:
    out[0] = 42


@program((launch(1, 1), launch(2, 8)), lambda draw: (draw.doubles(1), draw.doubles(1)))
def copy_scalar(x: Array, out: Array) -> None:
    out[0] = x[0]


@program((launch(2, 32, idle=True),), lambda draw: (draw.integers(5),))
def nothing(out: Array) -> None:
    return


@program(
    LINE[:5],
    lambda draw, n: (
        draw.integers(n + SLACK).astype(np.float32),
        draw.integers(n + SLACK).astype(np.float32),
        draw.floats(n + SLACK),
        n,
        9,
    ),
)
def sum_of_same(x: Array, c: Array, out: Array, n: int, times: int) -> None:
    out[:n] = c[:n] + times * x[:n]


@program(
    (launch(1, 16, width=10, length=40), launch(1, 32, width=32, length=64), launch(1, 1, width=1, length=20)),
    lambda draw, width, length: (
        draw.floats(length),
        draw.floats(width),
        np.array([length - width, 0], np.int32),
        draw.floats(width),
        width,
    ),
)
def write_then_read_window(x: Array, values: Array, place: Array, out: Array, width: int) -> None:
    x[place[0] : place[0] + width] = values
    out[...] = x[place[0] : place[0] + width] + x[place[1] : place[1] + width]


@program(
    (launch(2, 32, na=20, nb=13, nc=7), launch(1, 64, na=0, nb=4, nc=0), launch(2, 16, na=1, nb=0, nc=3)),
    lambda draw, na, nb, nc: (
        draw.floats(na + 1),
        draw.floats(nb + 1),
        draw.floats(nc + 1),
        draw.floats(na + nb + nc + SLACK),
        na,
        nb,
        nc,
    ),
)
def three_parts(a: Array, b: Array, c: Array, out: Array, na: int, nb: int, nc: int) -> None:
    out[: na + nb + nc] = np.concatenate([a[:na], b[:nb], c[:nc]])


@program(
    (launch(1, (8, 8), n=5), launch(1, (8, 8), n=8), launch(1, 1, n=1)),
    lambda draw, n: (draw.floats(n, n), draw.floats(n, n), draw.floats(n, n), n),
)
def there_and_back(x: Array, between: Array, out: Array, n: int) -> None:
    between[...] = x.T
    out[...] = x


@program(
    (
        launch(2, 32, first=3, last=50, step=1),
        launch(2, 32, first=7, last=100, step=3),
        launch(1, 1, first=5, last=9, step=1),
        launch(1, 8, first=50, last=20, step=1, idle=True),
    ),
    lambda draw, first, last, step: (draw.floats(110), first, last, step),
)
def partial_cover(launch: Launch, x: Array, first: int, last: int, step: int) -> None:
    x[first : min(last, first + step * launch.threads) : step] = -1


@program(LINE, lambda draw, n: (draw.floats(n + SLACK), draw.floats(n + SLACK), n))
def store_after_store(out: Array, x: Array, n: int) -> None:
    out[:n] = np.where(x[:n] > 0, 2, 1)
    out[:n:5] += 10


@program(LINE, lambda draw, n: (draw.floats(n + SLACK), draw.floats(n + SLACK), n))
def read_then_overwrite(x: Array, out: Array, n: int) -> None:
    before = x[:n].copy()
    out[:n] = before + np.float32(3) * before
    x[:n] = out[:n] * out[:n]
