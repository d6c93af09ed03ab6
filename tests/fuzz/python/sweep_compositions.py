"""Runs many compositions, and tells the smallest form of each that goes wrong.

`python -m tests.fuzz.python.sweep_compositions --minutes 10`
"""

# pyright: basic
from __future__ import annotations

import argparse
import collections
import os
import time
import warnings

import jax

from tests.fuzz.python.compared import compare, shrink
from tests.fuzz.python.compositions import PRELUDE, write_composition


def main() -> None:
    """Write each failing function's smallest form, and how many there were of what."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=1_000_000)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--shrink", type=float, default=60.0, help="seconds for each failing function")
    parser.add_argument("--failures", type=int, default=10, help="stop after so many")
    parser.add_argument("--trials", action="store_true", help="let Python outrun programs, which then hide")
    options = parser.parse_args()
    if not options.trials:
        os.environ["WINDLASS_TRIALS"] = "0"
    warnings.simplefilter("ignore", SyntaxWarning)
    counts: collections.Counter[str] = collections.Counter()
    end = time.monotonic() + 60 * options.minutes
    failures = 0
    for seed in range(options.first, options.first + options.count):
        if time.monotonic() > end or failures >= options.failures:
            break
        made = write_composition(seed)
        begun = time.process_time()
        verdict = compare(made)
        seconds = time.process_time() - begun
        counts[f"{verdict.kind} {verdict.how}"] += 1
        if seconds > 60:
            print(f"## seed {seed} took {seconds:.0f} s", flush=True)
        if verdict.kind == "wrong":
            failures += 1
            small = shrink(made, verdict, options.shrink)
            print(f"## seed {seed}: {compare(small).detail}\n{small.text.removeprefix(PRELUDE)[-3000:]}", flush=True)
        if seed % 20 == 19:
            jax.clear_caches()
    print(dict(counts), flush=True)


if __name__ == "__main__":
    main()
