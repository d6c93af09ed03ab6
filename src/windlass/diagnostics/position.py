"""Where something stands in the user's source."""

from __future__ import annotations

from dataclasses import dataclass

from windlass.diagnostics.files import MOST_BYTES_SHOWN, read_regular_file


@dataclass(frozen=True, slots=True)
class Position:
    """A place in a source file; `line` and `column` count from 1, 0 means that it is not known.

    >>> str(Position("ocean.cu", 12, 7))
    'ocean.cu:12:7'
    """

    file: str
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        parts = [self.file]
        if self.line:
            parts.append(str(self.line))
            if self.column:
                parts.append(str(self.column))
        return ":".join(parts)

    def source_line(self) -> str | None:
        """The text of the line, or None where the file can't be read or has no such line."""
        if not self.line:
            return None
        try:
            lines = read_regular_file(self.file, MOST_BYTES_SHOWN).decode("utf-8", "replace").splitlines()
        except (OSError, ValueError):
            return None
        return lines[self.line - 1] if self.line <= len(lines) else None
