"""Probabilistic models: their densities, and walks through them."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from benchmarks.models.model import Made, model

KEY = jax.random.PRNGKey(0)


@model("numpyro", tolerance=1e-3)
def hierarchical_density() -> Made:
    """The potential of a hierarchical regression with correlated effects, and its gradient."""
    import numpyro
    import numpyro.distributions as dist
    from numpyro.infer.util import initialize_model

    groups = jnp.arange(60) % 6
    x = jax.random.normal(KEY, (60, 3))
    y = jax.random.normal(jax.random.PRNGKey(1), (60,))

    def regression(x: Any, groups: Any, y: Any) -> Any:
        scales = numpyro.sample("scales", dist.HalfCauchy(jnp.ones(3)).to_event(1))
        factor = numpyro.sample("factor", dist.LKJCholesky(3, 2.0))
        mean = numpyro.sample("mean", dist.Normal(0.0, 1.0).expand([3]).to_event(1))
        with numpyro.plate("groups", 6):
            effects = numpyro.sample("effects", dist.MultivariateNormal(mean, scale_tril=scales[:, None] * factor))
        noise = numpyro.sample("noise", dist.HalfNormal(1.0))
        with numpyro.plate("data", 60):
            numpyro.sample("y", dist.StudentT(4.0, (effects[groups] * x).sum(-1), noise), obs=y)

    made: Any = initialize_model(KEY, regression, model_args=(x, groups, y), dynamic_args=True)

    def potential(point: Any, x: Any, groups: Any, y: Any) -> Any:
        return jax.value_and_grad(made.potential_fn(x, groups, y))(point)

    return potential, (made.param_info.z, x, groups, y)


@model("numpyro", tolerance=1e-3)
def state_space_density() -> Made:
    """The potential of a model of states over time, and its gradient."""
    import numpyro
    import numpyro.distributions as dist
    from numpyro.contrib.control_flow import scan
    from numpyro.infer.util import initialize_model

    y = jax.random.normal(KEY, (30,)).cumsum()

    def states(y: Any) -> Any:
        drift = numpyro.sample("drift", dist.Normal(0.0, 1.0))
        scale = numpyro.sample("scale", dist.LogNormal(0.0, 1.0))

        def step(state: Any, each: Any) -> Any:
            state = numpyro.sample("state", dist.Normal(state * jnp.tanh(drift), scale))
            numpyro.sample("y", dist.Normal(state, 0.5), obs=each)
            return state, None

        scan(step, 0.0, y)

    made: Any = initialize_model(KEY, states, model_args=(y,), dynamic_args=True)
    return lambda point, y: jax.value_and_grad(made.potential_fn(y))(point), (made.param_info.z, y)


@model("blackjax", tolerance=1e-2)
def no_u_turn_walk() -> Made:
    """20 samples of a banana-shaped density by NUTS."""
    import blackjax

    def density(x: Any) -> Any:
        return -0.5 * (x[0] ** 2 + (x[1] - x[0] ** 2) ** 2 + (x[2:] ** 2).sum())

    kernel = blackjax.nuts(density, step_size=0.3, inverse_mass_matrix=jnp.ones(4))

    def walk(start: Any, key: Any) -> Any:
        def step(state: Any, key: Any) -> Any:
            state, _ = kernel.step(key, state)
            return state, state.position

        return jax.lax.scan(step, kernel.init(start), jax.random.split(key, 20))[1]

    return walk, (jnp.ones(4), KEY)
