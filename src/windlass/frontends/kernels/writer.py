"""C++ text in the making: statements at the positions of the Python code that they come from."""

from __future__ import annotations

from typing import TypeAlias

Piece: TypeAlias = "str | list[Piece]"


class Writer:
    """The body of one C++ function.

    Lines are placed with #line and blanks, so that what clang says about lines and columns is true of the Python file.
    A list among the lines is a place that is filled later. Variables are declared at the function's top.
    """

    def __init__(self, file: str) -> None:
        self.file = file.replace("\\", "\\\\").replace('"', '\\"')
        self.lines: list[Piece] = []
        self.declarations: list[str] = []
        self._count = 0
        self.names: dict[str, object] = {}
        """Plain names that are taken, with what they were taken for."""

    def plain(self, text: str) -> None:
        """A line that has no position of its own."""
        self.lines.append(text)

    def placed(self, line: int, column: int, before: str, text: str) -> None:
        """`before`, then `text` so that it starts at the given place of the Python file."""
        if before:
            self.lines.append(f'#line {line} "{self.file}"')
            self.lines.append(before)
        self.lines.append(f'#line {line} "{self.file}"')
        self.lines.append(" " * (column - 1) + text)

    def blank(self) -> list[Piece]:
        """A place that is filled later."""
        place: list[Piece] = []
        self.lines.append(place)
        return place

    def fresh(self, hint: str = "t") -> str:
        """A name that nothing else has."""
        self._count += 1
        return f"{hint}_{self._count}"

    def named(self, name: str, owner: object) -> str:
        """The name itself, unless something else has it."""
        if self.names.setdefault(name, owner) is owner:
            return name
        return self.fresh(name)

    def declare(self, cpp: str, hint: str = "t") -> str:
        """A new variable, declared at the function's top."""
        name = self.fresh(hint)
        self.declarations.append(f"{cpp} {name};")
        return name

    def mark(self) -> tuple[int, int, int]:
        """Where the text ends now: `back_to` drops what comes after."""
        return len(self.lines), len(self.declarations), self._count

    def back_to(self, mark: tuple[int, int, int]) -> None:
        """Drop what was written since a mark."""
        lines, declarations, self._count = mark
        del self.lines[lines:]
        del self.declarations[declarations:]

    def text(self) -> str:
        """All lines."""
        found: list[str] = list(self.declarations)

        def gather(pieces: list[Piece]) -> None:
            for piece in pieces:
                if isinstance(piece, str):
                    found.append(piece)
                else:
                    gather(piece)

        gather(self.lines)
        return "\n".join(found)
