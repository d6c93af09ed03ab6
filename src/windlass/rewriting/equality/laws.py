"""What must be true of an equality, whatever it finds: the laws of rules, for pairs of values.

On graphs of random programs that its `sample` makes, it finds a pair; both values of a pair have one type, are made of
nothing but the program's variables, and mean the same: every bit, or as near as sums in another order come.
"""

from __future__ import annotations

from typing import Any

from windlass.facts.terms import evaluate_term
from windlass.ir import Value
from windlass.ops.sampling import RandomDraw
from windlass.rewriting.equalities import Equality
from windlass.rewriting.equality.graph import EqualityGraph
from windlass.rewriting.instances import evaluate_wide, list_arguments
from windlass.rewriting.laws import Breach, is_near, meet, same_bits

ATTEMPTS, LEAST = 60, 20
"""How many random programs there are, and on how many of them a pair is found at the least."""


def find_breach(equality: Equality, attempts: int = ATTEMPTS) -> Breach | None:
    """The first law that an equality is found to break, or None."""
    telling = 0
    for seed in range(attempts):
        draw, graph = RandomDraw(seed), EqualityGraph()
        with graph.build():
            for value in equality.sample(draw):
                graph.enter(value)
            pairs = list(equality.body(graph))
        telling += bool(pairs)
        for old, new in pairs:
            breach = _check_pair(equality, old, new, draw)
            if breach is not None:
                return breach
    if telling < min(LEAST, attempts):
        return Breach(equality.name, "finds hardly any pair", (f"on {telling} of {attempts} random programs",))
    return None


def _check_pair(equality: Equality, old: Value, new: Value, draw: RandomDraw) -> Breach | None:
    shown = (f"one: {old!r}", f"other: {new!r}")
    if old.type != new.type:
        return Breach(equality.name, f"makes {new.type} equal to {old.type}", shown)
    arguments = dict.fromkeys((*list_arguments(old), *list_arguments(new)))
    values: dict[Value, Any] = {
        each: meet(draw.array(each.tensor), equality.reassociates, frozenset()) for each in arguments
    }
    expected, found = evaluate_term(old, dict(values)), evaluate_term(new, dict(values))
    if equality.reassociates:
        kept = is_near(expected, found, evaluate_wide(old, values))
    else:
        kept = same_bits(expected, found)
    return None if kept else Breach(equality.name, "does not keep the meaning", (*shown, str(expected), str(found)))
