"""Particles and bodies that move."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from benchmarks.models.model import Made, model

KEY = jax.random.PRNGKey(0)

BODIES = """
<mujoco>
  <option timestep="0.005" iterations="2" ls_iterations="4"/>
  <worldbody>
    <geom type="plane" size="5 5 .1"/>
    <body pos="0 0 .5"><freejoint/><geom type="sphere" size=".1"/></body>
    <body pos=".05 0 .8"><freejoint/><geom type="capsule" size=".08 .1"/></body>
    <body pos="0 .05 1.2"><freejoint/><geom type="sphere" size=".12"/></body>
  </worldbody>
</mujoco>
"""


@model("jax-md")
def soft_spheres_minimized() -> Made:
    """20 steps of FIRE for soft spheres."""
    from jax_md import energy, minimize, space

    displacement, shift = space.periodic(8.0)
    start, apply = minimize.fire_descent(energy.soft_sphere_pair(displacement), shift)

    def run(positions: Any) -> Any:
        return jax.lax.fori_loop(0, 20, lambda _, state: apply(state), start(positions)).position

    return run, (8.0 * jax.random.uniform(KEY, (64, 2)),)


@model("jax-md", tolerance=1e-3)
def lennard_jones_thermostat() -> Made:
    """10 steps of Nosé and Hoover's thermostat over lists of neighbours."""
    from jax_md import energy, simulate, space

    box = 6.0
    displacement, shift = space.periodic(box)
    neighbours_of, energy_of = energy.lennard_jones_neighbor_list(displacement, box, r_cutoff=2.0, dr_threshold=0.3)
    grid = jnp.stack(jnp.meshgrid(*[jnp.arange(6.0)] * 2), axis=-1).reshape(-1, 2)
    positions = grid + 0.1 * jax.random.normal(KEY, grid.shape)
    neighbours = neighbours_of.allocate(positions)
    start, apply = simulate.nvt_nose_hoover(energy_of, shift, 1e-3, 0.5)

    def run(positions: Any, neighbours: Any) -> Any:
        state = start(KEY, positions, neighbor=neighbours)

        def step(_: Any, carried: Any) -> Any:
            state, neighbours = carried
            neighbours = neighbours.update(state.position)
            return apply(state, neighbor=neighbours), neighbours

        return jax.lax.fori_loop(0, 10, step, (state, neighbours))[0].position

    return run, (positions, neighbours)


@model("mujoco-mjx", tolerance=1e-3)
def rigid_bodies() -> Made:
    """10 steps of three bodies that touch."""
    import mujoco
    from mujoco import mjx

    world = mujoco.MjModel.from_xml_string(BODIES)
    bodies = mjx.put_model(world)
    state = mjx.put_data(world, mujoco.MjData(world))

    def run(positions: Any, velocities: Any) -> Any:
        data = state.replace(qpos=positions, qvel=velocities)
        data = jax.lax.fori_loop(0, 10, lambda _, data: mjx.step(bodies, data), data)
        return data.qpos, data.qvel

    return run, (state.qpos, 0.1 * jnp.ones_like(state.qvel))
