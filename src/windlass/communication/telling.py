"""Who decided how the values of a program are divided, and which ops may communicate outside of regions: told."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from windlass.communication.estimating import stays_in_place, walk_rounds
from windlass.communication.propagation import Claim, Propagation
from windlass.ir import Module
from windlass.ir.core import Op
from windlass.ir.values import Argument

MOST_TOLD = 6
"""So many lines of each kind."""


def tell_divisions(propagation: Propagation) -> tuple[str, ...]:
    """Which values divide others, over which axes of the mesh, and which contradict each other."""
    lines: list[str] = []
    for claims, division, count in propagation.decided():
        if division is not None:
            who = _named(claims[0])
            lines.append(
                f"{who} divides {count} axes of values over {_over(division.names)}: {division.parts} parts of "
                f"{division.length}"
            )
        else:
            first = {claim.names: claim for claim in reversed(claims)}
            told = ", ".join(f"{_named(claim)} over {_over(names)}" for names, claim in reversed(first.items()))
            lines.append(f"XLA decides for {count} axes of values, as those that divide them contradict: {told}")
    return _shortened(lines)


def tell_left(module: Module, propagation: Propagation) -> tuple[str, ...]:
    """Which ops on divided values are in no region of local code and may communicate, with their lines."""
    left: Counter[str] = Counter()
    for op, _, is_local in walk_rounds(module.main.body, 1, False):
        if not is_local and not stays_in_place(op, propagation):
            left[_told(op)] += 1
    lines = [f"{told}{'' if count == 1 else f', {count} times'}" for told, count in left.items()]
    return tuple(f"left to XLA: {line}" for line in _shortened(lines))


def _named(claim: Claim) -> str:
    value = claim.value
    kind = f"{value.dtype}[{', '.join(map(str, value.shape))}]"
    if isinstance(value, Argument):
        return f"axis {claim.axis} of argument {value.index}, {kind},"
    source = value.source if isinstance(value, Op) else None
    return f"axis {claim.axis} of the constraint{'' if source is None else f' at {source}'}, {kind},"


def _over(names: Sequence[str]) -> str:
    return " and ".join(f"'{name}'" for name in names) or "none"


def _told(op: Op) -> str:
    return f"{op.name.rpartition('.')[2]}{'' if op.source is None else f' at {op.source}'}"


def _shortened(lines: list[str]) -> tuple[str, ...]:
    more = len(lines) - MOST_TOLD
    return tuple(lines) if more <= 0 else (*lines[:MOST_TOLD], f"and {more} more")
