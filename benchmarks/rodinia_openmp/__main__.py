"""Rodinia's CUDA programs, their kernels as native code, beside its OpenMP versions: the time of their kernels.

    python -m benchmarks.rodinia_openmp PATH [--only REGEX] [--rounds 3] [--threads 2]

PATH is a checkout of Rodinia 3.1. The CUDA programs are run by `windlass run --mode native`; the OpenMP versions are
built by `gcc -O3 -march=native -fopenmp` (`-fcommon`, as compilers did when they were written). Both get the same
problem. A time is CPU time of all threads, the least of all rounds: ours within native code, theirs within parallel
regions. What is done between kernels or regions is counted on neither side, so that theirs leave out what they do in
one thread alone. *Ratio* is their time over ours.
"""

from __future__ import annotations

import argparse
import math
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.measuring import spell_time
from benchmarks.programs.suites import DATA, SuiteProgram
from benchmarks.rodinia_openmp.programs import THREADS, pairs, write_large_inputs

COMPILE = ("-O3", "-march=native", "-fopenmp", "-fcommon", "-w")


@dataclass(frozen=True)
class Measured:
    """CPU seconds in kernels or regions, and how many ran; `others` are kernels that did not run as native code."""

    seconds: float
    count: int
    others: Sequence[str] = ()


class NotRun(Exception):
    """A program could not be built, failed, or did not end."""


class Bench:
    """Builds and runs programs of a checkout in a folder that is thrown away."""

    def __init__(self, root: Path, place: Path, threads: int, limit: float) -> None:
        self.root, self.data, self.threads, self.limit = root, place / "data", threads, limit
        self.bin = place / "bin"
        self.bin.mkdir()
        write_large_inputs(self.data)
        self.library = self.bin / "regions.so"
        source = Path(__file__).parent / "regions.c"
        self._call(["gcc", "-O2", "-shared", "-fPIC", "-w", str(source), "-o", str(self.library), "-ldl"], self.bin, {})

    def build_openmp(self, program: SuiteProgram) -> Path:
        """The OpenMP version's executable."""
        folder, target = self.root / "openmp" / program.folder, self.bin / re.sub(r"\W", "_", program.name)
        compiler = "g++" if program.sources[0].endswith("cpp") else "gcc"
        sources = [str(folder / each) for each in program.sources]
        self._call([compiler, *COMPILE, *program.options, *sources, "-lm", "-o", str(target)], folder, {})
        return target

    def run_openmp(self, program: SuiteProgram, executable: Path) -> Measured:
        result = self.bin / "regions.txt"
        environment = {
            "OMP_NUM_THREADS": str(self.threads),
            # Threads that wait for work would else be counted as if they worked.
            "OMP_WAIT_POLICY": "passive",
            "LD_PRELOAD": str(self.library),
            "RODINIA_REGIONS": str(result),
        }
        # Some end with whatever status, as their main functions return nothing.
        self._call_in_folder([str(executable), *self._arguments(program)], environment, result, any_status=True)
        return _read(result)

    def run_cuda(self, program: SuiteProgram) -> Measured:
        result, folder = self.bin / "kernels.txt", self.root / "cuda" / program.folder
        options: list[str] = []
        for option in program.options:
            is_folder = bool(options) and options[-1] == "-I"
            options.append(str(folder / option.replace(DATA, str(self.data))) if is_folder else option)
        sources = [str(folder / each.replace(DATA, str(self.data))) for each in program.sources]
        command = [
            sys.executable, "-m", "benchmarks.rodinia_openmp.timed_run", str(result), "run", "--mode", "native",
            "--report", *options, *sources, "--", *self._arguments(program),
        ]  # fmt: skip
        paths = os.pathsep.join((str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")))
        environment = {"WINDLASS_NUM_THREADS": str(self.threads), "PYTHONPATH": paths, "COLUMNS": "250"}
        report = self._call_in_folder(command, environment, result)
        rows = re.findall(r"^(\S.*?)\s+(\d+)\s+(\d+)\s+(\d+)\s+\d+\s+\d+\.\d+\b", report, re.MULTILINE)
        found = _read(result)
        return Measured(
            found.seconds, found.count, [name for name, raised, _, emulated in rows if int(raised) or int(emulated)]
        )

    def _arguments(self, program: SuiteProgram) -> list[str]:
        return program.arguments.replace(DATA, str(self.data)).replace(THREADS, str(self.threads)).split()

    def _call_in_folder(
        self, command: Sequence[str], environment: dict[str, str], result: Path, *, any_status: bool = False
    ) -> str:
        """Call in an empty folder, from which data is where programs look for it."""
        result.unlink(missing_ok=True)
        with tempfile.TemporaryDirectory(dir=self.bin) as made:
            place = Path(made) / "a/b/c"
            place.mkdir(parents=True)
            for above in (Path(made), Path(made) / "a"):
                (above / "data").symlink_to(self.data)
            return self._call(command, place, environment, any_status=any_status)

    def _call(
        self, command: Sequence[str], folder: Path, environment: dict[str, str], *, any_status: bool = False
    ) -> str:
        """What a command writes to standard error; it fails by a signal, or unless it may have any, by its status.

        Raises NotRun.
        """
        try:
            done = subprocess.run(
                command,
                cwd=folder,
                env={**os.environ, **environment},
                capture_output=True,
                timeout=self.limit,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise NotRun(f"no end in {self.limit:g} s") from None
        errors = done.stderr.decode(errors="replace")
        if done.returncode < 0 or (done.returncode and not any_status):
            raise NotRun(f"status {done.returncode}: " + " ".join(errors.strip().splitlines()[:1])[:150])
        return errors


def _read(result: Path) -> Measured:
    if not result.exists():
        raise NotRun("it did not say how long it took")
    seconds, count = result.read_text().split()
    return Measured(float(seconds), int(count))


def main() -> None:
    """Run what the command line asks for, and print a row of a Markdown table for each program."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path", type=Path)
    parser.add_argument("--only", default="", help="programs whose name matches")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=300.0, help="most that one run may take")
    words = parser.parse_args()
    ratios: list[float] = []
    with tempfile.TemporaryDirectory(prefix="windlass-rodinia-") as made:
        bench = Bench(words.path.resolve(), Path(made), words.threads, words.seconds)
        print(
            "| program | size | native code | launches | OpenMP | regions | ratio |\n|---|---|---:|---:|---:|---:|---:|"
        )
        for pair in pairs(bench.root):
            name = pair.cuda.name
            if not re.search(words.only, name):
                continue
            try:
                executable = bench.build_openmp(pair.openmp)
                ours: list[Measured] = []
                theirs: list[Measured] = []
                for _ in range(words.rounds):
                    ours.append(bench.run_cuda(pair.cuda))
                    theirs.append(bench.run_openmp(pair.openmp, executable))
            except NotRun as reason:
                print(f"| {name} | {pair.cuda.size} | {reason} | | | | |", flush=True)
                continue
            one, other = (min(each, key=lambda measured: measured.seconds) for each in (ours, theirs))
            row = [name, pair.cuda.size, spell_time(one.seconds), str(one.count), spell_time(other.seconds)]
            if one.others:
                ratio = "not native: " + ", ".join(one.others)
            else:
                ratios.append(other.seconds / one.seconds)
                ratio = f"{ratios[-1]:.2f}"
            print(f"| {' | '.join([*row, str(other.count), ratio])} |", flush=True)
    if ratios:
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        print(f"| **geometric mean of {len(ratios)}** | | | | | | **{mean:.2f}** |")


if __name__ == "__main__":
    main()
