"""Floods a synthetic ocean: CUDA C++ kernels, raised to tensors, some hundred steps compiled as one program.

    python examples/waves/run.py [--steps 600] [--output waves.png]

Compiles waves.cu, checks a short run against the emulator and against a version written by hand in JAX, steps with a
progress bar, prints energy, time per step and what each kernel became, and draws the sea surface.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

import jax
import numpy as np
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parent))

from model import Model, at_rest, compile_advance, compile_measure, make_scratch
from picture import draw_sea
from reference_jax import State, compile_run, step_with_slices
from scene import describe_ocean, lift_sea_floor, load_relief, water_depth

CHECKED_STEPS = 3
CHUNKS = 40
HERE = Path(__file__).parent


def check(model: Model, start: Any, console: Console) -> None:
    """Raised, emulated and hand-written steps have to agree."""
    raised, emulated = at_rest(start), at_rest(start)
    reference = Model(model.ocean, model.depth, emulated=True)
    scratch = make_scratch(model.ocean)
    for step in range(CHECKED_STEPS):
        model.step(raised, scratch, step)
        reference.step(emulated, scratch, step)
    by_hand = compile_run(step_with_slices, model.ocean)(
        jax.numpy.asarray(model.depth), State(*(jax.numpy.array(each) for each in at_rest(start))), 0, CHECKED_STEPS
    )
    for name, ours, theirs, hand in zip(State._fields, raised, emulated, by_hand, strict=False):
        scale = float(np.abs(theirs).max())
        worst = max(float(np.abs(ours - theirs).max()), float(np.abs(ours - np.asarray(hand)).max()))
        if not worst <= 1e-4 * scale:
            raise SystemExit(f"{name} differs by {worst:.2e} of {scale:.2e} after {CHECKED_STEPS} steps")
    same = all(np.array_equal(ours, theirs) for ours, theirs in zip(raised, emulated, strict=True))
    how = "to the last bit" if same else "to rounding"
    console.print(f"{CHECKED_STEPS} steps agree with the emulator {how}, and with the version written by hand in JAX")


def main() -> None:
    """The demo."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=600)
    parser.add_argument("--output", type=Path, default=HERE / "waves.png")
    options = parser.parse_args()
    console = Console(highlight=False)

    relief = load_relief()
    ocean, depth, start = describe_ocean(relief), water_depth(relief), lift_sea_floor(relief)
    begin = time.perf_counter()
    model = Model(ocean, depth)
    console.print(f"waves.cu compiled in {time.perf_counter() - begin:.2f} s: {', '.join(model.module.kernels)}")
    check(model, start, console)

    advance, measure = compile_advance(model), compile_measure(model)
    fields: Any = tuple(jax.numpy.asarray(each) for each in at_rest(start))
    before = np.asarray(measure(*fields))
    begin = time.perf_counter()
    fields = jax.block_until_ready(advance(*fields, 0, 1))
    console.print(f"the time loop became one program in {time.perf_counter() - begin:.2f} s")

    chunk = max(1, options.steps // CHUNKS)
    done, busy = 1, 0.0
    columns = (TextColumn("stepping"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console) as progress:
        bar = progress.add_task("steps", total=options.steps, completed=done)
        while done < options.steps:
            steps = min(chunk, options.steps - done)
            begin = time.perf_counter()
            fields = jax.block_until_ready(advance(*fields, done, steps))
            busy += time.perf_counter() - begin
            done += steps
            progress.update(bar, completed=done)
    after = np.asarray(measure(*fields))
    report(console, model, before, after, busy / max(1, done - 1), float(ocean["spacing"]) ** 2)

    hours = options.steps * float(ocean["time_step"]) / 3600
    draw_sea(options.output, np.asarray(fields[0])[1:-1, 1:-1], relief, float(ocean["spacing"]), hours)
    console.print(f"wrote {options.output}")


def report(console: Console, model: Model, before: Any, after: Any, seconds: float, area: float) -> None:
    """Prints energy, volume, time per step and what each kernel became."""
    cells = int(model.ocean["rows"]) * int(model.ocean["columns"])
    console.print(
        f"{1000 * seconds:.2f} ms per step of {cells:,} cells ({cells / seconds / 1e6:.0f} million cells per second)"
    )
    for name, values in (("at the start", before), ("at the end", after)):
        kinetic, potential, volume = (float(value) * area for value in values)
        total = (kinetic + potential) * 1025
        console.print(
            f"{name}: energy {total:.3e} J ({100 * kinetic / (kinetic + potential):.0f}% kinetic), "
            f"water above rest {volume / 1e9:.3f} km³"
        )
    table = Table("kernel", "became", "memory", box=None, header_style="bold", pad_edge=False)
    for name in model.module.kernels:
        found = model.module[name].last_report
        if found is None:
            continue
        ops = ", ".join(f"{count} {op}" for op, count in found.ops.most_common(6))
        table.add_row(
            name,
            ops if found.is_raised else f"emulated: {found.reason}",
            f"{(found.bytes_read + found.bytes_written) / 1e6:.1f} MB",
        )
    console.print(table)


if __name__ == "__main__":
    main()
