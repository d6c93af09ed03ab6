"""The dimensions that a kernel is raised over, and boxes: the parts of their product that are products themselves."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping
from typing import TypeAlias

Key: TypeAlias = "tuple[int, ...]"

_serial = itertools.count()


class Dimension:
    """One dimension of the iteration space: a thread or block id, or a loop counter, running over [0, size).

    Dimensions are compared by identity. `order` says where the dimension stands among others, outer ones first;
    equal orders are told apart by age.
    """

    __slots__ = ("key", "name", "order", "size")

    def __init__(self, name: str, size: int, order: int, key: Key | None = None) -> None:
        self.name = name
        self.size = size
        self.order = order
        self.key: Key = key or (order, next(_serial))

    def refine(self, inner_size: int, outer_size: int) -> tuple[Dimension, Dimension]:
        """Two new dimensions that stand side by side where this one stands, for `self = inner_size*outer + inner`."""
        outer = Dimension(f"{self.name}/{inner_size}", outer_size, self.order, (*self.key, 0))
        inner = Dimension(f"{self.name}%{inner_size}", inner_size, self.order, (*self.key, 1))
        return outer, inner

    def __repr__(self) -> str:
        return self.name


def in_order(dimensions: Iterable[Dimension]) -> tuple[Dimension, ...]:
    """The dimensions without duplicates, outer ones first."""
    return tuple(sorted(set(dimensions), key=lambda dimension: dimension.key))


class Box:
    """A product of half-open ranges, one for each dimension. Dimensions that it does not name run over [0, size).

    >>> x = Dimension("x", 10, 0)
    >>> inner = Box().restrict(x, 1, 9)
    >>> inner.bounds(x), inner.extent(x)
    ((1, 9), 8)
    >>> inner.restrict(x, 9, 10).is_empty
    True
    """

    __slots__ = ("_ranges",)

    def __init__(self, ranges: Mapping[Dimension, tuple[int, int]] | None = None) -> None:
        kept: dict[Dimension, tuple[int, int]] = {}
        for dimension, (lower, upper) in (ranges or {}).items():
            lower, upper = max(lower, 0), min(upper, dimension.size)
            if upper < lower:
                upper = lower = min(lower, dimension.size)
            if (lower, upper) != (0, dimension.size):
                kept[dimension] = (lower, upper)
        self._ranges = kept

    def bounds(self, dimension: Dimension) -> tuple[int, int]:
        """The range of a dimension: the first value, and the one after the last."""
        return self._ranges.get(dimension, (0, dimension.size))

    def lower(self, dimension: Dimension) -> int:
        return self.bounds(dimension)[0]

    def extent(self, dimension: Dimension) -> int:
        """How many values the dimension takes."""
        lower, upper = self.bounds(dimension)
        return upper - lower

    def shape(self, dimensions: Iterable[Dimension]) -> tuple[int, ...]:
        return tuple(self.extent(dimension) for dimension in dimensions)

    def count(self, dimensions: Iterable[Dimension]) -> int:
        """How many points the box has over these dimensions."""
        return math.prod(self.extent(dimension) for dimension in dimensions)

    @property
    def restricted(self) -> tuple[Dimension, ...]:
        """The dimensions whose range is not the whole."""
        return in_order(self._ranges)

    @property
    def is_empty(self) -> bool:
        """Whether some restricted dimension has no value at all."""
        return any(upper <= lower for lower, upper in self._ranges.values())

    def restrict(self, dimension: Dimension, lower: int, upper: int) -> Box:
        """The part of the box where the dimension is in [lower, upper)."""
        old_lower, old_upper = self.bounds(dimension)
        return Box({**self._ranges, dimension: (max(lower, old_lower), min(upper, old_upper))})

    def replace(self, dimension: Dimension, lower: int, upper: int) -> Box:
        """The box with another range for the dimension, which may be larger than the old one."""
        return Box({**self._ranges, dimension: (lower, upper)})

    def without(self, dimensions: Iterable[Dimension]) -> Box:
        """The box with the whole range for these dimensions."""
        dropped = set(dimensions)
        return Box({dimension: bounds for dimension, bounds in self._ranges.items() if dimension not in dropped})

    def intersect(self, other: Box) -> Box:
        """The points that both boxes have."""
        result = self
        for dimension, (lower, upper) in other._ranges.items():
            result = result.restrict(dimension, lower, upper)
        return result

    def hull(self, other: Box) -> Box:
        """The smallest box that holds both."""
        if self.is_empty:
            return other
        if other.is_empty:
            return self
        ranges: dict[Dimension, tuple[int, int]] = {}
        for dimension, (lower, upper) in self._ranges.items():
            other_lower, other_upper = other.bounds(dimension)
            ranges[dimension] = (min(lower, other_lower), max(upper, other_upper))
        return Box(ranges)

    def contains(self, other: Box) -> bool:
        """Whether every point of the other box is in this one."""
        if other.is_empty:
            return True
        for dimension, (lower, upper) in self._ranges.items():
            other_lower, other_upper = other.bounds(dimension)
            if other_lower < lower or other_upper > upper:
                return False
        return True

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Box) and self._ranges == other._ranges

    def __hash__(self) -> int:
        return hash(frozenset(self._ranges.items()))

    def __repr__(self) -> str:
        shown = (f"{dimension} in [{lower}, {upper})" for dimension, (lower, upper) in self._ranges.items())
        return f"Box({', '.join(shown)})"


EVERYWHERE = Box()
"""The box that restricts nothing."""
