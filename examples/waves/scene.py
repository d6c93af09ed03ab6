"""The ocean that run.py floods: its constants, its relief, and the hills of water that start the waves."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]

OCEAN = np.dtype(
    [("rows", np.int32), ("columns", np.int32)]
    + [
        (name, np.float32)
        for name in (
            "spacing",
            "time_step",
            "gravity",
            "coriolis",
            "beta",
            "drag",
            "wind_stress",
            "storm_radius",
        )
    ]
)
"""`struct Ocean` of waves.cu."""

SPACING = 5000.0
GRAVITY = 9.81


def load_relief() -> Array:
    """Heights in metres, (rows, columns), float32; below zero is sea."""
    with np.load(Path(__file__).with_name("basin.npz")) as file:
        return file["height"].astype(np.float32)


def coarsen(relief: Array, factor: int) -> Array:
    """The relief with cells `factor` times as wide: means of heights."""
    rows, columns = relief.shape
    return relief.reshape(rows // factor, factor, columns // factor, factor).mean((1, 3))


def describe_ocean(
    relief: Array, spacing: float = SPACING, time_step: float | None = None, wind_stress: float = 0.02
) -> Any:
    """The constants of the model: the time step is 0.7 of the greatest stable one for the deepest water."""
    rows, columns = relief.shape
    if time_step is None:
        speed = np.sqrt(GRAVITY * -relief.min())
        time_step = float(np.floor(0.7 * spacing / (speed * np.sqrt(2))))
    values = (rows, columns, spacing, time_step, GRAVITY, 1.0e-4, 2.0e-11, 2.5e-3, wind_stress, 150e3)
    return np.array(values, OCEAN)[()]


def add_halo(field: Array, value: float = 0.0) -> Array:
    """Surrounds a field with its halo: periodic from west to east, `value` in the north and south."""
    wrapped = np.pad(field, ((0, 0), (1, 1)), mode="wrap")
    return np.pad(wrapped, ((1, 1), (0, 0)), constant_values=value).astype(np.float32)


def water_depth(relief: Array) -> Array:
    """The depth at rest, with its halo; land and the walls in the north and south have 0."""
    return add_halo(np.maximum(-relief, 0))


def lift_sea_floor(relief: Array) -> Array:
    """The sea surface just after two earthquakes, halo included: a long rupture by the arc, a short one westward."""
    columns = relief.shape[1]
    y, x = np.indices(relief.shape).astype(np.float64)
    height = np.zeros(relief.shape)
    for at, along, across, angle, lift in (((585, 176), 52, 7.5, 1.62, 3.0), ((176, 226), 13, 6, 0.5, 1.6)):
        dx = (x - at[0] + columns / 2) % columns - columns / 2
        dy = y - at[1]
        p, q = dx * np.cos(angle) + dy * np.sin(angle), dy * np.cos(angle) - dx * np.sin(angle)
        height += (
            lift
            * np.exp(-((p / along) ** 2))
            * (np.exp(-((q / across) ** 2)) - 0.55 * np.exp(-(((q + 1.6 * across) / across) ** 2)))
        )
    return add_halo(np.where(relief < 0, height, 0))
