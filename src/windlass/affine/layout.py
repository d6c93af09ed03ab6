"""Which axes an index runs along: flat memory is seen as an array whose axes the index goes through one by one.

`find_layout` cuts memory into rows of various lengths and asks of each cut what the access along every axis then is.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from windlass.affine.dimensions import Box, Dimension, in_order
from windlass.affine.index import Atom, Data, Index, RuntimeScalar, dimensions_of, parts_of
from windlass.affine.pieces import Piece, affine_pieces
from windlass.affine.predicate import Predicate, at_least_zero

MOST_CUTS = 8
"""How many row lengths are tried at each level."""


@dataclass(frozen=True)
class Point:
    """The same place for all lanes."""

    position: int


@dataclass(frozen=True)
class Line:
    """Places one after another, `step` apart, from `first`: one for each point of `dims`, the last running fastest.

    `reversed` are those of the dimensions that run downward. Places outside of the axis are of no interest.
    """

    first: int
    step: int
    dims: tuple[Dimension, ...]
    reversed: tuple[Dimension, ...]


@dataclass(frozen=True)
class Segments:
    """Affine pieces over one dimension; what is between them is of no interest. All places are inside of the axis."""

    dimension: Dimension
    pieces: tuple[Piece, ...]


@dataclass(frozen=True)
class Window:
    """A part of the axis, of known size, that starts at a place known at run time only; `inner` is the way within."""

    start: Index
    size: int
    inner: Point | Line | Segments


@dataclass(frozen=True)
class Take:
    """Any place for each lane."""

    index: Index


Way: TypeAlias = "Point | Line | Segments | Window | Take"


@dataclass(frozen=True)
class Axis:
    """An axis of `size`, and how lanes go along it."""

    size: int
    way: Way

    @property
    def dims(self) -> tuple[Dimension, ...]:
        """The dimensions that go along this axis, in the order in which the access gives them."""
        match self.way:
            case Line():
                return self.way.dims
            case Segments():
                return (self.way.dimension,)
            case Window():
                return Axis(self.way.size, self.way.inner).dims
            case Take():
                return in_order(self.way.index.dimensions)
            case Point():
                return ()

    @property
    def cost(self) -> int:
        """A rough order of preference."""
        match self.way:
            case Point():
                return 0
            case Line():
                return 2 if self.way.step == 1 else 3
            case Segments():
                return 3 * len(self.way.pieces)
            case Window():
                return 2 + Axis(self.way.size, self.way.inner).cost
            case Take():
                return 60 + 5 * len(self.way.index.dimensions)


@dataclass(frozen=True)
class Layout:
    """Memory from word `start` on, with zeros where that is beyond its ends, in the shape of the axes."""

    start: int
    axes: tuple[Axis, ...]

    @property
    def count(self) -> int:
        return math.prod(axis.size for axis in self.axes)

    @property
    def is_whole(self) -> bool:
        """Whether no lane needs an index tensor."""
        return not any(isinstance(axis.way, Take) for axis in self.axes)

    def cost(self, memory_size: int) -> int:
        """A rough order of preference: gathers are worst, then copies of memory to make the rows fit."""
        total = sum(axis.cost for axis in self.axes)
        if self.start or self.start + self.count > memory_size:
            total += 4
        elif self.count < memory_size:
            total += 1
        return total


@dataclass(frozen=True)
class AccessingLanes:
    """What is known of the lanes that access memory.

    `mask` holds at all active lanes (it may hold at others too); `all_active` says that every lane of the box is.
    `splits_strides` asks that a stride be an axis of its own where it can: good for writing.
    """

    box: Box
    mask: Predicate
    all_active: bool
    row_strides: tuple[int, ...] = ()
    splits_strides: bool = False


def find_layout(index: Index, size: int, access: AccessingLanes) -> Layout:
    """The best way found to go through flat memory of `size` words. The index is simplified over the box already."""
    groups = _groups(index)
    best = Layout(0, (Axis(size, find_way(index, size, access)),))
    if len(groups) < 2 and not (access.splits_strides and groups):
        return best
    best_cost = best.cost(size) + _strain(best, access)
    for width in _widths(groups, size, access):
        for layout in _layouts_of_rows(groups, index.constant, size, width, access):
            cost = layout.cost(size) + _strain(layout, access)
            if cost < best_cost:
                best, best_cost = layout, cost
    return best


def _strain(layout: Layout, access: AccessingLanes) -> int:
    """What it costs that the mask asks something of some of a line's dimensions: it is no box on the line then."""
    strain = 0
    for axis in layout.axes:
        if isinstance(axis.way, Line) and len(axis.way.dims) > 1:
            own = frozenset(axis.way.dims)
            asked = [part.dimensions & own for part in access.mask.conjuncts()]
            strain += 3 * any(each and each != own for each in asked)
    return strain


def is_uniform(atom: Atom) -> bool:
    """Whether the atom is a run-time number that is the same for all lanes."""
    return isinstance(atom, RuntimeScalar) or (isinstance(atom, Data) and not atom.handle.dims)


# -- groups of terms --------------------------------------------------------------------------------------------------


def _groups(index: Index) -> list[Index]:
    """The terms of the index, without the constant, in groups that share no dimension."""
    groups: list[tuple[frozenset[Dimension], dict[Atom, int]]] = []
    for atom, factor in index.terms.items():
        dims, terms = dimensions_of(atom), {atom: factor}
        apart: list[tuple[frozenset[Dimension], dict[Atom, int]]] = []
        for other_dims, other_terms in groups:
            if dims & other_dims:
                dims, terms = dims | other_dims, {**other_terms, **terms}
            else:
                apart.append((other_dims, other_terms))
        groups = [*apart, (dims, terms)]
    return [Index(0, terms) for _, terms in groups]


def _common_factor(index: Index) -> int:
    return math.gcd(*index.terms.values())


def _total(groups: Iterable[Index], constant: int) -> Index:
    terms: dict[Atom, int] = {}
    for group in groups:
        terms.update(group.terms)
    return Index(constant, terms)


def _widths(groups: Sequence[Index], size: int, access: AccessingLanes) -> list[int]:
    """Row lengths worth trying, long ones first: declared ones, then common factors."""
    factors = sorted({_common_factor(group) for group in groups}, reverse=True)
    candidates = dict.fromkeys([*sorted(access.row_strides, reverse=True), *factors])
    for factor in factors:
        whole = math.gcd(*(each for each in factors if each >= factor))
        candidates[whole] = None
    return [width for width in candidates if 1 < width < size][:MOST_CUTS]


# -- cutting into rows ------------------------------------------------------------------------------------------------


def _layouts_of_rows(
    groups: list[Index], constant: int, size: int, width: int, access: AccessingLanes
) -> Iterable[Layout]:
    """Layouts of flat memory in rows of `width`."""
    outer, inner = _parted(groups, width)
    if not outer:
        return
    along = _total(inner, constant)
    shift = 0
    row = _row_of(along, width, access)
    if row is None:
        lower, upper = _range(along, access.box)
        if upper - lower >= width:
            return
        shift = lower % width
        row = (lower - shift) // width
    rows_index = _total([_divided(group, width) for group in outer], row)
    if shift and _range(rows_index, access.box)[0] < 0:
        # Words before the shifted start may be wanted: begin one row earlier.
        shift, row, rows_index = shift - width, row + 1, rows_index + 1
    rows = (size - shift) // width
    if (size - shift) % width and _range(rows_index, access.box)[1] >= rows:
        rows += 1
    if rows == 0:
        return
    for outer_axes in _cuts(outer, width, row, rows, access):
        for inner_axes in _cuts(inner, 1, along.constant - row * width - shift, width, access):
            yield Layout(shift, (*outer_axes, *inner_axes))


def _parted(groups: list[Index], width: int) -> tuple[list[Index], list[Index]]:
    outer = [group for group in groups if _common_factor(group) % width == 0]
    inner = [group for group in groups if _common_factor(group) % width]
    return outer, inner


def _divided(group: Index, width: int) -> Index:
    return Index(group.constant // width, {atom: factor // width for atom, factor in group.terms.items()})


def _range(index: Index, box: Box) -> tuple[int, int]:
    """Bounds as `value_range` gives them, but exact for terms that share one dimension: x - 1 + (1 if x < 1 else 0)."""
    lower = upper = index.constant
    for group in _groups(index):
        least, most = group.value_range(box)
        if len(group.terms) > 1 and len(group.dimensions) == 1:
            (dimension,) = group.dimensions
            pieces = affine_pieces(group, dimension, *box.bounds(dimension))
            if pieces is not None:
                least, most = min(piece.least for piece in pieces), max(piece.most for piece in pieces)
        lower += least
        upper += most
    return lower, upper


def _row_of(along: Index, width: int, access: AccessingLanes) -> int | None:
    """The one row in which all active lanes are, so far as the terms within a row say; None where there may be more."""
    lower, upper = _range(along, access.box)
    if lower // width == upper // width:
        return lower // width
    if access.mask.is_true or upper // width - lower // width > 2:
        return None
    for row in range(lower // width, upper // width + 1):
        inside = at_least_zero(along - row * width) & at_least_zero(-along + ((row + 1) * width - 1))
        if access.mask.implies(inside, access.box):
            return row
    return None


def _cuts(groups: list[Index], unit: int, constant: int, size: int, access: AccessingLanes) -> list[tuple[Axis, ...]]:
    """Ways to go along an axis of `size` places, `unit` apart in the groups' terms: whole, or cut further."""
    divided = [_divided(group, unit) for group in groups]
    way = find_way(_total(divided, constant), size, access)
    found: list[tuple[Axis, ...]] = [(Axis(size, way),)]
    strided = access.splits_strides and isinstance(way, Line) and way.step > 1
    if not isinstance(way, Take) and not strided:
        return found
    for width in _widths(divided, size, access):
        outer, inner = _parted(divided, width)
        if size % width or not outer or not (inner or strided):
            continue
        along = _total(inner, constant)
        row = _row_of(along, width, access)
        if row is None:
            continue
        for outer_axes in _cuts(outer, width, row, size // width, access):
            for inner_axes in _cuts(inner, 1, along.constant - row * width, width, access):
                found.append((*outer_axes, *inner_axes))
    return found[:MOST_CUTS]


# -- the way along one axis -------------------------------------------------------------------------------------------


def find_way(index: Index, size: int, access: AccessingLanes) -> Way:
    """How lanes go along an axis of `size`, at places `index`; those outside of the axis are of inactive lanes."""
    uniform = Index(0, {atom: factor for atom, factor in index.terms.items() if is_uniform(atom)})
    if uniform.terms:
        return _moving_way(index, uniform, size, access) or Take(index)
    return _static_way(index, size, access) or Take(index)


def _static_way(index: Index, size: int, access: AccessingLanes) -> Point | Line | Segments | None:
    if not index.terms:
        # All lanes share one place: outside of the axis none of them is active.
        return Point(min(max(index.constant, 0), size - 1))
    line = _line(index, access.box)
    if line is not None:
        return line
    if len(index.dimensions) == 1:
        return _segments(index, size, access)
    return None


def _line(index: Index, box: Box) -> Line | None:
    """Affine terms whose strides nest without gaps: the flat order of an array."""
    strides: list[tuple[Dimension, int]] = []
    for atom, factor in index.terms.items():
        if not isinstance(atom, Dimension) or box.extent(atom) < 1:
            return None
        strides.append((atom, factor))
    strides.sort(key=lambda each: -abs(each[1]))
    for (_, stride), (inner, inner_stride) in itertools.pairwise(strides):
        if abs(stride) != abs(inner_stride) * box.extent(inner):
            return None
    lower, _ = index.value_range(box)
    downward = tuple(dimension for dimension, stride in strides if stride < 0)
    return Line(lower, abs(strides[-1][1]), tuple(dimension for dimension, _ in strides), downward)


def _segments(index: Index, size: int, access: AccessingLanes) -> Segments | None:
    (dimension,) = index.dimensions
    lower, upper = access.box.bounds(dimension)
    pieces = affine_pieces(index, dimension, lower, upper)
    if pieces is None:
        return None
    kept: list[Piece] = []
    for piece in pieces:
        part = piece.within(size)
        if part.extent == 0:
            continue
        if not access.mask.is_true:
            smaller, residual = access.mask.split(access.box.restrict(dimension, part.lower, part.upper))
            if residual.is_false or smaller.is_empty:
                continue
            part = part.part(*smaller.bounds(dimension))
        kept.append(part)
    if not kept:
        kept = [Piece(lower, upper, 0, 0)]
    return Segments(dimension, tuple(kept))


def _moving_way(index: Index, uniform: Index, size: int, access: AccessingLanes) -> Window | None:
    """A window of the axis, where it is known that it lies inside: a dynamic slice moves its start if it does not."""
    rest = Index(index.constant, {atom: factor for atom, factor in index.terms.items() if atom not in uniform.terms})
    if any(not atom_is_static(atom) for atom in rest.terms):
        return None
    lower, upper = rest.value_range(access.box)
    if len(rest.dimensions) == 1 and not all(isinstance(atom, Dimension) for atom in rest.terms):
        (dimension,) = rest.dimensions
        pieces = affine_pieces(rest, dimension, *access.box.bounds(dimension))
        if pieces is not None:
            lower, upper = min(piece.least for piece in pieces), max(piece.most for piece in pieces)
            is_exact = True
        else:
            is_exact = False
    else:
        is_exact = all(isinstance(atom, Dimension) for atom in rest.terms)
    window = upper - lower + 1
    start = uniform + lower
    least, most = start.value_range(access.box)
    is_inside = least >= 0 and most + window <= size
    if window > size or not (is_inside or (access.all_active and is_exact)):
        return None
    inner = _static_way(rest - lower, window, access)
    return None if inner is None else Window(start, window, inner)


def atom_is_static(atom: Atom) -> bool:
    """Whether an atom's value is known without running the program."""
    return not isinstance(atom, RuntimeScalar | Data) and all(part.is_static for part in parts_of(atom))
