"""Derivative rules, JAX's and the user's, within `wl.jit`: the derivatives are those of JAX."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental.ode import odeint

import windlass as wl
from windlass.diagnostics import WindlassError

X = np.array([-0.5, 0.0, 1.3])
WAY = np.array([1.0, 2.0, 3.0])


@jax.custom_vjp
def clipped_backwards(x: Any) -> Any:
    return x


clipped_backwards.defvjp(lambda x: (x, None), lambda _, given: (jnp.clip(given, -0.1, 0.1),))


@jax.custom_gradient
def scaled_backwards(x: Any) -> Any:
    return x * x, lambda given: 7 * given * x


@jax.custom_jvp
def rounded(x: Any) -> Any:
    return jnp.round(x)


rounded.defjvp(lambda primals, tangents: (rounded(*primals), tangents[0]))


@jax.custom_vjp
def rounded_by_numpy(x: Any) -> Any:
    return np.round(x)


rounded_by_numpy.defvjp(lambda x: (jnp.round(x), None), lambda _, given: (given,))


@jax.custom_jvp
def power(x: Any) -> Any:
    return x**3


@power.defjvp
def power_rule(primals: Any, tangents: Any) -> Any:
    (x,), (change,) = primals, tangents
    return power(x), 5 * x**2 * change  # not what it does, so that it shows


def in_a_loop(x: Any) -> Any:
    total = x * 0
    for _ in range(11):
        total = rounded(total * 1.5) * 0.5 + clipped_backwards(x)
    return total.sum()


def written_in_a_loop(x: Any) -> Any:
    total = np.zeros(3)
    for _ in range(11):
        total[:] = rounded(total * 1.5) * 0.5 + clipped_backwards(x)
    return np.sum(total)


FORWARDS: dict[str, Callable[[Any], Any]] = {
    "stop_gradient": lambda x: (x * jax.lax.stop_gradient(x)).sum(),
    "stop_gradient within jax.jit": lambda x: (x * jax.jit(jax.lax.stop_gradient)(x)).sum(),
    "custom_jvp": lambda x: (power(x) + rounded(x) * x).sum(),
    "relu": lambda x: (jax.nn.relu(x) * x + jax.nn.relu6(x)).sum(),
    "sinc": lambda x: jnp.sinc(x).sum(),
    "softmax": lambda x: (jax.nn.softmax(x) ** 2).sum() + jax.nn.logsumexp(x),
    "checkpoint": lambda x: jax.checkpoint(lambda y: power(jnp.sin(power(y))))(x).sum(),
    "cg": lambda x: (jax.scipy.sparse.linalg.cg(lambda v: v * (2 + x**2), x)[0] ** 2).sum(),
    "solve": lambda x: (jnp.linalg.solve(jnp.outer(x, x) + 3 * jnp.eye(3), x) ** 2).sum(),
    "cond": lambda x: jax.lax.cond(x[0] < 0, power, rounded, x).sum(),
}
BACKWARDS: dict[str, Callable[[Any], Any]] = {
    "custom_vjp": lambda x: (3 * clipped_backwards(x) * x).sum(),
    "custom_gradient": lambda x: (3 * scaled_backwards(x)).sum(),
    "loop": in_a_loop,
}


LARGE = ("softmax", "cg", "solve")
"""Programs that take long to compile: but for the gradient, in the full run."""


def values_of(found: Any) -> list[Any]:
    return [np.asarray(each) for each in jax.tree.leaves(found)]


def derivatives(function: Callable[[Any], Any], forwards: bool) -> dict[str, list[Any]]:
    two = jnp.stack([jnp.asarray(X), 2 * jnp.asarray(X)])
    gradient = jax.grad(function)
    found = {
        "grad": jax.value_and_grad(function)(jnp.asarray(X)),
        "vmap of grad": jax.jit(jax.vmap(gradient))(two),
        "grad of vmap": jax.grad(lambda rows: jax.vmap(function)(rows).sum())(two),
        "grad of grad": jax.grad(lambda x: gradient(x) @ WAY)(jnp.asarray(X)),
        "jvp of grad": jax.jvp(gradient, (jnp.asarray(X),), (WAY,)),
    }
    if forwards:
        found["jvp"] = jax.jvp(function, (jnp.asarray(X),), (WAY,))
    return {name: values_of(each) for name, each in found.items()}


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * (name in LARGE)) for name in (*FORWARDS, *BACKWARDS)]
)
def test_derivatives_are_those_of_the_rule(name: str) -> None:
    with jax.enable_x64(True):
        function = (FORWARDS | BACKWARDS)[name]
        expected = derivatives(function, name in FORWARDS)
        found = derivatives(wl.jit(whole=True)(function), name in FORWARDS)
        for way, arrays in expected.items():
            for one, other in zip(arrays, found[way], strict=True):
                np.testing.assert_allclose(other, one, rtol=1e-9, atol=1e-12, err_msg=way)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", LARGE)
def test_gradients_are_those_of_the_rule(name: str) -> None:
    with jax.enable_x64(True):
        expected = jax.grad(FORWARDS[name])(jnp.asarray(X))
        found = jax.grad(wl.jit(whole=True)(FORWARDS[name]))(jnp.asarray(X))
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


def test_rules_hold_for_each_round_of_a_loop_that_writes() -> None:
    with jax.enable_x64(True):
        expected = jax.grad(in_a_loop)(jnp.asarray(X))
        np.testing.assert_allclose(
            jax.grad(wl.jit(whole=True)(written_in_a_loop))(jnp.asarray(X)), expected, rtol=1e-12
        )


def test_functions_with_rules_may_be_written_with_numpy() -> None:
    gradient = jax.grad(wl.jit(whole=True)(lambda x: np.sum(rounded_by_numpy(x))))
    assert gradient(jnp.array([0.2, 1.7])).tolist() == [1, 1]


def test_rules_for_reverse_mode_are_refused_in_forward_mode() -> None:
    with pytest.raises(WindlassError, match=r"WL0901.*can't be differentiated forwards.*jax\.custom_vjp"):
        jax.jvp(wl.jit(whole=True)(lambda x: np.sum(clipped_backwards(x))), (jnp.ones(3),), (jnp.ones(3),))


def test_rules_hold_in_functions_that_are_optimized_or_compiled_within() -> None:
    def squared(x: Any) -> Any:
        return x * jax.lax.stop_gradient(x)

    for inner in (wl.optimize(squared), jax.jit(wl.jit(whole=True)(squared)), jax.vmap(wl.jit(whole=True)(squared))):
        gradient = jax.grad(wl.jit(whole=True)(lambda x, inner=inner: np.sum(inner(x))))
        assert gradient(jnp.array([0.5, 3.0])).tolist() == [0.5, 3.0]


TIES: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "abs": (np.abs, jnp.abs),
    "clip": (lambda x: np.clip(x, 0.0, 1.0), lambda x: jnp.clip(x, 0.0, 1.0)),
    "clip to nothing": (lambda x: np.clip(x, 1.0, 1.0), lambda x: jnp.clip(x, 1.0, 1.0)),
    "lax.clamp": (
        lambda x: jax.lax.clamp(jnp.zeros_like(x), jnp.asarray(x), jnp.ones_like(x)),
        lambda x: jax.lax.clamp(jnp.zeros_like(x), x, jnp.ones_like(x)),
    ),
    "maximum": (lambda x: np.maximum(x, 0.0), lambda x: jnp.maximum(x, 0.0)),
    "max": (lambda x: x * 0 + np.max(x * 0), lambda x: x * 0 + jnp.max(x * 0)),
    "sort": (lambda x: np.sort(x)[::-1], lambda x: jnp.sort(x)[::-1]),
    "sign": (np.sign, jnp.sign),
    "where": (lambda x: np.where(x > 0, x, -x), lambda x: jnp.where(x > 0, x, -x)),
    "power": (lambda x: x**3, lambda x: x**3),
    "hypot": (lambda x: np.hypot(x, 3.0), lambda x: jnp.hypot(x, 3.0)),
    "fmin": (lambda x: np.fmin(x, 1.0), lambda x: jnp.fmin(x, 1.0)),
}


def test_ties_are_divided_as_jax_does() -> None:
    x = jnp.array([-1.0, -0.0, 0.0, 1.0, 1.0, 2.0])

    def pulled(functions: list[Callable[[Any], Any]]) -> Any:
        return lambda x: [function(x) for function in functions]

    weights = [jnp.arange(1.0, 7.0)] * len(TIES)
    expected = jax.vjp(pulled([other for _, other in TIES.values()]), x)[1]
    found = jax.vjp(wl.jit(whole=True)(pulled([own for own, _ in TIES.values()])), x)[1]
    for index, name in enumerate(TIES):
        chosen = [weight * (index == place) for place, weight in enumerate(weights)]
        np.testing.assert_allclose(found(chosen)[0], expected(chosen)[0], err_msg=name)


def test_linear_functions_keep_the_transpose_that_they_were_given() -> None:
    def scaled(x: Any) -> Any:
        return jax.custom_derivatives.linear_call(lambda c, v: c * v, lambda c, v: 7 * c * v, 3.0, jnp.asarray(x))

    assert jax.grad(wl.jit(whole=True)(lambda x: np.sum(scaled(x))))(jnp.ones(2)).tolist() == [21, 21]


def solved_by_ode(x: Any) -> Any:
    x = jnp.asarray(x)
    return odeint(lambda y, _, rate: -rate * y, jnp.ones(3), jnp.linspace(0.0, 1.0, 3), x**2)[-1].sum()


def solved_by_root(x: Any) -> Any:
    x = jnp.asarray(x)

    def newton(f: Any, start: Any) -> Any:
        return jax.lax.fori_loop(0, 60, lambda _, y: y - f(y) / (3 * y**2 + 1e-3), start + 2.0)

    return jax.lax.custom_root(lambda y: y**3 - x**2 - 1, x, newton, lambda g, y: y / g(jnp.ones_like(y))).sum()


@pytest.mark.slow
@pytest.mark.parametrize("function", [solved_by_ode, solved_by_root])
def test_solvers_are_differentiated_by_their_rules(function: Callable[[Any], Any]) -> None:
    with jax.enable_x64(True):
        expected = jax.jit(jax.grad(function))(jnp.asarray(X))
        np.testing.assert_allclose(
            jax.grad(wl.jit(whole=True)(function))(jnp.asarray(X)), expected, rtol=1e-6, atol=1e-9
        )
