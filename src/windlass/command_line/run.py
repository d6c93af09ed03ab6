"""`windlass run`: a whole CUDA program, without a GPU."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import windlass as wl
from windlass.diagnostics import Diagnostic, LaunchError
from windlass.diagnostics.deferral import deferred
from windlass.diagnostics.options import read_macro
from windlass.runtime.launch_shape import LaunchShape

if TYPE_CHECKING:
    from windlass.command_line import launches
else:
    launches = deferred("windlass.command_line.launches")

MODES = ("auto", "raised", "native", "emulated")


def run_sources(
    sources: Sequence[Path],
    arguments: Sequence[str],
    include: Sequence[Path],
    define: Sequence[str],
    standard: str,
    mode: str,
    has_report: bool,
    explains: bool,
) -> int:
    """Run a program and give its exit status.

    With `has_report` a table of its kernels goes to standard error, with `explains` a report on each kernel and grid.

    Raises CompilationError where it can't be built, LaunchError (WL0703) for a mode that there is not.
    """
    if mode not in MODES:
        raise LaunchError(Diagnostic("WL0703", f"--mode {mode}: not understood", help=f"modes are {', '.join(MODES)}"))
    macros = dict(read_macro(each) for each in define)
    program = wl.cuda.program(*sources, include=list(include), define=macros, standard=standard, mode=mode)
    if not (has_report or explains):
        return program.run(arguments)
    told = launches.Launches(explains)

    def observe(record: wl.cuda.LaunchRecord) -> None:
        shape = LaunchShape(record.grid, record.block, record.shared_bytes)
        told.note(launches.Launched(record.kernel, shape, record.how, record.seconds, record.reason), record.explain)

    status = program.run(arguments, observe=observe)
    told.show(has_report)
    return status
