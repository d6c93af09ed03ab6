"""What a model is: a function that a library of others makes, with random weights, and what it is called with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from benchmarks.tensor.program import Function, Program

Made = tuple[Function, tuple[Any, ...]]
"""A function, and what it is called with."""

MODELS: dict[str, Model] = {}
"""Every model by its name, in the order in which the files of this folder define them."""


@dataclass(frozen=True)
class Model:
    """A model, made when it is asked for: only then is its library imported.

    `tolerance` bounds the largest difference in a result, relative to the largest magnitude in that result.
    """

    name: str
    library: str
    make: Callable[[], Made]
    tolerance: float

    def program(self) -> Program:
        """The model as a program of benchmarks/tensor. Raises ImportError where its library isn't installed."""
        function, arguments = self.make()
        return Program(self.name, self.library, function, lambda _: arguments, self.tolerance)


def model(library: str, tolerance: float = 1e-4) -> Callable[[Callable[[], Made]], Callable[[], Made]]:
    """Makes of a function that makes a model one of MODELS, which bears its name."""

    def declare(make: Callable[[], Made]) -> Callable[[], Made]:
        MODELS[make.__name__] = Model(make.__name__, library, make, tolerance)
        return make

    return declare
