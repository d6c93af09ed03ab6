"""The page that lists the routines: docs/guides/libraries.md, between its marks."""

from __future__ import annotations

import re
from collections import defaultdict

from windlass.hosting.libraries.routines import Routine, routines

BEGIN, END = "<!-- routines: begin -->", "<!-- routines: end -->"


def routine_list() -> str:
    """Markdown with the routines of each library; what differs only in the letter of a dtype is one entry.

    The older names of cuBLAS's are left out.

    >>> "`cublas<SDCZH>gemm`" in routine_list()
    True
    """
    groups: dict[str, dict[tuple[str, str], list[str]]] = defaultdict(lambda: defaultdict(list))
    for name, routine in sorted(routines().items()):
        if name.startswith("cublasLegacy"):
            continue
        prefix, letters, rest = _split(name, routine)
        groups[routine.library.name][prefix, rest].append(letters)
    lines = list[str]()
    for library, entries in groups.items():
        names = [f"`{prefix}{_alternatives(letters)}{rest}`" for (prefix, rest), letters in entries.items()]
        lines += [f"**{library}**: {', '.join(names)}.", ""]
    return "\n".join(lines).rstrip()


def with_routine_list(page: str) -> str:
    """The page with the list of today between its marks."""
    before, _, rest = page.partition(BEGIN)
    return f"{before}{BEGIN}\n{routine_list()}\n{END}{rest.partition(END)[2]}"


def _split(name: str, routine: Routine) -> tuple[str, str, str]:
    """What stands before, in and behind the letters of a dtype."""
    if routine.dtype is not None:
        found = re.fullmatch(rf"({routine.prefix})({routine.letters})(.*)", name) if routine.letters else None
        if found is not None:
            return found[1], found[2], found[3]
    return name, "", ""


def _alternatives(letters: list[str]) -> str:
    if letters == [""]:
        return ""
    order = sorted(letters, key=lambda each: ("SDCZH".find(each[0].upper()), each))
    return f"<{''.join(order) if all(len(each) == 1 for each in order) else ','.join(order)}>"
