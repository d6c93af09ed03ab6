"""What the optimizer is worth on models that others wrote, and what it costs beside XLA's own compiling.

Each model is lowered by JAX once. The text is compiled as it is and after the optimizer; both are called in turn, and
the best round of each counts. Speed-ups are times of `jax.jit` over times of Windlass: above 1 is faster. Times of
optimizing (text to text) and of compiling are CPU times of the process, all its threads together.
"""

from __future__ import annotations

import argparse
import json
import platform
import re
import sys
import time
import traceback
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import jax
from benchmarks.measuring import spell_time, time_interleaved
from benchmarks.models import equations, networks, physics, sampling
from benchmarks.models.model import MODELS, Model
from benchmarks.tensor.__main__ import SHORTEST_SAMPLE, call, geometric_mean
from benchmarks.tensor.program import Program
from benchmarks.tensor.ways import keep, largest_error, optimize, prepare
from rich.console import Console
from rich.table import Table

FILES = networks, equations, sampling, physics
"""They fill MODELS."""

SLOWEST, MOST_COMPILING = 0.97, 0.5
"""No model is to run at less than this part of `jax.jit`'s speed, none to be optimized for more than this part of the
time that XLA takes to compile it."""


@dataclass
class Outcome:
    """What came out for a model. Times in seconds."""

    name: str
    library: str
    ops: int
    ops_after: int
    jitted: float
    optimized: float
    optimizing: float
    compiling: float
    compiling_after: float
    error: float
    is_wrong: bool

    @property
    def speed_up(self) -> float:
        return self.jitted / self.optimized

    @property
    def part_of_compiling(self) -> float:
        """The time of optimizing as a part of XLA's compiling of the program as it was."""
        return self.optimizing / self.compiling


def measure(model: Model, program: Program, rounds: int) -> Outcome:
    """Compile the model in both ways, compare the results, time both."""
    arguments, text = program.arguments(), program.lower()
    plain, ours = (prepare(program, arguments, text, way, time.process_time) for way in (keep, optimize))
    expected, found = (jax.block_until_ready(each.call(*arguments)) for each in (plain, ours))
    error = largest_error(expected, found)
    runs = {"jax": call(plain, arguments), "windlass": call(ours, arguments)}
    longest = max(time_interleaved(runs, 1).values())
    times = time_interleaved(runs, rounds, max(1, round(SHORTEST_SAMPLE / longest)))
    return Outcome(
        model.name,
        model.library,
        plain.ops,
        ours.ops,
        times["jax"],
        times["windlass"],
        ours.optimized_in,
        plain.compiled_in,
        ours.compiled_in,
        error,
        error > model.tolerance,
    )


def show(outcomes: list[Outcome], console: Console) -> None:
    """The table, and means."""
    table = Table(box=None, header_style="bold", pad_edge=False)
    for header in ("", "library"):
        table.add_column(header)
    for header in ("jax", "×", "ops", "after", "XLA compiles", "then", "optimizes", "part", "difference"):
        table.add_column(header, justify="right")
    for each in outcomes:
        colour = "red" if each.is_wrong or each.speed_up < SLOWEST else "green"
        table.add_row(
            each.name,
            each.library,
            spell_time(each.jitted),
            f"[{colour}]{'WRONG' if each.is_wrong else f'{each.speed_up:.2f}'}[/]",
            str(each.ops),
            str(each.ops_after),
            spell_time(each.compiling),
            spell_time(each.compiling_after),
            spell_time(each.optimizing),
            f"[{'red' if each.part_of_compiling > MOST_COMPILING else 'default'}]{each.part_of_compiling:.0%}[/]",
            f"{each.error:.0e}" if each.error else "0",
        )
    console.print(table)
    parts = [each.part_of_compiling for each in outcomes]
    console.print(
        f"geometric mean of speed-ups over jax.jit {geometric_mean([each.speed_up for each in outcomes]):.2f}; "
        f"optimizing takes {geometric_mean(parts):.0%} of XLA's compiling (geometric mean), at most {max(parts):.0%}"
    )


def main() -> int:
    """Runs the models whose names match. The exit status is 1 if a result of Windlass is wrong or missing."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="a regular expression for names or libraries")
    parser.add_argument("--rounds", type=int, default=25)
    parser.add_argument("--dump", type=Path, metavar="DIR", help="only write each model's StableHLO to DIR")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all numbers there too")
    options = parser.parse_args()
    console = Console(highlight=False, width=200)
    if options.dump:
        options.dump.mkdir(parents=True, exist_ok=True)
    devices: Any = jax.devices()
    console.print(f"{platform.machine()}, jax {jax.__version__}, {devices}")
    outcomes: list[Outcome] = []
    has_failed = False
    for model in MODELS.values():
        if not re.search(options.only, f"{model.library} {model.name}"):
            continue
        try:
            program = model.program()
        except ImportError as error:
            console.print(f"  {model.name}: left out: {error}")
            continue
        console.print(f"  {model.name} ...", style="dim")
        try:
            if options.dump:
                (options.dump / f"{model.name}.mlir").write_text(program.lower())
            else:
                outcomes.append(measure(model, program, options.rounds))
        except Exception:
            traceback.print_exc()
            has_failed = True
    if outcomes:
        show(outcomes, console)
    if options.json:
        options.json.write_text(json.dumps([asdict(each) for each in outcomes], indent=1))
    return int(has_failed or any(each.is_wrong for each in outcomes))


if __name__ == "__main__":
    sys.exit(main())
