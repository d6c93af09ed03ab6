"""What is compared: a program of ours, its forms by hand, and arguments."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

Function = Callable[..., Any]
Draw = np.random.Generator


@dataclass(frozen=True)
class Case:
    """`ours` and each form by hand give one number, of the same arguments; it is differentiated by those in `by`.

    `most_primals` is how many times the primal's time the gradient may take.
    """

    ours: Function
    by_hand: Mapping[str, Function]
    arguments: Sequence[Any]
    by: tuple[int, ...] = (0,)
    most_primals: float = 10.0


CASES: dict[str, Callable[[], Case]] = {}
"""By name, in the order of the table. Making a case compiles its kernels."""


def case(make: Callable[[], Case]) -> Callable[[], Case]:
    """Enter a case under the function's name."""
    CASES[make.__name__.replace("_", " ")] = make
    return make


def draw() -> Draw:
    """The same numbers in each case."""
    return np.random.default_rng(0)


def uniform(shape: tuple[int, ...] | int, low: float = 0.0, high: float = 1.0) -> Any:
    """Floats of single precision, evenly spread."""
    return draw().uniform(low, high, shape).astype(np.float32)
