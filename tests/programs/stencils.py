"""What the kernels of stencils.cu do, in NumPy."""

from __future__ import annotations

import numpy as np

from .program import INNER, LINE, PLANE, SLACK, Array, Draw, launch, program

VOLUME = (
    launch((2, 3, 4), (8, 4, 2), depth=7, rows=9, columns=13),
    launch((1, 2, 2), (8, 4, 4), depth=8, rows=8, columns=8),
    launch((1, 2, 2), (8, 4, 4), depth=3, rows=3, columns=3),
    launch((1, 1, 1), (4, 4, 4), idle=True, depth=3, rows=2, columns=3),
)


def _sides(field: Array) -> tuple[Array, Array, Array, Array, Array]:
    """Centre, left, right, up and down of the interior."""
    return field[1:-1, 1:-1], field[1:-1, :-2], field[1:-1, 2:], field[:-2, 1:-1], field[2:, 1:-1]


@program(
    INNER,
    lambda draw, rows, columns: (
        draw.floats(rows, columns),
        draw.floats(rows, columns),
        rows,
        columns,
        np.float32(0.23),
    ),
)
def heat(now: Array, following: Array, rows: int, columns: int, c: np.float32) -> None:
    centre, left, right, up, down = _sides(now)
    following[1:-1, 1:-1] = centre + c * (left + right + up + down - np.float32(4) * centre)


@program(PLANE, lambda draw, rows, columns: (draw.floats(rows, columns), draw.floats(rows, columns), rows, columns))
def smooth_clamped(source: Array, target: Array, rows: int, columns: int) -> None:
    if rows:
        centre, left, right, up, down = _sides(np.pad(source, 1, mode="edge"))
        target[...] = np.float32(0.2) * (centre + left + right + up + down)


@program(PLANE, lambda draw, rows, columns: (draw.floats(rows, columns), draw.floats(rows, columns), rows, columns))
def smooth_periodic(source: Array, target: Array, rows: int, columns: int) -> None:
    if rows:
        _, left, right, up, down = _sides(np.pad(source, 1, mode="wrap"))
        target[...] = np.float32(0.25) * (left + right + up + down)


@program(LINE, lambda draw, n: (draw.floats(n + SLACK), draw.floats(n + SLACK), n))
def smooth_wrapped_by_if(source: Array, target: Array, n: int) -> None:
    part = source[:n]
    target[:n] = np.float32(0.5) * part + np.float32(0.25) * (np.roll(part, 1) + np.roll(part, -1))


@program(
    VOLUME,
    lambda draw, depth, rows, columns: (
        draw.floats(depth, rows, columns),
        draw.floats(depth, rows, columns),
        depth,
        rows,
        columns,
    ),
)
def laplace_volume(source: Array, target: Array, depth: int, rows: int, columns: int) -> None:
    inner = slice(1, -1)
    target[inner, inner, inner] = (
        source[inner, inner, :-2]
        + source[inner, inner, 2:]
        + source[inner, :-2, inner]
        + source[inner, 2:, inner]
        + source[:-2, inner, inner]
        + source[2:, inner, inner]
        - np.float32(6) * source[inner, inner, inner]
    )


@program(
    (
        launch((2, 3), (8, 4), depth=9, rows=9, columns=13),
        launch((1, 1), (8, 8), depth=3, rows=2, columns=3),
        launch((1, 1), (1, 1), depth=40, rows=1, columns=1),
        launch((1, 1), (4, 4), idle=True, depth=2, rows=3, columns=3),
    ),
    lambda draw, depth, rows, columns: (
        draw.floats(depth, rows, columns),
        draw.floats(depth, rows, columns),
        depth,
        rows,
        columns,
    ),
)
def laplace_layers(source: Array, target: Array, depth: int, rows: int, columns: int) -> None:
    target[1:-1] = source[:-2] - np.float32(2) * source[1:-1] + source[2:]


_WEIGHTS = np.arange(1, 10, dtype=np.float32) / np.float32(8)


def _weights(draw: Draw) -> dict[str, Array]:
    return {"weights": _WEIGHTS}


@program(
    INNER,
    lambda draw, rows, columns: (draw.floats(rows, columns), draw.floats(rows, columns), rows, columns),
    variables=_weights,
    tolerance=1e-6,
)
def convolve(source: Array, target: Array, rows: int, columns: int) -> None:
    total = np.zeros((rows - 2, columns - 2), np.float32)
    for dy in range(3):
        for dx in range(3):
            total += _WEIGHTS[dy * 3 + dx] * source[dy : dy + rows - 2, dx : dx + columns - 2]
    target[1:-1, 1:-1] = total


@program(
    LINE[:2] + LINE[3:], lambda draw, n: (draw.floats(n + SLACK), draw.floats(n + SLACK), draw.floats(n + SLACK), n)
)
def upwind(velocity: Array, source: Array, target: Array, n: int) -> None:
    if n > 2:
        here, speed = source[1 : n - 1], velocity[1 : n - 1]
        slope = np.where(speed > 0, here - source[: n - 2], source[2:n] - here)
        target[1 : n - 1] = here - speed * slope


@program(
    INNER,
    lambda draw, rows, columns: (draw.floats(rows, columns), draw.floats(rows, columns), rows, columns, 0),
)
def relax_color(u: Array, f: Array, rows: int, columns: int, color: int) -> None:
    _, left, right, up, down = _sides(u)
    relaxed = np.float32(0.25) * (left + right + up + down - f[1:-1, 1:-1])
    y, x = np.indices(u.shape)[:, 1:-1, 1:-1]
    u[1:-1, 1:-1] = np.where((x + y) % 2 == color, relaxed, u[1:-1, 1:-1])


@program(INNER, lambda draw, rows, columns: (draw.floats(rows, columns), rows, columns, 1))
def relax_color_strided(u: Array, rows: int, columns: int, color: int) -> None:
    _, left, right, up, down = _sides(u)
    relaxed = np.float32(0.25) * (left + right + up + down)
    y, x = np.indices(u.shape)[:, 1:-1, 1:-1]
    u[1:-1, 1:-1] = np.where((x - 1 + y + color) % 2 == 0, relaxed, u[1:-1, 1:-1])


@program(
    (launch(2, 32, rows=37, columns=20), launch(1, 1, rows=1, columns=4), launch(1, 8, idle=True, rows=0, columns=5)),
    lambda draw, rows, columns: (draw.floats(rows, columns), rows, columns),
)
def fill_ghost_columns(field: Array, rows: int, columns: int) -> None:
    field[:, 0] = field[:, -2]
    field[:, -1] = field[:, 1]


@program(
    (launch(2, 32, rows=12, columns=37), launch(1, 1, rows=3, columns=1), launch(1, 8, idle=True, rows=5, columns=0)),
    lambda draw, rows, columns: (draw.floats(rows, columns), rows, columns),
)
def fill_ghost_rows(field: Array, rows: int, columns: int) -> None:
    field[0] = 0
    field[-1] = -field[-2]


@program(
    PLANE,
    lambda draw, rows, columns: (
        draw.floats(rows, columns + 1),
        draw.floats(rows + 1, columns),
        draw.floats(rows, columns),
        rows,
        columns,
        np.float32(0.3),
        np.float32(0.7),
    ),
)
def divergence(u: Array, v: Array, out: Array, rows: int, columns: int, dx: np.float32, dy: np.float32) -> None:
    out[...] = (u[:, 1:] - u[:, :-1]) / dx + (v[1:] - v[:-1]) / dy


@program(
    INNER[:3],
    lambda draw, rows, columns: (
        draw.integers(rows, columns, low=0, high=2, dtype=np.uint8),
        draw.integers(rows, columns, low=0, high=2, dtype=np.uint8),
        rows,
        columns,
    ),
)
def life(now: Array, following: Array, rows: int, columns: int) -> None:
    neighbors = sum(np.roll(now, (dy, dx), (0, 1)) for dy in (-1, 0, 1) for dx in (-1, 0, 1) if (dy, dx) != (0, 0))
    following[...] = (neighbors == 3) | ((neighbors == 2) & (now != 0))


@program(
    INNER,
    lambda draw, rows, columns: (
        draw.floats(rows, columns),
        draw.integers(rows, columns, low=0, high=4),
        draw.floats(rows, columns),
        rows,
        columns,
    ),
)
def diffuse_at_sea(now: Array, sea: Array, following: Array, rows: int, columns: int) -> None:
    centre, *sides = _sides(now)
    here, *open_sides = _sides(sea)
    flux = np.zeros_like(centre)
    for side, is_open in zip(sides, open_sides, strict=True):
        flux = np.where(is_open != 0, flux + (side - centre), flux)
    following[1:-1, 1:-1] = np.where(here != 0, centre + np.float32(0.1) * flux, np.float32(0))


@program(
    INNER,
    lambda draw, rows, columns: (
        draw.floats(rows, columns),
        draw.floats(rows, columns),
        rows,
        columns,
        np.float32(0.2),
    ),
)
def leapfrog(old: Array, now: Array, rows: int, columns: int, courant: np.float32) -> None:
    centre, left, right, up, down = _sides(now)
    laplacian = left + right + up + down - np.float32(4) * centre
    old[1:-1, 1:-1] = np.float32(2) * centre - old[1:-1, 1:-1] + courant * laplacian


@program(LINE[:2] + LINE[3:], lambda draw, n: (draw.doubles(n + SLACK), draw.doubles(n + SLACK), n, 1 / 12))
def fourth_order(source: Array, target: Array, n: int, scale: float) -> None:
    if n > 4:
        s = source[:n]
        target[2 : n - 2] = scale * (-s[: n - 4] + 16 * s[1 : n - 3] - 30 * s[2 : n - 2] + 16 * s[3 : n - 1] - s[4:])
