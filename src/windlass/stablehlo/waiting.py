"""Waiting that Ctrl-C ends: the main thread waits for a lock, while another one waits for XLA.

Python handles signals on the main thread alone, between two of its instructions or as it waits for a lock, but not
while XLA compiles, nor while it waits for what XLA computes.
"""

from __future__ import annotations

import concurrent.futures.thread  # Its pools wait for their threads at Python's end: they have to come after us.
import os
import sys
import threading
from collections.abc import Callable
from typing import Any, TypeVar

from windlass.diagnostics import Diagnostic, ProgramError
from windlass.stablehlo.private_jax import is_started

Result = TypeVar("Result")


class Waiter:
    """A thread that does one thing after another for the main thread, which can be interrupted as it waits for it."""

    def __init__(self) -> None:
        self._asked = threading.Lock()
        self._asked.acquire()
        self._answered = threading.Lock()
        self._answered.acquire()
        self._work: Callable[[], Any] | None = None
        self._result: Any = None
        self._error: BaseException | None = None
        # Not a daemon: a thread that is within XLA as Python ends would abort the process.
        self.thread = threading.Thread(target=self._serve, name="windlass-waiter")
        self.thread.start()

    def _serve(self) -> None:
        while True:
            self._asked.acquire()
            work = self._work
            if work is None:
                return
            try:
                self._result = work()
            except BaseException as error:
                self._error = error
            del work
            self._answered.release()

    def begin(self, work: Callable[[], Any]) -> None:
        """Let the thread do this; it has to be idle."""
        self._work = work
        self._asked.release()

    def wait(self, seconds: float = -1) -> None:
        """Return when the thread has done it, or after so many seconds."""
        self._answered.acquire(timeout=seconds)

    def take(self) -> Any:
        """What the work gave, after `wait`. Raises what it raised."""
        result, error = self._result, self._error
        self._work = self._result = self._error = None
        if error is not None:
            raise error
        return result

    def end(self) -> None:
        """Let the thread end, once it has done what it is at."""
        self._work = None
        self._asked.release()


class _Threads:
    """The process's main thread and those that wait for it."""

    def __init__(self) -> None:
        self.begin()
        self.is_ending = False
        self.are_lost = False
        """Whether this process was forked from one in which XLA had started: XLA's threads are not here."""

    def begin_in_child(self) -> None:
        self.are_lost = self.are_lost or is_started()
        self.begin()

    def begin(self) -> None:
        self.main = threading.main_thread().ident
        self.idle: Waiter | None = None
        self.left: list[threading.Thread] = []
        """Those that were at work when the main thread was interrupted."""

    def end(self) -> None:
        """As Python ends: it would wait for the threads for ever, or be interrupted in that and then be aborted."""
        self.is_ending = True
        for stop in _at_end:
            stop()
        if self.idle is not None:
            self.idle.end()
        try:
            for thread in self.left:
                thread.join()
        except KeyboardInterrupt:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(130)


_at_end: list[Callable[[], None]] = []
_threads = _Threads()
assert concurrent.futures.thread  # The last to be registered is called first.
os.register_at_fork(after_in_child=_threads.begin_in_child)
getattr(threading, "_register_atexit")(_threads.end)  # noqa: B009 (no stub of it; without it this line fails)


def require_threads() -> None:
    """Raises ProgramError (WL0433) in a process that was forked once XLA had started: it would wait for ever."""
    if _threads.are_lost:
        raise ProgramError(
            Diagnostic(
                "WL0433",
                "this process was forked from one that had run programs already, so XLA can't run any here",
                help='start processes by multiprocessing.get_context("spawn"), or fork before the first launch; '
                "wl.emulate(kernel) works here",
            )
        )


def is_main_thread() -> bool:
    """Whether this is the thread that gets signals."""
    return threading.get_ident() == _threads.main


def is_ending() -> bool:
    """Whether Python ends, and waits for its threads to end."""
    return _threads.is_ending


def call_at_end(stop: Callable[[], None]) -> None:
    """Have a function called before Python waits for its threads to end."""
    _at_end.append(stop)
    if _threads.is_ending:
        stop()


def run_interruptibly(
    work: Callable[[], Result], on_interrupt: Callable[[], None] | None = None, grace: float = 0.0
) -> Result:
    """What the work gives, which is done on another thread if this is the main one.

    Where a handler of a signal raises, as Ctrl-C's does, so does this, after `on_interrupt` and up to `grace` seconds
    in which the work may end; if it does not, it goes on by itself.

    >>> run_interruptibly(lambda: 3 + 4)
    7
    """
    if not is_main_thread():
        return work()
    waiter, _threads.idle = _threads.idle, None  # A handler may come here, too.
    if waiter is None:
        waiter = Waiter()
    try:
        waiter.begin(work)
        waiter.wait()
    except BaseException:
        _threads.left = [thread for thread in (*_threads.left, waiter.thread) if thread.is_alive()]
        if on_interrupt is not None:
            on_interrupt()
        waiter.wait(grace)
        waiter.end()
        raise
    if _threads.idle is None:
        _threads.idle = waiter
    else:
        waiter.end()
    return waiter.take()


def wait_for(array: Any) -> None:
    """Return when the JAX array is there; as `run_interruptibly`. Does not raise what computing it raised."""
    if not array.is_ready():
        run_interruptibly(array.block_until_ready)
