"""Kernels as trees: expressions with what is known of their values, and statements. Trees are never changed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TypeAlias


@dataclass(frozen=True)
class CType:
    """A number type of CUDA C++; `kind` is "signed", "unsigned", "float" or "bool"."""

    name: str
    bits: int
    kind: str
    dtype: str

    @property
    def low(self) -> int:
        return -(1 << (self.bits - 1)) if self.kind == "signed" else 0

    @property
    def high(self) -> int:
        return (1 << (self.bits - (1 if self.kind == "signed" else 0))) - 1

    @property
    def is_integer(self) -> bool:
        return self.kind in ("signed", "unsigned")

    @property
    def precision(self) -> int:
        """How many bits a float's significand has."""
        return 24 if self.bits == 32 else 53


BOOL = CType("bool", 1, "bool", "bool")
BYTE = CType("unsigned char", 8, "unsigned", "uint8")
SIGNED_BYTE = CType("signed char", 8, "signed", "int8")
SHORT = CType("short", 16, "signed", "int16")
WORD = CType("unsigned short", 16, "unsigned", "uint16")
INT = CType("int", 32, "signed", "int32")
UNSIGNED = CType("unsigned", 32, "unsigned", "uint32")
LONG = CType("long long", 64, "signed", "int64")
SIZE = CType("size_t", 64, "unsigned", "uint64")
FLOAT = CType("float", 32, "float", "float32")
DOUBLE = CType("double", 64, "float", "float64")


@dataclass(frozen=True, eq=False)
class Expression:
    """An expression, the range of its values, and for floats how exact it is.

    `grain` is a number that all values are multiples of, 0 where rounding may have made them anything. `is_soft` says
    that raised and emulated values may differ in their last digits: sums in another order, exp and its like.
    """

    ctype: CType
    low: float
    high: float
    pieces: tuple[str | Expression, ...]
    grain: float = 0.0
    is_soft: bool = False

    def __str__(self) -> str:
        return "".join(map(str, self.pieces))

    def fits(self, other: Expression) -> bool:
        """Whether it can stand where the other stands without new values coming up."""
        exact = self.grain == other.grain or not other.grain or (self.grain and self.grain % other.grain == 0)
        within = other.low <= self.low and self.high <= other.high
        return self.ctype == other.ctype and within and bool(exact) and (other.is_soft or not self.is_soft)

    def narrowed(self, low: float, high: float) -> Expression:
        """The same where its values are known to be in a smaller range."""
        return replace(self, low=max(low, self.low), high=min(high, self.high))


@dataclass(frozen=True, eq=False)
class Statement:
    """Text with expressions and blocks in it. What `is_fixed` is not deleted as a whole."""

    pieces: tuple[str | Expression | Block, ...]
    is_fixed: bool = False

    def lines(self, indent: int) -> Iterator[str]:
        """Its text, blocks on lines of their own."""
        text = ""
        for piece in self.pieces:
            if isinstance(piece, tuple):
                yield "    " * indent + (text.strip() + " {").strip()
                for statement in piece:
                    yield from statement.lines(indent + 1)
                text = "} "
            else:
                text += str(piece)
        yield "    " * indent + text.strip()


Block: TypeAlias = tuple[Statement, ...]


def statement(*pieces: str | Expression | Block, is_fixed: bool = False) -> Statement:
    """A statement from its pieces."""
    return Statement(pieces, is_fixed)


def render(block: Block, indent: int = 0) -> str:
    """The text of some statements."""
    return "\n".join(line for each in block for line in each.lines(indent))


def smaller_expressions(expression: Expression) -> Iterator[Expression]:
    """Simpler expressions that may stand in its place, simplest first."""
    if len(expression.pieces) > 1 or any(isinstance(piece, Expression) for piece in expression.pieces):
        yield from _literals(expression)
        for part in _parts(expression):
            if part.fits(expression):
                yield part
    for place, piece in enumerate(expression.pieces):
        if isinstance(piece, Expression):
            for small in smaller_expressions(piece):
                yield replace(expression, pieces=_with(expression.pieces, place, small))


def _literals(expression: Expression) -> Iterator[Expression]:
    if expression.ctype == BOOL:
        yield replace(expression, pieces=("true",))
        yield replace(expression, pieces=("false",))
        return
    for value in (0, 1, expression.low):
        if expression.low <= value <= expression.high and (expression.ctype.is_integer or value in (0, 1)):
            name = expression.ctype.name
            text = f"{value}" if name == "int" and value > -(2**31) else f"({name}){value}"
            if value == -(2**63) or (name == "int" and value == -(2**31)):
                continue
            yield replace(expression, low=value, high=value, pieces=(text,), grain=1.0, is_soft=False)


def _parts(expression: Expression) -> Iterator[Expression]:
    for piece in expression.pieces:
        if isinstance(piece, Expression):
            yield piece
            yield from _parts(piece)


def _with(pieces: tuple[str | Expression, ...], place: int, piece: Expression) -> tuple[str | Expression, ...]:
    return (*pieces[:place], piece, *pieces[place + 1 :])


def smaller_blocks(block: Block) -> Iterator[Callable[[], Block]]:
    """Ways to make some statements fewer or simpler, boldest first."""
    width = len(block)
    while width >= 1:
        for start in range(0, len(block), width):
            gone = block[start : start + width]
            if not any(each.is_fixed for each in gone):
                yield lambda start=start, width=width: (*block[:start], *block[start + width :])
        width //= 2
    for place, each in enumerate(block):
        before, after = block[:place], block[place + 1 :]
        for at, piece in enumerate(each.pieces):
            if isinstance(piece, tuple):
                if not each.is_fixed:
                    yield lambda before=before, piece=piece, after=after: (*before, *piece, *after)
                for smaller in smaller_blocks(piece):
                    yield lambda before=before, each=each, at=at, smaller=smaller, after=after: (
                        *before,
                        replace(each, pieces=(*each.pieces[:at], smaller(), *each.pieces[at + 1 :])),
                        *after,
                    )
            elif isinstance(piece, Expression):
                for small in smaller_expressions(piece):
                    yield lambda before=before, each=each, at=at, small=small, after=after: (
                        *before,
                        replace(each, pieces=(*each.pieces[:at], small, *each.pieces[at + 1 :])),
                        *after,
                    )
