"""MLIR's error messages as Windlass diagnostics."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from jaxlib.mlir import ir

from windlass.diagnostics import Diagnostic, Position, ProgramError

DEEPEST_BRACKETS = 1000
"""How deep brackets may be nested in text. Programs need a few dozen; MLIR's parser recurs for each."""

_FILE_LOCATION = re.compile(r'"((?:[^"\\]|\\.)*)":(\d+):(\d+)')
_XLA_ERROR = re.compile(r"(?:^|\s)([^\s:]+):(\d+):(\d+): error: (.*)")
_STEPS = np.zeros(256, np.int8)
_STEPS[list(b"([{<")] = 1
_STEPS[list(b")]}>")] = -1
_NO_BRACKETS = re.compile(rb'"(?:[^"\\]|\\.)*"|//[^\n]*', re.DOTALL)
_STRINGS = re.compile(r'"(?:[^"\\]|\\.)*"')
_BYTES = re.compile(r"\\[89A-F][0-9A-F]")
_UNNAMED = "-"
"""What MLIR calls text that comes from no file."""


class Complaint(NamedTuple):
    """What MLIR says is wrong, and where."""

    message: str
    position: Position | None


@contextmanager
def heard(context: Any) -> Generator[list[Complaint]]:
    """What MLIR complains of inside, in order.

    The bindings would also tell in their exceptions, but end the process where a message is not UTF-8.
    """
    complaints: list[Complaint] = []

    def hear(diagnostic: Any) -> bool:
        if diagnostic.severity == ir.DiagnosticSeverity.ERROR:
            complaints.append(Complaint(_text_of(lambda: diagnostic.message), _position_in(diagnostic)))
        return True

    before = context.emit_error_diagnostics
    context.emit_error_diagnostics = True
    handler = context.attach_diagnostic_handler(hear)
    try:
        yield complaints
    finally:
        handler.detach()
        context.emit_error_diagnostics = before


def _text_of(ask: Callable[[], str]) -> str:
    try:
        return ask()
    except (RuntimeError, UnicodeError):
        return "a name is not UTF-8"


def _position_in(diagnostic: Any) -> Position | None:
    return position_of(_text_of(lambda: str(diagnostic.location)))


def diagnose_parsing(complaints: list[Complaint], error: Exception, text: str, file: str) -> Diagnostic:
    """What a failed parse of `text` says, with the line it happened in."""
    # A failed inference is reported twice: first why, then that it failed.
    message, position = complaints[0] if complaints else Complaint(str(error), None)
    source = None
    if position is not None and position.file == _UNNAMED:
        position = Position(file, position.line, position.column)
        source = _printable_line(text, position.line)
    return Diagnostic("WL0501", f"this is not a StableHLO program: {message}", position, source=source)


def check_text(text: str, file: str) -> None:
    """Refuse what MLIR's parser does not survive.

    Raises ProgramError (WL0501) for text that is not Unicode, and for brackets nested so deep that the parser's stack
    would overflow.
    """
    try:
        data = text.encode()
    except UnicodeEncodeError as error:
        position = Position(file, text.count("\n", 0, error.start) + 1)
        raise ProgramError(Diagnostic("WL0501", "this is not a StableHLO program: it is not UTF-8", position)) from None
    if _depth(data) > DEEPEST_BRACKETS and (depth := _depth(_NO_BRACKETS.sub(b"", data))) > DEEPEST_BRACKETS:
        message = f"this is not a StableHLO program: its brackets are nested {depth:,} deep"
        raise ProgramError(Diagnostic("WL0501", message, Position(file)))


def check_names(operation: Any) -> None:
    """Refuse what ends the process in the bindings: ops, attributes and files whose names are not UTF-8.

    Values of attributes may be any bytes. Raises ProgramError (WL0501).
    """
    printed: bytes = operation.get_asm(binary=True, enable_debug_info=True, print_generic_op_form=True)
    try:
        text = printed.decode()
    except UnicodeDecodeError:
        message = "this is not a StableHLO program: the name of an op or of a type is not UTF-8"
        raise ProgramError(Diagnostic("WL0501", message)) from None
    for found in _STRINGS.finditer(text):
        is_name = text.startswith((" =", "("), found.end()) or text.endswith("loc(", 0, found.start())
        if is_name and _BYTES.search(found.group()):
            message = f"this is not a StableHLO program: a name is not UTF-8: {found.group()}"
            raise ProgramError(Diagnostic("WL0501", message))


def _depth(data: bytes) -> int:
    """How deep brackets are nested; those in strings and comments count too."""
    steps = _STEPS.take(np.frombuffer(data.replace(b"->", b""), np.uint8))
    return int(np.cumsum(steps, dtype=np.int32).max(initial=0))


def diagnose_verification(complaints: list[Complaint], error: Exception) -> Diagnostic:
    """What MLIR's verifier says of a program that was built here."""
    message, position = complaints[-1] if complaints else Complaint(str(error), None)
    return Diagnostic("WL0504", f"the program is not valid StableHLO: {message}", position)


def diagnose_execution(error: Exception) -> Diagnostic:
    """What XLA says of a program that it doesn't compile or run.

    >>> print(diagnose_execution(RuntimeError("UNKNOWN: a.mlir:2:8: error: 'sdy.return' op unsupported")))
    error[WL0510]: XLA refuses the program: 'sdy.return' op unsupported
     --> a.mlir:2:8
    """
    text = str(error).strip() or type(error).__name__
    if (found := _XLA_ERROR.search(text)) is not None:
        position = Position(found.group(1), int(found.group(2)), int(found.group(3)))
        return Diagnostic("WL0510", f"XLA refuses the program: {found.group(4)}", position)
    first, *rest = text.splitlines()
    return Diagnostic("WL0510", f"XLA refuses the program: {first[:300]}", notes=tuple(line[:300] for line in rest[:3]))


def position_of(location: Any) -> Position | None:
    """The first file position in an MLIR location, if it has one.

    The bindings don't tell the kind of a diagnostic's location, so its text is read.

    >>> position_of('loc("a.mlir":3:7)')
    Position(file='a.mlir', line=3, column=7)
    """
    place = _FILE_LOCATION.search(str(location))
    return None if place is None else Position(place.group(1), int(place.group(2)), int(place.group(3)))


def _printable_line(text: str, number: int) -> str | None:
    lines = text.splitlines()
    if not 0 < number <= len(lines):
        return None
    shown = lines[number - 1][:160]
    return "".join(each if each.isprintable() or each == "\t" else "\N{REPLACEMENT CHARACTER}" for each in shown)
