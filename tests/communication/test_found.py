"""The smallest forms of programs that random ones (tests/fuzz/meshes) found wrong, on imagined devices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.fuzz.meshes.imagined import run_function

LINE = (("x", 8),)
FOUND: list[tuple[Callable[..., Any], tuple[int, ...]]] = []


def found(*shape: int) -> Any:
    """Enter a function of one array of this shape, whose first axis eight devices divide."""

    def enter(function: Callable[..., Any]) -> Callable[..., Any]:
        FOUND.append((function, shape))
        return function

    return enter


@found(40)
def edges_of_which_nobody_reads_the_inner_one(u: Any) -> Any:
    p = jnp.pad(u, 2, mode="edge")
    return p[:-4] + p[4:] - u


@found(16, 8)
def windows_with_strides_along_other_axes(u: Any) -> Any:
    return jax.lax.reduce_window(u, -np.inf, jax.lax.max, (3, 1), (1, 2), ((1, 1), (0, 0)))


@found(8, 1, 8)
def nothing_of_an_axis_that_was_dropped(u: Any) -> Any:
    difference = u[4, :, 2:] - u[4, :, :-2]
    return jnp.pad(difference[1:], ((0, 1), (0, 0)))


@found(40)
def an_axis_taken_apart_and_given(u: Any) -> Any:
    return jnp.tile(u, 2)


@pytest.mark.parametrize(("function", "shape"), FOUND, ids=lambda each: getattr(each, "__name__", None))
def test_what_random_programs_found_is_right(function: Callable[..., Any], shape: tuple[int, ...]) -> None:
    u = np.random.default_rng(1).integers(-8, 8, shape).astype(np.float32)
    spec = (("x",), *((),) * (len(shape) - 1))
    outcome = run_function(function, [u], LINE, [spec])
    assert outcome.kind in ("same", "alone"), outcome.message
