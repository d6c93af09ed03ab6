"""Source positions from the debug metadata in LLVM IR text, read when an error needs them."""

from __future__ import annotations

import re
from pathlib import Path

from windlass.diagnostics import Position
from windlass.llvm.debug_info import HEADER_FOLDERS, decode_string

_NODE = re.compile(r"^!(\d+) = (?:distinct )?!(DI\w+)\((.*)\)$", re.M)
_FIELD = re.compile(r'(\w+): (?:!(\d+)|"((?:[^"\\]|\\.)*)"|([^,]+))')


class Positions:
    """Resolves the numbers of `!dbg` attachments. `source_text` names files that are not on disk."""

    def __init__(self, module_text: str, source_text: dict[str, str]) -> None:
        self._nodes = {int(number): (kind, fields) for number, kind, fields in _NODE.findall(module_text)}
        self._source_text = source_text

    def _fields(self, number: int) -> tuple[str, dict[str, str]]:
        kind, text = self._nodes.get(number, ("", ""))
        return kind, {name: reference or quoted or plain for name, reference, quoted, plain in _FIELD.findall(text)}

    def _file(self, scope: int) -> str:
        seen: set[int] = set()
        while scope not in seen:
            seen.add(scope)
            _, fields = self._fields(scope)
            if "filename" in fields:
                name, directory = (decode_string(fields.get(each, "")) for each in ("filename", "directory"))
                is_given = name in self._source_text or Path(name).is_absolute() or not directory
                return name if is_given else str(Path(directory) / name)
            following = fields.get("file") or fields.get("scope")
            if following is None or not following.isdigit():
                break
            scope = int(following)
        return ""

    def _function(self, scope: int) -> Position | None:
        kind, fields = self._fields(scope)
        while kind and kind != "DISubprogram":
            following = fields.get("scope", "")
            kind, fields = self._fields(int(following)) if following.isdigit() else ("", fields)
        return Position(self._file(scope), int(fields.get("line", "0"))) if kind else None

    def chain(self, number: int | None) -> list[Position]:
        """Where an instruction stands, innermost first: in the inlined function, then at the calls that led to it."""
        positions: list[Position] = []
        while number is not None:
            kind, fields = self._fields(number)
            if kind == "DISubprogram":
                line = int(fields.get("line", "0"))
                return [*positions, Position(self._file(number), line)] if line else positions
            if kind != "DILocation":
                break
            place = Position(self._file(int(fields["scope"])), int(fields["line"]), int(fields.get("column", "0")))
            if not place.line:  # merged from several lines: the function will do
                place = self._function(int(fields["scope"])) or place
            if place.line:
                positions.append(place)
            caller = fields.get("inlinedAt")
            number = int(caller) if caller is not None and caller.isdigit() else None
        return positions

    def find(self, number: int | None) -> tuple[Position | None, tuple[Position, ...]]:
        """The innermost position in a user's file, and the call sites around it."""
        chain = self.chain(number)
        users = [place for place in chain if not self._is_header(place.file)]
        if not users:
            return (chain[-1], ()) if chain else (None, ())
        return users[0], tuple(users[1:])

    @staticmethod
    def _is_header(file: str) -> bool:
        """Headers that come with Windlass or with the compiler are nobody's mistake."""
        return any(folder in file for folder in HEADER_FOLDERS)

    def source_line(self, position: Position) -> str | None:
        """The text of the line where the source was given as a string; None for files on disk."""
        text = self._source_text.get(position.file)
        if text is None or not position.line:
            return None
        lines = text.splitlines()
        return lines[position.line - 1] if position.line <= len(lines) else None
