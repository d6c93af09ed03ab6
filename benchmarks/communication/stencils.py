"""Programs that read their neighbours' elements."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from benchmarks.communication.case import Case, divided, faces

N = 2048
PLANE, LINE, BOX = (4, 2), (8,), (2, 2, 2)
LONG = 1 << 20
CUBE = 128


def five_points_rolled(u: Any) -> Any:
    return (jnp.roll(u, 1, 0) + jnp.roll(u, -1, 0) + jnp.roll(u, 1, 1) + jnp.roll(u, -1, 1)) / 4


def nine_points_rolled(u: Any) -> Any:
    return sum(jnp.roll(u, (i, j), (0, 1)) for i in (-1, 0, 1) for j in (-1, 0, 1)) / 9


def five_points_of_the_interior(u: Any) -> Any:
    return u.at[1:-1, 1:-1].set((u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]) / 4)


def nine_points_of_the_interior(u: Any) -> Any:
    rows, columns = u.shape[0] - 2, u.shape[1] - 2
    return u.at[1:-1, 1:-1].set(sum(u[i : i + rows, j : j + columns] for i in range(3) for j in range(3)) / 9)


def ghost_cells_filled_in_place(u: Any) -> Any:
    u = u.at[0].set(u[-2]).at[-1].set(u[1])
    u = u.at[:, 0].set(u[:, -2]).at[:, -1].set(u[:, 1])
    return five_points_of_the_interior(u)


def ocean_step(h: Any, u: Any, v: Any, t: Any, s: Any) -> Any:
    """Five fields of a C grid, upwind in third order: halo 3, periodic, as interior updates of padded fields."""
    rows, columns = h.shape
    h, u, v, t, s = (jnp.pad(each, 3, mode="wrap") for each in (h, u, v, t, s))

    def at(f: Any, i: int, j: int) -> Any:
        return f[3 + i : 3 + i + rows, 3 + j : 3 + j + columns]

    def advected(f: Any) -> Any:
        x = (at(f, 3, 0) - 6 * at(f, 2, 0) + 15 * at(f, 1, 0) - 10 * at(f, 0, 0)) / 60
        x += (at(f, -3, 0) - 6 * at(f, -2, 0) + 15 * at(f, -1, 0) - 10 * at(f, 0, 0)) / 60
        y = (at(f, 0, 3) - 6 * at(f, 0, 2) + 15 * at(f, 0, 1) - 10 * at(f, 0, 0)) / 60
        y += (at(f, 0, -3) - 6 * at(f, 0, -2) + 15 * at(f, 0, -1) - 10 * at(f, 0, 0)) / 60
        return at(u, 0, 0) * x + at(v, 0, 0) * y

    turned = 0.25 * (at(v, 0, 0) + at(v, -1, 0) + at(v, 0, 1) + at(v, -1, 1))
    following = [at(f, 0, 0) - 0.1 * advected(f) for f in (h, u, v, t, s)]
    following[0] -= 0.1 * (at(u, 1, 0) - at(u, 0, 0) + at(v, 0, 1) - at(v, 0, 0))
    following[1] += 0.1 * (turned - (at(h, 0, 0) - at(h, -1, 0)))
    following[2] -= 0.1 * (at(u, 0, 0) + at(h, 0, 0) - at(h, 0, -1))
    return tuple(following)


def heat_on_a_line(u: Any) -> Any:
    return u.at[1:-1].add(0.1 * (u[:-2] - 2 * u[1:-1] + u[2:]))


def wide_on_a_ring(u: Any) -> Any:
    p = jnp.pad(u, 3, mode="wrap")
    return sum((k + 1) * p[k : k + u.shape[0]] for k in range(7)) / 28


def upwind(u: Any) -> Any:
    return u - 0.3 * (u - jnp.concatenate([u[:1], u[:-1]]))


def padded(mode: str) -> Any:
    def step(u: Any) -> Any:
        p = jnp.pad(u, 1, mode=mode)
        return u + 0.1 * (p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:] - 4 * u)

    return step


def five_by_five(u: Any) -> Any:
    p = jnp.pad(u, 2, mode="symmetric")
    return sum((i + 2 * j + 1) * p[i : i + u.shape[0], j : j + u.shape[1]] for i in range(5) for j in range(5)) / 100


def biharmonic(u: Any) -> Any:
    """The Laplacian of the Laplacian, written as two stencils."""

    def laplacian(f: Any) -> Any:
        return five_points_rolled(f) - f

    return u - 0.01 * laplacian(laplacian(u))


def convolved(u: Any) -> Any:
    kernel = jnp.arange(9.0, dtype=u.dtype).reshape(1, 1, 3, 3) / 36
    return jax.lax.conv_general_dilated(u[None, None], kernel, (1, 1), "SAME")[0, 0]


def pooled(u: Any) -> Any:
    return jax.lax.reduce_window(u, -jnp.inf, jax.lax.max, (3, 3), (1, 1), "SAME")


def clamped_reads(u: Any) -> Any:
    rows = jnp.arange(u.shape[0])
    columns = jnp.arange(u.shape[1])
    above, below = jnp.clip(rows - 1, 0, u.shape[0] - 1), jnp.clip(rows + 1, 0, u.shape[0] - 1)
    left, right = jnp.clip(columns - 1, 0, u.shape[1] - 1), jnp.clip(columns + 1, 0, u.shape[1] - 1)
    return u + 0.1 * (u[above] + u[below] + u[:, left] + u[:, right] - 4 * u)


def shallow_water(h: Any, u: Any, v: Any) -> Any:
    u = u - 0.01 * (jnp.roll(h, -1, 0) - h)
    v = v - 0.01 * (jnp.roll(h, -1, 1) - h)
    return h - 0.01 * (u - jnp.roll(u, 1, 0) + v - jnp.roll(v, 1, 1)), u, v


def staggered(h: Any, u: Any, v: Any) -> Any:
    """Fluxes through the faces between cells, one less than cells along each axis, closed at the borders."""
    flux_x = jnp.pad(0.5 * (h[1:] + h[:-1]) * u[:-1], ((1, 1), (0, 0)))
    flux_y = jnp.pad(0.5 * (h[:, 1:] + h[:, :-1]) * v[:, :-1], ((0, 0), (1, 1)))
    h = h - 0.1 * (flux_x[1:] - flux_x[:-1] + flux_y[:, 1:] - flux_y[:, :-1])
    return h, u.at[:-1].add(-0.1 * (h[1:] - h[:-1])), v.at[:, :-1].add(-0.1 * (h[:, 1:] - h[:, :-1]))


def advected_tracers(u: Any, v: Any, c: Any) -> Any:
    """Upwind on three fields, the boundary fixed."""

    def moved(f: Any) -> Any:
        dx, dy = f[1:-1, 1:-1] - f[:-2, 1:-1], f[1:-1, 1:-1] - f[1:-1, :-2]
        return f.at[1:-1, 1:-1].add(-0.1 * (u[1:-1, 1:-1] * dx + v[1:-1, 1:-1] * dy))

    return moved(u), moved(v), moved(c)


def seven_points(u: Any) -> Any:
    inner = u[1:-1, 1:-1, 1:-1]
    x, y, z = (u[:-2, 1:-1, 1:-1], u[2:, 1:-1, 1:-1]), (u[1:-1, :-2, 1:-1], u[1:-1, 2:, 1:-1]), u[1:-1, 1:-1]
    return u.at[1:-1, 1:-1, 1:-1].add(0.1 * (sum(x) + sum(y) + z[:, :, :-2] + z[:, :, 2:] - 6 * inner))


def twenty_seven_points(u: Any) -> Any:
    p = jnp.pad(u, 1, mode="wrap")
    a, b, c = u.shape
    places = [(i, j, k) for i in range(3) for j in range(3) for k in range(3)]
    return sum((i + j + k + 1) * p[i : i + a, j : j + b, k : k + c] for i, j, k in places) / 108


def fourth_order(u: Any) -> Any:
    """Thirteen points in a box, the layers divided over no device: halo 2 on both sides of two axes."""
    weights = (-1 / 12, 4 / 3, 0.0, 4 / 3, -1 / 12)
    total = -7.5 * u
    for axis in range(3):
        total += sum(w * jnp.roll(u, k - 2, axis) for k, w in enumerate(weights) if w)
    return u + 0.01 * total


VELOCITIES = [(0, 0), (1, 0), (0, 1), (-1, 0), (0, -1), (1, 1), (-1, 1), (-1, -1), (1, -1)]
WEIGHTS = np.array([4 / 9] + [1 / 9] * 4 + [1 / 36] * 4)


def lattice_boltzmann(f: Any) -> Any:
    """D2Q9, the nine populations along the last axis: each moves one cell, then all relax."""
    f = jnp.stack([jnp.roll(f[..., k], c, (0, 1)) for k, c in enumerate(VELOCITIES)], -1)
    c = np.array(VELOCITIES, float)
    density = f.sum(-1)
    velocity = (f @ c) / density[..., None]
    along = velocity @ c.T
    speed = (velocity**2).sum(-1)[..., None]
    rest = density[..., None] * WEIGHTS * (1 + 3 * along + 4.5 * along**2 - 1.5 * speed)
    return f + 0.6 * (rest - f)


def five_steps(u: Any) -> Any:
    return jax.lax.fori_loop(0, 5, lambda _, u: five_points_of_the_interior(u), u)


def wave_equation(u: Any, before: Any) -> Any:
    def step(state: Any, _: Any) -> Any:
        u, before = state
        inner = five_points_rolled(u)
        return (2 * u - before + 0.5 * (inner - u), u), None

    return jax.lax.scan(step, (u, before), None, length=5)[0]


def gradient(u: Any) -> Any:
    return jax.grad(lambda u: (five_points_of_the_interior(u) ** 2).sum())(u)


def _plane(name: str, function: Any, elements: int, messages: int, count: int = 1, **more: Any) -> Case:
    return Case(name, PLANE, divided(PLANE, N, N, count=count), 8 * elements, messages, function, **more)


def _faces(*widths: tuple[int, int], corners: bool = False) -> int:
    return faces(PLANE, (N, N), *widths, corners=corners)


ONE, TWO, THREE = ((1, 1), (1, 1)), ((2, 2), (2, 2)), ((3, 3), (3, 3))
ON_A_LINE, IN_A_BOX = divided(LINE, LONG), divided(BOX, *(CUBE,) * 3)
BOX_ONE = ((1, 1),) * 3

FACTS: tuple[Case, ...] = (
    _plane("5 points, rolls", five_points_rolled, _faces(*ONE), 4),
    _plane("9 points, rolls", nine_points_rolled, _faces(*ONE, corners=True), 4),
    _plane("5 points, interior update", five_points_of_the_interior, _faces(*ONE), 4),
    _plane("9 points, interior update", nine_points_of_the_interior, _faces(*ONE, corners=True), 4),
    _plane("periodic ghost fill in place, interior", ghost_cells_filled_in_place, _faces(*ONE), 4),
    # The cross terms at one corner, each of one element for u and v, go along with the faces.
    _plane("ocean step, halo 3, 5 fields", ocean_step, 5 * _faces(*THREE) + 1, 4, 5),
)

STENCILS: tuple[Case, ...] = (
    Case("heat on a line", LINE, ON_A_LINE, 16, 2, heat_on_a_line),
    Case("7 wide on a ring", LINE, ON_A_LINE, 48, 2, wide_on_a_ring),
    Case("upwind, open end", LINE, ON_A_LINE, 8, 1, upwind),
    _plane("ghost cells: periodic", padded("wrap"), _faces(*ONE), 4),
    _plane("ghost cells: mirrored", padded("reflect"), _faces(*ONE), 4),
    _plane("ghost cells: open", padded("edge"), _faces(*ONE), 4),
    _plane("ghost cells: zero", padded("constant"), _faces(*ONE), 4),
    _plane("25 points, symmetric ghosts", five_by_five, _faces(*TWO, corners=True), 4),
    # Four messages would take four corners along: 32 bytes more than XLA moves.
    _plane("biharmonic, two stencils", biharmonic, _faces(*TWO), 8),
    _plane("convolution 3 × 3", convolved, _faces(*ONE, corners=True), 4),
    _plane("largest of 3 × 3", pooled, _faces(*ONE, corners=True), 4),
    _plane("clamped reads", clamped_reads, _faces(*ONE), 4),
    _plane("shallow water, C grid", shallow_water, _faces(*ONE), 4, 3),
    # At once: of h three faces, of u and v three, along each axis, and two corners. Half of it would do in six messages
    # one after another (h, then fluxes, then the new h), which take longer.
    _plane("fluxes through faces, C grid", staggered, 3 * _faces(*ONE) + 2, 4, 3),
    _plane("three tracers, upwind", advected_tracers, 3 * _faces((1, 0), (1, 0)), 2, 3),
    Case("7 points in a box", BOX, IN_A_BOX, 8 * faces(BOX, (CUBE,) * 3, *BOX_ONE), 6, seven_points),
    Case(
        "27 points in a box", BOX, IN_A_BOX, 8 * faces(BOX, (CUBE,) * 3, *BOX_ONE, corners=True), 6,
        twenty_seven_points,
    ),
    Case(
        "13 points, layers whole", PLANE, divided(PLANE, 128, 128, 64), 8 * faces(PLANE, (128, 128, 64), *TWO), 4,
        fourth_order,
    ),
    Case(
        "lattice Boltzmann, D2Q9", PLANE, divided(PLANE, 512, 512, 9),
        8 * (3 * faces(PLANE, (512, 512), *ONE) + 4), 4, lattice_boltzmann, tolerance=1e-8,
    ),
    _plane("5 steps in a loop", five_steps, _faces(*ONE), 4, steps=5),
    _plane("waves, 5 steps of a scan", wave_equation, _faces(*ONE), 4, 2, steps=5),
    _plane("gradient of 5 points", gradient, 2 * _faces(*ONE), 8),
)  # fmt: skip
