"""How often each rule of the catalogue fires on programs: for the catalogue's page.

    python benchmarks/count_rules.py [-o FILE] [SOURCE...]

A source is a folder of StableHLO files (*.mlir), one such file, or an importable module that has PROGRAMS (objects by
name whose `lower()` gives StableHLO text), as benchmarks.tensor.program has. By default: benchmarks/tensor, the
functions of ordinary.py, and the transformer step of round_trip.py.
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
    yield from texts_of("benchmarks.ordinary")


def main() -> None:
    parser = argparse.ArgumentParser(description="Count how often each rule of the catalogue fires on programs.")
    parser.add_argument("-o", "--output", type=Path, default=FILE)
    parser.add_argument("sources", nargs="*", metavar="SOURCE")
    options = parser.parse_args()
    times: Counter[str] = Counter()
    programs: Counter[str] = Counter()
    count = 0
    has_failed = False
    texts = (pair for source in options.sources for pair in texts_of(source)) if options.sources else default_texts()
    for name, text in texts:
        try:
            fired = stablehlo.explain(text, estimates=False, device="cpu").count_by_rule()
        except WindlassError as error:
            print(f"{name}: {error}", file=sys.stderr)
            continue
        except Exception:
            # A defect: the other programs still count, but the run fails.
            print(f"{name}:", traceback.format_exc(limit=-2), file=sys.stderr)
            has_failed = True
            continue
        count += 1
        times += fired
        programs.update(fired.keys())
    found = {rule: [times[rule], programs[rule]] for rule in sorted(times)}
    lines = ",\n".join(f'  "{rule}": {json.dumps(pair)}' for rule, pair in found.items())
    options.output.write_text(f'{{"programs": {count}, "rules": {{\n{lines}\n}}}}\n')
    if has_failed:
        sys.exit(1)
    print(f"{len(found)} rules fired {times.total()} times in {count} programs")


if __name__ == "__main__":
    main()
