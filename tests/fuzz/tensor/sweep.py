"""Runs many programs and tells what went wrong: `python -m tests.fuzz.tensor.sweep --minutes 60`."""

from __future__ import annotations

import argparse
import collections
import faulthandler
import sys
import time
from dataclasses import replace
from itertools import count

import jax

from tests.fuzz.tensor.author import Program, write_program
from tests.fuzz.tensor.functions import write_function
from tests.fuzz.tensor.matrices import write_matrix_function
from tests.fuzz.tensor.shrinking import describe, shrink
from tests.fuzz.tensor.trial import Outcome, Way, choose_way, run
from windlass.catalogue import catalogue

SIZES = (24, 12, 24, 24, 60)
"""How many values programs have, in turn."""
EVERY = 200
"""So many programs between two lines that tell how far it is."""


def make(seed: int) -> tuple[Program, Way]:
    """The program of that number, and how it is optimized: the same on every run."""
    kind = seed % 8
    if kind == 7:
        write = write_matrix_function if seed // 8 % 3 == 0 else write_function
        return write(seed), choose_way(seed, False)
    is_exact = kind < 4
    size = SIZES[seed // 8 % len(SIZES)]
    return write_program(seed, is_exact, size), choose_way(seed, is_exact)


def main() -> None:
    """Writes each failing program's smallest form, and how many there were of what."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, help="so many programs")
    parser.add_argument("--minutes", type=float, help="for so long")
    parser.add_argument("--shrink", type=float, default=40.0, help="seconds for each failing program")
    parser.add_argument("--saturate", action="store_true", help="saturate regions of each program")
    parser.add_argument("--failures", type=int, default=20, help="stop after so many")
    options = parser.parse_args()
    faulthandler.enable()
    if options.count is None and options.minutes is None:
        options.count = 1000
    counts: collections.Counter[str] = collections.Counter()
    fired: collections.Counter[str] = collections.Counter()
    failures, start = 0, time.monotonic()
    end = start + 60 * options.minutes if options.minutes else float("inf")
    for seed in count(options.first):
        if time.monotonic() > end or seed - options.first == options.count or failures >= options.failures:
            break
        faulthandler.dump_traceback_later(300, exit=True)
        print(f"-- {seed}", file=sys.stderr, flush=True)
        program, way = make(seed)
        if options.saturate:
            way = replace(way, saturates=True)
        outcome = run(program, way)
        counts[outcome.kind] += 1
        fired.update(outcome.rules)
        if outcome.is_bad:
            failures += 1
            faulthandler.dump_traceback_later(300 + options.shrink, exit=True)
            report(seed, program, way, outcome, options.shrink)
        if counts.total() % EVERY == 0:
            print(f"{counts.total()} programs, {dict(counts)}, {time.monotonic() - start:.0f} s", flush=True)
            jax.clear_caches()
    print(f"{counts.total()} programs, {dict(counts)}, {time.monotonic() - start:.0f} s")
    idle = [rule.name for rule in catalogue if rule.name not in fired and not rule.assumes]
    print(f"{len(fired)} rules and passes were applied; not so: {', '.join(idle) or 'none'}")
    sys.exit(1 if failures else 0)


def report(seed: int, program: Program, way: Way, outcome: Outcome, seconds: float) -> None:
    """Prints the failing program's smallest form."""
    print(f"## {seed} {outcome.kind}: {outcome.message[:600]}", flush=True)
    print(describe(*shrink(program, way, outcome, seconds)), flush=True)


if __name__ == "__main__":
    main()
