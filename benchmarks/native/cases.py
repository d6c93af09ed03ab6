"""Launches of kernels.cu."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

SOURCE = (Path(__file__).parent / "kernels.cu").read_text(encoding="utf-8")

Extent: TypeAlias = int | tuple[int, ...]


@dataclass(frozen=True)
class Launch:
    """A launch of a kernel on arguments of its case, by number."""

    kernel: str
    grid: Extent
    block: Extent
    arguments: tuple[int, ...]


@dataclass(frozen=True)
class Case:
    """Launches one after another on arrays and numbers; they may be repeated, since `reset` arrays begin anew.

    `tolerance` for results that differ in their last bits: contracted sums, other functions.
    """

    name: str
    launches: tuple[Launch, ...]
    arguments: Sequence[Any]
    tolerance: float = 1e-4
    reset: tuple[int, ...] = ()

    def copies(self) -> list[Any]:
        """The arguments, with arrays of their own."""
        return [each.copy() if isinstance(each, np.ndarray) else each for each in self.arguments]

    def begin(self, arguments: Sequence[Any]) -> None:
        """Bring copies to where a run begins."""
        for place in self.reset:
            arguments[place][...] = self.arguments[place]


def one(name: str, kernel: str, grid: Extent, block: Extent, *arguments: Any, reset: tuple[int, ...] = ()) -> Case:
    """A case of one launch."""
    launch = Launch(kernel, grid, block, tuple(range(len(arguments))))
    return Case(name, (launch,), arguments, 2e-4, reset)


def stencils(n: int = 2048) -> list[Case]:
    draw, f4 = np.random.default_rng(0), np.float32
    u = draw.random((n, n), dtype=f4)
    grid, block, small = (n // 64, n // 4), (64, 4), 192
    cube = draw.random((small,) * 3, dtype=f4)
    heat, power = f4(300) + draw.random((n // 2, n // 2), dtype=f4), draw.random((n // 2, n // 2), dtype=f4)
    hotspot = (power, heat, heat.copy(), n // 2, n // 2, f4(0.1), f4(0.2), f4(0.3), f4(0.01))
    return [
        one("heat 2048²", "heat", grid, block, u, u.copy(), n, f4(0.1)),
        one("clamped stencil 2048²", "clamped", grid, block, u, u.copy(), n, f4(0.1)),
        one("periodic stencil 2048²", "periodic", grid, block, u, u.copy(), n, f4(0.1)),
        one("7 points 192³", "seven_points", (3, 48, 192), (64, 4, 1), cube, cube.copy(), small, f4(0.4), f4(0.1)),
        one("hotspot 1024²", "hotspot", (64, 64), (16, 16), *hotspot),
        srad(n // 2),
        one(
            "lattice Boltzmann 512²", "lattice", (8, 128), (64, 4), f4(0.1) + draw.random((9, 512, 512), dtype=f4),
            np.zeros((9, 512, 512), f4), 512, f4(0.6),
        ),
    ]  # fmt: skip


def srad(n: int) -> Case:
    draw, f4 = np.random.default_rng(1), np.float32
    image = f4(0.5) + draw.random((n, n), dtype=f4)
    before = np.maximum(np.arange(n, dtype=np.int32) - 1, 0)
    after = np.minimum(np.arange(n, dtype=np.int32) + 1, n - 1).astype(np.int32)
    slopes = [np.zeros((n, n), f4) for _ in range(5)]
    arguments = (image, before, after, before.copy(), after.copy(), *slopes, n, n, f4(0.05), f4(0.5))
    grid, block = (n // 16, n // 16), (16, 16)
    launches = (
        Launch("srad_slopes", grid, block, (*range(12), 12)),
        Launch("srad_update", grid, block, (0, 2, 4, 5, 6, 7, 8, 9, 10, 11, 13)),
    )
    return Case("srad 1024²", launches, arguments, reset=(0,))


def others() -> list[Case]:
    draw, f4 = np.random.default_rng(2), np.float32
    bodies = 8192
    places = [draw.random(bodies, dtype=f4) for _ in range(4)]
    pulls = [np.zeros(bodies, f4) for _ in range(3)]
    count = 2_000_000
    prices = [draw.random(count, dtype=f4) + f4(0.5) for _ in range(3)]
    options = (*prices, np.zeros(count, f4), np.zeros(count, f4), count, f4(0.02), f4(0.3))
    out = np.zeros((1024, 1024), np.int32)
    rows = 200_000
    start, column = graph(rows, 4, 13)
    sparse = (rows, start, column, draw.random(len(column), dtype=f4), draw.random(rows, dtype=f4), np.zeros(rows, f4))
    samples = 4_000_000
    counted = (draw.integers(0, 256, samples).astype(np.int32), np.zeros(256, np.int32), samples)
    return [
        one("n-body 8192", "bodies", bodies // 256, 256, *places, *pulls, bodies, f4(0.01)),
        one("Black-Scholes, 2 million", "black_scholes", -(-count // 256), 256, *options),
        one("mandelbrot 1024², 200 rounds", "mandelbrot", (16, 256), (64, 4), out, 1024, 200),
        one("SpMV, 200,000 rows", "spmv", -(-rows // 256), 256, *sparse),
        breadth_first(1_000_000),
        one("histogram, 4 million", "histogram", -(-samples // 256), 256, *counted, reset=(1,)),
    ]


def graph(nodes: int, least: int, most: int) -> tuple[Any, Any]:
    """Where the neighbours of each node begin, and the neighbours."""
    draw = np.random.default_rng(3)
    start = np.concatenate([[0], np.cumsum(draw.integers(least, most, nodes))]).astype(np.int32)
    return start, draw.integers(0, nodes, start[-1]).astype(np.int32)


def breadth_first(nodes: int) -> Case:
    """The step with a tenth of the nodes in the frontier, and half of them visited."""
    draw = np.random.default_rng(4)
    start, edge = graph(nodes, 2, 9)
    place = draw.random(nodes)
    frontier, visited = place < 0.1, place < 0.5
    cost = np.where(frontier, 3, np.where(visited, 2, -1)).astype(np.int32)
    arguments = (start, edge, frontier, np.zeros(nodes, bool), visited, cost, np.zeros(1, bool), nodes)
    blocks = -(-nodes // 256)
    launches = (
        Launch("bfs_visit", blocks, 256, (0, 1, 2, 3, 4, 5, 7)),
        Launch("bfs_advance", blocks, 256, (2, 3, 4, 6, 7)),
    )
    return Case("BFS step, 1 million nodes", launches, arguments, 0.0, (2, 3, 4, 5, 6))


def cases() -> list[Case]:
    return [*stencils(), *others()]


def bind_all(case: Case, arguments: Sequence[Any], bind: Callable[[Launch, list[Any]], Callable[[], object]]) -> Any:
    """The launches of a case as one call."""
    calls = [bind(each, [arguments[place] for place in each.arguments]) for each in case.launches]

    def run() -> None:
        for call in calls:
            call()

    return run
