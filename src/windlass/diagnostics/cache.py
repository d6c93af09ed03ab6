"""Where Windlass keeps what it builds once per user: precompiled headers, runtime libraries, linked programs.

Some of it is loaded as code, so it is read only from a folder that nobody else can write to, and each file ends with a
digest of what stands before it. Whoever reads works with the very bytes whose digest was right. A folder that can't be
used, or can't be trusted, is replaced by a temporary one, and a warning says why.
"""

from __future__ import annotations

import atexit
import ctypes
import errno
import hashlib
import os
import re
import shutil
import signal
import stat
import tempfile
import warnings
from collections.abc import Generator, Iterable
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from windlass.diagnostics.message import CompilationError, Diagnostic, WindlassWarning

_DIGEST_BYTES = 32
MOST_FILES, MOST_BYTES = 4096, 1 << 30
"""So much is kept that was made from sources; beyond that, what was not used for longest goes."""
_MADE_FROM_SOURCES = re.compile(r"(?:unit|program|native|choice|xla)-[0-9a-f]{64}\.(?:kept|so)")
_WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH
_instead: dict[Path | None, Path] = {}
"""By folder that can't be used: the temporary one of this process."""


def chosen_directory() -> Path:
    """The folder that the user's settings name: `$WINDLASS_CACHE`, else `$XDG_CACHE_HOME/windlass`, else
    `~/.cache/windlass`.

    Raises RuntimeError where nothing says what the user's home is.
    """
    if chosen := os.environ.get("WINDLASS_CACHE"):
        return Path(chosen).absolute()
    base = os.environ.get("XDG_CACHE_HOME")
    return ((Path(base) if base else Path.home() / ".cache") / "windlass").absolute()


def cache_directory() -> Path:
    """The folder for files that can be built again: the user's own where it can be used, else a temporary one.

    It is made if need be, and is private to the user. Raises CompilationError (WL0707) where there can't be a
    temporary folder either.
    """
    chosen: Path | None = None
    try:
        chosen = chosen_directory()
        if chosen in _instead:
            return _instead[chosen]
        chosen.mkdir(mode=0o700, parents=True, exist_ok=True)
        reason = weakness_of(chosen)
        if reason is None:
            if not os.environ.get("WINDLASS_CACHE"):
                chosen.chmod(0o700)
            if os.access(chosen, os.W_OK | os.X_OK):
                return chosen
            reason = "it can't be written to"
    except OSError as error:
        reason = error.strerror or str(error)
    except (RuntimeError, ValueError) as error:
        reason = str(error)
    if chosen not in _instead:
        _instead[chosen] = _temporary_cache()
        _warn_of(chosen, reason)
    return _instead[chosen]


def _temporary_cache() -> Path:
    try:
        folder = Path(tempfile.mkdtemp(prefix="windlass-"))
    except OSError as error:
        raise _no_temporary_files(error) from error
    process = os.getpid()

    def remove() -> None:
        if os.getpid() == process:
            shutil.rmtree(folder, ignore_errors=True)

    atexit.register(remove)
    return folder


def _warn_of(folder: Path | None, reason: str) -> None:
    diagnostic = Diagnostic(
        "WL0706",
        f"the cache folder{f' {str(folder)!r}' if folder else ''} is not used: {reason}",
        notes=("what is kept there is built anew by each process, in a temporary folder",),
        help="name a folder of your own in WINDLASS_CACHE",
        severity="warning",
    )
    warnings.warn(WindlassWarning(str(diagnostic)), stacklevel=3)


def weakness_of(folder: Path) -> str | None:
    """Why others could change what stands in a folder; None where they can't.

    The folder has to be the user's own, and writable by the user alone; the folders above it have to be the user's or
    the system's, and let nobody else exchange what they hold.
    """
    if not hasattr(os, "geteuid"):
        return None
    user = os.geteuid()
    folder = folder.resolve()
    for place in (folder, *folder.parents):
        status = place.stat()
        if not stat.S_ISDIR(status.st_mode):
            return f"{str(place)!r} is no folder"
        if status.st_uid != user and (place == folder or status.st_uid != 0):
            return f"{str(place)!r} belongs to another user"
        is_shared = status.st_mode & _WRITABLE_BY_OTHERS
        if is_shared and (place == folder or not status.st_mode & stat.S_ISVTX):
            return f"others may write to {str(place)!r}"
    return None


# -- files that are kept ----------------------------------------------------------------------------------------------


def read_kept(name: str) -> bytes | None:
    """A file of the cache as it was kept; None where it isn't there, or isn't what was written."""
    with suppress(OSError):
        handle = os.open(cache_directory() / name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(handle, "rb") as file:
            if stat.S_ISREG(os.fstat(handle).st_mode):
                content = file.read()
                if hashlib.sha256(content[:-_DIGEST_BYTES]).digest() == content[-_DIGEST_BYTES:]:
                    with suppress(OSError):
                        os.utime(handle)
                    return content[:-_DIGEST_BYTES]
    return None


def keep(name: str, content: bytes) -> None:
    """Write a file of the cache so that others see it whole or not at all; where that can't be, it isn't kept."""
    target = cache_directory() / name
    _remove_unused(target.parent)
    temporary: Path | None = None
    try:
        if target.is_dir() and not target.is_symlink():
            target.rmdir()
        handle, path = tempfile.mkstemp(dir=target.parent, prefix=f"{target.stem}-", suffix=".tmp")
        temporary = Path(path)
        with os.fdopen(handle, "wb") as file:
            file.write(content + hashlib.sha256(content).digest())
        temporary.replace(target)
    except OSError:
        if temporary is not None:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)


KINDS = {
    "unit": "translation units and trials",
    "program": "linked host programs",
    "native": "machine code of kernels",
    "xla": "programs that XLA compiled",
    "choice": "times of kernels in each form",
    "host": "parts of host programs",
    "textures": "code of textures",
    "emulator": "the emulator",
    "cpu": "costs of this machine's CPU",
    "gpu": "functions for GPUs",
    "headers": "precompiled headers",
    "zig": "the compiler's own",
}
"""What is kept, by how the names of its files or folder begin."""


@dataclass(frozen=True)
class KeptFile:
    """A file of the cache: its kind, its size, and when it was last used, in seconds since 1970."""

    path: Path
    kind: str
    size: int
    used: float


def kept_files() -> list[KeptFile]:
    """All files of the cache that are of a kind that is known."""
    folder = cache_directory()
    found: list[KeptFile] = []
    for path in folder.rglob("*"):
        kind = re.split(r"[-.]", path.relative_to(folder).parts[0])[0]
        with suppress(OSError):  # others may be at work in it
            status = path.lstat()
            if kind in KINDS and not stat.S_ISDIR(status.st_mode):
                found.append(KeptFile(path, kind, status.st_size, status.st_mtime))
    return found


def remove_kept(files: Iterable[KeptFile]) -> int:
    """Remove files of the cache, which are made again where they are needed; gives how many went."""
    count = 0
    for file in files:
        with suppress(OSError):
            file.path.unlink()
            count += 1
    return count


@cache
def _remove_unused(folder: Path) -> None:
    """Once in a process that keeps something: let go what was used longest ago, where there is too much.

    Of files that go by what they were made from there are always more; others are few, or not ours.
    """
    found: list[tuple[float, int, str]] = []
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if _MADE_FROM_SOURCES.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                status = entry.stat(follow_symlinks=False)
                found.append((status.st_mtime, status.st_size, entry.path))
    found.sort(reverse=True)
    total = 0
    for place, (_, size, path) in enumerate(found):
        total += size
        if place >= MOST_FILES or total > MOST_BYTES:
            with suppress(OSError):
                Path(path).unlink()


def load_shared_library(content: bytes, mode: int = ctypes.DEFAULT_MODE) -> ctypes.CDLL:
    """A shared library from these bytes and no others, with variables of its own.

    Raises CompilationError (WL0707) where there is no room for them, OSError where they are no shared library.
    """
    if hasattr(os, "memfd_create"):
        with suppress(OSError):
            # The file stays open: the loader takes two libraries of one path for the same.
            handle = os.memfd_create("windlass", os.MFD_CLOEXEC)
            try:
                with os.fdopen(os.dup(handle), "wb") as file:
                    file.write(content)
                return ctypes.CDLL(f"/proc/self/fd/{handle}", mode=mode)
            except OSError:
                os.close(handle)
    with temporary_folder() as folder:
        path = folder / "library.so"
        path.write_bytes(content)
        return ctypes.CDLL(str(path), mode=mode)


# -- compiling --------------------------------------------------------------------------------------------------------


@contextmanager
def temporary_folder() -> Generator[Path]:
    """A private folder that is gone afterwards.

    Raises CompilationError (WL0707) in place of any OSError, within it too: a full disk, a limit, no folder at all.
    """
    try:
        with tempfile.TemporaryDirectory(prefix="windlass-", ignore_cleanup_errors=True) as folder:
            yield Path(folder)
    except OSError as error:
        raise _no_temporary_files(error) from error


def _no_temporary_files(error: OSError) -> CompilationError:
    where = f" in {tempfile.tempdir!r}" if tempfile.tempdir else ""
    reason = error.strerror or str(error)
    notes = ("the limit of `ulimit -f`, the size of a file, is reached",) if error.errno == errno.EFBIG else ()
    return CompilationError(
        Diagnostic(
            "WL0707",
            f"temporary files can't be written{where}: {reason}",
            notes=notes,
            help="make room there, or name another folder in TMPDIR",
        )
    )


def compiler_environment() -> dict[str, str]:
    """The environment for the compiler, whose own cache goes beside ours where its usual place can't be used."""
    environment = dict(os.environ)
    if "ZIG_GLOBAL_CACHE_DIR" not in environment:
        folder = cache_directory()
        if folder in _instead.values() or not _can_be_made(_usual_compiler_cache()):
            environment["ZIG_GLOBAL_CACHE_DIR"] = environment["ZIG_LOCAL_CACHE_DIR"] = str(folder / "zig")
    return environment


def _usual_compiler_cache() -> Path | None:
    base = os.environ.get("XDG_CACHE_HOME")
    if base:
        return Path(base) / "zig"
    home = os.environ.get("HOME")
    return Path(home) / ".cache" / "zig" if home else None


def _can_be_made(folder: Path | None) -> bool:
    while folder is not None and folder != folder.parent:
        with suppress(OSError):
            if folder.exists():
                return folder.is_dir() and os.access(folder, os.W_OK | os.X_OK)
        folder = folder.parent
    return False


def spell_end(status: int) -> str:
    """How a process ended.

    >>> spell_end(1), spell_end(-9)
    ('exit status 1', 'ended by SIGKILL')
    """
    if status >= 0:
        return f"exit status {status}"
    with suppress(ValueError):
        return f"ended by {signal.Signals(-status).name}"
    return f"ended by signal {-status}"
