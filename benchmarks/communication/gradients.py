"""Gradients of programs of the other groups: sums of squares of what they give, by all that they take.

The least is that of the program itself: the way back may take as much again, so 2 is what a gradient is measured by.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import jax
from benchmarks.communication import others, stencils
from benchmarks.communication.case import Case

OF = (
    stencils.five_points_rolled, stencils.nine_points_rolled, stencils.five_points_of_the_interior,
    stencils.nine_points_of_the_interior, stencils.five_steps, stencils.shallow_water, stencils.staggered,
    stencils.lattice_boltzmann, others.column_integral, others.conjugate_gradients,
)  # fmt: skip


def gradient_of(function: Callable[..., Any], count: int) -> Callable[..., Any]:
    def loss(*fields: Any) -> Any:
        return sum((each**2).sum() for each in jax.tree.leaves(function(*fields)))

    return jax.grad(loss, tuple(range(count)))


def _gradient(function: Callable[..., Any]) -> Case:
    case = next(each for each in (*stencils.FACTS, *stencils.STENCILS, *others.OTHERS) if each.function is function)
    return replace(
        case,
        name=f"gradient of {case.name}",
        messages=2 * case.messages,
        function=gradient_of(function, len(case.fields)),
    )


GRADIENTS: tuple[Case, ...] = tuple(map(_gradient, OF))
