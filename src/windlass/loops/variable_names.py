"""Names of memory as the source has them: what messages say instead of the linker's."""

from __future__ import annotations

import re


def readable(variable: str) -> str:
    """The source's name of a variable, from the linker's.

    >>> [readable(each) for each in ("_ZZ4tilePfE6buffer", "_ZL5table", "__const._Z4tilePf.weights", "tile", "row.i")]
    ['buffer', 'table', 'weights', 'tile', 'row']
    """
    inner = re.fullmatch(r"(?:_ZZ.*E|_ZL?)(\d+)(\w+)", variable)
    if inner is not None:
        return inner.group(2)[: int(inner.group(1))]
    # The values that a local array begins with, which is named behind its function.
    initial = re.fullmatch(r"__const\.\w+\.(\w+)(?:\.\d+)?", variable)
    if initial is not None:
        return initial.group(1)
    return variable.split(".", maxsplit=1)[0] or variable  # what follows the dot tells copies by inlining apart
