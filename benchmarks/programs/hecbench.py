"""Programs of HeCBench that check their own results and need no data from elsewhere."""

from __future__ import annotations

import re
from pathlib import Path

from benchmarks.programs.suites import SuiteProgram

_CALLS = (
    ("adam", "1000 4 3"),
    ("atomicCAS", "4"),
    ("atomicIntrinsics", "10 2"),
    ("attention", "64 64 0 2"),
    ("bincount", "10000 2"),
    ("bitonic-sort", "10 2"),
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
    ("rainflow", "100 2"),
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
