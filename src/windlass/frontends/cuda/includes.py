"""What a source includes, looked at before clang opens it: pipes and devices would keep clang waiting, or never end.

Only what is plain to see is found: an include within an `#if` counts, one spelled by a macro doesn't. (What clang waits
for nevertheless is noticed as it runs: see `child.py`.)
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from windlass.diagnostics import CompilationError, Diagnostic, Position
from windlass.diagnostics.files import irregular_kind, read_regular_file
from windlass.frontends.cuda.source import Source

MOST_FILES = 2000
MOST_BYTES = 16 << 20
_INCLUDE = re.compile(
    rb"^[ \t]*#[ \t]*(?:include|include_next|import|embed)[ \t]*([<\"])([^>\"\n]+)[>\"]", re.MULTILINE
)


def include_folders(include: Iterable[str | os.PathLike[str]]) -> list[str]:
    """The folders for `#include`.

    Raises CompilationError (WL0114) for what is there and is no folder.
    """
    folders = [os.fspath(each) for each in include]
    for folder in folders:
        path = Path(folder)
        kind = "a file" if path.is_file() else irregular_kind(path)
        if kind is not None:
            raise CompilationError(
                Diagnostic(
                    "WL0114",
                    f"the include folder '{folder}' is {kind}",
                    help="name the folder that holds the headers",
                )
            )
    return folders


def folder_flags(folders: Iterable[str]) -> list[str]:
    """Flags that name folders for `#include`.

    >>> folder_flags(["include", "."])
    ['-I', 'include', '-I', '.']
    """
    return [flag for folder in folders for flag in ("-I", folder)]


def refuse_irregular_includes(unit: Source, folders: Sequence[str]) -> None:
    """Raises CompilationError (WL0114) where the unit, or what it includes, includes something but a regular file."""
    waiting = [(unit.name, unit.text)]
    seen: set[str] = set()
    while waiting and len(seen) < MOST_FILES:
        name, text = waiting.pop()
        for match in _INCLUDE.finditer(text):
            found = _find(match[2].decode("utf-8", "replace"), match[1] == b'"', name, folders)
            if found is None or found in seen:
                continue
            seen.add(found)
            kind = irregular_kind(found)
            if kind is not None:
                line = text.count(b"\n", 0, match.start()) + 1
                source = text.split(b"\n")[line - 1].decode("utf-8", "replace").rstrip("\r")
                raise CompilationError(
                    Diagnostic(
                        "WL0114",
                        f"can't include '{found}': it is {kind}, not a regular file",
                        Position(name, line, match.start(2) - match.start() + 1),
                        len(match[2]),
                        source,
                        help="write what it holds to a file, and include that",
                    )
                )
            try:
                waiting.append((found, read_regular_file(found, MOST_BYTES)))
            except (OSError, ValueError):
                continue  # clang says what is wrong


def _find(name: str, is_quoted: bool, file: str, folders: Sequence[str]) -> str | None:
    """The path that an include means, if it is one of the user's."""
    places = [str(Path(file).parent), *folders] if is_quoted else folders
    for place in places:
        path = str(Path(place, name))
        try:
            if Path(path).exists():
                return path
        except (OSError, ValueError):
            continue
    return None
