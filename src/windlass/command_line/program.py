"""The commands and their options, and how their errors end."""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from windlass.command_line.declaring import Commands, option
from windlass.command_line.interruption import INTERRUPTED, INTERRUPTION, end_when_interrupted
from windlass.diagnostics import Diagnostic, WindlassError
from windlass.diagnostics.cache import KINDS
from windlass.diagnostics.deferral import deferred
from windlass.diagnostics.environment import read_choice
from windlass.diagnostics.limits import require_address_space

if TYPE_CHECKING:
    from windlass import schedules
    from windlass.command_line import audit as auditing
    from windlass.command_line import bisect as bisecting
    from windlass.command_line import cache as keeping
    from windlass.command_line import catalogue as listing
    from windlass.command_line import doctor as examining
    from windlass.command_line import errors as pages
    from windlass.command_line import explain as explaining
    from windlass.command_line import gpu as gpu_code
    from windlass.command_line import guessing
    from windlass.command_line import launch as launching_processes
    from windlass.command_line import optimize as optimizing
    from windlass.command_line import run as running
    from windlass.command_line import script as scripts
    from windlass.processes import supervisor as supervising
    from windlass.stablehlo import optimizing as choosing
else:
    auditing = deferred("windlass.command_line.audit")
    bisecting = deferred("windlass.command_line.bisect")
    choosing = deferred("windlass.stablehlo.optimizing")
    examining = deferred("windlass.command_line.doctor")
    explaining = deferred("windlass.command_line.explain")
    gpu_code = deferred("windlass.command_line.gpu")
    guessing = deferred("windlass.command_line.guessing")
    launching_processes = deferred("windlass.command_line.launch")
    keeping = deferred("windlass.command_line.cache")
    listing = deferred("windlass.command_line.catalogue")
    optimizing = deferred("windlass.command_line.optimize")
    pages = deferred("windlass.command_line.errors")
    schedules = deferred("windlass.schedules")
    running = deferred("windlass.command_line.run")
    scripts = deferred("windlass.command_line.script")
    supervising = deferred("windlass.processes.supervisor")

OK, WRONG_INPUT = 0, 1


def _version() -> str:
    from windlass import __version__

    return __version__


commands = Commands(
    "Raises CUDA C++ kernels to tensor programs and runs them on CPU, GPU or TPU through XLA.", _version
)

_FILE = option("file", type=Path, help="A StableHLO module, text or bytecode; - for standard input.")
_INCLUDE = option("--include", "-I", type=Path, action="append", default=[], help="A folder for #include.")
_DEFINE = option("--define", "-D", action="append", default=[], help="A macro: NAME or NAME=VALUE.")
_OUTPUT = option("--output", "-o", type=Path, help="Write here and not to standard output.")
_KERNEL = option("--kernel", "-k", action="append", default=[], help="Only this kernel; may be repeated.")
_LAUNCH = (
    option("--grid", help="Blocks, such as 64 or 16,16; otherwise what covers the sizes."),
    option("--block", help="Threads of a block; otherwise 256, 16,16 or 8,8,4."),
    option("--size", type=int, help="The value of integers that look like sizes."),
    option(
        "--set",
        dest="value",
        action="append",
        default=[],
        help="A parameter's value: NAME=NUMBER, for arrays their length.",
    ),
)
_EXACT = option("--exact", action="store_true", help="Keep the order of float sums and products.")
_ASSUME = option(
    "--assume",
    action="append",
    default=[],
    help='What rules may take for granted: "no NaN", "finite", "no -0.0"; may be repeated.',
)
_DEVICE = option("--device", help="Whose costs count: cpu, gpu or tpu.")
_SATURATE = option(
    "--saturate", action="store_true", help="Try rules without a choice between them, around products; takes seconds."
)
_WITHOUT = option("--without", action="append", default=[], help="A rule to be left out; may be repeated.")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the program on the arguments (by default the process's own) and exit with its status."""
    words = sys.argv[1:] if arguments is None else list(arguments)
    if words[:1] != ["launch"] and not any(word.endswith(".py") for word in words):
        # A Python script has handlers and ways to end of its own, and whoever starts processes ends them.
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
        outcome = commands.run(words, rest)
    except SystemExit as error:
        # Help, and wrong usage, which was told.
        outcome = error.code if isinstance(error.code, int) else WRONG_INPUT
    except WindlassError as error:
        print(error, file=sys.stderr)
        return WRONG_INPUT
    except KeyboardInterrupt:
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
    try:
        if sys.stdout is not None:  # pyright: ignore[reportUnnecessaryComparison]
            sys.stdout.flush()
    except BrokenPipeError:
        _drop_output()
    except OSError as error:
        return _end_of_output(error)
    return outcome


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

    For `launch`, the script's name is the first of the latter.

    >>> _split(["run", "main.cu", "-I", "include", "--", "8"]), _split(["run", "--report", "x.py", "-n", "8"])
    ((['run', 'main.cu', '-I', 'include'], ['8']), (['run', '--report', 'x.py'], ['-n', '8']))
    >>> _split(["launch", "-n", "4", "x.py", "8"]), _split(["launch", "-n", "4", "--", "x", "8"])
    ((['launch', '-n', '4'], ['x.py', '8']), (['launch', '-n', '4'], ['x', '8']))
    """
    if words[:1] not in (["run"], ["launch"]):
        return words, []
    dashes = words.index("--") if "--" in words else len(words)
    script = next((place for place, word in enumerate(words[:dashes]) if place and word.endswith(".py")), None)
    if script is None:
        return words[:dashes], words[dashes + 1 :]
    if words[0] == "launch":
        return words[:script], words[script:]
    rest = words[script + 1 :]
    return words[: script + 1], rest[1:] if rest[:1] == ["--"] else rest


def _end_of(error: Exception) -> int:
    """The status for an error that is not one of ours: a defect of Windlass."""
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


@commands.add(
    "explain",
    option("file", type=Path, help="A CUDA C++, HIP, C or C++ file."),
    _KERNEL,
    _INCLUDE,
    _DEFINE,
    *_LAUNCH,
    option("--details", action="store_true", help="Tell of each access and loop."),
    option("--require-raised", action="store_true", help="Exit with status 1 unless all are raised."),
)
def explain(
    file: Path,
    kernel: list[str],
    include: list[Path],
    define: list[str],
    grid: str | None,
    block: str | None,
    size: int | None,
    value: list[str],
    details: bool,
    require_raised: bool,
) -> int:
    """Tell for each kernel of a CUDA C++ or HIP file, or function of C, what it becomes: tensor ops, or why not."""

    wishes = guessing.Wishes.read(grid, block, size, value)
    all_raised = explaining.explain_file(file, include, define, kernel, wishes, details)
    return WRONG_INPUT if require_raised and not all_raised else OK


@commands.add(
    "ptx",
    option("file", type=Path, help="A CUDA C++ or HIP file."),
    _KERNEL,
    _INCLUDE,
    _DEFINE,
    option("--sm", default="90", help="The oldest GPU architecture that is to run it, such as 80."),
    option("--line-info", action="store_true", help="Tell which source line each instruction is of."),
    _OUTPUT,
)
def ptx(
    file: Path,
    kernel: list[str],
    include: list[Path],
    define: list[str],
    sm: str,
    line_info: bool,
    output: Path | None,
) -> int:
    """Write the kernels of a CUDA C++ or HIP file as PTX, for NVIDIA's GPUs."""
    gpu_code.write_ptx(file, include, define, kernel, sm, line_info, output)
    return OK


@commands.add(
    "amdgcn",
    option("file", type=Path, help="A CUDA C++ or HIP file."),
    _KERNEL,
    _INCLUDE,
    _DEFINE,
    option("--gfx", default="gfx942", help="The processor, such as gfx90a; `rocminfo` names yours."),
    option("--object", dest="as_object", action="store_true", help="Write a code object and not assembly."),
    _OUTPUT,
)
def amdgcn(
    file: Path,
    kernel: list[str],
    include: list[Path],
    define: list[str],
    gfx: str,
    as_object: bool,
    output: Path | None,
) -> int:
    """Write the kernels of a CUDA C++ or HIP file as assembly for AMD's GPUs."""
    gpu_code.write_amdgcn(file, include, define, kernel, gfx, as_object, output)
    return OK


@commands.add(
    "run",
    option(
        "sources",
        type=Path,
        nargs="+",
        help="The program's source files: .cu, .hip, .cpp, .c; or a Python script.",
    ),
    _INCLUDE,
    _DEFINE,
    option("--std", dest="standard", default="gnu++20", help="The C++ standard."),
    option("--mode", default="auto", help="How kernels run: auto, raised, native or emulated."),
    option("--report", action="store_true", help="Afterwards tell on stderr how each kernel ran."),
    option(
        "--explain",
        dest="explained",
        action="store_true",
        help="Afterwards tell on stderr what became of each kernel, and why.",
    ),
    takes_rest=True,
)
def run_program(
    sources: list[Path],
    include: list[Path],
    define: list[str],
    standard: str,
    mode: str,
    report: bool,
    explained: bool,
    rest: Sequence[str],
) -> int:
    """Run a program without a GPU: windlass run main.cu -- ARGUMENTS, or windlass run script.py ARGUMENTS.

    Python scripts may import cupy, pycuda and numba.cuda: they get Windlass's.
    """
    if len(sources) == 1 and sources[0].suffix == ".py":
        return scripts.run_script(sources[0], rest, mode, report, explained)

    return running.run_sources(sources, rest, include, define, standard, mode, report, explained)


@commands.add(
    "launch",
    option("-n", dest="count", type=int, help="How many processes to start on this machine."),
    option("--devices-per-process", type=int, help="Devices that each process has; by default one."),
    option("--timeout", type=float, help="A process that makes no step for so many seconds hangs."),
    option("--restart", type=int, default=0, help="How often all are started again after one has failed."),
    option("--shrink", action="store_true", help="Start again without the one that failed."),
    option("--logs", type=Path, help="A folder for what the others than the first print; else kept after a failure."),
    takes_rest=True,
)
def launch(
    count: int | None,
    devices_per_process: int | None,
    timeout: float | None,
    restart: int,
    shrink: bool,
    logs: Path | None,
    rest: Sequence[str],
) -> int:
    """Run a Python script as several processes that JAX connects: windlass launch -n 4 script.py ARGUMENTS.

    Only the first process prints. When one fails or hangs, all are ended, and started again if that is asked for.
    Without -n the script runs in this process, one of those that Slurm, Open MPI or Kubernetes has started.
    """
    return launching_processes.launch(
        rest, count, devices_per_process, supervising.Watch(timeout, restart, shrink), logs
    )


@commands.add(
    "opt",
    _FILE,
    _OUTPUT,
    option("--statistics", "-s", action="store_true", help="Print op counts and rules on stderr."),
    option(
        "--explain",
        dest="explained",
        action="store_true",
        help="Tell on stderr which rules were applied where, and what each saves.",
    ),
    _EXACT,
    _ASSUME,
    _DEVICE,
    option("--seconds", type=float, default=10.0, help="How long the optimizer may take."),
    _WITHOUT,
    option("--schedule", help="What is done in which order: \"seq(rules('slices'), passes('needed_parts'))\"."),
    _SATURATE,
    option("--precision", help='Compute f64 with several narrow floats: "f32x2", "f32x3", "f32x4", "f64x2".'),
)
def opt(
    file: Path,
    output: Path | None,
    statistics: bool,
    explained: bool,
    exact: bool,
    assume: list[str],
    device: str | None,
    seconds: float,
    without: list[str],
    schedule: str | None,
    saturate: bool,
    precision: str | None,
) -> int:
    """Optimize a StableHLO module with the catalogue of rewrites."""

    wanted = None if schedule is None else schedules.read_schedule(schedule)
    choices = choosing.Choices.make(
        exact, assume, seconds, device, without=without, schedule=wanted, saturate=saturate, precision=precision
    )
    optimizing.optimize_file(file, output, choices, statistics, explained)
    return OK


def _numbers(text: str) -> list[int]:
    """Numbers with commas between them."""
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no list of numbers, such as 0,1") from None


@commands.add(
    "differentiate",
    _FILE,
    _OUTPUT,
    option("--mode", default="reverse", help="reverse or forward."),
    option(
        "--wrt",
        type=_numbers,
        action="extend",
        help="Numbers of arguments, such as 0,1; by default all that are of floats.",
    ),
)
def differentiate(file: Path, output: Path | None, mode: str, wrt: list[int] | None) -> int:
    """Add to a StableHLO module its derivative: cotangents or tangents after its arguments and results."""
    optimizing.differentiate_file(file, output, mode, wrt)
    return OK


@commands.add(
    "audit",
    option("file", type=Path, help="A CUDA C++ or HIP file, or a StableHLO module; - for one on standard input."),
    _KERNEL,
    _INCLUDE,
    _DEFINE,
    *_LAUNCH,
    option("--directions", type=int, default=3, help="In how many random directions derivatives are taken."),
)
def audit(
    file: Path,
    kernel: list[str],
    include: list[Path],
    define: list[str],
    grid: str | None,
    block: str | None,
    size: int | None,
    value: list[str],
    directions: int,
) -> int:
    """Hold the derivatives of kernels, or of a StableHLO module, to differences; status 1 where they part."""
    wishes = guessing.Wishes.read(grid, block, size, value)
    return OK if auditing.audit_file(file, include, define, kernel, wishes, directions) else WRONG_INPUT


@commands.add(
    "bisect",
    _FILE,
    option("--command", "-c", help="Exits with status 0 for good programs; {} stands for the file."),
    option(
        "--evaluate",
        dest="evaluated",
        action="store_true",
        help="Compare results on NumPy, op by op, and not through XLA.",
    ),
    option("--output", "-o", type=Path, help="The folder for the programs that show the fault."),
    _EXACT,
    _ASSUME,
    _DEVICE,
    option("--seconds", type=float, default=60.0, help="How long the optimizer may take."),
    _WITHOUT,
    _SATURATE,
)
def bisect(
    file: Path,
    command: str | None,
    evaluated: bool,
    output: Path | None,
    exact: bool,
    assume: list[str],
    device: str | None,
    seconds: float,
    without: list[str],
    saturate: bool,
) -> int:
    """Find the rewrite after which a program behaves otherwise: by a command, or by its results on random arrays."""

    choices = choosing.Choices.make(exact, assume, seconds, device, without=without, saturate=saturate)
    return OK if bisecting.bisect_file(file, command, choices, evaluated, output) else WRONG_INPUT


@commands.add(
    "rules",
    option("words", nargs="*", help="Only rules that speak of one of these, with examples."),
    option("--page", type=Path, help="Write the whole catalogue as a Markdown page here."),
    option("--counts", type=Path, help="How often rules fire, from benchmarks/count_rules.py."),
)
def rules(words: list[str], page: Path | None, counts: Path | None) -> int:
    """List the catalogue of rewrites."""

    if page is not None:
        listing.write_page(counts, page)
    else:
        listing.list_rules(words)
    return OK


@commands.add(
    "doctor",
    option("--calibrate", action="store_true", help="Measure the costs of this machine's CPU anew, and keep them."),
)
def doctor(calibrate: bool) -> int:
    """Show devices, versions, caches and costs, and try the whole way from source to result."""

    return OK if examining.examine(calibrate) else WRONG_INPUT


@commands.add(
    "cache",
    option(
        "--clear",
        nargs="*",
        metavar="KIND",
        choices=KINDS,
        help="Remove what is kept, or what is of these kinds; it is made again where it is needed.",
    ),
)
def cache(clear: list[str] | None) -> int:
    """Show what is kept between processes, or remove it."""

    if clear is None:
        keeping.show()
    else:
        keeping.clear(clear)
    return OK


@commands.add(
    "errors",
    option("code", nargs="?", help="An error code, such as WL0101; without one, all are listed."),
)
def errors(code: str | None) -> int:
    """Explain an error code at length."""

    if code is None:
        pages.list_errors()
    else:
        pages.show_error(code)
    return OK
