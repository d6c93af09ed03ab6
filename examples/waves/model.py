"""The ocean model: the kernels of waves.cu, launched in order, as plain functions over arrays."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

import windlass as wl

Array: TypeAlias = NDArray[Any]

BLOCK = (32, 8)
LINE = 128


class Fields(NamedTuple):
    """What the model steps, each (rows + 2, columns + 2) float32 with its halo."""

    height: Any
    u: Any
    v: Any


class Scratch(NamedTuple):
    """What each step computes anew: fluxes through faces, wind stress with its halo."""

    flux_x: Any
    flux_y: Any
    stress_x: Any
    stress_y: Any


def at_rest(height: Array) -> Fields:
    """Still water under the given sea surface."""
    return Fields(height.copy(), np.zeros_like(height), np.zeros_like(height))


def make_scratch(ocean: Any) -> Scratch:
    """Room for one step."""
    rows, columns = int(ocean["rows"]), int(ocean["columns"])
    shapes = ((rows, columns + 1), (rows + 1, columns), (rows + 2, columns + 2), (rows + 2, columns + 2))
    return Scratch(*(np.zeros(shape, np.float32) for shape in shapes))


class Model:
    """The kernels for one ocean. Its methods work on NumPy arrays as well as inside `wl.jit`."""

    def __init__(self, ocean: Any, depth: Array, emulated: bool = False) -> None:
        self.ocean = ocean
        self.depth = depth
        self.module = wl.cuda.compile(Path(__file__).with_name("waves.cu"))
        self.emulated = emulated
        rows, columns = int(ocean["rows"]), int(ocean["columns"])
        self.over_rows = (-(-(rows + 2) // LINE), LINE)
        self.over_columns = (-(-(columns + 2) // LINE), LINE)
        self.over_cells = ((-(-(columns + 2) // BLOCK[0]), -(-(rows + 2) // BLOCK[1])), BLOCK)

    def launch(self, name: str, shape: Any, *arguments: Any) -> None:
        """One launch of a kernel, raised or thread by thread."""
        kernel: Any = self.module[name]
        form = wl.emulate(kernel) if self.emulated else kernel
        form[shape](*arguments)

    def step(self, fields: Fields, scratch: Scratch, step: Any) -> None:
        """One time step, in place."""
        height, u, v = fields
        flux_x, flux_y, stress_x, stress_y = scratch
        ocean, depth, cells = self.ocean, self.depth, self.over_cells
        self.launch("blow_wind", cells, stress_x, stress_y, ocean, step)
        self.launch("push_u", cells, u, v, height, depth, stress_x, ocean)
        self.launch("wrap_columns", self.over_rows, u, ocean)
        self.launch("push_v", cells, u, v, height, depth, stress_y, ocean)
        self.launch("wrap_columns", self.over_rows, v, ocean)
        self.launch("find_fluxes", cells, u, v, height, depth, flux_x, flux_y, ocean)
        self.launch("raise_water", cells, height, flux_x, flux_y, depth, ocean)
        self.launch("wrap_columns", self.over_rows, height, ocean)
        self.launch("mirror_rows", self.over_columns, height, ocean)

    def measure(self, fields: Fields, rows: Any, totals: Any) -> None:
        """Kinetic energy, potential energy and volume into `totals`; `rows` is scratch, 3 numbers for each row."""
        count = int(self.ocean["rows"])
        shape = (-(-count // LINE), LINE)
        self.launch("measure_rows", shape, fields.u, fields.v, fields.height, self.depth, rows, self.ocean)
        self.launch("add_rows", shape, rows, totals, count)


def compile_advance(model: Model) -> Any:
    """`advance(height, u, v, first, steps)`: several steps as one program, the loop included.

    A multiplication and an addition may become one operation, as nvcc has it and as in JAX's own code.
    """

    @wl.jit(donate=Fields._fields, allow_contraction=True)
    def advance(height: Any, u: Any, v: Any, first: Any, steps: Any) -> Any:
        scratch = Scratch(*(wl.Array(each) for each in make_scratch(model.ocean)))
        for step in range(first, first + steps):
            model.step(Fields(height, u, v), scratch, step)
        return height, u, v

    return advance


def compile_measure(model: Model) -> Any:
    """`measure(height, u, v)`: kinetic energy, potential energy, volume, as one program."""
    rows = int(model.ocean["rows"])

    @wl.jit(allow_contraction=True)
    def measure(height: Any, u: Any, v: Any) -> Any:
        each, totals = wl.Array(np.zeros((rows, 3), np.float32)), wl.Array(np.zeros(3, np.float32))
        model.measure(Fields(height, u, v), each, totals)
        return totals

    return measure
