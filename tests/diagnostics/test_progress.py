"""What takes long is told of on a terminal, and nowhere else."""

from __future__ import annotations

import io
import sys
import time

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
    ("is_terminal", "quiet", "seconds", "expected"),
    [
        (True, "", 0.3, "windlass: counting ...\n"),
        (True, "", 0.0, ""),
        (False, "", 0.3, ""),
        (True, "1", 0.3, ""),
    ],
)
def test_one_line_tells_what_takes_long(
    is_terminal: bool, quiet: str, seconds: float, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = Stream(is_terminal)
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(progress, "PATIENCE_SECONDS", 0.1)
    monkeypatch.setenv("WINDLASS_QUIET", quiet)
    with telling("counting"):
        time.sleep(seconds)
    time.sleep(0.1)
    assert stream.getvalue() == expected
