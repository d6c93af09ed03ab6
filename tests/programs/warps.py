"""What the kernels of warps.cu do, in NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from .program import Array, Launch, launch, program

WARPS = (
    launch(4, 128, n=500),
    launch(2, 64, n=128),
    launch(3, 96, n=250),
    launch(1, 32, n=1),
    launch(1, 32, idle=True, n=0),
)


def by_warp(x: Array, n: int, idle: int = 0) -> Array:
    """The first n numbers, 32 to a row."""
    whole = np.full(-(-max(n, 1) // 32) * 32, idle, x.dtype)
    whole[:n] = x[:n]
    return whole.reshape(-1, 32)


def spread(values: Any, n: int) -> Array:
    """One value for each lane of a warp."""
    return np.repeat(values, 32)[:n]


def by_block(launch: Launch, x: Array, n: int) -> Array:
    """The first n numbers, a row for each block, zeros for threads beyond."""
    whole = np.zeros(launch.threads, x.dtype)
    whole[:n] = x[:n]
    return whole.reshape(-1, int(np.prod(launch.block)))


def bits_of(flags: Array) -> Array:
    """The 32-bit numbers with these bits."""
    return (flags.astype(np.uint64) << np.arange(32, dtype=np.uint64)).sum(-1).astype(np.uint32)


@program(WARPS, lambda draw, n: (draw.floats(n + 3), np.zeros(512 // 32, np.float32), n), 1e-5)
def sums_of_warps(launch: Launch, x: Array, sums: Array, n: int) -> None:
    sums[: launch.threads // 32] = 0
    rows = by_warp(x, n).sum(1)
    sums[: len(rows)] = rows


@program(WARPS, lambda draw, n: (draw.floats(n + 3).astype(np.float64), np.zeros(n + 3), n), 1e-12)
def sum_in_every_lane(x: Array, sums: Array, n: int) -> None:
    sums[:n] = spread(by_warp(x, n).sum(1), n)


@program(WARPS, lambda draw, n: (draw.any_bits(n + 3), draw.integers(n + 3), n))
def prefix_sums_of_warps(x: Array, sums: Array, n: int) -> None:
    sums[:n] = np.cumsum(by_warp(x, n), 1, dtype=np.int32).reshape(-1)[:n]


@program(WARPS[:-1], lambda draw, n: (draw.floats(n + 3), np.ones(4, np.float32), n), 1e-5)
def sums_of_blocks(launch: Launch, x: Array, sums: Array, n: int) -> None:
    blocks = by_block(launch, x, n)
    sums[: len(blocks)] = blocks.sum(1)


@program(
    WARPS,
    lambda draw, n: (draw.integers(n + 3), *(draw.integers(n + 3) for _ in range(4)), n),
)
def neighbours_in_segments(x: Array, after: Array, before: Array, mirrored: Array, leaders: Array, n: int) -> None:
    values, lane = by_warp(x, n), np.arange(32)

    def read(source: Array, is_there: Array) -> Array:
        return values[:, np.where(is_there, source, lane)].reshape(-1)[:n]

    after[:n] = read(lane + 3, lane % 8 + 3 < 8)
    before[:n] = read(lane - 2, lane % 16 >= 2)
    mirrored[:n] = read(lane ^ 7, lane >= 0)
    leaders[:n] = read(lane // 4 * 4 + 1, lane >= 0)


@program(WARPS, lambda draw, n: (draw.floats(n + 3), draw.any_bits(n + 3), draw.floats(n + 3), n))
def gather_within_warp(x: Array, lanes: Array, out: Array, n: int) -> None:
    own = np.arange(n)
    out[:n] = by_warp(x, n).reshape(-1)[own // 32 * 32 + lanes[:n] % 32]


@program(
    WARPS,
    lambda draw, n: (
        draw.integers(n + 3),
        draw.integers(n + 3).astype(np.uint32),
        *(draw.integers(n + 3) for _ in range(3)),
        n,
    ),
)
def votes(x: Array, ballots: Array, any: Array, all: Array, ranks: Array, n: int) -> None:
    values = by_warp(x, n)
    ballots[:n] = spread(bits_of(values > 0), n)
    any[:n] = spread(np.any(values > 90, 1), n)
    all[:n] = spread(np.all(values > -90, 1), n)
    ranks[:n] = (np.cumsum(values > 0, 1) - (values > 0)).reshape(-1)[:n]


@program(WARPS, lambda draw, n: (draw.integers(n + 3), draw.integers(515), n))
def compact_within_warps(x: Array, kept: Array, n: int) -> None:
    for warp, row in enumerate(by_warp(x, n, -1)):
        chosen = row[row >= 0]
        kept[32 * warp : 32 * warp + len(chosen)] = chosen


@program(WARPS, lambda draw, n: (draw.any_bits(n + 3), draw.integers(n + 3).astype(np.uint32), n))
def equal_lanes(x: Array, same: Array, n: int) -> None:
    values = by_warp(x[:n] & 3, n, -1)
    same[:n] = bits_of(values[:, :, None] == values[:, None, :]).reshape(-1)[:n]


@program(
    WARPS,
    lambda draw, n: (
        draw.any_bits(n + 3),
        *(draw.integers(n + 3) for _ in range(2)),
        *(draw.integers(n + 3).astype(np.uint32) for _ in range(2)),
        n,
    ),
)
def reduce_within_warps(x: Array, sums: Array, greatest: Array, least: Array, bits: Array, n: int) -> None:
    values = by_warp(x, n)
    sums[:n] = spread(values.sum(1, dtype=np.int32), n)
    greatest[:n] = spread(values.max(1), n)
    least[:n] = spread(values.view(np.uint32).min(1), n)
    bits[:n] = spread(np.bitwise_xor.reduce(values.view(np.uint32), 1), n)


@program(WARPS, lambda draw, n: (draw.integers(n + 3), draw.integers(n + 3), n))
def active_lanes(x: Array, active: Array, n: int) -> None:
    counts = spread((by_warp(x, n) > 0).sum(1), n)
    active[:n] = np.where(x[:n] > 0, counts, active[:n])


@program(WARPS[:-1], lambda draw, n: (draw.integers(n + 3), *(draw.integers(4) for _ in range(3)), n))
def counts_at_barriers(launch: Launch, x: Array, counts: Array, all: Array, any: Array, n: int) -> None:
    blocks = by_block(launch, x, n)
    counts[: len(blocks)] = (blocks > 0).sum(1)
    all[: len(blocks)] = (blocks > -90).all(1)
    any[: len(blocks)] = (blocks > 90).any(1)


@program(WARPS, lambda draw, n: (draw.floats(n + 3), np.zeros(512 // 8, np.float32), n), 1e-5)
def sums_of_tiles(x: Array, sums: Array, n: int) -> None:
    rows = by_warp(x, n).reshape(-1, 8).sum(1)
    sums[: len(rows)] = rows


@program(
    (launch(2, (16, 8), n=250), launch(3, (64, 2), n=384), launch(1, (16, 4), n=3)),
    lambda draw, n: (draw.integers(n + 3), draw.integers(n + 3), n),
)
def rows_of_a_wide_block(x: Array, right: Array, n: int) -> None:
    lane = np.arange(32)
    source = np.where(lane % 16 < 15, lane + 1, lane)
    right[:n] = by_warp(x, n)[:, source].reshape(-1)[:n]


@program(
    (launch(5, 128, rows=18, columns=77), launch(2, 64, rows=4, columns=64), launch(1, 32, rows=1, columns=1)),
    lambda draw, rows, columns: (
        draw.floats(rows, columns),
        draw.floats(columns),
        draw.floats(rows + 3),
        rows,
        columns,
    ),
    1e-4,
)
def dot_products_by_warps(matrix: Array, x: Array, y: Array, rows: int, columns: int) -> None:
    y[:rows] = matrix @ x


@program(WARPS, lambda draw, n: (draw.any_bits(n + 3), draw.integers(n + 3), n))
def walk_until_all_arrive(steps: Array, rounds: Array, n: int) -> None:
    rounds[:n] = spread((by_warp(steps, n) & 15).max(1), n)


@program(WARPS, lambda draw, n: (draw.floats(n + 3).astype(np.float64), np.zeros(512 // 32), n), 1e-12)
def sums_of_doubles(launch: Launch, x: Array, sums: Array, n: int) -> None:
    sums[: launch.threads // 32] = 0
    rows = by_warp(x, n).sum(1)
    sums[: len(rows)] = rows


@program(WARPS, lambda draw, n: (draw.any_bits(n + 3, dtype=np.int64), draw.any_bits(n + 3, dtype=np.uint64), n))
def greatest_of_long_integers(x: Array, greatest: Array, n: int) -> None:
    greatest[:n] = spread(by_warp(x.view(np.uint64), n).max(1), n)


@program(
    WARPS,
    lambda draw, n: (
        draw.any_bits(n + 3, dtype=np.int64),
        draw.any_bits(n + 3),
        *(np.zeros(n + 3, np.int64) for _ in range(2)),
        np.zeros(n + 3),
        n,
    ),
)
def long_neighbours(x: Array, lanes: Array, found: Array, before: Array, after: Array, n: int) -> None:
    values, lane, own = by_warp(x, n), np.arange(32), np.arange(n)
    found[:n] = values.reshape(-1)[own // 16 * 16 + lanes[:n] % 16]
    before[:n] = values[:, np.where(lane >= 3, lane - 3, lane)].reshape(-1)[:n]
    after[:n] = values[:, np.where(lane % 8 < 6, lane + 2, lane)].reshape(-1)[:n].astype(np.float64)


@program(
    WARPS, lambda draw, n: (draw.any_bits(n + 3, dtype=np.int64) % 3 << 32, draw.integers(n + 3).astype(np.uint32), n)
)
def equal_long_lanes(x: Array, same: Array, n: int) -> None:
    values = by_warp(x[:n] & (2**33 - 1), n, -1)
    same[:n] = bits_of(values[:, :, None] == values[:, None, :]).reshape(-1)[:n]


@program((launch(1, 32), launch(1, 20), launch(1, 64)), lambda draw: (draw.floats(64), np.zeros(1, np.float32)), 1e-6)
def sums_of_few_lanes(x: Array, sums: Array) -> None:
    sums[0] = x[:8].sum()
