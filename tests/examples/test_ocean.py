"""The ocean of examples/ocean: native steps against the emulator's, and what physics asks for."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import windlass as wl

OCEAN = Path(__file__).parents[2] / "examples" / "ocean"
STEPS = 2


class Example:
    """The modules of the example, and a small basin."""

    def __init__(self) -> None:
        self.primitive = importlib.import_module("primitive")
        self.channel = importlib.import_module("channel")
        self.grid = self.channel.describe_grid(26, 18, 8)
        self.grid["time_step"] = 2 * self.grid["surface_step"]
        self.basin = self.channel.carve_basin(self.grid, self.channel.layer_thickness(8))
        self.ocean = self.primitive.Ocean(self.grid)

    def begin(self) -> Any:
        return self.channel.begin(self.grid, self.basin)

    def run(self, fields: Any, form: Any, steps: int = STEPS, **changed: float) -> Any:
        self.ocean.grid, self.ocean.form = self.grid.copy(), form
        for name, value in changed.items():
            self.ocean.grid[name] = value
        for step in range(steps):
            self.ocean.step(fields, self.basin, step)
        return fields

    def water(self) -> Any:
        """The volume of each box, m³; 0 on land and in the halo."""
        volume = np.asarray(self.basin.thickness)[:, None, None] * (np.arange(8)[:, None, None] >= self.basin.floor)
        inside = np.zeros(self.basin.floor.shape)
        inside[3:-3, 3:-3] = float(self.grid["dx"]) * float(self.grid["dy"])
        return volume * inside


@pytest.fixture(scope="module")
def example() -> Iterator[Example]:
    patch = pytest.MonkeyPatch()
    patch.syspath_prepend(str(OCEAN))
    yield Example()
    patch.undo()


def test_native_steps_are_the_emulators_to_the_bit(example: Example) -> None:
    found = example.run(example.begin(), wl.native)
    wanted = example.run(example.begin(), wl.emulate)
    for name, ours, theirs in zip(found._fields, found, wanted, strict=True):
        assert ours.tobytes() == theirs.tobytes(), name
    assert np.abs(found.u).max() > 1e-3
    assert np.isfinite(found.heat).all()


def test_layered_water_stays_at_rest_where_nothing_pushes_it(example: Example) -> None:
    fields = example.begin()
    for field in (fields.heat, fields.salt):
        field[...] = field.mean((1, 2), keepdims=True)
    example.run(fields, wl.native, wind_stress=0.0, piston=0.0)
    # Layers on the floor mix by a little less than those beside them, which is a slope.
    assert max(np.abs(field).max() for field in (fields.u, fields.v, fields.surface)) < 1e-8


def test_flow_keeps_the_water_and_what_is_dissolved_in_it(example: Example) -> None:
    fields = example.begin()
    fields.salt[...] = 35.0
    water = example.water()
    before = (fields.heat * water).sum()
    example.run(fields, wl.native, piston=0.0)
    inside = water > 0
    # What is everywhere the same stays so: what flows into a box flows out of it.
    np.testing.assert_allclose(fields.salt[inside], 35.0, rtol=1e-12)
    assert abs(fields.surface[0][inside[-1]].sum()) < 1e-10
    # The surface rises and falls under the uppermost layer, which holds a little of the heat.
    assert (fields.heat * water).sum() == pytest.approx(before, rel=1e-5)


@pytest.mark.slow
def test_one_program_steps_as_its_launches_do(example: Example) -> None:
    run = example.primitive.compile_run(example.primitive.Ocean(example.grid))
    found = run(example.begin(), example.basin, 0, STEPS)
    for ours, theirs in zip(found, example.run(example.begin(), wl.native), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12)
