"""What conditions say of the indices where a tensor is read: `i >= 1 ? x(i - 1) : 0.0` reads inside of `x` alone."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

from windlass.frontends.notation.forms import Form, Ranges
from windlass.frontends.notation.terms import Operation, Part, Read, is_affine

FormOf = Callable[[Part], Form]


def conditional_reads(
    part: Part, form: FormOf, known: tuple[Form, ...] = ()
) -> Iterator[tuple[Read, tuple[Form, ...]]]:
    """All reads within a part, each with forms that are not negative where it counts."""
    if isinstance(part, Read):
        yield part, known
        for each in part.subscripts:
            yield from conditional_reads(each, form, known)
    elif isinstance(part, Operation):
        first, *others = part.operands
        yield from conditional_reads(first, form, known)
        for place, each in enumerate(others):
            facts = known
            if part.sign in ("?:", "&&", "||"):
                holds = place == 0 if part.sign == "?:" else part.sign == "&&"
                facts = (*known, *_facts(first, holds, form))
            yield from conditional_reads(each, form, facts)


def _facts(condition: Part, holds: bool, form: FormOf) -> Iterator[Form]:
    """Forms that are not negative where the condition holds, or where it does not."""
    if not isinstance(condition, Operation):
        return
    sign, operands = condition.sign, condition.operands
    if sign == "!":
        yield from _facts(operands[0], not holds, form)
    elif (sign == "&&" and holds) or (sign == "||" and not holds):
        for each in operands:
            yield from _facts(each, holds, form)
    elif sign in ("<", "<=", ">", ">=", "==", "!=") and all(map(is_affine, operands)):
        left, right = (form(each) for each in operands)
        if not holds:
            sign = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}[sign]
        if sign in ("<", "<=", "=="):
            yield _difference(right, left, int(sign == "<"))
        if sign in (">", ">=", "=="):
            yield _difference(left, right, int(sign == ">"))


def _difference(large: Form, small: Form, least: int) -> Form:
    factors = dict(large.terms)
    for name, factor in small.terms:
        factors[name] = factors.get(name, 0) - factor
    terms = tuple((name, factor) for name, factor in factors.items() if factor)
    return Form(terms, large.constant - small.constant - least)


def speaks_of(facts: Sequence[Form], form: Form) -> bool:
    """Whether one of the facts bounds just this form."""
    return any(_sign(fact, form) for fact in facts)


def limits_where(facts: Sequence[Form], form: Form, ranges: Ranges) -> tuple[int, int] | None:
    """Between which values the form stays where the facts hold; None where they hold nowhere.

    >>> fact = Form((("i", 1),), -1)
    >>> limits_where([fact], Form((("i", 1), ("j", 1))), {"i": (0, 4), "j": (0, 3)})
    (1, 5)
    >>> limits_where([Form((("j", 1), ("i", 1)), -2)], Form((("i", 1), ("j", 1)), 7), {"i": (0, 4), "j": (0, 3)})
    (9, 12)
    """
    narrow = dict(ranges)
    for fact in facts:
        if len(fact.terms) == 1:
            ((name, factor),) = fact.terms
            low, high = narrow[name]
            bound = -fact.constant / factor
            narrow[name] = (max(low, math.ceil(bound)), high) if factor > 0 else (low, min(high, math.floor(bound) + 1))
        elif not fact.terms and fact.constant < 0:
            return None
    if any(low >= high for low, high in narrow.values()):
        return None
    low, high = form.limits(narrow)
    for fact in facts:
        sign = _sign(fact, form)
        if sign > 0:
            low = max(low, form.constant - fact.constant)
        elif sign < 0:
            high = min(high, form.constant + fact.constant)
    return None if low > high else (low, high)


def _sign(fact: Form, form: Form) -> int:
    """1 where the fact is the form but for its constant, -1 where it is its negative, else 0."""
    one, other = dict(fact.terms), dict(form.terms)
    if not one:
        return 0
    return int(one == other) - int(one == {name: -factor for name, factor in other.items()})
