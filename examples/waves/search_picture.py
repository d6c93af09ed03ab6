"""Draws what find_earthquake.py found: the lifted sea, the gauges, some of their readings, and the loss."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeAlias

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from earthquake import GAUGES, HOURS, Coast, Found, Rupture
from matplotlib.colors import LinearSegmentedColormap, ListedColormap
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]

NIGHT, INK, FAINT, LINE = "#0a0f1c", "#e8eef7", "#aebbd0", "#2b3a55"
LIFT = LinearSegmentedColormap.from_list("lift", ["#03071e", "#0b2a5b", "#12405f", "#e07a3f", "#ffe3a3"])
LAND = ListedColormap(["#5f7a45"])
SHOWN = ("great island, west", "west shore", "last seamount", "arc, north")
"""Gauges whose readings are drawn."""


def draw_search(path: Path, coast: Coast, found: Found, rupture: Rupture, readings: Array, fitted: Array) -> None:
    """Writes a PNG; readings and what the found surface gives, `fitted`, are (steps, gauges) in metres."""
    figure = plt.figure(figsize=(13.4, 8.6), facecolor=NIGHT)
    _draw_map(figure.add_axes((0.05, 0.40, 0.62, 0.54)), coast, found.surface[1:-1, 1:-1], rupture)
    _draw_losses(figure.add_axes((0.73, 0.49, 0.25, 0.43)), found.losses)
    minutes = np.linspace(0, 60 * HOURS, len(readings))
    for number, name in enumerate(SHOWN):
        axes = figure.add_axes((0.05 + 0.238 * number, 0.07, 0.213, 0.24))
        gauge = list(GAUGES).index(name)
        axes.plot(minutes, 100 * readings[:, gauge], ".", color="#6fb7d6", markersize=2.5, label="read")
        axes.plot(minutes, 100 * fitted[:, gauge], color="#ffb15e", linewidth=1.4, label="found")
        _dress(axes, name, "minutes", "centimetres" if number == 0 else "")
        if number == 0:
            axes.legend(facecolor=NIGHT, edgecolor=LINE, labelcolor=INK, fontsize=8)
    figure.savefig(path, dpi=110, facecolor=NIGHT)
    plt.close(figure)


def _draw_map(axes: Any, coast: Coast, surface: Array, rupture: Rupture) -> None:
    rows, columns = coast.relief.shape
    scale = coast.spacing / 1000
    extent = (0, columns * scale, 0, rows * scale)
    sea, limit = coast.relief < 0, float(surface.max())
    axes.imshow(
        np.where(sea, surface, np.nan), origin="lower", extent=extent, cmap=LIFT, vmin=-limit, vmax=limit, aspect="auto"
    )
    axes.imshow(np.where(sea, np.nan, 1), origin="lower", extent=extent, cmap=LAND, aspect="auto")
    # The rupture in truth: where it lifted half as much as in its middle.
    turn, around = rupture.turn, np.linspace(0, 2 * np.pi, 90)
    p, q = (np.sqrt(np.log(2)) * each for each in (rupture.along * np.cos(around), rupture.across * np.sin(around)))
    axes.plot(
        rupture.east + p * np.cos(turn) - q * np.sin(turn),
        rupture.north + p * np.sin(turn) + q * np.cos(turn),
        color="#ffffff",
        linewidth=1.3,
        label="in truth",
    )
    east, north = coast.position(np.pad(surface, 1))
    axes.plot(east, north, "x", color="#ffffff", markersize=9, label="found")
    at = (coast.cells[:, ::-1] + 0.5) * scale
    axes.plot(at[:, 0], at[:, 1], "^", color="#7fe0c3", markersize=7, label="tide gauges")
    _dress(axes, "Where the sea was lifted, from what the gauges read", "kilometres east", "kilometres north")
    axes.set_xlim(extent[:2])
    axes.set_ylim(extent[2:])
    axes.legend(facecolor=NIGHT, edgecolor=LINE, labelcolor=INK, loc="upper right")


def _draw_losses(axes: Any, losses: list[float]) -> None:
    axes.semilogy(np.arange(1, len(losses) + 1), losses, "o-", color="#ffb15e", markersize=3.5)
    _dress(axes, "Loss", "gradients", "")


def _dress(axes: Any, title: str, below: str, beside: str) -> None:
    axes.set_facecolor("#0e1628")
    axes.set_title(title, color=INK, fontsize=11, loc="left")
    axes.set_xlabel(below, color=FAINT, fontsize=9)
    axes.set_ylabel(beside, color=FAINT, fontsize=9)
    axes.tick_params(colors=FAINT, length=3, labelsize=8)
    for spine in axes.spines.values():
        spine.set_color(LINE)
