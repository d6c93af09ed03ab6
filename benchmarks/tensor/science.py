"""Models from science: many small operations, and gradients of log-likelihoods."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from benchmarks.tensor.program import Draw, add_gradient, program
from jax import lax
from jax.scipy.special import gammaln

SCIENCE = "science"

# ---- Gaussian mixture model, as in the ADBench suite (Šrajer, Kukelova, Fitzgibbon, 2018) ----

POINTS, SIZE, COMPONENTS = 1000, 16, 25


def make_mixture(draw: Draw) -> tuple[Any, ...]:
    inverse = draw.normal(COMPONENTS, SIZE + SIZE * (SIZE - 1) // 2, scale=0.3)
    return draw.normal(COMPONENTS), draw.normal(COMPONENTS, SIZE), inverse, draw.normal(POINTS, SIZE)


@program(SCIENCE, make_mixture, tolerance=1e-3)
def gmm_log_likelihood(weights: Any, means: Any, inverse: Any, points: Any) -> Any:
    """`inverse` holds the logarithms of the diagonals of the inverse covariances' factors, then the columns below."""
    log_diagonals, below = inverse[:, :SIZE], inverse[:, SIZE:]
    diagonals = jnp.exp(log_diagonals)

    def lower_triangle(entries: Any) -> Any:
        lower, first = jnp.zeros((SIZE, SIZE)), 0
        for column in range(SIZE - 1):
            height = SIZE - column - 1
            lower = lower.at[column + 1 :, column].set(entries[first : first + height])
            first += height
        return lower

    factors = jax.vmap(lower_triangle)(below)
    centred = points[:, None, :] - means[None, :, :]
    scaled = diagonals[None] * centred + jnp.einsum("kij,nkj->nki", factors, centred)
    inner = weights + log_diagonals.sum(-1) - 0.5 * (scaled**2).sum(-1)
    likelihood = jax.nn.logsumexp(inner, 1).sum() - POINTS * jax.nn.logsumexp(weights)
    return likelihood - POINTS * SIZE * 0.5 * jnp.log(2 * jnp.pi) + wishart_prior(diagonals, below, log_diagonals)


def wishart_prior(diagonals: Any, below: Any, log_diagonals: Any, gamma: float = 1.0, freedom: int = 0) -> Any:
    count = SIZE + freedom + 1
    places = jnp.arange(1, SIZE + 1)
    log_gamma = 0.25 * SIZE * (SIZE - 1) * jnp.log(jnp.pi) + gammaln(0.5 * count + 0.5 * (1 - places)).sum()
    constant = count * SIZE * (jnp.log(gamma) - 0.5 * jnp.log(2.0)) - log_gamma
    frobenius = (diagonals**2).sum(-1) + (below**2).sum(-1)
    return (0.5 * gamma**2 * frobenius - freedom * log_diagonals.sum(-1)).sum() - COMPONENTS * constant


add_gradient("gmm_log_likelihood", SCIENCE, (0, 1, 2))

# ---- a neuron with Hodgkin–Huxley channels on a cable ----

CELLS, COMPARTMENTS = 256, 12


def make_neuron(draw: Draw) -> tuple[Any, ...]:
    shape = CELLS, COMPARTMENTS
    return (draw.uniform(*shape, low=-75, high=-50), *(draw.uniform(*shape) for _ in range(3)), draw.uniform(*shape))


def gate_rates(v: Any) -> Any:
    """Opening and closing rates of the gates m, h and n at a voltage in mV (Hodgkin and Huxley, 1952, shifted)."""

    def ratio(x: Any, y: float) -> Any:
        return jnp.where(jnp.abs(x / y) < 1e-4, y * (1 - x / y / 2), x / (jnp.exp(x / y) - 1))

    alpha_m, beta_m = 0.1 * ratio(-(v + 40), 10.0), 4.0 * jnp.exp(-(v + 65) / 18)
    alpha_h, beta_h = 0.07 * jnp.exp(-(v + 65) / 20), 1 / (jnp.exp(-(v + 35) / 10) + 1)
    alpha_n, beta_n = 0.01 * ratio(-(v + 55), 10.0), 0.125 * jnp.exp(-(v + 65) / 80)
    return (alpha_m, beta_m), (alpha_h, beta_h), (alpha_n, beta_n)


def solve_cable(diagonal: Any, side: float, right: Any) -> Any:
    """The tridiagonal system by elimination and back substitution, one compartment after the other (Thomas)."""
    n = right.shape[-1]
    for i in range(1, n):
        factor = side / diagonal[..., i - 1]
        diagonal = diagonal.at[..., i].add(-factor * side)
        right = right.at[..., i].add(-factor * right[..., i - 1])
    solution = jnp.zeros_like(right).at[..., n - 1].set(right[..., n - 1] / diagonal[..., n - 1])
    for i in reversed(range(n - 1)):
        value = (right[..., i] - side * solution[..., i + 1]) / diagonal[..., i]
        solution = solution.at[..., i].set(value)
    return solution


def neuron_step(v: Any, m: Any, h: Any, n: Any, stimulus: Any, dt: float = 0.025, axial: float = 2.0) -> Any:
    gates = []
    for gate, (alpha, beta) in zip((m, h, n), gate_rates(v), strict=True):
        time, target = 1 / (alpha + beta), alpha / (alpha + beta)
        gates.append(target + (gate - target) * jnp.exp(-dt / time))
    m, h, n = gates
    sodium, potassium, leak = 120.0 * m**3 * h, 36.0 * n**4, 0.3
    conductance = sodium + potassium + leak
    current = sodium * 50.0 + potassium * -77.0 + leak * -54.4 + stimulus
    neighbours = jnp.ones(COMPARTMENTS).at[1:-1].add(1.0)
    diagonal = 1 + dt * conductance + dt * axial * neighbours
    return solve_cable(diagonal, -dt * axial, v + dt * current), m, h, n


@program(SCIENCE, make_neuron, tolerance=1e-3)
def neuron_step_unrolled(v: Any, m: Any, h: Any, n: Any, stimulus: Any) -> Any:
    return neuron_step(v, m, h, n, stimulus)


@program(SCIENCE, make_neuron, tolerance=1e-3)
def neuron_steps_in_loop(v: Any, m: Any, h: Any, n: Any, stimulus: Any) -> Any:
    """Several steps, and after each the voltage at the tip."""

    def step(state: Any, _: Any) -> Any:
        state = neuron_step(*state, stimulus)
        return state, state[0][:, -1]

    return lax.scan(step, (v, m, h, n), None, length=20)


def make_bodies(draw: Draw) -> tuple[Any, ...]:
    return draw.normal(512, 3), draw.normal(512, 3), draw.uniform(512, 1, low=0.5, high=1.5)


@program(SCIENCE, make_bodies, tolerance=1e-3)
def nbody(position: Any, velocity: Any, mass: Any) -> Any:
    """Leapfrog steps with softened gravity, energies after each; pairwise distances from columns."""

    def acceleration(position: Any) -> Any:
        x, y, z = position[:, 0:1], position[:, 1:2], position[:, 2:3]
        dx, dy, dz = x.T - x, y.T - y, z.T - z
        inverse = (dx**2 + dy**2 + dz**2 + 0.01) ** -1.5
        return jnp.hstack([(dx * inverse) @ mass, (dy * inverse) @ mass, (dz * inverse) @ mass])

    def energies(position: Any, velocity: Any) -> Any:
        x, y, z = position[:, 0:1], position[:, 1:2], position[:, 2:3]
        distance = jnp.sqrt((x.T - x) ** 2 + (y.T - y) ** 2 + (z.T - z) ** 2)
        inverse = jnp.where(distance > 0, 1 / jnp.where(distance > 0, distance, 1), 0)
        potential = jnp.sum(jnp.triu(-(mass * mass.T) * inverse, 1))
        return 0.5 * jnp.sum(mass * velocity**2), potential

    velocity = velocity - jnp.mean(mass * velocity, 0) / jnp.mean(mass)
    force, kinetic, potential = acceleration(position), [], []
    for _ in range(2):
        velocity = velocity + 0.005 * force
        position = position + 0.01 * velocity
        force = acceleration(position)
        velocity = velocity + 0.005 * force
        both = energies(position, velocity)
        kinetic.append(both[0])
        potential.append(both[1])
    return position, jnp.stack(kinetic), jnp.stack(potential)


def make_positions(draw: Draw) -> tuple[Any, ...]:
    return tuple(draw.uniform(200_000, low=-1.5, high=1.5) for _ in range(4))


@program(SCIENCE, make_positions)
def arc_distance(theta1: Any, phi1: Any, theta2: Any, phi2: Any) -> Any:
    part = jnp.sin((theta2 - theta1) / 2) ** 2 + jnp.cos(theta1) * jnp.cos(theta2) * jnp.sin((phi2 - phi1) / 2) ** 2
    return 2 * jnp.arctan2(jnp.sqrt(part), jnp.sqrt(1 - part))


@program(SCIENCE, lambda draw: (draw.uniform(200_000), draw.uniform(200_000)))
def azimint(data: Any, radius: Any) -> Any:
    """The mean of the data in each of some rings, by masks."""
    largest, rings, means = radius.max(), 16, []
    for i in range(rings):
        mask = (largest * i / rings <= radius) & (radius < largest * (i + 1) / rings)
        means.append(jnp.where(mask, data, 0).sum() / mask.sum())
    return jnp.stack(means)


def make_flow(draw: Draw) -> tuple[Any, ...]:
    return tuple(draw.normal(400, 400, scale=0.1) for _ in range(3))


def build_source(u: Any, v: Any, rho: float, dt: float, dx: float, dy: float) -> Any:
    along_x, along_y = (u[1:-1, 2:] - u[1:-1, :-2]) / (2 * dx), (v[2:, 1:-1] - v[:-2, 1:-1]) / (2 * dy)
    across = (u[2:, 1:-1] - u[:-2, 1:-1]) / (2 * dy) * (v[1:-1, 2:] - v[1:-1, :-2]) / (2 * dx)
    inner = rho * ((along_x + along_y) / dt - along_x**2 - 2 * across - along_y**2)
    return jnp.zeros_like(u).at[1:-1, 1:-1].set(inner)


@program(SCIENCE, make_flow, tolerance=1e-3)
def cavity_flow_step(u: Any, v: Any, p: Any) -> Any:
    """Navier–Stokes in a box with a moving lid: the pressure by a few Jacobi sweeps, then the velocities."""
    dx = dy = 2 / 399
    dt, rho, nu = 1e-4, 1.0, 0.1
    b = build_source(u, v, rho, dt, dx, dy)
    for _ in range(8):
        around = (p[1:-1, 2:] + p[1:-1, :-2]) * dy**2 + (p[2:, 1:-1] + p[:-2, 1:-1]) * dx**2
        inner = (around - dx**2 * dy**2 * b[1:-1, 1:-1]) / (2 * (dx**2 + dy**2))
        p = p.at[1:-1, 1:-1].set(inner)
        p = p.at[:, -1].set(p[:, -2]).at[0, :].set(p[1, :]).at[:, 0].set(p[:, 1]).at[-1, :].set(0)

    def advance(w: Any, pressure: Any) -> Any:
        here = w[1:-1, 1:-1]
        carried = u[1:-1, 1:-1] * dt / dx * (here - w[1:-1, :-2]) + v[1:-1, 1:-1] * dt / dy * (here - w[:-2, 1:-1])
        spread = dt / dx**2 * (w[1:-1, 2:] - 2 * here + w[1:-1, :-2]) + dt / dy**2 * (
            w[2:, 1:-1] - 2 * here + w[:-2, 1:-1]
        )
        return w.at[1:-1, 1:-1].set(here - carried - pressure + nu * spread)

    new_u = advance(u, dt / (2 * rho * dx) * (p[1:-1, 2:] - p[1:-1, :-2]))
    new_v = advance(v, dt / (2 * rho * dy) * (p[2:, 1:-1] - p[:-2, 1:-1]))
    new_u = new_u.at[0, :].set(0).at[:, 0].set(0).at[:, -1].set(0).at[-1, :].set(1)
    new_v = new_v.at[0, :].set(0).at[-1, :].set(0).at[:, 0].set(0).at[:, -1].set(0)
    return new_u, new_v, p


@program(SCIENCE, make_flow, tolerance=1e-3)
def channel_flow_pressure(u: Any, v: Any, p: Any) -> Any:
    """The pressure in a channel that is periodic in x: interior, first and last column written apart."""
    dx = dy = 2 / 399
    b = build_source(u, v, 1.0, 1e-4, dx, dy)
    scale = 2 * (dx**2 + dy**2)

    def sweep(_: Any, p: Any) -> Any:
        def column(here: Any, east: Any, west: Any, source: Any) -> Any:
            around = (east + west) * dy**2 + (here[2:] + here[:-2]) * dx**2
            return (around - dx**2 * dy**2 * source[1:-1]) / scale

        new = p.at[1:-1, 1:-1].set(column(p[:, 1:-1], p[1:-1, 2:], p[1:-1, :-2], b[:, 1:-1]))
        new = new.at[1:-1, -1].set(column(p[:, -1], p[1:-1, 0], p[1:-1, -2], b[:, -1]))
        new = new.at[1:-1, 0].set(column(p[:, 0], p[1:-1, 1], p[1:-1, -1], b[:, 0]))
        return new.at[-1, :].set(new[-2, :]).at[0, :].set(new[1, :])

    return lax.fori_loop(0, 10, sweep, p)
