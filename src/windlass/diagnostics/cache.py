"""Where Windlass keeps what it builds once per user: precompiled headers, runtime libraries."""

from __future__ import annotations

import os
from pathlib import Path


def cache_directory() -> Path:
    """The folder for files that can be built again, made if need be; private to the user.

    `$WINDLASS_CACHE` if set, else `$XDG_CACHE_HOME/windlass`, else `~/.cache/windlass`. Writers put a file under a
    temporary name in it and rename it, so that others see it whole or not at all.
    """
    chosen = os.environ.get("WINDLASS_CACHE")
    if chosen:
        directory = Path(chosen)
    else:
        base = os.environ.get("XDG_CACHE_HOME")
        directory = (Path(base) if base else Path.home() / ".cache") / "windlass"
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    return directory
