"""Where was the earthquake? From what twelve tide gauges read, back to the sea surface that it lifted.

    python examples/waves/find_earthquake.py [--rounds 25] [--output earthquake.png]

Runs the ocean of waves.cu after an earthquake, keeps only what the gauges read, and finds the sea surface at the start
from these: by gradients through every step of the CUDA kernels (earthquake.py).
Prints what it finds, and draws it with the readings and the loss of each round.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

sys.path.insert(0, str(Path(__file__).parent))

from earthquake import GAUGES, NOISE, Coast, Rupture, compile_read, make_readings, search
from scene import load_relief
from search_picture import draw_search

HERE = Path(__file__).parent


def main() -> None:
    """The demo."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=25)
    parser.add_argument("--output", type=Path, default=HERE / "earthquake.png")
    options = parser.parse_args()
    console = Console(highlight=False)

    coast, rupture = Coast(load_relief()), Rupture()
    read = compile_read(coast)
    readings = make_readings(read, coast, rupture)
    console.print(
        f"{len(GAUGES)} gauges read the water {coast.steps} times in two hours, to {100 * NOISE:.0f} cm; "
        f"unknown: the sea surface of {coast.relief.size:,} cells at the start"
    )
    begin = time.perf_counter()
    columns = (TextColumn("searching"), BarColumn(), MofNCompleteColumn(), TextColumn("loss {task.fields[loss]}"))
    with Progress(*columns, console=console) as progress:
        bar = progress.add_task("gradients", total=options.rounds, loss="")

        def tell(losses: list[float]) -> None:
            progress.update(bar, completed=len(losses), loss=f"{losses[-1]:.2f}")

        found = search(coast, readings, options.rounds, tell)
    seconds = time.perf_counter() - begin
    console.print(
        f"{len(found.losses)} gradients in {seconds:.1f} s, compilation among them; by differences a single one would "
        f"take {coast.relief.size:,} runs\nloss {found.losses[0]:.1f} → {found.losses[-1]:.2f}"
    )
    report(console, coast, rupture, found.surface)
    draw_search(options.output, coast, found, rupture, readings, np.asarray(read(found.surface)))
    console.print(f"wrote {options.output}")


def report(console: Console, coast: Coast, rupture: Rupture, surface: Any) -> None:
    """Prints where the water was lifted, as found and in truth."""
    east, north = coast.position(surface)
    away = float(np.hypot(east - rupture.east, north - rupture.north))
    console.print(
        f"found: {east:.0f} km east, {north:.0f} km north; it was at {rupture.east:.0f}, {rupture.north:.0f}: "
        f"{away:.0f} km away, on cells of {coast.spacing / 1000:.0f} km"
    )


if __name__ == "__main__":
    main()
