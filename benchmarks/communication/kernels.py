"""Kernels of examples/waves: CUDA C++ over fields with a halo of one cell, as functions of divided arrays."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.communication.case import Case, divided
from benchmarks.communication.stencils import PLANE

import windlass as wl

N = 1024
"""Cells along each axis, with the halo."""
BLOCK = (32, 8)
OVER_CELLS = ((N // BLOCK[0], N // BLOCK[1]), BLOCK)
OVER_A_LINE = (N // 128, 128)
OCEAN = np.dtype([("rows", "i4"), ("columns", "i4"), *((name, "f4") for name in (
    "spacing", "time_step", "gravity", "coriolis", "beta", "drag", "wind_stress", "storm_radius"))])  # fmt: skip
PLACE = Path(__file__).parents[2] / "examples" / "waves" / "waves.cu"


def _ocean() -> Any:
    return np.array((N - 2, N - 2, 1e3, 1.0, 9.81, 1e-4, 1e-11, 2.5e-3, 1e-4, 1e5), OCEAN)[()]


def launch(name: str, shape: Any, *arguments: Any) -> Any:
    return wl.cuda.compile(PLACE)[name].jax(*shape)(*arguments, _ocean())


def push_u(u: Any, v: Any, height: Any, depth: Any, stress: Any) -> Any:
    return launch("push_u", OVER_CELLS, u, v, height, depth, stress)


def push_v(u: Any, v: Any, height: Any, depth: Any, stress: Any) -> Any:
    return launch("push_v", OVER_CELLS, u, v, height, depth, stress)


def spread(field: Any, wider: Any, depth: Any) -> Any:
    return launch("spread", OVER_CELLS, field, wider, depth)


def wrap_columns(field: Any) -> Any:
    return launch("wrap_columns", OVER_A_LINE, field)


def mirror_rows(field: Any) -> Any:
    return launch("mirror_rows", OVER_A_LINE, field)


ROW, COLUMN = N // PLANE[1], N // PLANE[0]
"""Elements of a device's face to the north or south, and to the east or west."""


def _case(name: str, function: Any, elements: int, messages: int, count: int) -> Case:
    fields = divided(PLANE, N, N, count=count, dtype="float32")
    return Case(f"waves.cu, {name}", PLANE, fields, 4 * elements, messages, function, tolerance=1e-5)


KERNELS: tuple[Case, ...] = (
    # To the east of u's cells: v and its corner to the south, height, depth and stress; to the south v.
    _case("push_u", push_u, 4 * COLUMN + ROW + 1, 2, 5),
    _case("push_v", push_v, 4 * ROW + COLUMN + 1, 2, 5),
    _case("spread", spread, 2 * 2 * (ROW + COLUMN), 4, 3),
    # From the other end, either way.
    _case("wrap_columns", wrap_columns, 2 * COLUMN, 2, 1),
    _case("mirror_rows", mirror_rows, 0, 0, 1),
)
