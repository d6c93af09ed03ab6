"""Run the programs of a suite twice, with kernels raised and all of them emulated, or so, and compare what they give.

    python -m benchmarks.programs rodinia PATH [--only REGEX] [--mode raised] [--beside emulated] [--seconds 300]

PATH is a checkout of the suite. Each run has a folder of its own; what the program prints and the files it leaves there
are compared. A line per program goes to standard output, as a row of a Markdown table; the times are what processors
did, compilers included.
"""

from __future__ import annotations

import argparse
import os
import re
import resource
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.programs.comparing import compare
from benchmarks.programs.hecbench import hecbench
from benchmarks.programs.inputs import write_inputs
from benchmarks.programs.suites import DATA, SuiteProgram, rodinia

COMMAND = "import sys; from windlass.command_line import main; sys.exit(main())"
SUITES = {"rodinia": (rodinia, "cuda"), "hecbench": (hecbench, "src")}


@dataclass
class Outcome:
    """What a run gave: `text` is what it printed and wrote, `kernels` how each kernel ran."""

    status: int | str
    text: str
    errors: str
    seconds: float
    kernels: dict[str, tuple[int, ...]] = field(default_factory=dict[str, tuple[int, ...]])

    def count(self, place: int) -> int:
        """How many kernels ran raised (0), as native code (1) or emulated (2)."""
        return sum(1 for each in self.kernels.values() if each[place])


def run_program(program: SuiteProgram, folder: Path, data: Path, mode: str, limit: float) -> Outcome:
    """Build and run a program in an empty folder."""
    with tempfile.TemporaryDirectory(prefix="windlass-programs-") as made:
        # Programs look for data in ../../data or ../../../data.
        place = Path(made) / "a/b/c"
        place.mkdir(parents=True)
        (Path(made) / "data").symlink_to(data)
        (Path(made) / "a/data").symlink_to(data)
        options: list[str] = []
        for option in program.options:
            is_folder = bool(options) and options[-1] == "-I"
            options.append(str(folder / option.replace(DATA, str(data))) if is_folder else option)
        command = [
            sys.executable, "-c", COMMAND, "run", "--mode", mode, "--report", *options,
            *(str(folder / each.replace(DATA, str(data))) for each in program.sources),
            "--", *program.arguments.replace(DATA, str(data)).split(),
        ]  # fmt: skip
        begin = _children_seconds()
        environment = {**os.environ, "COLUMNS": "250"}
        try:
            done = subprocess.run(command, cwd=place, capture_output=True, timeout=limit, env=environment, check=False)
        except subprocess.TimeoutExpired as error:
            output = (error.stderr or b"").decode(errors="replace")
            return Outcome(f"no end in {limit:g} s", "", output, _children_seconds() - begin)
        seconds = _children_seconds() - begin
        files = sorted(each for each in place.rglob("*") if each.is_file())
        files += sorted(each for each in data.glob("dwt2d/*.bmp.*"))
        text = done.stdout.decode(errors="replace")
        for each in files:
            content = each.read_bytes()
            text += f"\n-- {each.name}\n"
            text += content.decode() if _is_text(content) else content.hex(" ", 32).replace(" ", "\n")
            if data in each.parents:
                each.unlink()
    errors = done.stderr.decode(errors="replace")
    # The kernel, how often it ran in each form, how often a library of ours did its work, seconds.
    rows = re.findall(r"^(\S.*?)\s+(\d+)\s+(\d+)\s+(\d+)\s+\d+\s+\d+\.\d+\b", errors, re.MULTILINE)
    kernels = {name: tuple(map(int, counts)) for name, *counts in rows}
    return Outcome(done.returncode, text, errors, seconds, kernels)


def _children_seconds() -> float:
    """What the processors have done for programs that were run and have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _is_text(content: bytes) -> bool:
    try:
        return "\0" not in content.decode()
    except UnicodeDecodeError:
        return False


def main() -> int:
    """Run what the command line asks for; gives 1 where a program fails or differs."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.programs", description=__doc__)
    parser.add_argument("suite", choices=sorted(SUITES))
    parser.add_argument("path", type=Path)
    parser.add_argument("--only", default="", help="programs whose name matches")
    parser.add_argument("--mode", default="raised", help="how kernels run that are compared with the emulator's")
    parser.add_argument("--beside", default="emulated", help="how they run in the run that this is compared with")
    parser.add_argument("--seconds", type=float, default=300.0, help="most that one run may take")
    parser.add_argument("--errors", action="store_true", help="show what goes to standard error")
    words = parser.parse_args()
    make_programs, inside = SUITES[words.suite]
    root = words.path.resolve()
    are_good = True
    with tempfile.TemporaryDirectory(prefix="windlass-inputs-") as made:
        data = Path(made)
        write_inputs(data)
        print(
            "| program | size | kernels raised | native | emulated | output | seconds: "
            + f"{words.beside} | {words.mode} |"
        )
        print("|---|---|---:|---:|---:|---|---:|---:|")
        for program in make_programs(root):
            if not re.search(words.only, program.name):
                continue
            folder = root / inside / program.folder
            plain = run_program(program, folder, data, words.beside, words.seconds)
            other = run_program(program, folder, data, words.mode, words.seconds)
            if plain.status != 0 or other.status != 0:
                verdict = f"status {plain.status} / {other.status}"
                if plain.status == other.status and isinstance(plain.status, int):
                    verdict += ", " + compare(plain.text, other.text)
            else:
                verdict = compare(plain.text, other.text)
            for code in sorted(set(re.findall(r"error\[(WL\d+)\]", plain.errors + other.errors))):
                verdict += f", {code}"
            is_good = verdict == "same" or verdict.startswith("within")
            are_good = are_good and is_good
            print(
                f"| {program.name} | {program.size} | {' | '.join(str(other.count(place)) for place in range(3))} "
                f"| {verdict} | {plain.seconds:.1f} | {other.seconds:.1f} |",
                flush=True,
            )
            if words.errors or not is_good:
                print(plain.errors[-1500:], "----", other.errors[-2500:], sep="\n", file=sys.stderr, flush=True)
    return 0 if are_good else 1


if __name__ == "__main__":
    sys.exit(main())
