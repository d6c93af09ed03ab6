"""Ctrl-C in a command: it ends within a second, wherever it is.

Python raises KeyboardInterrupt in its own code alone. A command may be in the host code of a program that it runs, or
in a library. So another thread hears of the signal too, and ends the process where the main one has not.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time

INTERRUPTED = 130
INTERRUPTION = "windlass: interrupted"
GRACE_SECONDS = 0.6
"""How long the main thread may take to end by itself, and to remove its temporary files."""


def end_when_interrupted() -> None:
    """From now on end the process, with status 130, soon after SIGINT. To be called on the main thread."""
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        return  # SIGINT is ignored, as in a script's background, or somebody else's.
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    threading.Thread(target=_watch, args=(reader,), name="windlass-interruption", daemon=True).start()


def _watch(reader: int) -> None:
    while (told := os.read(reader, 1)) and told[0] != signal.SIGINT:
        pass
    if not told:
        return
    time.sleep(GRACE_SECONDS)
    os.write(sys.__stderr__.fileno() if sys.__stderr__ else 2, f"{INTERRUPTION}\n".encode())
    os._exit(INTERRUPTED)
