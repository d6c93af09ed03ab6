"""What stencil programs communicate on eight devices: Windlass, XLA alone, and what they must.

    python -m benchmarks.communication

Counts bytes that each device receives in a step, in what XLA's compiler gives; nothing runs.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"
os.environ["JAX_PLATFORMS"] = "cpu"

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from rich.console import Console
from rich.table import Table

import windlass as wl

SIZE = 2048
ROWS, COLUMNS = 4, 2
LONG, SHORT = SIZE // COLUMNS, SIZE // ROWS
FACES = 2 * (LONG + SHORT)
"""The elements of the faces that a part has in all four directions."""


def five_points_rolled(u: Any) -> Any:
    return (jnp.roll(u, 1, 0) + jnp.roll(u, -1, 0) + jnp.roll(u, 1, 1) + jnp.roll(u, -1, 1)) / 4


def nine_points_rolled(u: Any) -> Any:
    return sum(jnp.roll(u, (i, j), (0, 1)) for i in (-1, 0, 1) for j in (-1, 0, 1)) / 9


def five_points_of_the_interior(u: Any) -> Any:
    return u.at[1:-1, 1:-1].set((u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]) / 4)


def nine_points_of_the_interior(u: Any) -> Any:
    n = SIZE - 2
    return u.at[1:-1, 1:-1].set(sum(u[i : i + n, j : j + n] for i in range(3) for j in range(3)) / 9)


def periodic_ghost_cells(u: Any) -> Any:
    p = jnp.pad(u, 1, mode="wrap")
    return (p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:]) / 4


def shallow_water(h: Any, u: Any, v: Any) -> Any:
    u = u - 0.01 * (jnp.roll(h, -1, 0) - h)
    v = v - 0.01 * (jnp.roll(h, -1, 1) - h)
    return h - 0.01 * (u - jnp.roll(u, 1, 0) + v - jnp.roll(v, 1, 1)), u, v


def advected_tracers(u: Any, v: Any, c: Any) -> Any:
    """Upwind on three fields, halo 1, the boundary fixed."""

    def moved(f: Any) -> Any:
        dx, dy = f[1:-1, 1:-1] - f[:-2, 1:-1], f[1:-1, 1:-1] - f[1:-1, :-2]
        return f.at[1:-1, 1:-1].add(-0.1 * (u[1:-1, 1:-1] * dx + v[1:-1, 1:-1] * dy))

    return moved(u), moved(v), moved(c)


PROGRAMS: tuple[tuple[Callable[..., Any], int, int], ...] = (
    (five_points_rolled, 1, FACES),
    (nine_points_rolled, 1, FACES + 4),
    (five_points_of_the_interior, 1, FACES),
    (nine_points_of_the_interior, 1, FACES + 4),
    (periodic_ghost_cells, 1, FACES),
    (shallow_water, 3, FACES),
    (advected_tracers, 3, 3 * FACES // 2),
)
"""Each with the number of its fields, and the elements that a device must receive in a step."""


def main() -> None:
    jax.config.update("jax_enable_x64", True)
    mesh = Mesh(np.array(jax.devices()).reshape(ROWS, COLUMNS), ("x", "y"))
    field = jax.ShapeDtypeStruct((SIZE, SIZE), jnp.float64, sharding=NamedSharding(mesh, PartitionSpec("x", "y")))
    table = Table("program", "ideal", "Windlass", "messages", "XLA alone", "messages", title="kB per device and step")
    for function, fields, ideal in PROGRAMS:
        report = wl.communication(function, mesh, *[field] * fields)
        table.add_row(
            function.__name__.replace("_", " "),
            f"{8 * ideal / 1000:.1f}",
            f"{report.bytes / 1000:.1f}",
            str(len(report.ours)),
            f"{report.plain_bytes / 1000:.1f}",
            str(len(report.plain)),
        )
    Console(width=110).print(table)


if __name__ == "__main__":
    main()
