"""Makes basin.npz: the ocean that run.py floods. Its relief is synthetic, periodic from west to east.

    python make_basin.py

writes heights in metres (below zero: sea floor) as int16, 360 rows from south to north by 640 columns from west to
east, 5 km apart. Continents in the north and south, a mid-ocean ridge with transform faults, an arc of volcanic
islands along a trench, a seamount chain that dies out, two large islands, shelves, and fractal relief on it all.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]

ROWS, COLUMNS = 360, 640
STEP = 20
"""Heights are rounded to this many metres: it halves the size of the file."""


def fractal(random: np.random.Generator, slope: float, roughest: float = 0.5) -> Array:
    """Noise with a power-law spectrum, periodic, of zero mean and unit deviation. Method: filtered white noise."""
    frequency = np.hypot(np.fft.fftfreq(ROWS)[:, None] * ROWS / COLUMNS, np.fft.rfftfreq(COLUMNS)[None, :])
    frequency[0, 0] = 1
    spectrum = np.fft.rfft2(random.standard_normal((ROWS, COLUMNS)))
    spectrum *= frequency**-slope * np.exp(-((frequency / roughest) ** 2))
    spectrum[0, 0] = 0
    noise = np.fft.irfft2(spectrum, (ROWS, COLUMNS))
    return noise / noise.std()


def bump(x: Array, y: Array, at: tuple[float, float], radius: float, height: float, stretch: float = 1.0) -> Array:
    """A smooth mountain at a place, in columns and rows; distances wrap around from west to east."""
    dx = (x - at[0] + COLUMNS / 2) % COLUMNS - COLUMNS / 2
    return height * np.exp(-((dx / (radius * stretch)) ** 2) - ((y - at[1]) / radius) ** 2)


def make_basin(seed: int = 12) -> Array:
    """Heights in metres, int16 of shape (ROWS, COLUMNS)."""
    random = np.random.default_rng(seed)
    y, x = np.indices((ROWS, COLUMNS)).astype(np.float64)
    turn = 2 * np.pi * x / COLUMNS
    coast = fractal(random, 1.6, 0.25)
    relief = fractal(random, 1.35)
    # Mountains are drawn on a bent grid, so that no island is a circle.
    bent_x, bent_y = x + 4.5 * fractal(random, 1.5, 0.15), y + 4.5 * fractal(random, 1.5, 0.15)

    # Distance to the two continents, in rows, with ragged coasts; then shelf, slope and abyss as a function of it.
    north = ROWS - 30 + 9 * np.sin(turn + 0.7) + 9 * np.sin(3 * turn + 2.0) - y + 13 * coast
    south = y - 24 - 11 * np.sin(2 * turn + 1.1) - 5 * np.sin(5 * turn) + 13 * coast
    offshore = np.minimum(north, south)
    abyss = -5000 * (1 / (1 + np.exp(-(offshore - 17) / 5.5)))
    shelf = -140 * np.clip(offshore / 10, 0, 1)
    height = np.where(offshore > 0, abyss + shelf, 55 * -offshore + 25)

    # A ridge across the ocean from north-west to south-east, displaced along transform faults.
    segment = np.floor(y / 36)
    offset = 26 * np.sin(1.9 * segment + 0.4)
    across = ((bent_x - 215 - 0.42 * (y - 180) - offset) + COLUMNS / 2) % COLUMNS - COLUMNS / 2
    ridge = 2300 * np.exp(-np.abs(across) / 20) - 500 * np.exp(-((across / 2.2) ** 2))
    deep = np.clip((offshore - 12) / 30, 0, 1)
    height += deep * ridge * (1 + 0.12 * relief)

    # Islands along an arc, and the trench on its outer side.
    for angle in np.linspace(-1.15, 1.1, 13):
        place = (462 + 92 * np.cos(angle), 187 + 104 * np.sin(angle))
        height += bump(
            bent_x, bent_y, place, random.uniform(4.0, 9.0), random.uniform(4600, 6400), random.uniform(0.8, 1.3)
        )
    radius, angle = np.hypot(x - 462, (y - 187) * 92 / 104), np.arctan2(y - 187, x - 462)
    along_arc = np.exp(-((np.clip(np.abs(angle) - 1.1, 0, None) / 0.2) ** 2))
    height += along_arc * (-2600 * np.exp(-(((radius - 112) / 8) ** 2)) + 1700 * np.exp(-(((radius - 92) / 12) ** 2)))

    # Two large islands, and a chain of seamounts that sink with age.
    height += bump(bent_x, bent_y, (345, 214), 21, 6300, 1.5) + bump(bent_x, bent_y, (372, 196), 13, 4200, 1.2)
    height += bump(bent_x, bent_y, (80, 128), 17, 6200, 0.8) + bump(bent_x, bent_y, (93, 152), 12, 4600)
    for age in range(9):
        height += bump(bent_x, bent_y, (305 - 17 * age, 95 + 7 * age + 5 * np.sin(age)), 5.5, 5900 - 390 * age)

    # Fractal relief, gentle on the shelves; the deep sea is levelled by sediment.
    roughness = np.where(height > 0, 260, 60 + 330 * deep)
    height += roughness * relief * 0.7 + np.where(height > 0, 0.3 * height * relief, 0)
    height = np.where(height < -5200, -5200 + (height + 5200) * 0.45, height)
    height = np.where((height < 0) & (height > -60), -60, height)
    edge = np.minimum(y, ROWS - 1 - y)
    height = np.where(edge < 2, np.maximum(height, 300), height)
    return (np.round(np.clip(height, -7500, 4200) / STEP) * STEP).astype(np.int16)


if __name__ == "__main__":
    target = Path(__file__).with_name("basin.npz")
    np.savez_compressed(target, height=make_basin())
    print(f"{target.name}: {target.stat().st_size / 1000:.0f} kB")
