"""Running native code: on as many threads as the work is worth, with an ear for Ctrl-C; and what went wrong."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from windlass.native.memory import Site
from windlass.native.plan import FIRST_ARGUMENT, NOTE_WORDS, NativeCode
from windlass.native.pool import INTERRUPTED, STOP, pool

PARTS_PER_THREAD = 8
SECONDS_WORTH_HELP = 50e-6
"""Work that takes one thread less is done by one."""
_PART = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
_NOTE: Any = ctypes.c_int64 * NOTE_WORDS


@dataclass(frozen=True)
class Fault:
    """What a thread did that it must not: the access, the thread's ids (block first, x first), and the byte."""

    site: Site
    block: tuple[int, int, int]
    thread: tuple[int, int, int]
    byte: int

    @property
    def is_misaligned(self) -> bool:
        return 0 <= self.byte <= self.site.last_byte


class Runner:
    """Runs one code again and again. How long it takes decides on how many threads."""

    def __init__(self, code: NativeCode) -> None:
        self.code = code
        self._part: Any = _PART(code.entry)
        self._contexts: dict[int, Any] = {}
        """The type of a context for so many arguments."""
        self._seconds = 0.0
        """How long one thread takes, as far as known."""

    def run(self, given: Sequence[int]) -> Fault | None:
        """Run it on addresses and the bits of numbers, in the order of the arguments; what went wrong first, if so.

        Raises KeyboardInterrupt where Ctrl-C was pressed meanwhile: what was written until then stays.
        """
        if not self.code.most_parts:
            return None
        note = _NOTE()
        make = self._contexts.get(len(given))
        if make is None:
            make = self._contexts[len(given)] = ctypes.c_uint64 * (FIRST_ARGUMENT + len(given))
        context = make(ctypes.addressof(note), pool().ask, *given)
        self._run(ctypes.addressof(context))
        if note[STOP] == INTERRUPTED:
            raise KeyboardInterrupt
        if note[0]:
            ids = tuple(int(each) for each in note[1:7])
            return Fault(self.code.sites[note[0] - 1], ids[:3], ids[3:], int(note[7]))  # pyright: ignore[reportArgumentType]
        return None

    def _run(self, context: int) -> None:
        parts = 1
        if self._seconds > SECONDS_WORTH_HELP and self.code.most_parts > 1:
            threads = pool().threads
            parts = min(self.code.most_parts, PARTS_PER_THREAD * threads) if threads > 1 else 1
        begin = time.perf_counter()
        if parts == 1 or not pool().run(self.code.entry, context, parts):
            self._part(context, 0, 1)
            seconds = time.perf_counter() - begin
            self._seconds = seconds if not self._seconds else min(self._seconds, seconds)
