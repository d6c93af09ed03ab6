"""Running native code: on as many threads as the work is worth, with an ear for Ctrl-C; and what went wrong."""

from __future__ import annotations

import ctypes
import struct
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


class _Context:
    """What a run of native code is given, and where it notes what goes wrong."""

    __slots__ = ("_pack", "_pool", "_words", "address", "note")

    def __init__(self, count: int) -> None:
        self.note = _NOTE()
        self._pool = pool()  # whose code this points to: a process that was forked off makes another one
        self._words = (ctypes.c_uint64 * (FIRST_ARGUMENT + count))(ctypes.addressof(self.note), self._pool.ask)
        self._pack = struct.Struct(f"={count}Q").pack_into
        self.address = ctypes.addressof(self._words)

    def fill(self, given: Sequence[int]) -> None:
        """Have it hold these addresses and bits of numbers."""
        self._pack(self._words, 8 * FIRST_ARGUMENT, *given)


class Runner:
    """Runs one code again and again. How long it takes decides on how many threads."""

    def __init__(self, code: NativeCode) -> None:
        self.code = code
        self._part: Any = _PART(code.entry)
        self._idle: list[_Context] = []
        """Those that no run uses: several threads may run the code, and runs may be within one another."""
        self._seconds = 0.0
        """How long one thread takes, as far as known."""

    def run(self, given: Sequence[int]) -> Fault | None:
        """Run it on addresses and the bits of numbers, in the order of the arguments; what went wrong first, if so.

        Raises KeyboardInterrupt where Ctrl-C was pressed meanwhile: what was written until then stays.
        """
        if not self.code.most_parts:
            return None
        try:
            context = self._idle.pop()
        except IndexError:
            context = _Context(len(given))
        context.fill(given)
        self._run(context.address)
        note = context.note
        if note[STOP] == INTERRUPTED:
            raise KeyboardInterrupt
        if note[0]:
            ids = tuple(int(each) for each in note[1:7])
            return Fault(self.code.sites[note[0] - 1], ids[:3], ids[3:], int(note[7]))  # pyright: ignore[reportArgumentType]
        # Nothing was noted: it is as it was made.
        self._idle.append(context)
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
