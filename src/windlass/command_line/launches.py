"""What a program has launched, told at its end: a table of its kernels, and reports on their launches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from rich.console import Console
from rich.table import Table
from rich.text import Text

from windlass.diagnostics import LaunchError, WindlassError
from windlass.launching.tiering import SECONDS_BEFORE_NATIVE
from windlass.reports.report import Report
from windlass.runtime.launch_shape import LaunchShape

MOST_REPORTS = 4
"""So many launches of one kernel are explained at most: with the first grids and blocks that it is launched with."""


@dataclass(frozen=True)
class Launched:
    """One launch of a program: `how` is its form's name or "library"; `reason` is why it was not raised."""

    kernel: str
    shape: LaunchShape
    how: str
    seconds: float
    reason: WindlassError | None


@dataclass
class Launches:
    """What a program has launched, and what became of it."""

    explains: bool
    records: list[Launched] = field(default_factory=list[Launched])
    reports: dict[tuple[str, LaunchShape], Report | LaunchError] = field(
        default_factory=dict["tuple[str, LaunchShape]", "Report | LaunchError"]
    )

    def note(self, launched: Launched, explain: Callable[[], Report] | None) -> None:
        """Take down a launch; a report is made of the first of each kernel and shape."""
        self.records.append(launched)
        key = (launched.kernel, launched.shape)
        if not self.explains or explain is None or key in self.reports:
            return
        if sum(name == launched.kernel for name, _ in self.reports) < MOST_REPORTS:
            try:
                self.reports[key] = explain()
            except LaunchError as error:
                self.reports[key] = error

    def show(self, has_table: bool) -> None:
        """Tell of all on standard error."""
        console = Console(stderr=True, highlight=False)
        for (name, shape), report in self.reports.items():
            own = [each for each in self.records if (each.kernel, each.shape) == (name, shape)]
            console.print(Text(f"{name}: {_count(own)}{_why(own, report)}", style="bold"), soft_wrap=True)
            console.print(Text(f"{report}\n"), soft_wrap=True)
        if self.explains:
            rest = {(each.kernel, each.shape) for each in self.records if each.how != "library"} - {*self.reports}
            for name, count in Counter(name for name, _ in rest).items():
                console.print(Text(f"{name}: {count} more grids, blocks or sizes of shared memory\n"), soft_wrap=True)
        if has_table:
            console.print(self._table())

    def _table(self) -> Table:
        """How often each kernel ran, how, and for how long; and why it was not raised."""
        table = Table(
            "kernel",
            "raised",
            "native",
            "emulated",
            "library",
            "seconds",
            "not raised",
            box=None,
            header_style="bold",
            pad_edge=False,
        )
        for name in dict.fromkeys(each.kernel for each in self.records):
            own = [each for each in self.records if each.kernel == name]
            counts = Counter(each.how for each in own)
            seconds = sum(each.seconds for each in own)
            reason = next((each.reason.diagnostics[0].headline for each in own if each.reason), "")
            forms = ("raised", "native", "emulated", "library")
            table.add_row(name, *(str(counts[how]) for how in forms), f"{seconds:.3f}", reason)
        return table


def _count(launches: Sequence[Launched]) -> str:
    counts = Counter(each.how for each in launches)
    return ", ".join(f"{count} {'launch' if count == 1 else 'launches'} {how}" for how, count in counts.items())


def _why(launches: Sequence[Launched], report: Report | LaunchError) -> str:
    """Why launches were emulated that have other forms."""
    is_untried = any(each.how == "emulated" and each.reason is None for each in launches)
    if not (is_untried and isinstance(report, Report) and report.is_raised):
        return ""
    when = f"after {SECONDS_BEFORE_NATIVE:g} s or more in the emulator (--mode native or raised: at once)"
    return f"; they have other forms, which are used {when}"
