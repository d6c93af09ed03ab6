"""Where was the earthquake? The ocean of waves.cu, run from an unknown sea surface and compared with tide gauges."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from model import LINE, Fields, Model, Scratch, make_scratch
from numpy.typing import NDArray
from scene import SPACING, add_halo, coarsen, describe_ocean, water_depth
from scipy.optimize import minimize

import windlass as wl

Array: TypeAlias = NDArray[Any]

HOURS = 2.0
COARSER = 5
"""The search runs on cells of this many times SPACING."""
STEP_PER_CELL = 9.0
"""Seconds of a time step for each SPACING of a cell: 0.65 of the greatest stable one."""
NOISE = 0.01
"""Metres by which a reading is off."""
SPREADING = 20
"""How often an unknown is spread to its neighbours: no earthquake lifts a single cell."""
PENALTY = 1e-4
"""What a unit of an unknown costs, against a reading that is off by NOISE: what no gauge sees stays at rest."""

GAUGES = {
    "west shore": (700, 1690),
    "north shore": (1400, 1600),
    "first seamount": (1000, 660),
    "last seamount": (1450, 500),
    "great island, west": (1640, 1000),
    "great island, east": (1900, 1000),
    "arc, north": (2560, 1360),
    "arc": (2760, 800),
    "arc, south": (2500, 480),
    "twin islands": (420, 700),
    "south shore": (1000, 60),
    "north sound": (2200, 1740),
}
"""Kilometres east and north; each reads the nearest cell of water."""


class Rupture(NamedTuple):
    """What lifts the sea: the middle and the half axes in kilometres, the turn in radians, the lift in metres."""

    east: float = 1250
    north: float = 1130
    along: float = 170
    across: float = 70
    turn: float = 2.2
    lift: float = 2.0

    def surface(self, relief: Array, spacing: float) -> Array:
        """The sea surface above it, (rows + 2, columns + 2) with its halo."""
        north, east = (1e-3 * spacing * (each + 0.5) for each in np.indices(relief.shape))
        east, north = east - self.east, north - self.north
        p = east * np.cos(self.turn) + north * np.sin(self.turn)
        q = north * np.cos(self.turn) - east * np.sin(self.turn)
        lift = self.lift * np.exp(-((p / self.along) ** 2) - (q / self.across) ** 2)
        return add_halo(np.where(relief < 0, lift, 0))


class Coast:
    """The ocean with cells of `coarser` times SPACING, and its gauges."""

    def __init__(self, relief: Array, coarser: int = COARSER, hours: float = HOURS) -> None:
        self.relief = coarsen(relief, coarser)
        self.spacing = coarser * SPACING
        ocean = describe_ocean(self.relief, self.spacing, coarser * STEP_PER_CELL, wind_stress=0)
        self.model = Model(ocean, water_depth(self.relief))
        self.steps = round(hours * 3600 / (coarser * STEP_PER_CELL))
        self.cells = np.array([self._cell(*place) for place in GAUGES.values()])
        """Row and column of each gauge, without the halo."""
        pitch = self.relief.shape[1] + 2
        self.gauges = ((self.cells[:, 0] + 1) * pitch + self.cells[:, 1] + 1).astype(np.int32)

    def _cell(self, east: float, north: float) -> tuple[int, int]:
        rows, columns = np.nonzero(self.relief < 0)
        scale = 1e-3 * self.spacing
        nearest = np.hypot((columns + 0.5) * scale - east, (rows + 0.5) * scale - north).argmin()
        return int(rows[nearest]), int(columns[nearest])

    def position(self, field: Array) -> tuple[float, float]:
        """Where a field with its halo is highest, in kilometres east and north."""
        row, column = np.unravel_index(field.argmax(), field.shape)
        return (float(column) - 0.5) * self.spacing / 1000, (float(row) - 0.5) * self.spacing / 1000

    def read(self, height: Any) -> Any:
        """The readings of all gauges, (steps, gauges), as water runs from rest under `height`, which moves on."""
        count = len(self.gauges)
        fields = Fields(height, *(wl.Array(np.zeros(height.shape, np.float32)) for _ in range(2)))
        scratch = Scratch(*(wl.Array(each) for each in make_scratch(self.model.ocean)))
        levels = wl.Array(np.zeros((self.steps, count), np.float32))
        for step in range(self.steps):
            self.model.step(fields, scratch, step)
            self.model.launch("read_gauges", (1, LINE), height, self.gauges, levels, count, step)
        return levels

    def spread(self, unknown: Any) -> Any:
        """The unknown, spread over its neighbours."""
        model, wide = self.model, wl.Array(np.zeros(unknown.shape, np.float32))
        for _ in range(SPREADING):
            model.launch("wrap_columns", model.over_rows, unknown, model.ocean)
            model.launch("spread", model.over_cells, unknown, wide, model.depth, model.ocean)
            unknown[:] = wide
        model.launch("wrap_columns", model.over_rows, unknown, model.ocean)
        return unknown


def compile_read(coast: Coast) -> Any:
    """`read(height)`: the readings, (steps, gauges), as one program."""

    @wl.jit(allow_contraction=True)
    def read(height: Any) -> Any:
        return coast.read(height.copy())

    return read


def compile_loss(coast: Coast) -> Any:
    """`loss(unknown, readings)`: how far the gauges are from their readings, and the sea surface that was tried."""

    @wl.jit(allow_contraction=True)
    def loss(unknown: Any, readings: Any) -> Any:
        penalty = PENALTY * (unknown * unknown).sum()
        height = coast.spread(unknown.copy())
        surface = height.copy()
        return 0.5 * ((((coast.read(height) - readings) / NOISE) ** 2).mean() + penalty), surface

    return loss


class Found(NamedTuple):
    """The sea surface that was found, with its halo, and the loss after each gradient."""

    surface: Array
    losses: list[float]


def search(coast: Coast, readings: Array, rounds: int, told: Callable[[list[float]], None]) -> Found:
    """The sea surface by which the gauges read what they did: L-BFGS, from the gradient by all of its cells.

    `told` is given the losses after each of the gradients.
    """
    gradient = wl.value_and_grad(compile_loss(coast), has_aux=True)
    still = np.zeros_like(coast.model.depth)
    losses: list[float] = []
    best = still

    def evaluate(values: Array) -> tuple[float, Array]:
        nonlocal best
        (loss, surface), slope = gradient(values.reshape(still.shape).astype(np.float32), readings)
        if loss < min(losses, default=np.inf):
            best = surface
        losses.append(float(loss))
        told(losses)
        return float(loss), slope.ravel().astype(np.float64)

    options = {"maxfun": rounds - 1, "maxcor": 20}
    minimize(evaluate, still.ravel(), jac=True, method="L-BFGS-B", options=options)
    return Found(best, losses)


def make_readings(read: Any, coast: Coast, rupture: Rupture) -> Array:
    """What the gauges read after the rupture, off by NOISE; `read` is that of `compile_read`."""
    levels = np.asarray(read(rupture.surface(coast.relief, coast.spacing)))
    return levels + NOISE * np.random.default_rng(3).standard_normal(levels.shape).astype(np.float32)
