"""Programs of HeCBench that check their own results and need no data from elsewhere."""

from __future__ import annotations

import re
from pathlib import Path

from benchmarks.programs.suites import SuiteProgram

_CALLS = (
    ("adam", "1000 4 3"),
    ("assert", ""),
    ("atomicCAS", "4"),
    ("atomicIntrinsics", "10 2"),
    ("attention", "64 64 0 2"),
    ("bincount", "10000 2"),
    ("bitonic-sort", "10 2"),
    ("blockScan", "4096 2"),
    ("bsearch", "8192 2"),
    ("concurrentKernels", "1"),
    ("convolutionSeparable", "128 128 2"),
    ("entropy", "64 64 2"),
    ("floydwarshall", "64 2 16"),
    ("heat2d", "64 64 10"),
    ("laplace3d", "32 32 32 3 1"),
    ("matrix-rotate", "64 3"),
    ("merge", "1000 2"),
    ("morphology", "5 5 64 64 2"),
    ("multinomial", "64 64 2"),
    ("murmurhash3", "1000 2"),
    ("nqueen", "8 5 2"),
    ("page-rank", "-n 200 -i 5"),
    ("rainflow", "100 2"),
    ("scan", "4096 2"),
    ("scatterAdd", "1000 8 4 2"),
    ("softmax", "64 128 0 2"),
    ("split", "4096 2"),
    ("stencil1d", "8192 2"),
    ("streamOrderedAllocation", ""),
    ("streamUM", "2 32 1"),
    ("thomas", "64 64 64 2"),
    ("threadfence", "2 4096"),
    ("vanGenuchten", "16 16 16 2"),
    ("vote", "3"),
    ("wyllie", "1000 1 2"),
    ("zerocopy", "1"),
)
"""Names without `-cuda`, and arguments."""


def hecbench(root: Path) -> list[SuiteProgram]:
    """Programs of HeCBench's `src`; `root` is a checkout."""
    found: list[SuiteProgram] = []
    for name, arguments in _CALLS:
        folder = f"{name}-cuda"
        listed = re.search(r"^source *= *(.*)$", (root / "src" / folder / "Makefile").read_text(), re.MULTILINE)
        sources = listed[1].split() if listed else ["main.cu"]
        found.append(SuiteProgram(name, folder, sources, arguments, f"`{arguments}`"))
    return found
