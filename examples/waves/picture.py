"""Draws the sea surface: land with relief shading, water coloured by its height and lit from the north-west."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeAlias

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import LightSource, LinearSegmentedColormap
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter, zoom

Array: TypeAlias = NDArray[Any]

WATER = LinearSegmentedColormap.from_list(
    "water",
    [
        (0.00, "#03071e"),
        (0.22, "#0b2a5b"),
        (0.40, "#12558a"),
        (0.50, "#1f7a9c"),
        (0.60, "#4fb3b0"),
        (0.74, "#c9ead3"),
        (0.88, "#fff3cf"),
        (1.00, "#ffd27a"),
    ],
)
"""Troughs in navy, rest in sea blue, crests from foam to sunlight."""

LAND = LinearSegmentedColormap.from_list(
    "land",
    [(0.0, "#d9c79b"), (0.06, "#8d9a5b"), (0.25, "#5f7a45"), (0.5, "#8a7350"), (0.75, "#a89786"), (1.0, "#f7f4ef")],
)
ENLARGED = 3
SUN = LightSource(azdeg=315, altdeg=42)


def draw_sea(path: Path, height: Array, relief: Array, spacing: float, hours: float) -> None:
    """Writes a PNG of the sea surface `height` in metres over `relief`, (rows, columns) each, south first."""
    sea = relief < 0
    # Water is continued under the coast before enlarging, so that no dark seam follows it.
    weight = gaussian_filter(sea.astype(float), 2)
    filled = np.where(sea, height, gaussian_filter(np.where(sea, height, 0), 2) / np.maximum(weight, 1e-3))
    surface = zoom(filled, ENLARGED, order=3)
    ground = zoom(relief.astype(float), ENLARGED, order=1)
    limit = float(np.percentile(np.abs(height[sea]), 99.2))

    shown = np.tanh(surface / limit * 1.1) / np.tanh(1.1)
    color = WATER(0.5 + 0.5 * np.clip(shown, -1, 1))[..., :3]
    floor = SUN.hillshade(gaussian_filter(ground, 1.0), vert_exag=0.0011 * ENLARGED, dx=1, dy=1)
    deep = np.clip(-ground / 6000, 0, 1)
    color *= (1.10 - 0.34 * deep + 0.30 * (floor - 0.67))[..., None]
    lit = SUN.hillshade(np.arcsinh(surface / limit * 2), vert_exag=9.0, dx=1, dy=1)
    color = np.clip(color * (0.55 + 0.70 * lit)[..., None] + 0.35 * (np.clip(lit - 0.88, 0, 1) ** 1.5)[..., None], 0, 1)

    soil = LAND(np.clip(ground / 3000, 0, 1))[..., :3]
    shade = SUN.hillshade(gaussian_filter(ground, 0.8), vert_exag=0.0022 * ENLARGED, dx=1, dy=1)
    soil = np.clip(soil * (0.40 + 0.85 * shade)[..., None], 0, 1)
    picture = np.where((ground >= 0)[..., None], soil, color)

    rows, columns = relief.shape
    extent = (0, columns * spacing / 1000, 0, rows * spacing / 1000)
    figure = plt.figure(figsize=(13.4, 8.1), facecolor="#0a0f1c")
    axes = figure.add_axes((0.045, 0.085, 0.915, 0.835))
    axes.imshow(picture, origin="lower", extent=extent, interpolation="bilinear")
    axes.contour(ground, [0], colors="#0a1220", linewidths=0.7, extent=extent)
    axes.set_title(
        f"Sea surface {hours:.1f} hours after the earthquakes", color="#e8eef7", fontsize=15, loc="left", pad=9
    )
    axes.set_xlabel("kilometres east", color="#aebbd0")
    axes.set_ylabel("kilometres north", color="#aebbd0")
    axes.tick_params(colors="#aebbd0", length=3)
    for spine in axes.spines.values():
        spine.set_color("#2b3a55")
    _add_legend(figure, limit)
    figure.savefig(path, dpi=120, facecolor=figure.get_facecolor())
    plt.close(figure)


def _add_legend(figure: Any, limit: float) -> None:
    bar = figure.add_axes((0.735, 0.945, 0.225, 0.016))
    levels = np.linspace(-1, 1, 256)
    bar.imshow(WATER(0.5 + 0.5 * levels)[None], aspect="auto", extent=(-1, 1, 0, 1))
    ticks = np.array([-1, -0.5, 0, 0.5, 1])
    metres = np.arctanh(ticks * np.tanh(1.1) * 0.999) / 1.1 * limit
    bar.set_xticks(ticks, [f"{value:+.2f} m" if value else "0" for value in np.round(metres, 2)])
    bar.set_yticks([])
    bar.tick_params(colors="#aebbd0", length=2, labelsize=8)
    for spine in bar.spines.values():
        spine.set_color("#2b3a55")
