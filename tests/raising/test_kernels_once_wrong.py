"""Kernels that were once raised to something else than they say, in their smallest forms. The emulator tells what is
right."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import windlass as wl

KERNELS: list[Kernel] = []


@dataclass(frozen=True)
class Kernel:
    """A kernel, its launch, its arguments, and what was wrong."""

    what: str
    text: str
    grid: Any
    block: Any
    arguments: Callable[[], list[Any]] = field(repr=False)

    def __post_init__(self) -> None:
        KERNELS.append(self)


def drawn(dtype: str, count: int, low: int = -8, high: int = 8) -> NDArray[Any]:
    """Small numbers, the same ones each time."""
    return np.random.default_rng(count).integers(low, high, count).astype(dtype)


Kernel(
    "least of a number beyond all signed ones and another",
    """
    __global__ void kernel(int *total) {
        size_t back = -2;
        int i = blockIdx.x;
        total[i] = (int)min(back * i, (size_t)16);
    }""",
    5,
    1,
    lambda: [np.zeros(5, np.int32)],
)
Kernel(
    "quotient of a number beyond all signed ones",
    """
    __global__ void kernel(int *rest, unsigned *quotient) {
        size_t before = (size_t)threadIdx.x - 10;
        rest[threadIdx.x] = (int)(before % 7);
        quotient[threadIdx.x] = (unsigned)(before / 7);
    }""",
    1,
    5,
    lambda: [np.zeros(5, np.int32), np.zeros(5, np.uint32)],
)


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda each: each.what)
def test_raised_kernel_agrees_with_emulator(kernel: Kernel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WINDLASS_FALLBACK", "error")
    compiled = wl.cuda.compile(kernel.text)["kernel"]
    got, wanted = kernel.arguments(), kernel.arguments()
    compiled[kernel.grid, kernel.block](*got)
    wl.emulate(compiled)[kernel.grid, kernel.block](*wanted)
    for mine, right in zip(got, wanted, strict=True):
        np.testing.assert_array_equal(mine, right)
