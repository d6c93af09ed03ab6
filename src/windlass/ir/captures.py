"""What regions take from outside."""

from __future__ import annotations

from windlass.ir.core import Region
from windlass.ir.values import Value


def captures(region: Region) -> list[Value]:
    """The values from outside that ops in the region use.

    >>> from windlass.ir.values import tensor
    >>> from windlass.ops import Add, make_region
    >>> x = tensor("f32")
    >>> captures(make_region([x.type], lambda y: Add(x, y)))
    [x]
    """
    return list(region.remember(_find_captures))


def _find_captures(region: Region) -> tuple[Value, ...]:
    inside: set[Value] = set()
    found: dict[Value, None] = {}
    for block in region.blocks:
        inside.update(block.arguments)
        for op in block:
            found.update((operand, None) for operand in op.operands if operand not in inside)
            for inner in op.regions:
                found.update((value, None) for value in inner.remember(_find_captures) if value not in inside)
            inside.update(op.results)
    return tuple(found)
