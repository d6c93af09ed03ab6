"""Compilers as child processes: limited in time and memory, and never left behind.

A source may ask for more than there is: templates that double, macros of a billion tokens, a file that never ends. The
child gets limits from outside, as it runs, so that no code of ours runs between fork and exec. It is killed when we are
interrupted, when it waits for a file that nobody writes, and (by util-linux's `setpriv`, where that is installed) when
we die; without `setpriv`, the limit of its processor time ends it.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal, TypeAlias, TypeVar

from windlass.diagnostics.cache import compiler_environment
from windlass.diagnostics.environment import read_seconds

Item = TypeVar("Item")
Result = TypeVar("Result")
Reason: TypeAlias = Literal["time", "memory", "file"]

SECONDS = 60.0
BYTES = 4 << 30
SECONDS_SETTING, BYTES_SETTING = "WINDLASS_CLANG_SECONDS", "WINDLASS_CLANG_MEMORY"
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_LOOK_SECONDS = 0.25
_LOOKS_ASLEEP = 4
"""A child that so many looks in a row find asleep, having done nothing, waits for a file."""
_NO_MEMORY = re.compile(r"out of memory|bad_alloc|OutOfMemory|[Cc]annot allocate memory|allocation failed")
_OPENAT, _READ = "257", "0"
_LOCKS = ("72", "73")
"""fcntl and flock."""


@dataclass(frozen=True)
class Outcome:
    """What a compiler gave: its output, its messages, its exit status.

    `stopped_by` is the limit that it met, if it did; for "file" `waited_for` is the file that it waited for, if known.
    `read` are the files that it read, where it was asked for them.
    """

    output: str
    messages: str
    status: int
    stopped_by: Reason | None = None
    waited_for: str | None = None
    read: tuple[str, ...] | None = None


def limit_of_seconds() -> float:
    """How long a compiler may take: $WINDLASS_CLANG_SECONDS, else a minute."""
    return read_seconds(SECONDS_SETTING, SECONDS)


def limit_of_bytes() -> int:
    """How much memory a compiler may take: $WINDLASS_CLANG_MEMORY, such as 8G, else 4 GiB.

    >>> limit_of_bytes() >> 30
    4
    """
    match = re.fullmatch(r"([0-9.]+)\s*([KMGT]?)(?:I?B)?", os.environ.get(BYTES_SETTING, "").strip().upper())
    with suppress(ValueError):
        if match is not None and (given := int(float(match[1]) * _UNITS[match[2]])) > 0:
            return given
    return BYTES


class _Groups(threading.local):
    """The threads that `map_children` runs compilers on stop together, once one of these is set."""

    stopped: tuple[threading.Event, ...] = ()

    def has_stopped(self) -> bool:
        return any(each.is_set() for each in self.stopped)


_groups = _Groups()


def run_child(command: Sequence[str], seconds: float | None = None) -> Outcome:
    """Run a compiler and return what it says; never raises for what it does.

    `seconds` is how long it may take where the source is ours: then the user's settings don't lower the limits, and
    one that sleeps is left alone, as it waits for no file, but for another compiler to fill the cache that they share.

    When a signal's handler raises meanwhile, as Ctrl-C's does, the child is killed.
    """
    limit = limit_of_seconds() if seconds is None else seconds
    if _groups.has_stopped():
        return Outcome("", "", -1)
    if not Path(command[0]).exists():
        return Outcome("", f"clang could not be started: {command[0]}: {os.strerror(errno.ENOENT)}", -1)
    try:
        child = subprocess.Popen(
            [*_watched(), *command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            errors="replace",
            process_group=0,
            env=compiler_environment(),
        )
    except OSError as error:
        return Outcome("", f"clang could not be started: {error}", -1)
    try:
        _limit(child.pid, limit, limit_of_bytes() if seconds is None else max(limit_of_bytes(), BYTES))
        return _watch(child, limit, None if seconds is not None else _Sleep(child.pid))
    finally:
        _kill(child)


def _watch(child: subprocess.Popen[str], limit: float, asleep: _Sleep | None) -> Outcome:
    end = time.monotonic() + limit
    while True:
        left = end - time.monotonic()
        try:
            output, messages = child.communicate(timeout=max(min(left, _LOOK_SECONDS), 0))
            break
        except subprocess.TimeoutExpired:
            if _groups.has_stopped():
                return Outcome("", "", -1)
            if left <= 0:
                return Outcome("", "", -1, "time")
            if asleep is not None and asleep.look():
                return Outcome("", "", -1, "file", asleep.find_file())
    status = child.returncode
    is_out_of_memory = status != 0 and _NO_MEMORY.search(messages) is not None
    return Outcome(output, messages, status, "memory" if is_out_of_memory else None)


@cache
def _watched() -> tuple[str, ...]:
    """A command before the compiler's, which has the system kill it when we die."""
    found = shutil.which("setpriv", path="/usr/bin:/bin")
    if found is None:
        return ()
    command = (found, "--pdeathsig", "KILL", "--")
    works = subprocess.run([*command, "/bin/true"], capture_output=True, check=False).returncode == 0
    return command if works else ()


def _limit(pid: int, seconds: float, size: int) -> None:
    with suppress(ImportError, AttributeError, OSError, ValueError):
        import resource

        resource.prlimit(pid, resource.RLIMIT_DATA, (size, size))
        most = int(seconds * (os.cpu_count() or 1)) + 1
        resource.prlimit(pid, resource.RLIMIT_CPU, (most, most))
        resource.prlimit(pid, resource.RLIMIT_CORE, (0, 0))


def _kill(child: subprocess.Popen[str]) -> None:
    """The child, and what it has started itself."""
    if child.poll() is None:
        with suppress(OSError):
            os.killpg(child.pid, 9)
        child.kill()
        child.wait()
    for pipe in (child.stdout, child.stderr):
        if pipe is not None:
            pipe.close()


def map_children(work: Callable[[Item], Result], items: Iterable[Item], workers: int | None = None) -> list[Result]:
    """What the work, which runs compilers, gives for each item, several at a time; in order.

    Where one raises, or a signal's handler does, all that run are killed.
    """
    stopped = threading.Event()
    groups = (*_groups.stopped, stopped)
    pool = ThreadPoolExecutor(workers or os.cpu_count(), initializer=setattr, initargs=(_groups, "stopped", groups))
    try:
        return [future.result() for future in [pool.submit(work, item) for item in items]]
    except BaseException:
        stopped.set()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


class _Sleep:
    """Tells whether a process, with all that it has started, sleeps and does nothing, not even wait for a lock."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._ticks = -1
        self._count = 0

    def look(self) -> bool:
        """Whether it has been found asleep for a second."""
        states, ticks = self._state()
        sleeps = bool(states) and states <= {"S"} and ticks == self._ticks
        self._ticks = ticks
        self._count = self._count + 1 if sleeps else 0
        return self._count >= _LOOKS_ASLEEP

    def _state(self) -> tuple[set[str], int]:
        states: set[str] = set()
        ticks = 0
        for task in self._tasks():
            with suppress(OSError, IndexError, ValueError):
                fields = (task / "stat").read_text("ascii", "replace").rpartition(")")[2].split()
                states.add("waits for a lock" if self._waits_for_lock(task) else fields[0])
                ticks += int(fields[11]) + int(fields[12])
        return states, ticks

    @staticmethod
    def _waits_for_lock(task: Path) -> bool:
        """Whether another process, which works, will let it go on."""
        with suppress(OSError):
            return (task / "syscall").read_text("ascii").partition(" ")[0] in _LOCKS
        return False

    def _tasks(self) -> list[Path]:
        """The threads of the process, and of those that it has started."""
        found: list[Path] = []
        waiting = [self._pid]
        while waiting:
            pid = waiting.pop()
            with suppress(OSError):
                tasks = list(Path(f"/proc/{pid}/task").iterdir())
                found += tasks
                for task in tasks:
                    waiting += map(int, (task / "children").read_text("ascii").split())
        return found

    def find_file(self) -> str | None:
        """The file that it waits for, as far as the system tells: one that it opens, or one that it reads."""
        for task in self._tasks():
            with suppress(OSError, IndexError, ValueError):
                words = (task / "syscall").read_text("ascii").split()
                if words[0] == _OPENAT:
                    with (task / "mem").open("rb", buffering=0) as memory:
                        memory.seek(int(words[2], 16))
                        return memory.read(4096).partition(b"\0")[0].decode("utf-8", "replace") or None
                if words[0] == _READ:
                    return str((task / "fd" / str(int(words[1], 16))).readlink())
        return None
