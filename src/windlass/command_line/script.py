"""`windlass run script.py`: a Python program that uses cupy, pycuda or numba.cuda, without a GPU."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from windlass.command_line.aliases import install
from windlass.command_line.main_module import read_script, run_as_main
from windlass.command_line.run import MODES
from windlass.diagnostics import Diagnostic, LaunchError, WindlassWarning
from windlass.diagnostics.deferral import deferred
from windlass.launching.tiering import ObservedLaunch, policy

if TYPE_CHECKING:
    from windlass.command_line import launches
else:
    launches = deferred("windlass.command_line.launches")


def run_script(script: Path, arguments: Sequence[str], mode: str, has_report: bool, explains: bool) -> int:
    """Run a Python program as `python script arguments` does, and give its exit status.

    `import cupy`, `import pycuda...` and `from numba import cuda` give Windlass's packages. With `has_report` a table
    of its kernels goes to standard error afterwards, with `explains` a report on each kernel and grid.

    Raises LaunchError: WL0703 for a mode that there is not, WL0705 where the file can't be read.
    """
    if mode not in MODES:
        raise LaunchError(Diagnostic("WL0703", f"--mode {mode}: not understood", help=f"modes are {', '.join(MODES)}"))
    text = read_script(script)
    told = launches.Launches(explains) if has_report or explains else None
    if told is None:
        policy.choose(mode, None)
    else:

        def observe(each: ObservedLaunch) -> None:
            launched = launches.Launched(each.kernel.name, each.shape, each.how, each.seconds, each.reason)
            told.note(launched, each.explain)

        policy.choose(mode, observe)
    install()
    warnings.simplefilter("ignore", WindlassWarning)
    status = run_as_main(text, script, arguments)
    if told is not None:
        told.show(has_report)
    return status
