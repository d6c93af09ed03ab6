"""Kernels without barriers as native code on NumPy arrays, beside Numba's `prange` and C with OpenMP.

python -m benchmarks.native [--rounds 15] [--only REGEX] [--threads 2 1] [--markdown]

Each number of threads has a process of its own. In a round all take turns; a time is the least of all rounds, of the
CPU in all threads and by the clock. Results are compared before anything is measured.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
from benchmarks.measuring import spell_time
from benchmarks.native.c_loops import c_loops
from benchmarks.native.cases import SOURCE, Case, Launch, bind_all, cases
from benchmarks.native.numba_loops import numba_loops
from rich.console import Console
from rich.table import Table

Times: TypeAlias = dict[str, tuple[float, float]]
"""CPU time and time by the clock, in seconds, by who ran."""
OURS, NUMBA, C = "windlass", "Numba", "C"
MOST_CONTRACTED = 0.005
"""So many of the results in C may differ: gcc contracts products and sums, so some points of a fractal."""


def measure(case: Case, rounds: int) -> Times:
    """The least times of each."""
    ways = ways_to_run(case)
    wanted = None
    for name, (run, arguments) in ways.items():
        case.begin(arguments)
        run()
        if wanted is None:
            wanted = arguments
        few = MOST_CONTRACTED if name == C else 0.0
        for one, other in zip(arguments, wanted, strict=True):
            differs = np.mean(~np.isclose(one, other, case.tolerance, case.tolerance))
            assert differs <= few, f"{case.name}: {differs:.2%} of {name}'s results differ"
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in ways}
    names = list(ways)
    for number in range(rounds):
        first = number % len(names)
        for name in names[first:] + names[:first]:
            run, arguments = ways[name]
            case.begin(arguments)
            cpu, clock = time.process_time(), time.perf_counter()
            run()
            found[name].append((time.process_time() - cpu, time.perf_counter() - clock))
    return {name: least(each) for name, each in found.items()}


def least(times: Sequence[tuple[float, float]], calls: int = 1) -> tuple[float, float]:
    """The least of each of the times of so many calls, for one."""
    return min(cpu for cpu, _ in times) / calls, min(clock for _, clock in times) / calls


def ways_to_run(case: Case) -> dict[str, tuple[Callable[[], None], list[Any]]]:
    """A call of all launches of a case for each that can run it, and the arguments that it works on."""
    import windlass as wl

    module = wl.cuda.compile(SOURCE)
    numba, c = numba_loops(), c_loops()

    def launch(each: Launch, given: list[Any]) -> Callable[[], object]:
        bound = wl.native(module[each.kernel])[each.grid, each.block]
        return lambda: bound(*given)

    def call(each: Launch, given: list[Any]) -> Callable[[], object]:
        function = numba[each.kernel]
        return lambda: function(*given)

    binders = {OURS: launch}
    if numba:
        binders[NUMBA] = call
    if c is not None:
        binders[C] = lambda each, given: c.bind(each.kernel, given)
    found: dict[str, tuple[Callable[[], None], list[Any]]] = {}
    for name, bind in binders.items():
        arguments = case.copies()
        found[name] = bind_all(case, arguments, bind), arguments
    return found


def launch_overhead(calls: int = 2000) -> Times:
    """One launch of so little work that it is nearly all overhead: 64 elements."""
    u = np.zeros((8, 8), np.float32)
    case = Case("launch of 8²", (Launch("heat", 1, (8, 8), (0, 1, 2, 3)),), (u, u.copy(), 8, np.float32(0.1)))
    found: Times = {}
    for name, (run, _) in ways_to_run(case).items():
        run()
        times: list[tuple[float, float]] = []
        for _ in range(10):
            cpu, clock = time.process_time(), time.perf_counter()
            for _ in range(calls // 10):
                run()
            times.append((time.process_time() - cpu, time.perf_counter() - clock))
        found[name] = least(times, calls // 10)
    return found


def measure_all(only: str, rounds: int) -> dict[str, Times]:
    found = {each.name: measure(each, rounds) for each in cases() if re.search(only, each.name)}
    if re.search(only, "launch"):
        found["a launch of 64 threads"] = launch_overhead()
    return found


def in_process_of_its_own(threads: int, options: argparse.Namespace) -> dict[str, Times]:
    """The same with so many threads for each."""
    names = ("WINDLASS_NUM_THREADS", "NUMBA_NUM_THREADS", "OMP_NUM_THREADS")
    # Threads of OpenMP that wait for work would else be counted as if they worked.
    environment = {**os.environ, **dict.fromkeys(names, str(threads)), "OMP_WAIT_POLICY": "passive"}
    command = [sys.executable, "-m", "benchmarks.native", "--measure", "--rounds", str(options.rounds)]
    run = subprocess.run([*command, "--only", options.only], env=environment, check=True, stdout=subprocess.PIPE)
    return json.loads(run.stdout.splitlines()[-1])


def rows_of(found: dict[str, Times]) -> list[list[str]]:
    """Name, and for CPU and clock our time and its ratio to each of the others; then geometric means."""
    rows: list[list[str]] = []
    ratios: dict[tuple[int, str], list[float]] = {}
    for name, times in found.items():
        row = [name]
        for place in (0, 1):
            ours = times[OURS][place]
            row.append(spell_time(ours))
            for other in (NUMBA, C):
                if other not in times:
                    row.append("")
                    continue
                speed = times[other][place] / ours
                if "launch of" not in name:
                    ratios.setdefault((place, other), []).append(speed)
                row.append(f"{speed:.2f}")
        rows.append(row)
    if ratios:
        means = {key: math.exp(sum(map(math.log, each)) / len(each)) for key, each in ratios.items()}
        row = ["geometric mean"]
        for place in (0, 1):
            row += ["", *(f"{means[place, other]:.2f}" if (place, other) in means else "" for other in (NUMBA, C))]
        rows.append(row)
    return rows


def show(threads: int, rows: Sequence[Sequence[str]], *, is_markdown: bool) -> None:
    head = [
        f"{threads} thread{'s' if threads > 1 else ''}",
        "CPU", "× Numba", "× C",
        "clock", "× Numba", "× C",
    ]  # fmt: skip
    if is_markdown:
        print("\n".join(f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows)), "\n", flush=True)
        return
    table = Table(*head, box=None, header_style="bold", pad_edge=False)
    for row in rows:
        table.add_row(*row)
    Console(width=120).print(table)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--only", default="")
    parser.add_argument("--threads", type=int, nargs="+", default=[2, 1])
    parser.add_argument("--markdown", action="store_true")
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(measure_all(options.only, options.rounds)))
        return
    for threads in options.threads:
        show(threads, rows_of(in_process_of_its_own(threads, options)), is_markdown=options.markdown)


if __name__ == "__main__":
    main()
