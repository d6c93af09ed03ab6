"""What a benchmark program is: a plain JAX function with seeded arguments, a group and a tolerance."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

Function = Callable[..., Any]
Arguments = Callable[["Draw"], tuple[Any, ...]]

PROGRAMS: dict[str, Program] = {}
"""Every program by its name, in the order in which the files of this folder define them."""


class Draw:
    """Seeded random arrays of float32 (and of int32), the same in every run."""

    def __init__(self, seed: int = 0) -> None:
        self.random = np.random.default_rng(seed)

    def normal(self, *shape: int, scale: float = 1.0) -> np.ndarray:
        return (scale * self.random.standard_normal(shape)).astype(np.float32)

    def weight(self, *shape: int) -> np.ndarray:
        """Normal, scaled so that a product with it keeps the size of what it multiplies."""
        return self.normal(*shape, scale=shape[0] ** -0.5)

    def uniform(self, *shape: int, low: float = 0.0, high: float = 1.0) -> np.ndarray:
        return self.random.uniform(low, high, shape).astype(np.float32)

    def integers(self, *shape: int, low: int = 0, high: int) -> np.ndarray:
        return self.random.integers(low, high, shape).astype(np.int32)


@dataclass(frozen=True)
class Program:
    """A function of arrays (or trees of arrays), what it is called with, and how far results may differ.

    `tolerance` bounds the largest difference in a result, relative to the largest magnitude in that result.
    """

    name: str
    group: str
    function: Function
    make_arguments: Arguments
    tolerance: float

    def arguments(self) -> list[Any]:
        """The leaves of the arguments, as arrays on the device."""
        return [jax.device_put(leaf) for leaf in jax.tree.leaves(self.make_arguments(Draw()))]

    def flat_function(self) -> Function:
        """The function of the arguments' leaves, giving the list of its results' leaves."""
        structure = jax.tree.structure(self.make_arguments(Draw()))

        def run(*leaves: Any) -> list[Any]:
            return jax.tree.leaves(self.function(*jax.tree.unflatten(structure, leaves)))

        run.__name__ = self.name
        return run

    def lower(self) -> str:
        """The program's StableHLO, as text."""
        return jax.jit(self.flat_function(), keep_unused=True).lower(*self.arguments()).as_text()


def program(group: str, arguments: Arguments, tolerance: float = 1e-4) -> Callable[[Function], Function]:
    """Makes a function a benchmark program that bears its name."""

    def declare(function: Function) -> Function:
        name = function.__name__
        PROGRAMS[name] = Program(name, group, function, arguments, tolerance)
        return function

    return declare


def add_gradient(of: str, group: str, with_respect_to: int | tuple[int, ...] = 0, tolerance: float = 1e-3) -> None:
    """Adds the gradient of the sum of the squares of a program's results, as JAX differentiates it."""
    primal = PROGRAMS[of]

    def loss(*arguments: Any) -> Any:
        return sum((leaf * leaf).sum() for leaf in jax.tree.leaves(primal.function(*arguments)))

    function = jax.grad(loss, with_respect_to)
    PROGRAMS[of + "_gradient"] = Program(of + "_gradient", group, function, primal.make_arguments, tolerance)


def normal(*shapes: tuple[int, ...]) -> Arguments:
    """Arguments of these shapes with normally distributed elements."""
    return lambda draw: tuple(draw.normal(*shape) for shape in shapes)


def uniform(*shapes: tuple[int, ...]) -> Arguments:
    """Arguments of these shapes with elements between 0 and 1."""
    return lambda draw: tuple(draw.uniform(*shape) for shape in shapes)
