"""What the kernels of structs.cu do, in NumPy."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from .program import LINE, PLANE, SLACK, Array, Draw, program

GRID = np.dtype([("rows", np.int32), ("columns", np.int32), ("dx", np.float32), ("origin", np.float64)], align=True)
PARTICLE = np.dtype([("x", np.float32), ("y", np.float32), ("vx", np.float32), ("vy", np.float32), ("id", np.int32)])
CELL = np.dtype([("kind", np.int8), ("mass", np.float64), ("count", np.int16)], align=True)
BOUNDS = np.dtype([("low", np.float32, 3), ("high", np.float32, 3)])
SCENE = np.dtype([("bounds", BOUNDS), ("steps", np.int32)])

WEIGHT = np.dtype([("value", np.float16), ("bias", ml_dtypes.bfloat16)])


def vector(letters: str, dtype: Any) -> np.dtype[Any]:
    """The dtype of float3 and its like."""
    return np.dtype([(letter, dtype) for letter in letters])


@program(
    LINE,
    lambda draw, n: (np.array((7, n, 0.25, 1e-3), GRID)[()], draw.floats(n + SLACK), draw.doubles(n + SLACK)),
)
def coordinates(grid: Any, x: Array, y: Array) -> None:
    i = np.arange(grid["columns"])
    x[: i.size] = grid["dx"] * i.astype(np.float32) + np.float32(grid["rows"])
    y[: i.size] = grid["origin"] + i


@program(LINE, lambda draw, n: (draw.record(PARTICLE, n + SLACK), n, np.float32(0.5)))
def move(particles: Array, n: int, dt: np.float32) -> None:
    p = particles[:n]
    p["x"] += dt * p["vx"]
    p["y"] += dt * p["vy"]
    outside = p["x"] < 0
    p["x"] = np.where(outside, -p["x"], p["x"])
    p["vx"] = np.where(outside, -p["vx"], p["vx"])
    p["id"] += outside


@program(LINE, lambda draw, n: (draw.record(PARTICLE, n + SLACK), draw.floats(n + SLACK), n))
def kick(particles: Array, force: Array, n: int) -> None:
    particles["vy"][:n] -= force[:n]


@program(
    LINE,
    lambda draw, n: (
        draw.record(CELL, n + SLACK),
        draw.doubles(n + SLACK),
        draw.integers(n + SLACK, low=-9, high=-5),
        n,
    ),
)
def gather_mass(cells: Array, mass: Array, code: Array, n: int) -> None:
    mass[:n] = cells["mass"][:n] * cells["count"][:n]
    code[:n] = cells["kind"][:n]


@program(
    LINE,
    lambda draw, n: (
        draw.record(vector("xyz", np.float32), n + SLACK),
        np.array((([-1, -1.5, -1], [1.5, 1, 1.5]), 4), SCENE)[()],
        draw.integers(n + SLACK, low=-9, high=-5),
        n,
    ),
)
def count_inside(points: Array, scene: Any, inside: Array, n: int) -> None:
    p = np.stack([points[name][:n] for name in "xyz"], 1)
    low, high = scene["bounds"]["low"], scene["bounds"]["high"]
    inside[:n] = ((p >= low) & (p <= high)).all(1) * scene["steps"]


@program(LINE, lambda draw, n: (*(draw.record(vector("xyz", np.float32), n + SLACK) for _ in range(3)), n))
def cross_product(a: Array, b: Array, out: Array, n: int) -> None:
    a, b = a[:n], b[:n]
    for p, q, r in ("yzx", "zxy", "xyz"):
        out[r][:n] = a[p] * b[q] - a[q] * b[p]


@program(
    LINE,
    lambda draw, n: (
        draw.record(vector("xyzw", np.float32), n + SLACK),
        draw.record(vector("xyzw", np.float32), n + SLACK),
        np.float32(1.5),
        n,
    ),
)
def scale_four(x: Array, out: Array, factor: np.float32, n: int) -> None:
    part = out[:n]
    part["x"] = x["x"][:n] * factor
    part["y"] = x["y"][:n] + part["x"]
    part["z"] = x["w"][:n]
    part["w"] = 0


@program(LINE, lambda draw, n: (draw.record(vector("xy", np.float64), n + SLACK), 0.6, 0.8, n))
def rotate_points(points: Array, cosine: float, sine: float, n: int) -> None:
    x, y = points["x"][:n].copy(), points["y"][:n].copy()
    points["x"][:n] = cosine * x - sine * y
    points["y"][:n] = sine * x + cosine * y


def _image(draw: Draw, rows: int, columns: int) -> tuple[Any, ...]:
    colors = draw.any_bits(rows, columns, 4, dtype=np.uint8)
    image = colors.view(vector("xyzw", np.uint8)).reshape(rows, columns)
    return image, draw.any_bits(rows, columns, dtype=np.uint8)[::-1].copy(), rows, columns


@program(PLANE[:2] + PLANE[3:], _image)
def gray_levels(image: Array, gray: Array, rows: int, columns: int) -> None:
    red, green, blue = (image[name].astype(np.int32) for name in "xyz")
    gray[...] = (77 * red + 150 * green + 29 * blue) >> 8


@program(
    LINE,
    lambda draw, n: (
        draw.record(vector("xy", np.int32), n + SLACK),
        draw.integers(n + SLACK, low=-9, high=-5),
        draw.integers(n + SLACK, low=-9, high=-5),
        n,
    ),
)
def split_pairs(pairs: Array, first: Array, second: Array, n: int) -> None:
    first[:n] = pairs["x"][:n][::-1]
    second[:n] = pairs["y"][:n][::-1]


@program(LINE, lambda draw, n: (draw.floats(n + SLACK), n, 6))
def julia(out: Array, n: int, rounds: int) -> None:
    f = np.float32
    re = f(-1) + f(2) * np.arange(n, dtype=np.float32) / f(max(n, 1))
    im = np.full(n, 0.3, np.float32)
    for _ in range(rounds):
        re, im = re * re - im * im + f(-0.4), re * im + im * re + f(0.6)
    out[:n] = re * re + im * im


@program(
    LINE,
    lambda draw, n: (
        np.float16(1.7),
        draw.floats(n + SLACK).astype(np.float16),
        draw.floats(n + SLACK).astype(np.float16),
        n,
    ),
)
def scale_halves(factor: np.float16, x: Array, y: Array, n: int) -> None:
    y[:n] = factor * x[:n]


@program(LINE, lambda draw, n: (draw.floats(n + SLACK), ml_dtypes.bfloat16(0.3), n))
def add_brain_float(x: Array, by: Any, n: int) -> None:
    x[:n] += np.float32(by)


LAYER = np.dtype(
    [
        ("width", np.int32),
        ("weights", WEIGHT, 2),
        ("scale", vector("xy", np.float16)),
        ("shift", vector("xy", np.float32)),
        ("steps", vector("xyzw", np.uint8)),
    ],
    align=True,
)


@program(
    LINE,
    lambda draw, n: (
        np.array((n, [(0.7, 0.2), (-1.3, 4.0)], (2.5, 0.1), (9, 0.3), (1, 2, 200, 4)), LAYER)[()],
        np.array((1, 2, 3, 0.25), vector("xyzw", np.float32))[()],
        draw.floats(n + SLACK),
    ),
)
def apply_layer(layer: Any, offset: Any, x: Array) -> None:
    part = x[: layer["width"]]
    weights = layer["weights"][np.arange(part.size) % 2]
    scaled = weights["value"].astype(np.float32) * part + weights["bias"].astype(np.float32)
    scaled *= np.float32(layer["scale"]["x"]) - np.float32(layer["scale"]["y"])
    part[...] = scaled + layer["shift"]["y"] + offset["w"] * np.float32(layer["steps"]["z"])
