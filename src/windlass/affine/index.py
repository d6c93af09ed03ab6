"""Exact integer expressions over dimensions: sums of multiples of atoms, kept in a form in which equals compare equal.

An `Index` is `constant + Σ coefficient·atom`. An atom is a dimension, a traced scalar, a data-dependent integer, or
one of FloorDivide, Modulo, IndexMinimum, IndexMaximum and Choice over smaller indices. All arithmetic is over the whole
integers: who builds an index has to see to it (with `value_range`) that the machine's own does not wrap around.

Nothing here takes time in proportion to the sizes of dimensions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TypeAlias

from windlass.affine.atoms import (
    NOTHING,
    Atom,
    Choice,
    Data,
    FloorDivide,
    IndexMaximum,
    IndexMinimum,
    Modulo,
    RuntimeScalar,
    dimensions_of,
    parts_of,
)
from windlass.affine.dimensions import EVERYWHERE, Box, Dimension

Range: TypeAlias = "tuple[int, int]"
"""The least and the greatest value, both included."""


class Index:
    """An exact quasi-affine integer. Immutable and hashable.

    >>> g = Index.of(Dimension("g", 1024, 0))
    >>> g.floor_divide(32).scale(32) + g.modulo(32) == g
    True
    >>> (g.modulo(32) + 5).value_range()
    (5, 36)
    """

    __slots__ = ("_dimensions", "_hash", "_known_ranges", "_weight", "constant", "terms")

    def __init__(self, constant: int = 0, terms: Mapping[Atom, int] | None = None) -> None:
        self.constant = constant
        self.terms: Mapping[Atom, int] = {} if terms is None else terms
        self._hash: int | None = None
        self._dimensions: frozenset[Dimension] | None = None
        self._known_ranges: dict[Box, Range] = {}
        self._weight: int | None = None

    @staticmethod
    def of(atom: Atom) -> Index:
        """The index that is just this atom. A dimension of one value is 0."""
        if isinstance(atom, Dimension) and atom.size == 1:
            return ZERO
        if isinstance(atom, RuntimeScalar | Data) and atom.lower == atom.upper:
            return Index(atom.lower)
        return Index(0, {atom: 1})

    # -- what it is -----------------------------------------------------------------------------------------------

    @property
    def constant_value(self) -> int | None:
        """The value, if it is the same known number for all points."""
        return None if self.terms else self.constant

    @property
    def dimensions(self) -> frozenset[Dimension]:
        """The dimensions that the value may depend on."""
        if self._dimensions is None:
            result = NOTHING
            for atom in self.terms:
                result |= dimensions_of(atom)
            self._dimensions = result
        return self._dimensions

    @property
    def weight(self) -> int:
        """How many terms it has, those inside its atoms counted: what it costs to look at it."""
        if self._weight is None:
            self._weight = sum(1 + sum(part.weight for part in parts_of(atom)) for atom in self.terms)
        return self._weight

    @property
    def is_static(self) -> bool:
        """Whether the value is known without running the program: no scalars and no data in it."""
        return all(
            not isinstance(atom, RuntimeScalar | Data) and all(part.is_static for part in parts_of(atom))
            for atom in self.terms
        )

    @property
    def has_data(self) -> bool:
        """Whether some part differs between points in a way that is known at run time only."""
        return any(isinstance(atom, Data) or any(part.has_data for part in parts_of(atom)) for atom in self.terms)

    def value_range(self, box: Box = EVERYWHERE) -> Range:
        """Bounds of the values over a box, both included; exact where every dimension appears in one term only."""
        known = self._known_ranges.get(box)
        if known is not None:
            return known
        lower = upper = self.constant
        for atom, coefficient in self.terms.items():
            least, most = range_of(atom, box)
            if coefficient < 0:
                least, most = most, least
            lower += coefficient * least
            upper += coefficient * most
        self._known_ranges[box] = (lower, upper)
        return lower, upper

    def at(self, point: Mapping[Dimension, int]) -> int:
        """The value at one point.

        Raises ValueError where it depends on run-time values.
        """
        return self.constant + sum(coefficient * _value_at(atom, point) for atom, coefficient in self.terms.items())

    # -- arithmetic -----------------------------------------------------------------------------------------------

    def __add__(self, other: Index | int) -> Index:
        if isinstance(other, int):
            return Index(self.constant + other, self.terms) if other else self
        if not other.terms:
            return self + other.constant
        if not self.terms:
            return other + self.constant
        return _recombine(_sum(self, other))

    def __sub__(self, other: Index | int) -> Index:
        return self + -other

    def __neg__(self) -> Index:
        return self.scale(-1)

    def scale(self, factor: int) -> Index:
        """The index times a number."""
        if factor == 1:
            return self
        if factor == 0:
            return ZERO
        return Index(self.constant * factor, {atom: coefficient * factor for atom, coefficient in self.terms.items()})

    def multiply(self, other: Index) -> Index | None:
        """The product, or None where neither factor is a constant."""
        if not other.terms:
            return self.scale(other.constant)
        if not self.terms:
            return other.scale(self.constant)
        return None

    def floor_divide(self, divisor: int, box: Box = EVERYWHERE) -> Index:
        """The quotient rounded down; the divisor is positive. It need hold over the box only."""
        return divide(self, divisor, box)[0]

    def modulo(self, divisor: int, box: Box = EVERYWHERE) -> Index:
        """What `floor_divide` leaves: in [0, divisor). It need hold over the box only."""
        return divide(self, divisor, box)[1]

    def minimum(self, other: Index, box: Box = EVERYWHERE) -> Index:
        """The smaller of both. It need hold over the box only."""
        return _extremum(IndexMinimum, self, other, box)

    def maximum(self, other: Index, box: Box = EVERYWHERE) -> Index:
        """The greater of both. It need hold over the box only."""
        return _extremum(IndexMaximum, self, other, box)

    @staticmethod
    def choose(condition: Index, left: Index, right: Index, box: Box = EVERYWHERE) -> Index:
        """`left` where `condition >= 0`, else `right`. It need hold over the box only."""
        return _choose(condition, left, right, box)

    # -- change ---------------------------------------------------------------------------------------------------

    def simplify(self, box: Box) -> Index:
        """An index with the same values over the box, as simple as the ranges in it allow."""

        def leaf(atom: Atom) -> Index:
            if isinstance(atom, Dimension) and box.extent(atom) == 1:
                return Index(box.lower(atom))
            return Index.of(atom)

        return self.rebuild(leaf, box)

    def substitute(self, replacements: Mapping[Dimension, Index], box: Box = EVERYWHERE) -> Index:
        """The index with other indices in place of dimensions. It need hold over the box (of the new ones) only.

        Data atoms keep their dimensions.
        """
        if self.dimensions.isdisjoint(replacements):
            return self

        def leaf(atom: Atom) -> Index:
            if isinstance(atom, Dimension) and atom in replacements:
                return replacements[atom]
            return Index.of(atom)

        return self.rebuild(leaf, box)

    def rebuild(self, leaf: Callable[[Atom], Index], box: Box = EVERYWHERE) -> Index:
        """Build the index anew from its leaves (dimensions, scalars, data), simplifying over the box on the way."""
        result = Index(self.constant)
        for atom, coefficient in self.terms.items():
            match atom:
                case FloorDivide():
                    new = atom.operand.rebuild(leaf, box).floor_divide(atom.divisor, box)
                case Modulo():
                    new = atom.operand.rebuild(leaf, box).modulo(atom.divisor, box)
                case IndexMinimum():
                    new = atom.left.rebuild(leaf, box).minimum(atom.right.rebuild(leaf, box), box)
                case IndexMaximum():
                    new = atom.left.rebuild(leaf, box).maximum(atom.right.rebuild(leaf, box), box)
                case Choice():
                    condition = atom.condition.rebuild(leaf, box)
                    new = Index.choose(condition, atom.left.rebuild(leaf, box), atom.right.rebuild(leaf, box), box)
                case _:
                    new = leaf(atom)
            result = result + new.scale(coefficient)
        return result

    def nonnegative_part(self, box: Box) -> Box:
        """The smallest box known to hold every point of `box` at which the index is >= 0 (it may hold more points).

        >>> x, y = Dimension("x", 8, 1), Dimension("y", 8, 0)
        >>> (Index(19) - Index.of(y).scale(8) - Index.of(x)).nonnegative_part(EVERYWHERE)
        Box(y in [0, 3))
        """
        for _ in range(4):
            before = box
            for atom, coefficient in self.terms.items():
                if not isinstance(atom, Dimension):
                    continue
                lower, upper = box.bounds(atom)
                if upper <= lower:
                    return box
                most = self.value_range(box)[1] - max(coefficient * lower, coefficient * (upper - 1))
                # The others give at most `most`, so that coefficient*atom + most >= 0 has to hold.
                if coefficient > 0:
                    box = box.restrict(atom, -(most // coefficient), upper)
                else:
                    box = box.restrict(atom, lower, most // -coefficient + 1)
            if box == before:
                break
        return box

    # -- identity -------------------------------------------------------------------------------------------------

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Index) and self.constant == other.constant and self.terms == other.terms

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash((self.constant, frozenset(self.terms.items())))
        return self._hash

    def __repr__(self) -> str:
        pieces = [f"{atom}" if factor == 1 else f"{factor}*{atom}" for atom, factor in self.terms.items()]
        if self.constant or not pieces:
            pieces.append(str(self.constant))
        return " + ".join(pieces).replace("+ -", "- ")


ZERO = Index(0)
ONE = Index(1)


def range_of(atom: Atom, box: Box) -> Range:
    """Bounds of an atom's values over a box, both included."""
    match atom:
        case Dimension():
            lower, upper = box.bounds(atom)
            return lower, max(upper - 1, lower)
        case RuntimeScalar() | Data():
            return atom.lower, atom.upper
        case FloorDivide():
            lower, upper = atom.operand.value_range(box)
            return lower // atom.divisor, upper // atom.divisor
        case Modulo():
            lower, upper = atom.operand.value_range(box)
            start = lower - lower % atom.divisor
            if upper < start + atom.divisor:
                return lower - start, upper - start
            return 0, atom.divisor - 1
        case IndexMinimum() | IndexMaximum():
            one, other = atom.left.value_range(box), atom.right.value_range(box)
            pick = min if isinstance(atom, IndexMinimum) else max
            return pick(one[0], other[0]), pick(one[1], other[1])
        case Choice():
            left_box, right_box = atom.condition.nonnegative_part(box), (-atom.condition - 1).nonnegative_part(box)
            ranges = [
                index.value_range(part)
                for index, part in ((atom.left, left_box), (atom.right, right_box))
                if not part.is_empty
            ] or [atom.left.value_range(box)]
            return min(lower for lower, _ in ranges), max(upper for _, upper in ranges)


def _value_at(atom: Atom, point: Mapping[Dimension, int]) -> int:
    match atom:
        case Dimension():
            return point[atom]
        case RuntimeScalar() | Data():
            raise ValueError(f"{atom} is known at run time only")
        case FloorDivide():
            return atom.operand.at(point) // atom.divisor
        case Modulo():
            return atom.operand.at(point) % atom.divisor
        case IndexMinimum():
            return min(atom.left.at(point), atom.right.at(point))
        case IndexMaximum():
            return max(atom.left.at(point), atom.right.at(point))
        case Choice():
            return atom.left.at(point) if atom.condition.at(point) >= 0 else atom.right.at(point)


def _sum(left: Index, right: Index) -> Index:
    terms = dict(left.terms)
    for atom, coefficient in right.terms.items():
        total = terms.get(atom, 0) + coefficient
        if total:
            terms[atom] = total
        else:
            del terms[atom]
    return Index(left.constant + right.constant, terms)


# -- quotients and remainders -----------------------------------------------------------------------------------------


def divide(index: Index, divisor: int, box: Box) -> tuple[Index, Index]:
    """Quotient and remainder, `index = divisor*quotient + remainder`, for values over the box."""
    if divisor <= 0:
        raise ValueError(f"the divisor must be positive, got {divisor}")
    if divisor == 1:
        return index, ZERO
    whole = Index(0, {atom: factor // divisor for atom, factor in index.terms.items() if factor % divisor == 0})
    rest = {atom: factor for atom, factor in index.terms.items() if factor % divisor}
    # index = divisor*whole + common*inner + left, with 0 <= left < common
    common = math.gcd(divisor, *rest.values())
    left = index.constant % common
    shift, constant = divmod(index.constant // common, divisor // common)
    inner = Index(constant, {atom: factor // common for atom, factor in rest.items()})
    quotient, remainder = _divide_inner(inner, divisor // common, box)
    return whole + quotient + shift, remainder.scale(common) + left


def _divide_inner(index: Index, divisor: int, box: Box) -> tuple[Index, Index]:
    """As `divide`, for coefficients and divisor without a common factor."""
    lower, upper = index.value_range(box)
    if lower // divisor == upper // divisor:
        return Index(lower // divisor), index - lower // divisor * divisor
    by_radix = _divide_by_radix(index, divisor, box)
    if by_radix is not None:
        return by_radix
    quotient, remainder = Index(0, {FloorDivide(index, divisor): 1}), None
    if len(index.terms) == 1:
        ((atom, factor),) = index.terms.items()
        if factor == 1 and isinstance(atom, FloorDivide):
            # (x floordiv a + c) floordiv b = (x + a*c) floordiv (a*b)
            quotient = (atom.operand + atom.divisor * index.constant).floor_divide(atom.divisor * divisor, box)
        elif factor == 1 and isinstance(atom, Modulo) and atom.divisor % divisor == 0 and index.constant == 0:
            # (x mod a) floordiv b = (x floordiv b) mod (a/b)
            quotient = atom.operand.floor_divide(divisor, box).modulo(atom.divisor // divisor, box)
    flat = index
    for atom, factor in index.terms.items():
        if isinstance(atom, Modulo) and (factor * atom.divisor) % divisor == 0:
            flat = _sum(flat, _sum(Index(0, {atom: -factor}), atom.operand.scale(factor)))
    if flat is not index:
        remainder = flat.modulo(divisor, box)
    return quotient, remainder if remainder is not None else Index(0, {Modulo(index, divisor): 1})


def _divide_by_radix(index: Index, divisor: int, box: Box) -> tuple[Index, Index] | None:
    """(r*a + b) divided by r*m, where b stays within one multiple of r: the quotient is that of a by m."""
    radices = {math.gcd(divisor, factor) for factor in index.terms.values()} - {1, divisor}
    for radix in sorted(radices, reverse=True):
        high = Index(0, {atom: factor // radix for atom, factor in index.terms.items() if factor % radix == 0})
        low = Index(index.constant, {atom: factor for atom, factor in index.terms.items() if factor % radix})
        lower, upper = low.value_range(box)
        if lower // radix == upper // radix:
            quotient, remainder = divide(high + lower // radix, divisor // radix, box)
            return quotient, remainder.scale(radix) + (low - lower // radix * radix)
    return None


def _recombine(index: Index) -> Index:
    """Put quotients and remainders of the same number back together, where that leaves fewer of them."""
    if sum(isinstance(atom, FloorDivide | Modulo) for atom in index.terms) == 0:
        return index
    changed = True
    while changed:
        changed = False
        for atom, factor in tuple(index.terms.items()):
            new = None
            if isinstance(atom, Modulo):
                new = _recombine_remainder(index, atom, factor)
            elif isinstance(atom, FloorDivide):
                new = _recombine_quotient(index, atom, factor)
            if new is not None:
                index, changed = new, True
                break
    return index


def _recombine_remainder(index: Index, atom: Modulo, factor: int) -> Index | None:
    """c*(x mod k) + c*k*(x floordiv k) = c*x, and c*(x mod k) + c*k*((x floordiv k) mod m) = c*(x mod k*m)."""
    if len(index.terms) < 2:
        return None
    quotient = atom.operand.floor_divide(atom.divisor)
    inner = [part for part in quotient.terms if isinstance(part, FloorDivide | Modulo)]
    if inner and all(index.terms.get(part) == factor * atom.divisor * quotient.terms[part] for part in inner):
        rest = _sum(index, Index(0, {atom: -factor}))
        rest = _sum(rest, quotient.scale(-factor * atom.divisor))
        return _sum(rest, atom.operand.scale(factor))
    for other, other_factor in index.terms.items():
        if (
            isinstance(other, Modulo)
            and other is not atom
            and other_factor == factor * atom.divisor
            and quotient.modulo(other.divisor) == Index(0, {other: 1})
        ):
            rest = _sum(index, Index(0, {atom: -factor, other: -other_factor}))
            return _sum(rest, atom.operand.modulo(atom.divisor * other.divisor).scale(factor))
    return None


def _recombine_quotient(index: Index, atom: FloorDivide, factor: int) -> Index | None:
    """c*x - c*k*(x floordiv k) = c*(x mod k)"""
    if factor % atom.divisor:
        return None
    multiple = -factor // atom.divisor
    if any(index.terms.get(part) != multiple * each for part, each in atom.operand.terms.items()):
        return None
    rest = _sum(index, Index(0, {atom: -factor}))
    rest = _sum(rest, atom.operand.scale(-multiple))
    return _sum(rest, atom.operand.modulo(atom.divisor).scale(multiple))


# -- minima, maxima and choices ---------------------------------------------------------------------------------------


def _take_common(left: Index, right: Index) -> tuple[Index, Index, Index]:
    """Terms that both have, and what is left of each. Constants go so that one that stands alone stays as it is."""
    shared = {atom: factor for atom, factor in left.terms.items() if right.terms.get(atom) == factor}
    left_terms = {atom: factor for atom, factor in left.terms.items() if atom not in shared}
    right_terms = {atom: factor for atom, factor in right.terms.items() if atom not in shared}
    if not left_terms and right_terms:
        constant = right.constant
    elif not right_terms and left_terms:
        constant = left.constant
    else:
        constant = min(left.constant, right.constant)
    return (
        Index(constant, shared),
        Index(left.constant - constant, left_terms),
        Index(right.constant - constant, right_terms),
    )


def _take_factor(left: Index, right: Index) -> tuple[int, Index, Index]:
    """The greatest number that divides both, and what is left of each."""
    factor = math.gcd(left.constant, right.constant, *left.terms.values(), *right.terms.values())
    if factor < 2:
        return 1, left, right
    return factor, _divide_exactly(left, factor), _divide_exactly(right, factor)


def _divide_exactly(index: Index, factor: int) -> Index:
    return Index(index.constant // factor, {atom: each // factor for atom, each in index.terms.items()})


def _extremum(kind: type[IndexMinimum | IndexMaximum], left: Index, right: Index, box: Box) -> Index:
    lower, upper = (left - right).value_range(box)
    if lower >= 0:
        return right if kind is IndexMinimum else left
    if upper <= 0:
        return left if kind is IndexMinimum else right
    common, left, right = _take_common(left, right)
    factor, left, right = _take_factor(left, right)
    return common + Index(0, {kind(left, right): factor})


def _choose(condition: Index, left: Index, right: Index, box: Box) -> Index:
    lower, upper = condition.value_range(box)
    if lower >= 0:
        return left
    if upper < 0:
        return right
    left_box, right_box = condition.nonnegative_part(box), (-condition - 1).nonnegative_part(box)
    if left_box.is_empty:
        return right
    if right_box.is_empty:
        return left
    left, right = left.simplify(left_box), right.simplify(right_box)
    if left == right:
        return left
    difference = left - right
    # At equality both sides are the same, so that it does not matter which one is taken there.
    if difference in (condition, condition + 1):
        return left.maximum(right, box)
    if -difference in (condition, condition + 1):
        return left.minimum(right, box)
    common, left, right = _take_common(left, right)
    factor, left, right = _take_factor(left, right)
    return common + Index(0, {Choice(condition, left, right): factor})
