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
        show_table(
            [
                (each.kernel, each.how, each.seconds, each.reason.diagnostics[0].headline if each.reason else "")
                for each in records
            ]
        )
    return status


def show_table(launches: Sequence[tuple[str, str, float, str]]) -> None:
    """How often each kernel ran, how, and for how long; and why it was not raised: on standard error.

    `launches` has for each its kernel, how it ran, the seconds that it took, and why it was not raised.
    """
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
    for name in dict.fromkeys(launch[0] for launch in launches):
        own = [launch for launch in launches if launch[0] == name]
        counts = [str(sum(how == each for _, each, _, _ in own)) for how in ("raised", "emulated", "library")]
        seconds = sum(launch[2] for launch in own)
        reason = next((launch[3] for launch in own if launch[3]), "")
        table.add_row(name, *counts, f"{seconds:.3f}", reason)
    Console(stderr=True, highlight=False).print(table)
