"""Running native code: on as many threads as the work is worth, with an ear for Ctrl-C; and what went wrong."""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from windlass.native.memory import Site
from windlass.native.plan import FIRST_ARGUMENT, NOTE_WORDS, STOP, NativeCode
from windlass.native.pool import pool

PARTS_PER_THREAD = 8
SECONDS_WORTH_HELP = 50e-6
"""Work that takes one thread less is done by one."""
_PART = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
_POLL = ctypes.CFUNCTYPE(ctypes.c_int32)


@dataclass(frozen=True)
class Fault:
    """What a thread did that it must not: the access, the thread's ids (block first, x first), and the byte."""

    site: Site
    block: tuple[int, int, int]
    thread: tuple[int, int, int]
    byte: int

    @property
    def is_misaligned(self) -> bool:
        size = self.site.memory_bytes
        return size is not None and 0 <= self.byte <= size - self.site.size


class Runner:
    """Runs one code again and again. How long it takes decides on how many threads."""

    def __init__(self, code: NativeCode) -> None:
        self.code = code
        self._part: Any = _PART(code.entry)
        self._seconds = 0.0
        """How long one thread takes, as far as known."""

    def run(self, given: Sequence[int]) -> Fault | None:
        """Run it on addresses and the bits of numbers, in the order of the arguments; what went wrong first, if so."""
        if not self.code.most_parts:
            return None
        note = (ctypes.c_int64 * NOTE_WORDS)()
        asker = _Asker(note)
        poll = _POLL(asker.ask)
        context = (ctypes.c_uint64 * (FIRST_ARGUMENT + len(given)))(
            ctypes.addressof(note), ctypes.cast(poll, ctypes.c_void_p).value or 0, *given
        )
        self._run(ctypes.addressof(context), ctypes.cast(poll, ctypes.c_void_p).value or 0)
        if asker.interruption is not None:
            raise asker.interruption
        if note[0]:
            ids = tuple(int(each) for each in note[1:7])
            return Fault(self.code.sites[note[0] - 1], ids[:3], ids[3:], int(note[7]))  # pyright: ignore[reportArgumentType]
        return None

    def _run(self, context: int, poll: int) -> None:
        parts = 1
        if self._seconds > SECONDS_WORTH_HELP and self.code.most_parts > 1:
            threads = pool().threads
            parts = min(self.code.most_parts, PARTS_PER_THREAD * threads) if threads > 1 else 1
        begin = time.perf_counter()
        if parts == 1 or not pool().run(self.code.entry, context, parts, poll):
            self._part(context, 0, 1)
            seconds = time.perf_counter() - begin
            self._seconds = seconds if not self._seconds else min(self._seconds, seconds)


class _Asker:
    """Hears Ctrl-C while native code runs in the main thread, and has it stop."""

    def __init__(self, note: Any) -> None:
        self._note = note
        self._is_main = threading.current_thread() is threading.main_thread()
        self.interruption: BaseException | None = None

    def ask(self) -> int:
        """Handlers of signals run while this does, in the main thread."""
        try:
            for _ in range(2):
                pass
        except BaseException as interruption:  # what a handler raises goes to the caller of the launch
            self.interruption = interruption
            self._note[STOP] = 1
        return int(self._note[STOP] != 0)
