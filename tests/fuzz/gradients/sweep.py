"""Holds the derivatives of many programs to one another: `python -m tests.fuzz.gradients.sweep --minutes 10`."""

from __future__ import annotations

import argparse
import collections
import faulthandler
import re
import sys
import time
from itertools import count, islice

import jax

from tests.fuzz.gradients.checking import Outcome, check
from tests.fuzz.gradients.subjects import Case, make_case
from windlass.ir import TypeFault


def main() -> None:
    """Write each failing program's smallest form, and how many there were of what."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, help="so many programs")
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--kind", type=int, choices=range(4), help="tensors, jax.numpy, kernels or Python alone")
    parser.add_argument("--shrink", type=float, default=30.0, help="seconds for each failing program")
    parser.add_argument("--failures", type=int, default=10, help="stop after so many")
    options = parser.parse_args()
    counts: collections.Counter[str] = collections.Counter()
    compared: collections.Counter[str] = collections.Counter()
    reasons: dict[str, list[int]] = {}
    failures, start = 0, time.monotonic()
    for seed in count(options.first):
        if seed - options.first == options.count or failures >= options.failures:
            break
        if time.monotonic() - start > 60 * options.minutes:
            break
        if options.kind is not None and seed % 4 != options.kind:
            continue
        faulthandler.dump_traceback_later(300 + options.shrink, exit=True)
        print(f"-- {seed}", file=sys.stderr, flush=True)
        case, outcome = run(seed)
        kind = type(case).__name__ if case else "none"
        counts[f"{kind} {outcome.kind}"] += 1
        compared.update(outcome.compared)
        if outcome.is_bad and case:
            failures += 1
            print(f"## {seed} {outcome.kind}: {outcome.message}", flush=True)
            small, found = shrink(case, outcome, seed, options.shrink)
            print(f"{found.message}\n{small.describe()}", flush=True)
        elif outcome.message:
            reasons.setdefault(f"{kind} {outcome.kind}: {re.sub(r'[0-9]+', 'N', outcome.message)[:110]}", []).append(
                seed
            )
        if seed % 50 == 49:
            jax.clear_caches()
    print(f"{counts.total()} programs, {dict(counts)}, {time.monotonic() - start:.0f} s")
    print(f"held to: {dict(compared)}")
    for reason, seeds in sorted(reasons.items(), key=lambda each: -len(each[1])):
        print(f"{len(seeds):5} {reason} (numbers {seeds[:3]})")
    sys.exit(1 if failures else 0)


def run(seed: int) -> tuple[Case | None, Outcome]:
    """The program of that number, and what came of it."""
    case = make_case(seed)
    return case, check(case.subject, seed)


def shrink(case: Case, outcome: Outcome, seed: int, seconds: float = 30.0) -> tuple[Case, Outcome]:
    """The smallest program found in that time that goes wrong alike."""
    end = time.monotonic() + seconds
    is_smaller = True
    while is_smaller:
        is_smaller = False
        place = 0
        while time.monotonic() < end:
            # After a success go on with what comes next: what was tried before would mostly fail again.
            make = next(islice(case.smaller(), place, None), None)
            if make is None:
                break
            try:
                smaller = make()
            except (TypeFault, ValueError, NotImplementedError, KeyError):
                place += 1
                continue
            found = check(smaller.subject, seed)
            if found.is_like(outcome) and _is_smaller(smaller, case):
                case, outcome, is_smaller = smaller, found, True
            else:
                place += 1
    return case, outcome


def _is_smaller(one: Case, other: Case) -> bool:
    return type(one) is not type(other) or len(one.describe()) < len(other.describe())


if __name__ == "__main__":
    main()
