"""Whether two runs of a program gave the same: what they printed and wrote, but for times."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import zip_longest
from math import isnan

_TIME = re.compile(
    r"time|seconds|\bsecs?\b|\bm?s\b|\bus\b|\d[mnu]?s\b|microsec|bandwidth|[GM]flop|[GMk]i?B/s|throughput|took|"
    r"elapsed|execution|back:|0x[0-9a-f]{6}|per[ -]second|/s\b|\bpid\b|performance|latency|overhead|free memory|speed",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*(?:e[-+]?\d+)?|\.\d+(?:e[-+]?\d+)?|nan|inf)", re.IGNORECASE)


def without_times(text: str) -> list[str]:
    """The lines of a program's output that tell no time, rate or address."""
    # Where a time stands alone on its line, the line before or after says so.
    lines = text.splitlines()
    kept: list[str] = []
    for place, line in enumerate(lines):
        around = " ".join(lines[max(0, place - 1) : place + 2])
        is_bare = re.fullmatch(r"[\s\d.e+-]+(s|ms|us)?(, .*%.*)?", line) is not None
        if _TIME.search(line) or (is_bare and "." in line and _TIME.search(around)):
            continue
        kept.append(line)
    return kept


def compare(first: str, second: str) -> str:
    """ "same" where texts are equal but for times, "within 1e-5" where numbers in them differ by that, relative to the
    larger; else "differs: ..." with the first line that does.

    >>> compare("x 1.00001\\ntime 3", "x 1.00002\\ntime 5")
    'within 1e-05'
    >>> compare("x 1", "y 1")
    "differs: 'x 1' / 'y 1'"
    """
    largest = 0.0
    for one, other in _pairs(without_times(first), without_times(second)):
        if one == other:
            continue
        if _NUMBER.sub("#", one) != _NUMBER.sub("#", other):
            return f"differs: {one.strip()[:60]!r} / {other.strip()[:60]!r}"
        for a, b in zip(map(float, _NUMBER.findall(one)), map(float, _NUMBER.findall(other)), strict=True):
            if a == b or (isnan(a) and isnan(b)):
                continue
            difference = abs(a - b) / max(abs(a), abs(b))
            if not difference <= 1e-3:
                return f"differs: {one.strip()[:60]!r} / {other.strip()[:60]!r}"
            largest = max(largest, difference)
    return f"within {largest:.0e}" if largest else "same"


def _pairs(first: list[str], second: list[str]) -> Iterator[tuple[str, str]]:
    yield from zip_longest(first, second, fillvalue="")
