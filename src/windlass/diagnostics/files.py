"""Reading what users name: regular files of a reasonable size, so that no pipe or device keeps us waiting for ever."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

MOST_BYTES = 1 << 30
MOST_BYTES_SHOWN = 1 << 24
"""A file of which a line is shown beside a message may be so large."""


def read_regular_file(path: str | os.PathLike[str], most_bytes: int = MOST_BYTES) -> bytes:
    """What the file holds.

    Raises OSError where it can't be read, where it is a folder (IsADirectoryError) or anything else that is no regular
    file, and where it is larger than `most_bytes`. Nothing is read of these.

    >>> read_regular_file(__file__).startswith(b"\\"")
    True
    >>> read_regular_file("/dev/zero")
    Traceback (most recent call last):
    OSError: [Errno 22] it is a device, not a regular file: '/dev/zero'
    """
    # Opened without waiting for a pipe's writer, and looked at once it is open: nobody can exchange it in between.
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
    with os.fdopen(handle, "rb") as file:
        found = os.fstat(handle)
        kind = kind_of(found.st_mode)
        if kind == "a folder":
            raise IsADirectoryError(errno.EISDIR, "it is a folder", str(path))
        if kind is not None:
            raise OSError(errno.EINVAL, f"it is {kind}, not a regular file", str(path))
        if found.st_size > most_bytes:
            raise _too_large(path, most_bytes)
        content = file.read(most_bytes + 1)
        if len(content) > most_bytes:
            raise _too_large(path, most_bytes)
        return content


def kind_of(mode: int) -> str | None:
    """What a file of this mode is in words; None for regular files."""
    for is_kind, kind in (
        (stat.S_ISDIR, "a folder"),
        (stat.S_ISFIFO, "a pipe"),
        (stat.S_ISSOCK, "a socket"),
        (stat.S_ISCHR, "a device"),
        (stat.S_ISBLK, "a device"),
    ):
        if is_kind(mode):
            return kind
    return None


def irregular_kind(path: str | os.PathLike[str]) -> str | None:
    """What the path names, if that is neither a regular file nor a folder nor nothing at all.

    >>> irregular_kind("/dev/null"), irregular_kind(Path(__file__).parent), irregular_kind("no such file")
    ('a device', None, None)
    """
    try:
        kind = kind_of(Path(path).stat().st_mode)
    except (OSError, ValueError):
        return None
    return None if kind == "a folder" else kind


def _too_large(path: str | os.PathLike[str], most_bytes: int) -> OSError:
    return OSError(errno.EFBIG, f"it is larger than {most_bytes >> 20} MiB", str(path))
