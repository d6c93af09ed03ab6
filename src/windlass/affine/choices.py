"""Conditions on boxes, and integers that depend on a condition."""

from __future__ import annotations

from windlass.affine.dimensions import Box
from windlass.affine.index import Atom, Choice, Index, parts_of
from windlass.affine.predicate import (
    TRUE,
    AtLeastZero,
    Conjunction,
    DiffersFromZero,
    Disjunction,
    EqualsZero,
    Predicate,
)

MOST_CHOICES = 4
"""Integers that depend on conditions of more parts than this are selected as values, not symbolically."""

MOST_WEIGHT = 16
"""Terms of an index that is still looked into; larger ones are computed as tensors."""


def box_condition(box: Box, outer: Box) -> Predicate:
    """That a lane of the outer box is in the box."""
    condition = TRUE
    for dimension in box.restricted:
        lower, upper = box.bounds(dimension)
        outer_lower, outer_upper = outer.bounds(dimension)
        index = Index.of(dimension)
        if lower > outer_lower:
            condition = condition & Predicate.compare("GE", index, Index(lower))
        if upper < outer_upper:
            condition = condition & Predicate.compare("LT", index, Index(upper))
    return condition


def with_bounds(index: Index, lower: int, upper: int) -> Index:
    """The computed integers with narrower bounds than their dtype's, where these are narrower."""
    from windlass.affine.index import Data, RuntimeScalar

    if len(index.terms) == 1 and not index.constant:
        ((atom, factor),) = index.terms.items()
        if factor == 1 and isinstance(atom, Data):
            return Index.of(Data(atom.handle, max(lower, atom.lower), min(upper, atom.upper)))
        if factor == 1 and isinstance(atom, RuntimeScalar):
            return Index.of(RuntimeScalar(atom.value, max(lower, atom.lower), min(upper, atom.upper)))
    return index


def choose_index(
    condition: Predicate, on_true: Index, on_false: Index, box: Box, budget: int = MOST_CHOICES
) -> Index | None:
    """The merge of two integers as an index; None where the condition is on data or it grows too large."""
    if on_true.weight + on_false.weight > MOST_WEIGHT:
        return None
    match condition:
        case AtLeastZero() | EqualsZero() if condition.index.weight > MOST_WEIGHT:
            return None
        case AtLeastZero():
            return Index.choose(condition.index, on_true, on_false, box)
        case EqualsZero():
            return Index.choose(condition.index.minimum(-condition.index, box), on_true, on_false, box)
        case DiffersFromZero():
            return choose_index(~condition, on_false, on_true, box, budget)
        case Conjunction() | Disjunction() if len(condition.parts) <= budget:
            result: Index | None = on_true if isinstance(condition, Conjunction) else on_false
            for part in reversed(condition.parts):
                if result is None:
                    return None
                if isinstance(condition, Conjunction):
                    result = choose_index(part, result, on_false, box, budget - 1)
                else:
                    result = choose_index(part, on_true, result, box, budget - 1)
            return result
        case _:
            return None


def holds_choice(index: Index) -> bool:
    """Whether some part of the index still depends on a condition."""

    def in_atom(atom: Atom) -> bool:
        return isinstance(atom, Choice) or any(holds_choice(part) for part in parts_of(atom))

    return any(in_atom(atom) for atom in index.terms)
