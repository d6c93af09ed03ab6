"""Subscripts as sums of indices times numbers, and how far integers reach, once the sizes are known."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product

from windlass.frontends.notation.syntax import Source
from windlass.frontends.notation.terms import Index, Literal, Operation, Part, Read, Size

Ranges = Mapping[str, tuple[int, int]]
"""For each index its first value, and the one after its last."""


@dataclass(frozen=True)
class Form:
    """The sum of the terms, index times factor, and the constant. No factor is 0."""

    terms: tuple[tuple[str, int], ...]
    constant: int = 0

    @property
    def indices(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.terms)

    @property
    def is_index(self) -> bool:
        """Whether it is one index as it is."""
        return self.constant == 0 and len(self.terms) == 1 and self.terms[0][1] == 1

    @property
    def window(self) -> Form | None:
        """The form without its constant, where it joins several indices."""
        return Form(self.terms) if len(self.terms) > 1 else None

    def limits(self, ranges: Ranges) -> tuple[int, int]:
        """The least and the largest value, for ranges that are not empty."""
        low = high = self.constant
        for name, factor in self.terms:
            ends = factor * ranges[name][0], factor * (ranges[name][1] - 1)
            low, high = low + min(ends), high + max(ends)
        return low, high


def form_of(part: Part, sizes: Mapping[str, int]) -> Form:
    """The form of an affine part (see `is_affine`).

    >>> from windlass.frontends.notation.syntax import Span
    >>> here = Span(0, 1)
    >>> i, n = Index(here, "i"), Size(here, "N")
    >>> form_of(Operation(here, "-", (n, Operation(here, "*", (i, n), "integer")), "integer"), {"N": 3})
    Form(terms=(('i', -3),), constant=3)
    """
    factors, constant = _factors(part, sizes)
    return Form(tuple((name, factor) for name, factor in factors.items() if factor), constant)


def _factors(part: Part, sizes: Mapping[str, int]) -> tuple[dict[str, int], int]:
    if isinstance(part, Index):
        return {part.name: 1}, 0
    if isinstance(part, Literal):
        return {}, int(part.value)
    if isinstance(part, Size):
        return {}, sizes[part.name]
    assert isinstance(part, Operation)
    operands = [_factors(each, sizes) for each in part.operands]
    if part.sign in ("+", "-", "negate"):
        signs = (-1,) if part.sign == "negate" else (1, 1 if part.sign == "+" else -1)
        factors: dict[str, int] = {}
        for sign, (terms, _) in zip(signs, operands, strict=True):
            for name, factor in terms.items():
                factors[name] = factors.get(name, 0) + sign * factor
        return factors, sum(sign * constant for sign, (_, constant) in zip(signs, operands, strict=True))
    if part.sign == "*":
        (left, a), (right, b) = operands
        return {name: factor * (a if right else b) for name, factor in (right or left).items()} if (
            left or right
        ) else {}, a * b
    return {}, fold_integers(part.sign, [constant for _, constant in operands])


class UnknownQuotient(ArithmeticError):
    """A division by zero."""


def fold_integers(sign: str, values: list[int]) -> int:
    """An operation of known integers; quotients are rounded towards zero, as in C.

    Raises UnknownQuotient.

    >>> fold_integers("/", [-7, 2]), fold_integers("%", [-7, 2])
    (-3, -1)
    """
    left, right = values[0], values[-1]
    if sign in ("/", "%"):
        if right == 0:
            raise UnknownQuotient
        quotient = abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)
        return quotient if sign == "/" else left - quotient * right
    simple = {
        "+": lambda: left + right,
        "-": lambda: left - right,
        "*": lambda: left * right,
        "negate": lambda: -left,
        "abs": lambda: abs(left),
        "sign": lambda: (left > 0) - (left < 0),
        "max": lambda: max(left, right),
        "min": lambda: min(left, right),
        "fmax": lambda: max(left, right),
        "fmin": lambda: min(left, right),
    }
    return simple[sign]()


def limits_of(part: Part, sizes: Mapping[str, int], ranges: Ranges, source: Source) -> tuple[int, int]:
    """Between which integers a part without an element type stays, each index being anywhere in its range.

    Raises LaunchError (WL1506) where it may divide by zero.
    """
    if isinstance(part, Literal):
        return int(part.value), int(part.value)
    if isinstance(part, Size):
        return sizes[part.name], sizes[part.name]
    if isinstance(part, Index):
        low, high = ranges[part.name]
        return low, max(high - 1, low)
    assert isinstance(part, Operation) and not isinstance(part, Read)
    values = part.operands[1:] if part.sign == "?:" else part.operands
    limits = [limits_of(each, sizes, ranges, source) for each in values]
    if part.sign == "?:":
        return min(low for low, _ in limits), max(high for _, high in limits)
    if part.sign in ("/", "%") and limits[1][0] <= 0 <= limits[1][1]:
        raise source.misfit("WL1506", part.span, "this divides by an integer that may be zero")
    if part.sign == "%":
        most = max(map(abs, limits[1])) - 1
        return (max(-most, min(limits[0][0], 0)), min(most, max(limits[0][1], 0)))
    ends = [fold_integers(part.sign, list(corner)) for corner in product(*limits)]
    if part.sign in ("abs", "sign") and limits[0][0] < 0 < limits[0][1]:
        ends.append(0)
    return min(ends), max(ends)


def count_points(names: tuple[str, ...], ranges: Ranges) -> int:
    """How many points there are of these indices."""
    return math.prod(max(ranges[name][1] - ranges[name][0], 0) for name in names)
