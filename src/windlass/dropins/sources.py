"""CUDA C++ from programs in Python, compiled with the options that they would give to nvcc."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from windlass.cuda import Module, compile


def compile_source(
    source: str | Path, options: Sequence[str], include: Sequence[str] = (), instances: Sequence[str] = ()
) -> Module:
    """The kernels and variables of a source; of nvcc's options -I and -D are heard, others change nothing here."""
    folders, define = read_options(options)
    return compile(source, include=[*folders, *include], define=define, instances=instances)


def read_options(options: Sequence[str]) -> tuple[list[str], dict[str, object]]:
    """The include folders and macros among nvcc's options.

    >>> read_options(("-I/usr/include", "-DN=4", "-D", "FAST", "--std=c++17"))
    (['/usr/include'], {'N': '4', 'FAST': '1'})
    """
    include: list[str] = []
    define: dict[str, object] = {}
    words = iter(shlex.split(" ".join(options)))
    for word in words:
        for flag in ("--include-path=", "--define-macro=", "-I", "-D"):
            if word.startswith(flag):
                text = word.removeprefix(flag) or next(words, "")
                if flag in ("-I", "--include-path="):
                    include.append(text)
                else:
                    name, has_value, value = text.partition("=")
                    define[name] = value if has_value else "1"
                break
    return include, define
