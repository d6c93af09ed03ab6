"""What the kernels of block_folds.cu do, in NumPy."""

from __future__ import annotations

import numpy as np

from .program import Array, Draw, Launch, launch, program

HALVES = (launch(3, 64, n=150), launch(1, 64, n=64), launch(2, 64, n=70), launch(1, 64, n=1))
WHOLES = (launch(3, 128, n=300), launch(1, 128, n=128), launch(2, 128, n=130))


def in_rows(x: Array, n: int, size: int, filling: float = 0) -> Array:
    """The first n numbers in rows of a length, the last one filled up."""
    rows = np.full(-(-n // size) * size, filling, x.dtype)
    rows[:n] = x[:n]
    return rows.reshape(-1, size)


def scanned(x: Array, n: int, size: int) -> Array:
    """The sums up to each number, starting anew for each row."""
    return np.cumsum(in_rows(x, n, size), 1, dtype=x.dtype).ravel()[:n]


def of_integers(draw: Draw, n: int) -> list[object]:
    return [draw.any_bits(n + 3), draw.integers(n + 3), n]


@program(WHOLES, lambda draw, n: (draw.floats(n + 3), draw.floats(n + 3), n), 1e-5)
def ping_pong_scan(x: Array, y: Array, n: int) -> None:
    rows = in_rows(x, n, 128)
    rows = np.concatenate([np.zeros_like(rows[:, :1]), rows[:, :-1]], 1)
    y[:n] = np.cumsum(rows, 1).ravel()[:n]


@program(
    tuple(launch(*shape, n=n, shared_bytes=4 * shape[1]) for shape, n in (((3, 64), 150), ((2, 8), 11), ((1, 32), 32))),
    of_integers,
)
def scan_of_guarded_loads(launch: Launch, x: Array, y: Array, n: int) -> None:
    y[:n] = scanned(x, n, launch.threads // launch.blocks)


@program(HALVES, of_integers)
def scan_from_the_end(x: Array, y: Array, n: int) -> None:
    y[:n] = np.cumsum(in_rows(x, n, 64)[:, ::-1], 1, dtype=np.int32)[:, ::-1].ravel()[:n]


@program(
    (launch(2, 128, n=500), launch(1, 128, n=256), launch(3, 128, n=513)),
    lambda draw, n: (draw.floats(n + 3), draw.floats(n + 3), draw.floats(5), n),
    1e-5,
)
def padded_up_and_down(x: Array, y: Array, sums: Array, n: int) -> None:
    rows = in_rows(x, n, 256)
    y[:n] = (np.cumsum(rows, 1) - rows).ravel()[:n]
    sums[: len(rows)] = rows.sum(1)


@program(
    (launch(2, 64, n=120), launch(1, 96, n=96), launch(3, 32, n=70)),
    lambda draw, n: (draw.any_bits(n + 3), *(draw.integers(n + 3) for _ in range(3)), n),
)
def scans_of_warps(x: Array, inclusive: Array, exclusive: Array, halves: Array, n: int) -> None:
    inclusive[:n] = scanned(x, n, 32)
    exclusive[:n] = inclusive[:n] - x[:n]
    halves[:n] = scanned(x, n, 16)


@program(
    (launch(2, 256, n=500), launch(1, 64, n=64), launch(2, 1024, n=1500), launch(149, 256, n=38_000)),
    lambda draw, n: (draw.floats(n + 3), draw.floats(n + 3), draw.floats(150), n),
    1e-5,
)
def scan_of_scans_of_warps(launch: Launch, x: Array, y: Array, sums: Array, n: int) -> None:
    size = launch.threads // launch.blocks
    y[:n] = scanned(x, n, size)
    sums[: launch.blocks] = in_rows(x, n, size).sum(1)


@program(
    (launch(3, 64, n=150), launch(1, 64, n=64)),
    lambda draw, n: (
        draw.any_bits(192),
        *(draw.integers(n + 3) for _ in range(3)),
        draw.integers(n + 3, low=0, dtype=np.uint32),
        n,
    ),
)
def scans_of_bits(x: Array, all: Array, any: Array, odd: Array, greatest: Array, n: int) -> None:
    rows = x.reshape(-1, 64)
    ops = (np.bitwise_and, np.bitwise_or, np.bitwise_xor)
    for out, op in zip((all, any, odd), ops, strict=True):
        out[:n] = op.accumulate(rows, 1).ravel()[:n]
    greatest[:n] = np.maximum.accumulate(rows.view(np.uint32), 1).ravel()[:n]


def special(draw: Draw, n: int) -> Array:
    """Numbers among which there are NaN and infinities: whole rows of NaN, and some that begin with it.

    There are no zeros: NumPy takes either of 0.0 and -0.0 for the greater.
    """
    x = draw.special_floats(n)
    x[x == 0] = 1
    x[: n // 3] = np.nan
    return x


@program(
    (launch(3, 64, n=150), launch(2, 64, n=128)),
    lambda draw, n: (special(draw, 192), draw.floats(n + 3), draw.floats(n + 3), n),
)
def scans_of_extremes(x: Array, least: Array, greatest: Array, n: int) -> None:
    rows = x.reshape(-1, 64)
    least[:n] = np.fmin.accumulate(rows, 1).ravel()[:n]
    greatest[:n] = np.fmax.accumulate(rows, 1).ravel()[:n]


@program(
    (launch((3, 2), (16, 16), rows=30, columns=40), launch((1, 1), (16, 16), rows=16, columns=16)),
    lambda draw, rows, columns: (draw.floats(rows, columns), draw.floats(rows, columns), rows, columns),
    1e-5,
)
def scans_of_columns(x: Array, y: Array, rows: int, columns: int) -> None:
    for start in range(0, rows, 16):
        y[start : start + 16] = np.cumsum(x[start : start + 16], 0)


@program(
    (launch(3, 64, n=768), launch(1, 64, n=256)),
    lambda draw, n: (draw.floats(n), draw.floats(n + 3)),
    1e-5,
)
def scan_of_runs(x: Array, y: Array) -> None:
    y[: x.size] = np.cumsum(x.reshape(-1, 256), 1).ravel()


@program(tuple(launch(1, 64, n=n) for n in (64, 150, 1000)), of_integers)
def scan_with_carry(x: Array, y: Array, n: int) -> None:
    y[:n] = np.cumsum(x[:n], dtype=np.int32)


@program(WHOLES, lambda draw, n: (draw.integers(n + 3), draw.integers(384), draw.integers(5), n))
def compaction(launch: Launch, x: Array, y: Array, counts: Array, n: int) -> None:
    for block in range(launch.blocks):
        own = x[128 * block : min(128 * block + 128, n)]
        kept = own[own > 0]
        y[128 * block : 128 * block + kept.size] = kept
        counts[block] = kept.size


@program(
    (launch(3, 128, n=384), launch(1, 128, n=128)),
    lambda draw, n: (special(draw, n), draw.floats(5), draw.floats(5), n),
)
def trees_of_extremes(x: Array, greatest: Array, least: Array, n: int) -> None:
    rows = x.reshape(-1, 128)
    greatest[: len(rows)] = np.fmax.reduce(rows, 1)
    least[: len(rows)] = np.fmin.reduce(rows, 1)


@program(
    HALVES[:3],
    lambda draw, n: (
        draw.floats(n, low=0.9, high=1.1),
        draw.any_bits(n, dtype=np.uint32),
        draw.floats(5),
        draw.integers(5, low=0, dtype=np.uint32),
        n,
    ),
    1e-5,
)
def trees_of_products(x: Array, k: Array, product: Array, counts: Array, n: int) -> None:
    rows = in_rows(x, n, 64, 1)
    product[: len(rows)] = rows.prod(1)
    counts[: len(rows)] = in_rows(k, n, 64, 1).prod(1, dtype=np.uint32)


@program(
    (launch(3, 64, n=192), launch(1, 32, n=32)),
    lambda draw, n: (
        draw.any_bits(n, dtype=np.uint32),
        draw.integers(n, low=0, dtype=np.uint32),
        draw.integers(n, low=0, dtype=np.uint32),
        n,
    ),
)
def butterfly_of_warp(x: Array, greatest: Array, odd: Array, n: int) -> None:
    rows = x.reshape(-1, 32)
    greatest[:] = np.repeat(rows.max(1), 32)
    odd[: len(rows)] = np.bitwise_xor.reduce(rows, 1)


@program(HALVES, of_integers)
def windows_are_no_scan(x: Array, y: Array, n: int) -> None:
    rows = in_rows(x, n, 64)
    sums = np.cumsum(rows, 1, dtype=np.int32)
    sums[:, 16:] -= np.cumsum(rows, 1, dtype=np.int32)[:, :-16]
    y[:n] = sums.ravel()[:n]


def stepped(rows: Array, distances: tuple[int, ...]) -> Array:
    """Each number plus that at a distance before it, again for each distance."""
    for d in distances:
        rows = rows + np.pad(rows[:, :-d], ((0, 0), (d, 0)))
    return rows


@program(HALVES, of_integers)
def twice_is_no_scan(x: Array, y: Array, n: int) -> None:
    y[:n] = stepped(in_rows(x, n, 64), (1, 2, 3, 4, 8, 16, 32)).ravel()[:n]


@program(HALVES, lambda draw, n: (draw.integers(n + 3), draw.integers(n + 3), n))
def scan_where_data_say_so(x: Array, y: Array, n: int) -> None:
    own = in_rows(x, n, 64)
    rows = own
    for d in (1, 2, 4, 8, 16, 32):
        rows = np.where(np.fmod(own, 3) != 0, stepped(rows, (d,)), rows)
    y[:n] = rows.ravel()[:n]


@program(HALVES, lambda draw, n: (draw.any_bits(n + 3), draw.integers(n + 3), draw.integers(n + 3), n))
def scan_after_a_change(x: Array, y: Array, z: Array, n: int) -> None:
    own = in_rows(x, n, 64)
    rows = np.cumsum(own, 1, dtype=np.int32)
    y[:n] = rows.ravel()[:n]
    is_changed = (np.arange(64) % 2 == 1) & (np.arange(rows.size).reshape(rows.shape) < n)
    z[:n] = np.cumsum(np.where(is_changed, own * np.int32(3), rows), 1, dtype=np.int32).ravel()[:n]


@program(
    (launch(2, 64, n=500), launch(1, 64, n=64)),
    lambda draw, n: (draw.integers(2 * n, low=0, high=100), draw.integers(128), n),
)
def places_of_bins(launch: Launch, x: Array, starts: Array, n: int) -> None:
    for block in range(launch.blocks):
        counts = np.bincount(x[block * n : (block + 1) * n] & 63, minlength=64)
        starts[64 * block : 64 * block + 64] = np.cumsum(counts) - counts
