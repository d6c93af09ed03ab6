"""Accesses to memory, and whether two of them may come to the same byte."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

from windlass.affine.dimensions import Box
from windlass.affine.domain import Domain
from windlass.affine.index import ZERO, Index
from windlass.affine.predicate import Predicate

MemoryT = TypeVar("MemoryT")
"""Whatever stands for a memory: one is itself and no other."""


@dataclass(frozen=True)
class Access(Generic[MemoryT]):
    """What the points of a domain access: `size` bytes each from `address`, which counts bytes from the memory's start.

    `time` says after how many barriers.
    """

    memory: MemoryT
    address: Index
    size: int
    domain: Domain
    time: int

    @property
    def box(self) -> Box:
        return self.domain.box

    @property
    def mask(self) -> Predicate:
        return self.domain.mask

    def may_overlap(self, other: Access[MemoryT], origin: Index = ZERO) -> bool:
        """Whether some point's bytes may be bytes of any other point's in another access.

        `origin` is where the part of memory begins that both are known to be in: a block's or an iteration's own.
        """
        if self.memory is not other.memory:
            return False
        (lower, upper), (first, last) = (byte_range(*each, origin) for each in (self._place(), other._place()))
        return lower < last and first < upper

    def may_meet(self, other: Access[MemoryT]) -> bool:
        """Whether some point's bytes may be the bytes of the same point in another access.

        Dimensions that both addresses depend on are one point's: two accesses that lie side by side in each point
        never meet, though one point's may be where a neighbour's are.
        """
        if self.memory is not other.memory:
            return False
        lower, upper = (self.address - other.address).value_range(self.box.hull(other.box))
        return lower < other.size and upper > -self.size

    def _place(self) -> tuple[Index, int, Domain]:
        return self.address, self.size, self.domain


def byte_range(address: Index, size: int, domain: Domain, origin: Index = ZERO) -> tuple[int, int]:
    """The bytes that active points of a domain come to, as a half-open range that counts from `origin`.

    >>> from windlass.affine.dimensions import Box, Dimension
    >>> from windlass.affine.predicate import TRUE
    >>> x = Dimension("x", 10, 0)
    >>> byte_range(Index.of(x).scale(4) + 8, 4, Domain((x,), Box(), TRUE), Index(8))
    (0, 40)
    """
    box, _ = domain.mask.split(domain.box)
    lower, upper = (address - origin).simplify(box).value_range(box)
    return lower, upper + size
