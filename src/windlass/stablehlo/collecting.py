"""Python's garbage collection, put off while much is made that is kept."""

from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def without_collections() -> Generator[None]:
    """No garbage collection inside: everything made there is kept, so looking for garbage would only cost time."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()
