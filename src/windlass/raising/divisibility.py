"""By which power of two integers can be divided, as far as it can be told from how they are made.

Where machine arithmetic wraps around it does so by a higher power of two, which changes nothing here.
"""

from __future__ import annotations

import numpy as np

from windlass.affine import atoms
from windlass.affine.index import Index
from windlass.ir import Value
from windlass.ops.base import BroadcastInDim
from windlass.ops.conversion import BitcastConvert, Convert
from windlass.ops.creation import Constant
from windlass.ops.elementwise import (
    Add,
    And,
    Multiply,
    Negate,
    Select,
    ShiftLeft,
    ShiftRightArithmetic,
    ShiftRightLogical,
    Subtract,
)
from windlass.ops.extremes import Maximum, Minimum
from windlass.ops.movement import Reshape, Slice, Transpose
from windlass.raising.lanes import lanes_of

DEEPEST = 8
MOST = 64


def is_multiple(index: Index, width: int) -> bool:
    """Whether an index is surely a multiple of a power of two.

    >>> from windlass.affine.dimensions import Dimension
    >>> x = Index.of(Dimension("x", 8, 1))
    >>> is_multiple(x.scale(12) + 8, 4), is_multiple(x.scale(12) + 8, 8)
    (True, False)
    """
    return 1 << _zeros_of_index(index) >= width


def _zeros_of_number(number: int) -> int:
    """How many of the lowest bits are zero."""
    return (number & -number).bit_length() - 1 if number else MOST


def _zeros_of_index(index: Index) -> int:
    zeros = [_zeros_of_number(factor) + _zeros_of_atom(atom) for atom, factor in index.terms.items()]
    return min([_zeros_of_number(index.constant), *zeros])


def _zeros_of_atom(atom: atoms.Atom) -> int:
    match atom:
        case atoms.Data():
            return _zeros(lanes_of(atom).value, DEEPEST)
        case atoms.RuntimeScalar():
            return _zeros(atom.value, DEEPEST)
        case atoms.Modulo():
            return min(_zeros_of_number(atom.divisor), _zeros_of_index(atom.operand))
        case atoms.IndexMinimum() | atoms.IndexMaximum() | atoms.Choice():
            return min(_zeros_of_index(atom.left), _zeros_of_index(atom.right))
        case _:
            return 0


def _zeros(value: Value, depth: int) -> int:
    """How many of the lowest bits of each element are surely zero."""
    if depth == 0 or not value.tensor.is_integer:
        return 0

    def inner(each: Value) -> int:
        return _zeros(each, depth - 1)

    match value:
        case Constant() if value.is_splat:
            return _zeros_of_number(int(value.number))
        case Constant():
            return _zeros_of_number(int(np.bitwise_or.reduce(value.array, axis=None))) if value.tensor.size else MOST
        case Add() | Subtract() | Minimum() | Maximum():
            return min(inner(value.lhs), inner(value.rhs))
        case And():
            return max(inner(value.lhs), inner(value.rhs))
        case Multiply():
            return inner(value.lhs) + inner(value.rhs)
        case ShiftLeft():
            return inner(value.lhs) + (_splat(value.rhs) or 0)
        case ShiftRightArithmetic() | ShiftRightLogical():
            by = _splat(value.rhs)
            return 0 if by is None else max(inner(value.lhs) - by, 0)
        case Select():
            return min(inner(value.on_true), inner(value.on_false))
        case Convert() | BitcastConvert():
            keeps_elements = isinstance(value, Convert) or value.operand.shape == value.shape
            return inner(value.operand) if keeps_elements else 0
        case Negate() | BroadcastInDim() | Reshape() | Slice() | Transpose():
            return inner(value.operand)
        case _:
            return 0


def _splat(value: Value) -> int | None:
    """The number in each element of a constant."""
    return int(value.number) if isinstance(value, Constant) and value.value.is_splat else None
