"""A user's texts in the source of a kernel that is made of them: clang names lines and columns of the user's file.

An expression is a string in a program in Python. Where that string stands as it is in the program's file, with no
escapes in it, `#line` and blanks put it at its own line and column; else it counts lines from 1 under its own name.
"""

from __future__ import annotations

import ast
import linecache
import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache

from windlass.diagnostics import CompilationError, Diagnostic
from windlass.diagnostics.warning import calling_frame

GENERATED = "<source>"
"""What the source as a whole is called in positions."""

_QUOTES = re.compile(rb"(?:[rRuU]?)(\"\"\"|'''|\"|')")


@dataclass(frozen=True)
class Part:
    """A text of the user's, and where it begins: `column` counts bytes."""

    text: str
    file: str
    line: int = 1
    column: int = 1

    def source_line(self, number: int) -> str | None:
        """A line of the file that the text is of."""
        in_file = linecache.getline(self.file, number)
        if in_file:
            return in_file.rstrip("\n")
        lines = self.text.split("\n")
        return lines[number - self.line] if 0 <= number - self.line < len(lines) else None

    def whole(self) -> str:
        """The text of the file."""
        return "".join(linecache.getlines(self.file)) or self.text


def part_of(text: str, what: str) -> Part:
    """A text as it stands in the file that called Windlass, where it does; `what` names it elsewhere.

    >>> part_of(" = ".join("zx"), "operation of add")
    Part(text='z = x', file='<operation of add>', line=1, column=1)
    """
    frame, _ = calling_frame()
    if frame is not None and text.strip():
        file = frame.f_code.co_filename
        places = _literals("".join(linecache.getlines(file, frame.f_globals))).get(text)
        if places:
            line, column = min(places, key=lambda place: abs(place[0] - frame.f_lineno))
            return Part(text, file, line, column)
    return Part(text, f"<{what}>")


@lru_cache(maxsize=64)
def _literals(program: str) -> dict[str, list[tuple[int, int]]]:
    """Where strings without escapes stand in a program: the line, and the column in bytes, of their texts."""
    found: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
    try:
        tree = ast.parse(program)
    except (SyntaxError, ValueError):
        return found
    lines = program.encode("utf-8", "surrogatepass").split(b"\n")
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Constant) and isinstance(node.value, str)):
            continue
        assert node.end_lineno is not None and node.end_col_offset is not None
        span = lines[node.lineno - 1 : node.end_lineno]
        span[-1] = span[-1][: node.end_col_offset]
        span[0] = span[0][node.col_offset :]
        literal = b"\n".join(span)
        opening = _QUOTES.match(literal)
        if opening is not None and literal[opening.end() : -len(opening[1])] == node.value.encode("utf-8", "replace"):
            found[node.value].append((node.lineno, node.col_offset + opening.end() + 1))
    return found


def joined(pieces: Iterable[str | Part]) -> str:
    """The source of these texts; each part of the user's begins a line, and so does what follows it.

    >>> print(joined(["f(", Part("x", "a.py", 7, 3), ");"]))
    f(
    #line 7 "a.py"
      x
    #line 5 "<source>"
    );
    """
    text = ""
    for piece in pieces:
        if isinstance(piece, str):
            text += piece
        elif piece.text.strip():
            file = piece.file.replace("\\", "\\\\").replace('"', '\\"')
            text += f'\n#line {piece.line} "{file}"\n{" " * (piece.column - 1)}{piece.text}\n'
            text += f'#line {text.count(chr(10)) + 2} "{GENERATED}"\n'
    return text


def with_lines_of(parts: Iterable[Part], error: CompilationError) -> CompilationError:
    """The error with the texts of the lines that it shows, which may be in no file."""
    by_file = {part.file: part for part in parts}

    def shown(diagnostic: Diagnostic) -> Diagnostic:
        position = diagnostic.position
        part = None if position is None else by_file.get(position.file)
        line = None if part is None or position is None else part.source_line(position.line)
        if line is None or position is None or diagnostic.source is not None:
            return diagnostic
        word = re.match(r"\w+", line[max(0, position.column - 1) :])
        return replace(diagnostic, source=line, length=len(word[0]) if word else 1)

    return CompilationError(*map(shown, error.diagnostics))
