"""One message type and its renderer, in the manner of rustc."""

from __future__ import annotations

from dataclasses import dataclass

from windlass.diagnostics.position import Position


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One thing to tell the user: what is wrong, where, and what would help.

    `code` names the page in `pages/` that explains it at length. `source` is the text of the source line, needed
    only where the file of `position` is not on disk (source text given as a string). `length` is the number of
    characters to mark.

    >>> print(Diagnostic("WL0401", "argument 'x' has the wrong dtype", help="pass x.astype('float32')"))
    error[WL0401]: argument 'x' has the wrong dtype
      help: pass x.astype('float32')
    """

    code: str
    headline: str
    position: Position | None = None
    length: int = 1
    source: str | None = None
    notes: tuple[str, ...] = ()
    help: str | None = None
    severity: str = "error"

    def __str__(self) -> str:
        lines = [f"{self.severity}[{self.code}]: {self.headline}"]
        if self.position is not None:
            lines += self._render_source(self.position)
        lines += [f"  note: {note}" for note in self.notes]
        if self.help is not None:
            lines.append(f"  help: {self.help}")
        return "\n".join(lines)

    def _render_source(self, position: Position) -> list[str]:
        lines = [f" --> {position}"]
        text = self.source if self.source is not None else position.source_line()
        if text is None:
            return lines
        number = str(position.line)
        gutter = " " * len(number)
        lines += [f" {gutter} |", f" {number} | {text.expandtabs(4)}"]
        if position.column:
            offset = len(text[: position.column - 1].expandtabs(4))
            lines.append(f" {gutter} | " + " " * offset + "^" * max(1, self.length))
        return lines


class WindlassError(Exception):
    """Every error that Windlass raises on purpose; `diagnostics` holds what it says, as data.

    >>> error = WindlassError(Diagnostic("WL0402", "the grid is empty"))
    >>> str(error)
    'error[WL0402]: the grid is empty'
    """

    def __init__(self, *diagnostics: Diagnostic) -> None:
        super().__init__(*diagnostics)
        self.diagnostics = diagnostics

    def __str__(self) -> str:
        return "\n\n".join(str(diagnostic) for diagnostic in self.diagnostics)


class CompilationError(WindlassError):
    """The source text can't be compiled."""


class RaisingError(WindlassError):
    """A kernel has no tensor form; the diagnostic says which line and why."""


class LaunchError(WindlassError, ValueError):
    """A launch does not fit the kernel: its grid, its arguments, their dtypes or sizes."""


class EmulationError(WindlassError):
    """The emulator found that the kernel itself is wrong: a race, an access out of bounds, a divergent barrier."""


class ProgramError(WindlassError, ValueError):
    """A StableHLO program that can't be read, or holds something invalid."""


class WindlassWarning(UserWarning):
    """Something that works, but not as well as it could."""
