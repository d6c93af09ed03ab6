"""Counts, sizes, times and tables in the words of reports."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from html import escape


def spell_each(notes: Iterable[object]) -> list[str]:
    """Each note once, with how often it was made.

    >>> spell_each(["a: slice", "b: gather", "a: slice"])
    ['a: slice (2 times)', 'b: gather']
    """
    return [_append_times(str(note), count) for note, count in Counter(notes).items()]


def _append_times(text: str, count: int) -> str:
    first, separator, rest = text.partition("\n")
    return first + spell_times(count) + separator + rest


def spell_times(count: int) -> str:
    """What is said behind something that happened so often; nothing of what happened once."""
    return f" ({count} times)" if count > 1 else ""


def spell_size(count: int) -> str:
    """A number of bytes in a unit that suits it.

    >>> spell_size(1500), spell_size(16_777_216)
    ('1.5 kB', '16.8 MB')
    """
    for unit, factor in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if count >= factor:
            return f"{count / factor:.3g} {unit}"
    return f"{count} B"


def spell_seconds(seconds: float) -> str:
    """A time in a unit that suits it.

    >>> spell_seconds(0.25), spell_seconds(3.1e-6)
    ('250 ms', '3.1 µs')
    """
    for unit, factor in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= factor:
            return f"{seconds / factor:.3g} {unit}"
    return f"{seconds / 1e-6:.3g} µs"


def table(head: tuple[str, ...], rows: list[list[str]]) -> str:
    """An HTML table of escaped text; nothing where there are no rows."""
    if not rows:
        return ""
    style = "text-align:left;vertical-align:top;white-space:pre-wrap"
    titles = "".join(f"<th style='{style}'>{escape(title)}</th>" for title in head)
    lines = ["".join(f"<td style='{style}'>{escape(cell)}</td>" for cell in row) for row in rows]
    return f"<table>{f'<tr>{titles}</tr>' if head else ''}{''.join(f'<tr>{line}</tr>' for line in lines)}</table>"
