"""`windlass opt` and `windlass differentiate`: StableHLO in, StableHLO out."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import Any, cast

from rich.console import Console
from rich.table import Table
from rich.text import Text

from windlass.diagnostics import Diagnostic, Position, ProgramError
from windlass.diagnostics.files import read_regular_file
from windlass.ir import Module
from windlass.stablehlo import differentiate, export_text, import_bytecode, import_text
from windlass.stablehlo.lowered import settle_precision
from windlass.stablehlo.optimizing import Choices, Report, optimize_module

BYTECODE_MARK = b"ML\xefR"
"""How MLIR bytecode begins."""

MOST_PLACES = 3
"""How many source lines are shown for a rule."""


def optimize_file(
    file: Path, output: Path | None, choices: Choices, statistics: bool = False, explained: bool = False
) -> None:
    """Optimizes each function of a StableHLO module, given as text or bytecode; `-` reads standard input.

    With `statistics` or `explained`, a report goes to standard error. Raises ProgramError: WL0701 where a file can't be
    read or written, WL05xx where it is no valid StableHLO.
    """
    module = read_module(file)
    report = optimize_module(module, choices, estimates=explained)
    if choices.precision is not None:
        settle_precision(module, choices)
    text = export_text(module)
    if output is None:
        print(text.rstrip("\n"))
    else:
        write_text(output, text)
    if explained:
        print_report(report)
    elif statistics:
        print(report, file=sys.stderr)


def differentiate_file(file: Path, output: Path | None, mode: str, wrt: list[int] | None) -> None:
    """Adds its derivative to a StableHLO module; see `windlass.stablehlo.differentiate`.

    Raises as `optimize_file` does, and WindlassError where there is no derivative (WL0901, WL0931).
    """
    text = differentiate(export_text(read_module(file)), cast("Any", mode), wrt)
    if output is None:
        print(text.rstrip("\n"))
    else:
        write_text(output, text)


def print_report(report: Report) -> None:
    """Prints which rules were applied, how often, what they save by estimate, and at which source lines."""
    console = Console(stderr=True, highlight=False)
    console.print(Text(f"{report.ops_before.total()} ops → {report.ops_after.total()}", style="bold"))
    if report.cost_before is not None and report.cost_after is not None:
        before, after = report.cost_before, report.cost_after
        for title, unit, values in (
            ("time", "s", (before.seconds, after.seconds)),
            ("bytes moved", "B", (before.bytes, after.bytes)),
            ("arithmetic", "", (before.operations, after.operations)),
            ("kernels", "", (before.kernels, after.kernels)),
        ):
            spelled = " → ".join(f"{spell_number(value)}{unit}".strip() for value in values)
            console.print(Text(f"  {title:<12} {spelled}   (estimated on {report.device})"), soft_wrap=True)
    if report.rewrites:
        table = Table(box=None, pad_edge=False)
        table.add_column("times", justify="right")
        table.add_column("rule", style="cyan", no_wrap=True)
        table.add_column("saves", justify="right", no_wrap=True)
        table.add_column("at", style="dim", overflow="fold")
        for rule, count in report.count_by_rule().most_common():
            entries = [entry for entry in report.rewrites if entry.rule == rule]
            saved = sum(entry.saved or 0.0 for entry in entries)
            places = Counter(entry.source for entry in entries if entry.source is not None)
            table.add_row(str(count), rule, f"{spell_number(saved)}s" if saved else "", _spell_places(places))
        console.print(table)
    changed = [(name, report.ops_before[name], report.ops_after[name]) for name in _names(report)]
    line = ", ".join(f"{name} {before} → {after}" for name, before, after in changed if before != after)
    console.print(Text(f"  ops: {line or 'as before'}", style="default"), soft_wrap=True)
    if report.cycle is not None:
        console.print(Text(report.cycle, style="yellow"), soft_wrap=True)


def _names(report: Report) -> list[str]:
    return [name for name, _ in (report.ops_before + report.ops_after).most_common()]


def _spell_places(places: Counter[Position]) -> str:
    shown = [str(place) for place, _ in places.most_common(MOST_PLACES)]
    more = len(places) - len(shown)
    return ", ".join(shown) + (f", {more} more" if more > 0 else "")


def spell_number(value: float) -> str:
    """A number with a unit's prefix.

    >>> spell_number(0.0000123), spell_number(4.56e9), spell_number(0), spell_number(-2e-9)
    ('12.3 µ', '4.56 G', '0 ', '-2 n')
    """
    size = abs(value)
    for prefix, factor in (("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3), ("", 1.0), ("m", 1e-3), ("µ", 1e-6)):
        if size >= factor:
            return f"{value / factor:.3g} {prefix}"
    return f"{value / 1e-9:.3g} n" if size >= 1e-12 else "0 "


def read_module(file: Path) -> Module:
    """The module in a file of text or bytecode, or on standard input.

    Raises ProgramError: WL0701 where it can't be read, WL05xx where it is no valid StableHLO.
    """
    try:
        if str(file) == "-" and sys.stdin is None:  # pyright: ignore[reportUnnecessaryComparison]
            raise OSError("standard input is closed")
        data = sys.stdin.buffer.read() if str(file) == "-" else read_regular_file(file)
    except OSError as error:
        raise _no_access("read", file, error) from error
    if data.startswith(BYTECODE_MARK):
        return import_bytecode(data)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ProgramError(
            Diagnostic(
                "WL0701",
                f"'{file}' is neither text nor MLIR bytecode",
                help="give the StableHLO of a program, as jax.jit(f).lower(...).as_text() prints it",
            )
        ) from error
    return import_text(text, "<stdin>" if str(file) == "-" else str(file))


def write_text(file: Path, text: str) -> None:
    """Write a file.

    Raises ProgramError (WL0701) where that can't be done.
    """
    try:
        file.write_text(text, "utf-8")
    except OSError as error:
        raise _no_access("write", file, error) from error


def _no_access(what: str, file: Path, error: OSError) -> ProgramError:
    return ProgramError(Diagnostic("WL0701", f"can't {what} '{file}': {error.strerror or error}"))
