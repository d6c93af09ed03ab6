"""The commands and their options, and how their errors end."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from windlass.command_line.interruption import INTERRUPTED, INTERRUPTION, end_when_interrupted
from windlass.diagnostics import Diagnostic, WindlassError
from windlass.diagnostics.environment import read_choice
from windlass.diagnostics.limits import require_address_space

app = typer.Typer(
    name="windlass",
    help="Raises CUDA C++ kernels to tensor programs and runs them on CPU, GPU or TPU through XLA.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

OK, WRONG_INPUT = 0, 1

Exact = Annotated[bool, typer.Option("--exact", help="Keep the order of float sums and products.")]
Assume = Annotated[
    list[str] | None,
    typer.Option("--assume", help='What rules may take for granted: "no NaN", "finite", "no -0.0"; may be repeated.'),
]
DeviceKind = Annotated[str | None, typer.Option("--device", help="Whose costs count: cpu, gpu or tpu.")]
Seconds = Annotated[float, typer.Option("--seconds", help="How long the optimizer may take.")]
Without = Annotated[list[str] | None, typer.Option("--without", help="A rule to be left out; may be repeated.")]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the program on the arguments (by default the process's own) and exit with its status."""
    words = sys.argv[1:] if arguments is None else list(arguments)
    if not any(word.endswith(".py") for word in words):
        # A Python script has handlers and ways to end of its own.
        end_when_interrupted()
    sys.exit(run(words))


def run(arguments: Sequence[str]) -> int:
    """Run one command; its exit status. Errors are printed on stderr as diagnostics."""
    words = list(arguments)
    words, rest = _split(words)
    _write_any_text()
    try:
        if words and words[0] not in ("errors", "--version", "-h", "--help"):
            require_address_space()
        outcome = app(words, prog_name="windlass", standalone_mode=False, obj=rest)
    except WindlassError as error:
        print(error, file=sys.stderr)
        return WRONG_INPUT
    except typer.Exit as error:
        outcome = error.exit_code
    except (typer.Abort, KeyboardInterrupt):
        print(INTERRUPTION, file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # The reader (`head`, a pager) has had enough.
        _drop_output()
        return OK
    except OSError as error:
        return _end_of_output(error)
    except Exception as error:
        return _end_of(error)
    if outcome == INTERRUPTED and not isinstance(outcome, ProgramStatus):
        # Typer makes this of KeyboardInterrupt.
        print(INTERRUPTION, file=sys.stderr)
    try:
        if sys.stdout is not None:  # pyright: ignore[reportUnnecessaryComparison]
            sys.stdout.flush()
    except BrokenPipeError:
        _drop_output()
    except OSError as error:
        return _end_of_output(error)
    return outcome if isinstance(outcome, int) else OK


class ProgramStatus(int):
    """What the program that was run ended with."""


def _write_any_text() -> None:
    """Where a terminal's encoding lacks a character, its escape is written and no command fails for it."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _drop_output() -> None:
    """Keeps Python from failing once more when it flushes at exit."""
    with suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _end_of_output(error: OSError) -> int:
    """The status for a full disk, a closed output, a file that has gone."""
    if read_choice("WINDLASS_TRACEBACK"):
        raise error
    _drop_output()
    where = f" ('{error.filename}')" if error.filename else ""
    with suppress(OSError):
        print(
            Diagnostic(
                "WL0708",
                f"input or output failed: {error.strerror or error}{where}",
                help="is there room on the disk, and are the files and the output still there?",
            ),
            file=sys.stderr,
        )
    return WRONG_INPUT


def _split(words: list[str]) -> tuple[list[str], list[str]]:
    """The words for Windlass, and those for the program that is run: all after a Python script, or after two dashes.

    >>> _split(["run", "main.cu", "-I", "include", "--", "8"]), _split(["run", "--report", "x.py", "-n", "8"])
    ((['run', 'main.cu', '-I', 'include'], ['8']), (['run', '--report', 'x.py'], ['-n', '8']))
    """
    if words[:1] != ["run"]:
        return words, []
    dashes = words.index("--") if "--" in words else len(words)
    script = next((place for place, word in enumerate(words[:dashes]) if place and word.endswith(".py")), None)
    if script is None:
        return words[:dashes], words[dashes + 1 :]
    rest = words[script + 1 :]
    return words[: script + 1], rest[1:] if rest[:1] == ["--"] else rest


def _end_of(error: Exception) -> int:
    """The status for an error that is not one of ours: wrong options, or a defect of Windlass."""
    show, status = getattr(error, "show", None), getattr(error, "exit_code", None)
    if callable(show) and isinstance(status, int):
        show()
        return status
    if read_choice("WINDLASS_TRACEBACK"):
        raise error
    print(
        Diagnostic(
            "WL0704",
            f"Windlass itself failed: {type(error).__name__}: {error}",
            help="please report it; WINDLASS_TRACEBACK=1 in the environment shows where",
        ),
        file=sys.stderr,
    )
    return WRONG_INPUT


@app.command()
def explain(
    file: Annotated[Path, typer.Argument(help="A CUDA C++ or HIP file.")],
    kernel: Annotated[
        list[str] | None, typer.Option("--kernel", "-k", help="Only this kernel; may be repeated.")
    ] = None,
    include: Annotated[list[Path] | None, typer.Option("--include", "-I", help="A folder for #include.")] = None,
    define: Annotated[list[str] | None, typer.Option("--define", "-D", help="A macro: NAME or NAME=VALUE.")] = None,
    grid: Annotated[
        str | None, typer.Option(help="Blocks, such as 64 or 16,16; otherwise what covers the sizes.")
    ] = None,
    block: Annotated[str | None, typer.Option(help="Threads of a block; otherwise 256, 16,16 or 8,8,4.")] = None,
    size: Annotated[int | None, typer.Option(help="The value of integers that look like sizes.")] = None,
    value: Annotated[
        list[str] | None, typer.Option("--set", help="A parameter's value: NAME=NUMBER, for arrays their length.")
    ] = None,
    details: Annotated[bool, typer.Option("--details", help="Tell of each access and loop.")] = False,
    require_raised: Annotated[
        bool, typer.Option("--require-raised", help="Exit with status 1 unless all are raised.")
    ] = False,
) -> int:
    """Tell for each kernel of a CUDA C++ or HIP file what it becomes: tensor ops, memory traffic, or why not."""
    from windlass.command_line.explain import explain_file
    from windlass.command_line.guessing import Wishes

    wishes = Wishes.read(grid, block, size, value or [])
    all_raised = explain_file(file, include or [], define or [], kernel or [], wishes, details)
    return WRONG_INPUT if require_raised and not all_raised else OK


@app.command(name="run")
def run_program(
    context: typer.Context,
    sources: Annotated[
        list[Path], typer.Argument(help="The program's source files: .cu, .hip, .cpp, .c; or a Python script.")
    ],
    include: Annotated[list[Path] | None, typer.Option("--include", "-I", help="A folder for #include.")] = None,
    define: Annotated[list[str] | None, typer.Option("--define", "-D", help="A macro: NAME or NAME=VALUE.")] = None,
    standard: Annotated[str, typer.Option("--std", help="The C++ standard.")] = "gnu++20",
    mode: Annotated[str, typer.Option("--mode", help="How kernels run: auto, raised or emulated.")] = "auto",
    report: Annotated[bool, typer.Option("--report", help="Afterwards tell on stderr how each kernel ran.")] = False,
    explained: Annotated[
        bool, typer.Option("--explain", help="Afterwards tell on stderr what became of each kernel, and why.")
    ] = False,
) -> int:
    """Run a program without a GPU: windlass run main.cu -- ARGUMENTS, or windlass run script.py ARGUMENTS.

    Python scripts may import cupy, pycuda and numba.cuda: they get Windlass's.
    """
    if len(sources) == 1 and sources[0].suffix == ".py":
        from windlass.command_line.script import run_script

        return ProgramStatus(run_script(sources[0], context.obj or [], mode, report, explained))
    from windlass.command_line.run import run_sources

    words = context.obj or []
    return ProgramStatus(run_sources(sources, words, include or [], define or [], standard, mode, report, explained))


@app.command()
def opt(
    file: Annotated[Path, typer.Argument(help="A StableHLO module, text or bytecode; - for standard input.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write here and not to standard output.")
    ] = None,
    statistics: Annotated[
        bool, typer.Option("--statistics", "-s", help="Print op counts and rules on stderr.")
    ] = False,
    explained: Annotated[
        bool, typer.Option("--explain", help="Tell on stderr which rules were applied where, and what each saves.")
    ] = False,
    exact: Exact = False,
    assume: Assume = None,
    device: DeviceKind = None,
    seconds: Seconds = 10.0,
    without: Without = None,
) -> int:
    """Optimize a StableHLO module with the catalogue of rewrites."""
    from windlass.command_line.optimize import optimize_file
    from windlass.stablehlo.optimizing import Choices

    choices = Choices.make(exact, assume or (), seconds, device, without=without or ())
    optimize_file(file, output, choices, statistics, explained)
    return OK


@app.command()
def bisect(
    file: Annotated[Path, typer.Argument(help="A StableHLO module, text or bytecode; - for standard input.")],
    command: Annotated[
        str | None,
        typer.Option("--command", "-c", help="Exits with status 0 for good programs; {} stands for the file."),
    ] = None,
    evaluated: Annotated[
        bool, typer.Option("--evaluate", help="Compare results on NumPy, op by op, and not through XLA.")
    ] = False,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The folder for the programs that show the fault.")
    ] = None,
    exact: Exact = False,
    assume: Assume = None,
    device: DeviceKind = None,
    seconds: Seconds = 60.0,
    without: Without = None,
) -> int:
    """Find the rewrite after which a program behaves otherwise: by a command, or by its results on random arrays."""
    from windlass.command_line.bisect import bisect_file
    from windlass.stablehlo.optimizing import Choices

    choices = Choices.make(exact, assume or (), seconds, device, without=without or ())
    return OK if bisect_file(file, command, choices, evaluated, output) else WRONG_INPUT


@app.command()
def rules(
    words: Annotated[
        list[str] | None,
        typer.Argument(help="Only rules that speak of one of these, with examples."),
    ] = None,
    page: Annotated[
        Path | None, typer.Option("--page", help="Write the whole catalogue as a Markdown page here.")
    ] = None,
    counts: Annotated[
        Path | None, typer.Option("--counts", help="How often rules fire, from benchmarks/count_rules.py.")
    ] = None,
) -> int:
    """List the catalogue of rewrites."""
    from windlass.command_line.catalogue import list_rules, write_page

    if page is not None:
        write_page(counts, page)
    else:
        list_rules(words or [])
    return OK


@app.command()
def doctor(
    calibrate: Annotated[
        bool, typer.Option(help="Measure the costs of this machine's CPU anew, and keep them.")
    ] = False,
) -> int:
    """Show devices, versions, caches and costs, and try the whole way from source to result."""
    from windlass.command_line.doctor import examine

    return OK if examine(calibrate) else WRONG_INPUT


@app.command()
def errors(
    code: Annotated[
        str | None, typer.Argument(help="An error code, such as WL0101; without one, all are listed.")
    ] = None,
) -> int:
    """Explain an error code at length."""
    from windlass.command_line.errors import list_errors, show_error

    if code is None:
        list_errors()
    else:
        show_error(code)
    return OK


def _print_version(is_wanted: bool) -> None:
    if is_wanted:
        from windlass import __version__

        print(f"windlass {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Options before any command."""
