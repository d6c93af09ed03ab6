"""Programs of HeCBench that check their own results and need no data from elsewhere."""

from __future__ import annotations

from pathlib import Path

from benchmarks.programs.suites import SuiteProgram


def hecbench(root: Path) -> list[SuiteProgram]:
    """Programs of HeCBench's `src`; `root` is a checkout."""
    return []
