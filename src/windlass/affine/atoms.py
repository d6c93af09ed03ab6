"""What indices are sums of: dimensions, run-time integers, and quotients, remainders, extrema, choices of indices."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Protocol, TypeAlias

from windlass.affine.dimensions import Dimension

if TYPE_CHECKING:
    from windlass.affine.index import Index
    from windlass.ir import Value

NOTHING: frozenset[Dimension] = frozenset()


class DataHandle(Protocol):
    """What holds values that are known at run time only, one for each point over some dimensions.

    What it is made of is its owner's affair: here it only tells which dimensions the values depend on, and by
    `identity` whether two hold the same.
    """

    @property
    def dims(self) -> Sequence[Dimension]: ...

    @property
    def identity(self) -> Hashable: ...


class RuntimeScalar:
    """An integer known at run time only, the same for all points: a rank-0 tensor with bounds, both included."""

    __slots__ = ("lower", "upper", "value")

    def __init__(self, value: Value, lower: int, upper: int) -> None:
        self.value = value
        self.lower = lower
        self.upper = upper

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RuntimeScalar) and self.value is other.value

    def __hash__(self) -> int:
        return hash((RuntimeScalar, id(self.value)))

    def __repr__(self) -> str:
        return f"{self.value!r}"


class Data:
    """An integer that was loaded or computed for each point: what holds it, with bounds, both included.

    At points that don't count it may hold values outside the bounds.
    """

    __slots__ = ("handle", "lower", "upper")

    def __init__(self, handle: DataHandle, lower: int, upper: int) -> None:
        self.handle = handle
        self.lower = lower
        self.upper = upper

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Data) and self.handle is other.handle

    def __hash__(self) -> int:
        return hash((Data, id(self.handle)))

    def __repr__(self) -> str:
        return f"data({', '.join(map(repr, self.handle.dims))})"


class FloorDivide:
    """The operand divided by a positive number, rounded down."""

    __slots__ = ("_hash", "divisor", "operand")

    def __init__(self, operand: Index, divisor: int) -> None:
        self.operand = operand
        self.divisor = divisor
        self._hash = hash((FloorDivide, operand, divisor))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FloorDivide) and self.divisor == other.divisor and self.operand == other.operand

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        return f"({self.operand} floordiv {self.divisor})"


class Modulo:
    """What is left of the operand after rounding it down to a multiple of a positive number: in [0, divisor)."""

    __slots__ = ("_hash", "divisor", "operand")

    def __init__(self, operand: Index, divisor: int) -> None:
        self.operand = operand
        self.divisor = divisor
        self._hash = hash((Modulo, operand, divisor))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Modulo) and self.divisor == other.divisor and self.operand == other.operand

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        return f"({self.operand} mod {self.divisor})"


class _Extremum:
    __slots__ = ("_hash", "left", "right")
    word = ""

    def __init__(self, left: Index, right: Index) -> None:
        self.left = left
        self.right = right
        self._hash = hash((type(self), frozenset((left, right))))

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and (
            (self.left == other.left and self.right == other.right)
            or (self.left == other.right and self.right == other.left)
        )

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        return f"{self.word}({self.left}, {self.right})"


class IndexMinimum(_Extremum):
    """The smaller of two indices."""

    __slots__ = ()
    word = "min"


class IndexMaximum(_Extremum):
    """The greater of two indices."""

    __slots__ = ()
    word = "max"


class Choice:
    """`left` where `condition >= 0`, else `right`."""

    __slots__ = ("_hash", "condition", "left", "right")

    def __init__(self, condition: Index, left: Index, right: Index) -> None:
        self.condition = condition
        self.left = left
        self.right = right
        self._hash = hash((Choice, condition, left, right))

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Choice)
            and self.condition == other.condition
            and self.left == other.left
            and self.right == other.right
        )

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        return f"({self.left} if {self.condition} >= 0 else {self.right})"


Compound: TypeAlias = "FloorDivide | Modulo | IndexMinimum | IndexMaximum | Choice"
Atom: TypeAlias = "Dimension | RuntimeScalar | Data | FloorDivide | Modulo | IndexMinimum | IndexMaximum | Choice"


def parts_of(atom: Atom) -> tuple[Index, ...]:
    """The indices that an atom is made of; none for a leaf."""
    match atom:
        case FloorDivide() | Modulo():
            return (atom.operand,)
        case IndexMinimum() | IndexMaximum():
            return (atom.left, atom.right)
        case Choice():
            return (atom.condition, atom.left, atom.right)
        case _:
            return ()


def dimensions_of(atom: Atom) -> frozenset[Dimension]:
    """The dimensions that an atom's value may depend on."""
    if isinstance(atom, Dimension):
        return frozenset((atom,))
    if isinstance(atom, Data):
        return frozenset(atom.handle.dims)
    result = NOTHING
    for part in parts_of(atom):
        result |= part.dimensions
    return result
