"""Boxes of elements: the places of an array from one corner up to another."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

Sizes: TypeAlias = tuple[int, ...]


@dataclass(frozen=True)
class ElementBox:
    """The elements of an array from `start` on, up to `limit`, along each axis."""

    start: Sizes
    limit: Sizes

    @classmethod
    def at(cls, start: Sequence[int], shape: Sizes) -> ElementBox:
        """That of an array of this shape whose first element is at `start`."""
        return cls(tuple(start), tuple(place + size for place, size in zip(start, shape, strict=True)))

    @classmethod
    def whole(cls, shape: Sizes) -> ElementBox:
        return cls((0,) * len(shape), shape)

    @property
    def shape(self) -> Sizes:
        """Its sizes; none is negative."""
        return tuple(max(limit - start, 0) for start, limit in zip(self.start, self.limit, strict=True))

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    def moved(self, by: Sequence[int]) -> ElementBox:
        """The box so much further on."""
        corners = (tuple(a + b for a, b in zip(corner, by, strict=True)) for corner in (self.start, self.limit))
        return ElementBox(*corners)

    def seen_from(self, place: Sequence[int]) -> ElementBox:
        """The box as it is where counting begins at a place."""
        return self.moved([-each for each in place])

    def meet(self, other: ElementBox) -> ElementBox:
        """What two boxes have in common.

        >>> ElementBox((0, 2), (4, 4)).meet(ElementBox((1, 0), (9, 3)))
        ElementBox(start=(1, 2), limit=(4, 3))
        """
        return ElementBox(tuple(map(max, self.start, other.start)), tuple(map(min, self.limit, other.limit)))

    def around(self, inside: ElementBox) -> Iterator[ElementBox]:
        """What there is beside a box inside of it, as boxes that lie apart.

        >>> [each.shape for each in ElementBox.whole((4, 9)).around(ElementBox((1, 2), (4, 7)))]
        [(1, 9), (3, 2), (3, 2)]
        """
        start, limit = list(self.start), list(self.limit)
        for axis in range(len(start)):
            for low, high in ((start[axis], inside.start[axis]), (inside.limit[axis], limit[axis])):
                if low < high:
                    yield ElementBox(
                        (*start[:axis], low, *start[axis + 1 :]), (*limit[:axis], high, *limit[axis + 1 :])
                    )
            start[axis], limit[axis] = inside.start[axis], inside.limit[axis]
