"""How often each rule of the catalogue fires on programs: for the catalogue's page.

    python benchmarks/count_rules.py [-o FILE] [--elsewhere FILE] [SOURCE...]

A source is a folder of StableHLO files (*.mlir), one such file, or an importable module that has PROGRAMS (objects by
name whose `lower()` gives StableHLO text), as benchmarks.tensor.program has. By default: benchmarks/tensor, the
functions of ordinary.py and its like, the programs in other_tools, the transformer step of round_trip.py, and the
kernels of tests/programs. For each rule: how often it fires, in how many programs, and in how many of those that were
not made for rules, as ordinary.py and other_tools are. A rule that fires in none of them is an extra (see the page).

Rules are counted on the CPU; those that fire nowhere there, on a GPU, or where floats are taken to be finite.

What fires in programs that are not everywhere is kept by name as `elsewhere`: in those of benchmarks/models where their
libraries are installed, and in suites of others, whose rules `--elsewhere` gives (a file with one name in each line).
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
import traceback
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from windlass import WindlassError, cuda, stablehlo  # noqa: E402
from windlass.catalogue import catalogue  # noqa: E402

FILE = ROOT / "docs" / "reference" / "rule_counts.json"


def texts_of(source: str) -> Iterator[tuple[str, str]]:
    """The programs of a source: names and StableHLO text."""
    path = Path(source)
    if path.is_dir():
        for file in sorted(path.rglob("*.mlir")):
            yield str(file.relative_to(path)), file.read_text()
    elif path.is_file():
        yield path.name, path.read_text()
    else:
        for name, program in importlib.import_module(source).PROGRAMS.items():
            yield name, program.lower()


def transformer_step() -> tuple[str, str]:
    """The training step of round_trip.py."""
    from benchmarks.round_trip import transformer_step as make

    return "transformer_step", make(layers=2)[0].as_text()


def texts_of_others() -> Iterator[tuple[str, str]]:
    """Programs that were not made for rules."""
    yield transformer_step()
    importlib.import_module("benchmarks.tensor.__main__")
    yield from texts_of("benchmarks.tensor.program")


def texts_for_rules() -> Iterator[tuple[str, str]]:
    importlib.import_module("benchmarks.ordinary_redundancies")
    importlib.import_module("benchmarks.ordinary_numerics")
    yield from texts_of("benchmarks.ordinary")
    yield from texts_of(str(ROOT / "benchmarks" / "other_tools"))


def texts_of_models() -> Iterator[tuple[str, str]]:
    """The models whose libraries are installed."""
    for field in ("networks", "equations", "sampling", "physics"):
        importlib.import_module(f"benchmarks.models.{field}")
    for name, model in importlib.import_module("benchmarks.models.model").MODELS.items():
        try:
            yield name, model.program().lower()
        except ImportError as error:
            print(f"{name} is left out: {error}", file=sys.stderr)


def count_in_kernels() -> Iterator[Counter[str]]:
    """What fires in each kernel of tests/programs, in the first of its launches."""
    for file in sorted((ROOT / "tests" / "programs").glob("*.cu")):
        importlib.import_module(f"tests.programs.{file.stem}")
    modules: dict[Path, Any] = {}
    for program in importlib.import_module("tests.programs.program").PROGRAMS:
        if program.source not in modules:
            modules[program.source] = cuda.compile(program.source)
        module, launch = modules[program.source], program.launches[0]
        for name, value in program.draw_variables().items():
            module.variables[name] = value
        kernel, arguments = module[program.kernel], program.draw_arguments(launch)
        report = kernel.explain(launch.grid, launch.block, *arguments, shared_bytes=launch.shared_bytes)
        yield Counter(entry.rule for entry in report.rewrites)


WAYS: tuple[tuple[str, tuple[str, ...]], ...] = (("cpu", ()), ("gpu", ()), ("cpu", ("finite", "no -0.0")))
"""Devices, and what is taken for granted."""


Counts = list[tuple[Counter[str], Counter[str]]]
"""How often each rule fires, and in how many programs, in each of the ways."""


def count(texts: Iterable[tuple[str, str]]) -> tuple[int, Counts, bool]:
    """How many programs there are, what fires in them, and whether one failed by a defect."""
    counted: Counts = [(Counter(), Counter()) for _ in WAYS]
    programs, has_failed = 0, False
    for name, text in texts:
        try:
            fired = [
                stablehlo.explain(text, estimates=False, device=device, assumes=granted).count_by_rule()
                for device, granted in WAYS
            ]
        except WindlassError as error:
            print(f"{name}: {error}", file=sys.stderr)
            continue
        except Exception:
            # A defect: the other programs still count, but the run fails.
            print(f"{name}:", traceback.format_exc(limit=-2), file=sys.stderr)
            has_failed = True
            continue
        programs += 1
        note(counted, fired)
    return programs, counted, has_failed


def note(counted: Counts, fired: Iterable[Counter[str]]) -> None:
    for (times, programs), each in zip(counted, fired, strict=False):
        times.update(each)
        programs.update(each.keys())


def main() -> None:
    parser = argparse.ArgumentParser(description="Count how often each rule of the catalogue fires on programs.")
    parser.add_argument("-o", "--output", type=Path, default=FILE)
    parser.add_argument("--elsewhere", type=Path, metavar="FILE", help="names of rules that fire in suites of others")
    parser.add_argument("sources", nargs="*", metavar="SOURCE")
    options = parser.parse_args()
    others = (pair for source in options.sources for pair in texts_of(source)) if options.sources else texts_of_others()
    programs, counted, has_failed = count(others)
    elsewhere: set[str] = set()
    made = 0
    made_for: Counts = [(Counter(), Counter()) for _ in WAYS]
    if not options.sources:
        for fired in count_in_kernels():
            programs += 1
            note(counted, [fired])
        made, made_for, failed = count(texts_for_rules())
        elsewhere.update(*(each for _, each in count(texts_of_models())[1]))
        has_failed |= failed
        if options.output.exists():
            elsewhere.update(json.loads(options.output.read_text()).get("elsewhere", ()))
    if options.elsewhere:
        elsewhere.update(options.elsewhere.read_text().split())
    found: dict[str, list[int]] = {}
    for (times, fired_in), (times_made, made_in) in reversed(list(zip(counted, made_for, strict=True))):
        for rule in times | times_made:
            others_before = found.get(rule, [0, 0, 0])[2]
            in_others = fired_in[rule] or others_before
            found[rule] = [times[rule] + times_made[rule], max(fired_in[rule] + made_in[rule], in_others), in_others]
    names = {each.name for each in (*catalogue, *catalogue.passes)}
    lines = ",\n".join(f'  "{rule}": {json.dumps(each)}' for rule, each in sorted(found.items()))
    apart = ",\n".join(f'  "{rule}"' for rule in sorted(elsewhere & names))
    text = f'{{"programs": {programs + made}, "rules": {{\n{lines}\n}}, "elsewhere": [\n{apart}\n]}}\n'
    options.output.write_text(text)
    if has_failed:
        sys.exit(1)
    print(f"{len(found)} rules fired {sum(times for times, *_ in found.values())} times in {programs + made} programs")


if __name__ == "__main__":
    main()
