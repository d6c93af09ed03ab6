"""How much work something is, counted: the same on a slow machine as on a fast one."""

from __future__ import annotations

import sys
import tracemalloc
from collections.abc import Callable
from types import FrameType
from typing import Any


def count_calls(work: Callable[[], object]) -> int:
    """How many functions, of Python and of C, the work calls on this thread.

    >>> count_calls(lambda: [abs(number) for number in range(100)]) - count_calls(lambda: None)
    101
    """
    calls = 0

    def count(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(before)
    return calls


def peak_bytes(work: Callable[[], object]) -> int:
    """How much memory, NumPy's arrays included, the work has at once beyond what there was before.

    >>> 1000 <= peak_bytes(lambda: bytes(1000)) < 2000
    True
    """
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        work()
        return tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()
