"""CUDA C++ to tensor programs: `windlass.cuda.compile`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from windlass.diagnostics.deferral import deferred_names
from windlass.diagnostics.options import read_macros, read_path, read_texts
from windlass.hosting.program import LaunchRecord, Mode, Program
from windlass.launching.kernel import Kernel
from windlass.launching.module import Module
from windlass.launching.textures import Surface, Texture, surface, texture

if TYPE_CHECKING:
    from windlass.hosting.host_function import HostFunction

__all__ = [
    "HostFunction",
    "Kernel",
    "LaunchRecord",
    "Mode",
    "Module",
    "Program",
    "Surface",
    "Texture",
    "compile",
    "program",
    "surface",
    "texture",
]

__getattr__ = deferred_names(__name__, {"HostFunction": "windlass.hosting.host_function"})


def compile(
    source: str | Path,
    *,
    include: str | Path | Sequence[str | Path] = (),
    define: Mapping[str, object] | None = None,
    instances: str | Sequence[str] = (),
    allow_contraction: bool = False,
) -> Module:
    """Compile the device side of a CUDA C++ file, given by path or as source text.

    `include` are folders for `#include`, `define` macros; `instances` names template instances that are wanted from the
    start (others are made when asked for). Float results are those of the source, operation by operation;
    `allow_contraction=True` lets a multiplication and an addition be fused and divisions by constants be turned into
    multiplications.

    Raises CompilationError with clang's messages, shown at the user's own lines; for options of wrong types one that
    is a TypeError as well (WL0703).

    >>> import numpy as np
    >>> module = compile('''
    ... __global__ void scale(float *x, float by, int n) {
    ...     int i = blockIdx.x * blockDim.x + threadIdx.x;
    ...     if (i < n) x[i] *= by;
    ... }''')
    >>> x = np.arange(5, dtype=np.float32)
    >>> module["scale"][1, 32](x, 0.5, 5)
    >>> x.tolist()
    [0.0, 0.5, 1.0, 1.5, 2.0]
    """
    text_or_path = read_path("source", source)
    options = {
        "include": read_texts("include", include, "a folder"),
        "define": read_macros(define),
        "instances": read_texts("instances", instances, "the name of a template's instance"),
    }
    whole = text_or_path if isinstance(text_or_path, str) else Path(text_or_path)
    return Module(whole, options, allow_contraction)


def program(
    *sources: str | Path,
    include: str | Path | Sequence[str | Path] = (),
    define: Mapping[str, object] | None = None,
    standard: str = "gnu++20",
    mode: Mode = "auto",
) -> Program:
    """Compile a whole CUDA program, host side and device side, to be run without a GPU: all its source files.

    `program(...).run(["1024"])` runs its `main` and gives the exit status; `windlass run` does the same from a shell.
    `program(...)["name"]` is a host function, called with arrays for its pointers.
    `mode` says how kernels run: "auto" (emulated at first, as native code or raised where that takes long),
    "raised", "native" or "emulated".

    Raises CompilationError with clang's messages; WL0109 where the parts can't be linked.
    """
    paths = [Path(read_path("sources", each)) for each in sources]
    return Program(paths, read_texts("include", include, "a folder"), read_macros(define), standard, mode)
