"""What programs communicate, and how long they take to compile, on 8 to 8,192 devices that are only described.

    python -m benchmarks.communication.devices [name …]

Each device has a part of the same size on every mesh. Bytes are those that a device receives in a step, counted in what
XLA's compiler gives; seconds are of CPU time, for compiling it as Windlass divides it. Nothing runs.
"""

from __future__ import annotations

import importlib
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

os.environ["JAX_PLATFORMS"] = "cpu"

import jax
import numpy as np
from benchmarks.communication.stencils import five_points_of_the_interior, ghost_cells_filled_in_place, ocean_step
from jax.sharding import AbstractMesh, NamedSharding, PartitionSpec
from rich.console import Console
from rich.table import Table

import windlass as wl

OCEAN = Path(__file__).parents[2] / "examples" / "ocean"
MESHES = ((4, 2), (8, 8), (32, 16), (128, 64))
PART = (16, 16)
LAYERS = 6


class Program(NamedTuple):
    """A function of arrays, and their shapes; the last two axes are divided."""

    name: str
    function: Callable[..., Any]
    types: Sequence[jax.ShapeDtypeStruct]


def stencils(rows: int, columns: int) -> Iterator[Program]:
    field = jax.ShapeDtypeStruct((rows, columns), np.float64)
    yield Program("5 points, interior", five_points_of_the_interior, [field])
    yield Program("ghost cells in place", ghost_cells_filled_in_place, [field])
    yield Program("ocean step, 5 fields", ocean_step, [field] * 5)


def import_ocean() -> tuple[Any, Any]:
    """The modules of examples/ocean."""
    sys.path.insert(0, str(OCEAN))
    return importlib.import_module("channel"), importlib.import_module("primitive")


def ocean_launches(rows: int, columns: int) -> Iterator[Program]:
    """Each kernel of examples/ocean, with the shapes with which a step launches it."""
    channel, primitive = import_ocean()
    launches: dict[tuple[Any, ...], tuple[Any, tuple[Any, ...]]] = {}

    class Field(jax.ShapeDtypeStruct):
        """An array that is not there."""

        def __setitem__(self, *_: Any) -> None:
            pass

    grid = channel.describe_grid(columns - 2 * primitive.HALO, rows - 2 * primitive.HALO, LAYERS)
    ocean = primitive.Ocean(grid)

    def make(layers: int = 1) -> Any:
        return Field((layers, rows, columns), ocean.real)

    def launch(name: str, shape: tuple[Any, Any], *arguments: Any) -> None:
        launches.setdefault((name, arguments[0].shape), (shape, arguments))

    ocean.make, ocean.launch = make, launch
    ocean.surface_steps = 1
    deep, flat = ocean.make(LAYERS), ocean.make()
    floor = Field((rows, columns), np.int32)
    basin = primitive.Basin(Field((LAYERS,), ocean.real), floor, flat, flat)
    ocean.step(primitive.Fields(deep, deep, deep, deep, flat, deep, deep, deep, deep), basin, 0)
    members = {name: grid[name].item() for name in grid.dtype.names}
    for (name, first), (shape, arguments) in launches.items():
        kernel = ocean.module[name].jax(*shape)
        is_array = [isinstance(each, Field) for each in arguments]

        def run(*arrays: Any, kernel: Any = kernel, given: Any = arguments, flags: Any = is_array) -> Any:
            rest = iter(arrays)
            return kernel(*(next(rest) if flag else each for each, flag in zip(given, flags, strict=True)), members)

        types = [each for each in arguments if isinstance(each, Field)]
        yield Program(f"{name}, {first[0]} layers" if len(first) == 3 else name, run, types)


def whole_ocean(rows: int, columns: int) -> Iterator[Program]:
    """A step of examples/ocean as one program, its time loop around it."""
    channel, primitive = import_ocean()
    grid = channel.describe_grid(columns - 2 * primitive.HALO, rows - 2 * primitive.HALO, LAYERS)
    run = primitive.compile_run(primitive.Ocean(grid))
    deep, flat = (jax.ShapeDtypeStruct((layers, rows, columns), np.float64) for layers in (LAYERS, 1))
    floor = jax.ShapeDtypeStruct((rows, columns), np.int32)
    types = [deep, deep, deep, deep, flat, deep, deep, deep, deep]
    types += [jax.ShapeDtypeStruct((LAYERS,), np.float64), floor, flat, flat]

    @wl.jit
    def step(*arrays: Any) -> Any:
        return run(primitive.Fields(*arrays[:9]), primitive.Basin(*arrays[9:]), 0, 1)

    yield Program("the whole ocean", step, types)


def measure(program: Program, mesh: AbstractMesh) -> tuple[Any, float]:
    """What it communicates, and in how many seconds that was found."""

    def placed(array: jax.ShapeDtypeStruct) -> jax.ShapeDtypeStruct:
        axes = (*(None,) * (len(array.shape) - 2), "y", "x") if len(array.shape) > 1 else ()
        return jax.ShapeDtypeStruct(array.shape, array.dtype, sharding=NamedSharding(mesh, PartitionSpec(*axes)))

    begun = time.process_time()
    report = wl.communication(program.function, mesh, *map(placed, program.types))
    return report, time.process_time() - begun


def main() -> None:
    jax.config.update("jax_enable_x64", True)
    wanted = sys.argv[1:]
    rows: dict[str, list[str]] = {}
    warming = next(stencils(*PART))
    measure(warming, AbstractMesh((1, 1), ("y", "x")))
    for sizes in MESHES:
        mesh = AbstractMesh(sizes, ("y", "x"))
        shape = [size * part for size, part in zip(sizes, PART, strict=True)]
        for program in (*stencils(*shape), *ocean_launches(*shape), *whole_ocean(*shape)):
            if not wanted or any(each in program.name for each in wanted):
                report, seconds = measure(program, mesh)
                row = [f"{report.bytes:,.0f}", f"{report.plain_bytes:,.0f}", f"{seconds:.1f}"]
                rows.setdefault(program.name, []).extend(row)
                print(mesh.size, program.name, *row, sep=" | ", file=sys.stderr, flush=True)
    titles = [f"{what}, {rows_ * columns:,}" for rows_, columns in MESHES for what in ("bytes", "XLA's", "s")]
    table = Table("program", *titles)
    for name, row in rows.items():
        table.add_row(name, *row)
    Console(width=220).print(table)


if __name__ == "__main__":
    main()
