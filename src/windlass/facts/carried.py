"""What a loop's carried values depend on, from round to round."""

from __future__ import annotations

from collections.abc import Iterable

from windlass.facts.terms import op_of, sources
from windlass.ir import Argument, Block, Value
from windlass.ops import While


def arguments_behind(values: Iterable[Value], block: Block, seen: set[Value] | None = None) -> set[int]:
    """The places of those arguments of a block that values of it depend on, but for what was `seen` before."""
    found: set[int] = set()
    seen = set() if seen is None else seen
    waiting = list(values)
    while waiting:
        value = waiting.pop()
        if value in seen:
            continue
        seen.add(value)
        if isinstance(value, Argument):
            if value.block is block:
                found.add(value.index)
            continue
        op = op_of(value)
        if op is not None and op.block is block:
            waiting += sources(op)
    return found


def carries_behind(loop: While, places: Iterable[int]) -> set[int]:
    """The places of the carried values that those at these places depend on, in any round: these among them."""
    following = loop.body.block.terminator.operands
    found = grown = set(places)
    seen: set[Value] = set()
    while grown:
        grown = arguments_behind((following[place] for place in grown), loop.body.block, seen) - found
        found = found | grown
    return found
