"""What the kernels of tiles.cu do, in NumPy."""

from __future__ import annotations

import numpy as np

from .program import Array, Draw, launch, program

ROUNDS = tuple(launch(1, 32, n=n) for n in (32, 64, 96, 320))
WEIGHTS = np.arange(1, 33, dtype=np.float32)


def rounds_of(draw: Draw, n: int) -> list[object]:
    return [draw.floats(n), draw.floats(32), n]


@program(ROUNDS, rounds_of, 1e-5)
def keeps_what_was_left(x: Array, y: Array, n: int) -> None:
    tile, total = np.zeros(32, np.float32), 0.0
    for row in x.reshape(-1, 32):
        tile = np.where(row > 0, row, tile)
        total += tile @ WEIGHTS
    y[:] = total + tile[::-1]


@program(tuple(launch(1, 32, n=n) for n in (32, 40, 100, 333)), rounds_of, 1e-5)
def last_round_is_short(x: Array, y: Array, n: int) -> None:
    tile, total = np.zeros(32, np.float32), 0.0
    for base in range(0, n, 32):
        row = x[base : base + 32]
        tile[: row.size] = row
        total += tile @ WEIGHTS
    y[:] = total


@program(ROUNDS, rounds_of, 1e-5)
def reads_before_it_writes(x: Array, y: Array, n: int) -> None:
    rows = np.concatenate([np.arange(32, dtype=np.float32)[None], x.reshape(-1, 32)])
    y[:] = (rows[:-1] @ WEIGHTS).sum()


@program(ROUNDS, rounds_of, 1e-5)
def used_after_the_loop(x: Array, y: Array, n: int) -> None:
    rows = x.reshape(-1, 32)
    y[:] = (rows @ WEIGHTS).sum() + 100 * np.roll(rows[-1], -7)


@program(ROUNDS, rounds_of, 1e-5)
def moves_round_by_round(x: Array, y: Array, n: int) -> None:
    y[:] = sum(np.roll(row, t) @ WEIGHTS for t, row in enumerate(x.reshape(-1, 32)))


@program(ROUNDS, rounds_of, 1e-5)
def halves_in_turn(x: Array, y: Array, n: int) -> None:
    tile, total = np.zeros(32, np.float32), 0.0
    for t, row in enumerate(x.reshape(-1, 32)):
        half = slice(16 * (t % 2), 16 * (t % 2) + 16)
        tile[half] = row[half]
        total += tile @ WEIGHTS
    y[:] = total


@program(
    tuple(launch(1, 32, rounds=rounds) for rounds in (2, 3, 9, 40)),
    lambda draw, rounds: (draw.floats(rounds * 32), draw.floats(rounds * 32), rounds),
    1e-6,
)
def through_global_memory(x: Array, y: Array, rounds: int) -> None:
    given, made = x.reshape(-1, 32), y.reshape(-1, 32)
    for t in range(1, rounds):
        made[t] = np.float32(0.5) * np.roll(made[t - 1], -1) + given[t]


BLOCKS = (launch(4, 32, n=128), launch(1, 32, n=32), launch(5, 32, n=160))


@program(BLOCKS[1:2], lambda draw, n: (draw.floats(n + 2), draw.floats(2 * n), n), 1e-6)
def source_is_changed(x: Array, y: Array, n: int) -> None:
    left, right = x[:-2].copy(), x[2:].copy()
    y[:n] = left
    x[1:-1] = 2 * left
    y[n:] = left + 10 * right


@program(BLOCKS, lambda draw, n: (draw.floats(n), draw.floats(n), n), 1e-6)
def halos_of_some_blocks(x: Array, y: Array, n: int) -> None:
    padded = np.concatenate([[np.float32(-1)], x, [np.float32(-2)]])
    y[:] = padded[:-2] + 10 * padded[2:]


@program(BLOCKS, lambda draw, n: (draw.floats(n), draw.floats(n // 16), draw.floats(n)), 1e-6)
def halo_of_another_array(x: Array, edge: Array, y: Array) -> None:
    tiles = np.concatenate([edge.reshape(-1, 2)[:, :1], x.reshape(-1, 32), edge.reshape(-1, 2)[:, 1:]], 1)
    y[:] = (tiles[:, :-2] + 10 * tiles[:, 2:]).reshape(-1)


@program(BLOCKS, lambda draw, n: (draw.floats(n), draw.floats(n), n), 1e-6)
def halo_around(x: Array, y: Array, n: int) -> None:
    y[:] = np.roll(x, 1) + 10 * np.roll(x, -1)


@program(BLOCKS, lambda draw, n: (draw.floats(n), draw.floats(2 * n)))
def backwards_with_gaps(x: Array, y: Array) -> None:
    rows = x.reshape(-1, 32)
    tile = np.ones((len(rows), 64), np.float32)
    tile[:, 32:] = 2
    tile[:, ::2] = rows[:, ::-1]
    y[:] = np.concatenate([tile[:, :32], tile[:, :31:-1]], 1).reshape(-1)


@program(
    tuple(launch(1, 32, rounds=rounds) for rounds in (1, 3, 20)),
    lambda draw, rounds: (draw.integers(rounds * 32, low=0, high=8), draw.integers(rounds * 8), rounds),
)
def counts_in_rounds(x: Array, y: Array, rounds: int) -> None:
    y[:] = np.concatenate([np.bincount(row, minlength=8) for row in x.reshape(-1, 32)])


@program(
    tuple(launch(1, 64, rounds=rounds) for rounds in (1, 3, 40)),
    lambda draw, rounds: (draw.floats(rounds * 64), draw.floats(rounds), rounds),
    1e-6,
)
def trees_in_rounds(x: Array, y: Array, rounds: int) -> None:
    y[:] = x.reshape(-1, 64).sum(1)


@program(BLOCKS, lambda draw, n: (draw.floats(n), draw.floats(n)))
def overlapping_views(x: Array, y: Array) -> None:
    rows = x.reshape(-1, 32)
    tile = np.concatenate([rows[:, :16], 2 * rows[:, :16]], 1)
    y[:] = tile[:, ::-1].reshape(-1)


@program(BLOCKS, lambda draw, n: (draw.floats(n), draw.floats(n)))
def tile_of_every_other_block(x: Array, y: Array) -> None:
    rows = x.reshape(-1, 32)
    tile = np.full_like(rows, -1)
    tile[::2] = rows[::2]
    tile[3:4] = 2 * rows[3:4]
    y[:] = tile[:, ::-1].reshape(-1)


@program(
    (launch(4, 32, n=128, rounds=3), launch(1, 32, n=32, rounds=6), launch(3, 32, n=96, rounds=40)),
    lambda draw, n, rounds: (draw.floats(n * rounds), draw.floats(n * rounds), n, rounds),
    1e-6,
)
def halos_in_rounds(x: Array, y: Array, n: int, rounds: int) -> None:
    rows = x.reshape(rounds, n)
    left = np.concatenate([np.full((rounds, 1), -1, np.float32), rows[:, :-1]], 1)
    y[:] = (left + 10 * rows).reshape(-1)


@program(
    tuple(launch(1, 32, rounds=rounds) for rounds in (1, 2, 7, 40)),
    lambda draw, rounds: (draw.floats(rounds * 32), draw.floats(rounds * 64 + 64), rounds),
    1e-6,
)
def neighbours_in_rounds(x: Array, y: Array, rounds: int) -> None:
    made = y.reshape(-1, 64)
    for t, row in enumerate(x.reshape(rounds, 32)):
        made[t + 1, :32] = np.float32(0.5) * made[t, 1:33] + row
