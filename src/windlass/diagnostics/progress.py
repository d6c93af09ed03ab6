"""A line on the terminal for what takes long, so that nobody takes it for a hang."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Generator

PATIENCE_SECONDS = 2.0


def is_wanted() -> bool:
    """Whether there is a terminal to tell, and WINDLASS_QUIET is not set."""
    stream = sys.stderr
    return not os.environ.get("WINDLASS_QUIET") and stream is not None and stream.isatty()


@contextlib.contextmanager
def telling(what: str) -> Generator[None]:
    """Tells on stderr what is being done if it takes more than two seconds; nothing where stderr is no terminal.

    >>> with telling("building the headers"):
    ...     pass
    """
    if not is_wanted():
        yield
        return
    timer = threading.Timer(PATIENCE_SECONDS, _tell, (what,))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _tell(what: str) -> None:
    with contextlib.suppress(OSError, ValueError):
        print(f"windlass: {what} ...", file=sys.stderr, flush=True)
