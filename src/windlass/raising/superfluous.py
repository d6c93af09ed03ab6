"""Which parts of a conjunction or disjunction others make superfluous, and which contradict or complete each other."""

from __future__ import annotations

from windlass.raising.predicate import (
    AtLeastZero,
    Combination,
    Conjunction,
    DiffersFromZero,
    Disjunction,
    EqualsZero,
    Predicate,
    conjunction,
    disjunction,
)


def drop_superfluous(parts: list[Predicate], is_conjunction: bool) -> list[Predicate] | None:
    """Drop what others make superfluous; None where parts contradict (or, in a disjunction, complete) each other."""
    present = set(parts)
    if any(~part in present for part in parts if not isinstance(part, Combination)):
        return None
    dropped: set[int] = set()
    for position, part in enumerate(parts):
        for other_position, other in enumerate(parts):
            if position == other_position or other_position in dropped:
                continue
            relation = _relation(part, other)
            if relation == "excludes" and is_conjunction:
                return None
            if relation == "covers" and not is_conjunction:
                return None
            if relation == "implies":
                # In a conjunction the weaker part goes, in a disjunction the stronger one.
                dropped.add(other_position if is_conjunction else position)
                break
    kept = [part for position, part in enumerate(parts) if position not in dropped]
    inner = Disjunction if is_conjunction else Conjunction
    literals = {part for part in kept if not isinstance(part, Combination)}
    result: list[Predicate] = []
    for part in kept:
        if isinstance(part, inner):
            if any(each in literals for each in part.parts):
                continue  # a and (a or b) = a
            rest = [each for each in part.parts if ~each not in literals]
            if len(rest) < len(part.parts):  # a and (not a or b) = a and b
                part = disjunction(rest) if is_conjunction else conjunction(rest)
        result.append(part)
    return result


def _relation(one: Predicate, other: Predicate) -> str:
    """How two comparisons of the same form stand to each other."""
    if not isinstance(one, AtLeastZero):
        if isinstance(one, EqualsZero) and isinstance(other, AtLeastZero | DiffersFromZero | EqualsZero):
            for sign in (1, -1):
                difference = (other.index - one.index.scale(sign)).constant_value
                if difference is not None:
                    holds = difference >= 0 if isinstance(other, AtLeastZero) else difference != 0
                    if isinstance(other, EqualsZero):
                        return "excludes" if difference != 0 else ""
                    return "implies" if holds else "excludes"
        return ""
    if not isinstance(other, AtLeastZero):
        return ""
    difference = (other.index - one.index).constant_value
    if difference is not None:
        return "implies" if difference >= 0 else ""
    total = (one.index + other.index).constant_value
    if total is not None:
        # x >= 0 and -x + total >= 0
        if total < 0:
            return "excludes"
        return "covers" if total >= -1 else ""
    return ""
