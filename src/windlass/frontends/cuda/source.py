"""Source text on its way to clang: read, screened, and with the few spellings that nvcc accepts and clang doesn't."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from windlass.diagnostics import CompilationError, Diagnostic, Position
from windlass.diagnostics.files import read_regular_file

INSTANCES_FILE = "<instances>"
INSTANCE_MARKER = "__windlass_instance_"
_SOURCE_SUFFIXES = frozenset({".cu", ".cuh", ".hip", ".h", ".hpp", ".hh", ".cpp", ".cc", ".cxx", ".c", ".inc", ".inl"})
_CONTROL_CHARACTERS = frozenset(range(32)) - frozenset(b"\t\n\v\f\r\x1a\x1b")


@dataclass(frozen=True)
class Source:
    """A translation unit's text. `name` is what messages and debug positions call the file."""

    name: str
    text: bytes
    is_file: bool

    def line(self, number: int) -> str | None:
        lines = self.text.split(b"\n")
        return lines[number - 1].decode("utf-8", "replace").rstrip("\r") if 1 <= number <= len(lines) else None


def looks_like_path(source: str) -> bool:
    """Whether a string names a file rather than being source text itself.

    >>> looks_like_path("kernels/ocean.cu"), looks_like_path("__global__ void f() {}")
    (True, False)
    """
    if not source.strip() or "\n" in source or "\0" in source or len(source) > 4000:
        return False
    return Path(source).suffix in _SOURCE_SUFFIXES or not re.search(r"[{};]", source)


def read_source(source: str | Path, name: str | None = None) -> Source:
    """The source of a translation unit, from a path or from text; `name` is what a text is called in messages.

    Raises CompilationError where the file can't be read (WL0103) or isn't text (WL0104).
    """
    if isinstance(source, str) and not looks_like_path(source):
        found = Source(name or "<source>", source.encode("utf-8", "surrogatepass"), is_file=False)
    else:
        name = str(source)
        # A name that begins as an option does would be one to clang.
        found = Source(f"./{name}" if name.startswith("-") else name, _read_file(Path(source)), is_file=True)
    _require_text(found)
    return found


def _read_file(path: Path) -> bytes:
    try:
        return read_regular_file(path)
    except IsADirectoryError:
        reason, advice = "it is a folder", "name the .cu file in it"
    except FileNotFoundError:
        reason, advice = "there is no such file", "paths are relative to the current working directory"
    except PermissionError:
        reason, advice = "reading it is not permitted", "check the file's permissions"
    except (OSError, ValueError) as error:
        reason, advice = str(getattr(error, "strerror", None) or error), "check the path"
    raise CompilationError(Diagnostic("WL0103", f"can't read '{path}': {reason}", help=advice))


def _require_text(source: Source) -> None:
    text = source.text
    for number, line in enumerate(text.split(b"\n"), 1):
        if bad := _CONTROL_CHARACTERS.intersection(line):
            column = next(index for index, byte in enumerate(line) if byte in bad)
            _refuse(source, number, f"byte 0x{line[column]:02x} at column {column + 1} of line {number}")
    try:
        text.decode("utf-8")
    except UnicodeDecodeError as error:
        # A few bytes of an older encoding, as in a name in a comment, don't make a file binary.
        strange = sum(byte >= 0x80 for byte in text)
        if strange * 20 > len(text):
            number = text.count(b"\n", 0, error.start) + 1
            _refuse(source, number, f"line {number} is not valid UTF-8")


def _refuse(source: Source, line: int, reason: str) -> None:
    raise CompilationError(
        Diagnostic(
            "WL0104",
            f"'{source.name}' is not a text file: {reason}",
            help="pass CUDA C++ source text, not a compiled or compressed file",
        )
    )


def adapt_text(source: Source, instances: tuple[str, ...] = ()) -> bytes:
    """The text that clang gets: launches spelled `<< <` closed up in place, and requests for template instances added.

    Lines and columns of everything else stay what they are.
    """
    text = source.text
    if re.search(rb"<<[ \t]+<|>>[ \t]+>[ \t]*\(", text):
        text = re.sub(rb"<<([ \t]+)<", rb"<<<\1", text)
        text = re.sub(rb">>([ \t]+)>(?=[ \t]*\()", rb">>>\1", text)
    if instances:
        requests = [
            f"__device__ __attribute__((used)) void *{INSTANCE_MARKER}{number} = (void *)&{instance};"
            for number, instance in enumerate(instances)
        ]
        text += f'\n#line 1 "{INSTANCES_FILE}"\n'.encode() + "\n".join(requests).encode() + b"\n"
    return text


def position_of(source: Source, line: int, word: str) -> Position:
    """The position of a word in a line of the source; without a column where the line doesn't hold it."""
    text = source.line(line) or ""
    found = re.search(rf"\b{re.escape(word)}\b", text) if word else None
    return Position(source.name, line, found.start() + 1 if found else 0)
