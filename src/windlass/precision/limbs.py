"""Which floats stand for one wide float: their type and how many of them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TypeAlias

from windlass.diagnostics import Diagnostic, WindlassError
from windlass.ir import Value

Number: TypeAlias = tuple[Value, ...]
"""A wide float as its limbs, whose exact sum it is: the largest first, each at most half a unit in the last place of
that before it. Limbs that are known to be zero are left out at the end: one limb at least, `Limbs.count` at most."""


@dataclass(frozen=True)
class Format:
    """What matters of an element type here: bits of its significand, and the powers of two that are normal numbers."""

    digits: int
    least_exponent: int
    most_exponent: int
    word: str
    """The unsigned integer of the same width."""


FORMATS = {
    "f32": Format(24, -126, 127, "ui32"),
    "f64": Format(53, -1022, 1023, "ui64"),
}

SPREAD_BY = {"f32": "f64", "f64": "f64"}
"""By the type of the limbs, the element type of the program that is computed with them."""

MOST_LIMBS = 4


@dataclass(frozen=True)
class Limbs:
    """Floats of `dtype`, `count` of them for each wide float.

    >>> Limbs.parse("f32x2")
    Limbs(dtype='f32', count=2)
    >>> str(Limbs("f32", 3)), Limbs("f32", 3).digits
    ('f32x3', 72)
    """

    dtype: str
    count: int

    @classmethod
    def parse(cls, text: str) -> Limbs:
        """The limbs that a name such as "f32x2" stands for.

        Raises WindlassError (WL0961) for any other text.
        """
        found = re.fullmatch(r"([a-z]+\d+)x(\d)", text) if isinstance(text, str) else None  # pyright: ignore[reportUnnecessaryIsInstance]
        if found is None or found[1] not in FORMATS or not 2 <= int(found[2]) <= MOST_LIMBS:
            raise WindlassError(
                Diagnostic(
                    "WL0961",
                    f"there is no precision called {text!r}",
                    help=f"one of: {', '.join(str(each) for each in cls.all())}",
                )
            )
        return cls(found[1], int(found[2]))

    @classmethod
    def all(cls) -> tuple[Limbs, ...]:
        """All there are."""
        return tuple(cls(dtype, count) for dtype in FORMATS for count in range(2, MOST_LIMBS + 1))

    def __str__(self) -> str:
        return f"{self.dtype}x{self.count}"

    @property
    def wide(self) -> str:
        """The element type of the values that become several limbs."""
        return SPREAD_BY[self.dtype]

    @property
    def format(self) -> Format:
        """What there is to know of the type of one limb."""
        return FORMATS[self.dtype]

    @property
    def digits(self) -> int:
        """Bits of all limbs together."""
        return self.count * self.format.digits
