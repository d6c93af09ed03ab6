"""`make bench-tensor`: what the optimizer of tensor programs is worth, measured in one run on this machine.

Each program is a plain JAX function. It is run by `jax.jit`, by Windlass and, where it is installed, by enzyme_ad; the
runs are interleaved, and a time is the median over the rounds. Before it is timed, each result is compared with that of
`jax.jit`: one that differs by more than the program's tolerance is WRONG, and fails the whole run.

Speed-ups are times of `jax.jit` over times of the way: above 1 is faster. Ops are counted in the StableHLO text before
XLA sees it, constants apart.
"""

from __future__ import annotations

import argparse
import json
import platform
import re
import statistics
import sys
import traceback
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import jax
from benchmarks.measuring import Run, spell_time, time_interleaved
from benchmarks.tensor import contractions, everyday, images, networks, numpy_like, science, spectral, stencils
from benchmarks.tensor.program import PROGRAMS, Program
from benchmarks.tensor.ways import Candidate, Way, keep, largest_error, load_peer, optimize, prepare
from rich.console import Console
from rich.table import Table

FILES = contractions, stencils, networks, images, science, spectral, numpy_like, everyday
"""They fill PROGRAMS."""

SHORTEST_SAMPLE = 3e-3
"""A program that takes less (in seconds) is called several times for one measurement."""


@dataclass
class Outcome:
    """What one way made of one program. Times in seconds; `error` is the largest relative one; `fault`: what broke."""

    ops: int = 0
    run: float = 0.0
    optimize: float = 0.0
    compile: float = 0.0
    error: float = 0.0
    fault: str = ""


@dataclass
class Line:
    """All outcomes for one program, by the name of the way."""

    name: str
    group: str
    outcomes: dict[str, Outcome] = field(default_factory=dict[str, Outcome])

    def speed_up(self, way: str) -> float | None:
        """How much faster than `jax.jit`; None where the way has no right result."""
        outcome = self.outcomes.get(way)
        return None if outcome is None or outcome.fault else self.outcomes["jax"].run / outcome.run


def measure(program: Program, ways: dict[str, Way], rounds: int, summarize: Callable[[Sequence[float]], float]) -> Line:
    """Prepare the program in each way, check results, then time them."""
    line = Line(program.name, program.group)
    arguments, text = program.arguments(), program.lower()
    expected: list[Any] = []
    runs: dict[str, Run] = {}
    for name, way in ways.items():
        outcome = line.outcomes[name] = Outcome()
        try:
            candidate = prepare(program, arguments, text, way)
            results = jax.block_until_ready(candidate.call(*arguments))
        except Exception as error:
            outcome.fault = f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
            if name == "windlass":
                traceback.print_exc()
            continue
        outcome.ops, outcome.optimize, outcome.compile = candidate.ops, candidate.optimized_in, candidate.compiled_in
        if name == "jax":
            expected = results
        outcome.error = largest_error(expected, results)
        if outcome.error > program.tolerance:
            outcome.fault = "WRONG"
        runs[name] = call(candidate, arguments)
    longest = max(time_interleaved(runs, 1).values())
    times = time_interleaved(runs, rounds, max(1, round(SHORTEST_SAMPLE / longest)), summarize)
    for name, seconds in times.items():
        line.outcomes[name].run = seconds
    return line


def call(candidate: Candidate, arguments: list[Any]) -> Run:
    """A run that waits for the results."""
    return lambda: jax.block_until_ready(candidate.call(*arguments))


def geometric_mean(values: list[float]) -> float:
    return statistics.geometric_mean(values) if values else float("nan")


def show(lines: list[Line], ways: list[str], console: Console) -> None:
    """The table, group by group, with geometric means."""
    others = [way for way in ways if way != "jax"]
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("")
    for header in (
        "jax",
        *(f"{way} ×" for way in others),
        "ops",
        *(f"{way} ops" for way in others),
        *(f"{way} optimizes" for way in others),
        *(f"{way} error" for way in others),
        "XLA compiles",
    ):
        table.add_column(header, justify="right")
    for group in dict.fromkeys(line.group for line in lines):
        members = [line for line in lines if line.group == group]
        for line in members:
            table.add_row(*spell(line, others))
        means = [geometric_mean([ratio for line in members if (ratio := line.speed_up(way))]) for way in others]
        table.add_row(f"[bold]{group}[/]", "", *(f"[bold]{mean:.2f}[/]" for mean in means), end_section=True)
        table.add_row("")
    console.print(table)
    for way in others:
        ratios = [ratio for line in lines if (ratio := line.speed_up(way))]
        slower = [line.name for line in lines if (ratio := line.speed_up(way)) and ratio < 0.95]
        console.print(f"{way}: geometric mean of speed-ups over jax.jit {geometric_mean(ratios):.2f}")
        console.print(f"  of {len(ratios)} programs slower than 0.95: {', '.join(slower) or 'none'}")
    if "enzyme_ad" in ways:
        both = [
            ours / theirs
            for line in lines
            if (ours := line.speed_up("windlass")) and (theirs := line.speed_up("enzyme_ad"))
        ]
        console.print(
            f"windlass over enzyme_ad, where both are right: {geometric_mean(both):.2f} ({len(both)} programs)"
        )


def spell(line: Line, others: list[str]) -> list[str]:
    """The cells of one row."""
    jitted, outcomes = line.outcomes["jax"], [line.outcomes[way] for way in others]

    def ratio(way: str) -> str:
        value = line.speed_up(way)
        if value is None:
            return f"[red]{'WRONG' if line.outcomes[way].fault == 'WRONG' else 'error'}[/]"
        colour = "green" if value > 1.05 else "red" if value < 0.95 else ""
        return f"[{colour}]{value:.2f}[/]" if colour else f"{value:.2f}"

    return [
        line.name,
        spell_time(jitted.run),
        *(ratio(way) for way in others),
        str(jitted.ops),
        *(str(each.ops) for each in outcomes),
        *(spell_time(each.optimize) for each in outcomes),
        *(f"{each.error:.0e}" if each.error else "0" for each in outcomes),
        " → ".join(spell_time(each.compile) for each in (jitted, outcomes[0])),
    ]


def main() -> int:
    """Runs the programs whose names match. The exit status is 1 if a result of Windlass is wrong or missing."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="a regular expression for names or groups")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--best", action="store_true", help="take the best round, not the median: on a busy machine")
    parser.add_argument("--list", action="store_true", help="only list the programs")
    parser.add_argument("--dump", type=Path, metavar="DIR", help="only write each program's StableHLO to DIR")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all numbers there too")
    parser.add_argument("--no-peer", action="store_true", help="leave enzyme_ad out")
    options = parser.parse_args()
    console = Console(highlight=False, width=200)
    chosen = [each for each in PROGRAMS.values() if re.search(options.only, f"{each.group} {each.name}")]
    if options.list:
        for each in chosen:
            console.print(f"{each.name:32} {each.group}")
        return 0
    if options.dump:
        options.dump.mkdir(parents=True, exist_ok=True)
        for each in chosen:
            (options.dump / f"{each.name}.mlir").write_text(each.lower())
        console.print(f"wrote {len(chosen)} programs to {options.dump}")
        return 0
    ways: dict[str, Way] = {"jax": keep, "windlass": optimize}
    peer = None if options.no_peer else load_peer()
    if peer is not None:
        ways["enzyme_ad"] = peer
    devices: Any = jax.devices()
    console.print(f"{platform.machine()}, jax {jax.__version__}, {devices}; {', '.join(ways)}")
    lines: list[Line] = []
    for each in chosen:
        console.print(f"  {each.name} ...", style="dim")
        lines.append(measure(each, ways, options.rounds, min if options.best else statistics.median))
    show(lines, list(ways), console)
    if options.json:
        options.json.write_text(json.dumps([asdict(line) for line in lines], indent=1))
    for line in lines:
        for way, outcome in line.outcomes.items():
            if outcome.fault:
                console.print(f"[red]{line.name}, {way}[/]: {outcome.fault} (error {outcome.error:.1e})")
    return int(any(outcome.fault for line in lines for way, outcome in line.outcomes.items() if way != "enzyme_ad"))


if __name__ == "__main__":
    sys.exit(main())
