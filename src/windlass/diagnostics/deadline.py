"""When the optimizer has to be done: one moment for all that it does, looked at by whatever takes long."""

from __future__ import annotations

import time
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar

_end: ContextVar[float] = ContextVar("end", default=float("inf"))


@contextmanager
def ending_at(moment: float) -> Generator[None]:
    """Within it, work is to end at this moment of `time.monotonic()`, or earlier where that was said around it.

    >>> with ending_at(0.0), ending_at(1e9):
    ...     is_late()
    True
    """
    token = _end.set(min(moment, _end.get()))
    try:
        yield
    finally:
        _end.reset(token)


def is_late() -> bool:
    """Whether the time is over: analyses then say that they know nothing, passes leave the rest as it is."""
    return time.monotonic() > _end.get()
