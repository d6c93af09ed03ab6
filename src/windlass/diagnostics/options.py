"""Options of wrong types, refused before they are used."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

from windlass.diagnostics.message import CompilationError, Diagnostic


class OptionError(CompilationError, TypeError):
    """An option is of a type that it can't have."""


def option_error(name: str, wanted: str, got: object) -> OptionError:
    return OptionError(
        Diagnostic("WL0703", f"`{name}` is {wanted}, got {_spell(got)}", help="see help(windlass.cuda.compile)")
    )


def _spell(value: object) -> str:
    text = repr(value)
    return f"{text if len(text) <= 60 else text[:57] + '...'} ({type(value).__name__})"


def read_path(name: str, given: Any) -> str | os.PathLike[str]:
    """A path, or source text. Raises OptionError (WL0703)."""
    if isinstance(given, str) or (isinstance(given, os.PathLike) and isinstance(os.fspath(given), str)):
        return given
    raise option_error(name, "a path or text", given)


def read_texts(name: str, given: Any, what: str) -> tuple[Any, ...]:
    """One text (or path), or several, as a tuple. Raises OptionError (WL0703)."""
    if isinstance(given, str | os.PathLike):
        given = (given,)
    if isinstance(given, bytes | Mapping) or not isinstance(given, Iterable):
        raise option_error(name, f"{what}, or several of them", given)
    found = tuple(given)
    for each in found:
        if not isinstance(each, str | os.PathLike) or not isinstance(os.fspath(each), str):
            raise option_error(name, f"{what}, or several of them", each)
    return found


def read_macros(given: Any) -> dict[str, object]:
    """Macros by name. Raises OptionError (WL0703)."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise option_error("define", "a mapping of macros to values, as in define={'N': 64}", given)
    for name, value in given.items():
        if not isinstance(name, str):
            raise option_error("define", "a mapping whose keys are names of macros", name)
        if isinstance(value, bytes | bytearray):
            raise option_error("define", f"a mapping of macros to numbers and texts; the value of {name}", value)
    return dict(given)


def read_macro(text: str) -> tuple[str, str]:
    """A macro as a command line gives it: its name and its value.

    >>> read_macro("N=64"), read_macro("DEBUG")
    (('N', '64'), ('DEBUG', '1'))
    """
    name, has_value, value = text.partition("=")
    return name, value if has_value else "1"
