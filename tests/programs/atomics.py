"""What the kernels of atomics.cu do, in NumPy. Sums of floats may be taken in another order."""

from __future__ import annotations

import numpy as np

from .program import LINE, PLANE, SLACK, STRIDE, Array, Launch, program


@program(LINE, lambda draw, n: (draw.integers(n + SLACK, low=0, high=16), draw.integers(17), n))
def histogram(keys: Array, counts: Array, n: int) -> None:
    counts[:16] += np.bincount(keys[:n], minlength=16).astype(np.int32)


@program(
    LINE,
    lambda draw, n: (draw.integers(n + SLACK, low=0, high=16), draw.floats(n + SLACK), draw.floats(17), n),
    1e-4,
)
def weighted_histogram(keys: Array, weights: Array, sums: Array, n: int) -> None:
    sums[:16] += np.bincount(keys[:n], weights[:n], 16)


@program(LINE, lambda draw, n: (draw.doubles(n + SLACK), draw.doubles(1), n), 1e-11)
def add_all(x: Array, total: Array, n: int) -> None:
    total += x[:n].sum()


@program(STRIDE, lambda draw, n: (draw.floats(n + SLACK), draw.floats(1), n), 1e-5)
def add_all_in_strides(x: Array, total: Array, n: int) -> None:
    total += (x[:n].astype(np.float64) ** 2).sum()


@program(
    LINE,
    lambda draw, n: (
        draw.any_bits(n + SLACK)[::-1].copy(),
        np.array([50], np.int32),
        np.array([-50], np.int32),
        np.array([7], np.uint32),
        n,
    ),
)
def extremes(x: Array, least: Array, greatest: Array, greatest_unsigned: Array, n: int) -> None:
    least[0] = min(least[0], *x[:n], least[0])
    greatest[0] = max(greatest[0], *x[:n], greatest[0])
    greatest_unsigned[0] = max(greatest_unsigned[0], *x[:n].view(np.uint32), greatest_unsigned[0])


@program(
    LINE,
    lambda draw, n: (
        draw.any_bits(n + SLACK, dtype=np.uint32)[::-1].copy(),
        draw.integers(n + SLACK, low=0, high=9),
        draw.any_bits(9, dtype=np.uint32),
        draw.any_bits(9, dtype=np.uint32),
        draw.any_bits(9, dtype=np.uint32),
        n,
    ),
)
def combine_bits(x: Array, place: Array, every: Array, some: Array, odd: Array, n: int) -> None:
    np.bitwise_and.at(every, place[:n], x[:n])
    np.bitwise_or.at(some, place[:n], x[:n])
    np.bitwise_xor.at(odd, place[:n], x[:n])


@program(
    LINE,
    lambda draw, n: (
        draw.any_bits(n + SLACK)[::-1].copy(),
        draw.integers(n + SLACK, low=0, high=9),
        draw.any_bits(9),
        n,
    ),
)
def subtract(x: Array, place: Array, out: Array, n: int) -> None:
    np.subtract.at(out, place[:n], x[:n])


@program(LINE, lambda draw, n: (draw.integers(n + SLACK), draw.integers(n + SLACK), draw.integers(n + SLACK), n))
def exchange_own(slots: Array, fresh: Array, old: Array, n: int) -> None:
    old[:n] = slots[:n]
    slots[:n] = fresh[:n]


@program(LINE, lambda draw, n: (draw.any_bits(n + SLACK), draw.integers(n + SLACK), n, 5))
def add_to_own(slots: Array, old: Array, n: int, amount: int) -> None:
    old[:n] = slots[:n]
    slots[:n] += np.int32(amount)


@program(LINE[:5], lambda draw, n: (np.array([3], np.uint32), np.array([3], np.uint32), n, np.uint32(6)))
def count_around(up: Array, down: Array, n: int, limit: np.uint32) -> None:
    up[0] = (3 + n) % 7
    down[0] = (3 - n) % 7


@program(
    LINE[:5],
    lambda draw, n: (draw.floats(n + SLACK), np.array([-3.0], np.float32).view(np.int32), n),
)
def greatest_float(x: Array, bits: Array, n: int) -> None:
    value = bits.view(np.float32)
    value[0] = max(value[0], *x[:n], value[0])


@program(
    LINE[:5],
    lambda draw, n: (np.round(draw.doubles(n + SLACK) * 1024), np.array([0.5]).view(np.uint64), n),
)
def add_all_by_exchange(x: Array, bits: Array, n: int) -> None:
    bits.view(np.float64)[0] += x[:n].sum()


@program(
    LINE, lambda draw, n: (draw.any_bits(n + SLACK, dtype=np.uint64)[::-1].copy(), draw.any_bits(1, dtype=np.uint64), n)
)
def add_wide(x: Array, total: Array, n: int) -> None:
    total += x[:n].sum(dtype=np.uint64)


@program(
    LINE,
    lambda draw, n: (
        draw.integers(n + SLACK, low=0, high=20),
        draw.integers(n + SLACK, low=20, high=40),
        draw.floats(n + SLACK),
        draw.floats(40),
        n,
    ),
    1e-4,
)
def spread_to_nodes(left: Array, right: Array, flux: Array, balance: Array, edges: int) -> None:
    np.subtract.at(balance, left[:edges], flux[:edges])
    np.add.at(balance, right[:edges], flux[:edges])


@program(
    PLANE,
    lambda draw, rows, columns: (
        draw.floats(rows, columns),
        draw.integers(rows + 1),
        rows,
        columns,
        np.float32(-1.9),
    ),
)
def count_in_rows(matrix: Array, counts: Array, rows: int, columns: int, bound: np.float32) -> None:
    counts[:rows] += (matrix > bound).sum(1, dtype=np.int32)


@program(LINE, lambda draw, n: (draw.floats(n + SLACK), draw.floats(n + 2 * SLACK), np.array([2], np.int32), n))
def compact(x: Array, out: Array, count: Array, n: int) -> None:
    kept = x[:n][x[:n] > 0]
    out[2 : 2 + kept.size] = kept
    count += kept.size


@program(
    LINE,
    lambda draw, n: (
        np.append(np.int32(9), draw.integers(n + SLACK)),
        draw.integers(n + SLACK),
        np.zeros(1024, np.int32),
        np.zeros(1, np.int32),
        n,
    ),
)
def compact_by_block(launch: Launch, x: Array, out: Array, counts: Array, total: Array, n: int) -> None:
    threads = launch.threads // launch.blocks
    for block in range(launch.blocks):
        part = x[block * threads : min(n, (block + 1) * threads)]
        kept = part[part % 3 == 0]
        out[total[0] : total[0] + kept.size] = kept
        counts[block] = kept.size
        total += kept.size


@program(
    LINE,
    lambda draw, n: (
        np.append(np.int32(8), draw.integers(n + SLACK)),
        draw.integers(n + SLACK),
        np.zeros(1, np.uint32),
        n,
    ),
)
def compact_by_warp(x: Array, out: Array, count: Array, n: int) -> None:
    kept = x[:n][x[:n] % 2 == 0]
    out[: kept.size] = kept
    count += kept.size


@program(
    PLANE,
    lambda draw, rows, columns: (
        draw.integers(rows, columns, low=0),
        draw.integers(rows, columns),
        np.array([5], np.int32),
        np.array([9], np.int32),
        rows,
        columns,
    ),
)
def hand_out(launch: Launch, wanted: Array, first: Array, next: Array, left: Array, rows: int, columns: int) -> None:
    grid, block = (each if isinstance(each, tuple) else (each, 1) for each in (launch.grid, launch.block))
    for by, bx, ty, tx in np.ndindex(grid[1], grid[0], block[1], block[0]):
        row, column = by * block[1] + ty, bx * block[0] + tx
        if row < rows and column < columns:
            first[row, column] = next[0] - left[0]
            next += wanted[row, column]
            left -= wanted[row, column]
