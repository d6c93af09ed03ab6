"""`windlass ptx` and `windlass amdgcn`: kernels of a file as code for GPUs."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import windlass as wl
from windlass.diagnostics.options import read_macro
from windlass.gpu import compile_amdgcn, compile_code_object, compile_ptx
from windlass.ir.signature import DeviceCode, KernelSignature


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
    code, kernels = _kernels(file, include, define, names)
    _write(compile_ptx(code, kernels, sm, line_info=line_info).encode(), output)


def write_amdgcn(
    file: Path,
    include: Sequence[Path],
    define: Sequence[str],
    names: Sequence[str],
    gfx: str,
    as_object: bool,
    output: Path | None,
) -> None:
    """Writes the kernels of the file (or those that are named) for a processor of AMD's.

    Raises CompilationError where the file does not compile, or where a kernel has no such code.
    """
    code, kernels = _kernels(file, include, define, names)
    _write(
        compile_code_object(code, kernels, gfx) if as_object else compile_amdgcn(code, kernels, gfx).encode(), output
    )


def _kernels(
    file: Path, include: Sequence[Path], define: Sequence[str], names: Sequence[str]
) -> tuple[DeviceCode, list[KernelSignature]]:
    module = wl.cuda.compile(file, include=list(include), define=dict(map(read_macro, define)))
    kernels = [module[name].signature for name in (names or module.kernels)]
    return module.code, kernels


def _write(content: bytes, output: Path | None) -> None:
    if output is None:
        sys.stdout.buffer.write(content)
    else:
        output.write_bytes(content)
