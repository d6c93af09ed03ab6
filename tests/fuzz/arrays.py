"""The arrays and numbers that a kernel gets, with what is known of their contents."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.fuzz.trees import CType, Expression


@dataclass(frozen=True)
class Argument:
    """An array: what is in it at first, and how it lies in memory.

    `contents` is "numbers" within low and high, "permutation", or "zeros"; floats without bounds are
    infinities and NaN among others. `lanes` is how many numbers a vector type
    has. `offset` is how many elements of a larger array stand before it.
    """

    name: str
    ctype: CType
    size: int
    low: float
    high: float
    grain: float = 0.0
    contents: str = "numbers"
    lanes: int = 1
    offset: int = 0
    is_constant: bool = False
    shares: str = ""
    """The array that this one is a part of, from `start` on."""
    start: int = 0

    @property
    def element(self) -> str:
        """The element's type in CUDA C++."""
        return self.ctype.name if self.lanes == 1 else f"{self.ctype.name}{self.lanes}"

    def declaration(self) -> str:
        """The parameter."""
        return f"{'const ' if self.is_constant else ''}{self.element} *{self.name}"

    def draw(self, seed: int) -> NDArray[np.generic]:
        """The array, the same one for the same seed; a view where it does not begin at its memory's start."""
        random = np.random.default_rng([seed, zlib.crc32(self.name.encode())])
        count = (self.size + self.offset) * self.lanes
        dtype = np.dtype(self.ctype.dtype)
        if self.contents == "permutation":
            values = random.permutation(self.size).astype(dtype)
            values = np.concatenate([np.zeros(self.offset, dtype), values])
        elif self.contents == "zeros":
            values = np.zeros(count, dtype)
        elif dtype.kind == "f" and np.isinf(self.high):
            special = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 1e30, 2.5, -0.5, 3.0], dtype)
            values = np.where(random.random(count) < 0.5, random.choice(special, count), random.uniform(-4, 4, count))
            values = values.astype(dtype)
        elif dtype.kind == "f":
            steps = int((self.high - self.low) / (self.grain or 0.25))
            values = (self.low + (self.grain or 0.25) * random.integers(0, steps, count, endpoint=True)).astype(dtype)
            if not self.grain:
                values = (values * 0.99 + random.random(count) * 0.01).astype(dtype)
        else:
            values = random.integers(int(self.low), int(self.high), count, dtype=dtype, endpoint=True)
        if self.lanes > 1:
            values = values.view(np.dtype([(letter, dtype) for letter in "xyzw"[: self.lanes]]))
        return values[self.offset :]


def draw_all(arguments: Iterable[Argument], seed: int) -> dict[str, NDArray[Any]]:
    """All arrays, parts of others as views."""
    arguments = list(arguments)
    drawn = {each.name: each.draw(seed) for each in arguments if not each.shares}
    found: dict[str, NDArray[Any]] = {}
    for each in arguments:
        whole = drawn.get(each.shares or each.name)
        # Where shrinking has left a part without its whole, it stands alone.
        found[each.name] = (
            each.draw(seed) if whole is None else whole[each.start : each.start + each.size] if each.shares else whole
        )
    return found


@dataclass(frozen=True)
class Scalar:
    """A number passed by value."""

    name: str
    ctype: CType
    value: float

    def declaration(self) -> str:
        return f"{self.ctype.name} {self.name}"


@dataclass(frozen=True)
class Own:
    """An array of which each thread has words of its own: `place(k)` is where word k below `words` is."""

    argument: Argument
    words: int
    place: Callable[[Expression], Expression]
    tail: int = 0
    """How many elements at the end nobody writes."""
