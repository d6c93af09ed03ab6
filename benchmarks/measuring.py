"""Timing two ways to the same result, and the table of what came out."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table

Run = Callable[[], object]


@dataclass(frozen=True)
class Result:
    """One line of the table: our time, theirs, the goal for the ratio (or for the time itself), and a remark."""

    name: str
    ours: float
    theirs: float | None = None
    goal: float | None = None
    against: str = ""

    @property
    def ratio(self) -> float | None:
        """Our time over theirs, or our time in seconds over the goal where there is nothing to compare with."""
        return None if self.theirs is None else self.ours / self.theirs

    @property
    def meets_goal(self) -> bool | None:
        """Whether the goal is met; None where there is none."""
        if self.goal is None:
            return None
        return (self.ours if self.ratio is None else self.ratio) <= self.goal


def time_interleaved(
    runs: Mapping[str, Run],
    rounds: int,
    calls: int = 1,
    summarize: Callable[[Sequence[float]], float] = min,
) -> dict[str, float]:
    """The least time of one call of each, in seconds: what else the machine does only ever adds to it.

    One round runs each of them once, `calls` at a time, and begins with another one than the last, as what ran before
    leaves its mark in the caches.
    """
    for run in runs.values():
        run()
    times: dict[str, list[float]] = {name: [] for name in runs}
    names = list(runs)
    for number in range(rounds):
        first = number % len(names)
        for name in names[first:] + names[:first]:
            run = runs[name]
            begin = time.perf_counter()
            for _ in range(calls):
                run()
            times[name].append((time.perf_counter() - begin) / calls)
    return {name: summarize(each) for name, each in times.items()}


def compare(name: str, ours: Run, theirs: Mapping[str, Run], rounds: int, goal: float | None, calls: int = 1) -> Result:
    """Our form against the best of theirs."""
    times = time_interleaved({"windlass": ours, **theirs}, rounds, calls)
    best = min(theirs, key=lambda each: times[each])
    others = ", ".join(f"{each} {spell_time(times[each])}" for each in theirs if each != best)
    against = f"{best} {spell_time(times[best])}" + (f" ({others})" if others else "")
    return Result(name, times["windlass"], times[best], goal, against)


def spell_time(seconds: float) -> str:
    """A time with its unit."""
    for unit, factor in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= factor:
            return f"{seconds / factor:.3g} {unit}"
    return f"{seconds / 1e-6:.3g} µs"


def show(results: Sequence[Result], console: Console) -> None:
    """The table."""
    table = Table("", "windlass", "against", "ratio", "goal", "", box=None, header_style="bold", pad_edge=False)
    for result in results:
        goal = (
            "" if result.goal is None else (f"≤ {result.goal:g}" if result.theirs else f"≤ {spell_time(result.goal)}")
        )
        mark = {None: "", True: "[green]met[/]", False: "[red]missed[/]"}[result.meets_goal]
        ratio = "" if result.ratio is None else f"{result.ratio:.2f}"
        table.add_row(result.name, spell_time(result.ours), result.against, ratio, goal, mark)
    console.print(table)
