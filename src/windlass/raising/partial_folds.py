"""What threads and cells of shared memory hold while a block folds values together: which of the values it began with.

Trees, scans and shuffles combine values step by step. However they are spelled, what a thread holds in between is a
fold of some of the leaves, which are the values that threads had before any of that. For an op that may be applied
in any order the set of leaves says all there is to say.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from windlass.ir import Op, Value
from windlass.ops.comparison import Compare
from windlass.ops.elementwise import Add, And, Or, Select
from windlass.ops.extremes import Maximum, Minimum
from windlass.ops.regions import identity_of
from windlass.raising.accumulations import COMBINERS, Combiner
from windlass.raising.items import is_float, is_integer

Array: TypeAlias = "NDArray[Any]"

UNKNOWN, NUMBER, FOLD = 0, 1, 2
"""What is known of a place: nothing, the number that it holds, the leaves whose fold it holds."""


@dataclass(frozen=True, eq=False)
class FoldKind:
    """An associative and commutative op on numbers of a type, one object each: see `the_kind`.

    With `leaves_nan` it is `fmin` or `fmax`, which prefer numbers.
    """

    combiner: Combiner
    dtype: str
    leaves_nan: bool = False

    @property
    def is_idempotent(self) -> bool:
        """Whether a leaf may be combined in more than once."""
        return self.combiner in (Maximum, Minimum, And, Or)

    @property
    def may_be_seeded(self) -> bool:
        """Whether a neutral number leaves a trace: 0.0 + -0.0 is 0.0, and fmax(-inf, NaN) is -inf."""
        return self.leaves_nan or (self.combiner is Add and is_float(self.dtype))

    def combine(self, left: Value, right: Value) -> Value:
        """The op on tensors."""
        found: Value = self.combiner(left, right)
        if self.leaves_nan:
            found = Select(Compare(right, right, "NE"), left, found)
            found = Select(Compare(left, left, "NE"), right, found)
        return found

    def is_neutral(self, numbers: Array) -> Array:
        """Which numbers change nothing else."""
        found = identity_of(self.combiner, self.dtype)
        return numbers.view(found.dtype) == found if is_integer(self.dtype) else numbers == found


@functools.cache
def the_kind(combiner: Combiner, dtype: str, leaves_nan: bool = False) -> FoldKind:
    """The one object that stands for a kind."""
    return FoldKind(combiner, dtype, leaves_nan)


def kind_of(op: Op) -> FoldKind | None:
    """What an op of two numbers folds by; None for ops that fold nothing, and those of booleans."""
    combiner = next((each for each in COMBINERS if type(op) is each), None)
    if combiner is None or not (is_float(op.dtype) or is_integer(op.dtype)):
        return None
    return the_kind(combiner, op.dtype)


def number_preferring(op: Op) -> tuple[FoldKind, Value, Value] | None:
    """`fmin` or `fmax` of two values, as a `Maximum` or `Minimum` between two tests for NaN; None for anything else."""
    if not isinstance(op, Select) or not is_float(op.dtype):
        return None
    inner = op.on_false
    if not isinstance(inner, Select):
        return None
    extreme = inner.on_false
    if not isinstance(extreme, Maximum | Minimum):
        return None
    left, right = extreme.operands
    for one, other in ((left, right), (right, left)):
        is_outer = asks_for_nan(op.pred, one) and op.on_true is other
        if is_outer and asks_for_nan(inner.pred, other) and inner.on_true is one:
            return the_kind(type(extreme), op.dtype, True), one, other
    return None


def asks_for_nan(test: Value, value: Value) -> bool:
    """Whether a test is that of a value for NaN."""
    return isinstance(test, Compare) and test.direction == "NE" and test.lhs is value and test.rhs is value


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
