"""Runs many functions, and tells the smallest form of each that goes wrong: `python -m tests.fuzz.python.sweep`."""

from __future__ import annotations

import argparse
import collections
import time

import jax

from tests.fuzz.python.running import program_of, run, shrink


def main() -> None:
    """Write each failing function's smallest form, and how many there were of what."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=1_000_000)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--shrink", type=float, default=30.0, help="seconds for each failing function")
    parser.add_argument("--failures", type=int, default=10, help="stop after so many")
    parser.add_argument("--form", choices=("whole", "split", "both"), default="both", help="as one program, or split")
    options = parser.parse_args()
    counts: collections.Counter[str] = collections.Counter()
    reasons: collections.Counter[str] = collections.Counter()
    end = time.monotonic() + 60 * options.minutes
    failures = 0
    for seed in range(options.first, options.first + options.count):
        if time.monotonic() > end or failures >= options.failures:
            break
        whole = options.form == "whole" or (options.form == "both" and seed % 2 == 0)
        program = program_of(seed, has_pythons=not whole)
        outcome = run(program, whole=whole)
        counts[outcome.kind] += 1
        if outcome.is_bad:
            failures += 1
            small = shrink(program, outcome, options.shrink, whole=whole)
            print(f"## seed {seed}: {outcome.kind}: {run(small, whole=whole).detail}\n{small.text()}", flush=True)
        elif outcome.detail:
            reasons[f"{outcome.kind} {outcome.detail[:100]}"] += 1
        if seed % 50 == 49:
            jax.clear_caches()
    print(dict(counts))
    for reason, count in reasons.most_common(25):
        print(f"{count:6}  {reason}")


if __name__ == "__main__":
    main()
