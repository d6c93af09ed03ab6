"""The way back through a recurrence saves and adds up no more than it has to."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import windlass as wl
from windlass.ops import DotGeneral, DynamicUpdateSlice, While
from windlass.stablehlo.running import read_program

X = np.random.default_rng(0).normal(size=(40, 8, 16)).astype(np.float32)
W = np.random.default_rng(1).normal(size=(48, 128)).astype(np.float32) * 0.1


def cell(weights: Any, state: Any, x: Any) -> Any:
    """A cell of long short-term memory (Hochreiter, Schmidhuber, 1997)."""
    hidden, memory = state
    gates = jnp.concatenate((x, hidden), 1) @ weights
    entering, leaving, kept, new = jnp.split(gates, 4, 1)
    memory = jax.nn.sigmoid(kept) * memory + jax.nn.sigmoid(entering) * jnp.tanh(new)
    return jax.nn.sigmoid(leaving) * jnp.tanh(memory), memory


def recurrent_loss(weights: Any, xs: Any) -> Any:
    def step(state: Any, x: Any) -> Any:
        following = cell(weights, state, x)
        return following, following[0]

    zero = jnp.zeros((8, 32), jnp.float32)
    return (jax.lax.scan(step, (zero, zero), xs)[1] ** 2).sum()


def diffusion_loss(rate: Any, u: Any) -> Any:
    def step(u: Any, _: Any) -> Any:
        inner = u[1:-1] + rate * (u[:-2] - 2 * u[1:-1] + u[2:]) * (1 - u[1:-1] ** 2)
        return u.at[1:-1].set(inner), None

    return (jax.lax.scan(step, u, None, length=20)[0] ** 2).sum()


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    ("loss", "arguments"),
    [(recurrent_loss, (W, X)), (diffusion_loss, (np.float32(0.2), np.linspace(0, 1, 30, dtype=np.float32)))],
)
def test_derivatives_of_recurrences_keep_their_values(loss: Any, arguments: tuple[Any, ...]) -> None:
    expected = jax.jit(jax.grad(loss, (0, 1)))(*arguments)
    found = wl.optimize(jax.grad(loss, (0, 1)))(*arguments)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-5, atol=1e-5)


def test_products_leave_the_way_back_and_what_follows_is_not_saved() -> None:
    def count(**options: Any) -> tuple[int, int]:
        """Arrays that the way forth saves, and products in the rounds of the way back."""
        text = wl.optimize(jax.grad(recurrent_loss), **options).lower(W, X).text("optimized")
        loops = [
            op for function in read_program(text).functions.values() for op in function.walk() if isinstance(op, While)
        ]
        forth, back = (list(loop.body.walk()) for loop in loops)
        return sum(isinstance(op, DynamicUpdateSlice) for op in forth), sum(isinstance(op, DotGeneral) for op in back)

    before = count(without=("saved_values_that_follow_from_others", "products_summed_over_rounds"))
    assert (before, count()) == ((13, 2), (7, 1))
