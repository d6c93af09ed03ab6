"""The ocean that run.py steps: a channel around the globe, a ridge on its floor, an island, and a front."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from primitive import HALO, Basin, Fields

Array: TypeAlias = NDArray[Any]

COUNTS = ("nx", "ny", "layers")
DEPTH = 2000.0
GRAVITY = 9.81


def describe_grid(nx: int, ny: int, layers: int, width: float = 10e3, real: type[np.floating[Any]] = np.float64) -> Any:
    """The constants of the model, a `struct Grid` of ocean.cu, for boxes `width` metres wide."""
    fastest = np.sqrt(GRAVITY * DEPTH)
    time_step = 0.08 * width
    surface_step = time_step / np.ceil(time_step / (0.45 * width / fastest))
    values = {
        "dx": width,
        "dy": width,
        "time_step": time_step,
        "surface_step": surface_step,
        "gravity": GRAVITY,
        "coriolis": 1e-4,
        "beta": 1.6e-11,
        "expansion": 1.7e-4,
        "contraction": 7.6e-4,
        "viscosity": 2e-4 * width**3,
        "drag": 2.5e-3,
        "wind_stress": 1.5e-4,
        "piston": 2e-5,
        "warm": 14.0,
        "cold": 3.0,
    }
    kind = np.dtype([(name, np.int32) for name in COUNTS] + [(name, real) for name in values], align=True)
    return np.array((nx, ny, layers, *values.values()), kind)[()]


def layer_thickness(layers: int) -> Array:
    """(layers,) metres, the lowest first: thin at the surface."""
    faces = np.linspace(0, 1, layers + 1)
    heights = -DEPTH * (1 - faces) ** 1.7
    return np.diff(heights)


def carve_basin(grid: Any, thickness: Array) -> Basin:
    """A ridge across the channel, an island on its way, and walls in the north and south."""
    nx, ny = int(grid["nx"]), int(grid["ny"])
    layers = thickness.size
    x, y = (np.arange(nx) + 0.5) / nx, (np.arange(ny) + 0.5) / ny
    ridge = 900 * np.exp(-(((x[None] - 0.3 - 0.1 * np.sin(5 * y[:, None])) / 0.07) ** 2))
    island = 2600 * np.exp(-((((x[None] - 0.55) / 0.045) ** 2 + ((y[:, None] - 0.62) / 0.09) ** 2) ** 2))
    height = -DEPTH + np.maximum(ridge, island)
    middle = -DEPTH + np.cumsum(thickness) - 0.5 * thickness
    lowest = (middle[:, None, None] < height[None]).sum(0)
    lowest = np.where(lowest > layers - 3, layers, lowest)
    floor = np.pad(np.pad(lowest, ((0, 0), (HALO, HALO)), mode="wrap"), ((HALO, HALO), (0, 0)), constant_values=layers)
    wet = np.arange(layers)[:, None, None] >= floor
    metres = thickness[:, None, None] * wet
    real = grid["dx"].dtype

    def depth_between(shift: int, axis: int) -> Array:
        depth = np.minimum(metres, np.roll(metres, shift, axis)).sum(0)
        return np.where(depth > 0, depth, 0).astype(real)[None]

    return Basin(thickness.astype(real), floor.astype(np.int32), depth_between(1, 2), depth_between(1, 1))


def begin(grid: Any, basin: Basin, seed: int = 0) -> Fields:
    """Water at rest: warm in the south, cold in the north, stably layered, with a little noise on the front."""
    nx, ny = int(grid["nx"]), int(grid["ny"])
    rows, columns = ny + 2 * HALO, nx + 2 * HALO
    thickness = basin.thickness
    middle = -DEPTH + np.cumsum(thickness) - 0.5 * thickness
    y, x = (np.arange(rows)[:, None] - HALO + 0.5) / ny, (np.arange(columns) - HALO + 0.5) / nx
    bends = 0.05 * np.sin(4 * np.pi * x) + 0.03 * np.sin(10 * np.pi * x + 1)
    front = 0.5 * (1 - np.tanh((y - 0.5 - bends) / 0.12))
    deep = middle[:, None, None]
    warmth = 3.0 + 3.5 * np.exp(deep / 700) + 7.5 * np.exp(deep / 450) * front
    noise = np.random.default_rng(seed).normal(0, 0.05, (thickness.size, rows, columns))
    heat = warmth + noise * np.exp(deep / 300)
    salt = 35.0 - 0.6 * np.exp(deep / 400) + 0 * heat
    real = grid["dx"].dtype
    empty = np.zeros(heat.shape, real)
    surface = np.zeros((1, rows, columns), real)
    heat, salt = heat.astype(real), salt.astype(real)
    return Fields(*(each.copy() for each in (empty, empty, heat, salt, surface, empty, empty, empty, empty)))
