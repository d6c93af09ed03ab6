"""Which points are active: a box of the iteration space, and a condition on the points in it."""

from __future__ import annotations

from dataclasses import dataclass

from windlass.affine.dimensions import Box, Dimension
from windlass.affine.predicate import Predicate


@dataclass(frozen=True)
class Domain:
    """The points of `box` over `dimensions` where `mask` holds. Values need be right at these points only."""

    dimensions: tuple[Dimension, ...]
    box: Box
    mask: Predicate

    def restrict(self, condition: Predicate) -> Domain:
        """The part of the domain where the condition holds as well."""
        if condition.is_true:
            return self
        box, mask = (self.mask & condition).split(self.box)
        return Domain(self.dimensions, box, mask)

    @property
    def is_empty(self) -> bool:
        """Whether it is known that no point is active."""
        return self.box.is_empty or self.mask.is_false or any(self.box.extent(each) == 0 for each in self.dimensions)

    def extended(self, dimension: Dimension) -> Domain:
        """The domain times all values of one more dimension."""
        return Domain((*self.dimensions, dimension), self.box, self.mask)
