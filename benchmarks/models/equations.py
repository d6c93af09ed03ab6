"""Solvers of differential equations and of least squares, and minimizers: loops whose end the data decide."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from benchmarks.models.model import Made, model

KEY = jax.random.PRNGKey(0)


@model("diffrax")
def neural_equation_gradient() -> Made:
    """The gradient through an adaptive Tsit5 whose right-hand side is a network."""
    import diffrax
    import equinox as eqx

    network = eqx.nn.MLP(2, 2, 16, 2, activation=jnp.tanh, key=KEY)
    weights, rest = eqx.partition(network, eqx.is_array)
    times = jnp.linspace(0.0, 1.0, 8)

    def loss(weights: Any, starts: Any) -> Any:
        field = diffrax.ODETerm(lambda t, y, args: eqx.combine(weights, rest)(y))

        def solve(start: Any) -> Any:
            return diffrax.diffeqsolve(
                field,
                diffrax.Tsit5(),
                0.0,
                1.0,
                0.1,
                start,
                saveat=diffrax.SaveAt(ts=times),
                stepsize_controller=diffrax.PIDController(rtol=1e-3, atol=1e-6),
                max_steps=16,
            ).ys

        return (jax.vmap(solve)(starts) ** 2).mean()

    return jax.value_and_grad(loss), (weights, jax.random.normal(KEY, (16, 2)))


@model("diffrax")
def stiff_equation() -> Made:
    """Robertson's reactions by Kvaerno5."""
    import diffrax

    def field(t: Any, y: Any, rates: Any) -> Any:
        first = -rates[0] * y[0] + rates[2] * y[1] * y[2]
        last = rates[1] * y[1] ** 2
        return jnp.stack([first, -first - last, last])

    def solve(start: Any, rates: Any) -> Any:
        return diffrax.diffeqsolve(
            diffrax.ODETerm(field),
            diffrax.Kvaerno5(),
            0.0,
            100.0,
            2e-4,
            start,
            args=rates,
            stepsize_controller=diffrax.PIDController(rtol=1e-4, atol=1e-7),
            max_steps=1000,
        ).ys

    return solve, (jnp.array([1.0, 0.0, 0.0]), jnp.array([0.04, 3e7, 1e4]))


@model("diffrax")
def stochastic_equations() -> Made:
    """32 paths of a stochastic equation by Heun's method."""
    import diffrax

    def one(start: Any, key: Any) -> Any:
        path = diffrax.VirtualBrownianTree(0.0, 1.0, 1e-3, (2,), key)
        drift = diffrax.ODETerm(lambda t, y, args: -y + jnp.sin(t))
        noise = diffrax.ControlTerm(lambda t, y, args: 0.1 * jnp.diag(1.0 + y**2), path)
        terms = diffrax.MultiTerm(drift, noise)
        return diffrax.diffeqsolve(
            terms, diffrax.Heun(), 0.0, 1.0, 0.02, start, saveat=diffrax.SaveAt(ts=jnp.linspace(0.0, 1.0, 10))
        ).ys

    return jax.vmap(one), (jax.random.normal(KEY, (32, 2)), jax.random.split(KEY, 32))


@model("optax")
def quasi_newton() -> Made:
    """Five steps of L-BFGS with its line search on Rosenbrock's function."""
    import optax

    def value_of(x: Any) -> Any:
        return (100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2).sum()

    optimizer = optax.lbfgs()
    value_and_grad = optax.value_and_grad_from_state(value_of)

    def run(x: Any) -> Any:
        def step(carried: Any, _: Any) -> Any:
            x, state = carried
            value, gradient = value_and_grad(x, state=state)
            updates, state = optimizer.update(gradient, state, x, value=value, grad=gradient, value_fn=value_of)
            return (optax.apply_updates(x, updates), state), value

        (x, _), values = jax.lax.scan(step, (x, optimizer.init(x)), None, length=5)
        return x, values

    return run, (jnp.linspace(-1.0, 1.0, 8),)


@model("optimistix", tolerance=1e-3)
def least_squares() -> Made:
    """A curve fitted by Levenberg and Marquardt's method."""
    import optimistix

    times = jnp.linspace(0.0, 2.0, 50)

    def residuals(weights: Any, data: Any) -> Any:
        return weights[0] * jnp.exp(-weights[1] * times) + weights[2] * jnp.sin(weights[3] * times) - data

    def fit(start: Any, data: Any) -> Any:
        solver = optimistix.LevenbergMarquardt(rtol=1e-4, atol=1e-4)
        return optimistix.least_squares(residuals, solver, start, args=data, max_steps=50, throw=False).value

    data = 2.0 * jnp.exp(-0.5 * times) + jnp.sin(3.0 * times)
    return fit, (jnp.array([1.0, 1.0, 0.8, 2.8]), data)
