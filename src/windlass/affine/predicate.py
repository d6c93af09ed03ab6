"""Conditions on points: affine comparisons, data conditions, and what `and`, `or` and `not` make of them.

A predicate is kept in negation normal form. `split` turns as much of it as possible into a box.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from windlass.affine.atoms import NOTHING, DataHandle, FloorDivide, IndexMaximum, IndexMinimum
from windlass.affine.dimensions import EVERYWHERE, Box, Dimension
from windlass.affine.index import Index

MOST_PARTS = 48
"""Conjunctions and disjunctions of more parts are not looked through for parts that make others superfluous."""


class Predicate:
    """A condition on points. Immutable and hashable. Combine with `&`, `|`, `~`; make one with `compare`.

    >>> x = Dimension("x", 10, 0)
    >>> guard = Predicate.compare("LT", Index.of(x), Index(7)) & Predicate.compare("GT", Index.of(x), Index(0))
    >>> guard.split(EVERYWHERE)
    (Box(x in [1, 7)), TRUE)
    """

    __slots__ = ()

    @staticmethod
    def compare(direction: str, left: Index, right: Index) -> Predicate:
        """`left DIRECTION right` over the whole integers; directions are EQ, NE, LT, LE, GT and GE."""
        match direction:
            case "GE":
                return at_least_zero(left - right)
            case "GT":
                return at_least_zero(left - right - 1)
            case "LE":
                return at_least_zero(right - left)
            case "LT":
                return at_least_zero(right - left - 1)
            case "EQ":
                return equals_zero(left - right)
            case "NE":
                return ~equals_zero(left - right)
            case _:
                raise ValueError(f"no comparison is called {direction}")

    @property
    def is_true(self) -> bool:
        """Whether it is known to hold everywhere."""
        return self is TRUE

    @property
    def is_false(self) -> bool:
        """Whether it is known to hold nowhere."""
        return self is FALSE

    @property
    def dimensions(self) -> frozenset[Dimension]:
        """The dimensions that it may depend on."""
        return NOTHING

    @property
    def has_data(self) -> bool:
        """Whether it is known at run time only."""
        return False

    def __and__(self, other: Predicate) -> Predicate:
        return conjunction((self, other))

    def __or__(self, other: Predicate) -> Predicate:
        return disjunction((self, other))

    def __invert__(self) -> Predicate:
        raise NotImplementedError

    def simplify(self, box: Box) -> Predicate:
        """A predicate that is the same on the box, without what the ranges in it prove."""
        return self

    def substitute(self, replacements: Mapping[Dimension, Index], box: Box = EVERYWHERE) -> Predicate:
        """With other indices in place of dimensions.

        Raises ValueError for data conditions over such a dimension.
        """
        return self

    def split(self, box: Box) -> tuple[Box, Predicate]:
        """A smaller box outside of which it never holds on `box`, and what is left to ask inside of it.

        If it holds nowhere on the box the answer is an empty box and FALSE, or the box and FALSE where no dimension
        can be emptied.
        """
        predicate = self.simplify(box)
        for _ in range(8):
            smaller = predicate.bounding_box(box)
            if predicate.is_false or smaller.is_empty:
                return smaller, FALSE
            if smaller == box:
                break
            box, predicate = smaller, predicate.simplify(smaller)
        return box, predicate

    def bounding_box(self, box: Box) -> Box:
        """A part of the box that holds every point where the predicate is true."""
        return box

    def implies(self, other: Predicate, box: Box = EVERYWHERE) -> bool:
        """Whether `other` is known to hold wherever on the box this one does; False where it can't be told."""
        parts = other.conjuncts()
        if len(parts) > 1:
            return all(self.implies(part, box) for part in parts)
        smaller, residual = self.split(box)
        if residual.is_false or other.simplify(smaller).is_true:
            return True
        return (residual & ~other).split(smaller)[1].is_false

    def at(self, point: Mapping[Dimension, int]) -> bool:
        """Whether it holds at a point.

        Raises ValueError where that is known at run time only.
        """
        raise NotImplementedError

    def conjuncts(self) -> tuple[Predicate, ...]:
        """The parts that all have to hold."""
        return (self,)


class _Truth(Predicate):
    __slots__ = ("holds",)

    def __init__(self, holds: bool) -> None:
        self.holds = holds

    def __invert__(self) -> Predicate:
        return FALSE if self.holds else TRUE

    def bounding_box(self, box: Box) -> Box:
        if self.holds:
            return box
        for dimension in box.restricted:
            return box.restrict(dimension, 0, 0)
        return box

    def at(self, point: Mapping[Dimension, int]) -> bool:
        return self.holds

    def conjuncts(self) -> tuple[Predicate, ...]:
        return () if self.holds else (self,)

    def __repr__(self) -> str:
        return "TRUE" if self.holds else "FALSE"


TRUE: Predicate = _Truth(True)
FALSE: Predicate = _Truth(False)


class _Comparison(Predicate):
    __slots__ = ("index",)

    def __init__(self, index: Index) -> None:
        self.index = index

    @property
    def dimensions(self) -> frozenset[Dimension]:
        return self.index.dimensions

    @property
    def has_data(self) -> bool:
        return not self.index.is_static

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Comparison) and type(other) is type(self) and self.index == other.index

    def __hash__(self) -> int:
        return hash((type(self), self.index))


class AtLeastZero(_Comparison):
    """`index >= 0`"""

    __slots__ = ()

    def __invert__(self) -> Predicate:
        return at_least_zero(-self.index - 1)

    def simplify(self, box: Box) -> Predicate:
        return at_least_zero(self.index.simplify(box), box)

    def substitute(self, replacements: Mapping[Dimension, Index], box: Box = EVERYWHERE) -> Predicate:
        return at_least_zero(self.index.substitute(replacements, box), box)

    def bounding_box(self, box: Box) -> Box:
        return self.index.nonnegative_part(box)

    def at(self, point: Mapping[Dimension, int]) -> bool:
        return self.index.at(point) >= 0

    def __repr__(self) -> str:
        return f"{self.index} >= 0"


class EqualsZero(_Comparison):
    """`index == 0`"""

    __slots__ = ()

    def __invert__(self) -> Predicate:
        return DiffersFromZero(self.index)

    def simplify(self, box: Box) -> Predicate:
        return equals_zero(self.index.simplify(box), box)

    def substitute(self, replacements: Mapping[Dimension, Index], box: Box = EVERYWHERE) -> Predicate:
        return equals_zero(self.index.substitute(replacements, box), box)

    def bounding_box(self, box: Box) -> Box:
        return (-self.index).nonnegative_part(self.index.nonnegative_part(box))

    def at(self, point: Mapping[Dimension, int]) -> bool:
        return self.index.at(point) == 0

    def __repr__(self) -> str:
        return f"{self.index} == 0"


class DiffersFromZero(_Comparison):
    """`index != 0`"""

    __slots__ = ()

    def __invert__(self) -> Predicate:
        return EqualsZero(self.index)

    def simplify(self, box: Box) -> Predicate:
        return ~equals_zero(self.index.simplify(box), box)

    def substitute(self, replacements: Mapping[Dimension, Index], box: Box = EVERYWHERE) -> Predicate:
        return ~equals_zero(self.index.substitute(replacements, box), box)

    def bounding_box(self, box: Box) -> Box:
        """Only an end of the range can be cut off."""
        if len(self.index.terms) != 1:
            return box
        ((atom, factor),) = self.index.terms.items()
        if not isinstance(atom, Dimension) or self.index.constant % factor:
            return box
        excluded = -self.index.constant // factor
        lower, upper = box.bounds(atom)
        if excluded == lower:
            return box.restrict(atom, lower + 1, upper)
        if excluded == upper - 1:
            return box.restrict(atom, lower, upper - 1)
        return box

    def at(self, point: Mapping[Dimension, int]) -> bool:
        return self.index.at(point) != 0

    def __repr__(self) -> str:
        return f"{self.index} != 0"


class DataCondition(Predicate):
    """A condition known at run time only, or its negation: what holds a truth value for each point."""

    __slots__ = ("handle", "is_negated")

    def __init__(self, handle: DataHandle, is_negated: bool = False) -> None:
        self.handle = handle
        self.is_negated = is_negated

    @property
    def dimensions(self) -> frozenset[Dimension]:
        return frozenset(self.handle.dims)

    @property
    def has_data(self) -> bool:
        return True

    def __invert__(self) -> Predicate:
        return DataCondition(self.handle, not self.is_negated)

    def substitute(self, replacements: Mapping[Dimension, Index], box: Box = EVERYWHERE) -> Predicate:
        if not self.dimensions.isdisjoint(replacements):
            raise ValueError(f"a condition on data can't be moved to other dimensions: {self}")
        return self

    def at(self, point: Mapping[Dimension, int]) -> bool:
        raise ValueError(f"{self} is known at run time only")

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, DataCondition)
            and self.handle.identity == other.handle.identity
            and self.is_negated == other.is_negated
        )

    def __hash__(self) -> int:
        return hash((DataCondition, self.handle.identity, self.is_negated))

    def __repr__(self) -> str:
        return f"{'not ' if self.is_negated else ''}{self.handle}"


class Combination(Predicate):
    """Base of what is made of several parts."""

    __slots__ = ("_hash", "parts")
    joint = ""

    def __init__(self, parts: tuple[Predicate, ...]) -> None:
        self.parts = parts
        self._hash = hash((type(self), frozenset(parts)))

    @property
    def dimensions(self) -> frozenset[Dimension]:
        return NOTHING.union(*(part.dimensions for part in self.parts))

    @property
    def has_data(self) -> bool:
        return any(part.has_data for part in self.parts)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Combination)
            and type(other) is type(self)
            and self._hash == other._hash
            and frozenset(self.parts) == frozenset(other.parts)
        )

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        return f"({self.joint.join(map(repr, self.parts))})"


class Conjunction(Combination):
    """All parts hold."""

    __slots__ = ()
    joint = " and "

    def __invert__(self) -> Predicate:
        return disjunction(~part for part in self.parts)

    def conjuncts(self) -> tuple[Predicate, ...]:
        return self.parts

    def simplify(self, box: Box) -> Predicate:
        return conjunction(part.simplify(box) for part in self.parts)

    def substitute(self, replacements: Mapping[Dimension, Index], box: Box = EVERYWHERE) -> Predicate:
        return conjunction(part.substitute(replacements, box) for part in self.parts)

    def bounding_box(self, box: Box) -> Box:
        for part in self.parts:
            box = part.bounding_box(box)
            if box.is_empty:
                break
        return box

    def at(self, point: Mapping[Dimension, int]) -> bool:
        return all(part.at(point) for part in self.parts)


class Disjunction(Combination):
    """Some part holds."""

    __slots__ = ()
    joint = " or "

    def __invert__(self) -> Predicate:
        return conjunction(~part for part in self.parts)

    def simplify(self, box: Box) -> Predicate:
        return disjunction(part.simplify(box) for part in self.parts)

    def substitute(self, replacements: Mapping[Dimension, Index], box: Box = EVERYWHERE) -> Predicate:
        return disjunction(part.substitute(replacements, box) for part in self.parts)

    def bounding_box(self, box: Box) -> Box:
        boxes: list[Box] = []
        for part in self.parts:
            smaller, residual = part.split(box)
            if not residual.is_false:
                boxes.append(smaller)
        if not boxes:
            return FALSE.bounding_box(box)
        hull = boxes[0]
        for each in boxes[1:]:
            hull = hull.hull(each)
        return hull.intersect(box)

    def at(self, point: Mapping[Dimension, int]) -> bool:
        return any(part.at(point) for part in self.parts)


# -- making predicates ------------------------------------------------------------------------------------------------


def at_least_zero(index: Index, box: Box = EVERYWHERE) -> Predicate:
    """`index >= 0`, in its simplest form for the points of the box."""
    lower, upper = index.value_range(box)
    if lower >= 0:
        return TRUE
    if upper < 0:
        return FALSE
    common = math.gcd(*index.terms.values())
    if common > 1:
        index = Index(index.constant // common, {atom: factor // common for atom, factor in index.terms.items()})
    if len(index.terms) == 1:
        ((atom, factor),) = index.terms.items()
        bound = index.constant
        # The factor is 1 or -1: the atom is at least -bound, or at most bound.
        match atom:
            case FloorDivide() if factor == 1:
                return at_least_zero(atom.operand + bound * atom.divisor, box)
            case FloorDivide():
                return at_least_zero(-atom.operand + (bound + 1) * atom.divisor - 1, box)
            case IndexMinimum() | IndexMaximum():
                sides = [at_least_zero(part.scale(factor) + bound, box) for part in (atom.left, atom.right)]
                needs_both = isinstance(atom, IndexMinimum) == (factor == 1)
                return conjunction(sides) if needs_both else disjunction(sides)
            case _:
                pass
    return AtLeastZero(index)


def equals_zero(index: Index, box: Box = EVERYWHERE) -> Predicate:
    """`index == 0`, in its simplest form for the points of the box."""
    lower, upper = index.value_range(box)
    if lower == upper == 0:
        return TRUE
    if lower > 0 or upper < 0:
        return FALSE
    common = math.gcd(*index.terms.values())
    if index.constant % common:
        return FALSE
    if next(iter(index.terms.values())) < 0:
        common = -common
    index = Index(index.constant // common, {atom: factor // common for atom, factor in index.terms.items()})
    if len(index.terms) == 1:
        ((atom, _),) = index.terms.items()
        if isinstance(atom, FloorDivide):
            least = atom.operand + index.constant * atom.divisor
            return at_least_zero(least, box) & at_least_zero(-least + atom.divisor - 1, box)
    lower, upper = index.value_range(box)
    if lower == 0:
        return at_least_zero(-index, box)
    if upper == 0:
        return at_least_zero(index, box)
    return EqualsZero(index)


def conjunction(parts: Iterable[Predicate]) -> Predicate:
    """All of the parts hold."""
    kept: dict[Predicate, None] = {}
    for part in parts:
        for each in part.conjuncts():
            if each.is_false:
                return FALSE
            kept[each] = None
    return _assemble(list(kept), FALSE, TRUE)


def disjunction(parts: Iterable[Predicate]) -> Predicate:
    """Some of the parts holds."""
    kept: dict[Predicate, None] = {}
    for part in parts:
        for each in part.parts if isinstance(part, Disjunction) else (part,):
            if each.is_true:
                return TRUE
            if not each.is_false:
                kept[each] = None
    return _assemble(list(kept), TRUE, FALSE)


def _assemble(parts: list[Predicate], absorbing: Predicate, neutral: Predicate) -> Predicate:
    """A combination without superfluous parts. `absorbing` is what makes it all trivial: FALSE in a conjunction."""
    is_conjunction = absorbing is FALSE
    if 1 < len(parts) <= MOST_PARTS:
        reduced = _drop_superfluous(parts, is_conjunction)
        if reduced is None:
            return absorbing
        if reduced != parts:
            return conjunction(reduced) if is_conjunction else disjunction(reduced)
        if not is_conjunction:
            factored = _factor(parts)
            if factored is not None:
                return factored
    if not parts:
        return neutral
    if len(parts) == 1:
        return parts[0]
    return Conjunction(tuple(parts)) if is_conjunction else Disjunction(tuple(parts))


def _factor(parts: list[Predicate]) -> Predicate | None:
    """(a and b) or (a and c) = a and (b or c)"""
    shared = set(parts[0].conjuncts())
    for part in parts[1:]:
        shared &= set(part.conjuncts())
    if not shared:
        return None
    rests = [conjunction(each for each in part.conjuncts() if each not in shared) for part in parts]
    ordered = [each for each in parts[0].conjuncts() if each in shared]
    return conjunction([*ordered, disjunction(rests)])


# -- what others make superfluous, contradict or complete ---------------------------------------------------------


def _drop_superfluous(parts: list[Predicate], is_conjunction: bool) -> list[Predicate] | None:
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
