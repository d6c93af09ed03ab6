"""Chains of stencils in the forms in which people write them, and the step of the demo's ocean."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
from benchmarks.tensor.program import Draw, add_gradient, normal, program
from jax import lax

N = 768
STEPS = 6
TWELVE = "twelve"
STENCILS = "stencils"


def inner_step(u: Any) -> Any:
    """The points of the 5-point stencil that have all four neighbours."""
    return 0.5 * u[1:-1, 1:-1] + 0.125 * (u[1:-1, :-2] + u[1:-1, 2:] + u[:-2, 1:-1] + u[2:, 1:-1])


@program(TWELVE, normal((N, N)))
def stencil_concat(u: Any) -> Any:
    for _ in range(STEPS):
        rows = jnp.concatenate([u[1:-1, :1], inner_step(u), u[1:-1, -1:]], 1)
        u = jnp.concatenate([u[:1], rows, u[-1:]], 0)
    return u


@program(TWELVE, normal((N, N)))
def stencil_at_set(u: Any) -> Any:
    for _ in range(STEPS):
        u = u.at[1:-1, 1:-1].set(inner_step(u))
    return u


@program(TWELVE, normal((N, N)))
def stencil_pad(u: Any) -> Any:
    for _ in range(STEPS):
        u = jnp.pad(inner_step(u), 1)
    return u


add_gradient("stencil_at_set", TWELVE)
add_gradient("stencil_concat", STENCILS)
add_gradient("stencil_pad", STENCILS)


@program(STENCILS, normal((512, 512)))
def stencil_roll(u: Any) -> Any:
    for _ in range(STEPS):
        around = jnp.roll(u, 1, 0) + jnp.roll(u, -1, 0) + jnp.roll(u, 1, 1) + jnp.roll(u, -1, 1)
        u = 0.5 * u + 0.125 * around
    return u


@program(STENCILS, normal((N, N)))
def stencil_periodic_ghosts(u: Any) -> Any:
    """Ghost cells are filled before each step, one side after the other."""
    u = jnp.pad(u, 1)
    for _ in range(STEPS):
        u = u.at[0].set(u[-2]).at[-1].set(u[1])
        u = u.at[:, 0].set(u[:, -2]).at[:, -1].set(u[:, 1])
        u = u.at[1:-1, 1:-1].set(inner_step(u))
    return u[1:-1, 1:-1]


@program(STENCILS, normal((512, 512)))
def stencil_edge_pad(u: Any) -> Any:
    for _ in range(STEPS):
        u = inner_step(jnp.pad(u, 1, mode="edge"))
    return u


@program(STENCILS, normal((N, N)))
def stencil_masked(u: Any) -> Any:
    rows, columns = jnp.arange(N)[:, None], jnp.arange(N)[None]
    inside = (rows > 0) & (rows < N - 1) & (columns > 0) & (columns < N - 1)
    for _ in range(STEPS):
        around = jnp.roll(u, 1, 0) + jnp.roll(u, -1, 0) + jnp.roll(u, 1, 1) + jnp.roll(u, -1, 1)
        u = jnp.where(inside, 0.5 * u + 0.125 * around, u)
    return u


@program(STENCILS, normal((512, 512)))
def stencil_convolution(u: Any) -> Any:
    weights = jnp.array([[0, 0.125, 0], [0.125, 0.5, 0.125], [0, 0.125, 0]], jnp.float32)
    for _ in range(3):
        u = lax.conv(u[None, None], weights[None, None], (1, 1), "SAME")[0, 0]
    return u


@program(STENCILS, lambda draw: (draw.uniform(), draw.uniform(256, 256)))
def stencil_rollout(rate: Any, u: Any) -> Any:
    """Diffusion whose rate depends on the state, through 100 steps."""

    def step(u: Any, _: Any) -> tuple[Any, None]:
        neighbours = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
        flow = 0.2 * rate * (neighbours - 4 * u[1:-1, 1:-1])
        return u.at[1:-1, 1:-1].add(flow * (1 - u[1:-1, 1:-1] ** 2)), None

    return lax.scan(step, u, None, length=100)[0]


add_gradient("stencil_rollout", STENCILS, (0, 1))


@program(STENCILS, normal((N, N)))
def stencil_one_row_wanted(u: Any) -> Any:
    """Of the last step only a few rows are looked at."""
    return stencil_at_set(u)[400:410]


def load_ocean() -> Any:
    """The hand-written step of examples/waves."""
    path = Path(__file__).parents[2] / "examples" / "waves" / "reference_jax.py"
    spec = importlib.util.spec_from_file_location("waves_by_hand", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


OCEAN = {
    "rows": 360,
    "columns": 640,
    "spacing": 5e3,
    "time_step": 10.0,
    "gravity": 9.81,
    "drag": 2.5e-3,
    "beta": 2e-11,
    "coriolis": 1e-4,
    "storm_radius": 3e5,
    "wind_stress": 2e-3,
}
waves = load_ocean()


def make_ocean(halo: int) -> Any:
    def make(draw: Draw) -> tuple[Any, ...]:
        shape = OCEAN["rows"] + 2 * halo, OCEAN["columns"] + 2 * halo
        depth = np.where(draw.uniform(*shape) < 0.1, np.float32(-10), draw.uniform(*shape, low=50, high=5000))
        return depth, *(draw.normal(*shape, scale=0.1) for _ in range(3))

    return make


@program(STENCILS, make_ocean(1), tolerance=1e-3)
def waves_with_slices(depth: Any, height: Any, u: Any, v: Any) -> Any:
    state = waves.State(height, u, v)
    for step in range(4):
        state = waves.step_with_slices(OCEAN, depth, state, step)
    return tuple(state)


@program(STENCILS, make_ocean(0), tolerance=1e-3)
def waves_with_rolls(depth: Any, height: Any, u: Any, v: Any) -> Any:
    return tuple(waves.run(waves.step_with_rolls, OCEAN, depth, waves.State(height, u, v), 0, 4))
