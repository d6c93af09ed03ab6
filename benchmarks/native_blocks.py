"""Kernels whose threads meet: native code beside C with OpenMP, Numba's `prange`, the raised form, and the emulator.

python -m benchmarks.native_blocks [--rounds 5] [--only tree,warps] [--raised]

The kernels (blocks/kernels.cu) are written for GPUs, with tiles, barriers and warps; C (blocks/openmp.c,
`gcc -O3 -march=native -fopenmp`) and Numba (blocks/numba_peers.py) do the same as one writes it for a CPU. All results
are compared. Seconds of CPU in all threads, the least of several rounds, turn by turn; the emulator runs a smaller grid
once, and is counted per block. `--raised` also times the launches as tensor programs.
"""

from __future__ import annotations

import argparse
import ctypes
import math
import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.blocks.numba_peers import PEERS
from rich.console import Console
from rich.table import Table

import windlass as wl

HERE = Path(__file__).parent / "blocks"
Launch = tuple[str, Any, Any, tuple[Any, ...]]
"""Kernel, grid, block and arguments."""


@dataclass(frozen=True)
class Case:
    """Launches over `arrays`, and what others do with those; `results` are the arrays that are compared."""

    name: str
    arrays: tuple[Any, ...]
    launches: Callable[..., list[Launch]]
    in_c: Callable[..., None]
    in_numba: Callable[..., None]
    results: tuple[int, ...]
    few: Any
    """A grid that the emulator runs in little time."""
    tolerance: float = 0.0
    others: dict[str, Callable[..., None]] = field(default_factory=dict[str, Callable[..., None]])


@cache
def library() -> Any:
    """The C functions."""
    folder = tempfile.mkdtemp()
    target = Path(folder) / "blocks.so"
    flags = ["-O3", "-march=native", "-fopenmp", "-shared", "-fPIC", "-std=c11"]
    subprocess.run(["gcc", *flags, "-o", str(target), str(HERE / "openmp.c")], check=True)
    return ctypes.CDLL(str(target))


def call(name: str, *arguments: Any) -> None:
    """A C function on arrays and numbers."""
    given = [
        ctypes.c_void_p(each.ctypes.data)
        if isinstance(each, np.ndarray)
        else ctypes.c_float(float(each))
        if isinstance(each, float | np.floating)
        else ctypes.c_int(each)
        for each in arguments
    ]
    getattr(library(), name)(*given)


def lu_launches(m: Any, n: int) -> list[Launch]:
    found: list[Launch] = []
    for offset in range(0, n - 16, 16):
        left = (n - offset) // 16 - 1
        found.append(("lu_diagonal", 1, 16, (m, n, offset)))
        found.append(("lu_perimeter", left, 32, (m, n, offset)))
        found.append(("lu_internal", (left, left), (16, 16), (m, n, offset)))
    found.append(("lu_diagonal", 1, 16, (m, n, n - 16)))
    return found


def align_launches(reference: Any, score: Any, n: int) -> list[Launch]:
    tiles = n // 16
    found: list[Launch] = []
    for diagonal in range(2 * tiles - 1):
        first, last = max(0, diagonal - tiles + 1), min(diagonal, tiles - 1)
        found.append(("align", last - first + 1, 16, (reference, score, n, 3, first, diagonal)))
    return found


def cases() -> list[Case]:
    """What is measured."""
    random = np.random.default_rng(1)

    def floats(*shape: int) -> Any:
        return random.random(shape, np.float32)

    def zeros(*shape: int, dtype: Any = np.float32) -> Any:
        return np.zeros(shape, dtype)

    def integers(high: int, *shape: int) -> Any:
        return random.integers(0, high, shape).astype(np.int32)

    n, rows, f4 = 512, 4096, np.float32
    x = floats(rows * 256)
    many = integers(256, 1024 * 4096)
    m = floats(256, 256) + 256 * np.eye(256, dtype=f4)
    columns = 224 * 2048
    heat = (f4(0.1), f4(0.3), f4(0.2), f4(0.05))
    score = zeros(513, 513, dtype=np.int32)
    score[0], score[:, 0] = -3 * np.arange(513), -3 * np.arange(513)
    return [
        Case(
            "tiled product 512²", (floats(n, n), floats(n, n), zeros(n, n)),
            lambda a, b, c: [("product", (32, 32), (16, 16), (a, b, c, n))],
            lambda a, b, c: call("product", a, b, c, n), lambda a, b, c: PEERS["product"](a, b, c, n),
            (2,), (2, 2), 1e-5,
            {"OpenBLAS": lambda a, b, c: np.matmul(a, b, out=c)},
        ),
        Case(
            "transposition 2048²", (floats(2048, 2048), zeros(2048, 2048)),
            lambda a, b: [("transpose", (64, 64), (32, 8), (a, b, 2048))],
            lambda a, b: call("transpose", a, b, 2048), lambda a, b: PEERS["transpose"](a, b, 2048), (1,), (2, 2),
        ),
        Case(
            "histogram of 4 million", (many, zeros(256, dtype=np.int32)),
            lambda x, y: [("histogram", 1024, 256, (x, y))],
            lambda x, y: call("histogram", x, y, x.size), PEERS["histogram"], (1,), 4,
        ),
        Case(
            "tree sums of 256", (x, zeros(rows)), lambda x, y: [("tree", rows, 256, (x, y))],
            lambda x, y: call("sums", x, y, rows), PEERS["sums"], (1,), 32, 1e-5,
        ),
        Case(
            "warp sums of 256", (x, zeros(rows)), lambda x, y: [("warps", rows, 256, (x, y))],
            lambda x, y: call("sums", x, y, rows), PEERS["sums"], (1,), 32, 1e-5,
        ),
        Case(
            "ballot counts", (many[: 1 << 20], zeros(1 << 15, dtype=np.int32)),
            lambda x, y: [("compact", 4096, 256, (x, y))],
            lambda x, y: call("compact", x, y, y.size), PEERS["compact"], (1,), 32,
        ),
        Case(
            "scan (Hillis, Steele)", (x, zeros(rows * 256)), lambda x, y: [("hillis", rows, 256, (x, y))],
            lambda x, y: call("scan", x, y, rows, 256, 0), lambda x, y: PEERS["scan"](x, y, rows, 256, False),
            (1,), 32, 1e-5,
        ),
        Case(
            "scan (Blelloch)", (x, zeros(rows * 256)), lambda x, y: [("blelloch", rows // 2, 256, (x, y))],
            lambda x, y: call("scan", x, y, rows // 2, 512, 1),
            lambda x, y: PEERS["scan"](x, y, rows // 2, 512, True), (1,), 16, 1e-5,
        ),
        Case(
            "Needleman-Wunsch 512²", (integers(9, 513, 513), score), lambda r, s: align_launches(r, s, 512),
            lambda r, s: call("align", r, s, 512, 3), lambda r, s: PEERS["align"](r, s, 512, 3), (1,), None,
        ),
        Case(
            "pathfinder", (integers(9, 14, columns), integers(9, columns), zeros(columns, dtype=np.int32)),
            lambda w, a, b: [("path", 2048, 256, (w, a, b, columns, 14))],
            lambda w, a, b: call("path", w, a, b, columns, 14),
            lambda w, a, b: PEERS["path"](w, a, b, columns, 14), (2,), 16,
        ),
        Case(
            "hotspot 1024², 2 steps", (floats(1024, 1024), 80 + floats(1024, 1024), zeros(1024, 1024)),
            lambda p, a, b: [("hotspot", (86, 86), (16, 16), (p, a, b, 1024, 2, *heat))],
            lambda p, a, b: call("hotspot", p, a, b, 1024, 2, *heat),
            lambda p, a, b: PEERS["hotspot"](p, a, b, 1024, 2, *heat), (2,), (3, 3), 1e-5,
        ),
        Case(
            "srad 1024²", (floats(1024, 1024) + 1, *(zeros(1024, 1024) for _ in range(5))),
            lambda *given: [("srad_coefficients", (64, 64), (16, 16), (*given, 1024, f4(0.05)))],
            lambda *given: call("srad", *given, 1024, f4(0.05)),
            lambda *given: PEERS["srad"](*given, 1024, f4(0.05)), (5,), (3, 3), 1e-4,
        ),
        Case(
            "LU 256² in tiles", (m,), lambda m: lu_launches(m, 256), lambda m: call("lu", m, 256),
            lambda m: PEERS["lu"](m, 256), (0,), None, 1e-4,
        ),
        Case(
            "normalize 4096", (floats(4096), zeros(4096)), lambda x, y: [("normalize", 16, 256, (x, y, 4096))],
            lambda x, y: call("normalize", x, y, 4096), PEERS["normalize"], (1,), 1,
        ),
        Case(
            "largest of 4 million", (integers(1 << 30, 1 << 22), zeros(1, dtype=np.int32)),
            lambda x, y: [("largest", 256, 256, (x, y, x.size))],
            lambda x, y: call("largest", x, y, x.size), PEERS["largest"], (1,), 4,
        ),
    ]  # fmt: skip


def seconds(runs: Sequence[Callable[..., None]], arrays: Sequence[Any], rounds: int) -> list[float]:
    """The least CPU time of each, turn by turn, after a first call."""
    given = [each.copy() for each in arrays]
    found: list[list[float]] = [[] for _ in runs]
    for number in range(rounds + 1):
        for run, times in zip(runs, found, strict=True):
            for target, source in zip(given, arrays, strict=True):
                target[...] = source
            begin = time.process_time()
            run(*given)
            if number:
                times.append(time.process_time() - begin)
    return [min(times) for times in found]


def result_of(run: Callable[..., None], case: Case) -> list[Any]:
    given = [each.copy() for each in case.arrays]
    run(*given)
    return [given[place] for place in case.results]


@cache
def module() -> wl.Module:
    """The kernels."""
    return wl.cuda.compile((HERE / "kernels.cu").read_text())


def launcher(case: Case, form: Callable[..., Any]) -> Callable[..., None]:
    """Runs the launches in some form."""

    def run(*arrays: Any) -> None:
        for kernel, grid, block, arguments in case.launches(*arrays):
            form(module()[kernel])[grid, block](*arguments)

    return run


def emulated_seconds(case: Case) -> float:
    """How long the emulator takes for all blocks, by how long it does for a few."""
    if case.few is None:
        return math.nan
    ((kernel, grid, block, arguments),) = case.launches(*(each.copy() for each in case.arrays))
    run = wl.emulate(module()[kernel])[case.few, block]
    begin = time.process_time()
    run(*arguments)
    return (time.process_time() - begin) * float(np.prod(grid) / np.prod(case.few))


def measure(case: Case, rounds: int, *, with_raised: bool) -> dict[str, float]:
    """Seconds by who took them."""
    runs = {"native": launcher(case, cache(wl.native)), "C": case.in_c, "Numba": case.in_numba, **case.others}
    if with_raised:
        runs["raised"] = launcher(case, lambda kernel: kernel)
    results = {name: result_of(run, case) for name, run in runs.items()}
    for name, found in results.items():
        for ours, theirs in zip(results["native"], found, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=case.tolerance, atol=case.tolerance, err_msg=name)
    found = dict(zip(runs, seconds(list(runs.values()), case.arrays, rounds), strict=True))
    return {**found, "emulated": emulated_seconds(case)}


def mean_of(ratios: Sequence[float]) -> float:
    """Their geometric mean."""
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def main() -> None:
    """Prints a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="", help="words of names, with commas between")
    parser.add_argument("--raised", action="store_true", help="time the tensor programs too")
    options = parser.parse_args()
    os.environ["WINDLASS_NATIVE"] = "0"  # so that launches are raised, but for those by wl.native
    heads = ("C", "Numba", "raised", "emulated", "OpenBLAS")
    table = Table("", "native ms", *(f"{each} / native" for each in heads), box=None)
    ratios: dict[str, list[float]] = {"C": [], "Numba": []}
    for case in cases():
        if any(word in case.name for word in options.only.split(",")):
            found = measure(case, options.rounds, with_raised=options.raised)
            native = found["native"]
            cells = [found.get(each, math.nan) / native for each in heads]
            for name, all_of_it in ratios.items():
                all_of_it.append(found[name] / native)
            table.add_row(case.name, f"{1e3 * native:.2f}", *("" if math.isnan(c) else f"{c:.3g}" for c in cells))
    table.add_row("geometric mean", "", *(f"{mean_of(each):.2f}" for each in ratios.values()))
    Console(width=140).print(table)


if __name__ == "__main__":
    main()
