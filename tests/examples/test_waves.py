"""The ocean of examples/waves: raised steps against steps written by hand in JAX, and what physics asks for."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

import windlass as wl

WAVES = Path(__file__).parents[2] / "examples" / "waves"
STEPS = 5


@pytest.fixture(scope="module")
def ocean() -> Any:
    """The modules of the example, and its ocean."""
    patch = pytest.MonkeyPatch()
    patch.syspath_prepend(str(WAVES))
    names = ("model", "scene", "reference_jax", "earthquake", "search_picture")
    yield {name: importlib.import_module(name) for name in names}
    patch.undo()


def test_steps_agree_with_jax_by_hand_and_keep_the_water(ocean: Any) -> None:
    model, scene, by_hand = ocean["model"], ocean["scene"], ocean["reference_jax"]
    relief = scene.load_relief()
    assert relief.shape == (360, 640)
    constants, depth = scene.describe_ocean(relief), scene.water_depth(relief)
    start = scene.lift_sea_floor(relief)
    sea = model.Model(constants, depth)
    advance, measure = model.compile_advance(sea), model.compile_measure(sea)
    before = np.asarray(measure(*model.at_rest(start)))
    fields = advance(*(jnp.asarray(each) for each in model.at_rest(start)), 0, STEPS)
    state = by_hand.State(*(jnp.asarray(each) for each in model.at_rest(start)))
    wanted = by_hand.compile_run(by_hand.step_with_slices, constants)(jnp.asarray(depth), state, 0, STEPS)
    for name, ours, theirs in zip(by_hand.State._fields, fields, wanted, strict=True):
        scale = float(jnp.abs(theirs).max())
        np.testing.assert_allclose(np.asarray(ours), np.asarray(theirs), atol=1e-5 * scale, err_msg=name)
    assert float(jnp.abs(fields[1]).max()) > 1e-3
    after = np.asarray(measure(*fields))
    assert after[2] == pytest.approx(before[2], rel=1e-4)
    assert after[0] > 0
    rolled = by_hand.State(*(jnp.asarray(each[1:-1, 1:-1]) for each in model.at_rest(start)))
    other = by_hand.compile_run(by_hand.step_with_rolls, constants)(jnp.asarray(depth[1:-1, 1:-1]), rolled, 0, STEPS)
    np.testing.assert_allclose(np.asarray(other.height), np.asarray(wanted.height)[1:-1, 1:-1], atol=1e-5)


def test_basin_is_what_its_script_makes(ocean: Any) -> None:
    make_basin = importlib.import_module("make_basin")
    made = make_basin.make_basin().astype(np.float32)
    shipped = ocean["scene"].load_relief()
    # Another NumPy may round a height to the next step.
    assert np.abs(made - shipped).max() <= make_basin.STEP


def test_search_finds_the_earthquake_from_what_gauges_read(ocean: Any, tmp_path: Path) -> None:
    earthquake = ocean["earthquake"]
    coast, rupture = earthquake.Coast(ocean["scene"].load_relief(), coarser=10), earthquake.Rupture()
    read = earthquake.compile_read(coast)
    readings = earthquake.make_readings(read, coast, rupture)
    found = earthquake.search(coast, readings, 16, lambda losses: None)
    assert found.losses[-1] < 0.1 * found.losses[0]
    east, north = coast.position(found.surface)
    assert np.hypot(east - rupture.east, north - rupture.north) < 2 * coast.spacing / 1000
    fitted = np.asarray(read(found.surface))
    assert np.sqrt(((fitted - readings) ** 2).mean()) < 0.05
    ocean["search_picture"].draw_search(tmp_path / "found.png", coast, found, rupture, readings, fitted)
    assert (tmp_path / "found.png").stat().st_size > 10_000


@pytest.mark.slow
def test_loss_of_the_search_changes_as_its_gradient_says(ocean: Any) -> None:
    earthquake = ocean["earthquake"]
    coast = earthquake.Coast(ocean["scene"].load_relief(), coarser=20, hours=0.5)
    loss = earthquake.compile_loss(coast)
    draw = np.random.default_rng(5)
    readings = draw.normal(0, 0.1, (coast.steps, len(earthquake.GAUGES))).astype(np.float32)
    unknown, way = draw.normal(0, 1, (2, *coast.model.depth.shape)).astype(np.float32)
    slope = float((wl.grad(loss, has_aux=True)(unknown, readings)[0] * way).sum())
    above, below = (float(loss(unknown + side * way, readings)[0]) for side in (np.float32(0.02), np.float32(-0.02)))
    assert slope == pytest.approx((above - below) / 0.04, rel=1e-2)
