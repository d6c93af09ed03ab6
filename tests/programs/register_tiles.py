"""What the kernels of register_tiles.cu do, in NumPy."""

from __future__ import annotations

import numpy as np

from .program import Array, Draw, launch, program


def matrices(draw: Draw, n: int) -> list[object]:
    return [draw.floats(n, n), draw.floats(n, n), draw.floats(n + 1, n), n]


@program((launch((1, 1), 256, n=64), launch((3, 3), 256, n=192, slow=True)), matrices, 1e-5)
def squares_of_4(a: Array, b: Array, c: Array, n: int) -> None:
    c[:n] = a @ b


@program((launch((2, 2), 64, n=128), launch((5, 5), 64, n=320, slow=True)), matrices, 1e-5)
def squares_of_8(a: Array, b: Array, c: Array, n: int) -> None:
    c[:n] = a @ b


@program(
    (launch((2, 1), 512, m=64, n=128, k=24), launch((3, 2), 512, m=128, n=192, k=64, slow=True)),
    lambda draw, m, n, k: (
        *(m, n, k, np.float32(0.5), draw.floats(m, k), draw.floats(k, n)),
        *(np.float32(-2), draw.floats(m, n)),
    ),
    1e-5,
)
def columns_of_8(m: int, n: int, k: int, alpha: float, a: Array, b: Array, beta: float, c: Array) -> None:
    c[...] = alpha * (a @ b) + beta * c


@program(
    (launch((1, 1), 64, n=64), launch((2, 2), 64, n=128, slow=True)),
    lambda draw, n: (n, np.float32(1.5), draw.floats(n, n), draw.floats(n, n), np.float32(0.25), draw.floats(n, n)),
    1e-5,
)
def fours_at_once(n: int, alpha: float, a: Array, b: Array, beta: float, c: Array) -> None:
    c[...] = alpha * (a @ b) + beta * c


@program(
    (launch((1, 1), 128, m=64, n=64, k=16), launch((3, 2), 128, m=128, n=192, k=24, slow=True)),
    lambda draw, m, n, k: (m, n, k, draw.floats(m, k), draw.floats(k, n), draw.floats(m, n)),
    1e-5,
)
def tiles_of_warps(m: int, n: int, k: int, a: Array, b: Array, c: Array) -> None:
    c[...] = a @ b


@program((launch((2, 2), (16, 8), n=64), launch((5, 5), (16, 8), n=160, slow=True)), matrices, 1e-5)
def elements_in_turn(a: Array, b: Array, c: Array, n: int) -> None:
    c[:n] = a @ b


@program((launch((2, 4), (4, 4), n=32),), matrices, 1e-5)
def elements_without_tiles(a: Array, b: Array, c: Array, n: int) -> None:
    c[:n] = a @ b


@program((launch((1, 1), 256, n=128), launch((2, 2), 256, n=256, slow=True)), matrices, 1e-5)
def fragments_of_fours(a: Array, b: Array, c: Array, n: int) -> None:
    c[:n] = a @ b


@program(
    (
        launch((2, 1), (16, 16), m=50, n=70, k=21),
        launch((1, 1), (16, 16), m=1, n=1, k=1),
        launch((2, 2), (16, 16), m=128, n=128, k=16),
        launch((3, 3), (16, 16), m=150, n=170, k=130, slow=True),
    ),
    lambda draw, m, n, k: (draw.floats(m, k), draw.floats(k, n), draw.floats(m + 1, n), m, n, k),
    1e-5,
)
def guarded_squares(a: Array, b: Array, c: Array, m: int, n: int, k: int) -> None:
    c[:m] = a @ b


@program(
    (launch((2, 1), (2, 2), n=8), launch((4, 2), (2, 2), n=16)),
    lambda draw, n: (
        *(draw.integers(n, n, low=-100, high=100).astype(np.int8) for _ in range(2)),
        *(np.zeros((n, n), np.int32), n),
    ),
)
def products_of_bytes(a: Array, b: Array, c: Array, n: int) -> None:
    c[...] = (a.astype(np.int32) @ b.astype(np.int32) + np.arange(n)).T


@program(
    (launch(2, 4, n=29, count=7), launch(1, 4, n=1, count=1), launch(2, 4, n=32, count=0)),
    lambda draw, n, count: (draw.floats(n, count), draw.floats(count), draw.doubles(n + 1), n, count),
    1e-6,
)
def sums_under_conditions(x: Array, w: Array, y: Array, n: int, count: int) -> None:
    place = np.arange(n)[:, None] % 4
    counts = (place + np.arange(count)) % 3 != 1
    y[:n] = (x * w * counts).sum(1, dtype=np.float64) - w[w > 0.5].sum(dtype=np.float64)


@program(
    (launch(1, 8, batches=3, n=5), launch(1, 8, batches=1, n=1), launch(1, 8, batches=40, n=9)),
    lambda draw, batches, n: (*(draw.floats(batches, n, 24), draw.floats(batches, 24), draw.floats(8), batches, n),),
    1e-5,
)
def sums_of_batches(x: Array, y: Array, totals: Array, batches: int, n: int) -> None:
    y[...] = x.sum(1)
    totals[...] = (x.sum(1).reshape(batches, 8, 3) * np.array([1, 2, 3])).sum((0, 2))


@program((launch(2, 8, n=9), launch(2, 8, n=40)), lambda draw, n: (draw.floats(n, 16), draw.floats(16, 4), n), 1e-5)
def moving_window(x: Array, y: Array, n: int) -> None:
    padded = np.concatenate([np.zeros((4, 16), np.float32), x])
    for i in range(4):
        y[:, i] = (padded[i : i + n] * x).sum(0)


@program((launch(2, 4, n=5),), lambda draw, n: (draw.floats(n, 8, 4), draw.floats(8, 4), n), 1e-5)
def running_sums(x: Array, y: Array, n: int) -> None:
    y[...] = x.sum(0).cumsum(1)[:, ::-1]


@program(
    (launch(1, 8),),
    lambda draw: (np.array([3, 0, 1, 6, 2, 2, 5, 4], np.int32), draw.floats(6, 2), draw.floats(8, 2, 2)),
    1e-5,
)
def sums_of_some_rows(counts: Array, x: Array, y: Array) -> None:
    for t, count in enumerate(counts):
        found = x[:count].T @ x[:count] + t * count
        y[t] = found.T + found * 2


@program(
    (launch(2, 2, n=6), launch(2, 2, n=50)),
    lambda draw, n: (draw.floats(8, 4), draw.floats(n, 4), draw.floats(n, 4), draw.floats(8, 4), n),
    1e-5,
)
def attention_in_one_pass(q: Array, k: Array, v: Array, out: Array, n: int) -> None:
    scores = q.astype(np.float64) @ k.T
    weights = np.exp(scores - scores.max(1, keepdims=True))
    out[...] = weights / weights.sum(1, keepdims=True) @ v


@program((launch(1, 4, n=6),), lambda draw, n: (draw.floats(4, 8), draw.floats(n, 4), n), 1e-6)
def overlapping_copies(x: Array, w: Array, n: int) -> None:
    x[:, :4] = np.roll(x[:, :4], -1, axis=1) + w.sum(0)
    for i in (4, 5, 6):
        x[:, i] = x[:, i - 1] * 2


@program((launch(1, 8, n=5),), lambda draw, n: (draw.floats(n, 8, 4), draw.floats(8, 4), n), 1e-5)
def one_sum_begins_anew(x: Array, y: Array, n: int) -> None:
    y[...] = x.sum(0)
    y[:, 1] = x[-1, :, 1]


@program(
    (launch(1, 32, n=9), launch(2, 16, n=32)),
    lambda draw, n: (draw.floats(16 * n), np.zeros(4 * n + 3, np.float32), np.zeros(4 * n + 3, np.float32), n),
    1e-6,
)
def diagonals_of_rows(x: Array, out: Array, sums: Array, n: int) -> None:
    rows = x.reshape(n, 4, 4)
    out[: 4 * n] = (rows[:, range(4), range(4)] * x[:n, None]).ravel()
    sums[: 4 * n] = rows.sum(1).ravel()
