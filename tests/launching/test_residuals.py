"""Programs with loops in reverse mode: the loops run forwards once, under each of JAX's transformations right."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import windlass as wl
from windlass.stablehlo.differentiating import linearize

Transformation = Callable[[Any], Callable[[Any], Any]]
X = np.linspace(0.1, 1.3, 4)


@wl.jit
def power(x: Any) -> Any:
    rows = np.zeros((21, 4))
    rows[0] = x
    for i in range(20):
        rows[i + 1] = np.sin(rows[i]) * 1.1 + x
    return (rows * rows).sum()


def power_by_jax(x: Any) -> Any:
    def step(row: Any, _: Any) -> tuple[Any, Any]:
        row = jnp.sin(row) * 1.1 + x
        return row, row

    rows = lax.scan(step, x, None, length=20)[1]
    return (x * x).sum() + (rows * rows).sum()


def in_a_scan(function: Any) -> Callable[[Any], Any]:
    return jax.grad(lambda x: lax.scan(lambda a, _: (a * function(a) / 10, None), x, None, length=2)[0].sum())


def in_a_checkpointed_scan(function: Any) -> Callable[[Any], Any]:
    step = jax.checkpoint(lambda a, _: (a * function(a) / 10, None))
    return jax.grad(lambda x: lax.scan(step, x, None, length=2)[0].sum())


TRANSFORMATIONS: dict[str, Transformation] = {
    "value and gradient": jax.value_and_grad,
    "hessian": jax.hessian,
    "gradient of a gradient": lambda f: jax.grad(lambda x: (jax.grad(f)(x) ** 2).sum()),
    "checkpoint": lambda f: jax.grad(jax.checkpoint(f)),
    "gradient within jit": lambda f: jax.grad(jax.jit(f)),
    "batch of gradients": lambda f: lambda x: jax.vmap(jax.grad(f))(jnp.stack([x, 2 * x])),
    "gradient of a batch": lambda f: jax.grad(lambda x: jax.vmap(f)(jnp.stack([x, 2 * x])).sum()),
    "linearized": lambda f: lambda x: jax.linearize(f, x)[1](x),
    "scan": in_a_scan,
    "scan of checkpoints": in_a_checkpointed_scan,
    "branch": lambda f: jax.grad(lambda x: lax.cond(x[0] > 0, f, lambda y: y.sum(), x)),
}


@pytest.mark.parametrize("name", TRANSFORMATIONS)
def test_transformations_give_what_jax_has_by_hand(name: str) -> None:
    transform = TRANSFORMATIONS[name]
    with jax.enable_x64(True):
        found, expected = jax.jit(transform(power))(X), jax.jit(transform(power_by_jax))(X)
        for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
            np.testing.assert_allclose(one, other, 1e-10, 1e-10)


def count_loops(function: Any) -> int:
    with jax.enable_x64(True):
        return jax.jit(function).lower(X).as_text().count("stablehlo.while")


def test_loops_run_once_forwards_and_once_backwards() -> None:
    assert count_loops(jax.value_and_grad(power)) == 2
    # Both calls are of the same two programs.
    assert count_loops(jax.grad(lambda x: power(x * power(x)))) == 2
    assert count_loops(lambda x: jax.jvp(power, (x,), (x,))) == 2


def test_what_is_made_to_be_transposed_can_be_run() -> None:
    with jax.enable_x64(True):
        (call,) = jax.make_jaxpr(power)(X).eqns
        _, _, kept, linear = linearize(True, [True], jnp.asarray(X), **call.params)
        along = jnp.cos(jnp.arange(4.0))
        (found, *_) = linear(kept, along)
        np.testing.assert_allclose(found, jax.jvp(power_by_jax, (X,), (along,))[1], 1e-10)


def test_results_that_nobody_uses_leave_no_trace() -> None:
    """Nothing is multiplied by their cotangents, which are zero: the slope of one of them is infinite here."""

    @wl.jit
    def two(x: Any) -> Any:
        a = x
        for i in range(5):
            a = a * np.sin(x + i)
        return a.sum(), np.sqrt(a - a)

    with jax.enable_x64(True):
        assert np.isfinite(jax.grad(lambda x: two(x)[0])(X)).all()
