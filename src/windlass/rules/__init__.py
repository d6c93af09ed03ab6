"""The catalogue of tensor rewrites, one file per op family.

Each rule is one function: its equation is its docstring's first line, its example runs as a test, and the laws in
tests/laws are derived from its declaration: it keeps meaning, special values included; it keeps types; it fires; and it
lowers the measure. Importing this package fills `windlass.rewriting.rule.catalogue`.

Start reading at `slices.py`.
"""

from windlass.rewriting.rule import catalogue
from windlass.rules import (
    arithmetic,
    batching,
    branches,
    broadcasts,
    chains,
    concatenates,
    constants,
    contractions,
    conversions,
    diagonals,
    dynamic_slices,
    dynamic_updates,
    element_loops,
    elementwise_movement,
    factors,
    gathers,
    loops,
    pads,
    reductions,
    reshapes,
    reverses,
    scatters,
    selects,
    short_loops,
    slices,
    solutions,
    sorts,
    sums,
    transposes,
    windows,
)

__all__ = [
    "arithmetic",
    "batching",
    "branches",
    "broadcasts",
    "catalogue",
    "chains",
    "concatenates",
    "constants",
    "contractions",
    "conversions",
    "diagonals",
    "dynamic_slices",
    "dynamic_updates",
    "element_loops",
    "elementwise_movement",
    "factors",
    "gathers",
    "loops",
    "pads",
    "reductions",
    "reshapes",
    "reverses",
    "scatters",
    "selects",
    "short_loops",
    "slices",
    "solutions",
    "sorts",
    "sums",
    "transposes",
    "windows",
]
