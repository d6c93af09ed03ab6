"""The values of indices and predicates at all points of a box at once, as NumPy arrays, where they are known.

Only questions that have no symbolic answer are put so: it takes time in proportion to the number of points.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from windlass.affine.atoms import Atom, Choice, Data, FloorDivide, IndexMaximum, IndexMinimum, Modulo, RuntimeScalar
from windlass.affine.dimensions import Box, Dimension, in_order
from windlass.affine.index import Index
from windlass.affine.predicate import (
    AtLeastZero,
    Conjunction,
    DataCondition,
    DiffersFromZero,
    Disjunction,
    EqualsZero,
    Predicate,
)

Numbers: TypeAlias = NDArray[np.int64]
Flags: TypeAlias = NDArray[np.bool_]
Points: TypeAlias = Mapping[Dimension, Numbers]

MOST_POINTS = 1 << 20


def holds_somewhere(mask: Predicate, condition: Predicate, box: Box) -> bool | None:
    """Whether a condition holds at some point of the mask; None where that is known at run time only."""
    both = mask & condition
    points = points_of(both.dimensions, box)
    if points is None or both.has_data:
        return None
    return bool(holds_at(both, points).any())


def points_of(dimensions: Iterable[Dimension], box: Box) -> Points | None:
    """What each dimension is at each point of the box, in arrays that broadcast; None if there are too many points.

    >>> x, y = Dimension("x", 3, 1), Dimension("y", 2, 0)
    >>> points = points_of((x, y), Box())
    >>> points and values_of(Index.of(y).scale(10) + Index.of(x), points).tolist()
    [[0, 1, 2], [10, 11, 12]]
    """
    ordered = in_order(dimensions)
    if box.count(ordered) > MOST_POINTS:
        return None
    ranges = [np.arange(*box.bounds(each), dtype=np.int64) for each in ordered]
    return dict(zip(ordered, np.meshgrid(*ranges, indexing="ij", sparse=True), strict=True))


def values_of(index: Index, points: Points) -> Numbers:
    """The values of an index.

    Raises ValueError where they depend on what is known at run time only.
    """
    total: Any = np.int64(index.constant)
    for atom, factor in index.terms.items():
        total = total + factor * _values_of_atom(atom, points)
    return total


def _values_of_atom(atom: Atom, points: Points) -> Numbers:
    match atom:
        case Dimension():
            return points[atom]
        case RuntimeScalar() | Data():
            raise ValueError(f"{atom} is known at run time only")
        case FloorDivide():
            return values_of(atom.operand, points) // atom.divisor
        case Modulo():
            return values_of(atom.operand, points) % atom.divisor
        case IndexMinimum():
            return np.minimum(values_of(atom.left, points), values_of(atom.right, points))
        case IndexMaximum():
            return np.maximum(values_of(atom.left, points), values_of(atom.right, points))
        case Choice():
            chosen = values_of(atom.condition, points) >= 0
            return np.where(chosen, values_of(atom.left, points), values_of(atom.right, points))


def holds_at(predicate: Predicate, points: Points) -> Flags:
    """Where a predicate holds.

    Raises ValueError where that depends on what is known at run time only.
    """
    match predicate:
        case AtLeastZero():
            return values_of(predicate.index, points) >= 0
        case EqualsZero():
            return values_of(predicate.index, points) == 0
        case DiffersFromZero():
            return values_of(predicate.index, points) != 0
        case Conjunction():
            found = [holds_at(part, points) for part in predicate.parts]
            return np.logical_and.reduce(np.broadcast_arrays(*found))
        case Disjunction():
            found = [holds_at(part, points) for part in predicate.parts]
            return np.logical_or.reduce(np.broadcast_arrays(*found))
        case DataCondition():
            raise ValueError(f"{predicate} is known at run time only")
        case _:
            return np.bool_(predicate.is_true)  # pyright: ignore[reportReturnType]
