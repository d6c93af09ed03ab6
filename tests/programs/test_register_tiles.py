"""What products become of which each thread makes several elements: one contraction, whatever the tiles."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import windlass as wl

SOURCES = Path(__file__).parent


def matrices(*shapes: tuple[int, int]) -> list[Any]:
    draw = np.random.default_rng(0)
    return [draw.standard_normal(shape, np.float32) for shape in shapes]


def ops_of(source: str, kernel: str, grid: Any, block: Any, *arguments: Any) -> dict[str, int]:
    return wl.cuda.compile(SOURCES / source)[kernel].explain(grid, block, *arguments).ops


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    ("source", "kernel", "tile", "block"),
    [
        ("shared.cu", "register_tiled_product", 32, (8, 8)),
        ("register_tiles.cu", "squares_of_4", 64, 256),
        ("register_tiles.cu", "squares_of_8", 64, 64),
    ],
)
def test_squares_of_threads_are_one_contraction(source: str, kernel: str, tile: int, block: Any) -> None:
    n = 3 * tile
    grid = (3, 3)
    assert ops_of(source, kernel, grid, block, *matrices((n, n), (n, n), (n, n)), n) == {"dot_general": 1}


def test_elements_may_be_made_in_turn() -> None:
    n = 96
    a, b, c = matrices((n, n), (n, n), (n, n))
    assert ops_of("register_tiles.cu", "elements_in_turn", (3, 3), (16, 8), a, b, c, n) == {"dot_general": 1}
    assert ops_of("register_tiles.cu", "elements_without_tiles", (6, 12), (4, 4), a, b, c, n) == {"dot_general": 1}


def test_the_size_of_matrices_does_not_matter() -> None:
    n = 2048
    a, b, c = (np.zeros((n, n), np.float32) for _ in range(3))
    one = np.float32(1)
    assert ops_of("shared.cu", "register_tiled_product", (64, 64), (8, 8), a, b, c, n) == {"dot_general": 1}
    assert ops_of("register_tiles.cu", "fours_at_once", (32, 32), 64, n, one, a, b, one, c) == SCALED


SCALED = {"dot_general": 1, "broadcast_in_dim": 2, "multiply": 2, "add": 1}


def test_columns_of_threads_are_one_contraction() -> None:
    m, n, k = 192, 256, 40
    alpha, beta = np.float32(2), np.float32(3)
    a, b, c = matrices((m, k), (k, n), (m, n))
    assert ops_of("register_tiles.cu", "columns_of_8", (4, 3), 512, m, n, k, alpha, a, b, beta, c) == SCALED


def test_loads_and_stores_of_four_words_are_of_one_array() -> None:
    n = 192
    alpha, beta = np.float32(2), np.float32(3)
    a, b, c = matrices((n, n), (n, n), (n, n))
    assert ops_of("register_tiles.cu", "fours_at_once", (3, 3), 64, n, alpha, a, b, beta, c) == SCALED


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("kernel", "tile", "block"), [("tiles_of_warps", 64, 128), ("fragments_of_fours", 128, 256)])
def test_tiles_within_tiles_are_one_contraction(kernel: str, tile: int, block: int) -> None:
    n = 2 * tile
    a, b, c = matrices((n, n), (n, n), (n, n))
    arguments = (n, n, n, a, b, c) if kernel == "tiles_of_warps" else (a, b, c, n)
    ops = ops_of("register_tiles.cu", kernel, (2, 2), block, *arguments)
    assert ops["dot_general"] == 1
    assert ops.keys() <= {"dot_general", "reshape", "transpose", "slice", "concatenate"}


def test_guards_of_tiles_are_zeros_around_the_matrices() -> None:
    m, n, k = 150, 170, 130
    a, b, c = matrices((m, k), (k, n), (m, n))
    ops = ops_of("register_tiles.cu", "guarded_squares", (3, 3), (16, 16), a, b, c, m, n, k)
    assert ops["dot_general"] == 1
    assert ops.keys() <= {"dot_general", "pad", "reshape", "transpose", "slice"}


def test_a_launch_has_the_same_text_each_time() -> None:
    texts: set[str] = set()
    kept: list[object] = []
    for count in range(4):
        # The order of a set of objects follows from where they lie in memory.
        kept.append([object() for _ in range(997 * count)])
        module = wl.cuda.compile(SOURCES / "register_tiles.cu")
        kept.append(module)
        x, y = np.zeros((5, 8, 4), np.float32), np.zeros((8, 4), np.float32)
        texts.add(module["running_sums"].lower(2, 4, x, y, 5).text("tensor"))
    assert len(texts) == 1
