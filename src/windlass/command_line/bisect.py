"""`windlass bisect`: the rewrite after which a program behaves otherwise."""

from __future__ import annotations

import shlex
import subprocess
import tempfile
from pathlib import Path

from rich.console import Console
from rich.text import Text

from windlass.command_line.optimize import read_module, write_text
from windlass.diagnostics import Diagnostic, WindlassError
from windlass.stablehlo import export_text
from windlass.stablehlo.bisecting import Behaviour, Comparison, Fault, bisect
from windlass.stablehlo.optimizing import Choices

PLACE = "{}"
"""Stands for the program's file in a command."""


def bisect_file(file: Path, command: str | None, choices: Choices, evaluated: bool, output: Path | None) -> bool:
    """Prints the rewrite at fault and saves the programs that show it; whether there is none.

    The program is good if `command` (with the file's name for `{}`) exits with status 0, or without one, if its results
    on random arrays are those of the program as given, through XLA or with `evaluated` on NumPy. Raises ProgramError
    (WL0508) where it isn't good to begin with.
    """
    # Source lines are those of the file, so they are kept as they are in the text.
    text = export_text(read_module(file), locations=True)
    is_good = _by_command(command) if command else Comparison.on(text, choices, evaluated=evaluated).is_kept_by
    fault = bisect(text, is_good, choices, compares=command is None)
    console = Console(highlight=False)
    if fault is None:
        console.print(Text("no fault: the optimized program behaves as the one that was given", style="green"))
        return True
    _print_fault(console, fault)
    folder = output or Path(f"{file.stem if str(file) != '-' else 'stdin'}.bisect")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise WindlassError(Diagnostic("WL0701", f"can't write '{folder}': {error.strerror or error}")) from error
    programs = {"before.mlir": fault.before, "after.mlir": fault.after, "smallest.mlir": fault.smallest}
    for name, program in programs.items():
        if program is not None:
            write_text(folder / name, program)
            console.print(Text(f"  {folder / name}", style="dim"), soft_wrap=True)
    return False


def _print_fault(console: Console, fault: Fault) -> None:
    if fault.rule is None:
        console.print(Text(str(fault), style="bold"), soft_wrap=True)
        return
    title = Text(fault.rule.name, style="bold red")
    title.append(f"  rewrite {fault.step} of {fault.steps}", style="default")
    if fault.source is not None:
        title.append(f"  {fault.source}", style="dim")
    console.print(title, soft_wrap=True)
    console.print(Text(f"  {fault.rule.equation}"), soft_wrap=True)
    if fault.smallest is not None:
        console.print(Text("  the smallest program on which this rule alone changes the results:", style="cyan"))
        for line in fault.smallest.strip().splitlines():
            console.print(Text(f"    {line}"), soft_wrap=True)
    console.print(Text(f"  leave the rule out: --without {fault.rule.name}", style="green"), soft_wrap=True)


def _by_command(command: str) -> Behaviour:
    words = shlex.split(command)
    if not words:
        raise WindlassError(
            Diagnostic("WL0703", "--command is empty", help='write --command "python check.py {}", {} for the file')
        )

    def is_good(program: str) -> bool:
        with tempfile.TemporaryDirectory(prefix="windlass-bisect-") as folder:
            file = Path(folder) / "program.mlir"
            file.write_text(program, "utf-8")
            filled = [word.replace(PLACE, str(file)) for word in words]
            filled += [] if PLACE in command else [str(file)]
            try:
                return subprocess.run(filled, capture_output=True, check=False).returncode == 0
            except OSError as error:
                raise WindlassError(
                    Diagnostic("WL0703", f"can't run '{words[0]}': {error.strerror or error}")
                ) from error

    return is_good
