"""What the kernels of cub.cu do, in NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from .program import SLACK, Array, Launch, launch, program


def blocks(width: int) -> tuple[Launch, ...]:
    """Launches of blocks of that many threads, one item each."""
    return (
        launch(4, width, n=3 * width + width // 2),
        launch(2, width, n=2 * width),
        launch(3, width, n=1),
    )


def whole_blocks(width: int, items: int = 1) -> tuple[Launch, ...]:
    """Launches whose threads all have `items` items."""
    return (launch(3, width, count=3 * width * items), launch(1, width, count=width * items))


def tiles(launch: Launch, x: Array, n: int, idle: Any = 0, items: int = 1) -> Array:
    """The first n numbers, a row for each block."""
    filled = np.full(launch.threads * items, idle, x.dtype)
    filled[:n] = x[:n]
    return filled.reshape(int(np.prod(launch.grid)), -1)


def each_thread(x: Array, width: int, items: int) -> Array:
    """A block's items by block, thread and item."""
    return x.reshape(-1, width, items)


@program(blocks(128), lambda draw, n: (draw.floats(n), np.zeros(4 + SLACK, np.float32), n), 1e-5)
def cub_sums(launch: Launch, x: Array, sums: Array, n: int) -> None:
    rows = tiles(launch, x, n).sum(1)
    sums[: len(rows)] = rows


@program(
    (launch(4, (16, 6), n=1000), launch(2, (16, 6), n=576), launch(1, (16, 6), n=1)),
    lambda draw, n: (draw.any_bits(n), np.zeros(8 + SLACK, np.int32), n),
)
def cub_sums_of_valid(launch: Launch, x: Array, sums: Array, n: int) -> None:
    rows = tiles(launch, x, n, items=3).sum(1, dtype=np.int32)
    sums[: 2 * len(rows)] = np.repeat(rows, 2)


@program(blocks(100), lambda draw, n: (draw.floats(n, low=0.5), np.zeros(8 + SLACK, np.float32), n))
def cub_extremes(launch: Launch, x: Array, extremes: Array, n: int) -> None:
    rows = tiles(launch, x, n)
    extremes[: 2 * len(rows)] = np.stack([rows.min(1), rows.max(1)], 1).ravel()


@program(
    blocks(128), lambda draw, n: (draw.integers(n, low=-3, high=3).astype(np.float32), draw.integers(8 + SLACK), n)
)
def cub_places_of_extremes(launch: Launch, x: Array, places: Array, n: int) -> None:
    rows = tiles(launch, x, n)
    first = np.arange(len(rows)) * 128
    places[: 2 * len(rows)] = np.stack([first + rows.argmax(1), first + rows.argmin(1)], 1).ravel()


@program(
    (launch(3, 67, n=180), launch(2, 67, n=134), launch(1, 67, n=1)),
    lambda draw, n: (draw.any_bits(n, dtype=np.uint32) | 1, np.zeros(8, np.uint32), n),
)
def cub_ordered_reduction(launch: Launch, x: Array, results: Array, n: int) -> None:
    for block in range(int(np.prod(launch.grid))):
        a, b = 1, 0
        for i in range(67 * block, min(67 * (block + 1), n)):
            a, b = a * int(x[i]), b * int(x[i]) + i
        results[2 * block : 2 * block + 2] = [a % 2**32, b % 2**32]


@program(
    blocks(128),
    lambda draw, n: (draw.any_bits(n), *(draw.integers(n + SLACK) for _ in range(2)), draw.integers(4 + SLACK), n),
)
def cub_prefix_sums(launch: Launch, x: Array, inclusive: Array, exclusive: Array, totals: Array, n: int) -> None:
    rows = tiles(launch, x, n)
    sums = np.cumsum(rows, 1, dtype=np.int32)
    inclusive[:n] = sums.ravel()[:n]
    exclusive[:n] = (sums - rows).ravel()[:n]
    totals[: len(rows)] = sums[:, -1]


@program(
    (launch(3, 64, n=700), launch(1, 64, n=256), launch(1, 64, n=3)),
    lambda draw, n: (draw.floats(n), draw.floats(n + SLACK), n),
    1e-5,
)
def cub_prefix_sums_of_items(launch: Launch, x: Array, sums: Array, n: int) -> None:
    sums[:n] = np.cumsum(tiles(launch, x, n, items=4), 1).ravel()[:n]


@program(blocks(50), lambda draw, n: (draw.integers(n), draw.integers(n + SLACK), n, -70))
def cub_running_greatest(launch: Launch, x: Array, greatest: Array, n: int, initial: int) -> None:
    rows = np.pad(tiles(launch, x, n), ((0, 0), (1, 0)), constant_values=initial)
    greatest[:n] = np.maximum.accumulate(rows, 1)[:, :-1].ravel()[:n]


@program(
    (launch(1, 64, n=250), launch(1, 64, n=128), launch(1, 64, n=1), launch(1, 64, n=0, idle=True)),
    lambda draw, n: (draw.any_bits(n + 1), draw.any_bits(n + SLACK), n),
)
def cub_scan_of_tiles(x: Array, sums: Array, n: int) -> None:
    sums[:n] = np.cumsum(x[:n], dtype=np.int32) - x[:n]


@program(whole_blocks(32, 3), lambda draw, count: (draw.floats(count), draw.floats(count + SLACK)))
def cub_radix_sort(x: Array, sorted: Array) -> None:
    sorted[: x.size] = -np.sort(-x.reshape(-1, 96), 1).ravel()


@program(
    whole_blocks(50),
    lambda draw, count: (draw.integers(count, low=-20, high=20), draw.integers(count), draw.integers(count), 1, 32),
)
def cub_radix_sort_of_pairs(x: Array, keys: Array, places: Array, begin_bit: int, end_bit: int) -> None:
    rows = x.reshape(-1, 50)
    order = np.argsort(rows >> begin_bit, axis=1, kind="stable")
    keys[...] = np.take_along_axis(rows, order, 1).ravel()
    places[...] = order.ravel()


@program(
    (launch(3, 32, n=150), launch(1, 32, n=64), launch(1, 32, n=2)),
    lambda draw, n: (draw.integers(n, low=0), draw.integers(n + SLACK), n),
)
def cub_merge_sort(x: Array, sorted: Array, n: int) -> None:
    for first in range(0, n, 64):
        part = x[first : min(first + 64, n)]
        sorted[first : first + len(part)] = part[np.argsort(part % 10, kind="stable")]


@program(whole_blocks(64, 3), lambda draw, count: (draw.integers(count), *(draw.integers(count) for _ in range(3))))
def cub_exchanges(x: Array, blocked: Array, striped: Array, warp_striped: Array) -> None:
    rows = each_thread(x, 64, 3)
    blocked[...] = rows.transpose(0, 2, 1).ravel()
    striped[...] = rows.reshape(-1, 3, 64).transpose(0, 2, 1).ravel()
    warp_striped[...] = rows.reshape(-1, 2, 3, 32).transpose(0, 1, 3, 2).ravel()


@program(whole_blocks(32, 2), lambda draw, count: (draw.integers(count), draw.permutation(64), draw.integers(count)))
def cub_scatter_by_rank(x: Array, ranks: Array, scattered: Array) -> None:
    scattered.reshape(-1, 64)[:, ranks] = x.reshape(-1, 64)


@program(
    whole_blocks(64, 2),
    lambda draw, count: (draw.integers(count, low=0, high=16, dtype=np.uint8), np.zeros(48, np.uint32), count),
)
def cub_histogram(x: Array, counts: Array, n: int) -> None:
    for block, row in enumerate(x.reshape(-1, 128)):
        counts[16 * block : 16 * block + 16] = np.bincount(row, minlength=16)


@program(
    whole_blocks(64, 2),
    lambda draw, count: (draw.integers(count, low=0, high=3), draw.integers(count), draw.integers(count), 1),
)
def cub_run_edges(x: Array, heads: Array, tails: Array, before: int) -> None:
    rows = x.reshape(-1, 128)
    differs = rows[:, 1:] != rows[:, :-1]
    heads[...] = np.concatenate([rows[:, :1] != before, differs], 1).ravel()
    tails[...] = np.pad(differs, ((0, 0), (0, 1)), constant_values=True).ravel()


@program(
    (launch(1, 32, n=64), launch(1, 32, n=37), launch(1, 32, n=1)),
    lambda draw, n: (draw.any_bits(64), draw.integers(64), draw.integers(64), n),
)
def cub_differences(x: Array, left: Array, right: Array, n: int) -> None:
    left[...] = x
    left[1:n] = x[1:n] - x[: n - 1]
    right[...] = x - np.append(x[1:], np.int32(7))


@program(whole_blocks(48), lambda draw, count: (draw.integers(count), draw.integers(count), draw.integers(count), 5))
def cub_shuffles(x: Array, rotated: Array, up: Array, distance: int) -> None:
    rows = x.reshape(-1, 48)
    rotated[...] = np.roll(rows, -distance, 1).ravel()
    up[...] = np.pad(rows[:, :-1], ((0, 0), (1, 0)), constant_values=-1).ravel()


@program(blocks(128), lambda draw, n: (draw.floats(n), np.zeros(16, np.float32), np.zeros(64), n), 1e-5)
def cub_warp_sums(launch: Launch, x: Array, sums: Array, of_eight: Array, n: int) -> None:
    flat = tiles(launch, x, n).ravel()
    sums[: flat.size // 32] = flat.reshape(-1, 32).sum(1)
    of_eight[: flat.size // 8] = flat.reshape(-1, 8)[:, :5].max(1)


@program(
    (launch(3, 32, n=80), launch(1, 32, n=32), launch(1, 32, n=1)),
    lambda draw, n: (draw.integers(n), draw.integers(n, low=0, high=4) // 3, draw.integers(n + SLACK), n),
)
def cub_segmented_warp_sums(x: Array, is_head: Array, sums: Array, n: int) -> None:
    starts = (is_head[:n] != 0) | (np.arange(n) % 32 == 0)
    segment = np.cumsum(starts) - 1
    totals = np.bincount(segment, x[:n], minlength=n).astype(np.int32)
    sums[:n] = np.where(starts, totals[segment], 0)


@program(
    blocks(64),
    lambda draw, n: (draw.integers(n), *(draw.integers(n + SLACK) for _ in range(3)), n),
)
def cub_warp_scans(launch: Launch, x: Array, inclusive: Array, exclusive: Array, totals: Array, n: int) -> None:
    rows = tiles(launch, x, n).reshape(-1, 32)
    sums = np.cumsum(rows, 1, dtype=np.int32)
    greatest = np.maximum.accumulate(np.pad(rows, ((0, 0), (1, 0)), constant_values=-5), 1)[:, :-1]
    inclusive[:n], exclusive[:n] = sums.ravel()[:n], greatest.ravel()[:n]
    totals[:n] = np.repeat(sums[:, -1], 32)[:n]


@program(whole_blocks(64, 4), lambda draw, count: (draw.integers(count), draw.integers(count)))
def cub_warp_exchange(x: Array, out: Array) -> None:
    out[...] = x.reshape(-1, 16, 4).transpose(0, 2, 1).ravel()


@program(
    (launch(2, 64, n=100), launch(1, 32, n=1), launch(1, 32, n=0, idle=True)),
    lambda draw, n: (draw.floats(n + 1), draw.floats(n + SLACK), n),
    1e-6,
)
def cub_iterators(x: Array, out: Array, n: int) -> None:
    half = np.float32(0.5)
    out[:n] = x[:n] + x[:n] * x[:n] * half + (10 + np.arange(n)).astype(np.float32)


@program(
    (launch(3, 24, count=72), launch(1, 24, count=24)),
    lambda draw, count: (draw.any_bits(count), draw.integers(count // 12), draw.integers(count)),
)
def cub_warps_of_twelve(x: Array, sums: Array, running: Array) -> None:
    rows = x.reshape(-1, 12)
    sums[...] = rows.sum(1, dtype=np.int32)
    running[...] = np.cumsum(rows, 1, dtype=np.int32).ravel()


@program(
    whole_blocks(64, 2),
    lambda draw, count: (draw.integers(count, low=0), draw.integers(count), draw.integers(count)),
)
def cub_warp_merge_sort(x: Array, keys: Array, places: Array) -> None:
    rows = x.reshape(-1, 32)
    order = np.argsort(rows % 10, axis=1, kind="stable")
    keys[...] = np.take_along_axis(rows, order, 1).ravel()
    places[...] = (order + np.arange(len(rows))[:, None] * 32).ravel()
