"""Expressions and statements once their names are known: every part has its element type."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from windlass.frontends.notation.element_types import INTEGER
from windlass.frontends.notation.syntax import Span


@dataclass(frozen=True, slots=True, eq=False)
class Literal:
    span: Span
    value: int | float | bool
    type: str


@dataclass(frozen=True, slots=True, eq=False)
class Size:
    """A size that the parameters name."""

    span: Span
    name: str
    type: str = INTEGER


@dataclass(frozen=True, slots=True, eq=False)
class Index:
    span: Span
    name: str
    type: str = INTEGER


@dataclass(frozen=True, slots=True, eq=False)
class Read:
    """An element of a tensor as it is before the statement."""

    span: Span
    tensor: str
    subscripts: tuple[Part, ...]
    type: str


@dataclass(frozen=True, slots=True, eq=False)
class Operation:
    """An operator or function, by its sign or name. `cast` gives the operand in the operation's type."""

    span: Span
    sign: str
    operands: tuple[Part, ...]
    type: str


Part: TypeAlias = Literal | Size | Index | Read | Operation


def parts_of(part: Part) -> Iterator[Part]:
    """The part and all within it, in the order of the text."""
    yield part
    inner = part.subscripts if isinstance(part, Read) else part.operands if isinstance(part, Operation) else ()
    for each in inner:
        yield from parts_of(each)


def reads_in(part: Part) -> Iterator[Read]:
    """The reads of tensors within a part."""
    return (each for each in parts_of(part) if isinstance(each, Read))


def indices_in(part: Part) -> dict[str, Span]:
    """The indices within a part, each with where it stands first."""
    found: dict[str, Span] = {}
    for each in parts_of(part):
        if isinstance(each, Index):
            found.setdefault(each.name, each.span)
    return found


def is_affine(part: Part) -> bool:
    """Whether the part is a sum of indices times numbers, whatever the sizes are."""
    if isinstance(part, Read) or part.type != INTEGER:
        return False
    if not isinstance(part, Operation):
        return True
    if part.sign in ("+", "-", "negate"):
        return all(map(is_affine, part.operands))
    if part.sign == "*":
        return all(map(is_affine, part.operands)) and sum(bool(indices_in(each)) for each in part.operands) <= 1
    return is_constant(part)


def is_constant(part: Part) -> bool:
    """Whether the part is an integer that is known when the sizes are."""
    return all(not isinstance(each, Index | Read) and each.type == INTEGER for each in parts_of(part))


@dataclass(frozen=True, slots=True, eq=False)
class Update:
    """One statement. `combiner` is "+", "*", "max", "min", or None for `=`; `type` is the target's element type.

    A target that is `there` already has a shape, and its elements that the statement does not reach stay as they are,
    unless it `begins_anew` with the neutral element.
    """

    span: Span
    target: str
    target_span: Span
    subscripts: tuple[Part, ...]
    combiner: str | None
    begins_anew: bool
    is_there: bool
    value: Part
    ranges: Mapping[str, tuple[Part, Part]]
    type: str

    @property
    def target_read(self) -> Read:
        """The element that is written, as if it were read."""
        return Read(self.target_span, self.target, self.subscripts, self.type)


@dataclass(frozen=True, slots=True, eq=False)
class Slot:
    """A parameter or result: `sizes` are None for a result whose shape follows from the statements."""

    span: Span
    name: str
    type: str
    sizes: tuple[Part, ...] | None


@dataclass(frozen=True, slots=True, eq=False)
class Entry:
    """The beginning of a function that another one calls: its parameters are these tensors."""

    span: Span
    parameters: tuple[Slot, ...]
    arguments: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Declared:
    """A result that is declared with its sizes, which are known from here on."""

    slot: Slot


Step: TypeAlias = Update | Entry | Declared


@dataclass(frozen=True, slots=True, eq=False)
class Procedure:
    """A function whose names, ranks and element types are right."""

    name: str
    parameters: tuple[Slot, ...]
    results: tuple[Slot, ...]
    steps: tuple[Step, ...]
