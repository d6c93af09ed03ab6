"""`windlass explain`: for each kernel of a file, what it becomes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from rich.console import Console
from rich.text import Text

import windlass as wl
from windlass.command_line.guessing import Guess, Wishes, guess_launch
from windlass.diagnostics import LaunchError, RaisingError, WindlassError
from windlass.diagnostics.options import read_macro
from windlass.frontends.cpp.entries import RESULT
from windlass.ir import Function
from windlass.launching.kernel import Kernel
from windlass.reports.report import Report
from windlass.reports.words import spell_each

MOST_OPS = 8
"""How many kinds of tensor ops are named."""

ROOM = (1, 2, 4, 16, 64)
"""How much larger the guessed arrays are made, in turn, where they turn out to be too small."""

SMALL = 4
"""The size that is tried last."""

C_SUFFIXES = frozenset({".c", ".cpp", ".cc", ".cxx", ".C"})
"""Of files that hold functions of C or C++; all others hold kernels."""

TOO_SMALL = "WL0404"


def explain_file(
    file: Path,
    include: Sequence[Path],
    define: Sequence[str],
    names: Sequence[str],
    wishes: Wishes,
    details: bool = False,
) -> bool:
    """Prints a report on each kernel or function (or on those that are named); whether all of them are raised.

    Raises CompilationError where the file does not compile, LaunchError where the launch that the user wishes does not
    fit a kernel.
    """
    macros = dict(read_macro(each) for each in define)
    is_c = file.suffix in C_SUFFIXES
    chosen: list[Kernel]
    if is_c:
        functions = wl.c.compile(file, include=list(include), define=macros)
        chosen = [functions[name].as_kernel for name in names] or functions.kernels
        wishes = replace(wishes, grid=(1,), block=(1,), values={**wishes.values, RESULT: 1})
    else:
        module = wl.cuda.compile(file, include=list(include), define=macros)
        chosen = [module[name] for name in (names or module.kernels)]
    console = Console(highlight=False)
    count = 0
    for kernel in chosen:
        count += _explain_kernel(console, kernel, wishes, details)
    plural = ("function" if is_c else "kernel") + ("" if len(chosen) == 1 else "s")
    console.print(Text(f"{count} of {len(chosen)} {plural} raised", style="bold"))
    return count == len(chosen)


def _explain_kernel(console: Console, kernel: Kernel, wishes: Wishes, details: bool) -> bool:
    position = kernel.signature.position
    where = f"  {position}" if position else ""
    try:
        function = kernel.function
    except RaisingError as error:
        _print_title(console, kernel.name, where, "not raised", "yellow")
        _print_error(console, error)
        return False
    guess, report = explain_guess(kernel, function, wishes)
    if report.error is not None:
        _print_title(console, kernel.name, where, "not raised", "yellow")
        _print_line(console, "launch", guess.assumptions)
        _print_error(console, report.error)
        return False
    _print_title(console, kernel.name, where, "raised", "green")
    _print_line(console, "launch", guess.assumptions)
    for title, text in report.facts():
        _print_line(console, title, _spell_ops(report) if title == "tensor ops" else text)
    if details:
        for title, items in (("access", report.accesses), ("loop", report.loops), ("note", report.notes)):
            for item in spell_each(items):
                _print_line(console, title, item)
    console.print()
    return True


def explain_guess(kernel: Kernel, function: Function, wishes: Wishes) -> tuple[Guess, Report]:
    """The report on a guessed launch.

    Where its arrays turn out to be too small, larger ones are tried, then smaller sizes: a device variable may be what
    is too small.
    """
    attempts = [(wishes, room) for room in ROOM]
    if wishes.size is None:
        attempts.append((replace(wishes, size=SMALL), ROOM[-1]))
    for number, (tried, room) in enumerate(attempts):
        guess = guess_launch(kernel.signature, function, tried, room)
        try:
            return guess, kernel.explain(guess.grid, guess.block, *guess.arguments)
        except LaunchError as error:
            if number == len(attempts) - 1 or error.diagnostics[0].code != TOO_SMALL:
                raise
    raise AssertionError("the last attempt returns or raises")


def _spell_ops(report: Report) -> str:
    common = report.ops.most_common()
    shown = ", ".join(f"{count} {name}" for name, count in common[:MOST_OPS])
    rest = sum(count for _, count in common[MOST_OPS:])
    return (shown or "none") + (f", {rest} others" if rest else "")


def _print_title(console: Console, name: str, where: str, outcome: str, style: str) -> None:
    title = Text(name, style="bold")
    title.append(f"  {outcome}", style=f"bold {style}")
    title.append(where, style="dim")
    console.print(title, soft_wrap=True)


def _print_line(console: Console, title: str, text: str) -> None:
    line = Text(f"  {title:<11}", style="cyan")
    line.append(text, style="default")
    console.print(line, soft_wrap=True)


def _print_error(console: Console, error: WindlassError) -> None:
    for line in str(error).splitlines():
        console.print(Text(f"  {line}"), soft_wrap=True)
    console.print()
