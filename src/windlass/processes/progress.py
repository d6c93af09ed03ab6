"""How far a process has come, in memory that it shares with whoever started it.

A rank that `windlass launch` started notes its steps; others note nothing. Noting costs a store to memory.
"""

from __future__ import annotations

import mmap
from dataclasses import dataclass
from pathlib import Path

STARTING, RUNNING, ENDED = range(3)
_FIELDS = 5
BYTES = 8 * _FIELDS


@dataclass(frozen=True)
class Progress:
    """What a rank has noted: its phase, steps done and all steps, its exit status, and the step that it restored."""

    phase: int
    steps: int
    all_steps: int
    status: int
    restored: int


class SharedProgress:
    """A rank's progress in a file of a few bytes, mapped by both sides."""

    def __init__(self, path: Path) -> None:
        with path.open("r+b") as file:
            self._words = memoryview(mmap.mmap(file.fileno(), BYTES)).cast("q")

    @classmethod
    def make(cls, path: Path) -> SharedProgress:
        """A new file: nothing is done yet."""
        path.write_bytes(bytes(BYTES))
        return cls(path)

    def read(self) -> Progress:
        """What is noted now."""
        return Progress(*self._words)

    def note_running(self) -> None:
        """The script begins."""
        self._words[0] = RUNNING

    def note_step(self, steps: int, all_steps: int) -> None:
        """So many steps of all are done."""
        self._words[1], self._words[2] = steps, all_steps

    def note_restored(self, steps: int) -> None:
        """So many steps were done in the checkpoint that was restored."""
        self._words[4] = self._words[1] = steps

    def note_end(self, status: int) -> None:
        """The script has ended."""
        self._words[3] = status
        self._words[0] = ENDED


_own: list[SharedProgress] = []


def share(path: Path) -> SharedProgress:
    """From now on this process notes its steps in that file."""
    _own[:] = [SharedProgress(path)]
    return _own[0]


def note_step(steps: int, all_steps: int) -> None:
    """So many steps of all are done."""
    for each in _own:
        each.note_step(steps, all_steps)


def note_restored(steps: int) -> None:
    """So many steps were done in the checkpoint that was restored."""
    for each in _own:
        each.note_restored(steps)
