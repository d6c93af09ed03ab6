"""What threads and cells of shared memory hold while a block folds values together: which of the values it began with.

Trees, scans and shuffles combine values step by step. However they are spelled, what a thread holds in between is a
fold of some of the leaves, which are the values that threads had before any of that. For an op that may be applied
in any order the set of leaves says all there is to say.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from windlass.ir import Op
from windlass.ops.combiners import FoldKind

Array: TypeAlias = "NDArray[Any]"

UNKNOWN, NUMBER, FOLD = 0, 1, 2
"""What is known of a place: nothing, the number that it holds, the leaves whose fold it holds."""


@dataclass
class Partials:
    """What each of several places holds.

    `numbers` count where the status is NUMBER; `sets` (each a set of leaves as the bits of an integer), `kinds` (None
    for a single leaf) and `is_seeded` (whether a neutral number was combined in) where it is FOLD.
    """

    status: Array
    numbers: Array
    sets: Array
    kinds: Array
    is_seeded: Array

    @staticmethod
    def unknown(count: int, dtype: Any) -> Partials:
        """Places of which nothing is known."""
        return Partials(
            np.zeros(count, np.uint8),
            np.zeros(count, dtype),
            np.zeros(count, object),
            np.full(count, None, object),
            np.zeros(count, bool),
        )

    @staticmethod
    def of_numbers(numbers: Array) -> Partials:
        """Places that hold known numbers."""
        found = Partials.unknown(len(numbers), numbers.dtype)
        found.status[:] = NUMBER
        found.numbers = numbers
        return found

    @staticmethod
    def of_leaves(leaves: Array, dtype: Any) -> Partials:
        """Places that hold one leaf each, given by its number."""
        found = Partials.unknown(len(leaves), dtype)
        found.status[:] = FOLD
        found.sets[:] = [1 << int(leaf) for leaf in leaves]
        return found

    def _fields(self) -> tuple[Array, ...]:
        return self.status, self.numbers, self.sets, self.kinds, self.is_seeded

    def take(self, places: Array) -> Partials:
        """What the places of these numbers hold."""
        return Partials(*(each[places] for each in self._fields()))

    def put(self, places: Array, new: Partials) -> None:
        """Let the places of these numbers hold something else."""
        for own, other in zip(self._fields(), new._fields(), strict=True):
            own[places] = other

    def forget(self, places: Array) -> None:
        """Let nothing be known of the places."""
        self.status[places] = UNKNOWN

    def where(self, condition: Array, other: Partials) -> Partials:
        """This where the condition holds, the other where not."""
        pairs = zip(self._fields(), other._fields(), strict=True)
        return Partials(*(np.where(condition, one, two) for one, two in pairs))

    @staticmethod
    def joined(parts: Sequence[Partials]) -> Partials:
        """The places of several, one after the other."""
        return Partials(*(np.concatenate(each) for each in zip(*(part._fields() for part in parts), strict=True)))

    def viewed(self, dtype: Any) -> Partials:
        """The same bits as numbers of another type."""
        return Partials(self.status, self.numbers.view(dtype), self.sets, self.kinds, self.is_seeded)

    def combined(self, other: Partials, kind: FoldKind, op: Op | None) -> Partials:
        """Both combined, place by place. `op` is what gives the result of two numbers."""
        found = Partials.unknown(len(self.status), self.numbers.dtype)
        fits = np.array([each is None or each is kind for each in self.kinds], bool)
        fits_too = np.array([each is None or each is kind for each in other.kinds], bool)
        one, two = (self.status == FOLD) & fits, (other.status == FOLD) & fits_too
        both = one & two
        if not kind.is_idempotent:
            both &= np.array((self.sets & other.sets) == 0, bool)
        found.status[both] = FOLD
        found.sets[both] = (self.sets | other.sets)[both]
        found.kinds[both] = kind
        found.is_seeded[both] = (self.is_seeded | other.is_seeded)[both]
        for fold, is_fold, number in ((self, one, other), (other, two, self)):
            kept = is_fold & (number.status == NUMBER) & kind.is_neutral(number.numbers)
            found.put(np.flatnonzero(kept), fold.take(np.flatnonzero(kept)))
            if kind.may_be_seeded:
                found.is_seeded[kept] = True
                found.kinds[kept] = kind
        numbers = (self.status == NUMBER) & (other.status == NUMBER)
        if op is not None and numbers.any():
            found.status[numbers] = NUMBER
            found.numbers = np.asarray(op.evaluate(self.numbers, other.numbers))
        return found

    def has_folds(self, active: Array) -> bool:
        """Whether some active place holds a fold of several leaves."""
        return bool(((self.status == FOLD) & (self.kinds != None) & active).any())  # noqa: E711

    def is_known(self, active: Array) -> bool:
        """Whether something is known of some active place."""
        return bool((self.status != UNKNOWN)[active].any())
