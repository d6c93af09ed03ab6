"""The precompiled form of our CUDA headers, kept per user and version: with it a small file compiles in 0.1 s.

Any number of processes may build it at the same time: each writes a file of its own and renames it into place. Where
no folder can be written to, compilation does without.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory

from windlass.diagnostics.cache import cache_directory, weakness_of
from windlass.diagnostics.progress import telling
from windlass.frontends.cuda.clang import INCLUDE_FOLDER, OWN_SECONDS, UMBRELLA_HEADER, ZIG_FOLDER, run_clang


@lru_cache
def headers_digest() -> str:
    """A digest of clang itself, as far as its file tells, and of our headers."""
    status = (ZIG_FOLDER / "zig").stat()
    digest = hashlib.sha256(f"{status.st_size} {status.st_mtime_ns} {ZIG_FOLDER}\0{INCLUDE_FOLDER}\0".encode())
    for path in sorted(INCLUDE_FOLDER.rglob("*.h")):
        digest.update(str(path.relative_to(INCLUDE_FOLDER)).encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def precompiled_header(flags: Sequence[str]) -> Path | None:
    """The precompiled header for these compiler flags, built on first use; None where that is not possible."""
    digest = hashlib.sha256("\0".join([headers_digest(), *flags]).encode()).hexdigest()[:24]
    with suppress(OSError, RuntimeError):
        folder = cache_directory() / "headers"
        folder.mkdir(mode=0o700, exist_ok=True)
        target = folder / f"cuda-{digest}.pch"
        if weakness_of(folder) is None and (target.is_file() or _build(flags, target)):
            return target
    return None


def discard_precompiled_header(flags: Sequence[str]) -> None:
    """Remove a precompiled header that clang refuses, so that the next compilation builds it anew."""
    found = precompiled_header(flags)
    if found is not None:
        with suppress(OSError):
            found.unlink()


def _build(flags: Sequence[str], target: Path) -> bool:
    """Whether it could be built, in a folder beside its place."""
    with TemporaryDirectory(prefix="building-", dir=target.parent, ignore_cleanup_errors=True) as folder:
        unfinished = Path(folder) / target.name
        umbrella = str(INCLUDE_FOLDER / UMBRELLA_HEADER)
        with telling("compiling the CUDA headers, once for all programs"):
            output = ["-emit-pch", "-o", str(unfinished)]
            options = ["-fno-pch-timestamp", "-fpch-instantiate-templates"]
            outcome = run_clang([*flags, *options, *output, umbrella], OWN_SECONDS)
        if outcome.status != 0:
            return False
        unfinished.replace(target)
        return True
