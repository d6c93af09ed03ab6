"""Variables of the environment: what they may say, and a warning for what they say instead."""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Mapping
from contextlib import suppress

from windlass.diagnostics.message import Diagnostic, WindlassWarning

SWITCH: Mapping[str, bool] = {
    **dict.fromkeys(("1", "true", "yes", "on"), True),
    **dict.fromkeys(("", "0", "false", "no", "off"), False),
}
_told: set[tuple[str, str]] = set()


def read_choice(name: str, meanings: Mapping[str, bool] = SWITCH) -> bool:
    """What a variable says, in small letters; False, with one warning (WL0709), for words that it may not say.

    >>> os.environ["WINDLASS_EXAMPLE"] = "On"
    >>> read_choice("WINDLASS_EXAMPLE"), read_choice("WINDLASS_NOT_SET")
    (True, False)
    """
    value = os.environ.get(name, "").strip().lower()
    if value in meanings:
        return meanings[value]
    if value and (name, value) not in _told:
        _told.add((name, value))
        words = ", ".join(word for word in meanings if word)
        diagnostic = Diagnostic(
            "WL0709",
            f"{name}={os.environ[name]!r} is not understood, and taken as if it were not set",
            help=f"it may be one of {words}",
            severity="warning",
        )
        warnings.warn(WindlassWarning(str(diagnostic)), stacklevel=3)
    return False


def read_seconds(name: str, usual: float) -> float:
    """How many seconds a variable says, and what is usual, as patience has it, where it says none.

    >>> os.environ["WINDLASS_EXAMPLE"] = "2.5"
    >>> read_seconds("WINDLASS_EXAMPLE", 60)
    2.5
    """
    given = _read_number(name)
    return usual * patience() if given is None else given


def read_count(name: str, usual: int) -> int:
    """How many of something a variable says there are to be, at least one, and what is usual where it says nothing.

    >>> os.environ["WINDLASS_EXAMPLE"] = "3"
    >>> read_count("WINDLASS_EXAMPLE", 8), read_count("WINDLASS_NOT_SET", 8)
    (3, 8)
    """
    given = _read_number(name)
    return usual if given is None else max(1, int(given))


def patience() -> float:
    """By what all limits of compilers' time are multiplied: $WINDLASS_PATIENCE, for slow and loaded machines, else 1.

    >>> from unittest.mock import patch
    >>> with patch.dict(os.environ, WINDLASS_PATIENCE="10"):
    ...     read_seconds("WINDLASS_NOT_SET", 60)
    600.0
    """
    given = _read_number("WINDLASS_PATIENCE")
    return 1.0 if given is None else given


def _read_number(name: str) -> float | None:
    with suppress(ValueError):
        given = float(os.environ.get(name, ""))
        if 0 < given < math.inf:
            return given
    return None
