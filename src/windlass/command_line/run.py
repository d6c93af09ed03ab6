"""`windlass run`: a whole CUDA program, without a GPU."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

import windlass as wl
from windlass.command_line.explain import read_macro
from windlass.diagnostics import Diagnostic, LaunchError

MODES = ("auto", "raised", "emulated")


def run_sources(
    sources: Sequence[Path],
    arguments: Sequence[str],
    include: Sequence[Path],
    define: Sequence[str],
    standard: str,
    mode: str,
    has_report: bool,
) -> int:
    """Run a program and give its exit status; with `has_report`, a table of its kernels goes to standard error.

    Raises CompilationError where it can't be built, LaunchError (WL0703) for a mode that there is not.
    """
    if mode not in MODES:
        raise LaunchError(Diagnostic("WL0703", f"--mode {mode}: not understood", help=f"modes are {', '.join(MODES)}"))
    macros = dict(read_macro(each) for each in define)
    program = wl.cuda.program(*sources, include=list(include), define=macros, standard=standard, mode=mode)
    records: list[wl.cuda.LaunchRecord] = []
    status = program.run(arguments, observe=records.append if has_report else None)
    if has_report:
        _show(records)
    return status


def _show(records: Sequence[wl.cuda.LaunchRecord]) -> None:
    """How often each kernel ran, how, and for how long; and why it was not raised."""
    table = Table(
        "kernel",
        "raised",
        "emulated",
        "library",
        "seconds",
        "not raised",
        box=None,
        header_style="bold",
        pad_edge=False,
    )
    for name in dict.fromkeys(record.kernel for record in records):
        own = [record for record in records if record.kernel == name]
        counts = [str(sum(record.how == how for record in own)) for how in ("raised", "emulated", "library")]
        seconds = sum(record.seconds for record in own)
        reason = next((record.reason.diagnostics[0].headline for record in own if record.reason is not None), "")
        table.add_row(name, *counts, f"{seconds:.3f}", reason)
    Console(stderr=True, highlight=False).print(table)
