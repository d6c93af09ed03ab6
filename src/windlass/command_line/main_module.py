"""A Python script as the main module of this process, as `python script arguments` runs it."""

from __future__ import annotations

import builtins
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType, TracebackType
from typing import TextIO

from windlass.diagnostics import Diagnostic, LaunchError, WindlassError
from windlass.diagnostics.files import read_regular_file

OK, FAILED = 0, 1


def read_script(script: Path) -> bytes:
    """The script's text.

    Raises LaunchError (WL0705) where the file can't be read.
    """
    try:
        return read_regular_file(script)
    except OSError as error:
        raise LaunchError(Diagnostic("WL0705", f"can't read '{script}': {error.strerror}")) from None


def run_as_main(text: bytes, script: Path, arguments: Sequence[str], errors: TextIO | None = None) -> int:
    """Run the text of a script; its exit status. What ends it is told on `errors`, by default standard error."""
    module = ModuleType("__main__")
    module.__file__ = str(script)
    module.__dict__["__builtins__"] = builtins
    sys.modules["__main__"] = module
    sys.argv = [str(script), *arguments]
    sys.path.insert(0, str(script.resolve().parent))
    status = _execute(text, script, module, errors)
    sys.stdout.flush()
    return status


def _execute(text: bytes, script: Path, module: ModuleType, errors: TextIO | None) -> int:
    try:
        exec(compile(text, str(script), "exec", dont_inherit=True), module.__dict__)
    except SystemExit as error:
        return _status_of(error, errors)
    except KeyboardInterrupt:
        raise
    except WindlassError as error:
        sys.stdout.flush()
        _print_traceback(error, errors, is_ours=True)
        return FAILED
    except BaseException as error:
        sys.stdout.flush()
        _print_traceback(error, errors, is_ours=False)
        return FAILED
    return OK


def _status_of(error: SystemExit, errors: TextIO | None) -> int:
    """What `sys.exit(...)` means for the process: nothing is success, a text is printed and means failure."""
    if error.code is None:
        return OK
    if isinstance(error.code, int):
        return error.code & 0xFF
    print(error.code, file=errors or sys.stderr)
    return FAILED


def _print_traceback(error: BaseException, errors: TextIO | None, *, is_ours: bool) -> None:
    """The traceback, from the program's first line on; of Windlass's own errors without Windlass's own lines."""
    file = errors or sys.stderr
    frames: TracebackType | None = error.__traceback__
    while frames is not None and frames.tb_frame.f_code.co_filename == __file__:
        frames = frames.tb_next
    if not is_ours:
        traceback.print_exception(type(error), error, frames, file=file)
        return
    own = str(Path(__file__).parent.parent)
    summary = [frame for frame in traceback.extract_tb(frames) if not frame.filename.startswith(own)]
    print("Traceback (most recent call last):", file=file)
    print("".join(traceback.format_list(summary)), end="", file=file)
    print(error, file=file)
