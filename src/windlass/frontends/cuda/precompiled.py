"""The precompiled form of our CUDA headers, kept per user and version: with it a small file compiles in 0.1 s.

Any number of processes may build it at the same time: each writes a file of its own and renames it into place. Where
no folder can be written to, compilation does without.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path

from windlass.diagnostics.progress import telling
from windlass.frontends.cuda.clang import INCLUDE_FOLDER, OWN_SECONDS, UMBRELLA_HEADER, run_clang


def cache_folder() -> Path:
    """The user's cache folder: $WINDLASS_CACHE, else windlass in $XDG_CACHE_HOME or ~/.cache."""
    if own := os.environ.get("WINDLASS_CACHE"):
        return Path(own)
    if platform := os.environ.get("XDG_CACHE_HOME"):
        return Path(platform) / "windlass"
    return Path("~/.cache/windlass").expanduser()


@lru_cache
def headers_digest() -> str:
    digest = hashlib.sha256(version("ziglang").encode())
    digest.update(str(INCLUDE_FOLDER).encode())
    for path in sorted(INCLUDE_FOLDER.rglob("*.h")):
        digest.update(str(path.relative_to(INCLUDE_FOLDER)).encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def precompiled_header(flags: Sequence[str]) -> Path | None:
    """The precompiled header for these compiler flags, built on first use; None where that is not possible."""
    digest = hashlib.sha256("\0".join([headers_digest(), *flags]).encode()).hexdigest()[:24]
    with suppress(OSError, RuntimeError):
        folder = cache_folder() / "headers"
        target = folder / f"cuda-{digest}.pch"
        if target.is_file():
            return target
        folder.mkdir(parents=True, exist_ok=True)
        return target if _build(flags, target) else None
    return None


def discard_precompiled_header(flags: Sequence[str]) -> None:
    """Remove a precompiled header that clang refuses, so that the next compilation builds it anew."""
    found = precompiled_header(flags)
    if found is not None:
        with suppress(OSError):
            found.unlink()


def _build(flags: Sequence[str], target: Path) -> bool:
    handle, unfinished = tempfile.mkstemp(prefix=f"{target.stem}-", suffix=".unfinished", dir=target.parent)
    os.close(handle)
    try:
        umbrella = str(INCLUDE_FOLDER / UMBRELLA_HEADER)
        with telling("compiling the CUDA headers, once for all programs"):
            outcome = run_clang(
                [*flags, "-fno-pch-timestamp", "-fpch-instantiate-templates", "-emit-pch", "-o", unfinished, umbrella],
                OWN_SECONDS,
            )
        if outcome.status != 0:
            return False
        Path(unfinished).replace(target)
        return True
    finally:
        Path(unfinished).unlink(missing_ok=True)
