"""`windlass ptx`: kernels of a file as code for GPUs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import windlass as wl
from windlass.diagnostics.options import read_macro
from windlass.gpu import compile_ptx


def write_ptx(
    file: Path,
    include: Sequence[Path],
    define: Sequence[str],
    names: Sequence[str],
    sm: str,
    line_info: bool,
    output: Path | None,
) -> None:
    """Writes the kernels of the file (or those that are named) as one module of PTX.

    Raises CompilationError where the file does not compile, or where a kernel has no PTX.
    """
    module = wl.cuda.compile(file, include=list(include), define=dict(map(read_macro, define)))
    kernels = [module[name].signature for name in (names or module.kernels)]
    _write(compile_ptx(module.code, kernels, sm, line_info=line_info), output)


def _write(text: str, output: Path | None) -> None:
    if output is None:
        print(text, end="")
    else:
        output.write_text(text, "utf-8")
