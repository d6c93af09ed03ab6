"""What takes long is told of on a terminal, and nowhere else."""

from __future__ import annotations

import io
import sys
import threading

import pytest

from windlass.diagnostics import progress
from windlass.diagnostics.progress import telling


class Stream(io.StringIO):
    def __init__(self, is_terminal: bool) -> None:
        super().__init__()
        self._is_terminal = is_terminal

    def isatty(self) -> bool:
        return self._is_terminal


@pytest.mark.parametrize(
    ("is_terminal", "quiet", "is_long", "expected"),
    [
        (True, "", True, "windlass: counting ...\n"),
        (True, "", False, ""),
        (False, "", True, ""),
        (True, "1", True, ""),
    ],
)
def test_one_line_tells_what_takes_long(
    is_terminal: bool, quiet: str, is_long: bool, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = Stream(is_terminal)
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(progress, "PATIENCE_SECONDS", 0.0 if is_long else 1e6)
    monkeypatch.setenv("WINDLASS_QUIET", quiet)
    others = set(threading.enumerate())
    with telling("counting"):
        timers = set(threading.enumerate()) - others
        if is_long:
            for timer in timers:
                timer.join()
    for timer in timers:
        timer.join()
    assert stream.getvalue() == expected
