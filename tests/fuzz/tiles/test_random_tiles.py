"""Random kernels with tiles give the same in all forms. `python -m tests.fuzz.sweep --tiles` runs many more."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.fuzz.shrinking import count_outcomes
from tests.fuzz.tiles.author import write_tiled_kernel

BATCH = 4


@pytest.mark.one_in(3)
@pytest.mark.parametrize("first", range(0, 12, BATCH))
def test_raised_tiles_agree_with_the_emulator(first: int) -> None:
    counts = count_outcomes([write_tiled_kernel(seed) for seed in range(first, first + BATCH)])
    assert counts["same"] >= BATCH - 1, f"few kernels wrote something and were compared: {counts}"


@pytest.mark.one_in(3)
@pytest.mark.parametrize("first", range(1000, 1012, BATCH))
def test_native_tiles_agree_with_the_emulator(first: int) -> None:
    kernels = [replace(write_tiled_kernel(seed), form="native") for seed in range(first, first + BATCH)]
    assert count_outcomes(kernels)["same"] >= BATCH - 1


@pytest.mark.slow
@pytest.mark.parametrize("first", range(100_000, 100_400, 20))
def test_many_raised_tiles_agree_with_the_emulator(first: int) -> None:
    count_outcomes([write_tiled_kernel(seed) for seed in range(first, first + 20)])


def test_kernels_are_varied() -> None:
    texts = [write_tiled_kernel(seed).text() for seed in range(300)]
    words = {
        "for (int t": 0.9, "for (int u": 0.2, "s >>= 1": 0.1, "o *= 2": 0.2, "s /= 2": 0.1, "k *= 2": 0.05,
        "__shfl": 0.1, "volatile": 0.04, "__ballot_sync": 0.05, "__syncthreads_": 0.2, "atomicAdd": 0.1, "bins": 0.1,
        "Pair": 0.1, "halves": 0.1, "kept": 0.1, "own": 0.2, "raw": 0.1, "some": 0.03, "square": 0.05,
        "return;": 0.1, "break;": 0.1, "t % 2 == 1": 0.05, "double": 0.02, "float": 0.4, "unsigned v": 0.4,
    }  # fmt: skip
    rare = {word for word, part in words.items() if sum(word in text for text in texts) < part * len(texts)}
    assert not rare


def test_same_seed_writes_the_same_kernel() -> None:
    assert write_tiled_kernel(7).describe() == write_tiled_kernel(7).describe()
