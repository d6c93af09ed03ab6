"""How LLVM IR spells names."""

from __future__ import annotations

NAME = r'(?:[-\w.$]+|"[^"]*")'
"""A name as a regular expression, as it stands after `@` or `%` and before the colon of a label."""


def strip_quotes(name: str) -> str:
    """The name itself: `@"a b"` and `@a` are spelled with a sigil, which is left off too.

    >>> strip_quotes('@"operator()"')
    'operator()'
    """
    name = name[1:] if name[0] in "@%" else name
    return name[1:-1] if name.startswith('"') else name
