"""Source positions from LLVM's debug metadata."""

from __future__ import annotations

import re

from windlass.diagnostics import Position
from windlass.llvm.debug_info import HEADER_FOLDERS, decode_string

_LOCATION = re.compile(r"!DILocation\(line: (\d+)(?:, column: (\d+))?, scope: !(\d+)(?:, inlinedAt: !(\d+))?")
_SCOPE = re.compile(r"\bscope: !(\d+)")
_FILE = re.compile(r"\bfile: !(\d+)")
_LINE = re.compile(r"\bline: (\d+)")
_FILENAME = re.compile(r'!DIFile\(filename: "((?:[^"\\]|\\.)*)", directory: "((?:[^"\\]|\\.)*)"')
_NODE = re.compile(r"^!(\d+) = (.*)$", re.MULTILINE)


class DebugPositions:
    """Finds `Position`s for the numbers that `!dbg` names. Nodes are looked into when they are asked for."""

    def __init__(self, text: str) -> None:
        self.nodes: dict[int, str] = {int(number): body for number, body in _NODE.findall(text)}
        self._positions: dict[int, Position | None] = {-1: None}
        self._files: dict[int, str | None] = {}

    def position(self, number: int) -> Position | None:
        """Where the user wrote it: the innermost inlined place that is not in a library's header."""
        if number in self._positions:
            return self._positions[number]
        found = self._find(number)
        self._positions[number] = found
        return found

    def _find(self, number: int) -> Position | None:
        node = self.nodes.get(number, "")
        matched = _LOCATION.search(node)
        if matched is None:
            if "!DISubprogram" in node:
                return self.subprogram(number)
            return None
        line, column, scope, inlined_at = matched.groups()
        file = self.file_of(int(scope))
        is_known = file is not None and int(line) > 0
        outer = self.position(int(inlined_at)) if inlined_at is not None else None
        if outer is not None and (not is_known or self.is_library(file)):
            return outer
        if file is None or not is_known:
            return None
        return Position(file, int(line), int(column or 0))

    def subprogram(self, number: int) -> Position | None:
        """Where a function is defined."""
        node = self.nodes.get(number, "")
        file, line = _FILE.search(node), _LINE.search(node)
        if file is None or line is None:
            return None
        name = self.filename(int(file.group(1)))
        return Position(name, int(line.group(1))) if name else None

    def is_library(self, file: str | None) -> bool:
        return file is not None and any(folder in file for folder in HEADER_FOLDERS)

    def file_of(self, scope: int) -> str | None:
        """The file of a lexical scope."""
        if scope in self._files:
            return self._files[scope]
        node = self.nodes.get(scope, "")
        file = _FILE.search(node)
        if file is not None:
            found = self.filename(int(file.group(1)))
        else:
            outer = _SCOPE.search(node)
            found = self.file_of(int(outer.group(1))) if outer is not None else None
        self._files[scope] = found
        return found

    def filename(self, number: int) -> str | None:
        matched = _FILENAME.search(self.nodes.get(number, ""))
        return decode_string(matched.group(1)) if matched else None
