"""What a text in the notation consists of, each part with the place where it stands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from windlass.diagnostics import CompilationError, Diagnostic, LaunchError, Position

FILE = "<notation>"


@dataclass(frozen=True, slots=True)
class Span:
    """The characters of the text from `start` to before `end`."""

    start: int
    end: int

    def to(self, other: Span) -> Span:
        """From the beginning of this one to the end of the other."""
        return Span(self.start, other.end)


class Source:
    """The text, and how a part of it is shown to its author."""

    def __init__(self, text: str) -> None:
        self.text = text

    def spelled(self, span: Span) -> str:
        """The part as it is written, on one line."""
        return " ".join(self.text[span.start : span.end].split())

    def position(self, span: Span) -> Position:
        """Line and column of the beginning."""
        before = self.text[: span.start]
        return Position(FILE, before.count("\n") + 1, span.start - (before.rfind("\n") + 1) + 1)

    def diagnose(self, code: str, span: Span, headline: str, help: str | None = None, *notes: str) -> Diagnostic:
        """What is said of a part of the text."""
        position = self.position(span)
        line = self.text.split("\n")[position.line - 1]
        length = min(span.end - span.start, len(line) - position.column + 1)
        return Diagnostic(code, headline, position, max(length, 1), line, notes, help)

    def fault(self, code: str, span: Span, headline: str, help: str | None = None, *notes: str) -> CompilationError:
        """The error for a text that is wrong whatever its arguments are."""
        return CompilationError(self.diagnose(code, span, headline, help, *notes))

    def misfit(self, code: str, span: Span, headline: str, help: str | None = None, *notes: str) -> LaunchError:
        """The error for a text that does not go with the arguments of a call."""
        return LaunchError(self.diagnose(code, span, headline, help, *notes))


# -- expressions, as written ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Number:
    span: Span
    value: int | float
    depth: int = 1


@dataclass(frozen=True, slots=True, eq=False)
class Name:
    span: Span
    name: str
    depth: int = 1


@dataclass(frozen=True, slots=True, eq=False)
class Apply:
    """`name(arguments)`: an element of a tensor, or a function of numbers."""

    span: Span
    name: Name
    arguments: tuple[Expression, ...]
    depth: int


@dataclass(frozen=True, slots=True, eq=False)
class Operator:
    """`-a`, `a + b`, `a ? b : c`: by their signs."""

    span: Span
    sign: str
    operands: tuple[Expression, ...]
    depth: int


Expression: TypeAlias = Number | Name | Apply | Operator


# -- statements and functions -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class GivenRange:
    """`index in low:high`."""

    index: Name
    low: Expression
    high: Expression


@dataclass(frozen=True, slots=True, eq=False)
class Statement:
    """`target(subscripts) sign value where ranges`; a sign that ends in "!" begins with the neutral element."""

    span: Span
    target: Name
    subscripts: tuple[Expression, ...]
    sign: str
    value: Expression
    ranges: tuple[GivenRange, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Call:
    """`targets = function(arguments)`, of whole tensors."""

    span: Span
    targets: tuple[Name, ...]
    function: Name
    arguments: tuple[Name, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Declaration:
    """`type(sizes) name`; results may leave the type out."""

    span: Span
    type: Name | None
    sizes: tuple[Expression, ...]
    name: Name


@dataclass(frozen=True, slots=True, eq=False)
class Definition:
    """`def name(parameters) -> (results) { body }`."""

    name: Name
    parameters: tuple[Declaration, ...]
    results: tuple[Declaration, ...]
    body: tuple[Statement | Call, ...]
