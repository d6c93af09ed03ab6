"""A picture of a mesh of devices, with what goes from neighbour to neighbour."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

from windlass.reports.words import spell_size

CELL, GAP = 44, 30
MOST_DRAWN = 6
"""Devices along an axis: of longer ones only so many are drawn."""
INK = "#b40"


def draw_mesh(mesh: Mapping[str, int], going: Mapping[tuple[str, bool], float]) -> str:
    """The first two axes of the mesh as SVG, with an arrow between neighbours for each direction in which bytes go.

    `going` tells how many, by the axis and whether they go forward along it. Below the picture that is written, too.

    >>> draw_mesh({"x": 3}, {("x", True): 8.0}).count("<line")
    2
    """
    names = list(mesh)
    sizes = [*mesh.values(), 1, 1][:2]
    rows, columns = (min(size, MOST_DRAWN) for size in sizes)
    shapes: list[str] = []
    for row in range(rows):
        for column in range(columns):
            x, y = GAP + column * (CELL + GAP), GAP + row * (CELL + GAP)
            shapes.append(f"<rect x='{x}' y='{y}' width='{CELL}' height='{CELL}' fill='#eef' stroke='#447'/>")
            where = f"{row},{column}" if len(names) > 1 else f"{row}"
            shapes.append(
                f"<text x='{x + CELL // 2}' y='{y + CELL // 2 + 4}' font-size='12' font-family='sans-serif' "
                f"text-anchor='middle' fill='#447'>{where}</text>"
            )
            for place, (name, is_there) in enumerate(
                zip(names[:2], (row + 1 < rows, column + 1 < columns), strict=False)
            ):
                for is_forward in (True, False):
                    if is_there and going.get((name, is_forward)):
                        shapes.append(
                            _arrow(x, y, place, is_forward, f"{name}: {spell_size(round(going[name, is_forward]))}")
                        )
    width, height = GAP + columns * (CELL + GAP), GAP + rows * (CELL + GAP)
    legend = [_describe(place, name, mesh[name], going) for place, name in enumerate(names)]
    marker = (
        "<defs><marker id='head' orient='auto' markerWidth='6' markerHeight='6' refX='5' refY='3'>"
        f"<path d='M0,0 L6,3 L0,6 z' fill='{INK}'/></marker></defs>"
    )
    return (
        f"<svg viewBox='0 0 {width} {height}' width='{width}' style='max-width:100%;height:auto' role='img' "
        f"aria-label='{escape('; '.join(legend), quote=True)}'>{marker}{''.join(shapes)}</svg>"
        + "".join(f"<div>{escape(line)}</div>" for line in legend)
    )


def _describe(place: int, name: str, size: int, going: Mapping[tuple[str, bool], float]) -> str:
    """A line of the legend: an axis, and what goes along it."""
    ways = {0: ("down", "up"), 1: ("right", "left")}.get(place, ("forward", "back"))
    moved = [
        f"{spell_size(round(going[name, is_forward]))} {way}"
        for way, is_forward in zip(ways, (True, False), strict=True)
        if going.get((name, is_forward))
    ]
    drawn = "" if place > 1 or size <= MOST_DRAWN else f" ({MOST_DRAWN} are drawn)"
    return f"{name}: {size} devices{drawn}, {' and '.join(moved) or 'nothing'} to neighbours in a run"


def _arrow(x: int, y: int, axis: int, is_forward: bool, label: str) -> str:
    """From a cell to the next one along an axis, or back."""
    aside = CELL // 3 if is_forward else 2 * CELL // 3
    ends = (
        [(x + aside, y + CELL), (x + aside, y + CELL + GAP)]
        if axis == 0
        else [(x + CELL, y + aside), (x + CELL + GAP, y + aside)]
    )
    (x1, y1), (x2, y2) = ends if is_forward else ends[::-1]
    line = f"<line x1='{x1}' y1='{y1}' x2='{x2}' y2='{y2}' stroke='{INK}' marker-end='url(#head)'>"
    return f"{line}<title>{escape(label)}</title></line>"
