"""MLIR's error messages as Windlass diagnostics."""

from __future__ import annotations

import re
from typing import Any

from windlass.diagnostics import Diagnostic, Position

_FILE_LOCATION = re.compile(r'"((?:[^"\\]|\\.)*)":(\d+):(\d+)')
_UNNAMED = "-"
"""What MLIR calls text that comes from no file."""


def diagnose_parsing(error: Any, text: str, file: str) -> Diagnostic:
    """What a failed parse of `text` says, with the line it happened in."""
    found = error.error_diagnostics
    if not found:
        return Diagnostic("WL0501", f"this is not a StableHLO program: {error}")
    # A failed inference is reported twice: first why, then that it failed.
    message, position = str(found[0].message), position_of(found[0].location)
    source = None
    if position is not None and position.file == _UNNAMED:
        position = Position(file, position.line, position.column)
        source = _printable_line(text, position.line)
    return Diagnostic("WL0501", f"this is not a StableHLO program: {message}", position, source=source)


def diagnose_verification(error: Any) -> Diagnostic:
    """What MLIR's verifier says of a program that was built here."""
    found = error.error_diagnostics
    message = str(found[-1].message) if found else str(error)
    position = position_of(found[-1].location) if found else None
    return Diagnostic("WL0504", f"the program is not valid StableHLO: {message}", position)


def first_message(error: Any) -> str:
    """The first of the messages that MLIR gives for one error."""
    found = error.error_diagnostics
    return str(found[0].message) if found else str(error)


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
