"""Runs many kernels and tells what went wrong: `python -m tests.fuzz.sweep --first 0 --count 1000`."""

from __future__ import annotations

import argparse
import collections
import faulthandler
import re
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import jax

from tests.fuzz.frames import write_kernel
from tests.fuzz.free.author import write_free_kernel
from tests.fuzz.kernels import Kernel
from tests.fuzz.running import Outcome, run_all, run_one
from tests.fuzz.shrinking import shrink
from tests.fuzz.tiles.author import write_tiled_kernel
from windlass.diagnostics import CompilationError

TOO_SLOW = 10.0


def main() -> None:
    """Writes each failing kernel's smallest form, and how many there were of what."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--batch", type=int, default=30)
    parser.add_argument("--shrink", type=float, default=40.0, help="seconds for each failing kernel")
    parser.add_argument("--form", choices=("launch", "jit", "traced", "native"), help="launch all kernels in this way")
    parser.add_argument("--failures", type=int, default=20, help="stop after so many")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="stop after so long")
    parser.add_argument("--tiles", action="store_true", help="kernels whose threads share tiles, and nothing else")
    parser.add_argument("--free", action="store_true", help="native kernels without care for their values")
    options = parser.parse_args()
    counts: collections.Counter[str] = collections.Counter()
    reasons: dict[str, list[int]] = {}
    failures = 0
    start = time.monotonic()
    write = write_tiled_kernel if options.tiles else write_free_kernel if options.free else write_kernel
    for first in range(options.first, options.first + options.count, options.batch):
        seeds = range(first, min(first + options.batch, options.first + options.count))
        faulthandler.dump_traceback_later(300, exit=True)
        print(f"-- seeds {first}..", file=sys.stderr, flush=True)
        kernels = [write(seed) for seed in seeds]
        if options.form:
            kernels = [
                replace(kernel, form=options.form)
                for kernel in kernels
                if not any(each.shares or each.lanes > 1 for each in kernel.all_arguments)
            ]
        for kernel, outcome in guarded(kernels):
            counts[outcome.kind] += 1
            if outcome.kind in ("refused", "invalid"):
                reasons.setdefault(f"{outcome.kind}: {_plain(outcome.message)}", []).append(kernel.seed)
            if outcome.seconds > TOO_SLOW:
                print(f"## seed {kernel.seed}: {outcome.seconds:.1f} s", flush=True)
            if outcome.is_bad:
                failures += 1
                faulthandler.dump_traceback_later(300 + options.shrink, exit=True)
                report(kernel, outcome, options.shrink)
        jax.clear_caches()
        if failures >= options.failures or time.monotonic() - start > 60 * options.minutes:
            break
    print(dict(counts), f"{time.monotonic() - start:.0f} s")
    for reason, seeds in sorted(reasons.items(), key=lambda each: -len(each[1])):
        print(f"{len(seeds):4} {reason} (seeds {seeds[:3]})")


def guarded(kernels: list[Kernel]) -> Iterator[tuple[Kernel, Outcome]]:
    """Each kernel's outcome; one by one where they don't compile together, which is a defect of the author."""
    try:
        yield from run_all(kernels)
    except CompilationError as error:
        print(f"## not C++: {error}", flush=True)
        yield from ((kernel, run_one(kernel)) for kernel in kernels)


def _plain(message: str) -> str:
    """A message's first line, numbers left out."""
    return re.sub(r"\d+", "N", message.splitlines()[0])[:110]


def report(kernel: Kernel, outcome: Outcome, seconds: float) -> None:
    """Prints the failing kernel's smallest form."""
    print(f"## seed {kernel.seed} {outcome.kind}: {outcome.message}", flush=True)
    small = shrink(kernel, outcome, seconds)
    print(small.describe(), flush=True)


if __name__ == "__main__":
    assert Path("tests/fuzz").is_dir(), "run it where the repository's tests are"
    main()
