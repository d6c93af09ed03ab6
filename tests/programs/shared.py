"""What the kernels of shared.cu do, in NumPy."""

from __future__ import annotations

import numpy as np

from .program import Array, Draw, Launch, launch, program

SQUARES = (
    launch((2, 2), (16, 16), n=32),
    launch((1, 1), (16, 16), n=16),
    launch((5, 5), (16, 16), n=80),
    launch((32, 32), (16, 16), n=512, slow=True),
)


def matrices(draw: Draw, n: int) -> list[object]:
    return [draw.floats(n, n), draw.floats(n, n), draw.floats(n + 1, n), n]


@program(SQUARES, matrices, 1e-5)
def tiled_product(a: Array, b: Array, c: Array, n: int) -> None:
    c[:n] = a @ b


@program(
    (
        launch((2, 2), (16, 16), m=30, k=21, n=19),
        launch((1, 1), (16, 16), m=1, k=1, n=1),
        launch((3, 2), (16, 16), m=32, k=16, n=48),
        launch((20, 20), (16, 16), m=300, k=310, n=305, slow=True),
    ),
    lambda draw, m, k, n: (draw.floats(m, k), draw.floats(k, n), draw.floats(m + 1, n), m, k, n),
    1e-5,
)
def tiled_product_of_any_size(a: Array, b: Array, c: Array, m: int, k: int, n: int) -> None:
    c[:m] = a @ b


@program((launch((2, 2), (8, 8), n=64), launch((1, 1), (8, 8), n=32)), matrices, 1e-5)
def register_tiled_product(a: Array, b: Array, c: Array, n: int) -> None:
    c[:n] = a @ b


@program((launch((3, 3), (8, 8), n=24), launch((1, 1), (8, 8), n=8)), matrices, 1e-5)
def double_buffered_product(a: Array, b: Array, c: Array, n: int) -> None:
    c[:n] = a @ b


@program(
    (launch((3, 2), (16, 16), rows=30, columns=45), launch((2, 2), (16, 16), rows=32, columns=32)),
    lambda draw, rows, columns: (draw.floats(rows, columns), draw.floats(columns, rows), rows, columns),
)
def transpose_through_tile(x: Array, y: Array, rows: int, columns: int) -> None:
    y[...] = x.T


@program((launch((3, 3), (32, 8), n=96),), lambda draw, n: (draw.floats(n, n), draw.floats(n, n), n))
def transpose_by_few_rows(x: Array, y: Array, n: int) -> None:
    y[...] = x.T


BLOCKS_OF_64 = (launch(4, 64, n=250), launch(2, 64, n=128), launch(1, 64, n=1), launch(400, 64, n=25_550, slow=True))


@program(BLOCKS_OF_64, lambda draw, n: (draw.floats(n + 3), draw.floats(n + 3), n), 1e-6)
def stencil_with_halo(x: Array, y: Array, n: int) -> None:
    y[:n] = np.convolve(x[:n], np.ones(7, np.float32), "full")[3 : n + 3]


@program(
    (launch((3, 3), (16, 16), rows=40, columns=45), launch((2, 2), (16, 16), rows=32, columns=32)),
    lambda draw, rows, columns: (draw.floats(rows, columns), draw.floats(rows, columns), rows, columns),
    1e-6,
)
def five_points_with_halo(x: Array, y: Array, rows: int, columns: int) -> None:
    y[1:-1, 1:-1] = 0.25 * (x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:]) - x[1:-1, 1:-1]


@program(
    (launch(4, 34, n=120), launch(2, 34, n=64), launch(1, 34, n=1)),
    lambda draw, n: (draw.floats(n + 3), draw.floats(n + 3), n),
    1e-6,
)
def overlapping_tiles(x: Array, y: Array, n: int) -> None:
    y[:n] = np.convolve(x[:n], np.ones(3, np.float32), "full")[1 : n + 1] / 3


def in_blocks(x: Array, n: int, blocks: int, size: int, fill: float = 0) -> Array:
    """The first n numbers, a row for each block."""
    whole = np.full(blocks * size, fill, x.dtype)
    whole[:n] = x[:n]
    return whole.reshape(blocks, size)


TREES_OF_128 = (launch(4, 128, n=500), launch(2, 128, n=256), launch(1, 128, n=1))


def sums_of_blocks(launch: Launch, x: Array, sums: Array, n: int, size: int) -> None:
    sums[: launch.blocks] = in_blocks(x, n, launch.blocks, size).sum(1)


@program(TREES_OF_128, lambda draw, n: (draw.floats(n + 3), draw.floats(8), n), 1e-6)
def tree_sum(launch: Launch, x: Array, sums: Array, n: int) -> None:
    sums_of_blocks(launch, x, sums, n, 128)


@program(
    (
        launch(4, 128, n=500, shared_bytes=512),
        launch(2, 32, n=64, shared_bytes=128),
        launch(3, 1, n=3, shared_bytes=4),
        launch(500, 256, n=127_990, shared_bytes=1024, slow=True),
    ),
    lambda draw, n: (draw.floats(n + 3), draw.floats(512), n),
    1e-6,
)
def tree_sum_of_any_block(launch: Launch, x: Array, sums: Array, n: int) -> None:
    sums_of_blocks(launch, x, sums, n, launch.threads // launch.blocks)


@program(BLOCKS_OF_64[:3], lambda draw, n: (draw.any_bits(n + 3), draw.integers(8), n))
def interleaved_tree_sum(launch: Launch, x: Array, sums: Array, n: int) -> None:
    sums_of_blocks(launch, x, sums, n, 64)


@program(BLOCKS_OF_64[:3], lambda draw, n: (draw.any_bits(n + 3), draw.integers(8), n))
def tree_sum_without_divergence(launch: Launch, x: Array, sums: Array, n: int) -> None:
    sums_of_blocks(launch, x, sums, n, 64)


@program(
    (launch(2, 256, n=1000), launch(1, 256, n=512), launch(3, 256, n=1100)),
    lambda draw, n: (draw.floats(n + 3), draw.floats(8), n),
    1e-6,
)
def tree_sum_with_unrolled_tail(launch: Launch, x: Array, sums: Array, n: int) -> None:
    sums_of_blocks(launch, x, sums, n, 512)


@program(
    (launch(2, 128, n=1000), launch(1, 128, n=100), launch(3, 128, n=384)),
    lambda draw, n: (draw.floats(n + 3), draw.floats(8), n),
    1e-6,
)
def tree_sum_with_shuffled_tail(launch: Launch, x: Array, sums: Array, n: int) -> None:
    blocks = launch.blocks
    rows = in_blocks(x, n, -(-n // (128 * blocks)) * blocks, 128)
    sums[:blocks] = rows.reshape(-1, blocks, 128).sum((0, 2))


@program(BLOCKS_OF_64[:3], lambda draw, n: (draw.floats(n + 3), draw.floats(8), draw.integers(8), n))
def tree_maximum_and_place(launch: Launch, x: Array, greatest: Array, place: Array, n: int) -> None:
    rows = in_blocks(x, n, launch.blocks, 64, -1e30)
    greatest[: launch.blocks] = rows.max(1)
    place[: launch.blocks] = rows.argmax(1) + 64 * np.arange(launch.blocks)


@program(
    (launch(4, 64, n=1000), launch(1, 64, n=64), launch(3, 32, n=10)),
    lambda draw, n: (draw.doubles(n + 3), draw.doubles(n + 3), draw.doubles(8), n),
    1e-14,
)
def dot_of_blocks(launch: Launch, x: Array, y: Array, sums: Array, n: int) -> None:
    blocks, size = launch.blocks, launch.threads // launch.blocks
    rows = in_blocks(x[:n] * y[:n], n, -(-n // (size * blocks)) * blocks, size)
    sums[:blocks] = rows.reshape(-1, blocks, size).sum((0, 2))


@program(
    (launch(5, 64, rows=5, columns=100), launch(2, 64, rows=2, columns=64), launch(3, 64, rows=3, columns=7)),
    lambda draw, rows, columns: (draw.floats(rows, columns), draw.floats(rows, columns), columns),
    1e-6,
)
def softmax_of_rows(x: Array, y: Array, columns: int) -> None:
    powers = np.exp(x - x.max(1, keepdims=True))
    y[...] = powers / powers.sum(1, keepdims=True)


@program(BLOCKS_OF_64[:3], lambda draw, n: (draw.any_bits(n + 3), draw.integers(n + 3), n))
def scan_by_doubling(launch: Launch, x: Array, y: Array, n: int) -> None:
    y[:n] = in_blocks(x, n, launch.blocks, 64).cumsum(1, dtype=np.int32).reshape(-1)[:n]


@program(BLOCKS_OF_64[:3], lambda draw, n: (draw.floats(n + 3), draw.floats(n + 3), n), 1e-6)
def scan_by_doubling_in_place(launch: Launch, x: Array, y: Array, n: int) -> None:
    y[:n] = in_blocks(x, n, launch.blocks, 64).cumsum(1, dtype=np.float32).reshape(-1)[:n]


@program(
    (launch(2, 64, n=250), launch(1, 64, n=128), launch(1, 64, n=3)),
    lambda draw, n: (draw.any_bits(n + 3), draw.integers(n + 3), n),
)
def scan_up_and_down(launch: Launch, x: Array, y: Array, n: int) -> None:
    rows = in_blocks(x, n, launch.blocks, 128)
    y[:n] = (rows.cumsum(1, dtype=np.int32) - rows).reshape(-1)[:n]


@program(
    (launch(3, 64, n=1000), launch(1, 256, n=256), launch(2, 128, n=1)),
    lambda draw, n: (draw.integers(n + 3, low=0, high=256, dtype=np.uint8), np.arange(256, dtype=np.uint32), n),
)
def histogram_of_blocks(x: Array, counts: Array, n: int) -> None:
    counts += np.bincount(x[:n], minlength=256).astype(np.uint32)


@program(
    (launch(4, 64, shared_bytes=256, n=256), launch(3, 32, shared_bytes=1024, n=96)),
    lambda draw, n: (draw.integers(n), draw.integers(n)),
)
def reversed_blocks(launch: Launch, x: Array, y: Array) -> None:
    y[:] = x.reshape(launch.blocks, -1)[:, ::-1].reshape(-1)


@program(
    (launch(3, 32, shared_bytes=32 * 9, n=80), launch(1, 64, shared_bytes=64 * 9, n=64)),
    lambda draw, n: (draw.floats(n + 3), draw.integers(n + 3), draw.floats(n + 3), n),
)
def views_of_one_buffer(launch: Launch, x: Array, k: Array, y: Array, n: int) -> None:
    size = launch.threads // launch.blocks
    for i in range(n):
        other = i // size * size + (i % size + 1) % size
        y[i] = x[other] + np.float32(k[other]) if other < n else -1


PARTICLE = np.dtype([("x", "f4"), ("y", "f4"), ("z", "f4"), ("mass", "f4")])
FLOAT3 = np.dtype([("x", "f4"), ("y", "f4"), ("z", "f4")])


@program(
    (launch(3, 32, n=80), launch(2, 32, n=64), launch(1, 32, n=1)),
    lambda draw, n: (draw.record(PARTICLE, n), draw.record(FLOAT3, n + 1), n),
    1e-5,
)
def attraction(particles: Array, force: Array, n: int) -> None:
    place = np.stack([particles[axis] for axis in "xyz"])
    apart = place[:, None, :] - place[:, :, None]
    distance = (apart**2).sum(0) + np.float32(0.01)
    total = (apart * (particles["mass"] / distance**1.5)).sum(2)
    for axis, values in zip("xyz", total, strict=True):
        force[axis][:n] = values


@program(
    (launch(5, 32, blocks=3, n=96), launch(2, 32, blocks=2, n=64), launch(2, 32, blocks=0, n=1, idle=True)),
    lambda draw, blocks, n: (draw.floats(n), draw.floats(n), blocks),
)
def whole_blocks_leave(x: Array, y: Array, blocks: int) -> None:
    rows = x[: 32 * blocks].reshape(-1, 32)
    y[: 32 * blocks] = (rows[:, ::-1] - rows).reshape(-1)


@program(
    (launch(3, 32, n=90), launch(2, 64, n=128)),
    lambda draw, n: (draw.floats(n + 64), draw.floats(n + 3), n),
    1e-6,
)
def one_value_for_the_block(launch: Launch, x: Array, y: Array, n: int) -> None:
    rows = x[: launch.threads].reshape(launch.blocks, -1)
    y[:n] = (rows - rows.mean(1, keepdims=True)).reshape(-1)[:n]


@program(
    [*(launch(3, 64, steps=steps) for steps in (1, 2, 5, 40)), launch(1, 64, steps=0)],
    lambda draw, steps: (draw.floats(192), draw.floats(192), steps),
    1e-6,
)
def steps_within_a_block(launch: Launch, x: Array, y: Array, steps: int) -> None:
    rows = x[: launch.threads].reshape(-1, 64)
    for _ in range(steps):
        padded = np.pad(rows, ((0, 0), (1, 1)), "edge")
        rows = np.float32(0.5) * rows + np.float32(0.25) * (padded[:, :-2] + padded[:, 2:])
    y[: launch.threads] = rows.reshape(-1)


@program((launch(3, 64, n=192), launch(1, 64, n=64)), lambda draw, n: (draw.any_bits(n),))
def bitonic_sort_of_blocks(x: Array) -> None:
    x[:] = np.sort(x.reshape(-1, 64), 1).reshape(-1)


@program((launch(3, 32, n=96),), lambda draw, n: (draw.floats(n),))
def odd_even_sort_of_blocks(x: Array) -> None:
    x[:] = np.sort(x.reshape(-1, 32), 1).reshape(-1)


@program(
    (launch((2, 3), (32, 8), rows=20, columns=50), launch((1, 1), (32, 8), rows=8, columns=32)),
    lambda draw, rows, columns: (draw.floats(rows, columns), draw.floats(rows, columns), rows, columns),
    1e-6,
    variables=lambda draw: {"weights": draw.floats(7)},
    observed=("weights",),
)
def tiled_filter(image: Array, out: Array, rows: int, columns: int, weights: Array) -> None:
    padded = np.pad(image, ((0, 0), (3, 3)), "edge")
    out[...] = sum(weights[k] * padded[:, k : k + columns] for k in range(7))


@program(
    (launch(3, 64, n=190), launch(1, 128, n=128)),
    lambda draw, n: (draw.any_bits(n), draw.floats(64), draw.floats(n + 3), n),
)
def shared_lookup(x: Array, table: Array, y: Array, n: int) -> None:
    y[:n] = table[x & 63]


@program(
    (launch(3, 64, shift=5), launch(1, 64, shift=0), launch(2, 64, shift=64 + 63)),
    lambda draw, shift: (draw.integers(192), draw.integers(192), shift),
)
def rotated_shared_rows(launch: Launch, x: Array, y: Array, shift: int) -> None:
    y[: launch.threads] = np.roll(x[: launch.threads].reshape(-1, 64), shift, 1).reshape(-1)
