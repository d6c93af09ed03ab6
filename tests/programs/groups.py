"""What the kernels of groups.cu do, in NumPy."""

from __future__ import annotations

import numpy as np

from .program import Array, Draw, Launch, launch, program


def numbers(draw: Draw, n: int, results: int) -> list[object]:
    return [draw.integers(n, low=0), *(draw.integers(n) for _ in range(results))]


@program((launch(2, 64, n=128), launch(1, 32, n=32)), lambda draw, n: numbers(draw, n, 3))
def group_reductions(x: Array, sums: Array, maxima: Array, bits: Array) -> None:
    sums[...] = np.repeat(x.reshape(-1, 16).sum(1), 16)
    maxima[...] = np.repeat(x.reshape(-1, 32).max(1), 32)
    bits[...] = np.repeat(np.bitwise_xor.reduce(x.reshape(-1, 16), 1), 16)


@program((launch(2, 64, n=128), launch(1, 32, n=32)), lambda draw, n: numbers(draw, n, 3))
def group_scans(x: Array, inclusive: Array, exclusive: Array, maxima: Array) -> None:
    tiles = x.reshape(-1, 8)
    inclusive[...] = tiles.cumsum(1).ravel()
    exclusive[...] = (tiles.cumsum(1) - tiles).ravel()
    maxima[...] = np.maximum.accumulate(tiles, 1).ravel()


@program((launch(2, 96, n=192), launch(1, 32, n=32)), lambda draw, n: (draw.integers(n),))
def nested_tiles(launch: Launch, ranks: Array) -> None:
    i = np.arange(ranks.size)
    warps = launch.threads // launch.blocks // 32
    ranks[...] = i % 4 + 10 * (i % 32 // 4) + 8000 + 10000 * (i // 32 % warps) + 100000 * warps


@program((launch(2, 64, n=128), launch(1, 32, n=32)), lambda draw, n: numbers(draw, n, 3))
def partitions(x: Array, ranks: Array, groups: Array, sums: Array) -> None:
    for first in range(0, x.size, 32):
        labels = [int(each) for each in x[first : first + 32] % 4]
        order = sorted(set(labels), key=labels.index)
        for lane, label in enumerate(labels):
            i = first + lane
            halves = [each % 2 for each in labels]
            same = [other for other in range(32) if labels[other] == label]
            ranks[i] = halves[:lane].count(label % 2) + 100 * halves.count(label % 2) + 10000 * (label % 2)
            groups[i] = same.index(lane) + 100 * order.index(label) + 10000 * len(order)
            sums[i] = x[first + np.array(same)].sum()


@program((launch(2, 64, n=128), launch(1, 32, n=32)), lambda draw, n: numbers(draw, n, 1))
def one_of_a_group(x: Array, y: Array) -> None:
    y[...] = np.repeat(2 * x[::32], 32)


@program(
    (launch(3, 32, shared_bytes=200, n=50, blocks=3), launch(1, 64, shared_bytes=256, n=64, blocks=1)),
    lambda draw, n, blocks: (draw.floats(blocks, n), draw.floats(blocks, n), n),
)
def copied_by_a_group(x: Array, y: Array, n: int) -> None:
    y[...] = x[:, ::-1]


@program((launch(3, 64, n=3), launch(1, 64, n=1)), lambda draw, n: (draw.floats(n, 64), draw.floats(n, 64)), 1e-6)
def arrive_then_wait(x: Array, y: Array) -> None:
    y += 3 * x * x[:, ::-1]


@program((launch(3, 64, n=3), launch(1, 64, n=1)), lambda draw, n: (draw.integers(n, 64), draw.integers(n, 64)))
def barrier_of_functions(x: Array, y: Array) -> None:
    y[...] = x[:, np.arange(64) ^ 5]


@program(
    (launch(1, 64, shared_bytes=512, n=5), launch(1, 64, shared_bytes=512, n=1)),
    lambda draw, n: (draw.integers(n, 64), draw.integers(n, 64), n),
)
def pipeline_of_a_block(x: Array, y: Array, n: int) -> None:
    y[...] = x[:, ::-1]


@program(
    (launch((3, 3), (8, 8), n=24), launch((1, 1), (8, 8), n=8)),
    lambda draw, n: (draw.floats(n, n), draw.floats(n, n), draw.floats(n, n), n),
    1e-6,
)
def pipelined_product(a: Array, b: Array, c: Array, n: int) -> None:
    c[...] = a @ b


@program((launch(1, 32),), lambda draw: (draw.floats(32, 4), draw.floats(32, 4)))
def copies_by_function(x: Array, y: Array) -> None:
    y[...] = x[::-1]
    y[0, 2:] = 0
