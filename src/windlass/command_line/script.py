"""`windlass run script.py`: a Python program that uses cupy, pycuda or numba.cuda, without a GPU."""

from __future__ import annotations

import builtins
import sys
import traceback
import warnings
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType, TracebackType
from typing import TYPE_CHECKING

from windlass.command_line.aliases import install
from windlass.command_line.run import MODES
from windlass.diagnostics import Diagnostic, LaunchError, WindlassError, WindlassWarning
from windlass.diagnostics.deferral import deferred
from windlass.diagnostics.files import read_regular_file
from windlass.launching.tiering import ObservedLaunch, policy

if TYPE_CHECKING:
    from windlass.command_line import launches
else:
    launches = deferred("windlass.command_line.launches")

OK, FAILED = 0, 1


def run_script(script: Path, arguments: Sequence[str], mode: str, has_report: bool, explains: bool) -> int:
    """Run a Python program as `python script arguments` does, and give its exit status.

    `import cupy`, `import pycuda...` and `from numba import cuda` give Windlass's packages. With `has_report` a table
    of its kernels goes to standard error afterwards, with `explains` a report on each kernel and grid.

    Raises LaunchError: WL0703 for a mode that there is not, WL0705 where the file can't be read.
    """
    if mode not in MODES:
        raise LaunchError(Diagnostic("WL0703", f"--mode {mode}: not understood", help=f"modes are {', '.join(MODES)}"))
    try:
        text = read_regular_file(script)
    except OSError as error:
        raise LaunchError(Diagnostic("WL0705", f"can't read '{script}': {error.strerror}")) from None
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
    module = ModuleType("__main__")
    module.__file__ = str(script)
    module.__dict__["__builtins__"] = builtins
    sys.modules["__main__"] = module
    sys.argv = [str(script), *arguments]
    sys.path.insert(0, str(script.resolve().parent))
    status = _execute(text, script, module)
    sys.stdout.flush()
    if told is not None:
        told.show(has_report)
    return status


def _execute(text: bytes, script: Path, module: ModuleType) -> int:
    try:
        exec(compile(text, str(script), "exec", dont_inherit=True), module.__dict__)
    except SystemExit as error:
        return _status_of(error)
    except KeyboardInterrupt:
        raise
    except WindlassError as error:
        sys.stdout.flush()
        _print_traceback(error, is_ours=True)
        return FAILED
    except BaseException as error:
        sys.stdout.flush()
        _print_traceback(error, is_ours=False)
        return FAILED
    return OK


def _status_of(error: SystemExit) -> int:
    """What `sys.exit(...)` means for the process: nothing is success, a text is printed and means failure."""
    if error.code is None:
        return OK
    if isinstance(error.code, int):
        return error.code & 0xFF
    print(error.code, file=sys.stderr)
    return FAILED


def _print_traceback(error: BaseException, *, is_ours: bool) -> None:
    """The traceback, from the program's first line on; of Windlass's own errors without Windlass's own lines."""
    frames: TracebackType | None = error.__traceback__
    while frames is not None and frames.tb_frame.f_code.co_filename == __file__:
        frames = frames.tb_next
    if not is_ours:
        traceback.print_exception(type(error), error, frames)
        return
    own = str(Path(__file__).parent.parent)
    summary = [frame for frame in traceback.extract_tb(frames) if not frame.filename.startswith(own)]
    print("Traceback (most recent call last):", file=sys.stderr)
    print("".join(traceback.format_list(summary)), end="", file=sys.stderr)
    print(error, file=sys.stderr)
