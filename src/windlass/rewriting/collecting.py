"""Python's garbage collection, put off while programs are read, rewritten and written.

A collection goes through all that the process holds, which is much where JAX is loaded (0.2 s); and what falls away
here goes by its reference count, but for loops that were made anew.
"""

from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def without_collections() -> Generator[None]:
    """No garbage collection inside; as a decorator, while the function runs.

    >>> with without_collections():
    ...     gc.isenabled()
    False
    """
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()
