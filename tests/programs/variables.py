"""What the kernels of variables.cu do, in NumPy."""

from __future__ import annotations

import numpy as np

from .program import LINE, SLACK, Array, Draw, launch, program
from .structs import vector

COEFFICIENTS = np.array([0.5, -1.25, 2.0, 0.125], np.float32)
SHIFTS = np.array([[4, 5, 6], [-7, -8, -9]], np.int32)
CORNER = np.array((1.0, 2.0, 3.0, 4.0), vector("xyzw", np.float32))


def _values(draw: Draw) -> dict[str, Array]:
    return {"coefficients": COEFFICIENTS}


def _shifts(draw: Draw) -> dict[str, Array]:
    return {"shift_of": SHIFTS}


def _globals(draw: Draw) -> dict[str, Array]:
    return {"total_heat": np.arange(8, dtype=np.float32), "calls": np.array(41, np.int32)}


def _corner(draw: Draw) -> dict[str, Array]:
    return {"corner": CORNER}


@program(LINE, lambda draw, n: (draw.floats(n + SLACK), draw.floats(n + SLACK), n), variables=_values)
def cubic(x: Array, out: Array, n: int) -> None:
    c = COEFFICIENTS
    out[:n] = ((c[3] * x[:n] + c[2]) * x[:n] + c[1]) * x[:n] + c[0]


@program(
    LINE,
    lambda draw, n: (draw.integers(n + SLACK, low=0, high=6), draw.integers(n + SLACK, low=5000, high=5005), n),
    variables=_shifts,
)
def shift_by_table(kind: Array, out: Array, n: int) -> None:
    out[:n] = SHIFTS[kind[:n] & 1, kind[:n] % 3] + np.arange(n)


HEAT = np.arange(8, dtype=np.float32)


@program(
    (launch(1, 32, n=8), launch(1, 1, n=1), launch(2, 4, n=5)),
    lambda draw, n: (draw.floats(n + SLACK), n),
    variables=_globals,
    observed=("total_heat", "calls"),
)
def accumulate_globally(x: Array, n: int, total_heat: Array, calls: Array) -> None:
    total_heat[:n] += x[:n]
    calls += 1


@program(LINE, lambda draw, n: (draw.integers(n + SLACK, low=0, high=5), draw.doubles(n + SLACK), n))
def powers_of_ten(place: Array, out: Array, n: int) -> None:
    out[:n] = np.array([1.0, 0.1, 0.01, 0.001, 0.0001])[place[:n]]


@program(LINE, lambda draw, n: (draw.floats(n + SLACK), draw.floats(n + SLACK), n), variables=_corner)
def from_corner(x: Array, out: Array, n: int) -> None:
    out[:n] = (x[:n] - np.float32(1)) * np.float32(4) + np.float32(3)
