"""What is overwritten has no part in a derivative in reverse mode, as in forward mode, however large its slope is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from tests.autodiff.test_programs_as_jax import function_of, run
from windlass.autodiff import pullback_function, tangent_function


def a_constant_place(x: Any, y: Any) -> Any:
    return jnp.sqrt(x).at[0].set(0.0) * y


def a_traced_place(x: Any, y: Any) -> Any:
    return lax.dynamic_update_slice(jnp.sqrt(x), y[:1], (jnp.int32(y[0]) - 9,))


def places_of_an_array(x: Any, y: Any) -> Any:
    return jnp.log(x).at[jnp.int32(y[:2] * 0)].set(1.0, unique_indices=True, indices_are_sorted=True) * y


def a_part_of_a_table(x: Any, y: Any) -> Any:
    return (jnp.sqrt(x)[:, None] * y).at[:1, :].set(y).T.at[1:, 2].set(3.0)


def before_a_loop(x: Any, y: Any) -> Any:
    return lax.fori_loop(0, 3, lambda i, a: a * y, jnp.sqrt(x).at[0].set(1.0))


def in_a_loop(x: Any, y: Any) -> Any:
    return lax.fori_loop(0, 3, lambda i, a: jnp.sqrt(a * 0.5).at[0].set(y[i] * 0), x)


def after_a_loop(x: Any, y: Any) -> Any:
    return lax.fori_loop(0, 3, lambda i, a: jnp.sqrt(a) * y, x).at[0].set(y[1])


def twice(x: Any, y: Any) -> Any:
    root = jnp.sqrt(x)
    return root.at[0].set(y[0]) * root.at[:2].set(y[1])


PROGRAMS = [
    a_constant_place,
    a_traced_place,
    places_of_an_array,
    a_part_of_a_table,
    before_a_loop,
    in_a_loop,
    after_a_loop,
    twice,
]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_both_modes_leave_out_what_is_overwritten(program: Callable[..., Any]) -> None:
    x, y = np.array([0.0, 1.3, 0.4]), np.array([0.7, 1.1, 0.6])
    function = function_of(program)
    tangent, pullback = tangent_function(function, (0, 1)), pullback_function(function, (0, 1))
    generator = np.random.default_rng(0)
    along = [generator.uniform(-1, 1, 3), generator.uniform(-1, 1, 3)]
    weights = [generator.uniform(-1, 1, result.tensor.shape) for result in function.results]
    moved = run(tangent, x, y, *along)
    found = run(pullback, x, y, *weights)
    assert all(np.isfinite(each).all() for each in (*moved, *found))
    forwards = sum((one * other).sum() for one, other in zip(moved, weights, strict=True))
    assert sum((one * other).sum() for one, other in zip(found, along, strict=True)) == pytest.approx(forwards)
