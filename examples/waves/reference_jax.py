"""The step of waves.cu written by hand in JAX: what the raised step is checked against and timed against.

Fields are those of waves.cu, halo included. Two forms are given, since XLA's time depends on how a shift is written:
`step_with_slices` computes the interior from slices and puts the halo around it, `step_with_rolls` has no halo inside
and shifts whole arrays.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

STILL = 1e-12
"""As in waves.cu."""


class State(NamedTuple):
    """Sea surface height and velocities on faces, each (rows + 2, columns + 2) with its halo."""

    height: jax.Array
    u: jax.Array
    v: jax.Array


def storm(ocean: Any, step: Any) -> tuple[jax.Array, jax.Array]:
    """The wind stress over the whole grid, halo included, at a step."""
    rows, columns, spacing = int(ocean["rows"]), int(ocean["columns"]), float(ocean["spacing"])
    j = jnp.arange(rows + 2, dtype=jnp.float32)[:, None]
    i = jnp.arange(columns + 2, dtype=jnp.float32)[None, :]
    length = columns * spacing
    time = jnp.asarray(step, jnp.float32) * float(ocean["time_step"])
    x = i * spacing - (0.62 * length - 55.0 * time)
    x = (x - length * jnp.rint(x / length)) / float(ocean["storm_radius"])
    y = (j * spacing - (0.36 * rows * spacing + 12.0 * time)) / float(ocean["storm_radius"])
    strength = float(ocean["wind_stress"]) * jnp.exp(0.5 - 0.5 * (x * x + y * y))
    return -strength * y, strength * x


def with_halo(inner: jax.Array, mirrored: bool) -> jax.Array:
    """Adds a halo: periodic from west to east, and in the north and south the nearest row, or zeros."""
    field = jnp.concatenate([inner[:, -1:], inner, inner[:, :1]], 1)
    if mirrored:
        return jnp.concatenate([field[:1], field, field[-1:]], 0)
    return jnp.pad(field, ((1, 1), (0, 0)))


def step_with_slices(ocean: Any, depth: jax.Array, state: State, step: Any) -> State:
    """One time step; `depth` has its halo."""
    height, u, v = state
    dt, dx, g = float(ocean["time_step"]), float(ocean["spacing"]), float(ocean["gravity"])
    rows, drag = int(ocean["rows"]), float(ocean["drag"])
    centre, east, west = np.s_[1:-1, 1:-1], np.s_[1:-1, 2:], np.s_[1:-1, :-2]
    north, south = np.s_[2:, 1:-1], np.s_[:-2, 1:-1]
    stress_x, stress_y = storm(ocean, step)
    j = jnp.arange(1, rows + 1, dtype=jnp.float32)[:, None]
    beta, f0 = float(ocean["beta"]), float(ocean["coriolis"])

    water = 0.5 * (depth[centre] + depth[east] + height[centre] + height[east])
    v_here = 0.25 * (v[centre] + v[east] + v[south] + v[:-2, 2:])
    f = f0 + beta * dx * (j - 0.5 * rows)
    friction = drag * jnp.sqrt(u[centre] ** 2 + v_here**2 + STILL) / water
    push = f * v_here - g * (height[east] - height[centre]) / dx
    push += 0.5 * (stress_x[centre] + stress_x[east]) / water
    pushed = (u[centre] + dt * push) / (1 + dt * friction)
    u = with_halo(jnp.where((depth[centre] > 0) & (depth[east] > 0), pushed, 0.0), mirrored=False)

    water = 0.5 * (depth[centre] + depth[north] + height[centre] + height[north])
    u_here = 0.25 * (u[centre] + u[west] + u[north] + u[2:, :-2])
    f = f0 + beta * dx * (j + 0.5 - 0.5 * rows)
    friction = drag * jnp.sqrt(u_here**2 + v[centre] ** 2 + STILL) / water
    push = -f * u_here - g * (height[north] - height[centre]) / dx
    push += 0.5 * (stress_y[centre] + stress_y[north]) / water
    pushed = (v[centre] + dt * push) / (1 + dt * friction)
    is_open = (depth[centre] > 0) & (depth[north] > 0) & (j < rows)
    v = with_halo(jnp.where(is_open, pushed, 0.0), mirrored=False)

    total = depth + height
    flux_x = 0.5 * u[1:-1, :-1] * (total[1:-1, :-1] + total[1:-1, 1:])
    flux_y = 0.5 * v[:-1, 1:-1] * (total[:-1, 1:-1] + total[1:, 1:-1])
    change = flux_x[:, 1:] - flux_x[:, :-1] + flux_y[1:] - flux_y[:-1]
    risen = jnp.where(depth[centre] > 0, height[centre] - dt / dx * change, height[centre])
    return State(with_halo(risen, mirrored=True), u, v)


def step_with_rolls(ocean: Any, depth: jax.Array, state: State, step: Any) -> State:
    """One time step on fields without halo: (rows, columns) each; `depth` too."""
    height, u, v = state
    dt, dx, g = float(ocean["time_step"]), float(ocean["spacing"]), float(ocean["gravity"])
    rows, drag = int(ocean["rows"]), float(ocean["drag"])
    stress_x, stress_y = storm(ocean, step)
    j = jnp.arange(1, rows + 1, dtype=jnp.float32)[:, None]
    beta, f0 = float(ocean["beta"]), float(ocean["coriolis"])

    def east(x: jax.Array) -> jax.Array:
        return jnp.concatenate([x[:, 1:], x[:, :1]], 1)

    def west(x: jax.Array) -> jax.Array:
        return jnp.concatenate([x[:, -1:], x[:, :-1]], 1)

    def north(x: jax.Array) -> jax.Array:
        return jnp.concatenate([x[1:], x[-1:]], 0)

    def south(x: jax.Array) -> jax.Array:
        return jnp.pad(x[:-1], ((1, 0), (0, 0)))

    wet = depth > 0
    water = 0.5 * (depth + east(depth) + height + east(height))
    v_here = 0.25 * (v + east(v) + south(v) + east(south(v)))
    f = f0 + beta * dx * (j - 0.5 * rows)
    push = f * v_here - g * (east(height) - height) / dx
    push += 0.5 * (stress_x[1:-1, 1:-1] + stress_x[1:-1, 2:]) / water
    friction = drag * jnp.sqrt(u**2 + v_here**2 + STILL) / water
    u = jnp.where(wet & east(wet), (u + dt * push) / (1 + dt * friction), 0.0)

    water = 0.5 * (depth + north(depth) + height + north(height))
    u_here = 0.25 * (u + west(u) + north(u) + west(north(u)))
    f = f0 + beta * dx * (j + 0.5 - 0.5 * rows)
    push = -f * u_here - g * (north(height) - height) / dx
    push += 0.5 * (stress_y[1:-1, 1:-1] + stress_y[2:, 1:-1]) / water
    friction = drag * jnp.sqrt(u_here**2 + v**2 + STILL) / water
    v = jnp.where(wet & north(wet) & (j < rows), (v + dt * push) / (1 + dt * friction), 0.0)

    total = depth + height
    flux_x = 0.5 * u * (total + east(total))
    flux_y = 0.5 * v * (total + north(total))
    change = flux_x - west(flux_x) + flux_y - south(flux_y)
    return State(jnp.where(wet, height - dt / dx * change, height), u, v)


def run(form: Any, ocean: Any, depth: jax.Array, state: State, first: Any, steps: Any) -> State:
    """Several steps as one `fori_loop`."""
    return lax.fori_loop(first, first + steps, lambda step, state: form(ocean, depth, state, step), state)


def compile_run(form: Any, ocean: Any) -> Any:
    """`run` for one form and ocean, jitted: takes depth, state, first step, number of steps."""
    return jax.jit(partial(run, form, ocean), donate_argnums=1)
