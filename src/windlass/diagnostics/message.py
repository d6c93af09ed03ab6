"""One message type and its renderer, in the manner of rustc."""

from __future__ import annotations

from dataclasses import dataclass

from windlass.diagnostics.position import Position

WIDEST_LINE = 72
"""Characters of a source line that are shown beside what is said of it."""


@dataclass(frozen=True, slots=True)
class Step:
    """One line on the way to what a diagnostic tells, and what happens there. `source` as in `Diagnostic`."""

    position: Position
    what: str
    source: str | None = None

    @property
    def text(self) -> str:
        """The source line without its indentation; empty where it is not known."""
        text = self.source if self.source is not None else self.position.source_line()
        return (text or "").strip()


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One thing to tell the user: what is wrong, where, and what would help.

    `code` names the page in `pages/` that explains it at length. `source` is the text of the source line, needed
    only where the file of `position` is not on disk (source text given as a string). `length` is the number of
    characters to mark. `trail` has the lines that led there, in the program's order.

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
    trail: tuple[Step, ...] = ()

    def __str__(self) -> str:
        lines = [f"{self.severity}[{self.code}]: {self.headline}"]
        if self.position is not None:
            lines += self._render_source(self.position)
        lines += self.trail_lines()
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

    def trail_lines(self) -> list[str]:
        """The trail as text, each step beside its source line; nothing where there is none."""
        if not self.trail:
            return []
        here = self.position.file if self.position is not None else ""
        places = [
            f"{step.position.line}" if step.position.file == here else f"{step.position.file}:{step.position.line}"
            for step in self.trail
        ]
        texts = [_shorten(step.text) for step in self.trail]
        place_width, text_width = max(map(len, places)), max(map(len, texts))
        return ["  how it comes to this:"] + [
            f"    {place:>{place_width}} | {text:<{text_width}}  <- {step.what}"
            for place, text, step in zip(places, texts, self.trail, strict=True)
        ]


def _shorten(text: str) -> str:
    text = text.expandtabs(4)
    return text if len(text) <= WIDEST_LINE else text[: WIDEST_LINE - 3] + "..."


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


class CommunicationError(WindlassError, AssertionError):
    """A function communicates more on a mesh than was allowed."""


class EmulationError(WindlassError):
    """The emulator found that the kernel itself is wrong: a race, an access out of bounds, a divergent barrier."""


class ProgramError(WindlassError, ValueError):
    """A StableHLO program that can't be read, or holds something invalid."""


class ArrayIndexError(WindlassError, IndexError):
    """An index that an array has not, inside a function compiled by `wl.jit`."""


class ArrayTypeError(WindlassError, TypeError):
    """Something that arrays inside a function compiled by `wl.jit` can't be given, or can't be asked."""


class ArrayValueError(WindlassError, ValueError):
    """Shapes that do not fit and the like, inside a function compiled by `wl.jit`."""


class ArrayOverflowError(WindlassError, OverflowError):
    """A number that floats have no place for, inside a function compiled by `wl.jit`, where Python would say so."""


class ArrayZeroDivisionError(WindlassError, ZeroDivisionError):
    """A number divided by zero, inside a function compiled by `windlass.numba.njit`, where Numba would say so."""


class ArrayAssertionError(WindlassError, AssertionError):
    """An `assert` that does not hold, inside a function compiled by `wl.jit`."""


class ArrayAttributeError(WindlassError, AttributeError):
    """Something that NumPy's arrays have, and arrays inside a function compiled by `wl.jit` have not."""


class UnboundNameError(WindlassError, UnboundLocalError):
    """A name that is read where no statement that binds it has run, inside a function compiled by `wl.jit`."""


class WindlassWarning(UserWarning):
    """Something that works, but not as well as it could."""
