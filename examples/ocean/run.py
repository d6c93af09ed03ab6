"""Steps an ocean of 27 CUDA C++ kernels, on one device or divided among several, and draws it.

    python examples/ocean/run.py [--days 30 | --steps 100] [--size 122x58x12] [--output ocean.png]
                                 [--communication] [--checkpoint FOLDER [--every 10]]

Checks two steps of a small basin against the emulator, makes one program of the time loop, steps with a progress bar,
and draws the surface. Where JAX sees several devices (`XLA_FLAGS=--xla_force_host_platform_device_count=8`), boxes are
divided among them from west to east and from south to north; `--communication` prints what they tell each other.
With `--checkpoint FOLDER` it goes on where it was when it was killed, on whatever devices; run again with more days it
goes on, too. As processes that are started again when one of them fails:

    windlass launch -n 4 --restart 3 examples/ocean/run.py --checkpoint FOLDER
"""

from __future__ import annotations

import argparse
import hashlib
import sys
import time
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jax.experimental import multihost_utils
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

sys.path.insert(0, str(Path(__file__).parent))

from channel import begin, carve_basin, describe_grid, layer_thickness
from drawing import draw_ocean
from primitive import HALO, Basin, Fields, Ocean, compile_run

import windlass as wl

HERE = Path(__file__).parent
CHUNKS = 40
CHECKED_STEPS = 2


def make_scene(nx: int, ny: int, layers: int) -> tuple[Any, Basin, Fields]:
    """The grid, the basin and the water at rest."""
    grid = describe_grid(nx, ny, layers)
    basin = carve_basin(grid, layer_thickness(layers))
    return grid, basin, begin(grid, basin)


def check(console: Console) -> None:
    """Two steps of a small basin as native code have to be the emulator's."""
    grid, basin, start = make_scene(26, 18, 8)
    grid["time_step"] = 2 * grid["surface_step"]
    found, wanted = (Fields(*(field.copy() for field in start)) for _ in range(2))
    for form, fields in ((wl.native, found), (wl.emulate, wanted)):
        ocean = Ocean(grid, form)
        for step in range(CHECKED_STEPS):
            ocean.step(fields, basin, step)
    for name, ours, theirs in zip(Fields._fields, found, wanted, strict=True):
        if not np.array_equal(ours, theirs):
            raise SystemExit(f"{name} differs from what the emulator computes")
    console.print(f"{CHECKED_STEPS} steps of a small basin are the emulator's to the bit")


def divide(arrays: Any, devices: Any) -> Any:
    """The arrays on the devices, divided along y and x; over one device they stay whole."""
    count = len(devices)
    across = next(n for n in range(int(count**0.5), 0, -1) if count % n == 0)
    mesh = Mesh(np.array(devices).reshape(across, count // across), ("y", "x"))

    def put(array: Any) -> Any:
        spec = PartitionSpec(*((None,) * (array.ndim - 2)), "y", "x") if array.ndim >= 2 else PartitionSpec()
        return jax.make_array_from_callback(array.shape, NamedSharding(mesh, spec), lambda part: array[part])

    return jax.tree.map(put, arrays), mesh


def gather(field: Any) -> Any:
    """The whole of a field, in each process."""
    return np.asarray(multihost_utils.process_allgather(field, tiled=True) if jax.process_count() > 1 else field)


def main() -> None:
    """The example."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--days", type=float, default=10)
    parser.add_argument("--steps", type=int, help="so many steps in place of days")
    parser.add_argument("--size", default="122x58x12", help="boxes from west to east, from south to north, layers")
    parser.add_argument("--output", type=Path, default=HERE / "ocean.png")
    parser.add_argument("--communication", action="store_true", help="count what devices send, and step nothing")
    parser.add_argument("--checkpoint", type=Path, help="a folder: kept there, and gone on from")
    parser.add_argument("--every", type=int, help="steps between two checkpoints")
    options = parser.parse_args()
    console = Console(highlight=False)
    jax.config.update("jax_enable_x64", True)  # before JAX makes its first array

    if not options.communication and jax.process_index() == 0:
        check(console)
    grid, basin, start = make_scene(*map(int, options.size.split("x")))
    ocean = Ocean(grid)
    run = compile_run(ocean)
    (fields, divided), mesh = divide((start, basin), jax.devices())
    if options.communication:
        print(wl.communication(run, mesh, fields, divided, 0, 10))
        return

    steps = options.steps or round(options.days * 86400 / float(grid["time_step"]))
    chunk = options.every or max(1, steps // CHUNKS)
    saved = wl.checkpoint(options.checkpoint) if options.checkpoint else None
    fields, done = saved.restore((fields, 0)) if saved else (fields, 0)
    began, busy = done, 0.0
    columns = (TextColumn("stepping"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, disable=jax.process_index() > 0) as progress:
        bar = progress.add_task("steps", total=steps, completed=done)
        while done < steps:
            is_first = done == began
            count = 1 if is_first else min(chunk, steps - done)  # the first shows how long compiling takes
            begun = time.perf_counter()
            fields = jax.block_until_ready(run(fields, divided, done, count))
            taken = time.perf_counter() - begun
            if is_first:
                progress.console.print(f"{len(ocean.module.kernels)} kernels became one program in {taken:.1f} s")
            busy += 0 if is_first else taken
            done += count
            progress.update(bar, completed=done)
            if saved:
                saved.save((fields, done), step=done)
    if saved:
        saved.wait()
    boxes = ocean.nx * ocean.ny * ocean.layers
    each = busy / max(1, done - began - 1)
    whole = Fields(*map(gather, fields))
    if jax.process_index() > 0:
        return
    console.print(f"{1000 * each:.1f} ms per step of {boxes:,} boxes, with {ocean.surface_steps} steps of the surface")

    inner = slice(HALO, -HALO)
    u, v, heat, surface = (field[:, inner, inner] for field in (whole.u, whole.v, whole.heat, whole.surface))
    console.print(
        f"fastest current {np.abs(u).max():.2f} m/s, surface from {surface.min():.2f} to {surface.max():.2f} m"
    )
    digest = hashlib.sha256(b"".join(field.tobytes() for field in whole)).hexdigest()
    console.print(f"SHA-256 of all fields: {digest}")
    draw_ocean(options.output, grid, basin, u, v, heat, done * float(grid["time_step"]) / 86400)
    console.print(f"wrote {options.output}")


if __name__ == "__main__":
    main()
