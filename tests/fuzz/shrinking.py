"""Makes a failing kernel small: fewer statements, simpler expressions, a smaller launch, as long as it fails alike."""

from __future__ import annotations

import collections
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from tests.fuzz.kernels import Kernel
from tests.fuzz.running import Outcome, run_all, run_one
from tests.fuzz.trees import smaller_blocks


def count_outcomes(kernels: Sequence[Kernel]) -> collections.Counter[str]:
    """How many had which outcome. Raises AssertionError with the smallest form of the first kernel that went wrong."""
    counts: collections.Counter[str] = collections.Counter()
    for kernel, outcome in run_all(kernels):
        counts[outcome.kind] += 1
        if outcome.is_bad:
            raise AssertionError(f"{outcome.kind}: {outcome.message}\n{shrink(kernel, outcome).describe()}")
    return counts


def shrink(kernel: Kernel, outcome: Outcome, seconds: float = 60.0) -> Kernel:
    """The smallest kernel found in that time whose outcome is like the given one."""
    end = time.monotonic() + seconds
    seen: set[str] = set()
    is_smaller = True
    while is_smaller:
        is_smaller = False
        for make in candidates(kernel):
            if time.monotonic() > end:
                return kernel
            candidate = make().trimmed()
            text = candidate.describe()
            if text in seen or (
                len(text) >= len(kernel.describe())
                and candidate.launches == kernel.launches
                and candidate.form == kernel.form
            ):
                continue
            seen.add(text)
            if candidate.declares_all and run_one(candidate).is_like(outcome):
                kernel = candidate
                is_smaller = True
                break
    return kernel


def candidates(kernel: Kernel) -> Iterator[Callable[[], Kernel]]:
    """Ways to make the kernel smaller."""
    if kernel.launches > 1:
        yield lambda: replace(kernel, launches=1)
    if kernel.form not in ("launch", "native"):
        yield lambda: replace(kernel, form="jit" if kernel.form == "traced" else "launch")
        yield lambda: replace(kernel, form="launch")
    if kernel.before:
        yield lambda: replace(kernel, before=None)
        for make in candidates(replace(kernel.before, form="launch")):
            yield lambda make=make: replace(kernel, before=make())
    for axis in range(3):
        if kernel.grid[axis] > 1:
            fewer = list(kernel.grid)
            fewer[axis] = 1
            yield lambda fewer=fewer: replace(kernel, grid=(fewer[0], fewer[1], fewer[2]))
    for make in smaller_blocks(kernel.body):
        yield lambda make=make: replace(kernel, body=make())
    for make in smaller_blocks(kernel.preamble):
        yield lambda make=make: replace(kernel, preamble=make())
