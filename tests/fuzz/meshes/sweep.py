"""Runs many programs on meshes: `python -m tests.fuzz.meshes.sweep --minutes 10 [--imagined]`."""

from __future__ import annotations

import argparse
import collections
import faulthandler
import os
import sys
import time
from collections.abc import Callable
from itertools import count

from tests.communication.programs import ENVIRONMENT
from tests.fuzz.meshes.author import Program
from tests.fuzz.meshes.imagined import Outcome, run_imagined
from tests.fuzz.meshes.writing import write_program


def main() -> None:
    """Write each failing program's smallest form, and how many there were of what."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, help="so many programs")
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--shrink", type=float, default=30.0, help="seconds for each failing program")
    parser.add_argument("--failures", type=int, default=10, help="stop after so many")
    parser.add_argument("--imagined", action="store_true", help="on imagined devices alone, without XLA")
    options = parser.parse_args()
    os.environ.update(ENVIRONMENT)
    if options.imagined:
        run: Callable[[Program], Outcome] = run_imagined
    else:
        from tests.fuzz.meshes.running import run_program as run
    counts: collections.Counter[str] = collections.Counter()
    failures, start = 0, time.monotonic()
    for seed in count(options.first):
        if seed - options.first == options.count or failures >= options.failures:
            break
        if time.monotonic() - start > 60 * options.minutes:
            break
        faulthandler.dump_traceback_later(300 + options.shrink, exit=True)
        print(f"-- {seed}", file=sys.stderr, flush=True)
        program = write_program(seed)
        outcome = run(program)
        counts[outcome.kind] += 1
        if outcome.is_bad or outcome.kind == "xla":
            failures += outcome.is_bad
            print(f"## {seed} {outcome.kind}: {outcome.message}", flush=True)
        if outcome.is_bad:
            small, found = shrink(program, outcome, run, options.shrink)
            print(f"{found.message}\n{small.describe()}", flush=True)
        if seed % 25 == 24 and not options.imagined:
            import jax

            jax.clear_caches()
    print(
        f"{counts.total()} programs, {dict(counts)}, {time.monotonic() - start:.0f} s, {time.process_time():.0f} s CPU"
    )
    sys.exit(1 if failures else 0)


def shrink(
    program: Program, outcome: Outcome, run: Callable[[Program], Outcome], seconds: float = 30.0
) -> tuple[Program, Outcome]:
    """The smallest program found in that time that goes wrong alike."""
    end = time.monotonic() + seconds
    is_smaller = True
    tried: set[str] = set()
    while is_smaller:
        is_smaller = False
        for smaller in program.smaller():
            text = smaller.describe()
            if time.monotonic() > end:
                return program, outcome
            if text in tried or not smaller.results:
                continue
            tried.add(text)
            found = run(smaller)
            if found.is_like(outcome):
                program, outcome, is_smaller = smaller, found, True
                break
    return program, outcome


if __name__ == "__main__":
    main()
