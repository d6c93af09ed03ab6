"""Draws the ocean from above, how warm its surface is and how it turns, and a section through the channel."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeAlias

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from numpy.typing import NDArray
from primitive import HALO
from scipy.ndimage import distance_transform_edt

Array: TypeAlias = NDArray[Any]

LAND = "#3b352c"
INK, PAPER = "#e8edf2", "#0b1118"


def draw_ocean(path: Path, grid: Any, basin: Any, u: Array, v: Array, heat: Array, days: float) -> None:
    """Writes a PNG; `u`, `v` and `heat` are (layers, ny, nx), without their halo."""
    layers, ny, nx = heat.shape
    width, height = nx * float(grid["dx"]) / 1e3, ny * float(grid["dy"]) / 1e3
    lowest = np.asarray(basin.floor)[HALO:-HALO, HALO:-HALO]
    wet = np.arange(layers)[:, None, None] >= lowest
    turning = (v[-1] - np.roll(v[-1], 1, 1)) / float(grid["dx"]) - (u[-1] - np.roll(u[-1], 1, 0)) / float(grid["dy"])
    turning[0] = 0
    figure, axes = plt.subplots(
        3, 1, figsize=(9, 11.4), facecolor=PAPER, gridspec_kw={"height_ratios": (1, 1, 0.62), "hspace": 0.28}
    )
    extent = (0, width, 0, height)
    limit = float(np.percentile(np.abs(turning), 99)) or 1e-6
    for axis, field, name, colors, bounds in (
        (axes[0], heat[-1], f"temperature at the surface after {days:.0f} days, °C", "RdYlBu_r", (2.5, 14)),
        (axes[1], turning * 1e5, "its vorticity, 10⁻⁵ per second", "RdBu_r", (-1e5 * limit, 1e5 * limit)),
    ):
        # Under land stands what the nearest water has, so that no seam follows the coast.
        nearest: Any = distance_transform_edt(~wet[-1], return_distances=False, return_indices=True)
        image = axis.imshow(
            field[tuple(nearest)],
            origin="lower",
            extent=extent,
            cmap=colors,
            vmin=bounds[0],
            vmax=bounds[1],
            interpolation="bicubic",
        )
        axis.contourf(
            np.linspace(0, width, nx), np.linspace(0, height, ny), (~wet[-1]).astype(float), (0.5, 1.5), colors=LAND
        )
        _label(figure, axis, image, name)
        axis.set_ylabel("km to the north")
    x, y = np.meshgrid(np.linspace(0, width, nx), np.linspace(0, height, ny))
    every = (slice(None, None, max(1, ny // 20)), slice(None, None, max(1, nx // 40)))
    axes[0].quiver(x[every], y[every], u[-1][every], v[-1][every], color="#10202c", width=0.0013, alpha=0.75)
    axes[1].set_xlabel("km to the east")

    where = int(0.3 * nx)
    faces = np.concatenate([[0], np.cumsum(np.asarray(basin.thickness))]) - float(np.sum(basin.thickness))
    section = np.ma.masked_where(~wet[:, :, where], heat[:, :, where])
    image = axes[2].pcolormesh(np.linspace(0, height, ny + 1), faces, section, cmap="RdYlBu_r", vmin=2.5, vmax=14)
    axes[2].set_facecolor(LAND)
    _label(figure, axes[2], image, "temperature across the channel, over the ridge")
    axes[2].set_xlabel("km to the north")
    axes[2].set_ylabel("m")
    figure.savefig(path, dpi=110, facecolor=PAPER, bbox_inches="tight")
    plt.close(figure)


def _label(figure: Any, axis: Any, image: Any, name: str) -> None:
    axis.set_title(name, color=INK, fontsize=11, loc="left")
    axis.tick_params(colors=INK, labelsize=8)
    axis.xaxis.label.set_color(INK)
    axis.yaxis.label.set_color(INK)
    bar = figure.colorbar(image, ax=axis, pad=0.015, fraction=0.03)
    bar.ax.tick_params(colors=INK, labelsize=8)
