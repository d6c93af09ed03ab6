"""Textures and surfaces.

The references look texels up by whole indices that are wrapped, reflected or clamped, and interpolate with weights that
are rounded to 1/256, in float64.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

import windlass as wl

from .program import LINE, PLANE, Array, Draw, launch, program

FLOAT2 = np.dtype([("x", np.float32), ("y", np.float32)])
FLOAT4 = np.dtype([(name, np.float32) for name in "xyzw"])
SHORT2 = np.dtype([("x", np.int16), ("y", np.int16)])
INT4 = np.dtype([(name, np.int32) for name in "xyzw"])

POINTS = (launch(4, 64, n=200), launch(1, 1, n=1), launch(1, 32, n=0, idle=True))


def look_up(texels: Array, index: Sequence[Array], mode: str) -> Array:
    """Texels at whole indices (slowest axis first) that may lie outside; on a border zeros."""
    inside = np.ones(index[0].shape, bool)
    places: list[Array] = []
    for places_along, extent in zip(index, texels.shape, strict=False):
        i = places_along.astype(np.int64)
        if mode == "wrap":
            i = i % extent
        elif mode == "mirror":
            i = i % (2 * extent)
            i = np.minimum(i, 2 * extent - 1 - i)
        elif mode == "border":
            inside &= (i >= 0) & (i < extent)
        places.append(np.clip(i, 0, extent - 1))
    found = texels[tuple(places)]
    return np.where(inside.reshape(inside.shape + (1,) * (found.ndim - inside.ndim)), found, 0)


def sample(texels: Array, coordinates: Sequence[Array], mode: str, filter: str) -> Array:
    """What a texture gives at coordinates in texels, slowest axis first."""
    where = [np.asarray(each, np.float64) for each in coordinates]
    if filter == "point":
        return look_up(texels, [np.floor(each) for each in where], mode)
    below = [np.floor(each - 0.5) for each in where]
    weights = [np.floor((each - 0.5 - low) * 256 + 0.5) / 256 for each, low in zip(where, below, strict=True)]
    total: Any = 0.0
    for corner in itertools.product((0, 1), repeat=len(where)):
        weight: Any = 1.0
        for step, each in zip(corner, weights, strict=True):
            weight = weight * (each if step else 1 - each)
        found = look_up(texels, [low + step for low, step in zip(below, corner, strict=True)], mode).astype(np.float64)
        total = total + weight.reshape(weight.shape + (1,) * (found.ndim - weight.ndim)) * found
    return total


def anywhere(draw: Draw, n: int, extent: int) -> Array:
    """Coordinates in and around an extent: odd multiples of 1/128, so that neither rounding nor an edge decides."""
    return ((draw.integers(n, low=-64 * extent, high=128 * extent) + 0.5) / 64).astype(np.float32)


def pairs(x: Array, y: Array) -> Array:
    found = np.zeros(x.shape, FLOAT2)
    found["x"], found["y"] = x, y
    return found


@program(
    LINE,
    lambda draw, n: (wl.cuda.texture(draw.floats(n + 2)), 5, draw.floats(n), n),
)
def fetch_line(line: wl.cuda.Texture, shift: int, out: Array, n: int) -> None:
    texels = np.append(line.array, np.zeros(10, np.float32))
    out[:n] = texels[shift : shift + n]


@program(
    LINE,
    lambda draw, n: (
        wl.cuda.texture(draw.any_bits(n + 1, 2), channels=2),
        wl.cuda.texture(draw.any_bits(n + 3, 2), channels=2),
        True,
        draw.integers(n),
        n,
    ),
)
def difference_of_lines(a: wl.cuda.Texture, b: wl.cuda.Texture, swapped: bool, out: Array, n: int) -> None:
    p, q = (b.array, a.array) if swapped else (a.array, b.array)
    out[:n] = p[:n, 0] - q[:n, 1][::-1]


def line_at(mode: str, filter: str, normalized: bool) -> Any:
    """Arguments and reference for a texture of 16 texels."""

    def arguments(draw: Draw, n: int) -> tuple[Any, ...]:
        at = anywhere(draw, n, 16) / np.float32(16 if normalized else 1)
        line = wl.cuda.texture(
            draw.floats(16),
            address_mode=mode,  # pyright: ignore[reportArgumentType]
            filter_mode=filter,  # pyright: ignore[reportArgumentType]
            normalized_coords=normalized,
        )
        return line, at, draw.floats(n), n

    def reference(line: wl.cuda.Texture, at: Array, out: Array, n: int) -> None:
        out[:n] = sample(line.array, [at[:n] * (16 if normalized else 1)], mode, filter)

    return arguments, reference


for _mode, _filter, _normalized in itertools.product(
    ("wrap", "clamp", "mirror", "border"), ("point", "linear"), (True, False)
):
    if _normalized or _mode in ("clamp", "border"):
        _arguments, _reference = line_at(_mode, _filter, _normalized)
        program(POINTS[:2], _arguments, 1e-6 if _filter == "linear" else 0.0, "sample_line")(_reference)


@program(
    POINTS,
    lambda draw, n: (
        wl.cuda.texture(draw.floats(5, 7), filter_mode="linear", address_mode="border", border=[0.5]),
        pairs(anywhere(draw, n, 7), anywhere(draw, n, 5)),
        draw.floats(n),
        n,
    ),
    tolerance=1e-6,
)
def sample_plane(plane: wl.cuda.Texture, at: Array, out: Array, n: int) -> None:
    # A border of 0.5 is a border of 0 around the texels less 0.5.
    out[:n] = sample(plane.array - 0.5, [at["y"][:n], at["x"][:n]], "border", "linear") + 0.5


@program(
    POINTS,
    lambda draw, n: (
        wl.cuda.texture(draw.floats(8, 4).astype(np.float16), address_mode="mirror", normalized_coords=True),
        pairs(anywhere(draw, n, 4) / np.float32(4), anywhere(draw, n, 8) / np.float32(8)),
        draw.floats(n),
        n,
    ),
    kernel="sample_plane",
)
def sample_plane_of_halves(plane: wl.cuda.Texture, at: Array, out: Array, n: int) -> None:
    out[:n] = sample(plane.array.astype(np.float32), [at["y"][:n] * 8, at["x"][:n] * 4], "mirror", "point")


@program(
    POINTS,
    lambda draw, n: (
        wl.cuda.texture(draw.floats(4, 3, 5), filter_mode="linear"),
        np.stack([anywhere(draw, n, 5), anywhere(draw, n, 3), anywhere(draw, n, 4)], axis=-1).copy(),
        draw.floats(n),
        n,
    ),
    tolerance=1e-6,
)
def sample_volume(volume: wl.cuda.Texture, at: Array, out: Array, n: int) -> None:
    x, y, z = at[:n].T
    out[:n] = sample(volume.array, [z, y, x], "clamp", "linear")


@program(
    POINTS,
    lambda draw, n: (
        wl.cuda.texture(
            draw.any_bits(8, 16, 4, dtype=np.uint8),
            channels=4,
            filter_mode="linear",
            address_mode=("wrap", "wrap"),
            normalized_coords=True,
            read_mode="normalized",
        ),
        pairs(anywhere(draw, n, 16) / np.float32(16), anywhere(draw, n, 8) / np.float32(8)),
        draw.record(FLOAT4, n),
        n,
    ),
    tolerance=1e-6,
)
def sample_colours(plane: wl.cuda.Texture, at: Array, out: Array, n: int) -> None:
    found = sample(plane.array / 255.0, [at["y"][:n] * 8, at["x"][:n] * 16], "wrap", "linear")
    for channel, name in enumerate("xyzw"):
        out[name][:n] = found[:, channel]


@program(
    POINTS,
    lambda draw, n: (
        wl.cuda.texture(draw.any_bits(6, 9, 2, dtype=np.int16), channels=2, read_mode="normalized"),
        pairs(anywhere(draw, n, 9), anywhere(draw, n, 6)),
        draw.record(FLOAT4, n),
        n,
    ),
    kernel="sample_colours",
    tolerance=1e-6,
)
def sample_two_channels(plane: wl.cuda.Texture, at: Array, out: Array, n: int) -> None:
    found = sample(np.maximum(plane.array / 32767.0, -1.0), [at["y"][:n], at["x"][:n]], "clamp", "point")
    out["x"][:n], out["y"][:n] = found[:, 0], found[:, 1]
    out["z"][:n] = out["w"][:n] = 0


@program(
    PLANE[:4],
    lambda draw, rows, columns: (
        wl.cuda.texture(draw.any_bits(rows, columns, 2, dtype=np.int16), channels=2),
        draw.record(SHORT2, rows * columns),
        rows,
        columns,
    ),
)
def copy_pairs(plane: wl.cuda.Texture, out: Array, rows: int, columns: int) -> None:
    turned = plane.array[:, ::-1].reshape(-1, 2)
    out["x"], out["y"] = turned[:, 0], turned[:, 1]


@program(
    PLANE[:4],
    lambda draw, rows, columns: (
        wl.cuda.texture(draw.floats(rows, columns)),
        draw.floats(rows * columns),
        rows,
        columns,
    ),
)
def blur(plane: wl.cuda.Texture, out: Array, rows: int, columns: int) -> None:
    wide = np.pad(plane.array, 1, mode="edge")
    total = np.zeros((rows, columns), np.float32)
    for dy in range(3):
        for dx in range(3):
            total += wide[dy : dy + rows, dx : dx + columns]
    out[:] = total.reshape(-1)


@program(
    POINTS,
    lambda draw, n: (
        wl.cuda.texture(draw.floats(3, 4, 20), layered=True),
        wl.cuda.texture(draw.floats(5, 30), layered=True),
        draw.integers(n, low=-1, high=7),
        draw.floats(n),
        n,
    ),
)
def pick_layers(planes: wl.cuda.Texture, lines: wl.cuda.Texture, layer: Array, out: Array, n: int) -> None:
    i = np.arange(n)
    plane = planes.array[np.clip(layer[:n], 0, 2), np.minimum(i % 5, 3), np.minimum(i // 4, 19)]
    out[:n] = plane - lines.array[np.clip(layer[:n], 0, 4), np.minimum(i, 29)]


@program(
    PLANE[:4],
    lambda draw, rows, columns: (
        wl.cuda.texture(draw.any_bits(rows, columns, 2), channels=2),
        draw.record(INT4, rows * columns),
        rows,
        columns,
    ),
)
def gather_neighbours(plane: wl.cuda.Texture, out: Array, rows: int, columns: int) -> None:
    wide = np.pad(plane.array[..., 1], ((0, 1), (0, 1)), mode="edge")
    for name, dy, dx in (("x", 1, 0), ("y", 1, 1), ("z", 0, 1), ("w", 0, 0)):
        out[name] = wide[dy : dy + rows, dx : dx + columns].reshape(-1)


@program(
    PLANE[:4],
    lambda draw, rows, columns: (
        wl.cuda.surface(draw.any_bits(rows, columns, 4, dtype=np.uint8), channels=4),
        rows,
        columns,
    ),
)
def invert_in_place(plane: wl.cuda.Surface, rows: int, columns: int) -> None:
    plane.array[..., 0] = 255 - plane.array[..., 0]
    plane.array[..., 3] = plane.array[..., 1] + plane.array[..., 2]


@program(
    (PLANE[0], PLANE[1], PLANE[3]),
    lambda draw, rows, columns: (
        wl.cuda.surface(draw.floats(rows, columns)),
        wl.cuda.surface(draw.floats(rows, columns)),
        2,
        rows,
        columns,
    ),
)
def shift_into(source: wl.cuda.Surface, target: wl.cuda.Surface, dx: int, rows: int, columns: int) -> None:
    y, x = np.mgrid[:rows, :columns]
    zero = look_up(source.array, [y - 1, x + dx], "border")
    clamped = look_up(source.array, [y + 1, x - dx], "clamp")
    found = zero + np.float32(100) * clamped
    target.array[:, :-1] = found[:, 1:]


@program(
    (launch(3, 64, n=5), launch(1, 1, n=1)),
    lambda draw, n: (wl.cuda.surface(draw.floats(n, n, n)), np.float32(1.5), n),
)
def scale_volume(volume: wl.cuda.Surface, by: float, n: int) -> None:
    volume.array[...] *= np.float32(by)
