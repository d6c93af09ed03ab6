"""The kernels of ocean.cu, launched in the order of a step: on NumPy arrays, inside `wl.jit`, or thread by thread."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import windlass as wl

HALO = 3
BLOCK = (32, 4)


class Fields(NamedTuple):
    """What the model steps, (layers, ny + 6, nx + 6) each; of the surface's, one layer."""

    u: Any
    v: Any
    heat: Any
    salt: Any
    surface: Any
    pushed_u: Any
    """The changes of the step before: Adams and Bashforth's."""
    pushed_v: Any
    warmed: Any
    salted: Any


class Basin(NamedTuple):
    """What stays as it is."""

    thickness: Any
    """(layers,) of each layer, in metres, the lowest first."""
    floor: Any
    """(ny + 6, nx + 6) int32: the lowest wet layer of each column; the number of layers on land."""
    depth_west: Any
    """(ny + 6, nx + 6) of the water at the western faces, in metres, where they are open."""
    depth_south: Any


class Ocean:
    """The kernels for one basin."""

    def __init__(self, grid: Any, form: Any = None, real: type[np.floating[Any]] = np.float64) -> None:
        """`form` turns a kernel into what is launched: `wl.emulate` or `wl.native`, for example."""
        self.grid = grid
        self.real = real
        self.form = form
        define = {"REAL": "float"} if real is np.float32 else {}
        self.module = wl.cuda.compile(Path(__file__).with_name("ocean.cu"), define=define)
        self.nx, self.ny, self.layers = (int(grid[name]) for name in ("nx", "ny", "layers"))
        self.rows, self.columns = self.ny + 2 * HALO, self.nx + 2 * HALO
        self.surface_steps = 2 * round(float(grid["time_step"]) / float(grid["surface_step"]))
        """Of each step: the surface goes twice as far, and is averaged."""

    def launch(self, name: str, shape: tuple[Any, Any], *arguments: Any) -> None:
        """One launch; all kernels take the grid last."""
        kernel: Any = self.module[name]
        (kernel if self.form is None else self.form(kernel))[shape](*arguments, self.grid)

    def over(self, layers: int = 1) -> tuple[Any, Any]:
        """A thread for each box, halo included."""
        return (-(-self.columns // BLOCK[0]), -(-self.rows // BLOCK[1]), layers), BLOCK

    def make(self, layers: int = 1) -> Any:
        """A field of zeros."""
        return np.zeros((layers, self.rows, self.columns), self.real)

    def fill(self, field: Any, is_odd: bool = False) -> None:
        """The halo of a field; `is_odd` for what flows through the walls."""
        layers = field.shape[0]
        across = -(-self.columns // 32)
        if is_odd:
            self.launch("reflect_rows", ((across, 1, layers), 32), field)
        else:
            self.launch("mirror_rows", ((across, HALO, layers), 32), field)
        self.launch("wrap_columns", ((1, -(-self.rows // 32), layers), (HALO, 32)), field)

    def step(self, fields: Fields, basin: Basin, step: Any) -> None:
        """One time step, in place."""
        u, v, heat, salt, *_ = fields
        thickness, floor, *_ = basin
        boxes, columns = self.over(self.layers), self.over()
        for field in (u, heat, salt):
            self.fill(field)
        self.fill(v, is_odd=True)

        buoyancy, pressure, vorticity, energy, bent_u, bent_v = (self.make(self.layers) for _ in range(6))
        w = self.make(self.layers + 1)
        self.launch("find_buoyancy", boxes, buoyancy, heat, salt)
        self.launch("find_pressure", columns, pressure, buoyancy, thickness)
        self.launch("find_vertical_velocity", columns, w, u, v, thickness)
        self.launch("find_vorticity", boxes, vorticity, u, v)
        self.launch("find_kinetic_energy", boxes, energy, u, v)
        self.launch("find_curvature_u", boxes, bent_u, u, floor)
        self.launch("find_curvature_v", boxes, bent_v, v, floor)

        viscosity, diffusivity = self.make(self.layers), self.make(self.layers)
        self.launch("find_mixing", boxes, viscosity, diffusivity, buoyancy, u, v, thickness, floor)

        push_u, push_v = self.make(self.layers), self.make(self.layers)
        seen = (u, v, w, vorticity, energy, pressure)
        self.launch("push_u", boxes, push_u, *seen, bent_u, thickness, floor)
        self.launch("push_v", boxes, push_v, *seen, bent_v, thickness, floor)
        self.launch("blow_wind", columns, push_u, thickness, floor)
        self.launch("drag_floor", boxes, push_u, push_v, u, v, energy, thickness, floor)
        warmed = self.carry(heat, (u, v, w), basin)
        salted = self.carry(salt, (u, v, w), basin)
        self.launch("restore_surface", columns, warmed, heat, thickness, floor)

        before_east, before_north, after_east, after_north = (self.make() for _ in range(4))
        self.launch("sum_columns", columns, before_east, before_north, u, v, thickness)
        is_first = step == 0
        for field, before, change in zip(fields[:4], fields[5:], (push_u, push_v, warmed, salted), strict=True):
            self.launch("advance", boxes, field, before, change, is_first)
        ratio = self.make(self.layers)
        for field, mixing, west, south in (
            (u, viscosity, 1, 0),
            (v, viscosity, 0, 1),
            (heat, diffusivity, 0, 0),
            (salt, diffusivity, 0, 0),
        ):
            self.launch("mix_columns", columns, field, ratio, mixing, thickness, floor, west, south)
        self.launch("sum_columns", columns, after_east, after_north, u, v, thickness)
        self.step_surface(fields, basin, (before_east, before_north), (after_east, after_north))

    def carry(self, tracer: Any, flow: tuple[Any, Any, Any], basin: Basin) -> Any:
        """How fast the flow changes a tracer."""
        u, v, w = flow
        west, south, change = (self.make(self.layers) for _ in range(3))
        up = self.make(self.layers + 1)
        boxes = self.over(self.layers)
        self.launch("carry_west", boxes, west, tracer, u, basin.floor)
        self.launch("carry_south", boxes, south, tracer, v, basin.floor)
        self.launch("carry_up", self.over(self.layers + 1), up, tracer, w, basin.floor)
        self.launch("gather_fluxes", boxes, change, west, south, up, basin.thickness, basin.floor)
        return change

    def step_surface(self, fields: Fields, basin: Basin, before: tuple[Any, Any], after: tuple[Any, Any]) -> None:
        """The surface and what columns carry, in short steps; then the layers follow."""
        columns = self.over()
        surface, weight = fields.surface, 1.0 / self.surface_steps
        depths = (basin.depth_west, basin.depth_south)
        (east, north), mean = before, self.make()
        push_east, push_north, mean_east, mean_north = (self.make() for _ in range(4))
        self.launch("find_push", columns, push_east, push_north, *after, east, north)
        for _ in range(self.surface_steps):
            self.fill(surface)
            self.launch("step_transport", columns, east, north, mean_east, mean_north, surface, push_east, push_north,
                        *depths, weight)  # fmt: skip
            self.fill(east)
            self.fill(north, is_odd=True)
            self.launch("step_surface", columns, surface, mean, east, north, basin.floor, weight)
        surface[...] = mean
        boxes = self.over(self.layers)
        self.launch(
            "correct_velocities", boxes, fields.u, fields.v, *after, mean_east, mean_north, *depths, basin.floor
        )


def compile_run(ocean: Ocean) -> Any:
    """`run(fields, basin, first, steps)`: that many steps as one program, which gives the fields that follow."""

    @wl.jit(donate=("fields",), allow_contraction=True)
    def run(fields: Fields, basin: Basin, first: Any, steps: Any) -> Fields:
        for step in range(first, first + steps):
            ocean.step(fields, basin, step)
        return fields

    return run
