"""Extras: rules that fire in no counted program but those that were made for rules, and why they stay.

Which rules these are is counted (`benchmarks/count_rules.py`), not declared: one that fires somewhere is none any more,
and neither is its dual. Most have the same reason: another optimizer of StableHLO has the pattern, and
docs/reference/families.md says which. For the others their family says one here. What has no reason retires.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from windlass.rewriting import Rule

OF_OTHERS = "Another optimizer of StableHLO has these patterns: see [families of rewrites](families.md)."

REASONS = {
    "lowering.slow_folds": "What holds for long sums holds for their extremes.",
    "lowering.window_forms": "Scans by many blocks: counted programs are small, or scan few rows.",
    "passes.branches": "Nothing else opens a `map`.",
    "passes.undone_movement": "It completes what is done with transposes and reshapes.",
    "rules.bits": "LLVM folds what one thread has; this does so between threads, and in functions of arrays.",
    "rules.booleans": "LLVM folds what one thread has; this does so between threads, and in functions of arrays.",
    "rules.diagonals": "`eye`, `tril` and `one_hot` of one array meet where functions of several authors do.",
    "rules.dynamic_updates": "JAX clamps where it updates: starts and lengths are known once it is called.",
    "rules.factors": "Weights are folded into products before a network is deployed.",
    "rules.fourier": "A transform and its inverse meet where functions of a spectral code do.",
    "rules.functions": "As formulas are written down: log of softmax, the root of a square, tanh by exponentials.",
    "rules.integers": "LLVM folds what one thread has; this does so between threads, and in functions of arrays.",
    "rules.negations": "Signs meet where derivatives are put together by hand.",
    "rules.pads": "The way back of rolls by 0 pads parts that have no elements.",
    "rules.reductions": "Maxima with their places, of which one is used; masks of whole rows.",
    "rules.scaled_convolutions": "Normalizations are folded into kernels before a network is deployed.",
    "rules.sorts": "NumPy's idioms: `sort(x)[::-1]`, `sort(x)[-1]`, places that are not used.",
    "rules.sums": "Extremes of what was widened for a sum beside them.",
    "rules.folds_without_nan": "Maxima of rows that threads find, and then of these, as in a softmax.",
    "rules.turned_places": "Threads that go along the rows of a matrix in slots (ELL), which is stored by columns.",
    "rules.windows": "Counts of elements in windows, by which average pooling divides at the edges.",
}
"""By family, for the rules that no other optimizer has."""


def find_extras(rules: Iterable[Rule], counted: Mapping[str, Any]) -> set[str]:
    """The names of the extras by what was counted: `rules` with [times, programs, programs of others], `elsewhere`.

    None where nothing was counted.

    >>> find_extras([], {"programs": 0})
    set()
    """
    if not counted.get("programs"):
        return set()
    fired = {name for name, (_, _, others) in counted["rules"].items() if others} | set(counted["elsewhere"])
    fired |= {rule.dual.name for rule in rules if rule.dual is not None and rule.name in fired}
    duals = {rule.dual.name: rule.name for rule in rules if rule.dual is not None}
    return {rule.name for rule in rules if rule.name not in fired and duals.get(rule.name) not in fired}


def reason_of(family: str) -> str:
    """Why the extras of a family stay.

    >>> reason_of("windlass.rules.arithmetic") == OF_OTHERS
    True
    """
    return REASONS.get(family.removeprefix("windlass."), OF_OTHERS)
