"""How often each rule of the catalogue fires on programs: for the catalogue's page.

    python benchmarks/count_rules.py [-o FILE] [SOURCE...]

A source is a folder of StableHLO files (*.mlir), one such file, or an importable module that has PROGRAMS (objects by
name whose `lower()` gives StableHLO text), as benchmarks.tensor.program has. By default: benchmarks/tensor, the
functions of ordinary.py and its like, the programs in other_tools, and the transformer step of round_trip.py.

Rules are counted on the CPU; those that fire nowhere there, on a GPU, or where floats are taken to be finite.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
import traceback
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from windlass import WindlassError, stablehlo  # noqa: E402

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


def default_texts() -> Iterator[tuple[str, str]]:
    yield transformer_step()
    importlib.import_module("benchmarks.tensor.__main__")
    yield from texts_of("benchmarks.tensor.program")
    importlib.import_module("benchmarks.ordinary_redundancies")
    importlib.import_module("benchmarks.ordinary_numerics")
    yield from texts_of("benchmarks.ordinary")
    yield from texts_of(str(ROOT / "benchmarks" / "other_tools"))


WAYS: tuple[tuple[str, tuple[str, ...]], ...] = (("cpu", ()), ("gpu", ()), ("cpu", ("finite", "no -0.0")))
"""Devices, and what is taken for granted."""


def main() -> None:
    parser = argparse.ArgumentParser(description="Count how often each rule of the catalogue fires on programs.")
    parser.add_argument("-o", "--output", type=Path, default=FILE)
    parser.add_argument("sources", nargs="*", metavar="SOURCE")
    options = parser.parse_args()
    counted = [(Counter[str](), Counter[str]()) for _ in WAYS]
    count = 0
    has_failed = False
    texts = (pair for source in options.sources for pair in texts_of(source)) if options.sources else default_texts()
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
        count += 1
        for (times, programs), each in zip(counted, fired, strict=True):
            times.update(each)
            programs.update(each.keys())
    found: dict[str, list[int]] = {}
    for times, programs in reversed(counted):
        found |= {rule: [times[rule], programs[rule]] for rule in times}
    found = dict(sorted(found.items()))
    lines = ",\n".join(f'  "{rule}": {json.dumps(pair)}' for rule, pair in found.items())
    options.output.write_text(f'{{"programs": {count}, "rules": {{\n{lines}\n}}}}\n')
    if has_failed:
        sys.exit(1)
    print(f"{len(found)} rules fired {sum(times for times, _ in found.values())} times in {count} programs")


if __name__ == "__main__":
    main()
