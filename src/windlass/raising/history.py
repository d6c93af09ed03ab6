"""Going back in time: what an attempt that fails has changed is as it was before, whatever it is.

Nobody lists what to save. All fields are saved but those that are declared lasting, and a field holds values that
don't change: an attempt puts others in their place. (Lists, sets and dicts are copied; so what stands in them has to
be frozen.)
"""

from __future__ import annotations

import dataclasses
from typing import Any, Self

LASTING = {"is_lasting": True}
"""Metadata of fields that attempts never take back."""


class Saved:
    """A dataclass whose fields are saved with the field that it stands in."""

    def copy(self) -> Self:
        return type(self)(**saved_fields(self))


def saved_fields(holder: Any) -> dict[str, Any]:
    """What the fields of a dataclass hold now, but for lasting ones.

    >>> @dataclasses.dataclass
    ... class Notes:
    ...     lines: list[str]
    ...     pages: int = dataclasses.field(default=0, metadata=LASTING)
    >>> notes = Notes(["one"])
    >>> before = saved_fields(notes)
    >>> notes.lines.append("two")
    >>> notes.pages = 2
    >>> restore_fields(notes, before)
    >>> notes
    Notes(lines=['one'], pages=2)
    """
    fields = (each.name for each in dataclasses.fields(holder) if not each.metadata.get("is_lasting"))
    return {name: _copied(getattr(holder, name)) for name in fields}


def restore_fields(holder: Any, saved: dict[str, Any]) -> None:
    """Let fields hold again what they held; what was saved can be restored once more."""
    for name, value in saved.items():
        setattr(holder, name, _copied(value))


def _copied(value: Any) -> Any:
    return value.copy() if isinstance(value, dict | list | set | Saved) else value  # pyright: ignore[reportUnknownVariableType]
