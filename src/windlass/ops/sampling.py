"""Random choices for the laws: shapes, element types, attributes, arrays with special values.

An op's `sample` takes its choices from a `Draw`, which may stand on Python's generator (`RandomDraw`) or on any other
source of bounded integers, so that no test library is needed to import the ops.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from windlass.ir.types import NUMPY_DTYPES, TensorType

Item = TypeVar("Item")


class Unsuitable(Exception):
    """No valid attributes exist for the given operand types: draw others."""


class Draw:
    """Random choices made from one function that gives integers from `low` to `high`, both included.

    For hypothesis: `Draw(lambda low, high: draw(st.integers(low, high)))`.

    >>> draw = RandomDraw(1)
    >>> draw.integer(3, 3)
    3
    """

    common_dtypes = ("f32", "i32", "f64", "ui32", "i1", "i64", "bf16", "f16", "ui8", "i8", "complex<f32>", "ui64")

    def __init__(self, integer: Callable[[int, int], int]) -> None:
        self.integer = integer

    def boolean(self) -> bool:
        return bool(self.integer(0, 1))

    def choose(self, options: Sequence[Item]) -> Item:
        """One of the options.

        Raises Unsuitable where there are none.
        """
        if not options:
            raise Unsuitable("there is nothing to choose from")
        return options[self.integer(0, len(options) - 1)]

    def shape(self, least_rank: int = 0, most_rank: int = 3, least_size: int = 0) -> tuple[int, ...]:
        """A small shape; empty and size-1 axes come up now and then."""
        rank = self.integer(least_rank, most_rank)
        sizes = [size for size in (2, 3, 4, 1, 5, 3, 2, 0) if size >= least_size]
        return tuple(self.choose(sizes) for _ in range(rank))

    def dtype(self, allowed: Iterable[str]) -> str:
        """One of the allowed element types that every device has."""
        accepted = set(allowed)
        return self.choose([name for name in self.common_dtypes if name in accepted])

    def permutation(self, count: int) -> tuple[int, ...]:
        remaining = list(range(count))
        return tuple(remaining.pop(self.integer(0, len(remaining) - 1)) for _ in range(count))

    def subset(self, count: int, size: int | None = None) -> tuple[int, ...]:
        """Some of the numbers below `count`, in order."""
        if size is None:
            return tuple(index for index in range(count) if self.boolean())
        return tuple(sorted(self.permutation(count)[:size]))

    def array(self, type_: TensorType, low: float = -4.0, high: float = 4.0) -> NDArray[Any]:
        """Values between `low` and `high`, and among them special ones: ties, zeros of both signs, NaN, limits."""
        generator = np.random.default_rng(self.integer(0, 2**31 - 1))
        return special_array(type_, generator, low, high)

    def tame_array(self, type_: TensorType, low: float = -3.0, high: float = 3.0) -> NDArray[Any]:
        """Ordinary values between `low` and `high` only, ties among them."""
        generator = np.random.default_rng(self.integer(0, 2**31 - 1))
        return tame_array(type_, generator, low, high)


class RandomDraw(Draw):
    """Choices by Python's generator."""

    def __init__(self, seed: int) -> None:
        super().__init__(random.Random(seed).randint)


def tame_array(type_: TensorType, generator: np.random.Generator, low: float, high: float) -> NDArray[Any]:
    """An array of ordinary numbers of the type."""
    dtype = NUMPY_DTYPES[type_.dtype]
    if type_.is_boolean:
        return generator.integers(0, 2, type_.shape).astype(dtype)
    if type_.is_integer:
        lowest = max(int(np.ceil(low)), 0 if type_.is_unsigned else -8)
        return generator.integers(lowest, max(int(high), lowest) + 1, type_.shape).astype(dtype)
    real = np.round(generator.uniform(low, high, type_.shape), 2)
    if type_.is_complex:
        return np.asarray(real + 1j * np.round(generator.uniform(low, high, type_.shape), 2)).astype(dtype)
    return real.astype(dtype)


def special_array(type_: TensorType, generator: np.random.Generator, low: float, high: float) -> NDArray[Any]:
    """As `tame_array`, with about a third of the elements replaced by special values."""
    array = tame_array(type_, generator, low, high)
    if type_.is_boolean or type_.is_complex or array.size == 0:
        return array
    dtype = NUMPY_DTYPES[type_.dtype]
    if type_.is_integer:
        bits = int("".join(filter(str.isdigit, type_.dtype)))
        least, most = (0, 2**bits - 1) if type_.is_unsigned else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
        specials = [least, most, 0, 1, least + 1, most - 1, bits, bits - 1, most if type_.is_unsigned else -1]
        palette = np.array(specials, dtype=object).astype(dtype)
    else:
        palette = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, 1e4, -1e4], dtype)
    replaced = generator.random(type_.shape) < 0.35
    return np.where(replaced, generator.choice(palette, type_.shape), array).astype(dtype)
